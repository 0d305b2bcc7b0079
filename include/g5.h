// The GRAPE-5 interface of Kyoho: accelerations and potentials of N bodies.
//
//     g5_open();
//     g5_set_eps_to_all(eps);
//     g5_set_n(n);
//     g5_set_xmj(0, n, x, m);
//     g5_calculate_force_on_x(x, a, p, n);
//     g5_close();
//
// A body that is both source and sink feels itself: its potential has the term m / eps, which
// callers subtract. Functions whose name ends in MC take the number of a board, which is any number
// from 0 on. Each board has its own sources, may be used by its own thread, and computes on that
// thread alone. The functions without MC act on board 0, with all threads. Each function has a C
// form and a Fortran form with one underscore, whose arguments are all pointers. Only
// `g5_open_special` has no Fortran form. A call that fails returns non-zero and writes one line to
// stderr, and the force it was part of is NaN.

#ifndef KYOHO_G5_H
#define KYOHO_G5_H

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens the interface, and checks that all devices that the environment asks for are there. Any
// other function opens it too.
//
// Returns 0, or non-zero if boards cannot be made. Then every force is NaN until the interface is
// opened again.
int g5_open(void);

// Opens the interface with the devices in `list` if `ndev` > 0, with all devices if `ndev` = 0, or
// with the first -`ndev` devices if `ndev` < 0.
//
// On the CPU the list has no effect. Returns non-zero if boards are in use with other devices.
int g5_open_special(int ndev, int *list);

// Closes the interface. All boards forget their sources and sinks. A closed interface may be closed
// again.
int g5_close(void);

// Returns the largest number of sinks that callers should pass to `g5_set_xi`: 256, or
// `KYOHO_NPIPES` if that is less.
//
// More sinks are computed too.
int g5_get_number_of_pipelines(void);

// Does as `g5_get_number_of_pipelines` does.
int g5_get_number_of_real_pipelines(void);

// Returns the number of sources that callers should make room for, which is 65536. More can be
// written.
int g5_get_jmemsize(void);

// Returns 0, because there is no bus.
int g5_get_pcibus_freq(void);

// Does nothing, because numbers are floating-point and need no range.
int g5_set_range(double xmin, double xmax, double mmin);

// Does nothing: `eta` scales the tables of forces that GRAPE-5 could be given, which are not there.
int g5_set_eta(double eta);

// Sets the number of sources that act, which are those at the addresses below `n`. It must be set
// before a force is computed.
//
// Sources may be written before or after this call. Addresses that were never written add nothing.
int g5_set_n(int n);

// Does as `g5_set_n` does, for board `devid`, which is any number from 0 on.
int g5_set_nMC(int devid, int n);

// Writes the positions and masses of the sources at the addresses `adr` to `adr + nj - 1`.
//
// They are read from the rows of `xj` and `mj` with the same numbers: from `xj[adr]` on, not from
// `xj[0]`. Returns non-zero if a pointer is null, if a position or a mass is not finite or too
// large for the precision, or if `adr`, `nj` or the number of a board is negative. If the source at
// an address below the number of `g5_set_n` was refused, forces are NaN until it is written again.
int g5_set_xmj(int adr, int nj, double (*xj)[3], double *mj);

// Does as `g5_set_xmj` does, for board `devid`, which is any number from 0 on.
int g5_set_xmjMC(int devid, int adr, int nj, double (*xj)[3], double *mj);

// Does as `g5_set_xmj` does, with the masses before the positions.
int g5_set_jp(int adr, int nj, double *mj, double (*xj)[3]);

// Does as `g5_set_jp` does, for board `devid`, which is any number from 0 on.
int g5_set_jpMC(int devid, int adr, int nj, double *mj, double (*xj)[3]);

// Sets the softening length, not squared, of all sinks on all boards that have none of their own.
// It is 0 until it is set.
int g5_set_eps_to_all(double eps);

// Does as `g5_set_eps_to_all` does, with the squared length.
int g5_set_eps2_to_all(double eps2);

// Sums the forces of all boards by a tree of this opening angle from now on, 0.1 to 1.5; 0 turns it
// off.
//
// A cell of side l, whose centre of mass is s away from its middle, stands for its sources where it
// is at least l / theta + s away. Only forces of many pairs are summed so, from 2^24 on the CPU and
// from 2^31 on GPUs. All sinks have to have the same softening. The call overrules `KYOHO_THETA`
// and `KYOHO_ACCURACY`, which decide until it is made, and `g5_close` leaves it as it is. Returns
// non-zero for other angles, and then forces are NaN until an allowed one is set.
int g5_set_theta(double theta);

// Sets the softening lengths, not squared, of the first `ni` of the sinks that `g5_set_xi` set, one
// for each sink. The other sinks keep theirs.
//
// The next `g5_set_xi` forgets them. If they are refused, forces are NaN until they or the sinks
// are set again.
int g5_set_eps(int ni, double *eps);

// Does as `g5_set_eps` does, for board `devid`, which is any number from 0 on.
int g5_set_epsMC(int devid, int ni, double *eps);

// Sets the positions of `ni` sinks, which are copied. They have the common softening.
int g5_set_xi(int ni, double (*xi)[3]);

// Does as `g5_set_xi` does, for board `devid`, which is any number from 0 on.
int g5_set_xiMC(int devid, int ni, double (*xi)[3]);

// Does as `g5_set_xi` does, with a squared softening length for each sink.
int g5_set_xei(int ni, double (*xi)[3], double *eps2);

// Does as `g5_set_xei` does, for board `devid`, which is any number from 0 on.
int g5_set_xeiMC(int devid, int ni, double (*xi)[3], double *eps2);

// Begins the force on the sinks. Sources that are written before `g5_get_force` do not change it.
int g5_run(void);

// Does as `g5_run` does, for board `devid`, which is any number from 0 on.
int g5_runMC(int devid);

// Ends the force calculation and writes acceleration and potential of the first `ni` sinks. It may
// be called again.
//
// With r = xj - xi and s2 = r^2 + eps^2, `a` = sum m r / s2^(3/2) and `p` = +sum m / s2^(1/2). A
// source at the sink's place adds m / eps to `p`, or nothing if there is no softening. Returns 0.
// On an error, or without `g5_run`, returns non-zero and writes NaN to all `ni` rows.
int g5_get_force(int ni, double (*a)[3], double *p);

// Does as `g5_get_force` does, for board `devid`, which is any number from 0 on.
int g5_get_forceMC(int devid, int ni, double (*a)[3], double *p);

// Does as `g5_set_xi`, `g5_run` and `g5_get_force` do one after another, for any number of sinks.
int g5_calculate_force_on_x(double (*x)[3], double (*a)[3], double *p, int ni);

// Does as `g5_calculate_force_on_x` does, for board `devid`, which is any number from 0 on.
int g5_calculate_force_on_xMC(int devid, double (*x)[3], double (*a)[3], double *p, int ni);

// Does as `g5_set_xei`, `g5_run` and `g5_get_force` do one after another, for any number of sinks.
int g5_calculate_force_on_xe(double (*x)[3], double *eps2, double (*a)[3], double *p, int ni);

// Does as `g5_calculate_force_on_xe` does, for board `devid`, which is any number from 0 on.
int g5_calculate_force_on_xeMC(int devid, double (*x)[3], double *eps2, double (*a)[3], double *p,
                               int ni);

// The Fortran forms do as the C forms do. Every argument is a pointer. The names with MC are spelt
// in two ways: as C programs call them, and in lower case, as Fortran compilers do.

int g5_open_(void);
int g5_close_(void);
int g5_get_number_of_pipelines_(void);
int g5_get_number_of_real_pipelines_(void);
int g5_get_jmemsize_(void);
int g5_get_pcibus_freq_(void);
int g5_set_range_(double *xmin, double *xmax, double *mmin);
int g5_set_eta_(double *eta);
int g5_set_n_(int *n);
int g5_set_nMC_(int *devid, int *n);
int g5_set_nmc_(int *devid, int *n);
int g5_set_xmj_(int *adr, int *nj, double (*xj)[3], double *mj);
int g5_set_xmjMC_(int *devid, int *adr, int *nj, double (*xj)[3], double *mj);
int g5_set_xmjmc_(int *devid, int *adr, int *nj, double (*xj)[3], double *mj);
int g5_set_jp_(int *adr, int *nj, double *mj, double (*xj)[3]);
int g5_set_jpMC_(int *devid, int *adr, int *nj, double *mj, double (*xj)[3]);
int g5_set_jpmc_(int *devid, int *adr, int *nj, double *mj, double (*xj)[3]);
int g5_set_eps_to_all_(double *eps);
int g5_set_eps2_to_all_(double *eps2);
int g5_set_theta_(double *theta);
int g5_set_eps_(int *ni, double *eps);
int g5_set_epsMC_(int *devid, int *ni, double *eps);
int g5_set_epsmc_(int *devid, int *ni, double *eps);
int g5_set_xi_(int *ni, double (*xi)[3]);
int g5_set_xiMC_(int *devid, int *ni, double (*xi)[3]);
int g5_set_ximc_(int *devid, int *ni, double (*xi)[3]);
int g5_set_xei_(int *ni, double (*xi)[3], double *eps2);
int g5_set_xeiMC_(int *devid, int *ni, double (*xi)[3], double *eps2);
int g5_set_xeimc_(int *devid, int *ni, double (*xi)[3], double *eps2);
int g5_run_(void);
int g5_runMC_(int *devid);
int g5_runmc_(int *devid);
int g5_get_force_(int *ni, double (*a)[3], double *p);
int g5_get_forceMC_(int *devid, int *ni, double (*a)[3], double *p);
int g5_get_forcemc_(int *devid, int *ni, double (*a)[3], double *p);
int g5_calculate_force_on_x_(double (*x)[3], double (*a)[3], double *p, int *ni);
int g5_calculate_force_on_xMC_(int *devid, double (*x)[3], double (*a)[3], double *p, int *ni);
int g5_calculate_force_on_xmc_(int *devid, double (*x)[3], double (*a)[3], double *p, int *ni);
int g5_calculate_force_on_xe_(double (*x)[3], double *eps2, double (*a)[3], double *p, int *ni);
int g5_calculate_force_on_xeMC_(int *devid, double (*x)[3], double *eps2, double (*a)[3], double *p,
                                int *ni);
int g5_calculate_force_on_xemc_(int *devid, double (*x)[3], double *eps2, double (*a)[3], double *p,
                                int *ni);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_G5_H */
