/* The plain names of include/yebisu.h. */
#include <stddef.h>
#include <yebisu.h>

#include "forward.h"

_Static_assert(sizeof(predictor) == 96 && offsetof(predictor, eps2) == 88, "a predictor is as libkyoho has it");
_Static_assert(sizeof(Force) == 88 && offsetof(Force, nnb_r2) == 84, "a force is as libkyoho has it");

FORWARD(kyoho_yebisu_, initialize, (int n), (n))
FORWARD(kyoho_yebisu_, initialize_special, (int ndev, int *list), (ndev, list))
FORWARD(kyoho_yebisu_, set_jp_2,
        (int addr, double *pos, double *vel, double *acc, double *jrk, double *snp, double *crk, double mass,
         double time, int id, double eps2),
        (addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2))
FORWARD(kyoho_yebisu_, set_jp,
        (int addr, double mass, double *pos, double *vel, double *acc, double *jrk, double *snp, double *crk,
         double time, int id, double eps2),
        (addr, mass, pos, vel, acc, jrk, snp, crk, time, id, eps2))
FORWARD(kyoho_yebisu_, predict_all, (double time, int nj), (time, nj))
FORWARD(kyoho_yebisu_, no_predict_all, (double time, int nj), (time, nj))
FORWARD(kyoho_yebisu_, pick_up_predictor_2, (int addr, predictor *pred), (addr, pred))
FORWARD(kyoho_yebisu_, pick_up_predictor, (int addr, predictor *pred), (addr, pred))
FORWARD(kyoho_yebisu_, calc_force_on_predictors, (int ni, predictor *pred, Force *force, int nj), (ni, pred, force, nj))
FORWARD(kyoho_yebisu_, calc_force_on_predictors_epsj, (int ni, predictor *pred, Force *force, int nj),
        (ni, pred, force, nj))
