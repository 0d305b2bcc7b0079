! A program that gfortran's -ffpe-trap=invalid,zero,overflow ends where it divides by zero, on g6,
! g5 and the native calls. What is not as promised is written to stderr.
program traps
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: dp => real64, error_unit
    use, intrinsic :: ieee_arithmetic
    use kyoho
    implicit none

    integer, parameter :: n = 500
    type(ieee_flag_type), parameter :: trapped(3) = [ieee_invalid, ieee_divide_by_zero, ieee_overflow]
    integer :: failures, seeds, i
    real(dp) :: mass(n), x(3, n), v(3, n), acc(3, n), jerk(3, n), pot(n), zero(3), radii2(n), softening2
    real(dp) :: expected(3, n), expected_pot(n)
    integer(c_int32_t) :: index(n), nearest(n)

    failures = 0
    call random_seed(size=seeds)
    call random_seed(put=[(12345 + 7*i, i = 1, seeds)])
    call random_number(mass)
    call random_number(x)
    call random_number(v)
    index = [(i, i = 1, n)]
    zero = 0
    radii2 = 0

    softening2 = 0
    call every_interface
    softening2 = 0.01_dp
    call every_interface
    if (failures > 0) stop 1

contains

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (holds) return
        failures = failures + 1
        write (error_unit, '(2a)') 'not so: ', what
    end subroutine

    subroutine every_interface
        call sum_forces
        call ieee_set_flag(ieee_all, .false.)
        call g6
        call expect_environment('g6')
        call g5
        call expect_environment('g5')
        call native
        call expect_environment('native')
    end subroutine

    ! The slow and obvious sums.
    subroutine sum_forces
        integer :: j
        real(dp) :: r(3), r2

        expected = 0
        expected_pot = 0
        do i = 1, n
            do j = 1, n
                if (i == j) cycle
                r = x(:, j) - x(:, i)
                r2 = sum(r**2) + softening2
                expected_pot(i) = expected_pot(i) - mass(j)/sqrt(r2)
                expected(:, i) = expected(:, i) + mass(j)/(r2*sqrt(r2))*r
            end do
        end do
    end subroutine

    ! What is trapped is trapped as before, and of that nothing was raised.
    subroutine expect_environment(what)
        character(len=*), intent(in) :: what
        logical :: halts(3), raised(3)

        call ieee_get_halting_mode(trapped, halts)
        call ieee_get_flag(trapped, raised)
        call expect(all(halts) .and. .not. any(raised), what//': the environment is as before')
        call expect(maxval(abs(acc - expected)) < 1e-5_dp*maxval(abs(expected)), what//': accelerations')
        call expect(maxval(abs(pot - expected_pot)) < 1e-5_dp*maxval(abs(expected_pot)), what//': potentials')
        call ieee_set_flag(ieee_all, .false.)
    end subroutine

    subroutine g6
        integer, external :: g6_open, g6_close, g6_set_ti, g6_set_j_particle, g6calc_lasthalf2
        external :: g6calc_firsthalf
        integer, parameter :: board = 0
        integer :: status

        status = g6_open(board)
        do i = 1, n
            status = status + g6_set_j_particle(board, i - 1, index(i), 0.0_dp, 0.0_dp, mass(i), &
                zero, zero, zero, v(:, i), x(:, i))
        end do
        status = status + g6_set_ti(board, 0.0_dp)
        acc = 0
        jerk = 0
        pot = 0
        call g6calc_firsthalf(board, n, n, index, x, v, acc, jerk, pot, softening2, radii2)
        status = status + g6calc_lasthalf2(board, n, n, index, x, v, softening2, radii2, acc, jerk, pot, nearest)
        status = status + g6_close(board)
        call expect(status == 0, 'g6 takes all calls')
    end subroutine

    subroutine g5
        external :: g5_open, g5_close, g5_set_n, g5_set_xmj, g5_set_eps2_to_all, g5_calculate_force_on_x

        call g5_open
        call g5_set_n(n)
        call g5_set_xmj(0, n, x, mass)
        call g5_set_eps2_to_all(softening2)
        call g5_calculate_force_on_x(x, acc, pot, n)
        call g5_close
        ! The interface's potential is positive, and softened it contains the sink's own.
        if (softening2 > 0) pot = pot - mass/sqrt(softening2)
        pot = -pot
    end subroutine

    subroutine native
        type(c_ptr) :: system
        integer :: order

        do order = 8, 2, -2
            call succeed(kyoho_system_create(system, order))
            call succeed(kyoho_system_set_sources(system, n, 0, mass, x, velocities=v, indices=index))
            call succeed(kyoho_system_force(system, n, n, x, v, softening2, indices=index, &
                potentials=pot, accelerations=acc, sink_accelerations=x, sink_jerks=x))
            call succeed(kyoho_system_free(system))
        end do
    end subroutine

    subroutine succeed(code)
        integer(c_int32_t), intent(in) :: code

        call expect(code == KYOHO_OK, kyoho_text(kyoho_last_error()))
    end subroutine

end program
