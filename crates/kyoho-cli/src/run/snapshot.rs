//! Snapshots: everything that an integration needs to go on to the last bit, as text or in HDF5.
//!
//! In the text format, lines `# name value` hold the plan and the state of the run. Then follows
//! one line for each body, whose first seven columns are those of an input file. Numbers are
//! written with the fewest digits that give the same bits back. The last line has the number of
//! bodies and a checksum of all lines before it.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::failure::{Failure, Result};
use crate::file;
use crate::run::input::{self, Input, fill, rows};
use crate::run::snapshot_hdf5 as hdf5;
use crate::run::snapshot_header::Header;
use crate::run::softenings;
use crate::run::subsystems::Subsystems;
use crate::run::text_setting::TextSetting;
use kyoho_core::Order;
use kyoho_core::error::shown;
use kyoho_integrators::body::{Body, DERIVATIVES};
use kyoho_integrators::plan::Plan;

/// The state of a run at a time when all bodies meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot<'a> {
    /// The parameters of the run.
    pub plan: Plan,
    /// The number of the snapshot, which is the number of intervals that the run has done.
    pub number: u64,
    /// The point from which intervals are counted.
    pub origin: Origin,
    /// The total energy at the start of the run, to which errors are relative.
    pub initial_energy: f64,
    /// The fields that act on the bodies.
    pub fields: Vec<TextSetting>,
    /// The laws between them.
    pub laws: Vec<TextSetting>,
    /// The subsystems, if close bodies may form some.
    pub subsystems: Option<Subsystems>,
    /// The softening length of each body, if they have some of their own.
    pub softenings: Option<Vec<f64>>,
    /// The bodies.
    pub bodies: Cow<'a, [Body]>,
}

/// The point from which intervals are counted: the start of the run, or the last change of their
/// length. With it a run has the same times however often it was interrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Origin {
    /// The number of the snapshot there.
    pub number: u64,
    /// The time there.
    pub time: f64,
}

impl Origin {
    /// Returns the time of a snapshot.
    pub fn time(&self, number: u64, interval: f64) -> f64 {
        self.time + (number - self.number) as f64 * interval
    }
}

/// The formats of snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text.
    Text,
    /// HDF5.
    Hdf5,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 2] = [Format::Text, Format::Hdf5];

    /// Returns the name in options.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Hdf5 => "hdf5",
        }
    }

    /// Returns the extension of the names of files.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Hdf5 => "h5",
        }
    }
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
    /// A name.
    Name(&'static str),
    /// A text in one line.
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Value::Count(count) => write!(formatter, "{count}"),
            Value::Number(number) => formatter.write_str(&shown(*number)),
            Value::Name(name) => formatter.write_str(name),
            Value::Text(text) => formatter.write_str(text),
        }
    }
}

const FIRST_LINE: &str = "# kyoho snapshot 2";

/// The beginning of the last line. The number of bodies and the checksum follow.
const LAST_LINE: &str = "# end ";

/// The letters of a body's vectors: position, velocity, acceleration, jerk, snap, crackle, and the
/// fourth and fifth derivative of the acceleration.
const VECTORS: [&str; 2 + DERIVATIVES] = ["", "v", "a", "j", "s", "c", "a4", "a5"];

/// Returns how many vectors of a body a run of an order keeps. The leapfrog needs three.
pub fn vectors(order: Order) -> usize {
    (order as usize).max(4)
}

/// Returns the names of the columns of an order.
fn columns(order: Order) -> String {
    let names = VECTORS[..vectors(order)].iter().flat_map(|name| ["x", "y", "z"].map(|axis| format!("{name}{axis}")));
    format!("mass {} step", names.collect::<Vec<_>>().join(" "))
}

/// Reads the bodies of any file that has some: a snapshot, or the input of a run.
pub fn bodies(path: &Path) -> Result<Input> {
    bodies_of(file::read(path)?, path)
}

/// Returns the bodies of the bytes of a file.
pub fn bodies_of(content: Vec<u8>, path: &Path) -> Result<Input> {
    if content.starts_with(FIRST_LINE.as_bytes()) {
        let Snapshot { bodies, softenings, .. } = Snapshot::parse(&content, path)?;
        return Ok(Input { bodies: bodies.into_owned(), softenings, units: None });
    }
    input::from_bytes(content, path)
}

/// Returns the SHA-256 of some bytes in hexadecimal digits.
pub fn checksum(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the last line of a snapshot of so many bodies, whose lines before it have this SHA-256.
pub fn last_line(bodies: usize, digest: &[u8]) -> String {
    format!("{LAST_LINE}{bodies} bodies, sha256 {}\n", digits(digest))
}

impl Snapshot<'_> {
    /// Returns the time.
    pub fn time(&self) -> f64 {
        self.origin.time(self.number, self.plan.interval)
    }

    /// Writes the snapshot. A file that exists already is replaced only when the new one is
    /// complete.
    pub fn write(&self, path: &Path, format: Format) -> Result<()> {
        let content = match format {
            Format::Text => self.text().into_bytes(),
            Format::Hdf5 => hdf5::bytes(self).map_err(|error| Failure::file(path, error))?,
        };
        file::replace(path, &content).map_err(|error| Failure::file(path, error))
    }

    /// Reads the bytes of a file, which have to be a whole snapshot.
    pub fn of(content: Cow<[u8]>, path: &Path) -> Result<Snapshot<'static>> {
        if hdf5::is_hdf5(&content) { hdf5::parse(content.into_owned(), path) } else { Snapshot::parse(&content, path) }
    }

    /// Returns how many bodies it has, and how many different softenings if they have some of their own.
    pub fn counts(&self) -> (usize, Option<usize>) {
        (self.bodies.len(), self.softenings.as_deref().map(softenings::count))
    }

    /// Returns the settings by their names, of a snapshot with these counts.
    pub fn settings(&self, (bodies, softenings): (usize, Option<usize>)) -> Vec<(String, Value)> {
        let plan = &self.plan;
        let [accuracy, theta] = plan.tree_options();
        let texts = [("field", &self.fields), ("law", &self.laws)].into_iter().flat_map(|(kind, all)| {
            let lines = all.iter().map(TextSetting::line).enumerate();
            lines.map(move |(place, line)| (TextSetting::name(kind, place), Value::Text(line)))
        });
        let settings = [
            ("number", Value::Count(self.number)),
            ("time", Value::Number(self.time())),
            ("initial_energy", Value::Number(self.initial_energy)),
            ("order", Value::Count(plan.order as u64)),
            ("precision", Value::Name(plan.precision.name())),
            ("G", Value::Number(plan.gravity)),
            ("eps", Value::Number(plan.softening)),
            ("eta", Value::Number(plan.eta)),
            ("eta4", Value::Number(plan.eta4)),
            ("accuracy", Value::Number(accuracy)),
            ("theta", Value::Number(theta)),
            ("criterion", Value::Name(plan.criterion.name())),
            ("dt", Value::Number(plan.step)),
            ("dt-max", Value::Number(plan.longest)),
            ("dt-min", Value::Number(plan.shortest)),
            ("interval", Value::Number(plan.interval)),
            ("intervals-from-number", Value::Count(self.origin.number)),
            ("intervals-from-time", Value::Number(self.origin.time)),
            ("bodies", Value::Count(bodies as u64)),
        ];
        let subsystems = self.subsystems.iter().flat_map(Subsystems::settings);
        let named = |(name, value): (&str, Value)| (name.into(), value);
        let softenings = softenings.map(softenings::setting);
        let others = subsystems.chain(softenings).map(named);
        settings.into_iter().map(named).chain(texts).chain(others).collect()
    }

    /// Returns the step that a body takes next. The criterion's step becomes a power of two when an
    /// interval begins.
    pub fn step(&self, body: &Body) -> f64 {
        match self.plan.order {
            Order::Second => body.step,
            _ => self.plan.fraction(body.step) * self.plan.interval,
        }
    }

    /// Returns the mass of a body, its vectors and its step.
    pub fn numbers(&self, body: &Body) -> impl Iterator<Item = f64> {
        let vectors = body.motion().into_iter().take(vectors(self.plan.order)).flatten();
        [body.mass].into_iter().chain(vectors).chain([self.step(body)])
    }

    /// Returns the names of the columns of a text.
    fn columns(&self) -> String {
        let softening = if self.softenings.is_some() { format!(" {}", softenings::NAME) } else { String::new() };
        columns(self.plan.order) + &softening
    }

    /// Returns the text of the snapshot.
    pub fn text(&self) -> String {
        let mut text = self.head(self.counts());
        self.bodies.iter().enumerate().for_each(|(place, body)| self.row(&mut text, place, body));
        let last = last_line(self.bodies.len(), &Sha256::digest(text.as_bytes()));
        text + &last
    }

    /// Returns the lines before those of bodies, of a snapshot with these counts.
    pub fn head(&self, counts: (usize, Option<usize>)) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        for (name, value) in self.settings(counts) {
            writeln!(text, "# {name} {value}").expect("a string takes everything");
        }
        for (name, line) in self.subsystems.iter().flat_map(|subsystems| subsystems.lines(self)) {
            writeln!(text, "# {name} {line}").expect("a string takes everything");
        }
        writeln!(text, "# {}", self.columns()).expect("a string takes everything");
        text
    }

    /// Appends the line of a body at a place.
    pub fn row(&self, text: &mut String, place: usize, body: &Body) {
        let softening = self.softenings.as_ref().map(|softenings| softenings[place]);
        for number in self.numbers(body).chain(softening) {
            write!(text, "{number:e} ").expect("a string takes everything");
        }
        text.pop();
        text.push('\n');
    }

    /// Reads a text.
    pub fn parse(content: &[u8], path: &Path) -> Result<Snapshot<'static>> {
        let line = |line: usize, reason: String| Failure::Line { path: path.into(), line, reason };
        if !content.starts_with(format!("{FIRST_LINE}\n").as_bytes()) {
            return Err(Failure::file(path, format!("it is not a snapshot: its first line is not '{FIRST_LINE}'")));
        }
        let text = str::from_utf8(content).map_err(|error| {
            let before = content[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            line(before + 1, "it has a byte that is not text".into())
        })?;
        let (before, last) = text.strip_suffix('\n').unwrap_or(text).rsplit_once('\n').unwrap_or(("", text));
        let told = last.strip_prefix(LAST_LINE).and_then(|end| end.split_once(" bodies, sha256 "));
        let Some((count, told)) = told.filter(|_| text.ends_with('\n')) else {
            let reason =
                format!("it is the last but not '{LAST_LINE}...': the file was truncated, or something follows it");
            return Err(line(text.lines().count(), reason));
        };
        let lines = &text[..before.len() + 1];
        let snapshot = Snapshot::parse_lines(lines, path)?;
        let found = checksum(lines.as_bytes());
        // They are compared as text, because there is one way to write them.
        if (count, told) != (snapshot.bodies.len().to_string().as_str(), found.as_str()) {
            let here = format!("{} bodies, sha256 {found}", snapshot.bodies.len());
            let reason =
                format!("it says other things than the lines before it, which have {here}: bytes were changed");
            return Err(line(text.lines().count(), reason));
        }
        Ok(snapshot)
    }

    /// Reads the settings in the lines of a [head](Snapshot::head). The bodies are missing.
    pub fn of_head(text: &str, path: &Path) -> Result<Snapshot<'static>> {
        Header::of_text(text, path).snapshot().map(|(snapshot, _)| snapshot)
    }

    fn parse_lines(text: &str, path: &Path) -> Result<Snapshot<'static>> {
        let header = Header::of_text(text, path);
        let (mut snapshot, count) = header.snapshot()?;
        if let Some(subsystems) = &mut snapshot.subsystems {
            subsystems.read_lines(&header, snapshot.plan.order)?;
        }
        let (columns, mut bodies) = (snapshot.columns(), Vec::new());
        let of_body = 2 + 3 * vectors(snapshot.plan.order);
        let mut numbers = vec![0.0; of_body + usize::from(snapshot.softenings.is_some())];
        for (line, row) in rows(text) {
            let failed = |reason| Failure::Line { path: path.into(), line, reason };
            fill(&mut numbers, row, &columns).map_err(failed)?;
            let body = body(&numbers[..of_body]);
            check(&snapshot.plan, &body).map_err(failed)?;
            bodies.push(body);
            if let Some(softenings) = &mut snapshot.softenings {
                softenings::check(numbers[of_body]).map_err(failed)?;
                softenings.push(numbers[of_body]);
            }
        }
        if bodies.len() != count {
            return Err(Failure::file(path, format!("it has {} of its {count} bodies", bodies.len())));
        }
        snapshot.with_bodies(bodies, path)
    }
}

impl Snapshot<'static> {
    /// Returns the snapshot with bodies, which those of its subsystems are among.
    pub fn with_bodies(mut self, bodies: Vec<Body>, path: &Path) -> Result<Snapshot<'static>> {
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.join(&self.plan, &bodies).map_err(|reason| Failure::file(path, reason))?;
        }
        self.bodies = bodies.into();
        Ok(self)
    }
}

/// Returns the body whose [`Snapshot::numbers`] are these.
pub fn body(numbers: &[f64]) -> Body {
    let (mass, step) = (numbers[0], numbers[numbers.len() - 1]);
    let (vectors, _) = numbers[1..numbers.len() - 1].as_chunks();
    let mut body = Body { step, ..Body::new(mass, vectors[0], vectors[1]) };
    body.derivatives[..vectors.len() - 2].copy_from_slice(&vectors[2..]);
    body
}

/// Checks that a run of this plan can have left a body in this state, apart from numbers that are
/// not finite.
pub fn check(plan: &Plan, body: &Body) -> std::result::Result<(), String> {
    if body.mass < 0.0 {
        return Err(format!("the mass is {}; allowed: zero and above", shown(body.mass)));
    }
    let step = body.step;
    match plan.order {
        Order::Second if step != plan.step => {
            Err(format!("the step is {}; allowed: that of all bodies, dt, which is {}", shown(step), shown(plan.step)))
        }
        Order::Second => Ok(()),
        _ if step > 0.0 && plan.fraction(step) * plan.interval == step => Ok(()),
        _ => {
            let interval = shown(plan.interval);
            Err(format!("the step is {}; allowed: the interval {interval} divided by 1, 2, 4, ... 2^50", shown(step)))
        }
    }
}

#[cfg(test)]
pub mod tests {
    use kyoho_core::{Precision, TreeAccuracy};
    use kyoho_integrators::body::Vector;
    use kyoho_integrators::fields::Centre;
    use kyoho_integrators::plan::{ETA4, StepCriterion};

    use super::*;

    /// Returns two bodies with numbers of all sizes.
    pub fn snapshot(order: Order) -> Snapshot<'static> {
        let third = 1.0 / 3.0;
        let mut derivatives = [[third; 3], [-third; 3], [7.0; 3], [1e-9; 3], [0.3; 3], [1e9; 3]];
        derivatives[vectors(order) - 2..].fill([0.0; 3]);
        let body = Body {
            mass: third,
            position: [1e-300, -0.0, third],
            velocity: [5e-324, 1e300, 0.1],
            derivatives,
            step: if order == Order::Second { 1.0 / 70.0 } else { 0.125 / 7.0 },
        };
        Snapshot {
            plan: Plan {
                order,
                precision: Precision::Mixed,
                gravity: 6.6743e-11,
                softening: 0.0,
                criterion: if order > Order::Fourth { StepCriterion::Average } else { StepCriterion::Order },
                eta: 0.02,
                eta4: 0.03,
                step: if order == Order::Second { 1.0 / 70.0 } else { 0.0 },
                longest: 0.125,
                shortest: 1e-15,
                interval: 1.0 / 7.0,
                tree: (order == Order::Second).then_some(TreeAccuracy::Error(1.0 / 300.0)),
            },
            number: 6,
            origin: Origin { number: 2, time: 0.1 },
            initial_energy: -0.25,
            fields: Vec::new(),
            laws: Vec::new(),
            subsystems: None,
            softenings: None,
            bodies: vec![body, Body { step: body.step, ..Body::new(1.0, [0.1; 3], [0.2; 3]) }].into(),
        }
    }

    /// Returns the two bodies in fields and with laws.
    pub fn in_fields(order: Order) -> Snapshot<'static> {
        let text = "pair p # ] \\n\nbody\r\n  a += [1]".into();
        // More numbers than an attribute of HDF5 has bytes.
        let times: Vec<f64> = (0..3000).map(|node| 0.1 * f64::from(node)).collect();
        let positions: Vec<Vector> = times.iter().map(|time| [time.sin(), -time, 1.0 / 3.0]).collect();
        let numbers = vec![1.0 / 3.0, 5e-324];
        let of = |velocities| Some(Centre::new(&times, &positions, velocities).expect("nodes"));
        let plummer = |centre| TextSetting { given: "plummer".into(), numbers: numbers.clone(), centre };
        let text = TextSetting { given: text, numbers: Vec::new(), centre: of(Some(&positions)) };
        let law = TextSetting { given: "pair law\ni pos: vec3<f64>\n".into(), numbers: numbers.clone(), centre: None };
        let fields = vec![plummer(None), text, plummer(of(None))];
        Snapshot { fields, laws: vec![law.clone(), law], ..snapshot(order) }
    }

    /// Returns the two bodies with softenings of their own.
    pub fn with_softenings(order: Order) -> Snapshot<'static> {
        Snapshot { softenings: Some(vec![1.0 / 3.0, 0.0]), ..snapshot(order) }
    }

    fn parse(text: &str) -> Result<Snapshot<'static>> {
        Snapshot::parse(text.as_bytes(), Path::new("snap"))
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    /// Appends the last line that belongs to these lines.
    pub fn sealed(lines: &str) -> String {
        format!("{lines}{LAST_LINE}2 bodies, sha256 {}\n", checksum(lines.as_bytes()))
    }

    /// Returns the lines of a snapshot without the last one.
    fn lines(order: Order) -> String {
        let text = snapshot(order).text();
        text[..text.find(LAST_LINE).unwrap()].into()
    }

    #[test]
    fn a_snapshot_comes_back_with_the_same_bits() {
        for order in Order::ALL {
            for snapshot in [snapshot(order), in_fields(order), with_softenings(order)] {
                assert_eq!(parse(&snapshot.text()).unwrap(), snapshot);
            }
        }
    }

    #[test]
    fn softenings_are_a_column_of_those_snapshots_that_have_them() {
        let text = with_softenings(Order::Fourth).text();
        let lines = &text[..text.find(LAST_LINE).unwrap()];
        assert!(lines.contains("\n# softenings 2\n") && lines.contains(" jx jy jz step eps\n"), "{lines}");
        assert!(!snapshot(Order::Fourth).text().contains("softening"));
        let negative = error(&sealed(&lines.replace(" 0e0\n", " -1e0\n")));
        assert!(negative.ends_with(": the softening is -1; allowed: zero and above"), "{negative}");
        let missing = error(&sealed(&lines.replace("# softenings 2\n", "")));
        assert!(missing.contains("it has 15 words; allowed: 14 numbers"), "{missing}");
        for wrong in ["0", "-1", "1.5", "x"] {
            let error = error(&sealed(&lines.replace("# softenings 2", &format!("# softenings {wrong}"))));
            assert!(error.ends_with(&format!("'{wrong}' cannot be the value of softenings")), "{error}");
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
        let text = sealed(&lines(Order::Fourth).replace("# eta4 0.03\n", ""));
        assert_eq!(parse(&text).unwrap().plan.eta4, ETA4);
    }

    #[test]
    fn a_snapshot_without_a_criterion_has_the_usual_one() {
        let text = sealed(&lines(Order::Sixth).replace("# criterion average\n", ""));
        assert_eq!(parse(&text).unwrap().plan.criterion, StepCriterion::Usual);
        let wrong = sealed(&lines(Order::Fourth).replace("# criterion order", "# criterion average"));
        assert!(error(&wrong).ends_with("'average' cannot be the value of criterion"), "{}", error(&wrong));
    }

    #[test]
    fn a_snapshot_without_the_settings_of_trees_has_direct_sums() {
        let text = lines(Order::Second);
        let [accuracy, theta] = ["# accuracy 0.0033333333333333335\n", "# theta 0\n"];
        assert!(text.contains(accuracy) && text.contains(theta), "{text}");
        assert_eq!(parse(&sealed(&text.replace(accuracy, "").replace(theta, ""))).unwrap().plan.tree, None);
        let other = text.replace(accuracy, "# accuracy 0\n").replace(theta, "# theta 0.6\n");
        assert_eq!(parse(&sealed(&other)).unwrap().plan.tree, Some(TreeAccuracy::Theta(0.6)));
        let two = text.replace(theta, "# theta 0.6\n");
        assert_eq!(error(&sealed(&two)), "snap, line 12: '0.6' cannot be the value of theta");
        let wrong = text.replace(accuracy, "# accuracy 0.1\n");
        assert_eq!(error(&sealed(&wrong)), "snap, line 11: '0.1' cannot be the value of accuracy");
        let of_fourth = lines(Order::Fourth).replace("# accuracy 0\n", "# accuracy 1e-3\n");
        assert_eq!(error(&sealed(&of_fourth)), "snap, line 11: '1e-3' cannot be the value of accuracy");
    }

    #[test]
    fn what_is_broken_is_named() {
        let text = lines(Order::Fourth);
        let error = |lines: &str| error(&sealed(lines));
        assert!(error("1 2 3 4 5 6 7\n").contains("it is not a snapshot"));
        assert_eq!(error(&text.replace("# eta 0.02\n", "")), "snap: the line '# eta ...' is missing");
        assert_eq!(error(&text.replace("order 4", "order 5")), "snap, line 5: '5' cannot be the value of order");
        let one_body = text.trim_end().rsplit_once('\n').unwrap().0;
        assert_eq!(error(&format!("{one_body}\n")), "snap: it has 1 of its 2 bodies");
        assert!(error(&format!("{}\n", &text[..text.len() - 30])).starts_with("snap, line 23: "));
        let error = error(&text.replace("order 4", "order 6"));
        assert!(error.contains("it has 14 words; allowed: 20 numbers") && error.contains("sx sy sz"), "{error}");
    }

    #[test]
    fn whatever_is_cut_or_flipped_is_refused() {
        let text = snapshot(Order::Sixth).text();
        for length in 0..text.len() {
            error(&text[..length]);
        }
        for bit in (0..8 * text.len()).step_by(3) {
            let mut content = text.clone().into_bytes();
            content[bit / 8] ^= 1 << (bit % 8);
            let found = Snapshot::parse(&content, Path::new("snap"));
            assert!(found.is_err(), "bit {bit} of {:?}", text.as_bytes()[bit / 8] as char);
        }
        let last = text.lines().count();
        assert!(error(text.trim_end()).starts_with(&format!("snap, line {last}: it is the last but not '# end ...'")));
        assert!(error(&format!("{text}# more\n")).starts_with(&format!("snap, line {}: it is the last", last + 1)));
        let changed = error(&text.replace("-0e0", "-1e0"));
        assert!(changed.starts_with(&format!("snap, line {last}: it says other things than the lines")), "{changed}");
        let more = error(&text.replace("# end 2", "# end 3"));
        assert!(more.contains("which have 2 bodies"), "{more}");
    }

    #[test]
    fn times_and_steps_that_no_run_comes_to_are_refused() {
        let text = lines(Order::Fourth);
        let step = format!("{:e}", 0.125 / 7.0);
        for wrong in ["0", "-1", "0.01", "1e30", "1e-30", "nan", "inf"] {
            let error = error(&sealed(&text.replacen(&format!(" {step}\n"), &format!(" {wrong}\n"), 1)));
            assert!(error.starts_with("snap, line 22: ") && error.contains(wrong.trim_end_matches("e-30")), "{error}");
        }
        let time = text.lines().nth(2).unwrap();
        for wrong in ["-1", "0.5", "1e300", "nan"] {
            let error = error(&sealed(&text.replace(time, &format!("# time {wrong}"))));
            assert_eq!(error, format!("snap, line 3: '{wrong}' cannot be the value of time"));
        }
        for (name, value, wrong) in [
            ("intervals-from-number", "2", "7"),
            ("intervals-from-time", "0.1", "-0.1"),
            ("dt-max", "0.125", "1"),
            ("interval", "0.14285714285714285", "0"),
            ("number", "6", "5.5"),
        ] {
            let error = error(&sealed(&text.replace(&format!("# {name} {value}\n"), &format!("# {name} {wrong}\n"))));
            assert!(error.ends_with(&format!("'{wrong}' cannot be the value of {name}")), "{error}");
        }
        let leapfrog = sealed(&lines(Order::Second).replace("# dt 0.014285714285714285\n", "# dt 0.1\n"));
        assert!(error(&leapfrog).ends_with("'0.1' cannot be the value of dt"));
        let mass = text.replacen("\n1e0 ", "\n-1e0 ", 1);
        assert!(error(&sealed(&mass)).contains("line 23: the mass is -1; allowed: zero and above"));
    }
}
