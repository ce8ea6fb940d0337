//! `assay check PATH`: whether a card or stick is genuine, and fast enough for its use.
//!
//! A composed run of two acts: a probe of the capacity, then the jobs of the speed classes. A probe
//! that finds lost data is the last act.

use crate::checks::admission::{self, Need};
use crate::checks::estimate::file_size;
use crate::commands::{Command, resume};
use crate::driver::acts::{ComposedRun, MeasureArgs, PlannedAct};
use crate::driver::plans::{Prepared, interleaved};
use crate::driver::runs::{Done, random};
use crate::exit::{DONE, Failure, MISSED};
use crate::jobs;
use crate::output::{print, say, show};
use assay_dialects::mark::{
    CHECKED_CLASSES, CardUse, MarkProfile, check_jobs, checked_requirements,
};
use assay_lang::tr;
use assay_model::plan::PlannedJob;
use assay_model::text::clean;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::Feature;
use assay_report::json;
use assay_report::views::marks::{self, CheckedClass};
use assay_stats::figures::RequirementFinding;
use assay_target::Target;
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay check /mnt/sd
  assay check /dev/sdb --destroy-data --for camera
  assay check /mnt/sd --full
";

const EXIT_CODES: &str = "\
Exit codes: 0 good or fast enough for the use, or not known, 1 failed, 2 wrong usage, 3 too slow for
the use, 4 it does not hold its data, 5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM.
Finished trials are kept in every case.";

/// `assay check`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct CheckArgs {
    /// Folder on the mounted card or stick (test files are made in it and removed), or its block
    /// device (needs --destroy-data).
    pub path: PathBuf,
    /// Use that it is checked for: the system card of a Raspberry Pi or a similar board, 4K video,
    /// apps of Android, a boot medium, or large files on a stick.
    #[arg(long = "for", value_name = "USE", default_value = "pi", value_parser = uses())]
    pub purpose: CardUse,
    /// Fill all of it and read it back, instead of a probe with few writes. This takes as long as
    /// writing and reading all of it.
    #[arg(long)]
    pub full: bool,
    /// Number of trials of each job.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Seconds per trial.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

fn uses() -> impl TypedValueParser<Value = CardUse> {
    PossibleValuesParser::new(CardUse::ALL.map(CardUse::name)).try_map(|name| {
        let mut all = CardUse::ALL.into_iter();
        let found = all.find(|one| one.name() == name);
        found.ok_or_else(|| format!("there is no use {name}"))
    })
}

/// Size of the test file of the jobs, if there is enough space.
const FILE: Bytes = Bytes::mib(256);

/// Checks a card or stick on a target.
pub fn run(args: &CheckArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    target.needs(Feature::Composed);
    let need = Need::written(args.destroy_data);
    let admit = |found: &_| admission::admit(found, need);
    let prepared = Prepared::new(&args.path, &args.shared.store, target, admit)?;
    let seed = args.shared.seed.unwrap_or_else(random);
    let mut acts = Vec::new();
    match jobs::capacity(args.full, &prepared.place, &prepared.inspection) {
        Ok(act) => acts.push(act),
        Err(why) => say(&clean(&tr!("the capacity is not checked: {why}", why))),
    }
    acts.push(speed(args, seed, &prepared)?);
    let composed = ComposedRun {
        acts,
        seed,
        claims: None,
        destroy_data: args.destroy_data,
    };
    let done = composed.carry_out(prepared, target)?;
    conclude(done, args.purpose, args.shared.json)
}

/// Shows a resumed run: of a check its verdict; returns the exit code.
pub fn present_resumed(done: Done, json: bool) -> Result<ExitCode, Failure> {
    match resume::began(&done.run) {
        Ok(Some(Command::Check(args))) => conclude(done, args.purpose, json),
        _ => done.present(json),
    }
}

/// Shows the verdict on a check that has ended; returns the exit code.
fn conclude(done: Done, purpose: CardUse, json: bool) -> Result<ExitCode, Failure> {
    let purpose = CheckedClass {
        name: in_words(purpose).to_owned(),
        requirements: purpose.requirements(),
        conditions: String::new(),
    };
    let missed = purpose.finding(&done.run) == RequirementFinding::Missed;
    if done.stored && json {
        print(|out| json::write(&done.run, out))?;
    } else if done.stored {
        let id = &done.run.header.id;
        say(&tr!("Stored as run {id}: assay report {id}", id));
        show(&marks::card(&done.run, &classes(), &purpose))?;
    }
    let code = done.conclude()?;
    Ok(match code == DONE && missed {
        true => ExitCode::from(MISSED),
        false => code,
    })
}

fn classes() -> Vec<CheckedClass> {
    let checked = CHECKED_CLASSES.map(|class| CheckedClass {
        name: class.to_string(),
        requirements: checked_requirements(class),
        conditions: String::new(),
    });
    checked.into()
}

fn in_words(purpose: CardUse) -> &'static str {
    match purpose {
        CardUse::Pi => tr!("a Pi"),
        CardUse::Camera => tr!("4K video"),
        CardUse::Android => tr!("Android apps"),
        CardUse::Boot => tr!("booting"),
        CardUse::Usb => tr!("large files"),
    }
}

/// Returns the jobs of the speed classes.
fn speed(args: &CheckArgs, seed: u64, prepared: &Prepared) -> Result<PlannedAct, Failure> {
    let inspection = &prepared.inspection;
    let scale = MarkProfile {
        file: file_size(None, FILE, Bytes(0), inspection)?,
        trial: Nanos::secs(args.seconds),
        engine: inspection.async_engines.first().copied(),
    };
    let planned = |job| PlannedJob {
        job,
        trials: args.trials,
    };
    let jobs = check_jobs(&scale).into_iter().map(planned).collect();
    let plan = interleaved(seed, prepared.place.clone(), scale.file, jobs);
    Ok(PlannedAct::jobs(plan))
}
