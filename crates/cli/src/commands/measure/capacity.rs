//! `assay capacity PATH`: checks that storage holds as much as it reports.

use crate::checks::admission;
use crate::checks::admission::Need;
use crate::checks::estimate;
use crate::driver::acts::{MeasureArgs, MeasuringCommand, Planned};
use crate::driver::announce::Announcement;
use crate::exit::Failure;
use crate::jobs;
use assay_lang::tr;
use assay_model::act::Act;
use assay_model::act::capacity::{Capacity, Fill, Task};
use assay_model::plan::Place;
use assay_model::units::Bytes;
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_target::Target;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks the capacity of a path on a target.
pub fn run(args: &CapacityArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let command = MeasuringCommand {
        needs: Feature::Works,
        path: &args.path,
        trials: args.trials,
        destroy_data: args.destroy_data,
        shared: &args.shared,
        stopping: "stopping: written data is kept; a probe restores the overwritten blocks",
    };
    let done = command.carry_out(target, |bench| {
        let place = admit(args, &bench.inspection)?;
        let task = task(args, &place, &bench.inspection)?;
        let (path, steps) = (place.path().to_owned(), task.steps());
        Ok(Planned {
            announced: Some(announcement(&task, &place, &bench.inspection)),
            act: Act::Capacity(Box::new(Capacity { path, task })),
            place,
            steps,
        })
    })?;
    done.present(args.shared.json)
}

/// Admits the place; fails if the flags do not fit it.
fn admit(args: &CapacityArgs, inspection: &Inspection) -> Result<Place, Failure> {
    let shown = inspection.path.display();
    let flag = args.only_for_folders();
    if let (PathKind::Device { .. }, Some(flag)) = (inspection.kind, flag) {
        return Err(Failure::usage(format!(
            "{shown} is a block device: {flag} is for the files of a folder"
        )));
    }
    let need = Need {
        writes_folder: !args.verify_only,
        writes_device: !args.verify_only,
        risk: match args.probe {
            true => {
                "probing writes some of its blocks and puts them back, but what they held is lost \
                 if the machine stops in between; if that is what you want, add --destroy-data"
            }
            false => {
                "filling it destroys all data on it; if that is what you want, add \
                 --destroy-data, or try --probe, which puts back what it writes over"
            }
        },
        ..Need::written(args.destroy_data)
    };
    admission::admit(inspection, need)
}

/// Describes the writes and their duration.
fn announcement(task: &Task, place: &Place, inspection: &Inspection) -> Announcement {
    let free = inspection.storage.available.unwrap_or(Bytes(0));
    let size = match (inspection.kind, task) {
        (PathKind::Device { size }, _) => size,
        // The files that are checked are among the data that the file system holds.
        (_, Task::Fill(fill)) if !fill.write => {
            let total = inspection.storage.total.unwrap_or(free);
            Bytes(total.0.saturating_sub(free.0))
        }
        _ => free,
    };
    let limit = match task {
        Task::Fill(fill) => fill.limit_bytes.map(Bytes),
        _ => None,
    };
    let size = limit.map_or(size, |limit| size.min(limit));
    let path = place.path().display();
    let writes = match (task, place) {
        (Task::Fill(fill), _) if !fill.write => tr!("nothing: it checks what is there").to_owned(),
        (Task::Fill(_), Place::Device { .. }) => {
            tr!("OVER ALL DATA ON {path}: {bytes}", path, bytes = size)
        }
        (Task::Fill(fill), _) if fill.remove => tr!(
            "up to {bytes}, to files in {path} that are removed if they are correct",
            bytes = size,
            path
        ),
        (Task::Fill(_), _) => tr!("up to {bytes}, to files in {path}", bytes = size, path),
        (Task::Probe, _) => tr!(
            "some blocks all over {bytes} of {path}, and puts their data back",
            bytes = size,
            path
        ),
        (Task::ProbeFree, _) => tr!(
            "some blocks all over the free {bytes} of {path}, which are free again at the end",
            bytes = size,
            path
        ),
    };
    Announcement {
        first: Vec::new(),
        writes,
        steps: task.steps().len(),
        times: estimate::of_capacity(task, size),
    }
}

fn task(args: &CapacityArgs, place: &Place, inspection: &Inspection) -> Result<Task, Failure> {
    if args.probe {
        let shown = inspection.path.display();
        let probe = jobs::probe(place, inspection);
        return probe.map_err(|why| Failure::usage(format!("{shown} cannot be probed: {why}")));
    }
    Ok(Task::Fill(Fill {
        write: !args.verify_only,
        verify: !args.write_only,
        first_file: args.start.unwrap_or(1),
        last_file: args.end,
        limit_bytes: args.limit.map(|limit| limit.0),
        remove: args.remove,
    }))
}

const AFTER: &str = "\
The files are those of H2testw and f3: f3read checks what assay wrote, and assay
what f3write wrote.

Examples:
  assay capacity /mnt/sd
  assay capacity /mnt/sd --probe
  assay capacity /dev/sdb --probe --destroy-data

Exit codes: 0 all data read back is as it was written, 1 failed, 2 wrong usage, 4 data differs,
5 device or target lost, 130 or 143 stopped by Ctrl-C or SIGTERM; files written so far are kept
then, and --verify-only checks them.";

/// `assay capacity`.
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub struct CapacityArgs {
    /// Folder to fill with files 1.h2w, 2.h2w, ..., which replace those of an earlier run; or
    /// block device (needs --destroy-data).
    pub path: PathBuf,
    /// Check with few writes whether storage is smaller than it reports: the free space of a
    /// folder; or a block device, whose overwritten blocks are restored (needs --destroy-data:
    /// their data is lost if the machine stops in between).
    #[arg(long, conflicts_with_all = ["write_only", "verify_only", "start", "end", "limit", "remove", "keep"])]
    pub probe: bool,
    /// Only write; do not check.
    #[arg(long, conflicts_with = "verify_only")]
    pub write_only: bool,
    /// Only check files written by an earlier run, f3write or H2testw.
    #[arg(long)]
    pub verify_only: bool,
    /// Number of the first file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub start: Option<u32>,
    /// Number of the last file.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub end: Option<u32>,
    /// Write at most this much, for example 4G.
    #[arg(long, value_name = "SIZE")]
    pub limit: Option<Bytes>,
    /// Keep the files (the default; the opposite is --remove).
    #[arg(long, conflicts_with = "remove")]
    pub keep: bool,
    /// Remove the files that this run wrote, if all of them are correct.
    #[arg(long, conflicts_with_all = ["write_only", "verify_only"])]
    pub remove: bool,
    /// Number of repetitions.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl CapacityArgs {
    /// Returns the first given flag that does not apply to a device.
    pub fn only_for_folders(&self) -> Option<&'static str> {
        [
            (self.start.is_some(), "--start"),
            (self.end.is_some(), "--end"),
            (self.remove, "--remove"),
            (self.keep, "--keep"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }
}
