// The interface of NBODY6++GPU to a GPU, as Kyoho has it: regular forces with neighbour lists for the scheme of Ahmad
// and Cohen, and potentials.
//
//     gpunb_open_(&nbmax, &rank);
//     for each block step: gpunb_send_(&nj, m, x, v);
//       for each part:     gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list, &m_flag);
//     for the energy:      gpupot_(&rank, &istart, &ni, &n, m, x, pot);
//     gpunb_close_();
//
// All arguments are pointers, as Fortran passes them; an array of vectors has three doubles for each body, which is
// x(3,n) in Fortran. Link with -lkyoho_nbody6pp. A call that fails returns non-zero, which Fortran does not see, and
// writes one line to stderr; the force it was part of is NaN. A process has one board.

#ifndef KYOHO_NBODY6PP_H
#define KYOHO_NBODY6PP_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board, as `gpunb_open_` does. `rank` is never read.
int gpunb_devinit_(int *rank);

// Opens the board: the devices of this process that the environment names, one unless it asks for more.
//
// Neither argument is needed, and both are never read. `nbmax` is the most bodies that will be sent: there may be any
// number. `rank` is the number of the process among all: the device of a process goes by its number among those of its
// host, which the variables of the launcher tell. An open board stays as it is, with its sources. Any other function
// opens what it needs, too. Returns 0, or non-zero if the environment or `sapporo2.config` asks for what cannot be
// had; then every force is NaN until the board is opened again.
int gpunb_open_(int *nbmax, int *rank);

// Forgets the sources and frees everything. A board that is closed may be closed again.
int gpunb_close_(void);

// Replaces all sources (j-particles) by `nj` others: masses `m`, positions `x`, velocities `v`.
//
// They have the addresses 0 to `nj` - 1, by which `gpunb_regf_` names them, and are not predicted: the next forces
// take them as they are. Returns non-zero if a pointer is null, `nj` is negative, or a number is not finite or too
// large for the precision; then forces are NaN until other sources are sent.
int gpunb_send_(int *nj, double *m, double (*x)[3], double (*v)[3]);

// The regular forces on `ni` sinks (i-particles): of all sources that were sent, without the sink's neighbours.
//
// Each sink has a position `xi`, a velocity `vi`, a squared radius `h2` and a regular step `dtr`. Any number of them
// can be passed. With r and v the differences of position and velocity, source less sink, a source of mass m is a
// neighbour if the smaller of r^2 and (r + dtr v)^2 is less than `h2` where `m_flag` is 0, and less than m `h2` where
// it is anything else. A sink that is a source with mass is its own neighbour. There is no softening; other sources at
// the sink's place, if they are no neighbours for want of mass or radius, give nothing. Of the sources that are left:
//
// - `acc` = sum m r / r^3; `jrk`: its derivative in time
// - `pot` = +sum m / r
//
// `list` has `lmax` integers for each sink, list(lmax,ni) in Fortran: the number of its neighbours, and their
// addresses, which ascend. Of more than `nbmax` neighbours, or more than `lmax` - 1, the number alone is written, with
// a minus sign; the forces are right all the same. Results are written, not added, and nothing beyond `ni` rows. They
// may overlap one another or any array of sinks; `list` overlaps none.
//
// With `ni` = 0 nothing happens. Returns 0, or non-zero on an error; then all forces are NaN, and the lists have the
// addresses 0 and 1, as far as there is room and there are such sources. Two neighbours are what NBODY6++GPU does not
// answer by repeating the call with another radius.
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
                int *list,
                int *m_flag);

// The potentials `pot` = +sum m / r of `n` bodies, with masses `m` and positions `x`, at the places of `ni` of them,
// from that with number `istart` on, counted from 1.
//
// The first of `ni` potentials is that of body `istart`. Pairs at no distance give nothing, and so a body itself. What
// `gpunb_send_` sent has no part in it and stays. `rank` is never read. With `ni` = 0 nothing happens. Returns 0, or
// non-zero on an error; then all potentials are NaN.
int gpupot_(int *rank, int *istart, int *ni, int *n, double *m, double (*x)[3], double *pot);

// Does nothing. What a board did is in the log when it is closed, if there is one (`KYOHO_LOG=info`).
int gpunb_profile_(int *rank);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_NBODY6PP_H */
