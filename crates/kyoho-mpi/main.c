// The command kyoho-mpi: kyoho run over the ranks that mpirun has started.

#include <kyoho_mpi.h>
#include <stdio.h>

int kyoho_command_of_ranks(int count, const char *const *words, const kyoho_communicator *ranks);

int main(int count, char **words) {
    kyoho_communicator ranks;
    int provided, status = 1;
    // Only this thread calls MPI; others of the process compute and write.
    if (MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        fputs("kyoho: MPI could not be initialised\n", stderr);
        return 1;
    }
    if (provided < MPI_THREAD_FUNNELED) {
        fputs("kyoho: this MPI has no MPI_THREAD_FUNNELED; allowed: one that has\n", stderr);
    } else if (kyoho_mpi_communicator(MPI_COMM_WORLD, &ranks) == MPI_SUCCESS) {
        status = kyoho_command_of_ranks(count, (const char *const *)words, &ranks);
    }
    MPI_Finalize();
    return status;
}
