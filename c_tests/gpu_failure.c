/* The behaviour of a program whose GPU fails: its context is lost, its memory is used up, or the
 * program forks. Every case is a process of its own, because a device that failed is lost for the
 * whole process. It prints one line for each case; see gpu_library.h.
 *
 *     ./gpu_failure path/to/libkyoho.so [words of the cases to run]
 */
#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "gpu_library.h"

/* Ends a case that cannot go on. It skips what libraries do at an exit, which may hang in a
   fork. */
static void stop(void) {
    fflush(stdout);
    _exit(1);
}

/* The driver. */

static int (*cuInit)(unsigned);
static int (*cuDeviceGet)(int *, int);
static int (*cuDevicePrimaryCtxRetain)(void **, int);
static int (*cuDevicePrimaryCtxRelease)(int);
static int (*cuCtxSetCurrent)(void *);
static int (*cuCtxSynchronize)(void);
static int (*cuModuleLoadData)(void **, const void *);
static int (*cuModuleGetFunction)(void **, void *, const char *);
static int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                             void **);
static int (*cuMemAlloc)(uint64_t *, size_t);
static int (*cuMemFree)(uint64_t);

/* The GPU that fails, by its number and by the driver's handle. */
static int failing, device;

/* Retains the context that the library uses. */
static void share_context(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
    CHECK(driver);
    if (!driver) stop();
    find(driver, "cuInit", &cuInit);
    find(driver, "cuDeviceGet", &cuDeviceGet);
    find(driver, "cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain);
    find(driver, "cuDevicePrimaryCtxRelease_v2", &cuDevicePrimaryCtxRelease);
    find(driver, "cuCtxSetCurrent", &cuCtxSetCurrent);
    find(driver, "cuCtxSynchronize", &cuCtxSynchronize);
    find(driver, "cuModuleLoadData", &cuModuleLoadData);
    find(driver, "cuModuleGetFunction", &cuModuleGetFunction);
    find(driver, "cuLaunchKernel", &cuLaunchKernel);
    find(driver, "cuMemAlloc_v2", &cuMemAlloc);
    find(driver, "cuMemFree_v2", &cuMemFree);
    CHECK(cuInit(0) == 0);
    CHECK(cuDeviceGet(&device, failing) == 0);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == 0);
    CHECK(cuCtxSetCurrent(context) == 0);
}

static void *trap;

/* Loads a kernel that ends the context. */
static void load_trap(void) {
    static const char text[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry die()\n{\n trap;\n ret;\n}\n";
    void *module = NULL;
    share_context();
    int code = cuModuleLoadData(&module, text);
    if (code != 0) fprintf(stderr, "cuModuleLoadData: error %d\n", code);
    CHECK(code == 0);
    CHECK(code == 0 && cuModuleGetFunction(&trap, module, "die") == 0);
    if (failures) stop();
}

/* The context is lost from here on. Every call in it is an error. */
static void kill_context(void) {
    CHECK(cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0);
    int code = cuCtxSynchronize();
    CHECK(code != 0);
    CHECK(cuCtxSynchronize() == code);
}

/* Memory that is taken away from the library. */
static uint64_t hoard[4096];
static int hoarded;

static void take_all_memory(void) {
    for (size_t bytes = (size_t)8 << 30; bytes >= (size_t)64 << 10; bytes /= 2)
        while (hoarded < 4096 && cuMemAlloc(&hoard[hoarded], bytes) == 0) hoarded++;
    CHECK(hoarded > 0 && hoarded < 4096);
}

static void give_all_memory(void) {
    while (hoarded > 0) CHECK(cuMemFree(hoard[--hoarded]) == 0);
}

/* Block steps on a system and on its twin on the CPU. */

enum { N = 6000, MANY = 1 << 20 };

static struct particle *p;
static kyoho_system *tested, *twin;
static double now;

static void make_all_particles(void) {
    p = calloc(MANY, sizeof *p);
    make_particles(p, MANY, 7);
    now = 0;
}

static void open_systems(int backend) {
    make_all_particles();
    GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_DOUBLE, backend, NULL, 0, &tested));
    GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_DOUBLE, KYOHO_BACKEND_CPU, NULL, 0, &twin));
    if (failures) stop();
}

static int backend_of(kyoho_system *system) {
    int32_t backend = -1;
    GIVES(KYOHO_OK, kyoho_system_describe(system, NULL, &backend));
    return backend;
}

static void write_to_both(int first, int count, double time) {
    for (int i = first; i < first + count; i++)
        for (int k = 0; k < 3; k++) p[i].x[k] += 1e-3 * p[i].v[k];
    kyoho_sources sources = sources_of(p + first, count);
    sources.first_address = first;
    double *times = malloc(count * sizeof *times);
    for (int i = 0; i < count; i++) times[i] = time;
    sources.times.data = times;
    GIVES(KYOHO_OK, kyoho_system_set_sources(tested, &sources));
    GIVES(KYOHO_OK, kyoho_system_set_sources(twin, &sources));
    free(times);
}

static void set_both_times(void) {
    now += 1.0 / 64;
    GIVES(KYOHO_OK, kyoho_system_set_time(tested, now));
    GIVES(KYOHO_OK, kyoho_system_set_time(twin, now));
}

static double difference(const double *a, const double *b, int n) {
    double worst = 0, scale = 0;
    for (int k = 0; k < n; k++) {
        worst = fmax(worst, fabs(a[k] - b[k]));
        if (!(fabs(a[k]) < INFINITY)) worst = INFINITY;
        scale = fmax(scale, fabs(b[k]));
    }
    return worst / scale;
}

/* The forces of both agree up to the rounding of devices that add in other orders, or bit by
   bit. */
static void compare(const struct particle *one, const struct particle *other, int n, int same_bits) {
    double worst = 0;
    int same = 1;
    for (int i = 0; i < n; i++) {
        worst = fmax(worst, difference(one[i].acc, other[i].acc, 3));
        worst = fmax(worst, difference(one[i].jerk, other[i].jerk, 3));
        worst = fmax(worst, difference(&one[i].pot, &other[i].pot, 1));
        same = same && memcmp(one[i].acc, other[i].acc, sizeof one[i].acc) == 0;
        same = same && memcmp(one[i].jerk, other[i].jerk, sizeof one[i].jerk) == 0 && one[i].pot == other[i].pot;
    }
    if (!(worst < 1e-9)) fprintf(stderr, "forces differ by %g\n", worst);
    CHECK(worst < 1e-9);
    CHECK(same || !same_bits);
}

/* Computes the forces of the sources below nj on some of them. */
static void block(int ni, int nj, int same_bits) {
    struct particle *one = malloc(ni * sizeof *one), *other = malloc(ni * sizeof *other);
    memcpy(one, p, ni * sizeof *one);
    memcpy(other, p, ni * sizeof *other);
    kyoho_sinks sinks = sinks_of(p, ni, 1e-4);
    kyoho_forces to = forces_of(one), right = forces_of(other);
    GIVES(KYOHO_OK, kyoho_system_force(tested, nj, &sinks, &to));
    GIVES(KYOHO_OK, kyoho_system_force(twin, nj, &sinks, &right));
    compare(one, other, ni, same_bits);
    free(one), free(other);
}

static void steps(int same_bits) {
    static const int sizes[] = {1, 5, 40, 300, 1100, 3};
    for (int s = 0; s < 6; s++) {
        set_both_times();
        block(sizes[s], N, same_bits);
        write_to_both(13 * s, sizes[s], now);
    }
}

/* A block of the tested system alone must have this result, and its arrays are not written. */
static void refused(kyoho_result expected, const char *words) {
    struct particle on = p[0];
    on.pot = on.acc[0] = on.jerk[2] = 12345;
    kyoho_sinks sinks = sinks_of(p, 1, 1e-4);
    kyoho_forces to = forces_of(&on);
    SAYS(expected, words, tested, kyoho_system_force(tested, N, &sinks, &to));
    CHECK(on.pot == 12345 && on.acc[0] == 12345 && on.jerk[2] == 12345);
}

static char log_name[64];

static int log_says(const char *words) {
    char line[1000];
    int found = 0;
    FILE *log = fopen(log_name, "r");
    if (!log) return 0;
    while (fgets(line, sizeof line, log)) found = found || strstr(line, words);
    fclose(log);
    return found;
}

static void begin_on_gpu(int backend) {
    open_systems(backend);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    write_to_both(0, N, 0);
    steps(0);
}

static void gone_to_the_cpu(void) {
    CHECK(backend_of(tested) == KYOHO_BACKEND_CPU);
    CHECK(log_says("backend cuda failed"));
    steps(1);
}

/* A new system of the automatic choice works, whichever device computes. */
static void a_new_system(void) {
    kyoho_system *before = tested, *twin_before = twin;
    open_systems(0);
    write_to_both(0, N, 0);
    steps(0);
    GIVES(KYOHO_OK, kyoho_system_free(tested));
    GIVES(KYOHO_OK, kyoho_system_free(twin));
    tested = before, twin = twin_before;
}

static void end(void) {
    GIVES(KYOHO_OK, kyoho_system_free(tested));
    GIVES(KYOHO_OK, kyoho_system_free(twin));
}

/* The cases. */

static void automatic_before_a_block(void) {
    begin_on_gpu(0);
    load_trap();
    steps(0);
    kill_context();
    set_both_times();
    block(40, N, 1);
    gone_to_the_cpu();
    a_new_system();
    end();
}

static void automatic_within_a_block(void) {
    struct particle *one = calloc(N, sizeof *one), *other = calloc(N, sizeof *other);
    begin_on_gpu(0);
    load_trap();
    kyoho_sinks sinks = sinks_of(p, N, 1e-4);
    kyoho_forces to = forces_of(one), right = forces_of(other);
    set_both_times();
    GIVES(KYOHO_OK, kyoho_system_force(twin, N, &sinks, &right));
    GIVES(KYOHO_OK, kyoho_system_start(tested, N, &sinks));
    kill_context();
    /* Sources that are written meanwhile have no effect on this block, but are not lost. */
    write_to_both(100, 500, now);
    GIVES(KYOHO_OK, kyoho_system_wait(tested, &to));
    compare(one, other, N, 0);
    block(40, N, 1);
    gone_to_the_cpu();
    end();
}

static void automatic_before_lists(void) {
    enum { NI = 50 };
    static int32_t list[N], right[N];
    static double radii2[NI];
    struct particle one[NI];
    begin_on_gpu(0);
    load_trap();
    for (int i = 0; i < NI; i++) radii2[i] = 0.01 * (i % 7);
    kyoho_sinks sinks = sinks_of(p, NI, 1e-4);
    sinks.radii2.data = radii2;
    kyoho_forces to = forces_of(one);
    set_both_times();
    GIVES(KYOHO_OK, kyoho_system_force(tested, N, &sinks, &to));
    GIVES(KYOHO_OK, kyoho_system_force(twin, N, &sinks, &to));
    kill_context();
    write_to_both(0, 100, now);
    int longest = 0;
    for (int i = 0; i < NI; i++) {
        int32_t count = -1, count_right = -2;
        GIVES(KYOHO_OK, kyoho_system_neighbours(tested, i, N, list, &count));
        GIVES(KYOHO_OK, kyoho_system_neighbours(twin, i, N, right, &count_right));
        CHECK(count == count_right && memcmp(list, right, count_right * sizeof *list) == 0);
        longest = count_right > longest ? count_right : longest;
    }
    CHECK(longest > 3);
    gone_to_the_cpu();
    end();
}

static void chosen(void) {
    setenv("KYOHO_BACKEND", "cuda", 1);
    begin_on_gpu(0);
    load_trap();
    kill_context();
    refused(KYOHO_DEVICE_FAILED, "CUDA_ERROR");
    refused(KYOHO_DEVICE_FAILED, "device 0");
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    /* Sources that are written while no device works are kept. */
    write_to_both(50, 200, now);
    GIVES(KYOHO_OK, move_to(tested, KYOHO_BACKEND_CPU, NULL, 0));
    CHECK(backend_of(tested) == KYOHO_BACKEND_CPU);
    block(40, N, 1);
    steps(1);
    /* The device may be available again or not. The system finds out, and is not lost. */
    cuDevicePrimaryCtxRelease(device);
    kyoho_result moved = move_to(tested, KYOHO_BACKEND_CUDA, NULL, 0);
    CHECK(moved == KYOHO_OK || moved == KYOHO_DEVICE_FAILED || moved == KYOHO_NO_BACKEND);
    printf("(opened again after its context died: %s) ", kyoho_result_text(moved));
    if (moved == KYOHO_OK) {
        CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
        steps(0);
    } else {
        CHECK(kyoho_system_last_error(tested)[0]);
        CHECK(backend_of(tested) == KYOHO_BACKEND_CPU);
        steps(1);
    }
    GIVES(KYOHO_OK, move_to(tested, KYOHO_BACKEND_CPU, NULL, 0));
    steps(1);
    end();
}

/* A chosen backend loses its context within a block. Its error stays until the system is moved
   with all that was written. */
static void lose_a_block_and_move(int ni, int nj) {
    struct particle *one = calloc(ni, sizeof *one);
    load_trap();
    kyoho_sinks sinks = sinks_of(p, ni, 1e-4);
    kyoho_forces to = forces_of(one);
    set_both_times();
    write_to_both(0, 1000, now);
    GIVES(KYOHO_OK, kyoho_system_start(tested, nj, &sinks));
    kill_context();
    write_to_both(500, 1000, now);
    kyoho_result waited = kyoho_system_wait(tested, &to); /* it may have been done before */
    CHECK(waited == KYOHO_OK || waited == KYOHO_DEVICE_FAILED);
    refused(KYOHO_DEVICE_FAILED, "CUDA_ERROR");
    refused(KYOHO_DEVICE_FAILED, "CUDA_ERROR");
    GIVES(KYOHO_OK, move_to(tested, KYOHO_BACKEND_CPU, NULL, 0));
    free(one);
}

static void chosen_within_a_block(void) {
    begin_on_gpu(KYOHO_BACKEND_CUDA);
    lose_a_block_and_move(N, N);
    block(40, N, 1);
    steps(1);
    end();
}

static void memory_automatic(void) {
    begin_on_gpu(0);
    share_context();
    take_all_memory();
    write_to_both(0, MANY, now);
    set_both_times();
    block(16, MANY, 1);
    gone_to_the_cpu();
    give_all_memory();
    end();
}

static void memory_chosen(void) {
    begin_on_gpu(KYOHO_BACKEND_CUDA);
    share_context();
    take_all_memory();
    write_to_both(0, MANY, now);
    set_both_times();
    kyoho_statistics counts = KYOHO_STATISTICS_INIT;
    refused(KYOHO_OUT_OF_MEMORY, "sources");
    refused(KYOHO_OUT_OF_MEMORY, "bytes");
    GIVES(KYOHO_OK, kyoho_system_statistics(tested, &counts));
    CHECK(counts.sources == MANY);
    give_all_memory();
    /* Every source is still there, and the same device goes on. */
    block(16, MANY, 0);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    steps(0);
    end();
}

static void memory_to_open(void) {
    kyoho_system *none = (kyoho_system *)&none;
    share_context();
    take_all_memory();
    kyoho_result opened = create_on(4, KYOHO_PRECISION_DOUBLE, KYOHO_BACKEND_CUDA, NULL, 0, &none);
    CHECK(opened == KYOHO_OUT_OF_MEMORY || opened == KYOHO_DEVICE_FAILED);
    CHECK(none == NULL && strstr(kyoho_last_error(), "emory"));
    a_new_system();
    CHECK(log_says("backend cuda failed"));
    give_all_memory();
    begin_on_gpu(KYOHO_BACKEND_CUDA);
    end();
}

/* The child checks promises. The parent waits for it and goes on. */
static void in_a_fork(void (*work)(void)) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        work();
        _exit(failures != 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status)) fprintf(stderr, "the child died of signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void child_of_chosen(void) {
    kyoho_system *other = NULL;
    refused(KYOHO_DEVICE_FAILED, "fork");
    SAYS(KYOHO_NO_BACKEND, "fork", NULL,
         create_on(4, KYOHO_PRECISION_DOUBLE, KYOHO_BACKEND_CUDA, NULL, 0, &other));
    SAYS(KYOHO_NO_BACKEND, "fork", NULL, kyoho_backend_available(KYOHO_BACKEND_CUDA, NULL));
    write_to_both(10, 100, now);
    GIVES(KYOHO_OK, move_to(tested, KYOHO_BACKEND_CPU, NULL, 0));
    steps(1);
    a_new_system();
    end();
}

static void fork_chosen(void) {
    begin_on_gpu(KYOHO_BACKEND_CUDA);
    in_a_fork(child_of_chosen);
    steps(0);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    end();
}

static void child_of_automatic(void) {
    block(40, N, 1);
    gone_to_the_cpu();
    end();
}

static void fork_automatic(void) {
    begin_on_gpu(0);
    in_a_fork(child_of_automatic);
    steps(0);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    end();
}

static struct particle *within;

static void child_within_a_block(void) {
    struct particle *right = calloc(N, sizeof *right);
    kyoho_sinks sinks = sinks_of(p, N, 1e-4);
    kyoho_forces to = forces_of(within), other = forces_of(right);
    GIVES(KYOHO_OK, kyoho_system_wait(tested, &to));
    GIVES(KYOHO_OK, kyoho_system_force(twin, N, &sinks, &other));
    compare(within, right, N, 1);
    gone_to_the_cpu();
    end();
}

static void fork_within_a_block(void) {
    struct particle *right = calloc(N, sizeof *right);
    within = calloc(N, sizeof *within);
    begin_on_gpu(0);
    set_both_times();
    kyoho_sinks sinks = sinks_of(p, N, 1e-4);
    kyoho_forces to = forces_of(within), other = forces_of(right);
    GIVES(KYOHO_OK, kyoho_system_start(tested, N, &sinks));
    in_a_fork(child_within_a_block);
    GIVES(KYOHO_OK, kyoho_system_wait(tested, &to));
    GIVES(KYOHO_OK, kyoho_system_force(twin, N, &sinks, &other));
    compare(within, right, N, 0);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    end();
}

/* Of two GPUs one fails. */

enum { LARGE = 300 };

/* Computes a block on one GPU, and one that is partitioned among both. */
static void small_and_large(int same_bits) {
    set_both_times();
    block(3, MANY, same_bits);
    write_to_both(17, 3, now);
    set_both_times();
    block(LARGE, MANY, same_bits);
    write_to_both(500, LARGE, now);
}

static void begin_on_two(int backend, int twins_backend, int sources) {
    int same_bits = twins_backend == KYOHO_BACKEND_CUDA;
    make_all_particles();
    GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_DOUBLE, backend, "0,1", 0, &tested));
    const char *twins = !same_bits ? NULL : failing == 0 ? "1," : "0,";
    GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_DOUBLE, twins_backend, twins, 0, &twin));
    if (failures) stop();
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    write_to_both(0, sources, 0);
    small_and_large(same_bits);
}

/* A kernel that fails ends CUDA for its process, whichever GPU it ran on: the driver's other
   contexts fail too. */
static void one_of_two_dies(int number) {
    failing = number;
    begin_on_two(0, KYOHO_BACKEND_CPU, MANY);
    load_trap();
    small_and_large(0);
    kill_context();
    set_both_times();
    block(LARGE, MANY, 1);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CPU);
    CHECK(log_says("backend cuda failed"));
    small_and_large(1);
    end();
}

static void the_first_of_two_dies(void) { one_of_two_dies(0); }

static void the_second_of_two_dies(void) { one_of_two_dies(1); }

static void one_of_two_dies_within_a_block(void) {
    failing = 1;
    begin_on_two(KYOHO_BACKEND_CUDA, KYOHO_BACKEND_CPU, MANY);
    lose_a_block_and_move(20000, MANY);
    small_and_large(1);
    end();
}

/* Lack of memory affects one GPU only. The twin has the other GPU alone, so that both give the
   same bits, whichever computes. */
static void memory_of_one_of_two(int number) {
    char words[64];
    failing = number;
    begin_on_two(KYOHO_BACKEND_CUDA, KYOHO_BACKEND_CUDA, N);
    share_context();
    take_all_memory();
    write_to_both(0, MANY, now);
    small_and_large(1);
    small_and_large(1);
    CHECK(backend_of(tested) == KYOHO_BACKEND_CUDA);
    snprintf(words, sizeof words, "device %d of backend cuda failed", failing);
    CHECK(log_says(words));
    give_all_memory();
    end();
}

static void memory_of_the_first_of_two(void) { memory_of_one_of_two(0); }

static void memory_of_the_second_of_two(void) { memory_of_one_of_two(1); }

static void is_there_a_gpu(void) {
    if (kyoho_backend_available(KYOHO_BACKEND_CUDA, NULL) == KYOHO_OK) exit(0);
    printf("no GPU: %s\n", kyoho_last_error());
    exit(NO_GPU);
}

static void are_there_two(void) {
    int32_t count = 0;
    exit(kyoho_backend_available(KYOHO_BACKEND_CUDA, &count) != KYOHO_OK || count < 2);
}

static const struct {
    const char *name;
    void (*run)(void);
    /* The number of GPUs that it needs. */
    int gpus;
} cases[] = {
    {"the context dies before a block, automatic backend", automatic_before_a_block, 1},
    {"the context dies within a block, automatic backend", automatic_within_a_block, 1},
    {"the context dies before neighbour lists, automatic backend", automatic_before_lists, 1},
    {"the context dies before a block, chosen backend", chosen, 1},
    {"the context dies within a block, chosen backend", chosen_within_a_block, 1},
    {"memory is used up, automatic backend", memory_automatic, 1},
    {"memory is used up, chosen backend", memory_chosen, 1},
    {"memory is used up before a system is opened", memory_to_open, 1},
    {"a fork, chosen backend", fork_chosen, 1},
    {"a fork, automatic backend", fork_automatic, 1},
    {"a fork within a block", fork_within_a_block, 1},
    {"the first of two GPUs dies, automatic backend", the_first_of_two_dies, 2},
    {"the second of two GPUs dies, automatic backend", the_second_of_two_dies, 2},
    {"one of two GPUs dies within a block, chosen backend", one_of_two_dies_within_a_block, 2},
    {"the memory of the first of two GPUs is used up", memory_of_the_first_of_two, 2},
    {"the memory of the second of two GPUs is used up", memory_of_the_second_of_two, 2},
};

/* Runs a case in a process that has not touched the driver. Returns its exit code, or -1. */
static int in_a_process(void (*run)(void), int number) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(150);
        forget_environment();
        snprintf(log_name, sizeof log_name, "gpu_failure.%d.log", number);
        remove(log_name);
        setenv("KYOHO_LOG", "warn", 1);
        setenv("KYOHO_LOG_FILE", log_name, 1);
        setenv("KYOHO_CROSSOVER", "off", 1);
        run();
        fflush(stdout);
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) fprintf(stderr, "signal %d%s\n", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hung" : "");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int count, char **arguments) {
    int bad = 0, ran = 0;
    load_library(count, arguments);
    int found = in_a_process(is_there_a_gpu, 0);
    if (found != 0) return found == NO_GPU ? NO_GPU : 1;
    int there = in_a_process(are_there_two, 0) == 0 ? 2 : 1;
    for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
        if (count > 2 && !strstr(cases[k].name, arguments[2])) continue;
        if (cases[k].gpus > there) {
            printf("not run, as there is one GPU: %s\n", cases[k].name);
            continue;
        }
        int code = in_a_process(cases[k].run, k + 1);
        printf("%s: %s\n", cases[k].name, code == 0 ? "ok" : "FAILED");
        ran++;
        bad += code != 0;
    }
    return bad != 0 || ran == 0;
}
