//! Runs of one device that were made apart: how seldom they are called different.

use crate::assay::{Bed, Running, text};
use crate::board::{CARD, on};
use assay_testkit::{Board, Volume};
use std::fs;
use std::process::Command;

/// Runs of each kind of storage: 45 pairs.
const RUNS: usize = 10;
/// Kinds of storage, unless `ASSAY_KINDS` has other ones of these.
const KINDS: &str = "loop,disk,zram,card,usb";

/// `ASSAY_TRIALS` is the number of trials of a job [that of `--quick`]; the kinds take turns, so that runs
/// of one are minutes apart.
#[test]
#[ignore = "an hour on an idle machine"]
fn runs_of_one_device_are_seldom_called_different() {
    let bed = Bed::new();
    let volume = Volume::new("ext4", 1024).expect("a loop device");
    let add = fs::read_to_string("/sys/class/zram-control/hot_add").expect("zram");
    let (zram, node) = (add.trim(), format!("/dev/zram{}", add.trim()));
    fs::write(format!("/sys/block/zram{zram}/disksize"), "512M").expect("a size");
    let board = Board::shared().expect("the board");
    let folder = bed.folder();
    let [loop_device, disk] = [volume.point(), &folder].map(text);
    let measure = |kind: &str, run: usize| -> Command {
        let name = format!("{kind}-{run}");
        let trials = std::env::var("ASSAY_TRIALS").unwrap_or_else(|_| "4".to_owned());
        let words = ["qualify", "--quick", "--trials", &trials, "--name", &name];
        let here = |more: &[&str]| bed.command(&[&words[..], more].concat());
        let there = |more: &[&str]| {
            on(
                &board,
                &bed,
                &[&words[..], &["--size", "16M"], more].concat(),
            )
        };
        match kind {
            "loop" => here(&[loop_device]),
            "disk" => here(&[disk]),
            "zram" => here(&["--destroy-data", "--size", "256M", &node]),
            "card" => there(&[CARD]),
            _ => there(&["--destroy-data", "/dev/sda"]),
        }
    };
    let chosen = std::env::var("ASSAY_KINDS").unwrap_or_else(|_| KINDS.to_owned());
    let kinds: Vec<&str> = chosen.split(',').collect();
    for run in 0..RUNS {
        for &kind in &kinds {
            Running::start(&mut measure(kind, run)).end().assert_code(0);
        }
    }
    let (mut pairs, mut wrong, mut gates) = (0, 0, 0);
    for &kind in &kinds {
        let (mut of_kind, mut failed) = (0, 0);
        for b in 1..RUNS {
            for a in 0..b {
                let [a, b] = [a, b].map(|run| format!("{kind}-{run}"));
                let found = bed.run(&["compare", &a, &b, "--json"]).json();
                let rows = found["pairs"].as_array().expect("rows");
                let says = |word: &str| {
                    let mut rows = rows.iter();
                    rows.any(|row| row["primary"] == true && row["verdict"] == word)
                };
                pairs += 1;
                of_kind += i32::from(says("faster") || says("slower"));
                failed += i32::from(says("slower"));
            }
        }
        println!("{kind}: of 45 pairs {of_kind} differ, {failed} gates fail");
        (wrong, gates) = (wrong + of_kind, gates + failed);
    }
    let _ = fs::write("/sys/class/zram-control/hot_remove", zram);
    assert!(100 * wrong <= 6 * pairs, "{wrong} of {pairs} differ");
    assert!(100 * gates <= 3 * pairs, "{gates} gates of {pairs} fail");
}
