//! The settings at the head of a snapshot that is read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use crate::failure::{Failure, Result};
use crate::run::snapshot::{Origin, Snapshot};
use crate::run::softenings;
use crate::run::subsystems::Subsystems;
use crate::run::text_setting::TextSetting;
use kyoho_core::error::shortened;
use kyoho_core::{Order, Precision, TreeAccuracy};
use kyoho_integrators::plan::{ETA4, Plan, SHORTEST_INTERVAL, StepCriterion, whole};

/// The settings of a snapshot that is read.
pub struct Header<'a> {
    /// The values by their names, each with its line if there are lines.
    pub words: HashMap<String, (Option<usize>, String)>,
    /// The file.
    pub path: &'a Path,
    /// Returns the message that a setting is missing.
    pub missing: fn(&str) -> String,
}

impl<'a> Header<'a> {
    /// Reads the settings in the lines of a text.
    pub fn of_text(text: &str, path: &'a Path) -> Header<'a> {
        let mut words = HashMap::new();
        for (place, comment) in
            text.lines().enumerate().filter_map(|(place, line)| Some((place, line.strip_prefix("# ")?)))
        {
            let (name, word) = comment.split_once(' ').unwrap_or((comment, ""));
            words.entry(name.to_string()).or_insert((Some(place + 1), word.trim().to_string()));
        }
        Header { words, path, missing: |name| format!("the line '# {name} ...' is missing") }
    }
}

impl Header<'_> {
    /// Returns the snapshot, still without bodies, and how many it has.
    pub fn snapshot(&self) -> Result<(Snapshot<'static>, usize)> {
        let whole_number = |number: f64| (0.0..9e15).contains(&number) && number.fract() == 0.0;
        let number = self.number("number", whole_number)? as u64;
        let order = self.value("order", |word| Order::from_number(word.parse().ok()?))?;
        let precision = self.value("precision", Precision::from_name)?;
        let gravity = self.number("G", |number| number > 0.0)?;
        let softening = self.number("eps", |number| number >= 0.0)?;
        let eta = self.number("eta", |number| number >= 0.0)?;
        // Older snapshots lack some settings and have their defaults.
        let or = |name: &str, default: f64, allowed: &dyn Fn(f64) -> bool| {
            if self.words.contains_key(name) { self.number(name, allowed) } else { Ok(default) }
        };
        let eta4 = or("eta4", ETA4, &|number| number >= 0.0)?;
        let criterion = match self.words.contains_key("criterion") {
            true => self
                .value("criterion", |word| StepCriterion::from_name(word).filter(|criterion| criterion.suits(order)))?,
            false => StepCriterion::Usual,
        };
        let tree = |accuracy, theta| TreeAccuracy::of(("accuracy", accuracy), ("theta", theta)).ok();
        let may_have =
            |tree: Option<Option<TreeAccuracy>>| tree.is_some_and(|tree| tree.is_none() || order == Order::Second);
        let accuracy = or("accuracy", 0.0, &|number| may_have(tree(number, 0.0)))?;
        let theta = or("theta", 0.0, &|number| may_have(tree(accuracy, number)))?;
        let tree = tree(accuracy, theta).flatten();
        let interval = self.number("interval", |number| number >= SHORTEST_INTERVAL)?;
        let step = self.number("dt", |number| match order {
            Order::Second => whole(interval, number).is_some(),
            _ => number >= 0.0,
        })?;
        let longest = self.number("dt-max", |number| number > 0.0 && number <= interval)?;
        let shortest = self.number("dt-min", |number| number > 0.0 && number <= longest)?;
        let counted = self.number("intervals-from-number", |from| whole_number(from) && from <= number as f64)?;
        let origin = Origin { number: counted as u64, time: self.number("intervals-from-time", |time| time >= 0.0)? };
        let time = origin.time(number, interval);
        // No run goes on from a time so late that the next interval would not change it.
        self.number("time", |told| told == time && told + interval > told)?;
        let count = self.number("bodies", |number| whole_number(number) && number >= 1.0)? as usize;
        let plan = Plan {
            order,
            precision,
            gravity,
            softening,
            criterion,
            eta,
            eta4,
            step,
            longest,
            shortest,
            interval,
            tree,
        };
        let initial_energy = self.number("initial_energy", |_| true)?;
        let (fields, laws) = (self.texts("field")?, self.texts("law")?);
        let subsystems = Subsystems::read(self, order)?;
        let softenings = softenings::read(self)?;
        let bodies = Cow::Borrowed(&[][..]);
        Ok((Snapshot { plan, number, origin, initial_energy, fields, laws, subsystems, softenings, bodies }, count))
    }

    /// Returns the settings of a kind, `field` or `law`.
    fn texts(&self, kind: &str) -> Result<Vec<TextSetting>> {
        let names = (0..).map(|place| TextSetting::name(kind, place));
        let known = names.take_while(|name| self.words.contains_key(name));
        known.map(|name| self.value(&name, TextSetting::parse)).collect()
    }

    /// Returns the value of a setting.
    pub fn value<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        let Some((line, word)) = self.words.get(name) else {
            return Err(Failure::file(self.path, (self.missing)(name)));
        };
        parse(word).ok_or_else(|| {
            let reason = format!("'{}' cannot be the value of {name}", shortened(word));
            match line {
                Some(line) => Failure::Line { path: self.path.into(), line: *line, reason },
                None => Failure::file(self.path, reason),
            }
        })
    }

    /// Returns the value of a setting that is a finite number.
    pub fn number(&self, name: &str, allowed: impl Fn(f64) -> bool) -> Result<f64> {
        let finite = |word: &str| word.parse().ok().filter(|number: &f64| number.is_finite());
        self.value(name, |word| finite(word).filter(|number| allowed(*number)))
    }
}
