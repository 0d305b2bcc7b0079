//! The `kyoho` command.
fn main() {}
