//! `cargo xtask calibrate --devices`: sweeps with a known truth on this machine's
//! storage. Takes minutes; other load on the machine affects it.

use crate::run::{Limits, build_folder, output, shipped};
use anyhow::{Context, Result};
use assay_stats::distributions::student_quantile;
use assay_stats::verdict::power::{Outlook, power_of_difference};
use assay_testkit::{BETWEEN_TRIALS, Fake, FakeDevice, KnownSpeed, Lie, Scratch, Volume, text};
use rustix::process::nice;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COMPARISONS: u32 = 20;

/// Largest share of comparisons of equal conditions that may report a difference.
const PROMISED: f64 = 0.05;

/// Smallest probability of a count that still counts as keeping the promise.
const UNLIKELY: f64 = 0.01;

/// Arguments for two equal conditions.
const NOTHING: [&str; 6] = [
    "--vary",
    "cmd:nothing=a,b",
    "--apply",
    "nothing=true",
    "--undo",
    "nothing=true",
];

/// Jobs that are compared with themselves, one per sweep.
const JOBS: [&str; 4] = [
    "rw=randread\nbs=4k\ndirect=1\n",
    "rw=randwrite\nbs=4k\ndirect=1\nioengine=libaio\niodepth=8\n",
    "rw=write\nbs=1m\nend_fsync=1\n",
    "rw=write\nbs=4k\nfsync=1\n",
];

/// Simulated difference: 5 % at a CV of 2 % and a drift of 10 %.
const DIFFERENCE: f64 = 0.05;
const CV: f64 = 0.02;
const DRIFT: f64 = 0.10;

/// Runs the whole calibration. Returns an error if a count is too unlikely.
pub fn run() -> Result<()> {
    let sweeps = Sweeps {
        assay: shipped()?,
        scratch: Scratch::within(&build_folder()?)?,
    };
    let mut limits = Limits::default();
    with_itself(
        "the machine's own disk",
        sweeps.scratch.path(),
        &sweeps,
        &mut limits,
    )?;
    let volume = Volume::new("ext4", 512)?;
    with_itself("a loop device", volume.point(), &sweeps, &mut limits)?;
    known_difference(&sweeps, &mut limits)?;
    limits.end()
}

fn with_itself(what: &str, place: &Path, sweeps: &Sweeps, limits: &mut Limits) -> Result<()> {
    let mut words = Vec::new();
    for job in JOBS.into_iter().cycle().take(COMPARISONS as usize) {
        let job = format!("[job]\ntime_based\nruntime=200ms\nsize=64m\n{job}");
        sweeps.sweep(place, &job, &NOTHING)?;
        words.push(sweeps.compared()?.word);
    }
    let count = |wanted: &[&str]| {
        words
            .iter()
            .filter(|w| wanted.contains(&w.as_str()))
            .count()
    };
    let called = count(&["faster", "slower"]);
    let chance = at_least(called, PROMISED);
    limits.check(
        &format!("{what}, {COMPARISONS} A/A comparisons"),
        &format!(
            "{called} called different, {} equivalent, {} no conclusion (promised: {:.0} %; chance of so many or more: {:.0} %)",
            count(&["equivalent"]),
            count(&["no conclusion"]),
            100.0 * PROMISED,
            100.0 * chance
        ),
        chance >= UNLIKELY,
    );
    Ok(())
}

/// Checks a known difference with the number of trials that `assay model power`
/// recommends. Raises the priority of this program and its children, so that the
/// noise is only the simulated one.
fn known_difference(sweeps: &Sweeps, limits: &mut Limits) -> Result<()> {
    go_before_others().context("it takes root to go before other programs")?;
    let effect = Outlook {
        d: DIFFERENCE.ln_1p(),
        s: CV,
    };
    let n = effect.for_difference(0.05, 100).context("it is in reach")?;
    let power = power_of_difference(effect.d / effect.s, 0.05, n);
    let (mut found, mut seen) = (0, 0.0);
    for seed in 0..COMPARISONS {
        let compared = sweep_known(sweeps, n, u64::from(seed))?;
        // The condition that came first in the session is A.
        let right = if compared.a.ends_with("=100") {
            "faster"
        } else {
            "slower"
        };
        found += usize::from(compared.word == right);
        let spread = compared.spread(n).context("there is an interval")?;
        seen += power_of_difference(effect.d / spread, 0.05, n) / f64::from(COMPARISONS);
    }
    let missed = COMPARISONS as usize - found;
    let chance = at_least(missed, 1.0 - seen.min(power));
    limits.check(
        &format!("a difference of 5 % at CV 2 %, drift 10 %, {n} trials a side"),
        &format!(
            "found in {found} of {COMPARISONS} (power: {:.0} %, with the spread that was seen {:.0} %; chance of so few or fewer: {:.0} %)",
            100.0 * power,
            100.0 * seen,
            100.0 * chance
        ),
        chance >= UNLIKELY,
    );
    Ok(())
}

/// Raises the priority of this program and its children. If the kernel groups
/// processes by session, the priority of the group counts.
fn go_before_others() -> Result<()> {
    nice(-20)?;
    let group = Path::new("/proc/self/autogroup");
    if group.exists() {
        fs::write(group, "-20")?;
    }
    Ok(())
}

/// Runs a sweep over a device that is 5 % faster under one condition.
fn sweep_known(sweeps: &Sweeps, n: u32, seed: u64) -> Result<Compared> {
    const BYTES: u64 = 1 << 20;
    let scratch = Scratch::new()?;
    let percent = scratch.join("percent");
    fs::write(&percent, "100\n")?;
    // A slow device, so that the machine's own delays matter little.
    let mut speed = KnownSpeed::new(percent.clone(), 25.0);
    (speed.noise, speed.seed) = (CV, seed);
    speed.drift = DRIFT.ln_1p() / f64::from(2 * n - 1);
    let mut fake = Fake::new(BYTES, Lie::None);
    fake.speed = Some(speed);
    let device = FakeDevice::over(&scratch, fake)?;
    let job = "[job]\nrw=randread\nbs=4k\ndirect=1\ntime_based\nruntime=4s\nsize=1m\n";
    let vary = format!(
        "file:{}=100,{}",
        percent.display(),
        100.0 * (1.0 + DIFFERENCE)
    );
    let rest = format!("{}ms", (2 * BETWEEN_TRIALS).as_millis());
    let rounds = n.to_string();
    let words = [
        "--vary",
        &vary,
        "--idle",
        &rest,
        "--rounds",
        &rounds,
        "--destroy-data",
    ];
    sweeps.sweep(device.device().node(), job, &words)?;
    sweeps.compared()
}

/// Program and its store.
struct Sweeps {
    assay: PathBuf,
    scratch: Scratch,
}

impl Sweeps {
    fn sweep(&self, place: &Path, job: &str, words: &[&str]) -> Result<()> {
        let file = self.scratch.join("job.fio");
        fs::write(&file, job)?;
        let mut command = self.command("sweep");
        output(command.arg(place).arg(&file).args(words))?;
        Ok(())
    }

    /// Returns the comparison of the latest sweep for the deciding metric.
    fn compared(&self) -> Result<Compared> {
        let compared = output(self.command("compare").args(["last", "--json"]))?;
        let compared: Value = serde_json::from_str(&compared)?;
        let mut pairs = compared["pairs"].as_array().into_iter().flatten();
        let decides = pairs.find(|pair| pair["primary"] == true);
        let pair = decides.context("no metric was compared")?;
        let word = pair["verdict"]
            .as_str()
            .context("a pair without a verdict")?;
        let end = |at: usize| Some(pair["ci95_pct"][at].as_f64()? / 100.0);
        Ok(Compared {
            a: pair["a"].as_str().unwrap_or_default().to_owned(),
            word: word.to_owned(),
            interval: end(0).zip(end(1)),
        })
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(&self.assay);
        let store = self.scratch.join("store.db");
        command.args([word, "--store", text(&store)]);
        command
    }
}

/// Verdict of a comparison, and its 95 % interval as shares.
struct Compared {
    a: String,
    word: String,
    interval: Option<(f64, f64)>,
}

impl Compared {
    /// Standard deviation of one trial, of logarithms, derived from the interval of
    /// least squares over `n` trials a side with their positions.
    fn spread(&self, n: u32) -> Option<f64> {
        let (low, high) = self.interval?;
        let half = (high.ln_1p() - low.ln_1p()) / 2.0;
        let t = student_quantile(0.025, f64::from(2 * n - 3));
        Some(half / t * (f64::from(n) / 2.0).sqrt())
    }
}

/// Probability that `count` or more of the comparisons occur, if each has the
/// probability `share`.
fn at_least(count: usize, share: f64) -> f64 {
    let all = f64::from(COMPARISONS);
    let mut exactly = (1.0 - share).powf(all);
    let mut below = 0.0;
    for k in 0..count {
        below += exactly;
        let k = k as f64;
        exactly *= (all - k) / (k + 1.0) * share / (1.0 - share);
    }
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: 1 - .95^20 = .6415; R's `pbinom(3, 20, .05, lower.tail =
    /// FALSE)`.
    #[test]
    fn chances_are_those_of_the_binomial() {
        assert!((at_least(0, 0.05) - 1.0).abs() < 1e-12);
        assert!((at_least(1, 0.05) - 0.641_514).abs() < 1e-6);
        assert!((at_least(4, 0.05) - 0.015_902).abs() < 1e-6);
    }
}
