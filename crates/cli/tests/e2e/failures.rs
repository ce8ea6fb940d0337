//! Storage that fills up, turns read-only or goes away ends a run in good
//! order: with its trials, a clear line and the documented code.

use crate::assay::{Bed, Ended, Running, test_folders, text, until};
use assay_testkit::{
    LoopDevice, Mount, Scratch, Unavailable, Volume, needs, or_skip, run, signal_to,
};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// A run that writes, with two trials behind it.
fn under_way(bed: &Bed, path: &Path, words: &[&str]) -> Running {
    let jobs = "ladder-dsync,seq-write-1m";
    let mut all = vec!["--size", "16M", "--trials", "500", "--only", jobs];
    all.extend_from_slice(words);
    let mut running = bed.qualify(path, &all);
    running.await_trials(2);
    running
}

/// The run failed, with at least two trials.
fn assert_kept(bed: &Bed) {
    let run = bed.stored("last");
    assert_eq!(run["run"]["status"], "failed");
    let trials = run["trials"].as_array().expect("a list").iter();
    let whole = trials.filter(|trial| trial["outcome"] == "completed");
    assert!(whole.count() >= 2);
}

#[test]
fn a_file_system_that_fills_up() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 96));
    let bed = Bed::new();
    let mut running = under_way(&bed, volume.point(), &[]);
    let mut filler = File::create(volume.point().join("filler")).unwrap();
    let block = vec![1; 1 << 20];
    // What assay gives back between two trials is taken too.
    while !running.has_ended() {
        let _ = filler.write(&block);
    }
    let ended = running.end();
    ended.assert_code(1);
    ended.assert_says(&["assay:", "No space left on device", "make room"]);
    assert!(test_folders(volume.point()).is_empty());
    assert_kept(&bed);
}

#[test]
fn a_file_system_that_turns_read_only() {
    needs!(root, "mkfs.ext4", "e2fsck");
    let options = ["-o", "errors=remount-ro"];
    let volume = or_skip!(Volume::with("ext4", 96, &options, |_| Ok(())));
    let trigger = format!("/sys/fs/ext4/{}/trigger_fs_error", volume.device().name());
    let bed = Bed::new();
    let running = under_way(&bed, volume.point(), &[]);
    or_skip!(fs::write(&trigger, "1").map_err(|error| Unavailable(format!("{trigger}: {error}"))));
    let ended = running.end();
    ended.assert_code(1);
    ended.assert_says(&["assay:", "is read-only", "kernel log"]);
    ended.assert_says(&["leftover test file", "cannot be removed", "Read-only"]);
    assert_kept(&bed);

    // Once it is repaired, the next start cleans up.
    let (device, scratch) = volume.unmount().unwrap();
    // Its code says that there was something to repair.
    let _ = run(&["e2fsck", "-f", "-y", text(device.node())]);
    let mount = or_skip!(Mount::new(&[], text(device.node()), &scratch.join("mnt")));
    let next = bed.short_run(mount.point());
    next.assert_says(&["removed the leftover test file", ended.run_id().unwrap()]);
    assert!(test_folders(mount.point()).is_empty());
}

/// As when a card is pulled out of its reader: the reader stays.
fn pull(running: &Running, device: &LoopDevice, image: &Path) {
    // So that it meets no device that is half gone.
    let agent = running.agent();
    signal_to(agent, Signal::STOP);
    let file = File::options().write(true).open(image).expect("an image");
    let size = format!("/sys/block/{}/size", device.name());
    // Until it is told, what is written back makes the file grow again.
    until("the device is empty", || {
        file.set_len(0).expect("it can be cut");
        device.resize().expect("it can be told");
        fs::read_to_string(&size).expect("a size").trim() == "0"
    });
    signal_to(agent, Signal::CONT);
}

#[test]
fn a_device_that_goes_away_under_its_file_system() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 96));
    let bed = Bed::new();
    let running = under_way(&bed, volume.point(), &[]);
    pull(&running, volume.device(), &volume.image());
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", "went away"]);
    assert_kept(&bed);
}

#[test]
fn a_bare_device_that_goes_away() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 64));
    let bed = Bed::new();
    let running = under_way(&bed, device.node(), &["--destroy-data"]);
    pull(&running, &device, &scratch.join("disk.img"));
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", "went away"]);
    assert_kept(&bed);
}

#[test]
fn a_device_that_goes_away_while_it_is_prepared() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 2048));
    let bed = Bed::new();
    let words = ["--destroy-data", "--size", "2G", "--only", "seq-read-1m"];
    let before = sectors_written(&device);
    let running = bed.qualify(device.node(), &words);
    until("it is written", || sectors_written(&device) > before);
    pull(&running, &device, &scratch.join("disk.img"));
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", "went away"]);
    assert_eq!(bed.stored("last")["run"]["status"], "failed");
}

/// Since the kernel made the device, which outlives its files.
fn sectors_written(device: &LoopDevice) -> u64 {
    let stat = fs::read_to_string(format!("/sys/block/{}/stat", device.name()));
    let stat = stat.expect("counters");
    let sectors = stat.split_whitespace().nth(6).expect("a column");
    sectors.parse().expect("a number")
}

/// Runs a command as a user who may have few threads and little memory.
fn limited(bed: &Bed, limits: &[&str], words: &[&str]) -> Ended {
    let nobody = bed.command_of_nobody(words);
    let mut command = assay_testkit::command("prlimit");
    command.args(limits).arg(nobody.get_program());
    command.args(nobody.get_args());
    for (name, value) in nobody.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    Running::start(&mut command).end()
}

#[test]
fn where_no_thread_or_memory_is_to_be_had_it_says_so() {
    needs!(root, "setpriv", "prlimit");
    let bed = Bed::new();
    let folder = bed.folder();
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).expect("as root");
    let path = text(&folder);
    let qualify = [
        "qualify",
        path,
        "--quick",
        "--size",
        "1M",
        "--only",
        "ladder-dsync",
    ];
    let scenario = ["scenario", "video", path, "--size", "4M"];
    let soak = ["lab", "soak", path, "--size", "1M", "--passes", "1"];
    let mut told = 0;
    for words in [
        &qualify[..],
        &scenario,
        &soak,
        &["iozone", "-s", "64", "-i", "0"],
    ] {
        for threads in 1..=9 {
            let ended = limited(&bed, &[&format!("--nproc={threads}")], words);
            let said = ended.err.join("\n");
            assert!(!said.contains("panicked"), "{words:?}, {threads}: {said}");
            assert!(ended.code != Some(134) && ended.code != Some(101), "{said}");
            told += usize::from(said.contains("cannot start a thread"));
        }
    }
    assert!(told > 4, "{told}");
    let large = [
        "lab", "soak", path, "--size", "512M", "--block", "512M", "--passes", "1",
    ];
    let ended = limited(&bed, &["--as=400000000"], &large);
    ended.assert_code(1);
    ended.assert_says(&["no memory for a buffer of 512 MiB"]);
}

/// Bytes that a device has read and written, by the kernel's count.
fn moved(device: &LoopDevice) -> u64 {
    let stat = fs::read_to_string(format!("/sys/block/{}/stat", device.name()));
    let stat = stat.expect("counters of the device");
    let numbers: Vec<u64> = stat
        .split_whitespace()
        .map(|n| n.parse().unwrap_or(0))
        .collect();
    (numbers[2] + numbers[6]) * 512
}

/// Nothing is said of what was not read: no fake, no damage, no error of the data.
#[test]
fn a_device_that_is_pulled_is_neither_fake_nor_faulty() {
    needs!(root);
    for (words, gib) in [
        (&["capacity", "--destroy-data"][..], 2),
        (&["capacity", "--probe", "--destroy-data"], 64),
        (
            &[
                "lab",
                "soak",
                "--passes",
                "1000",
                "--block",
                "1M",
                "--checkpoint",
                "1s",
                "--destroy-data",
            ],
            1,
        ),
        (&["disks", "--samples", "200", "--sample-size", "20M"], 2),
    ] {
        let scratch = or_skip!(Scratch::new());
        let device = or_skip!(LoopDevice::new(&scratch, "disk.img", gib << 10));
        let bed = Bed::new();
        let before = moved(&device);
        let command = words.iter().take_while(|word| !word.starts_with('-'));
        let (command, options) = words.split_at(command.count());
        let all = [command, &[text(device.node())], options].concat();
        let running = bed.start(&all);
        until("it is under way", || moved(&device) > before + (12 << 20));
        pull(&running, &device, &scratch.join("disk.img"));
        let ended = running.end();
        ended.assert_code(5);
        ended.assert_says(&["assay:", "it went away after"]);
        let run = bed.stored("last");
        assert_eq!(run["run"]["status"], "failed", "{words:?}");
        let shown = bed.run(&["report", "last"]).out;
        for word in [
            "ake:",
            "FAKE",
            "ead:",
            "DEAD",
            "ERRORS",
            "efective",
            "LOST",
            "came back",
        ] {
            assert!(!shown.contains(word), "{words:?}: {word}: {shown}");
        }
        assert!(
            shown.contains("It went away after") || words[0] == "disks",
            "{shown}"
        );
    }
}

/// Another repetition would make a file in its place, and measure memory.
#[test]
fn no_repetition_follows_a_device_that_is_pulled() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk.img", 2048));
    let bed = Bed::new();
    let jobs = scratch.join("jobs.fio");
    let node = text(device.node());
    let job = format!("[w]\nfilename={node}\nrw=write\nbs=64k\ntime_based\nruntime=60\ndirect=1\n");
    fs::write(&jobs, job).unwrap();
    let before = moved(&device);
    let running = bed.start(&["run", text(&jobs), "--trials", "3"]);
    until("it is under way", || moved(&device) > before + (12 << 20));
    pull(&running, &device, &scratch.join("disk.img"));
    let ended = running.end();
    ended.assert_code(5);
    ended.assert_says(&["assay:", "went away"]);
    let run = bed.stored("last");
    assert_eq!(run["run"]["status"], "failed");
    assert_eq!(run["trials"].as_array().map(Vec::len), Some(1));
}
