//! Reports of users, each of which stands for a kind of fault, and texts of the same kind.

use super::{error, figure, results, trials, values};
use assay_model::figures::Results;

fn conditions(results: &Results) -> Vec<&str> {
    let mut names: Vec<&str> = results
        .figures
        .iter()
        .map(|f| f.condition.as_str())
        .collect();
    names.dedup();
    names
}

fn has_note(results: &Results, words: &str) -> bool {
    results.notes.iter().any(|note| note.contains(words))
}

#[test]
fn the_same_copies_have_the_same_rates_in_gnus_and_busyboxs_words() {
    let rates = |text| {
        let results = results(text);
        let rate = figure(&results, "bs=1M count=100 conv=fsync", "rate");
        assert_eq!(rate.unit, "MB/s");
        trials(rate)
    };
    let busybox = rates(include_str!("data/reports/dd-busybox.txt"));
    let gnu = rates(include_str!("data/reports/dd-gnu-same-seconds.txt"));
    assert_eq!((busybox.len(), busybox[0]), (6, 104.8576 / 8.475137));
    for (busybox, gnu) in busybox.iter().zip(&gnu) {
        assert!((busybox / gnu - 1.0).abs() < 1e-5, "{busybox} {gnu}");
    }
}

#[test]
fn dd_in_chinese() {
    let results = results(include_str!("data/reports/dd-zh_CN.txt"));
    let rate = figure(&results, "bs=1M count=1", "rate");
    assert_eq!(trials(rate), [1.048576 / 0.000517593]);
}

#[test]
fn a_copy_that_was_asked_with_a_signal_is_one_trial() {
    let text = "$ dd if=/dev/zero of=f bs=1M count=100\n\
        50+0 records in\n50+0 records out\n52428800 bytes (52 MB, 50 MiB) copied, 1 s, 52.4 MB/s\n\
        100+0 records in\n100+0 records out\n104857600 bytes (105 MB, 100 MiB) copied, 2 s, 52.4 MB/s\n\
        100+0 records in\n100+0 records out\n104857600 bytes (105 MB, 100 MiB) copied, 4 s, 26.2 MB/s\n";
    let results = results(text);
    assert_eq!(
        trials(figure(&results, "bs=1M count=100", "time")),
        [2.0, 4.0]
    );
    assert!(has_note(&results, "SIGUSR1"));
}

const COPY: &str = "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB, 1.0 MiB) copied, ";

#[test]
fn copies_below_headings_are_of_several_conditions() {
    for (first, second) in [
        ("before\n", "after\n"),
        ("## Before\n\n$ sync\n", "\n## After\n\n"),
        ("Run 1: before\n", "Run 2: after\n"),
        ("SATA SSD 1:\n", "SATA SSD 2:\n"),
        ("=== /dev/sda ===\n", "\n=== /dev/sdb ===\n"),
    ] {
        let text = format!("{first}{COPY}1 s, 1.0 MB/s\n{second}{COPY}2 s, 524 kB/s\n");
        let results = results(&text);
        let names = conditions(&results);
        assert_eq!(names.len(), 2, "{first}: {names:?}");
        assert!(
            names
                .iter()
                .all(|name| first.contains(name) || second.contains(name))
        );
        assert_eq!(
            trials(figure(&results, names[1], "1048576 bytes: time")),
            [2.0]
        );
    }
}

#[test]
fn lines_that_only_count_or_come_between_copies_are_no_conditions() {
    for (first, second) in [
        ("Run 1\n", "Run 2\n"),
        ("Write test #1\n", "Write test #2\n"),
        ("", "sync\n"),
        ("sync\n", "sync\n"),
        ("$ sync\n", "$ echo 3\n"),
        ("", "\nreal\t0m1.004s\nuser\t0m0.001s\nsys\t0m0.100s\n\n"),
        ("dd: warning: a\n", "dd: warning: b\n"),
    ] {
        let text = format!("{first}{COPY}1 s, 1.0 MB/s\n{second}{COPY}2 s, 524 kB/s\n");
        let results = results(&text);
        assert_eq!(
            values(&results, "1048576 bytes: time").0,
            [1.0, 2.0],
            "{first}"
        );
    }
    assert!(has_note(
        &results(&format!("dd: error writing 'f': x\n{COPY}1 s, 1.0 MB/s\n")),
        "dd reported errors (1)"
    ));
}

#[test]
fn commands_for_several_devices_are_several_conditions() {
    let copy = |file: &str| format!("$ dd if=/dev/zero of={file} bs=1M\n{COPY}1 s, 1.0 MB/s\n");
    let of = |files: [&str; 3]| results(&files.map(copy).concat());
    let devices = of(["/dev/sda", "/dev/sdb", "/mnt/a/f"]);
    assert_eq!(conditions(&devices), ["/dev/sda", "/dev/sdb", "/mnt/a"]);
    assert_eq!(trials(figure(&devices, "/mnt/a", "bs=1M: time")), [1.0]);
    let files = of(["/mnt/a/1", "/mnt/a/2", "/mnt/a/3"]);
    assert_eq!(trials(figure(&files, "bs=1M", "time")).len(), 3);
}

#[test]
fn interim_reports_of_fio_are_one_trial() {
    let results = results(include_str!("data/reports/fio-status-interval.json"));
    assert_eq!(values(&results, "s: read_iops").0, [200.199950]);
    assert!(has_note(&results, "1 interim"));
}

/// JSON as fio 3.33 writes it, with the fields that imports read.
fn document(timestamp: u64, elapsed: u64, bytes: u64, runtime: u64) -> String {
    format!(
        "{{ \"fio version\" : \"fio-3.33\", \"timestamp\" : {timestamp}, \"jobs\" : [ {{ \"jobname\" : \"s\", \
         \"elapsed\" : {elapsed}, \"read\" : {{ \"io_bytes\" : {bytes}, \"bw\" : {runtime}, \
         \"runtime\" : {runtime} }} }} ] }}\n"
    )
}

#[test]
fn runs_that_follow_at_once_are_trials_and_stalled_reports_are_not() {
    let of = |one: [u64; 4], other: [u64; 4]| {
        let [one, other] = [one, other].map(|d| document(d[0], d[1], d[2], d[3]));
        values(&results(&(one + &other)), "s: read_bw").0.len()
    };
    // Equal sizes within a second.
    assert_eq!(of([100, 1, 4096, 20], [100, 1, 4096, 25]), 2);
    assert_eq!(of([100, 2, 4096, 1001], [102, 2, 8192, 1001]), 2);
    assert_eq!(of([104, 5, 4096, 4001], [109, 5, 8192, 4001]), 2);
    // The device stalls, or ramp_time ends between the reports.
    assert_eq!(of([104, 5, 4096, 4001], [106, 7, 4096, 6001]), 1);
    assert_eq!(of([104, 5, 8192, 4001], [106, 7, 4096, 1001]), 1);
    assert_eq!(of([100, 1, 4096, 500], [101, 2, 8192, 1500]), 1);
}

#[test]
fn interim_reports_in_text_are_one_trial() {
    let report = |pid: u32, bw: u32| {
        format!(
            "j: (groupid=0, jobs=1): err= 0: pid={pid}: Fri Nov 27 16:34:41 2026\n  read: IOPS=1, \
             BW={bw}KiB/s (1kB/s)(4KiB/1msec)\n\nRun status group 0 (all jobs):\n   READ: bw=1KiB/s\n\n"
        )
    };
    let banner = "fio-3.33\nStarting 1 process\n\n";
    let text = format!("{banner}{}{}", report(7, 1), report(7, 2));
    let read = results(&text);
    assert_eq!(values(&read, "j: read_bw").0, [2.0]);
    assert_eq!(read.figures.len(), 2);
    assert!(has_note(&read, "1 interim"));
    // Two runs, in containers with the same numbers of processes.
    let read = results(&format!("{banner}{}{banner}{}", report(7, 1), report(7, 2)));
    assert_eq!(values(&read, "j #2: read_bw").0, [2.0]);
    let text = format!(
        "Before:\n\n{banner}{}After:\n\n{banner}{}",
        report(7, 1),
        report(8, 2)
    );
    let read = results(&text);
    assert_eq!(trials(figure(&read, "After", "j: read_bw")), [2.0]);
}

#[test]
fn json_below_headings_is_of_several_conditions() {
    let (one, other) = (document(100, 1, 4096, 20), document(200, 1, 4096, 30));
    let read = results(&format!("before\n{one}after:\n{other}"));
    assert_eq!(trials(figure(&read, "before", "s: read_bw")), [20.0]);
    assert_eq!(trials(figure(&read, "after", "s: read_bw")), [30.0]);
}

#[test]
fn figures_of_old_fio() {
    let read = results(include_str!("data/reports/fio-2.0-bytes-per-second.txt"));
    let bw = |metric| values(&read, metric);
    assert_eq!(
        bw("rand: read_bw"),
        (vec![618_740.0 / 1024.0], "KB/s".to_owned())
    );
    assert_eq!(
        bw("rand: write_bw"),
        (vec![622_133.0 / 1024.0], "KB/s".to_owned())
    );
    let padded = document(100, 1, 4096, 20).replace(
        "\"runtime\"",
        "\"clat\" : { \"max\" : 9, \"mean\" : 5, \"percentile\" : { \"1.000000\" : 3, \"0.00\" : 0 } }, \
         \"runtime\"",
    );
    let names: Vec<String> = results(&padded)
        .figures
        .into_iter()
        .map(|f| f.metric)
        .collect();
    assert_eq!(
        names,
        ["s: read_bw", "s: read_clat_mean", "s: read_clat_p1"]
    );
}

#[test]
fn a_file_without_options_says_nothing_of_direct() {
    for text in [
        include_str!("data/reports/fio-2.1-no-options.json"),
        include_str!("data/reports/fio-client.json"),
    ] {
        let read = results(text);
        assert!(!has_note(&read, "direct=1"), "{:?}", read.notes);
        assert!(has_note(&read, "is not recorded"), "{:?}", read.notes);
    }
}

#[test]
fn prefixes_of_logs_are_left_out() {
    let text = include_str!("data/reports/fio-log-prefix.txt");
    let read = results(text);
    assert_eq!(
        values(&read, "file1: read_bw"),
        (vec![130.0], "MiB/s".to_owned())
    );
    assert_eq!(values(&read, "file1: write_clat_mean").0, [2718.59]);
    assert_eq!(read.tool, "fio-3.19");
    assert!(has_note(&read, "Prefixes of a log"));

    let plain = "$ dd if=/dev/zero of=f bs=1M\n1+0 records in\n1+0 records out\n\
        1048576 bytes (1.0 MB, 1.0 MiB) copied, 2 s, 524 kB/s\n";
    for prefix in [
        "12:09:00 ",
        "[16:34:41.123] ",
        "2020-05-03T12:09:05.1234567Z ",
        "2026-11-27 16:34:41,123 DEBUG ",
        "[2026-11-27T16:34:41.123Z] ",
        "2026-11-27T16:34:41.123+00:00 stdout F ",
        "Nov 27 16:34:41 board dd[123]: ",
        "Nov  7 16:34:41 ",
        "[   12.345678] ",
        "[   12.345678] sh[7]: ",
        "web-1  | ",
        "12:09:00 INFO | ",
        "\u{1b}[32m12:09:00\u{1b}[0m ",
    ] {
        let lines = plain.lines().map(|line| format!("{prefix}{line}\n"));
        let read = results(&lines.collect::<String>());
        assert_eq!(trials(figure(&read, "bs=1M", "time")), [2.0], "{prefix}");
    }
    let prefixed = |text: &str| {
        let lines = text.lines().map(|line| format!("[    1.500000] {line}\n"));
        lines.collect::<String>()
    };
    let json = document(100, 1, 4096, 20).replace(" : ", " :\n");
    assert_eq!(values(&results(&prefixed(&json)), "s: read_bw").0, [20.0]);
    let iozone = include_str!("data/reports/iozone-3.408-blank-columns.txt");
    assert_eq!(results(&prefixed(iozone)).figures, results(iozone).figures);
}

#[test]
fn parts_of_outputs_are_named() {
    for (text, words) in [
        (include_str!("data/reports/fio-bw.log"), "a log of fio"),
        ("100, 0, 4096, 1, 2, 3, 0, 0\n", "a log of fio"),
        ("1, 5, 0, 4096, 0, 0x0004\n", "a log of fio"),
        (
            include_str!("data/reports/json-fragment.txt"),
            "part of a JSON document",
        ),
        (
            "\"jobs\" : [\n{\n \"jobname\" : \"j\",\n",
            "part of a JSON document",
        ),
        (
            "$ dd if=a of=b\n20+0 records in\n20+0 records out\n",
            "dd's output without its last",
        ),
        ("3;fio-3.33;j;0;0;1;2;3\n", "terse"),
        ("  read: IOPS=1, BW=1KiB/s\n", "part of fio's normal output"),
        (
            "   READ: bw=130MiB/s (137MB/s), io=512MiB\n",
            "part of fio's normal output",
        ),
    ] {
        let said = error(text);
        assert!(said.contains(words), "{text}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    for text in [
        "{\n\"jobs\" : []\n}",
        "read: permission denied\n",
        "\"a\" : 1\n\0",
    ] {
        assert!(error(text).contains("not known what wrote this"), "{text}");
    }
}

#[test]
fn tables_of_old_iozones() {
    let text = include_str!("data/reports/iozone-3.408-blank-columns.txt");
    let without_command = text.replace("Command line used", "x");
    for text in [text, &without_command] {
        let read = results(text);
        let of = |test: &str| values(&read, &format!("409600 kB file, 64 kB records: {test}")).0;
        assert_eq!(of("rewrite"), [22524.0]);
        assert_eq!(of("random read"), [816_017.0]);
        assert_eq!(of("random write"), [10411.0]);
        assert_eq!(of("stride read"), [3_779_260.0]);
        assert_eq!(read.figures.len(), 5);
    }
    // The columns of 3.498 and later are wider.
    let text = "                                                                    random    random      bkwd     record     stride\n              \
        kB  reclen    write    rewrite      read    reread      read     write      read    rewrite       read    fwrite  frewrite     fread   freread\n         \
        1048576       4    666141    188600                       4415111    915494                                           1             2\n";
    let read = results(text);
    let of = |test: &str| values(&read, &format!("1048576 kB file, 4 kB records: {test}")).0;
    assert_eq!(of("random write"), [915_494.0]);
    assert_eq!((of("fwrite"), of("fread")), (vec![1.0], vec![2.0]));
    let text = "\tEach process writes a 1024 Kbyte file in 4 Kbyte records\n\
        \tChildren see throughput for  2 readers \t= 1.5 KB/sec\n";
    let read = results(text);
    assert_eq!(
        values(&read, "1024 kB file, 4 kB records, 2 readers: throughput").0,
        [1.5]
    );
}

#[test]
fn errors_of_iozone_are_noted() {
    let read = results(include_str!("data/reports/iozone-interrupted.txt"));
    assert!(has_note(
        &read,
        "iozone reported errors (3), the first of which is 'Error in file"
    ));
    let text = "\tIozone: Performance Test\n\tPerformance measurements are invalid in this mode.\n\
        \tChildren see throughput for  2 readers \t= 1.5 KB/sec\n";
    assert!(has_note(&results(text), "invalid in this mode"));
}

#[test]
fn tables_of_iozone_below_headings_are_of_several_conditions() {
    let read = results(include_str!("data/reports/iozone-three-devices.txt"));
    assert_eq!(conditions(&read), ["SATA SSD A", "SATA SSD B", "NVMe C"]);
    let random = figure(
        &read,
        "SATA SSD B",
        "102400 kB file, 4 kB records: random read",
    );
    assert_eq!(trials(random), [23800.0]);

    // As it stands in e-mails.
    let text = "> iozone -a -s 131072000 -y 4 -i 0 -i 1 -R\n>\n> before 7e55c60acfbb:\n\
        >               KB  reclen   write rewrite    read    reread\n\
        >        131072000       4  493670  525964   524575   513384\n>\n> after 7e55c60acfbb:\n\
        >               KB  reclen   write rewrite    read    reread\n\
        >        131072000       4  421785  456184   531278   509248\n";
    let read = results(text);
    assert_eq!(
        conditions(&read),
        ["before 7e55c60acfbb", "after 7e55c60acfbb"]
    );

    let run = |file: &str| {
        format!(
            "\tIozone: Performance Test\n\tCommand line used: iozone -i 0 -f {file}\n\
             \tChildren see throughput for  2 readers \t= 1.5 KB/sec\n\niozone test complete.\n"
        )
    };
    let read = results(&(run("/mnt/a/f") + &run("/mnt/b/f")));
    assert_eq!(conditions(&read), ["/mnt/a", "/mnt/b"]);
    let read = results(&(run("/mnt/a/f") + &run("/mnt/a/g")));
    assert_eq!(values(&read, "2 readers: throughput").0, [1.5, 1.5]);
}
