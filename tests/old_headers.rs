//! The headers of the old interfaces say what the library exports.

mod common;

use common::{compiler, folder, root, succeed, text};

/// A header as the sources make it.
fn header(guard: &str, opening: &str, sources: &[&str]) -> String {
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
// Functions whose name ends in MC take the number of a board, 0 to 127; each board has its own sources, may be used
// by its own thread, and computes on that thread alone. The functions without MC act on board 0, with all threads.
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

#[test]
fn the_headers_compile_in_c_and_in_cpp() {
    let folder = folder("old_headers");
    // Callers pass numbers of either kind to the functions that set units.
    let source = "#include <g6.h>\n#include <g5.h>\n\
        int main(void) { int unit = 48; return g6_set_tunit(48) + g6_set_tunit(48.0) + g6_set_xunit_(&unit); }\n";
    for (name, command, standard) in
        [("c99.c", "gcc", "-std=c99"), ("c17.c", "gcc", "-std=c17"), ("cpp.cc", "g++", "-std=c++11")]
    {
        std::fs::write(folder.join(name), source).unwrap();
        let warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        succeed(compiler(command, &folder).arg(standard).args(warnings).arg(name));
    }
}
