/*
 * A fourth-order Hermite integrator with block time steps for the GPUs of many machines: MPI,
 * and in each rank the GRAPE-6 interface of Kyoho. Physics, input and output are those of
 * hermite4.c.
 *
 *     mpicc -O2 hermite4_mpi.c -lkyoho -lm -o hermite4_mpi
 *     KYOHO_PRECISION=double mpirun -np 4 ./hermite4_mpi plummer1024.txt 1.0
 *
 * Every rank knows all bodies and holds some of them as sources, distributed round-robin. At
 * every block step each rank computes the force of its sources on all active bodies, the parts
 * of all ranks are added, and every rank corrects all active bodies in the same way; so all know
 * the same bodies, and only forces travel. This is how phi-GRAPE uses many boards (Harfst et al.
 * 2007, New Astronomy 12, 357).
 *
 * For the ranks to agree on the next block, they must have the same bits: the sums come from one
 * rank, and what is made of them is made by the same instructions, as all ranks run one program.
 * docs/mpi.md says more.
 */
#include <g6.h>

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETA 0.01            /* accuracy of the steps */
#define ETA_START 0.005     /* of the first ones */
#define SOFTENING2 1e-4     /* the square of the softening length */
#define LONGEST 0.125       /* the longest step */
#define SHORTEST 9.094947017729282e-13 /* 2^-40 */
#define LEVELS 64           /* more than there are powers of two from the shortest to the longest */
#define BOARD 0             /* a process has one; its rank on the machine chooses the GPU */

struct body {
    int index;
    double mass, time, step;
    double x[3], v[3], acc[3], jerk[3], pot;
};

static int rank, ranks;

/* The sinks of a block as the interface wants them, and their forces in one piece for the sum:
 * three numbers of acceleration for each sink, then three of jerk, then the potential. */
static int *sink_index;
static double (*sink_x)[3], (*sink_v)[3], *radius2, *forces;

static double force_seconds, sum_seconds;

/* Ends all ranks: those that go on would wait for this one for ever. */
static void fail(const char *what, const char *why) {
    fprintf(stderr, "hermite4_mpi: rank %d: %s%s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* The library has said on stderr why a call failed. */
static void check(const char *call, int result) {
    if (result != 0) fail(call, " failed");
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) fail("no memory", "");
    return memory;
}

static struct body *read_bodies(const char *path, int *count) {
    struct body *bodies = NULL, b;
    char line[1024];
    FILE *file = fopen(path, "r");
    memset(&b, 0, sizeof b);
    for (int n = *count = 0; file && fgets(line, sizeof line, file);) {
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#') continue;
        if (sscanf(line, "%lf%lf%lf%lf%lf%lf%lf", &b.mass, &b.x[0], &b.x[1], &b.x[2], &b.v[0], &b.v[1], &b.v[2]) != 7)
            fail("no 'mass x y z vx vy vz': ", line);
        b.index = n++;
        bodies = realloc(bodies, n * sizeof b);
        if (!bodies) fail("no memory", "");
        bodies[n - 1] = b;
        *count = n;
    }
    if (!bodies) fail(path, ": no bodies");
    fclose(file);
    return bodies;
}

/* One rank reads the file, as the others may not see it, and gives everyone what it read. */
static struct body *share_bodies(const char *path, int *count) {
    struct body *bodies = rank == 0 ? read_bodies(path, count) : NULL;
    MPI_Datatype type;
    MPI_Bcast(count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) bodies = allocate(*count, sizeof *bodies);
    MPI_Type_contiguous(sizeof *bodies, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(bodies, *count, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    return bodies;
}

/* The bodies that this rank holds become sources as they are; body i has address i / ranks in
 * rank i % ranks. */
static void send(struct body *b, int count) {
    for (; count > 0; b++, count--) {
        double k18[3] = {0, 0, 0}, j6[3], a2[3];
        if (b->index % ranks != rank) continue;
        for (int k = 0; k < 3; k++) j6[k] = b->jerk[k] / 6, a2[k] = b->acc[k] / 2;
        check("g6_set_j_particle", g6_set_j_particle(BOARD, b->index / ranks, b->index, b->time, b->step, b->mass, k18,
                                                     j6, a2, b->v, b->x));
    }
}

/* The force of all n bodies on some, which are the same in all ranks. */
static void force(int n, double time, struct body *b, int count) {
    int held = (n + ranks - 1 - rank) / ranks; /* none in the last ranks if there are more ranks than bodies */
    int most = g6_npipes();
    double (*acc)[3] = (double (*)[3])forces, (*jerk)[3] = acc + count, *pot = forces + 6 * (size_t)count;
    double began = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        sink_index[i] = b[i].index; /* the rank that holds this body leaves it out by its index */
        memcpy(sink_x[i], b[i].x, sizeof b[i].x);
        memcpy(sink_v[i], b[i].v, sizeof b[i].v);
    }
    check("g6_set_ti", g6_set_ti(BOARD, time));
    for (int i = 0; i < count; i += most) {
        int ni = count - i < most ? count - i : most;
        check("g6calc_firsthalf", g6calc_firsthalf(BOARD, held, ni, sink_index + i, sink_x + i, sink_v + i, acc + i,
                                                   jerk + i, pot + i, SOFTENING2, radius2));
        check("g6calc_lasthalf", g6calc_lasthalf(BOARD, held, ni, sink_index + i, sink_x + i, sink_v + i, SOFTENING2,
                                                 radius2, acc + i, jerk + i, pot + i));
    }
    double computed = MPI_Wtime();
    /* MPI_Allreduce may give two ranks sums that differ in the last bit, if it adds in a
     * different order in each. Mostly it does not, but MPI does not promise it, and one bit
     * would in time give the ranks different blocks. */
    if (rank == 0)
        MPI_Reduce(MPI_IN_PLACE, forces, 7 * count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    else
        MPI_Reduce(forces, NULL, 7 * count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(forces, 7 * count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        memcpy(b[i].acc, acc[i], sizeof b[i].acc);
        memcpy(b[i].jerk, jerk[i], sizeof b[i].jerk);
        b[i].pot = pot[i];
    }
    force_seconds += computed - began;
    sum_seconds += MPI_Wtime() - computed;
}

static double length2(const double a[3]) {
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

/* The longest power of two that is no longer than wanted. */
static double power_of_two(double wanted) {
    double step = LONGEST;
    while (step > wanted && step > SHORTEST) step /= 2;
    return step;
}

static void predict(const struct body *b, double time, struct body *p) {
    double dt = time - b->time;
    *p = *b;
    for (int k = 0; k < 3; k++) {
        p->x[k] = b->x[k] + dt * (b->v[k] + dt / 2 * (b->acc[k] + dt / 3 * b->jerk[k]));
        p->v[k] = b->v[k] + dt * (b->acc[k] + dt / 2 * b->jerk[k]);
    }
}

/* Corrects a predicted body p, with its new force, after the step from b, and chooses its next
 * step. */
static void correct(const struct body *b, double time, struct body *p) {
    double dt = time - b->time, snap[3], crackle[3];
    for (int k = 0; k < 3; k++) {
        double a = b->acc[k] - p->acc[k];
        double s = (-6 * a - dt * (4 * b->jerk[k] + 2 * p->jerk[k])) / (dt * dt);
        double c = (12 * a + 6 * dt * (b->jerk[k] + p->jerk[k])) / (dt * dt * dt);
        p->x[k] += dt * dt * dt * dt * (s / 24 + dt * c / 120);
        p->v[k] += dt * dt * dt * (s / 6 + dt * c / 24);
        snap[k] = s + dt * c;
        crackle[k] = c;
    }
    double a2 = length2(p->acc), j2 = length2(p->jerk), s2 = length2(snap), c2 = length2(crackle);
    double wanted = power_of_two(sqrt(ETA * (sqrt(a2 * s2) + j2) / (sqrt(j2 * c2) + s2)));
    p->time = time;
    /* A step grows to twice its length at most, and only where the longer step would have begun. */
    if (wanted > b->step) wanted = fmod(time, 2 * b->step) == 0 ? 2 * b->step : b->step;
    p->step = wanted;
}

static int by_index(const void *a, const void *b) {
    int i = *(const int *)a, j = *(const int *)b;
    return (i > j) - (i < j);
}

/* The order of the bodies goes from short steps to long ones, so a block is the first of them:
 * steps are powers of two that begin at multiples of themselves, and whenever one ends, all
 * shorter ones do. A block is then sorted by index, as hermite4.c has it, because the last bits
 * of a force depend on where its sink stands in the block. */
static int next_block(const struct body *bodies, int n, int *order, double *time) {
    int active = 0;
    *time = bodies[order[0]].time + bodies[order[0]].step;
    while (active < n && bodies[order[active]].time + bodies[order[active]].step == *time) active++;
    qsort(order, active, sizeof *order, by_index);
    return active;
}

/* Puts the bodies of a block back into the order by their new steps, which are shorter than all
 * that do not end now. */
static void sort_by_step(const struct body *block, int active, int *order) {
    int place[LEVELS + 1] = {0};
    for (int i = 0; i < active; i++) place[ilogb(block[i].step / SHORTEST) + 1]++;
    for (int level = 0; level < LEVELS; level++) place[level + 1] += place[level];
    for (int i = 0; i < active; i++) order[place[ilogb(block[i].step / SHORTEST)]++] = block[i].index;
}

static double energy(const struct body *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += b[i].mass * (length2(b[i].v) + b[i].pot) / 2;
    return sum;
}

static void integrate(const char *path, double end) {
    int n;
    long body_steps = 0, block_steps = 0;
    struct body *bodies = share_bodies(path, &n);
    struct body *block = allocate(n, sizeof *block);
    int *order = allocate(n, sizeof *order);
    sink_index = allocate(n, sizeof *sink_index);
    sink_x = allocate(n, sizeof *sink_x);
    sink_v = allocate(n, sizeof *sink_v);
    radius2 = allocate(n, sizeof *radius2);
    forces = allocate(n, 7 * sizeof *forces);

    check("g6_open", g6_open(BOARD));
    send(bodies, n);
    force(n, 0, bodies, n);
    send(bodies, n);
    for (int i = 0; i < n; i++)
        bodies[i].step = power_of_two(ETA_START * sqrt(length2(bodies[i].acc) / length2(bodies[i].jerk)));
    sort_by_step(bodies, n, order);
    double initial = energy(bodies, n);

    force_seconds = sum_seconds = 0;
    double began = MPI_Wtime();
    for (double time = 0; time < end; block_steps++) {
        int active = next_block(bodies, n, order, &time);
        for (int i = 0; i < active; i++) predict(&bodies[order[i]], time, &block[i]);
        force(n, time, block, active);
        for (int i = 0; i < active; i++) {
            struct body *b = &bodies[block[i].index];
            correct(b, time, &block[i]);
            *b = block[i];
        }
        send(block, active);
        sort_by_step(block, active, order);
        body_steps += active;
    }
    double seconds = MPI_Wtime() - began, of_forces = force_seconds, of_sums = sum_seconds;

    /* Every step ends at the end; the potentials are those of the corrected positions. */
    force(n, end, bodies, n);
    double final = energy(bodies, n), least, greatest;
    MPI_Allreduce(&final, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&final, &greatest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (least < greatest) fail("the ranks do not know the same bodies", "; do all run the same program?");
    if (rank == 0) {
        printf("bodies          %d\n", n);
        printf("block steps     %ld\n", block_steps);
        printf("body steps      %ld\n", body_steps);
        printf("initial energy  %.15e\n", initial);
        printf("final energy    %.15e\n", final);
        printf("relative error  %.3e\n", (final - initial) / initial);
        printf("seconds         %.6f, of them %.6f for forces and %.6f for sums\n", seconds, of_forces, of_sums);
    }
    check("g6_close", g6_close(BOARD));
    free(bodies), free(block), free(order), free(sink_index), free(sink_x), free(sink_v), free(radius2), free(forces);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double end = argc > 2 ? atof(argv[2]) : 1;
    int wrong = argc < 2 || !(end > 0) || fmod(end, LONGEST) != 0;
    if (wrong && rank == 0 && argc < 2) fprintf(stderr, "usage: hermite4_mpi FILE [TIME]\n");
    if (wrong && rank == 0 && argc > 2)
        fprintf(stderr, "hermite4_mpi: the time is %s; allowed: multiples of 1/8\n", argv[2]);
    if (!wrong) integrate(argv[1], end);
    MPI_Finalize();
    return wrong ? 2 : 0;
}
