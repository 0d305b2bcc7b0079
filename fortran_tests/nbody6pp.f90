! Calls the library as NBODY6++GPU does.
module blocks
    use caller
    implicit none

    integer :: m_flag

contains

    ! The regular forces on the first sinks of the block.
    subroutine force(ni)
        integer, intent(in) :: ni
        external :: gpunb_regf

        call gpunb_regf(ni, h2, dtr, xi, vi, acc, jrk, pot, lmax, nbmax, list, m_flag)
    end subroutine

end module

program nbody6pp
    use blocks
    implicit none

    external :: gpunb_devinit, gpunb_open, gpunb_close, gpunb_send, gpunb_profile, gpupot
    integer, parameter :: rank = 3
    integer :: place
    real(dp) :: mean, of_mass(nimax), radius_before(n)

    call make_bodies
    mean = sum(mass(first:))/sent
    radius_before = radius

    call gpunb_devinit(rank)
    call gpunb_open(sent + 10, rank)
    call gpunb_send(sent, mass(first), x(1, first), v(1, first))
    m_flag = 0
    call all_blocks(force)
    call gpunb_close

    call gpunb_open(sent + 10, rank)
    call gpunb_send(sent, mass(first), x(1, first), v(1, first))
    radius = radius_before
    m_flag = 1
    call all_blocks(force, mean)
    call gpunb_profile(rank)

    ! The flag counts in each call anew, whatever was sent.
    do place = 1, 100
        call put(place, first + place, 0.01_dp/mean)
    end do
    call clear_results
    call force(100)
    of_mass(:100) = pot(:100)
    m_flag = 0
    h2 = 0.01_dp
    call clear_results
    call force(100)
    do place = 1, 100
        call check_sink(place, first, n, .false.)
    end do
    call expect(any(pot(:100) /= of_mass(:100)), 'it makes a difference')

    call parts_of_the_potentials
    call gpunb_close
    call finish

contains

    ! Each of three processes asks for the potentials of a part of the bodies, counted from the
    ! first that is passed.
    subroutine parts_of_the_potentials
        integer, parameter :: processes = 3
        real(dp) :: part(n)
        integer :: process, start, ni, from

        start = 1
        do process = 1, processes
            ni = sent*process/processes - start + 1
            from = first + start - 1
            part = untouched
            call gpupot(process - 1, start, ni, sent, mass(first), x(1, first), part(from))
            call expect(all(part(:from - 1) == untouched) .and. all(part(from + ni:) == untouched), &
                'potentials of others are not written')
            call check_potentials(from, from + ni - 1, part(from))
            start = start + ni
        end do
        call expect(start == sent + 1, 'all bodies belong to a process')
    end subroutine

end program
