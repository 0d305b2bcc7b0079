// Sapporo2's interface of order 6, as Kyoho has it: forces, jerks, snaps and nearest neighbours of
// N bodies, for Hermite integrators of order 6.
//
//     initialize();
//     for each source:
//         set_j_particle(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     no_predict_all(t, nj);
//     calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//     for each block step: predict_all(t, nj);
//                          calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//       for active bodies: set_j_particle(...);
//
// Link with -lkyoho_sapporo6. A call that fails returns non-zero and writes one line to stderr, and
// the force it was part of is NaN. A process has one board.

#ifndef KYOHO_SAPPORO6_H
#define KYOHO_SAPPORO6_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board with the devices that the environment names. It is one device unless the
// environment asks for more.
//
// An open board stays as it is, with its sources. Any other function opens the board too, if it
// needs one. Returns 0, or non-zero if the environment or `sapporo2.config` asks for something
// that is not there. Then every force is NaN until the board is initialized again.
int initialize(void);

// Opens the board with the devices in `list` if `ndev` > 0, with all devices if `ndev` = 0, or
// with the first -`ndev` devices if `ndev` < 0.
//
// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
int initialize_special(int ndev, int *list);

// Writes the source (j-particle) at `addr`, 0 or more, in place of what was there.
//
// `id` is the name of the source: sinks with the same id do not feel it. `time` is the time of its
// state. The state is `mass`, the position `pos`, and the plain derivatives of the position:
// velocity `vel`, acceleration `acc`, jerk `jrk`, snap `snp` and crackle `crk`, with three numbers
// each and not divided by any factor. `eps2`, the squared softening of the source, may be any
// number and is kept for `pick_up_predictor_2`: pairs are softened by the sink. The next force is
// the first that sees the source. Addresses may come in any order, with gaps, and without limit.
// Returns non-zero if a pointer is null, if another number is not finite or too large for the
// precision, or if the address is negative. If the source at an address below `nj` was refused,
// forces are NaN until it is written again.
int set_j_particle(int addr,
                   double *pos,
                   double *vel,
                   double *acc,
                   double *jrk,
                   double *snp,
                   double *crk,
                   double mass,
                   double time,
                   int id,
                   double eps2);

// Lets the forces that follow predict all sources to `time`, from all of their derivatives.
//
// `nj` must not be negative and has no other effect: a force predicts the sources that it needs,
// also those that are written after this call. A time that is not finite is refused, and the
// forces are NaN until another is set.
int predict_all(double time, int nj);

// Lets the forces that follow take all sources as they were written, whatever their times.
//
// Forces do so too before `predict_all` is first called. `time` is not used. `nj` must not be
// negative and has no other effect.
int no_predict_all(double time, int nj);

// Writes the source at `addr` as the next force would have it: `id`, `mass`, `eps2`, and the
// position `pos`, the velocity `vel` and the acceleration `acc`, predicted or not.
//
// Any of the pointers may be null. If no source was written at the address or it was refused,
// returns non-zero and writes NaN and the id -1.
int pick_up_predictor_2(int addr,
                        int *id,
                        double *mass,
                        double *eps2,
                        double *pos,
                        double *vel,
                        double *acc);

// Computes the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles). The
// sources are predicted or not, as was last asked for.
//
// Each sink has an id in `ids`, a position `pos`, a velocity `vel`, an acceleration `acc`, and a
// squared softening `eps2` of its own. Any number of sinks can be passed. A source with the sink's
// id is not summed. Another source at the sink's place gives no acceleration if the sink has no
// softening. Addresses that were never written add nothing. `mass` is not used and never read.
// With r, v, a the differences of position, velocity and acceleration, source less sink, and
// s2 = r^2 + eps2:
//
// - `accNew` = sum m r / s2^(3/2)
// - `jrkNew` and `snpNew` are the first and second derivative of `accNew` in time, `crkNew` is 0
// - `phi` = -sum m / s2^(1/2)
//
// `nnb` is the id of the nearest source and `nnb_r2` its r^2 + eps2. They are -1 and infinity if
// there is none. Results are written, not added. They may overlap one another or any array of
// sinks. `crkNew`, `nnb` and `nnb_r2` may be null. With `ni` = 0 nothing happens. Returns 0, or
// non-zero on an error. Then all rows are NaN, and -1 in `nnb`.
int calc_force_on_predictors(int ni,
                             int nj,
                             int *ids,
                             double (*pos)[3],
                             double (*vel)[3],
                             double (*acc)[3],
                             double *mass,
                             double *eps2,
                             double (*accNew)[3],
                             double (*jrkNew)[3],
                             double (*snpNew)[3],
                             double (*crkNew)[3],
                             double *phi,
                             int *nnb,
                             double *nnb_r2);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_SAPPORO6_H */
