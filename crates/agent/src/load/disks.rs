//! Activity of a load's disks over the whole load.

use assay_model::act::watch::DiskCounters;
use assay_model::load::report::DiskUse;
use assay_model::storage::{Layer, LayerRole, Storage};
use assay_probe::counters::disk_stat;
use assay_probe::roots::Roots;
use std::time::Instant;

/// Disks seen so far, with the counters of their first occurrence.
#[derive(Default)]
pub(super) struct Disks(Vec<Disk>);

struct Disk {
    name: String,
    below: Vec<String>,
    before: DiskCounters,
    since: Instant,
}

impl Disks {
    /// Adds the disks of a storage.
    pub(super) fn add(&mut self, roots: &Roots, storage: &Storage) {
        let Some(top) = storage.device() else { return };
        let members = storage.layers.iter().filter(|layer| is_member(layer));
        for disk in std::iter::once(top).chain(members) {
            self.add_disk(roots, storage, disk);
        }
    }

    fn add_disk(&mut self, roots: &Roots, storage: &Storage, disk: &Layer) {
        if self.0.iter().any(|known| known.name == disk.name) {
            return;
        }
        let Some(before) = disk_stat(roots, &disk.name) else {
            return;
        };
        let below = storage.below(disk).filter(|layer| is_member(layer));
        self.0.push(Disk {
            name: disk.name.clone(),
            below: below.map(|layer| layer.name.clone()).collect(),
            before,
            since: Instant::now(),
        });
    }

    /// Returns the activity of the disks since the start; a disk that is gone is left out.
    pub(super) fn uses(&self, roots: &Roots) -> Vec<DiskUse> {
        let seen = self.0.iter();
        seen.filter_map(|disk| Some(disk.since_then(&disk_stat(roots, &disk.name)?)))
            .collect()
    }
}

fn is_member(layer: &Layer) -> bool {
    matches!(layer.role, LayerRole::Member | LayerRole::Path)
}

impl Disk {
    fn since_then(&self, now: &DiskCounters) -> DiskUse {
        let (old, new) = (&self.before.counters, &now.counters);
        let grown = |new: u64, old: u64| new.saturating_sub(old);
        DiskUse {
            name: self.name.clone(),
            read_ios: grown(new.read_ios, old.read_ios),
            write_ios: grown(new.write_ios, old.write_ios),
            read_merges: grown(now.read_merges, self.before.read_merges),
            write_merges: grown(now.write_merges, self.before.write_merges),
            read_bytes: grown(new.read_bytes, old.read_bytes),
            write_bytes: grown(new.write_bytes, old.write_bytes),
            read_ms: grown(new.read_ms, old.read_ms),
            write_ms: grown(new.write_ms, old.write_ms),
            queue_ms: grown(now.queue_ms, self.before.queue_ms),
            busy_ms: grown(new.busy_ms, old.busy_ms),
            over_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            below: self.below.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::storage::{Backing, DeviceIdentity};
    use std::fs;
    use std::path::Path;

    fn layer(name: &str, role: LayerRole, parent: Option<&str>) -> Layer {
        Layer {
            name: name.to_owned(),
            major: 8,
            minor: 0,
            role,
            parent: parent.map(str::to_owned),
            other_parents: Vec::new(),
            size: None,
            backing_file: None,
            identity: DeviceIdentity::default(),
        }
    }

    fn storage(layers: Vec<Layer>) -> Storage {
        Storage {
            path: "/mnt".into(),
            mount: None,
            backing: Backing::Device {
                name: layers[0].name.clone(),
            },
            layers,
            total: None,
            available: None,
        }
    }

    fn stat(folder: &Path, name: &str, line: &str) {
        let folder = folder.join("sys/class/block").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), line).unwrap();
    }

    #[test]
    fn a_partition_shows_its_disk_once_and_only_what_was_done_since() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        stat(folder.path(), "sda", "1 2 3 4 5 6 7 8 0 10 11");
        let partition = storage(vec![
            layer("sda1", LayerRole::Top, None),
            layer("sda", LayerRole::Disk, Some("sda1")),
        ]);
        let mut disks = Disks::default();
        disks.add(&roots, &partition);
        stat(folder.path(), "sda", "2 4 6 8 10 12 14 16 0 20 22");
        disks.add(&roots, &partition);
        let uses = disks.uses(&roots);
        assert_eq!(uses.len(), 1);
        let sda = &uses[0];
        assert_eq!(
            (sda.read_ios, sda.read_merges, sda.read_bytes),
            (1, 2, 3 * 512)
        );
        assert_eq!((sda.write_ios, sda.write_merges, sda.queue_ms), (5, 6, 11));
    }

    #[test]
    fn what_a_volume_is_made_of_is_shown_too() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        for name in ["dm-0", "sda", "sdb"] {
            stat(folder.path(), name, "0 0 0 0 0 0 0 0 0 0 0");
        }
        let mut disks = Disks::default();
        disks.add(
            &roots,
            &storage(vec![
                layer("dm-0", LayerRole::Top, None),
                layer("sda", LayerRole::Member, Some("dm-0")),
                layer("sdb", LayerRole::Member, Some("dm-0")),
            ]),
        );
        let uses = disks.uses(&roots);
        assert_eq!(uses.len(), 3);
        assert_eq!(uses[0].below, ["sda", "sdb"]);
        fs::remove_dir_all(folder.path().join("sys/class/block/sdb")).unwrap();
        assert_eq!(disks.uses(&roots).len(), 2, "one was pulled out");
    }
}
