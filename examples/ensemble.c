/*
 * Many small star clusters at once, each with its own bodies and steps, by the integrators of Kyoho's
 * native interface.
 *
 *     cc -O2 ensemble.c -lkyoho -lm -o ensemble
 *     ./ensemble 64 256 1
 *
 * The arguments are the number of clusters, the bodies of each, and the time to which they evolve.
 * Each is a Plummer model of its own seed. The seconds of a first evolution, in which buffers are
 * made, and those of a second one to twice the time are printed, with the largest error of an energy
 * against that of the start.
 */
#include <kyoho.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(kyoho_result result) {
    if (result != KYOHO_OK) {
        fprintf(stderr, "ensemble: %s\n", kyoho_last_error());
        exit(1);
    }
}

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double energy_of(kyoho_integrator *cluster) {
    double kinetic, potential;
    check(kyoho_integrator_energies(cluster, &kinetic, &potential));
    return kinetic + potential;
}

/* Makes a cluster. On CPUs each has a thread, as all evolve at the same time. */
static kyoho_integrator *made(int bodies, uint64_t seed) {
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_integrator_options given = KYOHO_INTEGRATOR_OPTIONS_INIT;
    kyoho_integrator *cluster = NULL;
    options.precision = KYOHO_PRECISION_MIXED, options.threads = 1;
    given.softening = 0.01;
    check(kyoho_integrator_create(&options, &given, &cluster));
    double *masses = malloc(7 * (size_t)bodies * sizeof *masses);
    int64_t *names = malloc((size_t)bodies * sizeof *names);
    if (!masses || !names) exit(1);
    double *positions = masses + bodies, *velocities = positions + 3 * bodies;
    for (int i = 0; i < bodies; i++) names[i] = i;
    check(kyoho_model_make("plummer", NULL, bodies, seed, masses, positions, velocities));
    kyoho_bodies added = KYOHO_BODIES_INIT;
    added.count = bodies;
    added.identifiers.data = names, added.masses.data = masses;
    added.positions.data = positions, added.velocities.data = velocities;
    check(kyoho_integrator_add_bodies(cluster, &added));
    free(masses), free(names);
    return cluster;
}

int main(int arguments, char **argument) {
    const int count = arguments > 1 ? atoi(argument[1]) : 8;
    const int bodies = arguments > 2 ? atoi(argument[2]) : 128;
    const double time = arguments > 3 ? atof(argument[3]) : 0.25;
    if (count < 1 || bodies < 2 || !(time > 0)) {
        fprintf(stderr, "usage: ensemble CLUSTERS BODIES TIME, from 1, 2 and above 0\n");
        return 1;
    }
    kyoho_integrator **clusters = malloc((size_t)count * sizeof(kyoho_integrator *));
    double *until = malloc((size_t)count * sizeof *until);
    double *before = malloc((size_t)count * sizeof *before);
    kyoho_evolution *evolutions = malloc((size_t)count * sizeof *evolutions);
    if (!clusters || !until || !before || !evolutions) return 1;
    for (int k = 0; k < count; k++) clusters[k] = made(bodies, (uint64_t)k + 1);
    for (int k = 0; k < count; k++) before[k] = energy_of(clusters[k]);
    printf("clusters       %d\nbodies of each %d\n", count, bodies);
    for (int part = 1; part <= 2; part++) {
        for (int k = 0; k < count; k++) {
            until[k] = part * time;
            evolutions[k] = (kyoho_evolution)KYOHO_EVOLUTION_INIT;
        }
        const double begun = seconds();
        check(kyoho_integrators_evolve(count, clusters, until, NULL, evolutions, NULL));
        const double taken = seconds() - begun;
        uint64_t most = 0;
        for (int k = 0; k < count; k++) most = evolutions[k].block_steps > most ? evolutions[k].block_steps : most;
        printf("evolution %d    %.4f s, most block steps %llu, %.2f us each\n", part, taken,
               (unsigned long long)most, 1e6 * taken / (double)(most ? most : 1));
    }
    double worst = 0;
    for (int k = 0; k < count; k++) worst = fmax(worst, fabs(energy_of(clusters[k]) / before[k] - 1));
    printf("worst error    %.3e\n", worst);
    for (int k = 0; k < count; k++) check(kyoho_integrator_free(clusters[k]));
    free(clusters), free(until), free(before), free(evolutions);
    return 0;
}
