//! fio's outputs.

use super::{error, figure, of_all, results, values};

const BOARD: &str = include_str!("data/fio-3.26-emmc-board.txt");

#[test]
fn the_output_of_a_board() {
    let results = results(BOARD);
    assert_eq!(results.tool, "fio-3.26");
    let of = |metric: &str| {
        let (values, unit) = values(&results, metric);
        (values[0], unit)
    };
    let mib = |value| (value, "MiB/s".to_owned());
    let usec = |value| (value, "usec".to_owned());
    assert_eq!(of("read-1024k-seq: read_bw"), mib(275.0));
    assert_eq!(of("write-1024k-seq: write_bw"), mib(54.3));
    assert_eq!(of("read-1024k-seq: read_iops"), (275.0, "IOPS".to_owned()));
    assert_eq!(of("read-1024k-seq: read_clat_mean"), usec(3625.88));
    assert_eq!(of("write-1024k-seq: write_lat_mean"), usec(18388.15));
    assert_eq!(of("read-1024k-seq: read_clat_p1"), usec(3261.0));
    assert_eq!(of("read-1024k-seq: read_clat_p99.95"), usec(8848.0));
    assert_eq!(of("write-1024k-seq: write_clat_p99.99"), usec(28705.0));
    assert_eq!(results.figures.len(), 2 * (2 + 2 + 17));
    let described = |line: &String| line.contains("rw=write") && line.contains("ioengine=psync");
    assert!(results.circumstances.iter().any(described), "{results:#?}");
}

#[test]
fn an_email_that_quotes_and_wraps_says_the_same() {
    let mut mail = String::from("On Friday somebody wrote:\n\n");
    for line in BOARD.lines() {
        let mut rest = line;
        while rest.len() > 60 {
            let at = rest[..60]
                .rfind(' ')
                .filter(|at| *at > 20)
                .unwrap_or(rest.len());
            let (first, later) = rest.split_at(at);
            mail.push_str(&format!("> > {first}\n"));
            rest = later.trim_start();
            if rest.is_empty() {
                break;
            }
        }
        if !rest.is_empty() {
            mail.push_str(&format!("> > {rest}\n"));
        }
    }
    mail.push_str("\nAnd what about small blocks?\n");
    assert!(
        mail.lines().count() > BOARD.lines().count() + 20,
        "it was wrapped"
    );
    let (quoted, plain) = (results(&mail), results(BOARD));
    let bare = |results: &assay_model::figures::Results| {
        let figures = results.figures.iter();
        figures
            .map(|figure| {
                (
                    figure.metric.clone(),
                    figure.unit.clone(),
                    figure.sample.clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(bare(&quoted), bare(&plain));
}

#[test]
fn the_output_of_fio_2() {
    let text = "seq: (g=0): rw=write, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=8\nfio-2.2.10\n\
        seq: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  1 00:00:00 2018\n\
        \x20 write: io=1024.0MB, bw=63317KB/s, iops=61, runt= 16561msec\n\
        \x20   slat (usec): min=31, max=1289, avg=62.12, stdev=33.1\n\
        \x20   clat (msec): min=5, max=312, avg=128.97, stdev=29.2\n";
    let results = results(text);
    assert_eq!(
        values(&results, "seq: write_bw"),
        (vec![63317.0], "KB/s".to_owned())
    );
    assert_eq!(
        values(&results, "seq: write_clat_mean"),
        (vec![128.97], "msec".to_owned())
    );
    assert_eq!(results.tool, "fio-2.2.10");
}

#[test]
fn several_texts_are_trials_in_one_unit() {
    let text = |bw: &str| {
        format!(
            "fio-3.33\nj: (groupid=0, jobs=1): err= 0: pid=1: x\n  read: IOPS=19.1k, BW={bw} (1MB/s)(1MiB/1msec)\n"
        )
    };
    let results = of_all(&[&text("9587KiB/s"), &text("10.5MiB/s")], Some("a")).unwrap();
    let bw = figure(&results, "a", "j: read_bw");
    assert_eq!(
        (super::trials(bw), &*bw.unit),
        (vec![9587.0, 10752.0], "KiB/s")
    );
    let iops = figure(&results, "a", "j: read_iops");
    assert_eq!(super::trials(iops), [19100.0, 19100.0]);
    assert!(iops.primary && !bw.primary, "I/Os of 512 bytes");
    assert!(
        results
            .notes
            .iter()
            .any(|note| note.contains("are written in MiB/s"))
    );
}

#[test]
fn evidence_of_assays_own_fio() {
    let text = "plain: (groupid=0, jobs=1): err= 0: pid=29435: Fri Nov 20 20:07:18 2026\n\
        \x20 write: IOPS=19.1k, BW=1191MiB/s (1249MB/s)(3598MiB/3020msec); 0 zone resets\n\
        \x20 evidence     : write=page-cache (0 % of the bytes had reached loop1)\n";
    let results = results(text);
    let bw = figure(&results, "", "plain: write_bw");
    assert_eq!(bw.measured.as_deref(), Some("page-cache"));
}

/// A document with a job that reads, as fio 3.33 has it.
fn document(bw: &str, more: &str) -> String {
    format!(
        r#"{{
  "fio version" : "fio-3.33",
  "timestamp" : 1700000000,
  "time" : "Tue Nov 14 22:13:20 2023",
  "global options" : {{ "direct" : "1", "bs" : "4k" }},
  "jobs" : [
    {{
      "jobname" : "j", "groupid" : 0, "error" : 0, "elapsed" : 3{more},
      "job options" : {{ "rw" : "randread" }},
      "read" : {{
        "io_bytes" : 4096, "bw" : {bw}, "iops" : 252.9735,
        "slat_ns" : {{ "min" : 0, "max" : 0, "mean" : 0.0, "stddev" : 0.0, "N" : 0 }},
        "clat_ns" : {{ "max" : 9, "mean" : 3625.881234567, "N" : 16520,
          "percentile" : {{ "1.000000" : 3261, "99.000000" : 4555, "99.990000" : 9372 }},
          "bins" : {{ "3261" : 100, "4555" : 7 }} }},
        "lat_ns" : {{ "max" : 9, "mean" : 3626.1, "N" : 16520 }}
      }},
      "write" : {{ "io_bytes" : 0, "bw" : 0, "iops" : 0.0, "total_ios" : 0,
        "clat_ns" : {{ "max" : 0, "mean" : 0.0, "N" : 0 }} }},
      "sync" : {{ "total_ios" : 0, "lat_ns" : {{ "max" : 7, "mean" : 5.5, "N" : 2 }} }}
    }}
  ],
  "disk_util" : [ {{ "name" : "mmcblk0" }} ]
}}
"#
    )
}

#[test]
fn json_to_the_last_digit_and_only_what_was_done() {
    let results = results(&document("1011", ""));
    let names: Vec<&str> = results.figures.iter().map(|f| f.metric.as_str()).collect();
    let expected = [
        "j: read_bw",
        "j: read_iops",
        "j: read_clat_mean",
        "j: read_clat_p1",
        "j: read_clat_p99",
        "j: read_clat_p99.99",
        "j: read_lat_mean",
        "j: sync_lat_mean",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        values(&results, "j: read_bw"),
        (vec![1011.0], "KiB/s".to_owned())
    );
    let mean = values(&results, "j: read_clat_mean");
    assert_eq!(mean, (vec![3625.881234567], "ns".to_owned()));
    let expected = [
        "run at Tue Nov 14 22:13:20 2023",
        "all jobs: bs=4k direct=1",
        "disks: mmcblk0",
        "j: rw=randread",
    ];
    assert_eq!(results.circumstances, expected);
}

#[test]
fn no_digit_is_lost_on_the_way() {
    for n in 1..400 {
        let bw = f64::from(n).sqrt() * 1e3 / 7.0;
        let results = results(&document(&bw.to_string(), ""));
        assert_eq!(values(&results, "j: read_bw").0, [bw]);
    }
}

#[test]
fn documents_in_a_row_are_trials_and_messages_are_left_out() {
    let later = document("1012", "").replace("1700000000", "1700000060");
    let text = format!(
        "fio: pid=7, got signal\nwarning\n{}{later}",
        document("1011", "")
    );
    let results = results(&text);
    assert_eq!(values(&results, "j: read_bw").0, [1011.0, 1012.0]);
    let first = &results.notes[0];
    assert!(
        first.contains("2 lines") && first.contains("got signal"),
        "{first}"
    );
}

#[test]
fn json_that_was_quoted_is_json() {
    let quoted = document("1011", "").replace('\n', "\n> ");
    let results = results(&format!("Somebody wrote:\n> {quoted}\n"));
    assert_eq!(values(&results, "j: read_bw").0, [1011.0]);
}

#[test]
fn of_interim_reports_only_the_last_counts() {
    let after = |seconds: &str| document("1011", "").replace("\"elapsed\" : 3", seconds);
    let later = after("\"elapsed\" : 6").replace("1700000000", "1700000002");
    let later = later.replace("1011", "1012");
    let results = results(&format!("{}{later}", after("\"elapsed\" : 4")));
    assert_eq!(values(&results, "j: read_bw").0, [1012.0]);
    let started = r#", "job_start" : 17"#;
    let both = format!("{}{}", document("1", started), document("2", started));
    assert_eq!(values(&super::results(&both), "j: read_bw").0, [2.0]);
}

#[test]
fn jobs_of_one_name_stay_apart_unless_files_are_several() {
    let one = document("1011", "");
    let start = one.find("    {\n      \"jobname\"").unwrap();
    let end = one.find("\n  ],\n  \"disk_util\"").unwrap();
    let twice = format!("{},\n{}", &one[..end], &one[start..]);
    let read = results(&twice);
    assert_eq!(values(&read, "j: read_bw").0, [1011.0]);
    assert_eq!(values(&read, "j #2: read_bw").0, [1011.0]);
    let read = of_all(&[&twice, &twice], None).unwrap();
    assert_eq!(values(&read, "j #2: read_bw").0, [1011.0, 1011.0]);
}

#[test]
fn the_label_in_assays_fio_json_is_imported() {
    let more = r#", "assay" : { "read" : { "label" : "device" } }"#;
    let results = results(&document("1", more));
    let bw = figure(&results, "", "j: read_bw");
    assert_eq!(bw.measured.as_deref(), Some("device"));
    let unknown = super::results(&document("1", ""));
    assert!(
        unknown
            .notes
            .iter()
            .any(|note| note.contains("not recorded"))
    );
    let cached = document("1", "").replace("\"direct\" : \"1\", ", "");
    let cached = super::results(&cached);
    assert!(
        cached
            .notes
            .iter()
            .any(|note| note.contains("j ran without direct=1"))
    );
}

#[test]
fn broken_json_is_said_with_its_line() {
    let whole = document("1011", "");
    let half = &whole[..whole.len() / 2];
    let said = error(half);
    let line = half.lines().count();
    assert!(
        said.starts_with(&format!("line {line}: the JSON ends in the middle")),
        "{said}"
    );
    let said = error(&format!("text\n{}", document("nan", "")));
    assert!(said.starts_with("line 12: 'nan' is not a number"), "{said}");
    let said = error(&document("-5", ""));
    assert!(said.contains("j: read_bw: -5 is negative"), "{said}");
    let said = error(&document("1", "").replace("\"groupid\"", "oops \"groupid\""));
    assert!(
        said.starts_with("line 8: this is not JSON (key must be"),
        "{said}"
    );
}
