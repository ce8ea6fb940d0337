//! `assay qualify PATH`: identifies storage and measures its speed, with evidence for each figure.
//!
//! `--profile` appends the scenarios of a typical product with this kind of part, and for an eMCP a
//! test of its memory. All belong to one run, so that `assay compare` of two runs covers them all.

use crate::checks::admission::{self, Need};
use crate::checks::input;
use crate::checks::input::{bus_mode, parse_toml};
use crate::driver::Host;
use crate::driver::acts::{ComposedRun, MeasureArgs, PlannedAct};
use crate::driver::plans::{Prepared, interleaved};
use crate::driver::runs::random;
use crate::exit::{DONE, EXIT_CODES, Failure};
use crate::jobs::{QUICK_TRIALS, Scale, SuiteArgs, TRIALS};
use crate::judging::requirements::{Requirements, exit_code};
use crate::output::{say, show};
use crate::scenarios::Profile;
use crate::stored::lookup::FigureSource;
use crate::{config, jobs, scenarios};
use assay_model::figures::LEVEL;
use assay_model::plan::{Place, Plan};
use assay_model::run::{Claims, Datasheet, Run};
use assay_model::wire::{Feature, Inspection};
use assay_report::results::requirements::verdict;
use assay_report::views;
use assay_target::Target;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  assay qualify /mnt/sd
  assay qualify /dev/mmcblk1 --destroy-data --quick --name new-card
  assay qualify /data --on ssh://root@board --only 'rand-*'
";

/// `assay qualify`.
#[derive(Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub struct QualifyArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    pub path: PathBuf,
    #[command(flatten)]
    pub suite: SuiteArgs,
    /// Also play scenarios of a typical product with this kind of part (docs/scenarios.md), and
    /// measure the memory of an eMCP, all in one run.
    #[arg(long, value_name = "PART")]
    pub profile: Option<Profile>,
    /// Repetitions of each job [default: 5, with --quick 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Run only these jobs, separated by commas, such as seq-read-1m,rand-*; a name may end
    /// in *.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Mode of the bus, as listed by assay model limits, if the system does not report it:
    /// rates are compared with its ceiling.
    #[arg(long, value_name = "MODE")]
    pub bus: Option<String>,
    /// File with the device's datasheet figures (docs/model.md), to compare measured figures
    /// with.
    #[arg(long, value_name = "FILE.toml")]
    pub datasheet: Option<PathBuf>,
    /// Check the run against a file of requirements, or a built-in set such as mpc-12
    /// (docs/require.md); exit with 3 if one fails.
    #[arg(long, value_name = "FILE.toml|SET")]
    pub require: Option<PathBuf>,
    /// Overwrite the block device. All data on it is lost.
    #[arg(long)]
    pub destroy_data: bool,
    #[command(flatten)]
    pub shared: MeasureArgs,
}

impl QualifyArgs {
    /// Number of trials of each job.
    fn trials(&self) -> u32 {
        let usual = match self.suite.quick {
            true => QUICK_TRIALS,
            false => TRIALS,
        };
        config::trials(self.trials, usual)
    }
}

/// Qualifies a path on a target.
pub fn run(args: &QualifyArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    let claims = claims(args)?;
    let requirements = args
        .require
        .as_deref()
        .map(Requirements::read)
        .transpose()?;
    if args.profile.is_some() {
        target.needs(Feature::Composed);
    }
    let admit = |found: &_| admission::admit(found, Need::anything(args.destroy_data));
    let mut prepared = Prepared::new(&args.path, &args.shared.store, target, admit)?;
    let scale = Scale::new(&args.suite, &prepared.inspection)?;
    let plan = plan(args, &prepared.inspection, prepared.place.clone(), &scale)?;
    let seed = plan.seed;
    let mut acts = vec![PlannedAct::jobs(plan)];
    acts.extend(profile_acts(args, &prepared.place, &mut prepared.host)?);
    let measured = ComposedRun {
        acts,
        seed,
        claims,
        destroy_data: args.destroy_data,
    };
    let done = measured.carry_out(prepared, target)?;
    let run = requirements.is_some().then(|| done.run.clone());
    let code = done.present(args.shared.json)?;
    match (requirements, run) {
        (Some(requirements), Some(run)) if code == DONE => check(args, &requirements, run),
        _ => Ok(code),
    }
}

/// Checks the run against requirements, shows the result after the summary, and returns the exit
/// code.
fn check(args: &QualifyArgs, requirements: &Requirements, run: Run) -> Result<ExitCode, Failure> {
    let source = FigureSource::of_run(run);
    let rows = requirements.check(&source, &args.shared.store.store, LEVEL)?;
    match args.shared.json {
        true => say(&verdict(&rows)),
        false => show(&views::requirements::document(&source.lasting_name, &rows))?,
    }
    Ok(exit_code(&rows))
}

/// Plans the trials and their order.
fn plan(
    args: &QualifyArgs,
    inspection: &Inspection,
    place: Place,
    scale: &Scale,
) -> Result<Plan, Failure> {
    let seed = args.shared.seed.unwrap_or_else(random);
    let jobs = jobs::jobs((&args.only, args.trials()), inspection, &place, scale)?;
    Ok(interleaved(seed, place, scale.file, jobs))
}

/// Returns the user's statements about the device: `--bus` and `--datasheet`.
fn claims(args: &QualifyArgs) -> Result<Option<Claims>, Failure> {
    if args.bus.is_none() && args.datasheet.is_none() {
        return Ok(None);
    }
    // Only checked: the run stores the word of the user.
    args.bus.as_deref().map(bus_mode).transpose()?;
    Ok(Some(Claims {
        bus: args.bus.clone(),
        datasheet: args.datasheet.as_deref().map(datasheet).transpose()?,
    }))
}

fn datasheet(path: &Path) -> Result<Datasheet, Failure> {
    let refused = |why: String| Failure::in_file(path, why);
    let sheet: Datasheet = parse_toml(&input::text(path)?)
        .map_err(|mistake| refused(format!("it is not a datasheet: {mistake}")))?;
    match sheet.problem() {
        Some(field) => Err(refused(format!("{field} must be a number above 0"))),
        None => Ok(sheet),
    }
}

/// Returns the acts that a profile adds to the suite in this place.
///
/// # Errors
/// If the place must not be written, or programs are missing.
fn profile_acts(
    args: &QualifyArgs,
    place: &Place,
    host: &mut Host,
) -> Result<Vec<PlannedAct>, Failure> {
    let Some(profile) = args.profile else {
        return Ok(Vec::new());
    };
    let names = match place {
        Place::Directory { .. } => profile.in_folder(),
        Place::Device { .. } => &Profile::ON_DEVICE,
        Place::Simulated { path } => {
            return Err(Failure::usage(format!(
                "--profile plays scenarios, and {} is a simulated device, which keeps no data: \
                 leave --profile out, or give a folder or a block device",
                path.display()
            )));
        }
        Place::File { .. } | Place::Memory => {
            return Err(Failure::usage(
                "--profile plays scenarios: give a folder, or a block device",
            ));
        }
    };
    // Factor on all sizes, counts and times of each scenario.
    let factor = match (args.suite.quick, args.suite.thorough) {
        (true, _) => 0.04,
        (_, true) => 0.6,
        _ => 0.2,
    };
    let trials = args.trials();
    let mut acts = Vec::new();
    for name in names {
        acts.push(scenarios::planned(name, factor, trials, place, host)?);
    }
    if profile == Profile::Emcp {
        acts.push(jobs::memory(trials));
    }
    Ok(acts)
}
