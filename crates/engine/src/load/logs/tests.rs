//! Logs as files, compared with what fio writes.

use super::*;
use assay_model::load::WindowValue;
use assay_model::units::Nanos;
use assay_testkit::{Scratch, missing, run, skip};
use proptest::prelude::*;
use std::fs;

const MS: u64 = 1_000_000;

fn every_log() -> Logs {
    let name = Some("job".to_owned());
    Logs {
        bandwidth: name.clone(),
        latency: name.clone(),
        iops: name.clone(),
        histogram: name,
        ..Logs::default()
    }
}

fn set(options: &Logs, number: u32) -> LogSet {
    let (stats, process) = (StatsOptions::default(), Process::default());
    LogSet::open(options, &stats, &process, "job", number)
        .unwrap()
        .unwrap()
}

/// An I/O of 4 KiB at a time in ms, with its latency in µs.
fn io(set: &mut LogSet, at_ms: u64, ddir: Ddir, block: u64, clat_us: u64) {
    let (clat_ns, lat_ns) = (clat_us * 1_000, clat_us * 1_000 + 500);
    set.completed(
        at_ms * MS,
        ddir,
        4096,
        block * 4096,
        IoPriority::NONE,
        Some(300),
        clat_ns,
        lat_ns,
    );
}

/// The files that were written, as (name, content).
fn written(sets: Vec<LogSet>) -> Vec<(String, Vec<u8>)> {
    let scratch = Scratch::new().unwrap();
    write_logs(sets, scratch.path()).unwrap();
    let mut files: Vec<_> = fs::read_dir(scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// The text of the file of that name.
fn file(files: &[(String, Vec<u8>)], name: &str) -> String {
    let found = files.iter().find(|file| file.0 == name);
    let names: Vec<&String> = files.iter().map(|file| &file.0).collect();
    let content = &found.unwrap_or_else(|| panic!("{name} among {names:?}")).1;
    String::from_utf8(content.clone()).unwrap()
}

/// What the documentation promises, and the size of compressed pieces assumes.
#[test]
fn an_entry_has_48_bytes() {
    assert_eq!(size_of::<IoSample>(), 48);
}

#[test]
fn no_log_asked_for_is_none() {
    let (stats, process) = (StatsOptions::default(), Process::default());
    let set = LogSet::open(&Logs::default(), &stats, &process, "job", 1).unwrap();
    assert!(set.is_none());
}

#[test]
fn every_io_is_a_row_in_each_file() {
    let mut set = set(&every_log(), 3);
    io(&mut set, 5, Ddir::Read, 1, 8);
    io(&mut set, 7, Ddir::Trim, 2, 0);
    set.finish(8 * MS);
    let files = written(vec![set]);
    // 4096 bytes in 8 µs are 512 MB/s; no time is no rate.
    assert_eq!(
        file(&files, "job_bw.3.log"),
        "5, 512000, 0, 4096, 0\n7, 0, 2, 4096, 0\n"
    );
    assert_eq!(
        file(&files, "job_iops.3.log"),
        "5, 1, 0, 4096, 0\n7, 1, 2, 4096, 0\n"
    );
    assert_eq!(
        file(&files, "job_slat.3.log"),
        "5, 300, 0, 4096, 0\n7, 300, 2, 4096, 0\n"
    );
    assert_eq!(
        file(&files, "job_clat.3.log"),
        "5, 8000, 0, 4096, 0\n7, 0, 2, 4096, 0\n"
    );
    assert_eq!(
        file(&files, "job_lat.3.log"),
        "5, 8500, 0, 4096, 0\n7, 500, 2, 4096, 0\n"
    );
    // Without an interval, a histogram of each direction at the end.
    let histograms = file(&files, "job_clat_hist.3.log");
    let rows = histograms.lines().map(|row| row.get(..12).unwrap_or(row));
    assert!(rows.eq(["8, 0, 4096, ", "8, 2, 4096, "]), "{histograms}");
    assert_eq!(files.len(), 6);
}

#[test]
fn what_is_not_measured_has_no_file_and_no_prefix_is_the_jobs_name() {
    let stats = StatsOptions {
        slat: false,
        lat: false,
        ..StatsOptions::default()
    };
    let options = Logs {
        latency: Some(String::new()),
        ..Logs::default()
    };
    let mut set = LogSet::open(&options, &stats, &Process::default(), "reader", 1)
        .unwrap()
        .unwrap();
    set.completed(0, Ddir::Read, 512, 0, IoPriority::NONE, None, 1, 1);
    let files = written(vec![set]);
    assert_eq!(files.len(), 1);
    assert_eq!(file(&files, "reader_clat.1.log"), "0, 1, 0, 512, 0\n");
}

#[test]
fn without_a_submission_latency_its_file_is_empty() {
    let mut set = set(&every_log(), 1);
    set.completed(0, Ddir::Read, 512, 0, IoPriority::NONE, None, 1, 1);
    assert_eq!(file(&written(vec![set]), "job_slat.1.log"), "");
}

#[test]
fn offset_and_priority_are_further_columns() {
    let row = |offset, priority, io_class| {
        let options = Logs {
            iops: Some("p".to_owned()),
            offset,
            priority,
            ..Logs::default()
        };
        let process = Process {
            io_class,
            io_priority: Some(3),
            ..Process::default()
        };
        let mut set = LogSet::open(&options, &StatsOptions::default(), &process, "job", 1)
            .unwrap()
            .unwrap();
        io(&mut set, 1, Ddir::Write, 7, 1);
        file(&written(vec![set]), "p_iops.1.log")
    };
    assert_eq!(row(false, false, Some(1)), "1, 1, 1, 4096, 1\n");
    assert_eq!(row(true, false, Some(2)), "1, 1, 1, 4096, 28672, 0\n");
    assert_eq!(row(true, true, Some(1)), "1, 1, 1, 4096, 28672, 0x2003\n");
    assert_eq!(row(false, true, None), "1, 1, 1, 4096, 0x4003\n");
}

#[test]
fn an_io_has_its_own_priority_or_that_of_its_stream() {
    for compress_from in [0, 1] {
        let options = Logs {
            iops: Some("p".to_owned()),
            priority: true,
            compress_from,
            ..Logs::default()
        };
        let process = Process {
            io_priority: Some(3),
            ..Process::default()
        };
        let mut set = LogSet::open(&options, &StatsOptions::default(), &process, "job", 1)
            .unwrap()
            .unwrap();
        for priority in [IoPriority::new(1, 7), IoPriority::NONE] {
            set.completed(0, Ddir::Trim, 512, 0, priority, None, 1, 1);
        }
        assert_eq!(
            file(&written(vec![set]), "p_iops.1.log"),
            "0, 1, 2, 512, 0x2007\n0, 1, 2, 512, 0x4003\n"
        );
    }
}

fn averaged() -> Logs {
    Logs {
        average: Nanos::millis(100),
        offset: true,
        ..every_log()
    }
}

#[test]
fn windows_hold_rates_and_means_and_a_stall_is_a_row_of_zeros() {
    let mut set = set(&averaged(), 1);
    io(&mut set, 10, Ddir::Read, 1, 10);
    io(&mut set, 20, Ddir::Write, 1, 20);
    io(&mut set, 99, Ddir::Read, 1, 15);
    io(&mut set, 300, Ddir::Read, 1, 40);
    set.finish(400 * MS);
    let files = written(vec![set]);
    assert_eq!(
        file(&files, "job_bw.1.log"),
        "100, 80, 0, 0, 0, 0\n100, 40, 1, 0, 0, 0\n\
         200, 0, 0, 0, 0, 0\n200, 0, 1, 0, 0, 0\n\
         300, 0, 0, 0, 0, 0\n300, 0, 1, 0, 0, 0\n\
         400, 40, 0, 0, 0, 0\n400, 0, 1, 0, 0, 0\n"
    );
    assert!(file(&files, "job_iops.1.log").starts_with("100, 20, 0, 0, 0, 0\n100, 10, 1,"));
    assert_eq!(
        file(&files, "job_clat.1.log"),
        "100, 12500, 0, 0, 0, 0\n100, 20000, 1, 0, 0, 0\n400, 40000, 0, 0, 0, 0\n"
    );
}

#[test]
fn the_largest_latency_instead_of_the_mean() {
    let options = Logs {
        window_value: WindowValue::Max,
        ..averaged()
    };
    let mut set = set(&options, 1);
    io(&mut set, 10, Ddir::Read, 1, 10);
    io(&mut set, 20, Ddir::Read, 1, 90);
    set.finish(100 * MS);
    let files = written(vec![set]);
    assert_eq!(file(&files, "job_clat.1.log"), "100, 90000, 0, 0, 0, 0\n");
    assert_eq!(file(&files, "job_iops.1.log"), "100, 20, 0, 0, 0, 0\n");
}

#[test]
fn both_values_and_the_time_of_issue_are_further_columns() {
    let options = Logs {
        window_value: WindowValue::Both,
        issue_time: true,
        ..averaged()
    };
    let mut averages = set(&options, 1);
    io(&mut averages, 10, Ddir::Read, 1, 10);
    io(&mut averages, 20, Ddir::Read, 1, 90);
    averages.finish(100 * MS);
    let files = written(vec![averages]);
    let clat = "100, 50000, 90000, 0, 0, 0, 0, 0\n";
    assert_eq!(file(&files, "job_clat.1.log"), clat);
    let iops = "100, 20, 20, 0, 0, 0, 0, 0\n";
    assert_eq!(file(&files, "job_iops.1.log"), iops);

    let every = Logs {
        average: Nanos(0),
        ..options
    };
    let mut single = set(&every, 1);
    io(&mut single, 10, Ddir::Read, 1, 400);
    let files = written(vec![single]);
    let row = |kind: &str| file(&files, &format!("job_{kind}.1.log"));
    assert_eq!(row("clat"), "10, 400000, 0, 4096, 4096, 0, 9600000\n");
    assert_eq!(row("slat"), "10, 300, 0, 4096, 4096, 0, 9600000\n");
    assert_eq!(row("lat"), "10, 400500, 0, 4096, 4096, 0, 0\n");
    assert_eq!(row("iops"), "10, 1, 0, 4096, 4096, 0, 0\n");
}

#[test]
fn a_shorter_last_window_has_its_own_rate_unless_it_is_but_a_moment() {
    let rows = |end_ms| {
        let mut set = set(&averaged(), 1);
        io(&mut set, 10, Ddir::Read, 1, 10);
        io(&mut set, 105, Ddir::Read, 1, 30);
        set.finish(end_ms * MS);
        let files = written(vec![set]);
        (
            file(&files, "job_iops.1.log"),
            file(&files, "job_clat.1.log"),
        )
    };
    let (iops, clat) = rows(150);
    assert_eq!(iops, "100, 10, 0, 0, 0, 0\n150, 20, 0, 0, 0, 0\n");
    assert_eq!(clat, "100, 10000, 0, 0, 0, 0\n150, 30000, 0, 0, 0, 0\n");
    let (iops, clat) = rows(149);
    assert_eq!(iops, "100, 10, 0, 0, 0, 0\n");
    assert_eq!(clat.lines().count(), 2, "a latency is one however late");
}

#[test]
fn time_without_io_is_seen_by_its_ticks() {
    let mut set = set(&averaged(), 1);
    io(&mut set, 10, Ddir::Read, 1, 10);
    set.tick(350 * MS);
    set.finish(350 * MS);
    let iops = file(&written(vec![set]), "job_iops.1.log");
    let ends: Vec<&str> = iops
        .lines()
        .filter_map(|row| row.split(',').next())
        .collect();
    assert_eq!(ends, ["100", "200", "300", "350"]);
}

#[test]
fn histograms_count_each_interval_by_itself() {
    let options = Logs {
        histogram_interval: Nanos::millis(100),
        histogram_coarseness: 6,
        ..every_log()
    };
    let mut set = set(&options, 1);
    set.completed(0, Ddir::Read, 4096, 0, IoPriority::NONE, None, 1, 1);
    set.completed(1, Ddir::Read, 512, 0, IoPriority::NONE, None, 127, 127);
    set.completed(
        150 * MS,
        Ddir::Write,
        4096,
        0,
        IoPriority::NONE,
        None,
        128,
        128,
    );
    set.completed(
        160 * MS,
        Ddir::Write,
        4096,
        0,
        IoPriority::NONE,
        None,
        60_000 * MS,
        1,
    );
    set.finish(170 * MS);
    let bins = |counts: &[(usize, u64)]| {
        let mut bins = vec!["0".to_owned(); 29];
        for &(bin, ios) in counts {
            bins[bin] = ios.to_string();
        }
        bins.join(", ")
    };
    assert_eq!(
        file(&written(vec![set]), "job_clat_hist.1.log"),
        format!(
            "100, 0, 512, {}\n170, 1, 4096, {}\n",
            bins(&[(0, 1), (1, 1)]),
            bins(&[(2, 1), (28, 1)])
        )
    );
}

#[test]
fn times_of_a_clock_are_added() {
    let options = Logs {
        iops: Some("e".to_owned()),
        unix_epoch: true,
        ..Logs::default()
    };
    let mut set = set(&options, 1);
    let before = clock_gettime(ClockId::Realtime).tv_sec;
    set.begin();
    io(&mut set, 2_000, Ddir::Read, 0, 1);
    let row = file(&written(vec![set]), "e_iops.1.log");
    let at_ms: i64 = row.split(',').next().unwrap().parse().unwrap();
    assert!(at_ms / 1_000 >= before + 2, "{row}");
    let unknown = Logs {
        epoch_clock: Some(77),
        ..options
    };
    let (stats, process) = (StatsOptions::default(), Process::default());
    let error = LogSet::open(&unknown, &stats, &process, "job", 1).unwrap_err();
    assert!(error.to_string().contains("clock_id=77"), "{error}");
}

#[test]
fn shared_files_are_merged_by_time() {
    let options = Logs {
        iops: Some("s".to_owned()),
        shared: true,
        offset: true,
        ..Logs::default()
    };
    let (mut first, mut second) = (set(&options, 1), set(&options, 2));
    io(&mut first, 1, Ddir::Read, 0, 1);
    io(&mut first, 4, Ddir::Read, 1, 1);
    io(&mut second, 1, Ddir::Read, 2, 1);
    io(&mut second, 3, Ddir::Read, 3, 1);
    io(&mut second, 5, Ddir::Read, 4, 1);
    let files = written(vec![first, second]);
    let rows = file(&files, "s_iops.log");
    let blocks: Vec<&str> = rows
        .lines()
        .filter_map(|row| row.split(", ").nth(4))
        .collect();
    assert_eq!(blocks, ["0", "8192", "12288", "4096", "16384"]);
    assert_eq!(files.len(), 1);
}

/// A log of `ios` I/Os under the given options.
fn log_of(ios: &[(u8, u32, u64)], options: &Logs) -> LogSet {
    let mut set = set(options, 1);
    for (number, &(ddir, bytes, ns)) in (0..).zip(ios) {
        let ddir = Ddir::ALL[usize::from(ddir)];
        let slat_ns = (ns % 2 == 0).then_some(ns / 2);
        set.completed(
            number * MS,
            ddir,
            bytes,
            number,
            IoPriority::NONE,
            slat_ns,
            ns,
            ns,
        );
    }
    set
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn compressed_in_memory_is_the_same_log(
        ios in prop::collection::vec((0..3_u8, any::<u32>(), 0..u64::MAX), 0..300),
        compress_from in 1..3_000_u64,
    ) {
        let compressed = Logs { compress_from, ..every_log() };
        let plain = written(vec![log_of(&ios, &every_log())]);
        prop_assert_eq!(written(vec![log_of(&ios, &compressed)]), plain);
    }
}

#[test]
fn fio_inflates_what_is_stored_compressed() {
    if let Some(why) = missing(&["fio"]) {
        return skip(&why);
    }
    let ios: Vec<_> = (0..1_000).map(|n| (1, 4096, n * 77)).collect();
    for (offset, priority) in [(false, false), (true, false), (false, true), (true, true)] {
        for compress_from in [0, 10_240] {
            let stored = Logs {
                offset,
                priority,
                store_compressed: true,
                compress_from,
                shared: true,
                ..every_log()
            };
            let plain = Logs {
                store_compressed: false,
                ..stored.clone()
            };
            let scratch = Scratch::new().unwrap();
            write_logs(vec![log_of(&ios, &stored)], scratch.path()).unwrap();
            let inflate = |name: &str| {
                let path = scratch.join(name).display().to_string();
                run(&["fio", &format!("--inflate-log={path}")]).unwrap()
            };
            let plain = written(vec![log_of(&ios, &plain)]);
            for name in ["job_bw.log", "job_slat.log"] {
                let inflated = inflate(&format!("{name}.fz"));
                assert!(
                    inflated.trim_end() == file(&plain, name).trim_end(),
                    "{name}"
                );
            }
        }
    }
}

/// The first row with every number as `N`.
fn shape(text: &str) -> String {
    let row = text.lines().next().unwrap_or_default();
    let words = row.split(", ").map(|word| match word.parse::<u64>() {
        Ok(_) => "N",
        Err(_) => word,
    });
    words.collect::<Vec<_>>().join(", ")
}

/// All files of fio and of assay for the same options have the same names and
/// rows of the same form.
fn compare_with_fio(arguments: &[&str], options: &Logs) {
    let scratch = Scratch::new().unwrap();
    let prefix = scratch.join("job").display().to_string();
    let logs = ["bw", "lat", "iops", "hist"].map(|log| format!("--write_{log}_log={prefix}"));
    let job = [
        "fio",
        "--name=job",
        "--ioengine=null",
        "--size=64k",
        "--bs=4k",
        "--rw=write",
        "--prioclass=2",
        "--prio=3",
        "--thinktime=12500",
        "--thinktime_blocks=1",
    ];
    let logs: Vec<&str> = logs.iter().map(String::as_str).collect();
    run(&[&job[..], &logs, arguments].concat()).unwrap();
    let process = Process {
        io_class: Some(2),
        io_priority: Some(3),
        ..Process::default()
    };
    let mut set = LogSet::open(options, &StatsOptions::default(), &process, "job", 1)
        .unwrap()
        .unwrap();
    for block in 0..16 {
        let at_ns = block * 25 * MS / 2;
        set.completed(
            at_ns,
            Ddir::Write,
            4096,
            block * 4096,
            IoPriority::NONE,
            None,
            400,
            500,
        );
    }
    set.finish(200 * MS);
    let ours = written(vec![set]);
    for (name, content) in &ours {
        let theirs = fs::read_to_string(scratch.join(name)).unwrap();
        let ours = std::str::from_utf8(content).unwrap();
        if theirs.is_empty() {
            // No submission latency; or fio's helper thread came too late for
            // any window, which happens on a busy machine.
            continue;
        }
        assert_eq!(shape(ours), shape(&theirs), "{name} {arguments:?}");
    }
    // Theirs are in the folder, with nothing else.
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), ours.len());
}

#[test]
fn files_have_the_form_of_fios() {
    if let Some(why) = missing(&["fio"]) {
        return skip(&why);
    }
    compare_with_fio(&[], &every_log());
    let offset = Logs {
        offset: true,
        ..every_log()
    };
    compare_with_fio(&["--log_offset=1"], &offset);
    let priority = Logs {
        priority: true,
        ..offset.clone()
    };
    compare_with_fio(&["--log_offset=1", "--log_prio=1"], &priority);
    let averaged = Logs {
        average: Nanos::millis(50),
        histogram_interval: Nanos::millis(50),
        shared: true,
        ..priority
    };
    let windows = [
        "--log_avg_msec=50",
        "--log_hist_msec=50",
        "--per_job_logs=0",
    ];
    compare_with_fio(
        &[&windows[..], &["--log_offset=1", "--log_prio=1"]].concat(),
        &averaged,
    );
    for histogram_coarseness in [0, 3, 6] {
        let coarse = Logs {
            histogram_coarseness,
            shared: false,
            offset: false,
            priority: false,
            ..averaged.clone()
        };
        let argument = format!("--log_hist_coarseness={histogram_coarseness}");
        compare_with_fio(&[windows[0], windows[1], &argument], &coarse);
    }
}
