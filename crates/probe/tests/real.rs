//! Against the running kernel: loop devices, file systems, swap. Needs root;
//! what is missing is printed and the test is skipped.

use assay_model::storage::{Backing, DeviceKind, LayerRole, Storage};
use assay_probe::counters::queues;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::safety::{held_exclusively, in_use};
use assay_probe::snapshot::snapshot;
use assay_probe::stack::{ResolveError, device_gone, resolve};
use assay_probe::system::system;
use assay_testkit::{
    LoopDevice, Mount, Process, Scratch, Undo, Volume, make_file_system, needs, or_skip, run, skip,
    text,
};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const MIB: u64 = 1 << 20;

fn storage_of(path: &Path) -> Storage {
    resolve(&Roots::default(), path).expect("the path exists")
}

fn top_name(path: &Path) -> String {
    let storage = storage_of(path);
    let top = storage.top();
    top.unwrap_or_else(|| panic!("{:?}", storage.backing))
        .name
        .clone()
}

fn why(path: &Path) -> String {
    match storage_of(path).backing {
        Backing::Unknown { why } => why,
        other => panic!("known: {other:?}"),
    }
}

#[test]
fn ext4_on_a_loop_device_stands_on_what_holds_its_image() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let storage = storage_of(volume.point());
    let top = storage.top().expect("a layer");
    assert_eq!(top.name, volume.device().name());
    assert_eq!(top.identity.kind, DeviceKind::Loop);
    assert_eq!(top.backing_file, Some(volume.image()));
    assert_eq!(top.size.expect("a size").0, 64 * MIB);
    let mount = storage.mount.as_ref().expect("a mount");
    assert_eq!(mount.fs_type, "ext4");
    assert_eq!(mount.point, volume.point());

    let holder = storage_of(volume.scratch().path());
    let expected: Vec<&str> = holder.layers.iter().map(|l| l.name.as_str()).collect();
    let beneath: Vec<&str> = storage.layers[1..]
        .iter()
        .map(|l| l.name.as_str())
        .collect();
    assert_eq!(beneath, expected);
    let roles = storage.layers[1..].iter().map(|layer| layer.role);
    assert!(roles.into_iter().all(|role| role == LayerRole::Beneath));

    let queues = queues(&Roots::default(), &storage);
    assert_eq!(queues.len(), storage.layers.len());
    assert!(queues[0].scheduler.is_some() && queues[0].read_ahead_kib.is_some());
}

#[test]
fn a_flushed_write_shows_in_the_counters() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let roots = Roots::default();
    let storage = storage_of(volume.point());
    let before = snapshot(&roots, &storage);
    let mut file = File::create(volume.point().join("f")).expect("a file");
    file.write_all(&vec![7; 8 << 20]).expect("room");
    let unflushed = snapshot(&roots, &storage);
    file.sync_all().expect("a flush");
    let after = snapshot(&roots, &storage);

    assert!(after.at_ns > before.at_ns);
    let written = |from: usize| after.devices[from].write_bytes - before.devices[from].write_bytes;
    assert!(
        written(0) >= 8 * MIB,
        "{} bytes reached the device",
        written(0)
    );
    let own = |snapshot: &assay_model::evidence::Snapshot| snapshot.own_io.map(|io| io.write_bytes);
    if let (Some(before), Some(dirtied)) = (own(&before), own(&unflushed)) {
        assert!(dirtied - before >= 8 * MIB, "{} bytes", dirtied - before);
    }
    if let (Some(before), Some(after)) = (before.devices[0].flush_ios, after.devices[0].flush_ios) {
        assert!(after > before, "fsync did not flush");
    }
    assert!(after.memory.expect("meminfo").total_bytes > 64 * MIB);
    assert!(after.context_switches >= before.context_switches);
}

#[test]
fn a_mounted_device_is_refused_until_it_is_unmounted() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let name = volume.device().name();
    let clause = format!("{name} is mounted on {}", volume.point().display());
    assert_eq!(in_use(&Roots::default(), name), [clause]);
    assert!(held_exclusively(volume.device().node()).expect("may open"));
    let (device, _scratch) = volume.unmount().expect("nobody is in it");
    assert_eq!(in_use(&Roots::default(), device.name()), [""; 0]);
    // The namespace of another test has a copy of the mount, until that test ends.
    let freed = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        !held_exclusively(device.node()).expect("may open")
    });
    assert!(freed, "it is still held");
    let storage = storage_of(device.node());
    assert_eq!(storage.mount, None);
    assert_eq!(storage.total.map(|total| total.0), Some(64 * MIB));
}

#[test]
fn a_mount_that_only_another_namespace_sees_is_found_by_exclusive_open() {
    needs!(root, "mkfs.ext4", "unshare");
    let volume = or_skip!(Volume::new("ext4", 64));
    let (device, scratch) = volume.unmount().expect("nobody is in it");
    let script = format!(
        "mount {} {} && echo ready && read x",
        text(device.node()),
        text(scratch.path())
    );
    let Some(_holder) = Process::ready(&["unshare", "--mount", "sh", "-c", &script]) else {
        skip("unshare may not mount");
        return;
    };
    assert_eq!(in_use(&Roots::default(), device.name()), [""; 0]);
    assert!(held_exclusively(device.node()).expect("may open"));
}

#[test]
fn a_partition_stands_on_its_loop_device() {
    needs!(root, "mkfs.ext4", "addpart", "delpart");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let (first, mut first_known) = or_skip!(device.partition(1, 1, 30));
    let (_, _second_known) = or_skip!(device.partition(2, 33, 30));
    make_file_system("ext4", &first).expect("a file system");
    let mount = or_skip!(Mount::new(&[], text(&first), &scratch.join("data")));
    let storage = storage_of(mount.point());
    let top: Vec<_> = storage.layers[..2]
        .iter()
        .map(|l| (l.name.as_str(), l.role))
        .collect();
    let disk = device.name();
    let partition = format!("{disk}p1");
    assert_eq!(
        top,
        [
            (partition.as_str(), LayerRole::Top),
            (disk, LayerRole::Disk)
        ]
    );
    assert_eq!(storage.layers[0].identity.kind, DeviceKind::Partition);

    let clause = [format!(
        "{partition} is mounted on {}",
        mount.point().display()
    )];
    assert_eq!(in_use(&Roots::default(), disk), clause);
    assert_eq!(in_use(&Roots::default(), &format!("{disk}p2")), [""; 0]);

    assert!(!device_gone(&Roots::default(), &storage));
    mount.unmount().expect("nobody is in it");
    first_known.now().expect("nobody uses it");
    assert!(device_gone(&Roots::default(), &storage));
}

#[test]
fn a_loop_device_on_a_device_node_guards_it() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let lower = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let upper = or_skip!(LoopDevice::over(lower.node()));
    let (lower_name, upper_name) = (lower.name(), upper.name());
    let clause = [format!("{lower_name} backs {upper_name}")];
    assert_eq!(in_use(&Roots::default(), lower_name), clause);
    assert_eq!(in_use(&Roots::default(), upper_name), [""; 0]);
    let storage = storage_of(upper.node());
    assert_eq!(storage.layers[1].name, lower_name);
    assert_eq!(storage.layers[1].role, LayerRole::Beneath);
}

#[test]
fn a_mounted_file_system_is_guarded_against_other_loop_devices() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 16));
    let mounted = volume.device();
    let same_file = or_skip!(LoopDevice::over(&volume.image()));
    let on_top = or_skip!(LoopDevice::over(mounted.node()));
    let roots = Roots::default();
    let clause = format!(
        "{} is mounted on {}",
        mounted.name(),
        volume.point().display()
    );
    for other in [&same_file, &on_top] {
        let reasons = in_use(&roots, other.name());
        assert!(reasons.contains(&clause), "{}: {reasons:?}", other.name());
        assert!(!held_exclusively(other.node()).expect("may open"));
    }
    let listed = assay_probe::devices::list(&roots);
    let listed = listed.iter().find(|l| l.layer.name == same_file.name());
    assert!(listed.expect("it is listed").in_use.contains(&clause));
}

#[test]
fn a_loop_device_whose_file_was_removed_ends_the_stack() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    fs::remove_file(scratch.join("disk.img")).expect("it exists");
    let storage = storage_of(device.node());
    assert_eq!(storage.layers.len(), 1);
    let file = storage.layers[0].backing_file.as_deref().expect("its name");
    assert!(text(file).ends_with("(deleted)"));
}

#[test]
fn swap_space_is_refused() {
    needs!(root, "mkswap", "swapon");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "swap.img", 16));
    let node = text(device.node());
    run(&["mkswap", node]).expect("swap space");
    let _swapping = or_skip!(Undo::after(&["swapon", node], &["swapoff", node]));
    let name = device.name();
    let clause = [format!("{name} is in use as swap space")];
    assert_eq!(in_use(&Roots::default(), name), clause);
    assert!(held_exclusively(device.node()).expect("may open"));
}

#[test]
fn a_device_that_another_program_has_open_is_refused_unless_it_only_reads() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 16));
    let held = |how: &str| {
        let script = format!("exec 7{how}{} && echo ready && read x", text(device.node()));
        Process::ready(&["sh", "-c", &script]).expect("a shell")
    };
    let roots = Roots::default();
    let reader = held("<");
    assert_eq!(in_use(&roots, device.name()), [""; 0]);
    drop(reader);
    let writer = held("<>");
    let clause = format!("{} is open in sh (pid {})", device.name(), writer.id());
    assert_eq!(in_use(&roots, device.name()), [clause]);
    // Nobody has to use it exclusively.
    assert!(!held_exclusively(device.node()).expect("may open"));
    drop(writer);
    assert_eq!(in_use(&roots, device.name()), [""; 0]);
}

#[test]
fn btrfs_is_resolved_on_one_device_and_on_two() {
    needs!(root, "mkfs.btrfs", "btrfs");
    let scratch = or_skip!(Scratch::new());
    let one = or_skip!(LoopDevice::new(&scratch, "one.img", 128));
    let two = or_skip!(LoopDevice::new(&scratch, "two.img", 128));
    let three = or_skip!(LoopDevice::new(&scratch, "three.img", 128));
    make_file_system("btrfs", one.node()).expect("a file system");
    let single = or_skip!(Mount::new(&[], text(one.node()), &scratch.join("single")));
    let subvolume = single.point().join("sub");
    run(&["btrfs", "subvolume", "create", text(&subvolume)]).expect("a subvolume");
    assert_eq!(top_name(single.point()), one.name());
    assert_eq!(top_name(&subvolume), one.name());

    let mkfs = [
        "mkfs.btrfs",
        "-q",
        "-f",
        text(two.node()),
        text(three.node()),
    ];
    run(&mkfs).expect("a file system");
    let double = or_skip!(Mount::new(&[], text(two.node()), &scratch.join("double")));
    let storage = storage_of(double.point());
    let mut tops: Vec<&str> = storage.tops().map(|top| top.name.as_str()).collect();
    tops.sort_unstable();
    let mut devices = [two.name(), three.name()];
    devices.sort_unstable();
    assert_eq!(tops, devices);
    let found = in_use(&Roots::default(), three.name());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("belongs to the mounted btrfs"));
}

#[test]
fn xfs_is_on_its_device() {
    needs!(root, "mkfs.xfs");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "data.img", 320));
    make_file_system("xfs", device.node()).expect("a file system");
    let mount = or_skip!(Mount::new(
        &[],
        text(device.node()),
        &scratch.join("a name")
    ));
    let point = mount.point();
    assert_eq!(top_name(point), device.name());
    let storage = storage_of(point);
    assert_eq!(storage.mount.expect("a mount").point, point);
    let (total, free) = (
        storage.total.expect("a size"),
        storage.available.expect("room"),
    );
    assert!(free < total && total.0 <= 320 * MIB);
}

#[test]
fn an_overlay_leads_to_the_layer_that_holds_the_file() {
    needs!(root, "mkfs.ext4");
    let lower = or_skip!(Volume::new("ext4", 64));
    let upper = or_skip!(Volume::new("ext4", 64));
    fs::create_dir(lower.point().join("only-lower")).expect("a folder");
    fs::write(lower.point().join("old"), vec![1; 5000]).expect("a file");
    let point = upper.scratch().join("over");
    let mount = or_skip!(Mount::overlay("", lower.point(), upper.point(), &point));
    let over = mount.point();
    fs::write(over.join("new"), vec![2; 5000]).expect("a file");
    assert_eq!(top_name(over), upper.device().name());
    assert_eq!(top_name(&over.join("only-lower")), upper.device().name());
    assert_eq!(top_name(&over.join("new")), upper.device().name());
    assert_eq!(top_name(&over.join("old")), lower.device().name());
    assert_eq!(storage_of(over).mount.expect("a mount").fs_type, "overlay");

    let bound = over.join("only-lower");
    let bind_point = upper.scratch().join("bind");
    let bind_mount = or_skip!(Mount::new(&["--bind"], text(&bound), &bind_point));
    let bind = bind_mount.point();
    // The upper layer has no such folder yet, and the overlay's own root is
    // not reachable through this mount: there is nothing to compare.
    assert!(why(bind).contains("upper layer"), "{}", why(bind));
    fs::write(bind.join("x"), "x").expect("a file");
    assert_eq!(top_name(bind), upper.device().name());
}

#[test]
fn a_file_whose_metadata_alone_was_copied_up_is_not_in_the_upper_layer() {
    needs!(root, "mkfs.ext4");
    let lower = or_skip!(Volume::new("ext4", 64));
    let upper = or_skip!(Volume::new("ext4", 64));
    fs::write(lower.point().join("old"), vec![1; 5000]).expect("a file");
    let point = upper.scratch().join("over");
    let mount = or_skip!(Mount::overlay(
        "metacopy=on,",
        lower.point(),
        upper.point(),
        &point
    ));
    let over = mount.point();
    run(&["chmod", "600", text(&over.join("old"))]).expect("the file is ours");
    let why = why(&over.join("old"));
    assert!(why.contains("none of the overlay's layers"), "{why}");
}

#[test]
fn tmpfs_is_memory() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let mount = or_skip!(Mount::tmpfs(16, &scratch.join("memory")));
    let storage = storage_of(mount.point());
    let expected = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    assert_eq!((storage.backing, storage.layers.len()), (expected, 0));
    assert!(storage.available.is_some());
}

#[test]
fn another_process_that_writes_is_seen() {
    let folder = Scratch::new().expect("a folder");
    let file = folder.join("f");
    let roots = Roots::default();
    let own = [std::process::id()];
    let before = ProcessIoTable::take(&roots, &own);
    // printf is built into the shell, so the shell itself writes.
    let script = format!(
        "printf '%01048576d' 0 > {} && echo ready && read x",
        text(&file)
    );
    let writer = Process::ready(&["sh", "-c", &script]).expect("a shell");
    let after = ProcessIoTable::take(&roots, &own);
    let Some(list) = busiest(&before, &after, usize::MAX) else {
        skip("no other process may be looked at");
        return;
    };
    let Backing::Device { .. } = storage_of(folder.path()).backing else {
        skip("the temporary folder is not on a block device");
        return;
    };
    let seen = list.iter().find(|process| process.pid == writer.id());
    let seen = seen.expect("the shell did I/O");
    assert!(seen.write_bytes >= MIB, "{seen:?}");
    assert!(!list.iter().any(|process| process.pid == own[0]));
}

#[test]
fn paths_without_storage_are_refused() {
    let roots = Roots::default();
    let missing = resolve(&roots, Path::new("/no/such/path")).unwrap_err();
    assert!(matches!(missing, ResolveError::NotFound(_)), "{missing}");
    let beneath_a_file = resolve(&roots, Path::new("/proc/version/x")).unwrap_err();
    assert!(matches!(beneath_a_file, ResolveError::NotFound(_)));
    let null = resolve(&roots, Path::new("/dev/null")).unwrap_err();
    assert!(matches!(null, ResolveError::NotStorage(_)), "{null}");
}

#[test]
fn this_machine_is_described() {
    let system = system(&Roots::default());
    assert!(!system.kernel.is_empty() && !system.machine.is_empty());
    assert!(system.cpus >= 1);
    assert!(system.memory.0 > 64 * MIB);
    assert!(system.page_size.0.is_power_of_two());
}
