//! `assay qualify PATH`: what is this storage, how fast is it really, and can
//! I believe it?

mod claims;
pub mod profile;

use crate::checks::admission::Need;
use crate::checks::{admission, estimate};
use crate::driver::announce::announce;
use crate::driver::host::Host;
use crate::driver::measuring::MeasureArgs;
use crate::driver::runs::{header, random, run_id};
use crate::driver::{leftovers, plans};
use crate::exit::{EXIT_CODES, Failure};
use crate::jobs::suite::{self, Scale, SuiteOptions};
use crate::stored::owner;
use crate::ui::values::parse_size;
use assay_model::condition::Restore;
use assay_model::plan::{Place, Plan, interleave};
use assay_model::run::{RunHeader, RunStatus};
use assay_model::units::Bytes;
use assay_model::units::Nanos;
use assay_model::wire::Inspection;
use assay_target::Target;
use clap::Args;
use profile::Profile;
use std::path::PathBuf;
use std::process::ExitCode;

/// `assay qualify`.
#[derive(Args, Debug)]
#[command(after_help = EXIT_CODES)]
pub struct QualifyArgs {
    /// A directory (a test file is made in it and removed), a file (it is only
    /// read), or a block device (needs --destroy-data).
    pub path: PathBuf,
    /// About a minute, with a test file of 256 MiB.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Longer trials, with a test file larger than the memory if it fits.
    #[arg(long)]
    pub thorough: bool,
    /// Also play scenarios of a product with such a part (docs/scenarios.md), and measure the
    /// memory of an eMCP, all in one run.
    #[arg(long, value_name = "PART")]
    pub profile: Option<Profile>,
    /// Repetitions of each job [default: 5, with --quick 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: Option<u32>,
    /// Size of the test file, for example 512M or 4G.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<Bytes>,
    /// Run only these jobs (see the list in the summary), separated by commas;
    /// a name may end in *.
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
    /// Options of its suite of jobs.
    fn suite(&self) -> SuiteOptions {
        SuiteOptions {
            quick: self.quick,
            thorough: self.thorough,
            trials: self.trials,
            size: self.size,
            only: self.only.clone(),
        }
    }
}

/// Qualifies a path on a target.
pub fn run(args: &QualifyArgs, target: &mut dyn Target) -> Result<ExitCode, Failure> {
    admission::can_be_stored(&args.path)?;
    let claims = claims::of(args)?;
    let store_path = args.shared.store.path()?;
    if args.profile.is_some() {
        target.needs_larger_agent();
    }
    let mut host = Host::start(target)?;
    let inspection = host.inspect(&args.path)?;
    let place = admission::admit(&inspection, Need::anything(args.destroy_data))?;
    // Only now: a path that is refused leaves no store behind.
    let mut store = args.shared.store.open(&store_path)?;
    leftovers::clear(&mut host, &mut store, &place)?;
    // Leftovers took room that is free now.
    let inspection = host.inspect(&args.path)?;

    let scale = Scale::new(&args.suite(), &inspection)?;
    let more = profile::more(args, &place, &mut host)?;
    let plan = plan(args, &inspection, place, &scale)?;
    let duration = Nanos(estimate::of_plan(&plan).0 + more.time().0);
    announce(&plan, &inspection, host.target(), duration, store.path());

    let mut header = header(plan, inspection, host.names());
    header.claims = claims;
    let whole = RunHeader {
        plan: with(&header.plan, &more),
        ..header.clone()
    };
    store.begin_run(&whole, &owner::this_process())?;
    let all = |_: &[_], _: &_| false;
    let executed = plans::execute(&mut host, &header, &mut store, Vec::new(), all);
    let done = plans::close(whole, &mut store, executed, target)?;
    if more.is_empty() || done.run.status != RunStatus::Finished {
        return done.present(args.shared.json);
    }
    drop(store);
    let done = more.carry_out(args, done.run, &store_path, (&mut host, target))?;
    done.present(args.shared.json)
}

/// The plan of the whole run: the agent is asked for the suite alone.
fn with(suite: &Plan, more: &profile::More) -> Plan {
    let mut plan = suite.clone();
    plan.jobs.extend(more.jobs());
    plan
}

/// Which trials, in which order.
fn plan(
    args: &QualifyArgs,
    inspection: &Inspection,
    place: Place,
    scale: &Scale,
) -> Result<Plan, Failure> {
    let seed = args.shared.seed.unwrap_or_else(random);
    let jobs = suite::jobs(&args.suite(), inspection, &place, scale)?;
    let trials: Vec<u32> = jobs.iter().map(|planned| planned.trials).collect();
    Ok(Plan {
        run_id: run_id(),
        seed,
        place,
        file_size: scale.file,
        conditions: Vec::new(),
        restore: Restore::default(),
        order: interleave(&trials, seed),
        jobs,
    })
}
