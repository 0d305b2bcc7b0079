// The Fortran names with MC are spelt in both ways: as C programs call them, and in lower case, as
// Fortran compilers do.
functions! {
    g5_open() fortran(g5_open_) reads() => calls::open();
    g5_open_special(ndev: c_int, list: *mut c_int) fortran() reads() => calls::open_special(ndev, list);
    g5_close() fortran(g5_close_) reads() => calls::close();
    g5_get_number_of_pipelines() fortran(g5_get_number_of_pipelines_) reads() => calls::pipelines();
    g5_get_number_of_real_pipelines() fortran(g5_get_number_of_real_pipelines_) reads() => calls::pipelines();
    g5_get_jmemsize() fortran(g5_get_jmemsize_) reads() => calls::JMEMSIZE;
    g5_get_pcibus_freq() fortran(g5_get_pcibus_freq_) reads() => 0;
    g5_set_range(xmin: f64, xmax: f64, mmin: f64) fortran(g5_set_range_) reads() => 0;
    g5_set_eta(eta: f64) fortran(g5_set_eta_) reads() => 0;

    g5_set_n(n: c_int) fortran(g5_set_n_) reads(n) => calls::set_n("g5_set_n", Ok(Alone), n());
    g5_set_nMC(devid: c_int, n: c_int) fortran(g5_set_nMC_, g5_set_nmc_) reads(devid, n) =>
        calls::set_n("g5_set_nMC", one_of_many(devid()), n());
    g5_set_xmj(adr: c_int, nj: c_int, xj: *mut [f64; 3], mj: *mut f64) fortran(g5_set_xmj_) reads(adr, nj) =>
        calls::set_sources("g5_set_xmj", Ok(Alone), adr(), nj(), mj, xj);
    g5_set_xmjMC(devid: c_int, adr: c_int, nj: c_int, xj: *mut [f64; 3], mj: *mut f64)
        fortran(g5_set_xmjMC_, g5_set_xmjmc_) reads(devid, adr, nj) =>
        calls::set_sources("g5_set_xmjMC", one_of_many(devid()), adr(), nj(), mj, xj);
    g5_set_jp(adr: c_int, nj: c_int, mj: *mut f64, xj: *mut [f64; 3]) fortran(g5_set_jp_) reads(adr, nj) =>
        calls::set_sources("g5_set_jp", Ok(Alone), adr(), nj(), mj, xj);
    g5_set_jpMC(devid: c_int, adr: c_int, nj: c_int, mj: *mut f64, xj: *mut [f64; 3])
        fortran(g5_set_jpMC_, g5_set_jpmc_) reads(devid, adr, nj) =>
        calls::set_sources("g5_set_jpMC", one_of_many(devid()), adr(), nj(), mj, xj);

    g5_set_eps_to_all(eps: f64) fortran(g5_set_eps_to_all_) reads(eps) =>
        calls::set_common_softening2("g5_set_eps_to_all", || eps().map(|eps| eps * eps));
    g5_set_eps2_to_all(eps2: f64) fortran(g5_set_eps2_to_all_) reads(eps2) =>
        calls::set_common_softening2("g5_set_eps2_to_all", eps2);
    g5_set_theta(theta: f64) fortran(g5_set_theta_) reads(theta) => calls::set_theta("g5_set_theta", theta);
    g5_set_eps(ni: c_int, eps: *mut f64) fortran(g5_set_eps_) reads(ni) =>
        calls::set_softening("g5_set_eps", Ok(Alone), ni(), eps);
    g5_set_epsMC(devid: c_int, ni: c_int, eps: *mut f64) fortran(g5_set_epsMC_, g5_set_epsmc_) reads(devid, ni) =>
        calls::set_softening("g5_set_epsMC", one_of_many(devid()), ni(), eps);

    g5_set_xi(ni: c_int, xi: *mut [f64; 3]) fortran(g5_set_xi_) reads(ni) =>
        calls::set_sinks("g5_set_xi", Ok(Alone), ni(), SinkArrays { x: xi, eps2: None });
    g5_set_xiMC(devid: c_int, ni: c_int, xi: *mut [f64; 3]) fortran(g5_set_xiMC_, g5_set_ximc_) reads(devid, ni) =>
        calls::set_sinks("g5_set_xiMC", one_of_many(devid()), ni(), SinkArrays { x: xi, eps2: None });
    g5_set_xei(ni: c_int, xi: *mut [f64; 3], eps2: *mut f64) fortran(g5_set_xei_) reads(ni) =>
        calls::set_sinks("g5_set_xei", Ok(Alone), ni(), SinkArrays { x: xi, eps2: Some(eps2) });
    g5_set_xeiMC(devid: c_int, ni: c_int, xi: *mut [f64; 3], eps2: *mut f64)
        fortran(g5_set_xeiMC_, g5_set_xeimc_) reads(devid, ni) =>
        calls::set_sinks("g5_set_xeiMC", one_of_many(devid()), ni(), SinkArrays { x: xi, eps2: Some(eps2) });

    g5_run() fortran(g5_run_) reads() => calls::run("g5_run", Ok(Alone));
    g5_runMC(devid: c_int) fortran(g5_runMC_, g5_runmc_) reads(devid) =>
        calls::run("g5_runMC", one_of_many(devid()));
    g5_get_force(ni: c_int, a: *mut [f64; 3], p: *mut f64) fortran(g5_get_force_) reads(ni) =>
        calls::force("g5_get_force", Ok(Alone), ni(), None, ResultArrays { a, p });
    g5_get_forceMC(devid: c_int, ni: c_int, a: *mut [f64; 3], p: *mut f64)
        fortran(g5_get_forceMC_, g5_get_forcemc_) reads(devid, ni) =>
        calls::force("g5_get_forceMC", one_of_many(devid()), ni(), None, ResultArrays { a, p });
    g5_calculate_force_on_x(x: *mut [f64; 3], a: *mut [f64; 3], p: *mut f64, ni: c_int)
        fortran(g5_calculate_force_on_x_) reads(ni) =>
        calls::force("g5_calculate_force_on_x", Ok(Alone), ni(), Some(SinkArrays { x, eps2: None }),
                     ResultArrays { a, p });
    g5_calculate_force_on_xMC(devid: c_int, x: *mut [f64; 3], a: *mut [f64; 3], p: *mut f64, ni: c_int)
        fortran(g5_calculate_force_on_xMC_, g5_calculate_force_on_xmc_) reads(devid, ni) =>
        calls::force("g5_calculate_force_on_xMC", one_of_many(devid()), ni(), Some(SinkArrays { x, eps2: None }),
                     ResultArrays { a, p });
    g5_calculate_force_on_xe(x: *mut [f64; 3], eps2: *mut f64, a: *mut [f64; 3], p: *mut f64, ni: c_int)
        fortran(g5_calculate_force_on_xe_) reads(ni) =>
        calls::force("g5_calculate_force_on_xe", Ok(Alone), ni(), Some(SinkArrays { x, eps2: Some(eps2) }),
                     ResultArrays { a, p });
    g5_calculate_force_on_xeMC(devid: c_int, x: *mut [f64; 3], eps2: *mut f64, a: *mut [f64; 3], p: *mut f64,
                               ni: c_int)
        fortran(g5_calculate_force_on_xeMC_, g5_calculate_force_on_xemc_) reads(devid, ni) =>
        calls::force("g5_calculate_force_on_xeMC", one_of_many(devid()), ni(), Some(SinkArrays { x, eps2: Some(eps2) }),
                     ResultArrays { a, p });
}
