/* The plain names of include/nbody6pp.h. */
#include <nbody6pp.h>

#include "forward.h"

FORWARD(kyoho_nbody6pp_, gpunb_devinit_, (int *rank), (rank))
FORWARD(kyoho_nbody6pp_, gpunb_open_, (int *nbmax, int *rank), (nbmax, rank))
FORWARD(kyoho_nbody6pp_, gpunb_close_, (void), ())
FORWARD(kyoho_nbody6pp_, gpunb_send_, (int *nj, double *m, double (*x)[3], double (*v)[3]), (nj, m, x, v))
FORWARD(kyoho_nbody6pp_, gpunb_regf_,
        (int *ni, double *h2, double *dtr, double (*xi)[3], double (*vi)[3], double (*acc)[3], double (*jrk)[3],
         double *pot, int *lmax, int *nbmax, int *list, int *m_flag),
        (ni, h2, dtr, xi, vi, acc, jrk, pot, lmax, nbmax, list, m_flag))
FORWARD(kyoho_nbody6pp_, gpupot_,
        (int *rank, int *istart, int *ni, int *n, double *m, double (*x)[3], double *pot),
        (rank, istart, ni, n, m, x, pot))
FORWARD(kyoho_nbody6pp_, gpunb_profile_, (int *rank), (rank))
