//! `assay qualify --profile`: the suite, then the scenarios of a product with such a part, then for
//! an eMCP its memory. All are one run, so that two of them are compared in every dimension.

use super::QualifyArgs;
use crate::checks::estimate;
use crate::driver::acts::{ActRun, all_slots};
use crate::driver::host::Host;
use crate::driver::runs::Done;
use crate::driver::step_progress::StepTalk;
use crate::exit::Failure;
use crate::interrupt::Interrupts;
use crate::output::say;
use crate::{jobs, scenarios, stored};
use assay_lang::tr;
use assay_model::act::{Act, Acts};
use assay_model::plan::{Place, PlannedJob, Slot};
use assay_model::rng::SplitMix64;
use assay_model::run::Run;
use assay_model::text::clean;
use assay_model::units::Nanos;
use assay_store::Store;
use assay_target::Target;
use clap::ValueEnum;

/// Use of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Flash and LPDDR in one package, as in phones.
    Emcp,
    /// Embedded flash.
    Emmc,
    /// Cards of cameras and recorders.
    Sd,
    /// Sticks.
    Usb,
}

impl Profile {
    /// Returns the profile's scenarios for a folder.
    const fn in_folder(self) -> &'static [&'static str] {
        match self {
            Self::Emcp | Self::Emmc => &[
                "ota-ab",
                "app-install",
                "boot",
                "database-log",
                "log-writer",
                "background-write",
            ],
            Self::Sd => &["camera-burst", "video", "log-writer", "ota-files"],
            Self::Usb => &["flashing", "ota-files", "background-write"],
        }
    }

    /// Scenarios for a scratch device.
    const ON_DEVICE: [&'static str; 2] = ["flashing", "factory-reset"];
}

/// Works that follow the suite.
#[derive(Default)]
pub struct More {
    works: Vec<(Act, Vec<PlannedJob>)>,
    times: [Nanos; 2],
}

/// Returns the works that a profile adds to the suite in this place.
///
/// # Errors
/// If the place must not be written, or programs are missing.
pub fn more(args: &QualifyArgs, place: &Place, host: &mut Host) -> Result<More, Failure> {
    let Some(profile) = args.profile else {
        return Ok(More::default());
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
    let scale = match (args.suite.quick, args.suite.thorough) {
        (true, _) => 0.04,
        (_, true) => 0.6,
        _ => 0.2,
    };
    let planned = |job| PlannedJob {
        job,
        trials: args.trials(),
    };
    let (mut works, mut once_ns) = (Vec::new(), [0; 2]);
    for name in names {
        let resolved = scenarios::built(name, scale, place)?;
        scenarios::tools_are_there(host, &resolved.scenario)?;
        say(&clean(&tr!(
            "then the scenario {name}, which writes up to {written} each time",
            name,
            written = resolved.written
        )));
        for (all, time) in once_ns.iter_mut().zip(resolved.times) {
            *all += time.0;
        }
        let steps = scenarios::measured(&resolved);
        let work = Act::Scenario(Box::new(resolved.scenario));
        works.push((work, steps.into_iter().map(planned).collect()));
    }
    if profile == Profile::Emcp {
        let (work, steps) = jobs::short();
        once_ns = once_ns.map(|all| all + estimate::of_memory(steps.len()).0);
        works.push((work, steps.into_iter().map(planned).collect()));
    }
    let times = once_ns.map(|once| Nanos(once.saturating_mul(args.trials().into())));
    Ok(More { works, times })
}

impl More {
    /// `true` if there are no works.
    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Returns the estimated times of all works at the speeds of [`SPEEDS`](estimate::SPEEDS).
    pub const fn times(&self) -> [Nanos; 2] {
        self.times
    }

    /// Returns the steps of the works, as the plan of the run has them.
    pub fn jobs(&self) -> impl Iterator<Item = PlannedJob> + '_ {
        self.works.iter().flat_map(|(_, jobs)| jobs.iter().cloned())
    }

    /// Carries out all acts, and appends their trials to the finished run of the suite. An act that
    /// does not finish is the last.
    pub fn carry_out(
        self,
        args: &QualifyArgs,
        run: Run,
        mut store: Store,
        (host, target): (&mut Host, &mut dyn Target),
    ) -> Result<Done, Failure> {
        // The suite has printed the message about a stop.
        let interrupt = host.obey_signals(Interrupts::Caught, || {})?;
        store.reopen_run(&run.header.id, &stored::this_process(), run.trials.len())?;
        let mut talk = StepTalk::new(self.jobs().count());
        let mut acts = Acts {
            acts: Vec::new(),
            slots: Vec::new(),
            destroy_data: args.destroy_data,
            stand_in: None,
        };
        for ((index, number), (work, _)) in (0..).zip(1..).zip(self.works) {
            let mut seeds = SplitMix64::new(run.header.plan.seed ^ number);
            let trials = (1..=args.trials()).map(|trial| Slot::plain(index, trial));
            acts.slots
                .extend(trials.map(|slot| (slot, seeds.next_u64())));
            acts.acts.push(work);
        }
        let acts_of_run = ActRun {
            done: (run.trials, 0),
            ..ActRun::new(run.header, Some(store), &acts)
        };
        let done = acts_of_run.carry_out(target, host, &interrupt, &mut talk, &mut all_slots);
        talk.close();
        done
    }
}
