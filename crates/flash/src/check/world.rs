//! A small model for the search: a driver, a card with three blocks, and a user with a record
//! of the guaranteed data.
//!
//! The driver is the simulated one ([`Host`]). The card guarantees only what the standard
//! requires: written data are safe only after programming has ended, programming begins when
//! a transfer ends, and the reaction of a programming card to a command is undefined.

use crate::policy::{BlockRequest, Host, Plan, Policy, Stop};
use assay_model::job::Direction;
use std::fmt;

/// Number of blocks of the card.
const BLOCKS: usize = 3;
/// Maximum number of writes.
const MOST_WRITES: u8 = 3;
/// Number of ticks without a request after which the timer ends an open transfer.
const TIMER_TICKS: u8 = 2;

assay_model::named! {
    /// A rule that a policy must keep.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Rule {
        /// A power cut loses no flushed data.
        FlushedIsKept = "flushed-is-kept",
        /// A read returns the data that were written last.
        ReadIsFresh = "read-is-fresh",
        /// No command is sent to a card that is programming.
        CardIsReady = "card-is-ready",
        /// A flush reports a failure to program.
        FailureIsTold = "failure-is-told",
        /// No transfer is open after its timer has expired, or unknown to the driver.
        TransferEnds = "transfer-ends",
    }
}

impl Rule {
    /// Returns the rule as a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::FlushedIsKept => "what a flush has promised outlives a power cut",
            Self::ReadIsFresh => "a read gives what was written last",
            Self::CardIsReady => "no command goes to a card that is programming",
            Self::FailureIsTold => "a write that failed is told by the next flush at the latest",
            Self::TransferEnds => "no transfer stays open past the timer",
        }
    }
}

/// An event of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorldEvent {
    /// The user writes a block.
    Write(usize),
    /// The user reads a block.
    Read(usize),
    /// The user flushes (fsync).
    Flush,
    /// Time passes without a request.
    Tick,
    /// The card has programmed.
    Programmed,
    /// The card could not program.
    Fails,
    /// The power is cut.
    PowerCut,
}

impl fmt::Display for WorldEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(block) => write!(f, "write block {block}"),
            Self::Read(block) => write!(f, "read block {block}"),
            Self::Flush => f.write_str("flush"),
            Self::Tick => f.write_str("time passes (half of the timer)"),
            Self::Programmed => f.write_str("the card has programmed"),
            Self::Fails => f.write_str("the card fails to program"),
            Self::PowerCut => f.write_str("the power is cut"),
        }
    }
}

/// The card.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Card {
    /// Version of each block in flash.
    flash: [u8; BLOCKS],
    /// Newer versions in the card's buffer.
    taken: [Option<u8>; BLOCKS],
    /// The open transfer, if any.
    open: Option<Direction>,
    programming: bool,
    /// Programming failed, and the failure was not reported yet.
    failed: bool,
}

impl Card {
    /// Handles CMD12.
    fn stop(&mut self) {
        self.open = None;
        self.programming |= self.taken.iter().any(Option::is_some);
    }

    /// Ends programming, with success or failure.
    fn finish(&mut self, well: bool) {
        self.programming = false;
        for (flash, taken) in self.flash.iter_mut().zip(&mut self.taken) {
            if let Some(version) = taken.take()
                && well
            {
                *flash = version;
            }
        }
        self.failed |= !well;
    }
}

/// State of the model: host, card, and guaranteed data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    host: Host,
    card: Card,
    /// Ticks since the last request.
    idle: u8,
    writes: u8,
    /// Acknowledged versions.
    written: [u8; BLOCKS],
    /// Flushed versions.
    flushed: [u8; BLOCKS],
    /// `true` if the card may still fail.
    can_fail: bool,
    /// `true` after a reported failure or a power cut, when nothing is guaranteed any more.
    over: bool,
}

/// Result of an event.
pub struct Next {
    /// State after the event.
    pub world: World,
    /// Descriptions of the driver's actions.
    pub did: Vec<&'static str>,
    /// Rules that the event violated.
    pub broken: Vec<Rule>,
}

impl World {
    /// Creates a model with a new card, and a driver that has sent nothing.
    pub fn new(policy: Policy) -> Self {
        Self {
            host: Host::new(policy),
            card: Card::default(),
            idle: 0,
            writes: 0,
            written: [0; BLOCKS],
            flushed: [0; BLOCKS],
            can_fail: true,
            over: false,
        }
    }

    /// Returns `true` if a transfer is open.
    pub fn has_open(&self) -> bool {
        self.card.open.is_some()
    }

    /// Returns every event that can happen now.
    pub fn events(&self) -> Vec<WorldEvent> {
        if self.over {
            return Vec::new();
        }
        let mut events = vec![WorldEvent::Flush, WorldEvent::PowerCut];
        events.extend((0..BLOCKS).map(WorldEvent::Read));
        if self.writes < MOST_WRITES {
            events.extend((0..BLOCKS).map(WorldEvent::Write));
        }
        if self.idle < TIMER_TICKS + 1 {
            events.push(WorldEvent::Tick);
        }
        if self.card.programming {
            events.push(WorldEvent::Programmed);
        }
        if self.can_fail && self.card.taken.iter().any(Option::is_some) {
            events.push(WorldEvent::Fails);
        }
        events
    }

    /// Returns the result of `event`.
    pub fn after(&self, event: WorldEvent) -> Next {
        let mut next = Next {
            world: self.clone(),
            did: Vec::new(),
            broken: Vec::new(),
        };
        match event {
            WorldEvent::Write(block) => next.request(Direction::Write, block),
            WorldEvent::Read(block) => next.request(Direction::Read, block),
            WorldEvent::Flush => next.flush(),
            WorldEvent::Tick => next.tick(),
            WorldEvent::Programmed => next.world.card.finish(true),
            WorldEvent::Fails => {
                next.world.can_fail = false;
                next.world.card.finish(false);
            }
            WorldEvent::PowerCut => next.power_cut(),
        }
        let world = &next.world;
        let open = world.card.open.is_some();
        let late = open && world.idle > TIMER_TICKS;
        if !world.over && (late || open != world.host.has_open()) {
            next.broken.push(Rule::TransferEnds);
        }
        next
    }
}

impl Next {
    fn request(&mut self, direction: Direction, block: usize) {
        self.world.idle = 0;
        let request = BlockRequest {
            direction,
            block: block as u64,
            blocks: 1,
        };
        let plan = self.world.host.plan(&request);
        if let Some(stop) = plan.before {
            self.stop(stop);
        }
        self.command(&plan, direction);
        match direction {
            Direction::Write => self.write(block),
            Direction::Read => self.read(block),
        }
        if plan.closes {
            self.did.push("CMD12");
            self.world.card.stop();
            self.wait();
        }
    }

    /// Ends an open transfer.
    fn stop(&mut self, stop: Stop) {
        self.did.push("CMD12");
        self.world.card.stop();
        if stop.waits {
            self.wait();
        }
    }

    /// Waits until the card is ready, and reads its status.
    fn wait(&mut self) {
        self.did.push("CMD13 until it is ready");
        if self.world.card.programming {
            self.world.card.finish(true);
        }
        if self.world.card.failed {
            self.did.push("the failure is told");
            self.world.over = true;
        }
    }

    fn command(&mut self, plan: &Plan, direction: Direction) {
        if !plan.opens {
            return;
        }
        if self.world.card.programming {
            self.broken.push(Rule::CardIsReady);
        }
        self.did.push(match direction {
            Direction::Read => "CMD18",
            Direction::Write => "CMD25",
        });
        self.world.card.open = Some(direction);
    }

    fn write(&mut self, block: usize) {
        self.did.push("data");
        let world = &mut self.world;
        world.writes += 1;
        world.card.taken[block] = Some(world.writes);
        world.written[block] = world.writes;
    }

    /// Reads from flash: the card need not return data that it is programming.
    fn read(&mut self, block: usize) {
        self.did.push("data");
        let world = &self.world;
        if !world.over && world.card.flash[block] < world.written[block] {
            self.broken.push(Rule::ReadIsFresh);
        }
    }

    fn flush(&mut self) {
        self.world.idle = 0;
        match self.world.host.flush() {
            Some(stop) => self.stop(stop),
            None => self.did.push("nothing is sent"),
        }
        if self.world.over {
            return;
        }
        if self.world.card.failed {
            self.broken.push(Rule::FailureIsTold);
        }
        self.world.flushed = self.world.written;
    }

    fn tick(&mut self) {
        self.world.idle += 1;
        if self.world.host.has_open()
            && self.world.idle >= TIMER_TICKS
            && let Some(stop) = self.world.host.expire()
        {
            self.did.push("the timer runs out");
            self.stop(stop);
        }
    }

    fn power_cut(&mut self) {
        let world = &mut self.world;
        world.over = true;
        let lost = world.card.flash.iter().zip(&world.flushed);
        // Data lost by a failure belongs to another rule.
        if !world.card.failed && lost.into_iter().any(|(flash, flushed)| flash < flushed) {
            self.broken.push(Rule::FlushedIsKept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver whose timer was forgotten is noticed.
    #[test]
    fn a_transfer_without_a_timer_breaks_a_rule() {
        let mut world = World::new(Policy::OPEN_SAFE)
            .after(WorldEvent::Write(0))
            .world;
        world.idle = TIMER_TICKS;
        let mut next = world.after(WorldEvent::Tick);
        assert!(next.broken.is_empty(), "the timer ends it");
        next.world = world;
        next.world.host = Host::new(Policy::OPEN_SAFE);
        let broken = next.world.after(WorldEvent::Tick).broken;
        assert_eq!(broken, [Rule::TransferEnds]);
    }

    #[test]
    fn a_failure_that_is_asked_for_is_told_and_ends_all_promises() {
        let world = World::new(Policy::OPEN_SAFE)
            .after(WorldEvent::Write(0))
            .world;
        let told = world
            .after(WorldEvent::Fails)
            .world
            .after(WorldEvent::Flush);
        assert!(told.broken.is_empty() && told.world.over);
        let world = World::new(Policy::OPEN).after(WorldEvent::Write(0)).world;
        let hidden = world
            .after(WorldEvent::Fails)
            .world
            .after(WorldEvent::Flush);
        assert_eq!(hidden.broken, [Rule::FailureIsTold]);
    }
}
