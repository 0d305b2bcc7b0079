//! How members of a subsystem move for bodies whose steps are long beside their periods.
//!
//! To such a body the derivatives of their pulls by the time say nothing of its next step, but would
//! dominate it in the orders that use them. For it a group of members moves as one, and each is where it
//! is in the group. A body that follows them in its steps feels each member's own motion.

use kyoho_core::{Result, memory};

use super::surroundings::square;
use super::{RESOLVED, WHAT};
use crate::body::{Vector, length, vector};
use crate::hermite::scheme::MOST;

/// The motion of all members for bodies of some steps.
#[derive(Debug)]
pub struct Level {
    /// The steps are longer than this.
    above: f64,
    /// Bodies that have no step yet are beyond this distance, of which it is the square.
    beyond2: f64,
    pub motions: Vec<[Vector; MOST]>,
}

impl Level {
    /// Whether it is for a body of a step, or of none yet, at a distance, whose square is given.
    pub fn is_for(&self, step: f64, distance2: f64) -> bool {
        if step > 0.0 { step > self.above } else { distance2 >= self.beyond2 }
    }
}

/// Members that move as one.
struct Group {
    mass: f64,
    motion: [Vector; MOST],
    members: Vec<usize>,
}

impl Group {
    /// Returns the semi-major axis of an orbit around another group, or the distance if that is larger or
    /// they are not bound, and the time in which they turn by one radian at that distance.
    fn extent(&self, other: &Group) -> (f64, f64) {
        let [apart, speed] = [0, 1].map(|term| vector(|k| self.motion[term][k] - other.motion[term][k]));
        let (distance, mass) = (length(&apart), self.mass + other.mass);
        let axis = 1.0 / (2.0 / distance - square(&speed) / mass);
        let extent = if axis > distance && axis.is_finite() { axis } else { distance };
        // Without masses they pull nobody.
        (extent, if mass > 0.0 { (extent * extent * extent / mass).sqrt() } else { 0.0 })
    }

    /// Takes in another group.
    fn join(&mut self, other: Group) -> Result<()> {
        let mass = self.mass + other.mass;
        let part = if mass > 0.0 { other.mass / mass } else { 0.5 };
        for (one, two) in self.motion.as_flattened_mut().iter_mut().zip(other.motion.as_flattened()) {
            *one += part * (two - *one);
        }
        self.mass = mass;
        other.members.into_iter().try_for_each(|member| memory::push(&mut self.members, member, WHAT))
    }
}

/// Returns the levels for ever longer steps of members, of which each has a mass times the gravitational
/// constant and a motion around their centre: groups that grow, the closest first.
pub fn levels(members: &[(f64, [Vector; MOST])]) -> Result<Vec<Level>> {
    let mut levels = memory::room(members.len(), WHAT)?;
    let mut groups: Vec<Group> = memory::room(members.len(), WHAT)?;
    for (member, (mass, motion)) in members.iter().enumerate() {
        groups.push(Group { mass: *mass, motion: *motion, members: memory::collected([member], WHAT)? });
    }
    while let Some((one, two)) = closest(&groups) {
        let (extent, time) = groups[one].extent(&groups[two]);
        let other = groups.swap_remove(two);
        groups[one].join(other)?;
        let before: Option<&Level> = levels.last();
        let motion = |member: usize| before.map_or(members[member].1, |before| before.motions[member]);
        let mut motions = memory::collected((0..members.len()).map(motion), WHAT)?;
        let (above, beyond2) = before.map_or((0.0, 0.0), |before| (before.above, before.beyond2));
        let (above, beyond2) = (above.max(time), beyond2.max((RESOLVED * extent).powi(2)));
        for member in &groups[one].members {
            motions[*member][1..].copy_from_slice(&groups[one].motion[1..]);
        }
        levels.push(Level { above, beyond2, motions });
    }
    Ok(levels)
}

/// Returns the places of the two groups that are closest, of which the second is the larger, if there are two.
fn closest(groups: &[Group]) -> Option<(usize, usize)> {
    let distance2 = |one: usize, two: usize| square(&vector(|k| groups[one].motion[0][k] - groups[two].motion[0][k]));
    let pairs = (0..groups.len()).flat_map(|two| (0..two).map(move |one| (one, two)));
    pairs.min_by(|a, b| distance2(a.0, a.1).total_cmp(&distance2(b.0, b.1)))
}
