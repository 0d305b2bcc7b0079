//! The environment of the process. Whatever reads a variable, or a file because it lies in the
//! working folder, asks here: a program with the rights of another user must not obey its caller.

use std::ffi::OsString;

/// The variables of this library.
pub const VARIABLES: [&str; 14] = [
    "KYOHO_ACCURACY",
    "KYOHO_BACKEND",
    "KYOHO_BLOCK_STEPS",
    "KYOHO_CACHE_DIR",
    "KYOHO_CPU_LEVEL",
    "KYOHO_CROSSOVER",
    "KYOHO_DEVICES",
    "KYOHO_LOG",
    "KYOHO_LOG_FILE",
    "KYOHO_NPIPES",
    "KYOHO_ON_FAILURE",
    "KYOHO_PRECISION",
    "KYOHO_THETA",
    "KYOHO_THREADS",
];
/// What the names of all of them begin with.
const OURS: &str = "KYOHO_";
/// What the names of those begin with that the tests of this library read.
const OF_TESTS: [&str; 3] = ["KYOHO_BLESS", "KYOHO_SKIP_", "KYOHO_TEST_"];

/// Whether the environment and the working folder are those of the user with whose rights the
/// process runs. They are not in a set-user-id or set-group-id program, and in one with capabilities
/// of its file: the loader marks these (`AT_SECURE`), as `secure_getenv` asks too.
pub fn is_trusted() -> bool {
    // SAFETY: it reads a number that the system gave the process when it began.
    unsafe { libc::getauxval(libc::AT_SECURE) == 0 }
}

/// Returns the value of a variable, unless the environment is another user's.
pub fn variable(name: &str) -> Option<OsString> {
    debug_assert!(!name.starts_with(OURS) || VARIABLES.contains(&name), "{name} is not in the list");
    if is_trusted() { std::env::var_os(name) } else { None }
}

/// Returns the value of a variable as [`variable`] does, with a sign in place of what is no text.
pub fn text(name: &str) -> Option<String> {
    Some(variable(name)?.to_string_lossy().into_owned())
}

/// Returns the variables that look like one of this library and are none, each with the one that is
/// nearest in letters.
pub fn unknown() -> Vec<(String, &'static str)> {
    if !is_trusted() {
        return Vec::new();
    }
    unknown_among(std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()))
}

fn unknown_among(names: impl Iterator<Item = String>) -> Vec<(String, &'static str)> {
    let is_ours = |name: &String| name.starts_with(OURS) && !VARIABLES.contains(&name.as_str());
    let is_of_tests = |name: &String| OF_TESTS.iter().any(|start| name.starts_with(start));
    let mut unknown: Vec<_> = names
        .filter(|name| is_ours(name) && !is_of_tests(name))
        .filter_map(|name| {
            let nearest = VARIABLES.into_iter().min_by_key(|known| changes(&name, known))?;
            Some((name, nearest))
        })
        .collect();
    unknown.sort();
    unknown
}

/// Returns the number of letters that have to be put in, taken out or exchanged to make one word of
/// another (Levenshtein 1966).
fn changes(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (count, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], count + 1);
        for (place, other) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(letter != *other);
            diagonal = row[place + 1];
            row[place + 1] = exchanged.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_variables_are_named_with_the_nearest() {
        let names = ["KYOHO_THREAD", "PATH", "KYOHO_THREADS", "KYOHO_DEVICE", "KYOHO_TEST_ALONE", "KYOHO_PRECISON"];
        let found = unknown_among(names.into_iter().map(String::from));
        let found: Vec<_> = found.iter().map(|(name, nearest)| (name.as_str(), *nearest)).collect();
        let expected = [("KYOHO_DEVICE", "KYOHO_DEVICES"), ("KYOHO_PRECISON", "KYOHO_PRECISION")];
        assert_eq!(found, [&expected[..], &[("KYOHO_THREAD", "KYOHO_THREADS")]].concat());
        assert_eq!((changes("kitten", "sitting"), changes("", "abc"), changes("abc", "")), (3, 3, 3));
    }
}
