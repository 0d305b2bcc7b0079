! A fourth-order Hermite integrator with block time steps, on the Fortran module of Kyoho.
!
!     gfortran -O2 kyoho.f90 hermite4.f90 -lkyoho -o hermite4
!     ./hermite4 plummer1024.txt 1.0
!
! The file has a line `mass x y z vx vy vz` for each body (G = 1; empty lines and lines that begin
! with # are skipped); the second argument is the time to integrate to, a multiple of 1/8. The
! energy is printed at both ends.
!
! Each body has a time step of its own, a power of two. At every block step the bodies whose steps
! end first are predicted, feel the force of all bodies predicted to that time, are corrected, and
! get new steps by Aarseth's criterion (Makino & Aarseth 1992, PASJ 44, 141).
program hermite4
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use kyoho
    implicit none

    integer, parameter :: dp = c_double
    real(dp), parameter :: eta = 0.01_dp              ! accuracy of the steps
    real(dp), parameter :: eta_start = 0.005_dp       ! of the first ones
    real(dp), parameter :: softening2 = 1e-4_dp       ! the square of the softening length
    real(dp), parameter :: longest = 0.125_dp         ! the longest step
    real(dp), parameter :: shortest = 2.0_dp**(-40)

    type(c_ptr) :: system
    integer :: n, active, i, j, block_steps, body_steps
    real(dp) :: time, end_time, initial, final
    ! All bodies.
    real(dp), allocatable :: mass(:), body_time(:), step(:), pot(:), x(:, :), v(:, :), acc(:, :), jerk(:, :)
    ! Those of a block: which, predicted, and their new forces.
    integer, allocatable :: who(:)
    real(dp), allocatable :: xp(:, :), vp(:, :), new_acc(:, :), new_jerk(:, :)
    character(len=1024) :: argument

    if (command_argument_count() < 1) then
        write (error_unit, '(a)') 'usage: hermite4 FILE [TIME]'
        stop 2
    end if
    call get_command_argument(1, argument)
    call read_bodies(trim(argument))
    end_time = 1
    if (command_argument_count() > 1) then
        call get_command_argument(2, argument)
        read (argument, *) end_time
    end if
    if (.not. end_time > 0 .or. mod(end_time, longest) /= 0) then
        write (error_unit, '(a, g0, a)') 'hermite4: the time is ', end_time, '; allowed: multiples of 1/8'
        stop 2
    end if

    allocate (who(n), xp(3, n), vp(3, n), new_acc(3, n), new_jerk(3, n))
    allocate (acc(3, n), jerk(3, n), pot(n), body_time(n), step(n))
    call check(kyoho_system_create(system, order=4, precision=KYOHO_PRECISION_DOUBLE))
    body_time = 0
    who = [(i, i = 1, n)]
    call check(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v))
    call check(kyoho_system_force(system, n, n, x, v, softening2, indices=who - 1, &
        accelerations=acc, jerks=jerk, potentials=pot))
    call check(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, accelerations=acc, jerks=jerk))
    do i = 1, n
        step(i) = power_of_two(eta_start*sqrt(length2(acc(:, i))/length2(jerk(:, i))))
    end do
    initial = energy()

    time = 0
    block_steps = 0
    body_steps = 0
    do while (time < end_time)
        time = minval(body_time + step)
        active = 0
        do i = 1, n
            if (body_time(i) + step(i) == time) then
                active = active + 1
                who(active) = i
                call predict(i, time - body_time(i), xp(:, active), vp(:, active))
            end if
        end do
        call check(kyoho_system_set_time(system, time))
        ! Addresses and indices count from 0.
        call check(kyoho_system_force(system, n, active, xp, vp, softening2, indices=who(:active) - 1, &
            accelerations=new_acc, jerks=new_jerk))
        do j = 1, active
            call correct(who(j), xp(:, j), vp(:, j), new_acc(:, j), new_jerk(:, j))
        end do
        call check(kyoho_system_set_sources(system, active, 0, mass(who(:active)), xp, velocities=vp, &
            accelerations=new_acc, jerks=new_jerk, times=body_time(who(:active)), &
            indices=who(:active) - 1, addresses=who(:active) - 1))
        block_steps = block_steps + 1
        body_steps = body_steps + active
    end do

    ! Every step ends at the end; the potentials are those of the corrected positions.
    call check(kyoho_system_force(system, n, n, x, v, softening2, indices=[(i - 1, i = 1, n)], potentials=pot))
    final = energy()
    print '(a, i0)', 'bodies          ', n
    print '(a, i0)', 'block steps     ', block_steps
    print '(a, i0)', 'body steps      ', body_steps
    print '(a, es22.15)', 'initial energy  ', initial
    print '(a, es22.15)', 'final energy    ', final
    print '(a, es10.3)', 'relative error  ', (final - initial)/initial
    call check(kyoho_system_free(system))

contains

    subroutine check(code)
        integer(c_int32_t), intent(in) :: code

        if (code /= KYOHO_OK) then
            write (error_unit, '(2a)') 'hermite4: ', kyoho_text(kyoho_last_error())
            stop 1
        end if
    end subroutine

    subroutine read_bodies(path)
        character(len=*), intent(in) :: path
        character(len=1024) :: line
        integer :: unit, status, pass

        open (newunit=unit, file=path, status='old', action='read', iostat=status)
        if (status /= 0) then
            write (error_unit, '(3a)') 'hermite4: ', path, ': no bodies'
            stop 1
        end if
        do pass = 1, 2
            n = 0
            do
                read (unit, '(a)', iostat=status) line
                if (status /= 0) exit
                if (line == ' ' .or. line(1:1) == '#') cycle
                n = n + 1
                if (pass == 1) cycle
                read (line, *, iostat=status) mass(n), x(:, n), v(:, n)
                if (status /= 0) then
                    write (error_unit, '(4a)') 'hermite4: ', path, ': no ''mass x y z vx vy vz'': ', trim(line)
                    stop 1
                end if
            end do
            if (pass == 1) allocate (mass(n), x(3, n), v(3, n))
            rewind (unit)
        end do
        close (unit)
    end subroutine

    pure real(dp) function length2(a)
        real(dp), intent(in) :: a(3)

        length2 = a(1)*a(1) + a(2)*a(2) + a(3)*a(3)
    end function

    ! The longest power of two that is no longer than wanted.
    pure real(dp) function power_of_two(wanted)
        real(dp), intent(in) :: wanted

        power_of_two = longest
        do while (power_of_two > wanted .and. power_of_two > shortest)
            power_of_two = power_of_two/2
        end do
    end function

    subroutine predict(i, dt, position, velocity)
        integer, intent(in) :: i
        real(dp), intent(in) :: dt
        real(dp), intent(out) :: position(3), velocity(3)

        position = x(:, i) + dt*(v(:, i) + dt/2*(acc(:, i) + dt/3*jerk(:, i)))
        velocity = v(:, i) + dt*(acc(:, i) + dt/2*jerk(:, i))
    end subroutine

    ! Corrects a predicted body with its new force, makes it the body, and chooses its next step.
    subroutine correct(i, position, velocity, a, j)
        integer, intent(in) :: i
        real(dp), intent(inout) :: position(3), velocity(3)
        real(dp), intent(in) :: a(3), j(3)
        real(dp) :: dt, wanted, a2, j2, s2, c2, s(3), c(3)

        dt = time - body_time(i)
        s = (-6*(acc(:, i) - a) - dt*(4*jerk(:, i) + 2*j))/(dt*dt)
        c = (12*(acc(:, i) - a) + 6*dt*(jerk(:, i) + j))/(dt*dt*dt)
        position = position + dt*dt*dt*dt*(s/24 + dt*c/120)
        velocity = velocity + dt*dt*dt*(s/6 + dt*c/24)
        s = s + dt*c
        a2 = length2(a)
        j2 = length2(j)
        s2 = length2(s)
        c2 = length2(c)
        wanted = power_of_two(sqrt(eta*(sqrt(a2*s2) + j2)/(sqrt(j2*c2) + s2)))
        ! A step grows to twice its length at most, and only where the longer step would have begun.
        if (wanted > step(i)) then
            wanted = step(i)
            if (mod(time, 2*step(i)) == 0) wanted = 2*step(i)
        end if
        x(:, i) = position
        v(:, i) = velocity
        acc(:, i) = a
        jerk(:, i) = j
        body_time(i) = time
        step(i) = wanted
    end subroutine

    real(dp) function energy()
        integer :: i

        energy = 0
        do i = 1, n
            energy = energy + mass(i)*(length2(v(:, i)) + pot(i))/2
        end do
    end function
end program
