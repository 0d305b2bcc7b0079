//! The files of `kernels/generated/` that are made from the numbers of all methods: `constants.h` has
//! those that hold for every interaction, and the structures of launches; `steps.h` has those of block
//! steps, `few_body.h` those of systems of few bodies; `units.json` lists the units that are compiled.

use std::fmt::Write;

use kyoho_core::{CHUNK, Interaction, OCTET, Order, SLICE_GROUPS, SLICES, units};
use kyoho_laws::catalogue::with_kernels;

use crate::arrays::kernels::{ADDRESS_RUN, ARRAY_THREADS};
use crate::arrays::work::{FLAGS, GROUP_COUNTS, GROUP_SUMS};
use crate::block_steps::kernels::{
    BODIES_OF_BLOCK, CHAIN_END_SINKS, CHAIN_RESIDENT, CHAINED, MOST_PLANS, NOTE_HEAD, NOTE_NUMBERS, NOTES, SETS,
    STEP_THREADS, WORDS_OF_BLOCK, has_chains,
};
use kyoho_direct::gpu::pieces::STRIDE;
use kyoho_direct::gpu::waiting::{LETTER_HEAD, PATIENCE};
use kyoho_few_body::gpu::rules;
use kyoho_laws::expansion::{HIGHEST_ORDER, LOWEST_ORDER};
use kyoho_lists::gpu::plan::{
    GROUP_THREADS, LIST_COSTS, LIST_COUNTS, LIST_PART, LIST_ROW, LIST_SEGMENT, LIST_STRANDS, LISTED_ADDRESSES,
    LISTED_OWN, LISTED_RANGES,
};
use kyoho_lists::gpu::units::UNIT_THREADS;
use kyoho_methods::block_steps::{MOST_GROUPS, ROOT_TURNS, WATCHED};
use kyoho_methods::gpu::chunks::NOWHERE;
use kyoho_methods::gpu::constants::{defines, defines_of_lists, defines_of_steps, unit_of_lists, unit_of_steps};
use kyoho_methods::gpu::shapes::{END_SINKS, SHAPES, SHORT};
use kyoho_methods::gpu::sources::FETCH_THREADS;
use kyoho_methods::gpu::tuning::LIST_THREADS;
use kyoho_methods::gpu::{constants, pack, step};
use kyoho_neighbours::gpu::BATCH;
use kyoho_trees::gpu::constants::{defines_of_order, unit_of_order};

/// The files of each translation unit for CUDA, in their order.
const FILES: [&str; 3] = ["prelude_cuda.h", "generated/constants.h", "direct/unit.h"];
/// The files of the units of interaction lists.
const FILES_OF_LISTS: [&str; 3] = ["prelude_cuda.h", "generated/constants.h", "lists/unit.h"];
/// The files of the unit of arrays of callers.
const FILES_OF_ARRAYS: [&str; 3] = ["prelude_cuda.h", "generated/constants.h", "arrays/unit.h"];
/// The files of the units of block steps.
const FILES_OF_STEPS: [&str; 3] = ["prelude_cuda.h", "generated/constants.h", "steps/unit.h"];
/// The options of NVIDIA's compiler: as OpenCL computes, without contraction and with denormal
/// numbers flushed.
const OPTIONS: [&str; 5] = ["--std=c++17", "--fmad=false", "--ftz=true", "--prec-div=true", "--prec-sqrt=true"];

/// The length up to which devices sort neighbour lists.
const SORTED: usize = 2048;
/// How long a kernel waits for blocks at most, in nanoseconds: others may have no room beside
/// it.
const LIFETIME: usize = 2_000_000;

/// The first line of the headers.
const MADE_FROM: &str = "Made from crates/kyoho-devices/src/generated.rs, which says what each number is.";

/// Returns the text of `kernels/generated/constants.h`.
fn header() -> String {
    let mut text = format!("// {MADE_FROM}\n\n");
    let numbers = [
        ("CHUNK", CHUNK.to_string()),
        ("OCTET", OCTET.to_string()),
        ("SLICES", SLICES.to_string()),
        ("SLICE_GROUPS", SLICE_GROUPS.to_string()),
        ("FAR_AWAY", format!("{:e}", pack::FAR_AWAY)),
        ("NOWHERE", format!("({NOWHERE})")),
        ("SHORT", SHORT.to_string()),
        ("BATCH", BATCH.to_string()),
        ("SORTED", SORTED.to_string()),
        ("LARGEST_INDEX", i32::MAX.to_string()),
        ("FETCH_THREADS", FETCH_THREADS.to_string()),
        ("END_SINKS", END_SINKS.to_string()),
        ("LETTER_HEAD", LETTER_HEAD.to_string()),
        ("PATIENCE", PATIENCE.as_nanos().to_string()),
        ("LIFETIME", LIFETIME.to_string()),
        ("SHAPES", SHAPES.len().to_string()),
        ("LIST_THREADS", LIST_THREADS.to_string()),
        ("LIST_STRANDS", LIST_STRANDS.to_string()),
        ("LIST_SEGMENT", LIST_SEGMENT.to_string()),
        ("LIST_LANE_CHOICES", LIST_COSTS.len().to_string()),
        ("LIST_COSTS", format!("{{ {} }}", LIST_COSTS.map(|cost| format!("{cost:?}")).join(", "))),
        ("LIST_PART", LIST_PART.to_string()),
        ("LIST_ROW", LIST_ROW.to_string()),
        ("LIST_COUNTS", LIST_COUNTS.to_string()),
        ("GROUP_THREADS", GROUP_THREADS.to_string()),
        ("UNIT_THREADS", UNIT_THREADS.to_string()),
        ("ARRAY_THREADS", ARRAY_THREADS.to_string()),
        ("ADDRESS_RUN", ADDRESS_RUN.to_string()),
        ("FLAGS", FLAGS.to_string()),
        ("GROUP_COUNTS", GROUP_COUNTS.to_string()),
        ("GROUP_SUMS", GROUP_SUMS.to_string()),
        ("SIZES", units::SIZES.to_string()),
        ("SIZE_WIDTH", units::WIDTH.to_string()),
        ("SINK_REACH", units::REACH.to_string()),
        ("MOST_RAISED", units::MOST_RAISED.to_string()),
        ("LONGEST_UNIT", units::LONGEST.to_string()),
        ("HEAVIEST_UNIT", units::HEAVIEST.to_string()),
        ("LISTED_RANGES", LISTED_RANGES.to_string()),
        ("LISTED_ADDRESSES", LISTED_ADDRESSES.to_string()),
        ("LISTED_OWN", LISTED_OWN.to_string()),
    ];
    // Writing to a text does not fail.
    for (name, number) in numbers {
        let _ = writeln!(text, "#define {name} {number}");
    }
    for (place, shape) in SHAPES.iter().enumerate() {
        let _ = writeln!(text, "\n#define FORCE_NAME_{place} {}", shape.name);
        let numbers = [("LANES", shape.lanes), ("THREADS", shape.threads)];
        let flags = [("FUSED", shape.fused), ("ENDS", shape.ends)].map(|(name, is)| (name, usize::from(is)));
        for (name, number) in numbers.into_iter().chain(flags) {
            let _ = writeln!(text, "#define {name}_{place} {number}");
        }
    }
    step::STRUCTURES.into_iter().for_each(|structure| text += &defined(structure));
    text
}

/// Returns the definition of a structure in C.
fn defined((name, fields): (&str, &[(&str, &str)])) -> String {
    let fields: String = fields.iter().map(|(kind, field)| format!("    {kind} {field};\n")).collect();
    format!("\ntypedef struct {{\n{fields}}} {name};\n")
}

/// Returns the text of `kernels/generated/steps.h`.
fn steps() -> String {
    let mut text = format!("// {MADE_FROM}\n\n");
    let numbers = [
        ("STEP_THREADS", STEP_THREADS),
        ("WORDS_OF_BLOCK", WORDS_OF_BLOCK),
        ("SETS", SETS),
        ("WATCHED", WATCHED),
        ("ROOT_TURNS", ROOT_TURNS),
        ("NOTES", NOTES),
        ("NOTE_NUMBERS", NOTE_NUMBERS),
        ("NOTE_ROWS", NOTE_HEAD),
        ("STRIDE", STRIDE),
        ("CHAIN_RESIDENT", CHAIN_RESIDENT),
        ("CHAIN_END_SINKS", CHAIN_END_SINKS),
        ("MOST_PLANS", MOST_PLANS),
        ("MOST_GROUPS", MOST_GROUPS),
        ("BODIES_OF_BLOCK", BODIES_OF_BLOCK),
        ("CHAINED_FEW", CHAINED[0]),
        ("CHAINED_MORE", CHAINED[1]),
        ("CHAINED_MANY", CHAINED[2]),
    ];
    for (name, number) in numbers {
        let _ = writeln!(text, "#define {name} {number}");
    }
    step::STRUCTURES_OF_STEPS.into_iter().for_each(|structure| text += &defined(structure));
    text
}

/// Returns the text of `kernels/generated/few_body.h`.
fn few_body() -> String {
    let mut text = format!("// {MADE_FROM}\n\n");
    for (name, number) in rules::NUMBERS {
        let _ = writeln!(text, "#define {name} {number}");
    }
    text + &defined(("FewBodyRules", rules::RULES_FIELDS))
}

/// Returns the text of `kernels/generated/units.json`.
fn units() -> String {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let unit = |name: String, defines: Vec<(String, i64)>, files: &str| {
        let defines = defines.into_iter().map(|(name, number)| format!("\"{name}\": {number}"));
        let defines = defines.collect::<Vec<_>>().join(", ");
        format!("    {{ \"name\": \"{name}\",{files} \"defines\": {{ {defines} }} }}")
    };
    let of_lists = |order| format!(" \"pack\": \"lists_order{order}\", \"files\": [{}],", quoted(&FILES_OF_LISTS));
    let direct = with_kernels().map(|entry| unit(constants::unit(entry), defines(entry), ""));
    let full = with_kernels().filter(|entry| !entry.is_regular());
    let lists = full.map(|entry| unit(unit_of_lists(entry), defines_of_lists(entry), &of_lists(entry.order as i32)));
    // Those without chains are much alike.
    let of_steps = |entry: &Interaction, groups: usize| {
        let pack = match (has_chains(entry), groups) {
            (true, _) => "",
            (false, 1) => " \"pack\": \"steps\",",
            _ => " \"pack\": \"group_steps\",",
        };
        let (name, defines) = (unit_of_steps(entry, groups), defines_of_steps(entry, groups));
        unit(name, defines, &format!("{pack} \"files\": [{}],", quoted(&FILES_OF_STEPS)))
    };
    let steps = with_kernels().filter(|entry| !entry.is_regular() && entry.order > Order::Second);
    let steps = steps.flat_map(|entry| [1, MOST_GROUPS].map(|groups| of_steps(entry, groups)));
    let arrays = format!("    {{ \"name\": \"arrays\", \"files\": [{}] }}", quoted(&FILES_OF_ARRAYS));
    let of_trees =
        |unit: &str| format!(" \"files\": [{}],", quoted(&["prelude_cuda.h", "generated/constants.h", unit]));
    let of_tree = of_trees("tree/unit.h");
    let of_orders = format!(" \"pack\": \"tree_orders\",{}", of_trees("tree/expansion_unit.h"));
    let orders = LOWEST_ORDER..=HIGHEST_ORDER;
    let trees = orders.map(|order| unit(unit_of_order(order), defines_of_order(order), &of_orders));
    let trees = std::iter::once(unit("tree".into(), Vec::new(), &of_tree)).chain(trees);
    let files_of_few_bodies = quoted(&["prelude_cuda.h", "few_body/unit.h"]);
    let few_bodies = format!("    {{ \"name\": \"{}\", \"files\": [{files_of_few_bodies}] }}", rules::UNIT);
    let units =
        direct.chain(lists).chain(steps).chain([arrays, few_bodies]).chain(trees).collect::<Vec<_>>().join(",\n");
    let (options, files) = (quoted(&OPTIONS), quoted(&FILES));
    // A program of another kind, for the test of the HAL.
    let other = quoted(&["prelude_cuda.h", "tests/prefix_sum.h"]);
    // Functions that texts of kernels call, which are written when the library runs: a text too.
    let functions = "    { \"name\": \"pair_functions\", \"files\": [\"pairs/functions.h\"], \"targets\": [\"compute_50\"], \
         \"options\": [\"--std=c++17\", \"--ftz=true\", \"--relocatable-device-code=true\"], \
         \"defines\": { \"LINKED\": \"extern \\\"C\\\" __device__ __noinline__\" } }";
    let units = format!("{units},\n{functions},\n    {{ \"name\": \"test_prefix_sum\", \"files\": [{other}] }}");
    format!("{{\n  \"options\": [{options}],\n  \"files\": [{files}],\n  \"units\": [\n{units}\n  ]\n}}\n")
}

#[test]
fn the_generated_numbers_are_these() {
    for (file, text) in
        [("constants.h", header()), ("steps.h", steps()), ("few_body.h", few_body()), ("units.json", units())]
    {
        let path = format!("{}/../../kernels/generated/{file}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("KYOHO_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == text, "{path}: run this test with KYOHO_BLESS=1, and look at what changed");
    }
}
