c     A fourth-order Hermite integrator with block time steps, in
c     FORTRAN 77, on the GRAPE-6 interface.
c
c         gfortran -O2 -std=legacy hermite4_77.f -lkyoho -o hermite4_77
c         KYOHO_PRECISION=double ./hermite4_77 plummer1024.txt 1.0
c
c     The file has a line 'mass x y z vx vy vz' for each body (G = 1;
c     empty lines and lines that begin with # are skipped); the second
c     argument is the time to integrate to, a multiple of 1/8. The
c     energy is printed at both ends.
c
c     Each body has a time step of its own, a power of two. At every
c     block step the bodies whose steps end first are predicted, feel
c     the force of all bodies predicted to that time, are corrected, and
c     get new steps by Aarseth's criterion (Makino & Aarseth 1992, PASJ
c     44, 141).
      program hermite
      implicit none
      include 'hermite4_77.inc'
      character*256 argument
      integer i, k, nsteps, nblocks, g6_open, g6_close
      double precision tend, energy, first, last, length2, power2
      external g6_open, g6_close, energy, length2, power2

      call getarg(1, argument)
      if (argument .eq. ' ') then
         write (0, *) 'usage: hermite4_77 FILE [TIME]'
         stop 2
      end if
      call readin(argument)
      tend = 1.0d0
      call getarg(2, argument)
      if (argument .ne. ' ') read (argument, *) tend
      if (.not. tend .gt. 0.0d0 .or. mod(tend, slong) .ne. 0.0d0) then
         write (0, *) 'hermite4_77: the time is ', tend,
     &        '; allowed: multiples of 1/8'
         stop 2
      end if

      if (g6_open(board) .ne. 0) stop 1
      do i = 1, n
         index(i) = i
         nblock(i) = i
         t(i) = 0.0d0
         do k = 1, 3
            a(k, i) = 0.0d0
            adot(k, i) = 0.0d0
            xp(k, i) = x(k, i)
            vp(k, i) = v(k, i)
         end do
         call sendj(i)
      end do
      call force(0.0d0, n)
      do i = 1, n
         pot(i) = pnew(i)
         do k = 1, 3
            a(k, i) = anew(k, i)
            adot(k, i) = jnew(k, i)
         end do
         call sendj(i)
         step(i) = power2(estart
     &        *sqrt(length2(a(1, i))/length2(adot(1, i))))
      end do
      first = energy()

      time = 0.0d0
      nblocks = 0
      nsteps = 0
 100  if (time .lt. tend) then
         call blockstep
         nblocks = nblocks + 1
         nsteps = nsteps + nact
         go to 100
      end if

c     Every step ends at the end; the potentials are those of the
c     corrected positions.
      do i = 1, n
         index(i) = i
         do k = 1, 3
            xp(k, i) = x(k, i)
            vp(k, i) = v(k, i)
         end do
      end do
      call force(time, n)
      do i = 1, n
         pot(i) = pnew(i)
      end do
      last = energy()
      write (*, '(a, i8)') 'bodies          ', n
      write (*, '(a, i8)') 'block steps     ', nblocks
      write (*, '(a, i8)') 'body steps      ', nsteps
      write (*, '(a, 1pe22.15)') 'initial energy  ', first
      write (*, '(a, 1pe22.15)') 'final energy    ', last
      write (*, '(a, 1pe10.3)') 'relative error  ', (last - first)/first
      if (g6_close(board) .ne. 0) stop 1
      end

c     Reads the bodies.
      subroutine readin(path)
      implicit none
      include 'hermite4_77.inc'
      character*256 path, line
      integer k
      n = 0
      open (unit=1, file=path, status='old', err=900)
 10   read (1, '(a)', end=20) line
      if (line .eq. ' ' .or. line(1:1) .eq. '#') go to 10
      n = n + 1
      if (n .gt. nmax) then
         write (0, *) 'hermite4_77: more bodies than ', nmax
         stop 1
      end if
      read (line, *, err=910, end=910) mass(n), (x(k, n), k = 1, 3),
     &     (v(k, n), k = 1, 3)
      go to 10
 20   close (1)
      return
 900  write (0, *) 'hermite4_77: no bodies'
      stop 1
 910  write (0, *) 'hermite4_77: no ''mass x y z vx vy vz'': ', line
      stop 1
      end

c     Sends body i to its address, which counts from 0.
      subroutine sendj(i)
      implicit none
      include 'hermite4_77.inc'
      integer i, k, g6_set_j_particle
      double precision a2(3), j6(3), k18(3)
      external g6_set_j_particle
      do k = 1, 3
         a2(k) = a(k, i)/2.0d0
         j6(k) = adot(k, i)/6.0d0
         k18(k) = 0.0d0
      end do
      if (g6_set_j_particle(board, i - 1, i, t(i), step(i), mass(i),
     &     k18, j6, a2, v(1, i), x(1, i)) .ne. 0) stop 1
      end

c     The force of all bodies at a time on the first ni sinks, as many
c     at a time as the board has pipelines.
      subroutine force(ti, ni)
      implicit none
      include 'hermite4_77.inc'
      double precision ti, radius2(nmax)
      integer ni, i, count, npipes
      integer g6_npipes, g6_set_ti, g6calc_lasthalf
      external g6_npipes, g6_set_ti, g6calc_firsthalf, g6calc_lasthalf
      save radius2
      npipes = g6_npipes()
      do i = 1, ni
         radius2(i) = 0.0d0
      end do
      if (g6_set_ti(board, ti) .ne. 0) stop 1
      do i = 1, ni, npipes
         count = min(npipes, ni - i + 1)
         call g6calc_firsthalf(board, n, count, index(i), xp(1, i),
     &        vp(1, i), anew(1, i), jnew(1, i), pnew(i), eps2,
     &        radius2)
         if (g6calc_lasthalf(board, n, count, index(i), xp(1, i),
     &        vp(1, i), eps2, radius2, anew(1, i), jnew(1, i),
     &        pnew(i)) .ne. 0) stop 1
      end do
      end

c     Moves the bodies whose steps end first.
      subroutine blockstep
      implicit none
      include 'hermite4_77.inc'
      integer i, j, k
      double precision dt
      time = t(1) + step(1)
      do i = 2, n
         time = min(time, t(i) + step(i))
      end do
      nact = 0
      do i = 1, n
         if (t(i) + step(i) .eq. time) then
            nact = nact + 1
            nblock(nact) = i
            index(nact) = i
            dt = time - t(i)
            do k = 1, 3
               xp(k, nact) = x(k, i) + dt*(v(k, i) + dt/2.0d0
     &              *(a(k, i) + dt/3.0d0*adot(k, i)))
               vp(k, nact) = v(k, i) + dt*(a(k, i) + dt/2.0d0
     &              *adot(k, i))
            end do
         end if
      end do
      call force(time, nact)
      do j = 1, nact
         call correct(nblock(j), j)
         call sendj(nblock(j))
      end do
      end

c     Corrects body i with the force on sink j and chooses its step.
      subroutine correct(i, j)
      implicit none
      include 'hermite4_77.inc'
      integer i, j, k
      double precision dt, s(3), c(3), da, wanted, length2, power2
      double precision aa, jj, ss, cc
      external length2, power2
      dt = time - t(i)
      do k = 1, 3
         da = a(k, i) - anew(k, j)
         s(k) = (-6.0d0*da - dt*(4.0d0*adot(k, i)
     &        + 2.0d0*jnew(k, j)))/(dt*dt)
         c(k) = (12.0d0*da + 6.0d0*dt*(adot(k, i)
     &        + jnew(k, j)))/(dt*dt*dt)
         x(k, i) = xp(k, j) + dt*dt*dt*dt*(s(k)/24.0d0
     &        + dt*c(k)/120.0d0)
         v(k, i) = vp(k, j) + dt*dt*dt*(s(k)/6.0d0 + dt*c(k)/24.0d0)
         a(k, i) = anew(k, j)
         adot(k, i) = jnew(k, j)
         s(k) = s(k) + dt*c(k)
      end do
      aa = length2(a(1, i))
      jj = length2(adot(1, i))
      ss = length2(s)
      cc = length2(c)
      wanted = power2(sqrt(eta*(sqrt(aa*ss) + jj)/(sqrt(jj*cc) + ss)))
c     A step grows to twice its length at most, and only where the
c     longer step would have begun.
      if (wanted .gt. step(i)) then
         wanted = step(i)
         if (mod(time, 2.0d0*step(i)) .eq. 0.0d0) wanted = 2.0d0*step(i)
      end if
      t(i) = time
      step(i) = wanted
      end

      double precision function length2(b)
      implicit none
      double precision b(3)
      length2 = b(1)*b(1) + b(2)*b(2) + b(3)*b(3)
      end

c     The longest power of two that is no longer than wanted.
      double precision function power2(wanted)
      implicit none
      include 'hermite4_77.inc'
      double precision wanted
      power2 = slong
 10   if (power2 .gt. wanted .and. power2 .gt. sshort) then
         power2 = power2/2.0d0
         go to 10
      end if
      end

      double precision function energy()
      implicit none
      include 'hermite4_77.inc'
      double precision length2
      external length2
      integer i
      energy = 0.0d0
      do i = 1, n
         energy = energy + mass(i)*(length2(v(1, i)) + pot(i))/2.0d0
      end do
      end
