//! Bodies from a file with one line each: `mass x y z vx vy vz`.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::file::text;
use crate::run::snapshot_hdf5;
use kyoho_core::error::{shortened, shown};
use kyoho_core::memory;
use kyoho_integrators::body::Body;

/// Reads the bodies from the bytes of a file in HDF5 or of a text. A text has a line for each body,
/// with its mass, position and velocity. Blank lines and text after a `#` are comments. Exponents
/// may be written as in Fortran (`1.5D+03`).
pub fn from_bytes(content: Vec<u8>, path: &Path) -> Result<Vec<Body>> {
    if snapshot_hdf5::is_hdf5(&content) {
        return snapshot_hdf5::bodies(content, path);
    }
    parse(&text(content, path)?, path)
}

fn parse(text: &str, path: &Path) -> Result<Vec<Body>> {
    let mut bodies = Vec::new();
    for (line, row) in rows(text) {
        let [mass, position @ .., vx, vy, vz] = numbers::<7>(row, "mass x y z vx vy vz")
            .and_then(|numbers| {
                if numbers[0] >= 0.0 {
                    Ok(numbers)
                } else {
                    Err(format!("the mass is {}; allowed: zero and above", shown(numbers[0])))
                }
            })
            .map_err(|reason| Failure::Line { path: path.into(), line, reason })?;
        memory::push(&mut bodies, Body::new(mass, position, [vx, vy, vz]), "bodies")?;
    }
    if bodies.is_empty() { Err(Failure::file(path, "there are no bodies in it")) } else { Ok(bodies) }
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
    let words: Vec<&str> = row.split_whitespace().collect();
    if words.len() != numbers.len() {
        return Err(format!(
            "it has {} words; allowed: {} numbers with spaces between them, {names}",
            words.len(),
            numbers.len()
        ));
    }
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = word
            .replace(['d', 'D'], "e")
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| format!("'{}' is not a finite number", shortened(word)))?;
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
