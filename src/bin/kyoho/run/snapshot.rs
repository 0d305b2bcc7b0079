//! Snapshots: everything that an integration needs to go on to the last bit, as text.
//!
//! Lines `# name value` hold the plan and the state of the run; then follows one line for each body, whose first seven
//! columns are those of an input file. Numbers are written with the fewest digits that give the same bits back.

use std::fmt::Write;
use std::path::Path;

use kyoho::{Order, Precision};

use super::input::{fill, rows};
use super::options;
use super::plan::Plan;
use crate::body::{Body, DERIVATIVES};
use crate::failure::{Failure, Result};

/// A run at a time when all bodies meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// What rules the run.
    pub plan: Plan,
    /// The number of the snapshot: how many intervals the run has done.
    pub number: u64,
    /// The time.
    pub time: f64,
    /// The total energy at the start of the run, which errors are relative to.
    pub initial_energy: f64,
    /// The bodies.
    pub bodies: Vec<Body>,
}

const FIRST_LINE: &str = "# kyoho snapshot 1";

/// What each vector of a body is called: position, velocity, acceleration, jerk, snap, crackle, and the fourth and
/// fifth derivative of the acceleration.
const VECTORS: [&str; 2 + DERIVATIVES] = ["", "v", "a", "j", "s", "c", "a4", "a5"];

/// Vectors of a body that a run of an order keeps. The leapfrog needs three.
fn vectors(order: Order) -> usize {
    (order as usize).max(4)
}

/// The names of the columns of an order.
fn columns(order: Order) -> String {
    let names = VECTORS[..vectors(order)].iter().flat_map(|name| ["x", "y", "z"].map(|axis| format!("{name}{axis}")));
    format!("mass {} step", names.collect::<Vec<_>>().join(" "))
}

impl Snapshot {
    /// Writes the snapshot; a file that is there already is replaced only when the new one is complete.
    pub fn write(&self, path: &Path) -> Result<()> {
        let partial = path.with_extension("partial");
        std::fs::write(&partial, self.text())
            .and_then(|()| std::fs::rename(&partial, path))
            .map_err(|error| Failure::file(path, error))
    }

    /// Reads a snapshot.
    pub fn read(path: &Path) -> Result<Snapshot> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?;
        Snapshot::parse(&text, path)
    }

    fn text(&self) -> String {
        let plan = &self.plan;
        let mut text = format!("{FIRST_LINE}\n");
        let header: [(&str, &dyn std::fmt::Display); 14] = [
            ("number", &self.number),
            ("time", &self.time),
            ("initial_energy", &self.initial_energy),
            ("order", &(plan.order as i32)),
            ("precision", &plan.precision.name()),
            ("G", &plan.gravity),
            ("eps", &plan.softening),
            ("eta", &plan.eta),
            ("eta4", &plan.eta4),
            ("dt", &plan.step),
            ("dt-max", &plan.longest),
            ("dt-min", &plan.shortest),
            ("interval", &plan.interval),
            ("bodies", &self.bodies.len()),
        ];
        for (name, value) in header {
            writeln!(text, "# {name} {value}").expect("a string takes everything");
        }
        writeln!(text, "# {}", columns(plan.order)).expect("a string takes everything");
        for body in &self.bodies {
            let vectors = body.motion().into_iter().take(vectors(plan.order)).flatten();
            let columns = [body.mass].into_iter().chain(vectors).chain([body.step]);
            let columns: Vec<String> = columns.map(|column| format!("{column:e}")).collect();
            writeln!(text, "{}", columns.join(" ")).expect("a string takes everything");
        }
        text
    }

    fn parse(text: &str, path: &Path) -> Result<Snapshot> {
        if text.lines().next() != Some(FIRST_LINE) {
            return Err(Failure::file(path, format!("it is no snapshot: its first line is not '{FIRST_LINE}'")));
        }
        let header = Header { text, path };
        let number = header.number("number", |number| number >= 0.0 && number.fract() == 0.0)? as u64;
        let plan = Plan {
            order: header.value("order", |word| Order::from_number(word.parse().ok()?))?,
            precision: header.value("precision", Precision::from_name)?,
            gravity: header.number("G", |number| number > 0.0)?,
            softening: header.number("eps", |number| number >= 0.0)?,
            eta: header.number("eta", |number| number >= 0.0)?,
            // Where it is missing, the default holds.
            eta4: match header.has("eta4") {
                true => header.number("eta4", |number| number >= 0.0)?,
                false => options::ETA4,
            },
            step: header.number("dt", |number| number >= 0.0)?,
            longest: header.number("dt-max", |number| number > 0.0)?,
            shortest: header.number("dt-min", |number| number > 0.0)?,
            interval: header.number("interval", |number| number > 0.0)?,
        };
        let count = header.number("bodies", |number| number >= 1.0)? as usize;
        let mut bodies = Vec::new();
        let mut numbers = vec![0.0; 2 + 3 * vectors(plan.order)];
        for (line, row) in rows(text) {
            fill(&mut numbers, row, &columns(plan.order)).map_err(|reason| Failure::Line {
                path: path.into(),
                line,
                reason,
            })?;
            let (mass, step) = (numbers[0], numbers[numbers.len() - 1]);
            let (vectors, _) = numbers[1..numbers.len() - 1].as_chunks();
            let mut body = Body { step, ..Body::new(mass, vectors[0], vectors[1]) };
            body.derivatives[..vectors.len() - 2].copy_from_slice(&vectors[2..]);
            bodies.push(body);
        }
        if bodies.len() != count {
            return Err(Failure::file(path, format!("it has {} of its {count} bodies", bodies.len())));
        }
        Ok(Snapshot {
            plan,
            number,
            time: header.number("time", |_| true)?,
            initial_energy: header.number("initial_energy", |_| true)?,
            bodies,
        })
    }
}

/// The lines `# name value`.
struct Header<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Header<'_> {
    /// The word of a line, and its number from 1.
    fn find(&self, name: &str) -> Option<(usize, &str)> {
        let word = |line| str::strip_prefix(line, "# ")?.strip_prefix(name)?.strip_prefix(' ');
        self.text.lines().enumerate().find_map(|(place, line)| Some((place + 1, word(line)?.trim())))
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn value<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
        let Some((line, word)) = self.find(name) else {
            return Err(Failure::file(self.path, format!("the line '# {name} ...' is missing")));
        };
        parse(word).ok_or_else(|| Failure::Line {
            path: self.path.into(),
            line,
            reason: format!("'{word}' cannot be the value of {name}"),
        })
    }

    fn number(&self, name: &str, allowed: impl Fn(f64) -> bool) -> Result<f64> {
        let finite = |word: &str| word.parse().ok().filter(|number: &f64| number.is_finite());
        self.value(name, |word| finite(word).filter(|number| allowed(*number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(order: Order) -> Snapshot {
        let third = 1.0 / 3.0;
        let mut derivatives = [[third; 3], [-third; 3], [7.0; 3], [1e-9; 3], [0.3; 3], [1e9; 3]];
        derivatives[vectors(order) - 2..].fill([0.0; 3]);
        let body = Body {
            mass: third,
            position: [1e-300, -0.0, third],
            velocity: [5e-324, 1e300, 0.1],
            derivatives,
            step: 0.125,
        };
        Snapshot {
            plan: Plan {
                order,
                precision: Precision::Mixed,
                gravity: 6.6743e-11,
                softening: 0.0,
                eta: 0.02,
                eta4: 0.03,
                step: 0.0,
                longest: 0.5,
                shortest: 1e-15,
                interval: 1.0 / 7.0,
            },
            number: 4,
            time: 4.0 / 7.0,
            initial_energy: -0.25,
            bodies: vec![body, Body::new(1.0, [0.1; 3], [0.2; 3])],
        }
    }

    fn error(text: &str) -> String {
        Snapshot::parse(text, Path::new("snap")).unwrap_err().to_string()
    }

    #[test]
    fn a_snapshot_comes_back_with_the_same_bits() {
        for order in Order::ALL {
            let snapshot = snapshot(order);
            assert_eq!(Snapshot::parse(&snapshot.text(), Path::new("")).unwrap(), snapshot);
        }
    }

    #[test]
    fn a_body_has_as_many_vectors_as_its_order_keeps() {
        assert_eq!(columns(Order::Second), "mass x y z vx vy vz ax ay az jx jy jz step");
        assert_eq!(columns(Order::Second), columns(Order::Fourth));
        assert!(columns(Order::Sixth).ends_with("jx jy jz sx sy sz cx cy cz step"));
        assert!(columns(Order::Eighth).ends_with("cx cy cz a4x a4y a4z a5x a5y a5z step"));
    }

    #[test]
    fn a_snapshot_without_the_parameter_of_the_average_has_its_default() {
        let text = snapshot(Order::Fourth).text().replace("# eta4 0.03\n", "");
        assert_eq!(Snapshot::parse(&text, Path::new("")).unwrap().plan.eta4, options::ETA4);
    }

    #[test]
    fn what_is_broken_is_named() {
        let text = snapshot(Order::Fourth).text();
        assert!(error("1 2 3 4 5 6 7\n").contains("it is no snapshot"));
        assert_eq!(error(&text.replace("# eta 0.02\n", "")), "snap: the line '# eta ...' is missing");
        assert_eq!(error(&text.replace("order 4", "order 5")), "snap, line 5: '5' cannot be the value of order");
        assert_eq!(error(text.trim_end().rsplit_once('\n').unwrap().0), "snap: it has 1 of its 2 bodies");
        assert!(error(&text[..text.len() - 30]).starts_with("snap, line 18: "));
        let error = error(&text.replace("order 4", "order 6"));
        assert!(error.contains("14 columns; expected 20: ") && error.contains("sx sy sz"), "{error}");
    }
}
