//! Groups of the bodies of a cluster.

use kyoho_core::{Error, Result, memory};

use crate::groups::Groups;

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

    /// Returns the groups as they are with those that changes make, and the group that each wants.
    pub(super) fn groups_of(&self, changes: &[(i64, Change)]) -> Result<(Groups, Vec<Option<usize>>)> {
        let mut groups = self.groups.without_bodies();
        let mut wanted = memory::room(changes.len(), BODIES)?;
        for (_, Change { group, softening, .. }) in changes {
            wanted.push(match softening {
                Some(softening) => Some(match groups.with_softening(*softening) {
                    Some(group) => group,
                    None => groups.add(*softening)?,
                }),
                None => group.and_then(|group| usize::try_from(group).ok()),
            });
        }
        self.require_plain_groups(&groups)?;
        Ok((groups, wanted))
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
