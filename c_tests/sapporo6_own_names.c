/* A program that defines functions with every plain name of the interface. The dynamic linker
 * prefers them, so the library must never call a plain name. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include <kyoho.h>

#include "sapporo6_check.h"

/* The library is there already under this name. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#if KYOHO_VERSION_MAJOR == 0
#define INTERFACE "0." TEXT(KYOHO_VERSION_MINOR)
#else
#define INTERFACE TEXT(KYOHO_VERSION_MAJOR)
#endif

static int called = 0;

#define OWN(name) \
    int name(void) { return ++called; }

OWN(initialize)
OWN(initialize_special)
OWN(set_j_particle)
OWN(predict_all)
OWN(no_predict_all)
OWN(pick_up_predictor_2)
OWN(calc_force_on_predictors)

typedef int (*opens)(void);
typedef int (*opens_special)(int, int *);
typedef int (*sets)(int, double *, double *, double *, double *, double *, double *, double, double, int, double);
typedef int (*predicts)(double, int);
typedef int (*picks)(int, int *, double *, double *, double *, double *, double *);
typedef int (*computes)(int, int, int *, double (*)[3], double (*)[3], double (*)[3], double *, double *, double (*)[3],
                        double (*)[3], double (*)[3], double (*)[3], double *, int *, double *);

int main(void)
{
    void *library = dlopen("libkyoho_sapporo6.so." INTERFACE, RTLD_NOW);
    double x[1][3] = {{0}}, y[3] = {0, 2, 0}, zero[3] = {0}, mass = 0, eps2 = 0, a[1][3], j[1][3], s[1][3], phi, r2;
    int id = 1, nnb;
    PROMISE("the library is there", library != NULL);
    if (!library) return finish();
    PROMISE("initialize", ((opens)dlsym(library, "initialize"))() == 0);
    PROMISE("initialize_special", ((opens_special)dlsym(library, "initialize_special"))(0, NULL) == 0);
    PROMISE("set_j_particle",
            ((sets)dlsym(library, "set_j_particle"))(0, y, zero, zero, zero, zero, zero, 4.0, 0.0, 9, 0.0) == 0);
    PROMISE("no_predict_all", ((predicts)dlsym(library, "no_predict_all"))(0.0, 1) == 0);
    PROMISE("predict_all", ((predicts)dlsym(library, "predict_all"))(1.0, 1) == 0);
    PROMISE("pick_up_predictor_2",
            ((picks)dlsym(library, "pick_up_predictor_2"))(0, &nnb, &mass, NULL, NULL, NULL, NULL) == 0 && mass == 4.0);
    PROMISE("calc_force_on_predictors",
            ((computes)dlsym(library, "calc_force_on_predictors"))(1, 1, &id, x, x, x, &mass, &eps2, a, j, s, NULL,
                                                                  &phi, &nnb, &r2) == 0 &&
                a[0][1] == 1.0 && phi == -2.0 && nnb == 9 && r2 == 4.0);
    PROMISE("none of them calls a function of the program", called == 0);
    PROMISE("and the program's are its own", initialize() == 1);
    return finish();
}
