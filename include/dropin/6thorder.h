/* The header that clients of Sapporo2's order 6 include. Link -lkyoho_sapporo6. */
#ifndef KYOHO_6THORDER_H
#define KYOHO_6THORDER_H

#include <sapporo6.h>

#ifdef __cplusplus
/* C++ clients pass references in place of pointers. */
inline void pick_up_predictor_2(int addr, int &id, double &mass, double &eps2, double pos[3],
                                double vel[3], double acc[3])
{
    pick_up_predictor_2(addr, &id, &mass, &eps2, pos, vel, acc);
}
#endif

#endif
