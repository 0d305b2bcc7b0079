//! The data of a run, as all devices get them.

use kyoho_core::{Result, memory};
use kyoho_language::blocks;
use kyoho_language::limbs::{Component, Ending, LimbProgram};
use kyoho_language::list::{Input, LimbInput, Op, Stage};
use kyoho_language::number::{Number, compute};

use super::kernel::Layout;
use crate::Given;

/// The data of a run, for all devices.
pub struct Run<'a> {
    pub given: &'a Given<'a>,
    pub results: Results<'a>,
    /// Whether results stay on the device.
    pub is_left: bool,
    pub program: &'a LimbProgram,
    pub layout: &'a Layout,
    pub values: Vec<u8>,
    pub tables: Vec<u8>,
    pub changed: [Option<ChangedRows>; 2],
    pub sources: usize,
}

/// The rows that the last change of a side wrote, as kernels get them.
pub struct ChangedRows {
    pub count: usize,
    pub bytes: Vec<u8>,
    /// Where the numbers of 8 and of 4 bytes begin.
    pub begins: [usize; 2],
}

impl ChangedRows {
    /// Returns the rows of a side, unless it pays to send all.
    pub fn of(given: &Given, program: &LimbProgram, side: usize) -> Result<Option<ChangedRows>> {
        let Some(rows) = &given.changes[side].rows else { return Ok(None) };
        let columns = &program.columns[side];
        let known = columns.iter().map(|column| given.fields[side][column.of].as_ref()).collect::<Option<Vec<_>>>();
        let Some(known) = known.filter(|known| known.first().is_some_and(|numbers| rows.len() < numbers.count() / 4))
        else {
            return Ok(None);
        };
        let mut bytes = memory::room((columns.len() + 1) * 8 * rows.len() + 8, "the rows that changed")?;
        rows.iter().for_each(|row| bytes.extend(row.to_le_bytes()));
        bytes.resize(bytes.len().next_multiple_of(8), 0u8);
        let begins = [8, 4].map(|size| {
            let begin = bytes.len();
            for (column, numbers) in columns.iter().zip(&known).filter(|(column, _)| column.scalar.size() == size) {
                let limb = numbers.limb(column.component, column.limb);
                let places = rows.iter().map(|row| *row as usize * size);
                places.for_each(|place| bytes.extend_from_slice(&limb[place..place + size]));
            }
            begin
        });
        Ok(Some(ChangedRows { count: rows.len(), bytes, begins }))
    }
}

/// What there is to know of results.
#[derive(Clone, Copy)]
pub struct Results<'a> {
    pub program: &'a LimbProgram,
    pub layout: &'a Layout,
}

/// A limb of a result.
pub struct Limb<'a> {
    pub ending: &'a Ending,
    pub limb: usize,
    pub variable: usize,
    /// Its bytes for a sink, and those of the limbs before it.
    pub size: usize,
    pub before: usize,
}

impl Results<'_> {
    /// Does something with each limb of the results.
    pub fn each_limb(&self, mut work: impl FnMut(Limb) -> Result<()>) -> Result<()> {
        let mut before = 0;
        for ending in &self.program.endings {
            for (limb, variable) in ending.limbs.into_iter().enumerate().take(ending.scalar.limbs()) {
                let size = self.program.variables[variable].scalar.size();
                work(Limb { ending, limb, variable, size, before })?;
                before += size;
            }
        }
        Ok(())
    }

    /// Returns the bytes of all results of a sink.
    pub fn bytes_of_sink(&self) -> Result<usize> {
        let mut bytes = 0;
        self.each_limb(|limb| {
            bytes += limb.size;
            Ok(())
        })?;
        Ok(bytes)
    }
}

/// Returns the numbers that depend on parameters alone, as kernels get them.
pub fn values(given: &Given, program: &LimbProgram, layout: &Layout) -> Result<Vec<u8>> {
    let nodes = &program.pair.nodes;
    let limb = |Component { of, component, limb, scalar }: Component| {
        blocks::number(scalar, [blocks::bits(given.parameter(of, component))[limb], 0])
    };
    let mut known = memory::filled(nodes.len(), Number::Bool(false), "the parameters of pairs")?;
    for (id, node) in nodes.iter().enumerate().filter(|(_, node)| node.stage <= Stage::Run) {
        known[id] = match node.op {
            Op::Input(Input::Limb(LimbInput::Value(value))) => limb(program.values[value]),
            Op::Element(table, index) => {
                let (place, limbs) = (known[index].widened().high as usize, limbs_of_table(given, table));
                let bits = blocks::bits(given.parameter(table, place / limbs));
                blocks::number(node.scalar, [bits[place % limbs], 0])
            }
            op => compute(op, node.scalar, |operand| known[operand]),
        };
    }
    let mut bytes = memory::filled(layout.value_bytes, 0u8, "the parameters of pairs")?;
    for cell in &layout.values {
        let word = blocks::bits(known[cell.id])[0].to_le_bytes();
        bytes[cell.byte..cell.byte + cell.scalar.size()].copy_from_slice(&word[..cell.scalar.size()]);
    }
    Ok(bytes)
}

fn limbs_of_table(given: &Given, table: usize) -> usize {
    given.pairs.parameters[table].of.scalar.limbs()
}

/// Returns the numbers of all tables.
pub fn tables(given: &Given, layout: &Layout) -> Result<Vec<u8>> {
    let mut bytes = memory::filled(layout.table_bytes, 0u8, "tables of pairs")?;
    let all = given.pairs.parameters.iter().zip(given.parameters).zip(&layout.tables).enumerate();
    for (table, ((parameter, numbers), first)) in all.filter(|(_, ((parameter, _), _))| !parameter.extents.is_empty()) {
        let limbs = limbs_of_table(given, table);
        let size = parameter.of.scalar.size() / limbs;
        let words = numbers.iter().flatten().flat_map(|number| blocks::bits(*number).into_iter().take(limbs));
        for (place, word) in words.enumerate() {
            bytes[first + place * size..first + (place + 1) * size].copy_from_slice(&word.to_le_bytes()[..size]);
        }
    }
    Ok(bytes)
}
