//! `cargo xtask bench report`: checks the page of a very large run.

use super::{huge, median};
use crate::limits::Limits;
use crate::run::{output, shipped};
use anyhow::{Context, Result};
use assay_testkit::Scratch;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Rounds of each timing; the median counts.
const ROUNDS: usize = 5;
const MAX_PAGE_BYTES: u64 = 3_000_000;
const MAX_SECONDS: f64 = 2.0;

/// Writes the page and measures it. Returns an error if a limit is missed.
pub fn report() -> Result<()> {
    let assay = shipped()?;
    let place = Scratch::within(&super::folder()?)?;
    let store = huge::store(&assay, &place)?;
    let page = place.join("page.html");
    let mut limits = Limits::default();
    let took = median_of(|| written(&assay, &store, &page))?;
    limits.check(
        "a page of 1 000 000 intervals in 100 trials, made within 2 s",
        &format!("{took:.2} s"),
        took <= MAX_SECONDS,
    );
    let bytes = fs::metadata(&page)?.len();
    limits.check(
        "its size, at most 3 MB",
        &format!("{:.2} MB", bytes as f64 / 1e6),
        bytes <= MAX_PAGE_BYTES,
    );
    let html = fs::read_to_string(&page)?;
    let drawn = html.matches("<title>100 ms at ").count();
    limits.check(
        "its one stall of 100 ms, drawn once",
        &drawn.to_string(),
        drawn == 1,
    );
    in_a_browser(&html, &place, &mut limits)?;
    limits.end()
}

/// Returns the duration of an `assay report` process in seconds.
fn written(assay: &Path, store: &Path, page: &Path) -> Result<f64> {
    let mut command = Command::new(assay);
    command.args(["report", huge::ID, "--store"]).arg(store);
    command.arg("-o").arg(page);
    let start = Instant::now();
    output(&mut command)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Measures the time until the page is laid out and a table in it has been sorted.
fn in_a_browser(html: &str, place: &Scratch, limits: &mut Limits) -> Result<()> {
    if Command::new("chromium").arg("--version").output().is_err() {
        println!("skipped the browser: chromium is not installed (Debian's package chromium)");
        return Ok(());
    }
    let copy = place.join("probed.html");
    fs::write(&copy, html.replace("</body>", PROBE))?;
    let took = median_of(|| interactive(&copy, &place.join("profile")))?;
    limits.check(
        "laid out, and a table sorted, within 2 s",
        &format!("{took:.2} s"),
        took <= MAX_SECONDS,
    );
    Ok(())
}

/// Script that measures the time from the request for the page until it is laid out and
/// has handled a click.
const PROBE: &str = "<script>\
document.body.getBoundingClientRect();\
document.querySelector('th button').click();\
document.body.getBoundingClientRect();\
const probed = document.createElement('pre');\
probed.id = 'probed';\
probed.textContent = performance.now();\
document.body.append(probed);\
</script></body>";

fn interactive(page: &Path, profile: &Path) -> Result<f64> {
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu"]);
    command.args(["--disable-dev-shm-usage", "--no-first-run", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("file://{}", page.display()));
    let dom = output(&mut command)?;
    let said = dom.rsplit_once("<pre id=\"probed\">");
    let said = said.and_then(|(_, rest)| rest.split_once('<'));
    let (milliseconds, _) = said.context("the page did not come to its end")?;
    Ok(milliseconds.parse::<f64>()? / 1e3)
}

fn median_of(mut round: impl FnMut() -> Result<f64>) -> Result<f64> {
    let rounds: Result<Vec<f64>> = (0..ROUNDS).map(|_| round()).collect();
    Ok(median(rounds?))
}
