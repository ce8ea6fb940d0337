//! Costs of single requests: from the model that simulated the run, from a part named by the user,
//! or from a fit of the run's own results.
//!
//! To add a part: add a variant of `Kind`, compute it in `account` from the remainder of the
//! latency, so that all parts add up, with its numbers in `Share::basis`, and add a line in
//! `docs/explain.md`. A cause without a number goes into `Account::unknown`.

use crate::as_f64;
use crate::fit_input::{Measured, is_determined, of_results, simulated_part};
use crate::observed::Observed;
use assay_flash::device::{Device, RequestPhase};
use assay_flash::estimate::{Estimated, Observation, estimate};
use assay_flash::experiment::{Issue, Parameter, SimulatedJob, run_issued};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use assay_flash::{BLOCK_BYTES, FlashError};
use assay_lang::{counted, tr};
use assay_model::job::{Direction, OpenSync, Rw};
use assay_model::storage::{DeviceKind, Storage};
use assay_model::units::{as_u64, three_digits};
use assay_report::describe;
use assay_report::words::clean;
use std::collections::BTreeSet;

/// Costs of requests, by their source.
#[derive(Clone, Debug)]
pub enum Costs {
    /// This model simulated the run.
    Truth(Box<DeviceModel>, Policy),
    /// The user named this part.
    Given(Box<DeviceModel>),
    /// Fit of the run's results.
    Fitted(Box<Fitted>),
    /// The costs are not known; contains the reason.
    Unknown(String),
}

/// Fit of a run's results.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Fitted values.
    pub measured: Measured,
    /// Fit of the reads alone, which the side effects of writes cannot spoil.
    reads: Estimated,
    /// Fit of reads and writes together.
    all: Estimated,
}

/// Phases of an I/O, in microseconds.
#[derive(Clone, Debug)]
pub struct Phases {
    /// Microseconds by kind; [`Kind::Data`] contains the whole transfer.
    pub parts: Vec<(Kind, f64)>,
    /// Source of the phases.
    pub known: Known,
    /// Parameters of the fit.
    parameters: Vec<Parameter>,
}

/// Number of different I/O sizes that a fit of one direction needs.
const FEWEST_SIZES: usize = 3;
/// Maximum number of I/Os to simulate.
const MOST_IOS: u64 = 300_000;

impl Costs {
    /// Derives the costs from the results under one condition.
    pub fn of(observed: &[Observed<'_>], storage: &Storage, given: Option<&DeviceModel>) -> Self {
        if let Some(part) = given {
            return Self::Given(Box::new(part.clone()));
        }
        if let Some(part) = simulated_part(storage) {
            let word = storage
                .device()
                .and_then(|device| device.identity.raw.get("policy"));
            let policy = word.and_then(|word| word.parse().ok());
            return Self::Truth(Box::new(part), policy.unwrap_or(Policy::Closed));
        }
        let kind = storage.device().map(|layer| &layer.identity.kind);
        let name = DeviceModel::name_like(kind.unwrap_or(&DeviceKind::Sd));
        let start = DeviceModel::find(name).ok_or_else(|| format!("no part is called {name}"));
        let measured = start.and_then(|start| of_results(observed, storage, start, None));
        let measured = match measured {
            Ok(measured) => measured,
            Err(why) => return Self::Unknown(why),
        };
        match Fitted::of(measured) {
            Ok(fitted) => Self::Fitted(Box::new(fitted)),
            Err(error) => Self::Unknown(error.to_string()),
        }
    }

    /// Simulates a result with the model that made it. Returns `None` for a measured result, and
    /// for patterns that cannot be simulated.
    pub fn truth(&self, one: &Observed<'_>) -> Option<Phases> {
        match self {
            Self::Truth(part, policy) => simulated(part, *policy, one, Known::Model),
            _ => None,
        }
    }

    /// Returns true if a model simulated the run.
    pub const fn is_truth(&self) -> bool {
        matches!(self, Self::Truth(..))
    }

    /// Returns the phases of an I/O at depth 1 from a fit or the named part, or the reason why
    /// there are none. Returns `None` if a model simulated the run, or the run has no fit.
    pub fn fitted(&self, one: &Observed<'_>) -> Option<Result<Phases, String>> {
        match self {
            Self::Truth(..) | Self::Unknown(_) => None,
            Self::Given(part) => Some(
                simulated(part, Policy::Closed, one, Known::Given)
                    .map(Phases::without_queue)
                    .ok_or_else(own_order),
            ),
            Self::Fitted(fitted) => Some(fitted.phases(one)),
        }
    }
}

impl Fitted {
    fn of(measured: Measured) -> Result<Self, FlashError> {
        let seen = measured.lines.iter().map(|line| line.seen);
        let all: Vec<Observation> = seen.collect();
        let is_read = |seen: &&Observation| seen.direction == Direction::Read;
        let reads: Vec<Observation> = all.iter().filter(is_read).copied().collect();
        let fit = |seen: &[Observation]| estimate(&measured.start, measured.policy, seen);
        Ok(Self {
            reads: fit(&reads)?,
            all: fit(&all)?,
            measured,
        })
    }

    /// Returns the fit to use for a direction.
    const fn of_direction(&self, direction: Direction) -> &Estimated {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.all,
        }
    }

    /// Returns all parameters, each from the fit of its direction.
    pub fn parameters(&self) -> Vec<Parameter> {
        let both = self.reads.parameters.iter().zip(&self.all.parameters);
        both.map(
            |(read, all)| match read.name.starts_with("read.") && read.error.is_some() {
                true => read.clone(),
                false => all.clone(),
            },
        )
        .collect()
    }

    fn phases(&self, one: &Observed<'_>) -> Result<Phases, String> {
        let sizes = self.measured.lines.iter().map(|line| line.seen);
        let sizes: BTreeSet<u64> = sizes
            .filter(|seen| seen.direction == one.direction)
            .map(|seen| seen.blocks)
            .collect();
        if sizes.len() < FEWEST_SIZES {
            let name = clean(&one.name());
            let mut left_out = self.measured.left_out.iter();
            let left_out =
                left_out.find(|left| left.direction == one.direction && left.job == name);
            let why = left_out.map(|left| left.why.as_str());
            return Err(too_few_sizes(one.direction, sizes.len(), why));
        }
        let estimated = self.of_direction(one.direction);
        let phases = simulated(&estimated.part, self.measured.policy, one, Known::Fit);
        let mut phases = phases.ok_or_else(own_order)?;
        phases.parameters.clone_from(&estimated.parameters);
        Ok(phases.merged(one.direction))
    }
}

impl Phases {
    /// Returns the sum of all parts, in microseconds.
    pub fn total_us(&self) -> f64 {
        self.parts.iter().map(|(_, us)| us).sum()
    }

    /// Returns the microseconds of one kind.
    pub fn us(&self, kind: Kind) -> f64 {
        let own = self.parts.iter().filter(|(of, _)| *of == kind);
        own.map(|(_, us)| us).sum()
    }

    /// Describes the parameters from which one kind is computed.
    pub fn basis(&self, kind: Kind, direction: Direction) -> String {
        let own = self.parameters.iter();
        let own = own.filter(|parameter| belongs(kind, direction).contains(&parameter.name));
        fit_basis(self.known, own)
    }

    fn without_queue(mut self) -> Self {
        self.parts.retain(|(kind, _)| *kind != Kind::Queue);
        self
    }

    /// Merges the parts that the fitted sizes cannot separate.
    fn merged(mut self, direction: Direction) -> Self {
        let told = |name: &str| {
            let mut all = self.parameters.iter();
            all.find(|parameter| parameter.name == name)
                .is_some_and(is_determined)
        };
        let needed: &[&str] = match direction {
            Direction::Read => &["read.command", "read.ramp", "read.block"],
            Direction::Write => &["read.command", "write.program", "write.ramp", "write.block"],
        };
        if needed.iter().all(|name| told(name)) {
            return self;
        }
        // A known fixed cost also determines the cost that grows with the size.
        let fixed_is_determined = direction == Direction::Read && told("read.command");
        let merge = |kind: &Kind| !(fixed_is_determined && *kind == Kind::Command);
        let merged_us = self
            .parts
            .iter()
            .filter(|(kind, _)| merge(kind))
            .map(|(_, us)| us)
            .sum();
        let into = match fixed_is_determined {
            true => Kind::Data,
            false => Kind::Fixed,
        };
        self.parts.retain(|(kind, _)| !merge(kind));
        self.parts.push((into, merged_us));
        self
    }
}

/// Returns the names of the parameters from which a part of the time is computed.
const fn belongs(kind: Kind, direction: Direction) -> &'static [&'static str] {
    match (kind, direction) {
        (Kind::Command, _) => &["read.command"],
        (Kind::Ramp, _) => &["read.ramp"],
        (Kind::Data, Direction::Read) => &["read.block"],
        (Kind::Data, Direction::Write) => &["write.block"],
        (Kind::Program, _) => &["write.program", "write.ramp"],
        _ => &[],
    }
}

/// Simulates the I/Os of a result. Returns `None` for mixed reads and writes, and for jobs with a
/// pattern, a pause or a rate.
fn simulated(
    part: &DeviceModel,
    policy: Policy,
    one: &Observed<'_>,
    known: Known,
) -> Option<Phases> {
    let job = one.job;
    let plain = job.pattern.is_none() && job.pause.is_none() && job.rate.is_none();
    if !plain || matches!(job.rw, Rw::Rw | Rw::RandRw) || !job.bs.0.is_multiple_of(BLOCK_BYTES) {
        return None;
    }
    let mut device = Device::new(part, policy).ok()?;
    let ios = one.ios / u64::try_from(one.trials.max(1)).unwrap_or(1);
    let ramp_us = as_f64(job.ramp_time.0) / 1e3;
    let warm = as_u64(ramp_us / one.interval_us.max(1e-3));
    let asked = SimulatedJob {
        read_percent: if one.direction == Direction::Read {
            100
        } else {
            0
        },
        random: job.rw.is_random(),
        blocks: job.bs.0 / BLOCK_BYTES,
        span: (job.size.0 / BLOCK_BYTES).max(1),
        warm: warm.min(MOST_IOS),
        ios: ios.clamp(1, MOST_IOS),
        seed: 1,
    };
    let synchronous = job.sync != OpenSync::None;
    let every = job.flush.every.map_or(0, |(every, _)| u64::from(every));
    let issue = Issue {
        depth: job.iodepth,
        flush_every: if synchronous { 1 } else { every },
    };
    let timed = run_issued(&mut device, &asked, issue);
    let per_io = |us: f64| us / as_f64(timed.ios.max(1));
    let mut parts: Vec<(Kind, f64)> = RequestPhase::ALL
        .iter()
        .map(|phase| (kind(*phase), per_io(timed.spent.of(*phase).as_us())))
        .collect();
    if synchronous {
        parts.push((Kind::FlushDevice, per_io(timed.flushed.total().as_us())));
    }
    Some(Phases {
        parts,
        known,
        parameters: Vec::new(),
    })
}

const fn kind(phase: RequestPhase) -> Kind {
    match phase {
        RequestPhase::Command => Kind::Command,
        RequestPhase::Ramp => Kind::Ramp,
        RequestPhase::Queue => Kind::Queue,
        RequestPhase::Transfer => Kind::Data,
        RequestPhase::Program => Kind::Program,
        RequestPhase::Break => Kind::Break,
        RequestPhase::Map => Kind::Map,
        RequestPhase::Reclaim => Kind::Reclaim,
    }
}

/// Describes the parameters of a fit with their errors, or the model that replaces a fit.
fn fit_basis<'p>(known: Known, own: impl Iterator<Item = &'p Parameter>) -> String {
    let own = own.map(|parameter| {
        let value = three_digits(parameter.value);
        match parameter.error {
            Some(error) => format!(
                "{} {value} ± {} {}",
                parameter.name,
                three_digits(error),
                parameter.unit
            ),
            None => format!("{} {value} {}", parameter.name, parameter.unit),
        }
    });
    let own: Vec<String> = own.collect();
    match (known, own.is_empty()) {
        (Known::Model, _) => tr!("the model, simulated again").to_owned(),
        (Known::Given, _) => tr!("the part that was named").to_owned(),
        (_, true) => tr!("fit").to_owned(),
        (_, false) => tr!("fit: {parameters}", parameters = own.join(", ")),
    }
}

/// Explains that there are too few sizes, and why one of the others was left out.
fn too_few_sizes(direction: Direction, sizes: usize, why: Option<&str>) -> String {
    let few = counted!(
        sizes as u64,
        "what is command and what is data: {n} size of {direction} can be fitted, and it takes three",
        "what is command and what is data: {n} sizes of {direction} can be fitted, and it takes three",
        direction = describe::direction(direction)
    );
    match why {
        Some(why) => tr!("{few} (left out: {why})", few, why),
        None => few,
    }
}

/// Explains that a result cannot be simulated.
fn own_order() -> String {
    tr!("what is command and what is data: its I/Os have an order, a mix or a pace of their own")
        .to_owned()
}

assay_model::named! {
    /// Part of the time of an I/O.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// Data on the wire.
        Bus = "bus",
        /// Transfer time beyond what the wire needs.
        Data = "data",
        /// Command, interrupts, the driver, and the device's response.
        Command = "command",
        /// Additional time of the first blocks of a read.
        Ramp = "ramp",
        /// Time that a write waits after its data: the medium is programmed.
        Program = "program",
        /// Ending an open multi-block transfer.
        Break = "break",
        /// Loading the address map.
        Map = "map",
        /// Garbage collection.
        Reclaim = "reclaim",
        /// Queue in the device's model.
        Queue = "queue",
        /// Fixed cost: every part that the sizes cannot separate.
        Fixed = "fixed",
        /// Time above the block layer.
        Software = "software",
        /// Time of the request from its allocation to its end, less the known parts.
        Device = "device",
        /// Wait behind other I/Os in flight.
        Wait = "wait",
        /// Time in which other I/Os in flight ended.
        Overlap = "overlap",
        /// Additional time of slow I/Os.
        Stalls = "stalls",
        /// Flushes of the device.
        FlushDevice = "flush-device",
        /// Remainder of a flush call.
        FlushRest = "flush-rest",
        /// Flush calls, not divided further.
        Flush = "flush",
        /// Processor time in the kernel.
        Processor = "processor",
        /// Time used neither by the processor nor in a flush of the device.
        Waiting = "waiting",
        /// Whole time, not divided.
        Whole = "whole",
        /// Time that the fit or the model does not explain.
        Unexplained = "unexplained",
    }
}

assay_model::named! {
    /// Source of a part's time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Known {
        /// Evidence of the trials.
        Measured = "measured",
        /// The ceiling of the bus.
        Ceiling = "ceiling",
        /// A fit of the run's results.
        Fit = "fit",
        /// A part that the user named.
        Given = "part",
        /// The model that made the figures.
        Model = "model",
        /// Remainder after the other parts.
        Rest = "rest",
    }
}

/// Part of the time of an I/O.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Kind of the part.
    pub kind: Kind,
    /// Microseconds; only an unexplained remainder can be negative.
    pub us: f64,
    /// Source of the number.
    pub known: Known,
    /// Numbers from which the time is computed.
    pub basis: String,
}
