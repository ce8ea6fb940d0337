//! `assay capacity PATH`: checks that storage holds as much as it reports.

mod args;

use crate::checks::admission::{self, Need};
use crate::driver::measuring::MeasuringCommand;
use crate::exit::Failure;
pub use args::CapacityArgs;
use assay_model::job::{Job, Rw};
use assay_model::plan::Place;
use assay_model::units::Bytes;
use assay_model::wire::{Feature, Inspection, PathKind};
use assay_model::work::Work;
use assay_model::work::capacity::{Capacity, Fill, Task};
use assay_target::Target;
use std::process::ExitCode;

/// Checks the capacity of a path on a target.
pub fn run(args: &CapacityArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let command = MeasuringCommand {
        needs: Feature::Works,
        path: &args.path,
        trials: args.trials,
        destroy_data: args.destroy_data,
        shared: &args.shared,
        stopping: "stopping: what was written is kept, or put back after a probe",
    };
    let done = command.carry_out(target, |bench| {
        let place = admit(args, &bench.inspection)?;
        let (path, task) = (place.path().to_owned(), task(args));
        let steps = steps(&task);
        Ok((
            place,
            Work::Capacity(Box::new(Capacity { path, task })),
            steps,
        ))
    })?;
    done.present(args.shared.json)
}

/// Admits the place; fails if the flags do not fit it.
fn admit(args: &CapacityArgs, inspection: &Inspection) -> Result<Place, Failure> {
    let shown = inspection.path.display();
    let flag = args.only_for_folders();
    match (inspection.kind, flag) {
        (PathKind::Directory { .. }, _) if args.probe => {
            return Err(Failure::usage(format!(
                "{shown} is a folder: only a block device can be probed"
            )));
        }
        (PathKind::Device { .. }, Some(flag)) => {
            return Err(Failure::usage(format!(
                "{shown} is a block device: {flag} is for the files of a folder"
            )));
        }
        _ => {}
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

fn task(args: &CapacityArgs) -> Task {
    if args.probe {
        return Task::Probe;
    }
    Task::Fill(Fill {
        write: !args.verify_only,
        verify: !args.write_only,
        first_file: args.start.unwrap_or(1),
        last_file: args.end,
        limit_bytes: args.limit.map(|limit| limit.0),
        remove: args.remove,
    })
}

/// Returns the named steps for the plan; the agent completes them.
fn steps(task: &Task) -> Vec<Job> {
    let step = |name, rw| Job::new(name, rw, Bytes::mib(1), Bytes(0));
    match task {
        Task::Probe => vec![step("probe", Rw::RandRw)],
        Task::Fill(fill) => [
            fill.write.then(|| step("write", Rw::Write)),
            fill.verify.then(|| step("verify", Rw::Read)),
        ]
        .into_iter()
        .flatten()
        .collect(),
    }
}
