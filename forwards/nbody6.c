/* The plain names of include/nbody6.h. */
#include <nbody6.h>

#include "forward.h"

FORWARD(kyoho_nbody6_, gpunb_devinit_, (void), ())
FORWARD(kyoho_nbody6_, gpunb_open_, (int *nbmax), (nbmax))
FORWARD(kyoho_nbody6_, gpunb_close_, (void), ())
FORWARD(kyoho_nbody6_, gpunb_send_, (int *nj, double *m, double (*x)[3], double (*v)[3]), (nj, m, x, v))
FORWARD(kyoho_nbody6_, gpunb_regf_,
        (int *ni, double *h2, double *dtr, double (*xi)[3], double (*vi)[3], double (*acc)[3], double (*jrk)[3],
         double *pot, int *lmax, int *nbmax, int *list),
        (ni, h2, dtr, xi, vi, acc, jrk, pot, lmax, nbmax, list))
FORWARD(kyoho_nbody6_, gpupot_, (int *n, double *m, double (*x)[3], double *pot), (n, m, x, pot))
