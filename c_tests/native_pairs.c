/* Pair interactions that users write through the native interface: gravity as a text is the built-in
   law, and whatever is wrong is an error that names it. */
#include "native_check.h"

enum { N = 3000, SINKS = 200 };

static struct particle p[N];

static const char gravity[] =
    "pair gravity\n"
    "i      pos: vec3<f64>, id: u32\n"
    "j      pos: vec3<f64>, mass: f64, id: u32\n"
    "param  eps2: f64\n"
    "result acc: vec3<f64> sum, pot: f64 sum, others: u32 count\n"
    "body\n"
    "  skip if i.id == j.id\n"
    "  d = j.pos - i.pos\n"
    "  rinv = rsqrt(norm2(d) + eps2)\n"
    "  acc += j.mass * rinv^3 * d\n"
    "  pot -= j.mass * rinv\n"
    "  others count= true\n";

/* Checks that a call fails like this, and that the text of the interaction's error has these words. */
#define WRONG(result, words, pair, call)                                                                \
    do {                                                                                                \
        GIVES(result, call);                                                                            \
        if (!strstr(kyoho_pair_last_error(pair), words)) {                                              \
            failures++;                                                                                 \
            fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", __FILE__, __LINE__,                      \
                    kyoho_pair_last_error(pair), words);                                                \
        }                                                                                               \
    } while (0)

static kyoho_result set(kyoho_pair *pair, const char *field, kyoho_number_type type, const void *data, int count) {
    return kyoho_pair_set(pair, field, type, data, sizeof(struct particle), count);
}

static void set_all(kyoho_pair *pair) {
    const double eps2 = 1e-3;
    GIVES(KYOHO_OK, set(pair, "i.pos", KYOHO_NUMBER_TYPE_F64, p->x, SINKS));
    GIVES(KYOHO_OK, set(pair, "i.id", KYOHO_NUMBER_TYPE_I32, &p->index, SINKS));
    GIVES(KYOHO_OK, set(pair, "j.pos", KYOHO_NUMBER_TYPE_F64, p->x, N));
    GIVES(KYOHO_OK, set(pair, "j.id", KYOHO_NUMBER_TYPE_I32, &p->index, N));
    GIVES(KYOHO_OK, set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, &p->mass, N));
    GIVES(KYOHO_OK, kyoho_pair_set_parameter(pair, "eps2", KYOHO_NUMBER_TYPE_F64, &eps2, 1));
}

static void gravity_is_the_built_in_law(kyoho_backend backend, int f64_as_dd, int threads) {
    static struct particle built_in[N];
    static int32_t others[SINKS];
    static double depths[SINKS][2];
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    kyoho_pair *pair = NULL;
    kyoho_system *system = NULL;
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, SINKS, 1e-3);
    kyoho_forces forces = forces_of(built_in);
    GIVES(KYOHO_OK, create_on(2, KYOHO_PRECISION_DOUBLE, KYOHO_BACKEND_CPU, NULL, 1, &system));
    sources.velocities.data = NULL, sinks.velocities.data = NULL, forces.jerks.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_free(system));

    options.backend = backend, options.f64_as_dd = f64_as_dd, options.threads = threads;
    GIVES(KYOHO_OK, kyoho_pair_compile(gravity, &options, &pair));
    set_all(pair);
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, N));
    GIVES(KYOHO_OK, kyoho_pair_result(pair, "acc", KYOHO_NUMBER_TYPE_F64, p->acc, sizeof *p, SINKS));
    GIVES(KYOHO_OK, kyoho_pair_result(pair, "pot", KYOHO_NUMBER_TYPE_DD, depths, 0, SINKS));
    GIVES(KYOHO_OK, kyoho_pair_result(pair, "others", KYOHO_NUMBER_TYPE_I32, others, 0, SINKS));
    for (int i = 0; i < SINKS; i++) {
        CHECK(close_to(p[i].acc, built_in[i].acc, 1e-13));
        CHECK(fabs(depths[i][0] - built_in[i].pot) <= 1e-13 * fabs(built_in[i].pot));
        CHECK(others[i] == N - 1);
        CHECK(fabs(depths[i][1]) <= 1e-15 * fabs(depths[i][0]) && (f64_as_dd || depths[i][1] == 0));
    }
    GIVES(KYOHO_OK, kyoho_pair_free(pair));
}

/* On each group of 10 sinks act the 50 sources from its first sink on, or every third of them. */
static void lists_are_the_sources_of_their_groups(kyoho_backend backend) {
    enum { GROUPS = SINKS / 10, LENGTH = 50 };
    int32_t offsets[GROUPS + 1], first[GROUPS], counts[GROUPS], addresses[GROUPS * LENGTH], others[SINKS];
    int64_t places[GROUPS + 1] = {0};
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    kyoho_lists ranges = KYOHO_LISTS_INIT, lists = KYOHO_LISTS_INIT;
    kyoho_pair *pair = NULL;
    for (int group = 0; group < GROUPS; group++) {
        offsets[group] = 10 * group, first[group] = 10 * group, counts[group] = LENGTH;
        places[group + 1] = places[group];
        for (int place = 0; place < LENGTH; place += 3)
            addresses[places[group + 1]++] = 10 * group + place;
    }
    offsets[GROUPS] = SINKS;
    ranges.group_count = GROUPS, ranges.sink_offsets.data = offsets;
    lists = ranges;
    ranges.first_addresses.data = first, ranges.source_counts.data = counts;
    lists.source_offsets.data = places, lists.addresses.data = addresses;

    options.backend = backend;
    GIVES(KYOHO_OK, kyoho_pair_compile(gravity, &options, &pair));
    set_all(pair);
    for (int step = 1; step <= 3; step += 2) {
        GIVES(KYOHO_OK, kyoho_pair_run_lists(pair, step == 1 ? &ranges : &lists, -1));
        GIVES(KYOHO_OK, kyoho_pair_result(pair, "acc", KYOHO_NUMBER_TYPE_F64, p->acc, sizeof *p, SINKS));
        GIVES(KYOHO_OK, kyoho_pair_result(pair, "others", KYOHO_NUMBER_TYPE_I32, others, 0, SINKS));
        for (int i = 0; i < SINKS; i++) {
            double acc[3] = {0};
            int begin = i / 10 * 10, count = 0;
            for (int j = begin; j < begin + LENGTH; j += step) {
                double d[3], r2 = 1e-3;
                if (j == i)
                    continue;
                for (int k = 0; k < 3; k++)
                    d[k] = p[j].x[k] - p[i].x[k], r2 += d[k] * d[k];
                for (int k = 0; k < 3; k++)
                    acc[k] += p[j].mass * d[k] / (r2 * sqrt(r2));
                count++;
            }
            CHECK(close_to(p[i].acc, acc, 1e-12));
            CHECK(others[i] == count);
        }
    }
    addresses[7] = N;
    WRONG(KYOHO_BAD_COUNT, "addresses[7] is 3000; allowed: below 3000", pair, kyoho_pair_run_lists(pair, &lists, -1));
    addresses[7] = -1;
    WRONG(KYOHO_BAD_COUNT, "addresses[7] is -1", pair, kyoho_pair_run_lists(pair, &lists, -1));
    offsets[3] = 5;
    WRONG(KYOHO_BAD_COUNT, "sink_offsets[3] is 5; allowed: at least 20", pair, kyoho_pair_run_lists(pair, &ranges, -1));
    offsets[3] = 30, offsets[GROUPS] = SINKS - 1;
    WRONG(KYOHO_BAD_COUNT, "i.pos", pair, kyoho_pair_run_lists(pair, &ranges, -1));
    ranges.addresses.data = addresses;
    WRONG(KYOHO_BAD_OPTION, "allowed: first_addresses and source_counts, or source_offsets and addresses", pair,
        kyoho_pair_run_lists(pair, &ranges, -1));
    GIVES(KYOHO_OK, kyoho_pair_free(pair));
}

/* A run that goes on in a thread of the library gives the results of a run that is waited for, and
   its errors come when it is waited for. */
static void runs_go_on_until_they_are_waited_for(kyoho_backend backend) {
    static double waited_for[SINKS][3], found[SINKS][3];
    const int32_t offsets[] = {0, SINKS}, first[] = {0}, counts[] = {N};
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    kyoho_lists lists = KYOHO_LISTS_INIT;
    kyoho_pair *pair = NULL;
    lists.group_count = 1, lists.sink_offsets.data = offsets;
    lists.first_addresses.data = first, lists.source_counts.data = counts;
    options.backend = backend;
    GIVES(KYOHO_OK, kyoho_pair_compile(gravity, &options, &pair));
    set_all(pair);
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    GIVES(KYOHO_OK, kyoho_pair_result(pair, "acc", KYOHO_NUMBER_TYPE_F64, waited_for, 0, SINKS));
    WRONG(KYOHO_CALL_ORDER, "without a run under way", pair, kyoho_pair_wait(pair));
    for (int by_lists = 0; by_lists < 2; by_lists++) {
        if (by_lists)
            GIVES(KYOHO_OK, kyoho_pair_start_lists(pair, &lists, -1));
        else
            GIVES(KYOHO_OK, kyoho_pair_start(pair, -1, N));
        WRONG(KYOHO_CALL_ORDER, "while a run was under way", pair, kyoho_pair_start(pair, -1, -1));
        WRONG(KYOHO_CALL_ORDER, "while a run was under way", pair, kyoho_pair_run(pair, -1, -1));
        WRONG(KYOHO_CALL_ORDER, "while a run was under way", pair,
              set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, &p->mass, N));
        GIVES(KYOHO_OK, kyoho_pair_wait(pair));
        GIVES(KYOHO_OK, kyoho_pair_result(pair, "acc", KYOHO_NUMBER_TYPE_F64, found, 0, SINKS));
        for (int i = 0; i < SINKS; i++)
            CHECK(close_to(found[i], waited_for[i], by_lists ? 1e-12 : 0.0));
    }
    GIVES(KYOHO_OK, set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, &p->mass, N - 1));
    WRONG(KYOHO_BAD_COUNT, "n_sinks is -2", pair, kyoho_pair_start(pair, -2, -1));
    GIVES(KYOHO_OK, kyoho_pair_start(pair, -1, -1));
    WRONG(KYOHO_BAD_COUNT, "j.mass", pair, kyoho_pair_wait(pair));
    GIVES(KYOHO_OK, set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, &p->mass, N));
    GIVES(KYOHO_OK, kyoho_pair_start(pair, -1, -1));
    GIVES(KYOHO_OK, kyoho_pair_free(pair));
    GIVES(KYOHO_BAD_HANDLE, kyoho_pair_wait(pair));
}

/* What a text declares, and the kernels that it becomes. */
static void texts_are_told(void) {
    static char source[1 << 20];
    static const struct {
        int section, number, type, width;
        const char *name;
    } known[] = {
        {1, 0, KYOHO_NUMBER_TYPE_F64, 3, "pos"}, {2, 2, KYOHO_NUMBER_TYPE_U32, 1, "id"},
        {3, 0, KYOHO_NUMBER_TYPE_F64, 1, "eps2"}, {4, 0, KYOHO_NUMBER_TYPE_F64, 3, "acc"},
        {4, 2, KYOHO_NUMBER_TYPE_U32, 1, "others"},
    };
    kyoho_pair_variable variable = KYOHO_PAIR_VARIABLE_INIT;
    kyoho_pair *pair = NULL;
    int64_t needed = 0;
    GIVES(KYOHO_OK, kyoho_pair_compile(gravity, NULL, &pair));
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        GIVES(KYOHO_OK, kyoho_pair_describe(pair, known[k].section, known[k].number, &variable));
        CHECK(!strcmp(variable.name, known[k].name) && variable.number_type == known[k].type);
        CHECK(variable.width == known[k].width && variable.table_size == 0);
    }
    WRONG(KYOHO_BAD_COUNT, "is 3; allowed: 0 to 2", pair, kyoho_pair_describe(pair, 4, 3, &variable));
    WRONG(KYOHO_BAD_OPTION, "section", pair, kyoho_pair_describe(pair, 5, 0, &variable));
    GIVES(KYOHO_OK, kyoho_pair_source(pair, KYOHO_BACKEND_CUDA, source, sizeof source, &needed));
    CHECK(strstr(source, ".entry sum_pairs") && (int64_t)strlen(source) + 1 == needed);
    GIVES(KYOHO_OK, kyoho_pair_source(pair, KYOHO_BACKEND_OPENCL, source, sizeof source, NULL));
    CHECK(strstr(source, "sum_lists("));
    WRONG(KYOHO_BUFFER_TOO_SMALL, "kernels", pair, kyoho_pair_source(pair, KYOHO_BACKEND_CUDA, NULL, 0, NULL));
    WRONG(KYOHO_BAD_OPTION, "cuda, opencl", pair, kyoho_pair_source(pair, KYOHO_BACKEND_CPU, source, 9, NULL));
    GIVES(KYOHO_OK, kyoho_pair_free(pair));
}

static void errors(void) {
    const double numbers[] = {1, NAN};
    char text[20000], few[10];
    int64_t needed = 0;
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    kyoho_pair *pair = (kyoho_pair *)text;
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_pair_compile(NULL, NULL, &pair));
    GIVES(KYOHO_BAD_TEXT, kyoho_pair_compile("pair p\nresult a: f64 sum\nbody\na += b\n", NULL, &pair));
    CHECK(pair == NULL);
    CHECK(strstr(kyoho_last_error(), "line 4, column 6: there is no 'b'; allowed: "));
    options.f64_as_dd = 7;
    GIVES(KYOHO_BAD_OPTION, kyoho_pair_compile(gravity, &options, &pair));
    GIVES(KYOHO_OK, kyoho_pair_compile(gravity, NULL, &pair));

    WRONG(KYOHO_CALL_ORDER, "i.pos", pair, kyoho_pair_run(pair, -1, -1));
    WRONG(KYOHO_BAD_OPTION, "j.charge", pair, set(pair, "j.charge", KYOHO_NUMBER_TYPE_F64, p->x, N));
    WRONG(KYOHO_BAD_OPTION, "type", pair, set(pair, "j.mass", 17, p->x, N));
    WRONG(KYOHO_BAD_OPTION, "stride of j.mass", pair,
          kyoho_pair_set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, &p->mass, 4, N));
    WRONG(KYOHO_BAD_COUNT, "j.mass", pair, set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, &p->mass, -1));
    WRONG(KYOHO_NULL_ARGUMENT, "data", pair, set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, NULL, 1));
    set_all(pair);
    WRONG(KYOHO_NOT_FINITE, "eps2 is NaN", pair,
          kyoho_pair_set_parameter(pair, "eps2", KYOHO_NUMBER_TYPE_F64, &numbers[1], 1));
    WRONG(KYOHO_BAD_COUNT, "eps2", pair, kyoho_pair_set_parameter(pair, "eps2", KYOHO_NUMBER_TYPE_F64, numbers, 2));
    WRONG(KYOHO_BAD_OPTION, "eps", pair, kyoho_pair_set_parameter(pair, "eps", KYOHO_NUMBER_TYPE_F64, numbers, 1));
    WRONG(KYOHO_BAD_COUNT, "i.pos", pair, kyoho_pair_run(pair, SINKS + 1, -1));
    WRONG(KYOHO_CALL_ORDER, "'pot'", pair, kyoho_pair_result(pair, "pot", KYOHO_NUMBER_TYPE_F64, text, 0, SINKS));
    GIVES(KYOHO_OK, kyoho_pair_run(pair, -1, -1));
    WRONG(KYOHO_BAD_COUNT, "pot", pair, kyoho_pair_result(pair, "pot", KYOHO_NUMBER_TYPE_F64, text, 0, SINKS - 1));
    WRONG(KYOHO_BAD_OPTION, "force", pair, kyoho_pair_result(pair, "force", KYOHO_NUMBER_TYPE_F64, text, 0, SINKS));

    WRONG(KYOHO_BUFFER_TOO_SMALL, "list", pair, kyoho_pair_explain(pair, few, sizeof few, &needed));
    CHECK(strlen(few) == sizeof few - 1);
    GIVES(KYOHO_OK, kyoho_pair_explain(pair, text, sizeof text, NULL));
    CHECK((int64_t)strlen(text) + 1 == needed && strstr(text, "once a pair:"));

    GIVES(KYOHO_OK, kyoho_pair_free(pair));
    GIVES(KYOHO_BAD_HANDLE, kyoho_pair_run(pair, -1, -1));
    CHECK(strstr(kyoho_last_error(), "not a pair interaction"));
    GIVES(KYOHO_BAD_HANDLE, kyoho_pair_free(pair));
    GIVES(KYOHO_BAD_HANDLE, kyoho_pair_free(NULL));
}

/* The built-in law has a text for each order, which compiles. */
static void built_in_laws_are_texts(void) {
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    options.backend = KYOHO_BACKEND_CPU;
    options.f64_as_dd = 1;
    for (int order = -1; order <= 9; order++) {
        const char *text = kyoho_pair_gravity(order);
        const int is_order = order == 2 || order == 4 || order == 6 || order == 8;
        CHECK((text != NULL) == is_order);
        if (text != NULL) {
            kyoho_pair *pair = NULL;
            GIVES(KYOHO_OK, kyoho_pair_compile(text, &options, &pair));
            GIVES(KYOHO_OK, kyoho_pair_free(pair));
        }
    }
}

int main(void) {
    make_particles(p, N, 5);
    gravity_is_the_built_in_law(KYOHO_BACKEND_CPU, 0, 1);
    gravity_is_the_built_in_law(KYOHO_BACKEND_CPU, 0, 3);
    for (int backend = KYOHO_BACKEND_CPU; backend <= KYOHO_BACKEND_OPENCL; backend++) {
        if (kyoho_backend_available(backend, NULL) == KYOHO_OK) {
            gravity_is_the_built_in_law(backend, 0, 2);
            gravity_is_the_built_in_law(backend, 1, 2);
            lists_are_the_sources_of_their_groups(backend);
            runs_go_on_until_they_are_waited_for(backend);
        }
    }
    texts_are_told();
    built_in_laws_are_texts();
    errors();
    return failures != 0;
}
