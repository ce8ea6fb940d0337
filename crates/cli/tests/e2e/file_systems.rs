//! The same truth on other file systems, through an overlay, on a partition.

use crate::assay::{Bed, assert_label, is_pure, label, text, trial, undisturbed};
use assay_testkit::{LoopDevice, Mount, Scratch, Volume, make_file_system, needs, or_skip};
use serde_json::Value;
use std::path::Path;

const JOBS: &str = "ladder-*,read-cached,read-buffered,seq-read-1m";

/// A short run of the jobs whose labels are known; again if a sync(2) of others wrote back what
/// is to stay in the page cache.
fn measure(path: &Path) -> Value {
    undisturbed(
        || Bed::new().measure(path, "32M", JOBS, &[]),
        |run| is_pure(&trial(run, "ladder-plain")["evidence"]["write"]),
    )
}

/// What holds on every file system on a device with a volatile cache.
fn assert_common_labels(run: &Value) {
    assert_label(run, "ladder-plain", "write", "page-cache");
    assert_label(run, "ladder-fdatasync", "write", "device");
    assert_label(run, "ladder-dsync", "write", "device");
    assert_label(run, "read-cached", "read", "page-cache");
    assert_label(run, "read-buffered", "read", "device");
}

/// What holds where `O_DIRECT` goes past the page cache.
fn assert_direct_labels(run: &Value) {
    assert_label(run, "ladder-direct", "write", "device-unflushed");
    assert_label(run, "seq-read-1m", "read", "device");
}

#[test]
fn xfs() {
    needs!(root, "mkfs.xfs");
    let volume = or_skip!(Volume::new("xfs", 384));
    let run = measure(volume.point());
    assert_eq!(run["device"]["mount"]["fs_type"], "xfs");
    assert_common_labels(&run);
    assert_direct_labels(&run);
}

#[test]
fn vfat() {
    needs!(root, "mkfs.vfat");
    let volume = or_skip!(Volume::new("vfat", 256));
    let run = measure(volume.point());
    assert_common_labels(&run);
    assert_direct_labels(&run);
}

#[test]
fn btrfs() {
    needs!(root, "mkfs.btrfs");
    let volume = or_skip!(Volume::new("btrfs", 384));
    let run = measure(volume.point());
    assert_common_labels(&run);
    // Kernels differ in whether checksummed data may go past the page cache.
    let (written, because) = label(&run, "ladder-direct", "write");
    assert!(written.starts_with("device"), "{written}: {because}");
}

#[test]
fn an_overlay_is_measured_where_its_upper_layer_is() {
    needs!(root, "mkfs.ext4");
    let lower = or_skip!(Volume::new("ext4", 16));
    let upper = or_skip!(Volume::new("ext4", 256));
    let point = upper.scratch().join("over");
    let overlay = or_skip!(Mount::overlay("", lower.point(), upper.point(), &point));
    let run = measure(overlay.point());
    assert_eq!(run["device"]["name"], upper.device().name());
    assert_eq!(run["device"]["mount"]["fs_type"], "overlay");
    assert_common_labels(&run);
    assert_direct_labels(&run);
}

#[test]
fn a_partition_is_measured_as_part_of_its_disk() {
    needs!(root, "mkfs.ext4", "addpart");
    let scratch = or_skip!(Scratch::new());
    let disk = or_skip!(LoopDevice::new(&scratch, "disk.img", 300));
    let (node, _known) = or_skip!(disk.partition(1, 1, 256));
    or_skip!(make_file_system("ext4", &node));
    let mount = or_skip!(Mount::new(&[], text(&node), &scratch.join("mnt")));
    let run = measure(mount.point());
    assert_eq!(run["device"]["name"], format!("{}p1", disk.name()));
    assert_eq!(run["device"]["disk"], disk.name());
    assert_common_labels(&run);
    assert_direct_labels(&run);
}
