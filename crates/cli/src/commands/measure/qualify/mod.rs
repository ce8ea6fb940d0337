//! `assay qualify PATH`: identifies storage and measures its speed, with evidence for each figure.

pub mod profile;

use crate::checks::admission::{self, Need};
use crate::checks::input::{bus_mode, parse_toml};
use crate::checks::{estimate, input};
use crate::driver::acts::MeasureArgs;
use crate::driver::announce::announce;
use crate::driver::plans::{self, Prepared, interleaved, never_enough};
use crate::driver::runs::{header, random};
use crate::exit::{EXIT_CODES, Failure};
use crate::jobs::{QUICK_TRIALS, Scale, SuiteArgs, TRIALS};
use crate::{config, jobs, stored};
use assay_model::plan::{Place, Plan};
use assay_model::run::{Claims, Datasheet, RunHeader, RunStatus};
use assay_model::units::Nanos;
use assay_model::wire::{Feature, Inspection};
use assay_target::Target;
use clap::Args;
use profile::Profile;
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
    /// Also play scenarios of a product with such a part (docs/scenarios.md), and measure the
    /// memory of an eMCP, all in one run.
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
    if args.profile.is_some() {
        target.needs(Feature::Loads);
    }
    let admit = |found: &_| admission::admit(found, Need::anything(args.destroy_data));
    let Prepared {
        mut host,
        inspection,
        place,
        mut store,
    } = Prepared::new(&args.path, &args.shared.store, target, admit)?;

    let scale = Scale::new(&args.suite, &inspection)?;
    let more = profile::more(args, &place, &mut host)?;
    let plan = plan(args, &inspection, place, &scale)?;
    let suite = estimate::of_plan(&plan);
    let [usual, slow] = more.times().map(|time| Nanos(suite.0 + time.0));
    let duration = (usual, (!more.is_empty()).then_some(slow));
    announce(&plan, &inspection, host.target(), duration, store.path());

    let mut header = header(plan, inspection, host.origin());
    header.claims = claims;
    let whole = RunHeader {
        plan: with(&header.plan, &more),
        ..header.clone()
    };
    store.begin_run(&whole, &stored::this_process())?;
    let executed = plans::execute(&mut host, &header, &mut store, Vec::new(), never_enough);
    let done = plans::close(whole, &mut store, executed, target)?;
    if more.is_empty() || done.run.status != RunStatus::Finished {
        return done.present(args.shared.json);
    }
    let done = more.carry_out(args, done.run, store, (&mut host, target))?;
    done.present(args.shared.json)
}

/// Returns the plan of the whole run. The agent gets the plan of the suite alone.
fn with(suite: &Plan, more: &profile::More) -> Plan {
    let mut plan = suite.clone();
    plan.jobs.extend(more.jobs());
    plan
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
