//! Fields on a GPU that makes the block steps of bodies.

use std::sync::Arc;

use kyoho_core::{Interaction, Result, memory};
use kyoho_language::FieldProgram;
use kyoho_language::field::{KERNEL, Rows, THREADS, kernel};
use kyoho_language::kernels::{OpenClText, PtxText};
use kyoho_methods::block_steps::{AddedForces, SINK_HEAD};

use super::Fields;

const WHAT: &str = "the fields of a GPU";

/// What a GPU gets of fields.
#[derive(Default)]
pub(super) struct OnGpus {
    /// The kernel, once it was made.
    kernel: Option<Arc<AddedForces>>,
    /// The numbers that it reads at a time.
    values: Vec<u64>,
}

impl Fields {
    /// Returns the kernel by which a GPU adds the fields to forces of an interaction. There is none for
    /// functions, for fields with numbers of two limbs, and for those with too many parameters.
    pub fn kernel(&mut self, interaction: &Interaction) -> Result<Option<Arc<AddedForces>>> {
        if self.has_functions() || self.all.is_empty() {
            return Ok(None);
        }
        if self.on_gpus.kernel.is_none() {
            let given = interaction.n_derivatives;
            let rows = Rows { sink: (SINK_HEAD + 3 * given, SINK_HEAD), results: (interaction.n_outputs, 1) };
            let programs: Vec<&FieldProgram> = memory::collected(self.all.iter().map(|field| &field.program), WHAT)?;
            let ptx = kernel::<PtxText>(&programs, given, rows)?;
            let opencl = kernel::<OpenClText>(&programs, given, rows)?;
            self.on_gpus.kernel = ptx
                .zip(opencl)
                .map(|(ptx, opencl)| Arc::new(AddedForces { name: KERNEL, threads: THREADS, ptx, opencl }));
        }
        Ok(self.on_gpus.kernel.clone())
    }

    /// Returns the numbers that the kernel reads at a time of the interval.
    pub fn values(&mut self, since_start: f64) -> Result<&[u64]> {
        self.on_gpus.values.clear();
        if self.all.is_empty() {
            return Ok(&[]);
        }
        let time = self.start + since_start;
        self.move_centres(time)?;
        self.make_work(1)?;
        let work = &mut self.work[0];
        work.begin(&self.all, self.gravity, time);
        for ((field, work), centre) in self.all.iter().zip(&work.fields).zip(&self.centres) {
            field.program.put_values(work, centre, &mut self.on_gpus.values)?;
        }
        Ok(&self.on_gpus.values)
    }

    /// Forgets the kernel, as there are other fields.
    pub(super) fn have_changed(&mut self) {
        self.work.clear();
        self.on_gpus.kernel = None;
    }
}
