//! Simulation of host driver, bus and card together, in virtual time.
//!
//! Requests are passed in the order of issue, each with its issue time. A request takes a
//! resource (the bus, a unit of the card) as soon as it is free: first come, first served.

use crate::part::{DeviceModel, Flash, blocks};
use crate::policy::{BlockRequest, Host, Plan, Policy, Stop};
use crate::{FlashError, Picos};
use assay_model::job::Direction;
use assay_model::rng::SplitMix64;
use assay_model::text::meant;
use std::io;

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedRequest {
    /// Time at which the host knew of the end.
    pub end: Picos,
    /// Time spent in each phase, from the issue on.
    pub spent: Spent,
}

/// Costs of one direction.
#[derive(Clone, Copy, Debug)]
struct Costs {
    ramp: Picos,
    ramp_blocks: u64,
    block: Picos,
    stop: Picos,
    resume: Picos,
}

impl Costs {
    fn ramp(&self, blocks: u64) -> Picos {
        self.ramp.times(blocks.min(self.ramp_blocks))
    }
}

/// A simulated device.
#[derive(Clone, Debug)]
pub struct Device {
    host: Host,
    read: Costs,
    write: Costs,
    command: Picos,
    program: Picos,
    timer: Picos,
    flush: Picos,
    depth: u32,
    max_blocks: u64,
    /// Time at which each unit of the card becomes free.
    units: Vec<Picos>,
    bus_free: Picos,
    /// Programming that an open transfer has deferred.
    owed: Picos,
    /// Time at which the last request ended.
    idle_since: Picos,
    cache: Option<Bucket>,
    gc: Option<Bucket>,
    slc: Option<Bucket>,
    map: Option<Regions>,
    layout: Option<Layout>,
    /// Block after the last one written.
    written_to: u64,
    while_busy: u64,
    noise_percent: f64,
    noise: Noise,
}

impl Device {
    /// Creates a device that is idle and empty, with no reserve for garbage collection, as after
    /// long use.
    ///
    /// # Errors
    /// If the part lacks a feature that the policy needs.
    pub fn new(part: &DeviceModel, policy: Policy) -> Result<Self, FlashError> {
        let name = &part.name;
        let counted = match (policy, part.set_count_us) {
            (Policy::SetCount, None) => {
                return Err(FlashError(format!(
                    "policy cmd23: the host of {name} has no CMD23 (set_count_us would give its \
                     cost)"
                )));
            }
            (Policy::SetCount, Some(us)) => us,
            _ => 0.0,
        };
        let depth = match (policy, part.queue_depth) {
            (Policy::Queued, None) => {
                return Err(FlashError(format!(
                    "policy queued: {name} has no queue (queue_depth would give its depth)"
                )));
            }
            (Policy::Queued, Some(depth)) => depth,
            _ => 1,
        };
        let units = if policy == Policy::Queued {
            part.units
        } else {
            1
        };
        let us = Picos::from_us;
        let flush = part.cache.as_ref().map_or(0.0, |cache| cache.flush_us);
        Ok(Self {
            host: Host::new(policy),
            read: read_costs(part),
            write: write_costs(part),
            command: us(part.read.command_us) + us(counted),
            program: us(part.write.program_us),
            timer: Picos::from_ms(part.timer_ms),
            flush: us(flush),
            depth,
            max_blocks: part.max_request_blocks(),
            units: vec![Picos::ZERO; units.max(1) as usize],
            bus_free: Picos::ZERO,
            owed: Picos::ZERO,
            idle_since: Picos::ZERO,
            cache: (part.cache.as_ref())
                .map(|cache| Bucket::empty(us(cache.drain_us), blocks(cache.size_kib))),
            gc: (part.gc.as_ref()).map(|gc| Bucket::full(us(gc.block_us), blocks(gc.reserve_kib))),
            slc: (part.slc.as_ref())
                .map(|slc| Bucket::empty(us(slc.fold_us), blocks(slc.size_kib))),
            map: (part.map.as_ref())
                .map(|map| Regions::new(map.regions, blocks(map.region_kib), us(map.load_us))),
            layout: part.flash.as_ref().map(Layout::new),
            written_to: 0,
            while_busy: 0,
            noise_percent: part.noise_percent,
            noise: Noise::new(part.noise_percent, 0),
        })
    }

    /// Sets the seed of the noise.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.noise = Noise::new(self.noise_percent, seed);
        self
    }

    /// Returns the number of requests that may be in flight.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the number of blocks of the largest request.
    pub const fn max_blocks(&self) -> u64 {
        self.max_blocks
    }

    /// Returns the number of commands that were sent to a card that was still programming, which
    /// is a flaw of the policy.
    pub const fn sent_while_busy(&self) -> u64 {
        self.while_busy
    }

    /// Returns the programming time that remains at that moment, although the writes were
    /// reported as done. Data in a volatile cache is not counted.
    pub fn unfinished(&self, at: Picos) -> Picos {
        let busy = self.units.iter().map(|free| *free - at).max();
        busy.unwrap_or_default() + self.owed
    }

    /// Executes a request that is issued at `at`.
    pub fn request(&mut self, at: Picos, request: &BlockRequest) -> CompletedRequest {
        self.expire(at);
        let mut course = Course::from(at);
        let plan = self.host.plan(request);
        if let Some(stop) = plan.before {
            self.stop(stop, &mut course);
        }
        let unit = self.next_unit();
        self.begin(&plan, request, unit, &mut course);
        let begun = self.transfer(request, &mut course);
        if request.direction == Direction::Write {
            self.store(request, begun, &mut course);
        }
        if plan.closes {
            course.wait(RequestPhase::Program, self.owed);
            self.owed = Picos::ZERO;
        }
        self.units[unit] = self.units[unit].max(course.now);
        self.idle_since = self.idle_since.max(course.now);
        CompletedRequest {
            end: course.now,
            spent: course.spent,
        }
    }

    /// Executes a flush that is issued at `at`.
    pub fn flush(&mut self, at: Picos) -> CompletedRequest {
        self.expire(at);
        let mut course = Course::from(at);
        if let Some(stop) = self.host.flush() {
            self.stop(stop, &mut course);
            let ready = self.units.iter().max().copied();
            course.until(RequestPhase::Program, ready.unwrap_or_default());
        }
        if let Some(cache) = &self.cache {
            course.until(RequestPhase::Program, cache.empty_at());
            course.wait(RequestPhase::Program, self.noise.on(self.flush));
        }
        CompletedRequest {
            end: course.now,
            spent: course.spent,
        }
    }

    /// Ends an open transfer, if its timer expired before `at`.
    fn expire(&mut self, at: Picos) {
        let deadline = self.idle_since + self.timer;
        if self.host.has_open()
            && at >= deadline
            && let Some(stop) = self.host.expire()
        {
            self.stop(stop, &mut Course::from(deadline));
        }
    }

    /// Ends an open transfer, after which the card starts the deferred programming.
    fn stop(&mut self, stop: Stop, course: &mut Course) {
        course.wait(RequestPhase::Break, self.costs(stop.direction).stop);
        let owed = std::mem::take(&mut self.owed);
        let ready = self.units[0].max(course.now) + owed;
        if !stop.waits && ready > course.now {
            self.while_busy += 1;
        }
        self.units[0] = ready;
    }

    /// Returns the unit that becomes free first.
    fn next_unit(&self) -> usize {
        let free = self.units.iter().enumerate();
        free.min_by_key(|(_, free)| **free)
            .map_or(0, |(unit, _)| unit)
    }

    /// Sends the command and waits until data can flow. A busy card delays it.
    fn begin(&mut self, plan: &Plan, request: &BlockRequest, unit: usize, course: &mut Course) {
        if !plan.opens {
            return course.wait(RequestPhase::Command, self.costs(request.direction).resume);
        }
        let busy_with = match self.host.policy() {
            Policy::Queued => RequestPhase::Queue,
            _ => RequestPhase::Program,
        };
        course.until(busy_with, self.units[unit]);
        course.wait(RequestPhase::Command, self.noise.on(self.command));
        if request.direction == Direction::Read {
            course.wait(RequestPhase::Ramp, self.read.ramp(request.blocks));
            if let Some(layout) = &self.layout {
                course.wait(RequestPhase::Ramp, layout.read(request));
            }
        }
        if let Some(map) = &mut self.map {
            course.wait(RequestPhase::Map, map.touch(request.block, request.blocks));
        }
    }

    /// Transfers the data, and returns the time at which the transfer began.
    fn transfer(&mut self, request: &BlockRequest, course: &mut Course) -> Picos {
        course.until(RequestPhase::Transfer, self.bus_free);
        let begun = course.now;
        let block = self.costs(request.direction).block;
        course.wait(RequestPhase::Transfer, block.times(request.blocks));
        self.bus_free = course.now;
        begun
    }

    /// Accounts for the work that a write causes in the card, in addition to its data.
    fn store(&mut self, request: &BlockRequest, begun: Picos, course: &mut Course) {
        let follows = request.block == self.written_to;
        self.written_to = request.block.saturating_add(request.blocks);
        let (blocks, noise) = (request.blocks, &mut self.noise);
        match &mut self.cache {
            Some(cache) => {
                let waits = cache.add(begun, course.now, blocks, noise);
                course.wait(RequestPhase::Program, waits);
            }
            None => self.owed += noise.on(self.program) + self.write.ramp(blocks),
        }
        if let Some(slc) = &mut self.slc {
            course.wait(
                RequestPhase::Program,
                slc.add(begun, course.now, blocks, noise),
            );
        }
        if let Some(layout) = &mut self.layout {
            course.wait(RequestPhase::Program, layout.merge(request));
            course.wait(RequestPhase::Reclaim, layout.touch(request));
        }
        if let Some(gc) = self.gc.as_mut().filter(|_| !follows) {
            course.wait(
                RequestPhase::Reclaim,
                gc.add(begun, course.now, blocks, noise),
            );
        }
    }

    const fn costs(&self, direction: Direction) -> &Costs {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
        }
    }
}

fn read_costs(part: &DeviceModel) -> Costs {
    Costs {
        ramp: Picos::from_us(part.read.ramp_us),
        ramp_blocks: part.read.ramp_blocks,
        block: part.read_block(),
        stop: Picos::from_us(part.read.break_us),
        resume: Picos::from_us(part.read.resume_us),
    }
}

fn write_costs(part: &DeviceModel) -> Costs {
    Costs {
        ramp: Picos::from_us(part.write.ramp_us),
        ramp_blocks: part.write.ramp_blocks,
        block: Picos::from_us(part.write.block_us),
        stop: Picos::from_us(part.write.break_us),
        resume: Picos::ZERO,
    }
}

/// Progress of a request.
struct Course {
    now: Picos,
    spent: Spent,
}

impl Course {
    fn from(at: Picos) -> Self {
        Self {
            now: at,
            spent: Spent::default(),
        }
    }

    fn wait(&mut self, phase: RequestPhase, time: Picos) {
        self.now += time;
        self.spent.add(phase, time);
    }

    fn until(&mut self, phase: RequestPhase, moment: Picos) {
        self.wait(phase, moment - self.now);
    }
}

/// Background work up to a limit: data in a cache, data to be folded from an SLC area, data
/// to be moved by garbage collection.
#[derive(Clone, Debug)]
struct Bucket {
    block: Picos,
    capacity: Picos,
    empty_at: Picos,
}

impl Bucket {
    /// Creates an idle bucket for `blocks` blocks of work, each of which takes `block`.
    pub fn empty(block: Picos, blocks: u64) -> Self {
        Self {
            block,
            capacity: block.times(blocks),
            empty_at: Picos::ZERO,
        }
    }

    /// Creates a bucket that is full.
    pub fn full(block: Picos, blocks: u64) -> Self {
        let empty = Self::empty(block, blocks);
        Self {
            empty_at: empty.capacity,
            ..empty
        }
    }

    /// Adds the work of `blocks` blocks that arrived from `begun` until `now`. Returns the
    /// time to wait until it fits.
    pub fn add(&mut self, begun: Picos, now: Picos, blocks: u64, noise: &mut Noise) -> Picos {
        self.empty_at = self.empty_at.max(begun) + noise.on(self.block.times(blocks));
        (self.empty_at - now) - self.capacity
    }

    /// Returns the time at which all work is done.
    pub const fn empty_at(&self) -> Picos {
        self.empty_at
    }
}

/// Regions of the address map in memory, as a direct-mapped cache.
#[derive(Clone, Debug)]
struct Regions {
    held: Vec<Option<u64>>,
    blocks: u64,
    load: Picos,
}

impl Regions {
    /// Creates an empty cache of `places` regions of `blocks` blocks each.
    pub fn new(places: u32, blocks: u64, load: Picos) -> Self {
        Self {
            held: vec![None; places.max(1) as usize],
            blocks: blocks.max(1),
            load,
        }
    }

    /// Returns the time until the mapping of these blocks is loaded.
    pub fn touch(&mut self, block: u64, blocks: u64) -> Picos {
        let first = block / self.blocks;
        let last = block.saturating_add(blocks.saturating_sub(1)) / self.blocks;
        (first..=last).map(|region| self.load(region)).sum()
    }

    fn load(&mut self, region: u64) -> Picos {
        let places = self.held.len() as u64;
        let place = usize::try_from(region % places).unwrap_or(0);
        match self.held.get_mut(place) {
            Some(held) if *held != Some(region) => {
                *held = Some(region);
                self.load
            }
            _ => Picos::ZERO,
        }
    }
}

/// The layout of a card, and its erase units that are being written. It gives the costs of pages,
/// erase units and mapping units.
#[derive(Clone, Debug)]
struct Layout {
    page: (u64, Picos),
    unit: (u64, Picos),
    map: (u64, Picos),
    close: Picos,
    /// Units that are being written, the most recently used last.
    open: Vec<u64>,
    most_open: usize,
}

impl Layout {
    /// Creates a layout in which no unit is being written.
    pub fn new(flash: &Flash) -> Self {
        let us = Picos::from_us;
        Self {
            page: (blocks(flash.page_kib).max(1), us(flash.page_us)),
            unit: (blocks(flash.unit_kib).max(1), us(flash.unit_us)),
            map: (blocks(flash.map_kib).max(1), us(flash.rmw_us)),
            close: us(flash.close_us),
            open: Vec::new(),
            most_open: flash.open_units as usize,
        }
    }

    /// Returns the extra time of a read that crosses boundaries.
    pub fn read(&self, request: &BlockRequest) -> Picos {
        across(request, self.page) + across(request, self.unit)
    }

    /// Returns the extra time of a write that covers mapping units in part.
    pub fn merge(&self, request: &BlockRequest) -> Picos {
        let (unit, cost) = self.map;
        let end = request.block.saturating_add(request.blocks);
        let (head, tail) = (
            !request.block.is_multiple_of(unit),
            !end.is_multiple_of(unit),
        );
        let one = request.block / unit == end.saturating_sub(1) / unit;
        let parts = match (head, tail) {
            (false, false) => 0,
            (true, true) if !one => 2,
            _ => 1,
        };
        cost.times(parts)
    }

    /// Returns the extra time of a write for which another unit has to be closed.
    pub fn touch(&mut self, request: &BlockRequest) -> Picos {
        let unit = request.block / self.unit.0;
        if let Some(at) = self.open.iter().position(|open| *open == unit) {
            self.open.remove(at);
            self.open.push(unit);
            return Picos::ZERO;
        }
        let full = self.open.len() >= self.most_open;
        if full && !self.open.is_empty() {
            self.open.remove(0);
        }
        self.open.push(unit);
        if full { self.close } else { Picos::ZERO }
    }
}

/// Returns the extra cost of the units that the request touches beyond the
/// minimum for its length.
fn across(request: &BlockRequest, (size, cost): (u64, Picos)) -> Picos {
    let end = request.block.saturating_add(request.blocks);
    let touched = end.div_ceil(size) - request.block / size;
    cost.times(touched.saturating_sub(request.blocks.div_ceil(size)))
}

/// Divisor of the variation that all times of a trial share, relative to that of single times.
/// It represents temperature and the location of the data in the flash.
const TRIAL_SHARE: u64 = 5;
/// Factor of one, in millionths.
const WHOLE: u64 = 1_000_000;

/// Varies times uniformly to both sides: each time independently, and all times of a trial
/// together.
#[derive(Clone, Debug)]
struct Noise {
    rng: SplitMix64,
    /// Maximum variation to each side, in millionths of a time.
    most: u64,
    /// Factor for all times of this trial, in millionths.
    trial: u64,
}

impl Noise {
    /// Creates a variation of `percent` to each side.
    pub fn new(percent: f64, seed: u64) -> Self {
        // Percent to millionths is a factor of ten thousand.
        let most = Picos::from_us(percent / 100.0).0;
        let mut rng = SplitMix64::new(seed);
        let trial = factor(&mut rng, most / TRIAL_SHARE);
        Self { rng, most, trial }
    }

    /// Varies a time at random.
    pub fn on(&mut self, time: Picos) -> Picos {
        if self.most == 0 {
            return time;
        }
        let own = factor(&mut self.rng, self.most);
        let varied = u128::from(time.0) * u128::from(own) / u128::from(WHOLE);
        let varied = varied * u128::from(self.trial) / u128::from(WHOLE);
        Picos(u64::try_from(varied).unwrap_or(u64::MAX))
    }
}

fn factor(rng: &mut SplitMix64, most: u64) -> u64 {
    WHOLE.saturating_sub(most) + rng.below(2 * most + 1)
}

assay_model::named! {
    /// Phase of a request, named after the resource for which it waits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RequestPhase {
        /// Opening or continuing a transfer: driver, command, firmware.
        Command = "command",
        /// Fetching the first blocks of a read.
        Ramp = "ramp",
        /// Waiting in the card's queue.
        Queue = "queue",
        /// Data on the bus, and waiting for the bus.
        Transfer = "transfer",
        /// Waiting for the card's programming.
        Program = "program",
        /// Ending an open transfer.
        Break = "break",
        /// Loading addresses.
        Map = "map",
        /// Garbage collection.
        Reclaim = "reclaim",
    }
}

/// Time of each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent([Picos; RequestPhase::ALL.len()]);

impl Spent {
    /// Adds time to a phase.
    pub fn add(&mut self, phase: RequestPhase, time: Picos) {
        self.0[phase as usize] += time;
    }

    /// Adds all times of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (time, more) in self.0.iter_mut().zip(&other.0) {
            *time += *more;
        }
    }

    /// Returns the time of a phase.
    pub const fn of(&self, phase: RequestPhase) -> Picos {
        self.0[phase as usize]
    }

    /// Returns the sum over all phases.
    pub fn total(&self) -> Picos {
        self.0.iter().copied().sum()
    }
}

/// A part and the policy of its host.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The part.
    pub part: DeviceModel,
    /// Policy of the host.
    pub policy: Policy,
}

impl Simulation {
    /// Parses `PART[,policy=WORD][,noise=PERCENT]`. `read` returns the text of a file, for a part that is
    /// not built in.
    ///
    /// # Errors
    /// The first problem of the text or the part.
    pub fn parse(
        words: &str,
        read: impl FnOnce(&str) -> io::Result<String>,
    ) -> Result<Self, FlashError> {
        let mut words = words.split(',');
        let name = words.next().unwrap_or_default();
        let mut part = part(name, read)?;
        let mut policy = usual(&part);
        for option in words {
            let unknown = || {
                FlashError(format!(
                    "'{option}' is not known: a part may be followed by policy=WORD and noise=PERCENT"
                ))
            };
            match option.split_once('=') {
                Some(("policy", word)) => policy = word.parse()?,
                Some(("noise", percent)) => {
                    part.noise_percent = percent.parse().map_err(|_| unknown())?;
                    part.check()
                        .map_err(|error| FlashError(format!("{}: {error}", part.name)))?;
                }
                _ => return Err(unknown()),
            }
        }
        Device::new(&part, policy)?;
        Ok(Self { part, policy })
    }
}

/// Returns a built-in part, or one from a file.
fn part(
    name: &str,
    read: impl FnOnce(&str) -> io::Result<String>,
) -> Result<DeviceModel, FlashError> {
    if let Some(part) = DeviceModel::find(name) {
        return Ok(part);
    }
    match read(name) {
        Ok(text) => DeviceModel::parse(&text).map_err(|error| format!("{name}: {error}")),
        Err(error) => Err(format!(
            "no simulated part is called '{name}'{}: there are {}; as a file it cannot be read: {error}",
            meant(name, DeviceModel::known_names().split(", ")),
            DeviceModel::known_names()
        )),
    }
    .map_err(FlashError)
}

/// Returns the policy of a host that uses all features of the part.
fn usual(part: &DeviceModel) -> Policy {
    match (part.queue_depth, part.set_count_us) {
        (Some(_), _) => Policy::Queued,
        (None, Some(_)) => Policy::SetCount,
        (None, None) => Policy::Closed,
    }
}

#[cfg(test)]
mod tests;
