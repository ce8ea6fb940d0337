//! Uses on machines made of files.

use super::*;
use crate::fixture::{Machine, MadeUp};
use std::io::Write;

const ROOT_ONLY: &str = "27 1 259:1 / / rw - ext4 /dev/root rw\n";

/// sda with sda1 and sda2, sdb; nothing in use.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.disk("pci/block/sda", "8:0", 1000);
    machine.partition("pci/block/sda", "sda1", "8:1", 400);
    machine.partition("pci/block/sda", "sda2", "8:2", 400);
    machine.disk("pci/block/sdb", "8:16", 1000);
    machine.mountinfo(ROOT_ONLY);
    machine
}

fn mount(machine: &Machine, line: &str) {
    machine.mountinfo(&format!("{ROOT_ONLY}{line}\n"));
}

fn uses(machine: &Machine, name: &str) -> Vec<String> {
    uses_with(machine, &MadeUp::default(), name)
}

fn uses_with(machine: &Machine, files: &MadeUp, name: &str) -> Vec<String> {
    in_use_with(&machine.roots, files, name)
}

#[test]
fn an_idle_device_may_be_written() {
    let machine = machine();
    for name in ["sda", "sda1", "sdb"] {
        assert_eq!(uses(&machine, name), [""; 0]);
    }
}

#[test]
fn a_mounted_partition_guards_itself_and_its_disk_only() {
    let machine = machine();
    mount(&machine, "28 27 8:1 / /my\\040home rw - ext4 /dev/sda1 rw");
    let clause = ["sda1 is mounted on /my home"];
    assert_eq!(uses(&machine, "sda1"), clause);
    assert_eq!(uses(&machine, "sda"), clause);
    assert_eq!(uses(&machine, "sda2"), [""; 0]);
    assert_eq!(uses(&machine, "sdb"), [""; 0]);
}

#[test]
fn a_disk_mounted_as_a_whole_guards_its_partitions() {
    let machine = machine();
    mount(&machine, "28 27 8:0 / /data rw - ext4 /dev/sda rw");
    assert_eq!(uses(&machine, "sda2"), ["sda is mounted on /data"]);
}

#[test]
fn every_mount_point_is_named() {
    let machine = machine();
    mount(
        &machine,
        "28 27 8:1 / /a rw - ext4 /dev/sda1 rw\n29 27 8:1 /x /b rw - ext4 /dev/sda1 rw",
    );
    assert_eq!(uses(&machine, "sda1"), ["sda1 is mounted on /a, /b"]);
}

#[test]
fn an_anonymous_mount_is_found_by_its_source() {
    let machine = machine();
    mount(&machine, "28 27 0:44 / /data rw - btrfs /dev/mapper/x rw");
    let files = MadeUp::default().node("/dev/mapper/x", "8:2");
    let found = uses_with(&machine, &files, "sda2");
    assert_eq!(found, ["sda2 is mounted on /data"]);
}

#[test]
fn the_second_device_of_a_btrfs_is_guarded_too() {
    let machine = machine();
    for member in ["sda2", "sdb"] {
        machine.link(
            &format!("sys/fs/btrfs/0c5c-a1/devices/{member}"),
            &format!("sys/class/block/{member}"),
        );
    }
    let clause = ["sdb belongs to the mounted btrfs file system 0c5c-a1"];
    assert_eq!(uses(&machine, "sdb"), clause);
}

#[test]
fn the_log_of_an_xfs_is_guarded() {
    let machine = machine();
    mount(
        &machine,
        "28 27 8:1 / /x rw - xfs /dev/sda1 rw,logdev=/dev/sdb",
    );
    let files = MadeUp::default().node("/dev/sdb", "8:16");
    let found = uses_with(&machine, &files, "sdb");
    assert_eq!(
        found,
        ["sdb is the log of the xfs file system mounted on /x"]
    );
}

#[test]
fn swap_is_guarded_even_when_its_node_is_gone() {
    let machine = machine();
    machine.disk("virtual/block/zram0", "252:0", 1000);
    machine.file(
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 5\n/dev/sda2\\040(deleted) partition 1 0 -2\n",
    );
    let files = MadeUp::default().node("/dev/zram0", "252:0");
    let zram = uses_with(&machine, &files, "zram0");
    assert_eq!(zram, ["zram0 is in use as swap space"]);
    let sda = uses_with(&machine, &files, "sda");
    assert_eq!(sda, ["sda2 is in use as swap space"]);
}

#[test]
fn holders_are_named_with_what_they_are_and_where_they_are_mounted() {
    let machine = machine();
    machine.disk("virtual/block/dm-0", "253:0", 1000);
    machine.files(
        "sys/devices/virtual/block/dm-0/dm",
        &[("name", "vg-root\n"), ("uuid", "LVM-abc\n")],
    );
    machine.hold("dm-0", "sda2");
    mount(
        &machine,
        "28 27 253:0 / /srv rw - xfs /dev/mapper/vg-root rw",
    );
    let both = [
        "sda2 is part of the LVM volume vg-root (dm-0)",
        "dm-0 is mounted on /srv",
    ];
    assert_eq!(uses(&machine, "sda2"), both);
    assert_eq!(uses(&machine, "sda"), both);
    assert_eq!(uses(&machine, "sda1"), [""; 0]);
}

#[test]
fn a_volume_over_both_partitions_is_followed_once() {
    let machine = machine();
    machine.disk("virtual/block/md0", "9:0", 1000);
    machine.file("sys/devices/virtual/block/md0/md/level", "raid1\n");
    machine.partition("virtual/block/md0", "md0p1", "259:9", 900);
    machine.hold("md0", "sda1");
    machine.hold("md0", "sda2");
    mount(&machine, "28 27 259:9 / /srv rw - ext4 /dev/md0p1 rw");
    assert_eq!(
        uses(&machine, "sda"),
        [
            "sda1 is a member of the raid1 array md0",
            "md0p1 is mounted on /srv",
            "sda2 is a member of the raid1 array md0",
        ]
    );
}

#[test]
fn a_partition_of_an_array_member_is_guarded() {
    let machine = machine();
    machine.disk("virtual/block/bcache0", "251:0", 1000);
    machine.hold("bcache0", "sda");
    assert_eq!(uses(&machine, "sda1"), ["sda is used by bcache0"]);
}

#[test]
fn a_loop_on_the_node_guards_the_device() {
    let machine = machine();
    machine.disk("virtual/block/loop3", "7:3", 1000);
    let file = "sys/devices/virtual/block/loop3/loop/backing_file";
    machine.file(file, "/dev/disk/by-id/x\n");
    mount(&machine, "28 27 7:3 / /mnt rw - ext4 /dev/loop3 rw");
    let files = MadeUp::default().node("/dev/disk/by-id/x", "8:16");
    let found = uses_with(&machine, &files, "sdb");
    assert_eq!(found, ["sdb backs loop3", "loop3 is mounted on /mnt"]);
}

#[test]
fn a_device_that_a_program_writes_is_guarded_with_its_parts() {
    let machine = machine();
    machine.descriptor(4711, 9, "/dev/sda", "02100002");
    machine.descriptor(4712, 9, "/dev/sda2", "0100001");
    machine.descriptor(4713, 9, "/dev/sdb", "0100000");
    let files = || {
        MadeUp::default()
            .node("/dev/sda", "8:0")
            .node("/dev/sda2", "8:2")
            .node("/dev/sdb", "8:16")
    };
    let disk = "sda is open in qemu (pid 4711)";
    let partition = "sda2 is open in qemu (pid 4712)";
    assert_eq!(uses_with(&machine, &files(), "sda"), [disk, partition]);
    assert_eq!(uses_with(&machine, &files(), "sda1"), [disk]);
    assert_eq!(uses_with(&machine, &files(), "sdb"), [""; 0]);
    machine.descriptor(4714, 3, "/dev/sda", "0100002");
    let both = "sda is open in qemu (pid 4711), qemu (pid 4714)";
    assert_eq!(uses_with(&machine, &files(), "sda1"), [both]);
}

#[test]
fn the_agent_and_its_host_may_have_it_open() {
    let machine = machine();
    for own in [process::id(), parent_id()] {
        machine.descriptor(own, 3, "/dev/sdb", "0100002");
    }
    let files = MadeUp::default().node("/dev/sdb", "8:16");
    assert_eq!(uses_with(&machine, &files, "sdb"), [""; 0]);
}

#[test]
fn a_read_only_disk_is_refused_with_its_partitions() {
    let machine = machine();
    machine.file("sys/devices/pci/block/sda/ro", "1\n");
    assert_eq!(uses(&machine, "sda1"), ["sda is read-only"]);
}

#[test]
fn what_cannot_be_read_is_a_reason() {
    let machine = machine();
    machine.remove("proc/self/mountinfo");
    let found = uses(&machine, "sdb");
    assert!(
        found[0].contains("whether sdb is mounted is not known"),
        "{found:?}"
    );
    assert_eq!(uses(&machine, "sdz"), ["/sys shows no block device sdz"]);
}

#[test]
fn a_missing_node_is_an_error_not_a_free_device() {
    assert!(held_exclusively(Path::new("/dev/no-such-device")).is_err());
}

/// loop1 and loop2 on /x.img, which is also /y.img; loop3 on another file.
fn loops_on_files() -> (Machine, MadeUp) {
    let machine = machine();
    for (number, file) in [(1, "/x.img"), (2, "/y.img"), (3, "/z.img")] {
        let name = format!("virtual/block/loop{number}");
        machine.disk(&name, &format!("7:{number}"), 1000);
        let file_of = format!("sys/devices/{name}/loop/backing_file");
        machine.file(&file_of, &format!("{file}\n"));
    }
    let files = MadeUp::default()
        .with("/x.img", FileKind::Regular, "259:1")
        .with("/z.img", FileKind::Regular, "259:1")
        .hard_link("/x.img", "/y.img");
    (machine, files)
}

#[test]
fn another_loop_on_the_same_file_guards_it() {
    let (machine, files) = loops_on_files();
    assert_eq!(uses_with(&machine, &files, "loop2"), [""; 0]);
    mount(&machine, "28 27 7:1 / /mnt rw - ext4 /dev/loop1 rw");
    let both = [
        "the file behind loop2 is behind loop1 too",
        "loop1 is mounted on /mnt",
    ];
    assert_eq!(uses_with(&machine, &files, "loop2"), both);
    assert_eq!(uses_with(&machine, &files, "loop3"), [""; 0]);
    // Its name is gone, or is that of another file here.
    let unseen = MadeUp::default();
    assert_eq!(uses_with(&machine, &unseen, "loop2"), [""; 0]);
    let file = "sys/devices/virtual/block/loop2/loop/backing_file";
    machine.file(file, "/x.img\n");
    assert_eq!(uses_with(&machine, &unseen, "loop2"), both);
}

#[test]
fn loops_on_other_parts_of_the_file_do_not() {
    let (machine, files) = loops_on_files();
    mount(&machine, "28 27 7:1 / /mnt rw - ext4 /dev/loop1 rw");
    let begins = |at: u64| {
        let file = "sys/devices/virtual/block/loop2/loop/offset";
        machine.file(file, &format!("{at}\n"));
        uses_with(&machine, &files, "loop2").len()
    };
    assert_eq!(begins(999 * 512), 2);
    assert_eq!(begins(1001 * 512), 0);
}

#[test]
fn a_swap_file_guards_the_loop_on_it() {
    let (machine, files) = loops_on_files();
    machine.file("proc/swaps", "Filename\n/y.img file 1 0 -2\n");
    let expected = ["loop1 is on /x.img", "that file is in use as swap space"];
    assert_eq!(uses_with(&machine, &files, "loop1"), expected);
    assert_eq!(uses_with(&machine, &files, "loop3"), [""; 0]);
}

#[test]
fn what_is_beneath_guards_all_that_stands_on_it() {
    let (machine, files) = loops_on_files();
    // loop4 is on loop2, a volume on loop4, and loop1 shares loop2's file.
    machine.disk("virtual/block/loop4", "7:4", 1000);
    let file = "sys/devices/virtual/block/loop4/loop/backing_file";
    machine.file(file, "/dev/loop2\n");
    machine.disk("virtual/block/dm-0", "253:0", 1000);
    machine.disk("virtual/block/dm-1", "253:1", 1000);
    machine.hold("dm-0", "loop4");
    machine.hold("dm-1", "loop4");
    let files = files.node("/dev/loop2", "7:2");
    mount(&machine, "28 27 253:1 / /srv rw - ext4 /dev/dm-1 rw");
    let volume = |line: &str| {
        mount(&machine, line);
        uses_with(&machine, &files, "dm-0")
    };
    let neighbour = volume("28 27 253:1 / /srv rw - ext4 /dev/dm-1 rw");
    assert_eq!(neighbour, [""; 0], "another volume of the same device");
    assert_eq!(
        volume("28 27 7:2 / /srv rw - ext4 /dev/loop2 rw"),
        ["loop4 is on loop2", "loop2 is mounted on /srv"]
    );
    assert_eq!(
        volume("28 27 7:1 / /srv rw - ext4 /dev/loop1 rw"),
        [
            "loop4 is on loop2",
            "the file behind loop2 is behind loop1 too",
            "loop1 is mounted on /srv",
        ]
    );
}

#[test]
fn a_partition_of_a_loop_device_is_guarded_by_its_file() {
    let (machine, files) = loops_on_files();
    machine.partition("virtual/block/loop2", "loop2p1", "259:7", 900);
    mount(&machine, "28 27 7:1 / /mnt rw - ext4 /dev/loop1 rw");
    assert_eq!(uses_with(&machine, &files, "loop2p1").len(), 2);
}

/// sda and sdb of [`machine`] with an identifier each, both of the same size.
fn two_paths(ids: [&str; 2]) -> Machine {
    let machine = machine();
    for (disk, id) in ["sda", "sdb"].iter().zip(ids) {
        machine.file(&format!("sys/devices/pci/block/{disk}/device/wwid"), id);
    }
    machine
}

#[test]
fn a_disk_is_guarded_by_its_other_path() {
    let mounted = "28 27 8:0 / /srv rw - ext4 /dev/sda rw";
    let same = [
        "sda leads to the same disk as sdb",
        "sda is mounted on /srv",
    ];
    let machine = two_paths(["naa.5000c5001234abcd\n"; 2]);
    assert_eq!(uses(&machine, "sdb"), [""; 0]);
    mount(&machine, mounted);
    assert_eq!(uses(&machine, "sdb"), same);
    for ids in [
        ["naa.5000c5001234abcd", "naa.5000c5001234abce"],
        ["naa.0000000000000000"; 2],
        ["t10.Generic Flash Disk"; 2],
    ] {
        let machine = two_paths(ids);
        mount(&machine, mounted);
        assert_eq!(uses(&machine, "sdb"), [""; 0], "{ids:?}");
    }
}

#[test]
fn paths_are_told_by_the_serial_number_where_there_is_no_world_wide_name() {
    let machine = machine();
    for disk in ["sda", "sdb"] {
        let unit = format!("sys/devices/pci/block/{disk}/device");
        machine.files(&unit, &[("vendor", "IBM\n"), ("model", "2145\n")]);
        machine.file(&format!("{unit}/vpd_pg80"), "\0\u{80}\0\u{8}60A98000");
    }
    mount(&machine, "28 27 8:1 / /srv rw - ext4 /dev/sda1 rw");
    let same = [
        "sda leads to the same disk as sdb",
        "sda1 is mounted on /srv",
    ];
    assert_eq!(uses(&machine, "sdb"), same);
}

#[test]
fn other_controllers_and_what_is_built_on_them_guard_a_namespace() {
    let machine = machine();
    for (name, number) in [("nvme0n1", "259:11"), ("nvme1n1", "259:12")] {
        machine.disk(&format!("pci/block/{name}"), number, 1000);
        let wwid = format!("sys/devices/pci/block/{name}/wwid");
        machine.file(&wwid, "eui.0025385b71b0c1d2\n");
    }
    machine.partition("pci/block/nvme0n1", "nvme0n1p1", "259:3", 400);
    machine.disk("virtual/block/md0", "9:0", 1000);
    machine.file("sys/devices/virtual/block/md0/md/level", "raid1\n");
    machine.hold("md0", "nvme0n1p1");
    let expected = [
        "nvme0n1 leads to the same disk as nvme1n1",
        "nvme0n1p1 is a member of the raid1 array md0",
    ];
    assert_eq!(uses(&machine, "nvme1n1"), expected);
    machine.partition("pci/block/nvme1n1", "nvme1n1p1", "259:4", 400);
    machine.partition("pci/block/nvme1n1", "nvme1n1p2", "259:5", 400);
    for (part, start) in [
        ("nvme0n1/nvme0n1p1", "8"),
        ("nvme1n1/nvme1n1p1", "8"),
        ("nvme1n1/nvme1n1p2", "400"),
    ] {
        machine.file(&format!("sys/devices/pci/block/{part}/start"), start);
    }
    assert_eq!(uses(&machine, "nvme1n1p1"), expected);
    assert_eq!(uses(&machine, "nvme1n1p2"), [""; 0]);
}

#[test]
fn a_multipath_device_is_no_use_of_its_own_paths() {
    let machine = two_paths(["naa.5000c5001234abcd"; 2]);
    machine.disk("pci/block/sdc", "8:32", 1000);
    machine.file(
        "sys/devices/pci/block/sdc/device/wwid",
        "naa.5000c5001234abcd",
    );
    machine.disk("virtual/block/dm-0", "253:0", 1000);
    let dm = "sys/devices/virtual/block/dm-0/dm";
    machine.files(dm, &[("name", "mpatha\n"), ("uuid", "mpath-3500\n")]);
    machine.hold("dm-0", "sda");
    machine.hold("dm-0", "sdb");
    assert_eq!(uses(&machine, "dm-0"), [""; 0]);
    mount(&machine, "28 27 8:32 / /srv rw - ext4 /dev/sdc rw");
    assert!(uses(&machine, "dm-0").contains(&"sdc is mounted on /srv".to_owned()));
}

fn holding(parts: &[(u64, &[u8])]) -> Vec<Signature> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[0; 200_000]).unwrap();
    for (offset, bytes) in parts {
        file.write_all_at(bytes, *offset).unwrap();
    }
    find(&file).unwrap()
}

#[test]
fn each_kind_is_found_at_its_place_alone() {
    assert_eq!(holding(&[]), []);
    for &(at, magic, _, words) in &SIGNATURES {
        let offset = match at {
            At::Start(offset) => offset,
            At::End(before, unit) => 200_000 / unit * unit - before,
        };
        let found = holding(&[(offset, magic)]);
        let found: Vec<&str> = found.iter().map(|one| one.words).collect();
        assert_eq!(found, [words]);
        assert_eq!(holding(&[(offset + 1, magic)]), [], "{words}");
    }
}

#[test]
fn identifiers_are_read_beside_the_magic_number() {
    let swap = holding(&[(4086, b"SWAPSPACE2"), (1036, &[0xab; 16])]);
    assert_eq!(swap[0].uuid.as_deref(), Some("ab".repeat(16).as_str()));
    let id = "0f9d2b5e-8a5d-4c3e-9f25-5be3b5a2d7c1";
    let luks = holding(&[(0, b"LUKS\xba\xbe"), (168, id.as_bytes())]);
    assert_eq!(luks[0].uuid.as_deref(), Some(id));
}

#[test]
fn a_partition_table_needs_a_partition() {
    let end: (u64, &[u8]) = (510, &[0x55, 0xaa]);
    assert_eq!(
        holding(&[end]),
        [],
        "a boot sector of a FAT without its name"
    );
    assert_eq!(
        holding(&[end, (450, &[0x83])])[0].words,
        "an MBR partition table"
    );
    let fat = holding(&[end, (82, b"FAT32   "), (450, &[0x83])]);
    assert_eq!(fat.len(), 1, "its code is no table");
    assert_eq!(find(&tempfile::tempfile().unwrap()).unwrap(), []);
}

#[test]
fn several_are_all_named() {
    let both = holding(&[(1080, &[0x53, 0xef]), (131_072, MD)]);
    assert_eq!(both.len(), 2, "{both:?}");
}

#[test]
fn what_cannot_be_read_is_not_known() {
    let roots = Roots::default();
    let words = on_disk(&roots, "no-such-device");
    assert!(
        words[0].starts_with("data that is not known (no-such-device: "),
        "{words:?}"
    );
    // Reads of a folder fail with EISDIR.
    let folder = tempfile::tempdir().unwrap();
    assert!(find(&File::open(folder.path()).unwrap()).is_err());
}
