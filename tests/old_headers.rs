//! The headers of the old interfaces say what the library exports.

mod common;

use std::path::{Path, PathBuf};

use common::{compiler, folder, root, succeed, text};

/// A copy of a source in which functions have no prefix, and structures the names that C callers know.
fn without_prefix(path: &str, prefix: &str) -> PathBuf {
    let copy = folder(&format!("{prefix}header")).join("plain.rs");
    std::fs::write(&copy, text(path).replace(prefix, "").replace("Predictor", "predictor")).unwrap();
    copy
}

/// A header as sources make it.
fn header(guard: &str, opening: &str, sources: &[impl AsRef<Path>]) -> String {
    let configuration = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some(opening.into()),
        include_guard: Some(guard.into()),
        cpp_compat: true,
        no_includes: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 120,
        tab_width: 4,
        ..cbindgen::Config::default()
    };
    let builder = cbindgen::Builder::new().with_config(configuration);
    let builder = sources.iter().fold(builder, |builder, path| builder.with_src(root().join(path)));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    String::from_utf8(made).unwrap()
}

fn compare(path: &str, made: String) {
    let path_of = root().join(path);
    // Another test may read the file meanwhile, so it is written only if it changed.
    if std::env::var_os("KYOHO_BLESS").is_some() && std::fs::read_to_string(&path_of).ok().as_ref() != Some(&made) {
        std::fs::write(path_of, &made).unwrap();
    }
    assert!(text(path) == made, "run this test with KYOHO_BLESS=1, and look at what changed");
}

const G6: &str = "\
// The GRAPE-6 interface of Kyoho: forces, jerks, potentials and neighbours of N bodies.
//
// Sources (j-particles) stay in the library; sinks (i-particles) go in and out block by block:
//
//     g6_open(0);
//     for each source:         g6_set_j_particle(0, address, index, t, 0.0, mass, k18, j6, a2, v, x);
//     for each block step:     g6_set_ti(0, t);
//       for g6_npipes() sinks: g6calc_firsthalf(0, nj, ni, index, xi, vi, aold, jold, phiold, eps2, h2);
//                              g6calc_lasthalf(0, nj, ni, index, xi, vi, eps2, h2, acc, jerk, pot);
//       for each active body:  g6_set_j_particle(...);
//     g6_close(0);
//
// Each function has a C form and a Fortran form with one underscore, whose arguments are all pointers; only
// `g6_open_special`, `g6_open_special2` and `get_device_count` have no Fortran form. An array of vectors has three
// doubles for each particle, which is x(3,n) in Fortran. A call that fails returns non-zero and writes one line to
// stderr; the force it was part of is NaN. `cid` may be anything: a process has one board.";

const G5: &str = "\
// The GRAPE-5 interface of Kyoho: accelerations and potentials of N bodies.
//
//     g5_open();
//     g5_set_eps_to_all(eps);
//     g5_set_n(n);
//     g5_set_xmj(0, n, x, m);
//     g5_calculate_force_on_x(x, a, p, n);
//     g5_close();
//
// A body that is both source and sink feels itself: its potential has the term m / eps, which callers take off.
// Functions whose name ends in MC take the number of a board, any from 0 on; each board has its own sources, may be
// used by its own thread, and computes on that thread alone. The functions without MC act on board 0, with all threads.
// Each function has a C form and a Fortran form with one underscore, whose arguments are all pointers; only
// `g5_open_special` has no Fortran form. A call that fails returns non-zero and writes one line to stderr; the force it
// was part of is NaN.";

#[test]
fn g6_h_is_what_the_sources_make() {
    compare("include/g6.h", header("KYOHO_G6_H", G6, &["src/abi/g6/c.rs", "src/abi/g6/fortran.rs"]));
}

#[test]
fn g5_h_is_what_the_sources_make() {
    compare("include/g5.h", header("KYOHO_G5_H", G5, &["src/abi/g5/c.rs", "src/abi/g5/fortran.rs"]));
}

const SAPPORO6: &str = "\
// Sapporo2's interface of order 6, as Kyoho has it: forces, jerks, snaps and nearest neighbours of N bodies, for
// Hermite integrators of order 6.
//
//     initialize();
//     for each source:     set_j_particle(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     no_predict_all(t, nj);
//     calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//     for each block step: predict_all(t, nj);
//                          calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//       for active bodies: set_j_particle(...);
//
// Link with -lkyoho_sapporo6. A call that fails returns non-zero and writes one line to stderr; the force it was part
// of is NaN. A process has one board.";

const YEBISU: &str = "\
// Yebisu's interface, as Kyoho has it: forces, jerks, snaps and nearest neighbours of N bodies, for Hermite integrators
// of order 6.
//
//     initialize(n);
//     for each source:     set_jp_2(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     for each block step: predict_all(t, nj);
//       for active bodies: pick_up_predictor_2(addr, &pred[i]);
//                          calc_force_on_predictors(ni, pred, force, nj);
//       for active bodies: set_jp_2(...);
//
// Link with -lkyoho_yebisu. A call that fails returns non-zero and writes one line to stderr; the force it was part of
// is NaN. A process has one board.";

#[test]
fn sapporo6_h_is_what_the_sources_make() {
    let plain = without_prefix("src/abi/hermite6/sapporo6.rs", "kyoho_sapporo6_");
    compare("include/sapporo6.h", header("KYOHO_SAPPORO6_H", SAPPORO6, &[plain]));
}

#[test]
fn yebisu_h_is_what_the_sources_make() {
    let plain = without_prefix("src/abi/hermite6/yebisu.rs", "kyoho_yebisu_");
    compare("include/yebisu.h", header("KYOHO_YEBISU_H", YEBISU, &[plain]));
}

const NBODY6: &str = "\
// The interface of NBODY6 to a GPU, as Kyoho has it: regular forces with neighbour lists for the scheme of Ahmad and
// Cohen, and potentials.
//
//     gpunb_open_(&nbmax);
//     for each block step: gpunb_send_(&nj, m, x, v);
//       for each part:     gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list);
//     for the energy:      gpupot_(&n, m, x, pot);
//     gpunb_close_();
//
// All arguments are pointers, as Fortran passes them; an array of vectors has three doubles for each body, which is
// x(3,n) in Fortran. Link with -lkyoho_nbody6. A call that fails returns non-zero, which Fortran does not see, and
// writes one line to stderr; the force it was part of is NaN. A process has one board.";

const NBODY6PP: &str = "\
// The interface of NBODY6++GPU to a GPU, as Kyoho has it: regular forces with neighbour lists for the scheme of Ahmad
// and Cohen, and potentials.
//
//     gpunb_open_(&nbmax, &rank);
//     for each block step: gpunb_send_(&nj, m, x, v);
//       for each part:     gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list, &m_flag);
//     for the energy:      gpupot_(&rank, &istart, &ni, &n, m, x, pot);
//     gpunb_close_();
//
// All arguments are pointers, as Fortran passes them; an array of vectors has three doubles for each body, which is
// x(3,n) in Fortran. Link with -lkyoho_nbody6pp. A call that fails returns non-zero, which Fortran does not see, and
// writes one line to stderr; the force it was part of is NaN. A process has one board.";

#[test]
fn nbody6_h_is_what_the_sources_make() {
    let plain = without_prefix("src/abi/nbody6/gpu2.rs", "kyoho_nbody6_");
    compare("include/nbody6.h", header("KYOHO_NBODY6_H", NBODY6, &[plain]));
}

#[test]
fn nbody6pp_h_is_what_the_sources_make() {
    let plain = without_prefix("src/abi/nbody6/nbody6pp.rs", "kyoho_nbody6pp_");
    compare("include/nbody6pp.h", header("KYOHO_NBODY6PP_H", NBODY6PP, &[plain]));
}

/// A program compiles as C and as C++, without a warning.
fn compiles(folder_name: &str, source: &str) {
    let folder = folder(folder_name);
    for (name, command, standard) in
        [("c99.c", "gcc", "-std=c99"), ("c17.c", "gcc", "-std=c17"), ("cpp.cc", "g++", "-std=c++11")]
    {
        std::fs::write(folder.join(name), source).unwrap();
        let warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        succeed(compiler(command, &folder).arg(standard).args(warnings).arg(name));
    }
}

#[test]
fn the_headers_compile_in_c_and_in_cpp() {
    // Callers pass numbers of either kind to the functions that set units.
    let main = "int main(void) { int unit = 48; return g6_set_tunit(48) + g6_set_tunit(48.0) + g6_set_xunit_(&unit); }";
    compiles("old_headers", &format!("#include <g6.h>\n#include <g5.h>\n{main}\n"));
    let main = "int main(void) { return initialize() + predict_all(0.5, 8); }";
    compiles("sapporo6_header", &format!("#include <sapporo6.h>\n{main}\n"));
    let main =
        "int main(void) { predictor sink; Force force; return calc_force_on_predictors_epsj(1, &sink, &force, 8); }";
    compiles("yebisu_header", &format!("#include <yebisu.h>\n{main}\n"));
    let main = "int main(void) { int n = 8; return gpunb_open_(&n) + gpunb_close_(); }";
    compiles("nbody6_header", &format!("#include <nbody6.h>\n{main}\n"));
    let main = "int main(void) { int n = 8, rank = 0; return gpunb_open_(&n, &rank) + gpunb_profile_(&rank); }";
    compiles("nbody6pp_header", &format!("#include <nbody6pp.h>\n{main}\n"));
}
