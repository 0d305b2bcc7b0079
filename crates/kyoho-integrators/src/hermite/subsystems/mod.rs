//! Subsystems inside the block steps: close bodies whose centre of mass is a body of the scheme.
//!
//! The centre has the number of the lowest member; the others are hidden: sources without mass at the
//! centre, with its index, which no schedule has. When the centre makes a step, the inner motion follows
//! over it, in the tide of all others ([`surroundings`]), and the others feel a binary's mean quadrupole
//! ([`reaction`]). A binary whose period is far below the step moves by its averaged orbit. Subsystems
//! form and part between block steps ([`changes`]).

mod acting;
mod changes;
mod inner;
mod lanes;
mod levels;
mod moved;
mod partners;
mod reacting;
mod reaction;
mod seen;
mod surroundings;

use std::sync::{Mutex, OnceLock};

use kyoho_core::{Nearest, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::in_longest_vectors;

use super::block::{Block, Moving};
use super::scheme::MOST;
use crate::body::{Body, Vector, vector};
use crate::subsystems::{Subsystem, SubsystemRules};
use acting::Acting;
pub use changes::Changes;
use inner::{Contacts, Step};
use moved::moved;
use partners::Members;
use reacting::Selected;
use seen::Seen;
use surroundings::{Other, Others, Surroundings, square};

/// A subsystem stays together up to this many times the distance at which it forms.
const LEAVE: f64 = 2.0;
/// A body or a binary joins a binary within this many times their extents.
const CLOSE: f64 = 5.0;
/// Bodies within this many times the extent of a binary feel each member.
const RESOLVED: f64 = 20.0;
/// A body that was somewhere may be so much more important where it is.
const CAUTION: f64 = 16.0;
/// A body is looked at anew within this many times its way during a step from where it was.
const FAR: f64 = 4.0;
const WHAT: &str = "subsystems";

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Role {
    /// A body alone.
    #[default]
    Alone,
    /// The centre of mass of the subsystem at this place.
    Centre(usize),
    /// Another member of it.
    Hidden(usize),
}

/// All subsystems of a cluster.
#[derive(Debug, Default)]
pub struct Subsystems {
    /// The distance at which two bodies form one; 0 until it is chosen.
    radius: f64,
    /// Whether the radius is chosen anew at each start.
    is_chosen: bool,
    /// The speed of light, if members have relativistic terms.
    speed_of_light: Option<f64>,
    all: Vec<Subsystem>,
    /// The gravitational constant.
    gravity: f64,
    /// The role of each number.
    roles: Vec<Role>,
    /// The derivatives of a block with what subsystems add.
    found: Vec<[Vector; MOST]>,
    /// Whether it is known where bodies are: from the first subsystem on, as long as there are some.
    is_seen: bool,
    /// The bodies alone and the centres, where they were seen last, with their masses; a tiny one for none.
    bodies: Seen,
    /// The centres under their numbers, where they were written last, with what makes them important.
    centres: Seen,
    /// Whether a number is that of a centre whose members follow the bodies near them.
    follows: Vec<bool>,
    /// The places of those subsystems, which ascend.
    following: Vec<usize>,
    /// Which subsystems move in a block.
    moves: Vec<bool>,
    /// The components of the positions of a block's bodies.
    places: [Vec<f64>; 3],
    /// How each subsystem acts at the time of a block, once that was found out.
    acting: Vec<OnceLock<Option<Acting>>>,
    /// Numbers that threads select.
    selected: Mutex<Vec<Vec<usize>>>,
    /// How many times bodies have reacted, and what threads keep for the next time.
    reactions: u64,
    reacted: Mutex<Vec<Selected>>,
}

impl Subsystems {
    /// Makes none yet.
    pub fn new(SubsystemRules { radius, speed_of_light }: SubsystemRules) -> Subsystems {
        Subsystems { radius, is_chosen: radius == 0.0, speed_of_light, ..Subsystems::default() }
    }

    /// Returns all, with the distance at which they form.
    pub fn all(&self) -> (&[Subsystem], f64) {
        (&self.all, self.radius)
    }

    /// Makes these all, with a radius for those to come.
    pub fn set(&mut self, all: Vec<Subsystem>, radius: f64) {
        (self.all, self.radius) = (all, radius);
    }

    /// Returns copies of all.
    pub fn copied(&self) -> Result<Vec<Subsystem>> {
        let mut all = memory::room(self.all.len(), WHAT)?;
        for subsystem in &self.all {
            all.push(subsystem.copied()?);
        }
        Ok(all)
    }

    /// Begins an interval of this many bodies.
    pub fn begin(&mut self, bodies: usize, gravity: f64) -> Result<()> {
        let leave = self.leave();
        self.gravity = gravity;
        self.all.iter_mut().for_each(|subsystem| subsystem.average(gravity, leave));
        self.name_roles(bodies)
    }

    /// Notes where all bodies are, if there are subsystems.
    pub fn see_all(&mut self, moving: &[Moving]) -> Result<()> {
        self.is_seen = !self.all.is_empty();
        if !self.is_seen {
            return Ok(());
        }
        self.bodies.begin(moving.len())?;
        self.centres.begin(moving.len())?;
        memory::lengthen(&mut self.follows, moving.len(), WHAT, || false)?;
        self.see(moving, 0..moving.len())
    }

    /// Notes where all bodies are where the first subsystem has formed, so that the order of sums does not
    /// depend on who made the steps before.
    pub fn see_first(&mut self, moving: &[Moving]) -> Result<()> {
        if self.is_seen { Ok(()) } else { self.see_all(moving) }
    }

    /// Notes where some bodies are: those that were written as sources.
    pub fn see(&mut self, moving: &[Moving], numbers: impl Iterator<Item = usize>) -> Result<()> {
        if !self.is_seen {
            return Ok(());
        }
        for number in numbers {
            let Body { position, velocity, mass, step, .. } = moving[number].body;
            let reach = FAR * step;
            let weight = match self.roles.get(number) {
                Some(Role::Hidden(_)) => 0.0,
                // Whoever is near is found by that, also without mass.
                _ if mass == 0.0 => f64::MIN_POSITIVE,
                _ => mass,
            };
            self.bodies.put(number, &position, [weight, reach * reach * square(&velocity)]);
            if let Some(Role::Centre(place)) = self.roles.get(number) {
                self.see_centre(*place);
            } else {
                self.centres.put(number, &position, [0.0; 2]);
                self.follows[number] = false;
            }
        }
        self.bodies.arrange()?;
        self.centres.arrange()
    }

    /// Notes where the centre of a subsystem is, and how it acts.
    fn see_centre(&mut self, place: usize) {
        let subsystem = &self.all[place];
        let number = subsystem.members[0];
        let (position, [_, reach2]) = self.bodies.at(number);
        self.centres.put(number, &position, [CAUTION * self.strength(subsystem), reach2]);
        self.follows[number] = subsystem.is_close || subsystem.mean.is_none();
    }

    /// Writes down the role of each number. Those whose role is another one have to be seen.
    fn name_roles(&mut self, bodies: usize) -> Result<()> {
        self.roles.clear();
        memory::lengthen(&mut self.roles, bodies, WHAT, || Role::Alone)?;
        for (place, subsystem) in self.all.iter().enumerate() {
            subsystem.members.iter().for_each(|&member| self.roles[member] = Role::Hidden(place));
            self.roles[subsystem.members[0]] = Role::Centre(place);
        }
        Ok(())
    }

    /// Whether a number is that of a member that its subsystem's centre stands for.
    pub fn is_hidden(&self, number: usize) -> bool {
        matches!(self.roles.get(number), Some(Role::Hidden(_)))
    }

    /// Returns the subsystem whose centre has a number.
    pub fn of_centre(&self, number: usize) -> Option<&Subsystem> {
        match self.roles.get(number) {
            Some(Role::Centre(place)) => Some(&self.all[*place]),
            _ => None,
        }
    }

    /// Keeps those all of whose members stay; `places` has the new place of each body that does.
    pub fn keep(&mut self, places: &[Option<usize>]) {
        self.all.retain(|subsystem| subsystem.members.iter().all(|place| places[*place].is_some()));
        self.rename(|place| places[place].unwrap_or_default());
    }

    /// Changes the names of members.
    pub fn rename(&mut self, name: impl Fn(usize) -> usize) {
        self.all.iter_mut().for_each(|subsystem| subsystem.rename(&name));
    }

    /// Gives subsystems whose centres are among some numbers these as they are under way.
    pub fn follow(&mut self, moving: &[Moving], numbers: &[usize]) {
        for &number in numbers {
            if let Some(Role::Centre(place)) = self.roles.get(number) {
                self.all[*place].centre = moving[number].body;
            }
        }
    }

    /// Returns the distance at which members have left one another.
    pub fn leave(&self) -> f64 {
        LEAVE * self.radius
    }

    /// Gives all subsystems their centres as they are at the end of an interval.
    pub fn follow_all(&mut self, moving: &[Moving]) {
        for subsystem in &mut self.all {
            (subsystem.centre, subsystem.time) = (moving[subsystem.members[0]].body, 0.0);
        }
    }

    /// Returns the pairs of the block, by their numbers, that are near enough to form subsystems. Each
    /// body of the block has its nearest source.
    pub fn near_pairs(&self, members: &[usize], nearest: &[Nearest]) -> Result<Vec<[usize; 2]>> {
        let mut pairs = Vec::new();
        for (&number, nearest) in members.iter().zip(nearest).filter(|(_, nearest)| nearest.distance2.is_finite()) {
            let other = nearest.index as usize;
            let distance = nearest.distance2.sqrt();
            if distance < self.reach(number) + self.reach(other) {
                memory::push(&mut pairs, [number.min(other), number.max(other)], WHAT)?;
            }
        }
        Ok(pairs)
    }

    /// Returns the index that a source has: that of the centre for hidden members.
    pub fn index(&self, number: usize) -> usize {
        match self.roles.get(number) {
            Some(Role::Hidden(place)) => self.all[*place].members[0],
            _ => number,
        }
    }

    /// Returns how near two numbers are whose bodies may form a subsystem.
    pub fn reach(&self, number: usize) -> f64 {
        let extent = self.of_centre(number).map(|subsystem| subsystem.extent(self.leave()));
        extent.map_or(0.5 * self.leave(), |extent| CLOSE * extent)
    }

    /// Moves the members of subsystems whose centres make a step in the block to its end, and those of
    /// subsystems that act by each member on bodies of the block. Returns the collisions and mergers in
    /// them, of bodies whose radii `radius` has.
    pub fn evolve(
        &mut self,
        block: &Block,
        (moving, members): (&[Moving], &[usize]),
        radius: impl Fn(usize) -> f64 + Sync,
        threads: &Threads,
    ) -> Result<Contacts> {
        if self.all.is_empty() {
            return Ok(Vec::new());
        }
        let (interval, gravity) = (block.plan.interval, block.plan.gravity);
        let (leave, speed_of_light) = (self.leave(), self.speed_of_light);
        self.choose_moving(block, moving, members)?;
        let count = self.moves.iter().filter(|moves| **moves).count();
        let partners = self.partners()?;
        let mut steps: Vec<(&mut Subsystem, Result<Contacts>)> = memory::room(count, WHAT)?;
        let moving_now = self.all.iter_mut().zip(&self.moves).filter(|(_, moves)| **moves);
        steps.extend(moving_now.map(|(subsystem, _)| (subsystem, Ok(Vec::new()))));
        // The time of the last step of a body since the start of the interval.
        let last = |number: usize| {
            let body = &moving[number].body;
            let is_member = members.binary_search(&number).is_ok();
            if is_member { block.now * interval - body.step } else { block.last_step(body) * interval }
        };
        let (bodies, roles) = (&self.bodies, &self.roles);
        threads.run(steps.iter_mut(), &self.selected, Vec::new, |(subsystem, outcome), others| {
            let number = subsystem.members[0];
            let since = |number: usize| subsystem.time - last(number);
            let step = block.now * interval - subsystem.time;
            let (centre, extent) = (&moving[number].body, subsystem.extent(leave));
            let middle = moved(block.scheme, centre, since(number) + 0.5 * step)[0];
            let others = Others::find(bodies, (number, centre, &middle), (extent, block.plan.precision), others);
            let surroundings = others.and_then(|others| {
                let resting = others.resting.map(|tide| gravity * tide);
                let others = others.moving.iter().map(|&other| {
                    let body = &moving[other].body;
                    let members = match roles[other] {
                        Role::Centre(place) => partners.binary_search_by_key(&place, |partner| partner.0).ok(),
                        _ => None,
                    };
                    let members = members.map(|found| &partners[found].1);
                    Other { mass: gravity * body.mass, body, since: since(other), members }
                });
                let span = (subsystem.time, step);
                Surroundings::new(block.scheme, (centre, since(number)), extent, span, (others, &resting))
            });
            *outcome = surroundings.and_then(|surroundings| {
                subsystem.is_close = surroundings.nearest() < RESOLVED * extent;
                let radii = subsystem.members.iter().map(|member| radius(*member));
                subsystem.inner.radii = memory::collected(radii, WHAT)?;
                Step { gravity, leave, speed_of_light, step, surroundings: &surroundings }.advance(subsystem)
            });
            subsystem.average(gravity, leave);
            subsystem.time = block.now * interval;
        });
        let mut contacts = Vec::new();
        for contact in steps.into_iter().map(|(_, outcome)| outcome) {
            for contact in contact? {
                memory::push(&mut contacts, contact, WHAT)?;
            }
        }
        for place in 0..self.moves.len() {
            if self.moves[place] {
                self.see_centre(place);
            }
        }
        Ok(contacts)
    }

    /// Chooses the subsystems that move in a block: those whose centres are in it, and of those whose
    /// members follow the bodies near them all that bodies of the block may be near.
    fn choose_moving(&mut self, block: &Block, moving: &[Moving], members: &[usize]) -> Result<()> {
        let leave = self.leave();
        // Where a body is after a time, nearly.
        let after = |body: &Body, time: f64| vector(|k| body.position[k] + time * body.velocity[k]);
        self.moves.clear();
        memory::lengthen(&mut self.moves, self.all.len(), WHAT, || false)?;
        for number in members {
            if let Role::Centre(place) = self.roles[*number] {
                self.moves[place] = true;
            }
        }
        for (k, places) in self.places.iter_mut().enumerate() {
            places.clear();
            memory::reserve(places, members.len(), WHAT)?;
            let bodies = members.iter().map(|number| &moving[*number].body);
            places.extend(bodies.map(|body| after(body, body.step)[k]));
        }
        self.following.clear();
        for (role, _) in self.roles.iter().zip(&self.follows).filter(|(_, follows)| **follows) {
            if let Role::Centre(place) = *role {
                memory::push(&mut self.following, place, WHAT)?;
            }
        }
        self.following.sort_unstable();
        for &place in &self.following {
            let subsystem = &self.all[place];
            let near = 2.0 * RESOLVED * subsystem.extent(leave);
            let centre = &moving[subsystem.members[0]].body;
            let centre = after(centre, block.since_last_step(centre));
            self.moves[place] = self.moves[place] || is_within(near, &centre, &self.places);
        }
        Ok(())
    }

    /// Returns the members of those subsystems that act by each of them, by their places, which ascend, if
    /// there are two at least.
    fn partners(&self) -> Result<Vec<(usize, Members)>> {
        let mut partners = Vec::new();
        if self.following.len() > 1 {
            for &place in &self.following {
                let subsystem = &self.all[place];
                let members = Members::of(self.gravity, subsystem, subsystem.extent(self.leave()))?;
                memory::push(&mut partners, (place, members), WHAT)?;
            }
        }
        Ok(partners)
    }

    /// Returns the mass of a subsystem times the gravitational constant and the square of its extent.
    fn strength(&self, subsystem: &Subsystem) -> f64 {
        self.gravity * subsystem.centre.mass * subsystem.extent(self.leave()).powi(2)
    }
}

/// Whether one of some places, whose components are given, is within a distance of another one.
fn is_within(distance: f64, from: &Vector, [x, y, z]: &[Vec<f64>; 3]) -> bool {
    let is_near = |place: usize| {
        let apart = [x[place] - from[0], y[place] - from[1], z[place] - from[2]];
        u64::from(square(&apart) < distance * distance)
    };
    let places = x.len().min(y.len()).min(z.len());
    // A sum is made in vectors; a search is not.
    in_longest_vectors(
        #[inline(always)]
        || (0..places).map(is_near).sum::<u64>(),
    ) > 0
}

#[cfg(test)]
mod tests;
