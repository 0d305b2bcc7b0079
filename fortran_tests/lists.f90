! Interaction lists and batches through the Fortran module: plain arrays, and arrays inside derived
! types. Broken promises are written to stderr.
program lists_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use kyoho
    implicit none

    integer, parameter :: dp = c_double, n = 200, groups = 3, sinks = 60
    real(dp), parameter :: eps2 = 1e-3_dp

    ! A particle and a group as a code may define them.
    type, bind(c) :: particle
        real(c_double) :: x(3), v(3), acc(3), jerk(3), mass, pot
        integer(c_int32_t) :: index, other
    end type
    type, bind(c) :: group
        integer(c_int64_t) :: first_source
        integer(c_int32_t) :: first_sink, first_address, count, other
    end type

    ! Group g has the sinks from sink_offsets(g) on, as numbers begin with 0, and the sources at
    ! `counts(g)` addresses from `first(g)` on.
    integer(c_int32_t), parameter :: sink_offsets(groups + 1) = [0, 20, 20, sinks]
    integer(c_int32_t), parameter :: first(groups) = [10, 0, 0], counts(groups) = [50, 3, n]
    integer(c_int64_t) :: source_offsets(groups + 1)
    integer(c_int32_t), target :: list(sum(counts))
    integer(c_int32_t) :: index(n), nearest(n)
    integer :: failures, seeds, i, k
    real(dp) :: mass(n), x(3, n), v(3, n), acc(3, n), jerk(3, n), pot(n), nearest2(n)
    real(dp) :: expected_acc(3, n), expected_jerk(3, n), expected_pot(n)
    type(c_ptr) :: system

    failures = 0
    call random_seed(size=seeds)
    call random_seed(put=[(12345 + 7*i, i = 1, seeds)])
    call random_number(mass)
    call random_number(x)
    call random_number(v)
    index = [(5000 + i, i = 1, n)]
    source_offsets(1) = 0
    do i = 1, groups
        source_offsets(i + 1) = source_offsets(i) + counts(i)
        list(source_offsets(i) + 1:source_offsets(i + 1)) = [(first(i) + k, k = 0, counts(i) - 1)]
    end do

    call succeed(kyoho_system_create(system, order=4, precision=KYOHO_PRECISION_DOUBLE))
    call succeed(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, indices=index))
    call plain_lists
    call lists_in_derived_types
    call what_is_left_out
    call predicted_sources
    call plain_batch
    call batch_in_derived_types
    call succeed(kyoho_system_free(system))
    call order_6_and_8(6)
    call order_6_and_8(8)
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

    ! The slow and obvious sums over the bodies from one to another, which leave out the sink.
    subroutine sum_forces(i, from, to)
        integer, intent(in) :: i, from, to
        integer :: j
        real(dp) :: r(3), w(3), r2, m

        expected_acc(:, i) = 0
        expected_jerk(:, i) = 0
        expected_pot(i) = 0
        do j = from, to
            if (i == j) cycle
            r = x(:, j) - x(:, i)
            w = v(:, j) - v(:, i)
            r2 = sum(r**2) + eps2
            m = mass(j)/(r2*sqrt(r2))
            expected_pot(i) = expected_pot(i) - mass(j)/sqrt(r2)
            expected_acc(:, i) = expected_acc(:, i) + m*r
            expected_jerk(:, i) = expected_jerk(:, i) + m*(w - 3*dot_product(r, w)/r2*r)
        end do
    end subroutine

    ! Checks the first forces against the sums.
    subroutine expect_forces(count, what)
        integer, intent(in) :: count
        character(len=*), intent(in) :: what

        call expect(maxval(abs(acc(:, :count) - expected_acc(:, :count))) < &
            1e-12_dp*maxval(abs(expected_acc(:, :count))), what//': accelerations')
        call expect(maxval(abs(jerk(:, :count) - expected_jerk(:, :count))) < &
            1e-12_dp*maxval(abs(expected_jerk(:, :count))), what//': jerks')
        call expect(maxval(abs(pot(:count) - expected_pot(:count))) < &
            1e-12_dp*maxval(abs(expected_pot(:count))), what//': potentials')
        acc = 0
        jerk = 0
        pot = 0
    end subroutine

    subroutine sum_groups
        integer :: g, i

        do g = 1, groups
            do i = sink_offsets(g) + 1, sink_offsets(g + 1)
                call sum_forces(i, first(g) + 1, first(g) + counts(g))
            end do
        end do
    end subroutine

    ! The arrays of each form are given by their names.
    subroutine plain_lists
        type(kyoho_statistics) :: statistics

        call sum_groups
        call succeed(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            first_addresses=first, source_counts=counts, potentials=pot, accelerations=acc, jerks=jerk))
        call expect_forces(sinks, 'ranges')
        acc(:, sinks + 1) = 7
        call succeed(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            source_offsets=source_offsets, addresses=list, potentials=pot, accelerations=acc, jerks=jerk, &
            nearest=nearest, nearest_distance2=nearest2))
        call expect(all(acc(:, sinks + 1) == 7), 'only so many rows are written')
        call expect_forces(sinks, 'lists')
        call expect(nearest(1) == index(first(1) + minloc([(norm2(x(:, i) - x(:, 1)), &
            i = first(1) + 1, first(1) + counts(1))], 1)), 'the nearest source of the list')
        call expect(abs(sqrt(nearest2(1)) - norm2(x(:, nearest(1) - 5000) - x(:, 1))) < 1e-12_dp, 'its distance')
        call succeed(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, indices=index, &
            softening2_each=spread(eps2, 1, sinks), source_offsets=source_offsets, source_count=size(list), &
            source_masses=mass(list + 1), source_positions=x(:, list + 1), source_velocities=v(:, list + 1), &
            source_indices=index(list + 1), potentials=pot, accelerations=acc, jerks=jerk))
        call expect_forces(sinks, 'sources of the call')

        call succeed(kyoho_system_start_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            source_offsets=source_offsets, addresses=list))
        call expect(kyoho_system_start_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            first_addresses=first, source_counts=counts) == KYOHO_CALL_ORDER, 'one call at a time')
        call succeed(kyoho_system_wait(system, sinks, potentials=pot, accelerations=acc, jerks=jerk))
        call expect_forces(sinks, 'start and wait')
        call succeed(kyoho_system_statistics(system, statistics))
        call expect(statistics%sources == n .and. statistics%sinks == 4*sinks, 'statistics')

        ! An array of another form is an error, and one that is missing.
        call expect(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            first_addresses=first, source_counts=counts, addresses=list) == KYOHO_BAD_OPTION, 'one form')
        call expect(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            first_addresses=first) == KYOHO_NULL_ARGUMENT, 'all of a form')
        call expect(kyoho_text(kyoho_last_error()) == 'kyoho_lists.source_counts is null', 'and this is said')
        call expect(kyoho_system_start_lists(system, groups, sink_offsets, sinks, x, v, eps2, indices=index, &
            source_offsets=source_offsets, source_positions=x(:, list + 1)) == KYOHO_BAD_COUNT, 'a count of sources')
        call expect(kyoho_system_force_lists(system, groups, sink_offsets, sinks - 1, x, v, eps2, indices=index, &
            first_addresses=first, source_counts=counts) == KYOHO_BAD_COUNT, 'as many sinks as the offsets say')
    end subroutine

    function particles() result(p)
        type(particle) :: p(n)
        integer :: i

        do i = 1, n
            p(i) = particle(x=x(:, i), v=v(:, i), acc=0, jerk=0, mass=mass(i), pot=0, index=index(i), other=i)
        end do
    end function

    function sources_of(p) result(sources)
        type(particle), intent(in), target :: p(:)
        type(kyoho_sources) :: sources
        integer(c_int64_t) :: stride

        stride = c_sizeof(p(1))
        sources%count = size(p)
        sources%masses = kyoho_const_reals(c_loc(p(1)%mass), stride)
        sources%positions = kyoho_const_reals(c_loc(p(1)%x), stride)
        sources%velocities = kyoho_const_reals(c_loc(p(1)%v), stride)
        sources%indices = kyoho_const_integers(c_loc(p(1)%index), stride)
    end function

    function forces_of(p) result(forces)
        type(particle), intent(in), target :: p(:)
        type(kyoho_forces) :: forces
        integer(c_int64_t) :: stride

        stride = c_sizeof(p(1))
        forces%potentials = kyoho_reals(c_loc(p(1)%pot), stride)
        forces%accelerations = kyoho_reals(c_loc(p(1)%acc), stride)
        forces%jerks = kyoho_reals(c_loc(p(1)%jerk), stride)
    end function

    subroutine take_forces(p)
        type(particle), intent(in) :: p(:)
        integer :: i

        do i = 1, size(p)
            acc(:, i) = p(i)%acc
            jerk(:, i) = p(i)%jerk
            pot(i) = p(i)%pot
            call expect(p(i)%other == i .and. p(i)%index == index(i), 'what is no result stays')
        end do
    end subroutine

    subroutine lists_in_derived_types
        type(particle), target :: p(n), listed(size(list))
        type(group), target :: g(groups + 1)
        type(kyoho_lists) :: lists
        type(kyoho_sources), target :: own
        type(kyoho_sinks) :: on
        type(kyoho_forces) :: forces
        integer(c_int64_t) :: stride
        integer :: i, form

        call sum_groups
        p = particles()
        listed = p(list + 1)
        do i = 1, groups + 1
            g(i) = group(source_offsets(i), sink_offsets(i), first(min(i, groups)), counts(min(i, groups)), i)
        end do
        stride = c_sizeof(p(1))
        on%count = sinks
        on%softening2 = eps2
        on%positions = kyoho_const_reals(c_loc(p(1)%x), stride)
        on%velocities = kyoho_const_reals(c_loc(p(1)%v), stride)
        on%indices = kyoho_const_integers(c_loc(p(1)%index), stride)
        own = sources_of(listed)
        forces = forces_of(p)
        stride = c_sizeof(g(1))
        do form = 1, 3
            lists = kyoho_lists(group_count=groups)
            lists%sink_offsets = kyoho_const_integers(c_loc(g(1)%first_sink), stride)
            if (form == 1) then
                lists%first_addresses = kyoho_const_integers(c_loc(g(1)%first_address), stride)
                lists%source_counts = kyoho_const_integers(c_loc(g(1)%count), stride)
            else
                lists%source_offsets = kyoho_const_long_integers(c_loc(g(1)%first_source), stride)
            end if
            if (form == 2) lists%addresses = kyoho_const_integers(c_loc(list), 0)
            if (form == 3) lists%sources = c_loc(own)
            call succeed(kyoho_system_force_lists(system, lists, on, forces))
            call take_forces(p)
            call expect_forces(sinks, 'lists in derived types')
            p%pot = 0
            call succeed(kyoho_system_start_lists(system, lists, on))
            call succeed(kyoho_system_wait(system, forces))
            call take_forces(p)
            call expect_forces(sinks, 'start and wait in derived types')
        end do
    end subroutine

    ! Sinks feel themselves only if they are told to.
    subroutine what_is_left_out
        call sum_groups
        call expect(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, eps2, &
            first_addresses=first, source_counts=counts) == KYOHO_BAD_OPTION, 'no indices')
        call succeed(kyoho_system_force_lists(system, groups, sink_offsets, sinks, x, v, eps2, &
            exclusion=KYOHO_EXCLUDE_NOTHING, first_addresses=first, source_counts=counts, &
            potentials=pot, accelerations=acc, jerks=jerk))
        pot(11:sinks) = pot(11:sinks) + mass(11:sinks)/sqrt(eps2)
        call expect_forces(sinks, 'every source')
        call succeed(kyoho_system_start_lists(system, 0, [0], 0, x, v))
        call succeed(kyoho_system_wait(system, 0))
    end subroutine

    ! Sources of a call and bodies of a batch move to the system's time.
    subroutine predicted_sources
        integer, parameter :: two(2) = [0, 2]
        real(dp) :: times(2), a(3, 2), then(3, 2)
        integer :: i, k

        call sum_forces(1, 1, 2)
        call sum_forces(2, 1, 2)
        times = [-0.5_dp, 0.25_dp]
        a = 0
        a(1, :) = 2
        do i = 1, 2
            then(:, i) = x(:, i) + times(i)*(v(:, i) + times(i)/2*a(:, i))
        end do
        do k = 1, 2
            if (k == 1) then
                call succeed(kyoho_system_force_lists(system, 1, two, 2, x, v, eps2, indices=index, &
                    source_offsets=[0_c_int64_t, 2_c_int64_t], source_count=2, source_masses=mass, &
                    source_positions=then, source_velocities=v(:, :2) + spread(times, 1, 3)*a, &
                    source_accelerations=a, source_times=times, source_indices=index, potentials=pot))
            else
                call succeed(kyoho_system_force_batch(system, 1, two, 2, mass, then, &
                    v(:, :2) + spread(times, 1, 3)*a, eps2, body_accelerations=a, times=times, potentials=pot))
            end if
            call expect(maxval(abs(pot(:2) - expected_pot(:2))) < 1e-12_dp*maxval(abs(expected_pot(:2))), &
                'predicted sources')
        end do
    end subroutine

    subroutine sum_systems(offsets)
        integer(c_int32_t), intent(in) :: offsets(:)
        integer :: s, i

        do s = 1, size(offsets) - 1
            do i = offsets(s) + 1, offsets(s + 1)
                call sum_forces(i, offsets(s) + 1, offsets(s + 1))
            end do
        end do
    end subroutine

    subroutine plain_batch
        integer(c_int32_t), parameter :: offsets(5) = [0, 3, 4, 60, n]

        call sum_systems(offsets)
        call succeed(kyoho_system_force_batch(system, 4, offsets, n, mass, x, v, eps2, &
            potentials=pot, accelerations=acc, jerks=jerk, nearest=nearest, nearest_distance2=nearest2))
        call expect_forces(n, 'a batch')
        ! Without indices a body has its number, from 0 on.
        call expect(all(nearest(:3) >= 0) .and. all(nearest(:3) <= 2) .and. nearest(4) == -1, 'the nearest body')
        call expect(nearest2(4) > huge(nearest2(4)), 'of none the distance is infinite')
        call succeed(kyoho_system_start_batch(system, 4, offsets, n, mass, x, v, indices=index, &
            softening2_each=spread(eps2, 1, n)))
        call succeed(kyoho_system_wait(system, n, potentials=pot, accelerations=acc, jerks=jerk))
        call expect_forces(n, 'a batch, start and wait')
        call expect(kyoho_system_force_batch(system, 3, offsets, n, mass, x, v) == KYOHO_BAD_COUNT, 'all systems')
        call expect(kyoho_text(kyoho_system_last_error(system)) == &
            'the offset 3, the last, is 60; allowed: 200, the number of bodies', 'and this is said')
    end subroutine

    subroutine batch_in_derived_types
        integer(c_int32_t), parameter :: offsets(3) = [0, 90, n]
        type(particle), target :: p(n)
        type(group), target :: g(3)
        type(kyoho_batch) :: batch
        type(kyoho_sources) :: bodies
        type(kyoho_forces) :: forces
        integer :: i

        call sum_systems(offsets)
        p = particles()
        do i = 1, 3
            g(i) = group(0, offsets(i), 0, 0, i)
        end do
        bodies = sources_of(p)
        forces = forces_of(p)
        batch%system_count = 2
        batch%softening2 = eps2
        batch%offsets = kyoho_const_integers(c_loc(g(1)%first_sink), c_sizeof(g(1)))
        call succeed(kyoho_system_force_batch(system, batch, bodies, forces))
        call take_forces(p)
        call expect_forces(n, 'a batch in derived types')
        p%pot = 0
        call succeed(kyoho_system_start_batch(system, batch, bodies))
        call succeed(kyoho_system_wait(system, forces))
        call take_forces(p)
        call expect_forces(n, 'a batch in derived types, start and wait')
    end subroutine

    ! Lists and a batch of one group of all bodies have the forces of a block.
    subroutine order_6_and_8(order)
        integer(c_int32_t), intent(in) :: order
        real(dp) :: d(3, n, 0:7), f(3, n, 3, 3), pots(n, 3)
        integer :: k

        call random_number(d)
        f = 0
        call succeed(kyoho_system_create(system, order=order, precision=KYOHO_PRECISION_DOUBLE))
        call succeed(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, accelerations=d(:, :, 0), &
            jerks=d(:, :, 1), snaps=d(:, :, 2), crackles=d(:, :, 3), sixth_derivatives=d(:, :, 4), &
            seventh_derivatives=d(:, :, 5), indices=index))
        call succeed(kyoho_system_force(system, n, n, x, v, eps2, indices=index, &
            sink_accelerations=d(:, :, 0), sink_jerks=d(:, :, 1), potentials=pots(:, 1), &
            accelerations=f(:, :, 1, 1), jerks=f(:, :, 2, 1), snaps=f(:, :, 3, 1)))
        call succeed(kyoho_system_force_lists(system, 1, [0, n], n, x, v, eps2, indices=index, &
            sink_accelerations=d(:, :, 0), sink_jerks=d(:, :, 1), source_offsets=int([0, n], c_int64_t), &
            source_count=n, source_masses=mass, source_positions=x, source_velocities=v, &
            source_accelerations=d(:, :, 0), source_jerks=d(:, :, 1), source_snaps=d(:, :, 2), &
            source_crackles=d(:, :, 3), source_sixth_derivatives=d(:, :, 4), &
            source_seventh_derivatives=d(:, :, 5), source_indices=index, potentials=pots(:, 2), &
            accelerations=f(:, :, 1, 2), jerks=f(:, :, 2, 2), snaps=f(:, :, 3, 2)))
        call succeed(kyoho_system_force_batch(system, 1, [0, n], n, mass, x, v, eps2, &
            body_accelerations=d(:, :, 0), body_jerks=d(:, :, 1), body_snaps=d(:, :, 2), &
            body_crackles=d(:, :, 3), body_sixth_derivatives=d(:, :, 4), &
            body_seventh_derivatives=d(:, :, 5), potentials=pots(:, 3), accelerations=f(:, :, 1, 3), &
            jerks=f(:, :, 2, 3), snaps=f(:, :, 3, 3)))
        do k = 2, 3
            call expect(maxval(abs(f(:, :, :, k) - f(:, :, :, 1))) < 1e-11_dp*maxval(abs(f(:, :, :, 1))), &
                'forces of orders 6 and 8')
            call expect(maxval(abs(pots(:, k) - pots(:, 1))) < 1e-12_dp*maxval(abs(pots(:, 1))), &
                'potentials of orders 6 and 8')
        end do
        call succeed(kyoho_system_free(system))
    end subroutine

    ! Structures contain their size.
    subroutine sizes
        type(kyoho_lists) :: lists
        type(kyoho_batch) :: batch

        call expect(lists%structure_size == c_sizeof(lists), 'the size of lists')
        call expect(batch%structure_size == c_sizeof(batch), 'the size of a batch')
    end subroutine
end program
