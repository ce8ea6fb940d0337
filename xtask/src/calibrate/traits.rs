//! `cargo xtask calibrate --traits`: how often `assay traits` is right about cards whose
//! traits are known.

mod cards;
mod truth;

use crate::limits::{Limits, in_release};
use anyhow::{Context, Result};
use assay_engine::{Observer, Progress, Start, measure};
use assay_flash::policy::Policy;
use assay_flash::traits::ask::{Asked, Figure, Scope};
use assay_flash::traits::series::Answers;
use assay_flash::traits::{Finding, Trait, find};
use assay_model::job::{EngineKind, Job, Pattern, Rw};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use truth::{Card, Mark};

/// Cards that are drawn.
const CARDS: u64 = 100;
/// Trials of each job, as in `assay traits`.
const TRIALS: u64 = 3;
/// Statements and silences that must be right.
const RIGHT: f64 = 0.95;
/// Wrong statements that may be made.
const FALSE: f64 = 0.01;

/// Draws cards, asks them, and fails when the promises are not kept.
pub fn run() -> Result<()> {
    if cfg!(debug_assertions) {
        return in_release(&["calibrate", "--traits"]);
    }
    let folder = tempfile::tempdir()?;
    let mut counts = Trait::ALL.map(|what| (what, [0_u32; 3]));
    for seed in 0..CARDS {
        for (what, mark) in judge(folder.path(), seed)? {
            let place = counts.iter_mut().find(|(other, _)| *other == what);
            if let Some((_, count)) = place {
                count[mark as usize] += 1;
            }
        }
    }
    let mut limits = Limits::default();
    for (what, [right, missed, wrong]) in counts {
        let all = f64::from(right + missed + wrong);
        limits.check(
            what.name(),
            &format!("{right} right, {missed} not seen, {wrong} wrong of {all}"),
            f64::from(right) / all >= RIGHT && f64::from(wrong) / all < FALSE,
        );
    }
    limits.end()
}

/// All marks of one card.
fn judge(folder: &Path, seed: u64) -> Result<Vec<(Trait, Mark)>> {
    let (part, policy) = cards::draw(seed);
    let file = folder.join(format!("{seed}.toml"));
    std::fs::write(&file, part.to_toml())?;
    let path = PathBuf::from(format!("sim:{},policy={policy}", file.display()));
    let scope = Scope {
        size: Bytes::gib(part.size_gib),
        sector: Bytes(512),
        trial: Nanos::millis(300),
        fill: Nanos::secs(60),
        writes: true,
        engine: EngineKind::Sim,
        deep: (policy == Policy::Queued).then_some(EngineKind::Sim),
    };
    let asked = scope.jobs();
    let mut trials = Vec::new();
    for (number, one) in asked.iter().enumerate() {
        let rounds = if one.figure == Figure::Course {
            1
        } else {
            TRIALS
        };
        for round in 0..rounds {
            let seed = seed ^ ((number as u64) << 32) ^ (round << 56);
            trials.push(trial(&one.job, &path, seed)?);
        }
    }
    let answers = Answers::of_trials(&asked, &trials);
    let card = Card {
        part: &part,
        policy,
    };
    let mark = |what: Trait| {
        let found = find(what, &answers);
        let mark = card.mark(what, &found, |what| off(&found, what, &path, &asked));
        if mark == Mark::False || (mark == Mark::Missed && std::env::var_os("SHOW").is_some()) {
            println!(
                "card {seed} ({policy}), {}: {mark:?}: {found:?}",
                what.name()
            );
        }
        (what, mark)
    };
    Ok(Trait::ALL.map(mark).into())
}

/// How far a prediction is off at sizes that were not used.
fn off(found: &Finding, what: Trait, path: &Path, asked: &[Asked]) -> Option<f64> {
    let Finding::Costs {
        command_us,
        block_us,
        ramp,
        ..
    } = found
    else {
        return None;
    };
    let model = asked.iter().find(|one| one.what == what)?;
    let mut worst = 0.0_f64;
    for kib in [24_u64, 96, 192] {
        let blocks = (kib * 2) as f64;
        let ramped = ramp.map_or(0.0, |(us, most)| us * blocks.min(most as f64));
        let told = command_us.0 + block_us.0 * blocks + ramped;
        // From its begin on it lies in as few pages as it can.
        let job = Job {
            bs: Bytes::kib(kib),
            offset: Bytes::kib(kib / 2),
            pattern: Some(Pattern::Across {
                unit: Bytes::kib(256),
            }),
            ..model.job.clone()
        };
        let measured = trial(&job, path, 99).ok()?.measured?;
        let latency = match job.rw {
            Rw::Write => measured.write.latency,
            _ => measured.read.latency,
        };
        let seen = latency.sum_ns as f64 / latency.count as f64 / 1e3;
        worst = worst.max((told / seen - 1.0).abs());
    }
    Some(worst)
}

struct Nobody;

impl Observer for Nobody {
    fn clock_starts(&mut self, _start: Start) {}
    fn clock_stopped(&mut self) {}
    fn progress(&mut self, _progress: Progress) {}
}

fn trial(job: &Job, path: &Path, seed: u64) -> Result<TrialRecord> {
    let never = AtomicBool::new(false);
    let measured =
        measure(job, path, seed, &never, &mut Nobody).with_context(|| job.name.clone())?;
    Ok(TrialRecord {
        job: job.clone(),
        trial: 1,
        position: 0,
        started_unix_ms: 0,
        seed,
        outcome: Outcome::Completed,
        measured: Some(measured),
        evidence: None,
        wave: None,
        detail: None,
        condition: None,
        in_force: Vec::new(),
    })
}
