//! Devices on top of devices.

use super::*;

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
