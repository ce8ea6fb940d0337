//! "Disk stats": the counters of the disks, and sums over their underlying
//! disks.

use super::Map;
use assay_model::load::report::DiskUse;
use std::io::{self, Write};

/// Unit of the kernel's sector counts, in bytes, regardless of the disk's
/// sector size.
const SECTOR: u64 = 512;

/// Disk with its underlying disks and partitions.
struct Disk<'a> {
    disk: &'a DiskUse,
    below: Vec<&'a DiskUse>,
}

fn disks(all: &[DiskUse]) -> impl Iterator<Item = Disk<'_>> {
    all.iter().map(|disk| Disk {
        disk,
        below: all
            .iter()
            .filter(|other| disk.below.contains(&other.name))
            .collect(),
    })
}

/// Share of the time with I/O in flight, in percent. (At most 100, as in fio,
/// because the counter and the clock are not read at the same moment.)
fn busy_percent(disk: &DiskUse) -> f64 {
    if disk.over_ms == 0 {
        return 0.0;
    }
    (100.0 * disk.busy_ms as f64 / disk.over_ms as f64).min(100.0)
}

impl Disk<'_> {
    /// Mean over the underlying disks, as in fio.
    fn mean(&self, counter: impl Fn(&DiskUse) -> u64) -> u64 {
        let sum: u64 = self.below.iter().map(|disk| counter(disk)).sum();
        sum / (self.below.len() as u64).max(1)
    }

    /// Largest busy share of the underlying disks, in percent.
    fn busiest_percent(&self) -> f64 {
        self.below
            .iter()
            .map(|disk| busy_percent(disk))
            .fold(0.0, f64::max)
    }
}

/// Writes the block at the end of the normal output.
pub(super) fn write_normal(all: &[DiskUse], out: &mut dyn Write) -> io::Result<()> {
    if !all.is_empty() {
        writeln!(out, "\nDisk stats (read/write):")?;
    }
    for disk in disks(all) {
        let DiskUse {
            name,
            read_ios,
            write_ios,
            read_merges,
            write_merges,
            ..
        } = disk.disk;
        let DiskUse {
            read_ms,
            write_ms,
            queue_ms,
            ..
        } = disk.disk;
        let indent = if disk.below.is_empty() { "  " } else { "    " };
        write!(
            out,
            "{indent}{name}: ios={read_ios}/{write_ios}, merge={read_merges}/{write_merges}, \
             ticks={read_ms}/{write_ms}, in_queue={queue_ms}, util={:.2}%",
            busy_percent(disk.disk)
        )?;
        if !disk.below.is_empty() {
            write!(
                out,
                ", aggrios={}/{}, aggrmerge={}/{}, aggrticks={}/{}, aggrin_queue={}, \
                 aggrutil={:.2}%",
                disk.mean(|d| d.read_ios),
                disk.mean(|d| d.write_ios),
                disk.mean(|d| d.read_merges),
                disk.mean(|d| d.write_merges),
                disk.mean(|d| d.read_ms),
                disk.mean(|d| d.write_ms),
                disk.mean(|d| d.queue_ms),
                disk.busiest_percent()
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns the fields at the end of a terse line.
pub(super) fn terse_fields(all: &[DiskUse]) -> Vec<String> {
    let mut fields = Vec::new();
    for disk in disks(all) {
        let mut add = |name: &str, counters: [u64; 7], util: f64| {
            fields.push(name.to_owned());
            fields.extend(counters.map(|counter| counter.to_string()));
            fields.push(format!("{util:.2}%"));
        };
        add(
            &disk.disk.name,
            counters(disk.disk),
            busy_percent(disk.disk),
        );
        if !disk.below.is_empty() {
            let means = std::array::from_fn(|n| disk.mean(|d| counters(d)[n]));
            add("slaves", means, disk.busiest_percent());
        }
    }
    fields
}

fn counters(disk: &DiskUse) -> [u64; 7] {
    [
        disk.read_ios,
        disk.write_ios,
        disk.read_merges,
        disk.write_merges,
        disk.read_ms,
        disk.write_ms,
        disk.queue_ms,
    ]
}

/// Returns the objects of `disk_util`. Two of fio's names do not match the
/// pattern of the others (`aggr_write_merge`); they are kept.
pub(super) fn objects(all: &[DiskUse]) -> Vec<Map> {
    disks(all).map(|disk| object(&disk)).collect()
}

fn object(disk: &Disk<'_>) -> Map {
    let mut map = Map::new();
    map.add("name", disk.disk.name.as_str());
    map.add("read_ios", disk.disk.read_ios);
    map.add("write_ios", disk.disk.write_ios);
    map.add("read_sectors", disk.disk.read_bytes / SECTOR);
    map.add("write_sectors", disk.disk.write_bytes / SECTOR);
    map.add("read_merges", disk.disk.read_merges);
    map.add("write_merges", disk.disk.write_merges);
    map.add("read_ticks", disk.disk.read_ms);
    map.add("write_ticks", disk.disk.write_ms);
    map.add("in_queue", disk.disk.queue_ms);
    map.add("util", busy_percent(disk.disk));
    if !disk.below.is_empty() {
        map.add("aggr_read_ios", disk.mean(|d| d.read_ios));
        map.add("aggr_write_ios", disk.mean(|d| d.write_ios));
        map.add("aggr_read_sectors", disk.mean(|d| d.read_bytes / SECTOR));
        map.add("aggr_write_sectors", disk.mean(|d| d.write_bytes / SECTOR));
        map.add("aggr_read_merges", disk.mean(|d| d.read_merges));
        map.add("aggr_write_merge", disk.mean(|d| d.write_merges));
        map.add("aggr_read_ticks", disk.mean(|d| d.read_ms));
        map.add("aggr_write_ticks", disk.mean(|d| d.write_ms));
        map.add("aggr_in_queue", disk.mean(|d| d.queue_ms));
        map.add("aggr_util", disk.busiest_percent());
    }
    map
}
