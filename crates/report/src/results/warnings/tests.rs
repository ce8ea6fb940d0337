use super::{Doubt, Warning, collect};
use crate::results::summary::Summary;
use crate::testing::{fixture, samples};
use assay_model::evidence::{ProcessIo, WriteCache};
use assay_model::job::{Direction, EngineKind, RateLimit};
use assay_model::run::Run;
use assay_model::storage::{Backing, DeviceKind};
use assay_model::trial::{IoErrorRecord, Outcome, TrialRecord};
use assay_model::units::{Bytes, MIB, Nanos};
use assay_stats::histogram::Histogram;

fn warnings(run: &Run) -> Vec<Warning> {
    collect(&Summary::of(run))
}

fn trials<'r>(run: &'r mut Run, job: &'r str) -> impl Iterator<Item = &'r mut TrialRecord> {
    run.trials
        .iter_mut()
        .filter(move |trial| trial.job.name == job)
}

/// The fixture with nothing to complain about but its one calm job.
fn calm() -> Run {
    let mut run = fixture::run();
    run.trials.retain(|trial| trial.job.name == "seq-read-1m");
    run.header
        .plan
        .jobs
        .retain(|planned| planned.job.name == "seq-read-1m");
    for trial in &mut run.trials {
        let evidence = trial.evidence.as_mut().unwrap();
        for snapshot in [&mut evidence.before, &mut evidence.after] {
            for cpu in &mut snapshot.cpus {
                cpu.governor = Some("performance".to_owned());
            }
        }
    }
    run
}

#[test]
fn a_calm_run_has_no_warning() {
    assert_eq!(warnings(&calm()), []);
}

#[test]
fn an_agent_of_another_build_is_a_note_and_no_doubt() {
    let mut run = calm();
    run.header.builds = Some(fixture::builds("0.1.0"));
    assert_eq!(warnings(&run), []);
    run.header.builds = Some(fixture::builds("0.1.0+abc"));
    let found = warnings(&run);
    let [note @ Warning::OtherAgent { .. }] = &found[..] else {
        panic!("{found:?}");
    };
    let text = note.message(usize::MAX);
    assert!(text.contains("0.1.0+abc, assay of build 0.1.0"), "{text}");
    assert_eq!(note.doubt(), None);
}

#[test]
fn threads_that_fill_the_clock_are_the_limit_of_what_claims_the_device() {
    let busy = |percent: u64| {
        let mut run = calm();
        for measured in run.trials.iter_mut().filter_map(|t| t.measured.as_mut()) {
            measured.cpu.user_ns = measured.elapsed_ns * percent / 200;
            measured.cpu.system_ns = measured.elapsed_ns * percent / 100 - measured.cpu.user_ns;
        }
        run
    };
    let found = warnings(&busy(97));
    let [warning @ Warning::ToolLimit { .. }] = &found[..] else {
        panic!("{found:?}");
    };
    let text = warning.message(usize::MAX);
    assert!(text.contains("seq-read-1m (97 %)"), "{text}");
    assert!(warning.remedy().contains("may be faster"));
    assert!(warning.is_severe());
    // One I/O at a time: the tool takes longer than the device.
    let found = warnings(&busy(56));
    assert!(
        matches!(&found[..], [Warning::ToolLimit { .. }]),
        "{found:?}"
    );
    assert_eq!(warnings(&busy(46)), []);
    // With several in flight the device works meanwhile.
    let mut queued = busy(86);
    for trial in &mut queued.trials {
        trial.job.ioengine = EngineKind::Libaio;
        trial.job.iodepth = 32;
    }
    let is_limit = |w: &Warning| matches!(w, Warning::ToolLimit { .. });
    assert!(!warnings(&queued).iter().any(is_limit));
    // The share is that of as many threads as there are processors.
    let mut two = busy(97);
    two.trials
        .iter_mut()
        .for_each(|trial| trial.job.numjobs = 2);
    two.header.system.cpus = 2;
    assert!(!warnings(&two).iter().any(is_limit));
    two.header.system.cpus = 1;
    assert!(warnings(&two).iter().any(is_limit));
    // Where memory is measured, the processor is the limit by nature.
    let mut cached = busy(97);
    for trial in &mut cached.trials {
        trial.evidence.as_mut().unwrap().storage.backing = Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        };
    }
    assert!(!warnings(&cached).iter().any(is_limit));
}

#[test]
fn a_queue_that_was_not_kept_full_is_told_with_its_depth() {
    // So many in flight of 32.
    let queued = |in_flight: u64| {
        let mut run = calm();
        for trial in &mut run.trials {
            trial.job.ioengine = EngineKind::IoUring;
            trial.job.iodepth = 32;
            let measured = trial.measured.as_mut().unwrap();
            let mut latencies = Histogram::new();
            let ios = 100 * 32;
            let each_ns = measured.elapsed_ns * in_flight / ios;
            (0..ios).for_each(|_| latencies.record(each_ns));
            measured.read.ios = ios;
            measured.read.latency = latencies.to_record();
        }
        run
    };
    let found = warnings(&queued(16));
    let [warning @ Warning::ShallowQueue { .. }] = &found[..] else {
        panic!("{found:?}");
    };
    let text = warning.message(usize::MAX);
    assert!(text.contains("seq-read-1m (16.0 of 32)"), "{text}");
    assert!(warning.is_severe());
    assert_eq!(warnings(&queued(30)), []);
    // What the job asks for is no surprise, and a queue is not kept full by a few I/Os.
    let mut paced = queued(16);
    for trial in &mut paced.trials {
        trial.job.rate = Some(RateLimit::Iops(1000));
    }
    assert_eq!(warnings(&paced), []);
    let mut few = queued(16);
    for trial in &mut few.trials {
        trial.job.iodepth = 1024;
    }
    assert_eq!(warnings(&few), []);
}

#[test]
fn each_kind_in_the_fixture_is_found_once_with_all_its_jobs() {
    let found = warnings(&fixture::run());
    let texts: Vec<String> = found.iter().map(|w| w.message(usize::MAX)).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

/// The first of a sweep's trials only conditions the storage.
#[test]
fn trials_are_counted_from_one() {
    let mut run = fixture::run();
    for trial in &mut run.trials {
        trial.trial -= 1;
    }
    let texts: Vec<String> = warnings(&run)
        .iter()
        .map(|w| w.message(usize::MAX))
        .collect();
    let all = texts.join("\n");
    assert!(!all.contains("trial 0") && !all.contains("#0"), "{all}");
    assert!(all.contains("conditioning"), "{all}");
}

#[test]
fn figures_in_doubt_come_first_and_every_warning_has_a_remedy() {
    let found = warnings(&samples::with_sustained());
    assert!(found.is_sorted_by_key(|warning| !warning.is_severe()));
    for warning in &found {
        assert!(!warning.remedy().is_empty(), "{warning:?}");
    }
}

/// The trial read through the page cache, and no device moved anything for it.
fn found_in_the_page_cache(trial: &mut TrialRecord) {
    trial.job.direct = false;
    let evidence = trial.evidence.as_mut().unwrap();
    evidence.after.devices = evidence.before.devices.clone();
    evidence.after.own_io = evidence.before.own_io;
}

#[test]
fn cached_reads_are_told_with_the_size_that_would_help() {
    let mut run = calm();
    run.trials.iter_mut().for_each(found_in_the_page_cache);
    let [warning] = &warnings(&run)[..] else {
        panic!("one warning expected");
    };
    assert!(matches!(
        warning,
        Warning::PageCache { direction: Direction::Read, jobs, fits_in: Some(_) }
            if jobs == &["seq-read-1m"]
    ));
    assert!(
        warning
            .remedy()
            .contains("larger than RAM (file 32 MiB, RAM 958 MiB)")
    );
}

#[test]
fn the_plain_way_of_the_ladder_may_show_the_page_cache() {
    let found = warnings(&fixture::run());
    assert!(!found.iter().any(|w| matches!(w, Warning::PageCache { .. })));
}

#[test]
fn trials_that_measured_different_things_are_told_apart() {
    let mut run = calm();
    found_in_the_page_cache(&mut run.trials[0]);
    let found = warnings(&run);
    let labels = found.iter().find_map(|warning| match warning {
        Warning::Disagreement { jobs } => Some(jobs[0].1.clone()),
        _ => None,
    });
    assert_eq!(
        labels.as_deref(),
        Some("device in 2 trials, page-cache in 1 trial")
    );
}

#[test]
fn missing_counters_ask_for_root_only_where_it_is_missing() {
    let mut run = calm();
    for trial in &mut run.trials {
        trial.evidence.as_mut().unwrap().after.devices.clear();
    }
    run.header.system.root = false;
    assert!(warnings(&run)[0].remedy().contains("as root"));
    run.header.system.root = true;
    assert!(!warnings(&run)[0].remedy().contains("as root"));
}

#[test]
fn memory_is_one_warning_and_not_one_per_job() {
    let mut run = calm();
    run.header.storage.backing = Backing::Memory {
        fs_type: "tmpfs".to_owned(),
    };
    run.header.storage.layers.clear();
    for trial in &mut run.trials {
        trial.evidence.as_mut().unwrap().storage = run.header.storage.clone();
    }
    let found = warnings(&run);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message(9).contains("tmpfs"));
    let mut run = calm();
    run.header.storage.layers[0].identity.kind = DeviceKind::Zram;
    assert!(matches!(warnings(&run)[0], Warning::Memory { .. }));
}

#[test]
fn foreign_io_names_who_and_when() {
    let mut run = calm();
    let last = run.trials.last_mut().unwrap();
    let number = last.trial;
    let evidence = last.evidence.as_mut().unwrap();
    for device in &mut evidence.after.devices {
        device.write_bytes += 40 * MIB;
    }
    evidence.other_processes = Some(vec![ProcessIo {
        pid: 7,
        name: "backup".to_owned(),
        read_bytes: 0,
        write_bytes: 40 * MIB,
    }]);
    let [warning] = &warnings(&run)[..] else {
        panic!("one warning expected");
    };
    let text = warning.message(9);
    assert!(
        text.starts_with("others wrote at least 40 MiB on mmcblk0")
            && text.ends_with("busy then: backup"),
        "{text}"
    );
    assert!(text.contains(&format!("seq-read-1m #{number}")), "{text}");
}

#[test]
fn what_the_job_itself_caused_is_nobody_elses() {
    let elsewhere = ProcessIo {
        pid: 7,
        name: "compiler".to_owned(),
        read_bytes: 900 * MIB,
        write_bytes: 900 * MIB,
    };
    // 4 MiB of the read-ahead that warmed its cache came in late.
    let mut run = samples::with_read_ladder();
    for trial in trials(&mut run, "read-cached") {
        let evidence = trial.evidence.as_mut().unwrap();
        evidence.queues[0].read_ahead_kib = Some(2048);
        evidence.other_processes = Some(vec![elsewhere.clone()]);
        for device in &mut evidence.after.devices {
            device.read_bytes += 4 * MIB;
        }
    }
    run.trials.retain(|trial| trial.job.name == "read-cached");
    let is_foreign = |w: &Warning| matches!(w, Warning::ForeignIo { .. });
    let found = warnings(&run);
    assert!(!found.iter().any(is_foreign), "{found:?}");

    // Each of 64 appends committed a journal of 20 KiB.
    let mut run = fixture::run();
    for trial in trials(&mut run, "fsync-append-4k") {
        let evidence = trial.evidence.as_mut().unwrap();
        evidence.other_processes = Some(vec![elsewhere.clone()]);
        let before = evidence.before.devices.clone();
        for (after, before) in evidence.after.devices.iter_mut().zip(before) {
            after.write_bytes = before.write_bytes + 64 * 24 * 1024;
        }
    }
    let found = warnings(&run);
    assert!(!found.iter().any(is_foreign), "{found:?}");
}

#[test]
fn only_those_who_can_have_done_it_are_named() {
    let mut run = calm();
    let process = |pid, name: &str, mib| ProcessIo {
        pid,
        name: name.to_owned(),
        read_bytes: 0,
        write_bytes: mib * MIB,
    };
    for (trial, pid) in run.trials.iter_mut().zip(100..) {
        let evidence = trial.evidence.as_mut().unwrap();
        for device in &mut evidence.after.devices {
            device.write_bytes += 40 * MIB;
        }
        evidence.other_processes = Some(vec![
            process(pid, "dd", 40),
            process(pid + 50, "journald", 1),
        ]);
    }
    let [Warning::ForeignIo { processes, .. }] = &warnings(&run)[..] else {
        panic!("one warning expected");
    };
    assert_eq!(processes, &["dd"]);
}

#[test]
fn figures_whose_trials_differ_by_more_than_100_percent_are_not_believed() {
    let doubt = |cvs: &[f64]| {
        let jobs = cvs.iter().map(|cv| ("read".to_owned(), *cv)).collect();
        Warning::Spread { jobs, of: 2 }.doubt().unwrap()
    };
    assert!(matches!(doubt(&[0.9]), Doubt::Exactness(_)));
    assert!(matches!(doubt(&[1.1, 0.2]), Doubt::Some(_)));
    assert!(matches!(doubt(&[1.5, 1.1]), Doubt::All(_)));
}

#[test]
fn memory_speed_may_vary() {
    let mut run = samples::with_read_ladder();
    run.trials.retain(|t| t.job.name == "read-cached");
    run.trials[0].measured.as_mut().unwrap().elapsed_ns *= 9;
    let found = warnings(&run);
    let is_spread = |w: &Warning| matches!(w, Warning::Spread { .. });
    assert!(!found.iter().any(is_spread), "{found:?}");
}

#[test]
fn a_slowing_cpu_is_throttled_only_under_the_governor_performance() {
    let mut run = calm();
    for trial in &mut run.trials {
        for cpu in &mut trial.evidence.as_mut().unwrap().after.cpus {
            cpu.khz = Some(600_000);
        }
    }
    let found = warnings(&run);
    assert!(found[0].message(9).contains("51.2 °C"), "{found:?}");
    for trial in &mut run.trials {
        for cpu in &mut trial.evidence.as_mut().unwrap().before.cpus {
            cpu.governor = Some("schedutil".to_owned());
        }
    }
    let found = warnings(&run);
    assert!(
        matches!(&found[..], [Warning::Governor { .. }]),
        "{found:?}"
    );
}

#[test]
fn slow_storage_does_not_stall_at_every_block() {
    let mut run = calm();
    for trial in trials(&mut run, "seq-read-1m") {
        let measured = trial.measured.as_mut().unwrap();
        measured.elapsed_ns = Nanos::secs(32).0;
        measured.read.ios = 32;
        measured.longest_gap.as_mut().unwrap().length_ns = Nanos::millis(1_200).0;
    }
    assert_eq!(
        warnings(&run),
        [],
        "1.2 s is usual when each block takes 1 s"
    );
    for trial in trials(&mut run, "seq-read-1m") {
        let measured = trial.measured.as_mut().unwrap();
        measured.longest_gap.as_mut().unwrap().length_ns = Nanos::secs(9).0;
    }
    assert!(matches!(&warnings(&run)[..], [Warning::Stalls { .. }]));
}

#[test]
fn failures_and_short_transfers_are_counted() {
    let mut run = calm();
    run.trials[0].outcome = Outcome::Failed {
        error: "no room".to_owned(),
    };
    run.trials[1].measured.as_mut().unwrap().read.short_ios = 3;
    let texts: Vec<String> = warnings(&run).iter().map(|w| w.message(9)).collect();
    assert!(
        texts[0].contains("seq-read-1m (1x)") && texts[0].contains("no room"),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .any(|t| t.contains("cut transfers short: seq-read-1m (3x)"))
    );
}

#[test]
fn worn_devices_and_slow_buses_are_told() {
    let raw = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let message = |change: fn(&mut Run)| {
        let mut run = calm();
        change(&mut run);
        let found = warnings(&run);
        found
            .first()
            .map(|warning| warning.message(9))
            .unwrap_or_default()
    };
    let mut run = calm();
    run.header.storage.layers[1]
        .identity
        .raw
        .extend([raw("life_time", "0x02 0x09")]);
    assert!(matches!(&warnings(&run)[..], [Warning::Worn { .. }]));
    assert!(
        message(|run| run.header.storage.layers[1].identity.pre_eol = Some("urgent".to_owned()))
            .contains("reserved blocks: urgent")
    );
    assert!(
        message(|run| {
            let identity = &mut run.header.storage.layers[1].identity;
            identity.kind = DeviceKind::Usb;
            identity.raw.insert("speed".to_owned(), "480".to_owned());
        })
        .contains("USB at 480 Mbit/s")
    );
    assert!(
        message(|run| {
            let raw = &mut run.header.storage.layers[1].identity.raw;
            for (key, value) in [
                ("current_link_speed", "8.0 GT/s PCIe"),
                ("max_link_speed", "16.0 GT/s PCIe"),
                ("current_link_width", "4"),
                ("max_link_width", "4"),
            ] {
                raw.insert(key.to_owned(), value.to_owned());
            }
        })
        .contains("of 16.0 GT/s PCIe x4")
    );
}

#[test]
fn a_pcie_link_that_is_not_known_is_not_slow() {
    let mut run = calm();
    let raw = &mut run.header.storage.layers[1].identity.raw;
    for (key, value) in [
        ("current_link_speed", "Unknown"),
        ("max_link_speed", "Unknown"),
        ("current_link_width", "0"),
        ("max_link_width", "255"),
    ] {
        raw.insert(key.to_owned(), value.to_owned());
    }
    assert_eq!(warnings(&run), []);
}

#[test]
fn a_loop_device_names_its_file() {
    let mut run = calm();
    let layer = &mut run.header.storage.layers[0];
    layer.identity.kind = DeviceKind::Loop;
    layer.backing_file = Some("/var/disk.img".into());
    let found = warnings(&run);
    assert!(found[0].message(9).contains("/var/disk.img"), "{found:?}");
    let raw = &mut run.header.storage.layers[0].identity.raw;
    raw.insert("dio".to_owned(), "1".to_owned());
    assert_eq!(warnings(&run), [], "it goes past the cache");
}

/// Nobody but a user makes a loop device write through, and flushes end there.
#[test]
fn a_loop_device_that_was_set_to_write_through_is_told() {
    let mut run = calm();
    let layer = &mut run.header.storage.layers[0];
    let name = layer.name.clone();
    layer.identity.kind = DeviceKind::Loop;
    for measured in run.trials.iter_mut().flat_map(|trial| &mut trial.measured) {
        measured.write.bytes = MIB;
    }
    let mut set = |cache: WriteCache| {
        let evidence = run.trials.iter_mut().flat_map(|trial| &mut trial.evidence);
        for queue in evidence.flat_map(|evidence| &mut evidence.queues) {
            queue.name.clone_from(&name);
            queue.write_cache = Some(cache);
        }
        let forced = |warning: &Warning| matches!(warning, Warning::ForcedWriteThrough { .. });
        warnings(&run).iter().any(forced)
    };
    assert!(set(WriteCache::Through));
    assert!(!set(WriteCache::Back));
}

#[test]
fn long_lists_are_counted_and_never_cut_by_one() {
    let jobs = |n: usize| (1..=n).map(|i| format!("job-{i}")).collect();
    let skipped = |n| Warning::Skipped {
        reason: "x".to_owned(),
        jobs: jobs(n),
    };
    assert!(
        skipped(3)
            .message(2)
            .starts_with("job-1, job-2 and job-3 did")
    );
    assert!(
        skipped(6)
            .message(2)
            .starts_with("job-1, job-2 and 4 more did")
    );
    let foreign = Warning::ForeignIo {
        device: "mmcblk0".to_owned(),
        read: Bytes(0),
        written: Bytes::mib(1),
        trials: jobs(5),
        processes: Vec::new(),
    };
    assert!(
        foreign
            .message(usize::MAX)
            .starts_with("others wrote at least 1 MiB on mmcblk0 during job-1, ")
    );
}

/// Another program filled the file system: no reason to look for a bad cable.
#[test]
fn a_full_file_system_is_no_error_of_the_medium() {
    let with_errno = |errno: i32| {
        let mut run = calm();
        let trial = &mut run.trials[0];
        trial.outcome = Outcome::Failed {
            error: "write of 4096 bytes at offset 0: it failed".to_owned(),
        };
        let errors = &mut trial.measured.as_mut().unwrap().errors;
        errors.count = 1;
        errors.first = vec![IoErrorRecord {
            direction: Some(Direction::Write),
            offset: 0,
            length: 4096,
            errno: Some(errno),
            message: "it failed".to_owned(),
            at_ns: 1,
        }];
        warnings(&run)
    };
    let is_medium = |warning: &Warning| matches!(warning, Warning::IoErrors { .. });
    let is_failed = |warning: &Warning| matches!(warning, Warning::Failed { .. });
    let (full, broken) = (with_errno(28), with_errno(5));
    assert!(
        full.iter().any(is_failed) && !full.iter().any(is_medium),
        "{full:?}"
    );
    assert!(
        broken.iter().any(is_medium) && !broken.iter().any(is_failed),
        "{broken:?}"
    );
}
