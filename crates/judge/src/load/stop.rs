//! Evidence at the moment when the clocks of some streams stopped, while other streams continued or
//! the same streams began other work.

use assay_lang::key;
use assay_model::evidence::{DeviceCounters, Evidence};
use assay_model::load::report::{BetweenPasses, ClockStop};

pub(super) const UNEVEN: &str = key!(
    "jobs of this wave went over their files several times and stopped at different times: what moved between their passes is not counted apart"
);

/// Returns the evidence at the moment when these clocks stopped, without the counts between the
/// passes; `None` where those are not known.
pub(super) fn evidence_at(evidence: &Evidence, stop: &ClockStop) -> Option<Evidence> {
    let mut evidence = Evidence {
        after: stop.after.clone(),
        ..evidence.clone()
    };
    match &stop.between {
        None => Some(evidence),
        Some(between) => leave_out(&mut evidence, between).map(|()| evidence),
    }
}

fn leave_out(evidence: &mut Evidence, between: &BetweenPasses) -> Option<()> {
    let after = &mut evidence.after;
    after.at_ns = after.at_ns.saturating_sub(between.elapsed_ns);
    for device in &mut after.devices {
        let passed = between.devices.iter().find(|d| d.name == device.name)?;
        *device = DeviceCounters {
            in_flight: device.in_flight,
            ..device.combined(passed, u64::saturating_sub)
        };
    }
    if let Some(own) = &mut after.own_io {
        *own = own.combined(between.own_io?, u64::saturating_sub);
    }
    for cache in [&mut after.file_cache, &mut after.region_cache]
        .into_iter()
        .flatten()
    {
        // Pages that an earlier pass left dirty had not reached the device either.
        cache.dirty_bytes = cache
            .dirty_bytes
            .zip(between.dirty_bytes)
            .map(|(a, b)| a + b);
    }
    let before = &mut evidence.before;
    for cache in [&mut before.file_cache, &mut before.region_cache]
        .into_iter()
        .flatten()
    {
        // Each pass may find the pages that were cached when it began.
        cache.cached_bytes = cache.cached_bytes.saturating_add(between.cached_bytes?);
    }
    Some(())
}
