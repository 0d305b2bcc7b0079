//! The header and the Fortran module say what the library exports.

mod common;

use common::{compiler, folder, root, succeed, text};

/// The C header as the sources make it.
fn header() -> String {
    let configuration = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let sources = [
        "src/error.rs",
        "src/catalogue.rs",
        "src/backend/mod.rs",
        "src/system/mod.rs",
        "src/abi/native/system.rs",
        "src/abi/native/block.rs",
    ];
    let builder = cbindgen::Builder::new().with_config(configuration);
    let builder = sources.iter().fold(builder, |builder, path| builder.with_src(root().join(path)));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    // Results are read most often, so that their names are the shortest; OpenCL is one word.
    String::from_utf8(made).unwrap().replace("KYOHO_RESULT_", "KYOHO_").replace("OPEN_CL", "OPENCL")
}

#[test]
fn kyoho_h_is_what_the_sources_make() {
    if std::env::var_os("KYOHO_BLESS").is_some() {
        std::fs::write(root().join("include/kyoho.h"), header()).unwrap();
    }
    assert!(text("include/kyoho.h") == header(), "run this test with KYOHO_BLESS=1, and look at what changed");
}

#[test]
fn kyoho_h_compiles_in_c_and_in_cpp() {
    let folder = folder("headers");
    let source = "#include <kyoho.h>\nint main(void) { return kyoho_version() == 0; }\n";
    for (name, command, standard) in
        [("c99.c", "gcc", "-std=c99"), ("c17.c", "gcc", "-std=c17"), ("cpp.cc", "g++", "-std=c++11")]
    {
        std::fs::write(folder.join(name), source).unwrap();
        let warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        succeed(compiler(command, &folder).arg(standard).args(warnings).arg(name));
    }
}
