//! Lines on stdout that can fail, as `println!` panics when the reader goes away.

/// Writes a line to stdout; gives a `Result<(), Failure>`.
macro_rules! out {
    ($($part:tt)*) => {{
        use std::io::Write;
        writeln!(std::io::stdout().lock(), $($part)*).map_err($crate::failure::Failure::from)
    }};
}
