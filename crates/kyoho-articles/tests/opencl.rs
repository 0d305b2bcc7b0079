//! `kyoho-figures` on PoCL.

mod common;
#[path = "../../../tests/common/mod.rs"]
mod shared;

use std::process::Command;

use common::folder;
use shared::pocl::by_opencl;
use shared::succeed;

#[test]
fn a_figure_forces_each_launch_shape() {
    let folder = folder("opencl_figures");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho-figures"));
    command.args(["miki", "--n", "256", "--seconds", "0.001", "--output"]).arg(&folder);
    let table = String::from_utf8(succeed(&mut by_opencl(command, &[])).stdout).unwrap();
    let kernels: Vec<(&str, &str)> = table
        .lines()
        .filter_map(|line| Some(line.strip_prefix("     256  ")?.split_whitespace().collect::<Vec<_>>()))
        .map(|words| (words[0], words[1]))
        .collect();
    // The one for the fewest sinks does not fit.
    let forced = [
        ("chosen", "-"),
        ("force_32_many_f", "32"),
        ("force_8_few_f", "8"),
        ("force_8_many_f", "8"),
        ("force_8_many_p", "8"),
        ("force_1_few_f", "1"),
        ("force_1_many_f", "1"),
        ("force_1_many_p", "1"),
    ];
    assert_eq!(kernels, forced, "{table}");
    let svg = std::fs::read_to_string(folder.join("miki.svg")).unwrap();
    assert!(svg.contains("model of the chosen") && svg.contains("32 threads a sink, force_32_many_f"));
}
