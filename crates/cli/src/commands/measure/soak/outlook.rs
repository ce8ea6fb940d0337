//! Announcement of a soak: the amount of writes, and the share of the device's life that they use.

use super::Args;
use crate::checks::estimate::ASSUMED_BYTES_PER_SEC;
use crate::output::say;
use assay_model::device::register::nvme::SmartLog;
use assay_model::device::register::{NVME_SMART, from_hex};
use assay_model::storage::DeviceIdentity;
use assay_model::units::{Bytes, Nanos};
use assay_model::wire::Inspection;
use assay_model::work::soak::Soak;
use assay_report::health;

/// Prints the announcement.
pub fn tell(args: &Args, work: &Soak, inspection: &Inspection) {
    let area = Bytes(work.blocks.saturating_mul(work.block_bytes));
    say(&format!(
        "assay: soak of {}: an area of {area} in blocks of {}, checkpoints every {}",
        work.path.display(),
        Bytes(work.block_bytes),
        Nanos(work.checkpoint_ns)
    ));
    let (written, how) = written(work);
    say(&format!("assay: writes {how}"));
    let device = inspection.storage.device().map(|layer| &layer.identity);
    let size = inspection.storage.device().and_then(|layer| layer.size);
    say(&format!("assay: {}", life(args, written, size, device)));
}

/// Returns the bytes that will be written, as a number and in words.
fn written(work: &Soak) -> (u64, String) {
    let area = work.blocks.saturating_mul(work.block_bytes);
    let by_passes = work.last.map(|last| last.saturating_mul(work.block_bytes));
    let in_time = |limit: u64| {
        u64::try_from(u128::from(limit) * u128::from(ASSUMED_BYTES_PER_SEC) / 1_000_000_000)
            .unwrap_or(u64::MAX)
    };
    // Half of the time is spent on reading.
    let by_time = work.limit_ns.map(|limit| (limit, in_time(limit) / 2));
    match (by_passes, by_time) {
        (Some(bytes), None) => (
            bytes,
            format!("{}: {} passes", Bytes(bytes), bytes / area.max(1)),
        ),
        (Some(bytes), Some((limit, _))) => (
            bytes,
            format!(
                "at most {}, and ends after {} at the latest",
                Bytes(bytes),
                Nanos(limit)
            ),
        ),
        (None, Some((limit, bytes))) => (
            bytes,
            format!(
                "for {}: {} if each block takes as long to read as to write, at an assumed {} \
                 a second; a faster device is written more",
                Nanos(limit),
                Bytes(bytes),
                Bytes(ASSUMED_BYTES_PER_SEC)
            ),
        ),
        (None, None) => (u64::MAX, "until it is stopped".to_owned()),
    }
}

/// Describes the share of the device's life that the writes use.
fn life(args: &Args, written: u64, size: Option<Bytes>, device: Option<&DeviceIdentity>) -> String {
    let says = device.and_then(health::wear_in_words);
    let says = says.map_or_else(
        || "the device does not report its wear".to_owned(),
        |words| format!("the device says: {words}"),
    );
    let by_cycles = args.endurance.zip(size).map(|(cycles, size)| {
        let total = size.0.saturating_mul(cycles.into());
        (total, format!("{cycles} cycles of {size}"))
    });
    let by_tbw = args.tbw.map(|tbw| (tbw.0, format!("{tbw} in its life")));
    let by_itself = device.and_then(so_far);
    match by_cycles.or(by_tbw).or(by_itself) {
        Some((total, why)) => format!(
            "these writes are {} of its life ({why}), and the device writes more by itself; \
             {says}",
            share(written, total)
        ),
        None => format!(
            "the share of the device's life that this takes is unknown: give --endurance CYCLES or --tbw SIZE; {says}"
        ),
    }
}

/// Estimates the total writes of a device's life, from the life that an NVMe drive reports as used
/// and the bytes written.
fn so_far(device: &DeviceIdentity) -> Option<(u64, String)> {
    let bytes = from_hex(device.raw.get(NVME_SMART)?)?;
    let log = SmartLog::parse(&bytes)?;
    let (used, written) = (u64::from(log.used_percent()), log.written());
    let total = (written.0.checked_div(used)?).checked_mul(100)?;
    Some((total, format!("{used} % were used by {written}")))
}

fn share(part: u64, of: u64) -> String {
    let percent = 100.0 * part as f64 / of.max(1) as f64;
    match percent {
        small if small < 0.01 => "less than 0.01 %".to_owned(),
        small if small < 1.0 => format!("{small:.2} %"),
        percent => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_life_is_never_nothing() {
        assert_eq!(share(1, u64::MAX), "less than 0.01 %");
        assert_eq!(share(5, 1000), "0.50 %");
        assert_eq!(share(30, 1000), "3.0 %");
        assert_eq!(share(2000, 1000), "200.0 %");
    }
}
