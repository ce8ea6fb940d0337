//! `assay scenario`: repeats the storage accesses of a product, step by step.

use crate::driver::acts::{MeasureArgs, MeasuringCommand, Planned};
use crate::driver::announce::Announcement;
use crate::exit::{DONE, Failure};
use crate::output::{print, print_columns};
use crate::scenarios::{
    BUILT_IN, LibraryScenario, Resolved, admit, file, measured, resolve_in, tools_are_there,
};
use crate::{config, scenarios};
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::wire::{Feature, Inspection};
use assay_report::words::wrap;
use assay_target::Target;
use clap::{ArgGroup, Args};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Lists, shows or carries out scenarios.
pub fn run(args: &ScenarioArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    if args.list {
        return list();
    }
    if let Some(name) = &args.show {
        return show(name);
    }
    match (&args.scenario, &args.path) {
        (Some(scenario), Some(path)) => play(args, &scenarios::find(scenario)?, path, target),
        _ => Err(Failure::usage("give a scenario and a path")),
    }
}

fn list() -> Result<ExitCode, Failure> {
    let columns = print_columns().map_or(usize::MAX, |columns| columns.saturating_sub(4));
    print(|out| {
        for (name, text) in BUILT_IN {
            let about = file::parse(text).map(|file| file.about).unwrap_or_default();
            writeln!(out, "{name}")?;
            for line in wrap(&about, columns) {
                writeln!(out, "    {line}")?;
            }
        }
        Ok(())
    })?;
    Ok(DONE)
}

fn show(name: &str) -> Result<ExitCode, Failure> {
    let text = scenarios::built_in(name).ok_or_else(|| scenarios::unknown(name))?;
    print(|out| out.write_all(text.as_bytes()))?;
    Ok(DONE)
}

fn play(
    args: &ScenarioArgs,
    found: &LibraryScenario,
    path: &Path,
    target: &mut dyn Target,
) -> Result<ExitCode, Failure> {
    let command = MeasuringCommand {
        needs: Feature::Sqlite,
        path,
        trials: args.trials(),
        destroy_data: args.destroy_data,
        shared: &args.shared,
        stopping: "stopping: finished steps are kept, and what was made is removed",
    };
    let done = command.carry_out(target, |bench| {
        let place = admit(args.destroy_data, found, &bench.inspection)?;
        let resolved = resolve(args, found, &place)?;
        let steps = measured(&resolved.scenario);
        tools_are_there(&mut bench.host, &resolved.scenario)?;
        Ok(Planned {
            announced: Some(announcement(found, &resolved, &place, steps.len())),
            place,
            act: Act::Scenario(Box::new(resolved.scenario)),
            steps,
        })
    })?;
    done.present(args.shared.json)
}

/// Returns a scenario that a sweep repeats, and its measured acts. The sweep itself checks if the
/// place may be written.
pub fn swept(args: &ScenarioArgs, bench: &Inspection) -> Result<(Act, Vec<Job>), Failure> {
    let name = args.scenario.as_deref().unwrap_or_default();
    let found = scenarios::find(name)?;
    let place = admit(true, &found, bench)?;
    let resolved = resolve(args, &found, &place)?;
    let steps = measured(&resolved.scenario);
    Ok((Act::Scenario(Box::new(resolved.scenario)), steps))
}

fn resolve(
    args: &ScenarioArgs,
    found: &LibraryScenario,
    place: &Place,
) -> Result<Resolved, Failure> {
    resolve_in(found, place, args.scale, args.allow_commands)
}

/// Describes the scenario, its writes, and the duration.
fn announcement(
    found: &LibraryScenario,
    resolved: &Resolved,
    place: &Place,
    steps: usize,
) -> Announcement {
    let more = match resolved.and_more {
        true => tr!(", and more in the background for as long as the foreground takes"),
        false => "",
    };
    let writes = tr!(
        "up to {bytes} each time{more}, in {path}",
        bytes = resolved.written,
        more,
        path = place.path().display()
    );
    Announcement {
        first: vec![(
            tr!("Plays"),
            format!("{}: {}", found.name, found.file.about),
        )],
        writes,
        steps,
        times: resolved.times,
    }
}

const AFTER: &str = "\
Examples:
  assay scenario --list
  assay scenario ota-ab /mnt/emmc                  in a private folder there
  assay scenario factory-reset /dev/mmcblk0p7 --destroy-data
  assay scenario --show ota-ab > mine.toml         to start from
  assay scenario mine.toml /mnt/emmc --trials 5

docs/scenarios.md describes the language.

Exit codes: 0 done, 1 failed, 2 wrong usage,
4 data read differs from data written, 5 device or target lost,
130 or 143 stopped by Ctrl-C or SIGTERM. Finished steps are kept in every case.";

/// Group of the arguments of which exactly one is given: carry out, list, or show.
fn what() -> ArgGroup {
    ArgGroup::new("what")
        .args(["scenario", "list", "show"])
        .required(true)
}

/// `assay scenario`.
#[derive(Args, Debug)]
#[command(after_help = AFTER, group(what()))]
pub struct ScenarioArgs {
    /// Name of a built-in scenario (see --list), or a FILE.toml.
    #[arg(value_name = "SCENARIO|FILE", requires = "path")]
    pub scenario: Option<String>,
    /// Folder in which a folder is made and removed, or block device (needs --destroy-data).
    pub path: Option<PathBuf>,
    /// List the built-in scenarios.
    #[arg(long)]
    pub list: bool,
    /// Print the file of a built-in scenario.
    #[arg(long, value_name = "SCENARIO")]
    pub show: Option<String>,
    /// Multiply all sizes, counts and times by this.
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse_scale)]
    pub scale: f64,
    /// Number of repetitions [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Allow the programs that the scenario names to run. Read it first: it is code.
    #[arg(long)]
    pub allow_commands: bool,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl ScenarioArgs {
    /// Returns the number of repetitions.
    pub fn trials(&self) -> u32 {
        config::trials(self.trials, config::TRIALS)
    }
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.0001..=100.0).contains(&scale) => Ok(scale),
        _ => Err("give a number from 0.0001 to 100".to_owned()),
    }
}
