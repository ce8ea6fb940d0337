//! Labels where the clock of a rate, the page cache and the flushes of a job of fio do not
//! end together.

use crate::assay::{Bed, Running, is_pure, text, undisturbed};
use assay_testkit::{LoopDevice, Mount, Scratch, Volume, make_file_system, needs, or_skip, run};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const MIB: u64 = 1 << 20;

/// The first job that ran on `file`, of a load in blocks of 64 KiB.
fn job(file: &Path, words: &[&str]) -> Value {
    let filename = format!("--filename={}", text(file));
    let own = ["fio", "--name=j", "--output-format=json", "--bs=64k"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(own).arg(filename).args(words);
    let bed = Bed::new();
    let ended = Running::start(command.current_dir(bed.folder())).end();
    ended.assert_code(0);
    ended.json()["jobs"][0].clone()
}

#[track_caller]
fn assert_label(job: &Value, direction: &str, label: &str) {
    let judged = &job["assay"][direction];
    assert_eq!(judged["label"], label, "{judged}");
}

/// A volume whose cache is volatile, with a file of random bytes on it.
fn with_file(volume: &Volume, mib: usize) -> std::path::PathBuf {
    let file = volume.point().join("f");
    let mut block = vec![0_u8; 1 << 20];
    let mut state = 1_u64;
    let out = fs::File::create(&file).expect("a file");
    for number in 0..mib as u64 {
        for byte in &mut block {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        out.write_all_at(&block, number * MIB).expect("room");
    }
    out.sync_all().expect("a device");
    file
}

#[test]
fn the_counters_of_a_write_end_with_its_clock() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 512));
    let write = |words: &[&str]| {
        let file = volume.point().join("f");
        let write = || {
            let job = job(&file, &[&["--rw=write", "--size=32m"], words].concat());
            let _ = fs::remove_file(&file);
            job
        };
        // A sync(2) of others writes the page cache back.
        undisturbed(write, |job| is_pure(&job["assay"]["write"]))
    };
    let checked = write(&["--verify=crc32c"]);
    assert_label(&checked, "write", "page-cache");
    assert_label(&checked, "read", "device");
    assert_label(
        &write(&["--verify=crc32c", "--end_fsync=1"]),
        "write",
        "device",
    );
    // Each pass but the first begins with an empty page cache: the one before is written back.
    assert_label(&write(&["--loops=3"]), "write", "page-cache");
    let both = write(&["--loops=2", "--verify=crc32c"]);
    assert_label(&both, "write", "page-cache");
    assert_label(&both, "read", "device");
    assert_label(&write(&["--exec_postrun=sync"]), "write", "page-cache");
    assert_label(&write(&["--unlink=1"]), "write", "page-cache");
}

#[test]
fn copies_that_check_do_not_vouch_for_each_other() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 512));
    let files = ["a", "b"].map(|name| volume.point().join(name));
    let both = format!("{}:{}", text(&files[0]), text(&files[1]));
    let words = ["--rw=write", "--size=32m", "--nrfiles=2", "--verify=crc32c"];
    let write = || job(Path::new(&both), &words);
    let written = undisturbed(write, |job| is_pure(&job["assay"]["write"]));
    assert_label(&written, "write", "page-cache");
}

#[test]
fn what_closing_a_device_writes_back_is_not_measured() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 128));
    let words = ["--rw=write", "--size=32m"];
    let write = || job(device.node(), &words);
    let written = undisturbed(write, |job| is_pure(&job["assay"]["write"]));
    assert_label(&written, "write", "page-cache");
}

#[test]
fn a_second_pass_is_not_hidden_by_what_was_read_ahead() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let file = with_file(&volume, 64);
    let read = |words: &[&str]| job(&file, &[&["--rw=read", "--size=8m"], words].concat());
    assert_label(&read(&[]), "read", "device");
    assert_label(&read(&["--io_size=16m"]), "read", "mixed");
    assert_label(&read(&["--io_size=32m"]), "read", "mixed");
    assert_label(&read(&["--numjobs=2"]), "read", "mixed");
    // The page cache is emptied before each loop, unless the job says otherwise.
    assert_label(&read(&["--loops=3"]), "read", "device");
    let cold = ["--offset=40m", "--loops=3", "--invalidate=0"];
    assert_label(&read(&cold), "read", "mixed");
    // All of the file: nothing lies beyond.
    let whole = job(&file, &["--rw=read", "--size=64m", "--io_size=128m"]);
    assert_label(&whole, "read", "mixed");
}

/// Rewrites the upper half of a file of 32 MiB, and leaves it dirty.
fn rewrite_until(stop: &AtomicBool, path: &Path) {
    let file = OpenOptions::new().write(true).open(path).expect("a file");
    let block = vec![7; 1 << 20];
    for turn in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        file.write_all_at(&block, (16 + turn % 16) * MIB)
            .expect("room");
    }
}

#[test]
fn dirty_pages_of_others_are_not_the_jobs() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let file = with_file(&volume, 32);
    let stop = AtomicBool::new(false);
    let words = ["--rw=write", "--overwrite=1", "--direct=1"];
    let (apart, same, cached) = thread::scope(|scope| {
        scope.spawn(|| rewrite_until(&stop, &file));
        let apart = job(
            &file,
            &[&words[..], &["--size=4m", "--sync=dsync"]].concat(),
        );
        let on_top = ["--offset=20m", "--size=4m", "--sync=dsync"];
        let same = job(&file, &[&words[..], &on_top].concat());
        let cached = undisturbed(
            || job(&file, &["--rw=write", "--overwrite=1", "--size=4m"]),
            |job| is_pure(&job["assay"]["write"]),
        );
        stop.store(true, Ordering::Relaxed);
        (apart, same, cached)
    });
    assert_label(&apart, "write", "device");
    assert_label(&same, "write", "device");
    assert_label(&cached, "write", "page-cache");
}

#[test]
fn a_flush_after_the_last_write_makes_it_durable() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let write = |words: &[&str]| {
        let file = volume.point().join("f");
        let job = job(&file, &[&["--rw=write", "--size=8m"], words].concat());
        let _ = fs::remove_file(file);
        job
    };
    // 128 writes: the fourth flush covers the last of them, the first of two does not.
    assert_label(&write(&["--fdatasync=32"]), "write", "device");
    assert_label(&write(&["--fsync=64"]), "write", "device");
    assert_label(&write(&["--fdatasync=100"]), "write", "mixed");
    // The last flush is asked for while other writes are under way.
    let queued = [
        "--ioengine=io_uring",
        "--iodepth=8",
        "--direct=1",
        "--fdatasync=32",
    ];
    assert_label(&write(&queued), "write", "device-unflushed");
    or_skip!(volume.device().write_through());
    assert_label(&write(&["--fdatasync=32"]), "write", "device");
}

#[test]
fn a_mount_or_a_file_can_make_each_write_durable() {
    needs!(root, "mkfs.ext4", "chattr");
    let write = |file: &Path| job(file, &["--rw=write", "--size=8m"]);
    for (option, label) in [("sync", "device"), ("dirsync", "page-cache")] {
        let volume = or_skip!(Volume::with("ext4", 128, &["-o", option], |_| Ok(())));
        let write = || write(&volume.point().join("f"));
        let written = undisturbed(write, |job| is_pure(&job["assay"]["write"]));
        assert_label(&written, "write", label);
    }
    let volume = or_skip!(Volume::new("ext4", 128));
    let file = volume.point().join("f");
    fs::write(&file, "").expect("a file");
    or_skip!(run(&["chattr", "+S", text(&file)]));
    assert_label(&write(&file), "write", "device");
}

/// Half of the file is cached: each read of a page that is not asks the device for it.
#[test]
fn random_reads_of_a_half_cached_file_are_mixed() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 256));
    let file = with_file(&volume, 64);
    or_skip!(run(&["sh", "-c", "echo 3 > /proc/sys/vm/drop_caches"]));
    let warm = ["--rw=read", "--bs=64k", "--size=32m", "--invalidate=0"];
    job(&file, &warm);
    let words = [
        "--rw=randread",
        "--bs=4k",
        "--invalidate=0",
        "--io_size=16m",
    ];
    let half = job(&file, &[&words[..], &["--size=64m"]].concat());
    assert_label(&half, "read", "mixed");
}

#[test]
fn an_overlay_is_not_taken_for_an_old_kernel() {
    needs!(root, "mkfs.ext4");
    let lower = or_skip!(Volume::new("ext4", 16));
    let upper = or_skip!(Volume::new("ext4", 256));
    let point = upper.scratch().join("over");
    let overlay = or_skip!(Mount::overlay("", lower.point(), upper.point(), &point));
    let written = job(&overlay.point().join("f"), &["--rw=write", "--size=32m"]);
    let judged = &written["assay"]["write"];
    let because = judged["because"].as_str().expect("a reason");
    assert!(!because.contains("Linux 6.5"), "{judged}");
}

/// `fuseblk` is judged by its device.
#[test]
fn a_file_system_in_user_space_on_a_device() {
    needs!(root, "mkfs.ntfs", "ntfs-3g");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 256));
    or_skip!(make_file_system("ntfs", device.node()));
    let point = scratch.join("mnt");
    let mount = or_skip!(Mount::new(&["-t", "ntfs-3g"], text(device.node()), &point));
    let file = mount.point().join("f");
    let written = job(&file, &["--rw=write", "--size=16m", "--end_fsync=1"]);
    assert_label(&written, "write", "device");
    // Its process reads the device, in whose page cache all is.
    let read = undisturbed(
        || job(&file, &["--rw=read", "--size=16m"]),
        |read| read["assay"]["read"]["label"] == "page-cache",
    );
    assert_label(&read, "read", "page-cache");
}

#[test]
fn a_link_that_another_user_can_change_is_called_a_link() {
    needs!(root);
    let bed = Bed::new();
    let folder = bed.folder_named("sticky");
    let sticky = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    fs::set_permissions(&folder, sticky).unwrap();
    fs::write(folder.join("data"), "x").unwrap();
    let link = folder.join("link");
    std::os::unix::fs::symlink("data", &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65534), Some(65534)).unwrap();
    let filename = format!("--filename={}", text(&link));
    let words = ["fio", "--name=j", "--rw=read", "--size=4k", &filename];
    let ended = Running::start(&mut bed.command_without_store(&words)).end();
    ended.assert_code(1);
    ended.assert_says(&["is a symbolic link that another user can change"]);
}
