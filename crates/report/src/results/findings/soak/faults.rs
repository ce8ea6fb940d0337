//! Blocks that did not hold what was written to them, one by one.

use super::Taken;
use crate::results::findings::Sentence;
use assay_lang::{counted, tr};
use assay_model::work::soak::{Fault, HeldContent};

/// So many are told.
const TOLD: usize = 16;

pub(super) fn lines(steps: &[Taken<'_>]) -> Vec<Sentence> {
    let faults = steps.iter().flat_map(|(_, step)| &step.faults);
    let line = |fault| Sentence {
        bad: true,
        text: sentence(fault),
    };
    let mut lines: Vec<Sentence> = faults.clone().take(TOLD).map(line).collect();
    let more = faults.count().saturating_sub(TOLD);
    if more > 0 {
        let more = counted!(more, "{n} block", "{n} blocks");
        let text = tr!("and {more} more", more);
        lines.push(Sentence { bad: true, text });
    }
    lines
}

fn sentence(fault: &Fault) -> String {
    tr!(
        "block {block} at offset {offset} should hold write {expected}, and {held}; {bytes} from byte {first} on",
        block = fault.block,
        offset = fault.offset,
        expected = fault.expected,
        held = held(fault),
        bytes = counted!(
            fault.differing_bytes,
            "{n} byte differs",
            "{n} bytes differ"
        ),
        first = fault.first_byte
    )
}

fn held(fault: &Fault) -> String {
    match fault.found {
        HeldContent::Stale { number } => tr!("is stale: it holds write {number}", number),
        HeldContent::Torn {
            new_sectors,
            sectors,
        } => tr!(
            "is torn: {new} of its {sectors} sectors are of that write",
            new = new_sectors,
            sectors
        ),
        HeldContent::Misplaced { block } => tr!("holds what belongs to block {block}", block),
        HeldContent::Zeros => tr!("is all zeros").to_owned(),
        HeldContent::Flipped { bits } => tr!(
            "has {bits} wrong",
            bits = counted!(bits, "{n} bit", "{n} bits")
        ),
        HeldContent::Foreign => tr!("holds what assay never wrote").to_owned(),
        HeldContent::Unreadable { errno } => match errno {
            Some(errno) => tr!("cannot be read (errno {errno})", errno),
            None => tr!("cannot be read").to_owned(),
        },
    }
}
