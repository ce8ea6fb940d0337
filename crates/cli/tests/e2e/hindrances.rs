//! Hindrances besides the storage are reported, and do not count as stalls of the storage.

use crate::assay::{Bed, text, until};
use assay_testkit::{Undo, Volume, needs, or_skip, signal_to};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// A job file with one job of direct reads for so many seconds.
fn job_file(bed: &Bed, file: &Path, seconds: u32) -> PathBuf {
    let job = format!(
        "[j]\nfilename={}\nrw=randread\nbs=4k\nsize=8m\ndirect=1\ntime_based\nruntime={seconds}\n",
        text(file)
    );
    let path = bed.folder().join("job.fio");
    fs::write(&path, job).expect("a file");
    path
}

/// The first job of fio's JSON, run in a control group.
fn fio_in(group: &Path, file: &Path, words: &[&str]) -> Value {
    let bed = Bed::new();
    let filename = format!("--filename={}", text(file));
    let own = ["fio", "--name=j", "--output-format=json", "--bs=64k"];
    let command = bed.command_without_store(&[&own[..], &[&filename], words].concat());
    let mut inside = assay_testkit::command("sh");
    let script = "echo $$ > \"$0\"; exec \"$@\"";
    inside.args(["-c", script]).arg(group.join("cgroup.procs"));
    inside.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        inside.env(name, value.expect("a value"));
    }
    let ended = crate::assay::Running::start(&mut inside).end();
    ended.assert_code(0);
    ended.json()["jobs"][0]["assay"].clone()
}

/// A new group of a controller of version 1 with a limit, or of version 2.
fn group(controller: &str, limits: [(&str, &str); 2]) -> Option<(PathBuf, Undo)> {
    let v1 = Path::new("/sys/fs/cgroup").join(controller);
    let roots = [
        (v1, limits[0]),
        (PathBuf::from("/sys/fs/cgroup"), limits[1]),
    ];
    roots.into_iter().find_map(|(root, (file, limit))| {
        let folder = root.join(format!("assay-test-{}-{controller}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let undo = Undo::by(&["rmdir", text(&folder)]);
        let _ = fs::write(
            root.join("cgroup.subtree_control"),
            format!("+{controller}"),
        );
        fs::write(folder.join(file), limit).ok()?;
        Some((folder, undo))
    })
}

fn hindrances(job: &Value) -> String {
    job["hindrances"].to_string()
}

#[test]
fn a_stopped_agent_is_no_stall_of_the_storage() {
    let bed = Bed::new();
    let file = bed.folder_named("data").join("f");
    let running = bed.start(&["run", text(&job_file(&bed, &file, 5)), "--trials", "1"]);
    let agent = running.agent();
    let reads = || {
        let io = fs::read_to_string(format!("/proc/{agent}/io")).unwrap_or_default();
        let calls = io.lines().find_map(|line| line.strip_prefix("syscr: "));
        calls
            .and_then(|calls| calls.parse::<u64>().ok())
            .unwrap_or(0)
    };
    until("the job reads", || reads() > 2000);
    signal_to(agent, Signal::STOP);
    sleep(Duration::from_secs(2));
    signal_to(agent, Signal::CONT);
    let ended = running.end();
    ended.assert_code(0);
    let stored = bed.stored("last");
    let hindrances = &stored["trials"][0]["evidence"]["hindrances"];
    let stopped = &hindrances.as_array().expect("a list")[0];
    assert_eq!(stopped["kind"], "stopped", "{hindrances}");
    assert!(
        stopped["time_ns"].as_u64() >= Some(1_700_000_000),
        "{stopped}"
    );
    // Lines end anywhere, and a busy machine has other hindrances before.
    let words: Vec<&str> = ended.out.split_whitespace().collect();
    let out = words.join(" ");
    assert!(out.contains("the agent stood still"), "{out}");
    assert!(!out.contains("without any completion"), "{out}");
}

#[test]
fn limits_of_control_groups_are_told() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 64));
    let file = volume.point().join("f");
    let number = fs::read_to_string(format!("/sys/block/{}/dev", volume.device().name()));
    let number = number.expect("a device").trim().to_owned();
    let bps = format!("{number} 4194304");
    let max = format!("{number} wbps=4194304");
    let io = [
        ("blkio.throttle.write_bps_device", &*bps),
        ("io.max", &*max),
    ];
    let Some((folder, _undo)) = group("blkio", io).or_else(|| group("io", io)) else {
        return assay_testkit::skip("no control group can be limited here");
    };
    let write = ["--rw=write", "--size=8m", "--direct=1"];
    let limited = hindrances(&fio_in(&folder, &file, &write));
    assert!(limited.contains("limited by"), "{limited}");
    assert!(limited.contains("to 4 MiB/s"), "{limited}");
}

#[test]
fn a_quota_of_processor_time_is_told() {
    needs!(root);
    let limits = [("cpu.cfs_quota_us", "20000"), ("cpu.max", "20000 100000")];
    let Some((folder, _undo)) = group("cpu", limits) else {
        return assay_testkit::skip("no control group can be limited here");
    };
    let bed = Bed::new();
    let cached = [
        "--rw=randread",
        "--size=8m",
        "--invalidate=0",
        "--time_based",
        "--runtime=2",
    ];
    let told = hindrances(&fio_in(&folder, &bed.folder().join("f"), &cached));
    assert!(told.contains("the CPU limit of cgroup /"), "{told}");
}
