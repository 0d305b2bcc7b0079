//! What the operations of a list cost.

use super::limbs::LimbProgram;
use super::list::{Function, Node, Op, Output, PairProgram, Stage, Two};
use super::syntax::Reduction;

/// Counts of the operations of one stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// Sums and differences.
    pub sums: usize,
    /// Products.
    pub products: usize,
    /// Multiply-adds, each of which counts as two operations of arithmetic.
    pub multiply_adds: usize,
    /// Quotients.
    pub quotients: usize,
    /// Square roots and their inverses.
    pub roots: usize,
    /// Exponentials, logarithms, powers, sines, cosines and error functions.
    pub functions: usize,
    /// Negations, absolute values, minima, maxima, `floor`, conversions, comparisons, selections,
    /// logic, and elements of tables.
    pub others: usize,
}

impl Costs {
    /// Returns the costs of a stage. What a pair adds to results belongs to the pair.
    pub fn of(program: &PairProgram, stage: Stage) -> Costs {
        let mut costs = Costs::default();
        let nodes = program.nodes.iter().filter(|node| node.stage == stage);
        nodes.for_each(|node| costs.count(node));
        if stage == Stage::Pair {
            program.outputs.iter().for_each(|output| costs.add(output));
        }
        costs
    }

    /// The operations of arithmetic: sums, products, quotients, roots and functions count one, and
    /// multiply-adds two.
    pub fn arithmetic(&self) -> usize {
        self.sums + self.products + 2 * self.multiply_adds + self.quotients + self.roots + self.functions
    }

    fn count(&mut self, node: &Node) {
        match node.op {
            Op::Constant(_) | Op::Input(_) => {}
            Op::Two(Two::Add | Two::Sub, ..) => self.sums += 1,
            Op::Two(Two::Mul, ..) => self.products += 1,
            Op::Two(Two::Div, ..) => self.quotients += 1,
            Op::MulAdd { .. } => self.multiply_adds += 1,
            Op::One(Function::Sqrt | Function::Rsqrt, _) => self.roots += 1,
            Op::Two(Two::Pow, ..) => self.functions += 1,
            Op::One(function, _) if !matches!(function, Function::Negative | Function::Abs | Function::Floor) => {
                self.functions += 1;
            }
            _ => self.others += 1,
        }
    }

    fn add(&mut self, output: &Output) {
        match (output.reduction, output.second) {
            (Reduction::Sum, Some(_)) => self.multiply_adds += 1,
            (Reduction::Sum, None) => self.sums += 1,
            _ => self.others += 1,
        }
    }
}

/// Returns the operations of arithmetic of a stage on single limbs, as [`Costs::arithmetic`] counts
/// them, but multiply-adds as one.
pub fn on_limbs(limbs: &LimbProgram, stage: Stage) -> usize {
    let mut costs = Costs::default();
    limbs.pair.nodes.iter().filter(|node| node.stage == stage).for_each(|node| costs.count(node));
    costs.arithmetic() - costs.multiply_adds
}
