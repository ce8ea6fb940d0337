//! Conversion of `--vary` to conditions, with the values that the kernel offers.

use super::SweepArgs;
use crate::driver::Host;
use crate::exit::Failure;
use assay_model::condition::{Commands, Condition, Subject, Vary, cross};
use assay_model::units::Bytes;
use assay_model::wire::{Inspection, PathKind};
use std::path::Path;

/// Parses the subjects to vary; the kernel is not queried yet.
pub fn parse(args: &SweepArgs) -> Result<Vec<Vary>, Failure> {
    let commands = Commands::parse(&args.apply, &args.undo, args.command_limit);
    let commands = commands.map_err(Failure::usage)?;
    let varied = args.vary.iter().map(|text| Vary::parse(text, &commands));
    let varied: Result<Vec<Vary>, String> = varied.collect();
    let varied = varied.map_err(Failure::usage)?;
    commands.all_used_by(&varied).map_err(Failure::usage)?;
    Ok(varied)
}

/// `true` if the conditions make file systems.
pub fn make_file_systems(varied: &[Vary]) -> bool {
    varied.iter().any(|vary| vary.subject == Subject::Mkfs)
}

/// Returns the storage as jobs see it: if file systems are made, a folder with most of the device's
/// space.
pub fn bench(made: bool, inspection: &Inspection) -> Result<Inspection, Failure> {
    let PathKind::Device { size } = inspection.kind else {
        let shown = inspection.path.display();
        return match made {
            true => Err(Failure::usage(format!(
                "--vary mkfs makes file systems on an unused block device: {shown} is none"
            ))),
            false => Ok(inspection.clone()),
        };
    };
    let mut bench = inspection.clone();
    if made {
        bench.kind = PathKind::Directory { writable: true };
        bench.storage.available = Some(Bytes(size.0 / 10 * 8));
    }
    Ok(bench)
}

/// Returns every combination of the values, with `all` replaced by those that the kernel offers.
pub fn expand(varied: &[Vary], host: &mut Host, path: &Path) -> Result<Vec<Condition>, Failure> {
    let subjects = varied.iter().map(|vary| vary.subject.clone()).collect();
    let offered = host.offers(path, subjects)?;
    let values = varied.iter().zip(&offered).map(|(vary, offered)| {
        let values = vary.among(&offered.offer)?;
        Ok((vary.subject.clone(), values))
    });
    let values: Result<Vec<_>, String> = values.collect();
    cross(&values.map_err(Failure::usage)?).map_err(Failure::usage)
}
