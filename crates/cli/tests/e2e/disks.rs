//! `assay disks`: samples where GNOME Disks takes them, of the device.

use crate::assay::{Bed, assert_label, figure, pattern, test_folders, text, trial};
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};
use serde_json::Value;
use std::fs;
use std::path::Path;

const MIB: u64 = 1 << 20;

fn samples<'a>(run: &'a Value, job: &str) -> Vec<&'a Value> {
    let samples = &trial(run, job)["detail"]["samples"];
    samples.as_array().expect("samples").iter().collect()
}

fn offsets(run: &Value, job: &str) -> Vec<u64> {
    let samples = samples(run, job).into_iter();
    samples
        .map(|sample| sample["offset"].as_u64().expect("an offset"))
        .collect()
}

fn disks(bed: &Bed, path: &Path, words: &[&str]) -> Value {
    let mut all = vec!["disks", text(path), "--json"];
    all.extend_from_slice(words);
    let ended = bed.run(&all);
    ended.assert_code(0);
    ended.json()
}

#[test]
fn a_device_is_sampled_over_its_whole_extent() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    fs::write(&image, pattern(64 << 20)).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let words = [
        "--samples",
        "7",
        "--sample-size",
        "1M",
        "--access-samples",
        "50",
    ];
    let run = disks(&Bed::new(), device.node(), &words);
    let expected: Vec<u64> = (0..7).map(|n| n * 64 * MIB / 7 / 4096 * 4096).collect();
    assert_eq!(offsets(&run, "read"), expected);
    assert_label(&run, "read", "read", "device");
    assert_label(&run, "access", "read", "device");
    let access = offsets(&run, "access");
    assert_eq!(access.len(), 49, "the first does not count");
    assert!(access.iter().all(|at| at % 4096 == 0 && *at < 64 * MIB));
    let value = |name: &str| figure(&run, "read", name);
    assert!(value("read_sample_bw_min") <= value("read_sample_bw_mean"));
    assert!(value("read_sample_bw_mean") <= value("read_sample_bw_max"));
    device.detach().unwrap();
    assert!(
        fs::read(&image).unwrap() == pattern(64 << 20),
        "it was written"
    );
}

#[test]
fn writing_puts_back_what_was_there_and_needs_leave() {
    needs!(root);
    let scratch = or_skip!(Scratch::new());
    let image = scratch.join("disk.img");
    fs::write(&image, pattern(32 << 20)).unwrap();
    let device = or_skip!(LoopDevice::over(&image));
    let bed = Bed::new();
    let words = ["--write", "--samples", "5", "--sample-size", "1M"];
    let refused = bed.refused(&[&["disks", text(device.node())], &words[..]].concat());
    assert!(refused.contains("--destroy-data"), "{refused}");
    let run = disks(
        &bed,
        device.node(),
        &[&words[..], &["--destroy-data"]].concat(),
    );
    assert_eq!(offsets(&run, "write"), offsets(&run, "read"));
    assert_label(&run, "write", "write", "device");
    device.detach().unwrap();
    assert!(
        fs::read(&image).unwrap() == pattern(32 << 20),
        "it was changed"
    );
}

#[test]
fn a_mounted_device_is_read_and_never_written() {
    needs!(root, "mkfs.ext4");
    let volume = or_skip!(Volume::new("ext4", 32));
    let bed = Bed::new();
    let node = volume.device().node();
    let words = [
        "--samples",
        "3",
        "--sample-size",
        "1M",
        "--access-samples",
        "0",
    ];
    let run = disks(&bed, node, &words);
    assert_eq!(samples(&run, "read").len(), 3);
    let refused = bed.refused(&["disks", text(node), "--write", "--destroy-data"]);
    assert!(refused.contains("in use"), "{refused}");
}

#[test]
fn in_a_folder_a_file_is_made_and_removed() {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = [
        "--size",
        "16M",
        "--write",
        "--samples",
        "4",
        "--sample-size",
        "1M",
    ];
    let run = disks(&bed, &folder, &words);
    assert_eq!(offsets(&run, "write"), [0, 4 * MIB, 8 * MIB, 12 * MIB]);
    assert_eq!(test_folders(&folder), Vec::<std::path::PathBuf>::new());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_file_of_the_user_is_only_read() {
    let bed = Bed::new();
    let file = bed.join("mine");
    fs::write(&file, pattern(8 << 20)).unwrap();
    let refused = bed.refused(&["disks", text(&file), "--write"]);
    assert!(refused.contains("only read"), "{refused}");
    let words = [
        "--samples",
        "3",
        "--sample-size",
        "1M",
        "--access-samples",
        "5",
    ];
    disks(&bed, &file, &words);
    assert!(fs::read(&file).unwrap() == pattern(8 << 20));
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let bed = Bed::new();
    let folder = bed.folder();
    let file = bed.join("mine");
    fs::write(&file, pattern(1 << 20)).unwrap();
    for (path, words, expected) in [
        (&folder, &["--samples", "1"][..], "'1'"),
        (&folder, &["--sample-size", "1000"], "not a multiple"),
        (&folder, &["--size", "900T"], "not enough space"),
        (&file, &["--size", "1M"], "not a folder"),
        (&file, &[], "--sample-size"),
    ] {
        let mut all = vec!["disks", text(path)];
        all.extend_from_slice(words);
        let line = bed.refused(&all);
        assert!(line.contains(expected), "{words:?}: {line}");
    }
}

#[test]
fn curves_are_drawn_in_the_terminal_and_the_page() {
    let bed = Bed::new();
    let file = bed.join("mine");
    fs::write(&file, pattern(8 << 20)).unwrap();
    let words = [
        "--samples",
        "8",
        "--sample-size",
        "1M",
        "--access-samples",
        "5",
    ];
    let run = |ascii: bool| {
        let mut command = bed.command(&[&["disks", text(&file)], &words[..]].concat());
        command
            .env_remove("LC_ALL")
            .env("LC_CTYPE", "C.UTF-8")
            .env_remove("NO_COLOR");
        command.env("TERM", "xterm");
        if ascii {
            command.env("LC_ALL", "C");
        }
        let output = command.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let curve = |text: &str| {
        let line = text.lines().find(|line| line.contains("read #1"));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let drawn = curve(&run(false));
    assert!(drawn.contains('█'), "{drawn}");
    let drawn = curve(&run(true));
    assert!(drawn.is_ascii() && drawn.contains('#'), "{drawn}");
    let page = bed.join("page.html");
    bed.run(&["report", "last", "-o", text(&page)])
        .assert_code(0);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Samples over ") && page.contains("curve read"));
    let chart = page.split_once("data-chart=\"extent-access-time-1\"");
    let (chart, _) = chart.unwrap().1.split_once("</figure>").unwrap();
    assert_eq!(chart.matches("class=\"dot").count(), 4, "one for each");
}
