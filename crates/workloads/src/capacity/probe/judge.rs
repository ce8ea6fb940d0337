//! Conclusion about the device from the content of its blocks.

use super::blocks::{BLOCK, BlockContent};
use assay_model::work::capacity::ProbedKind;
use std::collections::{BTreeMap, HashMap};

/// Kind of device, or a range in which the search must continue to determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    Sure(ProbedKind),
    /// Blocks are lost from an address on that is above `holds` and at most `lost`.
    Limbo {
        holds: u64,
        lost: u64,
    },
    /// Blocks are lost as in `Limbo`, and addresses repeat.
    Chain {
        holds: u64,
        lost: u64,
        wraps_at: u64,
    },
}

/// Classifies a device by the content of its blocks after they were written in this order.
pub(super) fn judge(order: &[u64], held: &BTreeMap<u64, BlockContent>) -> Guess {
    if held.values().all(|held| *held == BlockContent::Own) {
        return Guess::Sure(ProbedKind::Good);
    }
    if held
        .values()
        .all(|held| matches!(held, BlockContent::Lost | BlockContent::Unreadable))
    {
        return Guess::Sure(ProbedKind::Dead);
    }
    wrapped(order, held)
        .or_else(|| ends_somewhere(held))
        .unwrap_or(Guess::Sure(ProbedKind::Damaged))
}

/// Checks for repeating addresses: every block then holds the last data written to any equivalent
/// address, or nothing.
fn wrapped(order: &[u64], held: &BTreeMap<u64, BlockContent>) -> Option<Guess> {
    let distances = held.iter().filter_map(|(at, held)| match held {
        BlockContent::Other(other) => Some(at.abs_diff(*other)),
        _ => None,
    });
    let wraps_at = distances.reduce(gcd)?;
    if wraps_at == 0 {
        return None;
    }
    let mut last: HashMap<u64, u64> = HashMap::new();
    for &at in order {
        last.insert(at % wraps_at, at);
    }
    // Positions that keep their data must lie below those that lose it.
    let (mut holds, mut lost) = (None, None);
    for (&at, &held) in held {
        let place = at % wraps_at;
        if place + BLOCK > wraps_at {
            // This block overlaps the next repetition.
            continue;
        }
        let expected = last.get(&place).copied();
        let as_expected = match held {
            BlockContent::Own => expected == Some(at),
            // If the repetition is not a multiple of the block size, several blocks overlap.
            BlockContent::Other(other) => other % wraps_at == place,
            BlockContent::Lost | BlockContent::Unreadable => {
                lost = Some(lost.map_or(place, |first: u64| first.min(place)));
                continue;
            }
        };
        if !as_expected {
            return None;
        }
        holds = holds.max(Some(place));
    }
    let (Some(holds), Some(lost)) = (holds, lost) else {
        let real_bytes = wraps_at;
        return Some(Guess::Sure(ProbedKind::Wraparound { real_bytes }));
    };
    (holds < lost).then_some(Guess::Chain {
        holds: holds - holds % BLOCK,
        lost: lost - lost % BLOCK,
        wraps_at,
    })
}

/// Checks that everything is lost from some address on. Lost blocks may show marks of other lost
/// blocks, if all of them go to the same place.
fn ends_somewhere(held: &BTreeMap<u64, BlockContent>) -> Option<Guess> {
    let (&lost, _) = held.iter().find(|(_, held)| **held != BlockContent::Own)?;
    let (&holds, _) = held.range(..lost).next_back()?;
    let beyond: Vec<_> = held.range(lost..).collect();
    // If all lost blocks go to the same place, the last one written is found there.
    let own = beyond
        .iter()
        .filter(|(_, held)| **held == BlockContent::Own)
        .count();
    let all_lost = own == 0 || (own == 1 && beyond.len() > 2);
    let from_beyond = beyond.iter().all(|(_, held)| match held {
        BlockContent::Other(other) => *other >= lost,
        _ => true,
    });
    (all_lost && from_beyond).then_some(Guess::Limbo { holds, lost })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
