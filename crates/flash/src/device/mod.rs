//! Simulation of host driver, bus and card together, in virtual time.
//!
//! Requests are passed in the order of issue, each with its issue time. A request takes a
//! resource (the bus, a unit of the card) as soon as it is free: first come, first served.

mod background;
mod layout;
mod noise;
mod spent;

pub use spent::{RequestPhase, Spent};

use crate::FlashError;
use crate::part::{DeviceModel, blocks};
use crate::policy::{BlockRequest, Host, Plan, Policy, Stop};
use crate::time::Picos;
use assay_model::job::Direction;
use background::{Bucket, Regions};
use layout::Layout;
use noise::Noise;

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

#[cfg(test)]
mod tests;
