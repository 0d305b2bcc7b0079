// The GRAPE-6 interface of Kyoho: forces, jerks, potentials and neighbours of N bodies.
//
// Sources (j-particles) stay in the library. Sinks (i-particles) go in and out block by block:
//
//     g6_open(0);
//     for each source:
//         g6_set_j_particle(0, address, index, t, 0.0, mass, k18, j6, a2, v, x);
//     for each block step:
//         g6_set_ti(0, t);
//         for each g6_npipes() sinks:
//             g6calc_firsthalf(0, nj, ni, index, xi, vi, aold, jold, phiold, eps2, h2);
//             g6calc_lasthalf(0, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot);
//         for each active body:
//             g6_set_j_particle(...);
//     g6_close(0);
//
// Each function has a C form and a Fortran form with one underscore, whose arguments are all
// pointers. Only `g6_open_special`, `g6_open_special2` and `get_device_count` have no Fortran form.
// An array of vectors has three doubles for each particle, which is x(3,n) in Fortran. A call that
// fails returns non-zero and writes one line to stderr, and the force it was part of is NaN. `cid`
// may be any number, because a process has one board.

#ifndef KYOHO_G6_H
#define KYOHO_G6_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the board with the devices that the environment names. It is one device unless the
// environment asks for more.
//
// All calls of a process act on one board, so that `cid` may be any number. An open board stays as
// it is. Any other function opens the board too, if it needs one. Returns 0, or non-zero if the
// environment or `sapporo2.config` asks for something that is not there. Then every force is NaN
// until the board is opened again.
int g6_open(int cid);

// Opens the board with the devices in `list` if `ndev` > 0, with all devices if `ndev` = 0, or with
// the first -`ndev` devices if `ndev` < 0.
//
// On the CPU the list has no effect. Returns non-zero if the board is open with other devices.
int g6_open_special(int ndev, int *list);

// Does as `g6_open_special` does. `nmax`, the number of sources to make room for, is not needed.
int g6_open_special2(int ndev, int *list, int nmax);

// Closes the board, which forgets all sources and frees memory and devices. A closed board may be
// closed again.
int g6_close(int cid);

// Forgets the force calculation under way, or the neighbour lists of the last one. The sources
// stay.
int g6_reset(int cid);

// Does as `g6_reset` does.
int g6_reset_fofpga(int cid);

// Does as `g6_reset` does.
int g6_reinitialize(int cid);

// Returns the largest number of sinks that callers should pass in one call: 16384, or the value of
// `KYOHO_NPIPES`.
//
// It can be called before the board is opened and after it is closed. It returns 1 as long as the
// environment asks for something that is not allowed. More sinks than that are computed too.
int g6_npipes(void);

// Does nothing, because numbers are floating-point and time needs no unit.
int g6_set_tunit(double unit);

// Does nothing, because numbers are floating-point and length needs no unit.
int g6_set_xunit(double unit);

// Sets the time to which the force calculations that follow predict the sources. It is 0 until it
// is set.
//
// A time that is not finite is refused, and the forces are NaN until another is set.
int g6_set_ti(int cid, double ti);

// Writes the source (j-particle) at `address`, 0 or more, in place of what was there.
//
// `index` is the name of the source: sinks with the same index do not feel it. `tj` is the time of
// its state. The state is `mass`, the position `x`, the velocity `v`, half the acceleration `a2`
// and a sixth of the jerk `j6`, with three numbers each. `dtj` and `k18` are not used and never
// read. The next `g6calc_firsthalf` is the first that sees the source. Addresses may come in any
// order, with gaps, and without limit. Returns non-zero if a pointer is null, if a number is not
// finite or too large for the precision, or if the address is negative. If the source at an address
// below `nj` was refused, forces are NaN until it is written again.
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

// Writes a source that has only a mass and a position. It stays at rest there.
int g6_set_j_particle_mxonly(int cid, int address, int index, double mass, double *x);

// Does nothing, because sources are always gathered and sent together.
int g6_initialize_jp_buffer(int cid, int size);

// Does nothing, because the next force calculation sees all sources that were written.
int g6_flush_jp_buffer(int cid);

// Begins the forces of the sources at the addresses below `nj` on `ni` sinks (i-particles).
//
// The sources are predicted to the time of `g6_set_ti`. Addresses that were never written add
// nothing. Each sink has an `index`, a position `xi` and a velocity `vi` at that time, and the
// squared radius `h2` of its neighbour list, which is 0 for no list. They are copied. A source with
// the sink's index is not summed. Another source at the sink's place gives no acceleration. `eps2`
// is the squared softening of all pairs. `aold`, `jold` and `phiold` are not used and never read. A
// force calculation that was not ended is forgotten. With `ni` = 0 nothing happens. Returns 0, or
// non-zero on an error. Then the results will be NaN. If one of the arrays begins among the rows of
// another, the arrays have fewer than `ni` rows. This is an error, whose line says how many rows
// there is room for.
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

// Ends the force calculation and writes acceleration, jerk and potential of its first `ni` sinks.
//
// With r = xj - xi, v = vj - vi and s2 = r^2 + eps2:
//
// - `acc` = sum m r / s2^(3/2)
// - `jerk` = sum m (v / s2^(3/2) - 3 (r.v) r / s2^(5/2))
// - `pot` = -sum m / s2^(1/2)
//
// `acc`, `jerk` and `pot` may overlap one another or any array of `g6calc_firsthalf`. The other
// arguments are not read. With `ni` = 0 nothing happens. Returns 0. On an error, or without
// `g6calc_firsthalf`, returns non-zero and writes NaN to all `ni` rows.
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

// Does as `g6calc_lasthalf` does, and writes to `nn` the index of each sink's nearest source, or 0
// if there is none.
//
// The nearest source has the least distance, without softening, of all sources that have another
// index than the sink.
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

// Does as `g6calc_lasthalf` does. Neighbour lists can be read after any of these functions.
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

// Does as `g6calc_lasthalf2` does. Neighbour lists can be read after any of these functions.
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

// Does as `g6calc_lasthalf2` does, and writes to `rnn` the distance sqrt(r^2 + eps2) of the nearest
// source, which is infinite if there is none.
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

// Does as `g6calc_lasthalf2p` does. Neighbour lists can be read after any of these functions.
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

// Returns 0 if the neighbour lists of the last force calculation can be read, or a negative number
// if none was ended.
//
// The lists have no limit, so that there is never an overflow. Sources that were written after the
// force calculation do not change them.
int g6_read_neighbour_list(int cid);

// Copies the neighbour list of sink `ipipe`, counted from 0, of the last force calculation to
// `nbl`, and its length to `nblen`.
//
// The list has the indices of the sources with r^2 < h2, softening not included, without the sink's
// own index. They ascend, and each is in the list once. Returns 0. If the list is longer than
// `maxlength`, returns 1, writes its first `maxlength` entries, and sets `nblen` to `maxlength`. On
// an error, returns a negative number and sets `nblen` to 0.
int g6_get_neighbour_list(int cid, int ipipe, int maxlength, int *nblen, int *nbl);

// Does nothing, because lists are always sorted.
int g6_set_neighbour_list_sort_mode(int mode);

// Returns 1, because lists are always sorted.
int g6_get_neighbour_list_sort_mode(void);

// Does nothing, because floating-point sums need no test for overflow.
int g6_set_overflow_flag_test_mode(int aflag, int jflag, int pflag);

// Returns the number of devices of the backend that `g6_open` would use, which is at least 1, or 0
// if the environment asks for something that is not there.
int get_device_count(void);

// The Fortran forms do as the C forms do. Every argument is a pointer. Arguments that a C form does
// not use are never read, and may be null or pointers to another type.

int g6_open_(int *cid);
int g6_close_(int *cid);
int g6_reset_(int *cid);
int g6_reset_fofpga_(int *cid);
int g6_reinitialize_(int *cid);
int g6_npipes_(void);
int g6_set_tunit_(void *unit);
int g6_set_xunit_(void *unit);
int g6_set_ti_(int *cid, double *ti);
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
int g6_set_j_particle_mxonly_(int *cid, int *address, int *index, double *mass, double *x);
int g6_initialize_jp_buffer_(int *cid, int *size);
int g6_flush_jp_buffer_(int *cid);
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
int g6_read_neighbour_list_(int *cid);
int g6_get_neighbour_list_(int *cid, int *ipipe, int *maxlength, int *nblen, int *nbl);
int g6_set_neighbour_list_sort_mode_(int *mode);
int g6_get_neighbour_list_sort_mode_(void);
int g6_set_overflow_flag_test_mode_(int *aflag, int *jflag, int *pflag);

// Does as `g6_read_neighbour_list_` does. Old versions of kira call this name.
int g6_read_neighbour_list_old_(int *cid);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_G6_H */
