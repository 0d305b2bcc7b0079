/* Sources, sinks, lists and forces in memory of a CUDA device give the bits that those of the host
 * give, in the order of the caller's stream; memory that the library cannot use is refused. The
 * program allocates by the driver, which it opens itself. It prints one line for each order and
 * precision of a system on one device, and on two, which are one that is named twice; see gpu_library.h.
 *
 *     compute-sanitizer --tool memcheck ./gpu_arrays path/to/libkyoho.so [order] [precision]
 */
#define _POSIX_C_SOURCE 200809L

#include <stddef.h>

#include "gpu_driver.h"

enum { BODIES = 5000, GROUPS = 40, SYSTEMS = 30, LISTED = 90, MANY = 200000, BODIES_OF_MANY = 3 * MANY };

/* Bodies and what is summed for them, on the host and on the device. */

struct body {
    double mass, time, x[8][3], softening2, radius2;
    int32_t index, unused;
};

struct answer {
    double pot, force[4][3], distance2;
    int32_t nearest, unused;
};

static struct body bodies[BODIES];
static struct answer answers[2][BODIES];
static uint64_t device_bodies, device_answers;
static int order, precision;
/* The devices of the systems, for which arrays go through the host where they are several. */
static const char *devices;
static int are_several;

static void make_bodies(void) {
    uint64_t seed = 5;
    for (int i = 0; i < BODIES; i++) {
        struct body *body = &bodies[i];
        memset(body, 0, sizeof *body);
        body->mass = (1.5 + draw(&seed)) / BODIES;
        body->time = 0.01 * draw(&seed);
        for (int q = 0; q < 8; q++)
            for (int k = 0; k < 3; k++) body->x[q][k] = (q ? 0.3 : 1) * draw(&seed);
        body->softening2 = 1e-4 * (1 + i % 3);
        body->radius2 = i % 5 ? 0.002 : 0;
        body->index = 7 * i - 400;
    }
}

static const struct body *bodies_in(int memory) {
    return memory == KYOHO_MEMORY_CUDA ? (const struct body *)(uintptr_t)device_bodies : bodies;
}

/* The bodies from a number on as sources, in rows of the structure. */
static kyoho_sources sources_in(int memory, int first, int count) {
    const struct body *in = bodies_in(memory) + first;
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    kyoho_const_reals *x[] = {&sources.positions, &sources.velocities, &sources.accelerations, &sources.jerks,
                              &sources.snaps, &sources.crackles, &sources.sixth_derivatives, &sources.seventh_derivatives};
    sources.memory = memory;
    sources.count = count;
    sources.masses.data = &in->mass, sources.masses.stride = sizeof *in;
    sources.times.data = &in->time, sources.times.stride = sizeof *in;
    sources.indices.data = &in->index, sources.indices.stride = sizeof *in;
    for (int q = 0; q < 8; q++) x[q]->data = in->x[q], x[q]->stride = sizeof *in;
    return sources;
}

/* The bodies from a number on as sinks. Without radii for calls that take none. */
static kyoho_sinks sinks_in(int memory, int first, int count, int with_radii) {
    const struct body *in = bodies_in(memory) + first;
    kyoho_sinks sinks = KYOHO_SINKS_INIT;
    kyoho_const_reals *x[] = {&sinks.positions, &sinks.velocities, &sinks.accelerations, &sinks.jerks};
    sinks.memory = memory;
    sinks.count = count;
    sinks.indices.data = &in->index, sinks.indices.stride = sizeof *in;
    for (int q = 0; q < 4; q++) x[q]->data = in->x[q], x[q]->stride = sizeof *in;
    sinks.softening2_each.data = &in->softening2, sinks.softening2_each.stride = sizeof *in;
    if (with_radii) sinks.radii2.data = &in->radius2, sinks.radii2.stride = sizeof *in;
    return sinks;
}

/* The places of answers that the order has. */
static kyoho_forces forces_in(int memory) {
    struct answer *in = memory == KYOHO_MEMORY_CUDA ? (struct answer *)(uintptr_t)device_answers : answers[0];
    kyoho_forces forces = KYOHO_FORCES_INIT;
    kyoho_reals *derivatives[] = {&forces.accelerations, &forces.jerks, &forces.snaps, &forces.crackles};
    forces.memory = memory;
    forces.potentials.data = &in->pot, forces.potentials.stride = sizeof *in;
    for (int q = 0; q < order / 2; q++) derivatives[q]->data = in->force[q], derivatives[q]->stride = sizeof *in;
    if (order > 2) {
        forces.nearest.data = &in->nearest, forces.nearest.stride = sizeof *in;
        forces.nearest_distance2.data = &in->distance2, forces.nearest_distance2.stride = sizeof *in;
    }
    return forces;
}

static void forget_answers(void) {
    memset(answers, 0x55, sizeof answers);
    DRIVES(driver.cuMemsetD8_v2(device_answers, 0x55, sizeof answers[0]));
}

/* Checks that the device has the answers of the host, and nothing behind them. */
static void check_answers(const char *what) {
    DRIVES(driver.cuMemcpyDtoH_v2(answers[1], device_answers, sizeof answers[1]));
    if (memcmp(answers[0], answers[1], sizeof answers[0])) {
        int i = 0;
        while (!memcmp(&answers[0][i], &answers[1][i], sizeof answers[0][i])) i++;
        failures++;
        fprintf(stderr, "%s: the force on sink %d differs: %.17g on the host, %.17g on the device\n", what, i,
                answers[0][i].pot, answers[1][i].pot);
    }
}

static void check_neighbours(kyoho_system *host, kyoho_system *device, int sinks) {
    static int32_t of_host[BODIES], of_device[BODIES];
    for (int sink = 0; sink < sinks; sink += 1 + sinks / 20) {
        int32_t in_host = 0, in_device = 0;
        GIVES(KYOHO_OK, kyoho_system_neighbours(host, sink, BODIES, of_host, &in_host));
        GIVES(KYOHO_OK, kyoho_system_neighbours(device, sink, BODIES, of_device, &in_device));
        CHECK(in_host == in_device && !memcmp(of_host, of_device, sizeof *of_host * (size_t)in_host));
    }
}

/* Blocks of the bodies from a number on, with sinks and forces here and there. */
static void check_blocks(kyoho_system *host, kyoho_system *device, int first, int count) {
    const int memories[4][2] = {{1, 1}, {0, 1}, {1, 0}, {0, 0}};
    for (int turn = 0; turn < 4; turn++) {
        kyoho_sinks of_host = sinks_in(KYOHO_MEMORY_HOST, first, count, order > 2);
        kyoho_sinks of_device = sinks_in(memories[turn][0], first, count, order > 2);
        kyoho_forces to_host = forces_in(KYOHO_MEMORY_HOST), to_device = forces_in(memories[turn][1]);
        forget_answers();
        if (!memories[turn][1]) {
            GIVES(KYOHO_OK, kyoho_system_force(device, BODIES, &of_device, &to_device));
            DRIVES(driver.cuMemcpyHtoD_v2(device_answers, answers[0], sizeof answers[0]));
            memset(answers, 0x55, sizeof answers);
        } else if (turn == 0) {
            GIVES(KYOHO_OK, kyoho_system_start(device, BODIES, &of_device));
            GIVES(KYOHO_OK, kyoho_system_wait(device, &to_device));
        } else {
            GIVES(KYOHO_OK, kyoho_system_force(device, BODIES, &of_device, &to_device));
        }
        GIVES(KYOHO_OK, kyoho_system_force(host, BODIES, &of_host, &to_host));
        check_answers("a block");
        if (order > 2) check_neighbours(host, device, count);
    }
}

/* Lists of every form, with the sinks and the sources of the call in the same memory or in the other. */
static void check_lists(kyoho_system *host, kyoho_system *device) {
    static int32_t sink_offsets[GROUPS + 1], first_addresses[GROUPS], source_counts[GROUPS], addresses[GROUPS * LISTED];
    static int64_t source_offsets[GROUPS + 1], own_offsets[GROUPS + 1];
    for (int g = 0; g < GROUPS; g++) {
        sink_offsets[g + 1] = sink_offsets[g] + g % 70;
        first_addresses[g] = 100 * g, source_counts[g] = 37 * g % 900;
        source_offsets[g + 1] = source_offsets[g] + g % LISTED;
        own_offsets[g + 1] = (g + 1) * (int64_t)BODIES / GROUPS;
    }
    for (int k = 0; k < source_offsets[GROUPS]; k++) addresses[k] = k * 7919 % BODIES;
    const void *arrays[2][6] = {{sink_offsets, first_addresses, source_counts, addresses, source_offsets, own_offsets}};
    const size_t bytes[] = {sizeof sink_offsets, sizeof first_addresses, sizeof source_counts,
                            sizeof addresses,    sizeof source_offsets,  sizeof own_offsets};
    for (int a = 0; a < 6; a++) arrays[1][a] = (const void *)(uintptr_t)on_device(arrays[0][a], bytes[a]);
    for (int form = 0; form < 9; form++) {
        forget_answers();
        for (int memory = 0; memory < 2; memory++) {
            /* Of the other calls of the device either the bodies are the host's, or the lists are. */
            const int of_bodies = form / 3 == 1 ? 0 : memory, of_lists = form / 3 == 2 ? 0 : memory;
            kyoho_lists lists = KYOHO_LISTS_INIT;
            kyoho_sources own = sources_in(of_bodies, 0, BODIES);
            kyoho_sinks sinks = sinks_in(of_bodies, 40, sink_offsets[GROUPS], 0);
            kyoho_forces forces = forces_in(memory);
            lists.memory = of_lists;
            lists.group_count = GROUPS;
            lists.sink_offsets.data = arrays[of_lists][0];
            if (form % 3 == 0) {
                lists.first_addresses.data = arrays[of_lists][1];
                lists.source_counts.data = arrays[of_lists][2];
            } else if (form % 3 == 1) {
                lists.addresses.data = arrays[of_lists][3];
                lists.source_offsets.data = arrays[of_lists][4];
            } else {
                lists.sources = &own;
                lists.source_offsets.data = arrays[of_lists][5];
            }
            GIVES(KYOHO_OK, kyoho_system_force_lists(memory ? device : host, &lists, &sinks, &forces));
        }
        check_answers(form % 3 == 0 ? "ranges" : form % 3 == 1 ? "lists of addresses" : "own sources");
    }
    /* An address beyond the sources is found where it lies, and the last forces are left alone. */
    kyoho_lists lists = KYOHO_LISTS_INIT;
    kyoho_sinks sinks = sinks_in(KYOHO_MEMORY_CUDA, 40, sink_offsets[GROUPS], 0);
    kyoho_forces forces = forces_in(KYOHO_MEMORY_CUDA);
    int32_t bad = BODIES;
    lists.memory = KYOHO_MEMORY_CUDA;
    lists.group_count = GROUPS;
    lists.sink_offsets.data = arrays[1][0];
    lists.addresses.data = arrays[1][3];
    lists.source_offsets.data = arrays[1][4];
    DRIVES(driver.cuMemcpyHtoD_v2((uint64_t)(uintptr_t)(arrays[1][3]) + 4 * (size_t)source_offsets[30] + 8, &bad, sizeof bad));
    forget_answers();
    SAYS(KYOHO_BAD_ADDRESS, "address 2 of group 30 is 5000", device, kyoho_system_force_lists(device, &lists, &sinks, &forces));
    /* So is a wrong offset. */
    const int64_t early = source_offsets[29] - 1;
    DRIVES(driver.cuMemcpyHtoD_v2((uint64_t)(uintptr_t)(arrays[1][4]) + 8 * 30, &early, sizeof early));
    SAYS(KYOHO_BAD_COUNT, "the source offset 30 is", device, kyoho_system_force_lists(device, &lists, &sinks, &forces));
    lists.addresses.data = NULL, lists.source_offsets.data = NULL;
    lists.first_addresses.data = arrays[1][1], lists.source_counts.data = arrays[1][2];
    sinks.count--;
    SAYS(KYOHO_BAD_COUNT, "the sink offset 40 is", device, kyoho_system_force_lists(device, &lists, &sinks, &forces));
    sinks.count++;
    const int32_t negative = -2;
    DRIVES(driver.cuMemcpyHtoD_v2((uint64_t)(uintptr_t)(arrays[1][2]) + 4 * 7, &negative, sizeof negative));
    SAYS(KYOHO_BAD_COUNT, "the source count of group 7 is -2", device, kyoho_system_force_lists(device, &lists, &sinks, &forces));
    lists.group_count = 0;
    SAYS(KYOHO_BAD_COUNT, "the sink offset 0, the last,", device, kyoho_system_force_lists(device, &lists, &sinks, &forces));
    memset(answers, 0x55, sizeof answers);
    check_answers("after an error");
    sinks.count = 0;
    GIVES(KYOHO_OK, kyoho_system_force_lists(device, &lists, &sinks, &forces));
    for (int a = 0; a < 6; a++) DRIVES(driver.cuMemFree_v2((uint64_t)(uintptr_t)arrays[1][a]));
}

/* A batch of the bodies in one memory. */
static kyoho_result force_batch(int memory, kyoho_system *system, kyoho_batch batch, const int32_t *offsets, kyoho_forces *forces) {
    const kyoho_sources all = sources_in(memory, 0, offsets[SYSTEMS]);
    if (memory == KYOHO_MEMORY_HOST) batch.memory = memory, batch.offsets.data = offsets;
    return kyoho_system_force_batch(system, &batch, &all, forces);
}

/* A sum that overflows is the error that it is on the host. */
static void check_overflow(kyoho_system *host, kyoho_system *device, const kyoho_batch *batch, const int32_t *offsets) {
    kyoho_batch unsoftened = *batch;
    char said[256];
    unsoftened.softening2 = 0;
    for (int i = 3; i < 5; i++) {
        memset(bodies[i].x, 0, sizeof bodies[i].x);
        bodies[i].mass = 1e250;
        bodies[i].x[0][0] = i * 1e-100;
    }
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies, bodies, sizeof bodies));
    kyoho_forces of_host = forces_in(KYOHO_MEMORY_HOST), of_device = forces_in(KYOHO_MEMORY_CUDA);
    GIVES(KYOHO_OUT_OF_RANGE, force_batch(KYOHO_MEMORY_HOST, host, unsoftened, offsets, &of_host));
    snprintf(said, sizeof said, "%s", kyoho_system_last_error(host));
    SAYS(KYOHO_OUT_OF_RANGE, said, device, force_batch(KYOHO_MEMORY_CUDA, device, unsoftened, offsets, &of_device));
    make_bodies();
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies, bodies, sizeof bodies));
}

/* Forces may come to arrays that are read for them. */
static void check_own_arrays(kyoho_system *host, kyoho_system *device, const kyoho_batch *batch, const int32_t *offsets) {
    static struct body found[BODIES];
    kyoho_forces of_host = forces_in(KYOHO_MEMORY_HOST), of_device = forces_in(KYOHO_MEMORY_CUDA);
    of_device.accelerations.data = (double *)bodies_in(KYOHO_MEMORY_CUDA)->x[3];
    of_device.accelerations.stride = sizeof *found;
    GIVES(KYOHO_OK, force_batch(KYOHO_MEMORY_HOST, host, *batch, offsets, &of_host));
    GIVES(KYOHO_OK, force_batch(KYOHO_MEMORY_CUDA, device, *batch, offsets, &of_device));
    DRIVES(driver.cuMemcpyDtoH_v2(found, device_bodies, sizeof found));
    for (int i = 0; i < offsets[SYSTEMS]; i++) CHECK(!memcmp(found[i].x[3], answers[0][i].force[0], sizeof found[i].x[3]));
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies, bodies, sizeof bodies));
}

static void check_batches(kyoho_system *host, kyoho_system *device) {
    static int32_t offsets[SYSTEMS + 1];
    for (int s = 0; s < SYSTEMS; s++) offsets[s + 1] = offsets[s] + (s % 7 ? 2 + s : 700);
    const uint64_t device_offsets = on_device(offsets, sizeof offsets);
    for (int with_softening = 0; with_softening < 2; with_softening++) {
        forget_answers();
        for (int memory = 0; memory < 2; memory++) {
            kyoho_batch batch = KYOHO_BATCH_INIT;
            kyoho_sources all = sources_in(memory, 0, offsets[SYSTEMS]);
            kyoho_forces forces = forces_in(memory);
            batch.memory = memory;
            batch.system_count = SYSTEMS;
            batch.offsets.data = memory ? (const int32_t *)(uintptr_t)device_offsets : offsets;
            batch.softening2 = 1e-3;
            if (with_softening) {
                batch.softening2_each.data = &bodies_in(memory)->softening2;
                batch.softening2_each.stride = sizeof *bodies;
            }
            GIVES(KYOHO_OK, kyoho_system_force_batch(memory ? device : host, &batch, &all, &forces));
        }
        check_answers("a batch");
    }
    kyoho_batch batch = KYOHO_BATCH_INIT;
    kyoho_sources all = sources_in(KYOHO_MEMORY_CUDA, 0, offsets[SYSTEMS]);
    kyoho_forces forces = forces_in(KYOHO_MEMORY_CUDA);
    const int32_t late = offsets[12] + 1;
    batch.memory = KYOHO_MEMORY_CUDA;
    batch.system_count = SYSTEMS;
    batch.offsets.data = (const int32_t *)(uintptr_t)device_offsets;
    if (precision == 3) check_overflow(host, device, &batch, offsets);
    if (order > 2) check_own_arrays(host, device, &batch, offsets);
    DRIVES(driver.cuMemcpyHtoD_v2(device_offsets + 4 * 11, &late, sizeof late));
    SAYS(KYOHO_BAD_COUNT, "the offset 12 is", device, kyoho_system_force_batch(device, &batch, &all, &forces));
    DRIVES(driver.cuMemFree_v2(device_offsets));
}

/* The forces of many systems come to the arrays after what was begun in the caller's stream. */
static void check_many_systems(kyoho_system *host, kyoho_system *device) {
    static double numbers[BODIES_OF_MANY][7], found[2][BODIES_OF_MANY][4];
    static int32_t offsets[MANY + 1];
    uint64_t seed = 9;
    for (int i = 0; i < BODIES_OF_MANY; i++)
        for (int k = 0; k < 7; k++) numbers[i][k] = k ? draw(&seed) : 1.5 + draw(&seed);
    for (int s = 0; s < MANY; s++) offsets[s + 1] = offsets[s] + 2 + s % 3;
    offsets[MANY] = BODIES_OF_MANY;
    void *stream = NULL, *pinned = NULL;
    DRIVES(driver.cuStreamCreate(&stream, 1));
    DRIVES(driver.cuMemHostAlloc(&pinned, sizeof found[0], 0));
    memset(pinned, 0x55, sizeof found[0]);
    const uint64_t places[3] = {on_device(numbers, sizeof numbers), on_device(offsets, sizeof offsets), allocate(sizeof found[0])};
    for (int k = 0; k < 20; k++) DRIVES(driver.cuMemcpyHtoDAsync_v2(places[2], pinned, sizeof found[0], stream));
    for (int memory = 0; memory < 2; memory++) {
        const double *in = memory ? (const double *)(uintptr_t)places[0] : numbers[0];
        double *out = memory ? (double *)(uintptr_t)places[2] : found[0][0];
        kyoho_batch batch = KYOHO_BATCH_INIT;
        kyoho_sources all = KYOHO_SOURCES_INIT;
        kyoho_forces forces = KYOHO_FORCES_INIT;
        batch.memory = all.memory = forces.memory = memory;
        batch.system_count = MANY;
        batch.offsets.data = memory ? (const int32_t *)(uintptr_t)places[1] : offsets;
        all.count = BODIES_OF_MANY;
        all.masses.data = in, all.masses.stride = sizeof numbers[0];
        all.positions.data = in + 1, all.positions.stride = sizeof numbers[0];
        all.velocities.data = in + 4, all.velocities.stride = sizeof numbers[0];
        forces.potentials.data = out, forces.potentials.stride = sizeof found[0][0];
        forces.accelerations.data = out + 1, forces.accelerations.stride = sizeof found[0][0];
        if (memory) forces.cuda.stream = stream;
        GIVES(KYOHO_OK, kyoho_system_force_batch(memory ? device : host, &batch, &all, &forces));
    }
    DRIVES(driver.cuMemcpyDtoH_v2(found[1], places[2], sizeof found[1]));
    CHECK(!memcmp(found[0], found[1], sizeof found[0]));
    for (int k = 0; k < 3; k++) DRIVES(driver.cuMemFree_v2(places[k]));
}

/* What is begun in the caller's stream before a call is done before its work. */
static void check_stream(kyoho_system *host, kyoho_system *device) {
    enum { COPIES = 200 };
    void *stream = NULL, *pinned = NULL;
    DRIVES(driver.cuStreamCreate(&stream, 1));
    DRIVES(driver.cuMemHostAlloc(&pinned, sizeof bodies, 0));
    uint64_t spare = allocate(64 << 20), late = allocate(sizeof bodies);
    void *long_work = NULL;
    DRIVES(driver.cuMemHostAlloc(&long_work, 64 << 20, 0));
    memset(long_work, 0, 64 << 20);
    memcpy(pinned, bodies, sizeof bodies);
    forget_answers();
    /* The bodies come after some milliseconds of copies. */
    DRIVES(driver.cuMemsetD8_v2(late, 0, sizeof bodies));
    DRIVES(driver.cuCtxSynchronize());
    for (int k = 0; k < 10; k++) DRIVES(driver.cuMemcpyHtoDAsync_v2(spare, long_work, 64 << 20, stream));
    DRIVES(driver.cuMemcpyHtoDAsync_v2(late, pinned, sizeof bodies, stream));
    uint64_t before = device_bodies;
    device_bodies = late;
    kyoho_sinks of_device = sinks_in(KYOHO_MEMORY_CUDA, 0, BODIES, 0);
    device_bodies = before;
    of_device.cuda.stream = stream;
    kyoho_forces to_device = forces_in(KYOHO_MEMORY_CUDA);
    to_device.cuda.stream = stream;
    GIVES(KYOHO_OK, kyoho_system_force(device, BODIES, &of_device, &to_device));
    kyoho_sinks of_host = sinks_in(KYOHO_MEMORY_HOST, 0, BODIES, 0);
    kyoho_forces to_host = forces_in(KYOHO_MEMORY_HOST);
    GIVES(KYOHO_OK, kyoho_system_force(host, BODIES, &of_host, &to_host));
    check_answers("a block behind a stream");
    DRIVES(driver.cuMemFree_v2(spare));
    DRIVES(driver.cuMemFree_v2(late));
}

/* Sources on the device take the place of others, and come back to the host where it needs them. */
static void check_sources(kyoho_system *host, kyoho_system *device) {
    kyoho_sources changed = sources_in(KYOHO_MEMORY_HOST, 0, BODIES), some;
    kyoho_statistics statistics = KYOHO_STATISTICS_INIT;
    int32_t address = 17;
    GIVES(KYOHO_OK, kyoho_system_statistics(device, &statistics));
    CHECK(statistics.sources == BODIES);
    for (int i = 0; i < BODIES; i++) bodies[i].x[0][0] *= 0.5;
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies, bodies, sizeof bodies));
    GIVES(KYOHO_OK, kyoho_system_set_sources(host, &changed));
    changed = sources_in(KYOHO_MEMORY_CUDA, 0, BODIES);
    GIVES(KYOHO_OK, kyoho_system_set_sources(device, &changed));
    check_blocks(host, device, 0, 300);
    /* One source of the host, then some at addresses on the device. */
    some = sources_in(KYOHO_MEMORY_HOST, 4000, 1);
    some.addresses.data = &address;
    GIVES(KYOHO_OK, kyoho_system_set_sources(host, &some));
    GIVES(KYOHO_OK, kyoho_system_set_sources(device, &some));
    check_blocks(host, device, 100, 64);
    some = sources_in(KYOHO_MEMORY_HOST, 50, 20);
    some.first_address = 1000;
    GIVES(KYOHO_OK, kyoho_system_set_sources(host, &some));
    some = sources_in(KYOHO_MEMORY_CUDA, 50, 20);
    some.first_address = 1000;
    GIVES(KYOHO_OK, kyoho_system_set_sources(device, &some));
    check_blocks(host, device, 700, 3);
    /* Predictions of sources that only the device has. */
    static double of_host[BODIES][3], of_device[BODIES][3];
    kyoho_predictions predictions = KYOHO_PREDICTIONS_INIT;
    changed = sources_in(KYOHO_MEMORY_HOST, 0, BODIES);
    GIVES(KYOHO_OK, kyoho_system_set_sources(host, &changed));
    changed = sources_in(KYOHO_MEMORY_CUDA, 0, BODIES);
    GIVES(KYOHO_OK, kyoho_system_set_sources(device, &changed));
    predictions.positions.data = of_host[0];
    GIVES(KYOHO_OK, kyoho_system_predict(host, 0, BODIES, &predictions));
    predictions.positions.data = of_device[0];
    GIVES(KYOHO_OK, kyoho_system_predict(device, 0, BODIES, &predictions));
    CHECK(!memcmp(of_host, of_device, sizeof of_host));
}

/* Computes the forces on the bodies from some on, with one softening, of the sources below an end. */
static void force_in(int memory, kyoho_system *system, int32_t end, int first, int exclude) {
    kyoho_sinks sinks = sinks_in(memory, first, BODIES - first, 0);
    kyoho_forces forces = forces_in(memory);
    sinks.exclusion = exclude;
    memset(&sinks.softening2_each, 0, sizeof sinks.softening2_each);
    sinks.softening2 = 1e-4;
    GIVES(KYOHO_OK, kyoho_system_force(system, end, &sinks, &forces));
}

/* Forces of no sources, which the host has, come to the device too. */
static void check_no_sources(kyoho_system *host, kyoho_system *device) {
    forget_answers();
    force_in(KYOHO_MEMORY_HOST, host, 0, 0, KYOHO_EXCLUDE_BY_INDEX);
    force_in(KYOHO_MEMORY_CUDA, device, 0, 0, KYOHO_EXCLUDE_BY_INDEX);
    check_answers("no sources");
    CHECK(answers[1][BODIES - 1].pot == 0);
}

/* Trees take sources and sinks where they lie: sinks that are the sources, others, and others that
 * leave out a source by its index, for which the host is asked. */
static void check_trees(kyoho_system *host) {
    static struct answer direct[BODIES];
    enum { MANY = 1 << 20 }; /* with all bodies as sinks these are pairs for a tree */
    const struct {
        int first, exclude;
    } cases[] = {{0, KYOHO_EXCLUDE_BY_INDEX}, {0, KYOHO_EXCLUDE_NOTHING}, {9, KYOHO_EXCLUDE_NOTHING}, {9, KYOHO_EXCLUDE_BY_INDEX}};
    if (order > 2) return;
    kyoho_options options = options_of(order, precision, KYOHO_BACKEND_CUDA, "0,", 0);
    kyoho_sources sources = sources_in(KYOHO_MEMORY_CUDA, 0, BODIES);
    kyoho_system *tree = NULL;
    options.accuracy = 1e-3;
    for (int c = 0; c < 4; c++) {
        const int first = cases[c].first, exclude = cases[c].exclude;
        forget_answers();
        force_in(KYOHO_MEMORY_HOST, host, MANY, first, exclude);
        memcpy(direct, answers[0], sizeof direct);
        GIVES(KYOHO_OK, kyoho_system_create(&options, &tree));
        GIVES(KYOHO_OK, kyoho_system_set_sources(tree, &sources));
        force_in(KYOHO_MEMORY_CUDA, tree, MANY, first, exclude);
        force_in(KYOHO_MEMORY_HOST, tree, MANY, first, exclude);
        check_answers("a tree");
        CHECK(memcmp(direct, answers[1], sizeof direct)); /* it was a tree */
        for (int i = 0; i < BODIES - first; i++) CHECK(fabs(answers[1][i].pot / direct[i].pot - 1) < 0.01);
        /* Sources and sinks on the device, and forces on the host. */
        GIVES(KYOHO_OK, kyoho_system_set_sources(tree, &sources));
        kyoho_sinks sinks = sinks_in(KYOHO_MEMORY_CUDA, first, BODIES - first, 0);
        kyoho_forces forces = forces_in(KYOHO_MEMORY_HOST);
        memset(&sinks.softening2_each, 0, sizeof sinks.softening2_each);
        sinks.softening2 = 1e-4, sinks.exclusion = exclude;
        memset(answers[0], 0x55, sizeof answers[0]);
        GIVES(KYOHO_OK, kyoho_system_force(tree, MANY, &sinks, &forces));
        check_answers("a tree on the device");
        sinks = sinks_in(KYOHO_MEMORY_CUDA, 0, BODIES, 0);
        SAYS(KYOHO_BAD_OPTION, "the squared softening of sink 1 with a tree", tree,
             kyoho_system_force(tree, MANY, &sinks, &forces));
        GIVES(KYOHO_OK, kyoho_system_free(tree));
    }
}

/* Whatever cannot be used is an error that says why, and nothing changes. */
static void check_refusals(kyoho_system *device) {
    kyoho_sinks sinks = sinks_in(KYOHO_MEMORY_CUDA, 0, BODIES, 0);
    kyoho_forces forces = forces_in(KYOHO_MEMORY_CUDA);
    kyoho_system *cpu = NULL;
    double nan = 0.0 / 0.0;
    GIVES(KYOHO_OK, create_on(order, precision, KYOHO_BACKEND_CPU, NULL, 1, &cpu));
    SAYS(KYOHO_BAD_OPTION, "in a system of backend 'cpu'", cpu, kyoho_system_force(cpu, 0, &sinks, &forces));
    kyoho_sinks of_host = sinks_in(KYOHO_MEMORY_HOST, 0, 4, 0);
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.memory is '1 (KYOHO_MEMORY_CUDA), device 0'", cpu,
         kyoho_system_force(cpu, 0, &of_host, &forces));
    kyoho_system_free(cpu);
    sinks.cuda.device = 7;
    SAYS(KYOHO_BAD_OPTION, are_several ? "a device of the system, [0, 0]" : "device 0, on which the system is", device,
         kyoho_system_force(device, BODIES, &sinks, &forces));
    sinks.cuda.device = 0;
    sinks.cuda.reserved = 1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.cuda.reserved", device, kyoho_system_force(device, BODIES, &sinks, &forces));
    sinks.cuda.reserved = 0;
    sinks.memory = 2;
    SAYS(KYOHO_BAD_OPTION, "1 (KYOHO_MEMORY_CUDA)", device, kyoho_system_force(device, BODIES, &sinks, &forces));
    sinks.memory = KYOHO_MEMORY_CUDA;
    sinks.positions.data = (const double *)((const char *)sinks.positions.data + 4);
    SAYS(KYOHO_BAD_OPTION, "multiples of 8", device, kyoho_system_force(device, BODIES, &sinks, &forces));
    sinks.positions.data = bodies->x[0];
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.positions", device, kyoho_system_force(device, BODIES, &sinks, &forces));
    /* A number that is not finite is found where it lies. */
    sinks = sinks_in(KYOHO_MEMORY_CUDA, 0, BODIES, 0);
    forget_answers();
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies + 1234 * sizeof *bodies + offsetof(struct body, x[0][1]), &nan, sizeof nan));
    SAYS(KYOHO_NOT_FINITE, "the position of sink 1234 is NaN", device, kyoho_system_force(device, BODIES, &sinks, &forces));
    kyoho_sources sources = sources_in(KYOHO_MEMORY_CUDA, 0, BODIES);
    SAYS(KYOHO_NOT_FINITE, "the position of the source at address 1234", device, kyoho_system_set_sources(device, &sources));
    memset(answers, 0x55, sizeof answers);
    check_answers("after an error");
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies, bodies, sizeof bodies));
    GIVES(KYOHO_OK, kyoho_system_force(device, BODIES, &sinks, &forces));
}

static void check(int of_order, int of_precision, int of_several) {
    kyoho_system *host = NULL, *device = NULL;
    order = of_order, precision = of_precision, are_several = of_several;
    devices = are_several ? "0,0" : "0,";
    const int before = failures;
    const kyoho_result made = create_on(order, precision, KYOHO_BACKEND_CUDA, devices, 0, &host);
    if (made == KYOHO_UNSUPPORTED) return;
    GIVES(KYOHO_OK, made);
    GIVES(KYOHO_OK, create_on(order, precision, KYOHO_BACKEND_CUDA, devices, 0, &device));
    make_bodies();
    DRIVES(driver.cuMemcpyHtoD_v2(device_bodies, bodies, sizeof bodies));
    kyoho_sources of_host = sources_in(KYOHO_MEMORY_HOST, 0, BODIES), of_device = sources_in(KYOHO_MEMORY_CUDA, 0, BODIES);
    GIVES(KYOHO_OK, kyoho_system_set_sources(host, &of_host));
    GIVES(KYOHO_OK, kyoho_system_set_sources(device, &of_device));
    /* The bits of the CPU are others. */
    GIVES(KYOHO_OK, kyoho_system_set_crossover(host, KYOHO_CROSSOVER_OFF));
    GIVES(KYOHO_OK, kyoho_system_set_crossover(device, KYOHO_CROSSOVER_OFF));
    GIVES(KYOHO_OK, kyoho_system_set_time(host, 0.015625));
    GIVES(KYOHO_OK, kyoho_system_set_time(device, 0.015625));
    check_blocks(host, device, 0, BODIES);
    check_blocks(host, device, 30, 1);
    check_blocks(host, device, 30, 0);
    check_blocks(host, device, 1000, 777);
    check_lists(host, device);
    check_batches(host, device);
    check_many_systems(host, device);
    check_stream(host, device);
    check_sources(host, device);
    check_refusals(device);
    check_no_sources(host, device);
    check_trees(host);
    kyoho_system_free(host);
    kyoho_system_free(device);
    printf("order %d, precision %d, devices %s: %s\n", order, precision, devices, failures == before ? "ok" : "not as it should be");
    fflush(stdout);
}

int main(int count, char **arguments) {
    load_library(count, arguments);
    forget_environment();
    open_driver();
    device_bodies = allocate(sizeof bodies);
    device_answers = allocate(sizeof answers[0]);
    const int of_order = count > 2 ? atoi(arguments[2]) : 0, of_precision = count > 3 ? atoi(arguments[3]) : 0;
    for (int o = 2; o <= 8; o += 2)
        for (int p = 1; p <= 3; p++)
            for (int several = 0; several < 2; several++)
                if ((of_order == 0 || of_order == o) && (of_precision == 0 || of_precision == p)) check(o, p, several);
    return failures > 0;
}
