/*
 * A leapfrog over the ranks of MPI: each rank has some of the bodies and none knows all. Kyoho sums
 * the forces of all of them, for which kyoho_mpi.h hands it the ranks.
 *
 *     mpicc -O2 leapfrog_mpi.c -lkyoho -lm -o leapfrog_mpi
 *     mpirun -np 4 ./leapfrog_mpi plummer1024.txt 1.0
 *
 * A line of the file is 'mass x y z vx vy vz'. fortran_examples/leapfrog_mpi.f90 is the same.
 */
#include <kyoho_mpi.h>

#include <stdio.h>
#include <stdlib.h>

#define STEP 0.001
#define SOFTENING2 1e-3 /* the square of the softening length */

struct body {
    double mass, x[3], v[3], acc[3], pot;
};

static struct body *bodies; /* those of this rank */
static int n, rank, ranks;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "leapfrog_mpi: rank %d: %s%s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void check(const char *call, kyoho_result result) {
    if (result != KYOHO_OK) fprintf(stderr, "%s: ", call), fail(kyoho_last_error(), "");
}

/* Of ranks lines one is this rank's. */
static void read_bodies(const char *path) {
    struct body b = {0, {0}, {0}, {0}, 0};
    char line[1024];
    int count = 0;
    FILE *file = fopen(path, "r");
    if (!file) fail(path, ": no such file");
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#') continue;
        if (sscanf(line, "%lf%lf%lf%lf%lf%lf%lf", &b.mass, &b.x[0], &b.x[1], &b.x[2], &b.v[0], &b.v[1], &b.v[2]) != 7)
            fail("no 'mass x y z vx vy vz': ", line);
        if (count++ % ranks != rank) continue;
        bodies = realloc(bodies, (n + 1) * sizeof b);
        if (!bodies) fail("no memory", "");
        bodies[n++] = b;
    }
    fclose(file);
}

/* The forces of the bodies of all ranks on those of this one. A body does not act on itself, by its
 * index, which no other body of any rank has. */
static void force(kyoho_system *system, const int *indices) {
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    kyoho_forces forces = KYOHO_FORCES_INIT;
    sources.count = n;
    sources.indices.data = indices;
    sources.masses.stride = sources.positions.stride = sizeof *bodies;
    forces.accelerations.stride = forces.potentials.stride = sizeof *bodies;
    if (n > 0) {
        sources.masses.data = &bodies->mass, sources.positions.data = bodies->x;
        forces.accelerations.data = bodies->acc, forces.potentials.data = &bodies->pot;
    }
    check("kyoho_system_set_sources", kyoho_system_set_sources(system, &sources));
    check("kyoho_system_force_all", kyoho_system_force_all(system, n, SOFTENING2, &forces));
}

static double energy(void) {
    double own = 0, all = 0;
    for (struct body *b = bodies; b < bodies + n; b++)
        own += b->mass * (b->v[0] * b->v[0] + b->v[1] * b->v[1] + b->v[2] * b->v[2] + b->pot) / 2;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void move(double kick, double drift) {
    for (struct body *b = bodies; b < bodies + n; b++)
        for (int k = 0; k < 3; k++) b->v[k] += kick * b->acc[k], b->x[k] += drift * b->v[k];
}

int main(int argc, char **argv) {
    kyoho_communicator communicator;
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_system *system;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3) fail("usage: ", "leapfrog_mpi FILE TIME");
    read_bodies(argv[1]);
    int *indices = malloc((n + 1) * sizeof *indices);
    for (int i = 0; indices && i < n; i++) indices[i] = i * ranks + rank;

    kyoho_mpi_communicator(MPI_COMM_WORLD, &communicator);
    options.order = 2;
    options.communicator = &communicator;
    check("kyoho_system_create", kyoho_system_create(&options, &system));
    force(system, indices);
    double initial = energy();
    for (long step = 0, steps = (long)(atof(argv[2]) / STEP + 0.5); step < steps; step++) {
        move(STEP / 2, STEP);
        force(system, indices);
        move(STEP / 2, 0);
    }
    double final = energy();
    if (rank == 0) {
        printf("ranks           %d\n", ranks);
        printf("initial energy  %.15e\n", initial);
        printf("final energy    %.15e\n", final);
        printf("relative error  %.3e\n", (final - initial) / initial);
    }
    kyoho_system_free(system);
    free(bodies), free(indices);
    MPI_Finalize();
    return 0;
}
