//! Devices on top of devices.

use super::*;
use assay_model::storage::DeviceKind;

fn durable() -> Trial {
    Trial::write().fdatasync_at_end().own_writes(JOB).bare()
}

#[test]
fn bytes_of_the_partition_and_flushes_of_its_disk() {
    let trial = || {
        durable()
            .layer("sda1", LayerRole::Top, None, WriteCache::Through)
            .layer("sda", LayerRole::Disk, Some("sda1"), WriteCache::Back)
    };
    let good = trial()
        .wrote("sda1", JOB)
        .wrote("sda", JOB)
        .flushed("sda", 2);
    good.writes_are("device");
    assert_eq!(good.written().flushes, Some(2));
    // Only another partition was written; where the job's bytes went is not
    // known.
    trial()
        .wrote("sda", JOB)
        .flushed("sda", 2)
        .writes_are("unknown");
    // The partition's own row counts no flushes.
    let none = trial().wrote("sda1", JOB).wrote("sda", JOB);
    none.flushed("sda1", 2).writes_are("device-unflushed");
}

#[test]
fn every_written_volatile_disk_of_a_mapping_must_be_flushed() {
    let trial = || {
        durable()
            .layer("dm-0", LayerRole::Top, None, WriteCache::Back)
            .layer("sda", LayerRole::Member, Some("dm-0"), WriteCache::Back)
            .layer("sdb", LayerRole::Member, Some("dm-0"), WriteCache::Through)
            .wrote("dm-0", JOB)
            .wrote("sda", JOB / 2)
            .wrote("sdb", JOB / 2)
    };
    let good = trial().flushed("sda", 2).written();
    assert_eq!(good.measured, Measured::Device);
    assert_eq!((good.flushes, good.volatile_cache), (Some(2), Some(true)));
    assert_eq!(good.layers.len(), 3);
    trial().flushed("sdb", 2).writes_are("device-unflushed");
    let both = trial().with(|t| t.evidence().queues[2].write_cache = Some(WriteCache::Back));
    both.flushed("sda", 2).writes_are("device-unflushed");
    trial().write_through().writes_are("device");
    let silent = trial().with(|t| t.evidence().queues[2].write_cache = None);
    silent.flushed("sda", 2).writes_are("unknown");
}

#[test]
fn a_loop_device_answers_for_itself() {
    let trial = || {
        durable()
            .layer("loop0", LayerRole::Top, None, WriteCache::Back)
            .layer("vda", LayerRole::Beneath, Some("loop0"), WriteCache::Back)
            .wrote("loop0", JOB)
    };
    trial().flushed("loop0", 1).writes_are("device");
    trial()
        .flushed("vda", 9)
        .wrote("vda", JOB)
        .writes_are("device-unflushed");
    let through = trial().with(|t| t.evidence().queues[0].write_cache = Some(WriteCache::Through));
    through.writes_are("device");
}

fn loop_over_vda(kind: DeviceKind) -> Trial {
    let layers = |t: Trial| {
        t.bare()
            .layer("loop0", LayerRole::Top, None, WriteCache::Back)
            .layer("vda", LayerRole::Beneath, Some("loop0"), WriteCache::Back)
    };
    layers(Trial::read())
        .own_reads(JOB)
        .read_from("loop0", JOB)
        .with(|t| t.evidence().storage.layers[0].identity.kind = kind)
}

/// The pages of its file answered, not the disk.
#[test]
fn a_loop_device_whose_disk_stood_still_says_so() {
    let judged = loop_over_vda(DeviceKind::Loop)
        .read_from("vda", JOB / 100)
        .came();
    assert_eq!(judged.measured, Measured::Device);
    let caveat = "only 1 % of that came from vda, beneath loop0";
    assert_eq!(judged.caveat.as_deref(), Some(caveat));
    assert!(judged.because.ends_with(caveat), "{}", judged.because);
    let moved = loop_over_vda(DeviceKind::Loop).read_from("vda", JOB);
    assert_eq!(moved.came().caveat, None);
    let hidden = loop_over_vda(DeviceKind::Loop).with(|t| {
        t.evidence().storage.layers.truncate(1);
    });
    let caveat = hidden.came().caveat.expect("one");
    assert!(caveat.contains("cannot be told"), "{caveat}");
}

#[test]
fn memory_under_a_device_is_never_the_device() {
    let on_tmpfs = || {
        loop_over_vda(DeviceKind::Loop).with(|t| {
            let storage = &mut t.evidence().storage;
            storage.layers.truncate(1);
            storage.backing = Backing::Memory {
                fs_type: "file on tmpfs".to_owned(),
            };
        })
    };
    on_tmpfs().reads_are("page-cache");
    let because = on_tmpfs().came().because;
    assert!(because.contains("loop0 is in memory (file on tmpfs)"));
    assert_eq!(on_tmpfs().judged().foreign.unwrap().read_bytes, 0);
    for kind in [DeviceKind::Zram, DeviceKind::Ram, DeviceKind::Nullblk] {
        let on_zram = loop_over_vda(DeviceKind::Loop)
            .read_from("vda", JOB)
            .with(|t| t.evidence().storage.layers[1].identity.kind = kind.clone());
        on_zram.reads_are("page-cache");
        let mut direct = durable()
            .layer("zram0", LayerRole::Top, None, WriteCache::Through)
            .wrote("zram0", JOB);
        direct.evidence().storage.layers[0].identity.kind = kind;
        direct.writes_are("page-cache");
    }
}
