// Forces by Kyoho for programs on FDPS, the Framework for Developing Particle Simulators: the
// functions `dispatch` and `retrieve` of its multi-walk interface, for FDPS's sample nbody.
//
//     calcForceAllAndWriteBackMultiWalk(DispatchKernelWithSP, RetrieveKernel, ...)
//     calcForceAllAndWriteBackMultiWalkIndex(DispatchKernelWithSPIndex, RetrieveKernel, ...)
//
// README.md beside this file says how to build with it.
#ifndef FORCE_KYOHO_HPP
#define FORCE_KYOHO_HPP

#include <particle_simulator.hpp>

#include "user-defined.hpp"

#include <kyoho.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <list>
#include <vector>

namespace force_kyoho {

// The types of the sample. In a program of your own set yours here: sinks have `getPos()` and a
// static `eps`, the softening length; sources have `getPos()` and `getCharge()`; forces have `acc`
// and `pot`.
typedef FPGrav Epi;
typedef FPGrav Epj;
typedef PS::SPJMonopole Spj;
typedef FPGrav Force;

// A system of Kyoho.
struct System {
    kyoho_system *handle;
    int64_t sending; // the number of the sending of sources that it has, 0 before the first
    PS::S32 tag;     // of the walks under way
    PS::S32 sinks;   // of these walks
};

struct State {
    // FDPS retrieves the forces of walks before it dispatches the next ones, so that there is one
    // system. There are more if a caller dispatches first.
    std::list<System> idle, under_way;
    int64_t sending = 0; // of sources, counted from 1
    // Arrays of a call, kept so that no memory is asked for in every call. A row of `sources` has
    // the position and the mass, a row of `forces` acceleration and potential.
    std::vector<int32_t> sink_offsets, addresses;
    std::vector<int64_t> source_offsets;
    std::vector<double> sinks, sources, forces;
};

inline State &state() {
    static State state;
    return state;
}

// FDPS gives a caller no error of these functions, so that the program ends here.
inline void fail(const char *text) {
    std::fprintf(stderr, "force_kyoho: %s\n", text);
    PS::Abort();
}

inline void check(kyoho_result result) {
    if (result != KYOHO_OK) fail(kyoho_last_error());
}

// Returns a system that can begin. Precision and devices are what the environment says.
inline System &idle_system() {
    std::list<System> &idle = state().idle;
    if (idle.empty()) {
        kyoho_options options = KYOHO_OPTIONS_INIT;
        options.order = 2;
        System system = {nullptr, 0, 0, 0};
        check(kyoho_system_create(&options, &system.handle));
        idle.push_front(system);
    }
    return idle.front();
}

// Writes a row of `sources`.
template <class Particle>
void put_source(const Particle &particle, double *row) {
    const PS::F64 mass = particle.getCharge();
    // In FDPS the centre of a cell without mass is not a number.
    const PS::F64vec pos = mass == 0.0 ? PS::F64vec(0.0) : PS::F64vec(particle.getPos());
    row[0] = pos.x, row[1] = pos.y, row[2] = pos.z, row[3] = mass;
}

// Returns `count` rows of `sources` for Kyoho.
inline kyoho_sources sources_of_rows(PS::S32 count) {
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    sources.count = count;
    sources.positions.data = state().sources.data(), sources.positions.stride = 4 * sizeof(double);
    sources.masses.data = state().sources.data() + 3, sources.masses.stride = 4 * sizeof(double);
    return sources;
}

// Makes the particles the sources of a system, the cells behind the bodies.
inline void send(System &system, const Epj *epj, PS::S32 n_epj, const Spj *spj, PS::S32 n_spj) {
    const PS::S32 count = n_epj + n_spj;
    state().sources.resize(4 * (static_cast<size_t>(count) + 1));
    double *const rows = state().sources.data();
#ifdef PARTICLE_SIMULATOR_THREAD_PARALLEL
#pragma omp parallel for
#endif
    for (PS::S32 j = 0; j < count; j++) {
        double *const row = rows + 4 * static_cast<size_t>(j);
        if (j < n_epj) put_source(epj[j], row);
        else put_source(spj[j - n_epj], row);
    }
    const kyoho_sources sources = sources_of_rows(count);
    check(kyoho_system_set_sources(system.handle, &sources));
    system.sending = state().sending;
}

// Counts the sinks and the sources of the walks and copies the sinks.
inline void read_walks(PS::S32 n_walk, const Epi **epi, const PS::S32 *n_epi, const PS::S32 *n_epj,
                       const PS::S32 *n_spj) {
    State &s = state();
    s.sink_offsets.assign(1, 0);
    s.source_offsets.assign(1, 0);
    for (PS::S32 w = 0; w < n_walk; w++) {
        s.sink_offsets.push_back(s.sink_offsets[w] + n_epi[w]);
        s.source_offsets.push_back(s.source_offsets[w] + n_epj[w] + n_spj[w]);
    }
    s.sinks.resize(3 * (static_cast<size_t>(s.sink_offsets.back()) + 1));
    double *row = s.sinks.data();
    for (PS::S32 w = 0; w < n_walk; w++) {
        for (PS::S32 i = 0; i < n_epi[w]; i++, row += 3) {
            const PS::F64vec pos = epi[w][i].getPos();
            row[0] = pos.x, row[1] = pos.y, row[2] = pos.z;
        }
    }
}

// Begins the forces of the walks.
inline void start(System &system, PS::S32 tag, kyoho_lists lists) {
    State &s = state();
    lists.group_count = static_cast<int32_t>(s.sink_offsets.size()) - 1;
    lists.sink_offsets.data = s.sink_offsets.data();
    lists.source_offsets.data = s.source_offsets.data();
    kyoho_sinks sinks = KYOHO_SINKS_INIT;
    sinks.count = s.sink_offsets.back();
    sinks.positions.data = s.sinks.data();
    sinks.softening2 = Epi::eps * Epi::eps;
    // As in the kernel of the sample, the potential has the body's own -m / eps.
    sinks.exclusion = KYOHO_EXCLUDE_NOTHING;
    check(kyoho_system_start_lists(system.handle, &lists, &sinks));
    system.tag = tag;
    system.sinks = sinks.count;
    s.under_way.splice(s.under_way.end(), s.idle, s.idle.begin());
}

} // namespace force_kyoho

// Begins the forces of walks, the particles of which are given one by one.
inline PS::S32 DispatchKernelWithSP(const PS::S32 tag, const PS::S32 n_walk, const force_kyoho::Epi **epi,
                                    const PS::S32 *n_epi, const force_kyoho::Epj **epj, const PS::S32 *n_epj,
                                    const force_kyoho::Spj **spj, const PS::S32 *n_spj) {
    force_kyoho::State &s = force_kyoho::state();
    force_kyoho::System &system = force_kyoho::idle_system();
    force_kyoho::read_walks(n_walk, epi, n_epi, n_epj, n_spj);
    s.sources.resize(4 * (s.source_offsets.back() + 1));
#ifdef PARTICLE_SIMULATOR_THREAD_PARALLEL
#pragma omp parallel for schedule(dynamic)
#endif
    for (PS::S32 w = 0; w < n_walk; w++) {
        double *row = s.sources.data() + 4 * s.source_offsets[w];
        for (PS::S32 j = 0; j < n_epj[w]; j++, row += 4) force_kyoho::put_source(epj[w][j], row);
        for (PS::S32 j = 0; j < n_spj[w]; j++, row += 4) force_kyoho::put_source(spj[w][j], row);
    }
    const kyoho_sources sources = force_kyoho::sources_of_rows(static_cast<PS::S32>(s.source_offsets.back()));
    kyoho_lists lists = KYOHO_LISTS_INIT;
    lists.sources = &sources;
    force_kyoho::start(system, tag, lists);
    return 0;
}

// With `send_flag`, takes all particles of which walks will be made. Begins the forces of walks,
// the particles of which are given by their places in `epj` and `spj`.
inline PS::S32 DispatchKernelWithSPIndex(const PS::S32 tag, const PS::S32 n_walk, const force_kyoho::Epi **epi,
                                         const PS::S32 *n_epi, const PS::S32 **id_epj, const PS::S32 *n_epj,
                                         const PS::S32 **id_spj, const PS::S32 *n_spj, const force_kyoho::Epj *epj,
                                         const PS::S32 n_epj_tot, const force_kyoho::Spj *spj,
                                         const PS::S32 n_spj_tot, const bool send_flag) {
    force_kyoho::State &s = force_kyoho::state();
    force_kyoho::System &system = force_kyoho::idle_system();
    if (send_flag) s.sending++;
    if (system.sending != s.sending) force_kyoho::send(system, epj, n_epj_tot, spj, n_spj_tot);
    if (n_walk == 0 && send_flag) return 0;
    force_kyoho::read_walks(n_walk, epi, n_epi, n_epj, n_spj);
    s.addresses.resize(s.source_offsets.back() + 1);
#ifdef PARTICLE_SIMULATOR_THREAD_PARALLEL
#pragma omp parallel for schedule(dynamic)
#endif
    for (PS::S32 w = 0; w < n_walk; w++) {
        int32_t *address = s.addresses.data() + s.source_offsets[w];
        for (PS::S32 j = 0; j < n_epj[w]; j++) *address++ = id_epj[w][j];
        for (PS::S32 j = 0; j < n_spj[w]; j++) *address++ = n_epj_tot + id_spj[w][j];
    }
    kyoho_lists lists = KYOHO_LISTS_INIT;
    lists.addresses.data = s.addresses.data();
    force_kyoho::start(system, tag, lists);
    return 0;
}

// Waits for the forces of the walks that were dispatched first with this tag, and adds them.
inline PS::S32 RetrieveKernel(const PS::S32 tag, const PS::S32 n_walk, const PS::S32 *n_epi,
                              force_kyoho::Force **force) {
    force_kyoho::State &s = force_kyoho::state();
    std::list<force_kyoho::System>::iterator system = s.under_way.begin();
    while (system != s.under_way.end() && system->tag != tag) ++system;
    PS::S32 sinks = 0;
    for (PS::S32 w = 0; w < n_walk; w++) sinks += n_epi[w];
    if (system == s.under_way.end() || system->sinks != sinks)
        force_kyoho::fail("RetrieveKernel was called for walks that were not dispatched");

    s.forces.resize(4 * static_cast<size_t>(sinks));
    kyoho_forces forces = KYOHO_FORCES_INIT;
    forces.accelerations.data = s.forces.data(), forces.accelerations.stride = 4 * sizeof(double);
    forces.potentials.data = s.forces.data() + 3, forces.potentials.stride = 4 * sizeof(double);
    force_kyoho::check(kyoho_system_wait(system->handle, &forces));
    s.idle.splice(s.idle.begin(), s.under_way, system);

    const double *row = s.forces.data();
    for (PS::S32 w = 0; w < n_walk; w++) {
        for (PS::S32 i = 0; i < n_epi[w]; i++, row += 4) {
            force[w][i].acc += PS::F64vec(row[0], row[1], row[2]);
            force[w][i].pot += row[3];
        }
    }
    return 0;
}

#endif // FORCE_KYOHO_HPP
