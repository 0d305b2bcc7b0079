//! The language of pair interactions that users write; `docs/pairs.md` is its manual.
//!
//! A text becomes words (`lexer`), a tree (`syntax`, `parser`) and, with names and types
//! checked (`lower`, `functions`, `values`), a `list` of operations on single numbers. In
//! the list each operation is computed once, and its stage tells whether that is once a run, a
//! sink, a source or a pair. The list names no machine: [`kernels`] writes its operations as text
//! for GPUs, [`blocks`] takes them one after another for CPUs, and `machine_code` translates them
//! where it can. `gravity` has the built-in laws as texts.

pub mod blocks;
pub mod costs;
mod explain;
pub mod fault;
pub mod field;
mod functions;
pub mod gravity;
pub mod kernels;
pub mod law;
mod lexer;
pub mod limbs;
pub mod list;
mod lower;
#[cfg(target_arch = "x86_64")]
mod machine_code;
pub mod motion;
pub mod number;
pub mod parameters;
mod parser;
pub mod places;
pub mod real;
pub mod series;
pub mod syntax;
pub mod types;
mod values;

pub use costs::Costs;
pub use explain::explain;
pub use fault::{Fault, Place};
pub use field::FieldProgram;
pub use gravity::gravity;
pub use law::LawProgram;
pub use list::PairProgram;
pub use lower::extreme;
pub use parser::MAX_DECLARED;

/// How a text is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether every `f64` of the text is read as `dd`.
    pub in_double_double: bool,
    /// Whether equal operations are kept apart, which changes no result and is slower.
    pub plain: bool,
}

/// Returns the list of a text.
pub fn compile(text: &str, options: Options) -> Result<PairProgram, Fault> {
    lower::lower(&parser::parse(text, options.in_double_double)?, options.plain)
}
