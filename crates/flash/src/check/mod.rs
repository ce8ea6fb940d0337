//! Exhaustive search for violated rules over all sequences of events under a policy.
//!
//! A breadth-first search through every state of a small model: three blocks, three writes, reads,
//! flushes, a timer, one failure, a power cut, in every order. For each violated rule it finds a
//! shortest path. A rule for which it finds none cannot be violated in a model of that size.

mod world;

pub use world::{Rule, WorldEvent};

use crate::FlashError;
use crate::policy::Policy;
use std::collections::HashSet;
use world::World;

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
}
