//! Outputs as they are read.

use super::*;
use assay_model::job::Direction;
use assay_model::load::Process;
use assay_model::trial::IoErrorRecord;

#[test]
fn normal_of_a_plain_job() {
    insta::assert_snapshot!(plain().normal());
}

#[test]
fn normal_of_a_job_with_everything() {
    insta::assert_snapshot!(full().normal());
}

#[test]
fn normal_of_all_directions_and_their_sum() {
    insta::assert_snapshot!(unified(Unified::Both).normal());
}

#[test]
fn json_of_a_plain_job() {
    insta::assert_snapshot!(plain().json_text(false));
}

#[test]
fn terse_of_a_plain_job() {
    insta::assert_snapshot!(plain().terse(TerseVersion::V3));
}

/// Counted in lines of fio 3.33, with `--disk_util=0`.
#[test]
fn terse_lines_have_as_many_fields_as_fios() {
    let case = unified(Unified::Split);
    for (version, fields) in [
        (TerseVersion::V2, 161),
        (TerseVersion::V3, 121),
        (TerseVersion::V4, 162),
        (TerseVersion::V5, 180),
    ] {
        assert_eq!(
            case.terse(version).split(';').count(),
            fields,
            "{version:?}"
        );
    }
}

#[test]
fn terse_percentiles_are_those_of_the_json() {
    let case = full();
    let json = case.json(true);
    let line = case.terse(TerseVersion::V3);
    let percentiles = json["jobs"][0]["read"]["lat_ns"]["percentile"]
        .as_object()
        .unwrap();
    assert_eq!(percentiles.len(), 3);
    for (percent, ns) in percentiles {
        let field = format!(";{percent}%={};", ns.as_u64().unwrap() / 1000);
        assert!(line.contains(&field), "{field} in {line}");
    }
}

#[test]
fn bins_add_up_to_the_count() {
    let json = full().json(true);
    let clat = &json["jobs"][0]["read"]["clat_ns"];
    let bins = clat["bins"].as_object().unwrap();
    let sum: u64 = bins.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(Some(sum), clat["N"].as_u64());
    assert_eq!(clat["N"], 1400);
}

#[test]
fn streams_that_differ_in_evidence_have_no_common_label() {
    let json = full().json(false);
    let assay = &json["jobs"][0]["assay"];
    assert_eq!(assay["read"]["label"], "device");
    assert_eq!(assay["write"]["label"], "unknown");
    assert_eq!(
        assay["write"]["because"],
        "the streams differ: 1 device, 1 page-cache"
    );
}

#[test]
fn figures_without_evidence_are_unknown() {
    let case = unified(Unified::Split);
    assert!(
        case.normal()
            .contains("evidence     : read=unknown (no evidence was taken); write=unknown")
    );
}

#[test]
fn a_job_that_failed_at_once_is_shown_and_one_that_hides_is_not() {
    let mut failed = Stream::new("failed");
    failed.report = 1;
    let failure = StreamReport {
        errno: 2,
        problem: Some("/nowhere: No such file or directory".to_owned()),
        ..StreamReport::default()
    };
    let mut hidden = Stream::new("hidden");
    hidden.report = 2;
    hidden.stats.shown = false;
    let none = DirectionReport::default();
    let shown = report(3, direction(10, 100, false), none);
    let case = Case::new(vec![(failed, failure), (hidden, shown)]);
    let normal = case.normal();
    assert!(normal.contains(
        "failed: (groupid=0, jobs=1): err= 2 (/nowhere: No such file or directory): pid=0: "
    ));
    assert!(!normal.contains("hidden"));
    assert_eq!(case.json(false)["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn an_error_that_a_job_went_on_after_is_shown() {
    let mut stream = Stream::new("went-on");
    stream.errors.continue_on_verify = true;
    let mut came = report(3, direction(10, 100, false), DirectionReport::default());
    came.total_errors = 2;
    came.errors.count = 2;
    came.errors.first = vec![IoErrorRecord {
        direction: Some(Direction::Read),
        offset: 4096,
        length: 4096,
        errno: Some(84),
        message: "f: crc32c".to_owned(),
        at_ns: 0,
    }];
    let case = Case::new(vec![(stream, came)]);
    let normal = case.normal();
    assert!(normal.contains("err=84 (f: crc32c)"), "{normal}");
    assert!(
        normal.contains("total=2, first_error=84/<f: crc32c>"),
        "{normal}"
    );
    let job = &case.json(false)["jobs"][0];
    assert_eq!(job["error"], 84);
    assert_eq!(job["total_err"], 2);
    assert_eq!(job["first_error"], 84);
}

#[test]
fn the_opening_names_each_job_once() {
    let mut first = Stream::new("read-1024k-seq");
    first.blocks.sizes.write.max = 16_384;
    let copy = Stream {
        clone: 1,
        ..first.clone()
    };
    let third = Stream {
        clone: 2,
        ..first.clone()
    };
    let mut last = Stream::new("w");
    last.group = 1;
    last.blocks.rw.random = true;
    last.blocks.rw.write = true;
    last.blocks.sizes_by_order = true;
    last.process = Process {
        forked: true,
        ..Process::default()
    };
    let load = Load {
        streams: vec![first, copy, third, last],
        ..Load::default()
    };
    let mut out = Vec::new();
    opening(&load, VERSION, &mut out).unwrap();
    let expected = "\
read-1024k-seq: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-16.0KiB, (T) 4096B-4096B, ioengine=psync, iodepth=1
...
w: (g=1): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, bs_is_seq_rand, ioengine=psync, iodepth=1
fio-3.41-assay-0.1.0
Starting 3 threads and 1 process
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

/// The board's clock says 1970 when the load starts and is set meanwhile; one
/// stream never starts.
#[test]
fn samples_of_a_group_do_not_depend_on_the_clock_of_the_board() {
    let none = DirectionReport::default;
    let stream = Stream::new("s");
    let mut first = report(1, direction(100, 100, false), none());
    first.started_unix_ms = 5_000;
    let second = report(2, direction(100, 100, false), none());
    let case = Case::new(vec![
        (stream.clone(), first),
        (stream.clone(), second),
        (stream, StreamReport::default()),
    ]);
    let read = &case.json(false)["jobs"][0]["read"];
    assert_eq!(
        (&read["bw_samples"], &read["iops_min"]),
        (&2.into(), &200.into())
    );
}

#[test]
fn terse_2_has_the_description_in_a_line_of_its_own() {
    let line = full().terse(TerseVersion::V2);
    assert!(line.starts_with("2;full;0;0;5600;"));
    assert!(line.ends_with(";0;0\n;hello \"world\"\n"), "{line}");
    assert_eq!(TerseVersion::from_number(6), None);
}

#[test]
fn bandwidth_stands_in_the_unit_beside_it() {
    let mut case = plain();
    let line = |case: &Case| {
        let normal = case.normal();
        let line = normal.lines().find(|line| line.starts_with("   bw ("));
        line.unwrap().to_owned()
    };
    case.load.streams[0].stats.in_bits = true;
    assert!(line(&case).starts_with("   bw (Kibit/s): min=32000, max=32000, per=100.00%"));
    case.load.streams[0].stats.kb_base_1000 = true;
    assert!(line(&case).starts_with("   bw ( kbit/s): min=32768, max=32768, "));
    for point in &mut case.report.streams[0].series.points {
        point.read_bytes <<= 10;
    }
    assert!(line(&case).starts_with("   bw ( Mbit/s): min=33554, max=33554, "));
}

#[test]
fn a_stalled_device_has_a_minimum_of_zero() {
    let mut case = plain();
    case.report.streams[0].series.points[1] = Interval::default();
    let json = case.json(false);
    let job = &json["jobs"][0];
    assert_eq!(
        (&job["read"]["bw_min"], &job["read"]["bw_samples"]),
        (&0.into(), &2.into())
    );
    assert_eq!(job["assay"]["empty_intervals"], 1);
}

#[test]
fn an_interim_report_has_no_label() {
    let mut case = plain();
    case.judgements = vec![None];
    case.report.interim = true;
    let json = case.json(false);
    let read = &json["jobs"][0]["assay"]["read"];
    assert_eq!(read["because"], "the load is still running");
}

#[test]
fn text_from_outside_does_not_steer_a_terminal() {
    let mut case = plain();
    let read = case.judgements[0].as_mut().and_then(|j| j.read.as_mut());
    "on \u{1b}[2Jdisk".clone_into(&mut read.unwrap().because);
    assert!(case.normal().contains("read=page-cache (on ?[2Jdisk)\n"));
}

#[test]
fn streams_that_agree_share_a_label_and_weigh_their_bytes() {
    let none = DirectionReport::default;
    let stream = Stream::new("s");
    let ran = || report(1, direction(100, 100, false), none());
    let mut case = Case::new(vec![(stream.clone(), ran()), (stream, ran())]);
    let judged = |share: f64, bytes: u64| {
        let mut read = evidence(Measured::Device, "came from vda", bytes);
        read.device_share = Some(share);
        let (read, write, trim, foreign) = (Some(read), None, None, None);
        Some(Judgement {
            read,
            write,
            trim,
            foreign,
            hindrances: Vec::new(),
        })
    };
    case.judgements = vec![judged(1.0, 3000), judged(0.96, 1000)];
    let second = case.judgements[1].as_mut().and_then(|j| j.read.as_mut());
    let second = second.unwrap();
    second.because.push_str(", too");
    second.flushes = Some(4);
    let read = &case.json(false)["jobs"][0]["assay"]["read"];
    assert_eq!(
        (&read["label"], &read["job_bytes"]),
        (&"device".into(), &4000.into())
    );
    assert_eq!(read["device_share"], 0.99);
    assert_eq!(read["because"], "came from vda; 1 more alike");
    assert_eq!(read["layer_bytes"]["mmcblk0"], 4096, "both say so");
    assert!(read["flushes"].is_null(), "they were on two storages");
}

#[test]
fn a_caveat_is_never_left_out_and_trims_say_how_they_were_counted() {
    let mut case = plain();
    let judgement = case.judgements[0].as_mut().unwrap();
    let mut read = evidence(Measured::Device, "came from loop0, but", 4096);
    judgement.read = Some(read.clone());
    assert!(case.normal().contains("read=device\n"));
    read.caveat = Some("but".to_owned());
    let trim = evidence(Measured::Device, "discarded on loop0", 4096);
    let judgement = case.judgements[0].as_mut().unwrap();
    (judgement.read, judgement.trim) = (Some(read), Some(trim));
    let line = "read=device (came from loop0, but); trim=device (discarded on loop0)\n";
    assert!(case.normal().contains(line), "{}", case.normal());
    let assay = &case.json(false)["jobs"][0]["assay"];
    assert_eq!(assay["read"]["caveat"], "but");
    assert_eq!(assay["trim"]["label"], "device");
}
