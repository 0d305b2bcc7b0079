//! Lines on stdout whose writing can fail, and their width. `println!` panics if the reader has
//! closed the output.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the work goes on for its files after the reader of stdout has left.
static MAKES_FILES: AtomicBool = AtomicBool::new(false);

/// Says whether files were asked for. Then the work goes on if the reader of stdout leaves, who
/// wants no more lines, but still the files.
pub fn makes_files(are_wanted: bool) {
    MAKES_FILES.store(are_wanted, Ordering::Relaxed);
}

/// Returns what becomes of a line that could not be written.
pub fn unwritten(error: io::Error) -> io::Result<()> {
    let goes_on = error.kind() == io::ErrorKind::BrokenPipe && MAKES_FILES.load(Ordering::Relaxed);
    if goes_on { Ok(()) } else { Err(error) }
}

/// Writes a line to stdout and returns a `Result<(), Failure>`.
#[macro_export]
macro_rules! out {
    ($($part:tt)*) => {{
        use std::io::Write;
        let written = writeln!(std::io::stdout().lock(), $($part)*).or_else($crate::out::unwritten);
        written.map_err($crate::failure::Failure::from)
    }};
}

/// The width of lines where nothing else is known. Tables fit into it.
const USUAL: usize = 80;
/// The least width of texts, and the largest that a wide terminal gives them.
const LIMITS: [usize; 2] = [40, 100];

/// Returns the columns for texts: those that `COLUMNS` says, else those of the terminal, else 80.
pub fn width() -> usize {
    let said: Option<usize> = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0).min(LIMITS[1]));
    said.or_else(terminal).unwrap_or(USUAL).max(LIMITS[0])
}

/// Divides a text at spaces into lines of a width, of which all but the first are indented. A word
/// that is longer stays whole.
pub fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    let (mut column, mut has_word) = (0, false);
    for (place, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if has_word && column + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            (column, has_word) = (indent, false);
        } else if place > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
        has_word |= length > 0;
    }
    lines
}

/// Writes a text to stdout in lines that are not wider than [`width`].
#[macro_export]
macro_rules! out_wrapped {
    ($indent:expr, $($part:tt)*) => {
        $crate::out!("{}", $crate::out::wrapped(&format!($($part)*), $indent, $crate::out::width()))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_spaces_and_go_on_below_the_first() {
        assert_eq!(
            wrapped("in use  cpu (the first of all)", 8, 15),
            "in use  cpu\n        (the\n        first\n        of all)"
        );
        assert_eq!(wrapped("a word-that-is-long b", 2, 5), "a\n  word-that-is-long\n  b");
        assert_eq!(wrapped("short", 2, 80), "short");
    }
}
