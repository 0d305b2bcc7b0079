! Kyoho for Fortran: gravitational forces for direct N-body codes.
!
! Compile this file with your own and link with -lkyoho. The routines are those of kyoho.h and have
! the same names. Most come in two forms under one name: one takes plain, contiguous arrays such as
! x(3,n), the other a structure that says where the arrays lie in memory and how far apart their
! elements are. Every integer function gives KYOHO_OK (0) on success; on anything else
! kyoho_text(kyoho_last_error()) says what was wrong.
!
!     type(c_ptr) :: system
!     if (kyoho_system_create(system, order=4, precision=KYOHO_PRECISION_DOUBLE) /= KYOHO_OK) &
!         stop 'no system'
!     result = kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, indices=id)
!     result = kyoho_system_set_time(system, time)
!     result = kyoho_system_force(system, n, n, x, v, eps2, indices=id, accelerations=acc, &
!         jerks=jerk, potentials=pot)
!
! Addresses and the numbers of sinks and devices count from 0, as in C. Units are the caller's own,
! with G = 1. Structures begin with their size, which has its value from the beginning: leave it.
module kyoho
    use, intrinsic :: iso_c_binding
    implicit none
    private

    ! The version of this module; kyoho_version has that of the library.
    integer(c_int32_t), parameter, public :: KYOHO_VERSION_MAJOR = 0
    integer(c_int32_t), parameter, public :: KYOHO_VERSION_MINOR = 2
    integer(c_int32_t), parameter, public :: KYOHO_VERSION_PATCH = 0
    integer(c_int32_t), parameter, public :: KYOHO_VERSION_NUMBER = 200 ! as one number, which grows

    ! A crossover with which the CPU computes no block in the place of another backend.
    integer(c_int64_t), parameter, public :: KYOHO_CROSSOVER_OFF = -1

    ! The outcome of a call.
    integer(c_int32_t), parameter, public :: KYOHO_OK = 0
    integer(c_int32_t), parameter, public :: KYOHO_NULL_ARGUMENT = 10    ! an argument is null
    integer(c_int32_t), parameter, public :: KYOHO_BAD_HANDLE = 11       ! the handle is not a system
    integer(c_int32_t), parameter, public :: KYOHO_BAD_COUNT = 12        ! negative or too large
    integer(c_int32_t), parameter, public :: KYOHO_BAD_ADDRESS = 13      ! negative or too large
    integer(c_int32_t), parameter, public :: KYOHO_NOT_FINITE = 14       ! NaN or infinite
    integer(c_int32_t), parameter, public :: KYOHO_OUT_OF_RANGE = 15     ! too large for the precision
    integer(c_int32_t), parameter, public :: KYOHO_CALL_ORDER = 16       ! such as wait without start
    integer(c_int32_t), parameter, public :: KYOHO_BAD_OPTION = 17       ! a value that is not allowed
    integer(c_int32_t), parameter, public :: KYOHO_BUFFER_TOO_SMALL = 18 ! it holds as much as fits
    integer(c_int32_t), parameter, public :: KYOHO_BAD_TEXT = 19         ! of a pair interaction
    integer(c_int32_t), parameter, public :: KYOHO_NO_BACKEND = 30       ! no driver, no device
    integer(c_int32_t), parameter, public :: KYOHO_UNSUPPORTED = 31      ! no such interaction
    integer(c_int32_t), parameter, public :: KYOHO_OUT_OF_MEMORY = 40    ! memory could not be had
    integer(c_int32_t), parameter, public :: KYOHO_DEVICE_FAILED = 41    ! while it worked
    integer(c_int32_t), parameter, public :: KYOHO_COMMUNICATOR_FAILED = 42 ! of ranks
    integer(c_int32_t), parameter, public :: KYOHO_INTERNAL = 90         ! a defect of the library
    integer(c_int32_t), parameter, public :: KYOHO_POISONED = 91         ! by an earlier defect

    ! How exactly pairs are computed and summed.
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_SINGLE = 1 ! all of a pair in 32 bits
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_MIXED = 2  ! differences of positions to 48
                                                                        ! bits, sums in 64
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_DOUBLE = 3 ! everything in 64 bits
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_QUAD = 4   ! in two doubles for each number

    ! The sources that a force is of.
    integer(c_int32_t), parameter, public :: KYOHO_SCOPE_FULL = 1    ! all of them
    integer(c_int32_t), parameter, public :: KYOHO_SCOPE_REGULAR = 2 ! all but neighbours of the sink

    ! The kinds of machine that compute forces.
    integer(c_int32_t), parameter, public :: KYOHO_BACKEND_CPU = 1    ! SIMD and threads
    integer(c_int32_t), parameter, public :: KYOHO_BACKEND_CUDA = 2   ! NVIDIA GPUs
    integer(c_int32_t), parameter, public :: KYOHO_BACKEND_OPENCL = 3 ! OpenCL devices

    ! The criterion of the length of steps in orders 6 and 8.
    integer(c_int32_t), parameter, public :: KYOHO_STEP_CRITERION_USUAL = 0   ! the average in order 6
                                                                              ! below double
    integer(c_int32_t), parameter, public :: KYOHO_STEP_CRITERION_ORDER = 1   ! that of the order
    integer(c_int32_t), parameter, public :: KYOHO_STEP_CRITERION_AVERAGE = 2 ! its mean with order 4

    ! The reason why two bodies of an integrator have an encounter: they are nearer than
    integer(c_int32_t), parameter, public :: KYOHO_ENCOUNTER_APPROACH = 1  ! approach_distance
    integer(c_int32_t), parameter, public :: KYOHO_ENCOUNTER_COLLISION = 2 ! the sum of their radii
    integer(c_int32_t), parameter, public :: KYOHO_ENCOUNTER_MERGER = 3    ! the innermost stable orbit

    ! The reason why an evolution ended.
    integer(c_int32_t), parameter, public :: KYOHO_EVOLUTION_END_TIME = 0        ! it was reached
    integer(c_int32_t), parameter, public :: KYOHO_EVOLUTION_END_ENCOUNTER = 1   ! of bodies
    integer(c_int32_t), parameter, public :: KYOHO_EVOLUTION_END_BLOCK_STEPS = 2 ! as many were made
    integer(c_int32_t), parameter, public :: KYOHO_EVOLUTION_END_CALLER = 3      ! its procedure says so

    ! The sources that a sink leaves out.
    integer(c_int32_t), parameter, public :: KYOHO_EXCLUDE_BY_INDEX = 0 ! those with its index
    integer(c_int32_t), parameter, public :: KYOHO_EXCLUDE_NOTHING = 1  ! none

    ! Why a system of few bodies ended.
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_TIME = 0      ! its time has passed
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_ESCAPE = 1    ! a part has left
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_EXCHANGE = 2  ! with other binaries
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_COLLISION = 3 ! two bodies touch
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_STEPS = 4     ! all allowed were made
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_NO_STEP = 5   ! bodies are too near
    integer(c_int32_t), parameter, public :: KYOHO_FEW_BODY_END_MERGER = 6    ! at the innermost orbit

    ! What the function of a field is asked for.
    integer(c_int32_t), parameter, public :: KYOHO_FIELD_VALUE_POTENTIAL = 0    ! a number for each
    integer(c_int32_t), parameter, public :: KYOHO_FIELD_VALUE_ACCELERATION = 1 ! three for each
    integer(c_int32_t), parameter, public :: KYOHO_FIELD_VALUE_JERK = 2         ! three for each

    ! How much a log tells; each level includes those before it.
    integer(c_int32_t), parameter, public :: KYOHO_LOG_OFF = 0
    integer(c_int32_t), parameter, public :: KYOHO_LOG_ERROR = 1 ! failures
    integer(c_int32_t), parameter, public :: KYOHO_LOG_WARN = 2  ! deviations from what was asked for
    integer(c_int32_t), parameter, public :: KYOHO_LOG_INFO = 3  ! systems that are made and freed
    integer(c_int32_t), parameter, public :: KYOHO_LOG_DEBUG = 4 ! details

    ! The memory in which the arrays of a structure lie.
    integer(c_int32_t), parameter, public :: KYOHO_MEMORY_HOST = 0
    integer(c_int32_t), parameter, public :: KYOHO_MEMORY_CUDA = 1  ! of the system's one CUDA device

    ! The rule by which a source is a neighbour of a sink in a system of regular forces: the smaller
    ! of |r|^2 and |r + step v|^2 is below this.
    integer(c_int32_t), parameter, public :: KYOHO_NEIGHBOUR_CRITERION_BY_MASS = 1 ! radii2 times mass
    integer(c_int32_t), parameter, public :: KYOHO_NEIGHBOUR_CRITERION_PLAIN = 2   ! radii2

    ! The type of the numbers of an array of a pair interaction; of two limbs the higher comes first.
    integer(c_int32_t), parameter, public :: KYOHO_NUMBER_TYPE_F32 = 1 ! real numbers of 32 bits
    integer(c_int32_t), parameter, public :: KYOHO_NUMBER_TYPE_F64 = 2 ! real numbers of 64 bits
    integer(c_int32_t), parameter, public :: KYOHO_NUMBER_TYPE_FF = 3  ! sums of two of 32 bits
    integer(c_int32_t), parameter, public :: KYOHO_NUMBER_TYPE_DD = 4  ! sums of two of 64 bits
    integer(c_int32_t), parameter, public :: KYOHO_NUMBER_TYPE_I32 = 5 ! integers of 32 bits
    integer(c_int32_t), parameter, public :: KYOHO_NUMBER_TYPE_U32 = 6 ! those that are not negative

    ! What becomes of bodies that collide.
    integer(c_int32_t), parameter, public :: KYOHO_ON_COLLISION_END = 0   ! they end the evolution
    integer(c_int32_t), parameter, public :: KYOHO_ON_COLLISION_MERGE = 1 ! they become one

    ! How the ranks of one system speak with one another; kyoho_mpi.f90 makes one of your MPI
    ! communicator. The functions are those of kyoho.h: c_funloc(procedure), bind(c).
    type, bind(c), public :: kyoho_communicator
        integer(c_int32_t) :: structure_size = 48
        integer(c_int32_t) :: rank = 0                      ! the number of this rank, from 0 on
        integer(c_int32_t) :: size = 0                      ! the number of ranks
        integer(c_int32_t) :: reserved = 0
        type(c_ptr) :: context = c_null_ptr                 ! handed to the functions
        type(c_funptr) :: all_gather = c_null_funptr        ! as MPI_Allgatherv
        type(c_funptr) :: all_to_all = c_null_funptr        ! as MPI_Alltoallv
        type(c_funptr) :: abort = c_null_funptr             ! as MPI_Abort; it may be null
    end type

    ! How a system is made: what is 0 or null is left open.
    type, bind(c), public :: kyoho_options
        integer(c_int32_t) :: structure_size = 64
        integer(c_int32_t) :: order = 0                     ! 2, 4, 6, 8; 0: 4
        integer(c_int32_t) :: precision = 0                 ! 0: KYOHO_PRECISION, else double
        integer(c_int32_t) :: scope = 0                     ! 0: KYOHO_SCOPE_FULL
        integer(c_int32_t) :: backend = 0                   ! 0: KYOHO_BACKEND, else the first there is
        integer(c_int32_t) :: threads = 0                   ! of the CPU; 0: from the environment
        type(c_ptr) :: devices = c_null_ptr                 ! a text that ends with a zero
        integer(c_int64_t) :: crossover = 0                 ! see kyoho_system_set_crossover
        real(c_double) :: accuracy = 0                      ! of forces by a tree in order 2, 1e-6 to
                                                            ! 1e-2; 0: direct sums, or theta
        real(c_double) :: theta = 0                         ! the opening angle of a tree, 0.1 to 1.5
        type(c_ptr) :: communicator = c_null_ptr            ! c_loc of a kyoho_communicator: the ranks
                                                            ! of the system
    end type

    ! Arrays: where they begin, null for none, and the bytes from one element or row of 3 to the
    ! next, 0 where they follow one another. The library reads those whose name has const in it.
    type, bind(c), public :: kyoho_const_reals
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: stride = 0
    end type

    type, bind(c), public :: kyoho_reals
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: stride = 0
    end type

    type, bind(c), public :: kyoho_const_integers
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: stride = 0
    end type

    type, bind(c), public :: kyoho_integers
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: stride = 0
    end type

    type, bind(c), public :: kyoho_const_long_integers
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: stride = 0
    end type

    type, bind(c), public :: kyoho_long_integers
        type(c_ptr) :: data = c_null_ptr
        integer(c_int64_t) :: stride = 0
    end type

    ! The CUDA device and the stream of arrays in KYOHO_MEMORY_CUDA, whose data are device pointers.
    type, bind(c), public :: kyoho_cuda
        integer(c_int32_t) :: device = 0                    ! its number
        integer(c_int32_t) :: reserved = 0
        type(c_ptr) :: stream = c_null_ptr                  ! null: the default stream
    end type

    ! Sources (j-particles) to write, for arrays that are parts of your own types. Each array has an
    ! element or a row of 3 for every source.
    type, bind(c), public :: kyoho_sources
        integer(c_int32_t) :: structure_size = 248
        integer(c_int32_t) :: memory = KYOHO_MEMORY_HOST
        integer(c_int32_t) :: count = 0                     ! the number of sources
        integer(c_int32_t) :: first_address = 0             ! of the first source, without addresses
        type(kyoho_const_integers) :: addresses             ! without: from first_address on
        type(kyoho_const_integers) :: indices               ! your names; without: the address
        type(kyoho_const_reals) :: masses
        type(kyoho_const_reals) :: times                    ! of position, velocity, ...; without: 0
        type(kyoho_const_reals) :: positions
        type(kyoho_const_reals) :: velocities               ! without: 0; read in orders 4, 6, 8
        type(kyoho_const_reals) :: accelerations            ! not divided by 2; in orders 4, 6, 8
        type(kyoho_const_reals) :: jerks                    ! not divided by 6; in orders 4, 6, 8
        type(kyoho_const_reals) :: snaps                    ! not divided by 24; in orders 6, 8
        type(kyoho_const_reals) :: crackles                 ! not divided by 120; in orders 6, 8
        type(kyoho_const_reals) :: sixth_derivatives        ! of positions, not divided by 720; in 8
        type(kyoho_const_reals) :: seventh_derivatives      ! not divided by 5040; in order 8
        type(kyoho_cuda) :: cuda                            ! of arrays in KYOHO_MEMORY_CUDA
        integer(c_int32_t) :: number_type = 0               ! in precision quad KYOHO_NUMBER_TYPE_DD:
                                                            ! two doubles for each real number
        integer(c_int32_t) :: reserved = 0
        type(kyoho_const_reals) :: softening2_each          ! squares of softening lengths; a pair
                                                            ! has the mean of source and sink
    end type

    ! Sinks (i-particles) that forces are wanted on.
    type, bind(c), public :: kyoho_sinks
        integer(c_int32_t) :: structure_size = 176
        integer(c_int32_t) :: memory = KYOHO_MEMORY_HOST
        integer(c_int32_t) :: count = 0                     ! the number of sinks
        integer(c_int32_t) :: exclusion = KYOHO_EXCLUDE_BY_INDEX ! which requires indices
        type(kyoho_const_integers) :: indices               ! sources with the same index are left out
        type(kyoho_const_reals) :: positions                ! at the system's time
        type(kyoho_const_reals) :: velocities               ! required in orders 4, 6, 8
        type(kyoho_const_reals) :: accelerations            ! required in orders 6, 8
        type(kyoho_const_reals) :: jerks                    ! required in order 8
        real(c_double) :: softening2 = 0                    ! the square of the softening length
        type(kyoho_const_reals) :: softening2_each          ! one for each sink instead
        type(kyoho_const_reals) :: radii2                   ! of neighbour lists; without: no lists
        type(kyoho_const_reals) :: steps                    ! of regular forces; without: 0
        integer(c_int32_t) :: neighbour_criterion = 0       ! of regular forces; 0: by mass
        integer(c_int32_t) :: number_type = 0               ! as in kyoho_sources, but of softening2
        type(kyoho_cuda) :: cuda                            ! of arrays in KYOHO_MEMORY_CUDA
    end type

    ! Where forces are written to; arrays that are null are not written. It and others by which the
    ! library writes are passed as intent(inout), though only what they point to changes, so that
    ! compilers expect the arrays to change.
    type, bind(c), public :: kyoho_forces
        integer(c_int32_t) :: structure_size = 144
        integer(c_int32_t) :: memory = KYOHO_MEMORY_HOST
        type(kyoho_reals) :: potentials                     ! negative
        type(kyoho_reals) :: accelerations
        type(kyoho_reals) :: jerks                          ! of orders 4, 6, 8
        type(kyoho_reals) :: snaps                          ! of orders 6, 8
        type(kyoho_reals) :: crackles                       ! of order 8
        type(kyoho_integers) :: nearest                     ! indices, -1 for no source; not in order
                                                            ! 2, nor with regular forces
        type(kyoho_reals) :: nearest_distance2              ! without softening, infinite for no source
        type(kyoho_cuda) :: cuda                            ! of arrays in KYOHO_MEMORY_CUDA
        integer(c_int32_t) :: number_type = 0               ! as in kyoho_sources
        integer(c_int32_t) :: reserved = 0
    end type

    ! Interaction lists: groups of sinks, each with the sources that act on it. These are ranges of
    ! the system's sources (first_addresses, source_counts), lists of them (source_offsets,
    ! addresses), or sources of this call (source_offsets, sources); the other fields stay null.
    type, bind(c), public :: kyoho_lists
        integer(c_int32_t) :: structure_size = 120
        integer(c_int32_t) :: memory = KYOHO_MEMORY_HOST
        integer(c_int32_t) :: group_count = 0               ! the number of groups
        integer(c_int32_t) :: reserved = 0
        type(kyoho_const_integers) :: sink_offsets          ! the first sink of each group, from 0 on,
                                                            ! and at last the number of sinks
        type(kyoho_const_long_integers) :: source_offsets   ! the first place of each group in addresses
                                                            ! or sources, at last the number of these
        type(kyoho_const_integers) :: addresses             ! list after list
        type(kyoho_const_integers) :: first_addresses       ! of each group
        type(kyoho_const_integers) :: source_counts         ! the number of addresses of each group
        type(c_ptr) :: sources = c_null_ptr                 ! c_loc of a kyoho_sources, group after group;
                                                            ! without addresses and first_address
        type(kyoho_cuda) :: cuda                            ! of arrays in KYOHO_MEMORY_CUDA
    end type

    ! Many systems of a few bodies each, in which bodies feel those of their own system.
    type, bind(c), public :: kyoho_batch
        integer(c_int32_t) :: structure_size = 72
        integer(c_int32_t) :: memory = KYOHO_MEMORY_HOST
        integer(c_int32_t) :: system_count = 0              ! the number of systems
        integer(c_int32_t) :: reserved = 0
        type(kyoho_const_integers) :: offsets               ! the first body of each system, from 0 on,
                                                            ! and at last the number of bodies
        real(c_double) :: softening2 = 0                    ! the square of the softening length
        type(kyoho_const_reals) :: softening2_each          ! one for each body instead
        type(kyoho_cuda) :: cuda                            ! of arrays in KYOHO_MEMORY_CUDA
    end type

    ! Where predicted sources are written to, as kyoho_forces.
    type, bind(c), public :: kyoho_predictions
        integer(c_int32_t) :: structure_size = 80
        integer(c_int32_t) :: memory = KYOHO_MEMORY_HOST
        type(kyoho_reals) :: positions                      ! in order 2 those that were written
        type(kyoho_reals) :: velocities                     ! of orders 4, 6, 8
        type(kyoho_reals) :: accelerations                  ! of orders 6, 8
        type(kyoho_reals) :: jerks                          ! of order 8
        integer(c_int32_t) :: number_type = 0               ! as in kyoho_sources
        integer(c_int32_t) :: reserved = 0
    end type

    ! Counts since a system was made.
    type, bind(c), public :: kyoho_statistics
        integer(c_int32_t) :: structure_size = 56
        integer(c_int32_t) :: reserved = 0
        integer(c_int64_t) :: sources = 0                   ! addresses that hold a source
        integer(c_int64_t) :: writes = 0                    ! sources written, each time counted
        integer(c_int64_t) :: blocks = 0                    ! blocks whose forces were computed
        integer(c_int64_t) :: sinks = 0                     ! sinks of those blocks
        integer(c_int64_t) :: interactions = 0              ! pairs of a sink and an address below nj,
                                                            ! an entry of its list, or a body of its
                                                            ! system
        integer(c_int64_t) :: bytes = 0                     ! bytes of host memory in use
    end type

    ! The relative errors of accelerations by a tree.
    type, bind(c), public :: kyoho_tree_errors
        integer(c_int32_t) :: structure_size = 40
        integer(c_int32_t) :: reserved = 0
        real(c_double) :: median = 0                        ! half of the sinks have at most this
        real(c_double) :: percentile_90 = 0                 ! 90 of 100 sinks
        real(c_double) :: percentile_99 = 0                 ! 99 of 100 sinks
        real(c_double) :: worst = 0                         ! all
    end type

    ! An interaction that can be computed: one order in one precision and scope.
    type, bind(c), public :: kyoho_interaction
        integer(c_int32_t) :: structure_size = 56
        integer(c_int32_t) :: order = 0
        integer(c_int32_t) :: precision = 0
        integer(c_int32_t) :: scope = 0
        integer(c_int32_t) :: n_coefficients = 0            ! vectors that are kept of a source
        integer(c_int32_t) :: n_derivatives = 0             ! vectors of a sink, and of its force
        integer(c_int32_t) :: n_outputs = 0                 ! numbers that are summed for a sink
        integer(c_int32_t) :: has_nearest = 0               ! 1 where the nearest source is found
        integer(c_int32_t) :: has_neighbours = 0            ! 1 where there are neighbour lists
        integer(c_int32_t) :: flops_per_pair = 0            ! by the convention of the field
        real(c_double) :: tolerance = 0                     ! aim for the worst relative error
        type(c_ptr) :: description = c_null_ptr             ! kyoho_text makes it a character string
    end type

    ! How a pair interaction is compiled: what is 0 is left open.
    type, bind(c), public :: kyoho_pair_options
        integer(c_int32_t) :: structure_size = 24
        integer(c_int32_t) :: f64_as_dd = 0                 ! 1: every f64 of the text is read as dd
        integer(c_int32_t) :: threads = 0                   ! 0: what the environment says
        integer(c_int32_t) :: backend = 0                   ! 0: what the environment says
        type(c_ptr) :: devices = c_null_ptr                 ! none: what the environment says
    end type

    ! A variable that the text of a pair interaction declares.
    type, bind(c), public :: kyoho_pair_variable
        integer(c_int32_t) :: structure_size = 24
        integer(c_int32_t) :: number_type = 0               ! of its numbers
        integer(c_int32_t) :: width = 0                     ! numbers of a row
        integer(c_int32_t) :: table_size = 0                ! numbers of a table in all
        type(c_ptr) :: name = c_null_ptr                    ! kyoho_text makes it a character string
    end type

    ! How an integrator advances bodies: what is 0 is left open.
    type, bind(c), public :: kyoho_integrator_options
        integer(c_int32_t) :: structure_size = 88
        integer(c_int32_t) :: criterion = 0                 ! of the time steps, KYOHO_STEP_CRITERION_...
        real(c_double) :: softening = 0                     ! the softening length
        real(c_double) :: gravity = 0                       ! the gravitational constant; 0: 1
        real(c_double) :: eta = 0                           ! of the time steps; 0: that of the order
        real(c_double) :: dt_max = 0                        ! the longest step, in order 2 the shared one
        real(c_double) :: dt_min = 0                        ! the shortest step
        real(c_double) :: time = 0                          ! at the start
        real(c_double) :: approach_distance = 0             ! below it two bodies have an approach
        real(c_double) :: subsystem_radius = 0              ! below it bodies form subsystems; huge: chosen
        real(c_double) :: speed_of_light = 0                ! for relativistic terms in subsystems; 0: none
        integer(c_int32_t) :: on_collision = 0              ! KYOHO_ON_COLLISION_...
        integer(c_int32_t) :: reserved = 0
    end type

    ! Bodies to add to an integrator, or to change there.
    type, bind(c), public :: kyoho_bodies
        integer(c_int32_t) :: structure_size = 120
        integer(c_int32_t) :: count = 0
        type(kyoho_const_long_integers) :: identifiers      ! required
        type(kyoho_const_reals) :: masses                   ! required for bodies that are added
        type(kyoho_const_reals) :: positions                ! required for bodies that are added
        type(kyoho_const_reals) :: velocities
        type(kyoho_const_reals) :: radii                    ! for collisions
        type(kyoho_const_integers) :: groups                ! null: group 0
        type(kyoho_const_reals) :: softenings               ! in place of groups
    end type

    ! The places where bodies of an integrator are written to.
    type, bind(c), public :: kyoho_body_states
        integer(c_int32_t) :: structure_size = 184
        integer(c_int32_t) :: count = 0
        type(kyoho_const_long_integers) :: identifiers      ! null: the first ones that were added
        type(kyoho_reals) :: masses
        type(kyoho_reals) :: positions
        type(kyoho_reals) :: velocities
        type(kyoho_reals) :: radii
        type(kyoho_reals) :: accelerations                  ! by a force on these bodies
        type(kyoho_reals) :: potentials                     ! by the same force
        type(kyoho_long_integers) :: nearest                ! the identifiers of the nearest bodies
        type(kyoho_reals) :: nearest_distances
        type(kyoho_integers) :: groups
        type(kyoho_reals) :: softenings                     ! their own or those of the groups
    end type

    ! How systems of few bodies evolve, and what ends them.
    type, bind(c), public :: kyoho_few_body_options
        integer(c_int32_t) :: structure_size = 80
        integer(c_int32_t) :: threads = 0                   ! 0: from the environment
        real(c_double) :: time = 0                          ! how long they evolve
        real(c_double) :: gravity = 0                       ! the gravitational constant; 0: 1
        real(c_double) :: tolerance = 0                     ! 0: 1e-14
        integer(c_int64_t) :: max_steps = 0                 ! 0: 100000000
        real(c_double) :: speed_of_light = 0                ! 0: no relativistic terms
        integer(c_int32_t) :: terms = 0                     ! sum of 1, 2, 4 (2.5), 8 (3.5); 0: 7
        integer(c_int32_t) :: stops_at_collision = 0        ! 1: radii end a system
        real(c_double) :: escape_distance = 0               ! in extents of the rest; 0: no escape
        type(c_ptr) :: devices = c_null_ptr                 ! as in kyoho_options
        integer(c_int32_t) :: backend = 0                   ! 0: the first that has a device
        integer(c_int32_t) :: reserved = 0
    end type

    ! Systems of few bodies; positions and velocities are written too.
    type, bind(c), public :: kyoho_few_body_systems
        integer(c_int32_t) :: structure_size = 88
        integer(c_int32_t) :: system_count = 0
        type(kyoho_const_integers) :: offsets               ! system_count + 1 numbers from 0 on
        type(kyoho_const_reals) :: masses
        type(kyoho_reals) :: positions
        type(kyoho_reals) :: velocities
        type(kyoho_const_reals) :: radii                    ! null: all are 0
    end type

    ! The places where the ends of systems are written to.
    type, bind(c), public :: kyoho_few_body_outcomes
        integer(c_int32_t) :: structure_size = 120
        integer(c_int32_t) :: reserved = 0
        type(kyoho_integers) :: ends                        ! KYOHO_FEW_BODY_END_...
        type(kyoho_reals) :: times                          ! that passed
        type(kyoho_integers) :: first_touching              ! from 0 in its system; -1: none
        type(kyoho_integers) :: second_touching
        type(kyoho_integers) :: companions                  ! of each body; -1: none
        type(kyoho_reals) :: semi_major_axes                ! of the binary of each body
        type(kyoho_reals) :: eccentricities
    end type

    ! What ends an evolution before its time.
    type, bind(c), public :: kyoho_evolve_options
        integer(c_int32_t) :: structure_size = 40
        integer(c_int32_t) :: reserved = 0
        integer(c_int64_t) :: block_steps = 0               ! as many at most; 0: no limit
        type(c_funptr) :: progress = c_null_funptr          ! c_funloc(procedure), see
                                                            ! kyoho_integrator_evolve
        type(c_ptr) :: context = c_null_ptr                 ! handed to it
        real(c_double) :: progress_seconds = 0              ! between two calls of it, at least
    end type

    ! An evolution that has ended.
    type, bind(c), public :: kyoho_evolution
        integer(c_int32_t) :: structure_size = 64
        integer(c_int32_t) :: end = 0                       ! KYOHO_EVOLUTION_END_...
        real(c_double) :: time = 0                          ! of the bodies
        integer(c_int64_t) :: block_steps = 0
        integer(c_int32_t) :: encounter_count = 0           ! encounters that ended it
        integer(c_int32_t) :: reserved = 0
        integer(c_int64_t) :: approach_first = 0            ! the bodies of the closest approach
        integer(c_int64_t) :: approach_second = 0
        real(c_double) :: approach_distance = 0             ! infinite if there was none
        real(c_double) :: approach_time = 0
    end type

    ! The places where the encounters that ended an evolution are written to.
    type, bind(c), public :: kyoho_encounters
        integer(c_int32_t) :: structure_size = 88
        integer(c_int32_t) :: capacity = 0                  ! encounters for which there is room
        type(kyoho_integers) :: kinds                       ! KYOHO_ENCOUNTER_...
        type(kyoho_long_integers) :: first                  ! the identifier of one body
        type(kyoho_long_integers) :: second                 ! that of the other one
        type(kyoho_reals) :: distances
        type(kyoho_reals) :: times                          ! when they had this distance
    end type

    ! The places where the binaries of an integrator's subsystems are written to.
    type, bind(c), public :: kyoho_binaries
        integer(c_int32_t) :: structure_size = 120
        integer(c_int32_t) :: capacity = 0                  ! binaries for which there is room
        type(kyoho_long_integers) :: first                  ! the identifier of a body of the first part
        type(kyoho_long_integers) :: second                 ! that of one of the second part
        type(kyoho_integers) :: first_counts                ! the number of bodies of the first part
        type(kyoho_integers) :: second_counts               ! that of the second part
        type(kyoho_reals) :: semi_major_axes
        type(kyoho_reals) :: eccentricities
        type(kyoho_reals) :: periods
    end type

    ! The bodies of an integrator and its work since it was made.
    type, bind(c), public :: kyoho_integration
        integer(c_int32_t) :: structure_size = 120
        integer(c_int32_t) :: body_count = 0
        real(c_double) :: time = 0                          ! of the bodies
        integer(c_int64_t) :: steps = 0                     ! of single bodies
        integer(c_int64_t) :: block_steps = 0
        integer(c_int64_t) :: limited_steps = 0             ! should have been shorter than dt_min
        integer(c_int64_t) :: interactions = 0              ! pairs whose forces were computed
        integer(c_int64_t) :: energy_jumps = 0              ! close passages that changed an energy
        integer(c_int64_t) :: jump_first = 0                ! the identifiers of the bodies of the last one
        integer(c_int64_t) :: jump_second = 0
        real(c_double) :: jump_time = 0                     ! when they were nearest
        real(c_double) :: jump_distance = 0                 ! their distance then
        real(c_double) :: jump_step = 0                     ! the shortest step of one of them
        real(c_double) :: jump_energy = 0                   ! the change of their energy
        integer(c_int64_t) :: jump_limited_steps = 0        ! that should have been shorter than dt_min
        integer(c_int64_t) :: group_count = 0               ! the number of groups
    end type

    public :: kyoho_version, kyoho_library_version, kyoho_result_text, kyoho_last_error, kyoho_text
    public :: kyoho_backend_available, kyoho_interaction_count, kyoho_interaction_describe
    public :: kyoho_set_log
    public :: kyoho_system_create, kyoho_system_free, kyoho_system_move, kyoho_system_set_crossover
    public :: kyoho_system_describe, kyoho_system_last_error, kyoho_system_statistics
    public :: kyoho_system_device_count, kyoho_system_device_name
    public :: kyoho_system_set_sources, kyoho_system_set_time, kyoho_system_set_time_dd
    public :: kyoho_system_predict
    public :: kyoho_system_force, kyoho_system_start, kyoho_system_wait, kyoho_system_neighbours
    public :: kyoho_system_force_all, kyoho_system_start_all
    public :: kyoho_system_tree_error
    public :: kyoho_system_find_neighbours, kyoho_system_copy_found_neighbours
    public :: kyoho_system_force_lists, kyoho_system_start_lists
    public :: kyoho_system_force_batch, kyoho_system_start_batch
    public :: kyoho_pair_compile, kyoho_pair_set, kyoho_pair_set_parameter, kyoho_pair_run
    public :: kyoho_pair_result, kyoho_pair_explain, kyoho_pair_last_error, kyoho_pair_free
    public :: kyoho_pair_run_lists, kyoho_pair_source, kyoho_pair_describe
    public :: kyoho_pair_start, kyoho_pair_start_lists, kyoho_pair_wait, kyoho_pair_gravity
    public :: kyoho_pair_set_on_device, kyoho_pair_result_on_device
    public :: kyoho_integrator_create, kyoho_integrator_add_bodies, kyoho_integrator_set_bodies
    public :: kyoho_integrator_get_bodies, kyoho_integrator_remove_bodies
    public :: kyoho_integrator_identifiers, kyoho_integrator_evolve, kyoho_integrator_encounters
    public :: kyoho_integrators_evolve
    public :: kyoho_integrator_binary_count, kyoho_integrator_binaries
    public :: kyoho_integrator_energies, kyoho_integrator_describe, kyoho_integrator_last_error
    public :: kyoho_integrator_free, kyoho_integrator_state, kyoho_integrator_set_state
    public :: kyoho_integrator_add_group, kyoho_integrator_set_feels, kyoho_integrator_group
    public :: kyoho_integrator_add_field, kyoho_integrator_field_energy
    public :: kyoho_integrator_add_moving_field, kyoho_integrator_add_field_function
    public :: kyoho_integrator_add_law, kyoho_integrator_law_energy
    public :: kyoho_gravitational_constant
    public :: kyoho_few_body_evolve
    public :: kyoho_model_make
    public :: kyoho_model_two_clusters

    interface
        ! The library's version; kyoho_text makes it a character string.
        function kyoho_version() bind(c, name="kyoho_version") result(text)
            import
            type(c_ptr) :: text
        end function

        ! The library's version as one number, to compare with KYOHO_VERSION_NUMBER.
        function kyoho_library_version() bind(c, name="kyoho_library_version") result(number)
            import
            integer(c_int32_t) :: number
        end function

        ! The meaning of a result in a few words, whatever the number; kyoho_text makes it a
        ! character string.
        function kyoho_result_text(number) bind(c, name="kyoho_result_text") result(text)
            import
            integer(c_int32_t), value :: number
            type(c_ptr) :: text
        end function

        ! What was wrong in the last failing call of the calling thread; kyoho_text makes it a
        ! character string.
        function kyoho_last_error() bind(c, name="kyoho_last_error") result(text)
            import
            type(c_ptr) :: text
        end function

        ! What was wrong in the last failing call on a system.
        function kyoho_system_last_error(system) bind(c, name="kyoho_system_last_error") result(text)
            import
            type(c_ptr), value :: system
            type(c_ptr) :: text
        end function

        ! Compiles a pair interaction from a text, which ends with c_null_char.
        function kyoho_pair_compile(text, options, pair) bind(c, name="kyoho_pair_compile") result(code)
            import
            character(kind=c_char), intent(in) :: text(*)
            type(kyoho_pair_options), intent(in), optional :: options
            type(c_ptr), intent(out) :: pair
            integer(c_int32_t) :: code
        end function

        ! Gives the array of a field, such as "j.pos"//c_null_char, of which c_loc is the place. A
        ! stride of 0 stands for rows that follow one another.
        function kyoho_pair_set(pair, field, number_type, data, stride, count) &
                bind(c, name="kyoho_pair_set") result(code)
            import
            type(c_ptr), value :: pair, data
            character(kind=c_char), intent(in) :: field(*)
            integer(c_int32_t), value :: number_type
            integer(c_int64_t), value :: stride, count
            integer(c_int32_t) :: code
        end function

        ! Gives the array of a field in memory of the CUDA device that computes, which each run reads.
        function kyoho_pair_set_on_device(pair, field, number_type, data, stride, count, cuda) &
                bind(c, name="kyoho_pair_set_on_device") result(code)
            import
            type(c_ptr), value :: pair, data
            character(kind=c_char), intent(in) :: field(*)
            integer(c_int32_t), value :: number_type
            integer(c_int64_t), value :: stride, count
            type(kyoho_cuda), intent(in) :: cuda
            integer(c_int32_t) :: code
        end function

        ! Gives the numbers of a parameter.
        function kyoho_pair_set_parameter(pair, parameter, number_type, data, count) &
                bind(c, name="kyoho_pair_set_parameter") result(code)
            import
            type(c_ptr), value :: pair, data
            character(kind=c_char), intent(in) :: parameter(*)
            integer(c_int32_t), value :: number_type
            integer(c_int64_t), value :: count
            integer(c_int32_t) :: code
        end function

        ! Computes the results of all sinks from all sources; -1 stands for the lengths of arrays.
        function kyoho_pair_run(pair, n_sinks, n_sources) bind(c, name="kyoho_pair_run") result(code)
            import
            type(c_ptr), value :: pair
            integer(c_int64_t), value :: n_sinks, n_sources
            integer(c_int32_t) :: code
        end function

        ! Begins what kyoho_pair_run does, in a thread of the library, until kyoho_pair_wait.
        function kyoho_pair_start(pair, n_sinks, n_sources) bind(c, name="kyoho_pair_start") result(code)
            import
            type(c_ptr), value :: pair
            integer(c_int64_t), value :: n_sinks, n_sources
            integer(c_int32_t) :: code
        end function

        ! Waits for the end of a run that was begun, and returns its error.
        function kyoho_pair_wait(pair) bind(c, name="kyoho_pair_wait") result(code)
            import
            type(c_ptr), value :: pair
            integer(c_int32_t) :: code
        end function

        ! Copies a result of the last run.
        function kyoho_pair_result(pair, result_name, number_type, data, stride, count) &
                bind(c, name="kyoho_pair_result") result(code)
            import
            type(c_ptr), value :: pair, data
            character(kind=c_char), intent(in) :: result_name(*)
            integer(c_int32_t), value :: number_type
            integer(c_int64_t), value :: stride, count
            integer(c_int32_t) :: code
        end function

        ! Writes a result of the last run to memory of the CUDA device that computed it.
        function kyoho_pair_result_on_device(pair, result_name, number_type, data, stride, count, cuda) &
                bind(c, name="kyoho_pair_result_on_device") result(code)
            import
            type(c_ptr), value :: pair, data
            character(kind=c_char), intent(in) :: result_name(*)
            integer(c_int32_t), value :: number_type
            integer(c_int64_t), value :: stride, count
            type(kyoho_cuda), intent(in) :: cuda
            integer(c_int32_t) :: code
        end function

        ! Writes the compiled list of operations with its costs, and a zero at its end.
        function kyoho_pair_explain(pair, text, room, needed) bind(c, name="kyoho_pair_explain") result(code)
            import
            type(c_ptr), value :: pair
            character(kind=c_char), intent(inout) :: text(*)
            integer(c_int64_t), value :: room
            integer(c_int64_t), intent(out), optional :: needed
            integer(c_int32_t) :: code
        end function

        ! Computes the pairs of groups of sinks with the sources of their lists, of which the addresses
        ! count the rows of the sources' arrays. n_sources of -1 is the number of these rows.
        function kyoho_pair_run_lists(pair, lists, n_sources) bind(c, name="kyoho_pair_run_lists") result(code)
            import
            type(c_ptr), value :: pair
            type(kyoho_lists), intent(in) :: lists
            integer(c_int64_t), value :: n_sources
            integer(c_int32_t) :: code
        end function

        ! Begins what kyoho_pair_run_lists does, in a thread of the library, until kyoho_pair_wait.
        function kyoho_pair_start_lists(pair, lists, n_sources) bind(c, name="kyoho_pair_start_lists") result(code)
            import
            type(c_ptr), value :: pair
            type(kyoho_lists), intent(in) :: lists
            integer(c_int64_t), value :: n_sources
            integer(c_int32_t) :: code
        end function

        ! The text of the kernels that a backend gets; needed is its length with the zero at its end.
        function kyoho_pair_source(pair, backend, text, room, needed) bind(c, name="kyoho_pair_source") result(code)
            import
            type(c_ptr), value :: pair
            integer(c_int32_t), value :: backend
            character(kind=c_char), intent(inout) :: text(*)
            integer(c_int64_t), value :: room
            integer(c_int64_t), intent(out), optional :: needed
            integer(c_int32_t) :: code
        end function

        ! The variable with a number, from 0 on, in a section: 1 (i), 2 (j), 3 (param), 4 (result).
        function kyoho_pair_describe(pair, section, number, variable) bind(c, name="kyoho_pair_describe") result(code)
            import
            type(c_ptr), value :: pair
            integer(c_int32_t), value :: section, number
            type(kyoho_pair_variable), intent(inout) :: variable
            integer(c_int32_t) :: code
        end function

        ! The text of the built-in law of an order, for kyoho_pair_compile.
        function kyoho_pair_gravity(order) bind(c, name="kyoho_pair_gravity") result(text)
            import
            integer(c_int32_t), value :: order
            type(c_ptr) :: text
        end function

        ! What was wrong in the last failing call on a pair interaction.
        function kyoho_pair_last_error(pair) bind(c, name="kyoho_pair_last_error") result(text)
            import
            type(c_ptr), value :: pair
            type(c_ptr) :: text
        end function

        ! Frees a pair interaction.
        function kyoho_pair_free(pair) bind(c, name="kyoho_pair_free") result(code)
            import
            type(c_ptr), value :: pair
            integer(c_int32_t) :: code
        end function

        ! Makes an integrator without bodies.
        function kyoho_integrator_create(options, integrator_options, integrator) &
                bind(c, name="kyoho_integrator_create") result(code)
            import
            type(kyoho_options), intent(in), optional :: options
            type(kyoho_integrator_options), intent(in), optional :: integrator_options
            type(c_ptr), intent(out) :: integrator
            integer(c_int32_t) :: code
        end function

        ! Adds bodies at the time of the integrator.
        function kyoho_integrator_add_bodies(integrator, bodies) &
                bind(c, name="kyoho_integrator_add_bodies") result(code)
            import
            type(c_ptr), value :: integrator
            type(kyoho_bodies), intent(in) :: bodies
            integer(c_int32_t) :: code
        end function

        ! Changes bodies; arrays that are null leave what bodies have.
        function kyoho_integrator_set_bodies(integrator, bodies) &
                bind(c, name="kyoho_integrator_set_bodies") result(code)
            import
            type(c_ptr), value :: integrator
            type(kyoho_bodies), intent(in) :: bodies
            integer(c_int32_t) :: code
        end function

        ! Writes bodies at the time of the integrator.
        function kyoho_integrator_get_bodies(integrator, states) &
                bind(c, name="kyoho_integrator_get_bodies") result(code)
            import
            type(c_ptr), value :: integrator
            type(kyoho_body_states), intent(inout) :: states
            integer(c_int32_t) :: code
        end function

        ! Removes bodies.
        function kyoho_integrator_remove_bodies(integrator, count, identifiers) &
                bind(c, name="kyoho_integrator_remove_bodies") result(code)
            import
            type(c_ptr), value :: integrator
            integer(c_int32_t), value :: count
            integer(c_int64_t), intent(in) :: identifiers(*)
            integer(c_int32_t) :: code
        end function

        ! Writes the identifiers of all bodies, in the order in which they were added.
        function kyoho_integrator_identifiers(integrator, capacity, identifiers) &
                bind(c, name="kyoho_integrator_identifiers") result(code)
            import
            type(c_ptr), value :: integrator
            integer(c_int32_t), value :: capacity
            integer(c_int64_t), intent(inout) :: identifiers(*)
            integer(c_int32_t) :: code
        end function

        ! Advances all bodies to a time, or until something ends it earlier. The interface of the
        ! procedure evolve_options%progress is
        !     function procedure(context, time, block_steps) bind(c) result(ends)
        !         type(c_ptr), value :: context
        !         real(c_double), value :: time
        !         integer(c_int64_t), value :: block_steps
        !         integer(c_int32_t) :: ends ! 0: the evolution goes on
        function kyoho_integrator_evolve(integrator, time, evolve_options, evolution) &
                bind(c, name="kyoho_integrator_evolve") result(code)
            import
            type(c_ptr), value :: integrator
            real(c_double), value :: time
            type(kyoho_evolve_options), intent(inout), optional :: evolve_options
            type(kyoho_evolution), intent(inout), optional :: evolution
            integer(c_int32_t) :: code
        end function

        ! Evolves several integrators at the same time, each to a time of its own: an ensemble of small
        ! clusters on a GPU takes little longer than one of them.
        function kyoho_integrators_evolve(integrator_count, integrators, times, evolve_options, evolutions, &
                results) bind(c, name="kyoho_integrators_evolve") result(code)
            import
            integer(c_int32_t), value :: integrator_count
            type(c_ptr), intent(in) :: integrators(*)
            real(c_double), intent(in) :: times(*)
            type(kyoho_evolve_options), intent(inout), optional :: evolve_options
            type(kyoho_evolution), intent(inout), optional :: evolutions(*)
            integer(c_int32_t), intent(inout), optional :: results(*)
            integer(c_int32_t) :: code
        end function

        ! Moves systems of few bodies, with hard binaries and close encounters.
        function kyoho_few_body_evolve(options, systems, outcomes) &
                bind(c, name="kyoho_few_body_evolve") result(code)
            import
            type(kyoho_few_body_options), intent(in) :: options
            type(kyoho_few_body_systems), intent(inout) :: systems
            type(kyoho_few_body_outcomes), intent(inout), optional :: outcomes
            integer(c_int32_t) :: code
        end function

        ! Makes a model of a star cluster by its text, which ends with c_null_char, such as
        ! 'king,w0=6 kroupa'. Without units the gravitational constant is 1.
        function kyoho_model_make(model, units, count, seed, masses, positions, velocities) &
                bind(c, name="kyoho_model_make") result(code)
            import
            character(kind=c_char), intent(in) :: model(*)
            character(kind=c_char), intent(in), optional :: units(*)
            integer(c_int32_t), value :: count
            integer(c_int64_t), value :: seed
            real(c_double), intent(out) :: masses(*), positions(3, *), velocities(3, *)
            integer(c_int32_t) :: code
        end function

        ! Puts two clusters on an orbit by its text, which ends with c_null_char, such as
        ! 'separation=10,eccentricity=1,pericentre=1'. Without units the gravitational constant is 1.
        function kyoho_model_two_clusters(orbit, units, first_count, second_count, masses, positions, velocities) &
                bind(c, name="kyoho_model_two_clusters") result(code)
            import
            character(kind=c_char), intent(in) :: orbit(*)
            character(kind=c_char), intent(in), optional :: units(*)
            integer(c_int32_t), value :: first_count, second_count
            real(c_double), intent(in) :: masses(*)
            real(c_double), intent(inout) :: positions(3, *), velocities(3, *)
            integer(c_int32_t) :: code
        end function

        ! Writes how many binaries the subsystems of an integrator have.
        function kyoho_integrator_binary_count(integrator, count) &
                bind(c, name="kyoho_integrator_binary_count") result(code)
            import
            type(c_ptr), value :: integrator
            integer(c_int32_t), intent(out) :: count
            integer(c_int32_t) :: code
        end function

        ! Writes the binaries of the subsystems, innermost first in each.
        function kyoho_integrator_binaries(integrator, binaries) &
                bind(c, name="kyoho_integrator_binaries") result(code)
            import
            type(c_ptr), value :: integrator
            type(kyoho_binaries), intent(inout) :: binaries
            integer(c_int32_t) :: code
        end function

        ! Writes the encounters that ended the last evolution.
        function kyoho_integrator_encounters(integrator, encounters) &
                bind(c, name="kyoho_integrator_encounters") result(code)
            import
            type(c_ptr), value :: integrator
            type(kyoho_encounters), intent(inout) :: encounters
            integer(c_int32_t) :: code
        end function

        ! Adds a group of bodies with a softening length, which feels all groups and that all feel.
        function kyoho_integrator_add_group(integrator, softening, group) &
                bind(c, name="kyoho_integrator_add_group") result(code)
            import
            type(c_ptr), value :: integrator
            real(c_double), value :: softening
            integer(c_int32_t), intent(out) :: group
            integer(c_int32_t) :: code
        end function

        ! Lets the bodies of a group feel those of another one, or of the same: 1, or 0.
        function kyoho_integrator_set_feels(integrator, group, other, feels) &
                bind(c, name="kyoho_integrator_set_feels") result(code)
            import
            type(c_ptr), value :: integrator
            integer(c_int32_t), value :: group, other, feels
            integer(c_int32_t) :: code
        end function

        ! Describes a group: its softening length, and whether it feels each group, from 0 on.
        function kyoho_integrator_group(integrator, group, softening, capacity, feels) &
                bind(c, name="kyoho_integrator_group") result(code)
            import
            type(c_ptr), value :: integrator
            integer(c_int32_t), value :: group
            real(c_double), intent(out), optional :: softening
            integer(c_int32_t), value :: capacity
            integer(c_int32_t), intent(inout), optional :: feels(*)
            integer(c_int32_t) :: code
        end function

        ! Adds a field: a built-in name or a text, which ends with c_null_char, as do the names of
        ! its parameters, with spaces between them, whose count numbers follow one another.
        function kyoho_integrator_add_field(integrator, field, names, count, numbers) &
                bind(c, name="kyoho_integrator_add_field") result(code)
            import
            type(c_ptr), value :: integrator
            character(kind=c_char), intent(in) :: field(*), names(*)
            integer(c_int32_t), value :: count
            real(c_double), intent(in) :: numbers(*)
            integer(c_int32_t) :: code
        end function

        ! Adds a field whose centre moves on a cubic spline through nodes at rising times. Without
        ! velocities there it is a natural one.
        function kyoho_integrator_add_moving_field(integrator, field, names, count, numbers, nodes, times, &
                positions, velocities) bind(c, name="kyoho_integrator_add_moving_field") result(code)
            import
            type(c_ptr), value :: integrator
            character(kind=c_char), intent(in) :: field(*), names(*)
            integer(c_int32_t), value :: count, nodes
            real(c_double), intent(in) :: numbers(*), times(*), positions(3, *)
            real(c_double), intent(in), optional :: velocities(3, *)
            integer(c_int32_t) :: code
        end function

        ! Adds a field that a procedure gives, in orders 2 and 4: c_funloc(procedure) of
        ! integer(c_int32_t) function procedure(context, value, time, count, positions, velocities, &
        !     accelerations, values) bind(c)
        ! of type(c_ptr), value :: context, integer(c_int32_t), value :: value, count, real(c_double),
        ! value :: time and arrays real(c_double) (3, count), of which accelerations are those by all
        ! forces and there for KYOHO_FIELD_VALUE_JERK alone. It returns 0.
        function kyoho_integrator_add_field_function(integrator, function, context, has_potential) &
                bind(c, name="kyoho_integrator_add_field_function") result(code)
            import
            type(c_ptr), value :: integrator, context
            type(c_funptr), value :: function
            integer(c_int32_t), value :: has_potential
            integer(c_int32_t) :: code
        end function

        ! Adds a law between bodies: a text, which ends with c_null_char, as do the names of its
        ! parameters, with spaces between them, whose count numbers follow one another. It acts on the
        ! groups whose bits are set in on, by those in by; 0 stands for all.
        function kyoho_integrator_add_law(integrator, law, names, count, numbers, on, by) &
                bind(c, name="kyoho_integrator_add_law") result(code)
            import
            type(c_ptr), value :: integrator
            character(kind=c_char), intent(in) :: law(*), names(*)
            integer(c_int32_t), value :: count, on, by
            real(c_double), intent(in) :: numbers(*)
            integer(c_int32_t) :: code
        end function

        ! Computes the energy of the bodies by laws.
        function kyoho_integrator_law_energy(integrator, energy) &
                bind(c, name="kyoho_integrator_law_energy") result(code)
            import
            type(c_ptr), value :: integrator
            real(c_double), intent(out) :: energy
            integer(c_int32_t) :: code
        end function

        ! The gravitational constant in a system of units, whose names end with c_null_char, such as
        ! 'pc Msun Myr'.
        function kyoho_gravitational_constant(units, gravity) &
                bind(c, name="kyoho_gravitational_constant") result(code)
            import
            character(kind=c_char), intent(in) :: units(*)
            real(c_double), intent(out) :: gravity
            integer(c_int32_t) :: code
        end function

        ! Computes the potential energy of the bodies in fields.
        function kyoho_integrator_field_energy(integrator, energy) &
                bind(c, name="kyoho_integrator_field_energy") result(code)
            import
            type(c_ptr), value :: integrator
            real(c_double), intent(out) :: energy
            integer(c_int32_t) :: code
        end function

        ! Computes the energies of the bodies, in which those in fields and by laws are part of the
        ! potential one.
        function kyoho_integrator_energies(integrator, kinetic, potential) &
                bind(c, name="kyoho_integrator_energies") result(code)
            import
            type(c_ptr), value :: integrator
            real(c_double), intent(out), optional :: kinetic, potential
            integer(c_int32_t) :: code
        end function

        ! Writes the state of an integrator, with which another one goes on. needed is its bytes.
        function kyoho_integrator_state(integrator, state, room, needed) &
                bind(c, name="kyoho_integrator_state") result(code)
            import
            type(c_ptr), value :: integrator, state
            integer(c_int64_t), value :: room
            integer(c_int64_t), intent(out), optional :: needed
            integer(c_int32_t) :: code
        end function

        ! Goes on from a state, in place of the bodies that are there.
        function kyoho_integrator_set_state(integrator, state, size) &
                bind(c, name="kyoho_integrator_set_state") result(code)
            import
            type(c_ptr), value :: integrator, state
            integer(c_int64_t), value :: size
            integer(c_int32_t) :: code
        end function

        ! Describes an integrator: its bodies, their time, and counts of its work.
        function kyoho_integrator_describe(integrator, integration) &
                bind(c, name="kyoho_integrator_describe") result(code)
            import
            type(c_ptr), value :: integrator
            type(kyoho_integration), intent(inout) :: integration
            integer(c_int32_t) :: code
        end function

        ! What was wrong in the last failing call on an integrator.
        function kyoho_integrator_last_error(integrator) bind(c, name="kyoho_integrator_last_error") &
                result(text)
            import
            type(c_ptr), value :: integrator
            type(c_ptr) :: text
        end function

        ! Frees an integrator.
        function kyoho_integrator_free(integrator) &
                bind(c, name="kyoho_integrator_free") result(code)
            import
            type(c_ptr), value :: integrator
            integer(c_int32_t) :: code
        end function

        ! Whether a backend can be used here (KYOHO_OK or KYOHO_NO_BACKEND), and how many devices it
        ! has.
        function kyoho_backend_available(backend, devices) &
                bind(c, name="kyoho_backend_available") result(code)
            import
            integer(c_int32_t), value :: backend
            integer(c_int32_t), intent(out), optional :: devices
            integer(c_int32_t) :: code
        end function

        ! The number of interactions that can be computed.
        function kyoho_interaction_count() bind(c, name="kyoho_interaction_count") result(number)
            import
            integer(c_int32_t) :: number
        end function

        ! Describes one of the interactions (from 0) that can be computed.
        function kyoho_interaction_describe(number, interaction) &
                bind(c, name="kyoho_interaction_describe") result(code)
            import
            integer(c_int32_t), value :: number
            type(kyoho_interaction), intent(inout) :: interaction
            integer(c_int32_t) :: code
        end function

        ! Has the log told, up to a level, to a procedure of yours, c_funloc(procedure), whose
        ! interface is
        !     subroutine procedure(context, level, text) bind(c)
        !         type(c_ptr), value :: context, text
        !         integer(c_int32_t), value :: level
        ! It may be called by any thread, and must not call the library. c_null_funptr takes it
        ! away.
        function kyoho_set_log(callback, context, level) bind(c, name="kyoho_set_log") result(code)
            import
            type(c_funptr), value :: callback
            type(c_ptr), value :: context
            integer(c_int32_t), value :: level
            integer(c_int32_t) :: code
        end function

        ! Frees a system; its handle is not a system from then on, and freeing it again is
        ! KYOHO_BAD_HANDLE.
        function kyoho_system_free(system) bind(c, name="kyoho_system_free") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t) :: code
        end function

        ! Describes what a system computes, and the backend that does.
        function kyoho_system_describe(system, interaction, backend) &
                bind(c, name="kyoho_system_describe") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_interaction), intent(inout), optional :: interaction
            integer(c_int32_t), intent(out), optional :: backend
            integer(c_int32_t) :: code
        end function

        ! Counts since a system was made.
        function kyoho_system_statistics(system, statistics) &
                bind(c, name="kyoho_system_statistics") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_statistics), intent(inout) :: statistics
            integer(c_int32_t) :: code
        end function

        ! The number of devices that a system computes on.
        function kyoho_system_device_count(system, count) &
                bind(c, name="kyoho_system_device_count") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), intent(out) :: count
            integer(c_int32_t) :: code
        end function

        ! Sets the number of pairs (sinks times nj) below which the CPU computes a block though the
        ! backend is another: KYOHO_CROSSOVER_OFF for none, 0 for what the environment or the device
        ! says.
        function kyoho_system_set_crossover(system, pairs) &
                bind(c, name="kyoho_system_set_crossover") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int64_t), value :: pairs
            integer(c_int32_t) :: code
        end function

        ! Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
        function kyoho_system_set_time(system, time) &
                bind(c, name="kyoho_system_set_time") result(code)
            import
            type(c_ptr), value :: system
            real(c_double), value :: time
            integer(c_int32_t) :: code
        end function

        ! Sets the time in two doubles, of a system in KYOHO_PRECISION_QUAD.
        function kyoho_system_set_time_dd(system, high, low) &
                bind(c, name="kyoho_system_set_time_dd") result(code)
            import
            type(c_ptr), value :: system
            real(c_double), value :: high
            real(c_double), value :: low
            integer(c_int32_t) :: code
        end function

        ! The neighbours of one sink (from 0) of the last block: the indices of the sources with
        ! |r|^2 < radii2, softening not included, ascending; of regular forces the sources that are
        ! left out. count is their number, also where it is more than capacity; then the result is
        ! KYOHO_BUFFER_TOO_SMALL and the first of them are in the list.
        function kyoho_system_neighbours(system, sink, capacity, list, count) &
                bind(c, name="kyoho_system_neighbours") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: sink, capacity
            integer(c_int32_t), intent(inout) :: list(*)
            integer(c_int32_t), intent(out) :: count
            integer(c_int32_t) :: code
        end function

        ! The errors of accelerations by the tree that the options of the system ask for, against
        ! direct sums for some of the sinks, evenly chosen.
        function kyoho_system_tree_error(system, nj, sinks, samples, errors) &
                bind(c, name="kyoho_system_tree_error") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj, samples
            type(kyoho_sinks), intent(in) :: sinks
            type(kyoho_tree_errors), intent(inout) :: errors
            integer(c_int32_t) :: code
        end function

        ! Finds by a tree the sources within the radius of each sink. The addresses for sink i, which
        ! kyoho_system_copy_found_neighbours writes, are those from offsets(i) to below
        ! offsets(i + 1), counted from 0; the last of the offsets is the number of all.
        function kyoho_system_find_neighbours(system, nj, sinks, offsets) &
                bind(c, name="kyoho_system_find_neighbours") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            type(kyoho_sinks), intent(in) :: sinks
            integer(c_int64_t), intent(inout) :: offsets(*)
            integer(c_int32_t) :: code
        end function

        ! Writes the addresses that kyoho_system_find_neighbours found last.
        function kyoho_system_copy_found_neighbours(system, capacity, addresses) &
                bind(c, name="kyoho_system_copy_found_neighbours") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int64_t), value :: capacity
            integer(c_int32_t), intent(inout) :: addresses(*)
            integer(c_int32_t) :: code
        end function
    end interface

    ! Makes a system without sources, at time 0, as some options say; what is not given, 0 or blank
    ! is left open.
    !     system      receives the handle, c_null_ptr on an error
    !     order       2 for potentials and accelerations, 4 for jerks and nearest neighbours too, 6
    !                 for snaps too, 8 for crackles too; open: 4
    !     precision   KYOHO_PRECISION_...; open: what the environment says, else double
    !     scope       KYOHO_SCOPE_...; open: full
    !     backend     KYOHO_BACKEND_...; open: what the environment says, else the first that has a
    !                 device
    !     devices     'all', a count such as '2', a list such as '0,2'; open: what the environment
    !                 says, else the first
    !     threads     of the CPU backend; open: what the environment says
    !     crossover   see kyoho_system_set_crossover
    !     communicator  the ranks of the system, all of which call this; see kyoho_mpi.f90
    interface kyoho_system_create
        function kyoho_system_create_raw(options, system) &
                bind(c, name="kyoho_system_create") result(code)
            import
            type(kyoho_options), intent(in) :: options
            type(c_ptr), intent(out) :: system
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_create_arguments
    end interface

    ! Goes on with other devices, or with the same ones opened anew, as after KYOHO_DEVICE_FAILED;
    ! backend, devices, threads and crossover as in kyoho_system_create. Sources, time and counts
    ! are kept; the last block is forgotten.
    interface kyoho_system_move
        function kyoho_system_move_raw(system, options) bind(c, name="kyoho_system_move") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_options), intent(in) :: options
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_move_arguments
    end interface

    ! The name of a device (from 0) of a system; a name that is too long is cut.
    interface kyoho_system_device_name
        function kyoho_system_device_name_raw(system, device, buffer, size) &
                bind(c, name="kyoho_system_device_name") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: device, size
            character(kind=c_char), intent(inout) :: buffer(*)
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_device_name_text
    end interface

    ! Writes count sources at addresses from first_address on, or at those in addresses, replacing
    ! what was there. On an error in what you gave, nothing is written. Arrays: masses(count),
    ! positions(3,count) and their time derivatives without factors: velocities(3,count),
    ! accelerations(3,count) and jerks(3,count) in orders 4, 6 and 8, snaps(3,count) and
    ! crackles(3,count) in 6 and 8, sixth_derivatives(3,count) and seventh_derivatives(3,count) in
    ! 8; times(count), indices(count), addresses(count). Without indices the index is the address,
    ! without the others they are 0. With softening2_each(count), which all sources have or none, the
    ! squared softening of a pair is the mean of those of its source and its sink.
    interface kyoho_system_set_sources
        function kyoho_system_set_sources_raw(system, sources) &
                bind(c, name="kyoho_system_set_sources") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_sources), intent(in) :: sources
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_set_sources_arrays
    end interface

    ! Computes the forces of the sources at addresses below nj, predicted to the system's time, on
    ! count sinks. Arrays: positions(3,count), velocities(3,count) from order 4 on,
    ! sink_accelerations(3,count) from order 6 on, sink_jerks(3,count) in order 8, all at the
    ! system's time; indices(count), as sources with a sink's index are left out, unless exclusion
    ! is KYOHO_EXCLUDE_NOTHING; softening2_each(count) instead of softening2, radii2(count) for
    ! neighbour lists; for regular forces steps(count) and neighbour_criterion. Of the results those
    ! that are wanted: potentials(count) (negative), accelerations(3,count); from order 4 on
    ! jerks(3,count), nearest(count) (indices, -1 where there is no source),
    ! nearest_distance2(count); from order 6 on snaps(3,count); in order 8 crackles(3,count).
    interface kyoho_system_force
        function kyoho_system_force_raw(system, nj, sinks, forces) &
                bind(c, name="kyoho_system_force") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            type(kyoho_sinks), intent(in) :: sinks
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_force_arrays
    end interface

    ! Begins what kyoho_system_force does and returns while devices may be at work. The sinks are
    ! copied.
    interface kyoho_system_start
        function kyoho_system_start_raw(system, nj, sinks) &
                bind(c, name="kyoho_system_start") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            type(kyoho_sinks), intent(in) :: sinks
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_start_arrays
    end interface

    ! Computes the forces of the sources at addresses below nj on one another, predicted to the
    ! system's time: the sinks are these sources, in the order of their addresses, each of which
    ! leaves out those with its index. Results as in kyoho_system_force, for nj sinks.
    interface kyoho_system_force_all
        function kyoho_system_force_all_raw(system, nj, softening2, forces) &
                bind(c, name="kyoho_system_force_all") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            real(c_double), value :: softening2
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_force_all_arrays
    end interface

    interface
        ! Begins what kyoho_system_force_all does and returns while devices may be at work.
        function kyoho_system_start_all(system, nj, softening2) &
                bind(c, name="kyoho_system_start_all") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            real(c_double), value :: softening2
            integer(c_int32_t) :: code
        end function
    end interface

    ! Waits for the block that kyoho_system_start or kyoho_system_start_all began, or for the forces
    ! that kyoho_system_start_lists or kyoho_system_start_batch began, and writes them; count is the
    ! number of sinks or bodies.
    interface kyoho_system_wait
        function kyoho_system_wait_raw(system, forces) bind(c, name="kyoho_system_wait") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_wait_arrays
    end interface

    ! Computes the forces on groups of sinks, on each of which act the sources of its own list
    ! alone, predicted to the system's time. sink_offsets(group_count+1) has the first sink of each
    ! group, counted from 0, and at last their number, count. The arrays of sinks and of results are
    ! those of kyoho_system_force, without radii2. The sources of the groups are given in one of
    ! three forms:
    !   - ranges of the system's sources: first_addresses(group_count), source_counts(group_count)
    !   - lists of the system's sources: addresses, list after list, and
    !     source_offsets(group_count+1), of 64 bits, with the first place of each list, counted from
    !     0, and at last the number of all places
    !   - sources of this call, which the system does not keep: source_count of them, group after
    !     group, in source_masses, source_positions and the other arrays of
    !     kyoho_system_set_sources, and source_offsets as above; without source_indices their
    !     numbers, from 0 on, are their indices
    interface kyoho_system_force_lists
        function kyoho_system_force_lists_raw(system, lists, sinks, forces) &
                bind(c, name="kyoho_system_force_lists") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_lists), intent(in) :: lists
            type(kyoho_sinks), intent(in) :: sinks
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_force_lists_arrays
    end interface

    ! Begins what kyoho_system_force_lists does and returns while devices may be at work. Lists and
    ! sinks are copied.
    interface kyoho_system_start_lists
        function kyoho_system_start_lists_raw(system, lists, sinks) &
                bind(c, name="kyoho_system_start_lists") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_lists), intent(in) :: lists
            type(kyoho_sinks), intent(in) :: sinks
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_start_lists_arrays
    end interface

    ! Computes the forces on the bodies of many systems, predicted to the system's time; on each act
    ! the others of its own system alone, those with another index. offsets(system_count+1) has the
    ! first body of each system, counted from 0, and at last their number, count. The bodies are not
    ! kept among the sources: masses(count), positions(3,count), velocities(3,count) and the other
    ! arrays of kyoho_system_set_sources; without indices their numbers, from 0 on, are their
    ! indices. softening2_each(count) instead of softening2. Results as in kyoho_system_force.
    interface kyoho_system_force_batch
        function kyoho_system_force_batch_raw(system, batch, bodies, forces) &
                bind(c, name="kyoho_system_force_batch") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_batch), intent(in) :: batch
            type(kyoho_sources), intent(in) :: bodies
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_force_batch_arrays
    end interface

    ! Begins what kyoho_system_force_batch does and returns while devices may be at work. The bodies
    ! are copied.
    interface kyoho_system_start_batch
        function kyoho_system_start_batch_raw(system, batch, bodies) &
                bind(c, name="kyoho_system_start_batch") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_batch), intent(in) :: batch
            type(kyoho_sources), intent(in) :: bodies
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_start_batch_arrays
    end interface

    ! positions(3,count) of the sources at addresses from first_address on, predicted to the
    ! system's time, and of them what is wanted of velocities(3,count) from order 4 on,
    ! accelerations(3,count) from order 6 on, jerks(3,count) in order 8; NaN where there is no
    ! source.
    interface kyoho_system_predict
        function kyoho_system_predict_raw(system, first_address, count, predictions) &
                bind(c, name="kyoho_system_predict") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: first_address, count
            type(kyoho_predictions), intent(inout) :: predictions
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_predict_arrays
    end interface

contains

    ! A text of the library as a character string.
    function kyoho_text(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: length
        interface
            function strlen(pointer) bind(c, name="strlen") result(length)
                import
                type(c_ptr), value :: pointer
                integer(c_size_t) :: length
            end function
        end interface

        length = int(strlen(pointer))
        call c_f_pointer(pointer, letters, [length])
        allocate (character(len=length) :: text)
        if (length > 0) text = transfer(letters, text)
    end function

    function kyoho_system_create_arguments(system, order, precision, scope, backend, devices, threads, &
            crossover, communicator) result(code)
        type(c_ptr), intent(out) :: system
        integer(c_int32_t), intent(in), optional :: order, precision, scope, backend, threads
        character(len=*), intent(in), optional :: devices
        integer(c_int64_t), intent(in), optional :: crossover
        type(kyoho_communicator), intent(in), target, optional :: communicator
        integer(c_int32_t) :: code
        type(kyoho_options) :: options
        character(kind=c_char), allocatable, target :: text(:)

        options = options_of(backend, threads, crossover)
        if (present(order)) options%order = order
        if (present(precision)) options%precision = precision
        if (present(scope)) options%scope = scope
        call add_zero(devices, text)
        if (size(text) > 1) options%devices = c_loc(text)
        if (present(communicator)) options%communicator = c_loc(communicator)
        code = kyoho_system_create_raw(options, system)
    end function

    function kyoho_system_move_arguments(system, backend, devices, threads, crossover) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in), optional :: backend, threads
        character(len=*), intent(in), optional :: devices
        integer(c_int64_t), intent(in), optional :: crossover
        integer(c_int32_t) :: code
        type(kyoho_options) :: options
        character(kind=c_char), allocatable, target :: text(:)

        options = options_of(backend, threads, crossover)
        call add_zero(devices, text)
        if (size(text) > 1) options%devices = c_loc(text)
        code = kyoho_system_move_raw(system, options)
    end function

    function kyoho_system_device_name_text(system, device, name) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: device
        character(len=*), intent(out) :: name
        integer(c_int32_t) :: code
        character(kind=c_char) :: buffer(len(name) + 1)
        integer :: i

        buffer(1) = c_null_char
        code = kyoho_system_device_name_raw(system, device, buffer, int(size(buffer), c_int32_t))
        name = ' '
        do i = 1, len(name)
            if (buffer(i) == c_null_char) exit
            name(i:i) = buffer(i)
        end do
    end function

    function kyoho_system_set_sources_arrays(system, count, first_address, masses, positions, &
            velocities, accelerations, jerks, times, indices, addresses, snaps, crackles, &
            sixth_derivatives, seventh_derivatives, softening2_each) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: count, first_address
        real(c_double), intent(in), target :: masses(count), positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), accelerations(3, count)
        real(c_double), intent(in), target, optional :: jerks(3, count), times(count)
        integer(c_int32_t), intent(in), target, optional :: indices(count), addresses(count)
        real(c_double), intent(in), target, optional :: snaps(3, count), crackles(3, count)
        real(c_double), intent(in), target, optional :: sixth_derivatives(3, count)
        real(c_double), intent(in), target, optional :: seventh_derivatives(3, count)
        real(c_double), intent(in), target, optional :: softening2_each(count)
        integer(c_int32_t) :: code
        type(kyoho_sources) :: sources

        sources = sources_of(count, masses, positions, velocities, accelerations, jerks, snaps, crackles, &
            sixth_derivatives, seventh_derivatives, times, indices)
        sources%first_address = first_address
        sources%addresses = const_integers(addresses)
        sources%softening2_each = const_reals(softening2_each)
        code = kyoho_system_set_sources_raw(system, sources)
    end function

    function kyoho_system_force_arrays(system, nj, count, positions, velocities, softening2, indices, &
            softening2_each, radii2, potentials, accelerations, jerks, nearest, nearest_distance2, snaps, &
            crackles, sink_accelerations, sink_jerks, exclusion, steps, neighbour_criterion) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: nj, count
        real(c_double), intent(in), target :: positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count)
        real(c_double), intent(in), target, optional :: radii2(count), steps(count)
        real(c_double), intent(in), target, optional :: sink_accelerations(3, count), sink_jerks(3, count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        integer(c_int32_t), intent(in), optional :: exclusion, neighbour_criterion
        real(c_double), intent(inout), target, optional :: potentials(count), accelerations(3, count)
        real(c_double), intent(inout), target, optional :: jerks(3, count), snaps(3, count)
        real(c_double), intent(inout), target, optional :: crackles(3, count)
        integer(c_int32_t), intent(inout), target, optional :: nearest(count)
        real(c_double), intent(inout), target, optional :: nearest_distance2(count)
        integer(c_int32_t) :: code
        type(kyoho_forces) :: forces

        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_system_force_raw(system, nj, &
            sinks_of(count, positions, velocities, sink_accelerations, sink_jerks, softening2, indices, &
            softening2_each, radii2, exclusion, steps, neighbour_criterion), forces)
    end function

    function kyoho_system_force_all_arrays(system, nj, softening2, potentials, accelerations, jerks, &
            nearest, nearest_distance2, snaps, crackles) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: nj
        real(c_double), intent(in) :: softening2
        real(c_double), intent(inout), target, optional :: potentials(nj), accelerations(3, nj)
        real(c_double), intent(inout), target, optional :: jerks(3, nj), snaps(3, nj), crackles(3, nj)
        integer(c_int32_t), intent(inout), target, optional :: nearest(nj)
        real(c_double), intent(inout), target, optional :: nearest_distance2(nj)
        integer(c_int32_t) :: code
        type(kyoho_forces) :: forces

        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_system_force_all_raw(system, nj, softening2, forces)
    end function

    function kyoho_system_start_arrays(system, nj, count, positions, velocities, softening2, indices, &
            softening2_each, radii2, sink_accelerations, sink_jerks, exclusion, steps, &
            neighbour_criterion) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: nj, count
        real(c_double), intent(in), target :: positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count)
        real(c_double), intent(in), target, optional :: radii2(count), steps(count)
        real(c_double), intent(in), target, optional :: sink_accelerations(3, count), sink_jerks(3, count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        integer(c_int32_t), intent(in), optional :: exclusion, neighbour_criterion
        integer(c_int32_t) :: code

        code = kyoho_system_start_raw(system, nj, &
            sinks_of(count, positions, velocities, sink_accelerations, sink_jerks, softening2, indices, &
            softening2_each, radii2, exclusion, steps, neighbour_criterion))
    end function

    function kyoho_system_wait_arrays(system, count, potentials, accelerations, jerks, nearest, &
            nearest_distance2, snaps, crackles) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: count
        real(c_double), intent(inout), target, optional :: potentials(count), accelerations(3, count)
        real(c_double), intent(inout), target, optional :: jerks(3, count), snaps(3, count)
        real(c_double), intent(inout), target, optional :: crackles(3, count)
        integer(c_int32_t), intent(inout), target, optional :: nearest(count)
        real(c_double), intent(inout), target, optional :: nearest_distance2(count)
        integer(c_int32_t) :: code
        type(kyoho_forces) :: forces

        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_system_wait_raw(system, forces)
    end function

    function kyoho_system_force_lists_arrays(system, group_count, sink_offsets, count, positions, &
            velocities, softening2, indices, softening2_each, potentials, accelerations, jerks, nearest, &
            nearest_distance2, snaps, crackles, sink_accelerations, sink_jerks, exclusion, &
            first_addresses, source_counts, source_offsets, addresses, source_count, source_masses, &
            source_positions, source_velocities, source_accelerations, source_jerks, source_snaps, &
            source_crackles, source_sixth_derivatives, source_seventh_derivatives, source_times, &
            source_indices) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: group_count, count
        integer(c_int32_t), intent(in), target :: sink_offsets(group_count + 1)
        real(c_double), intent(in), target :: positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count)
        real(c_double), intent(in), target, optional :: sink_accelerations(3, count), sink_jerks(3, count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        integer(c_int32_t), intent(in), optional :: exclusion, source_count
        integer(c_int32_t), intent(in), target, optional :: first_addresses(group_count)
        integer(c_int32_t), intent(in), target, optional :: source_counts(group_count)
        integer(c_int64_t), intent(in), target, optional :: source_offsets(group_count + 1)
        integer(c_int32_t), intent(in), target, optional :: addresses(*), source_indices(*)
        real(c_double), intent(in), target, optional :: source_masses(*), source_times(*)
        real(c_double), intent(in), target, optional :: source_positions(3, *), source_velocities(3, *)
        real(c_double), intent(in), target, optional :: source_accelerations(3, *), source_jerks(3, *)
        real(c_double), intent(in), target, optional :: source_snaps(3, *), source_crackles(3, *)
        real(c_double), intent(in), target, optional :: source_sixth_derivatives(3, *)
        real(c_double), intent(in), target, optional :: source_seventh_derivatives(3, *)
        real(c_double), intent(inout), target, optional :: potentials(count), accelerations(3, count)
        real(c_double), intent(inout), target, optional :: jerks(3, count), snaps(3, count)
        real(c_double), intent(inout), target, optional :: crackles(3, count)
        integer(c_int32_t), intent(inout), target, optional :: nearest(count)
        real(c_double), intent(inout), target, optional :: nearest_distance2(count)
        integer(c_int32_t) :: code
        type(kyoho_lists) :: lists
        type(kyoho_sources), target :: own
        type(kyoho_sinks) :: sinks
        type(kyoho_forces) :: forces

        own = sources_of(source_count, source_masses, source_positions, source_velocities, &
            source_accelerations, source_jerks, source_snaps, source_crackles, source_sixth_derivatives, &
            source_seventh_derivatives, source_times, source_indices)
        lists = lists_of(group_count, sink_offsets, first_addresses, source_counts, source_offsets, addresses)
        if (present(source_count) .or. present(source_masses) .or. present(source_positions)) &
            lists%sources = c_loc(own)
        sinks = sinks_of(count, positions, velocities, sink_accelerations, sink_jerks, softening2, indices, &
            softening2_each, exclusion=exclusion)
        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_system_force_lists_raw(system, lists, sinks, forces)
    end function

    function kyoho_system_start_lists_arrays(system, group_count, sink_offsets, count, positions, &
            velocities, softening2, indices, softening2_each, sink_accelerations, sink_jerks, exclusion, &
            first_addresses, source_counts, source_offsets, addresses, source_count, source_masses, &
            source_positions, source_velocities, source_accelerations, source_jerks, source_snaps, &
            source_crackles, source_sixth_derivatives, source_seventh_derivatives, source_times, &
            source_indices) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: group_count, count
        integer(c_int32_t), intent(in), target :: sink_offsets(group_count + 1)
        real(c_double), intent(in), target :: positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count)
        real(c_double), intent(in), target, optional :: sink_accelerations(3, count), sink_jerks(3, count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        integer(c_int32_t), intent(in), optional :: exclusion, source_count
        integer(c_int32_t), intent(in), target, optional :: first_addresses(group_count)
        integer(c_int32_t), intent(in), target, optional :: source_counts(group_count)
        integer(c_int64_t), intent(in), target, optional :: source_offsets(group_count + 1)
        integer(c_int32_t), intent(in), target, optional :: addresses(*), source_indices(*)
        real(c_double), intent(in), target, optional :: source_masses(*), source_times(*)
        real(c_double), intent(in), target, optional :: source_positions(3, *), source_velocities(3, *)
        real(c_double), intent(in), target, optional :: source_accelerations(3, *), source_jerks(3, *)
        real(c_double), intent(in), target, optional :: source_snaps(3, *), source_crackles(3, *)
        real(c_double), intent(in), target, optional :: source_sixth_derivatives(3, *)
        real(c_double), intent(in), target, optional :: source_seventh_derivatives(3, *)
        integer(c_int32_t) :: code
        type(kyoho_lists) :: lists
        type(kyoho_sources), target :: own
        type(kyoho_sinks) :: sinks

        own = sources_of(source_count, source_masses, source_positions, source_velocities, &
            source_accelerations, source_jerks, source_snaps, source_crackles, source_sixth_derivatives, &
            source_seventh_derivatives, source_times, source_indices)
        lists = lists_of(group_count, sink_offsets, first_addresses, source_counts, source_offsets, addresses)
        if (present(source_count) .or. present(source_masses) .or. present(source_positions)) &
            lists%sources = c_loc(own)
        sinks = sinks_of(count, positions, velocities, sink_accelerations, sink_jerks, softening2, indices, &
            softening2_each, exclusion=exclusion)
        code = kyoho_system_start_lists_raw(system, lists, sinks)
    end function

    function kyoho_system_force_batch_arrays(system, system_count, offsets, count, masses, positions, &
            velocities, softening2, indices, softening2_each, potentials, accelerations, jerks, nearest, &
            nearest_distance2, snaps, crackles, times, body_accelerations, body_jerks, body_snaps, &
            body_crackles, body_sixth_derivatives, body_seventh_derivatives) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: system_count, count
        integer(c_int32_t), intent(in), target :: offsets(system_count + 1)
        real(c_double), intent(in), target :: masses(count), positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        real(c_double), intent(in), target, optional :: times(count), body_accelerations(3, count)
        real(c_double), intent(in), target, optional :: body_jerks(3, count), body_snaps(3, count)
        real(c_double), intent(in), target, optional :: body_crackles(3, count)
        real(c_double), intent(in), target, optional :: body_sixth_derivatives(3, count)
        real(c_double), intent(in), target, optional :: body_seventh_derivatives(3, count)
        real(c_double), intent(inout), target, optional :: potentials(count), accelerations(3, count)
        real(c_double), intent(inout), target, optional :: jerks(3, count), snaps(3, count)
        real(c_double), intent(inout), target, optional :: crackles(3, count)
        integer(c_int32_t), intent(inout), target, optional :: nearest(count)
        real(c_double), intent(inout), target, optional :: nearest_distance2(count)
        integer(c_int32_t) :: code
        type(kyoho_sources) :: bodies
        type(kyoho_forces) :: forces

        bodies = sources_of(count, masses, positions, velocities, body_accelerations, body_jerks, &
            body_snaps, body_crackles, body_sixth_derivatives, body_seventh_derivatives, times, indices)
        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_system_force_batch_raw(system, &
            batch_of(system_count, offsets, softening2, softening2_each), bodies, forces)
    end function

    function kyoho_system_start_batch_arrays(system, system_count, offsets, count, masses, positions, &
            velocities, softening2, indices, softening2_each, times, body_accelerations, body_jerks, &
            body_snaps, body_crackles, body_sixth_derivatives, body_seventh_derivatives) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: system_count, count
        integer(c_int32_t), intent(in), target :: offsets(system_count + 1)
        real(c_double), intent(in), target :: masses(count), positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        real(c_double), intent(in), target, optional :: times(count), body_accelerations(3, count)
        real(c_double), intent(in), target, optional :: body_jerks(3, count), body_snaps(3, count)
        real(c_double), intent(in), target, optional :: body_crackles(3, count)
        real(c_double), intent(in), target, optional :: body_sixth_derivatives(3, count)
        real(c_double), intent(in), target, optional :: body_seventh_derivatives(3, count)
        integer(c_int32_t) :: code
        type(kyoho_sources) :: bodies

        bodies = sources_of(count, masses, positions, velocities, body_accelerations, body_jerks, &
            body_snaps, body_crackles, body_sixth_derivatives, body_seventh_derivatives, times, indices)
        code = kyoho_system_start_batch_raw(system, &
            batch_of(system_count, offsets, softening2, softening2_each), bodies)
    end function

    function kyoho_system_predict_arrays(system, first_address, count, positions, velocities, &
            accelerations, jerks) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: first_address, count
        real(c_double), intent(inout), target :: positions(3, count)
        real(c_double), intent(inout), target, optional :: velocities(3, count), accelerations(3, count)
        real(c_double), intent(inout), target, optional :: jerks(3, count)
        integer(c_int32_t) :: code
        type(kyoho_predictions) :: predictions

        predictions%positions = reals(positions)
        predictions%velocities = reals(velocities)
        predictions%accelerations = reals(accelerations)
        predictions%jerks = reals(jerks)
        code = kyoho_system_predict_raw(system, first_address, count, predictions)
    end function

    ! The options for what is neither a text nor stays as it is.
    function options_of(backend, threads, crossover) result(options)
        integer(c_int32_t), intent(in), optional :: backend, threads
        integer(c_int64_t), intent(in), optional :: crossover
        type(kyoho_options) :: options

        if (present(backend)) options%backend = backend
        if (present(threads)) options%threads = threads
        if (present(crossover)) options%crossover = crossover
    end function

    ! The structure for plain arrays of sources; a count that was not given is 0.
    function sources_of(count, masses, positions, velocities, accelerations, jerks, snaps, crackles, &
            sixth_derivatives, seventh_derivatives, times, indices) result(sources)
        integer(c_int32_t), intent(in), optional :: count
        real(c_double), intent(in), target, optional :: masses(*), positions(*), velocities(*)
        real(c_double), intent(in), target, optional :: accelerations(*), jerks(*), snaps(*), crackles(*)
        real(c_double), intent(in), target, optional :: sixth_derivatives(*), seventh_derivatives(*)
        real(c_double), intent(in), target, optional :: times(*)
        integer(c_int32_t), intent(in), target, optional :: indices(*)
        type(kyoho_sources) :: sources

        if (present(count)) sources%count = count
        sources%masses = const_reals(masses)
        sources%positions = const_reals(positions)
        sources%velocities = const_reals(velocities)
        sources%accelerations = const_reals(accelerations)
        sources%jerks = const_reals(jerks)
        sources%snaps = const_reals(snaps)
        sources%crackles = const_reals(crackles)
        sources%sixth_derivatives = const_reals(sixth_derivatives)
        sources%seventh_derivatives = const_reals(seventh_derivatives)
        sources%times = const_reals(times)
        sources%indices = const_integers(indices)
    end function

    ! The structure for plain arrays of interaction lists, without the sources of the call.
    function lists_of(group_count, sink_offsets, first_addresses, source_counts, source_offsets, &
            addresses) result(lists)
        integer(c_int32_t), intent(in) :: group_count
        integer(c_int32_t), intent(in), target :: sink_offsets(*)
        integer(c_int32_t), intent(in), target, optional :: first_addresses(*), source_counts(*), addresses(*)
        integer(c_int64_t), intent(in), target, optional :: source_offsets(*)
        type(kyoho_lists) :: lists

        lists%group_count = group_count
        lists%sink_offsets = const_integers(sink_offsets)
        lists%first_addresses = const_integers(first_addresses)
        lists%source_counts = const_integers(source_counts)
        if (present(source_offsets)) lists%source_offsets%data = c_loc(source_offsets)
        lists%addresses = const_integers(addresses)
    end function

    ! The structure for plain arrays of a batch.
    function batch_of(system_count, offsets, softening2, softening2_each) result(batch)
        integer(c_int32_t), intent(in) :: system_count
        integer(c_int32_t), intent(in), target :: offsets(*)
        real(c_double), intent(in), optional :: softening2
        real(c_double), intent(in), target, optional :: softening2_each(*)
        type(kyoho_batch) :: batch

        batch%system_count = system_count
        batch%offsets = const_integers(offsets)
        if (present(softening2)) batch%softening2 = softening2
        batch%softening2_each = const_reals(softening2_each)
    end function

    ! The structure for plain arrays of sinks.
    function sinks_of(count, positions, velocities, accelerations, jerks, softening2, indices, &
            softening2_each, radii2, exclusion, steps, neighbour_criterion) result(sinks)
        integer(c_int32_t), intent(in) :: count
        real(c_double), intent(in), target :: positions(*)
        real(c_double), intent(in), target, optional :: velocities(*), accelerations(*), jerks(*)
        real(c_double), intent(in), target, optional :: softening2_each(*), radii2(*), steps(*)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(*)
        integer(c_int32_t), intent(in), optional :: exclusion, neighbour_criterion
        type(kyoho_sinks) :: sinks

        sinks%count = count
        sinks%positions = const_reals(positions)
        sinks%velocities = const_reals(velocities)
        sinks%accelerations = const_reals(accelerations)
        sinks%jerks = const_reals(jerks)
        if (present(softening2)) sinks%softening2 = softening2
        sinks%indices = const_integers(indices)
        sinks%softening2_each = const_reals(softening2_each)
        sinks%radii2 = const_reals(radii2)
        sinks%steps = const_reals(steps)
        if (present(exclusion)) sinks%exclusion = exclusion
        if (present(neighbour_criterion)) sinks%neighbour_criterion = neighbour_criterion
    end function

    ! The structure for plain arrays of forces.
    function forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, &
            nearest_distance2) result(forces)
        real(c_double), intent(inout), target, optional :: potentials(*), accelerations(*), jerks(*), snaps(*)
        real(c_double), intent(inout), target, optional :: crackles(*), nearest_distance2(*)
        integer(c_int32_t), intent(inout), target, optional :: nearest(*)
        type(kyoho_forces) :: forces

        forces%potentials = reals(potentials)
        forces%accelerations = reals(accelerations)
        forces%jerks = reals(jerks)
        forces%snaps = reals(snaps)
        forces%crackles = reals(crackles)
        forces%nearest = integers(nearest)
        forces%nearest_distance2 = reals(nearest_distance2)
    end function

    ! The characters of a text without trailing blanks, ended by a zero.
    subroutine add_zero(text, characters)
        character(len=*), intent(in), optional :: text
        character(kind=c_char), allocatable, intent(out) :: characters(:)
        integer :: i, length

        length = 0
        if (present(text)) length = len_trim(text)
        allocate (characters(length + 1))
        do i = 1, length
            characters(i) = text(i:i)
        end do
        characters(length + 1) = c_null_char
    end subroutine

    ! Plain arrays as structures; one that was not given is null.
    function const_reals(array) result(place)
        real(c_double), intent(in), target, optional :: array(*)
        type(kyoho_const_reals) :: place

        if (present(array)) place%data = c_loc(array)
    end function

    function reals(array) result(place)
        real(c_double), intent(in), target, optional :: array(*)
        type(kyoho_reals) :: place

        if (present(array)) place%data = c_loc(array)
    end function

    function const_integers(array) result(place)
        integer(c_int32_t), intent(in), target, optional :: array(*)
        type(kyoho_const_integers) :: place

        if (present(array)) place%data = c_loc(array)
    end function

    function integers(array) result(place)
        integer(c_int32_t), intent(in), target, optional :: array(*)
        type(kyoho_integers) :: place

        if (present(array)) place%data = c_loc(array)
    end function
end module
