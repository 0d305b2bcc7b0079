//! From characters to words.

use kyoho_core::memory;
use kyoho_laws::double_double::DoubleDouble;

use super::fault::{Checked, Fault, Place, WHAT};

/// The longest text, in bytes.
pub const MAX_TEXT: usize = 1 << 16;
/// The longest name.
pub const MAX_NAME: usize = 64;

/// A word of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// A name or a keyword.
    Name(String),
    /// A number, and whether it was written without point and exponent.
    Number(DoubleDouble, bool),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of a statement.
    End,
    /// The end of the text.
    Nothing,
}

impl Word {
    /// Returns the word as messages show it.
    pub fn shown(&self) -> String {
        match self {
            Word::Name(name) => format!("'{name}'"),
            Word::Number(number, _) => format!("the number {}", number.to_f64()),
            Word::Sign(sign) => format!("'{sign}'"),
            Word::End => "the end of the line".into(),
            Word::Nothing => "the end of the text".into(),
        }
    }
}

/// The signs, the longer ones first.
const SIGNS: [&str; 34] = [
    "..", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "+", "-", "*", "/", "^", "<", ">", "=", "!", "(", ")",
    "[", "]", ",", ":", ".", "{", "}", ";", "%", "&", "|", "?", "@",
];

/// Returns the words of a text with their places. Within parentheses and brackets, and after an
/// operator or a comma, the end of a line ends no statement.
pub fn words(text: &str) -> Checked<Vec<(Word, Place)>> {
    let start = Place { line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        let found = format!("the text has {} bytes", text.len());
        return Err(Fault::new(start, found, format!("at most {MAX_TEXT} bytes")));
    }
    let mut words: Vec<(Word, Place)> = Vec::new();
    let mut depth = 0usize;
    for (line, content) in (1u32..).zip(text.lines()) {
        let mut rest = content;
        let place = |rest: &str| {
            let before = &content[..content.len() - rest.len()];
            Place { line, column: before.chars().count() as u32 + 1 }
        };
        loop {
            rest = rest.trim_start();
            let here = place(rest);
            let Some(first) = rest.chars().next().filter(|first| *first != '#') else { break };
            if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
                let (word, length) = number(rest, here)?;
                memory::push(&mut words, (word, here), WHAT)?;
                rest = &rest[length..];
            } else if first.is_ascii_alphabetic() || first == '_' {
                let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                if length > MAX_NAME {
                    let found = format!("a name of {length} characters");
                    return Err(Fault::new(here, found, format!("at most {MAX_NAME} characters")));
                }
                memory::push(&mut words, (Word::Name(rest[..length].into()), here), WHAT)?;
                rest = &rest[length..];
            } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                match sign {
                    "(" | "[" => depth += 1,
                    ")" | "]" => depth = depth.saturating_sub(1),
                    _ => (),
                }
                memory::push(&mut words, (Word::Sign(sign), here), WHAT)?;
                rest = &rest[sign.len()..];
            } else {
                let found = format!("the character '{}'", first.escape_debug());
                return Err(Fault::new(here, found, "names, numbers, operators, and comments that begin with #"));
            }
        }
        let goes_on = match words.last() {
            // This one ends a type, as in vec3<f64>, or compares.
            Some((Word::Sign(">"), _)) => !matches!(words[..], [.., (Word::Sign("<"), _), _, _]),
            Some((Word::Sign(sign), _)) => !matches!(*sign, ")" | "]" | "}"),
            Some((Word::End, _)) | None => true,
            _ => false,
        };
        if depth == 0 && !goes_on {
            memory::push(&mut words, (Word::End, place(rest)), WHAT)?;
        }
    }
    let last = Place { line: text.lines().count().max(1) as u32, column: 1 };
    let end = text.lines().last().map_or(start, |line| Place { column: line.chars().count() as u32 + 1, ..last });
    if !matches!(words.last(), Some((Word::End, _)) | None) {
        memory::push(&mut words, (Word::End, end), WHAT)?;
    }
    memory::push(&mut words, (Word::Nothing, end), WHAT)?;
    Ok(words)
}

/// Reads the number at the beginning of a text, and returns its length too.
fn number(text: &str, place: Place) -> Checked<(Word, usize)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    // Two points are those of a range.
    let is_range = bytes[end..].starts_with(b"..");
    if bytes.get(end) == Some(&b'.') && !is_range {
        end = digits(end + 1);
    }
    let mut is_integer = !text[..end].contains('.');
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
            is_integer = false;
        }
    }
    let bad = bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let written = &text[..end];
    match DoubleDouble::parse(written).filter(|_| !bad) {
        Some(number) => Ok((Word::Number(number, is_integer), end)),
        None => {
            let length = text.find(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c))).unwrap_or(text.len());
            let shown = kyoho_core::error::shortened(&text[..length]);
            let found = format!("'{shown}' is no number of the range of doubles");
            Err(Fault::new(place, found, "numbers such as 12, 0.5 or 1e-3, without a letter behind them"))
        }
    }
}
