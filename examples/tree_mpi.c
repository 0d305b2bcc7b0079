/*
 * A tree code over the ranks of MPI: a sphere of bodies at rest falls together, to two thirds of its
 * radius. Each rank has some of the bodies, wherever they are, and none knows all.
 *
 *     mpicc -O2 tree_mpi.c -lkyoho -lm -o tree_mpi
 *     mpirun -np 4 ./tree_mpi 1000000
 *
 * fortran_examples/tree_mpi.f90 and examples/python/tree_mpi.py are the same.
 */
#include <kyoho_mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(kyoho_result result) {
    if (result == KYOHO_OK) return;
    fprintf(stderr, "tree_mpi: %s\n", kyoho_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    int rank, ranks, all = argc > 1 ? atoi(argv[1]) : 20000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* Body i is the same on any number of ranks: its place follows from three irrational numbers. */
    int n = (all - rank + ranks - 1) / ranks, *index = malloc((n + 1) * sizeof *index);
    double(*x)[3] = malloc((n + 1) * sizeof *x), (*v)[3] = calloc(n + 1, sizeof *v);
    double(*acc)[3] = malloc((n + 1) * sizeof *acc), *mass = malloc((n + 1) * sizeof *mass);
    double *pot = malloc((n + 1) * sizeof *pot), dt = 0.05, energies[2], own, part;
    for (int j = 0; j < n; j++) {
        int i = index[j] = j * ranks + rank;
        double r = cbrt(modf(i * sqrt(2), &part)), z = 2 * modf(i * sqrt(3), &part) - 1;
        double across = r * sqrt(1 - z * z), turn = 2 * acos(-1) * modf(i * sqrt(5), &part);
        x[j][0] = across * cos(turn), x[j][1] = across * sin(turn), x[j][2] = r * z, mass[j] = 1.0 / all;
    }

    kyoho_system *system;
    kyoho_communicator communicator;
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_mpi_communicator(MPI_COMM_WORLD, &communicator);
    options.order = 2, options.accuracy = 1e-3;
    options.communicator = &communicator;
    check(kyoho_system_create(&options, &system));
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    kyoho_forces forces = KYOHO_FORCES_INIT;
    sources.count = n, sources.indices.data = index, sources.masses.data = mass, sources.positions.data = x[0];
    forces.accelerations.data = acc[0], forces.potentials.data = pot;
    for (int step = 0; step <= 16; step++) {
        check(kyoho_system_set_sources(system, &sources));
        check(kyoho_system_force_all(system, n, 1e-3, &forces)); /* the square of the softening length */
        own = 0;
        for (int j = 0; j < n; j++)
            for (int k = 0; k < 3; k++) {
                if (step > 0) v[j][k] += dt / 2 * acc[j][k];
                own += mass[j] * (v[j][k] * v[j][k] + pot[j] / 3) / 2;
                v[j][k] += dt / 2 * acc[j][k], x[j][k] += dt * v[j][k];
            }
        MPI_Allreduce(&own, &energies[step > 0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("initial energy  %.12e\nfinal energy    %.12e\n", energies[0], energies[1]);
    check(kyoho_system_free(system));
    free(index), free(x), free(v), free(acc), free(mass), free(pot);
    MPI_Finalize();
    return 0;
}
