//! The speed that the units of a GPU allow.

use std::fmt::{self, Display};

use kyoho_language::limbs::LimbProgram;
use kyoho_language::list::{Function, Node, Op, Stage, Two};
use kyoho_language::types::Scalar;

/// The multiprocessors of an H200, and the cycles of each in a second.
const MULTIPROCESSORS: f64 = 132.0;
const CYCLES: f64 = 1.98e9;

/// A kind of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// What issues instructions, one a thread.
    Issue,
    /// Those for sums and products in doubles.
    Doubles,
    /// Those for the first digits of functions, and for conversions.
    Special,
}

/// The units with the instructions that those of a multiprocessor take in a cycle (NVIDIA's CUDA
/// C++ Programming Guide, throughput of arithmetic instructions, compute capability 9.0).
const UNITS: [(Unit, f64); 3] = [(Unit::Issue, 128.0), (Unit::Doubles, 64.0), (Unit::Special, 16.0)];

/// The most pairs that an H200 can compute, were all else for nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Pairs a second.
    pairs: f64,
    /// The units that are never idle then.
    unit: Unit,
}

impl Bound {
    /// Returns the bound of a pair interaction.
    pub fn of(limbs: &LimbProgram) -> Bound {
        let pairs = limbs.pair.nodes.iter().filter(|node| node.stage == Stage::Pair);
        let mut counts = [0.0; 3];
        for node in pairs {
            let [others, doubles, special] = instructions(node, &limbs.pair.nodes).map(f64::from);
            let of_node = [others + doubles + special, doubles, special];
            counts.iter_mut().zip(of_node).for_each(|(count, more)| *count += more);
        }
        // No pair is for nothing.
        counts[0] = f64::max(counts[0], 1.0);
        let cycles = |place: usize| counts[place] / UNITS[place].1;
        let place = (0..3).max_by(|a, b| cycles(*a).total_cmp(&cycles(*b))).unwrap_or(0);
        Bound { pairs: MULTIPROCESSORS * CYCLES / cycles(place), unit: UNITS[place].0 }
    }
}

impl Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.unit {
            Unit::Issue => "issuing instructions",
            Unit::Doubles => "its units for doubles",
            Unit::Special => "its units for functions and conversions",
        };
        write!(formatter, "at most {:.3e} pairs a second on one H200, bound by {why}", self.pairs)
    }
}

/// Returns the instructions of an operation: for units that are never short, for those of doubles,
/// and for special ones. Those of quotients, roots and functions are estimates of what NVIDIA's
/// compiler makes of them.
fn instructions(node: &Node, nodes: &[Node]) -> [u32; 3] {
    let is_double = |scalar: Scalar| scalar == Scalar::F64;
    let simple = |scalar: Scalar| if is_double(scalar) { [0, 1, 0] } else { [1, 0, 0] };
    let wide = is_double(node.scalar);
    match node.op {
        Op::Constant(_) | Op::Input(_) => [0; 3],
        Op::Element(..) => [2, 0, 0],
        Op::Convert(_) => [0, 0, 1],
        Op::One(function, _) => match function {
            // The operation that takes the result changes the sign.
            Function::Negative | Function::Abs => [0; 3],
            Function::Floor => [0, 0, 1],
            Function::Rsqrt if wide => [4, 5, 1],
            Function::Rsqrt => [0, 0, 1],
            Function::Sqrt if wide => [6, 8, 1],
            Function::Sqrt => [7, 0, 1],
            _ if wide => [20, 30, 1],
            _ => [25, 0, 1],
        },
        Op::Two(two, ..) => match two {
            Two::Div if wide => [6, 9, 1],
            Two::Div => [10, 0, 1],
            Two::Pow if wide => [60, 100, 2],
            Two::Pow => [70, 0, 2],
            _ => simple(node.scalar),
        },
        Op::MulAdd { .. } => simple(node.scalar),
        Op::Compare(_, a, _) => simple(nodes[a].scalar),
        Op::And(..) | Op::Or(..) | Op::Not(_) => [1, 0, 0],
        Op::Select(..) => [1 + u32::from(wide), 0, 0],
    }
}
