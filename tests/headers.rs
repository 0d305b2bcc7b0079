//! The header and the Fortran module say what the library exports.

mod common;

use common::{compiler, folder, root, succeed, text};

/// The C header as the sources make it.
fn header() -> String {
    let sources = [
        "src/data/error.rs",
        "src/data/interaction.rs",
        "src/hal/mod.rs",
        "src/engine/mod.rs",
        "src/abi/native/structures.rs",
        "src/abi/native/system.rs",
        "src/abi/native/sources.rs",
        "src/abi/native/block.rs",
    ];
    let configuration = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(configuration);
    // Alone in a folder, so that no module of theirs is read too.
    let alone = folder("header_sources");
    let builder = sources.iter().enumerate().fold(builder, |builder, (number, source)| {
        let copy = alone.join(format!("{number}.rs"));
        std::fs::copy(root().join(source), &copy).unwrap();
        builder.with_src(copy)
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    // Results are read most often, so that their names are the shortest; OpenCL is one word.
    String::from_utf8(made).unwrap().replace("KYOHO_RESULT_", "KYOHO_").replace("OPEN_CL", "OPENCL")
}

#[test]
fn kyoho_h_is_what_the_sources_make() {
    let header = header();
    if std::env::var_os("KYOHO_BLESS").is_some() && text("include/kyoho.h") != header {
        std::fs::write(root().join("include/kyoho.h"), &header).unwrap();
    }
    assert!(text("include/kyoho.h") == header, "run this test with KYOHO_BLESS=1, and look at what changed");
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

/// The lines of a C or Fortran text without comments.
fn code<'a>(text: &'a str, comment: &str) -> Vec<&'a str> {
    text.lines().map(|line| line.split(comment).next().unwrap_or_default().trim()).collect()
}

/// The constants `KYOHO_NAME = number` of a text, in their order.
fn constants(lines: &[&str]) -> Vec<(String, i32)> {
    let constant = |line: &&str| {
        let (name, number) = line.split_once('=')?;
        let name = name.split_whitespace().last()?;
        let number = number.trim().trim_end_matches(',').parse().ok()?;
        name.starts_with("KYOHO_").then(|| (name.to_string(), number))
    };
    lines.iter().filter_map(constant).collect()
}

/// The components of a structure: name and type, in one spelling for both languages.
fn components(lines: &[&str], begin: &str) -> Vec<(String, &'static str)> {
    let first = 1 + lines.iter().position(|line| *line == begin).unwrap_or_else(|| panic!("no '{begin}'"));
    let body = lines[first..].iter().take_while(|line| !line.starts_with('}') && !line.starts_with("end type"));
    body.filter(|line| !line.is_empty())
        .map(|line| {
            let kinds = [
                ("pointer", ["*", "type(c_ptr)"]),
                ("32 bits", ["int32_t", "integer(c_int32_t)"]),
                ("64 bits", ["int64_t", "integer(c_int64_t)"]),
                ("double", ["double", "real(c_double)"]),
            ];
            let kind =
                kinds.into_iter().find(|(_, spellings)| spellings.iter().any(|spelling| line.contains(spelling)));
            let declared = line.split_once('=').map_or(*line, |(declared, _)| declared);
            let name = declared.trim().trim_end_matches(';').rsplit([' ', '*']).next().unwrap();
            (name.to_string(), kind.unwrap_or_else(|| panic!("what is {line}?")).0)
        })
        .collect()
}

#[test]
fn the_fortran_module_has_the_constants_and_structures_of_kyoho_h() {
    let (header, module) = (text("include/kyoho.h"), text("include/kyoho.f90"));
    let (c, fortran) = (code(&header, "//"), code(&module, "!"));
    assert!(constants(&c).len() > 20);
    assert_eq!(constants(&c), constants(&fortran));
    for name in ["kyoho_sources", "kyoho_sinks", "kyoho_forces", "kyoho_predictions", "kyoho_statistics"] {
        let of_c = components(&c, &format!("typedef struct {name} {{"));
        assert!(of_c.len() > 4);
        assert_eq!(of_c, components(&fortran, &format!("type, bind(c), public :: {name}")), "{name}");
    }
}

#[test]
fn the_fortran_module_binds_every_function_of_kyoho_h() {
    let (header, module) = (text("include/kyoho.h"), text("include/kyoho.f90"));
    let names = |text: &str, before: &str, after: char| -> Vec<String> {
        let name = |part: &str| {
            let end = part.find(|letter: char| letter != '_' && !letter.is_ascii_alphanumeric())?;
            let (name, rest) = part.split_at(end);
            (name.starts_with("kyoho_") && rest.starts_with(after)).then(|| name.to_string())
        };
        let mut names: Vec<String> = text.split(before).filter_map(name).collect();
        names.sort();
        names
    };
    let code = code(&header, "//").join("\n").replace(['*'], " ");
    let exported = names(&code, " ", '(');
    assert!(exported.len() > 15);
    assert_eq!(exported, names(&module, "name=\"", '"'));
}
