/* The plain names of include/sapporo6.h. */
#include <sapporo6.h>

#include "forward.h"

FORWARD(kyoho_sapporo6_, initialize, (void), ())
FORWARD(kyoho_sapporo6_, initialize_special, (int ndev, int *list), (ndev, list))
FORWARD(kyoho_sapporo6_, set_j_particle,
        (int addr, double *pos, double *vel, double *acc, double *jrk, double *snp, double *crk, double mass,
         double time, int id, double eps2),
        (addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2))
FORWARD(kyoho_sapporo6_, predict_all, (double time, int nj), (time, nj))
FORWARD(kyoho_sapporo6_, no_predict_all, (double time, int nj), (time, nj))
FORWARD(kyoho_sapporo6_, pick_up_predictor_2,
        (int addr, int *id, double *mass, double *eps2, double *pos, double *vel, double *acc),
        (addr, id, mass, eps2, pos, vel, acc))
FORWARD(kyoho_sapporo6_, calc_force_on_predictors,
        (int ni, int nj, int *ids, double (*pos)[3], double (*vel)[3], double (*acc)[3], double *mass, double *eps2,
         double (*accNew)[3], double (*jrkNew)[3], double (*snpNew)[3], double (*crkNew)[3], double *phi, int *nnb,
         double *nnb_r2),
        (ni, nj, ids, pos, vel, acc, mass, eps2, accNew, jrkNew, snpNew, crkNew, phi, nnb, nnb_r2))
