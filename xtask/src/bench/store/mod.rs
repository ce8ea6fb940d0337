//! `cargo xtask bench store`: measures a database with years of runs: the rate of new runs and
//! the time of queries.

mod options;
mod readers;
mod runs;
mod server;

use super::{median, scratch};
use crate::limits::Limits;
use crate::run::{output, shipped};
use anyhow::Result;
use assay_testkit::Scratch;
use options::FillOptions;
use server::Server;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const FILL: &str = include_str!("fill.sql");
const SIZES: &str = include_str!("sizes.sql");
/// Repetitions of each query; the median counts.
const ROUNDS: usize = 11;
const LEAST_PUSHED: f64 = 200.0;
/// Time of the first run: 14 November 2023, in ms since the epoch.
const BEGIN: u64 = 1_700_000_000_000;
const TWO_YEARS: u64 = 2 * 365 * 86_400_000;
/// Last board, whose last device receives the newest run.
const PUSHED_LAST: &str = "board-19";

/// Program under test, and a folder for files.
pub struct Lab {
    assay: PathBuf,
    place: Scratch,
}

/// Fills a database, pushes runs into it and queries it. Returns an error if a limit is missed.
pub fn store(words: &[&str]) -> Result<()> {
    let options = FillOptions::parse(words)?;
    let lab = Lab {
        assay: match &options.assay {
            Some(path) => path.clone(),
            None => shipped()?,
        },
        place: Scratch::within(&scratch::folder()?)?,
    };
    let server = Server::of(options.server.as_deref())?;
    let like = runs::of_each_device(&lab)?;
    let first = runs::file(&lab, "seed.sqlite", &like, runs::devices(), BEGIN)?;
    runs::push(&lab, &first, server.url())?;
    fill(&server, &options)?;
    let mut limits = Limits::default();
    let new = runs::file(&lab, "new.sqlite", &like, options.pushed, BEGIN + TWO_YEARS)?;
    pushes(&lab, &server, &new, &mut limits, &options)?;
    derivation(&lab, &server)?;
    answers(&lab, &server, &mut limits)?;
    readers::pages(&lab, &server, &mut limits)?;
    println!("{}", server.sql(SIZES, &[])?.trim_end());
    limits.end()
}

/// Fills the database with copies of the runs in it, up to the requested number.
fn fill(server: &Server, options: &FillOptions) -> Result<()> {
    let begun = Instant::now();
    let copies = options.runs.div_ceil(runs::devices());
    let copies = copies.saturating_sub(1).max(2);
    let values = [("copies", copies), ("begin", BEGIN), ("span", TWO_YEARS)];
    server.sql(FILL, &values)?;
    let counts = "SELECT (SELECT count(*) FROM runs) || ' runs, ' || (SELECT count(*) FROM points) \
                  || ' figures, ' || (SELECT count(*) FROM series) || ' series'";
    let counted = server.sql(counts, &[])?;
    println!(
        "filled within {:.0} s: {}",
        begun.elapsed().as_secs_f64(),
        counted.trim()
    );
    Ok(())
}

/// Measures pushes of new runs into the database, and into an empty file.
fn pushes(
    lab: &Lab,
    server: &Server,
    new: &Path,
    limits: &mut Limits,
    options: &FillOptions,
) -> Result<()> {
    let rate = |to: &str| -> Result<f64> {
        let begun = Instant::now();
        runs::push(lab, new, to)?;
        Ok(options.pushed as f64 / begun.elapsed().as_secs_f64())
    };
    // Pushes to the file first: it computes the hashes of the new runs, which the second push
    // reuses.
    let file = rate(&lab.place.join("other.sqlite").to_string_lossy())?;
    let database = rate(server.url())?;
    limits.check(
        &format!("runs pushed in a second, at least {LEAST_PUSHED:.0}"),
        &format!(
            "{database:.0}, {:.2} of those into an empty file",
            database / file
        ),
        database >= LEAST_PUSHED,
    );
    Ok(())
}

/// Measures the first query of series after a push, which searches for changes, here of one
/// board.
fn derivation(lab: &Lab, server: &Server) -> Result<()> {
    let others =
        format!("UPDATE series SET checked = 0 WHERE checked < 0 AND NOT target = '{PUSHED_LAST}'");
    server.sql(&others, &[])?;
    let of_board = "SELECT count(*) FROM series WHERE checked < 0";
    let series = server.sql(of_board, &[])?;
    let took = seconds(lab, server, &["series", "--device", PUSHED_LAST])?;
    println!(
        "       series looked through for changes: {} in {took:.1} s",
        series.trim()
    );
    Ok(())
}

fn answers(lab: &Lab, server: &Server, limits: &mut Limits) -> Result<()> {
    let key = server.sql(
        "SELECT key FROM series WHERE decides = 1 ORDER BY key LIMIT 1",
        &[],
    )?;
    let key = key.trim();
    let cases: &[(&str, &[&str], f64)] = &[
        ("the newest 50 runs", &["list", "--limit", "50"], 50.0),
        (
            "those of a device",
            &["list", "--limit", "50", "--device", "ufs"],
            100.0,
        ),
        (
            "those with a frequent text",
            &["list", "--limit", "50", "--text", "BOARD-07"],
            100.0,
        ),
        (
            "one with a rare text",
            &["list", "--limit", "50", "--text", "needle"],
            100.0,
        ),
        (
            "a text that none has",
            &["list", "--limit", "50", "--text", "nowhere"],
            100.0,
        ),
        ("a run", &["show", "seed000000"], 100.0),
        (
            "series of a board",
            &["series", "--device", "board-07"],
            100.0,
        ),
        ("all series", &["series"], 100.0),
        ("a series and its changes", &["trend", key], 100.0),
    ];
    for (what, words, most) in cases {
        let took: Result<Vec<f64>> = (0..ROUNDS).map(|_| seconds(lab, server, words)).collect();
        let took = median(took?) * 1e3;
        limits.check(
            &format!("{what}, within {most:.0} ms: assay {}", words.join(" ")),
            &format!("{took:.0} ms"),
            took <= *most,
        );
    }
    Ok(())
}

/// Returns the duration of a command, including its start and connection, in seconds.
fn seconds(lab: &Lab, server: &Server, words: &[&str]) -> Result<f64> {
    let mut command = Command::new(&lab.assay);
    command.args(words).args(["--store", server.url()]);
    let begun = Instant::now();
    output(&mut command)?;
    Ok(begun.elapsed().as_secs_f64())
}
