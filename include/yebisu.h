// Yebisu's interface, as Kyoho has it: forces, jerks, snaps and nearest neighbours of N bodies, for
// Hermite integrators of order 6.
//
//     initialize(n);
//     for each source:     set_jp_2(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     for each block step: predict_all(t, nj);
//       for active bodies: pick_up_predictor_2(addr, &pred[i]);
//                          calc_force_on_predictors(ni, pred, force, nj);
//       for active bodies: set_jp_2(...);
//
// Link with -lkyoho_yebisu. A call that fails returns non-zero and writes one line to stderr, and
// the force it was part of is NaN. A process has one board.

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
    // Mass. The mass of a sink is not used.
    double mass;
    // The name, which is an integer. A fraction is cut off.
    double id;
    // Squared softening.
    double eps2;
} predictor;

// The force on a sink.
typedef struct Force {
    // Acceleration, which is sum m r / s^3.
    double acc[3];
    // Jerk, the derivative of the acceleration in time.
    double jrk[3];
    // Snap, the derivative of the jerk in time.
    double snp[3];
    // Minus the potential, which is +sum m / s.
    double phi;
    // The id of the nearest source, or -1 if there is none.
    int nnb_id;
    // The r^2 of the nearest source, without softening. It is infinite if there is none.
    float nnb_r2;
} Force;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board with the devices that the environment names. It is one device unless the
// environment asks for more.
//
// `n`, the number of sources to make room for, is not needed. An open board stays as it is, with
// its sources. Any other function opens the board too, if it needs one. Returns 0, or non-zero if
// the environment or `sapporo2.config` asks for something that is not there. Then every force is
// NaN until the board is initialized again.
int initialize(int n);

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
// number and is used by `calc_force_on_predictors_epsj` alone. The next force is the first that
// sees the source. Addresses may come in any order, with gaps, and without limit. Returns non-zero
// if a pointer is null, if another number is not finite or too large for the precision, or if the
// address is negative. If the source at an address below `nj` was refused, forces are NaN until it
// is written again.
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

// Does as `set_jp_2` does, with the mass after the address. Yebisu first had this name and this
// order.
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

// Writes the source at `addr` as the next force would have it, predicted or not.
//
// If no source was written at the address or it was refused, returns non-zero and writes NaN and
// the id -1.
int pick_up_predictor_2(int addr, struct predictor *pred);

// Does as `pick_up_predictor_2` does. Yebisu first had this name.
int pick_up_predictor(int addr, struct predictor *pred);

// Computes the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles). The
// sources are predicted or not, as was last asked for.
//
// Each pair is softened by the `eps2` of its sink: s^2 = r^2 + eps2. Any number of sinks can be
// passed. A source with the sink's id is not summed. Another source at the sink's place gives no
// acceleration if the sink has no softening. Addresses that were never written add nothing.
// Results are written, not added. With `ni` = 0 nothing happens. Returns 0, or non-zero on an
// error. Then all forces are NaN.
int calc_force_on_predictors(int ni, struct predictor *pred, struct Force *force, int nj);

// Does as `calc_force_on_predictors` does, but each pair is softened by its source, with the
// `eps2` of `set_jp_2`. The `eps2` of the sinks is not used.
//
// It is an error if the `eps2` of a source below `nj` is negative, not finite or too large for the
// precision.
//
// The sources may have up to 16 different values of `eps2`. If they have more than one, each value
// has memory of its own from the first call on, and may take as long as a whole force on a GPU.
int calc_force_on_predictors_epsj(int ni, struct predictor *pred, struct Force *force, int nj);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_YEBISU_H */
