//! Forces that are softened by the sources. The sources of each softening have a system of their
//! own, and the forces of all systems are added.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::abi::diagnostics::Outcome;
use kyoho_core::memory::{self, Boxed};
use kyoho_core::{Error, Nearest, Result, Sink};
use kyoho_engine::System;

use super::board::{GivenSource, PredictionTarget, Summed};
use super::softenings::{Softenings, key};

/// The most different softening lengths. Each has a system of its own, with memory on every device.
const MOST: usize = 16;

/// The sums for a sink.
#[derive(Clone, Copy)]
pub struct Sum {
    /// Potential, acceleration, jerk, snap.
    pub values: Summed,
    /// The nearest source.
    pub nearest: Nearest,
}

/// The systems, by the key of their sources' squared softening. A system is made when it is first
/// needed. From then on it has every source of its softening at its address, and no other. When all
/// sources have one softening again, the next force frees the systems.
#[derive(Default)]
pub struct Groups {
    systems: BTreeMap<u64, Boxed<System>>,
}

impl Groups {
    /// Follows the write of a source, whose squared softening was `before`.
    pub fn write(&mut self, address: usize, source: &GivenSource, before: Option<f64>, softening2: f64) {
        let now = key(softening2);
        // A system cannot forget a source, so that it is freed here and made again when it is next
        // needed.
        if let Some(before) = before.map(key).filter(|before| *before != now) {
            self.systems.remove(&before);
        }
        let failed = self.systems.get_mut(&now).is_some_and(|system| source.write(system, address).is_err());
        if failed {
            self.systems.remove(&now);
        }
    }

    /// Computes the sums over all sources, with each pair softened by its source. They are added in
    /// the order of the softenings.
    pub fn sum(
        &mut self,
        all: &mut System,
        softenings: &Softenings,
        target: PredictionTarget,
        nj: usize,
        ni: usize,
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Outcome<Vec<Sum>> {
        let mut values = memory::collected(softenings.values(), "softenings of sources")?;
        if values.len() > MOST {
            // Softenings that only sources at other addresses have need no systems.
            values = softenings.values_below(nj)?;
            self.systems.retain(|own, _| values.iter().any(|value| key(*value) == *own));
        }
        if values.len() > MOST {
            return Err(Error::BadCount {
                what: "the number of different eps2 of sources",
                value: values.len() as i64,
                allowed: format!("up to {MOST}"),
            }
            .into());
        }
        let nothing = Sum { values: [0.0; 10], nearest: Nearest::NONE };
        let mut sums = memory::filled(ni, nothing, "sums")?;
        if values.len() < 2 {
            self.systems.clear();
            let softening2 = values.first().copied().unwrap_or(0.0);
            add(all, target, nj, |number| Sink { softening2, ..sink(number) }, &mut sums)?;
            return Ok(sums);
        }
        for softening2 in values {
            let system = self.system(all, softenings, softening2)?;
            add(system, target, nj, |number| Sink { softening2, ..sink(number) }, &mut sums)?;
        }
        Ok(sums)
    }

    /// Returns the system of the sources of one softening.
    fn system(&mut self, all: &mut System, softenings: &Softenings, softening2: f64) -> Result<&mut System> {
        match self.systems.entry(key(softening2)) {
            Entry::Occupied(made) => Ok(made.into_mut()),
            Entry::Vacant(place) => {
                let made = make(all, &softenings.addresses(softening2)?)?;
                Ok(place.insert(Boxed::new(made, "a system")?))
            }
        }
    }
}

/// Makes a system that has some of the sources of another.
fn make(all: &mut System, addresses: &[usize]) -> Result<System> {
    log::debug!("hermite6 opens a system for {} sources that soften pairs by a value of their own", addresses.len());
    let mut system = System::new(all.setup())?;
    system.take_sources_of(all, addresses)?;
    Ok(system)
}

/// Adds the forces of a system's sources to the sums of all sinks.
fn add(
    system: &mut System,
    target: PredictionTarget,
    nj: usize,
    sink: impl Fn(usize) -> Sink + Sync,
    sums: &mut [Sum],
) -> Outcome<()> {
    target.set(system)?;
    system.abandon();
    system.start_from_fn(nj, true, sums.len(), sink)?;
    let forces = system.wait()?;
    for (number, (sum, summed)) in sums.iter_mut().zip(forces.rows()).enumerate() {
        let terms: &Summed = summed;
        sum.values.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        sum.nearest.update(forces.nearest(number).unwrap_or(Nearest::NONE));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;
    use kyoho_core::sources::padded;
    use kyoho_core::{Order, Precision};

    use super::*;

    #[test]
    fn systems_go_when_all_sources_have_one_softening_again() {
        let settings = Settings::from(&|name| (name == "KYOHO_BACKEND").then(|| "cpu".into()), None).unwrap();
        let mut all = System::new(&settings.setup(Order::Sixth, Precision::Double).unwrap()).unwrap();
        let (mut softenings, mut groups) = (Softenings::default(), Groups::default());
        // The one source at distance 2 is softened by what is written last.
        for (softening2, systems, potential) in [(0.0, 0, -1.5), (5.0, 2, -1.0 - 1.0 / 3.0), (0.0, 0, -1.5)] {
            for (address, (distance, softening2)) in [(1.0, 0.0), (2.0, softening2)].into_iter().enumerate() {
                let derivatives = [[distance, 0.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3]];
                let source = GivenSource { index: address as i32, mass: 1.0, time: 0.0, derivatives };
                source.write(&mut all, address).unwrap();
                let before = softenings.set(address, softening2, true).unwrap();
                groups.write(address, &source, before, softening2);
            }
            let sink = |_| Sink { index: 9, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: [[0.0; 3]; 4] };
            let sums = groups.sum(&mut all, &softenings, PredictionTarget::AsWritten, 2, 1, sink).unwrap();
            assert!((sums[0].values[0] - potential).abs() < 1e-12, "{}", sums[0].values[0]);
            assert_eq!(groups.systems.len(), systems);
        }
    }

    #[test]
    fn sources_that_do_not_act_may_have_any_number_of_softenings() {
        let settings = Settings::from(&|name| (name == "KYOHO_BACKEND").then(|| "cpu".into()), None).unwrap();
        let mut all = System::new(&settings.setup(Order::Sixth, Precision::Double).unwrap()).unwrap();
        let (mut softenings, mut groups) = (Softenings::default(), Groups::default());
        for address in 0..40 {
            let derivatives = [[1.0, 0.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3]];
            let source = GivenSource { index: address as i32, mass: 1.0, time: 0.0, derivatives };
            source.write(&mut all, address).unwrap();
            let before = softenings.set(address, address as f64, true).unwrap();
            groups.write(address, &source, before, address as f64);
        }
        let sink = |_| Sink { index: 99, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: [[0.0; 3]; 4] };
        let mut sum = |nj: usize| groups.sum(&mut all, &softenings, PredictionTarget::AsWritten, nj, 1, sink);
        for nj in [1, 2, 16, 3, 1] {
            let expected: f64 = (0..nj).map(|address| -1.0 / (1.0 + address as f64).sqrt()).sum();
            let found = sum(nj).unwrap()[0].values[0];
            assert!((found / expected - 1.0).abs() < 1e-12, "{nj}: {found} {expected}");
        }
        let refused = sum(17).err().unwrap().to_string();
        assert!(refused.contains("is 17; allowed: up to 16"), "{refused}");
    }

    #[test]
    fn derivatives_keep_all_their_digits_in_numbers_of_two_doubles() {
        let settings = Settings::from(&|name| (name == "KYOHO_BACKEND").then(|| "cpu".into()), None).unwrap();
        let mut all = System::new(&settings.setup(Order::Sixth, Precision::Quad).unwrap()).unwrap();
        let (mut softenings, mut groups) = (Softenings::default(), Groups::default());
        let mut derivatives = [[0.0; 3]; 6];
        derivatives[3][0] = 0.1;
        for (address, softening2) in [0.0, 1.0].into_iter().enumerate() {
            let source = GivenSource { index: address as i32, mass: 1.0, time: 0.0, derivatives };
            source.write(&mut all, address).unwrap();
            groups.write(address, &source, softenings.set(address, softening2, true).unwrap(), softening2);
        }
        // The first source is a sixth of a tenth away, as far as that has more digits than a double.
        let place = 0.1 / 6.0;
        let rest = f64::mul_add(-6.0, place, 0.1) / 6.0;
        let sink = |_| Sink { index: 9, softening2: 0.0, derivatives: padded([[place, 0.0, 0.0]]), ..Sink::NOTHING };
        let sums = groups.sum(&mut all, &softenings, PredictionTarget::At(1.0), 2, 1, sink).unwrap();
        let distance = sums[0].nearest.distance2.sqrt();
        assert!(rest != 0.0 && (distance / rest.abs() - 1.0).abs() < 1e-12, "{distance:e} {rest:e}");
    }
}
