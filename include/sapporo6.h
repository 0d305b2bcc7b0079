// Sapporo2's interface of order 6, as Kyoho has it: forces, jerks, snaps and nearest neighbours of N bodies, for
// Hermite integrators of order 6.
//
//     initialize();
//     for each source:     set_j_particle(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     no_predict_all(t, nj);
//     calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//     for each block step: predict_all(t, nj);
//                          calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//       for active bodies: set_j_particle(...);
//
// Link with -lkyoho_sapporo6. A call that fails returns non-zero and writes one line to stderr; the force it was part
// of is NaN. A process has one board.

#ifndef KYOHO_SAPPORO6_H
#define KYOHO_SAPPORO6_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board: the devices of this process that the environment names, one unless it asks for more.
//
// An open board stays as it is, with its sources. Any other function opens the board too, if it needs one. Returns 0,
// or non-zero if the environment or `sapporo2.config` asks for what cannot be had; then every force is NaN until the
// board is initialized again.
int initialize(void);

// Opens the board with some devices. `ndev` > 0: those in `list`; 0: all; < 0: the first -`ndev`.
//
// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
int initialize_special(int ndev, int *list);

// Writes the source (j-particle) at `addr`, 0 or more, in place of what was there.
//
// `id` is its name: sinks with the same id do not feel it. `time` is the time of its state: `mass`, position `pos`,
// and the plain derivatives of the position, velocity `vel`, acceleration `acc`, jerk `jrk`, snap `snp` and crackle
// `crk`, three numbers each, none of them divided by anything. `eps2`, its squared softening, is any number
// and kept for `pick_up_predictor_2`; pairs are softened by the sink. The next force is the first to see the source.
// Addresses may come in any order, with gaps, and without limit. Returns non-zero if a pointer is null, another number
// is not finite or too large for the precision, or the address is negative. As long as the source at an address below
// `nj` was refused and not written again, forces are NaN.
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

// The forces that follow have all sources predicted to `time`, from all of their derivatives.
//
// `nj` must not be negative and is else not used: a force predicts the sources that it needs, also those that are
// written after this call. A time that is not finite is refused, and the forces are NaN until another is set.
int predict_all(double time, int nj);

// The forces that follow have all sources as they were written, whatever their times. It is so, too, before
// `predict_all` is first called.
//
// `time` is not used, and `nj` as in `predict_all`.
int no_predict_all(double time, int nj);

// The source at `addr` as the next force would have it: `id`, `mass`, `eps2` and, predicted or not, position `pos`,
// velocity `vel` and acceleration `acc`.
//
// Any of the pointers may be null. Returns non-zero, and writes NaN and the id -1, if no source was written there or
// it was refused.
int pick_up_predictor_2(int addr, int *id, double *mass, double *eps2, double *pos, double *vel, double *acc);

// The forces of the sources at the addresses below `nj`, predicted or not as was last asked for, on `ni` sinks
// (i-particles).
//
// Each sink has an id in `ids`, position `pos`, velocity `vel`, acceleration `acc`, and a squared softening `eps2` of
// its own. Any number of them can be passed. Sources with the sink's id are left out, others at its place give no
// acceleration if it has no softening; addresses that were never written count as nothing. `mass` is not used and
// never read. With r, v, a the differences of position, velocity and acceleration, source less sink, and s2 = r^2 +
// eps2:
//
// - `accNew` = sum m r / s2^(3/2); `jrkNew`, `snpNew`: its first and second derivative in time; `crkNew` = 0
// - `phi` = -sum m / s2^(1/2)
//
// `nnb` is the id of the nearest source and `nnb_r2` its r^2 + eps2; where there is none, -1 and infinity. Results are
// written, not added. They may overlap one another or any array of sinks; `crkNew`, `nnb` and `nnb_r2` may be null.
// With `ni` = 0 nothing happens. Returns 0, or non-zero on an error; then all rows are NaN, and -1 in `nnb`.
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
