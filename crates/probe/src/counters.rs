//! Counters and queue settings of block devices.

use crate::attr;
use crate::devices::{Device, SECTOR_BYTES};
use crate::roots::Roots;
use assay_model::act::watch::DiskCounters;
use assay_model::evidence::{DeviceCounters, QueueSettings, WriteCache};
use assay_model::storage::Storage;

/// Reads the block layer's counters of a device, from `/sys/class/block/NAME/stat`
/// (Documentation/block/stat.rst); `None` when they cannot be read.
pub fn device_counters(roots: &Roots, name: &str) -> Option<DeviceCounters> {
    let text = attr::whole(&roots.block(name).join("stat")).ok()?;
    parse_stat(name, &text)
}

/// Reads all counters of a disk, except its dirty pages; `None` if they cannot be read.
pub fn disk_stat(roots: &Roots, name: &str) -> Option<DiskCounters> {
    let text = attr::whole(&roots.block(name).join("stat")).ok()?;
    let fields = numbers(&text)?;
    Some(DiskCounters {
        counters: parse_stat(name, &text)?,
        read_merges: *fields.get(1)?,
        write_merges: *fields.get(5)?,
        queue_ms: *fields.get(10)?,
        unwritten_bytes: None,
    })
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    let fields = text.split_whitespace();
    fields.map(|field| field.parse().ok()).collect()
}

/// Parses the 11 fields of all kernels, 15 with discards (4.18), or 17 with flushes (5.5).
fn parse_stat(name: &str, text: &str) -> Option<DeviceCounters> {
    let fields = numbers(text)?;
    let [
        read_ios,
        _read_merges,
        read_sectors,
        read_ms,
        write_ios,
        _write_merges,
        write_sectors,
        write_ms,
        in_flight,
        busy_ms,
        _queue_ms,
        newer @ ..,
    ] = fields.as_slice()
    else {
        return None;
    };
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    Some(DeviceCounters {
        name: name.to_owned(),
        read_ios: *read_ios,
        read_bytes: bytes(*read_sectors),
        read_ms: *read_ms,
        write_ios: *write_ios,
        write_bytes: bytes(*write_sectors),
        write_ms: *write_ms,
        in_flight: *in_flight,
        busy_ms: *busy_ms,
        discard_bytes: newer.get(2).copied().map(bytes),
        flush_ios: newer.get(4).copied(),
        flush_ms: newer.get(5).copied(),
    })
}

/// Reads the queue settings of every layer, in order. A partition has those of its disk, under its
/// own name; a layer that no longer exists has none.
pub fn queues(roots: &Roots, storage: &Storage) -> Vec<QueueSettings> {
    let layers = storage.layers.iter();
    layers
        .map(|layer| queue_settings(roots, &layer.name))
        .collect()
}

fn queue_settings(roots: &Roots, name: &str) -> QueueSettings {
    let unknown = QueueSettings {
        name: name.to_owned(),
        ..QueueSettings::default()
    };
    let Some(device) = Device::named(roots, name) else {
        return unknown;
    };
    let queue = device.disk_dir().join("queue");
    let (scheduler, schedulers) = attr::text(&queue.join("scheduler"))
        .map(|line| parse_schedulers(&line))
        .unwrap_or_default();
    QueueSettings {
        scheduler,
        schedulers,
        read_ahead_kib: attr::number(&queue.join("read_ahead_kb")),
        nr_requests: attr::number(&queue.join("nr_requests")),
        max_request_kib: attr::number(&queue.join("max_sectors_kb")),
        write_cache: match attr::text(&queue.join("write_cache")).as_deref() {
            Some("write back") => Some(WriteCache::Back),
            Some("write through") => Some(WriteCache::Through),
            _ => None,
        },
        fua: attr::flag(&queue.join("fua")),
        iostats: attr::flag(&queue.join("iostats")),
        ..unknown
    }
}

/// Returns the scheduler in force, which is in brackets, and all available ones. Devices without a
/// choice show `none` without brackets.
fn parse_schedulers(line: &str) -> (Option<String>, Vec<String>) {
    let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let offered: Vec<String> = line.split_whitespace().map(bare).collect();
    let only = (offered.len() == 1).then_some(line);
    let chosen = attr::bracketed(line).or(only);
    (chosen.map(str::to_owned), offered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;
    use proptest::prelude::*;

    #[test]
    fn a_stat_of_kernel_3_10_has_no_discards_and_no_flushes() {
        let line = "  100 1 2000 10  50 2 4000 20  3 30 40\n";
        let counters = parse_stat("mmcblk0p2", line).unwrap();
        assert_eq!(counters.read_ios, 100);
        assert_eq!(counters.read_bytes, 2000 * 512);
        assert_eq!(counters.write_ios, 50);
        assert_eq!(counters.write_bytes, 4000 * 512);
        assert_eq!((counters.read_ms, counters.write_ms), (10, 20));
        assert_eq!((counters.in_flight, counters.busy_ms), (3, 30));
        assert_eq!(counters.discard_bytes, None);
        assert_eq!(counters.flush_ios, None);
    }

    #[test]
    fn merges_and_queue_time_are_those_of_their_fields() {
        let machine = Machine::new();
        machine.file("sys/class/block/sda/stat", "1 2 3 4 5 6 7 8 9 10 11\n");
        let stat = disk_stat(&machine.roots, "sda").unwrap();
        let seen = (stat.read_merges, stat.write_merges, stat.queue_ms);
        assert_eq!(seen, (2, 6, 11));
        assert_eq!(stat.counters.busy_ms, 10);
        assert_eq!(disk_stat(&machine.roots, "sdb"), None);
    }

    #[test]
    fn newer_stats_add_discards_then_flushes() {
        let eleven = "1 1 1 1 1 1 1 1 1 1 1";
        let fifteen = parse_stat("x", &format!("{eleven} 5 0 8 2")).unwrap();
        assert_eq!(fifteen.discard_bytes, Some(8 * 512));
        assert_eq!(fifteen.flush_ios, None);
        let seventeen = parse_stat("x", &format!("{eleven} 5 0 8 2 7 9")).unwrap();
        assert_eq!(
            (seventeen.flush_ios, seventeen.flush_ms),
            (Some(7), Some(9))
        );
    }

    #[test]
    fn text_that_is_no_stat_gives_no_counters() {
        for text in ["", "1 2 3 4", "1 2 3 4 5 6 7 8 9 ten 11"] {
            assert_eq!(parse_stat("x", text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_stat_is_read_without_overflow(fields in proptest::collection::vec(any::<u64>(), 0..20)) {
            let text: Vec<String> = fields.iter().map(u64::to_string).collect();
            let counters = parse_stat("x", &text.join(" "));
            prop_assert_eq!(counters.is_some(), fields.len() >= 11);
        }
    }

    #[test]
    fn the_scheduler_in_force_is_the_one_in_brackets() {
        let parsed = parse_schedulers("none [mq-deadline] kyber");
        assert_eq!(parsed.0.as_deref(), Some("mq-deadline"));
        assert_eq!(parsed.1, ["none", "mq-deadline", "kyber"]);
        assert_eq!(parse_schedulers("none").0.as_deref(), Some("none"));
    }

    #[test]
    fn a_partition_shows_its_disks_queue_under_its_own_name() {
        let machine = Machine::new();
        machine.disk("platform/block/sda", "8:0", 100);
        machine.partition("platform/block/sda", "sda1", "8:1", 50);
        let queue = "sys/devices/platform/block/sda/queue";
        machine.file(&format!("{queue}/write_cache"), "write back\n");
        machine.file(&format!("{queue}/scheduler"), "[bfq] none\n");
        machine.file(&format!("{queue}/read_ahead_kb"), "128\n");
        let settings = queue_settings(&machine.roots, "sda1");
        assert_eq!(settings.name, "sda1");
        assert_eq!(settings.write_cache, Some(WriteCache::Back));
        assert_eq!(settings.scheduler.as_deref(), Some("bfq"));
        assert_eq!(settings.read_ahead_kib, Some(128));
        assert_eq!(settings.fua, None, "not shown is not false");
        assert_eq!(settings.iostats, None, "not shown is not false");
        machine.file(&format!("{queue}/iostats"), "0\n");
        assert_eq!(queue_settings(&machine.roots, "sda1").iostats, Some(false));
    }
}
