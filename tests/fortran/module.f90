! The Fortran module: plain arrays, arrays inside derived types, texts, and errors. Prints broken
! promises.
program module_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_value, ieee_quiet_nan
    use kyoho
    implicit none

    integer, parameter :: dp = c_double, n = 300
    real(dp), parameter :: eps2 = 1e-3_dp

    ! A particle as a code may define it.
    type, bind(c) :: particle
        real(c_double) :: x(3), v(3), acc(3), jerk(3), mass, pot
        integer(c_int32_t) :: index, other
    end type

    integer :: failures, seeds, i
    real(dp) :: mass(n), x(3, n), v(3, n), acc(3, n), jerk(3, n), pot(n)
    real(dp) :: expected_acc(3, n), expected_jerk(3, n), expected_pot(n)
    integer(c_int32_t) :: index(n)

    failures = 0
    call random_seed(size=seeds)
    call random_seed(put=[(12345 + 7*i, i = 1, seeds)])
    call random_number(mass)
    call random_number(x)
    call random_number(v)
    index = [(5000 + i, i = 1, n)]
    call sum_forces

    call plain_arrays
    call derived_types
    call start_and_wait
    call sources_on_one_another
    call neighbours
    call predictions
    call order_2
    call order_6_and_8(6)
    call order_6_and_8(8)
    call regular_forces
    call every_source
    call texts
    call sizes
    if (failures > 0) stop 1

contains

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (holds) return
        failures = failures + 1
        write (error_unit, '(2a)') 'not so: ', what
    end subroutine

    subroutine succeed(code)
        integer(c_int32_t), intent(in) :: code

        call expect(code == KYOHO_OK, kyoho_text(kyoho_last_error()))
    end subroutine

    ! The slow and obvious sums.
    subroutine sum_forces
        integer :: i, j
        real(dp) :: r(3), w(3), r2, m

        expected_acc = 0
        expected_jerk = 0
        expected_pot = 0
        do i = 1, n
            do j = 1, n
                if (i == j) cycle
                r = x(:, j) - x(:, i)
                w = v(:, j) - v(:, i)
                r2 = sum(r**2) + eps2
                m = mass(j)/r2**1.5_dp
                expected_pot(i) = expected_pot(i) - mass(j)/sqrt(r2)
                expected_acc(:, i) = expected_acc(:, i) + m*r
                expected_jerk(:, i) = expected_jerk(:, i) + m*(w - 3*dot_product(r, w)/r2*r)
            end do
        end do
    end subroutine

    subroutine expect_forces(what)
        character(len=*), intent(in) :: what

        call expect(maxval(abs(acc - expected_acc)) < 1e-12_dp*maxval(abs(expected_acc)), what//': accelerations')
        call expect(maxval(abs(jerk - expected_jerk)) < 1e-12_dp*maxval(abs(expected_jerk)), what//': jerks')
        call expect(maxval(abs(pot - expected_pot)) < 1e-12_dp*maxval(abs(expected_pot)), what//': potentials')
    end subroutine

    function filled() result(system)
        type(c_ptr) :: system

        call succeed(kyoho_system_create(system, order=4, precision=KYOHO_PRECISION_DOUBLE))
        call succeed(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, indices=index))
    end function

    subroutine plain_arrays
        type(c_ptr) :: system
        type(kyoho_statistics) :: statistics

        system = filled()
        call succeed(kyoho_system_force(system, n, n, x, v, eps2, indices=index, &
            potentials=pot, accelerations=acc, jerks=jerk))
        call expect_forces('plain arrays')

        ! Sections of larger arrays, one softening length for each sink, and only some results.
        acc(:, 11) = 7
        call succeed(kyoho_system_force(system, n, 10, x, v, indices=index, softening2_each=spread(eps2, 1, 10), &
            accelerations=acc))
        call expect(all(acc(:, 11) == 7), 'only so many rows are written')
        acc(:, 11) = expected_acc(:, 11)
        call expect_forces('a part of an array')

        ! Sources have softenings too: equal ones are as one.
        call succeed(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, indices=index, &
            softening2_each=spread(2 * eps2, 1, n)))
        call succeed(kyoho_system_force(system, n, n, x, v, 0d0, indices=index, accelerations=acc))
        call expect_forces('softenings of sources')
        call succeed(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, indices=index))

        call succeed(kyoho_system_statistics(system, statistics))
        call expect(statistics%sources == n .and. statistics%sinks == 2 * n + 10, 'statistics')
        call succeed(kyoho_system_free(system))
        call expect(kyoho_system_free(system) == KYOHO_BAD_HANDLE, 'a system is freed once')
    end subroutine

    subroutine derived_types
        type(c_ptr) :: system
        type(particle), target :: p(n)
        type(kyoho_options) :: options
        type(kyoho_sources) :: sources
        type(kyoho_sinks) :: sinks
        type(kyoho_forces) :: forces
        integer(c_int64_t) :: stride
        integer :: i

        stride = c_sizeof(p(1))
        do i = 1, n
            p(i) = particle(x=x(:, i), v=v(:, i), acc=0, jerk=0, mass=mass(i), pot=0, index=index(i), other=i)
        end do
        sources%count = n
        sources%masses%data = c_loc(p(1)%mass)
        sources%masses%stride = stride
        sources%positions%data = c_loc(p(1)%x)
        sources%positions%stride = stride
        sources%velocities%data = c_loc(p(1)%v)
        sources%velocities%stride = stride
        sources%indices%data = c_loc(p(1)%index)
        sources%indices%stride = stride
        sinks%count = n
        sinks%softening2 = eps2
        sinks%positions%data = c_loc(p(1)%x)
        sinks%positions%stride = stride
        sinks%velocities%data = c_loc(p(1)%v)
        sinks%velocities%stride = stride
        sinks%indices%data = c_loc(p(1)%index)
        sinks%indices%stride = stride
        forces%potentials%data = c_loc(p(1)%pot)
        forces%potentials%stride = stride
        forces%accelerations%data = c_loc(p(1)%acc)
        forces%accelerations%stride = stride
        forces%jerks%data = c_loc(p(1)%jerk)
        forces%jerks%stride = stride
        options%order = 4
        options%precision = KYOHO_PRECISION_DOUBLE
        options%backend = KYOHO_BACKEND_CPU
        options%threads = 1
        call succeed(kyoho_system_create(options, system))
        call succeed(kyoho_system_move(system, options))
        call succeed(kyoho_system_set_sources(system, sources))
        call succeed(kyoho_system_force(system, n, sinks, forces))
        do i = 1, n
            acc(:, i) = p(i)%acc
            jerk(:, i) = p(i)%jerk
            pot(i) = p(i)%pot
        end do
        call expect_forces('derived types')
        p(n)%acc = 0
        call succeed(kyoho_system_start(system, n, sinks))
        call succeed(kyoho_system_wait(system, forces))
        call expect(all(p(n)%acc == acc(:, n)), 'start and wait')
        call expect(p(1)%other == 1 .and. p(n)%index == index(n), 'what is no result stays')
        call succeed(kyoho_system_free(system))
    end subroutine

    subroutine sources_on_one_another
        type(c_ptr) :: system

        system = filled()
        acc = 0
        call succeed(kyoho_system_force_all(system, n, eps2, accelerations=acc, jerks=jerk, potentials=pot))
        call expect_forces('sources on one another')
        acc = 0
        call succeed(kyoho_system_start_all(system, n, eps2))
        call succeed(kyoho_system_wait(system, n, accelerations=acc))
        call expect_forces('sources on one another in two calls')
        call succeed(kyoho_system_free(system))
    end subroutine

    subroutine start_and_wait
        type(c_ptr) :: system

        system = filled()
        acc = 0
        call succeed(kyoho_system_start(system, n, n, x, v, eps2, indices=index))
        call expect(kyoho_system_start(system, n, n, x, v, eps2, indices=index) == KYOHO_CALL_ORDER, 'one block at a time')
        call succeed(kyoho_system_wait(system, n, accelerations=acc, jerks=jerk, potentials=pot))
        call expect_forces('start and wait')
        call expect(kyoho_system_wait(system, n, accelerations=acc) == KYOHO_CALL_ORDER, 'no wait without start')
        call succeed(kyoho_system_free(system))
    end subroutine

    subroutine neighbours
        type(c_ptr) :: system
        integer(c_int32_t) :: nearest(n), list(n), count, expected(n), found, i, j
        real(dp) :: nearest2(n), r2(n), radii2(n)

        system = filled()
        radii2 = 0.1_dp
        call succeed(kyoho_system_force(system, n, n, x, v, eps2, indices=index, radii2=radii2, nearest=nearest, &
            nearest_distance2=nearest2))
        do i = 1, n, 17
            found = 0
            do j = 1, n
                r2(j) = sum((x(:, j) - x(:, i))**2)
                if (j /= i .and. r2(j) < radii2(i)) then
                    found = found + 1
                    expected(found) = index(j)
                end if
            end do
            r2(i) = huge(1.0_dp)
            call expect(nearest(i) == index(minloc(r2, 1)), 'the nearest source')
            call expect(abs(nearest2(i) - minval(r2)) < 1e-12_dp, 'its distance')
            ! Sinks count from 0.
            call succeed(kyoho_system_neighbours(system, i - 1, n, list, count))
            call expect(count == found, 'the number of neighbours')
            call expect(all(list(:found) == expected(:found)), 'the neighbours')
            call expect(kyoho_system_neighbours(system, i - 1, 1, list, count) == KYOHO_BUFFER_TOO_SMALL, 'a short list')
            call expect(count == found, 'the number of neighbours of a short list')
        end do
        call succeed(kyoho_system_free(system))
    end subroutine

    subroutine predictions
        type(c_ptr) :: system
        real(dp) :: px(3, 3), pv(3, 3), a(3, 1), j(3, 1), dt

        a(:, 1) = [1.0_dp, -2.0_dp, 3.0_dp]
        j(:, 1) = [-6.0_dp, 4.0_dp, 0.5_dp]
        dt = 0.25_dp
        call succeed(kyoho_system_create(system, order=4, precision=KYOHO_PRECISION_DOUBLE))
        call succeed(kyoho_system_set_sources(system, 1, 0, mass, x, velocities=v, accelerations=a, jerks=j, &
            times=[1.0_dp], addresses=[6]))
        call succeed(kyoho_system_set_time(system, 1.25_dp))
        call succeed(kyoho_system_predict(system, 5, 3, px, pv))
        call expect(all(ieee_is_nan(px(:, [1, 3]))) .and. all(ieee_is_nan(pv(:, [1, 3]))), 'no source is NaN')
        call expect(maxval(abs(px(:, 2) - (x(:, 1) + dt*(v(:, 1) + dt/2*(a(:, 1) + dt/3*j(:, 1)))))) < 1e-15_dp, &
            'predicted positions')
        call expect(maxval(abs(pv(:, 2) - (v(:, 1) + dt*(a(:, 1) + dt/2*j(:, 1))))) < 1e-15_dp, &
            'predicted velocities')
        call succeed(kyoho_system_free(system))
    end subroutine

    subroutine order_2
        type(c_ptr) :: system
        type(kyoho_interaction) :: computed

        call succeed(kyoho_system_create(system, 2, KYOHO_PRECISION_DOUBLE, devices='all'))
        call succeed(kyoho_system_describe(system, computed))
        call expect(computed%order == 2 .and. computed%precision == KYOHO_PRECISION_DOUBLE .and. &
            computed%scope == KYOHO_SCOPE_FULL, 'what a system computes')
        call succeed(kyoho_system_set_sources(system, n, 0, mass, x))
        ! Without indices a source's index is its address.
        call succeed(kyoho_system_force(system, n, n, x, softening2=eps2, indices=index - 5001, accelerations=acc, &
            potentials=pot))
        call expect_forces('order 2')
        call expect(kyoho_system_force(system, n, n, x, indices=index, jerks=jerk) == KYOHO_BAD_OPTION, 'order 2 has no jerks')
        call succeed(kyoho_system_free(system))
    end subroutine

    ! Sources with a whole series each; sinks with what the order needs of it.
    subroutine order_6_and_8(order)
        integer(c_int32_t), intent(in) :: order
        integer, parameter :: m = 50
        type(c_ptr) :: system
        real(dp) :: d(3, n, 0:7), p(3, n, 0:3), dt(n), forces(3, m, 0:3), expected(3, m, 0:3)
        integer :: vectors, q

        vectors = order/2
        call random_number(d)
        call random_number(dt)
        d(:, :, 1:) = d(:, :, 1:) - 0.5_dp
        call succeed(kyoho_system_create(system, order=order, precision=KYOHO_PRECISION_DOUBLE))
        call succeed(kyoho_system_set_sources(system, n, 0, mass, d(:, :, 0), velocities=d(:, :, 1), &
            accelerations=d(:, :, 2), jerks=d(:, :, 3), snaps=d(:, :, 4), crackles=d(:, :, 5), &
            sixth_derivatives=d(:, :, 6), seventh_derivatives=d(:, :, 7), times=2 - dt, indices=index))
        call succeed(kyoho_system_set_time(system, 2.0_dp))

        p = 0
        do q = 0, vectors - 1
            p(:, :, q) = series(d(:, :, q:order - 1), dt)
        end do
        forces = 0
        call succeed(kyoho_system_predict(system, 0, m, forces(:, :, 0), forces(:, :, 1), forces(:, :, 2)))
        if (order == 8) call succeed(kyoho_system_predict(system, 0, m, forces(:, :, 0), jerks=forces(:, :, 3)))
        call expect(maxval(abs(forces - p(:, :m, :))) < 1e-13_dp, 'predictions of orders 6 and 8')

        call sum_derivatives(m, vectors, p, d(:, :m, :3), expected)
        forces = 0
        if (order == 6) then
            call succeed(kyoho_system_force(system, n, m, d(:, :m, 0), d(:, :m, 1), eps2, indices=index(:m), &
                sink_accelerations=d(:, :m, 2), accelerations=forces(:, :, 0), jerks=forces(:, :, 1), &
                snaps=forces(:, :, 2)))
            call expect(kyoho_system_force(system, n, m, d(:, :m, 0), d(:, :m, 1), indices=index(:m), &
                sink_accelerations=d(:, :m, 2), crackles=forces(:, :, 3)) == KYOHO_BAD_OPTION, 'order 6 has no crackles')
            call expect(kyoho_system_force(system, n, m, d(:, :m, 0), d(:, :m, 1), indices=index(:m)) == KYOHO_NULL_ARGUMENT, &
                'order 6 needs accelerations')
        else
            call succeed(kyoho_system_start(system, n, m, d(:, :m, 0), d(:, :m, 1), eps2, indices=index(:m), &
                sink_accelerations=d(:, :m, 2), sink_jerks=d(:, :m, 3)))
            call succeed(kyoho_system_wait(system, m, accelerations=forces(:, :, 0), jerks=forces(:, :, 1), &
                snaps=forces(:, :, 2), crackles=forces(:, :, 3)))
        end if
        do q = 0, vectors - 1
            call expect(maxval(abs(forces(:, :, q) - expected(:, :, q))) < 1e-12_dp*maxval(abs(expected(:, :, q))), &
                'forces of orders 6 and 8')
        end do
        call succeed(kyoho_system_free(system))
    end subroutine

    ! The vectors after a time for each, from their derivatives.
    function series(derivatives, dt) result(vectors)
        real(dp), intent(in) :: derivatives(:, :, 0:), dt(n)
        real(dp) :: vectors(3, n)
        integer :: j, k

        vectors = 0
        do k = ubound(derivatives, 3), 0, -1
            do j = 1, n
                vectors(:, j) = derivatives(:, j, k) + dt(j)/(k + 1)*vectors(:, j)
            end do
        end do
    end function

    ! The derivatives of m r (r^2 + eps2)^(-3/2), by Leibniz's rule: with s = r^2 + eps2 and w =
    ! s^(-3/2), those of w follow from s w' = -3/2 s' w.
    subroutine sum_derivatives(m, vectors, sources, sinks, sums)
        integer, intent(in) :: m, vectors
        real(dp), intent(in) :: sources(3, n, 0:3), sinks(:, :, 0:)
        real(dp), intent(out) :: sums(3, m, 0:3)
        real(dp), parameter :: choose(0:3, 0:3) = &
            reshape([real(dp) :: 1, 1, 1, 1, 0, 1, 2, 3, 0, 0, 1, 3, 0, 0, 0, 1], [4, 4])
        real(dp) :: r(3, 0:3), s(0:3), w(0:3)
        integer :: i, j, k, q

        sums = 0
        do i = 1, m
            do j = 1, n
                if (i == j) cycle
                r = sources(:, j, :) - sinks(:, i, :)
                do q = 0, 3
                    s(q) = sum([(choose(q, k)*dot_product(r(:, k), r(:, q - k)), k = 0, q)])
                end do
                s(0) = s(0) + eps2
                w(0) = s(0)**(-1.5_dp)
                do q = 1, 3
                    w(q) = (sum([(-1.5_dp*choose(q - 1, k)*s(k + 1)*w(q - 1 - k), k = 0, q - 1)]) &
                        - sum([(choose(q - 1, k)*s(k)*w(q - k), k = 1, q - 1)]))/s(0)
                end do
                do q = 0, vectors - 1
                    do k = 0, q
                        sums(:, i, q) = sums(:, i, q) + mass(j)*choose(q, k)*w(k)*r(:, q - k)
                    end do
                end do
            end do
        end do
    end subroutine

    ! The sum of the regular forces and the forces of the neighbours is the full force.
    subroutine regular_forces
        type(c_ptr) :: system
        real(dp) :: r(3), w(3), r2
        integer(c_int32_t) :: list(n), count, i, j, k

        call succeed(kyoho_system_create(system, 4, KYOHO_PRECISION_DOUBLE, KYOHO_SCOPE_REGULAR))
        call succeed(kyoho_system_set_sources(system, n, 1, mass, x, velocities=v)) ! as indices the numbers in Fortran
        call succeed(kyoho_system_force(system, n + 1, n, x, v, eps2, indices=[(i, i = 1, n)], &
            radii2=spread(0.1_dp, 1, n), steps=spread(0.1_dp, 1, n), &
            neighbour_criterion=KYOHO_NEIGHBOUR_CRITERION_PLAIN, accelerations=acc, jerks=jerk, potentials=pot))
        do i = 1, n
            call succeed(kyoho_system_neighbours(system, i - 1, n, list, count))
            call expect(count > 0, 'there are neighbours')
            do k = 1, count
                j = list(k)
                r = x(:, j) - x(:, i)
                w = v(:, j) - v(:, i)
                call expect(min(sum(r**2), sum((r + 0.1_dp*w)**2)) < 0.1_dp, 'the criterion')
                r2 = sum(r**2) + eps2
                pot(i) = pot(i) - mass(j)/sqrt(r2)
                acc(:, i) = acc(:, i) + mass(j)/r2**1.5_dp*r
                jerk(:, i) = jerk(:, i) + mass(j)/r2**1.5_dp*(w - 3*dot_product(r, w)/r2*r)
            end do
        end do
        call expect_forces('regular forces')
        call succeed(kyoho_system_free(system))
    end subroutine

    ! A caller without indices has to choose that every source counts, also the sink itself.
    subroutine every_source
        type(c_ptr) :: system

        system = filled()
        call expect(kyoho_system_force(system, n, n, x, v, eps2, potentials=pot) == KYOHO_BAD_OPTION, 'no indices')
        call succeed(kyoho_system_force(system, n, n, x, v, eps2, exclusion=KYOHO_EXCLUDE_NOTHING, &
            potentials=pot, accelerations=acc, jerks=jerk))
        pot = pot + mass/sqrt(eps2)
        call expect_forces('every source')
        call succeed(kyoho_system_start(system, n, n, x, v, eps2, exclusion=KYOHO_EXCLUDE_NOTHING))
        call succeed(kyoho_system_wait(system, n))
        call succeed(kyoho_system_free(system))
    end subroutine

    ! Structures contain their size.
    subroutine sizes
        type(kyoho_options) :: options
        type(kyoho_sources) :: sources
        type(kyoho_sinks) :: sinks
        type(kyoho_forces) :: forces
        type(kyoho_predictions) :: predictions
        type(kyoho_statistics) :: statistics
        type(kyoho_interaction) :: interaction
        integer(c_int32_t) :: k

        call expect(options%structure_size == c_sizeof(options), 'the size of options')
        call expect(sources%structure_size == c_sizeof(sources), 'the size of sources')
        call expect(sinks%structure_size == c_sizeof(sinks), 'the size of sinks')
        call expect(forces%structure_size == c_sizeof(forces), 'the size of forces')
        call expect(predictions%structure_size == c_sizeof(predictions), 'the size of predictions')
        call expect(statistics%structure_size == c_sizeof(statistics), 'the size of statistics')
        call expect(interaction%structure_size == c_sizeof(interaction), 'the size of an interaction')

        call expect(kyoho_interaction_count() > 5, 'what can be computed')
        do k = 0, kyoho_interaction_count() - 1
            call succeed(kyoho_interaction_describe(k, interaction))
            call expect(index_of(kyoho_text(interaction%description), 'potential') > 0, 'a description')
        end do
    end subroutine

    ! The intrinsic function, whose name the program uses for something else.
    integer function index_of(text, part)
        character(len=*), intent(in) :: text, part

        do index_of = len(text) - len(part) + 1, 1, -1
            if (text(index_of:index_of + len(part) - 1) == part) return
        end do
    end function

    subroutine texts
        type(c_ptr) :: system, other
        integer(c_int32_t) :: devices
        character(len=100) :: name
        character(len=3) :: short
        type(kyoho_statistics) :: statistics

        call expect(len(kyoho_text(kyoho_version())) >= 5, 'a version')
        call expect(kyoho_library_version() == KYOHO_VERSION_NUMBER, 'the same version')
        call expect(kyoho_text(kyoho_result_text(KYOHO_OK)) == 'success', 'the text of a result')
        call expect(kyoho_backend_available(KYOHO_BACKEND_CPU, devices) == KYOHO_OK .and. devices == 1, 'there is a CPU')
        system = filled()
        call succeed(kyoho_system_device_count(system, devices))
        call succeed(kyoho_system_device_name(system, 0, name))
        call expect(devices == 1 .and. len_trim(name) > 3, 'the name of the CPU')
        call expect(kyoho_text(kyoho_system_last_error(system)) == '', 'no error, no text')
        call expect(kyoho_system_device_name(system, 0, short) == KYOHO_BUFFER_TOO_SMALL .and. short == name(:3), 'a short name')
        call succeed(kyoho_system_set_crossover(system, 1000_c_int64_t))
        call succeed(kyoho_system_move(system, KYOHO_BACKEND_CPU, 'all', threads=2))
        call succeed(kyoho_system_move(system))
        call succeed(kyoho_system_statistics(system, statistics))
        call expect(statistics%sources == n, 'a system that moves keeps its sources')
        call expect(kyoho_system_move(system, devices='first') == KYOHO_BAD_OPTION, 'no device is called first')

        x(2, 7) = ieee_value(0.0_dp, ieee_quiet_nan)
        call expect(kyoho_system_set_sources(system, n, 0, mass, x) == KYOHO_NOT_FINITE, 'NaN is found')
        call expect(kyoho_text(kyoho_system_last_error(system)) == &
            'the position of the source at address 6 is NaN; allowed: finite numbers', 'and named')
        call expect(kyoho_system_create(other, order=3) == KYOHO_BAD_OPTION, 'there is no order 3')
        call expect(.not. c_associated(other), 'and no system of order 3')
        call expect(kyoho_text(kyoho_last_error()) == "kyoho_options.order is '3'; allowed: 2, 4, 6, 8", 'and this is said')
        call succeed(kyoho_system_free(system))
    end subroutine
end program
