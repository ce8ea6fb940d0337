//! `assay model fit`: parameters of a part from measured rates, of a file or a stored run.

mod rates;
mod show;

use super::args::FitArgs;
use crate::checks::part::device_model;
use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored::lookup::{Stored, write_file};
use crate::stored::sources::load_with_condition;
use assay_explain::fit_input::{self, FittedRate, LeftOut, is_told};
use assay_flash::estimate::{Estimated, Observation, estimate};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_model::storage::DeviceKind;
use std::path::Path;
use std::process::ExitCode;

/// Rates to fit, and the start of the fit.
struct Source {
    /// Name, for messages and reports.
    name: String,
    lines: Vec<FittedRate>,
    left_out: Vec<LeftOut>,
    start: DeviceModel,
    policy: Policy,
}

/// Result of a fit.
struct Fit<'a> {
    source: &'a Source,
    estimated: Estimated,
}

/// Fits a part, and shows the estimates.
pub fn run(args: &FitArgs) -> Result<ExitCode, Failure> {
    let source = match Path::new(&args.source).is_file() {
        true => of_file(args)?,
        false => of_store(args)?,
    };
    let seen: Vec<Observation> = source.lines.iter().map(|line| line.seen).collect();
    let estimated = estimate(&source.start, source.policy, &seen);
    let estimated = estimated.map_err(Failure::usage)?;
    let fit = Fit {
        source: &source,
        estimated,
    };
    if let Some(path) = &args.write_part {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let part = fit.part(&name)?;
        write_file(path, |out| out.write_all(part.to_toml().as_bytes()))?;
    }
    args.output.present(|| fit.value(), || fit.document())?;
    if let Some(path) = &args.write_part {
        say(&format!(
            "wrote {0}: simulate it as sim:{0}",
            path.display()
        ));
    }
    Ok(DONE)
}

/// Returns the part that a fit starts with, for rates of that kind of device.
fn start(args: &FitArgs, kind: &DeviceKind) -> Result<DeviceModel, Failure> {
    device_model(args.part.as_deref().unwrap_or(DeviceModel::name_like(kind)))
}

fn of_file(args: &FitArgs) -> Result<Source, Failure> {
    Ok(Source {
        name: args.source.clone(),
        lines: rates::read(Path::new(&args.source))?,
        left_out: Vec::new(),
        start: start(args, &DeviceKind::Sd)?,
        policy: args.policy.unwrap_or(Policy::Closed),
    })
}

fn of_store(args: &FitArgs) -> Result<Source, Failure> {
    let loaded = load_with_condition(&args.store, &args.source);
    let (stored, condition) = loaded.map_err(|failure| no_source(&args.source, &failure))?;
    let run = match stored {
        Stored::Run(run) => run,
        Stored::Import(import) => return Err(Failure::usage(fit_input::of_imports(&import.id))),
    };
    let chosen = fit_input::Chosen {
        condition: condition.as_deref(),
        only: &args.only,
    };
    let device = run.header.storage.device();
    let start = start(
        args,
        device.map_or(&DeviceKind::Sd, |layer| &layer.identity.kind),
    )?;
    let fitted = fit_input::of_run(&run, chosen, start, args.policy);
    let fit_input::Measured {
        lines,
        left_out,
        start,
        policy,
    } = fitted.map_err(Failure::usage)?;
    Ok(Source {
        name: format!("run {}", run.header.id),
        lines,
        left_out,
        start,
        policy,
    })
}

fn no_source(word: &str, failure: &Failure) -> Failure {
    match failure.is_usage() {
        true => Failure::usage(format!("{word} is not a file of rates, and {failure}")),
        false => Failure::failed(failure),
    }
}

impl Fit<'_> {
    /// Returns the fitted part, with the given name.
    fn part(&self, name: &str) -> Result<DeviceModel, Failure> {
        let start = &self.source.start;
        let untold: Vec<&str> = (self.estimated.parameters.iter())
            .filter(|parameter| !is_told(parameter))
            .map(|parameter| parameter.name)
            .collect();
        if untold.len() == self.estimated.parameters.len() {
            return Err(Failure::usage(format!(
                "{} tells no parameter of a part, so none is written: measure more sizes of I/Os, \
                 one at a time",
                self.source.name
            )));
        }
        let part = DeviceModel {
            name: name.to_owned(),
            about: format!("fitted to {}", self.source.name),
            source: format!(
                "assay model fit, of {} rates; as in {}, not told by them: {}",
                self.source.lines.len(),
                start.name,
                match untold.is_empty() {
                    true => "what is not fitted".to_owned(),
                    false => untold.join(", "),
                }
            ),
            ..self.estimated.part.clone()
        };
        part.check()
            .map_err(|error| Failure::failed(format!("the fitted part is not valid: {error}")))?;
        Ok(part)
    }
}
