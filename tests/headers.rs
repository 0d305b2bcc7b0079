//! The header and the Fortran module declare what the library exports.

mod common;

use common::{compiler, folder, root, succeed, text};
use kyoho::abi::native::options::CROSSOVER_OFF;

/// Returns the C header as the sources make it.
fn header() -> String {
    let sources = [
        "crates/kyoho-core/src/error.rs",
        "crates/kyoho-core/src/interaction.rs",
        "crates/kyoho-core/src/block.rs",
        "crates/kyoho-hal/src/lib.rs",
        "crates/kyoho-integrators/src/cluster/choices.rs",
        "crates/kyoho-integrators/src/cluster/evolution.rs",
        "crates/kyoho-integrators/src/encounters.rs",
        "crates/kyoho-integrators/src/fields/function.rs",
        "crates/kyoho-integrators/src/plan.rs",
        "src/abi/native/structures.rs",
        "src/abi/native/structures/arrays.rs",
        "src/abi/native/structures/communicators.rs",
        "src/abi/native/structures/integrators.rs",
        "src/abi/native/structures/pairs.rs",
        "src/abi/native/system.rs",
        "src/abi/native/interactions.rs",
        "src/abi/native/sources.rs",
        "src/abi/native/block.rs",
        "src/abi/native/lists.rs",
        "src/abi/native/trees.rs",
        "src/abi/native/pairs.rs",
        "src/abi/native/integrators/creation.rs",
        "src/abi/native/integrators/bodies.rs",
        "src/abi/native/integrators/groups.rs",
        "src/abi/native/integrators/fields.rs",
        "src/abi/native/integrators/laws.rs",
        "src/abi/native/integrators/evolution.rs",
        "src/abi/native/integrators/ensembles.rs",
        "src/abi/native/integrators/encounters.rs",
        "src/abi/native/integrators/units.rs",
        "src/abi/native/integrators/energies.rs",
        "src/abi/native/integrators/states.rs",
        "src/abi/native/integrators.rs",
        "src/abi/native/few_body.rs",
        "src/abi/native/models.rs",
        "src/abi/native/log.rs",
    ];
    let mut configuration = cbindgen::Config::from_file(root().join("cbindgen.toml")).unwrap();
    configuration.after_includes = Some(macros());
    let builder = cbindgen::Builder::new().with_config(configuration);
    // The sources are alone in a folder, so that none of their modules is read too.
    let alone = folder("header_sources");
    let builder = sources.iter().enumerate().fold(builder, |builder, (number, source)| {
        let copy = alone.join(format!("{number}.rs"));
        std::fs::copy(root().join(source), &copy).unwrap();
        builder.with_src(copy)
    });
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    with_initialisers(&in_c99(&String::from_utf8(made).unwrap()))
}

/// Macros for which there is no item in the sources.
fn macros() -> String {
    let [major, minor, patch] = VERSION.map(|(_, number)| number.parse::<i32>().unwrap());
    format!(
        "\n// The version of this header; `kyoho_version` has that of the library.\n\
         #define KYOHO_VERSION_MAJOR {major}\n\
         #define KYOHO_VERSION_MINOR {minor}\n\
         #define KYOHO_VERSION_PATCH {patch}\n\
         // As one number, which grows.\n\
         #define KYOHO_VERSION_NUMBER {}\n\n\
         // A crossover with which the CPU computes no block in the place of another backend.\n\
         #define KYOHO_CROSSOVER_OFF ({CROSSOVER_OFF})",
        10_000 * major + 100 * minor + patch
    )
}

/// Makes enumerations in C as they have always been, which C++ reads from the same text: a name for
/// `int32_t`, and enumerators without a name.
fn in_c99(header: &str) -> String {
    let newer = "defined(__cplusplus) || __STDC_VERSION__ >= 202311L";
    let sized = format!("\n#if {newer}\n  : int32_t\n#endif // {newer}\n {{");
    let mut header = header.replace(&sized, " {");
    let names: Vec<String> =
        header.lines().filter_map(|line| line.strip_prefix("enum ")?.strip_suffix(" {")).map(String::from).collect();
    assert!(names.len() > 5);
    for name in names {
        let newer = "__STDC_VERSION__ >= 202311L";
        let typedefs = format!(
            "#ifndef __cplusplus\n#if {newer}\ntypedef enum {name} {name};\n#else\ntypedef int32_t {name};\n\
             #endif // {newer}\n#endif // __cplusplus\n"
        );
        assert!(header.contains(&typedefs), "{name} is not defined as expected");
        header = header
            .replace(&typedefs, "")
            .replace(&format!("enum {name} {{"), &format!("typedef int32_t {name};\nenum {{"));
    }
    // Results are read most often, so their names are the shortest. OpenCL is one word.
    let shorter = [
        ("KYOHO_RESULT_", "KYOHO_"),
        ("KYOHO_ENCOUNTER_KIND_", "KYOHO_ENCOUNTER_"),
        ("KYOHO_EXCLUSION_", "KYOHO_EXCLUDE_"),
        ("KYOHO_LOG_LEVEL_", "KYOHO_LOG_"),
        ("OPEN_CL", "OPENCL"),
    ];
    shorter.into_iter().fold(header, |header, (long, short)| header.replace(long, short))
}

/// Adds a macro behind each structure that begins with its size. All other fields are zero.
fn with_initialisers(header: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut zeros: Vec<&str> = Vec::new();
    for line in header.lines() {
        lines.push(line.to_string());
        let field = line.trim();
        if field.starts_with("//") {
            continue;
        }
        if field.ends_with("structure_size;") || !zeros.is_empty() && field.ends_with(';') && !field.starts_with('}') {
            let is_array = ["reals ", "integers "].iter().any(|array| field.contains(array));
            let of_others = if field.contains("kyoho_cuda ") { "{0, 0, 0}" } else { "0" };
            zeros.push(if is_array { "{0, 0}" } else { of_others });
        }
        if let Some(name) = field.strip_prefix("} ").and_then(|name| name.strip_suffix(';'))
            && !zeros.is_empty()
        {
            lines.push(String::new());
            lines.push(format!("// A {name} with nothing set."));
            lines.push(format!("#define {}_INIT \\", name.to_uppercase()));
            lines.push(format!("    {{(int32_t)sizeof({name}), \\"));
            let rows: Vec<String> = zeros[1..].chunks(10).map(|row| format!("     {}", row.join(", "))).collect();
            lines.push(rows.join(", \\\n") + "}");
            zeros.clear();
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the numbers of Cargo's version.
const VERSION: [(&str, &str); 3] = [
    ("KYOHO_VERSION_MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
    ("KYOHO_VERSION_MINOR", env!("CARGO_PKG_VERSION_MINOR")),
    ("KYOHO_VERSION_PATCH", env!("CARGO_PKG_VERSION_PATCH")),
];

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
    let header = text("include/kyoho.h");
    assert!(!header.contains("__STDC_VERSION__"), "the same text for every C");
    assert!(header.lines().all(|line| line.len() <= 100));
    // Compilers warn unless each initialiser has as many values as its structure has fields.
    let structures: Vec<&str> =
        header.lines().filter_map(|line| line.strip_prefix("// A ")?.strip_suffix(" with nothing set.")).collect();
    assert!(structures.len() > 6);
    let uses = structures.iter().map(|name| {
        let init = name.to_uppercase();
        format!("    {name} a_{name} = {init}_INIT;\n    if (a_{name}.structure_size != sizeof a_{name}) return 1;\n")
    });
    let uses: String = uses.collect();
    let source = format!("#include <kyoho.h>\nint main(void) {{\n{uses}    return kyoho_version() == 0;\n}}\n");
    for (name, command, standard) in
        [("c99.c", "gcc", "-std=c99"), ("c17.c", "gcc", "-std=c17"), ("cpp.cc", "g++", "-std=c++11")]
    {
        std::fs::write(folder.join(name), &source).unwrap();
        let warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
        succeed(compiler(command, &folder).arg(standard).args(warnings).arg(name));
    }
}

/// Returns the lines of a C or Fortran text without comments.
fn code<'a>(text: &'a str, comment: &str) -> Vec<&'a str> {
    text.lines().map(|line| line.split(comment).next().unwrap_or_default().trim()).collect()
}

/// Returns the constants of a text in their order: `KYOHO_NAME = number`, or in C also `#define
/// KYOHO_NAME number`.
fn constants(lines: &[&str]) -> Vec<(String, i32)> {
    let constant = |line: &&str| {
        let macros = || line.strip_prefix("#define ")?.split_once(' ');
        let (name, number) = line.split_once('=').or_else(macros)?;
        let name = name.split_whitespace().last()?;
        let number = number.trim().trim_matches([',', '(', ')']).parse().ok()?;
        name.starts_with("KYOHO_").then(|| (name.to_string(), number))
    };
    lines.iter().filter_map(constant).collect()
}

/// Returns the components of a structure: name and type, in one spelling for both languages.
fn components(lines: &[&str], begin: &str) -> Vec<(String, String)> {
    let first = 1 + lines.iter().position(|line| *line == begin).unwrap_or_else(|| panic!("no '{begin}'"));
    let body = lines[first..].iter().take_while(|line| !line.starts_with('}') && !line.starts_with("end type"));
    body.filter(|line| !line.is_empty())
        .map(|line| {
            let arrays = [
                "kyoho_cuda",
                "kyoho_const_reals",
                "kyoho_reals",
                "kyoho_const_integers",
                "kyoho_const_long_integers",
                "kyoho_integers",
            ];
            let arrays = arrays.map(|array| (array, [format!("struct {array}"), format!("type({array})")]));
            // Choices have names in C, and are integers of 32 bits in both languages.
            let kinds = [
                ("function", ["_callback", "type(c_funptr)"]),
                ("pointer", ["*", "type(c_ptr)"]),
                ("64 bits", ["int64_t", "integer(c_int64_t)"]),
                ("double", ["double", "real(c_double)"]),
                ("32 bits", ["int32_t", "integer(c_int32_t)"]),
                ("32 bits", ["kyoho_", "integer(c_int32_t)"]),
            ];
            let kinds = kinds.map(|(kind, spellings)| (kind, spellings.map(String::from)));
            let kind = arrays.iter().chain(&kinds);
            let kind = kind.into_iter().find(|(_, spellings)| spellings.iter().any(|spelling| line.contains(spelling)));
            let declared = line.split_once('=').map_or(*line, |(declared, _)| declared);
            let name = declared.trim().trim_end_matches(';').rsplit([' ', '*']).next().unwrap();
            (name.to_string(), kind.unwrap_or_else(|| panic!("what is {line}?")).0.to_string())
        })
        .collect()
}

#[test]
fn the_fortran_module_has_the_constants_and_structures_of_kyoho_h() {
    let (header, module) = (text("include/kyoho.h"), text("include/kyoho.f90"));
    let (c, fortran) = (code(&header, "//"), code(&module, "!"));
    assert!(constants(&c).len() > 30);
    assert_eq!(constants(&c), constants(&fortran));
    let structures = c.iter().filter_map(|line| line.strip_prefix("typedef struct ")?.strip_suffix(" {"));
    assert!(structures.clone().count() > 10);
    for name in structures {
        let of_c = components(&c, &format!("typedef struct {name} {{"));
        assert!(of_c.len() > 1);
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
