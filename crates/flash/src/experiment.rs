//! The multi-block experiment: a model fitted to a published before/after table of an SD host
//! driver and a patch of it.
//!
//! Each figure of the table is simulated as its tool measured it. Nine parameters are fitted
//! to the logarithms of the sixteen figures with equal weights; none belongs to a single
//! figure. For each figure the fit is also repeated without it, and the error of that
//! prediction is reported too.

use crate::device::{Device, RequestPhase, Spent};
use crate::fit::fit;
use crate::part::DeviceModel;
use crate::policy::{BlockRequest, Policy};
use crate::{BLOCK_BYTES, FlashError, Picos};
use assay_model::job::Direction;
use assay_model::rng::SplitMix64;

/// Name of the part whose parameters the experiment estimates.
pub const PART: &str = "rtsx-sd-pro-plus-128";

/// A parameter with its standard error.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Estimated value.
    pub value: f64,
    /// Standard error; `None` if the table does not determine it.
    pub error: Option<f64>,
}

/// A figure of the table, or of a policy that was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFigure {
    /// Row of the figure.
    pub row: PublishedRow,
    /// Policy of the figure.
    pub policy: Policy,
    /// Published figure, in the row's unit.
    pub published: Option<f64>,
    /// Prediction of the model.
    pub model: f64,
    /// Prediction of the model when fitted without this figure.
    pub left_out: Option<f64>,
    /// Simulated time of an I/O, by phase.
    pub timed: Timed,
    /// Time of an I/O as the tool measures it, in microseconds.
    pub io_us: f64,
}

impl PublishedFigure {
    /// Returns the model's error, in percent of the published figure.
    pub fn error_percent(&self) -> Option<f64> {
        self.published
            .map(|published| percent(self.model, published))
    }

    /// Returns the error of the prediction without this figure, in percent.
    pub fn left_out_percent(&self) -> Option<f64> {
        self.published
            .zip(self.left_out)
            .map(|(published, left_out)| percent(left_out, published))
    }

    /// Returns the time of a phase in an I/O as the tool measures it, in microseconds.
    pub fn phase_us(&self, phase: RequestPhase) -> f64 {
        self.as_the_tool_sees(self.timed.spent.of(phase).as_us())
    }

    /// Returns the programming time that one I/O leaves unfinished at the end of the window,
    /// in microseconds.
    pub fn left_us(&self) -> f64 {
        // `spent` is the sum over all I/Os, `left` is that of the last.
        let ios = self.timed.ios as f64;
        self.as_the_tool_sees(self.timed.left.as_us() * ios)
    }

    /// Scales a time of all requests to one I/O as the tool measures it.
    fn as_the_tool_sees(&self, us: f64) -> f64 {
        match self.timed.spent.total().as_us() {
            0.0 => 0.0,
            requests => us / requests * self.io_us,
        }
    }
}

fn percent(value: f64, of: f64) -> f64 {
    (value / of - 1.0) * 100.0
}

/// The experiment with its fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The fitted model.
    pub model: Model,
    /// Fitted parameters.
    pub parameters: Vec<Parameter>,
    observations: Vec<Observation>,
    /// The model fitted without each observation.
    without: Vec<Model>,
}

/// A published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Observation {
    row: PublishedRow,
    policy: Policy,
    rate: f64,
}

impl Experiment {
    /// Fits the model to the published table.
    ///
    /// # Errors
    /// If the part is missing, which a test excludes.
    pub fn of_table() -> Result<Self, FlashError> {
        let part = DeviceModel::find(PART)
            .ok_or_else(|| FlashError(format!("the part {PART} is missing")))?;
        Self::from(&Model {
            part,
            disks_factor: 1.05,
        })
    }

    /// Fits the model to the published table, starting at `start`.
    ///
    /// # Errors
    /// If the part cannot be simulated with the policies of the table.
    pub fn from(start: &Model) -> Result<Self, FlashError> {
        let observations = observations();
        for seen in &observations {
            start.rate(&seen.row, seen.policy)?;
        }
        let (model, parameters) = estimate(start, &observations);
        let without = (0..observations.len()).map(|left_out| {
            let mut others = observations.clone();
            others.remove(left_out);
            estimate(&model, &others).0
        });
        let without = without.collect();
        Ok(Self {
            model,
            parameters,
            observations,
            without,
        })
    }

    /// Returns all cells of the table under a policy.
    ///
    /// # Errors
    /// If the part lacks a parameter that the policy needs.
    pub fn cells(&self, policy: Policy) -> Result<Vec<PublishedFigure>, FlashError> {
        rows()
            .into_iter()
            .map(|row| self.cell(row, policy))
            .collect()
    }

    fn cell(&self, row: PublishedRow, policy: Policy) -> Result<PublishedFigure, FlashError> {
        let seen =
            (self.observations.iter()).position(|seen| seen.row == row && seen.policy == policy);
        let left_out = match seen.and_then(|seen| self.without.get(seen)) {
            Some(model) => Some(model.rate(&row, policy)?),
            None => None,
        };
        let timed = self.model.time(&row, policy)?;
        Ok(PublishedFigure {
            row,
            policy,
            published: seen.map(|seen| self.observations[seen].rate),
            model: self.model.rate(&row, policy)?,
            left_out,
            timed,
            io_us: timed.mean_us() * self.model.factor(row.tool),
        })
    }
}

/// Returns the sixteen figures.
fn observations() -> Vec<Observation> {
    let both = |row: PublishedRow| {
        [(Policy::Closed, row.before), (Policy::OPEN, row.after)]
            .map(|(policy, rate)| Observation { row, policy, rate })
    };
    rows().into_iter().flat_map(both).collect()
}

/// Fits all free parameters.
fn estimate(start: &Model, observations: &[Observation]) -> (Model, Vec<Parameter>) {
    let off = |values: &[f64]| -> Vec<f64> {
        let model = start.with(values);
        let off = observations.iter().map(|seen| {
            let rate = model.rate(&seen.row, seen.policy);
            rate.map_or(f64::NAN, |rate| libm::log(rate / seen.rate))
        });
        off.collect()
    };
    let fitted = fit(&start.values(), off);
    let parameters = FREE.iter().zip(&fitted.values).zip(&fitted.errors);
    let parameters = parameters.map(|((free, value), error)| Parameter {
        name: free.name,
        unit: free.unit,
        value: *value,
        error: *error,
    });
    (start.with(&fitted.values), parameters.collect())
}

/// Returns the mean and the maximum of the absolute values.
pub fn mean_and_worst(errors: &[f64]) -> (f64, f64) {
    let count = errors.len().max(1) as f64;
    let sum: f64 = errors.iter().map(|error| error.abs()).sum();
    let worst = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
    (sum / count, worst)
}

/// Model of the published table: fitted and fixed parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Card, bus and host.
    pub part: DeviceModel,
    /// Factor by which the timed windows of GNOME Disks are longer than their requests.
    pub disks_factor: f64,
}

/// A fitted parameter.
pub struct Free {
    /// Name of the parameter, as in the file of a part.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    place: fn(&mut Model) -> &mut f64,
}

const fn free(name: &'static str, unit: &'static str, place: fn(&mut Model) -> &mut f64) -> Free {
    Free { name, unit, place }
}

/// The fitted parameters. The time of a read block is that of the bus, and the sizes of the
/// ramps were chosen beforehand.
pub const FREE: [Free; 9] = [
    free("read.command", "µs", |model| {
        &mut model.part.read.command_us
    }),
    free("read.ramp", "µs/block", |model| {
        &mut model.part.read.ramp_us
    }),
    free("read.break", "µs", |model| &mut model.part.read.break_us),
    free("read.resume", "µs", |model| &mut model.part.read.resume_us),
    free("write.program", "µs", |model| {
        &mut model.part.write.program_us
    }),
    free("write.ramp", "µs/block", |model| {
        &mut model.part.write.ramp_us
    }),
    free("write.block", "µs/block", |model| {
        &mut model.part.write.block_us
    }),
    free("write.break", "µs", |model| &mut model.part.write.break_us),
    free("gnome-disks", "factor", |model| &mut model.disks_factor),
];

/// Number of I/Os that are simulated for a figure of fio. After the first, all take the same
/// time.
const IOS: u64 = 8;
/// Number of simulated samples of GNOME Disks, which are also equal.
const SAMPLES: u64 = 2;
/// Length of the region: 64 GiB.
const SPAN: u64 = (64 << 30) / BLOCK_BYTES;

impl Model {
    /// Returns the values of the fitted parameters.
    pub fn values(&self) -> Vec<f64> {
        let mut model = self.clone();
        FREE.iter().map(|free| *(free.place)(&mut model)).collect()
    }

    /// Returns the model with other values of the fitted parameters.
    pub fn with(&self, values: &[f64]) -> Self {
        let mut model = self.clone();
        for (free, value) in FREE.iter().zip(values) {
            *(free.place)(&mut model) = *value;
        }
        model
    }

    /// Simulates a row of the table under a policy.
    ///
    /// # Errors
    /// If the part lacks a feature that the policy needs.
    pub fn time(&self, row: &PublishedRow, policy: Policy) -> Result<Timed, FlashError> {
        let mut device = Device::new(&self.part, policy)?;
        Ok(match (row.tool, row.direction) {
            (Tool::Disks, Direction::Read) => disks(&mut device, SAMPLES, SPAN).0,
            (Tool::Disks, Direction::Write) => disks(&mut device, SAMPLES, SPAN).1,
            (Tool::Fio, direction) => run(&mut device, &fio(row, direction)),
        })
    }

    /// Returns the factor by which a tool lengthens times.
    pub const fn factor(&self, tool: Tool) -> f64 {
        match tool {
            Tool::Disks => self.disks_factor,
            Tool::Fio => 1.0,
        }
    }

    /// Returns the rate of a row in its unit.
    ///
    /// # Errors
    /// If the part lacks a feature that the policy needs.
    pub fn rate(&self, row: &PublishedRow, policy: Policy) -> Result<f64, FlashError> {
        let us = self.time(row, policy)?.mean_us() * self.factor(row.tool);
        let bytes = row.bytes as f64;
        Ok(bytes / us * 1e6 / row.unit_bytes)
    }
}

fn fio(row: &PublishedRow, direction: Direction) -> SimulatedJob {
    SimulatedJob {
        read_percent: if direction == Direction::Read { 100 } else { 0 },
        random: true,
        blocks: row.bytes / BLOCK_BYTES,
        span: SPAN,
        warm: 1,
        ios: IOS,
        seed: 1,
    }
}

/// Publication of the figures.
pub const SOURCE: &str =
    "mmc: rtsx, patch version 3, December 2021; SD card Samsung Pro Plus 128 GB";

assay_model::named! {
    /// The tool that measured a figure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Tool {
        /// GNOME Disks: samples of 10 MiB.
        Disks = "gnome-disks",
        /// fio: psync, direct, one I/O at a time.
        Fio = "fio",
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedRow {
    /// Tool that measured the row.
    pub tool: Tool,
    /// Workload of the row.
    pub workload: &'static str,
    /// Size of an I/O, as published.
    pub block_size: &'static str,
    /// Direction of the row.
    pub direction: Direction,
    /// Size of an I/O in bytes.
    pub bytes: u64,
    /// Unit of the figures.
    pub unit: &'static str,
    /// Factor from the unit to bytes per second.
    pub unit_bytes: f64,
    /// Rate with the policy `closed`.
    pub before: f64,
    /// Rate with the policy `open`.
    pub after: f64,
}

/// Returns the table.
pub fn rows() -> Vec<PublishedRow> {
    use Direction::{Read, Write};
    use Tool::{Disks, Fio};
    let row = |tool, workload, direction, block_size, unit, before, after| PublishedRow {
        tool,
        workload,
        block_size,
        direction,
        bytes: bytes(block_size),
        unit,
        unit_bytes: unit_bytes(unit),
        before,
        after,
    };
    vec![
        row(Disks, "seq read", Read, "10M", "MB/s", 86.9, 91.5),
        row(Disks, "seq write", Write, "10M", "MB/s", 38.3, 55.5),
        row(Fio, "randread", Read, "8k", "MiB/s", 16.5, 12.4),
        row(Fio, "randread", Read, "16k", "MiB/s", 23.3, 20.0),
        row(Fio, "randread", Read, "1M", "MiB/s", 85.1, 86.6),
        row(Fio, "randwrite", Write, "8k", "KiB/s", 4060.0, 4215.0),
        row(Fio, "randwrite", Write, "16k", "KiB/s", 7201.0, 6499.0),
        row(Fio, "randwrite", Write, "1M", "MiB/s", 38.4, 39.3),
    ]
}

fn bytes(size: &str) -> u64 {
    match size {
        "8k" => 8 << 10,
        "16k" => 16 << 10,
        "1M" => 1 << 20,
        _ => 10 << 20,
    }
}

fn unit_bytes(unit: &str) -> f64 {
    match unit {
        "KiB/s" => 1024.0,
        "MiB/s" => 1_048_576.0,
        _ => 1e6,
    }
}

/// A job with one I/O after the other, or with as many in flight as the device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedJob {
    /// Share of reads, in percent of the I/Os.
    pub read_percent: u8,
    /// True for random offsets, false if each I/O follows the previous one.
    pub random: bool,
    /// Blocks per I/O. An I/O above the host's maximum is split into several requests.
    pub blocks: u64,
    /// Length of the region from block 0, in blocks.
    pub span: u64,
    /// Number of I/Os before the clock starts.
    pub warm: u64,
    /// Number of timed I/Os.
    pub ios: u64,
    /// Seed of random offsets and directions.
    pub seed: u64,
}

/// Timed I/O of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// Number of I/Os.
    pub ios: u64,
    /// Time from the first issue to the last end.
    pub time: Picos,
    /// Time of the requests, by phase.
    pub spent: Spent,
    /// Time of flushes after writes, by phase.
    pub flushed: Spent,
    /// Programming that the card has not finished when the clock stops.
    pub left: Picos,
    /// Hash of the end times of all requests: two runs with the same value were identical.
    pub digest: u64,
}

impl Timed {
    /// Returns the mean time of an I/O, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.time.as_us() / self.ios.max(1) as f64
    }
}

/// FNV-1a over 64-bit words.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Issue of a job's I/Os by the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Issue {
    /// Number of I/Os in flight, at least 1. An I/O that the device cannot take waits.
    pub depth: u32,
    /// Number of writes after which a flush follows; 0 for none.
    pub flush_every: u64,
}

/// Runs a job from time zero, with as many I/Os in flight as the device takes.
pub fn run(device: &mut Device, job: &SimulatedJob) -> Timed {
    let depth = device.depth();
    run_issued(
        device,
        job,
        Issue {
            depth,
            flush_every: 0,
        },
    )
}

/// Runs a job with the given issue of I/Os. The time by phase sums up to the latencies; a
/// wait for a slot of the device is [`RequestPhase::Queue`].
pub fn run_issued(device: &mut Device, job: &SimulatedJob, issue: Issue) -> Timed {
    let mut places = Places::new(job);
    let mut flights = vec![Picos::ZERO; issue.depth.max(1) as usize];
    let mut slots = vec![Picos::ZERO; device.depth().max(1) as usize];
    let crowded = flights.len() > slots.len();
    let mut written = 0;
    let mut timed = Timed {
        ios: job.ios,
        digest: FNV_START,
        ..Timed::default()
    };
    let mut started = Picos::ZERO;
    for number in 0..job.warm.saturating_add(job.ios) {
        if number == job.warm {
            (timed.spent, timed.flushed) = (Spent::default(), Spent::default());
            started = flights.iter().max().copied().unwrap_or_default();
        }
        let (direction, block) = places.next(job);
        let flight = first_free(&flights);
        let mut at = flights[flight];
        let slot = crowded.then(|| first_free(&slots));
        if let Some(slot) = slot {
            timed.spent.add(RequestPhase::Queue, slots[slot] - at);
            at = at.max(slots[slot]);
        }
        let mut end = io(device, at, (direction, block, job.blocks), &mut timed);
        if let Some(slot) = slot {
            slots[slot] = end;
        }
        written += u64::from(direction == Direction::Write);
        if issue.flush_every > 0
            && direction == Direction::Write
            && written % issue.flush_every == 0
        {
            let flushed = device.flush(end);
            timed.flushed.add_all(&flushed.spent);
            end = flushed.end;
        }
        flights[flight] = end;
    }
    let ended = flights.iter().max().copied().unwrap_or_default();
    timed.time = ended - started;
    timed.left = device.unfinished(ended);
    timed
}

/// Returns the index of the minimum.
fn first_free(flights: &[Picos]) -> usize {
    let ends = flights.iter().enumerate();
    ends.min_by_key(|(_, end)| **end)
        .map_or(0, |(slot, _)| slot)
}

/// Executes one I/O (direction, first block, blocks) issued at `at`. As in the block layer,
/// it is split into requests of at most the host's size, one after the other. Returns the end
/// of the last one and adds the time by phase to `timed`.
pub fn io(
    device: &mut Device,
    at: Picos,
    (direction, block, blocks): (Direction, u64, u64),
    timed: &mut Timed,
) -> Picos {
    let mut now = at;
    let mut done = 0;
    while done < blocks {
        let count = (blocks - done).min(device.max_blocks());
        let request = BlockRequest {
            direction,
            block: block.saturating_add(done),
            blocks: count,
        };
        let ended = device.request(now, &request);
        now = ended.end;
        timed.spent.add_all(&ended.spent);
        timed.digest = (timed.digest ^ now.0).wrapping_mul(FNV_PRIME);
        done += count;
    }
    now
}

/// Generator of I/O offsets.
struct Places {
    rng: SplitMix64,
    slots: u64,
    next: u64,
}

impl Places {
    fn new(job: &SimulatedJob) -> Self {
        Self {
            rng: SplitMix64::new(job.seed),
            slots: (job.span / job.blocks.max(1)).max(1),
            next: 0,
        }
    }

    fn next(&mut self, job: &SimulatedJob) -> (Direction, u64) {
        let reads = match job.read_percent {
            0 => false,
            100.. => true,
            share => self.rng.below(100) < u64::from(share),
        };
        let slot = if job.random {
            self.rng.below(self.slots)
        } else {
            let slot = self.next;
            self.next = (slot + 1) % self.slots;
            slot
        };
        let direction = if reads {
            Direction::Read
        } else {
            Direction::Write
        };
        (direction, slot.saturating_mul(job.blocks))
    }
}

/// Samples of GNOME Disks: 10 MiB each.
pub const SAMPLE_BLOCKS: u64 = (10 << 20) / BLOCK_BYTES;
/// Length of the page that GNOME Disks reads first, untimed, in blocks.
const PAGE_BLOCKS: u64 = 8;

/// Runs the benchmark of GNOME Disks: for each sample, a page is read untimed; then the
/// sample is read, and the same bytes are written and flushed, both timed. The first sample
/// is not counted, because the state of the device before it is arbitrary. Returns reads,
/// then writes.
pub fn disks(device: &mut Device, samples: u64, span: u64) -> (Timed, Timed) {
    let mut read = Timed {
        ios: samples,
        ..Timed::default()
    };
    let mut write = read;
    let mut now = Picos::ZERO;
    for sample in 0..=samples {
        if sample == 1 {
            (read.time, read.spent) = (Picos::ZERO, Spent::default());
            (write.time, write.spent) = (Picos::ZERO, Spent::default());
        }
        let block = span / (samples + 1) * sample / PAGE_BLOCKS * PAGE_BLOCKS;
        now = io(
            device,
            now,
            (Direction::Read, block, PAGE_BLOCKS),
            &mut Timed::default(),
        );
        let asked = io(
            device,
            now,
            (Direction::Read, block, SAMPLE_BLOCKS),
            &mut read,
        );
        read.time += asked - now;
        now = asked;
        let written = io(
            device,
            now,
            (Direction::Write, block, SAMPLE_BLOCKS),
            &mut write,
        );
        let flushed = device.flush(written);
        write.spent.add_all(&flushed.spent);
        write.time += flushed.end - now;
        now = flushed.end;
    }
    read.left = Picos::ZERO;
    write.left = device.unfinished(now);
    (read, write)
}

#[cfg(test)]
mod tests;
