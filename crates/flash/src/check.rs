//! Exhaustive search for violated rules over all sequences of events under a policy.
//!
//! A breadth-first search through every state of a small model: three blocks, three writes, reads,
//! flushes, a timer, one failure, a power cut, in every order. For each violated rule it finds a
//! shortest path. A rule for which it finds none cannot be violated in a model of that size.
//!
//! The model (`World`) is a driver, a card with three blocks, and a user with a record of the
//! guaranteed data. The driver is the simulated one ([`Host`]). The card guarantees only what the
//! standard requires: written data are safe only after programming has ended, programming begins
//! when a transfer ends, and the reaction of a programming card to a command is undefined.

use crate::FlashError;
use crate::policy::{BlockRequest, Host, Plan, Policy, Stop};
use assay_model::job::Direction;
use std::collections::HashSet;
use std::fmt;

/// Maximum number of states; the searches need less than a tenth.
const MOST_STATES: usize = 1_000_000;

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Policy that was checked.
    pub policy: Policy,
    /// Number of states reached.
    pub states: usize,
    /// Number of states with an open transfer.
    pub open_states: usize,
    /// `true` if all states were reached.
    pub complete: bool,
    /// A shortest path to a violation, for each rule that can be violated.
    pub holes: Vec<Hole>,
}

impl Checked {
    /// Returns `true` if a rule holds in all states.
    pub fn holds(&self, rule: Rule) -> bool {
        self.complete && self.hole(rule).is_none()
    }

    /// Returns the shortest path to a violation of a rule.
    pub fn hole(&self, rule: Rule) -> Option<&Hole> {
        self.holes.iter().find(|hole| hole.rule == rule)
    }
}

/// A path to the violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Violated rule.
    pub rule: Rule,
    /// Steps of the path.
    pub steps: Vec<DriverStep>,
}

/// An event, and the driver's reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverStep {
    /// Event of the step.
    pub event: WorldEvent,
    /// Commands that the driver sent.
    pub did: Vec<&'static str>,
}

/// A state, and its predecessor.
struct Seen {
    world: World,
    from: Option<(usize, WorldEvent)>,
}

/// Maximum number of consecutive requests in the model before a transfer is left open.
pub const MOST_AFTER: u32 = 2;

/// Searches all states that a policy can reach.
///
/// # Errors
/// If the model is too small for the policy to open a transfer.
pub fn check(policy: Policy) -> Result<Checked, FlashError> {
    match policy {
        // No transfer would ever be left open, and every rule would hold trivially.
        Policy::Open { after, .. } if after > MOST_AFTER => Err(FlashError(format!(
            "policy {policy} cannot be checked: the checked model has room for {MOST_AFTER} \
             requests in a row before a transfer is left open (check open-after-{MOST_AFTER}: all \
             later states are the same)"
        ))),
        _ => Ok(search(policy)),
    }
}

fn search(policy: Policy) -> Checked {
    let mut seen = vec![Seen {
        world: World::new(policy),
        from: None,
    }];
    let mut known = HashSet::from([World::new(policy)]);
    let mut holes: Vec<Hole> = Vec::new();
    let mut at = 0;
    while at < seen.len() && seen.len() < MOST_STATES {
        for event in seen[at].world.events() {
            let next = seen[at].world.after(event);
            for rule in next.broken {
                if holes.iter().all(|hole| hole.rule != rule) {
                    let steps = way(&seen, at, event);
                    holes.push(Hole { rule, steps });
                }
            }
            if known.insert(next.world.clone()) {
                seen.push(Seen {
                    world: next.world,
                    from: Some((at, event)),
                });
            }
        }
        at += 1;
    }
    holes.sort_by_key(|hole| hole.rule);
    Checked {
        policy,
        states: seen.len(),
        open_states: seen.iter().filter(|seen| seen.world.has_open()).count(),
        complete: at == seen.len(),
        holes,
    }
}

/// Returns the path to state `last`, followed by `event`.
fn way(seen: &[Seen], last: usize, event: WorldEvent) -> Vec<DriverStep> {
    let mut steps = vec![step(seen, last, event)];
    let mut at = last;
    while let Some((from, event)) = seen[at].from {
        steps.push(step(seen, from, event));
        at = from;
    }
    steps.reverse();
    steps
}

fn step(seen: &[Seen], from: usize, event: WorldEvent) -> DriverStep {
    DriverStep {
        event,
        did: seen[from].world.after(event).did,
    }
}

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
        /// No transfer stays open after its timer has expired or without the driver knowing of it.
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
            Self::FailureIsTold => "a failed write is reported by the next flush at the latest",
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
struct World {
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
struct Next {
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

    #[test]
    fn policies_that_wait_keep_all_rules_in_all_states() {
        for policy in [
            Policy::Closed,
            Policy::SetCount,
            Policy::OPEN_SAFE,
            Policy::OPEN_AFTER_TWO,
            Policy::Open {
                after: 1,
                waits: true,
            },
        ] {
            let checked = check(policy).expect("it is within reach");
            assert_eq!(checked.holes, [], "{policy}");
            let opens = matches!(policy, Policy::Open { .. });
            assert_eq!(
                checked.open_states > 0,
                opens,
                "{policy}: holds for nothing"
            );
            for rule in Rule::ALL {
                assert!(checked.holds(rule), "{policy}: {rule}");
            }
        }
    }

    #[test]
    fn the_holes_of_the_published_policy_are_found_by_shortest_ways() {
        let checked = check(Policy::OPEN).expect("it is within reach");
        assert!(checked.complete);
        let way = |rule| -> Vec<WorldEvent> {
            let hole = checked.hole(rule).unwrap_or_else(|| panic!("{rule} holds"));
            hole.steps.iter().map(|step| step.event).collect()
        };
        use WorldEvent::{Fails, Flush, PowerCut, Read, Write};
        assert_eq!(way(Rule::FlushedIsKept), [Write(0), Flush, PowerCut]);
        assert_eq!(way(Rule::ReadIsFresh), [Write(0), Read(0)]);
        assert_eq!(way(Rule::CardIsReady), [Write(0), Read(0)]);
        assert_eq!(way(Rule::FailureIsTold), [Write(0), Fails, Flush]);
        assert!(checked.holds(Rule::TransferEnds));
    }

    #[test]
    fn a_policy_that_never_opens_in_the_small_world_is_not_called_sound() {
        let policy = Policy::Open {
            after: MOST_AFTER + 1,
            waits: true,
        };
        assert!(check(policy).is_err());
        assert_eq!(search(policy).open_states, 0);
    }

    #[test]
    fn a_way_says_what_was_sent() {
        let checked = check(Policy::OPEN).expect("it is within reach");
        let steps = &checked.hole(Rule::ReadIsFresh).expect("a hole").steps;
        assert_eq!(steps[0].did, ["CMD25", "data"]);
        assert_eq!(steps[1].did, ["CMD12", "CMD18", "data"]);
    }

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
