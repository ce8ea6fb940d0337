//! Stacks of machines made of files.

use super::*;
use crate::fixture::{Machine, MadeUp};
use assay_model::storage::{DeviceKind, LayerRole};

const MIB_SECTORS: u64 = 2048;

/// Names, roles and parents, top first.
fn shape(storage: &Storage) -> Vec<(&str, LayerRole, Option<&str>)> {
    let layers = storage.layers.iter();
    layers
        .map(|l| (l.name.as_str(), l.role, l.parent.as_deref()))
        .collect()
}

fn leaves(storage: &Storage) -> Vec<&str> {
    storage.leaves().map(|layer| layer.name.as_str()).collect()
}

fn other_parents<'a>(storage: &'a Storage, name: &str) -> &'a [String] {
    let mut layers = storage.layers.iter();
    &layers.find(|l| l.name == name).unwrap().other_parents
}

fn resolve(machine: &Machine, files: &MadeUp, path: &str) -> Storage {
    View::new(&machine.roots, files)
        .resolve(Path::new(path))
        .unwrap()
}

fn why(storage: &Storage) -> &str {
    assert!(storage.layers.is_empty(), "layers of an unknown device");
    match &storage.backing {
        Backing::Unknown { why } => why,
        other => panic!("known: {other:?}"),
    }
}

/// sda with sda1 and sda2, sdb with sdb1.
fn two_disks() -> Machine {
    let machine = Machine::new();
    machine.disk("pci/block/sda", "8:0", 100 * MIB_SECTORS);
    machine.partition("pci/block/sda", "sda1", "8:1", 50 * MIB_SECTORS);
    machine.partition("pci/block/sda", "sda2", "8:2", 50 * MIB_SECTORS);
    machine.disk("pci/block/sdb", "8:16", 100 * MIB_SECTORS);
    machine.partition("pci/block/sdb", "sdb1", "8:17", 90 * MIB_SECTORS);
    machine
}

fn directory(path: &str, device: &str) -> MadeUp {
    MadeUp::default().with(path, FileKind::Directory, device)
}

#[test]
fn a_partition_stands_on_its_disk() {
    let machine = two_disks();
    machine.mountinfo("27 1 8:1 / /home rw,noatime - ext4 /dev/sda1 rw,discard\n");
    let storage = resolve(&machine, &directory("/home/u", "8:1"), "/home/u");
    assert_eq!(
        shape(&storage),
        [
            ("sda1", LayerRole::Top, None),
            ("sda", LayerRole::Disk, Some("sda1"))
        ]
    );
    let mount = storage.mount.as_ref().unwrap();
    assert_eq!(
        (mount.fs_type.as_str(), mount.source.as_str()),
        ("ext4", "/dev/sda1")
    );
    assert_eq!(mount.options, ["rw", "noatime"]);
    assert_eq!(storage.available, Some(Bytes::mib(40)));
    let top = storage.top().unwrap();
    assert_eq!(
        (top.major, top.minor, top.size),
        (8, 1, Some(Bytes::mib(50)))
    );
    assert_eq!(top.identity.kind, DeviceKind::Partition);
    assert_eq!(leaves(&storage), ["sda"]);
}

#[test]
fn a_device_number_is_enough_without_mounts() {
    let machine = two_disks();
    let storage = resolve(&machine, &directory("/home", "8:17"), "/home");
    assert_eq!(storage.top().unwrap().name, "sdb1");
    assert_eq!(storage.mount, None);
}

#[test]
fn a_block_device_is_its_own_storage() {
    let machine = two_disks();
    let files = MadeUp::default().node("/dev/sdb", "8:16");
    let storage = resolve(&machine, &files, "/dev/sdb");
    assert_eq!(shape(&storage), [("sdb", LayerRole::Top, None)]);
    assert_eq!(storage.total, Some(Bytes::mib(100)));
    assert_eq!((storage.mount, storage.available), (None, None));
}

#[test]
fn a_volume_on_two_partitions_of_a_disk_has_that_disk_once() {
    let machine = two_disks();
    machine.disk("virtual/block/dm-0", "253:0", 80 * MIB_SECTORS);
    for lower in ["sda1", "sda2", "sdb1"] {
        machine.hold("dm-0", lower);
    }
    let storage = resolve(&machine, &directory("/srv", "253:0"), "/srv");
    assert_eq!(
        shape(&storage),
        [
            ("dm-0", LayerRole::Top, None),
            ("sda1", LayerRole::Member, Some("dm-0")),
            ("sda", LayerRole::Disk, Some("sda1")),
            ("sda2", LayerRole::Member, Some("dm-0")),
            ("sdb1", LayerRole::Member, Some("dm-0")),
            ("sdb", LayerRole::Disk, Some("sdb1")),
        ]
    );
    assert_eq!(other_parents(&storage, "sda"), ["sda2"]);
    assert_eq!(leaves(&storage), ["sda", "sdb"]);
}

/// A thin volume: data and metadata of its pool are volumes on one partition.
#[test]
fn a_device_that_is_reached_on_two_ways_is_no_leaf_because_of_the_second() {
    let machine = two_disks();
    for number in 0..4 {
        let name = format!("virtual/block/dm-{number}");
        machine.disk(&name, &format!("253:{number}"), 80 * MIB_SECTORS);
    }
    for (upper, lower) in [
        ("dm-3", "dm-2"),
        ("dm-2", "dm-0"),
        ("dm-2", "dm-1"),
        ("dm-0", "sda1"),
        ("dm-1", "sda1"),
    ] {
        machine.hold(upper, lower);
    }
    let storage = resolve(&machine, &directory("/srv", "253:3"), "/srv");
    assert_eq!(other_parents(&storage, "sda1"), ["dm-1"]);
    assert_eq!(leaves(&storage), ["sda"]);
}

#[test]
fn a_bcache_is_on_its_cache_and_on_its_backing_device() {
    let machine = two_disks();
    machine.disk("virtual/block/bcache0", "251:0", 80 * MIB_SECTORS);
    machine.hold("bcache0", "sdb");
    machine.file("sys/devices/pci/block/sda/bcache/state", "clean\n");
    let folder = "sys/devices/virtual/block/bcache0/bcache";
    machine.link(folder, "sys/devices/pci/block/sda/bcache");
    let storage = resolve(&machine, &directory("/srv", "251:0"), "/srv");
    assert_eq!(leaves(&storage), ["sdb", "sda"]);
}

#[test]
fn a_circle_of_devices_ends() {
    let machine = two_disks();
    add_loop(&machine);
    machine.disk("virtual/block/dm-0", "253:0", 20 * MIB_SECTORS);
    machine.hold("dm-0", "loop0");
    let files = directory("/mnt", "253:0")
        .with("/data/image", FileKind::Regular, "253:0")
        .stamp("/data/image", 10 << 20);
    let storage = resolve(&machine, &files, "/mnt");
    assert_eq!(storage.layers.len(), 2);
    assert_eq!(leaves(&storage), ["loop0"]);
    assert_eq!(storage.memory(), None);
}

#[test]
fn an_nvme_drive_with_two_controllers_has_two_paths() {
    let machine = Machine::new();
    machine.disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0", 100);
    machine.partition(
        "virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
        "nvme0n1p1",
        "259:1",
        90,
    );
    for name in ["nvme0c0n1", "nvme0c1n1", "nvme0c1n2", "nvme1c0n1"] {
        let folder = format!("sys/devices/pci/nvme/{name}");
        machine.files(&folder, &[("size", "100\n"), ("hidden", "1\n")]);
        machine.link(&format!("sys/class/block/{name}"), &folder);
    }
    let storage = resolve(&machine, &directory("/mnt", "259:1"), "/mnt");
    assert_eq!(
        shape(&storage),
        [
            ("nvme0n1p1", LayerRole::Top, None),
            ("nvme0n1", LayerRole::Disk, Some("nvme0n1p1")),
            ("nvme0c0n1", LayerRole::Path, Some("nvme0n1")),
            ("nvme0c1n1", LayerRole::Path, Some("nvme0n1")),
        ]
    );
    assert!(!device_gone(&machine.roots, &storage));
    assert_eq!(crate::counters::disks(&machine.roots), ["nvme0n1"]);
}

#[test]
fn the_disks_of_a_multipath_device_are_paths() {
    let machine = two_disks();
    machine.disk("virtual/block/dm-0", "253:0", 80 * MIB_SECTORS);
    machine.file("sys/devices/virtual/block/dm-0/dm/uuid", "mpath-1\n");
    machine.hold("dm-0", "sda");
    machine.hold("dm-0", "sdb");
    let roles = |machine: &Machine| {
        let storage = resolve(machine, &directory("/srv", "253:0"), "/srv");
        let roles = storage.layers.iter().map(|layer| layer.role);
        roles.skip(1).collect::<Vec<_>>()
    };
    assert_eq!(roles(&machine), [LayerRole::Path; 2]);
    machine.file("sys/devices/virtual/block/dm-0/dm/uuid", "LVM-1\n");
    assert_eq!(roles(&machine), [LayerRole::Member; 2]);
    machine.file("sys/devices/virtual/block/dm-0/mq/0/nr_tags", "64\n");
    assert_eq!(roles(&machine), [LayerRole::Path; 2], "made by hand");
}

#[test]
fn an_f2fs_on_two_devices_is_on_both() {
    let machine = two_disks();
    machine.mountinfo("27 1 8:1 / /x rw - f2fs /dev/sda1 rw\n");
    let files = directory("/x", "8:1")
        .node("/dev/sda1", "8:1")
        .node("/dev/sdb", "8:16");
    let shape_with = |paths: [&str; 2]| {
        let mut block = vec![0_u8; 8192];
        block[1024..1028].copy_from_slice(&[0x10, 0x20, 0xf5, 0xf2]);
        for (path, at) in paths.iter().zip([1024 + 2201, 1024 + 2201 + 68]) {
            block[at..at + path.len()].copy_from_slice(path.as_bytes());
        }
        std::fs::create_dir_all(machine.roots.root.join("dev")).unwrap();
        std::fs::write(machine.roots.root.join("dev/sda1"), block).unwrap();
        let storage = resolve(&machine, &files, "/x");
        let tops: Vec<String> = storage.tops().map(|top| top.name.clone()).collect();
        tops
    };
    assert_eq!(shape_with(["/dev/sda1", "/dev/sdb"]), ["sda1", "sdb"]);
    assert_eq!(shape_with(["", ""]), ["sda1"]);
    assert_eq!(shape_with(["/dev/sda1", "/dev/gone"]), ["sda1"]);
}

#[test]
fn encryption_on_a_mirror_is_followed_down() {
    let machine = two_disks();
    machine.disk("virtual/block/md0", "9:0", 50 * MIB_SECTORS);
    machine.disk("virtual/block/dm-3", "253:3", 50 * MIB_SECTORS);
    machine.hold("md0", "sda1");
    machine.hold("md0", "sdb");
    machine.hold("dm-3", "md0");
    let storage = resolve(&machine, &directory("/srv", "253:3"), "/srv");
    assert_eq!(
        shape(&storage),
        [
            ("dm-3", LayerRole::Top, None),
            ("md0", LayerRole::Member, Some("dm-3")),
            ("sda1", LayerRole::Member, Some("md0")),
            ("sda", LayerRole::Disk, Some("sda1")),
            ("sdb", LayerRole::Member, Some("md0")),
        ]
    );
}

/// loop0 of 10 MiB over /data/image.
fn add_loop(machine: &Machine) {
    machine.disk("virtual/block/loop0", "7:0", 10 * MIB_SECTORS);
    machine.file(
        "sys/devices/virtual/block/loop0/loop/backing_file",
        "/data/image\n",
    );
}

#[test]
fn what_is_beneath_a_loop_device_is_told_apart() {
    let machine = two_disks();
    add_loop(&machine);
    let files = directory("/mnt", "7:0")
        .with("/data/image", FileKind::Regular, "8:1")
        .stamp("/data/image", 10 << 20);
    let storage = resolve(&machine, &files, "/mnt");
    assert_eq!(
        shape(&storage),
        [
            ("loop0", LayerRole::Top, None),
            ("sda1", LayerRole::Beneath, Some("loop0")),
            ("sda", LayerRole::Beneath, Some("sda1")),
        ]
    );
    let top = storage.top().unwrap();
    assert_eq!(top.backing_file.as_deref(), Some(Path::new("/data/image")));
    assert_eq!(top.identity.kind, DeviceKind::Loop);
}

#[test]
fn a_loop_device_on_a_file_in_memory_is_memory() {
    let machine = two_disks();
    add_loop(&machine);
    machine.mountinfo("41 27 0:30 / /data rw - tmpfs tmpfs rw\n");
    let files = |top| {
        directory("/mnt", top)
            .with("/data/image", FileKind::Regular, "0:30")
            .stamp("/data/image", 10 << 20)
    };
    let memory = Backing::Memory {
        fs_type: "file on tmpfs".to_owned(),
    };
    let storage = resolve(&machine, &files("7:0"), "/mnt");
    assert_eq!(storage.backing, memory);
    assert_eq!(shape(&storage), [("loop0", LayerRole::Top, None)]);
    assert_eq!(storage.words(), "file on tmpfs in memory");
    // A volume on it too, unless a part of that is on a disk.
    machine.disk("virtual/block/dm-0", "253:0", 20 * MIB_SECTORS);
    machine.hold("dm-0", "loop0");
    assert_eq!(resolve(&machine, &files("253:0"), "/mnt").backing, memory);
    machine.hold("dm-0", "sda2");
    let both = resolve(&machine, &files("253:0"), "/mnt");
    assert_ne!(both.backing, memory);
}

#[test]
fn a_disk_reached_directly_and_beneath_a_loop_counts_as_direct() {
    let machine = two_disks();
    add_loop(&machine);
    machine.disk("virtual/block/dm-0", "253:0", 20 * MIB_SECTORS);
    machine.hold("dm-0", "loop0");
    machine.hold("dm-0", "sda2");
    let files = directory("/mnt", "253:0")
        .with("/data/image", FileKind::Regular, "8:1")
        .stamp("/data/image", 10 << 20);
    let storage = resolve(&machine, &files, "/mnt");
    let role = |name| storage.layers.iter().find(|l| l.name == name).unwrap().role;
    assert_eq!(role("sda"), LayerRole::Disk);
    assert_eq!(role("sda1"), LayerRole::Beneath);
}

#[test]
fn a_loop_whose_file_is_not_seen_from_here_ends_the_stack() {
    let machine = two_disks();
    add_loop(&machine);
    let absent = directory("/mnt", "7:0");
    assert_eq!(resolve(&machine, &absent, "/mnt").layers.len(), 1);
    let another_file = directory("/mnt", "7:0")
        .with("/data/image", FileKind::Regular, "8:1")
        .stamp("/data/image", (10 << 20) - 1);
    assert_eq!(resolve(&machine, &another_file, "/mnt").layers.len(), 1);
}

#[test]
fn the_kernel_tells_where_a_file_without_a_name_is() {
    let mut machine = two_disks();
    add_loop(&machine);
    machine.mountinfo("41 27 0:30 / /data rw - tmpfs tmpfs rw\n");
    let files = directory("/mnt", "7:0");
    machine.roots.loop_file = |node| node.ends_with("dev/loop0").then_some((30, 7));
    let memory = Backing::Memory {
        fs_type: "file on tmpfs".to_owned(),
    };
    assert_eq!(resolve(&machine, &files, "/mnt").backing, memory);
    // Not in a mount of this namespace, and perhaps in one of btrfs.
    machine.roots.loop_file = |_| Some((31, 7));
    assert_ne!(resolve(&machine, &files, "/mnt").backing, memory);
    let backing_file = "sys/devices/virtual/block/loop0/loop/backing_file";
    machine.file(backing_file, "/memfd:disk (deleted)\n");
    assert_eq!(resolve(&machine, &files, "/mnt").backing, memory);
    machine.roots.loop_file = |_| Some((8 << 8 | 1, 7));
    let on_disk = resolve(&machine, &files, "/mnt");
    assert_eq!(shape(&on_disk)[1].0, "sda1");
    // A file of that name is another one.
    let files = files
        .with("/data/image", FileKind::Regular, "8:1")
        .stamp("/data/image", 10 << 20);
    machine.roots.loop_file = |_| Some((30, 7));
    let elsewhere = resolve(&machine, &files, "/mnt");
    assert_eq!(shape(&elsewhere).len(), 1);
}

#[test]
fn a_loop_on_its_own_file_system_ends() {
    let machine = two_disks();
    add_loop(&machine);
    let files = directory("/mnt", "7:0")
        .with("/data/image", FileKind::Regular, "7:0")
        .stamp("/data/image", 10 << 20);
    assert_eq!(resolve(&machine, &files, "/mnt").layers.len(), 1);
}

fn btrfs(machine: &Machine, members: &[&str]) -> MadeUp {
    machine.mountinfo("30 1 0:35 /sub /srv rw - btrfs /dev/sda2 rw,subvol=/sub\n");
    for member in members {
        machine.link(
            &format!("sys/fs/btrfs/0c5c-a1/devices/{member}"),
            &format!("sys/class/block/{member}"),
        );
    }
    machine.file("sys/fs/btrfs/features/raid1c34", "0\n");
    // A subvolume has a device number of its own, not that of the mount.
    directory("/srv/x", "0:36").node("/dev/sda2", "8:2")
}

#[test]
fn btrfs_on_one_device_is_on_that_device() {
    let machine = two_disks();
    let files = btrfs(&machine, &["sda2"]);
    let storage = resolve(&machine, &files, "/srv/x");
    assert_eq!(
        storage.backing,
        Backing::Device {
            name: "sda2".to_owned()
        }
    );
    assert_eq!(storage.layers.len(), 2);
}

#[test]
fn btrfs_on_two_devices_is_on_both() {
    let machine = two_disks();
    let files = btrfs(&machine, &["sda1", "sda2", "sdb1"]);
    let storage = resolve(&machine, &files, "/srv/x");
    assert_eq!(
        shape(&storage),
        [
            ("sda2", LayerRole::Top, None),
            ("sda", LayerRole::Disk, Some("sda2")),
            ("sda1", LayerRole::Top, None),
            ("sdb1", LayerRole::Top, None),
            ("sdb", LayerRole::Disk, Some("sdb1")),
        ]
    );
    assert_eq!(other_parents(&storage, "sda"), ["sda1"]);
    assert_eq!(storage.mount.unwrap().fs_type, "btrfs");
}

#[test]
fn btrfs_without_its_sysfs_folder_is_not_guessed_at() {
    let machine = two_disks();
    let files = btrfs(&machine, &[]);
    assert!(why(&resolve(&machine, &files, "/srv/x")).contains("only device"));
}

const OVERLAY: &str = "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
    40 27 8:17 / /lower rw - ext4 /dev/sdb1 rw\n\
    41 27 0:50 / /over rw - overlay overlay rw,lowerdir=/lower/base,upperdir=/up,workdir=/work\n";

#[test]
fn a_new_file_on_an_overlay_goes_to_the_upper_layer() {
    let machine = two_disks();
    machine.mountinfo(OVERLAY);
    let files = directory("/over", "0:50")
        .with("/over/only-lower", FileKind::Directory, "0:50")
        .with("/up", FileKind::Directory, "8:1");
    for path in ["/over", "/over/only-lower"] {
        let storage = resolve(&machine, &files, path);
        assert_eq!(storage.top().unwrap().name, "sda1", "{path}");
        assert_eq!(storage.mount.unwrap().fs_type, "overlay");
    }
}

#[test]
fn an_existing_file_on_an_overlay_is_where_its_stamp_is() {
    let machine = two_disks();
    machine.mountinfo(OVERLAY);
    let file = |path, device, length| {
        MadeUp::default()
            .with("/over/f", FileKind::Regular, "0:50")
            .stamp("/over/f", 7)
            .with(path, FileKind::Regular, device)
            .stamp(path, length)
    };
    let in_lower = resolve(&machine, &file("/lower/base/f", "8:17", 7), "/over/f");
    assert_eq!(in_lower.top().unwrap().name, "sdb1");
    let in_upper = resolve(&machine, &file("/up/f", "8:1", 7), "/over/f");
    assert_eq!(in_upper.top().unwrap().name, "sda1");
    let another = resolve(&machine, &file("/up/f", "8:1", 8), "/over/f");
    assert!(why(&another).contains("none of the overlay's layers"));
}

#[test]
fn attributes_that_were_copied_up_alone_lead_to_the_data_below() {
    let machine = two_disks();
    machine.mountinfo(OVERLAY);
    let files = |upper| {
        let mut files = MadeUp::default();
        for (path, device) in [
            ("/over/f", "0:50"),
            ("/up/f", upper),
            ("/lower/base/f", "8:17"),
        ] {
            files = files
                .with(path, FileKind::Regular, device)
                .stamp(path, 4096);
        }
        let attributes = files.taking("/over/f", 8, 2).taking("/up/f", 0, 2);
        attributes.taking("/lower/base/f", 8, 1)
    };
    let found = resolve(&machine, &files("8:17"), "/over/f");
    assert_eq!(found.top().unwrap().name, "sdb1");
    // A writer has the data copied to the other device.
    let apart = resolve(&machine, &files("8:1"), "/over/f");
    assert!(why(&apart).contains("none of the overlay's layers"));
}

#[test]
fn options_that_mountinfo_does_not_show_are_found_elsewhere() {
    let machine = two_disks();
    machine.mountinfo(
        "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         41 27 0:50 / /over rw - overlay overlay rw,lowerdir=/low,upperdir=/up\n",
    );
    let files = directory("/over", "0:50")
        .with("/up", FileKind::Directory, "8:1")
        .with("/d", FileKind::Directory, "8:1");
    let options = "rw\nbarrier\ndata=ordered\n";
    machine.file("proc/fs/ext4/sda1/options", options);
    let in_force = |path| resolve(&machine, &files, path).mount.unwrap().super_options;
    assert_eq!(in_force("/d"), ["rw"]);
    machine.file("proc/fs/ext4/sda1/options", "rw\nnobarrier\ndata=journal\n");
    assert_eq!(in_force("/d"), ["rw", "nobarrier", "data=journal"]);
    assert!(in_force("/over").contains(&"data=journal".to_owned()));
}

/// `cd /srv; mount -t overlay ... upperdir=o/up ... o/merged`
#[test]
fn relative_layers_are_found_from_above_the_mount_point() {
    let machine = two_disks();
    machine.mountinfo(
        "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         40 27 8:17 / /srv/o rw - xfs /dev/sdb1 rw\n\
         41 40 0:50 / /srv/o/merged rw - overlay overlay rw,lowerdir=o/low,upperdir=o/up\n",
    );
    let file = |length| {
        directory("/srv/o/merged", "0:50")
            .with("/srv/o/merged/f", FileKind::Regular, "0:50")
            .stamp("/srv/o/merged/f", 7)
            .with("/srv/o/up", FileKind::Directory, "8:17")
            .with("/srv/o/up/f", FileKind::Regular, "8:17")
            .stamp("/srv/o/up/f", length)
    };
    for path in ["/srv/o/merged/f", "/srv/o/merged"] {
        let storage = resolve(&machine, &file(7), path);
        assert_eq!(storage.top().unwrap().name, "sdb1", "{path}");
    }
    let another = resolve(&machine, &file(8), "/srv/o/merged/f");
    assert!(why(&another).contains("none of the overlay's layers"));
}

#[test]
fn a_containers_overlay_is_unknown_not_the_hosts_namesake() {
    let machine = two_disks();
    machine.mountinfo(OVERLAY);
    let absent = directory("/over", "0:50");
    assert!(why(&resolve(&machine, &absent, "/over")).contains("/up is not visible"));
    let namesake = directory("/over", "0:50")
        .with("/up", FileKind::Directory, "8:1")
        .stamp("/up", 4096);
    assert!(why(&resolve(&machine, &namesake, "/over")).contains("/up is not visible"));
    machine.mountinfo("41 27 0:50 / /over ro - overlay overlay ro,lowerdir=/a:/b\n");
    assert!(why(&resolve(&machine, &absent, "/over")).contains("read-only"));
}

#[test]
fn file_systems_without_a_device_say_what_they_are() {
    let machine = two_disks();
    let on = |fs_type: &str, device: &str| {
        machine.mountinfo(&format!("41 27 {device} / /x rw - {fs_type} src rw\n"));
        resolve(&machine, &directory("/x", device), "/x")
    };
    let tmpfs = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    assert_eq!(on("tmpfs", "0:30").backing, tmpfs);
    for (fs_type, clause) in [
        ("nfs4", "network"),
        ("fuse.sshfs", "process"),
        ("9p", "another machine"),
        ("zfs", "pool"),
        ("ubifs", "raw flash"),
        ("exofs", "exofs"),
    ] {
        let storage = on(fs_type, "0:31");
        assert!(why(&storage).contains(clause), "{}", why(&storage));
    }
    let ntfs = on("fuseblk", "8:17");
    assert_eq!(ntfs.top().unwrap().name, "sdb1");
}

#[test]
fn a_device_that_sys_hides_is_unknown() {
    let machine = Machine::new();
    machine.mountinfo("27 1 8:1 / / rw - ext4 /dev/root rw\n");
    let storage = resolve(&machine, &directory("/", "8:1"), "/");
    assert!(why(&storage).contains("8:1"));
}

#[test]
fn xfs_with_a_realtime_device_is_unknown() {
    let machine = two_disks();
    machine.mountinfo("27 1 8:1 / /x rw - xfs /dev/sda1 rw,rtdev=/dev/sdb1\n");
    assert!(why(&resolve(&machine, &directory("/x", "8:1"), "/x")).contains("realtime"));
}

#[test]
fn paths_that_hold_no_data_are_errors() {
    let machine = Machine::new();
    let files = MadeUp::default().with("/dev/null", FileKind::Other, "0:6");
    let resolve = |path| View::new(&machine.roots, &files).resolve(Path::new(path));
    let missing = resolve("/nope").unwrap_err();
    assert_eq!(missing.to_string(), "/nope does not exist");
    assert!(matches!(
        resolve("/dev/null").unwrap_err(),
        ResolveError::NotStorage(_)
    ));
}

#[test]
fn a_pulled_device_is_gone_and_so_is_a_new_one_of_its_name() {
    let machine = two_disks();
    machine.disk("virtual/block/dm-0", "253:0", 80 * MIB_SECTORS);
    machine.hold("dm-0", "sdb1");
    let storage = resolve(&machine, &directory("/srv", "253:0"), "/srv");
    assert!(!device_gone(&machine.roots, &storage));
    machine.file("sys/devices/pci/block/sdb/dev", "8:32\n");
    assert!(device_gone(&machine.roots, &storage), "only dm is left");
    let stick = resolve(&machine, &directory("/home", "8:1"), "/home");
    assert!(!device_gone(&machine.roots, &stick));
    machine.remove("sys/class/block/sda1");
    assert!(device_gone(&machine.roots, &stick));
}

#[test]
fn a_reader_whose_card_was_pulled_is_gone() {
    let machine = two_disks();
    let storage = resolve(&machine, &directory("/home", "8:1"), "/home");
    machine.file("sys/devices/pci/block/sda/size", "0\n");
    assert!(device_gone(&machine.roots, &storage));
}

#[test]
fn a_disk_that_the_kernel_removes_or_gives_up_is_gone() {
    let machine = two_disks();
    let storage = resolve(&machine, &directory("/home", "8:1"), "/home");
    for (state, is_gone) in [("running", false), ("cancel", true), ("offline", true)] {
        machine.file(
            "sys/devices/pci/block/sda/device/state",
            &format!("{state}\n"),
        );
        assert_eq!(device_gone(&machine.roots, &storage), is_gone, "{state}");
    }
}

#[test]
fn a_simulated_device_is_never_gone() {
    let machine = two_disks();
    let mut storage = resolve(&machine, &directory("/home", "8:1"), "/home");
    "card".clone_into(&mut storage.layers[0].name);
    assert!(device_gone(&machine.roots, &storage));
    storage.backing = Backing::Simulated {
        part: "card".to_owned(),
    };
    assert!(!device_gone(&machine.roots, &storage));
}

#[test]
fn memory_is_never_gone() {
    let machine = Machine::new();
    machine.mountinfo("41 27 0:30 / /x rw - tmpfs tmpfs rw\n");
    let storage = resolve(&machine, &directory("/x", "0:30"), "/x");
    assert!(!device_gone(&machine.roots, &storage));
}

#[test]
fn lower_layers_are_split_at_unescaped_colons() {
    let layers = split_layers("/a:/b\\:c::/data:relative");
    assert_eq!(
        layers,
        ["/a", "/b:c", "/data", "relative"].map(PathBuf::from)
    );
}
