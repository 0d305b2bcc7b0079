! A tree code over the ranks of MPI: a sphere of bodies at rest falls together, to two thirds of its
! radius. Each rank has some of the bodies, wherever they are, and none knows all. examples/tree_mpi.c
! is the same.
!
!     mpifort -O2 kyoho.f90 kyoho_mpi.f90 tree_mpi.f90 -lkyoho -o tree_mpi
!     mpirun -np 4 ./tree_mpi 1000000
program tree_mpi
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use kyoho
    use kyoho_mpi
    use mpi
    implicit none

    integer, parameter :: dp = c_double
    real(dp), parameter :: dt = 0.05_dp, softening2 = 1e-3_dp ! the square of the softening length
    type(kyoho_communicator), target :: communicator
    type(kyoho_options) :: options
    type(c_ptr) :: system
    real(dp), allocatable :: mass(:), x(:, :), v(:, :), acc(:, :), pot(:), r(:), z(:), turn(:)
    integer(c_int32_t), allocatable :: indices(:)
    integer(c_int32_t) :: n, all, i
    integer :: rank, ranks, error, step
    real(dp) :: energies(2)
    character(len=32) :: argument

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    call get_command_argument(1, argument)
    read (argument, *) all

    ! Body i is the same on any number of ranks: its place follows from three irrational numbers.
    n = (all - rank + ranks - 1)/ranks
    allocate (indices(n), mass(n), x(3, n), v(3, n), acc(3, n), pot(n))
    indices(:) = [(i*ranks + rank, i=0, n - 1)]
    r = modulo(indices*sqrt(2.0_dp), 1.0_dp)**(1/3.0_dp)
    z = 2*modulo(indices*sqrt(3.0_dp), 1.0_dp) - 1
    turn = 2*acos(-1.0_dp)*modulo(indices*sqrt(5.0_dp), 1.0_dp)
    x(1, :) = r*sqrt(1 - z**2)*cos(turn)
    x(2, :) = r*sqrt(1 - z**2)*sin(turn)
    x(3, :) = r*z
    mass = 1.0_dp/all
    v = 0

    call kyoho_mpi_communicator(MPI_COMM_WORLD, communicator)
    options%order = 2
    options%accuracy = 1e-3_dp
    options%communicator = c_loc(communicator)
    call check(kyoho_system_create(options, system))
    do step = 0, 16
        call check(kyoho_system_set_sources(system, n, 0_c_int32_t, mass, x, indices=indices))
        call check(kyoho_system_force_all(system, n, softening2, potentials=pot, accelerations=acc))
        if (step > 0) v = v + dt/2*acc
        energies(merge(1, 2, step == 0)) = sum(mass*(sum(v**2, 1) + pot))/2
        v = v + dt/2*acc
        x = x + dt*v
    end do
    call MPI_Allreduce(MPI_IN_PLACE, energies, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, es19.12)', 'initial energy  ', energies(1), 'final energy    ', energies(2)
    call check(kyoho_system_free(system))
    call MPI_Finalize(error)

contains

    subroutine check(result)
        integer(c_int32_t), intent(in) :: result

        if (result == KYOHO_OK) return
        write (error_unit, '(a)') 'tree_mpi: '//kyoho_text(kyoho_last_error())
        call MPI_Abort(MPI_COMM_WORLD, 1, error)
    end subroutine
end program
