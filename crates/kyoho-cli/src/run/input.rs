//! Bodies from a file with one line each: `mass x y z vx vy vz`, or with columns that have names.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::file::text;
use crate::run::snapshot_hdf5;
use kyoho_core::error::{shortened, shown};
use kyoho_core::memory;
use kyoho_integrators::body::Body;

/// Reads the bodies from the bytes of a file in HDF5 or of a text. A text has a line for each body,
/// with its mass, position and velocity, or, behind a line of names, with columns of these in any order
/// among others. Blank lines and text after a `#` are comments. Spaces, commas or semicolons stand
/// between numbers. Exponents may be written as in Fortran (`1.5D+03`).
pub fn from_bytes(content: Vec<u8>, path: &Path) -> Result<Vec<Body>> {
    if snapshot_hdf5::is_hdf5(&content) {
        return snapshot_hdf5::bodies(content, path);
    }
    parse(&text(content, path)?, path)
}

fn parse(text: &str, path: &Path) -> Result<Vec<Body>> {
    let mut bodies = Vec::new();
    let mut rows = rows(text).peekable();
    let wrong = |line: usize| move |reason: String| Failure::Line { path: path.into(), line, reason };
    let columns = match rows.next_if(|(_, row)| are_names(row)) {
        Some((line, row)) => Some(Columns::of(row).map_err(wrong(line))?),
        None => None,
    };
    for (line, row) in rows {
        let found = match &columns {
            Some(columns) => columns.numbers(row),
            None => numbers::<7>(row, &NAMES.join(" ")),
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
        memory::push(&mut bodies, Body::new(mass, position, [vx, vy, vz]), "bodies")?;
    }
    if bodies.is_empty() { Err(Failure::file(path, "there are no bodies in it")) } else { Ok(bodies) }
}

/// The names of the columns of a body.
const NAMES: [&str; 7] = ["mass", "x", "y", "z", "vx", "vy", "vz"];

/// Whether a line has names of columns, and no number.
fn are_names(row: &str) -> bool {
    words(row).iter().all(|word| number(word).is_none() && word.contains(char::is_alphabetic))
}

/// The columns of a text that gives them names.
struct Columns {
    /// The places of those of a body, and how many there are in all.
    places: [usize; 7],
    count: usize,
}

impl Columns {
    fn of(row: &str) -> std::result::Result<Columns, String> {
        let plain = |word: &str| word.trim_matches(['"', '\'']).trim().to_lowercase();
        let names: Vec<String> = words(row).into_iter().map(plain).collect();
        let mut places = [0; 7];
        for (place, wanted) in places.iter_mut().zip(NAMES) {
            let is_it = |name: &String| name == wanted || (wanted == "mass" && name == "m");
            let mut found = (0..names.len()).filter(|column| is_it(&names[*column]));
            *place = match (found.next(), found.next()) {
                (Some(column), None) => column,
                (None, _) => return Err(format!("no column has the name '{wanted}'; allowed: {}", ALLOWED)),
                _ => return Err(format!("two columns have the name '{wanted}'; allowed: {}", ALLOWED)),
            };
        }
        Ok(Columns { places, count: names.len() })
    }

    fn numbers(&self, row: &str) -> std::result::Result<[f64; 7], String> {
        let words = words(row);
        if words.len() != self.count {
            return Err(format!("it has {} words; allowed: {}, as the names of columns", words.len(), self.count));
        }
        let mut numbers = [0.0; 7];
        for (number, place) in numbers.iter_mut().zip(self.places) {
            *number = finite(words[place])?;
        }
        Ok(numbers)
    }
}

const ALLOWED: &str = "one each of mass (or m), x, y, z, vx, vy, vz, and others, which are not read";

/// Returns the words of a line, between spaces, commas or semicolons.
fn words(row: &str) -> Vec<&str> {
    match [',', ';'].into_iter().find(|separator| row.contains(*separator)) {
        Some(separator) => row.split(separator).map(str::trim).collect(),
        None => row.split_whitespace().collect(),
    }
}

fn number(word: &str) -> Option<f64> {
    word.replace(['d', 'D'], "e").parse().ok()
}

fn finite(word: &str) -> std::result::Result<f64, String> {
    number(word)
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("'{}' is not a finite number", shortened(word)))
}

/// Returns the lines that are no comments, with their numbers from 1.
pub fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let without_comment = |line: &str| line.find('#').unwrap_or(line.len());
    text.lines()
        .enumerate()
        .map(move |(place, line)| (place + 1, line[..without_comment(line)].trim()))
        .filter(|(_, row)| !row.is_empty())
}

/// Returns the finite numbers of a line, which must have `N` of them.
pub fn numbers<const N: usize>(row: &str, names: &str) -> std::result::Result<[f64; N], String> {
    let mut numbers = [0.0; N];
    fill(&mut numbers, row, names).map(|()| numbers)
}

/// Reads the finite numbers of a line, which must have as many as there are places.
pub fn fill(numbers: &mut [f64], row: &str, names: &str) -> std::result::Result<(), String> {
    let words = words(row);
    if words.len() != numbers.len() {
        return Err(format!(
            "it has {} words; allowed: {} numbers with spaces between them, {names}",
            words.len(),
            numbers.len()
        ));
    }
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = finite(word)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("stars")).unwrap_err().to_string()
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        let bodies = parse("# three\n\n1 2 3 4 5 6 7 # first\n  \n0 -1D+1 1e-3 +4 5d0 6. .7\n", Path::new("")).unwrap();
        assert_eq!(bodies.len(), 2);
        assert_eq!(bodies[0], Body::new(1.0, [2.0, 3.0, 4.0], [5.0, 6.0, 7.0]));
        assert_eq!(bodies[1], Body::new(0.0, [-10.0, 1e-3, 4.0], [5.0, 6.0, 0.7]));
    }

    #[test]
    fn columns_have_names_in_any_order_among_others() {
        let expected = [Body::new(1.5, [2.0, 3.0, 4.0], [5.0, 6.0, 7.0]), Body::new(0.0, [0.5; 3], [-1.0; 3])];
        for text in [
            "id,\"Mass\",X,Y,Z,vx,vy,vz,name\r\n8,1.5,2,3,4,5,6,7,a star\r\n9, 0, .5, .5, .5, -1, -1, -1,\r\n",
            "# made by hand\nvx vy vz x y z m\n5 6 7 2 3 4 1.5\n-1 -1 -1 .5 .5 .5 0\n",
            "1.5;2;3;4;5;6;7\n0;0.5;0.5;0.5;-1;-1;-1",
        ] {
            assert_eq!(parse(text, Path::new("")).unwrap(), expected, "{text}");
        }
        let allowed = "one each of mass (or m), x, y, z, vx, vy, vz, and others, which are not read";
        assert_eq!(error("m,x,y,z,vx,vy\n"), format!("stars, line 1: no column has the name 'vz'; allowed: {allowed}"));
        let twice = format!("stars, line 1: two columns have the name 'mass'; allowed: {allowed}");
        assert_eq!(error("m,mass,x,y,z,vx,vy,vz\n"), twice);
        let short = "stars, line 2: it has 2 words; allowed: 8, as the names of columns";
        assert_eq!(error("a m x y z vx vy vz\n1 2\n"), short);
        assert_eq!(error("m,x,y,z,vx,vy,vz\n1,,3,4,5,6,7\n"), "stars, line 2: '' is not a finite number");
    }

    #[test]
    fn a_wrong_line_is_named_with_its_number() {
        assert_eq!(
            error("# c\n\n1 2 3\n"),
            "stars, line 3: it has 3 words; allowed: 7 numbers with spaces between them, mass x y z vx vy vz"
        );
        assert_eq!(
            error("1 2 3 4 5 6 7 8"),
            "stars, line 1: it has 8 words; allowed: 7 numbers with spaces between them, mass x y z vx vy vz"
        );
        assert_eq!(error("1 2 3 4 5 6 7\n1 2 x 4 5 6 7"), "stars, line 2: 'x' is not a finite number");
        assert_eq!(error("1 2 nan 4 5 6 7"), "stars, line 1: 'nan' is not a finite number");
        assert_eq!(error("1 2 inf 4 5 6 7"), "stars, line 1: 'inf' is not a finite number");
        assert_eq!(error("-1 2 3 4 5 6 7"), "stars, line 1: the mass is -1; allowed: zero and above");
        assert_eq!(error("# nothing\n"), "stars: there are no bodies in it");
    }
}
