// Names with two underscores are those that g77 and `gfortran -fsecond-underscore` make. They are
// in no header, because only compilers write them.
functions! {
    g6_open(cid: c_int) fortran(g6_open_, g6_open__) reads() => calls::open();
    g6_open_special(ndev: c_int, list: *mut c_int)
        fortran() reads() => calls::open_special("g6_open_special", ndev, list);
    g6_open_special2(ndev: c_int, list: *mut c_int, nmax: c_int)
        fortran() reads() => calls::open_special("g6_open_special2", ndev, list);
    g6_close(cid: c_int) fortran(g6_close_, g6_close__) reads() => calls::close();
    g6_reset(cid: c_int) fortran(g6_reset_, g6_reset__) reads() => calls::reset("g6_reset");
    g6_reset_fofpga(cid: c_int)
        fortran(g6_reset_fofpga_, g6_reset_fofpga__) reads() => calls::reset("g6_reset_fofpga");
    g6_reinitialize(cid: c_int)
        fortran(g6_reinitialize_, g6_reinitialize__) reads() => calls::reset("g6_reinitialize");
    get_device_count() fortran() reads() => calls::device_count();
    g6_npipes() fortran(g6_npipes_, g6_npipes__) reads() => calls::npipes();
    g6_set_tunit(unit: Unit) fortran(g6_set_tunit_, g6_set_tunit__) reads() => 0;
    g6_set_xunit(unit: Unit) fortran(g6_set_xunit_, g6_set_xunit__) reads() => 0;
    g6_set_ti(cid: c_int, ti: f64) fortran(g6_set_ti_, g6_set_ti__) reads(ti) => calls::set_time(ti());

    g6_set_j_particle(cid: c_int, address: c_int, index: c_int, tj: f64, dtj: f64, mass: f64,
                      k18: *mut f64, j6: *mut f64, a2: *mut f64, v: *mut f64, x: *mut f64)
        fortran(g6_set_j_particle_, g6_set_j_particle__) reads(address, index, tj, mass) =>
        calls::set_source("g6_set_j_particle", address(), || {
            let coefficients = [vector("x", x)?, vector("v", v)?, vector("a2", a2)?, vector("j6", j6)?];
            Ok((address()?, index()?, mass()?, tj()?, coefficients))
        });
    g6_set_j_particle_mxonly(cid: c_int, address: c_int, index: c_int, mass: f64, x: *mut f64)
        fortran(g6_set_j_particle_mxonly_, g6_set_j_particle_mxonly__) reads(address, index, mass) =>
        calls::set_source("g6_set_j_particle_mxonly", address(), || {
            Ok((address()?, index()?, mass()?, 0.0, padded([vector("x", x)?])))
        });
    g6_initialize_jp_buffer(cid: c_int, size: c_int)
        fortran(g6_initialize_jp_buffer_, g6_initialize_jp_buffer__) reads() => 0;
    g6_flush_jp_buffer(cid: c_int) fortran(g6_flush_jp_buffer_, g6_flush_jp_buffer__) reads() => 0;

    g6calc_firsthalf(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                     aold: *mut [f64; 3], jold: *mut [f64; 3], phiold: *mut f64, eps2: f64, h2: *mut f64)
        fortran(g6calc_firsthalf_, g6calc_firsthalf__) reads(nj, ni, eps2) =>
        calls::first_half(nj(), ni(), SinkArrays { index, xi, vi, h2 }, eps2());
    g6calc_lasthalf(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                    eps2: f64, h2: *mut f64, acc: *mut [f64; 3], jerk: *mut [f64; 3], pot: *mut f64)
        fortran(g6calc_lasthalf_, g6calc_lasthalf__) reads(ni) =>
        calls::last_half("g6calc_lasthalf", ni(), ResultArrays { acc, jerk, pot, nn: None, rnn: None });
    g6calc_lasthalf2(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                     eps2: f64, h2: *mut f64, acc: *mut [f64; 3], jerk: *mut [f64; 3], pot: *mut f64,
                     nn: *mut c_int)
        fortran(g6calc_lasthalf2_, g6calc_lasthalf2__) reads(ni) =>
        calls::last_half("g6calc_lasthalf2", ni(), ResultArrays { acc, jerk, pot, nn: Some(nn), rnn: None });
    g6calc_lasthalfn(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                     eps2: f64, h2: *mut f64, acc: *mut [f64; 3], jerk: *mut [f64; 3], pot: *mut f64)
        fortran(g6calc_lasthalfn_, g6calc_lasthalfn__) reads(ni) =>
        calls::last_half("g6calc_lasthalfn", ni(), ResultArrays { acc, jerk, pot, nn: None, rnn: None });
    g6calc_lasthalf2n(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                      eps2: f64, h2: *mut f64, acc: *mut [f64; 3], jerk: *mut [f64; 3], pot: *mut f64,
                      nn: *mut c_int)
        fortran(g6calc_lasthalf2n_, g6calc_lasthalf2n__) reads(ni) =>
        calls::last_half("g6calc_lasthalf2n", ni(), ResultArrays { acc, jerk, pot, nn: Some(nn), rnn: None });
    g6calc_lasthalf2p(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                      eps2: f64, h2: *mut f64, acc: *mut [f64; 3], jerk: *mut [f64; 3], pot: *mut f64,
                      nn: *mut c_int, rnn: *mut f32)
        fortran(g6calc_lasthalf2p_, g6calc_lasthalf2p__) reads(ni) =>
        calls::last_half("g6calc_lasthalf2p", ni(), ResultArrays { acc, jerk, pot, nn: Some(nn), rnn: Some(rnn) });
    g6calc_lasthalf2np(cid: c_int, nj: c_int, ni: c_int, index: *mut c_int, xi: *mut [f64; 3], vi: *mut [f64; 3],
                       eps2: f64, h2: *mut f64, acc: *mut [f64; 3], jerk: *mut [f64; 3], pot: *mut f64,
                       nn: *mut c_int, rnn: *mut f32)
        fortran(g6calc_lasthalf2np_, g6calc_lasthalf2np__) reads(ni) =>
        calls::last_half("g6calc_lasthalf2np", ni(), ResultArrays { acc, jerk, pot, nn: Some(nn), rnn: Some(rnn) });

    // The third Fortran name is the one that old versions of kira call.
    g6_read_neighbour_list(cid: c_int)
        fortran(g6_read_neighbour_list_, g6_read_neighbour_list__, g6_read_neighbour_list_old_) reads() =>
        calls::read_neighbour_list();
    g6_get_neighbour_list(cid: c_int, ipipe: c_int, maxlength: c_int, nblen: *mut c_int, nbl: *mut c_int)
        fortran(g6_get_neighbour_list_, g6_get_neighbour_list__) reads(ipipe, maxlength) =>
        calls::neighbour_list(ipipe(), maxlength(), nblen, nbl);
    g6_set_neighbour_list_sort_mode(mode: c_int)
        fortran(g6_set_neighbour_list_sort_mode_, g6_set_neighbour_list_sort_mode__) reads() => 0;
    g6_get_neighbour_list_sort_mode()
        fortran(g6_get_neighbour_list_sort_mode_, g6_get_neighbour_list_sort_mode__) reads() => 1;
    g6_set_overflow_flag_test_mode(aflag: c_int, jflag: c_int, pflag: c_int)
        fortran(g6_set_overflow_flag_test_mode_, g6_set_overflow_flag_test_mode__) reads() => 0;
}
