//! Targets of `--on`, and the processes that measure on several at once.

pub mod lab;
pub mod on;
pub mod pool;
pub mod several;

use crate::child;
use crate::config;
use crate::exit::Failure;
use assay_target::Target;
use on::{Named, On, OnArgs, parse, target, this_machine};
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns the targets of two sides that are measured in turn: the first and the second of the
/// arguments, or one for both.
pub fn pair(args: &OnArgs) -> Result<[Box<dyn Target>; 2], Failure> {
    if let Some(unit) = &args.unit {
        return Err(Failure::usage(format!(
            "--unit {unit} names one unit, and there are two sides: name them with assay tag"
        )));
    }
    let named = |on: &On| -> Result<Box<dyn Target>, Failure> {
        let (inner, project) = (target(on, args.when_lost)?, args.project.clone());
        Ok(Box::new(Named::new(inner, &on.to_string(), project)))
    };
    match args.targets()?.as_slice() {
        [] => Ok([named(&On::Local)?, named(&On::Local)?]),
        [both] => Ok([named(both)?, named(both)?]),
        [a, b] => Ok([named(a)?, named(b)?]),
        more => Err(Failure::usage(format!(
            "{} targets for two sides: give --on once for both, or once for each",
            more.len()
        ))),
    }
}

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
