/* A client in C++ that declares Yebisu's interface itself: with structures that have
 * constructors, functions that return nothing, and references. */
#include <cassert>
#include <vector>

#include "old_check.h"

struct vec {
    double component[3];
};

namespace yebisu {
struct predictor {
    double pos[3], vel[3], acc[3], mass, id, eps2;
    predictor() { assert(sizeof(*this) == 12 * 8); }
};
}

struct Force {
    vec acc, jrk, snp;
    double phi;
    int nnb_id;
    float nnb_r2;
    Force() : phi(0), nnb_id(-1), nnb_r2(HUGE_VALF) { acc = jrk = snp = vec(); }
};

extern "C" {
void initialize(int n);
void set_jp_2(int addr, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3], double crk[3],
              double mass, double time, int id, double eps2);
void set_jp(int addr, double mass, double pos[3], double vel[3], double acc[3], double jrk[3], double snp[3],
            double crk[3], double time, int id, double eps2);
void predict_all(double time, int nj);
void no_predict_all(double time, int nj);
void pick_up_predictor_2(int addr, yebisu::predictor &pred);
void calc_force_on_predictors(int ni, yebisu::predictor pred[], Force force[], int nj);
void calc_force_on_predictors_epsj(int ni, yebisu::predictor pred[], Force force[], int nj);
}

int main()
{
    double x[3] = {2, 0, 0}, y[3] = {0, 0, 1}, v[3] = {0, 0, -1}, zero[3] = {0, 0, 0};
    std::vector<yebisu::predictor> sinks(2);
    std::vector<Force> forces(2);
    initialize(2);
    set_jp_2(0, x, zero, zero, zero, zero, zero, 4.0, 0.0, 10, 0.0);
    set_jp(1, 8.0, y, v, zero, zero, zero, zero, 0.0, 20, 3.0);
    predict_all(-1.0, 2);
    pick_up_predictor_2(0, sinks[0]);
    pick_up_predictor_2(1, sinks[1]);
    PROMISE("predictors are filled", sinks[0].mass == 4.0 && sinks[0].id == 10 && sinks[1].pos[2] == 2.0);
    PROMISE("to the last member", sinks[1].eps2 == 3.0 && sinks[1].vel[2] == -1.0 && sinks[1].acc[0] == 0.0);
    no_predict_all(0.0, 2);
    sinks[0].pos[0] = sinks[1].pos[2] = sinks[1].vel[2] = 0.0;
    sinks[0].id = sinks[1].id = 30;
    sinks[1].eps2 = 0.0;
    calc_force_on_predictors(2, sinks.data(), forces.data(), 2);
    PROMISE("forces are softened by the sinks", forces[0].acc.component[0] == 1.0 && forces[0].acc.component[2] == 8.0);
    PROMISE("jerks are filled", forces[1].jrk.component[2] == 16.0 && forces[1].phi == 2.0 + 8.0);
    PROMISE("and the nearest", forces[1].nnb_id == 20 && forces[1].nnb_r2 == 1.0f);
    calc_force_on_predictors_epsj(2, sinks.data(), forces.data(), 2);
    PROMISE("or by the sources", forces[1].acc.component[0] == 1.0 && forces[1].acc.component[2] == 1.0);
    PROMISE("with the nearest of all of them", forces[1].nnb_id == 20 && forces[1].phi == 2.0 + 4.0);
    return finish();
}
