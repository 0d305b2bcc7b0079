// Kyoho over the ranks of an MPI communicator.
//
//     kyoho_communicator ranks;
//     kyoho_mpi_communicator(MPI_COMM_WORLD, &ranks);
//     kyoho_options options = KYOHO_OPTIONS_INIT;
//     options.communicator = &ranks;
//     kyoho_system_create(&options, &system);                 on all ranks
//
// Each rank then writes its own sources, and gets the forces of the sources of all ranks on its own
// sinks. kyoho_system_create, kyoho_system_wait, and kyoho_system_force and kyoho_system_start with
// those that end in _all and _lists are calls of all ranks, as those of MPI. In
// kyoho_integrator_create the same options make an integrator whose ranks all have all bodies.
//
// The library knows no MPI: these functions are compiled into your program, with your MPI. The
// communicator has to live as long as the system. It may be your own: no message of yours is
// mistaken for one of these. C and C++.

#ifndef KYOHO_MPI_H
#define KYOHO_MPI_H

#include <mpi.h>
#include <string.h>

#include "kyoho.h"

#ifdef __cplusplus
extern "C" {
#endif

// A handle of MPI is an integer or a pointer, which this array has room for.
typedef char kyoho_mpi_fits[sizeof(MPI_Comm) <= sizeof(void *) ? 1 : -1];

static inline MPI_Comm kyoho_mpi_of(void *context) {
    MPI_Comm communicator;
    memcpy(&communicator, &context, sizeof communicator);
    return communicator;
}

static inline int32_t kyoho_mpi_all_gather(void *context, const void *sent, int32_t count,
                                           void *received, const int32_t *counts,
                                           const int32_t *offsets) {
    return MPI_Allgatherv(sent, count, MPI_BYTE, received, counts, offsets, MPI_BYTE,
                          kyoho_mpi_of(context));
}

static inline int32_t kyoho_mpi_all_to_all(void *context, const void *sent,
                                           const int32_t *sent_counts,
                                           const int32_t *sent_offsets, void *received,
                                           const int32_t *received_counts,
                                           const int32_t *received_offsets) {
    return MPI_Alltoallv(sent, sent_counts, sent_offsets, MPI_BYTE, received, received_counts,
                         received_offsets, MPI_BYTE, kyoho_mpi_of(context));
}

static inline void kyoho_mpi_abort(void *context) {
    MPI_Abort(kyoho_mpi_of(context), 1);
}

// Makes `communicator` one of the ranks of `of`, and returns what MPI does.
static inline int kyoho_mpi_communicator(MPI_Comm of, kyoho_communicator *communicator) {
    const kyoho_communicator empty = KYOHO_COMMUNICATOR_INIT;
    int rank = 0, size = 0;
    *communicator = empty;
    int result = MPI_Comm_rank(of, &rank);
    if (result == MPI_SUCCESS) {
        result = MPI_Comm_size(of, &size);
    }
    communicator->rank = rank;
    communicator->size = size;
    memcpy(&communicator->context, &of, sizeof of);
    communicator->all_gather = kyoho_mpi_all_gather;
    communicator->all_to_all = kyoho_mpi_all_to_all;
    communicator->abort = kyoho_mpi_abort;
    return result;
}

#ifdef __cplusplus
}
#endif

#endif
