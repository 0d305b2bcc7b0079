! Calls the library as NBODY6 does.
module blocks
    use caller
    implicit none

contains

    ! The regular forces on the first sinks of the block.
    subroutine force(ni)
        integer, intent(in) :: ni
        external :: gpunb_regf

        call gpunb_regf(ni, h2, dtr, xi, vi, acc, jrk, pot, lmax, nbmax, list)
    end subroutine

end module

program nbody6
    use blocks
    implicit none

    external :: gpunb_devinit, gpunb_open, gpunb_close, gpunb_send, gpunb_regf, gpupot
    real(dp) :: potentials(n), mean

    call make_bodies
    mean = sum(mass(first:))/sent

    call gpunb_devinit
    call gpunb_open(sent + 10)
    call gpunb_send(sent, mass(first), x(1, first), v(1, first))
    call all_blocks(force, mean)
    call gpunb_close

    ! A run goes on with other bodies, and fewer.
    call gpunb_open(sent + 100)
    x = x + 0.01_dp*v
    call gpunb_send(sent/2, mass(first), x(1, first), v(1, first))
    call part_of_the_bodies
    call gpunb_send(sent, mass(first), x(1, first), v(1, first))
    call borders
    call choices

    potentials(:first - 1) = untouched
    call gpupot(sent, mass(first), x(1, first), potentials(first))
    call expect(all(potentials(:first - 1) == untouched), 'potentials are written from the first on')
    call check_potentials(first, n, potentials(first))
    call gpunb_close
    call finish

contains

    ! Only what was sent last acts, on sinks that need not be among it.
    subroutine part_of_the_bodies
        integer :: place

        do place = 1, 10
            call put(place, n + 1 - place, 0.25_dp*radius(n + 1 - place)**2/mean)
        end do
        call clear_results
        call force(10)
        do place = 1, 10
            call expect(list(1, place) >= 0, 'short lists')
            call check_sink(place, first, first + sent/2 - 1, .true.)
        end do
    end subroutine

    ! Sources so near the border that rounding decides are in the list or in the sum, never in both.
    subroutine borders
        integer :: i

        mass(first:first + 99) = 2.0_dp**(-8)
        x(:, first:first + 99) = 0
        v(:, first:first + 99) = 0
        do i = first, first + 99
            x(:, i) = [cos(0.1_dp*i), sin(0.1_dp*i), 0.0_dp]*(1 + (i - first - 50)*1e-9_dp)
        end do
        call gpunb_send(100, mass(first), x(1, first), v(1, first))
        xi(:, 1) = 0
        vi(:, 1) = 0
        h2(1) = 256
        dtr(1) = 1
        call clear_results
        call force(1)
        call check_sink(1, first, first + 99, .true.)
        call expect(list(1, 1) > 0 .and. list(1, 1) < 100, 'some are neighbours, some are not')
    end subroutine

    ! One source for each reason to be a neighbour or none.
    subroutine choices
        real(dp), parameter :: m(7) = [1, 1, 1, 1, 4, 1, 0]
        real(dp), parameter :: place_of(7) = [real(dp) :: 0.5, 2, 2, 2, 1.75, 0, 0.1]
        real(dp), parameter :: speed(7) = [0, -3, 3, -8, 0, 0, 0]
        integer :: i

        mass(first:first + 6) = m
        x(:, first:first + 6) = 0
        v(:, first:first + 6) = 0
        x(1, first:first + 6) = place_of
        v(1, first:first + 6) = speed
        call gpunb_send(7, mass(first), x(1, first), v(1, first))
        xi(:, 1) = 0
        vi(:, 1) = 0
        h2(1) = 1
        dtr(1) = 0.5_dp
        call clear_results
        call force(1)
        call expect(list(1, 1) == 4 .and. all(list(2:5, 1) == [0, 1, 4, 5]), &
            'neighbours are one that is near, one that will be, a heavy one, and the sink')
        call expect(list(6, 1) == untouched, 'and no others: one that leaves, one that passes, one without mass')
        call expect(abs(acc(1, 1) - 0.5_dp) < tolerance .and. abs(pot(1) - 1) < tolerance, 'these act')
        call expect(abs(jrk(1, 1) + 2*(3 - 8)/8.0_dp) < tolerance, 'with what they add to the jerk')
        i = 3
        call gpunb_regf(1, h2, dtr, xi, vi, acc, jrk, pot, lmax, i, list)
        call expect(list(1, 1) == -4, 'one neighbour too many')
        i = 5
        list = untouched
        call gpunb_regf(1, h2, dtr, xi, vi, acc, jrk, pot, i, nbmax, list)
        call expect(all(list(:6, 1) == [4, 0, 1, 4, 5, untouched]), 'a row that is just long enough')
        i = 4
        list = untouched
        call gpunb_regf(1, h2, dtr, xi, vi, acc, jrk, pot, i, nbmax, list)
        call expect(all(list(:5, 1) == [-4, untouched, untouched, untouched, untouched]), 'and one that is too short')
        h2(1) = 0
        call force(1)
        call expect(list(1, 1) == 0 .and. abs(pot(1) - 2 - 3*0.5_dp - 4/1.75_dp) < 4*tolerance, &
            'without a radius all sources act but those at the same place')
        call clear_results
        call force(0)
        call expect(all(acc == untouched) .and. all(list == untouched), 'no sinks, no results')
    end subroutine

end program
