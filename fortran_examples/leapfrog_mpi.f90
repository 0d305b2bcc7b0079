! A leapfrog over the ranks of MPI: each rank has some of the bodies and none knows all. Kyoho sums
! the forces of all of them, for which kyoho_mpi.f90 hands it the ranks. examples/leapfrog_mpi.c is
! the same.
!
!     mpifort -O2 kyoho.f90 kyoho_mpi.f90 leapfrog_mpi.f90 -lkyoho -o leapfrog_mpi
!     mpirun -np 4 ./leapfrog_mpi plummer1024.txt 1.0
!
! A line of the file is 'mass x y z vx vy vz'.
program leapfrog_mpi
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use kyoho
    use kyoho_mpi
    use mpi
    implicit none

    integer, parameter :: dp = c_double
    real(dp), parameter :: dt = 0.001_dp, softening2 = 1e-3_dp ! the square of the softening length
    type(kyoho_communicator), target :: communicator
    type(c_ptr) :: system
    ! The bodies of this rank.
    real(dp), allocatable :: mass(:), x(:, :), v(:, :), acc(:, :), pot(:)
    integer(c_int32_t), allocatable :: indices(:)
    integer(c_int32_t) :: n
    integer :: rank, ranks, error, step
    real(dp) :: initial, last, time
    character(len=1024) :: path, argument

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call get_command_argument(1, path)
    call get_command_argument(2, argument)
    read (argument, *) time
    call read_bodies()

    call kyoho_mpi_communicator(MPI_COMM_WORLD, communicator)
    call check('kyoho_system_create', kyoho_system_create(system, order=2, communicator=communicator))
    call force()
    initial = energy()
    do step = 1, nint(time/dt)
        v = v + dt/2*acc
        x = x + dt*v
        call force()
        v = v + dt/2*acc
    end do
    last = energy()
    if (rank == 0) then
        print '(a, i0)', 'ranks           ', ranks
        print '(a, es22.15)', 'initial energy  ', initial
        print '(a, es22.15)', 'final energy    ', last
        print '(a, es10.3)', 'relative error  ', (last - initial)/initial
    end if
    call check('kyoho_system_free', kyoho_system_free(system))
    call MPI_Finalize(error)

contains

    subroutine check(call, result)
        character(len=*), intent(in) :: call
        integer(c_int32_t), intent(in) :: result

        if (result == KYOHO_OK) return
        write (error_unit, '(a)') call//': '//kyoho_text(kyoho_last_error())
        call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end subroutine

    ! Of ranks lines one is this rank's. A body does not act on itself, by its index, which no
    ! other body of any rank has.
    subroutine read_bodies()
        integer :: pass, place, line, unit, status
        character(len=1024) :: text

        open (newunit=unit, file=path, action='read', status='old')
        do pass = 1, 2
            rewind (unit)
            line = 0
            do
                read (unit, '(a)', iostat=status) text
                if (status /= 0) exit
                if (text(1:1) == '#') cycle
                place = line/ranks + 1
                if (pass == 2 .and. mod(line, ranks) == rank) then
                    read (text, *) mass(place), x(:, place), v(:, place)
                    indices(place) = line
                end if
                line = line + 1
            end do
            n = (line - rank + ranks - 1)/ranks
            if (pass == 1) allocate (mass(n), x(3, n), v(3, n), acc(3, n), pot(n), indices(n))
        end do
        close (unit)
    end subroutine

    ! The forces of the bodies of all ranks on those of this one.
    subroutine force()
        call check('kyoho_system_set_sources', &
            kyoho_system_set_sources(system, n, 0_c_int32_t, mass, x, indices=indices))
        call check('kyoho_system_force_all', &
            kyoho_system_force_all(system, n, softening2, potentials=pot, accelerations=acc))
    end subroutine

    real(dp) function energy()
        real(dp) :: own

        own = sum(mass*(sum(v**2, 1) + pot))/2
        call MPI_Allreduce(own, energy, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end function
end program
