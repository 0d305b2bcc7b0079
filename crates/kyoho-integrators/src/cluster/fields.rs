//! Fields that act on the bodies of a cluster.

use kyoho_core::{Error, Order, Result};

use crate::fields::{Centre, Field, FieldFunction, Parameters};

use super::Cluster;

impl Cluster {
    /// Adds a field that acts on all bodies, from now on: one that has a built-in name, or that is a
    /// text. It needs the numbers of each of its parameters. The next evolution begins with new forces of
    /// all bodies. After an error there are the fields that there were.
    pub fn add_field(&mut self, field: &str, parameters: &Parameters) -> Result<()> {
        self.add_made_field(Field::new(field, parameters, self.setup.order, self.setup.level)?)
    }

    /// Adds a field as [`Cluster::add_field`] does, whose centre moves.
    pub fn add_moving_field(&mut self, field: &str, parameters: &Parameters, centre: Centre) -> Result<()> {
        let field = Field::new(field, parameters, self.setup.order, self.setup.level)?;
        self.add_made_field(field.with_centre(Some(centre)))
    }

    /// Adds a field as [`Cluster::add_field`] does, from the names of parameters, with spaces between
    /// them, and the numbers of all of these, one after another.
    pub fn add_listed_field(
        &mut self,
        field: &str,
        names: &str,
        numbers: &[f64],
        centre: Option<Centre>,
    ) -> Result<()> {
        let field = Field::listed(field, names, numbers, self.setup.order, self.setup.level)?;
        self.add_made_field(field.with_centre(centre))
    }

    /// Adds a field that a function gives, in order 2 its accelerations, in order 4 jerks too. A state
    /// cannot have it.
    pub fn add_field_function(&mut self, function: FieldFunction, has_potential: bool) -> Result<()> {
        let order = self.setup.order;
        if order > Order::Fourth {
            return Err(Error::BadOption {
                name: "the order of an integrator with a field that is a function".into(),
                value: (order as i32).to_string(),
                allowed: "2 and 4, which need no derivatives beyond the jerk".into(),
            });
        }
        self.integrator.fields_mut().add_function(function, has_potential)?;
        self.is_changed = true;
        Ok(())
    }

    fn add_made_field(&mut self, field: Field) -> Result<()> {
        self.integrator.fields_mut().add(field)?;
        self.is_changed = true;
        Ok(())
    }

    /// Returns the fields that are no functions, in the order in which they were added.
    pub fn fields(&self) -> &[Field] {
        self.integrator.fields().all()
    }
}
