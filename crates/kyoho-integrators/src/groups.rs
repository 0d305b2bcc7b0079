//! Groups of bodies: each has a softening length, and feels some groups and not others. Bodies may have
//! a softening of their own in place of their group's.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};

/// The most groups of a cluster.
pub const MOST_GROUPS: usize = 16;

/// The group of a body, and its softening length if that is not the group's.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Member {
    /// The group.
    pub group: u8,
    /// The softening length of its own.
    pub own_softening: Option<f64>,
}

impl Member {
    /// A body of a group, with the softening of that.
    pub fn of(group: usize) -> Member {
        Member { group: group as u8, own_softening: None }
    }
}

/// The groups of bodies, and which group each body belongs to. The first group is always there.
#[derive(Debug, PartialEq)]
pub struct Groups {
    count: usize,
    softenings: [f64; MOST_GROUPS],
    /// The groups that each feels, with a bit for each.
    feels: [u16; MOST_GROUPS],
    /// The group of each body, by its place. Bodies beyond are of the first group.
    of_bodies: Vec<Member>,
}

const WHAT: &str = "the groups of bodies";

impl Groups {
    /// Makes one group of this softening, which feels itself.
    pub fn one(softening: f64) -> Groups {
        let mut softenings = [0.0; MOST_GROUPS];
        softenings[0] = softening;
        Groups { count: 1, softenings, feels: [u16::MAX; MOST_GROUPS], of_bodies: Vec::new() }
    }

    /// Returns a copy.
    pub fn copied(&self) -> Result<Groups> {
        Ok(Groups { of_bodies: memory::collected(self.of_bodies.iter().copied(), WHAT)?, ..*self })
    }

    /// Returns the same groups without bodies.
    pub fn without_bodies(&self) -> Groups {
        Groups { of_bodies: Vec::new(), ..*self }
    }

    /// Takes these groups in place of its own; bodies keep theirs.
    pub fn take(&mut self, groups: Groups) {
        (self.count, self.softenings, self.feels) = (groups.count, groups.softenings, groups.feels);
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the softening length of a group.
    pub fn softening(&self, group: usize) -> f64 {
        self.softenings[group]
    }

    /// Adds a group that feels all groups, and that all feel, and returns its number.
    pub fn add(&mut self, softening: f64) -> Result<usize> {
        if !(softening >= 0.0 && softening.is_finite()) {
            return Err(wrong("the softening of a group", &shown(softening), "finite numbers from 0"));
        }
        if self.count == MOST_GROUPS {
            let allowed = format!(
                "up to {MOST_GROUPS}, each of which has a softening: each costs forces of its own in every step"
            );
            return Err(wrong("the number of groups", &(MOST_GROUPS + 1).to_string(), &allowed));
        }
        let group = self.count;
        self.count += 1;
        self.softenings[group] = softening;
        self.feels[group] = u16::MAX;
        self.feels[..group].iter_mut().for_each(|feels| *feels |= 1 << group);
        Ok(group)
    }

    /// Returns a group of this softening that feels all groups and that all feel, if there is one.
    pub fn with_softening(&self, softening: f64) -> Option<usize> {
        (0..self.count).filter(|group| self.softenings[*group] == softening).find(|group| self.is_open(*group))
    }

    /// Fails unless a number is that of a group.
    pub fn check(&self, what: &str, group: i64) -> Result<usize> {
        match usize::try_from(group) {
            Ok(group) if group < self.count => Ok(group),
            _ => Err(wrong(what, &group.to_string(), &format!("0 to {}, the groups that there are", self.count - 1))),
        }
    }

    /// Whether the bodies of a group feel those of another one, or of the same.
    pub fn feels(&self, group: usize, other: usize) -> bool {
        self.feels[group] >> other & 1 == 1
    }

    /// Lets the bodies of a group feel those of another one, or of the same, or not.
    pub fn set_feels(&mut self, group: usize, other: usize, feels: bool) {
        let bit = 1 << other;
        self.feels[group] = if feels { self.feels[group] | bit } else { self.feels[group] & !bit };
    }

    /// Returns the groups that a group feels, with a bit for each.
    pub fn felt_by(&self, group: usize) -> u16 {
        self.feels[group] & self.all()
    }

    /// Returns for each group the first one whose bodies may be summed together with its own: they feel
    /// the same groups, and one another. Nobody else may change their bits, as these depend on the number
    /// of sinks.
    pub fn leaders(&self) -> [u8; MOST_GROUPS] {
        std::array::from_fn(|group| {
            let is_alike = |other: &usize| self.felt_by(*other) == self.felt_by(group);
            let first = (0..group.min(self.count))
                .filter(|_| self.feels(group, group))
                .find(|other| is_alike(other) && self.feels(group, *other));
            first.unwrap_or(group) as u8
        })
    }

    /// Returns for each group the first one that feels the same groups, and that the same groups feel.
    pub fn alike(&self) -> [u8; MOST_GROUPS] {
        let are_alike = |one: usize, other: usize| {
            let feel_both = |third: usize| self.feels(third, one) == self.feels(third, other);
            self.felt_by(one) == self.felt_by(other) && (0..self.count).all(feel_both)
        };
        std::array::from_fn(|group| {
            (0..group.min(self.count)).find(|other| group < self.count && are_alike(group, *other)).unwrap_or(group)
                as u8
        })
    }

    /// Returns the first group that feels all groups and that all feel, if there is one.
    pub fn open(&self) -> Option<usize> {
        (0..self.count).find(|group| self.is_open(*group))
    }

    fn is_open(&self, group: usize) -> bool {
        (0..self.count).all(|other| self.feels(group, other) && self.feels(other, group))
    }

    fn all(&self) -> u16 {
        (0..self.count).fold(0, |all, group| all | 1 << group)
    }

    /// Returns the softening length of a pair of bodies of two groups, as [`pair_of`] does.
    pub fn between(&self, one: usize, other: usize) -> f64 {
        pair_of(self.softenings[one], self.softenings[other])
    }

    /// Returns the group of the body at a place.
    pub fn of(&self, place: usize) -> usize {
        self.member(place).group.into()
    }

    /// Returns what the body at a place has of groups.
    pub fn member(&self, place: usize) -> Member {
        self.of_bodies.get(place).copied().unwrap_or_default()
    }

    /// Returns the softening length of a body.
    pub fn softening_of(&self, member: Member) -> f64 {
        member.own_softening.unwrap_or(self.softenings[usize::from(member.group)])
    }

    /// Whether some bodies have softenings of their own.
    pub fn has_own_softenings(&self) -> bool {
        self.of_bodies.iter().any(|member| member.own_softening.is_some())
    }

    /// Whether one of the bodies at two places feels the other one.
    pub fn touch(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.of(one), self.of(other));
        self.feels(one, other) || self.feels(other, one)
    }

    /// Adds a body behind all, for which memory was reserved.
    pub fn push(&mut self, member: Member) {
        self.of_bodies.push(member);
    }

    /// Reserves memory for the groups of more bodies.
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        memory::reserve(&mut self.of_bodies, more, WHAT)
    }

    /// Gives the body at a place to a group, or a softening of its own.
    pub fn set(&mut self, place: usize, member: Member) {
        self.of_bodies[place] = member;
    }

    /// Returns the groups of the bodies, by their places.
    pub fn of_bodies_mut(&mut self) -> &mut Vec<Member> {
        &mut self.of_bodies
    }

    /// Returns the softening length of all pairs, if all bodies have the same one and feel all others.
    pub fn as_one(&self) -> Option<f64> {
        let Some(first) = self.of_bodies.first() else { return Some(self.softenings[0]) };
        let softening = self.softening_of(*first);
        let used = self.of_bodies.iter().fold(0u16, |used, member| used | 1 << member.group);
        let feel_all = (0..self.count).all(|group| used >> group & 1 == 0 || self.feels[group] & used == used);
        let is_one = feel_all && self.of_bodies.iter().all(|member| self.softening_of(*member) == softening);
        is_one.then_some(softening)
    }
}

/// Returns the softening length of a pair of bodies with these. Its square is the mean of both squares.
pub fn pair_of(one: f64, other: f64) -> f64 {
    if one == other { one } else { (one * one).midpoint(other * other).sqrt() }
}

fn wrong(name: &str, value: &str, allowed: &str) -> Error {
    Error::BadOption { name: name.into(), value: value.into(), allowed: allowed.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_one_where_bodies_differ_in_nothing() {
        let mut groups = Groups::one(0.5);
        assert_eq!(groups.as_one(), Some(0.5));
        let [second, third] = [0.5, 0.25].map(|softening| groups.add(softening).unwrap());
        for group in [0, second, second] {
            groups.push(Member::of(group));
        }
        assert_eq!(groups.as_one(), Some(0.5));
        // That nobody feels a group without bodies does not matter.
        groups.set_feels(0, third, false);
        assert_eq!(groups.as_one(), Some(0.5));
        groups.set_feels(second, 0, false);
        assert_eq!(groups.as_one(), None);
        groups.set_feels(second, 0, true);
        groups.set(1, Member::of(third));
        assert_eq!(groups.as_one(), None);
        groups.of_bodies_mut().drain(..2);
        groups.set(0, Member::of(third));
        assert_eq!(groups.as_one(), Some(0.25));
        groups.set_feels(third, third, false);
        assert_eq!(groups.as_one(), None);
    }

    #[test]
    fn bodies_have_softenings_of_their_own_in_place_of_their_groups() {
        let mut groups = Groups::one(0.5);
        let own = |softening| Member { group: 0, own_softening: Some(softening) };
        [Member::of(0), own(0.25)].into_iter().for_each(|member| groups.push(member));
        assert!(groups.has_own_softenings() && groups.as_one().is_none());
        assert_eq!([0, 1, 2].map(|place| groups.softening_of(groups.member(place))), [0.5, 0.25, 0.5]);
        groups.set(0, own(0.25));
        assert_eq!(groups.as_one(), Some(0.25));
    }

    #[test]
    fn groups_are_alike_that_feel_the_same_and_that_the_same_feel() {
        let mut groups = Groups::one(0.0);
        (1..4).for_each(|group| drop(groups.add(group as f64)));
        assert_eq!((groups.alike()[..4].to_vec(), groups.open()), (vec![0; 4], Some(0)));
        // Nobody but itself feels the second one.
        [0, 2, 3].into_iter().for_each(|group| groups.set_feels(group, 1, false));
        assert_eq!((groups.alike()[..4].to_vec(), groups.open()), (vec![0, 1, 0, 0], None));
        groups.set_feels(3, 3, false);
        assert_eq!(groups.alike()[..4], [0, 1, 0, 3]);
    }

    #[test]
    fn a_pair_has_the_mean_of_both_squares() {
        let mut groups = Groups::one(0.0);
        let [one, other] = [3.0, 1.0].map(|softening| groups.add(softening).unwrap());
        assert_eq!(groups.between(one, other), 5.0f64.sqrt());
        assert_eq!((groups.between(one, one), groups.between(0, 0)), (3.0, 0.0));
        assert_eq!(groups.between(other, one), groups.between(one, other));
    }

    #[test]
    fn groups_that_feel_alike_and_one_another_are_summed_together() {
        let mut groups = Groups::one(0.0);
        (1..5).for_each(|group| drop(groups.add(group as f64)));
        assert_eq!(groups.leaders()[..5], [0; 5]);
        // Nobody feels the last one, and the one before does not feel the first.
        (0..5).for_each(|group| groups.set_feels(group, 4, false));
        groups.set_feels(3, 0, false);
        assert_eq!(groups.leaders()[..5], [0, 0, 0, 3, 4]);
    }

    #[test]
    fn there_are_so_many_groups_and_no_more() {
        let mut groups = Groups::one(0.0);
        for group in 1..MOST_GROUPS {
            assert_eq!(groups.add(group as f64).unwrap(), group);
        }
        let before = groups.copied().unwrap();
        let error = groups.add(0.5).unwrap_err().to_string();
        assert!(error.contains("the number of groups is '17'; allowed: up to 16"), "{error}");
        assert!(groups.add(f64::NAN).is_err() && groups.check("the group", 16).is_err());
        assert_eq!(groups, before);
        assert_eq!(groups.felt_by(3), u16::MAX);
        assert_eq!(groups.with_softening(3.0), Some(3));
        groups.set_feels(7, 3, false);
        assert_eq!((groups.with_softening(3.0), groups.with_softening(0.5)), (None, None));
    }
}
