! Kyoho over the ranks of an MPI communicator, for Fortran.
!
!     use kyoho
!     use kyoho_mpi
!     use mpi
!     type(kyoho_communicator), target :: ranks
!     call kyoho_mpi_communicator(MPI_COMM_WORLD, ranks)
!     result = kyoho_system_create(system, order=4, communicator=ranks)       on all ranks
!
! Each rank then writes its own sources, and gets the forces of the sources of all ranks on its own
! sinks. kyoho_system_create, kyoho_system_wait, and kyoho_system_force and kyoho_system_start with
! those that end in _all and _lists are calls of all ranks, as those of MPI.
!
! Compile this file after kyoho.f90, by your MPI's compiler: the library knows no MPI. Of a
! communicator of the module mpi_f08 hand over its component MPI_VAL.
module kyoho_mpi
    use, intrinsic :: iso_c_binding
    use kyoho, only: kyoho_communicator
    use mpi
    implicit none
    private

    public :: kyoho_mpi_communicator

contains

    ! Makes `communicator` one of the ranks of `of`.
    subroutine kyoho_mpi_communicator(of, communicator)
        integer, intent(in) :: of
        type(kyoho_communicator), intent(out) :: communicator
        integer :: rank, ranks, error

        call MPI_Comm_rank(of, rank, error)
        call MPI_Comm_size(of, ranks, error)
        communicator%rank = rank
        communicator%size = ranks
        communicator%context = transfer(int(of, c_intptr_t), communicator%context)
        communicator%all_gather = c_funloc(all_gather)
        communicator%all_to_all = c_funloc(all_to_all)
        communicator%abort = c_funloc(end_all)
    end subroutine

    integer function communicator_of(context)
        type(c_ptr), intent(in) :: context

        communicator_of = int(transfer(context, 0_c_intptr_t))
    end function

    integer function ranks_of(context)
        type(c_ptr), intent(in) :: context
        integer :: error

        call MPI_Comm_size(communicator_of(context), ranks_of, error)
    end function

    function all_gather(context, sent, count, received, counts, offsets) bind(c) result(error)
        type(c_ptr), value :: context, sent, received, counts, offsets
        integer(c_int32_t), value :: count
        integer(c_int32_t) :: error
        integer(c_int8_t), pointer :: out(:), in(:)
        integer(c_int32_t), pointer :: bytes(:), first(:)

        call c_f_pointer(counts, bytes, [ranks_of(context)])
        call c_f_pointer(offsets, first, [ranks_of(context)])
        call c_f_pointer(sent, out, [count])
        call c_f_pointer(received, in, [sum(bytes)])
        call MPI_Allgatherv(out, count, MPI_BYTE, in, bytes, first, MPI_BYTE, &
            communicator_of(context), error)
    end function

    function all_to_all(context, sent, sent_counts, sent_offsets, received, received_counts, &
            received_offsets) bind(c) result(error)
        type(c_ptr), value :: context, sent, received
        type(c_ptr), value :: sent_counts, sent_offsets, received_counts, received_offsets
        integer(c_int32_t) :: error
        integer(c_int8_t), pointer :: out(:), in(:)
        integer(c_int32_t), pointer :: out_bytes(:), out_first(:), in_bytes(:), in_first(:)

        call c_f_pointer(sent_counts, out_bytes, [ranks_of(context)])
        call c_f_pointer(sent_offsets, out_first, [ranks_of(context)])
        call c_f_pointer(received_counts, in_bytes, [ranks_of(context)])
        call c_f_pointer(received_offsets, in_first, [ranks_of(context)])
        call c_f_pointer(sent, out, [sum(out_bytes)])
        call c_f_pointer(received, in, [sum(in_bytes)])
        call MPI_Alltoallv(out, out_bytes, out_first, MPI_BYTE, in, in_bytes, in_first, MPI_BYTE, &
            communicator_of(context), error)
    end function

    subroutine end_all(context) bind(c)
        type(c_ptr), value :: context
        integer :: error

        call MPI_Abort(communicator_of(context), 1, error)
    end subroutine
end module
