//! On machines made of files.

use super::*;
use crate::fixture::Machine;
use crate::roots::Roots;
use assay_model::condition::{COMMAND_LIMIT, Offer, Subject};
use assay_model::storage::{Backing, DeviceIdentity, Layer, LayerRole, Mount, Storage};
use assay_model::units::Nanos;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A disk with a partition, and two groups of processors.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.disk("mmcblk0", "179:0", 1000);
    machine.partition("mmcblk0", "mmcblk0p1", "179:1", 900);
    machine.files(
        "sys/devices/mmcblk0/queue",
        &[
            ("scheduler", "none [mq-deadline] bfq\n"),
            ("read_ahead_kb", "128\n"),
            ("nr_requests", "64\n"),
            ("iosched/fifo_batch", "16\n"),
        ],
    );
    for (policy, governors) in [
        ("policy0", "schedutil performance"),
        ("policy4", "performance"),
    ] {
        machine.files(
            &format!("sys/devices/system/cpu/cpufreq/{policy}"),
            &[
                ("scaling_governor", "performance\n"),
                ("scaling_available_governors", governors),
                ("scaling_max_freq", "1800000\n"),
                ("cpuinfo_min_freq", "400000\n"),
                ("cpuinfo_max_freq", "1800000\n"),
            ],
        );
    }
    machine.files(
        "proc/sys/vm",
        &[("dirty_ratio", "20\n"), ("dirty_bytes", "0\n")],
    );
    machine
}

fn layer(name: &str, role: LayerRole, parent: Option<&str>) -> Layer {
    Layer {
        name: name.to_owned(),
        major: 179,
        minor: 0,
        role,
        parent: parent.map(str::to_owned),
        other_parents: Vec::new(),
        size: None,
        backing_file: None,
        identity: DeviceIdentity::default(),
    }
}

fn storage() -> Storage {
    Storage {
        path: "/data".into(),
        mount: Some(Mount {
            point: "/data".into(),
            ..Mount::default()
        }),
        backing: Backing::Device {
            name: "mmcblk0p1".to_owned(),
        },
        layers: vec![
            layer("mmcblk0p1", LayerRole::Top, None),
            layer("mmcblk0", LayerRole::Disk, Some("mmcblk0p1")),
        ],
        total: None,
        available: None,
    }
}

fn queue_attribute(name: &str) -> Subject {
    Subject::Queue {
        attribute: name.to_owned(),
    }
}

fn only_knob(roots: &Roots, subject: &Subject) -> Knob {
    let mut knobs = knobs(roots, &storage(), subject).unwrap();
    assert_eq!(knobs.len(), 1);
    knobs.remove(0)
}

fn value(path: &Path) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn what_the_kernel_offers_is_read_where_it_says_so() {
    let machine = machine();
    let offered = |subject: &Subject| offers(&machine.roots, &storage(), subject).unwrap();
    let scheduler = offered(&Subject::Scheduler);
    assert_eq!(scheduler.offer.to_string(), "none, mq-deadline, bfq");
    assert_eq!(scheduler.current, ["mq-deadline"]);
    assert!(
        scheduler.knobs[0].ends_with("mmcblk0/queue/scheduler"),
        "of the disk"
    );
    let ahead = offered(&queue_attribute("read_ahead_kb"));
    assert_eq!(
        (ahead.current, ahead.offer.takes("512")),
        (vec!["128".to_owned()], true)
    );
    // Only what all processors have.
    let governor = offered(&Subject::Governor);
    assert_eq!(
        (governor.knobs.len(), governor.offer.to_string()),
        (2, "performance".to_owned())
    );
    let most = offered(&Subject::CpufreqMax).offer;
    assert!(most.takes("800000") && !most.takes("300000") && !most.takes("1900000"));
    let ratio = Subject::Sysctl {
        name: "vm.dirty_ratio".to_owned(),
    };
    assert!(matches!(offered(&ratio).offer, Offer::Number { .. }));
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let machine = machine();
    let refused = |storage: &Storage, subject: &Subject| {
        offers(&machine.roots, storage, subject)
            .unwrap_err()
            .to_string()
    };
    let error = refused(&storage(), &queue_attribute("wbt"));
    assert!(
        error.contains("read_ahead_kb") && error.contains("nr_requests"),
        "{error}"
    );
    let nowhere = Storage {
        backing: Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        },
        layers: Vec::new(),
        mount: None,
        ..storage()
    };
    let error = refused(&nowhere, &Subject::Scheduler);
    assert!(error.contains("tmpfs in memory"), "{error}");
    assert!(refused(&nowhere, &Subject::Mount).contains("without a mounted"));
    let bare = Machine::new();
    let error = offers(&bare.roots, &storage(), &Subject::Governor).unwrap_err();
    assert!(
        error.to_string().contains("no frequency scaling"),
        "{error}"
    );
}

#[test]
fn a_text_is_no_setting() {
    let machine = Machine::new();
    let file = |content: &str| {
        machine.files("etc", &[("thing", content)]);
        let subject = Subject::File {
            path: "/etc/thing".into(),
        };
        offers(&machine.roots, &storage(), &subject).map_err(|error| error.to_string())
    };
    assert!(file("5\n").is_ok());
    assert!(file("").is_ok());
    for text in ["a = 1\nb = 2\n", &"x".repeat(5000)] {
        assert!(file(text).unwrap_err().contains("more than one line"));
    }
}

#[test]
fn a_setting_is_read_back_and_undone() {
    let machine = machine();
    let roots = &machine.roots;
    let knob = only_knob(roots, &queue_attribute("read_ahead_kb"));
    let Knob::File { path } = &knob else {
        panic!("a file")
    };
    assert_eq!(read(roots, &knob).unwrap().as_deref(), Some("128"));
    assert_eq!(set(roots, &knob, "512").unwrap().as_deref(), Some("512"));
    assert_eq!(value(path), "512");
    undo(roots, &knob, Some("128"), "512").unwrap();
    assert_eq!(value(path), "128");
}

/// A plain file keeps what is written to it, brackets and all, so it can stand for
/// a kernel that takes another value than the one that was asked for.
#[test]
fn a_value_that_is_not_kept_is_an_error_with_both() {
    let machine = machine();
    let knob = only_knob(&machine.roots, &Subject::Scheduler);
    let error = set(&machine.roots, &knob, "bfq [none]")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("'bfq [none]'") && error.contains("'none'"),
        "{error}"
    );
}

#[test]
fn what_a_setting_changes_besides_is_known() {
    let machine = machine();
    let names = |subject: &Subject| {
        let knob = only_knob(&machine.roots, subject);
        let all = companions(&knob).into_iter().map(|knob| knob.to_string());
        all.map(|path| path.rsplit('/').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&Subject::Scheduler), ["nr_requests", "fifo_batch"]);
    let ratio = Subject::Sysctl {
        name: "vm.dirty_ratio".to_owned(),
    };
    assert_eq!(names(&ratio), ["dirty_bytes"]);
    assert!(names(&queue_attribute("nr_requests")).is_empty());
}

#[test]
fn commands_get_the_value_and_are_undone_by_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let shown = file.display();
    let knob = Knob::Command {
        name: "x".to_owned(),
        apply: format!("echo on stdout; echo \"set $1\" > {shown}"),
        undo: format!("echo \"was $1\" > {shown}"),
        limit: COMMAND_LIMIT,
    };
    let roots = Roots::default();
    assert_eq!(set(&roots, &knob, "a b").unwrap(), None);
    assert_eq!(value(&file), "set a b");
    undo(&roots, &knob, None, "a b").unwrap();
    assert_eq!(value(&file), "was a b");
    let broken = Knob::Command {
        name: "x".to_owned(),
        apply: "echo no such luck >&2; exit 3".to_owned(),
        undo: String::new(),
        limit: COMMAND_LIMIT,
    };
    let error = set(&roots, &broken, "1").unwrap_err().to_string();
    assert!(
        error.contains("no such luck") && error.contains('3'),
        "{error}"
    );
}

/// One that waits for ever, beside a child that holds its streams.
#[test]
fn a_command_that_does_not_end_is_ended_with_all_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let knob = Knob::Command {
        name: "x".to_owned(),
        apply: format!(
            "echo waiting >&2; sleep 1000 & echo $! > {}; wait",
            file.display()
        ),
        undo: String::new(),
        limit: Nanos::millis(300),
    };
    let began = Instant::now();
    let error = set(&Roots::default(), &knob, "1").unwrap_err().to_string();
    assert!(error.contains("did not end within 300 ms"), "{error}");
    assert!(error.contains("(waiting)"), "{error}");
    let stat = format!("/proc/{}/stat", value(&file));
    // A signal is followed soon, not at once.
    let lives = || fs::read_to_string(&stat).is_ok_and(|state| !state.contains(" Z "));
    while lives() {
        assert!(
            began.elapsed() < Duration::from_secs(100),
            "it was not ended"
        );
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_command_may_leave_something_behind() {
    let knob = Knob::Command {
        name: "x".to_owned(),
        apply: "sleep 2 &".to_owned(),
        undo: String::new(),
        limit: COMMAND_LIMIT,
    };
    assert_eq!(set(&Roots::default(), &knob, "1").unwrap(), None);
}

#[test]
fn a_file_system_is_made_only_on_a_device() {
    let machine = machine();
    let error = offers(&machine.roots, &storage(), &Subject::Mkfs).unwrap_err();
    assert!(error.to_string().contains("not a block device"), "{error}");
}

#[test]
fn options_of_a_mount_hold_when_they_are_shown_or_are_the_default() {
    let knob = Knob::Mount {
        point: "/data".into(),
    };
    let shown = "rw,noatime,nobarrier,commit=30";
    for (asked, expected) in [
        ("noatime", true),
        ("noatime+commit=30", true),
        ("relatime", false),
        ("commit=5", false),
        ("barrier", false),
        ("discard", true),
        ("nodiscard", false),
    ] {
        assert_eq!(holds(&knob, asked, shown), expected, "{asked}");
    }
}

#[test]
fn processors_are_set_for_this_thread() {
    let roots = Roots::default();
    let before = read(&roots, &Knob::Affinity).unwrap().unwrap();
    let first = before.split('+').next().unwrap();
    assert_eq!(
        set(&roots, &Knob::Affinity, first).unwrap().as_deref(),
        Some(first)
    );
    undo(&roots, &Knob::Affinity, Some(&before), first).unwrap();
    assert_eq!(read(&roots, &Knob::Affinity).unwrap(), Some(before));
}
