//! `make install` puts everything in place, and programs build against it with pkg-config or CMake
//! alone.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    output
}

fn pkg_config(prefix: &Path, arguments: &[&str]) -> Vec<String> {
    pkg_config_of("kyoho", prefix, arguments)
}

fn pkg_config_of(package: &str, prefix: &Path, arguments: &[&str]) -> Vec<String> {
    let path = prefix.join("lib/pkgconfig");
    let output = run(Command::new("pkg-config").env("PKG_CONFIG_PATH", path).args(arguments).arg(package));
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(String::from).collect()
}

const NATIVE: &str = r#"
#include <kyoho.h>
#include <g6.h>
#include <g5.h>
#include <stdio.h>
int main(void) { printf("%s %d", kyoho_version(), g6_npipes()); return g5_get_number_of_pipelines() <= 0; }
"#;

/// A project that finds the library, with programs in C and Fortran.
const PROJECT: &str = r#"
cmake_minimum_required(VERSION 3.13)
project(user LANGUAGES C Fortran)
find_package(kyoho ${WANTED} REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE kyoho::kyoho)
add_executable(static program.c)
target_link_libraries(static PRIVATE kyoho::static)
add_executable(fortran program.f90 ${kyoho_FORTRAN_MODULE})
target_link_libraries(fortran PRIVATE kyoho::kyoho)
"#;

const FORTRAN: &str =
    "program p\n use kyoho\n if (kyoho_library_version() /= KYOHO_VERSION_NUMBER) stop 1\nend program\n";

/// Programs build and run by the CMake package, which accepts only versions that have the same
/// interface.
fn by_cmake(prefix: &Path, version: &str) {
    if Command::new("cmake").arg("--version").output().is_err() {
        eprintln!("skipped: cmake is not there ('make test-tools' installs it)");
        return;
    }
    let project = prefix.join("project");
    std::fs::create_dir_all(&project).unwrap();
    let files = [("CMakeLists.txt", PROJECT), ("program.c", NATIVE), ("program.f90", FORTRAN)];
    files.iter().for_each(|(name, text)| std::fs::write(project.join(name), text).unwrap());
    let configure = |wanted: &str| {
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(&project).arg("-B").arg(project.join("build")).arg(format!("-DWANTED={wanted}"));
        cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        cmake
    };
    let mut parts = version.split('.').map(|number| number.parse::<u32>().unwrap());
    let [major, minor] = [(); 2].map(|()| parts.next().unwrap());
    run(&mut configure(&format!("{major}.{minor}")));
    run(Command::new("cmake").arg("--build").arg(project.join("build")));
    for program in ["shared", "static"] {
        let output = run(&mut Command::new(project.join("build").join(program)));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{version} 16384"));
    }
    run(&mut Command::new(project.join("build/fortran")));
    let others = [format!("{}.0", major + 1), format!("{major}.{}", minor + 1), format!("{major}.{minor}.999")];
    for wanted in others.iter().map(String::as_str).chain((major == 0).then_some("0.1")) {
        let output = configure(wanted).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(version), "kyoho {wanted}: {error}");
    }
}

/// The libraries of old names, each with a program that uses it.
const FORWARDS: [(&str, &str); 4] = [
    (
        "sapporo6",
        "#include <sapporo6.h>\n#include <stdio.h>\nint main(void) { return printf(\"%d\", initialize()) != 1; }\n",
    ),
    (
        "yebisu",
        "#include <yebisu.h>\n#include <stdio.h>\nint main(void) { return printf(\"%d\", initialize(1)) != 1; }\n",
    ),
    (
        "nbody6",
        "#include <nbody6.h>\n#include <stdio.h>\nint main(void) { return printf(\"%d\", gpunb_devinit_()) != 1; }\n",
    ),
    (
        "nbody6pp",
        "#include <nbody6pp.h>\n#include <stdio.h>\n\
         int main(void) { int rank = 0; return printf(\"%d\", gpunb_devinit_(&rank)) != 1; }\n",
    ),
];

/// Returns everything below a folder that is not a folder itself.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// An installation takes away other versions of its interface, which nothing needs any more, and
/// leaves those of other interfaces to the programs that were linked with them.
fn other_versions(prefix: &Path, interface: &str, version: &str, install: impl Fn()) {
    let file = |name: &str, number: &str| prefix.join(format!("lib/{name}.so.{number}"));
    let older = format!("{interface}.999");
    for library in ["libkyoho", "libkyoho_nbody6"] {
        for other in [&older, "0.1.0", "9.2.3"] {
            std::fs::write(file(library, other), "").unwrap();
        }
        let link = file(library, interface);
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(format!("{library}.so.{older}"), &link).unwrap();
    }
    // One link leads to a library of 0.1, and the other gave this one to programs of 0.1.
    std::os::unix::fs::symlink("libkyoho.so.0.1.0", file("libkyoho", "0")).unwrap();
    std::os::unix::fs::symlink(format!("libkyoho_nbody6.so.{version}"), file("libkyoho_nbody6", "0")).unwrap();
    install();
    for library in ["libkyoho", "libkyoho_nbody6"] {
        assert!(!file(library, &older).exists());
        assert!(file(library, "0.1.0").exists() && file(library, "9.2.3").exists());
        let link = std::fs::read_link(file(library, interface)).unwrap();
        assert_eq!(link, Path::new(&format!("{library}.so.{version}")));
    }
    assert_eq!(std::fs::read_link(file("libkyoho", "0")).unwrap(), Path::new("libkyoho.so.0.1.0"));
    assert!(std::fs::symlink_metadata(file("libkyoho_nbody6", "0")).is_err());
}

const STATIC: &str = r#"
#include <kyoho.h>
#include <stdio.h>
int main(void)
{
    int32_t cpu = 0, opencl = 1, cuda = 1;
    kyoho_backend_available(KYOHO_BACKEND_CPU, &cpu);
    kyoho_backend_available(KYOHO_BACKEND_OPENCL, &opencl);
    kyoho_backend_available(KYOHO_BACKEND_CUDA, &cuda);
    kyoho_system *system = NULL;
    kyoho_result result = kyoho_system_create(NULL, &system);
    printf("%d %d %d %d", cpu > 0, opencl, cuda, result);
    return kyoho_system_free(system) != KYOHO_OK;
}
"#;

/// A program that is linked with `-static` has no loader for drivers: it gets the CPU, and the log
/// says why.
fn static_programs_have_the_cpu(prefix: &Path) {
    let (source, program) = (prefix.join("static.c"), prefix.join("static"));
    std::fs::write(&source, STATIC).unwrap();
    let flags = pkg_config(prefix, &["--cflags", "--libs", "--static"]);
    run(Command::new("gcc").arg("-static").arg(&source).arg("-o").arg(&program).args(flags));
    let output = run(&mut common::pocl::on_pocl(Command::new(&program), &[("KYOHO_LOG", "info")]));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1 0 0 0");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("only the CPU is offered: the program is linked statically"), "{log}");
}

#[test]
fn programs_build_and_run_against_an_installation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prefix = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("prefix");
    let _ = std::fs::remove_dir_all(&prefix);
    std::fs::create_dir_all(&prefix).unwrap();
    let install = |prefix: &Path| {
        let prefix = format!("PREFIX={}", prefix.display());
        run(Command::new("make").current_dir(root).args(["install", "PROFILE=dev", "MPI=1"]).arg(prefix))
    };
    install(&prefix);
    let interface = common::interface_number();
    for file in [
        "lib/libkyoho.so",
        &format!("lib/libkyoho.so.{interface}"),
        "lib/libkyoho.a",
        "include/kyoho.h",
        "include/g6.h",
        "include/g5.h",
        "include/kyoho_mpi.h",
        "include/kyoho.f90",
        "include/kyoho_mpi.f90",
        "lib/cmake/kyoho/kyoho-config.cmake",
        "lib/cmake/kyoho/kyoho-config-version.cmake",
        "bin/kyoho",
        "bin/kyoho-mpi",
        "share/man/man1/kyoho.1",
        "share/man/man1/kyoho-model-plummer.1",
        "share/bash-completion/completions/kyoho",
        "share/fish/vendor_completions.d/kyoho.fish",
        "share/zsh/site-functions/_kyoho",
        "lib/libkyoho_sapporo6.so",
        &format!("lib/libkyoho_sapporo6.so.{interface}"),
        "include/sapporo6.h",
        "lib/libkyoho_yebisu.so",
        &format!("lib/libkyoho_yebisu.so.{interface}"),
        "include/yebisu.h",
        &format!("lib/libkyoho_nbody6.so.{interface}"),
        "include/nbody6.h",
        &format!("lib/libkyoho_nbody6pp.so.{interface}"),
        "include/nbody6pp.h",
        "lib/libkyoho_nbody6.a",
        "lib/libkyoho_sapporo6.a",
    ] {
        assert!(prefix.join(file).exists(), "{file} was not installed");
    }

    let source = prefix.join("program.c");
    std::fs::write(&source, NATIVE).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(pkg_config(&prefix, &["--modversion"]), [version]);

    let shared = prefix.join("shared");
    run(Command::new("cc").arg(&source).arg("-o").arg(&shared).args(pkg_config(&prefix, &["--cflags", "--libs"])));
    let output = run(Command::new(&shared).env("LD_LIBRARY_PATH", prefix.join("lib")));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{version} 16384"));

    let alone = prefix.join("static");
    let flags = pkg_config(&prefix, &["--cflags", "--libs", "--static"]);
    let flags = flags.iter().map(|flag| if flag == "-lkyoho" { "-l:libkyoho.a" } else { flag });
    run(Command::new("cc").arg(&source).arg("-o").arg(&alone).args(flags));
    let output = run(&mut Command::new(&alone));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{version} 16384"));

    // If a client defines the C forms itself, its forms replace those of the static library.
    let own_forms = prefix.join("own_c_forms");
    let flags = pkg_config(&prefix, &["--cflags", "--libs", "--static"]);
    let flags = flags.iter().map(|flag| if flag == "-lkyoho" { "-l:libkyoho.a" } else { flag });
    run(Command::new("cc").arg(root.join("c_tests/g6_own_c_forms.c")).arg("-o").arg(&own_forms).args(flags).arg("-lm"));
    run(&mut Command::new(&own_forms));

    by_cmake(&prefix, version);
    static_programs_have_the_cpu(&prefix);

    let module = prefix.join("include/kyoho.f90");
    run(Command::new("gfortran").current_dir(&prefix).arg("-c").arg(module));
    assert!(prefix.join("kyoho.mod").exists());
    for (forward, text) in FORWARDS {
        let package = format!("kyoho_{forward}");
        let (source, program) = (prefix.join(format!("{forward}.c")), prefix.join(forward));
        std::fs::write(&source, text).unwrap();
        assert_eq!(pkg_config_of(&package, &prefix, &["--modversion"]), [version]);
        let flags = pkg_config_of(&package, &prefix, &["--cflags", "--libs"]);
        // The program's path finds the library of old names, and that library's own path finds the
        // other.
        let path = format!("-Wl,--enable-new-dtags,-rpath,{}", prefix.join("lib").display());
        run(Command::new("cc").arg(&source).arg("-o").arg(&program).arg(path).args(flags));
        let output = run(Command::new(&program).env_remove("LD_LIBRARY_PATH").env("KYOHO_BACKEND", "cpu"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "0");
        // The static libraries leave the program its own functions, and need no library when it
        // runs.
        let own = prefix.join(format!("{forward}_own.c"));
        std::fs::write(&own, "int predict_all(void) { return 3; }\nint gpunb_close_(void) { return 3; }\n").unwrap();
        let flags = pkg_config_of(&package, &prefix, &["--cflags", "--libs", "--static"]);
        let flags = flags.iter().map(|flag| match flag.strip_prefix("-lkyoho") {
            Some(rest) => format!("-l:libkyoho{rest}.a"),
            None => flag.clone(),
        });
        run(Command::new("cc").arg(&source).arg(&own).arg("-o").arg(&program).args(flags));
        let output = run(Command::new(&program).env_remove("LD_LIBRARY_PATH").env("KYOHO_BACKEND", "cpu"));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "0");
        let needs = run(Command::new("readelf").arg("-d").arg(&program));
        assert!(!String::from_utf8(needs.stdout).unwrap().contains("kyoho"), "{forward}");
    }

    other_versions(&prefix, &interface, version, || drop(install(&prefix)));

    // Files of others under the same names stay.
    let others = ["include/g5.h", "lib/libg5.so.3", "lib/libpg5.a"].map(|file| prefix.join(file));
    others.iter().for_each(|file| std::fs::write(file, "not Kyoho's").unwrap());
    run(Command::new("make").current_dir(root).arg("uninstall").arg(format!("PREFIX={}", prefix.display())));
    let mut left: Vec<PathBuf> =
        ["lib", "include", "bin", "share"].iter().flat_map(|folder| files_below(&prefix.join(folder))).collect();
    left.sort();
    assert_eq!(left, others, "uninstall leaves files or takes those of others");
    assert!(!prefix.join("lib/cmake/kyoho").exists());
    for (more, file) in [("DROPIN=0", &others[0]), ("DROPIN=1", &others[2])] {
        let mut install = Command::new("make");
        install.current_dir(root).args(["install", "PROFILE=dev", more]).arg(format!("PREFIX={}", prefix.display()));
        let output = install.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let expected = format!("{} is not Kyoho's; allowed: another PREFIX", file.display());
        assert!(!output.status.success() && error.contains(&expected), "{error}");
        let _ = std::fs::remove_file(&others[0]);
    }
    assert_eq!(std::fs::read(&others[2]).unwrap(), b"not Kyoho's");
}
