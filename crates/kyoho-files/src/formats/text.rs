//! Texts with one line for each body: `mass x y z vx vy vz`, or columns that have names, with or without
//! units. The names are a first line, as in a CSV, or a comment, as in McLuster's tables.

use std::path::Path;

use kyoho_core::error::{shortened, shown};
use kyoho_core::memory;

use crate::names::{COLUMNS, NO_UNITS, SOFTENINGS};
use crate::rows::{finite, number, numbers, rows, words};
use crate::{Bodies, Content, Error, Result};

pub fn is_it(content: &Content, _: &Path) -> Result<bool> {
    Ok(content.as_text().is_some())
}

pub fn read(content: &Content) -> Result<Bodies> {
    parse(content.as_text().unwrap_or_default(), false)
}

/// The numbers of a line without names of columns.
const NAMES: &str = "mass x y z vx vy vz";

/// Reads a text. Blank lines and what follows a `#` are comments. Spaces, commas or semicolons stand
/// between numbers. Of lines without names of columns, what follows seven numbers is an error unless
/// it is allowed.
pub fn parse(text: &str, allows_more: bool) -> Result<Bodies> {
    let mut rows = rows(text).peekable();
    let wrong = |line: usize| move |reason: String| Error::Line { line, reason };
    let header = Header::of(text, rows.peek().copied());
    let columns = match rows.next_if(|(_, row)| are_names(row)) {
        Some((line, row)) => Some(Columns::of(row).map_err(wrong(line))?),
        None => header.columns,
    };
    let units = columns.as_ref().and_then(|columns| columns.units.clone()).or(header.units);
    let softenings = columns.as_ref().and_then(|columns| columns.softening).map(|_| Vec::new());
    let mut bodies = Bodies { softenings, units, ..Bodies::default() };
    for (line, row) in rows {
        let found = match &columns {
            Some(columns) => columns.numbers(row),
            None => plain_numbers(row, allows_more),
        };
        let [mass, position @ .., vx, vy, vz] = found
            .and_then(|numbers| {
                if numbers[0] >= 0.0 {
                    Ok(numbers)
                } else {
                    Err(format!("the mass is {}; allowed: zero and above", shown(numbers[0])))
                }
            })
            .map_err(wrong(line))?;
        memory::push(&mut bodies.masses, mass, "bodies")?;
        memory::push(&mut bodies.positions, position, "bodies")?;
        memory::push(&mut bodies.velocities, [vx, vy, vz], "bodies")?;
        if let (Some(softenings), Some(columns)) = (&mut bodies.softenings, &columns) {
            memory::push(softenings, columns.softening(row).map_err(wrong(line))?, "bodies")?;
        }
    }
    Ok(bodies)
}

/// Returns the numbers of a line without names of columns.
fn plain_numbers(row: &str, allows_more: bool) -> std::result::Result<[f64; 7], String> {
    let words = words(row);
    if allows_more && words.len() > 7 {
        return numbers(&words[..7].join(" "), NAMES);
    }
    numbers(row, NAMES).map_err(|reason| match words.len() {
        ..=7 => reason,
        _ => format!("{reason}; or a first line with the names of all columns"),
    })
}

/// Whether a line has names of columns, and no number.
fn are_names(row: &str) -> bool {
    let words = words(row);
    let mut all = words.iter().filter(|word| !word.is_empty()).peekable();
    all.peek().is_some() && all.all(|word| number(word).is_none() && word.contains(char::is_alphabetic))
}

/// What the comments before the first line of numbers say.
struct Header {
    /// The columns, if a comment has all their names.
    columns: Option<Columns>,
    /// The units, if there is a comment `units` with some.
    units: Option<String>,
}

impl Header {
    fn of(text: &str, first: Option<(usize, &str)>) -> Header {
        let mut header = Header { columns: None, units: None };
        let (end, width) = first.map_or((1, 0), |(line, row)| (line, words(row).len()));
        for comment in text.lines().take(end - 1).filter_map(|line| line.trim_start().strip_prefix('#')) {
            let comment = comment.trim_start_matches('#').trim();
            if let Some(units) = units_of(comment) {
                header.units = Some(units.into());
            }
            // More names than numbers are words of a sentence.
            if let Ok(columns) = Columns::of(comment)
                && columns.count <= width
            {
                header.columns = Some(Columns { may_have_more: true, ..columns });
            }
        }
        header
    }
}

/// Returns the units that a comment of a text tells, if it tells some. It begins behind the `#`.
pub fn units_of(comment: &str) -> Option<&str> {
    // Other words are a sentence about units.
    let units = comment.strip_prefix("units ").map(str::trim);
    units.filter(|units| *units == "SI" || units.split_whitespace().count() == 3)
}

/// The columns of a text that gives them names.
struct Columns {
    /// The places of those of a body.
    places: [usize; 7],
    /// The place of the softening, if there is one.
    softening: Option<usize>,
    /// How many there are in all.
    count: usize,
    /// Whether lines may have more.
    may_have_more: bool,
    /// The units, if all have some.
    units: Option<String>,
}

/// Returns the name of a column in small letters, and the unit in brackets behind it.
fn name_and_unit(word: &str) -> (String, Option<&str>) {
    let word = word.trim_matches(['"', '\'']).trim();
    let (name, unit) = match word.split_once(['[', '(']) {
        Some((name, unit)) => (name, Some(unit.trim_end_matches([']', ')']).trim())),
        None => (word, None),
    };
    (name.trim_end_matches(['_', ' ']).to_lowercase(), unit)
}

impl Columns {
    fn of(row: &str) -> std::result::Result<Columns, String> {
        let names: Vec<(String, Option<&str>)> = words(row).into_iter().map(name_and_unit).collect();
        let mut places = [0; 7];
        let find = |wanted: &[&str]| {
            let is_it = |column: &usize| wanted.contains(&names[*column].0.as_str());
            let mut found = (0..names.len()).filter(is_it);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(format!("two columns have the name '{}'; allowed: {ALLOWED}", wanted[0])),
                (found, _) => Ok(found),
            }
        };
        for (place, wanted) in places.iter_mut().zip(COLUMNS) {
            let none = || format!("no column has the name '{}'; allowed: {ALLOWED}", wanted[0]);
            *place = find(wanted)?.ok_or_else(none)?;
        }
        let softening = find(SOFTENINGS)?;
        let units = units(&places.map(|place| names[place].1), softening.and_then(|place| names[place].1))?;
        Ok(Columns { places, softening, count: names.len(), may_have_more: false, units })
    }

    fn numbers(&self, row: &str) -> std::result::Result<[f64; 7], String> {
        let words = words(row);
        if words.len() != self.count && !(self.may_have_more && words.len() > self.count) {
            return Err(format!("it has {} words; allowed: {}, as the names of columns", words.len(), self.count));
        }
        let mut numbers = [0.0; 7];
        for (number, place) in numbers.iter_mut().zip(self.places) {
            *number = finite(words[place])?;
        }
        Ok(numbers)
    }

    /// Returns the softening in a line, whose other numbers were read.
    fn softening(&self, row: &str) -> std::result::Result<f64, String> {
        let words = words(row);
        let softening = finite(self.softening.map_or("", |place| words[place]))?;
        if softening >= 0.0 {
            return Ok(softening);
        }
        Err(format!("the softening is {}; allowed: zero and above", shown(softening)))
    }
}

/// Returns the units of columns, if all have some. That of softenings may be left out.
fn units(units: &[Option<&str>; 7], of_softenings: Option<&str>) -> std::result::Result<Option<String>, String> {
    let has_one = |unit: &Option<&str>| unit.is_some_and(|unit| !NO_UNITS.contains(&unit.to_lowercase().as_str()));
    if !units.iter().all(has_one) {
        return Ok(None);
    }
    let [mass, x, y, z, vx, vy, vz] = units.map(Option::unwrap_or_default);
    let softening = of_softenings.filter(|unit| has_one(&Some(*unit))).unwrap_or(x);
    for [first, others @ ..] in [[x, y, z], [vx, vy, vz], [x, softening, x]] {
        if let Some(other) = others.into_iter().find(|other| *other != first) {
            let [first, other] = [first, other].map(shortened);
            return Err(format!(
                "columns are in '{first}' and in '{other}'; allowed: one unit of lengths, one of speeds"
            ));
        }
    }
    Ok(Some(format!("{x} {mass} {vx}")))
}

const ALLOWED: &str = "one each of mass (or m), x, y, z, vx, vy, vz, one eps or none, and others, which are not read";

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<[f64; 7]> {
        let Bodies { masses, positions, velocities, .. } = parse(text, false).unwrap();
        let vectors = positions.into_iter().zip(velocities);
        masses.into_iter().zip(vectors).map(|(m, ([x, y, z], [vx, vy, vz]))| [m, x, y, z, vx, vy, vz]).collect()
    }

    fn error(text: &str) -> String {
        parse(text, false).and_then(Bodies::checked).unwrap_err().to_string()
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        let found = bodies("# three\n\n1 2 3 4 5 6 7 # first\n  \n0 -1D+1 1e-3 +4 5d0 6. .7\n");
        assert_eq!(found, [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, -10.0, 1e-3, 4.0, 5.0, 6.0, 0.7]]);
    }

    #[test]
    fn numbers_of_fortran_may_lack_the_letter_of_the_exponent() {
        assert_eq!(bodies("1 1.5-104 -2.+3 3 -0.4+0 5 6")[0], [1.0, 1.5e-104, -2e3, 3.0, -0.4, 5.0, 6.0]);
        assert_eq!(error("1 1+ 2 3 4 5 6"), "line 1: '1+' is not a finite number");
    }

    #[test]
    fn columns_have_names_in_any_order_among_others() {
        let expected = [[1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0, 0.5, 0.5, 0.5, -1.0, -1.0, -1.0]];
        for text in [
            "id,\"Mass\",X,Y,Z,vx,vy,vz,name\r\n8,1.5,2,3,4,5,6,7,a star\r\n9, 0, .5, .5, .5, -1, -1, -1,\r\n",
            "# made by hand\nvx vy vz x y z m\n5 6 7 2 3 4 1.5\n-1 -1 -1 .5 .5 .5 0\n",
            "1.5;2;3;4;5;6;7\n0;0.5;0.5;0.5;-1;-1;-1",
            "# here are m x y z vx vy vz of two bodies\n1.5 2 3 4 5 6 7\n0 .5 .5 .5 -1 -1 -1\n",
            "# vx vy vz x y z mass\n5 6 7 2 3 4 1.5\n-1 -1 -1 .5 .5 .5 0 more\n",
        ] {
            assert_eq!(bodies(text), expected, "{text}");
        }
        let allowed = "one each of mass (or m), x, y, z, vx, vy, vz, one eps or none, and others, which are not read";
        assert_eq!(error("m,x,y,z,vx,vy\n"), format!("line 1: no column has the name 'vz'; allowed: {allowed}"));
        let twice = format!("line 1: two columns have the name 'mass'; allowed: {allowed}");
        assert_eq!(error("m,mass,x,y,z,vx,vy,vz\n"), twice);
        let short = "line 2: it has 2 words; allowed: 8, as the names of columns";
        assert_eq!(error("a m x y z vx vy vz\n1 2\n"), short);
        assert_eq!(error("m,x,y,z,vx,vy,vz\n1,,3,4,5,6,7\n"), "line 2: '' is not a finite number");
    }

    #[test]
    fn softenings_are_a_column_of_their_own() {
        let found = |text: &str| parse(text, false).unwrap().softenings;
        assert_eq!(found("m,x,y,z,EPS,vx,vy,vz\n1,2,3,4,0.5,5,6,7\n1,2,3,4,0,5,6,7\n"), Some(vec![0.5, 0.0]));
        assert_eq!(found("# mass x y z vx vy vz step eps\n1 2 3 4 5 6 7 8 9\n"), Some(vec![9.0]));
        assert_eq!(found("m,x,y,z,vx,vy,vz\n1,2,3,4,5,6,7\n"), None);
        assert_eq!(found("1 2 3 4 5 6 7\n"), None);
        let names = "m,x,y,z,vx,vy,vz,eps\n";
        for (row, told) in [
            ("1,2,3,4,5,6,7,-0.5", "the softening is -0.5; allowed: zero and above"),
            ("1,2,3,4,5,6,7,", "'' is not a finite number"),
            ("1,2,3,4,5,6,7,inf", "'inf' is not a finite number"),
        ] {
            assert_eq!(error(&format!("{names}{row}\n")), format!("line 2: {told}"));
        }
        assert!(error("m,x,y,z,vx,vy,vz,eps,eps\n").starts_with("line 1: two columns have the name 'eps'"));
        let units = "m (kg),x (m),y (m),z (m),vx (m/s),vy (m/s),vz (m/s),eps (m)\n1,2,3,4,5,6,7,8\n";
        for text in [units, &units.replace("eps (m)", "eps")] {
            assert_eq!(
                (parse(text, false).unwrap().units.as_deref(), found(text)),
                (Some("m kg m/s"), Some(vec![8.0]))
            );
        }
        let other = error(&units.replace("eps (m)", "eps (km)"));
        assert_eq!(other, "line 1: columns are in 'm' and in 'km'; allowed: one unit of lengths, one of speeds");
    }

    #[test]
    fn units_stand_behind_names_or_in_a_comment() {
        let units = |text: &str| parse(text, false).unwrap().units;
        let of_mcluster =
            "#Mass_[Msun]\tx_[pc]\ty_[pc]\tz_[pc]\tvx_[km/s]\tvy_[km/s]\tvz_[km/s]\tkw\n1 2 3 4 5 6 7 1\n";
        assert_eq!(units(of_mcluster).as_deref(), Some("pc Msun km/s"));
        assert_eq!(bodies(of_mcluster), [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]);
        let csv = "m (kg),x (m),y (m),z (m),vx (m/s),vy (m/s),vz (m/s)\n1,2,3,4,5,6,7\n";
        assert_eq!(units(csv).as_deref(), Some("m kg m/s"));
        assert_eq!(units("# units AU Msun yr\n1 2 3 4 5 6 7\n").as_deref(), Some("AU Msun yr"));
        assert_eq!(units("# units are those of Heggie & Mathieu\n1 2 3 4 5 6 7\n"), None);
        assert_eq!(units(&of_mcluster.replace("Msun", "NBODY")), None);
        let other = error(&csv.replace("y (m)", "y (km)"));
        assert_eq!(other, "line 1: columns are in 'm' and in 'km'; allowed: one unit of lengths, one of speeds");
    }

    #[test]
    fn a_wrong_line_is_named_with_its_number() {
        let seven = "allowed: 7 numbers with spaces between them, mass x y z vx vy vz";
        assert_eq!(error("# c\n\n1 2 3\n"), format!("line 3: it has 3 words; {seven}"));
        let more = "or a first line with the names of all columns";
        assert_eq!(error("1 2 3 4 5 6 7 8"), format!("line 1: it has 8 words; {seven}; {more}"));
        assert_eq!(parse("1 2 3 4 5 6 7 8", true).unwrap().masses, [1.0]);
        assert_eq!(error("1 2 3 4 5 6 7\n1 2 x 4 5 6 7"), "line 2: 'x' is not a finite number");
        assert_eq!(error("1 2 nan 4 5 6 7"), "line 1: 'nan' is not a finite number");
        assert_eq!(error("1 2 inf 4 5 6 7"), "line 1: 'inf' is not a finite number");
        assert_eq!(error("-1 2 3 4 5 6 7"), "line 1: the mass is -1; allowed: zero and above");
        assert_eq!(error("# nothing\n"), "there are no bodies in it");
    }
}
