//! `assay model fit`: parameters of a part from measured rates, of a file or a stored run.

use super::FitArgs;
use crate::checks::input::{device_model, small_text};
use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored::lookup::{Stored, load_with_condition, write_file};
use assay_explain::fit_input;
use assay_explain::fit_input::{FittedRate, LeftOut, is_determined, parameters, say_parameters};
use assay_explain::on_bus::parse_rate;
use assay_flash::BLOCK_BYTES;
use assay_flash::estimate::{Estimated, Observation, estimate};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_lang::counted;
use assay_model::job::Direction;
use assay_model::storage::DeviceKind;
use assay_model::units::{Bytes, BytesPerSec};
use assay_report::document::{Cell, Column, Document, Section, Table, TableRow};
use assay_report::words::{Tone, clean};
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Rates to fit, and the initial part.
struct Source {
    /// Name, for messages and reports.
    name: String,
    lines: Vec<FittedRate>,
    left_out: Vec<LeftOut>,
    initial: DeviceModel,
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
    let estimated = estimate(&source.initial, source.policy, &seen);
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
fn initial_part(args: &FitArgs, kind: &DeviceKind) -> Result<DeviceModel, Failure> {
    device_model(args.part.as_deref().unwrap_or(DeviceModel::name_like(kind)))
}

fn of_file(args: &FitArgs) -> Result<Source, Failure> {
    Ok(Source {
        name: args.source.clone(),
        lines: read(Path::new(&args.source))?,
        left_out: Vec::new(),
        initial: initial_part(args, &DeviceKind::Sd)?,
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
    let initial = initial_part(
        args,
        device.map_or(&DeviceKind::Sd, |layer| &layer.identity.kind),
    )?;
    let fitted = fit_input::of_run(&run, chosen, initial, args.policy);
    let fit_input::Measured {
        lines,
        left_out,
        start: initial,
        policy,
    } = fitted.map_err(Failure::usage)?;
    Ok(Source {
        name: format!("run {}", run.header.id),
        lines,
        left_out,
        initial,
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
        let initial = &self.source.initial;
        let unknown: Vec<&str> = (self.estimated.parameters.iter())
            .filter(|parameter| !is_determined(parameter))
            .map(|parameter| parameter.name)
            .collect();
        if unknown.len() == self.estimated.parameters.len() {
            return Err(Failure::usage(format!(
                "{} determines no parameter, so no part is written: measure more sizes of I/Os, \
                 one at a time",
                self.source.name
            )));
        }
        let part = DeviceModel {
            name: name.to_owned(),
            about: format!("fitted to {}", self.source.name),
            source: format!(
                "assay model fit from {} rates; not determined, so taken from {}: {}",
                self.source.lines.len(),
                initial.name,
                match unknown.is_empty() {
                    true => "what is not fitted".to_owned(),
                    false => unknown.join(", "),
                }
            ),
            ..self.estimated.part.clone()
        };
        part.check()
            .map_err(|error| Failure::failed(format!("the fitted part is not valid: {error}")))?;
        Ok(part)
    }
}

/// Reads the rates of a file.
fn read(file: &Path) -> Result<Vec<FittedRate>, Failure> {
    let refused = |why: String| Failure::in_file(file, why);
    let text = small_text(file).map_err(|error| Failure::in_file(file, error))?;
    let mut lines = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') || (number == 0 && text == HEAD) {
            continue;
        }
        lines.push(line(text).map_err(|why| refused(format!("line {}: {why}", number + 1)))?);
    }
    if lines.is_empty() {
        return Err(refused(format!(
            "it has no rates: each line must be {HEAD}, such as randread,8k,16.5MiB/s"
        )));
    }
    Ok(lines)
}

/// Optional first line.
const HEAD: &str = "rw,bs,rate";

fn line(text: &str) -> Result<FittedRate, String> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [pattern, size, rate] = fields[..] else {
        return Err(format!("it must have three fields, {HEAD}"));
    };
    let (direction, random) = match pattern {
        "read" => (Direction::Read, false),
        "write" => (Direction::Write, false),
        "randread" => (Direction::Read, true),
        "randwrite" => (Direction::Write, true),
        _ => {
            return Err(format!(
                "'{pattern}' is not read, write, randread or randwrite"
            ));
        }
    };
    let bytes = size.parse::<Bytes>().map_err(|error| error.to_string())?.0;
    if bytes == 0 || bytes % BLOCK_BYTES != 0 {
        return Err(format!("'{size}' is not a multiple of 512 bytes"));
    }
    let rate = parse_rate(rate)?.0;
    Ok(FittedRate {
        job: None,
        pattern: pattern.to_owned(),
        size: size.to_owned(),
        seen: Observation {
            direction,
            random,
            blocks: bytes / BLOCK_BYTES,
            rate,
            repeated: None,
        },
    })
}

/// Returns the deviation of the model's rate from the measured one, in percent.
fn off_percent(line: &FittedRate, rate: f64) -> f64 {
    (rate / line.seen.rate - 1.0) * 100.0
}

impl Fit<'_> {
    fn value(&self) -> Value {
        let lines = self.source.lines.iter().zip(&self.estimated.rates);
        let rates = lines.map(|(line, rate)| {
            json!({
                "job": line.job,
                "rw": line.pattern,
                "block_size": line.size,
                "measured_bytes_per_s": line.seen.rate,
                "model_bytes_per_s": rate,
                "error_pct": off_percent(line, *rate),
            })
        });
        let left_out = self.source.left_out.iter();
        let left_out = left_out.map(
            |one| json!({"job": one.job, "direction": one.direction.to_string(), "why": one.why}),
        );
        json!({
            "schema": 1,
            "source": self.source.name,
            "start": self.source.initial.name,
            "policy": self.source.policy.to_string(),
            "parameters": parameters(&self.estimated.parameters),
            "rates": rates.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
            "misfit": self.misfit(),
            "part": self.part(&self.source.name).ok().map(|part| part.to_toml()),
        })
    }

    /// Makes the document: the parameters, then the rates behind them.
    fn document(&self) -> Document {
        let source = self.source;
        let rates = counted!(source.lines.len() as u64, "{n} rate", "{n} rates");
        let title = format!(
            "{}: {rates}; fit started from part {}",
            clean(&source.name),
            clean(&source.initial.name)
        );
        let mut document = Document::new(title);
        let mut parameters = Section::new("parameters", "");
        say_parameters(&self.estimated.parameters, &mut parameters);
        if let Some(said) = self.misfit() {
            parameters.say(said, Some(Tone::Care));
        }
        document.push(parameters);
        let mut rates = Section::new("rates", "Rates");
        rates.table(self.rates());
        document.push(rates);
        let mut left_out = Section::new("left-out", "Left out");
        let said = source.left_out.iter();
        let mut said: Vec<String> = said
            .map(|one| format!("{}: {}", clean(&one.job), one.why))
            .collect();
        // Both directions of a mixed job have the same reason.
        said.dedup();
        left_out.list(said);
        document.push(left_out);
        let mut notes = Section::new("notes", "Not fitted");
        if source.lines.iter().any(|line| line.job.is_none()) {
            let device = "Rates must be of the device, not of the page cache, with one I/O after \
                          the other.";
            notes.say(device, None);
        }
        let initial = &source.initial;
        notes.say(
            format!(
                "The number of first blocks of a request that take longer (ramp: {} read, {} write, \
                 of 512 bytes) is not fitted. Parameters on which no rate depends keep the values of \
                 the part that the fit began with; of other parameters that are not determined \
                 only the sum is meaningful.",
                initial.read.ramp_blocks, initial.write.ramp_blocks
            ),
            None,
        );
        document.push(notes);
        document
    }

    /// Returns a warning if the model deviates by more than 10 % from a measured rate.
    fn misfit(&self) -> Option<String> {
        const MUCH: f64 = 10.0;
        let lines = self.source.lines.iter().zip(&self.estimated.rates);
        let off = lines.map(|(line, rate)| (line, off_percent(line, *rate)));
        let (line, off) = off.max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))?;
        (off.abs() > MUCH).then(|| {
            format!(
                "The model is up to {:.0} % off ({} {}): the device does what these parameters do \
                 not have, such as taking longer at random than in order. Standard errors grow \
                 with that; a fit of fewer jobs (--only NAMES) may have smaller ones.",
                off.abs(),
                line.pattern,
                line.size
            )
        })
    }

    /// Makes the table of rates; it has a column for jobs unless the rates are those of a file.
    fn rates(&self) -> Table {
        let lines = &self.source.lines;
        let job = lines.iter().any(|line| line.job.is_some());
        let words = job.then_some("job").into_iter().chain(["rw", "bs"]);
        let numbers = ["measured", "model", "error"].map(Column::number);
        let row = |(line, rate): (&FittedRate, &f64)| {
            let job = job.then(|| {
                line.job
                    .as_deref()
                    .map_or(Cell::Empty, |job| clean(job).into())
            });
            let others = [
                line.pattern.clone(),
                line.size.clone(),
                BytesPerSec(line.seen.rate).to_string(),
                BytesPerSec(*rate).to_string(),
                format!("{:+.1} %", off_percent(line, *rate)),
            ];
            TableRow::new(job.into_iter().chain(others.map(Cell::from)).collect())
        };
        Table {
            columns: words.map(Column::text).chain(numbers).collect(),
            rows: lines.iter().zip(&self.estimated.rates).map(row).collect(),
        }
    }
}
