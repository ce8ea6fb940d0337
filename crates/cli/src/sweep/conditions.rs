//! From `--vary` to conditions: what the words say, and what the kernel offers.

use super::args::SweepArgs;
use crate::exit::Failure;
use crate::host::Host;
use assay_model::condition::{Commands, Condition, Vary, VaryError, cross};
use std::path::Path;

#[expect(
    clippy::needless_pass_by_value,
    reason = "to be handed to map_err as it is"
)]
fn of_vary(error: VaryError) -> Failure {
    Failure::usage(error.to_string())
}

/// What is varied; nothing is asked of the kernel yet.
pub fn parse(args: &SweepArgs) -> Result<Vec<Vary>, Failure> {
    let commands = Commands::parse(&args.apply, &args.undo).map_err(of_vary)?;
    let varied = args.vary.iter().map(|text| Vary::parse(text, &commands));
    let varied: Result<Vec<Vary>, VaryError> = varied.collect();
    varied.map_err(of_vary)
}

/// Every combination of what the kernel offers.
pub fn expand(varied: &[Vary], host: &mut Host, path: &Path) -> Result<Vec<Condition>, Failure> {
    let subjects = varied.iter().map(|vary| vary.subject.clone()).collect();
    let offered = host.offers(path, subjects)?;
    let values = varied.iter().zip(&offered).map(|(vary, offered)| {
        let values = vary.among(&offered.offer)?;
        Ok((vary.subject.clone(), values))
    });
    let values: Result<Vec<_>, VaryError> = values.collect();
    cross(&values.map_err(of_vary)?).map_err(of_vary)
}
