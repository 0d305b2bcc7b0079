//! The kernels of a pair interaction: `prepare_sources` computes what depends on a source alone,
//! `sum_pairs` the pairs of some sinks with a slice of the sources, and `join_slices` joins the sums
//! of slices in the order of the built-in direct sums. Where sinks are few, `sum_pairs` computes the
//! sums of single blocks of sources, which `join_blocks` adds to those of slices in the order in
//! which `sum_pairs` would have added them. `sum_lists` computes the pairs of sinks with
//! the sources of their lists. `move_numbers_8` and `move_numbers_4` read and write arrays of callers,
//! `write_rows_8` and `write_rows_4` some rows of all columns.

mod layout;
mod sums;

use kyoho_core::memory::{self, collected};
use kyoho_core::{CHUNK, Result, SLICE_GROUPS, SLICES};
use kyoho_language::kernels::{Header, Name, Names, Operation, Place, Row, TEXT, Writer, operand, with_operation};
use kyoho_language::limbs::{LimbProgram, Statements, Variable};
use kyoho_language::list::{Comparison, Id, Input, LimbInput, Node, Op, Stage, Two};
use kyoho_language::syntax::Side;
use kyoho_language::types::Scalar;

pub use layout::Layout;

/// The threads of a block.
pub const THREADS: usize = 128;
/// The sinks that are summed before their sums are fetched.
pub const PIECE: usize = 1 << 16;
/// The names of the kernels.
pub const NAMES: [&str; 9] = [
    "prepare_sources",
    "sum_pairs",
    "join_slices",
    "sum_lists",
    "move_numbers_8",
    "move_numbers_4",
    "join_blocks",
    "write_rows_8",
    "write_rows_4",
];
/// The memories of each, in the order of its arguments.
pub const MEMORIES: [&[&str]; 9] = [
    &["columns", "tables", "records"],
    &["columns", "tables", "records", "partials8", "partials4"],
    &["partials8", "partials4", "results8", "results4"],
    &["columns", "tables", "records", "lists", "addresses", "results8", "results4"],
    &["to", "from"],
    &["to", "from"],
    &["partials8", "partials4"],
    &["to", "from"],
    &["to", "from"],
];
/// The numbers of each, which follow.
pub const COUNTS: [&[&str]; 9] = [
    &["sources", "room"],
    &["sinks", "first", "room", "sources", "blocks_of_sinks", "first_unit", "units", "span", "width", "first_row"],
    &["sinks", "slices", "piece"],
    &["sinks", "first", "room", "piece", "has_addresses"],
    &["rows", "to_first", "to_stride", "from_first", "from_stride"],
    &["rows", "to_first", "to_stride", "from_first", "from_stride"],
    &["sinks", "blocks", "has_sums"],
    &["rows", "columns", "room", "to_first", "from_first"],
    &["rows", "columns", "room", "to_first", "from_first"],
];

/// Returns the text of the kernels of a program.
pub fn text<W: Writer>(mut writer: W, program: &LimbProgram, layout: &Layout) -> Result<String> {
    let mut kernels = Kernels { writer: &mut writer, program, layout };
    kernels.prepare_sources()?;
    kernels.sum_pairs()?;
    kernels.join_slices()?;
    kernels.sum_lists()?;
    kernels.move_numbers(4, Scalar::F64);
    kernels.move_numbers(5, Scalar::U32);
    kernels.join_blocks()?;
    kernels.write_rows(7, Scalar::F64);
    kernels.write_rows(8, Scalar::U32);
    writer.finish()
}

/// Adds names to others.
fn extend(names: &mut Names, more: impl IntoIterator<Item = (Id, Name)>) -> Result<()> {
    more.into_iter().try_for_each(|entry| memory::insert(names, entry, TEXT))
}

/// Returns the names once more.
fn copied(names: &Names) -> Result<Names> {
    let mut copy = Names::new();
    extend(&mut copy, names.iter().map(|(id, name)| (*id, name.clone())))?;
    Ok(copy)
}

struct Kernels<'a, W> {
    writer: &'a mut W,
    program: &'a LimbProgram,
    layout: &'a Layout,
}

impl<W: Writer> Kernels<'_, W> {
    fn begin(&mut self, kernel: usize, values: usize, shared: usize) {
        let header = Header {
            name: NAMES[kernel],
            memories: MEMORIES[kernel],
            counts: COUNTS[kernel],
            values,
            shared,
            threads: THREADS,
        };
        self.writer.begin_kernel(&header);
    }

    /// Returns the number of this thread of all.
    fn thread(&mut self) -> Name {
        let (thread, block) = (self.writer.thread(), self.writer.block());
        let threads = self.writer.whole(THREADS as u32);
        let first = self.writer.of_whole(Two::Mul, &block, &threads);
        self.writer.of_whole(Two::Add, &first, &thread)
    }

    fn less(&mut self, a: &Name, b: &Name) -> Name {
        self.writer.operation(&Operation {
            op: Op::Compare(Comparison::Less, 0, 0),
            scalar: Scalar::Bool,
            of: Scalar::U32,
            operands: [a, b, b],
        })
    }

    /// Reads the parameters.
    fn values(&mut self) -> Result<Names> {
        let cells = self.layout.values.iter();
        let mut names = Names::new();
        extend(&mut names, cells.map(|cell| (cell.id, self.writer.value(cell.scalar, cell.byte))))?;
        Ok(names)
    }

    /// Reads a column of a body.
    fn column(&mut self, side: Side, column: usize, room: &Name, body: &Name) -> Name {
        let scalar = self.program.columns[side as usize][column].scalar;
        let before = self.layout.columns[side as usize][column] as u32;
        let terms = [(room, before), (body, scalar.size() as u32)];
        self.writer.load(scalar, &Place { memory: "columns", terms: &terms })
    }

    /// Writes the operations of some stages, where inputs are named already.
    fn operations(&mut self, nodes: &[Node], is_wanted: impl Fn(Id) -> bool, names: &mut Names) -> Result<()> {
        for (id, node) in nodes.iter().enumerate() {
            if !is_wanted(id) || names.contains_key(&id) {
                continue;
            }
            let name = match node.op {
                Op::Constant(_) | Op::Input(_) => continue,
                Op::Element(table, index) => {
                    let index = operand(self.writer, nodes, index, names);
                    let (one, first) = (self.writer.whole(1), self.layout.tables[table] as u32);
                    let terms = [(&one, first), (&index, node.scalar.size() as u32)];
                    self.writer.load(node.scalar, &Place { memory: "tables", terms: &terms })
                }
                _ => with_operation(self.writer, nodes, id, names, |writer, operation| writer.operation(operation)),
            };
            memory::insert(names, (id, name), TEXT)?;
        }
        Ok(())
    }

    /// Makes variables with the values that they begin with.
    fn variables(&mut self, count: usize) -> Result<Vec<Name>> {
        let variables = &self.program.variables[..count];
        let make = |variable: &Variable| {
            let start = self.writer.constant(variable.start);
            self.writer.variable(variable.scalar, &start)
        };
        collected(variables.iter().map(make), TEXT)
    }

    /// Writes statements: operations of pairs, and what changes after them.
    fn statements(
        &mut self,
        statements: &Statements,
        variables: &[Name],
        others: &[Name],
        names: &Names,
    ) -> Result<()> {
        let nodes = &statements.nodes;
        let mut names = copied(names)?;
        let mut uses = memory::filled(nodes.len(), 0, TEXT)?;
        nodes.iter().flat_map(|node| node.op.operands()).for_each(|id| uses[id] += 1);
        for update in &statements.updates {
            [Some(update.value), update.condition].into_iter().flatten().for_each(|id| uses[id] += 1);
        }
        for (id, node) in nodes.iter().enumerate() {
            let name = match node.op {
                Op::Input(Input::Limb(LimbInput::Variable(number))) => &variables[number],
                Op::Input(Input::Limb(LimbInput::Other(number))) => &others[number],
                _ => continue,
            };
            memory::insert(&mut names, (id, name.clone()), TEXT)?;
        }
        // A sum whose variable nothing else needs is written to the variable at once.
        let reads = |id: Id| match nodes[id].op {
            Op::Input(Input::Limb(LimbInput::Variable(number))) => Some(number),
            _ => None,
        };
        let is_own = |id: Id, variable: usize| {
            // The operands of values that do not depend on the pair have no names here.
            let is_sum = nodes[id].stage == Stage::Pair && matches!(nodes[id].op, Op::Two(..) | Op::MulAdd { .. });
            let own = |operand: Id| reads(operand).is_none_or(|number| number == variable && uses[operand] == 1);
            is_sum && uses[id] == 1 && nodes[id].op.operands().all(own)
        };
        let own = statements.updates.iter().map(|update| Some(update.value).filter(|id| is_own(*id, update.variable)));
        let own: Vec<Option<Id>> = collected(own, TEXT)?;
        self.operations(nodes, |id| nodes[id].stage == Stage::Pair && !own.contains(&Some(id)), &mut names)?;
        for (update, own) in statements.updates.iter().zip(own) {
            let (variable, scalar) = (&variables[update.variable], self.program.variables[update.variable].scalar);
            let condition = update.condition.map(|id| operand(self.writer, nodes, id, &names));
            match own {
                Some(id) => with_operation(self.writer, nodes, id, &names, |writer, operation| {
                    writer.assign_operation(variable, operation, condition.as_ref());
                }),
                None => {
                    let value = operand(self.writer, nodes, update.value, &names);
                    self.writer.assign(variable, scalar, &value, condition.as_ref());
                }
            }
        }
        Ok(())
    }

    fn prepare_sources(&mut self) -> Result<()> {
        let (nodes, layout) = (&self.program.pair.nodes, self.layout);
        self.begin(0, layout.value_bytes, 0);
        let source = self.thread();
        let (count, room) = (self.writer.count("sources"), self.writer.count("room"));
        let is_one = self.less(&source, &count);
        self.writer.begin_if(&is_one);
        let mut names = self.values()?;
        for (id, node) in nodes.iter().enumerate() {
            let name = match node.op {
                Op::Input(Input::Limb(LimbInput::Column(Side::J, column))) => {
                    self.column(Side::J, column, &room, &source)
                }
                Op::Input(Input::Limb(LimbInput::Address)) => source.clone(),
                _ => continue,
            };
            memory::insert(&mut names, (id, name), TEXT)?;
        }
        self.operations(nodes, |id| nodes[id].stage == Stage::Source, &mut names)?;
        let one = self.writer.whole(1);
        for cell in &layout.record {
            let value = operand(self.writer, nodes, cell.id, &names);
            let terms = [(&source, layout.record_bytes as u32), (&one, cell.byte as u32)];
            self.writer.store(cell.scalar, &Place { memory: "records", terms: &terms }, &value);
        }
        self.writer.end_if();
        self.writer.end_kernel();
        Ok(())
    }

    /// The place of a variable of a sink in memory, where each row has all variables of so many sinks,
    /// or of a piece.
    fn stored<R>(
        &mut self,
        (eight, four): (&'static str, &'static str),
        variable: usize,
        (row, sink, sinks): (&Name, &Name, Option<&Name>),
        with: impl FnOnce(&mut W, Scalar, &Place) -> R,
    ) -> R {
        let scalar = self.program.variables[variable].scalar;
        let size = scalar.size() as u32;
        let (memory, count) = if size == 8 { (eight, self.layout.counts[0]) } else { (four, self.layout.counts[1]) };
        let place = self.layout.variables[variable] as u32;
        let Some(sinks) = sinks else {
            let (one, column) = (self.writer.whole(1), size * PIECE as u32);
            let terms = [(row, column * count as u32), (&one, column * place), (sink, size)];
            return with(self.writer, scalar, &Place { memory, terms: &terms });
        };
        let [count, place] = [count as u32, place].map(|number| self.writer.whole(number));
        let column = self.writer.of_whole(Two::Mul, row, &count);
        let column = self.writer.of_whole(Two::Add, &column, &place);
        let number = self.writer.of_whole(Two::Mul, &column, sinks);
        let number = self.writer.of_whole(Two::Add, &number, sink);
        with(self.writer, scalar, &Place { memory, terms: &[(&number, size)] })
    }

    /// Reads a sink, and computes what depends on it alone.
    fn sink(&mut self, of_run: &Names, room: &Name, body: &Name) -> Result<Names> {
        let nodes = &self.program.pair.nodes;
        let mut names = copied(of_run)?;
        for (id, node) in nodes.iter().enumerate() {
            if let Op::Input(Input::Limb(LimbInput::Column(Side::I, column))) = node.op {
                memory::insert(&mut names, (id, self.column(Side::I, column, room, body)), TEXT)?;
            }
        }
        self.operations(nodes, |id| nodes[id].stage == Stage::Sink, &mut names)?;
        Ok(names)
    }

    /// Reads a record of a source.
    fn record(&mut self, place: &Row, byte: usize) -> Result<Names> {
        let mut names = Names::new();
        for row in self.layout.record.chunk_by(|a, b| a.byte / 16 == b.byte / 16) {
            let scalars: Vec<Scalar> = row.iter().map(|cell| cell.scalar).collect();
            let read = self.writer.load_row(&scalars, place, (byte + row[0].byte) as u32);
            extend(&mut names, row.iter().map(|cell| cell.id).zip(read))?;
        }
        Ok(names)
    }

    fn join_slices(&mut self) -> Result<()> {
        let of_slice = self.program.of_slice;
        self.begin(2, 0, 0);
        let sink = self.thread();
        let (sinks, slices) = (self.writer.count("sinks"), self.writer.count("slices"));
        let is_one = self.less(&sink, &sinks);
        self.writer.begin_if(&is_one);
        let mut groups = Vec::new();
        for group in 0..SLICE_GROUPS {
            let variables = self.variables(of_slice)?;
            let first = self.writer.whole(group as u32);
            let slice = self.writer.begin_loop(&first, &slices, SLICE_GROUPS as u32);
            let load = |number: usize| {
                self.stored(
                    ("partials8", "partials4"),
                    number,
                    (&slice, &sink, Some(&sinks)),
                    |writer, scalar, from| writer.load(scalar, from),
                )
            };
            let others: Vec<Name> = collected((0..of_slice).map(load), TEXT)?;
            self.statements(&self.program.join, &variables, &others, &Names::new())?;
            self.writer.end_loop();
            groups.push(variables);
        }
        let mut half = SLICE_GROUPS / 2;
        while half > 0 {
            let (left, right) = groups.split_at(half);
            for (variables, others) in left.iter().zip(right) {
                self.statements(&self.program.join, variables, others, &Names::new())?;
            }
            half /= 2;
        }
        let piece = self.writer.count("piece");
        for (number, variable) in groups[0].iter().enumerate() {
            self.stored(("results8", "results4"), number, (&piece, &sink, None), |writer, scalar, to| {
                writer.store(scalar, to, variable);
            });
        }
        self.writer.end_if();
        self.writer.end_kernel();
        Ok(())
    }

    /// Adds the sums of blocks to those of their slices, a thread for each sink and slice. The rows of
    /// blocks follow those of slices.
    fn join_blocks(&mut self) -> Result<()> {
        let of_slice = self.program.of_slice;
        self.begin(6, 0, 0);
        let thread = self.thread();
        let (sinks, blocks) = (self.writer.count("sinks"), self.writer.count("blocks"));
        let has_sums = self.writer.count("has_sums");
        let [zero, slices, per_chunk] =
            [0, SLICES, CHUNK / self.layout.block].map(|number| self.writer.whole(number as u32));
        let slice = self.writer.of_whole(Two::Div, &thread, &sinks);
        let before = self.writer.of_whole(Two::Mul, &slice, &sinks);
        let sink = self.writer.of_whole(Two::Sub, &thread, &before);
        let is_one = self.less(&slice, &slices);
        self.writer.begin_if(&is_one);
        let variables = self.variables(of_slice)?;
        let load = |kernels: &mut Self, row: &Name| -> Result<Vec<Name>> {
            let load = |number: usize| {
                let place = (row, &sink, Some(&sinks));
                kernels
                    .stored(("partials8", "partials4"), number, place, |writer, scalar, from| writer.load(scalar, from))
            };
            collected((0..of_slice).map(load), TEXT)
        };
        let has_sums = self.less(&zero, &has_sums);
        self.writer.begin_if(&has_sums);
        for (variable, (number, of)) in load(self, &slice)?.iter().zip(variables.iter().zip(&self.program.variables)) {
            self.writer.assign(number, of.scalar, variable, None);
        }
        self.writer.end_if();
        let first = self.writer.of_whole(Two::Mul, &slice, &per_chunk);
        let block = self.writer.begin_loop(&first, &blocks, (SLICES * CHUNK / self.layout.block) as u32);
        let end = self.writer.of_whole(Two::Add, &block, &per_chunk);
        let end = self.writer.of_whole(Two::Min, &end, &blocks);
        let block = self.writer.begin_loop(&block, &end, 1);
        let row = self.writer.of_whole(Two::Add, &block, &slices);
        let others = load(self, &row)?;
        self.statements(&self.program.join, &variables, &others, &Names::new())?;
        self.writer.end_loop();
        self.writer.end_loop();
        for (number, variable) in variables.iter().enumerate() {
            let place = (&slice, &sink, Some(&sinks));
            self.stored(("partials8", "partials4"), number, place, |writer, scalar, to| {
                writer.store(scalar, to, variable);
            });
        }
        self.writer.end_if();
        self.writer.end_kernel();
        Ok(())
    }

    /// Copies a number of each row from one memory to another. Places and strides are counted in
    /// numbers.
    fn move_numbers(&mut self, kernel: usize, scalar: Scalar) {
        self.begin(kernel, 0, 0);
        let row = self.thread();
        let rows = self.writer.count("rows");
        let is_one = self.less(&row, &rows);
        self.writer.begin_if(&is_one);
        let mut place = |first: &'static str, stride: &'static str| {
            let (first, stride) = (self.writer.count(first), self.writer.count(stride));
            let before = self.writer.of_whole(Two::Mul, &row, &stride);
            self.writer.of_whole(Two::Add, &first, &before)
        };
        let (to, from) = (place("to_first", "to_stride"), place("from_first", "from_stride"));
        let size = scalar.size() as u32;
        let number = self.writer.load(scalar, &Place { memory: "from", terms: &[(&from, size)] });
        self.writer.store(scalar, &Place { memory: "to", terms: &[(&to, size)] }, &number);
        self.writer.end_if();
        self.writer.end_kernel();
    }

    /// Writes rows of all columns of a size. The numbers of the rows come first, then column after
    /// column. Places are counted in numbers of that size.
    fn write_rows(&mut self, kernel: usize, scalar: Scalar) {
        self.begin(kernel, 0, 0);
        let thread = self.thread();
        let (rows, columns, room) =
            (self.writer.count("rows"), self.writer.count("columns"), self.writer.count("room"));
        let (to_first, from_first) = (self.writer.count("to_first"), self.writer.count("from_first"));
        let column = self.writer.of_whole(Two::Div, &thread, &rows);
        let is_one = self.less(&column, &columns);
        self.writer.begin_if(&is_one);
        let before = self.writer.of_whole(Two::Mul, &column, &rows);
        let place = self.writer.of_whole(Two::Sub, &thread, &before);
        let row = self.writer.load(Scalar::U32, &Place { memory: "from", terms: &[(&place, 4)] });
        let size = scalar.size() as u32;
        let from = self.writer.of_whole(Two::Add, &from_first, &thread);
        let number = self.writer.load(scalar, &Place { memory: "from", terms: &[(&from, size)] });
        let to = self.writer.of_whole(Two::Mul, &column, &room);
        let to = self.writer.of_whole(Two::Add, &to, &to_first);
        let to = self.writer.of_whole(Two::Add, &to, &row);
        self.writer.store(scalar, &Place { memory: "to", terms: &[(&to, size)] }, &number);
        self.writer.end_if();
        self.writer.end_kernel();
    }
}
