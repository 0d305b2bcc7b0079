//! Lines on stdout whose writing can fail. `println!` panics if the reader has closed the output.

/// Writes a line to stdout and returns a `Result<(), Failure>`.
macro_rules! out {
    ($($part:tt)*) => {{
        use std::io::Write;
        writeln!(std::io::stdout().lock(), $($part)*).map_err($crate::failure::Failure::from)
    }};
}
