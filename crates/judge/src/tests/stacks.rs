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

/// md on an NVMe drive, which takes FUA, and on a SCSI disk, which is flushed in its place.
#[test]
fn a_mirror_may_be_flushed_on_one_side_and_forced_on_the_other() {
    let trial = |sync| {
        let trial = Trial::write().sync(sync).direct().own_writes(JOB).bare();
        let trial = trial
            .layer("md0", LayerRole::Top, None, WriteCache::Back)
            .layer("sda", LayerRole::Member, Some("md0"), WriteCache::Back)
            .layer("nvme0n1", LayerRole::Member, Some("md0"), WriteCache::Back);
        let trial = trial.queue("nvme0n1", |queue| queue.fua = Some(true));
        let trial = trial
            .wrote("md0", JOB)
            .wrote("sda", JOB)
            .wrote("nvme0n1", JOB);
        trial.with(|t| t.measured().write.ios = 2)
    };
    trial(OpenSync::Dsync)
        .flushed("sda", 2)
        .writes_are("device");
    trial(OpenSync::Dsync).writes_are("device-unflushed");
    trial(OpenSync::None)
        .flushed("sda", 2)
        .writes_are("device-unflushed");
}

/// Linux 6.12 takes what is left of a write when it ends for its size.
#[test]
fn a_bcache_that_counted_less_than_its_disk_is_not_believed() {
    let trial = |counted, below| {
        let trial = durable()
            .layer("bcache0", LayerRole::Top, None, WriteCache::Back)
            .layer("vda", LayerRole::Member, Some("bcache0"), WriteCache::Back)
            .layer("vdb", LayerRole::Member, Some("bcache0"), WriteCache::Back)
            .wrote("bcache0", counted)
            .wrote("vda", below)
            .wrote("vdb", below);
        trial.flushed("vda", 1).flushed("vdb", 1)
    };
    trial(JOB, JOB).writes_are("device");
    trial(JOB / 4, JOB).writes_are("unknown");
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
    assert!(caveat.contains("are unknown here"), "{caveat}");
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

const BACK: WriteCache = WriteCache::Back;

/// dm-0 on sda, with the job's bytes in both.
fn mapped() -> Trial {
    durable()
        .layer("dm-0", LayerRole::Top, None, BACK)
        .kind("dm-0", DeviceKind::Dm)
        .layer("sda", LayerRole::Member, Some("dm-0"), BACK)
        .wrote("dm-0", JOB)
}

#[test]
fn a_disk_below_two_partitions_of_a_volume_is_flushed_once_for_both() {
    let trial = durable()
        .layer("dm-0", LayerRole::Top, None, BACK)
        .layer("sda1", LayerRole::Member, Some("dm-0"), BACK)
        .layer("sda", LayerRole::Disk, Some("sda1"), BACK)
        .layer("sda2", LayerRole::Member, Some("dm-0"), BACK)
        .also_below("sda", "sda2");
    let trial = trial.wrote("dm-0", JOB).wrote("sda1", JOB / 2);
    let trial = trial.wrote("sda2", JOB / 2).wrote("sda", JOB);
    trial.flushed("sda", 1).writes_are("device");
}

#[test]
fn the_paths_to_a_disk_are_flushed_together() {
    let drive = |top: &str, paths: [&str; 2]| {
        durable()
            .layer(top, LayerRole::Top, None, BACK)
            .layer(paths[0], LayerRole::Path, Some(top), BACK)
            .layer(paths[1], LayerRole::Path, Some(top), BACK)
            .wrote(paths[0], JOB / 2)
            .wrote(paths[1], JOB / 2)
    };
    let nvme = || drive("nvme0n1", ["nvme0c0n1", "nvme0c1n1"]);
    let seen = nvme().wrote("nvme0n1", JOB).flushed("nvme0c1n1", 1);
    seen.writes_are("device");
    nvme().wrote("nvme0n1", JOB).writes_are("device-unflushed");
    // Linux 6.1 counts at the paths only.
    let silent = nvme().flushed("nvme0c1n1", 1);
    silent.writes_are("device");
    let partition = nvme()
        .with(|t| t.evidence().storage.layers[0].role = LayerRole::Disk)
        .layer_with("nvme0n1", |layer| layer.parent = Some("p1".to_owned()))
        .layer("p1", LayerRole::Top, None, BACK)
        .with(|t| t.evidence().storage.layers.rotate_right(1));
    partition.flushed("nvme0c0n1", 1).writes_are("device");
    // By hand, and not at the paths.
    let synced = nvme().wrote("nvme0n1", JOB).fua().direct();
    let synced = synced.sync(OpenSync::Dsync);
    synced.writes_are("device");
    let through = |queue: &mut QueueSettings| queue.write_cache = Some(WriteCache::Through);
    let dropped = synced.queue("nvme0n1", through);
    dropped.writes_are("device-unflushed");
    // Device mapper counts the flushes of a multipath device at its top.
    let multipath = || drive("dm-0", ["sda", "sdb"]).wrote("dm-0", JOB);
    let multipath = || multipath().kind("dm-0", DeviceKind::Dm);
    multipath().flushed("dm-0", 1).writes_are("device");
    multipath().writes_are("device-unflushed");
    let none_sent = mapped().wrote("sda", JOB).flushed("dm-0", 1);
    none_sent.writes_are("device-unflushed");
}

#[test]
fn write_through_by_hand_hides_no_cache() {
    let through = |change: fn(Trial) -> Trial| {
        let trial = Trial::write().direct().all_written().write_through();
        change(trial).fdatasync_at_end().written()
    };
    fn cache_type(trial: Trial, words: &str) -> Trial {
        trial.layer_with("sda", |layer| {
            let raw = &mut layer.identity.raw;
            raw.insert("cache_type".to_owned(), words.to_owned());
        })
    }
    let none = through(|t| cache_type(t, "write through"));
    assert_eq!(none.measured, Measured::Device);
    let hidden = through(|t| cache_type(t, "write back"));
    assert_eq!(hidden.measured, Measured::DeviceUnflushed);
    assert!(hidden.because.contains("nothing flushes it"));
    assert_eq!(hidden.volatile_cache, Some(true));
    let nvme = through(|t| t.kind("sda", DeviceKind::Nvme).fua());
    assert_eq!(nvme.measured, Measured::DeviceUnflushed);
    let without = through(|t| t.kind("sda", DeviceKind::Nvme));
    assert_eq!(without.measured, Measured::Device);
    // FUA is not sent either.
    let synced = Trial::write().direct().all_written().sync(OpenSync::Dsync);
    let synced = synced.write_through().fua().kind("sda", DeviceKind::Nvme);
    synced.writes_are("device-unflushed");
}

/// A thin volume without a block, dm-zero, dm-flakey, a journal in memory.
#[test]
fn bytes_that_no_lowest_device_moved_are_not_the_devices() {
    mapped().flushed("sda", 1).writes_are("unknown");
    let kept = mapped().wrote("sda", JOB / 2).flushed("sda", 1).written();
    assert!(
        kept.because.contains("below dm-0 moved only 50 %"),
        "{}",
        kept.because
    );
    let read = |sda| {
        Trial::read()
            .bare()
            .layer("dm-0", LayerRole::Top, None, BACK)
            .kind("dm-0", DeviceKind::Dm)
            .layer("sda", LayerRole::Member, Some("dm-0"), BACK)
            .own_reads(JOB)
            .read_from("dm-0", JOB)
            .read_from("sda", sda)
    };
    read(0).reads_are("unknown");
    read(JOB).reads_are("device");
    // A mirror counts its reads twice.
    let twice = read(JOB / 2).read_from("dm-0", JOB);
    twice.reads_are("unknown");
    read(JOB).read_from("dm-0", JOB).reads_are("device");
    let zero = read(0).with(|t| t.evidence().storage.layers.truncate(1));
    zero.reads_are("unknown");
    // Its disk does not count.
    let uncounted = read(0).queue("sda", |queue| queue.iostats = Some(false));
    let because = uncounted.came().because;
    assert!(
        because.contains("/sys/block/sda/queue/iostats"),
        "{because}"
    );
}

#[test]
fn what_a_journal_below_may_hold_in_memory_is_not_known() {
    let twice = || mapped().wrote("sda", 2 * JOB).flushed("sda", 1);
    let because = twice().written().because;
    assert!(because.contains("below dm-0 moved more"), "{because}");
    let made_by = |uuid: &'static str| {
        twice().with(move |t| {
            let raw = &mut t.evidence().storage.layers[0].identity.raw;
            raw.insert("uuid".to_owned(), uuid.to_owned());
        })
    };
    made_by("CRYPT-INTEGRITY-x").writes_are("unknown");
    // Blocks that a snapshot copies.
    made_by("LVM-x").writes_are("device");
}

#[test]
fn a_part_that_is_memory_is_not_the_devices() {
    let group = |sda| {
        mapped()
            .layer("ram0", LayerRole::Member, Some("dm-0"), WriteCache::Through)
            .kind("ram0", DeviceKind::Ram)
            .wrote("sda", sda)
            .flushed("sda", 1)
    };
    let striped = group(JOB / 2).written();
    assert_eq!(striped.measured.label(), "mixed", "{}", striped.because);
    assert!(
        striped
            .because
            .contains("ram0 (RAM disk) below it is memory")
    );
    group(JOB / 2).direct().writes_are("mixed");
    group(JOB).writes_are("device");
    group(0).writes_are("page-cache");
}

/// Device mapper of Linux 6.1 counts although `queue/iostats` is 0.
#[test]
fn counters_that_stood_still_above_a_disk_that_did_are_believed() {
    let off = |trial: Trial| trial.queue("dm-0", |queue| queue.iostats = Some(false));
    let idle = |t: Trial| t.with(|t| *t.moment(true) = t.moment(false).clone());
    let cached = off(idle(mapped())).own_writes(JOB).dirty(JOB);
    cached
        .with(|t| t.0.job.flush.at_end = None)
        .writes_are("page-cache");
    let half = off(mapped())
        .own_writes(JOB)
        .wrote("sda", JOB)
        .flushed("sda", 1);
    half.writes_are("device");
    // Where they stand still, those of the only device below are the same.
    let still = off(idle(mapped())).own_writes(JOB);
    still
        .wrote("sda", JOB)
        .flushed("sda", 1)
        .writes_are("device");
    let two = off(idle(mapped()).layer("sdb", LayerRole::Member, Some("dm-0"), BACK));
    let two = two.own_writes(JOB).wrote("sda", JOB).flushed("sda", 1);
    let because = two.written().because;
    assert!(
        because.contains("/sys/block/dm-0/queue/iostats"),
        "{because}"
    );
}

#[test]
fn a_flush_that_device_mapper_may_have_made_a_write_is_not_missing() {
    let fua = |trial: Trial| trial.queue("sda", |queue| queue.fua = Some(true));
    let mapped = || fua(mapped()).wrote("sda", JOB);
    mapped().writes_are("unknown");
    mapped().flushed("sda", 1).writes_are("device");
}

#[test]
fn f2fs_may_spare_one_flush() {
    let calls = |seen, fs_type: &str| {
        Trial::write()
            .all_written()
            .fdatasync_at_end()
            .flushed("sda", seen)
            .with(|t| {
                t.measured().flush.count = 128;
                t.evidence().storage.mount.as_mut().unwrap().fs_type = fs_type.to_owned();
            })
    };
    calls(127, "f2fs").writes_are("device");
    calls(126, "f2fs").writes_are("device-unflushed");
    calls(127, "ext4").writes_are("device-unflushed");
}

#[test]
fn the_devices_of_a_file_system_count_together() {
    let trial =
        durable()
            .layer("sda", LayerRole::Top, None, BACK)
            .layer("sdb", LayerRole::Top, None, BACK);
    let trial = |a, b| {
        let trial = trial.clone().wrote("sda", a).wrote("sdb", b);
        trial.flushed("sda", 1).flushed("sdb", 1)
    };
    trial(JOB / 2, JOB / 2).writes_are("device");
    trial(JOB, JOB).writes_are("device");
    trial(0, JOB).writes_are("device");
    trial(0, 0).writes_are("unknown");
    assert_eq!(trial(JOB, JOB).judged().foreign, None);
    let because = trial(JOB, JOB).written().because;
    assert!(because.contains("sda + sdb"), "{because}");
}

#[test]
fn a_network_block_device_says_that_its_server_is_not_seen() {
    let judged = Trial::read().own_reads(JOB).read_from("sda", JOB);
    let caveat = judged.kind("sda", DeviceKind::Nbd).came().caveat;
    assert!(caveat.is_some_and(|caveat| caveat.contains("beneath sda are unknown")));
}
