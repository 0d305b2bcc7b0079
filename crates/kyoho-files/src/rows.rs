//! The lines of texts, and the numbers in them.

use kyoho_core::error::shortened;

/// Returns the words of a line, between spaces, commas or semicolons.
pub fn words(row: &str) -> Vec<&str> {
    match [',', ';'].into_iter().find(|separator| row.contains(*separator)) {
        Some(separator) => row.split(separator).map(str::trim).collect(),
        None => row.split_whitespace().collect(),
    }
}

/// Returns the number of a word, with an exponent as in C or in Fortran, which may leave out the letter.
pub fn number(word: &str) -> Option<f64> {
    let word = word.replace(['d', 'D'], "e");
    word.parse().ok().or_else(|| {
        let (place, _) = word.char_indices().skip(1).find(|(_, letter)| ['+', '-'].contains(letter))?;
        let before = word[..place].chars().next_back()?;
        (before.is_ascii_digit() || before == '.')
            .then(|| format!("{}e{}", &word[..place], &word[place..]))?
            .parse()
            .ok()
    })
}

/// Returns the finite number of a word.
pub fn finite(word: &str) -> Result<f64, String> {
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
pub fn numbers<const N: usize>(row: &str, names: &str) -> Result<[f64; N], String> {
    let mut numbers = [0.0; N];
    fill(&mut numbers, row, names).map(|()| numbers)
}

/// Reads the finite numbers of a line, which must have as many as there are places.
pub fn fill(numbers: &mut [f64], row: &str, names: &str) -> Result<(), String> {
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
