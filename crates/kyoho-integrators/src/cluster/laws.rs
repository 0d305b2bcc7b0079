//! Laws between the bodies of a cluster beside their gravity.

use kyoho_core::{Error, Result};

use crate::laws::Law;

use super::Cluster;

impl Cluster {
    /// Adds a law between bodies beside their gravity, from now on: a text, of which it needs the names of
    /// the parameters, with spaces between them, and the numbers of all of these, one after another. It
    /// acts on the bodies of some groups and is made by those of others, in `groups` with a bit for each;
    /// 0 stands for all groups, also those of later. The next evolution begins with new forces of all
    /// bodies. After an error there are the laws that there were.
    pub fn add_law(&mut self, text: &str, names: &str, numbers: &[f64], groups: [u32; 2]) -> Result<()> {
        self.require_no_subsystems_with(self.laws().len() + 1)?;
        let [on, by] = [("on", groups[0]), ("by", groups[1])].map(|(what, groups)| self.concerned(what, groups));
        let law = Law::listed(text, names, numbers, [on?, by?], self.setup.order)?;
        self.integrator.laws_mut().add(law)?;
        self.is_changed = true;
        Ok(())
    }

    /// Fails for laws, if there are some, that subsystems do not know.
    pub(super) fn require_no_subsystems_with(&self, laws: usize) -> Result<()> {
        if laws == 0 || !self.integrator.has_subsystems() {
            return Ok(());
        }
        Err(Error::BadOption {
            name: "the number of laws with subsystems".into(),
            value: laws.to_string(),
            allowed: "0: bodies of subsystems pull one another by their gravity alone".into(),
        })
    }

    /// Returns the groups of bits, which are those that there are.
    fn concerned(&self, what: &str, groups: u32) -> Result<u16> {
        let first_unknown =
            (0..u32::BITS as usize).find(|group| groups >> group & 1 == 1 && *group >= self.groups.count());
        match first_unknown {
            Some(group) => Err(Error::BadOption {
                name: format!("a group {what} which a law acts"),
                value: group.to_string(),
                allowed: format!("0 to {}, the groups that there are", self.groups.count() - 1),
            }),
            None if groups == 0 => Ok(u16::MAX),
            // There are no more groups than bits.
            None => Ok(groups as u16),
        }
    }

    /// Returns the laws, in the order in which they were added.
    pub fn laws(&self) -> &[Law] {
        self.integrator.laws().all()
    }

    /// Returns the energy of the bodies by laws. Two bodies that act on one another count once.
    pub fn law_energy(&mut self) -> Result<f64> {
        self.integrator.laws_mut().group(&self.groups, self.identifiers.len())?;
        self.integrator.law_energy(self.time).map_err(|error| self.named(error))
    }
}

#[cfg(test)]
mod tests;
