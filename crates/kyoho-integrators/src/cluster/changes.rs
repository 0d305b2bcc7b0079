//! Bodies that are added, changed and removed.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};

use crate::body::{Body, Vector};
use crate::groups::Groups;

use super::{BODIES, Cluster};

/// The numbers of a body that are given or changed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Change {
    /// The mass.
    pub mass: Option<f64>,
    /// The position.
    pub position: Option<Vector>,
    /// The velocity.
    pub velocity: Option<Vector>,
    /// The radius, for collisions.
    pub radius: Option<f64>,
    /// The group.
    pub group: Option<i32>,
    /// The softening length: the body goes to a group that has it, which feels all and all feel. Where
    /// there would be too many groups, it keeps the softening itself.
    pub softening: Option<f64>,
}

impl Cluster {
    /// Adds bodies, none of them if one is wrong. Masses and positions are required.
    pub fn add(&mut self, bodies: &[(i64, Change)]) -> Result<()> {
        let (before, more) = (self.identifiers.len(), bodies.len());
        if before + more > i32::MAX as usize {
            let allowed = format!("up to {}", i32::MAX);
            return Err(Error::BadCount { what: "the number of bodies", value: (before + more) as i64, allowed });
        }
        bodies.iter().try_for_each(|(identifier, change)| change.check(*identifier, &self.groups))?;
        self.places.try_reserve(more).map_err(|_| memory::none::<(i64, usize)>(before + more, BODIES))?;
        memory::reserve(&mut self.identifiers, more, BODIES)?;
        memory::reserve(&mut self.radii, more, BODIES)?;
        self.groups.reserve(more)?;
        let (table, members) = self.groups_of(bodies)?;
        memory::reserve(self.integrator.bodies_mut(), more, BODIES)?;
        for (number, (identifier, _)) in bodies.iter().enumerate() {
            if self.places.contains_key(identifier) {
                for (added, _) in &bodies[..number] {
                    self.places.remove(added);
                }
                return Err(Error::BadOption {
                    name: format!("the identifier of body {number} to be added"),
                    value: identifier.to_string(),
                    allowed: "one that no other body has".into(),
                });
            }
            self.places.insert(*identifier, before + number);
        }
        self.groups.take(table);
        for ((identifier, Change { mass, position, velocity, radius, .. }), member) in bodies.iter().zip(members) {
            let numbers = (mass.unwrap_or(0.0), position.unwrap_or_default(), velocity.unwrap_or_default());
            self.integrator.bodies_mut().push(Body::new(numbers.0, numbers.1, numbers.2));
            self.identifiers.push(*identifier);
            self.radii.push(radius.unwrap_or(0.0));
            self.groups.push(member.unwrap_or_default());
        }
        if more > 0 {
            (self.is_changed, self.has_other_radii, self.has_other_groups) = (true, true, true);
            self.encounters.clear();
        }
        Ok(())
    }

    /// Changes bodies, none of them if one is wrong. Where masses or velocities were changed, the next
    /// evolution begins with new forces of all bodies; those whose forces are nearly as before keep
    /// their steps. A body at another place begins with a first step.
    pub fn change(&mut self, changes: &[(i64, Change)]) -> Result<()> {
        for (identifier, change) in changes {
            self.place(*identifier)?;
            change.check(*identifier, &self.groups)?;
        }
        let (table, members) = self.groups_of(changes)?;
        self.groups.take(table);
        for ((identifier, Change { mass, position, velocity, radius, .. }), member) in changes.iter().zip(members) {
            let place = self.places[identifier];
            if let Some(member) = member.filter(|member| *member != self.groups.member(place)) {
                self.groups.set(place, member);
                (self.is_changed, self.has_other_groups) = (true, true);
            }
            let body = &mut self.integrator.bodies_mut()[place];
            let before = *body;
            body.mass = mass.unwrap_or(body.mass);
            body.position = position.unwrap_or(body.position);
            body.velocity = velocity.unwrap_or(body.velocity);
            if body.position != before.position {
                // What it has of another place says nothing of its next step.
                *body = body.without_forces();
            }
            self.is_changed |= *body != before;
            self.encounters.clear();
            if let Some(radius) = radius {
                self.radii[place] = *radius;
                self.has_other_radii = true;
            }
        }
        Ok(())
    }

    /// Removes bodies, none of them if one is not there.
    pub fn remove(&mut self, identifiers: &[i64]) -> Result<()> {
        identifiers.iter().try_for_each(|identifier| self.place(*identifier).map(drop))?;
        // Nothing is changed before there is the memory for it.
        let mut stay = memory::room(self.identifiers.len(), BODIES)?;
        let mut places = memory::room(self.identifiers.len(), BODIES)?;
        for identifier in identifiers {
            self.places.remove(identifier);
        }
        if self.places.len() == self.identifiers.len() {
            return Ok(());
        }
        stay.extend(self.identifiers.iter().map(|identifier| self.places.contains_key(identifier)));
        let mut next = 0..;
        places.extend(stay.iter().map(|stays| if *stays { next.next() } else { None }));
        keep(self.integrator.bodies_mut(), &stay);
        self.integrator.keep_subsystems(&places);
        keep(&mut self.radii, &stay);
        keep(self.groups.of_bodies_mut(), &stay);
        keep(&mut self.identifiers, &stay);
        for (place, identifier) in self.identifiers.iter().enumerate() {
            self.places.insert(*identifier, place);
        }
        (self.is_changed, self.has_other_radii, self.has_other_groups) = (true, true, true);
        self.encounters.clear();
        Ok(())
    }
}

/// Keeps the items that stay.
fn keep<T>(items: &mut Vec<T>, stay: &[bool]) {
    let mut stay = stay.iter();
    items.retain(|_| stay.next().is_none_or(|stays| *stays));
}

impl Change {
    /// Fails unless the numbers have a meaning. `identifier` is that of the body.
    pub(super) fn check(&self, identifier: i64, groups: &Groups) -> Result<()> {
        if let Some(group) = self.group {
            groups.check(&format!("the group of body {identifier}"), group.into())?;
            if self.softening.is_some() {
                return Err(Error::BadOption {
                    name: format!("the softening of body {identifier}"),
                    value: "given beside a group".into(),
                    allowed: "one of both: the softening is that of the group".into(),
                });
            }
        }
        let lone = [("mass", self.mass), ("radius", self.radius), ("softening", self.softening)];
        for (what, value) in lone {
            let Some(value) = value else { continue };
            if value.is_nan() || value < 0.0 {
                return Err(Error::BadOption {
                    name: format!("the {what} of body {identifier}"),
                    value: shown(value),
                    allowed: "numbers from 0".into(),
                });
            }
        }
        let vectors = [("position", self.position), ("velocity", self.velocity)];
        let given = vectors.into_iter().filter_map(|(what, vector)| Some((what, vector?)));
        let numbers = given.flat_map(|(what, vector)| vector.map(|value| (what, value)));
        let lone = lone.into_iter().filter_map(|(what, value)| Some((what, value?)));
        for (what, value) in numbers.chain(lone) {
            if !value.is_finite() {
                return Err(Error::NotFinite { what: format!("the {what} of body {identifier}"), value });
            }
        }
        Ok(())
    }
}
