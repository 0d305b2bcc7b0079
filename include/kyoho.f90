! Kyoho for Fortran: gravitational forces for direct N-body codes.
!
! Compile this file with your own and link with -lkyoho. The routines are those of kyoho.h and have the same names.
! Most come in two forms under one name: one takes plain, contiguous arrays such as x(3,n), the other a structure that
! says where the arrays lie in memory and how far apart their elements are. Every integer function gives KYOHO_OK (0)
! on success; on anything else kyoho_text(kyoho_last_error(system)) says what was wrong.
!
!     type(c_ptr) :: system
!     if (kyoho_system_create(4, KYOHO_PRECISION_DOUBLE, 0, ' ', 0, system) /= KYOHO_OK) &
!         stop 'no system'
!     result = kyoho_set_sources(system, n, 0, mass, x, velocities=v, indices=id)
!     result = kyoho_set_time(system, time)
!     result = kyoho_force(system, n, n, x, v, eps2, indices=id, accelerations=acc, jerks=jerk, potentials=pot)
!
! Addresses and the numbers of sinks and devices count from 0, as in C. Units are the caller's own, with G = 1.
module kyoho
    use, intrinsic :: iso_c_binding
    implicit none
    private

    ! What a call came to.
    integer(c_int32_t), parameter, public :: KYOHO_OK = 0
    integer(c_int32_t), parameter, public :: KYOHO_NULL_ARGUMENT = 10    ! an argument that must point somewhere is null
    integer(c_int32_t), parameter, public :: KYOHO_BAD_HANDLE = 11       ! the handle is no system
    integer(c_int32_t), parameter, public :: KYOHO_BAD_COUNT = 12        ! a count is negative or too large
    integer(c_int32_t), parameter, public :: KYOHO_BAD_ADDRESS = 13      ! an address is negative or too large
    integer(c_int32_t), parameter, public :: KYOHO_NOT_FINITE = 14       ! a number is NaN or infinite
    integer(c_int32_t), parameter, public :: KYOHO_OUT_OF_RANGE = 15     ! a number is too large for the precision
    integer(c_int32_t), parameter, public :: KYOHO_CALL_ORDER = 16       ! such as wait without start
    integer(c_int32_t), parameter, public :: KYOHO_BAD_OPTION = 17       ! an option has a value that is not allowed
    integer(c_int32_t), parameter, public :: KYOHO_BUFFER_TOO_SMALL = 18 ! it holds as much as fits
    integer(c_int32_t), parameter, public :: KYOHO_NO_BACKEND = 30       ! not built in, no driver, no device
    integer(c_int32_t), parameter, public :: KYOHO_UNSUPPORTED = 31      ! not this order in this precision
    integer(c_int32_t), parameter, public :: KYOHO_OUT_OF_MEMORY = 40    ! memory could not be had
    integer(c_int32_t), parameter, public :: KYOHO_DEVICE_FAILED = 41    ! a device failed while it worked
    integer(c_int32_t), parameter, public :: KYOHO_INTERNAL = 90         ! a defect of the library

    ! How exactly pairs are computed and summed.
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_SINGLE = 1 ! all of a pair in 32 bits
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_MIXED = 2  ! differences of positions to 48 bits, sums in 64
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_DOUBLE = 3 ! everything in 64 bits
    integer(c_int32_t), parameter, public :: KYOHO_PRECISION_QUAD = 4   ! everything in double-double

    ! The kinds of machine that compute forces.
    integer(c_int32_t), parameter, public :: KYOHO_BACKEND_CPU = 1    ! SIMD and threads
    integer(c_int32_t), parameter, public :: KYOHO_BACKEND_CUDA = 2   ! NVIDIA GPUs
    integer(c_int32_t), parameter, public :: KYOHO_BACKEND_OPENCL = 3 ! OpenCL devices

    ! Sources (j-particles) to write, for arrays that are parts of your own types. Each array has an element or a row of
    ! 3 for every source; *_stride is the distance in bytes from one to the next, 0 where they follow one another.
    type, bind(c), public :: kyoho_sources
        integer(c_int32_t) :: count = 0                     ! the number of sources
        integer(c_int32_t) :: first_address = 0             ! of the first source where addresses is null
        type(c_ptr) :: addresses = c_null_ptr               ! integers; null: from first_address on
        integer(c_int64_t) :: addresses_stride = 0
        type(c_ptr) :: indices = c_null_ptr                 ! integers, your names for the sources; null: the address
        integer(c_int64_t) :: indices_stride = 0
        type(c_ptr) :: masses = c_null_ptr
        integer(c_int64_t) :: masses_stride = 0
        type(c_ptr) :: times = c_null_ptr                   ! to which position, velocity, ... belong; null: 0
        integer(c_int64_t) :: times_stride = 0
        type(c_ptr) :: positions = c_null_ptr
        integer(c_int64_t) :: positions_stride = 0
        type(c_ptr) :: velocities = c_null_ptr              ! null: 0; read in orders 4, 6, 8
        integer(c_int64_t) :: velocities_stride = 0
        type(c_ptr) :: accelerations = c_null_ptr           ! not divided by 2; null: 0; read in orders 4, 6, 8
        integer(c_int64_t) :: accelerations_stride = 0
        type(c_ptr) :: jerks = c_null_ptr                   ! not divided by 6; null: 0; read in orders 4, 6, 8
        integer(c_int64_t) :: jerks_stride = 0
        type(c_ptr) :: snaps = c_null_ptr                   ! not divided by 24; null: 0; read in orders 6, 8
        integer(c_int64_t) :: snaps_stride = 0
        type(c_ptr) :: crackles = c_null_ptr                ! not divided by 120; null: 0; read in orders 6, 8
        integer(c_int64_t) :: crackles_stride = 0
        type(c_ptr) :: sixth_derivatives = c_null_ptr       ! of the positions, not divided by 720; null: 0; in order 8
        integer(c_int64_t) :: sixth_derivatives_stride = 0
        type(c_ptr) :: seventh_derivatives = c_null_ptr     ! not divided by 5040; null: 0; in order 8
        integer(c_int64_t) :: seventh_derivatives_stride = 0
    end type

    ! Sinks (i-particles) that forces are wanted on; strides as in kyoho_sources.
    type, bind(c), public :: kyoho_sinks
        integer(c_int32_t) :: count = 0                     ! the number of sinks
        type(c_ptr) :: indices = c_null_ptr                 ! sources with the same index are skipped; null: none is
        integer(c_int64_t) :: indices_stride = 0
        type(c_ptr) :: positions = c_null_ptr               ! at the system's time
        integer(c_int64_t) :: positions_stride = 0
        type(c_ptr) :: velocities = c_null_ptr              ! at the system's time; needed in orders 4, 6, 8
        integer(c_int64_t) :: velocities_stride = 0
        type(c_ptr) :: accelerations = c_null_ptr           ! at the system's time; needed in orders 6, 8
        integer(c_int64_t) :: accelerations_stride = 0
        type(c_ptr) :: jerks = c_null_ptr                   ! at the system's time; needed in order 8
        integer(c_int64_t) :: jerks_stride = 0
        real(c_double) :: softening2 = 0                    ! the square of the softening length
        type(c_ptr) :: softening2_each = c_null_ptr         ! one for each sink instead
        integer(c_int64_t) :: softening2_each_stride = 0
        type(c_ptr) :: radii2 = c_null_ptr                  ! squares of the radii of neighbour lists; null: no lists
        integer(c_int64_t) :: radii2_stride = 0
    end type

    ! Where forces are written to; arrays that are null are not written; strides as in kyoho_sources. It is passed as
    ! intent(inout), though only what it points to changes, so that compilers expect the arrays to change.
    type, bind(c), public :: kyoho_forces
        type(c_ptr) :: potentials = c_null_ptr              ! negative
        integer(c_int64_t) :: potentials_stride = 0
        type(c_ptr) :: accelerations = c_null_ptr
        integer(c_int64_t) :: accelerations_stride = 0
        type(c_ptr) :: jerks = c_null_ptr                   ! of orders 4, 6, 8
        integer(c_int64_t) :: jerks_stride = 0
        type(c_ptr) :: snaps = c_null_ptr                   ! of orders 6, 8
        integer(c_int64_t) :: snaps_stride = 0
        type(c_ptr) :: crackles = c_null_ptr                ! of order 8
        integer(c_int64_t) :: crackles_stride = 0
        type(c_ptr) :: nearest = c_null_ptr                 ! integers: indices, -1 for no source; of orders 4, 6, 8
        integer(c_int64_t) :: nearest_stride = 0
        type(c_ptr) :: nearest_distance2 = c_null_ptr       ! without softening, infinite for no source; as nearest
        integer(c_int64_t) :: nearest_distance2_stride = 0
    end type

    ! Where predicted sources are written to, as kyoho_forces.
    type, bind(c), public :: kyoho_predictions
        type(c_ptr) :: positions = c_null_ptr               ! in order 2 those that were written
        integer(c_int64_t) :: positions_stride = 0
        type(c_ptr) :: velocities = c_null_ptr              ! of orders 4, 6, 8
        integer(c_int64_t) :: velocities_stride = 0
        type(c_ptr) :: accelerations = c_null_ptr           ! of orders 6, 8
        integer(c_int64_t) :: accelerations_stride = 0
        type(c_ptr) :: jerks = c_null_ptr                   ! of order 8
        integer(c_int64_t) :: jerks_stride = 0
    end type

    ! Counts since a system was made.
    type, bind(c), public :: kyoho_statistics
        integer(c_int64_t) :: sources = 0                   ! addresses that hold a source
        integer(c_int64_t) :: writes = 0                    ! sources written, each time counted
        integer(c_int64_t) :: blocks = 0                    ! blocks whose forces were computed
        integer(c_int64_t) :: sinks = 0                     ! sinks of those blocks
        integer(c_int64_t) :: interactions = 0              ! pairs of a sink and an address below nj
        integer(c_int64_t) :: bytes = 0                     ! bytes of host memory in use
    end type

    public :: kyoho_version, kyoho_result_text, kyoho_last_error, kyoho_text
    public :: kyoho_backend_available, kyoho_system_create, kyoho_system_free, kyoho_system_move, kyoho_set_crossover
    public :: kyoho_system_describe, kyoho_system_statistics, kyoho_device_count, kyoho_device_name
    public :: kyoho_set_sources, kyoho_set_time, kyoho_force, kyoho_start, kyoho_wait
    public :: kyoho_neighbours, kyoho_predicted

    interface
        ! The library's version; kyoho_text makes it a character string.
        function kyoho_version() bind(c, name="kyoho_version") result(text)
            import
            type(c_ptr) :: text
        end function

        ! What a result means, in a few words and whatever the number; kyoho_text makes it a character string.
        function kyoho_result_text(number) bind(c, name="kyoho_result_text") result(text)
            import
            integer(c_int32_t), value :: number
            type(c_ptr) :: text
        end function

        ! What was wrong in the last failing call on a system; with c_null_ptr, of the calling thread, which is the way
        ! when no system could be made. kyoho_text makes it a character string.
        function kyoho_last_error(system) bind(c, name="kyoho_last_error") result(text)
            import
            type(c_ptr), value :: system
            type(c_ptr) :: text
        end function

        ! Whether a backend can be used here (KYOHO_OK or KYOHO_NO_BACKEND), and how many devices it has.
        function kyoho_backend_available(backend, devices) bind(c, name="kyoho_backend_available") result(code)
            import
            integer(c_int32_t), value :: backend
            integer(c_int32_t), intent(out), optional :: devices
            integer(c_int32_t) :: code
        end function

        ! Frees a system; its handle is no system from then on, and freeing it again is KYOHO_BAD_HANDLE.
        function kyoho_system_free(system) bind(c, name="kyoho_system_free") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t) :: code
        end function

        ! What a system computes, as it was chosen when it was made.
        function kyoho_system_describe(system, order, precision, backend) &
                bind(c, name="kyoho_system_describe") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), intent(out), optional :: order, precision, backend
            integer(c_int32_t) :: code
        end function

        ! Counts since a system was made.
        function kyoho_system_statistics(system, statistics) bind(c, name="kyoho_system_statistics") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_statistics), intent(out) :: statistics
            integer(c_int32_t) :: code
        end function

        ! The number of devices that a system computes on.
        function kyoho_device_count(system, count) bind(c, name="kyoho_device_count") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), intent(out) :: count
            integer(c_int32_t) :: code
        end function

        ! Sets below how many pairs (sinks times nj) the CPU computes a block though the backend is another; 0 for never.
        function kyoho_set_crossover(system, pairs) bind(c, name="kyoho_set_crossover") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int64_t), value :: pairs
            integer(c_int32_t) :: code
        end function

        ! Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
        function kyoho_set_time(system, time) bind(c, name="kyoho_set_time") result(code)
            import
            type(c_ptr), value :: system
            real(c_double), value :: time
            integer(c_int32_t) :: code
        end function

        ! The neighbours of one sink (from 0) of the last block: the indices of the sources with |r|^2 < radii2, softening
        ! not included, ascending. count is their number, also where it is more than capacity; then the result is
        ! KYOHO_BUFFER_TOO_SMALL and the first of them are in the list.
        function kyoho_neighbours(system, sink, capacity, list, count) bind(c, name="kyoho_neighbours") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: sink, capacity
            integer(c_int32_t), intent(inout) :: list(*)
            integer(c_int32_t), intent(out) :: count
            integer(c_int32_t) :: code
        end function
    end interface

    ! Makes a system without sources, at time 0.
    !     order       2 for potentials and accelerations, 4 for jerks and nearest neighbours too, 6 for snaps too, 8 for
    !                 crackles too
    !     precision   KYOHO_PRECISION_...; 0 for what the environment says, else double; order 6 is computed in mixed
    !                 and double, order 8 in double
    !     backend     KYOHO_BACKEND_...; 0 for what the environment says, else the first that has a device
    !     devices     'all', a count such as '2', a list such as '0,2'; blank for what the environment says, else the first
    !     threads     of the CPU backend; 0 for what the environment says
    !     system      receives the handle, c_null_ptr on an error
    interface kyoho_system_create
        function kyoho_system_create_raw(order, precision, backend, devices, threads, system) &
                bind(c, name="kyoho_system_create") result(code)
            import
            integer(c_int32_t), value :: order, precision, backend, threads
            type(c_ptr), value :: devices
            type(c_ptr), intent(out) :: system
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_create_text
    end interface

    ! Goes on with other devices, or with the same ones opened anew, as after KYOHO_DEVICE_FAILED; backend, devices and
    ! threads as in kyoho_system_create. Sources, time and counts are kept; the last block is forgotten.
    interface kyoho_system_move
        function kyoho_system_move_raw(system, backend, devices, threads) bind(c, name="kyoho_system_move") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: backend, threads
            type(c_ptr), value :: devices
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_system_move_text
    end interface

    ! The name of a device (from 0) of a system; a name that is too long is cut.
    interface kyoho_device_name
        function kyoho_device_name_raw(system, device, buffer, size) bind(c, name="kyoho_device_name") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: device, size
            character(kind=c_char), intent(inout) :: buffer(*)
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_device_name_text
    end interface

    ! Writes count sources at addresses from first_address on, or at those in addresses, replacing what was there. On an
    ! error in what you gave, nothing is written. Arrays: masses(count), positions(3,count) and their time derivatives
    ! without factors: velocities(3,count), accelerations(3,count) and jerks(3,count) in orders 4, 6 and 8,
    ! snaps(3,count) and crackles(3,count) in 6 and 8, sixth_derivatives(3,count) and seventh_derivatives(3,count) in 8;
    ! times(count), indices(count), addresses(count). Without indices the index is the address, without the others they
    ! are 0.
    interface kyoho_set_sources
        function kyoho_set_sources_raw(system, sources) bind(c, name="kyoho_set_sources") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_sources), intent(in) :: sources
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_set_sources_arrays
    end interface

    ! Computes the forces of the sources at addresses below nj, predicted to the system's time, on count sinks. Arrays:
    ! positions(3,count), velocities(3,count) from order 4 on, sink_accelerations(3,count) from order 6 on,
    ! sink_jerks(3,count) in order 8, all at the system's time, indices(count) (sources with a sink's index are skipped;
    ! without it none is), softening2_each(count) instead of softening2, radii2(count) for neighbour lists; and of the
    ! results those that are wanted: potentials(count) (negative), accelerations(3,count); from order 4 on
    ! jerks(3,count), nearest(count) (indices, -1 where there is no source), nearest_distance2(count); from order 6 on
    ! snaps(3,count); in order 8 crackles(3,count).
    interface kyoho_force
        function kyoho_force_raw(system, nj, sinks, forces) bind(c, name="kyoho_force") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            type(kyoho_sinks), intent(in) :: sinks
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_force_arrays
    end interface

    ! Begins what kyoho_force does and returns while devices may be at work. The sinks are copied.
    interface kyoho_start
        function kyoho_start_raw(system, nj, sinks) bind(c, name="kyoho_start") result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: nj
            type(kyoho_sinks), intent(in) :: sinks
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_start_arrays
    end interface

    ! Waits for the block that kyoho_start began and writes its forces; count is the number of its sinks.
    interface kyoho_wait
        function kyoho_wait_raw(system, forces) bind(c, name="kyoho_wait") result(code)
            import
            type(c_ptr), value :: system
            type(kyoho_forces), intent(inout) :: forces
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_wait_arrays
    end interface

    ! positions(3,count) of the sources at addresses from first_address on, predicted to the system's time, and of them
    ! what is wanted of velocities(3,count) from order 4 on, accelerations(3,count) from order 6 on, jerks(3,count) in
    ! order 8; NaN where there is no source.
    interface kyoho_predicted
        function kyoho_predicted_raw(system, first_address, count, predictions) bind(c, name="kyoho_predicted") &
                result(code)
            import
            type(c_ptr), value :: system
            integer(c_int32_t), value :: first_address, count
            type(kyoho_predictions), intent(inout) :: predictions
            integer(c_int32_t) :: code
        end function
        module procedure kyoho_predicted_arrays
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

    function kyoho_system_create_text(order, precision, backend, devices, threads, system) result(code)
        integer(c_int32_t), intent(in) :: order, precision, backend, threads
        character(len=*), intent(in) :: devices
        type(c_ptr), intent(out) :: system
        integer(c_int32_t) :: code
        character(kind=c_char), target :: text(len_trim(devices) + 1)

        text = with_zero(devices)
        code = kyoho_system_create_raw(order, precision, backend, unless_empty(text), threads, system)
    end function

    function kyoho_system_move_text(system, backend, devices, threads) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: backend, threads
        character(len=*), intent(in) :: devices
        integer(c_int32_t) :: code
        character(kind=c_char), target :: text(len_trim(devices) + 1)

        text = with_zero(devices)
        code = kyoho_system_move_raw(system, backend, unless_empty(text), threads)
    end function

    function kyoho_device_name_text(system, device, name) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: device
        character(len=*), intent(out) :: name
        integer(c_int32_t) :: code
        character(kind=c_char) :: buffer(len(name) + 1)
        integer :: i

        buffer(1) = c_null_char
        code = kyoho_device_name_raw(system, device, buffer, int(size(buffer), c_int32_t))
        name = ' '
        do i = 1, len(name)
            if (buffer(i) == c_null_char) exit
            name(i:i) = buffer(i)
        end do
    end function

    function kyoho_set_sources_arrays(system, count, first_address, masses, positions, velocities, accelerations, &
            jerks, times, indices, addresses, snaps, crackles, sixth_derivatives, seventh_derivatives) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: count, first_address
        real(c_double), intent(in), target :: masses(count), positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), accelerations(3, count), jerks(3, count)
        real(c_double), intent(in), target, optional :: times(count)
        integer(c_int32_t), intent(in), target, optional :: indices(count), addresses(count)
        real(c_double), intent(in), target, optional :: snaps(3, count), crackles(3, count)
        real(c_double), intent(in), target, optional :: sixth_derivatives(3, count), seventh_derivatives(3, count)
        integer(c_int32_t) :: code
        type(kyoho_sources) :: sources

        sources%count = count
        sources%first_address = first_address
        sources%masses = address_of(masses)
        sources%positions = address_of(positions)
        sources%velocities = address_of(velocities)
        sources%accelerations = address_of(accelerations)
        sources%jerks = address_of(jerks)
        sources%snaps = address_of(snaps)
        sources%crackles = address_of(crackles)
        sources%sixth_derivatives = address_of(sixth_derivatives)
        sources%seventh_derivatives = address_of(seventh_derivatives)
        sources%times = address_of(times)
        sources%indices = address_of_integers(indices)
        sources%addresses = address_of_integers(addresses)
        code = kyoho_set_sources_raw(system, sources)
    end function

    function kyoho_force_arrays(system, nj, count, positions, velocities, softening2, indices, softening2_each, radii2, &
            potentials, accelerations, jerks, nearest, nearest_distance2, snaps, crackles, sink_accelerations, &
            sink_jerks) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: nj, count
        real(c_double), intent(in), target :: positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count), radii2(count)
        real(c_double), intent(in), target, optional :: sink_accelerations(3, count), sink_jerks(3, count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        real(c_double), intent(inout), target, optional :: potentials(count), accelerations(3, count), jerks(3, count)
        real(c_double), intent(inout), target, optional :: snaps(3, count), crackles(3, count)
        integer(c_int32_t), intent(inout), target, optional :: nearest(count)
        real(c_double), intent(inout), target, optional :: nearest_distance2(count)
        integer(c_int32_t) :: code
        type(kyoho_forces) :: forces

        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_force_raw(system, nj, &
            sinks_of(count, positions, velocities, sink_accelerations, sink_jerks, softening2, indices, &
            softening2_each, radii2), forces)
    end function

    function kyoho_start_arrays(system, nj, count, positions, velocities, softening2, indices, softening2_each, &
            radii2, sink_accelerations, sink_jerks) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: nj, count
        real(c_double), intent(in), target :: positions(3, count)
        real(c_double), intent(in), target, optional :: velocities(3, count), softening2_each(count), radii2(count)
        real(c_double), intent(in), target, optional :: sink_accelerations(3, count), sink_jerks(3, count)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(count)
        integer(c_int32_t) :: code

        code = kyoho_start_raw(system, nj, &
            sinks_of(count, positions, velocities, sink_accelerations, sink_jerks, softening2, indices, &
            softening2_each, radii2))
    end function

    function kyoho_wait_arrays(system, count, potentials, accelerations, jerks, nearest, nearest_distance2, snaps, &
            crackles) result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: count
        real(c_double), intent(inout), target, optional :: potentials(count), accelerations(3, count), jerks(3, count)
        real(c_double), intent(inout), target, optional :: snaps(3, count), crackles(3, count)
        integer(c_int32_t), intent(inout), target, optional :: nearest(count)
        real(c_double), intent(inout), target, optional :: nearest_distance2(count)
        integer(c_int32_t) :: code
        type(kyoho_forces) :: forces

        forces = forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2)
        code = kyoho_wait_raw(system, forces)
    end function

    function kyoho_predicted_arrays(system, first_address, count, positions, velocities, accelerations, jerks) &
            result(code)
        type(c_ptr), intent(in) :: system
        integer(c_int32_t), intent(in) :: first_address, count
        real(c_double), intent(inout), target :: positions(3, count)
        real(c_double), intent(inout), target, optional :: velocities(3, count), accelerations(3, count)
        real(c_double), intent(inout), target, optional :: jerks(3, count)
        integer(c_int32_t) :: code
        type(kyoho_predictions) :: predictions

        predictions%positions = address_of(positions)
        predictions%velocities = address_of(velocities)
        predictions%accelerations = address_of(accelerations)
        predictions%jerks = address_of(jerks)
        code = kyoho_predicted_raw(system, first_address, count, predictions)
    end function

    ! The structure for plain arrays of sinks.
    function sinks_of(count, positions, velocities, accelerations, jerks, softening2, indices, softening2_each, &
            radii2) result(sinks)
        integer(c_int32_t), intent(in) :: count
        real(c_double), intent(in), target :: positions(*)
        real(c_double), intent(in), target, optional :: velocities(*), accelerations(*), jerks(*)
        real(c_double), intent(in), target, optional :: softening2_each(*), radii2(*)
        real(c_double), intent(in), optional :: softening2
        integer(c_int32_t), intent(in), target, optional :: indices(*)
        type(kyoho_sinks) :: sinks

        sinks%count = count
        sinks%positions = address_of(positions)
        sinks%velocities = address_of(velocities)
        sinks%accelerations = address_of(accelerations)
        sinks%jerks = address_of(jerks)
        if (present(softening2)) sinks%softening2 = softening2
        sinks%indices = address_of_integers(indices)
        sinks%softening2_each = address_of(softening2_each)
        sinks%radii2 = address_of(radii2)
    end function

    ! The structure for plain arrays of forces.
    function forces_of(potentials, accelerations, jerks, snaps, crackles, nearest, nearest_distance2) result(forces)
        real(c_double), intent(inout), target, optional :: potentials(*), accelerations(*), jerks(*), snaps(*)
        real(c_double), intent(inout), target, optional :: crackles(*), nearest_distance2(*)
        integer(c_int32_t), intent(inout), target, optional :: nearest(*)
        type(kyoho_forces) :: forces

        forces%potentials = address_of(potentials)
        forces%accelerations = address_of(accelerations)
        forces%jerks = address_of(jerks)
        forces%snaps = address_of(snaps)
        forces%crackles = address_of(crackles)
        forces%nearest = address_of_integers(nearest)
        forces%nearest_distance2 = address_of(nearest_distance2)
    end function

    ! The characters of a text without trailing blanks, ended by a zero.
    function with_zero(text) result(characters)
        character(len=*), intent(in) :: text
        character(kind=c_char) :: characters(len_trim(text) + 1)
        integer :: i

        do i = 1, len_trim(text)
            characters(i) = text(i:i)
        end do
        characters(size(characters)) = c_null_char
    end function

    ! Where a text lies in memory, null for one that is empty.
    function unless_empty(characters) result(address)
        character(kind=c_char), intent(in), target :: characters(:)
        type(c_ptr) :: address

        address = c_null_ptr
        if (size(characters) > 1) address = c_loc(characters)
    end function

    ! Where an array lies in memory, null for one that was not given.
    function address_of(array) result(address)
        real(c_double), intent(in), target, optional :: array(*)
        type(c_ptr) :: address

        address = c_null_ptr
        if (present(array)) address = c_loc(array)
    end function

    function address_of_integers(array) result(address)
        integer(c_int32_t), intent(in), target, optional :: array(*)
        type(c_ptr) :: address

        address = c_null_ptr
        if (present(array)) address = c_loc(array)
    end function
end module
