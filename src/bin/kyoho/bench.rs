//! stub
#[derive(Debug, clap::Args)]
pub struct Arguments {}
pub fn run(_: &Arguments) -> crate::failure::Result<()> {
    Ok(())
}
