//! The headers of the old interfaces declare what the library exports.

mod common;

use std::path::{Path, PathBuf};

use common::{compiler, folder, root, succeed, text};

/// Makes a copy of a source in which functions have no prefix and structures have their names in C.
fn without_prefix(path: &str, prefix: &str) -> PathBuf {
    let copy = folder(&format!("{prefix}header")).join("plain.rs");
    std::fs::write(&copy, text(path).replace(prefix, "").replace("Predictor", "predictor")).unwrap();
    copy
}

/// Returns the header that these sources make.
fn header(guard: &str, opening: &str, sources: &[impl AsRef<Path>]) -> String {
    let configuration = cbindgen::Config {
        language: cbindgen::Language::C,
        header: Some(opening.into()),
        include_guard: Some(guard.into()),
        cpp_compat: true,
        no_includes: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 100,
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

/// A row of the table of an interface: the name in C, the arguments with their types, and the names
/// in Fortran.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// Reads a table from which the library makes functions.
macro_rules! functions {
    ($(
        $c:ident($($argument:ident: $type:ty),*) fortran($($fortran:ident),*) reads $scalars:tt => $call:expr;
    )*) => {
        pub const ROWS: &[super::Row] = &[$((
            stringify!($c), &[$((stringify!($argument), stringify!($type))),*], &[$(stringify!($fortran)),*],
        )),*];
    };
}

mod g6 {
    include!("../src/abi/g6/table.rs");
}

mod g5 {
    include!("../src/abi/g5/table.rs");
}

/// Returns the declaration in C of a function with these arguments.
fn declaration(name: &str, arguments: &[(&str, &str)], is_fortran: bool) -> String {
    let declared = arguments.iter().map(|(argument, rust_type)| match (*rust_type, is_fortran) {
        ("c_int", false) => format!("int {argument}"),
        ("f64" | "Unit", false) => format!("double {argument}"),
        ("c_int", true) | ("*mut c_int", _) => format!("int *{argument}"),
        ("f64", true) | ("*mut f64", _) => format!("double *{argument}"),
        ("Unit", true) => format!("void *{argument}"),
        ("*mut f32", _) => format!("float *{argument}"),
        ("*mut [f64; 3]", _) => format!("double (*{argument})[3]"),
        _ => panic!("{rust_type} has no type in C"),
    });
    let declared: Vec<String> = declared.collect();
    format!("int {name}({})", if declared.is_empty() { "void".into() } else { declared.join(", ") })
}

/// Returns the declarations in C of all functions of a table.
fn of_table(rows: &[Row]) -> Vec<String> {
    let forms = rows.iter().flat_map(|(c, arguments, fortran)| {
        // Only compilers write the names with two underscores, so that no header has them.
        let fortran = fortran.iter().filter(|name| !name.ends_with("__"));
        let fortran = fortran.map(|name| declaration(name, arguments, true));
        std::iter::once(declaration(c, arguments, false)).chain(fortran)
    });
    sorted(forms)
}

/// Returns the declarations of a header, each in one line.
fn of_header(path: &str) -> Vec<String> {
    let code = text(path).replace("extern \"C\" {\n", "");
    let code = code.lines().filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    let code = code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let (declarations, rest) = code.rsplit_once(';').unwrap();
    assert_eq!(rest, " } // extern \"C\"");
    sorted(declarations.split(';').map(|declaration| declaration.trim().to_string()))
}

fn sorted(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

#[test]
fn g6_h_declares_what_the_library_exports() {
    assert_eq!(of_header("include/g6.h"), of_table(g6::ROWS));
}

#[test]
fn g5_h_declares_what_the_library_exports() {
    assert_eq!(of_header("include/g5.h"), of_table(g5::ROWS));
}

const SAPPORO6: &str = "\
// Sapporo2's interface of order 6, as Kyoho has it: forces, jerks, snaps and nearest neighbours of
// N bodies, for Hermite integrators of order 6.
//
//     initialize();
//     for each source:
//         set_j_particle(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     no_predict_all(t, nj);
//     calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//     for each block step: predict_all(t, nj);
//                          calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, ...);
//       for active bodies: set_j_particle(...);
//
// Link with -lkyoho_sapporo6. A call that fails returns non-zero and writes one line to stderr, and
// the force it was part of is NaN. A process has one board.";

const YEBISU: &str = "\
// Yebisu's interface, as Kyoho has it: forces, jerks, snaps and nearest neighbours of N bodies, for
// Hermite integrators of order 6.
//
//     initialize(n);
//     for each source:     set_jp_2(addr, pos, vel, acc, jrk, snp, crk, mass, time, id, eps2);
//     for each block step: predict_all(t, nj);
//       for active bodies: pick_up_predictor_2(addr, &pred[i]);
//                          calc_force_on_predictors(ni, pred, force, nj);
//       for active bodies: set_jp_2(...);
//
// Link with -lkyoho_yebisu. A call that fails returns non-zero and writes one line to stderr, and
// the force it was part of is NaN. A process has one board.";

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
// The interface of NBODY6 to a GPU, as Kyoho has it: regular forces with neighbour lists for the
// scheme of Ahmad and Cohen, and potentials.
//
//     gpunb_open_(&nbmax);
//     for each block step: gpunb_send_(&nj, m, x, v);
//       for each part:     gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list);
//     for the energy:      gpupot_(&n, m, x, pot);
//     gpunb_close_();
//
// All arguments are pointers, as Fortran passes them. An array of vectors has three doubles for
// each body, which is x(3,n) in Fortran. Link with -lkyoho_nbody6. A call that fails returns
// non-zero, which Fortran does not see, and writes one line to stderr, and the force it was part of
// is NaN. A process has one board.";

const NBODY6PP: &str = "\
// The interface of NBODY6++GPU to a GPU, as Kyoho has it: regular forces with neighbour lists for
// the scheme of Ahmad and Cohen, and potentials.
//
//     gpunb_open_(&nbmax, &rank);
//     for each block step: gpunb_send_(&nj, m, x, v);
//       for each part:
//         gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list, &m_flag);
//     for the energy:      gpupot_(&rank, &istart, &ni, &n, m, x, pot);
//     gpunb_close_();
//
// All arguments are pointers, as Fortran passes them. An array of vectors has three doubles for
// each body, which is x(3,n) in Fortran. Link with -lkyoho_nbody6pp. A call that fails returns
// non-zero, which Fortran does not see, and writes one line to stderr, and the force it was part of
// is NaN. A process has one board.";

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
    // Callers pass integers and doubles to the functions that set units.
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
