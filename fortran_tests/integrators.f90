! An integrator through the Fortran module: bodies that evolve, and a procedure that ends it. Broken
! promises are written to stderr.
module progress_of_test
    use, intrinsic :: iso_c_binding
    implicit none
    real(c_double) :: until = 0.5_c_double
contains
    function progress(context, time, block_steps) bind(c) result(ends)
        type(c_ptr), value :: context
        real(c_double), value :: time
        integer(c_int64_t), value :: block_steps
        integer(c_int32_t) :: ends

        ends = 0
        if (block_steps > 0 .and. time >= until .and. .not. c_associated(context)) ends = 1
    end function

    ! A field without forces, whose potential is 3.
    function level(context, value, time, count, positions, velocities, accelerations, values) bind(c) result(failed)
        use kyoho, only: KYOHO_FIELD_VALUE_POTENTIAL, KYOHO_FIELD_VALUE_JERK
        type(c_ptr), value :: context
        integer(c_int32_t), value :: value, count
        real(c_double), value :: time
        real(c_double), intent(in) :: positions(3, count), velocities(3, count), accelerations(3, count)
        real(c_double), intent(out) :: values(*)
        integer(c_int32_t) :: failed

        failed = 0
        if (c_associated(context) .or. time < 0 .or. size(positions) /= size(velocities)) failed = 1
        if (value == KYOHO_FIELD_VALUE_POTENTIAL) then
            values(:count) = 3
        else if (value == KYOHO_FIELD_VALUE_JERK) then
            values(:3*count) = 0*reshape(accelerations, [3*count])
        else
            values(:3*count) = 0
        end if
    end function
end module

program integrators_test
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use kyoho
    use progress_of_test
    implicit none

    integer, parameter :: dp = c_double
    integer(c_int64_t), target :: identifiers(2) = [7_c_int64_t, 8000000000_c_int64_t], nearest(2) = 0
    real(dp), target :: mass(2) = 0.5_dp, x(3, 2), v(3, 2), potentials(2)
    real(dp) :: kinetic, potential
    real(dp) :: model_m(40), model_x(3, 40), model_v(3, 40)
    type(c_ptr) :: integrator
    type(kyoho_options) :: options
    type(kyoho_integrator_options) :: given
    type(kyoho_bodies) :: bodies
    type(kyoho_body_states) :: states
    type(kyoho_evolve_options) :: ends
    type(kyoho_evolution) :: evolution, ensemble(1)
    integer(c_int32_t) :: results(1)
    type(kyoho_integration) :: integration
    integer(c_int32_t), target :: groups(2) = [0, 1]
    integer(c_int32_t) :: group, feels(2)
    integer(c_int32_t), target :: offsets(2) = [0, 2], end_of_system(1) = -1
    character(len=*), parameter :: law = 'pair pull'//new_line('a')//'i pos: vec3<f64>'//new_line('a')// &
        'j pos: vec3<f64>'//new_line('a')//'param strength: f64'//new_line('a')// &
        'result potential: f64 sum'//new_line('a')//'body'//new_line('a')// &
        '  potential += strength * norm2(j.pos - i.pos)'//new_line('a')
    type(kyoho_few_body_options) :: few_options
    type(kyoho_few_body_systems) :: systems
    type(kyoho_few_body_outcomes) :: outcomes

    ! Two bodies on a circle of radius 1/2 with period 2 pi.
    x = 0
    v = 0
    x(1, :) = [0.5_dp, -0.5_dp]
    v(2, :) = [0.5_dp, -0.5_dp]
    options%order = 6
    given%eta = 0.05_dp
    call succeed(kyoho_integrator_create(options, given, integrator))
    bodies%count = 2
    bodies%identifiers%data = c_loc(identifiers)
    bodies%masses%data = c_loc(mass)
    bodies%positions%data = c_loc(x)
    bodies%velocities%data = c_loc(v)
    call succeed(kyoho_integrator_add_bodies(integrator, bodies))
    call succeed(kyoho_integrator_energies(integrator, kinetic, potential))
    call check(abs(kinetic - 0.125_dp) < 1e-14_dp .and. abs(potential + 0.25_dp) < 1e-14_dp, 'energies')

    ends%progress = c_funloc(progress)
    call succeed(kyoho_integrator_evolve(integrator, 2.0_dp, ends, evolution))
    call check(evolution%end == KYOHO_EVOLUTION_END_CALLER .and. evolution%time >= until, 'progress')
    call succeed(kyoho_integrator_evolve(integrator, 2.0_dp, evolution=evolution))
    call check(evolution%end == KYOHO_EVOLUTION_END_TIME .and. evolution%time == 2.0_dp, 'time')
    states%count = 2
    states%positions%data = c_loc(x)
    states%potentials%data = c_loc(potentials)
    states%nearest%data = c_loc(nearest)
    call succeed(kyoho_integrator_get_bodies(integrator, states))
    call check(norm2(x(:, 1) - 0.5_dp*[cos(2.0_dp), sin(2.0_dp), 0.0_dp]) < 1e-7_dp, 'orbit')
    call check(all(nearest == identifiers([2, 1])) .and. all(abs(potentials + 0.5_dp) < 1e-6_dp), 'nearest')

    call succeed(kyoho_integrator_remove_bodies(integrator, 1, identifiers(2:)))
    call succeed(kyoho_integrator_describe(integrator, integration))
    call check(integration%body_count == 1 .and. integration%steps > 0, 'removal')
    call check(kyoho_integrator_evolve(integrator, 1.0_dp) == KYOHO_BAD_OPTION, 'a time that has gone')
    call check(index(kyoho_text(kyoho_integrator_last_error(integrator)), 'allowed: from 2') > 0, 'its text')

    call succeed(kyoho_integrator_add_field(integrator, 'plummer'//c_null_char, 'radius mass'//c_null_char, &
            2, [3.0_dp, 5.0_dp]))
    call succeed(kyoho_integrator_field_energy(integrator, kinetic))
    call check(abs(kinetic + 2.5_dp/sqrt(9.25_dp)) < 1e-7_dp, 'energy in a field')
    call succeed(kyoho_integrator_add_moving_field(integrator, 'plummer'//c_null_char, 'radius mass'//c_null_char, &
            2, [3.0_dp, 5.0_dp], 2, [2.0_dp, 4.0_dp], reshape([real(dp) :: 0, 0, 0, 0, 0, 0], [3, 2])))
    call succeed(kyoho_integrator_field_energy(integrator, potential))
    call check(abs(potential/kinetic - 2) < 1e-12_dp, 'energy in a field that moves')
    call succeed(kyoho_integrator_add_law(integrator, law//c_null_char, 'strength'//c_null_char, 1, [2.0_dp], 0, 0))
    call succeed(kyoho_integrator_law_energy(integrator, potential))
    call check(potential == 0, 'energy of one body by a law')
    call check(kyoho_integrator_add_law(integrator, law//c_null_char, c_null_char, 0, [2.0_dp], 0, 0) &
            == KYOHO_BAD_OPTION, 'a law without its parameter')
    call check(kyoho_integrator_add_field_function(integrator, c_funloc(level), c_null_ptr, 1) == KYOHO_BAD_OPTION, &
            'a field of a procedure in order 6')
    call succeed(kyoho_integrator_free(integrator))
    options%order = 4
    call succeed(kyoho_integrator_create(options, given, integrator))
    call succeed(kyoho_integrator_add_bodies(integrator, bodies))
    call succeed(kyoho_integrator_add_field_function(integrator, c_funloc(level), c_null_ptr, 1))
    call succeed(kyoho_integrators_evolve(1, [integrator], [1.0_dp], evolutions=ensemble, results=results))
    call check(results(1) == KYOHO_OK .and. ensemble(1)%time == 1.0_dp, 'an ensemble')
    call succeed(kyoho_integrator_field_energy(integrator, potential))
    call check(abs(potential - 3) < 1e-12_dp, 'energy in the field of a procedure')
    call succeed(kyoho_integrator_free(integrator))

    ! A group that the others do not feel.
    call succeed(kyoho_integrator_create(options, given, integrator))
    call succeed(kyoho_integrator_add_group(integrator, 0.5_dp, group))
    call succeed(kyoho_integrator_set_feels(integrator, 0, group, 0))
    bodies%groups%data = c_loc(groups)
    call succeed(kyoho_integrator_add_bodies(integrator, bodies))
    call succeed(kyoho_integrator_group(integrator, 0, kinetic, 2, feels))
    call check(group == 1 .and. all(feels == [1, 0]) .and. kinetic == given%softening, 'groups')
    states%potentials%data = c_loc(potentials)
    call succeed(kyoho_integrator_get_bodies(integrator, states))
    call check(potentials(1) == 0 .and. potentials(2) < 0, 'what a group feels')
    call succeed(kyoho_integrator_free(integrator))
    bodies%groups%data = c_null_ptr

    call succeed(kyoho_gravitational_constant('pc Msun Myr'//c_null_char, potential))
    call check(abs(potential - 4.498502e-3_dp) < 1e-9_dp, 'the gravitational constant')

    ! Two models on an orbit, the first with its text alone.
    call succeed(kyoho_model_make('king,w0=5 kroupa'//c_null_char, count=20, seed=3_c_int64_t, masses=model_m, &
            positions=model_x, velocities=model_v))
    call check(abs(sum(model_m(:20)) - 1) < 1e-12_dp, 'the mass of a model')
    call succeed(kyoho_model_make('plummer,mass=2,radius=1pc'//c_null_char, 'pc Msun Myr'//c_null_char, 20, &
            3_c_int64_t, model_m(21:), model_x(:, 21:), model_v(:, 21:)))
    call succeed(kyoho_model_two_clusters('separation=9,speed=1'//c_null_char, first_count=20, second_count=20, &
            masses=model_m, positions=model_x, velocities=model_v))
    call check(abs(sum(model_x(1, 21:))/20 - 3) < 1e-12_dp .and. abs(sum(model_v(1, 21:))/20 + 1.0_dp/3) < 1e-12_dp, &
            'two clusters')

    ! The two bodies as a system of few, which Kepler's solution moves.
    x = 0
    v = 0
    x(1, :) = [0.5_dp, -0.5_dp]
    v(2, :) = [0.5_dp, -0.5_dp]
    few_options%time = 2.0_dp
    systems%system_count = 1
    systems%offsets%data = c_loc(offsets)
    systems%masses%data = c_loc(mass)
    systems%positions%data = c_loc(x)
    systems%velocities%data = c_loc(v)
    outcomes%ends%data = c_loc(end_of_system)
    call succeed(kyoho_few_body_evolve(few_options, systems, outcomes))
    call check(end_of_system(1) == KYOHO_FEW_BODY_END_TIME, 'end of a system')
    call check(norm2(x(:, 1) - 0.5_dp*[cos(2.0_dp), sin(2.0_dp), 0.0_dp]) < 1e-14_dp, 'orbit of two')
    call read_states_anew
    call read_systems_anew

contains

    ! Compilers know that arrays of a subroutine change only in calls that may change them.
    subroutine read_states_anew
        type(c_ptr) :: integrator
        type(kyoho_integrator_options) :: given
        type(kyoho_bodies) :: bodies
        type(kyoho_body_states) :: states
        type(kyoho_encounters) :: encounters
        type(kyoho_binaries) :: binaries
        real(dp), target :: mass(2), x(3, 2), v(3, 2), found(2)
        integer(c_int64_t), target :: identifiers(2), first(1)

        identifiers = [5, 9]
        mass = 0.5_dp
        x = reshape([0.1_dp, 0.0_dp, 0.0_dp, -0.1_dp, 0.0_dp, 0.0_dp], [3, 2])
        v = reshape([0.0_dp, 1.0_dp, 0.0_dp, 0.0_dp, -1.0_dp, 0.0_dp], [3, 2])
        given%subsystem_radius = 0.5_dp
        call succeed(kyoho_integrator_create(integrator_options=given, integrator=integrator))
        bodies%count = 2
        bodies%identifiers%data = c_loc(identifiers)
        bodies%masses%data = c_loc(mass)
        bodies%positions%data = c_loc(x)
        bodies%velocities%data = c_loc(v)
        call succeed(kyoho_integrator_add_bodies(integrator, bodies))
        found = -3
        states%count = 2
        states%masses%data = c_loc(found)
        call succeed(kyoho_integrator_get_bodies(integrator, states))
        call check(all(found == 0.5_dp), 'masses are read anew')
        call succeed(kyoho_integrator_evolve(integrator, 0.1_dp))
        found = -3
        binaries%capacity = 2
        binaries%semi_major_axes%data = c_loc(found)
        call succeed(kyoho_integrator_binaries(integrator, binaries))
        call check(found(1) > 0, 'binaries are read anew')
        call succeed(kyoho_integrator_free(integrator))
        ! They fall towards each other.
        v = -10*x
        given%approach_distance = 0.05_dp
        given%subsystem_radius = 0
        call succeed(kyoho_integrator_create(integrator_options=given, integrator=integrator))
        call succeed(kyoho_integrator_add_bodies(integrator, bodies))
        call succeed(kyoho_integrator_evolve(integrator, 1.0_dp))
        first = -3
        encounters%capacity = 1
        encounters%first%data = c_loc(first)
        call succeed(kyoho_integrator_encounters(integrator, encounters))
        call check(first(1) == 5, 'encounters are read anew')
        call succeed(kyoho_integrator_free(integrator))
    end subroutine

    subroutine read_systems_anew
        type(kyoho_few_body_options) :: options
        type(kyoho_few_body_systems) :: systems
        type(kyoho_few_body_outcomes) :: outcomes
        integer(c_int32_t), target :: offsets(2), ends(1)
        real(dp), target :: mass(1), x(3, 1), v(3, 1)

        offsets = [0, 1]
        mass = 1
        x = 0
        v = 1
        ends = -5
        options%time = 1
        systems%system_count = 1
        systems%offsets%data = c_loc(offsets)
        systems%masses%data = c_loc(mass)
        systems%positions%data = c_loc(x)
        systems%velocities%data = c_loc(v)
        outcomes%ends%data = c_loc(ends)
        call succeed(kyoho_few_body_evolve(options, systems, outcomes))
        call check(all(x == 1) .and. ends(1) == KYOHO_FEW_BODY_END_TIME, 'systems are read anew')
    end subroutine

    subroutine check(is_so, what)
        logical, intent(in) :: is_so
        character(len=*), intent(in) :: what

        if (.not. is_so) write (error_unit, *) 'not so: ', what
    end subroutine

    subroutine succeed(code)
        integer(c_int32_t), intent(in) :: code

        if (code /= KYOHO_OK) write (error_unit, *) kyoho_text(kyoho_last_error())
    end subroutine
end program
