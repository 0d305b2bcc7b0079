//! `make install DROPIN=1` installs the library in the place of those that old codes link.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::programs::alone;
use common::{folder, root, succeed, text};

/// Runs make for an installation below a prefix.
fn make(target: &str, prefix: &Path, more: &[&str]) {
    let mut make = Command::new("make");
    make.current_dir(root()).arg(target).args(more).arg(format!("PREFIX={}", prefix.display()));
    succeed(&mut make);
}

/// The installation that the tests share.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = folder("dropin");
        make("install", &prefix, &["PROFILE=dev", "DROPIN=1"]);
        prefix
    })
}

/// Returns the output of a program that finds its libraries in the installation.
fn printed(program: &Path) -> String {
    let mut command = alone(Command::new(program));
    command.env("LD_LIBRARY_PATH", prefix().join("lib")).env("KYOHO_BACKEND", "cpu");
    String::from_utf8(succeed(&mut command).stdout).unwrap()
}

fn pkg_config(module: &str, arguments: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(arguments).arg(module);
    String::from_utf8(succeed(&mut command).stdout).unwrap().split_whitespace().map(String::from).collect()
}

/// Compiles a program with these last arguments.
fn compile(compiler: &str, name: &str, text: &str, arguments: &[String]) -> PathBuf {
    let extension = if compiler == "g++" { "cc" } else { "c" };
    let folder = folder(&format!("dropin_{name}"));
    let (source, program) = (folder.join(format!("{name}.{extension}")), folder.join(name));
    std::fs::write(&source, text).unwrap();
    succeed(
        Command::new(compiler).args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(&source).args(arguments),
    );
    program
}

const G6: &str = "#include <g6lib.h>\n#include <stdio.h>\n\
    int main(void) { printf(\"%d %d\", g6_npipes_(), get_device_count() > 0); return 0; }\n";
const G5: &str = "#include <gp5util.h>\n#include <stdio.h>\nstatic double x[JMEMSIZE][3];\n\
    int main(void) { printf(\"%d\", g5_get_jmemsize() == (int)(sizeof x / sizeof *x)); return 0; }\n";

/// The programs include what GRAPE-6 codes and old editions of REBOUND do. The latter sends sources
/// and the scale of a table of forces, as it does for a GRAPE-7.
const GRAPE6: &str = "#include <grape6.h>\n#include <stdio.h>\n\
    int main(void) { printf(\"%d\", g6_npipes()); return 0; }\n";
const GRAPE7: &str = "#include <g5nbutil.h>\n#include <stdio.h>\n\
    int main(void) {\n\
    double m = 4, xj[1][3] = {{2, 0, 0}}, xi[1][3] = {{0, 0, 0}}, a[1][3], p[1];\n\
    g5_open();\n\
    g5_set_range(-4.0, 4.0, 1.0);\n\
    g5_set_eta(2.0);\n\
    g5_set_jp(0, 1, &m, xj);\n\
    g5_set_n(1);\n\
    g5_set_eps_to_all(0.0);\n\
    g5_calculate_force_on_x(xi, a, p, 1);\n\
    g5_close();\n\
    printf(\"%g\", a[0][0]);\n\
    return 0; }\n";

/// The program calls the library as Phantom-GRAPE's sample banana01 does.
const PG6: &str = "#include <gp6util.h>\n#include <stdio.h>\n\
    int main(void) {\n\
    int index[1] = {7}, nn[1];\n\
    double zero[1][3] = {{0, 0, 0}}, x[1][3] = {{2, 0, 0}}, acc[1][3], jrk[1][3], pot[1], h2[1] = {0};\n\
    g6_open(0);\n\
    g6_set_tunit(45);\n\
    g6_set_j_particle(0, 0, 3, 0.0, 0.0, 4.0, zero[0], zero[0], zero[0], zero[0], zero[0]);\n\
    g6_set_ti(0, 0.0);\n\
    g6calc_firsthalf(0, 1, 1, index, x, zero, acc, jrk, pot, 0.0, h2);\n\
    g6calc_lasthalf2n(0, 1, 1, index, x, zero, 0.0, h2, acc, jrk, pot, nn);\n\
    printf(\"%d %g %d\", g6_npipes(), acc[0][0], nn[0]);\n\
    g6_close(0);\n\
    return 0; }\n";

#[test]
fn programs_link_it_by_each_of_the_old_names() {
    let libraries = format!("-L{}", prefix().join("lib").display());
    let headers = format!("-I{}", prefix().join("include").display());
    for (program, library, text, expected) in [
        ("sapporo", "sapporo", G6, "16384 1"),
        ("g6", "g6", G6, "16384 1"),
        ("pg6", "pg6", G6, "16384 1"),
        ("banana", "pg6", PG6, "16384 -1 3"),
        ("g5", "g5", G5, "1"),
        ("grape6", "g6", GRAPE6, "16384"),
        ("grape7", "g5", GRAPE7, "1"),
        ("pg5", "pg5", G5, "1"),
    ] {
        let shared = [libraries.clone(), headers.clone(), format!("-l{library}")];
        assert_eq!(printed(&compile("cc", &format!("{program}_shared"), text, &shared)), expected, "{program}");
        let alone = ["-lpthread", "-ldl", "-lm"].map(String::from);
        let archive = [headers.clone(), prefix().join(format!("lib/lib{library}.a")).display().to_string()];
        let linked = compile("cc", &format!("{program}_static"), text, &[&archive[..], &alone].concat());
        assert_eq!(printed(&linked), expected, "{program}");
    }
}

/// A program that was linked with another library loads it under that library's old name.
#[test]
fn programs_that_are_linked_already_find_it() {
    for name in ["libsapporo.so", "libsapporo.so.1", "libsapporo.so.2", "libg6.so", "libg6.so.0", "libpg6.so.1"] {
        let other = folder(&format!("dropin_other_{name}"));
        let (source, library) = (other.join("other.c"), other.join(name));
        std::fs::write(&source, "int g6_npipes_(void) { return -7; }\nint get_device_count(void) { return -7; }\n")
            .unwrap();
        let name_of_it = format!("-Wl,-soname,{name}");
        succeed(Command::new("cc").args(["-shared", "-fPIC", &name_of_it, "-o"]).arg(&library).arg(&source));
        let headers = format!("-I{}", prefix().join("include").display());
        let program = compile("cc", &format!("linked_{name}"), G6, &[headers, library.display().to_string()]);
        assert_eq!(printed(&program), "16384 1", "{name}");
    }
}

/// ph4 defines the C forms itself, and these call the Fortran forms.
#[test]
fn a_program_that_defines_the_c_forms_itself_links_the_static_library() {
    let program = folder("dropin_own_forms").join("own_forms");
    let mut command = Command::new("cc");
    command.arg("-I").arg(prefix().join("include")).arg("-o").arg(&program);
    command.arg(root().join("c_tests/g6_own_c_forms.c")).arg(prefix().join("lib/libsapporo.a"));
    succeed(command.args(["-lpthread", "-ldl", "-lm"]));
    assert_eq!(printed(&program), "");
}

#[test]
fn clients_of_sapporo2_in_cpp_find_order_6_behind_its_module() {
    // The program calls the library as mi6 does: in C++, with references in the place of pointers.
    let text = "#include <6thorder.h>\n#include <cstdio>\nint main() {\n\
        double zero[3] = {0, 0, 0}, pos[3] = {1, 2, 3}, vel[3], acc[3], at[3], mass = 0, eps2 = 0;\n\
        int id = 0;\n\
        initialize();\n\
        set_j_particle(4, pos, zero, zero, zero, zero, zero, 0.5, 0.0, 7, 0.25);\n\
        predict_all(1.0, 5);\n\
        pick_up_predictor_2(4, id, mass, eps2, at, vel, acc);\n\
        std::printf(\"%d %g %g %g\", id, mass, eps2, at[2]);\n}\n";
    let program = compile("g++", "order_6", text, &pkg_config("sapporo2", &["--cflags", "--libs"]));
    assert_eq!(printed(&program), "7 0.5 0.25 3");
    let needs =
        |program: &Path| String::from_utf8(succeed(Command::new("readelf").arg("-d").arg(program)).stdout).unwrap();
    assert!(needs(&program).contains("libkyoho_sapporo6"));
    // Other programs do not get its plain names.
    let program = compile("cc", "order_4", G6, &pkg_config("sapporo2", &["--cflags", "--libs"]));
    assert_eq!(printed(&program), "16384 1");
    assert!(!needs(&program).contains("libkyoho_sapporo6"));
}

/// The checks of AMUSE's configure: for a symbol, and otherwise for a module of pkg-config.
#[test]
fn a_configure_script_finds_it_as_amuses_does() {
    let folder = folder("dropin_configure");
    let script = "AC_INIT([client], [1.0])\nAC_PROG_CC\n\
        AC_SEARCH_LIBS([get_device_count], [sapporo], [SYMBOL=yes], [SYMBOL=no])\n\
        SAPPORO=$LIBS LIBS=\nAC_SEARCH_LIBS([g6_npipes], [g6], [SYMBOL6=yes], [SYMBOL6=no])\n\
        PKG_CHECK_MODULES([SAPPORO_LIGHT], [sapporo_light], [MODULE=yes], [MODULE=no])\n\
        PKG_CHECK_MODULES([G6LIB], [g6lib], [MODULE6=yes], [MODULE6=no])\n\
        AS_ECHO([\"symbols $SYMBOL $SYMBOL6, \
        modules $MODULE $MODULE6, libraries $SAPPORO $LIBS $SAPPORO_LIGHT_LIBS\"])\n";
    std::fs::write(folder.join("configure.ac"), script).unwrap();
    succeed(Command::new("sh").current_dir(&folder).args(["-c", "aclocal && autoconf"]));
    let lib = prefix().join("lib");
    let configured = |variables: &[(&str, String)]| {
        let mut configure = Command::new("./configure");
        configure.current_dir(&folder).env_remove("PKG_CONFIG_PATH").env_remove("LIBRARY_PATH");
        let said = succeed(configure.envs(variables.iter().map(|(name, value)| (name, value)))).stdout;
        let said = String::from_utf8(said).unwrap();
        let line = said.lines().find(|line| line.starts_with("symbols ")).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = configured(&[]);
    assert!(said.starts_with("symbols no no, modules no no"), "{said}: a library was there before");
    let said = configured(&[("LDFLAGS", format!("-L{}", lib.display()))]);
    assert!(said.starts_with("symbols yes yes, modules no no, libraries -lsapporo -lg6"), "{said}");
    let said = configured(&[("PKG_CONFIG_PATH", lib.join("pkgconfig").display().to_string())]);
    assert!(said.starts_with("symbols no no, modules yes yes"), "{said}");
    assert!(said.contains(&format!("-L{} -lsapporo", lib.display())), "{said}");
}

/// The macro that is offered to AMUSE: an installed module is taken before a library that lies in the
/// compiler's path, and one that cannot be linked ends the configuration.
#[test]
fn the_macro_for_amuse_asks_pkg_config_first() {
    let folder = folder("dropin_macro");
    let text = text("packaging/amuse/upstream/amuse_lib_sapporo_light.m4");
    std::fs::write(folder.join("macro.m4"), text).unwrap();
    let script = "AC_INIT([client], [1.0])\nAC_PROG_CC\nAC_PROG_CXX\nAC_LANG([C++])\nm4_include([macro.m4])\n\
        AC_DEFUN([AMUSE_LIB], [AC_LANG_PUSH([C])\nAC_SEARCH_LIBS([$4], [$3], [$1_LIBS=$LIBS], [$1_LIBS=none])\n\
        AC_LANG_POP([C])])\n\
        AMUSE_LIB_SAPPORO_LIGHT()\nAS_ECHO([\"libraries $SAPPORO_LIGHT_LIBS\"])\n";
    std::fs::write(folder.join("configure.ac"), script).unwrap();
    let other = folder.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("other.c"), "int get_device_count(void) { return 0; }\n").unwrap();
    let mut compiler = Command::new("cc");
    succeed(compiler.current_dir(&other).args(["-shared", "-fPIC", "-o", "libsapporo.so", "other.c"]));
    succeed(Command::new("sh").current_dir(&folder).args(["-c", "aclocal && autoconf"]));
    let flags = format!("-L{}", other.display());
    let configure = |modules: Option<&Path>| {
        let mut configure = Command::new("./configure");
        configure.current_dir(&folder).env_remove("PKG_CONFIG_PATH").env_remove("LIBRARY_PATH").env("LDFLAGS", &flags);
        let output = configure.envs(modules.map(|path| ("PKG_CONFIG_PATH", path))).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert!(configure(None).contains("libraries -lsapporo"));
    let lib = prefix().join("lib");
    let said = configure(Some(&lib.join("pkgconfig")));
    let words: Vec<&str> = said.lines().find_map(|line| line.strip_prefix("libraries ")).unwrap().split(' ').collect();
    assert!(words.contains(&format!("-L{}", lib.display()).as_str()), "{said}");
    assert!(words.contains(&format!("-Wl,-rpath,{}", lib.display()).as_str()), "{said}");
    let module = std::fs::read_to_string(lib.join("pkgconfig/sapporo_light.pc")).unwrap();
    std::fs::write(other.join("sapporo_light.pc"), module.replace("-lsapporo", "-lmissing")).unwrap();
    assert!(configure(Some(&other)).contains("names no library that can be linked"));
}

#[test]
fn it_is_not_put_in_their_place_unasked_and_goes_without_a_trace() {
    let prefix = folder("dropin_unasked");
    make("install", &prefix, &["PROFILE=dev"]);
    assert!(prefix.join("lib/libkyoho.so").exists());
    for file in ["lib/libsapporo.so", "lib/libg6.a", "lib/pkgconfig/g6lib.pc", "include/g6lib.h", "include/gp6util.h"] {
        assert!(!prefix.join(file).exists(), "{file}");
    }
    make("install", &prefix, &["PROFILE=dev", "DROPIN=1"]);
    // Files of other libraries stay.
    let others = ["lib/libpg5.so", "include/gp5util.h", "lib/pkgconfig/sapporo_light.pc"].map(|file| prefix.join(file));
    for other in &others {
        std::fs::remove_file(other).unwrap();
        // A file of another library may name the folder, whose name may begin with that of this
        // one.
        std::fs::write(other, format!("prefix={}/kyoho\n", prefix.display())).unwrap();
    }
    make("uninstall", &prefix, &[]);
    let mut left = Vec::new();
    let mut folders = vec![prefix.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { left.push(path) }
        }
    }
    left.sort();
    let mut expected = others.to_vec();
    expected.sort();
    assert_eq!(left, expected);
}
