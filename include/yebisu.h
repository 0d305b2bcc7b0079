// Yebisu's interface, as Kyoho has it: forces, jerks, snaps and nearest neighbours of N bodies, for Hermite integrators
// of order 6.
//
//     initialize(n);
//     for each source:     set_jp_2(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     for each block step: predict_all(t, nj);
//       for active bodies: pick_up_predictor_2(addr, &pred[i]);
//                          calc_force_on_predictors(ni, pred, force, nj);
//       for active bodies: set_jp_2(...);
//
// Link with -lkyoho_yebisu. A call that fails returns non-zero and writes one line to stderr; the force it was part of
// is NaN. A process has one board.

#ifndef KYOHO_YEBISU_H
#define KYOHO_YEBISU_H

// A predicted body: a source as it was picked up, or a sink.
typedef struct predictor {
    // Position.
    double pos[3];
    // Velocity.
    double vel[3];
    // Acceleration.
    double acc[3];
    // Mass. That of a sink is not used.
    double mass;
    // The name, an integer. A fraction is cut off.
    double id;
    // Squared softening.
    double eps2;
} predictor;

// The force on a sink.
typedef struct Force {
    // Acceleration: sum m r / s^3.
    double acc[3];
    // Jerk, the derivative of the acceleration in time.
    double jrk[3];
    // Snap, the derivative of the jerk in time.
    double snp[3];
    // Minus the potential: +sum m / s.
    double phi;
    // The id of the nearest source; -1 if there is none.
    int nnb_id;
    // Its r^2, without softening; infinite if there is none.
    float nnb_r2;
} Force;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board: the devices of this process that the environment names, one unless it asks for more.
//
// `n`, the number of sources to make room for, is not needed. An open board stays as it is, with its sources. Any
// other function opens the board too, if it needs one. Returns 0, or non-zero if the environment or `sapporo2.config`
// asks for what cannot be had; then every force is NaN until the board is initialized again.
int initialize(int n);

// Opens the board with some devices. `ndev` > 0: those in `list`; 0: all; < 0: the first -`ndev`.
//
// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
int initialize_special(int ndev, int *list);

// Writes the source (j-particle) at `addr`, 0 or more, in place of what was there.
//
// `id` is its name: sinks with the same id do not feel it. `time` is the time of its state: `mass`, position `pos`,
// and the plain derivatives of the position, velocity `vel`, acceleration `acc`, jerk `jrk`, snap `snp` and crackle
// `crk`, three numbers each, none of them divided by anything. `eps2`, its squared softening, is any number, and
// counts in `calc_force_on_predictors_epsj` alone. The next force is the first to see the source. Addresses may come
// in any order, with gaps, and without limit. Returns non-zero if a pointer is null, another number is not finite or
// too large for the precision, or the address is negative. As long as the source at an address below `nj` was refused
// and not written again, forces are NaN.
int set_jp_2(int addr,
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

// As `set_jp_2`, with the mass after the address: the name and the order that Yebisu first had.
int set_jp(int addr,
           double mass,
           double *pos,
           double *vel,
           double *acc,
           double *jrk,
           double *snp,
           double *crk,
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

// The source at `addr` as the next force would have it, predicted or not.
//
// Returns non-zero, and writes NaN and the id -1, if no source was written there or it was refused.
int pick_up_predictor_2(int addr, struct predictor *pred);

// The same as `pick_up_predictor_2`: the name that Yebisu first had.
int pick_up_predictor(int addr, struct predictor *pred);

// The forces of the sources at the addresses below `nj`, predicted or not as was last asked for, on `ni` sinks
// (i-particles).
//
// Pairs are softened by the sink, each by its own `eps2`: s2 = r^2 + eps2. Any number of sinks can be passed. Sources
// with the sink's id are left out, others at its place give no acceleration if it has no softening; addresses that
// were never written count as nothing. Results are written, not added. With `ni` = 0 nothing happens. Returns 0, or
// non-zero on an error; then all forces are NaN.
int calc_force_on_predictors(int ni, struct predictor *pred, struct Force *force, int nj);

// As `calc_force_on_predictors`, but pairs are softened by the source, with the `eps2` of `set_jp_2`, and the sinks'
// `eps2` is not used.
//
// It is an error if the `eps2` of a source below `nj` is negative, not finite or too large for the precision.
//
// The sources may have up to 16 different values of `eps2`. Where they have more than one, each has memory of its own
// from the first call on, and may take as long as a whole force on a GPU.
int calc_force_on_predictors_epsj(int ni, struct predictor *pred, struct Force *force, int nj);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_YEBISU_H */
