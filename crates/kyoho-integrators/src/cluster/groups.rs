//! Groups of the bodies of a cluster.

use kyoho_core::{Error, Result, memory};

use crate::groups::{Groups, MOST_GROUPS, Member};

use super::{BODIES, Change, Cluster};

impl Cluster {
    /// Returns the groups and which one each body belongs to.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Adds a group of this softening length, which feels all groups and that all feel, and returns its
    /// number.
    pub fn add_group(&mut self, softening: f64) -> Result<usize> {
        let mut groups = self.groups.without_bodies();
        let group = groups.add(softening)?;
        self.require_plain_groups(&groups)?;
        self.groups.take(groups);
        self.has_other_groups = true;
        Ok(group)
    }

    /// Lets the bodies of a group feel those of another one, or of the same, or not. The next evolution
    /// begins with new forces of all bodies.
    pub fn set_feels(&mut self, group: i64, other: i64, feels: bool) -> Result<()> {
        let [group, other] = [self.groups.check("the group", group)?, self.groups.check("the other group", other)?];
        let mut groups = self.groups.without_bodies();
        groups.set_feels(group, other, feels);
        self.require_plain_groups(&groups)?;
        if groups.feels(group, other) != self.groups.feels(group, other) {
            self.groups.take(groups);
            (self.is_changed, self.has_other_groups) = (true, true);
        }
        Ok(())
    }

    /// Returns the groups as they are with those that changes make, and what each body wants of them. Where
    /// there would be too many groups, none is made, and bodies have softenings of their own.
    pub(super) fn groups_of(&self, changes: &[(i64, Change)]) -> Result<(Groups, Vec<Option<Member>>)> {
        let (mut groups, mut of_own) = (self.groups.without_bodies(), None);
        for softening in changes.iter().filter_map(|(_, change)| change.softening) {
            if groups.with_softening(softening).is_some() {
                continue;
            }
            if let Err(error) = groups.add(softening) {
                groups = self.groups.without_bodies();
                of_own = Some(self.group_of_own_softenings(&groups, error)?);
                break;
            }
        }
        let mut wanted = memory::room(changes.len(), BODIES)?;
        for (_, Change { group, softening, .. }) in changes {
            let of_softening = |softening: f64| match (groups.with_softening(softening), of_own) {
                (None, Some(group)) => Member { own_softening: Some(softening), ..Member::of(group) },
                (group, _) => Member::of(group.unwrap_or(0)),
            };
            let of_group = || group.and_then(|group| usize::try_from(group).ok()).map(Member::of);
            wanted.push(softening.map(of_softening).or_else(of_group));
        }
        self.require_plain_groups(&groups)?;
        Ok((groups, wanted))
    }

    /// Returns the group of bodies with softenings of their own. There is none with subsystems, and then
    /// the error is that of too many groups.
    fn group_of_own_softenings(&self, groups: &Groups, too_many: Error) -> Result<usize> {
        if !self.knows_own_softenings() {
            return Err(too_many);
        }
        groups.open().ok_or_else(|| Error::BadOption {
            name: "the number of groups that feel all and that all feel".into(),
            value: "0".into(),
            allowed: format!("from 1 on, with more than {MOST_GROUPS} softenings: bodies that have them belong to it"),
        })
    }

    /// Whether bodies may have softenings of their own.
    pub(super) fn knows_own_softenings(&self) -> bool {
        self.choices.subsystems().is_none()
    }

    /// Fails for groups that subsystems do not know.
    pub(super) fn require_plain_groups(&self, groups: &Groups) -> Result<()> {
        if self.choices.subsystems().is_none() || (groups.count() == 1 && groups.feels(0, 0)) {
            return Ok(());
        }
        Err(Error::BadOption {
            name: "the number of groups with subsystems".into(),
            value: groups.count().to_string(),
            allowed: "1, which feels itself: bodies of subsystems pull one another, without softening".into(),
        })
    }
}
