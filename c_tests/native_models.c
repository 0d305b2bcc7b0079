/* Models of star clusters through the native interface: their masses and sizes, two on an orbit, and
   whatever is wrong is an error that names it and writes nothing. */
#include "native_check.h"

enum { STARS = 200 };

static const char units[] = "pc Msun Myr";
static double m[2 * STARS], x[2 * STARS][3], v[2 * STARS][3];

static int32_t make(const char *model, const char *in_units, int first, uint64_t seed) {
    return kyoho_model_make(model, in_units, STARS, seed, m + first, x[first], v[first]);
}

/* The centre of mass of some stars along an axis. */
static double centre(double (*of)[3], int first, int axis) {
    double sum = 0, mass = 0;
    for (int k = first; k < first + STARS; k++) sum += m[k] * of[k][axis], mass += m[k];
    return sum / mass;
}

/* Checks that a call fails like this, with these words, and writes nothing. */
#define WRONG(result, words, call)                                                                      \
    do {                                                                                                \
        double before[2 * STARS][3];                                                                    \
        memcpy(before, x, sizeof x);                                                                    \
        GIVES(result, call);                                                                            \
        if (!strstr(kyoho_last_error(), words) || memcmp(before, x, sizeof x)) {                        \
            failures++;                                                                                 \
            fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", __FILE__, __LINE__, kyoho_last_error(),  \
                    words);                                                                             \
        }                                                                                               \
    } while (0)

static void a_seed_names_a_model(void) {
    GIVES(KYOHO_OK, make("king,w0=5", NULL, 0, UINT64_MAX));
    GIVES(KYOHO_OK, make("king,w0=5", NULL, STARS, UINT64_MAX));
    CHECK(memcmp(x[0], x[STARS], STARS * sizeof x[0]) == 0 && m[0] == 1.0 / STARS);
    GIVES(KYOHO_OK, make("king,w0=5", NULL, STARS, 1));
    CHECK(memcmp(x[0], x[STARS], STARS * sizeof x[0]) != 0);
}

static void masses_and_binaries(void) {
    GIVES(KYOHO_OK, make("plummer,radius=2 kroupa,least=0.5,most=5 binaries,fraction=1,least=1AU,most=2AU", units, 0, 1));
    for (int k = 0; k < STARS; k += 2) {
        double r2 = 0;
        for (int axis = 0; axis < 3; axis++) r2 += (x[k][axis] - x[k + 1][axis]) * (x[k][axis] - x[k + 1][axis]);
        CHECK(m[k] >= 0.5 && m[k] <= 5 && r2 < 16 / (206264.0 * 206264.0));
    }
}

static void two_clusters(void) {
    GIVES(KYOHO_OK, make("plummer,mass=300", NULL, 0, 1));
    GIVES(KYOHO_OK, make("hernquist,mass=100", NULL, STARS, 2));
    GIVES(KYOHO_OK, kyoho_model_two_clusters("separation=10,speed=2,impact=6", NULL, STARS, STARS, m, x[0], v[0]));
    CHECK(fabs(centre(x, 0, 0) + 2) < 1e-12 && fabs(centre(x, STARS, 0) - 6) < 1e-12);
    CHECK(fabs(centre(x, 0, 1) + 1.5) < 1e-12 && fabs(centre(x, STARS, 1) - 4.5) < 1e-12);
    CHECK(fabs(centre(v, 0, 0) - 0.5) < 1e-12 && fabs(centre(v, STARS, 0) + 1.5) < 1e-12);
}

static void whatever_is_wrong_is_an_error(void) {
    const char *model = "plummer", *orbit = "separation=10,speed=1";
    WRONG(KYOHO_NULL_ARGUMENT, "model", make(NULL, NULL, 0, 1));
    WRONG(KYOHO_NULL_ARGUMENT, "masses", kyoho_model_make(model, NULL, STARS, 1, NULL, x[0], v[0]));
    WRONG(KYOHO_NULL_ARGUMENT, "positions", kyoho_model_make(model, NULL, STARS, 1, m, NULL, v[0]));
    WRONG(KYOHO_NULL_ARGUMENT, "velocities", kyoho_model_make(model, NULL, STARS, 1, m, x[0], NULL));
    WRONG(KYOHO_BAD_COUNT, "count is -1", kyoho_model_make(model, NULL, -1, 1, m, x[0], v[0]));
    WRONG(KYOHO_BAD_OPTION, "the number of bodies is '1'; allowed: 2 to",
          kyoho_model_make(model, NULL, 1, 1, m, x[0], v[0]));
    WRONG(KYOHO_BAD_OPTION, "the model is 'emperor'; allowed: plummer, hernquist, king", make("emperor", NULL, 0, 1));
    WRONG(KYOHO_BAD_OPTION, "'w0' of the model 'king' is '13'; allowed: 0.1 to 12", make("king,w0=13", NULL, 0, 1));
    WRONG(KYOHO_BAD_OPTION, "units is 'pc'", make(model, "pc", 0, 1));
    WRONG(KYOHO_NULL_ARGUMENT, "orbit", kyoho_model_two_clusters(NULL, NULL, STARS, STARS, m, x[0], v[0]));
    WRONG(KYOHO_NULL_ARGUMENT, "masses", kyoho_model_two_clusters(orbit, NULL, STARS, STARS, NULL, x[0], v[0]));
    WRONG(KYOHO_BAD_COUNT, "second_count is -1", kyoho_model_two_clusters(orbit, NULL, STARS, -1, m, x[0], v[0]));
    WRONG(KYOHO_BAD_OPTION, "the mass of the second cluster is '0'",
          kyoho_model_two_clusters(orbit, NULL, STARS, 0, m, x[0], v[0]));
    WRONG(KYOHO_BAD_OPTION, "a parameter of the orbit is 'angle'",
          kyoho_model_two_clusters("angle=1", NULL, STARS, STARS, m, x[0], v[0]));
    v[3][1] = NAN;
    WRONG(KYOHO_NOT_FINITE, "a body of the first cluster",
          kyoho_model_two_clusters(orbit, NULL, STARS, STARS, m, x[0], v[0]));
}

int main(void) {
    a_seed_names_a_model();
    masses_and_binaries();
    two_clusters();
    whatever_is_wrong_is_an_error();
    return failures != 0;
}
