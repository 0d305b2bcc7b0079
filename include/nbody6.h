// The interface of NBODY6 to a GPU, as Kyoho has it: regular forces with neighbour lists for the
// scheme of Ahmad and Cohen, and potentials.
//
//     gpunb_open_(&nbmax);
//     for each block step: gpunb_send_(&nj, m, x, v);
//       for each part:     gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list);
//     for the energy:      gpupot_(&n, m, x, pot);
//     gpunb_close_();
//
// All arguments are pointers, as Fortran passes them. An array of vectors has three doubles for
// each body, which is x(3,n) in Fortran. Link with -lkyoho_nbody6. A call that fails returns
// non-zero, which Fortran does not see, and writes one line to stderr, and the force it was part of
// is NaN. A process has one board.

#ifndef KYOHO_NBODY6_H
#define KYOHO_NBODY6_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board, as `gpunb_open_` does.
int gpunb_devinit_(void);

// Opens the board with the devices that the environment names. It is one device unless the
// environment asks for more.
//
// `nbmax`, the most bodies that will be sent, is not needed and never read: there may be any
// number of bodies. An open board stays as it is, with its sources. Any other function opens the
// board too, if it needs one. Returns 0, or non-zero if the environment or `sapporo2.config` asks
// for something that is not there. Then every force is NaN until the board is opened again.
int gpunb_open_(int *nbmax);

// Forgets the sources and frees all memory and devices. A closed board may be closed again.
int gpunb_close_(void);

// Replaces all sources (j-particles) by `nj` others with the masses `m`, the positions `x` and the
// velocities `v`.
//
// They have the addresses 0 to `nj` - 1, by which `gpunb_regf_` names them. They are not
// predicted: the next forces take them as they are. Returns non-zero if a pointer is null, if `nj`
// is negative, or if a number is not finite or too large for the precision. Then forces are NaN
// until other sources are sent.
int gpunb_send_(int *nj, double *m, double (*x)[3], double (*v)[3]);

// Computes the regular forces on `ni` sinks (i-particles). They are the forces of all sources that
// were sent, without the sink's neighbours.
//
// Each sink has a position `xi`, a velocity `vi`, a squared radius `h2` and a regular step `dtr`.
// Any number of sinks can be passed. With r and v the differences of position and velocity, source
// less sink, a source of mass m is a neighbour if the smaller of r^2 and (r + dtr v)^2 is less
// than m `h2`, so that a heavier source is a neighbour from further away. A sink that is a source
// with mass is its own neighbour. There is no softening. Another source at the sink's place that
// is no neighbour, because it has no mass or the sink no radius, adds nothing. The sums over the
// other sources are:
//
// - `acc` = sum m r / r^3, and `jrk` is its derivative in time
// - `pot` = +sum m / r
//
// `list` has `lmax` integers for each sink, which is list(lmax,ni) in Fortran: the number of the
// sink's neighbours, and their addresses, which ascend. If there are more than `nbmax` neighbours,
// or more than `lmax` - 1, only their number is written, with a minus sign. The forces are right
// in that case too. Results are written, not added, and nothing is written beyond `ni` rows. The
// other results may overlap one another or any array of sinks, but `list` must not overlap any
// array.
//
// With `ni` = 0 nothing happens. Returns 0, or non-zero on an error. Then all forces are NaN, and
// the lists have the addresses 0 and 1, as far as there is room and there are such sources: with
// two neighbours, NBODY6 does not repeat the call with another radius.
int gpunb_regf_(int *ni,
                double *h2,
                double *dtr,
                double (*xi)[3],
                double (*vi)[3],
                double (*acc)[3],
                double (*jrk)[3],
                double *pot,
                int *lmax,
                int *nbmax,
                int *list);

// Computes the potentials `pot` = +sum m / r at the places of all `n` bodies, which have the
// masses `m` and the positions `x`.
//
// Pairs without distance add nothing, and so a body adds nothing to its own potential. The sources
// of `gpunb_send_` have no effect on the potentials and stay. With `n` = 0 nothing happens.
// Returns 0, or non-zero on an error. Then all potentials are NaN.
int gpupot_(int *n, double *m, double (*x)[3], double *pot);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_NBODY6_H */
