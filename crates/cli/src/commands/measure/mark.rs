//! `assay mark PATH`: the usual disk marks, SD speed classes, and rounds until a steady state.

use crate::checks::admission::{self, Need};
use crate::checks::estimate::file_size;
use crate::driver::acts::MeasureArgs;
use crate::driver::plans::{Prepared, SoFarOfPlan, interleaved};
use crate::driver::runs::random;
use crate::exit::{DONE, Failure, MISSED};
use crate::output::{print, say, show};
use crate::rounds::on_place;
use assay_dialects::mark::{self, FILL, MarkProfile, ROUND, SdClass};
use assay_lang::{counted, tr};
use assay_model::job::Job;
use assay_model::plan::{Place, Plan, PlannedJob, Slot, rounds};
use assay_model::run::Run;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::{Inspection, PathKind};
use assay_report::json;
use assay_report::views::marks::{self, CheckedClass};
use assay_stats::course::Window;
use assay_stats::figures::RequirementFinding;
use assay_target::Target;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay mark /mnt/sd
  assay mark /dev/sdb --class A2 --destroy-data
  assay mark /dev/nvme1n1 --steady-state --destroy-data
";

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage,
3 the class is missed, 5 device or target lost, 130 or 143 stopped by Ctrl-C or
SIGTERM. Finished trials are kept in every case.";

/// `assay mark`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct MarkArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    pub path: PathBuf,
    /// Check a speed class of SD cards: A1, A2, C10, U1, U3, V6, V10, V30, V60
    /// or V90.
    #[arg(long, value_name = "CLASS", conflicts_with = "steady_state")]
    pub class: Option<SdClass>,
    /// Write a whole device twice, then at random in rounds until five of them
    /// are steady (SNIA).
    #[arg(long)]
    pub steady_state: bool,
    /// Number of trials of each test, or largest number of rounds of --steady-state [default: 5 for
    /// marks, after one conditioning trial; 3 for a class; 25 rounds].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Seconds per trial [default: 5, for a class 10, for a round 60].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: Option<u64>,
    /// Size of the test file or region [default: 1G, for a steady state the whole device].
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

/// Size of the test file, if there is enough space; a class is defined for it.
const TEST_FILE: Bytes = Bytes::gib(1);
/// Number of trials of a class check.
const CLASS_TRIALS: u32 = 3;

/// Measurement that the command makes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measurement {
    Marks,
    Class(SdClass),
    SteadyState,
}

impl Measurement {
    const fn of(args: &MarkArgs) -> Self {
        match args.class {
            Some(class) => Self::Class(class),
            None if args.steady_state => Self::SteadyState,
            None => Self::Marks,
        }
    }

    /// Returns the default length of a trial, in seconds.
    const fn seconds(self) -> u64 {
        match self {
            Self::Marks => 5,
            Self::Class(_) => 10,
            Self::SteadyState => 60,
        }
    }

    /// Returns the size of the test file, if there is space; a steady state uses the whole device.
    fn file(self, inspection: &Inspection) -> Bytes {
        match (self, &inspection.kind) {
            (Self::SteadyState, PathKind::Device { size }) => *size,
            _ => TEST_FILE,
        }
    }
}

/// Runs a mark on a target.
pub fn run(args: &MarkArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let wanted = Measurement::of(args);
    let (path, keep) = (&args.path, &args.shared.store);
    let prepared = Prepared::new(path, keep, target, |found| admit(args, wanted, found))?;
    let plan = plan(args, wanted, &prepared)?;
    let enough = |so_far: SoFarOfPlan<'_>, _: &_| {
        wanted == Measurement::SteadyState && is_steady(so_far.trials)
    };
    let done = prepared.run(plan, target, enough)?;
    if done.stored {
        present(&done.run, wanted, args.shared.json)?;
    }
    let missed = class_of(&done.run, wanted)
        .is_some_and(|class| class.finding(&done.run) == RequirementFinding::Missed);
    let code = done.conclude()?;
    Ok(if code == DONE && missed {
        ExitCode::from(MISSED)
    } else {
        code
    })
}

fn admit(args: &MarkArgs, wanted: Measurement, inspection: &Inspection) -> Result<Place, Failure> {
    let shown = inspection.path.display();
    let is_device = matches!(inspection.kind, PathKind::Device { .. });
    if wanted == Measurement::SteadyState && !is_device {
        return Err(Failure::usage(format!(
            "{shown} is not a block device: a steady state is measured on a whole device; name the device"
        )));
    }
    let place = admission::admit(inspection, Need::anything(args.destroy_data))?;
    if let (Place::File { .. }, true) = (&place, wanted != Measurement::Marks) {
        return Err(Failure::usage(format!(
            "{shown} is a file, which is only read, and a class is about writes too: give the \
             directory it is in"
        )));
    }
    Ok(place)
}

/// Plans the trials: for marks, rounds in random order after a conditioning round; for a steady
/// state, rounds after the whole capacity was written.
fn plan(args: &MarkArgs, wanted: Measurement, prepared: &Prepared) -> Result<Plan, Failure> {
    let place = prepared.place.clone();
    let seed = args.shared.seed.unwrap_or_else(random);
    let scale = scale(args, wanted, &prepared.inspection)?;
    let (mut jobs, trials) = match wanted {
        // One more: trial 0 of each job is the conditioning trial.
        Measurement::Marks => (mark::marks(&scale), args.trials.unwrap_or(5) + 1),
        Measurement::Class(class) => (class.jobs(&scale), args.trials.unwrap_or(CLASS_TRIALS)),
        Measurement::SteadyState => (
            mark::steady_state(&scale).to_vec(),
            // Largest number of rounds in SNIA's test specification.
            args.trials.unwrap_or(25),
        ),
    };
    on_place(&place, &mut jobs)?;
    let reads_only = matches!(place, Place::File { .. });
    let jobs: Vec<PlannedJob> = jobs
        .into_iter()
        .filter(|job| !(reads_only && job.rw.writes()))
        .map(|job| PlannedJob {
            trials: if job.name == FILL { 1 } else { trials },
            job,
        })
        .collect();
    let mut plan = interleaved(seed, place, scale.file, jobs);
    match wanted {
        Measurement::SteadyState => plan.order = in_sequence(&plan.jobs),
        Measurement::Marks => plan.order = rounds(plan.jobs.len(), 0, trials - 1, seed),
        Measurement::Class(_) => {}
    }
    Ok(plan)
}

fn scale(
    args: &MarkArgs,
    wanted: Measurement,
    inspection: &Inspection,
) -> Result<MarkProfile, Failure> {
    let seconds = args.seconds.unwrap_or(wanted.seconds());
    Ok(MarkProfile {
        file: file_size(args.size, wanted.file(inspection), Bytes(0), inspection)?,
        trial: Nanos::secs(seconds),
        engine: inspection.async_engines.first().copied(),
    })
}

/// Returns the marks as jobs of a sweep, and the size of their file.
pub fn swept(args: &MarkArgs, inspection: &Inspection) -> Result<(Vec<Job>, Bytes), Failure> {
    let wanted = Measurement::of(args);
    if wanted != Measurement::Marks {
        return Err(Failure::usage(
            "a sweep can repeat only the marks: measure a class or a steady state with assay mark",
        ));
    }
    let scale = scale(args, wanted, inspection)?;
    Ok((mark::marks(&scale), scale.file))
}

/// Orders all trials of a job before those of the next one.
fn in_sequence(jobs: &[PlannedJob]) -> Vec<Slot> {
    let slots = jobs
        .iter()
        .enumerate()
        .flat_map(|(job, planned)| (1..=planned.trials).map(move |trial| Slot::plain(job, trial)));
    slots.collect()
}

/// `true` if the rounds so far have become steady.
fn is_steady(trials: &[TrialRecord]) -> bool {
    let rounds = trials
        .iter()
        .filter(|trial| trial.job.name == ROUND && trial.outcome == Outcome::Completed);
    let iops = rounds.filter_map(|trial| {
        let measured = trial.measured.as_ref()?;
        let per_second = measured.write.ios as f64 * 1e9 / measured.elapsed_ns as f64;
        Some(per_second)
    });
    let iops: Vec<f64> = iops.collect();
    Window::of(&iops).is_some_and(|window| window.is_steady())
}

fn class_of(run: &Run, wanted: Measurement) -> Option<CheckedClass> {
    let Measurement::Class(class) = wanted else {
        return None;
    };
    let deviation = deviation(&run.header.plan, wanted);
    Some(CheckedClass {
        name: class.to_string(),
        requirements: class.requirements(),
        conditions: class.conditions(run.header.plan.file_size) + &deviation,
    })
}

/// Describes how the user's options reduce a class check; empty if they do not.
fn deviation(plan: &Plan, wanted: Measurement) -> String {
    let less = |words: String, is_less: bool| is_less.then_some(words);
    let trials = plan.jobs.iter().map(|planned| planned.trials).max();
    let trials = trials.unwrap_or(0);
    let length = plan
        .jobs
        .iter()
        .filter_map(|planned| planned.job.runtime)
        .max();
    let seconds = length.map_or(wanted.seconds(), |length| length.0 / 1_000_000_000);
    let all = [
        less(plan.file_size.to_string(), plan.file_size < TEST_FILE),
        less(format!("{seconds} s per trial"), seconds < wanted.seconds()),
        less(
            counted!(trials, "{n} trial", "{n} trials"),
            trials < CLASS_TRIALS,
        ),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    match all.is_empty() {
        true => String::new(),
        false => tr!(
            ". The class is defined for 1 GiB, 10 s per trial and 3 trials; this run used {less}",
            less = all.join(", ")
        ),
    }
}

fn present(run: &Run, wanted: Measurement, as_json: bool) -> Result<(), Failure> {
    if as_json {
        return print(|out| json::write(run, out));
    }
    let document = match (wanted, class_of(run, wanted)) {
        (_, Some(class)) => marks::class(run, &class),
        (Measurement::SteadyState, None) => marks::rounds(run, ROUND),
        (_, None) => marks::marks(run),
    };
    show(&document)?;
    let id = &run.header.id;
    say(&tr!("Stored as run {id}: assay report {id}", id));
    Ok(())
}
