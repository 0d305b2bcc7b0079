//! The kernels that sum pairs: `sum_pairs` and `sum_lists`.

use kyoho_core::{Result, SLICES};
use kyoho_language::kernels::{Name, Names, Place, Row, Writer};
use kyoho_language::list::Two;
use kyoho_language::types::Scalar;

use super::{Kernels, THREADS, copied, extend};

/// A sink of a thread, while its pairs are summed.
struct SummedSink {
    /// Its place among those of the run.
    place: Name,
    /// The values that depend on it alone.
    names: Names,
    /// Its sums.
    variables: Vec<Name>,
}

impl<W: Writer> Kernels<'_, W> {
    /// The pairs of some sinks with a slice of the sources.
    pub fn sum_pairs(&mut self) -> Result<()> {
        let layout = self.layout;
        self.begin(1, layout.value_bytes, layout.tile * layout.record_bytes);
        let (thread, block) = (self.writer.thread(), self.writer.block());
        let count = |kernels: &mut Self, name: &'static str| kernels.writer.count(name);
        let (sinks, first, room) = (count(self, "sinks"), count(self, "first"), count(self, "room"));
        let (sources, blocks) = (count(self, "sources"), count(self, "blocks_of_sinks"));
        let (first_unit, units, span) = (count(self, "first_unit"), count(self, "units"), count(self, "span"));
        let (width, first_row) = (count(self, "width"), count(self, "first_row"));
        let one = self.writer.whole(1);
        let row = self.writer.of_whole(Two::Div, &block, &blocks);
        let before = self.writer.of_whole(Two::Mul, &row, &blocks);
        let block = self.writer.of_whole(Two::Sub, &block, &before);
        let of_block = self.whole(THREADS * layout.sinks);
        let first_of_block = self.writer.of_whole(Two::Mul, &block, &of_block);
        let first_of_block = self.writer.of_whole(Two::Add, &first_of_block, &thread);
        let last = self.writer.of_whole(Two::Sub, &sinks, &one);
        let summed = self.sinks_of_thread(&first_of_block, (&last, &first, &room))?;

        // Units of sources: chunks, of which a slice has each 24th, or one block.
        let first_unit = self.writer.of_whole(Two::Add, &row, &first_unit);
        let end_unit = self.writer.of_whole(Two::Add, &first_unit, &span);
        let end_unit = self.writer.of_whole(Two::Min, &end_unit, &units);
        let unit = self.writer.begin_loop(&first_unit, &end_unit, SLICES as u32);
        let first_source = self.writer.of_whole(Two::Mul, &unit, &width);
        let rest = self.writer.of_whole(Two::Sub, &sources, &first_source);
        let count = self.writer.of_whole(Two::Min, &rest, &width);
        let zero = self.writer.whole(0);
        let part = self.writer.begin_loop(&zero, &count, layout.tile as u32);
        let (here, end) = self.share_tile(&thread, &first_source, (&part, &count));
        self.add_tile(&summed, &zero, (&here, &end))?;
        self.writer.end_loop();
        self.writer.end_loop();

        let row = self.writer.of_whole(Two::Add, &row, &first_row);
        self.store_partials(&summed, &row, &sinks);
        self.writer.end_kernel();
        Ok(())
    }

    fn whole(&mut self, number: usize) -> Name {
        self.writer.whole(number as u32)
    }

    /// Reads the sinks of a thread, and makes a variable for each of their sums.
    fn sinks_of_thread(
        &mut self,
        first_of_block: &Name,
        (last, first, room): (&Name, &Name, &Name),
    ) -> Result<Vec<SummedSink>> {
        let of_run = self.values()?;
        let mut all = Vec::new();
        for sink in 0..self.layout.sinks {
            let more = self.whole(sink * THREADS);
            let place = self.writer.of_whole(Two::Add, first_of_block, &more);
            // Threads beyond the last sink compute it again and write nothing.
            let body = self.writer.of_whole(Two::Min, &place, last);
            let body = self.writer.of_whole(Two::Add, &body, first);
            let names = self.sink(&of_run, room, &body)?;
            let variables = self.variables(self.program.variables.len())?;
            all.push(SummedSink { place, names, variables });
        }
        Ok(all)
    }

    /// Copies the records of a tile to the memory that a thread block shares. Returns how many
    /// there are, and the end of their bytes.
    fn share_tile(&mut self, thread: &Name, first_source: &Name, (part, count): (&Name, &Name)) -> (Name, Name) {
        let bytes = self.layout.record_bytes as u32;
        let (tile, record) = (self.whole(self.layout.tile), self.writer.whole(bytes));
        let rest = self.writer.of_whole(Two::Sub, count, part);
        let here = self.writer.of_whole(Two::Min, &rest, &tile);
        let end = self.writer.of_whole(Two::Mul, &here, &record);
        let source = self.writer.of_whole(Two::Add, first_source, part);
        self.writer.barrier();
        let unit = self.writer.whole(16);
        let begin = self.writer.of_whole(Two::Mul, thread, &unit);
        let byte = self.writer.begin_loop(&begin, &end, 16 * THREADS as u32);
        self.writer.share(&Place { memory: "records", terms: &[(&source, bytes), (&byte, 1)] }, &byte);
        self.writer.end_loop();
        self.writer.barrier();
        (here, end)
    }

    /// Adds the sources of a tile to the sums.
    fn add_tile(&mut self, summed: &[SummedSink], zero: &Name, (here, end): (&Name, &Name)) -> Result<()> {
        let layout = self.layout;
        // Whole blocks, whose pairs are written out.
        let bytes_of_block = layout.block * layout.record_bytes;
        let [sources_of_block, of_block] = [layout.block, bytes_of_block].map(|number| self.whole(number));
        let blocks = self.writer.of_whole(Two::Div, here, &sources_of_block);
        let whole_blocks = self.writer.of_whole(Two::Mul, &blocks, &of_block);
        let begin = self.writer.begin_loop(zero, &whole_blocks, bytes_of_block as u32);
        let end_of_block = self.writer.of_whole(Two::Add, &begin, &of_block);
        self.add_sources(summed, (&begin, &end_of_block), layout.times)?;
        self.writer.end_loop();
        // The last one is added source by source: how much of it could be written out would take a
        // quotient to know.
        let is_part = self.less(&whole_blocks, end);
        self.writer.begin_if(&is_part);
        self.add_sources(summed, (&whole_blocks, end), 1)?;
        self.writer.end_if();
        Ok(())
    }

    /// Adds the sources between two places of a tile to the sums, some `times` written out, and
    /// these to the sums of the slice.
    fn add_sources(&mut self, summed: &[SummedSink], (from, to): (&Name, &Name), times: usize) -> Result<()> {
        let (program, bytes) = (self.program, self.layout.record_bytes);
        let place = self.writer.begin_loop(from, to, (bytes * times) as u32);
        for time in 0..times {
            let of_source = self.record(&Row::Shared(&place), time * bytes)?;
            for sink in summed {
                let mut of_pair = copied(&sink.names)?;
                extend(&mut of_pair, copied(&of_source)?)?;
                self.statements(&program.pair, &sink.variables, &[], &of_pair)?;
            }
        }
        self.writer.end_loop();
        summed.iter().try_for_each(|sink| self.statements(&program.chunk, &sink.variables, &[], &Names::new()))
    }

    /// Writes the sums of a slice to its row of partial sums.
    fn store_partials(&mut self, summed: &[SummedSink], row: &Name, sinks: &Name) {
        for SummedSink { place, variables, .. } in summed {
            let is_one = self.less(place, sinks);
            self.writer.begin_if(&is_one);
            for (number, variable) in variables[..self.program.of_slice].iter().enumerate() {
                self.stored(("partials8", "partials4"), number, (row, place, Some(sinks)), |writer, scalar, to| {
                    writer.store(scalar, to, variable);
                });
            }
            self.writer.end_if();
        }
    }

    /// The pairs of some sinks with the sources of their lists.
    pub fn sum_lists(&mut self) -> Result<()> {
        let (program, layout) = (self.program, self.layout);
        self.begin(3, layout.value_bytes, 0);
        let place = self.thread();
        let (sinks, first) = (self.writer.count("sinks"), self.writer.count("first"));
        let (room, piece) = (self.writer.count("room"), self.writer.count("piece"));
        let has_addresses = self.writer.count("has_addresses");
        let zero = self.writer.whole(0);
        let has_addresses = self.less(&zero, &has_addresses);
        let is_one = self.less(&place, &sinks);
        self.writer.begin_if(&is_one);
        let of_run = self.values()?;
        let body = self.writer.of_whole(Two::Add, &place, &first);
        let names = self.sink(&of_run, &room, &body)?;
        let variables = self.variables(program.variables.len())?;
        // The first place of the sink's list and the number of its sources.
        let scalars = [Scalar::U32; 2];
        let list = self.writer.load_row(&scalars, &Row::Device(Place { memory: "lists", terms: &[(&place, 8)] }), 0);
        let end = self.writer.of_whole(Two::Add, &list[0], &list[1]);
        let block = self.writer.begin_loop(&list[0], &end, layout.block as u32);
        let size = self.writer.whole(layout.block as u32);
        let rest = self.writer.of_whole(Two::Sub, &end, &block);
        let count = self.writer.of_whole(Two::Min, &rest, &size);
        let end_of_block = self.writer.of_whole(Two::Add, &block, &count);
        let at = self.writer.begin_loop(&block, &end_of_block, 1);
        let address = self.writer.variable(Scalar::U32, &at);
        self.writer.begin_if(&has_addresses);
        let listed = self.writer.load(Scalar::U32, &Place { memory: "addresses", terms: &[(&at, 4)] });
        self.writer.assign(&address, Scalar::U32, &listed, None);
        self.writer.end_if();
        let terms = [(&address, layout.record_bytes as u32)];
        let mut of_pair = names;
        extend(&mut of_pair, self.record(&Row::Device(Place { memory: "records", terms: &terms }), 0)?)?;
        self.statements(&program.pair, &variables, &[], &of_pair)?;
        self.writer.end_loop();
        self.statements(&program.chunk, &variables, &[], &Names::new())?;
        self.writer.end_loop();
        for (number, variable) in variables[..program.of_slice].iter().enumerate() {
            self.stored(("results8", "results4"), number, (&piece, &place, None), |writer, scalar, to| {
                writer.store(scalar, to, variable);
            });
        }
        self.writer.end_if();
        self.writer.end_kernel();
        Ok(())
    }
}
