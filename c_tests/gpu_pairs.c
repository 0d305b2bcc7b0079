/* Fields and results of pair interactions in memory of a CUDA device give the bits that those of the
 * host give, in the order of the caller's stream; memory that the library cannot use is refused. The
 * program prints one line for each type of numbers; see gpu_library.h.
 *
 *     compute-sanitizer --tool memcheck ./gpu_pairs path/to/libkyoho.so
 */
#define _POSIX_C_SOURCE 200809L

#include <stddef.h>

#include "gpu_driver.h"

enum { SINKS = 70000, SOURCES = 700 };

/* The kinds of numbers: a text, the type of its reals, and how many doubles or floats one has. */
static const struct kind {
    const char *name, *real;
    int32_t number_type;
    int limbs, is_single;
} kinds[] = {
    {"f32", "f32", KYOHO_NUMBER_TYPE_F32, 1, 1},
    {"f64", "f64", KYOHO_NUMBER_TYPE_F64, 1, 0},
    {"dd", "dd", KYOHO_NUMBER_TYPE_DD, 2, 0},
};

static const char form[] = "pair attraction\n"
                           "i x: vec3<%s>, id: i32\n"
                           "j x: vec3<%s>, mass: %s, id: i32\n"
                           "result acc: vec3<%s> sum, near: i32 argmin, count: u32 count\n"
                           "body\n"
                           "  skip if i.id == j.id\n"
                           "  d = j.x - i.x\n"
                           "  r2 = norm2(d) + 0.015625\n"
                           "  rinv = rsqrt(r2)\n"
                           "  acc += j.mass * rinv^3 * d\n"
                           "  near argmin= r2, j.id\n"
                           "  count count= r2 < 0.25\n";

/* A body as a program may have it: positions of up to two limbs, with something behind. */
struct body {
    double x[3][2], mass[2];
    int32_t id, unused;
};

static struct body sinks[SINKS], sources[SOURCES];
static double acc[2][SINKS][3][2];
static int32_t near[2][SINKS], count[2][SINKS];

static void make(struct body *bodies, int n, const struct kind *kind, uint64_t seed) {
    for (int i = 0; i < n; i++) {
        memset(&bodies[i], 0, sizeof bodies[i]);
        bodies[i].id = 3 * i - 100;
        for (int k = 0; k < 4; k++) {
            double high = k < 3 ? draw(&seed) : 1.5 + draw(&seed), low = ldexp(draw(&seed), -60);
            double *to = k < 3 ? &bodies[i].x[0][0] : bodies[i].mass;
            int place = k < 3 ? k : 0;
            if (kind->is_single)
                ((float *)to)[place] = (float)high;
            else
                to[place * kind->limbs] = high;
            if (kind->limbs == 2) to[2 * place + 1] = low;
        }
    }
}

#define FIELD(bodies, field) (void *)((char *)(bodies) + offsetof(struct body, field))

/* Gives all fields of a side, from the host or from a copy on the device. */
static void give(kyoho_pair *pair, const char *side, const struct kind *kind, struct body *bodies, int n,
                 uint64_t copy, void *stream) {
    char name[3][16];
    const char *fields[3] = {"x", "mass", "id"};
    for (int f = 0; f < 3; f++) snprintf(name[f], sizeof name[f], "%s.%s", side, fields[f]);
    kyoho_cuda cuda = {0, 0, stream};
    struct body *on_device = (struct body *)(uintptr_t)copy;
    const int64_t stride = sizeof *bodies;
    struct {
        void *host, *device;
        int32_t type;
    } all[3] = {{FIELD(bodies, x), FIELD(on_device, x), kind->number_type},
                {FIELD(bodies, mass), FIELD(on_device, mass), kind->number_type},
                {FIELD(bodies, id), FIELD(on_device, id), KYOHO_NUMBER_TYPE_I32}};
    for (int f = 0; f < 3; f++) {
        if (f == 1 && side[0] == 'i') continue;
        if (copy)
            GIVES(KYOHO_OK, kyoho_pair_set_on_device(pair, name[f], all[f].type, all[f].device, stride, n, &cuda));
        else
            GIVES(KYOHO_OK, kyoho_pair_set(pair, name[f], all[f].type, all[f].host, stride, n));
    }
}

/* Fetches all results to the host, by memory of the device if so wished. */
static void fetch(kyoho_pair *pair, const struct kind *kind, int place, int by_device) {
    kyoho_cuda cuda = {0, 0, NULL};
    const int64_t stride = sizeof acc[0][0];
    if (!by_device) {
        GIVES(KYOHO_OK, kyoho_pair_result(pair, "acc", kind->number_type, acc[place], stride, SINKS));
        GIVES(KYOHO_OK, kyoho_pair_result(pair, "near", KYOHO_NUMBER_TYPE_I32, near[place], 0, SINKS));
        GIVES(KYOHO_OK, kyoho_pair_result(pair, "count", KYOHO_NUMBER_TYPE_U32, count[place], 0, SINKS));
        return;
    }
    uint64_t to[3] = {on_device(acc[place], sizeof acc[0]), allocate(sizeof near[0]), allocate(sizeof count[0])};
    void *at[3] = {(void *)(uintptr_t)to[0], (void *)(uintptr_t)to[1], (void *)(uintptr_t)to[2]};
    GIVES(KYOHO_OK, kyoho_pair_result_on_device(pair, "acc", kind->number_type, at[0], stride, SINKS, &cuda));
    GIVES(KYOHO_OK, kyoho_pair_result_on_device(pair, "near", KYOHO_NUMBER_TYPE_I32, at[1], 0, SINKS, &cuda));
    GIVES(KYOHO_OK, kyoho_pair_result_on_device(pair, "count", KYOHO_NUMBER_TYPE_U32, at[2], 0, SINKS, &cuda));
    DRIVES(driver.cuMemcpyDtoH_v2(acc[place], to[0], sizeof acc[0]));
    DRIVES(driver.cuMemcpyDtoH_v2(near[place], to[1], sizeof near[0]));
    DRIVES(driver.cuMemcpyDtoH_v2(count[place], to[2], sizeof count[0]));
    for (int k = 0; k < 3; k++) DRIVES(driver.cuMemFree_v2(to[k]));
}

static void same_bits(void) {
    CHECK(memcmp(acc[0], acc[1], sizeof acc[0]) == 0);
    CHECK(memcmp(near[0], near[1], sizeof near[0]) == 0);
    CHECK(memcmp(count[0], count[1], sizeof count[0]) == 0);
    memset(acc, 0, sizeof acc);
    memset(near, 0, sizeof near);
    memset(count, 0, sizeof count);
}

#define REFUSES(words, call)                                                                                \
    do {                                                                                                    \
        GIVES(KYOHO_BAD_OPTION, call);                                                                      \
        CHECK(strstr(kyoho_pair_last_error(pair), words));                                                  \
    } while (0)

static void refusals(kyoho_pair *pair, const struct kind *kind, uint64_t copy) {
    kyoho_cuda cuda = {0, 0, NULL}, other = {7, 0, NULL};
    void *at = (void *)(uintptr_t)copy;
    const int64_t stride = sizeof(struct body);
    REFUSES("the type of j.x on a device is 'i32'",
            kyoho_pair_set_on_device(pair, "j.x", KYOHO_NUMBER_TYPE_I32, at, stride, SOURCES, &cuda));
    REFUSES("CUDA device 7", kyoho_pair_set_on_device(pair, "j.x", kind->number_type, at, stride, SOURCES, &other));
    REFUSES("aligned rows", kyoho_pair_set_on_device(pair, "j.x", kind->number_type, (char *)at + 2, stride, SOURCES,
                                                    &cuda));
    REFUSES("j.x", kyoho_pair_set_on_device(pair, "j.x", kind->number_type, sources, stride, SOURCES, &cuda));
    REFUSES("j.x", kyoho_pair_set_on_device(pair, "j.x", kind->number_type, at, 1 << 24, SOURCES, &cuda));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_pair_set_on_device(pair, "j.x", kind->number_type, at, stride, SOURCES, NULL));
    GIVES(KYOHO_BAD_OPTION, kyoho_pair_set_on_device(pair, "j.x", kind->number_type, at, -stride, SOURCES, &cuda));
}

static void check(const struct kind *kind) {
    const int before = failures;
    char text[1024];
    snprintf(text, sizeof text, form, kind->real, kind->real, kind->real, kind->real);
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    options.backend = KYOHO_BACKEND_CUDA;
    options.devices = "0,";
    kyoho_pair *pair;
    GIVES(KYOHO_OK, kyoho_pair_compile(text, &options, &pair));
    make(sinks, SINKS, kind, 3);
    make(sources, SOURCES, kind, 4);
    uint64_t copies[2] = {on_device(sinks, sizeof sinks), on_device(sources, sizeof sources)};

    give(pair, "i", kind, sinks, SINKS, 0, NULL);
    give(pair, "j", kind, sources, SOURCES, 0, NULL);
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    fetch(pair, kind, 0, 0);

    /* Sources on the device. */
    give(pair, "j", kind, sources, SOURCES, copies[1], NULL);
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    fetch(pair, kind, 1, 0);
    CHECK(acc[1][0][0][0] != 0 && near[1][0] != 0);
    same_bits();

    /* And the sinks; results stay there until they are asked for, on the host or on the device. */
    give(pair, "i", kind, sinks, SINKS, copies[0], NULL);
    GIVES(KYOHO_OK, kyoho_pair_start(pair, -1, -1));
    GIVES(KYOHO_OK, kyoho_pair_wait(pair));
    fetch(pair, kind, 0, 0);
    fetch(pair, kind, 1, 1);
    same_bits();
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    fetch(pair, kind, 0, 1);
    fetch(pair, kind, 1, 0);
    same_bits();

    /* A run reads what was written in the caller's stream before it. */
    void *stream = NULL;
    struct body *pinned = NULL;
    DRIVES(driver.cuStreamCreate(&stream, 1));
    DRIVES(driver.cuMemHostAlloc((void **)&pinned, sizeof sources, 0));
    make(sources, SOURCES, kind, 5);
    memcpy(pinned, sources, sizeof sources);
    give(pair, "j", kind, sources, SOURCES, copies[1], stream);
    DRIVES(driver.cuMemcpyHtoDAsync_v2(copies[1], pinned, sizeof sources, stream));
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    fetch(pair, kind, 0, 1);
    give(pair, "j", kind, sources, SOURCES, 0, NULL);
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    fetch(pair, kind, 1, 1);
    same_bits();

    refusals(pair, kind, copies[1]);
    GIVES(KYOHO_OK, kyoho_pair_free(pair));
    for (int k = 0; k < 2; k++) DRIVES(driver.cuMemFree_v2(copies[k]));
    printf("pairs in %s: %s\n", kind->name, failures == before ? "ok" : "not as it should be");
    fflush(stdout);
}

int main(int number, char **arguments) {
    load_library(number, arguments);
    forget_environment();
    open_driver();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) check(&kinds[k]);
    return failures > 0;
}
