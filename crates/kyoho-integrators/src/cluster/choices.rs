//! The choices of an integration, and the plan that they make.

use kyoho_core::error::shown;
use kyoho_core::{Error, Order, Result, TreeAccuracy};
use kyoho_engine::Setup;
use kyoho_few_body::LARGEST;

use crate::plan::{ETA4, Plan, SHORTEST, StepCriterion, usual_eta};
use crate::subsystems::SubsystemRules;

/// What becomes of bodies that collide.
#[repr(i32)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnCollision {
    /// They end the evolution, and stay as they are.
    #[default]
    End = 0,
    /// They become one body, and the evolution goes on.
    Merge = 1,
}

impl OnCollision {
    /// Returns that of a number.
    pub fn from_number(number: i32) -> Option<OnCollision> {
        [OnCollision::End, OnCollision::Merge].into_iter().find(|rule| *rule as i32 == number)
    }
}

/// The choices of an integration. Zeros leave them open.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Choices {
    /// The softening length.
    pub softening: f64,
    /// The gravitational constant; without it 1.
    pub gravity: f64,
    /// The criterion of the time steps.
    pub criterion: StepCriterion,
    /// The accuracy parameter of the time steps; without it the usual one of the order.
    pub eta: f64,
    /// The longest step; without it steps have no limit. Order 2 needs it: it is the shared step.
    pub dt_max: f64,
    /// The shortest step.
    pub dt_min: f64,
    /// The time at the start.
    pub time: f64,
    /// The distance within which two bodies have an approach that ends an evolution; without it
    /// none does.
    pub approach_distance: f64,
    /// The distance within which bodies form subsystems that move by regularised motion; infinity stands
    /// for one that is chosen when the cluster starts. Without it there are none.
    pub subsystem_radius: f64,
    /// The speed of light, with which the bodies of a subsystem have relativistic terms. Without it they
    /// have none.
    pub speed_of_light: f64,
    /// What becomes of bodies that collide.
    pub on_collision: OnCollision,
}

impl Choices {
    /// Returns how subsystems form and move, if they do.
    pub(super) fn subsystems(&self) -> Option<SubsystemRules> {
        let radius = self.subsystem_radius;
        (radius > 0.0).then_some(SubsystemRules {
            radius: if radius.is_infinite() { 0.0 } else { radius },
            speed_of_light: Some(self.speed_of_light).filter(|speed| *speed > 0.0),
        })
    }

    pub(super) fn gravity(&self) -> f64 {
        if self.gravity == 0.0 { 1.0 } else { self.gravity }
    }

    /// Fails unless all have a meaning for an order.
    pub fn check(&self, order: Order) -> Result<()> {
        let Choices { softening, gravity, criterion, eta, dt_max, dt_min, time, .. } = *self;
        let Choices { approach_distance, subsystem_radius, speed_of_light, .. } = *self;
        let wrong = |name: &str, value: f64, allowed: &str| {
            Err(Error::BadOption { name: name.into(), value: shown(value), allowed: allowed.into() })
        };
        let numbers = [
            ("softening", softening),
            ("gravity", gravity),
            ("eta", eta),
            ("dt_max", dt_max),
            ("dt_min", dt_min),
            ("approach_distance", approach_distance),
        ];
        for (name, value) in numbers {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(name, value, "finite numbers from 0");
            }
        }
        if subsystem_radius.is_nan() || subsystem_radius < 0.0 {
            return wrong("subsystem_radius", subsystem_radius, "numbers from 0, and infinity for one that is chosen");
        }
        if !(0.0..=LARGEST).contains(&speed_of_light) {
            return wrong("speed_of_light", speed_of_light, &format!("above 0, at most {LARGEST:e}, and 0 for none"));
        }
        if speed_of_light > 0.0 && subsystem_radius == 0.0 {
            let allowed = "0 without subsystems, whose bodies alone have relativistic terms";
            return wrong("speed_of_light", speed_of_light, allowed);
        }
        if !time.is_finite() {
            return wrong("time", time, "finite numbers");
        }
        if !criterion.suits(order) {
            return Err(Error::BadOption {
                name: "criterion".into(),
                value: criterion.name().into(),
                allowed: "average in orders 6 and 8; usual and order in all".into(),
            });
        }
        if order == Order::Second && dt_max == 0.0 {
            return wrong("dt_max", dt_max, "above 0 in order 2, of which it is the shared step");
        }
        if dt_max > 0.0 && dt_min > dt_max {
            return wrong("dt_min", dt_min, &format!("up to dt_max, which is {}", shown(dt_max)));
        }
        Ok(())
    }

    /// Returns the plan of an interval, of bodies with one softening.
    pub(super) fn plan(
        &self,
        setup: &Setup,
        tree: Option<TreeAccuracy>,
        (interval, softening): (f64, f64),
    ) -> Result<Plan> {
        let order = setup.order;
        let averages = self.criterion.averages(order, setup.precision);
        let floor = interval * SHORTEST;
        let longest = if self.dt_max == 0.0 { interval } else { self.dt_max.min(interval) };
        if floor > longest {
            return Err(Error::BadOption {
                name: "dt_max".into(),
                value: shown(self.dt_max),
                allowed: format!("from {} on, 2^-50 of the time to evolve", shown(floor)),
            });
        }
        Ok(Plan {
            order,
            precision: setup.precision,
            gravity: self.gravity(),
            softening,
            criterion: self.criterion,
            eta: if self.eta == 0.0 { usual_eta(order, averages) } else { self.eta },
            eta4: ETA4,
            step: if order == Order::Second { longest } else { 0.0 },
            longest,
            shortest: self.dt_min.min(longest).max(floor),
            interval,
            tree,
        })
    }
}
