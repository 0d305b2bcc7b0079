//! The subsystems, first forces and first steps of bodies.

use kyoho_core::{Error, Nearest, Result, memory};

use super::block::Block;
use super::kept::Kept;
use super::scheme::given;
use super::{Hermite, WHAT};
use crate::body::{Body, Vector, vector};
use crate::laws::Felt;
use crate::plan::SHORTEST;

/// The next step that is tried, as a part of the last one.
const TRIED: f64 = 0.25;

impl Hermite {
    /// Finds the subsystems, forces and first steps of all bodies.
    pub(super) fn start_all(&mut self) -> Result<()> {
        self.make_room()?;
        self.number()?;
        if let Some(subsystems) = &mut self.subsystems {
            let (bodies, numbering) = (&self.bodies, &self.numbering);
            subsystems.rename(|place| numbering.number(place));
            let found = subsystems.find(bodies.len(), self.plan.gravity, |number| bodies[numbering.place(number)]);
            found.map_err(|error| numbering.named(error))?;
        }
        self.set_out();
        let before = Kept::of(self.moving.iter().map(|moving| &moving.body))?;
        self.moving.iter_mut().for_each(|moving| moving.body.step = 0.0);
        self.send_all()?;
        let shown = (0..self.bodies.len()).filter(|number| !self.is_hidden(*number));
        let numbers = memory::collected(shown, WHAT)?;
        self.first_forces(0.0, &numbers)?;
        for &number in &numbers {
            let body = &mut self.moving[number].body;
            let is_limited = before.choose(number, body, self.scheme, &self.plan);
            self.counts.limited_steps += u64::from(is_limited);
        }
        self.come_back();
        Ok(())
    }

    /// Gives bodies that are at a time their forces and the first steps that they want.
    pub(super) fn first_forces(&mut self, now: f64, numbers: &[usize]) -> Result<()> {
        let (mut known, mut lone) = (0, Vec::new());
        while known < self.scheme.given() {
            // Snap and crackle need the accelerations and jerks of all bodies, which a first pass finds.
            // Of a law that reads velocities each derivative needs the one before.
            known = match known {
                known if self.laws.read_velocities() => known + 1,
                0 => 2,
                _ => self.scheme.given(),
            };
            lone = self.pass(now, numbers, known)?;
        }
        self.try_first_steps(now, lone)
    }

    /// Looks where bodies that feel no other one would be after a step, and shortens first steps that are
    /// too long: at rest in a field nothing else tells of its lengths. Steps are tried from the longest one
    /// on down, each by all bodies that want it or a longer one.
    fn try_first_steps(&mut self, now: f64, mut lone: Vec<usize>) -> Result<()> {
        let (time, interval) = (now * self.plan.interval, self.plan.interval);
        let mut step = self.plan.longest.min(interval - time);
        let mut trying = memory::room(lone.len(), WHAT)?;
        while !lone.is_empty() && step > self.plan.shortest.max(SHORTEST * interval) {
            let wants = |number: &usize| self.moving[*number].body.step >= step;
            trying.clear();
            trying.extend(lone.iter().copied().filter(wants));
            lone.retain(|number| !wants(number));
            match self.accelerations_after(step, time, &trying)? {
                Some(found) => {
                    for (&number, later) in trying.iter().zip(found) {
                        let body = &mut self.moving[number].body;
                        let wanted = self.criterion.tried(self.scheme, body, (step, later));
                        body.step = wanted.unwrap_or(TRIED * step);
                        lone.extend(wanted.is_none().then_some(number));
                    }
                }
                None => lone.append(&mut trying),
            }
            step *= TRIED;
        }
        Ok(())
    }

    /// Returns the accelerations by laws and fields that bodies will have after a step from a time on, by
    /// what is known of their motion; `None` where some would be no numbers.
    fn accelerations_after(&mut self, step: f64, time: f64, numbers: &[usize]) -> Result<Option<Vec<Vector>>> {
        let numbering = &self.numbering;
        let mut bodies = memory::room(numbers.len(), WHAT)?;
        bodies.extend(numbers.iter().map(|&number| {
            let body = self.moving[number].body;
            let [a, j, ..] = body.derivatives;
            let velocity = vector(|k| body.velocity[k] + step * (a[k] + step / 2.0 * j[k]));
            let way = vector(|k| body.velocity[k] + step / 2.0 * (a[k] + step / 3.0 * j[k]));
            Body { position: vector(|k| body.position[k] + step * way[k]), velocity, ..body }
        }));
        let (time, count) = (time + step, bodies.len());
        let felt = |row: usize| Felt::of(&bodies[row], numbering.place(numbers[row]));
        let body = |row: usize| (numbering.place(numbers[row]), [bodies[row].position, bodies[row].velocity]);
        let mut find = || {
            let by_laws = self.laws.derivatives(time, 1, (count, felt), |_| Default::default())?;
            let of_laws = |row: usize| by_laws.get(row).copied().unwrap_or_default();
            let found = self.fields.derivatives(time, (count, 1), body, of_laws)?;
            let of_all = |row: usize| found.get(row).copied().unwrap_or_else(|| of_laws(row))[0];
            memory::collected((0..count).map(of_all), WHAT)
        };
        match find() {
            Err(Error::FieldNotFinite { .. } | Error::LawNotFinite { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Computes this many derivatives of the velocities of bodies at a time, whose sources have been
    /// written, and writes their sources with them. At the last pass they get the first steps that they
    /// want, and the numbers of those that are pulled, but feel no other body, are returned.
    fn pass(&mut self, now: f64, numbers: &[usize], known: usize) -> Result<Vec<usize>> {
        let time = now * self.plan.interval;
        let (moving, numbering, grouped) = (&mut self.moving, &self.numbering, &self.grouped);
        let (of_all, softening) = (&*moving, self.plan.softening);
        let sink = |place: usize| of_all[numbers[place]].body.sink(numbers[place], softening);
        self.system.set_time(time)?;
        let forces = if grouped.is_one() {
            self.system.force(numbering.sources(), true, numbers.len(), sink)?
        } else {
            self.group_systems.sum(grouped, time, numbers, sink)?
        };
        let body = |sink: usize| {
            let body = &moving[numbers[sink]].body;
            (numbering.place(numbers[sink]), [body.position, body.velocity])
        };
        let counts = (numbers.len(), known);
        let felt = |sink: usize| Felt::of(&moving[numbers[sink]].body, numbering.place(numbers[sink]));
        let by_laws = self.laws.derivatives(time, known, (numbers.len(), felt), |sink| given(&forces, sink))?;
        let of_all = |sink: usize| by_laws.get(sink).copied().unwrap_or_else(|| given(&forces, sink));
        let with_fields = self.fields.derivatives(time, counts, body, of_all)?;
        let of_all = |sink: usize| with_fields.get(sink).copied().unwrap_or_else(|| of_all(sink));
        let block = Block { scheme: self.scheme, criterion: self.criterion, plan: &self.plan, grouped, now };
        let reacting = match &mut self.subsystems {
            Some(subsystems) => subsystems.react(&block, (moving, numbers, &[]), of_all, &self.threads)?,
            None => &[],
        };
        let mut lone = Vec::new();
        for (sink, &number) in numbers.iter().enumerate() {
            let body = &mut moving[number].body;
            let found = reacting.get(sink).copied().unwrap_or_else(|| of_all(sink));
            body.derivatives[..known].copy_from_slice(&found[..known]);
            let softening = grouped.softening_of_nearest(&self.plan, number, forces.nearest(sink));
            let nearest = forces.nearest(sink).unwrap_or(Nearest::NONE);
            let distance = nearest.distance2.sqrt().hypot(softening);
            if distance == 0.0 {
                let places = [number, nearest.index as usize].map(|number| numbering.place(number) as i64);
                return Err(Error::SamePlace { bodies: places });
            }
            if known == self.scheme.given() {
                body.step = self.criterion.first(self.scheme, body, distance);
                if distance == f64::INFINITY && body.derivatives[0] != [0.0; 3] {
                    memory::push(&mut lone, number, WHAT)?;
                }
            }
        }
        self.write_sources(numbers, time)?;
        Ok(lone)
    }
}
