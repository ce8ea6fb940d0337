//! Placeholder.
pub fn run(_rest: &[&str]) -> anyhow::Result<()> { Ok(()) }
