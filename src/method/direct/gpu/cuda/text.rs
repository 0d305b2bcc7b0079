//! What the library and the GPU text in `kernels/` say of the same things must be the same.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::data::records::{index_word, lines_of_record};
use crate::data::{CHUNK, Descriptor, Line, OCTET, Precision, SHEAVES, SLICES};
use crate::hal::cuda::{Context, fake};
use crate::law::catalogue::CATALOGUE;
use crate::method::direct::gpu::chunks::NOWHERE;
use crate::method::direct::gpu::model::END_SINKS;
use crate::method::direct::gpu::shapes::SHAPES;
use crate::method::direct::gpu::step::Step;
use crate::method::direct::gpu::{self, pack};

use super::kernels::{FETCH_THREADS, Kernels};

macro_rules! text {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/", $name))
    };
}

/// The files that `kernels/unit.h` begins with, in its order.
const PARTS: [(&str, &str); 7] = [
    ("body.h", text!("body.h")),
    ("pair.h", text!("pair.h")),
    ("step.h", text!("step.h")),
    ("parts.h", text!("parts.h")),
    ("fetch.h", text!("fetch.h")),
    ("sources.h", text!("sources.h")),
    ("left_out.h", text!("left_out.h")),
];

/// The lines of a text that are the preprocessor's, with those that they go on in.
fn directives(text: &str) -> String {
    let mut goes_on = false;
    let is_one = |line: &&str| {
        let taken = goes_on || line.trim_start().starts_with('#');
        goes_on = taken && line.ends_with('\\');
        taken
    };
    text.lines().filter(is_one).map(|line| format!("{line}\n")).collect()
}

/// The lines of the structure of this name, with the fields' types and names.
fn structure(text: &'static str, name: &str) -> (&'static str, Vec<(String, String)>) {
    let end = text.find(&format!("}} {name};")).unwrap_or_else(|| panic!("there is no {name}"));
    let first = text[..end].rfind("typedef struct {").unwrap();
    let body = &text[first..end + name.len() + 3];
    let code = body.lines().map(|line| line.split("//").next().unwrap().trim());
    let fields = code.filter_map(|line| {
        let (kind, field) = line.strip_suffix(';')?.split_once(' ')?;
        (kind != "}").then(|| (kind.to_owned(), field.to_owned()))
    });
    (body, fields.collect())
}

/// What a C compiler makes of the text for an entry of the catalogue: numbers by their names, and the shapes, which have
/// names of their own.
fn numbers(descriptor: &Descriptor, wanted: &[&str]) -> BTreeMap<String, f64> {
    let mut unit = text!("unit.h").to_owned();
    for (name, text) in PARTS {
        let include = format!("#include \"{name}\"\n");
        assert!(unit.contains(&include), "{name}");
        unit = unit.replace(&include, &directives(text));
    }
    assert_eq!(unit.matches("#include \"force.h\"").count(), SHAPES.len());
    let names = ["LANES", "SINKS", "STRANDS", "THREADS", "FUSED", "ENDS"];
    let told = names.map(|name| format!("printf(\"%s.{name} %d\\n\", TEXT(FORCE_NAME), {name});\n#undef {name}\n"));
    let told = told.concat() + "#undef FORCE_NAME\n#undef AHEAD\n#undef RESIDENT\n#undef STEPS\n";
    unit = unit.replace("#include \"force.h\"\n", &told).replace("#include \"force.h\"", &told);
    let structures = [structure(text!("body.h"), "Moment").0, structure(text!("step.h"), "Step").0].join("\n");
    let constants: String =
        wanted.iter().map(|name| format!("printf(\"{name} %.17g\\n\", (double)({name}));\n")).collect();
    let program = format!(
        "#include <stdio.h>\n#define TEXT(name) TEXT_OF(name)\n#define TEXT_OF(name) #name\n\
         #define ORDER {}\n#define PRECISION {}\n#define REGULAR {}\n#define CAN_END 1\n#define MOST_THREADS 1024\n#define uint unsigned\n{structures}\n\
         int main(void) {{\n{unit}\n{constants}printf(\"Step %zu\\n\", sizeof(Step));\nreturn 0;\n}}\n",
        descriptor.order as i32,
        descriptor.precision as i32,
        i32::from(descriptor.is_regular())
    );
    let name = format!("kyoho_text_{}_{}", std::process::id(), descriptor.name().replace(' ', "_"));
    let path = std::env::temp_dir().join(name);
    let mut compiler = Command::new("gcc");
    let mut compiling =
        compiler.args(["-w", "-x", "c", "-", "-o"]).arg(&path).stdin(Stdio::piped()).spawn().expect("gcc runs");
    compiling.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    assert!(compiling.wait().unwrap().success(), "{program}");
    let output = Command::new(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines()
        .map(|line| {
            let (name, number) = line.split_once(' ').unwrap();
            (name.to_owned(), number.parse().unwrap())
        })
        .collect()
}

#[test]
fn constants_are_those_of_the_text() {
    for descriptor in CATALOGUE {
        let context = Context::of(fake::driver(), 0).unwrap();
        let end_threads = Kernels::new(&context, descriptor).unwrap().end_threads;
        let record_words = Line::WORDS * lines_of_record(descriptor.taylor);
        let short = SHAPES.iter().map(|shape| shape.strands(descriptor)).max().unwrap();
        let expected = [
            ("SINGLE", Precision::Single as i32 as f64),
            ("MIXED", Precision::Mixed as i32 as f64),
            ("DOUBLE", Precision::Double as i32 as f64),
            ("CHUNK", CHUNK as f64),
            ("OCTET", OCTET as f64),
            ("SLICES", SLICES as f64),
            ("SHEAVES", SHEAVES as f64),
            ("FAR_AWAY", pack::FAR_AWAY),
            ("TAYLOR", descriptor.taylor as f64),
            ("VECTORS", descriptor.vectors as f64),
            ("OUTPUTS", descriptor.outputs as f64),
            ("NEAREST", f64::from(u8::from(descriptor.nearest))),
            ("SOURCE_ROWS", (pack::chunk_numbers(descriptor) / CHUNK) as f64),
            ("ROWS", pack::rows(descriptor) as f64),
            ("SINK_ROWS", pack::sink_rows(descriptor) as f64),
            ("END_SINKS", END_SINKS as f64),
            ("END_THREADS", end_threads as f64),
            ("FETCH_THREADS", FETCH_THREADS as f64),
            ("WINDOW", gpu::WINDOW as f64),
            ("WINDOW_ROWS", gpu::WINDOW_ROWS as f64),
            ("NOWHERE", f64::from(NOWHERE)),
            ("SHORT", short as f64),
            ("RECORD_WORDS", record_words as f64),
            ("INDEX_WORD", index_word(record_words) as f64),
        ];
        let found = numbers(descriptor, &expected.map(|(name, _)| name));
        for (name, expected) in expected {
            assert_eq!(found[name], expected, "{name} of {}", descriptor.name());
        }
        assert_eq!(found["Step"], size_of::<Step>() as f64);
        shapes_are_those_of(&found, descriptor);
    }
}

fn shapes_are_those_of(found: &BTreeMap<String, f64>, descriptor: &Descriptor) {
    assert_eq!(found.keys().filter(|name| name.ends_with(".LANES")).count(), SHAPES.len(), "{found:?}");
    for shape in SHAPES {
        let expected = [
            ("LANES", shape.lanes),
            ("THREADS", shape.threads),
            ("SINKS", shape.group_sinks(descriptor) * shape.lanes / shape.threads),
            ("STRANDS", shape.strands(descriptor)),
            ("FUSED", usize::from(shape.fused)),
            ("ENDS", usize::from(shape.ends)),
        ];
        for (name, expected) in expected {
            let name = format!("{}.{name}", shape.name);
            assert_eq!(found.get(&name), Some(&(expected as f64)), "{name} of {}", descriptor.name());
        }
    }
}

/// The fields of a structure in `src/backend/gpu/step.rs`, as types of the GPU text.
fn fields_here(name: &str) -> Vec<(String, String)> {
    let text = include_str!("../step.rs");
    let (_, rest) = text.split_once(&format!("pub struct {name} {{")).unwrap();
    let body = rest.split_once("\n}").unwrap().0;
    let fields = body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.strip_suffix(',')?.split_once(": "));
    let kind = |kind: &str| match kind {
        "f64" => "double".to_owned(),
        "i32" => "int".to_owned(),
        "u32" => "uint".to_owned(),
        other => other.to_owned(),
    };
    fields.map(|(field, of)| (kind(of), field.to_owned())).collect()
}

#[test]
fn a_step_has_the_fields_of_the_text() {
    assert_eq!(fields_here("Moment"), structure(text!("body.h"), "Moment").1);
    let (mut here, there) = (fields_here("Step"), structure(text!("step.h"), "Step").1);
    // C fills up the end without a word.
    let fill = ("int".to_owned(), "unused".to_owned());
    if here.len() == there.len() + 1 {
        assert_eq!(here.pop(), Some(fill));
    }
    assert!(there.len() > 10);
    assert_eq!(here, there);
}
