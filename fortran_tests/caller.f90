! What the programs share that call the library as NBODY6 and NBODY6++GPU do: bodies, blocks of
! regular forces whose lists are made shorter until they fit, and slow sums. What is not as promised
! is written to stderr.
module caller
    use, intrinsic :: iso_fortran_env, only: dp => real64, error_unit
    implicit none

    ! The bodies that are sent are those from `first` on, as before them come the components of
    ! close pairs.
    integer, parameter :: n = 1500, first = 7, sent = n - first + 1
    integer, parameter :: nimax = 1024, lmax = 120, nbmax = lmax - 5
    ! What was there before a call.
    integer, parameter :: untouched = -77

    integer :: failures = 0
    real(dp) :: tolerance
    real(dp) :: mass(n), x(3, n), v(3, n), radius(n), step(n)
    ! A block, as it is passed.
    real(dp) :: h2(nimax), dtr(nimax), xi(3, nimax), vi(3, nimax), acc(3, nimax), jrk(3, nimax), pot(nimax)
    integer :: list(lmax, nimax)

    abstract interface
        ! The regular forces on the first sinks of the block.
        subroutine block_force(ni)
            integer, intent(in) :: ni
        end subroutine
    end interface

contains

    ! Says whether all was as promised.
    subroutine finish
        if (failures > 0) stop 1
    end subroutine

    subroutine expect(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (holds) return
        failures = failures + 1
        if (failures <= 20) write (error_unit, '(2a)') 'not so: ', what
    end subroutine

    ! Bodies of a cube with a dense middle, one in ten of them ten times as heavy as the others, two
    ! at one place.
    subroutine make_bodies
        integer :: seeds, i
        character(len=20) :: precision

        call get_environment_variable('KYOHO_PRECISION', precision)
        tolerance = merge(1e-13_dp, 1e-6_dp, precision == 'double')
        call random_seed(size=seeds)
        call random_seed(put=[(12345 + 7*i, i = 1, seeds)])
        call random_number(mass)
        call random_number(x)
        call random_number(v)
        mass = (0.5_dp + mass)/n
        mass(::10) = 10*mass(::10)
        x = (2*x - 1)**3
        v = 2*v - 1
        x(:, first + 1) = x(:, first)
        radius = 0.1_dp + 0.2_dp*sqrt(sum(x**2, 1))
        step = 0.125_dp*radius
    end subroutine

    ! Puts a body into the block.
    subroutine put(place, i, h2i)
        integer, intent(in) :: place, i
        real(dp), intent(in) :: h2i

        h2(place) = h2i
        dtr(place) = step(i)
        xi(:, place) = x(:, i)
        vi(:, place) = v(:, i)
    end subroutine

    subroutine clear_results
        acc = untouched
        jrk = untouched
        pot = untouched
        list = untouched
    end subroutine

    ! The regular forces on all bodies that were sent, block by block, with smaller radii where
    ! lists are too long. A source of mass m is a neighbour within sqrt(m/scale) radii, or within
    ! one if no scale is given.
    subroutine all_blocks(force, scale)
        procedure(block_force) :: force
        real(dp), intent(in), optional :: scale
        real(dp) :: unit
        integer :: start, ni, place, i, too_long

        unit = 1
        if (present(scale)) unit = scale
        too_long = 0
        do start = first, n, nimax
            ni = min(n - start + 1, nimax)
            do
                do place = 1, ni
                    i = start + place - 1
                    call put(place, i, radius(i)**2/unit)
                end do
                call clear_results
                call force(ni)
                call expect(all(acc(:, ni + 1:) == untouched) .and. all(list(:, ni + 1:) == untouched), &
                    'no more rows are written than there are sinks')
                do place = 1, ni
                    call check_sink(place, first, n, present(scale))
                end do
                if (all(list(1, :ni) >= 0)) exit
                too_long = too_long + count(list(1, :ni) < 0)
                do place = 1, ni
                    i = start + place - 1
                    if (list(1, place) < 0) radius(i) = 0.9_dp*radius(i)
                end do
            end do
            do place = 1, ni
                call remove(place, start + place - 1)
            end do
        end do
        call expect(too_long > 20, 'some lists are too long at first')
    end subroutine

    ! Turns the addresses of a list into numbers of bodies, and takes the sink itself out.
    subroutine remove(place, i)
        integer, intent(in) :: place, i
        integer :: neighbours(lmax), length

        length = list(1, place)
        neighbours(:length) = list(2:length + 1, place) + first
        call expect(count(neighbours(:length) == i) == 1, 'a body is once in its own list')
        list(1, place) = length - 1
        list(2:length, place) = pack(neighbours(:length), neighbours(:length) /= i)
        call expect(all(list(2:length, place) >= first) .and. all(list(2:length, place) <= n), 'neighbours are bodies')
    end subroutine

    ! Checks the list and the force of a sink against slow sums over the bodies from one to another.
    subroutine check_sink(place, from, to, by_mass)
        integer, intent(in) :: place, from, to
        logical, intent(in) :: by_mass
        logical :: listed(from:to), near
        real(dp) :: r(3), w(3), r2, rw, ahead2, reach, slack, weight, a(3), j(3), p, scale(3)
        integer :: k, length, neighbours, unsure

        length = list(1, place)
        listed = .false.
        if (length >= 0) then
            call expect(length <= nbmax, 'a list has no more neighbours than were allowed')
            call expect(all(list(2:length, place) < list(3:length + 1, place)), 'addresses ascend')
            call expect(all(list(length + 2:, place) == untouched), 'nothing follows a list')
            listed(list(2:length + 1, place) + from) = .true.
        else
            call expect(all(list(2:, place) == untouched), 'of a list that is too long its length alone is written')
        end if
        a = 0
        j = 0
        p = 0
        scale = 0
        neighbours = 0
        unsure = 0
        do k = from, to
            r = x(:, k) - xi(:, place)
            w = v(:, k) - vi(:, place)
            r2 = sum(r**2)
            rw = dot_product(r, w)
            ahead2 = sum((r + dtr(place)*w)**2)
            reach = h2(place)
            if (by_mass) reach = reach*mass(k)
            ! The distance after the step is a difference, which may lose digits.
            slack = 10*tolerance*sqrt(reach)*(sqrt(reach) + sqrt(r2) + dtr(place)*norm2(w))
            near = min(r2, ahead2) < reach
            if (near) neighbours = neighbours + 1
            if (abs(min(r2, ahead2) - reach) < slack) then
                unsure = unsure + 1
            else if (length >= 0) then
                call expect(near .eqv. listed(k), 'the neighbours are those that are near, or will be')
            else
                listed(k) = near
            end if
            if (listed(k) .or. r2 == 0) cycle
            weight = mass(k)/(r2*sqrt(r2))
            a = a + weight*r
            j = j + weight*(w - 3*rw/r2*r)
            p = p + mass(k)/sqrt(r2)
            scale = scale + [mass(k)/r2, weight*(norm2(w) + 3*abs(rw)/sqrt(r2)), mass(k)/sqrt(r2)]
        end do
        call expect(abs(abs(length) - neighbours) <= unsure, 'the length of a list')
        if (length < 0 .and. unsure > 0) return
        call expect(norm2(acc(:, place) - a) <= tolerance*scale(1), 'an acceleration is that of all but neighbours')
        call expect(norm2(jrk(:, place) - j) <= tolerance*scale(2), 'a jerk')
        call expect(abs(pot(place) - p) <= tolerance*scale(3), 'a potential is positive')
    end subroutine

    ! The slow potentials of all bodies that are sent.
    subroutine check_potentials(from, to, potentials)
        integer, intent(in) :: from, to
        real(dp), intent(in) :: potentials(from:to)
        real(dp) :: p, r
        integer :: i, k

        do i = from, to
            p = 0
            do k = first, n
                r = norm2(x(:, k) - x(:, i))
                if (r > 0) p = p + mass(k)/r
            end do
            call expect(abs(potentials(i) - p) <= tolerance*p, 'a potential of all bodies')
        end do
    end subroutine

end module
