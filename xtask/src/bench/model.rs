//! `cargo xtask bench model`: speed of the simulation of cards.

use crate::limits::{Limits, in_release};
use anyhow::{Context, Result};
use assay_flash::device::Device;
use assay_flash::experiment::{SimulatedJob, run};
use assay_flash::part::DeviceModel;
use assay_flash::policy::Policy;
use std::time::Instant;

/// Simulated I/Os of each case.
const IOS: u64 = 5_000_000;
/// Lowest rate of simulated I/Os per second on one core.
const LEAST: f64 = 2e6;
/// Runs of each case. The fastest counts, because others were disturbed.
const ROUNDS: u32 = 3;

/// Simulates each case. Returns an error if a rate is below the limit.
pub fn model() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["bench", "model"]);
    }
    let mut limits = Limits::default();
    for (name, policy, blocks) in [
        ("rtsx-sd-pro-plus-128", Policy::OPEN, 8),
        ("rtsx-sd-pro-plus-128", Policy::Closed, 2048),
        ("emmc-8gb-hs400", Policy::SetCount, 8),
        ("ufs-128gb-g3x2", Policy::Queued, 8),
    ] {
        let part =
            DeviceModel::find(name).with_context(|| format!("the part {name} is missing"))?;
        let (rate, digest) = fastest(&part, policy, blocks)?;
        limits.check(
            &format!("{name}, {policy}, {} KiB", blocks / 2),
            &format!(
                "{:.1} million I/Os/s (at least 2.0), digest {digest:016x}",
                rate / 1e6
            ),
            rate >= LEAST,
        );
    }
    limits.end()
}

/// Returns the rate of the fastest run, in I/Os per second, and the digest of
/// all runs.
fn fastest(part: &DeviceModel, policy: Policy, blocks: u64) -> Result<(f64, u64)> {
    let job = SimulatedJob {
        read_percent: 70,
        random: true,
        blocks,
        span: 1 << 26,
        warm: 0,
        ios: IOS,
        seed: 1,
    };
    let (mut best, mut digest) = (0.0_f64, 0);
    for _ in 0..ROUNDS {
        let mut device = Device::new(part, policy)?;
        let begun = Instant::now();
        digest = run(&mut device, &job).digest;
        best = best.max(IOS as f64 / begun.elapsed().as_secs_f64());
    }
    Ok((best, digest))
}
