//! Targets of `--on`, and the processes that measure on several at once.

pub mod lab;
pub mod on;
pub mod pool;
pub mod several;

use crate::child;
use crate::config;
use crate::exit::Failure;
use assay_target::Target;
use on::{Named, OnArgs, parse, target, this_machine};
use std::ffi::OsString;
use std::process::ExitCode;

/// Measures on the target of the arguments, or starts a process for each of several; `words` are
/// the arguments of the command.
pub fn measure(
    args: &OnArgs,
    words: &[OsString],
    json: bool,
    run: impl FnOnce(&mut dyn Target) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    if let Some(part) = child::this() {
        let address = parse(&part.address).map_err(Failure::usage)?;
        let inner = target(&address, args.when_lost)?;
        return run(&mut Named::new(inner, &part.name, args.project.clone()));
    }
    let named = |inner: Box<dyn Target>| Named {
        inner,
        name: None,
        unit: args
            .unit
            .as_ref()
            .or(config::values().unit.as_ref())
            .cloned(),
        project: args.project.clone(),
    };
    match (args.targets()?.as_slice(), &args.unit) {
        ([], _) => run(&mut named(this_machine()?)),
        ([only], _) => run(&mut named(target(only, args.when_lost)?)),
        (_, Some(unit)) => Err(Failure::usage(format!(
            "--unit {unit} names one unit, and there are several targets: measure them one after \
             the other"
        ))),
        (several, None) => several::run(several, words, json),
    }
}
