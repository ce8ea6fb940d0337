//! Commands that measure by one work: admission, the order to the agent, progress.

use crate::checks::admission::can_be_stored;
use crate::driver::acts::{Request, all_slots, execute};
use crate::driver::announce::{held, tell};
use crate::driver::host::Host;
use crate::driver::runs::{self, Done};
use crate::driver::step_progress::StepTalk;
use crate::exit::Failure;
use crate::stored::KeepArgs;
use crate::targets::OnArgs;
use assay_model::act::Act;
use assay_model::job::Job;
use assay_model::plan::Place;
use assay_model::wire::{Feature, Inspection};
use assay_target::Target;
use clap::Args;
use std::path::Path;

/// Arguments that commands which measure have in common.
#[derive(Args, Debug)]
pub struct MeasureArgs {
    /// Repeat the order, offsets and contents of an earlier run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the run as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: KeepArgs,
    #[command(flatten)]
    pub on: OnArgs,
}

/// A command that measures by one work.
pub struct MeasuringCommand<'a> {
    /// Feature that the agent must have.
    pub needs: Feature,
    /// Path that is inspected.
    pub path: &'a Path,
    /// Repetitions.
    pub trials: u32,
    /// `true` if the user agreed that the data on a block device is destroyed.
    pub destroy_data: bool,
    /// Arguments that such commands share.
    pub shared: &'a MeasureArgs,
    /// Message when the user asks to stop.
    pub stopping: &'static str,
}

/// Target that was inspected, before the measurement.
pub struct Bench {
    /// Connection to the agent.
    pub host: Host,
    /// Inspection of the path; the run's description of its storage comes from here.
    pub inspection: Inspection,
    /// Seed of orders and contents.
    pub seed: u64,
}

/// Place and work, with the steps in their order, as far as they are known.
pub type Planned = (Place, Act, Vec<Job>);

impl MeasuringCommand<'_> {
    /// Carries out the command on a target. `plan` admits the place, makes the work, and announces it.
    pub fn carry_out(
        &self,
        target: &mut dyn Target,
        plan: impl FnOnce(&mut Bench) -> Result<Planned, Failure>,
    ) -> Result<Done, Failure> {
        can_be_stored(self.path)?;
        target.needs(self.needs);
        let mut host = Host::start(target)?;
        let inspection = host.inspect(self.path)?;
        let seed = self.shared.seed.unwrap_or_else(runs::random);
        let mut bench = Bench {
            host,
            inspection,
            seed,
        };
        let request = self.request(plan(&mut bench)?, seed);
        if self.destroy_data {
            tell(&Vec::from_iter(held(&bench.inspection)));
        }
        let mut talk = StepTalk::new(request.steps.len());
        let (store, found) = (&self.shared.store, bench.inspection);
        let done = execute(
            target,
            &mut bench.host,
            found,
            &request,
            store,
            &mut talk,
            &mut all_slots,
        );
        talk.close();
        done
    }

    /// Makes the request for a work.
    pub fn request(&self, (place, work, steps): Planned, seed: u64) -> Request {
        Request {
            work,
            steps,
            trials: self.trials,
            seed,
            destroy_data: self.destroy_data,
            place,
            stopping: self.stopping,
            must_be_stored: true,
            sweep: None,
        }
    }
}
