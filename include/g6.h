// The GRAPE-6 interface of Kyoho: forces, jerks, potentials and neighbours of N bodies.
//
// Sources (j-particles) stay in the library; sinks (i-particles) go in and out block by block:
//
//     g6_open(0);
//     for each source:         g6_set_j_particle(0, address, index, t, 0.0, mass, k18, j6, a2, v, x);
//     for each block step:     g6_set_ti(0, t);
//       for g6_npipes() sinks: g6calc_firsthalf(0, nj, ni, index, xi, vi, aold, jold, phiold, eps2, h2);
//                              g6calc_lasthalf(0, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot);
//       for each active body:  g6_set_j_particle(...);
//     g6_close(0);
//
// Each function has a C form and a Fortran form with one underscore, whose arguments are all pointers; only
// `g6_open_special`, `g6_open_special2` and `get_device_count` have no Fortran form. An array of vectors has three
// doubles for each particle, which is x(3,n) in Fortran. A call that fails returns non-zero and writes one line to
// stderr; the force it was part of is NaN. `cid` may be anything: a process has one board.

#ifndef KYOHO_G6_H
#define KYOHO_G6_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board: the devices of this process that the environment names, one unless it asks for more.
//
// All calls of a process act on one board, so `cid` may be anything. An open board stays as it is. Any other function
// opens the board too, if it needs one. Returns 0, or non-zero if the environment or `sapporo2.config` asks for what
// cannot be had; then every force is NaN until the board is opened again.
int g6_open(int cid);

// Opens the board with some devices. `ndev` > 0: those in `list`; 0: all; < 0: the first -`ndev`.
//
// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
int g6_open_special(int ndev, int *list);

// As `g6_open_special`; `nmax`, the number of sources to make room for, is not needed.
int g6_open_special2(int ndev, int *list, int nmax);

// Closes the board: forgets all sources and frees memory and devices. A closed board may be closed again.
int g6_close(int cid);

// Forgets a force calculation under way. The sources stay.
int g6_reset(int cid);

// The same as `g6_reset`.
int g6_reset_fofpga(int cid);

// The same as `g6_reset`.
int g6_reinitialize(int cid);

// The largest number of sinks that callers should pass in one call: 16384, or what `KYOHO_NPIPES` says.
//
// It can be asked for before the board is opened and after it is closed. It is 1 as long as the environment is broken.
// More sinks than that are computed too.
int g6_npipes(void);

// Does nothing: numbers are floating-point, and time needs no unit.
int g6_set_tunit(double unit);

// Does nothing: numbers are floating-point, and length needs no unit.
int g6_set_xunit(double unit);

// Sets the time to which the sources are predicted by the force calculations that follow; 0 until it is set.
//
// A time that is not finite is refused, and the forces are NaN until another is set.
int g6_set_ti(int cid, double ti);

// Writes the source (j-particle) at `address`, 0 or more, in place of what was there.
//
// `index` is its name: sinks with the same index do not feel it. `tj` is the time of its state: `mass`, position `x`,
// velocity `v`, acceleration / 2 `a2`, jerk / 6 `j6`, three numbers each. `dtj` and `k18` are not used and never
// read. The next `g6calc_firsthalf` is the first to see it. Addresses may come in any order, with gaps, and without
// limit. Returns non-zero if a pointer is null, a number is not finite or too large for the precision, or the address
// is negative. As long as the source at an address below `nj` was refused and not written again, forces are NaN.
int g6_set_j_particle(int cid,
                      int address,
                      int index,
                      double tj,
                      double dtj,
                      double mass,
                      double *k18,
                      double *j6,
                      double *a2,
                      double *v,
                      double *x);

// Writes a source of which only the mass and the position matter; it rests there.
int g6_set_j_particle_mxonly(int cid, int address, int index, double mass, double *x);

// Does nothing: sources are always gathered and sent together.
int g6_initialize_jp_buffer(int cid, int size);

// Does nothing: the next force calculation sees all sources that were written.
int g6_flush_jp_buffer(int cid);

// Begins the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles).
//
// The sources are predicted to the time of `g6_set_ti`; addresses that were never written count as nothing. Each sink
// has an `index`, a position `xi` and a velocity `vi` at that time, and the squared radius `h2` of its neighbour
// list, 0 for none; they are copied. Sources with the sink's index are left out, others at its place give no
// acceleration. `eps2` is the squared softening of all. `aold`, `jold` and `phiold` are not used and never read. A
// force calculation that was not ended is forgotten. With `ni` = 0 nothing happens. Returns 0, or non-zero on an
// error; then the results will be NaN. Where one of the arrays begins among the rows of another, they are shorter than
// `ni`, which is an error that says how many rows there is room for.
int g6calc_firsthalf(int cid,
                     int nj,
                     int ni,
                     int *index,
                     double (*xi)[3],
                     double (*vi)[3],
                     double (*aold)[3],
                     double (*jold)[3],
                     double *phiold,
                     double eps2,
                     double *h2);

// Ends the force calculation: writes acceleration, jerk and potential of its first `ni` sinks.
//
// With r = xj - xi, v = vj - vi, s2 = r^2 + eps2: `acc` = sum m r / s2^(3/2), `jerk` = sum m (v / s2^(3/2) - 3 (r.v)
// r / s2^(5/2)), `pot` = -sum m / s2^(1/2). `acc`, `jerk` and `pot` may overlap one another or any array of
// `g6calc_firsthalf`; the other arguments are not read. Returns 0. On an error, or without `g6calc_firsthalf`,
// returns non-zero and writes NaN to all `ni` rows.
int g6calc_lasthalf(int cid,
                    int nj,
                    int ni,
                    int *index,
                    double (*xi)[3],
                    double (*vi)[3],
                    double eps2,
                    double *h2,
                    double (*acc)[3],
                    double (*jerk)[3],
                    double *pot);

// As `g6calc_lasthalf`, and writes to `nn` the index of each sink's nearest source, 0 where there is none.
//
// The nearest has the least distance without softening among the sources that have not the sink's index.
int g6calc_lasthalf2(int cid,
                     int nj,
                     int ni,
                     int *index,
                     double (*xi)[3],
                     double (*vi)[3],
                     double eps2,
                     double *h2,
                     double (*acc)[3],
                     double (*jerk)[3],
                     double *pot,
                     int *nn);

// The same as `g6calc_lasthalf`: neighbour lists can be had after any of them.
int g6calc_lasthalfn(int cid,
                     int nj,
                     int ni,
                     int *index,
                     double (*xi)[3],
                     double (*vi)[3],
                     double eps2,
                     double *h2,
                     double (*acc)[3],
                     double (*jerk)[3],
                     double *pot);

// The same as `g6calc_lasthalf2`: neighbour lists can be had after any of them.
int g6calc_lasthalf2n(int cid,
                      int nj,
                      int ni,
                      int *index,
                      double (*xi)[3],
                      double (*vi)[3],
                      double eps2,
                      double *h2,
                      double (*acc)[3],
                      double (*jerk)[3],
                      double *pot,
                      int *nn);

// As `g6calc_lasthalf2`, and writes to `rnn` the distance sqrt(r^2 + eps2) of the nearest, infinite if there is none.
int g6calc_lasthalf2p(int cid,
                      int nj,
                      int ni,
                      int *index,
                      double (*xi)[3],
                      double (*vi)[3],
                      double eps2,
                      double *h2,
                      double (*acc)[3],
                      double (*jerk)[3],
                      double *pot,
                      int *nn,
                      float *rnn);

// The same as `g6calc_lasthalf2p`: neighbour lists can be had after any of them.
int g6calc_lasthalf2np(int cid,
                       int nj,
                       int ni,
                       int *index,
                       double (*xi)[3],
                       double (*vi)[3],
                       double eps2,
                       double *h2,
                       double (*acc)[3],
                       double (*jerk)[3],
                       double *pot,
                       int *nn,
                       float *rnn);

// Says whether the neighbour lists of the last force calculation can be had: 0, or negative before one was ended.
//
// Lists have no limit, so there is never an overflow. Sources written since the force calculation do not change them.
int g6_read_neighbour_list(int cid);

// Copies the neighbour list of sink `ipipe`, counted from 0, of the last force calculation to `nbl`, its length to
// `nblen`.
//
// It has the indices of the sources with r^2 < h2, softening not included and the sink's own index left out,
// ascending and each once. Returns 0; 1 if it is longer than `maxlength`, then its first `maxlength` entries are
// written and `nblen` is `maxlength`; negative on an error, with `nblen` = 0.
int g6_get_neighbour_list(int cid, int ipipe, int maxlength, int *nblen, int *nbl);

// Does nothing: lists are always sorted.
int g6_set_neighbour_list_sort_mode(int mode);

// Always 1: lists are sorted.
int g6_get_neighbour_list_sort_mode(void);

// Does nothing: floating-point sums need no test for overflow.
int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag);

// The number of devices of the backend that `g6_open` would use, at least 1; 0 if the environment is broken.
int get_device_count(void);

// The Fortran form of `g6_open`.
int g6_open_(int *cid);

// The Fortran form of `g6_close`.
int g6_close_(int *cid);

// The Fortran form of `g6_reset`.
int g6_reset_(int *cid);

// The Fortran form of `g6_reset_fofpga`.
int g6_reset_fofpga_(int *cid);

// The Fortran form of `g6_reinitialize`.
int g6_reinitialize_(int *cid);

// The Fortran form of `g6_npipes`.
int g6_npipes_(void);

// The Fortran form of `g6_set_tunit`.
int g6_set_tunit_(void *unit);

// The Fortran form of `g6_set_xunit`.
int g6_set_xunit_(void *unit);

// The Fortran form of `g6_set_ti`.
int g6_set_ti_(int *cid, double *ti);

// The Fortran form of `g6_set_j_particle`.
int g6_set_j_particle_(int *cid,
                       int *address,
                       int *index,
                       double *tj,
                       double *dtj,
                       double *mass,
                       double *k18,
                       double *j6,
                       double *a2,
                       double *v,
                       double *x);

// The Fortran form of `g6_set_j_particle_mxonly`.
int g6_set_j_particle_mxonly_(int *cid, int *address, int *index, double *mass, double *x);

// The Fortran form of `g6_initialize_jp_buffer`.
int g6_initialize_jp_buffer_(int *cid, int *size);

// The Fortran form of `g6_flush_jp_buffer`.
int g6_flush_jp_buffer_(int *cid);

// The Fortran form of `g6calc_firsthalf`.
int g6calc_firsthalf_(int *cid,
                      int *nj,
                      int *ni,
                      int *index,
                      double (*xi)[3],
                      double (*vi)[3],
                      double (*aold)[3],
                      double (*jold)[3],
                      double *phiold,
                      double *eps2,
                      double *h2);

// The Fortran form of `g6calc_lasthalf`.
int g6calc_lasthalf_(int *cid,
                     int *nj,
                     int *ni,
                     int *index,
                     double (*xi)[3],
                     double (*vi)[3],
                     double *eps2,
                     double *h2,
                     double (*acc)[3],
                     double (*jerk)[3],
                     double *pot);

// The Fortran form of `g6calc_lasthalf2`.
int g6calc_lasthalf2_(int *cid,
                      int *nj,
                      int *ni,
                      int *index,
                      double (*xi)[3],
                      double (*vi)[3],
                      double *eps2,
                      double *h2,
                      double (*acc)[3],
                      double (*jerk)[3],
                      double *pot,
                      int *nn);

// The Fortran form of `g6calc_lasthalfn`.
int g6calc_lasthalfn_(int *cid,
                      int *nj,
                      int *ni,
                      int *index,
                      double (*xi)[3],
                      double (*vi)[3],
                      double *eps2,
                      double *h2,
                      double (*acc)[3],
                      double (*jerk)[3],
                      double *pot);

// The Fortran form of `g6calc_lasthalf2n`.
int g6calc_lasthalf2n_(int *cid,
                       int *nj,
                       int *ni,
                       int *index,
                       double (*xi)[3],
                       double (*vi)[3],
                       double *eps2,
                       double *h2,
                       double (*acc)[3],
                       double (*jerk)[3],
                       double *pot,
                       int *nn);

// The Fortran form of `g6calc_lasthalf2p`.
int g6calc_lasthalf2p_(int *cid,
                       int *nj,
                       int *ni,
                       int *index,
                       double (*xi)[3],
                       double (*vi)[3],
                       double *eps2,
                       double *h2,
                       double (*acc)[3],
                       double (*jerk)[3],
                       double *pot,
                       int *nn,
                       float *rnn);

// The Fortran form of `g6calc_lasthalf2np`.
int g6calc_lasthalf2np_(int *cid,
                        int *nj,
                        int *ni,
                        int *index,
                        double (*xi)[3],
                        double (*vi)[3],
                        double *eps2,
                        double *h2,
                        double (*acc)[3],
                        double (*jerk)[3],
                        double *pot,
                        int *nn,
                        float *rnn);

// The Fortran form of `g6_read_neighbour_list`.
int g6_read_neighbour_list_(int *cid);

// The Fortran form of `g6_get_neighbour_list`.
int g6_get_neighbour_list_(int *cid, int *ipipe, int *maxlength, int *nblen, int *nbl);

// The Fortran form of `g6_set_neighbour_list_sort_mode`.
int g6_set_neighbour_list_sort_mode_(int *mode);

// The Fortran form of `g6_get_neighbour_list_sort_mode`.
int g6_get_neighbour_list_sort_mode_(void);

// The Fortran form of `g6_set_overflow_flag_test_mode`.
int g6_set_overflow_flag_test_mode_(int *aflag, int *jflag, int *pflag);

// As `g6_read_neighbour_list_`, under the name that old versions of kira call.
int g6_read_neighbour_list_old_(int *cid);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_G6_H */
