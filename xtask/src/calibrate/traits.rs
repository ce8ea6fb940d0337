//! `cargo xtask calibrate --traits`: share of findings of `assay traits` that are right
//! on cards with known traits.

mod cards;
mod truth;
mod twin;

use crate::limits::{Limits, in_release};
use anyhow::{Context, Result, bail};
use assay_engine::{Observer, measure};
use assay_flash::policy::Policy;
use assay_flash::traits::ask::{Figure, Scope};
use assay_flash::traits::series::Answers;
use assay_flash::traits::{Trait, find};
use assay_model::job::{EngineKind, Job};
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use truth::{Card, FindingMark};
use twin::Twin;

/// Selection of the drawn cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CardDraw {
    /// Seed of the first card; it increases by 1 per card.
    seed: u64,
    /// Number of cards.
    cards: u64,
    /// Set if missed findings are printed, too.
    misses: bool,
}

/// Trials of each job, as in `assay traits`.
const TRIALS: u64 = 3;
/// Smallest share of right findings, including traits that are rightly not reported.
const RIGHT: f64 = 0.95;
/// Largest share of wrong findings.
const FALSE: f64 = 0.01;

/// Counts for each trait: right, missed, wrong.
type MarkCounts = [[u32; 3]; Trait::ALL.len()];

/// Draws cards, measures them, and returns an error if a share misses its limit.
pub fn run(words: &[&str]) -> Result<()> {
    let request = request(words)?;
    if cfg!(debug_assertions) {
        return in_release(&[&["calibrate", "--traits"], words].concat());
    }
    let mut limits = Limits::default();
    for (what, [right, missed, wrong]) in Trait::ALL.into_iter().zip(counted(request)?) {
        let all = f64::from(right + missed + wrong);
        limits.check(
            what.name(),
            &format!("{right} right, {missed} not seen, {wrong} wrong of {all}"),
            f64::from(right) / all >= RIGHT && f64::from(wrong) / all < FALSE,
        );
    }
    limits.end()
}

fn request(words: &[&str]) -> Result<CardDraw> {
    let mut request = CardDraw {
        seed: 0,
        cards: 200,
        misses: false,
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut number = || -> Result<u64> {
            let number = words
                .next()
                .with_context(|| format!("{word} needs a number"))?;
            number.parse().with_context(|| format!("{word} {number}"))
        };
        match word {
            "--seed" => request.seed = number()?,
            "--cards" => request.cards = number()?,
            "--misses" => request.misses = true,
            _ => bail!("calibrate --traits [--seed N] [--cards N] [--misses]; not {word}"),
        }
    }
    if request.cards == 0 {
        bail!("--cards 0: there is nothing to judge");
    }
    Ok(request)
}

/// Counts the marks, with every second card on each of two threads.
fn counted(request: CardDraw) -> Result<MarkCounts> {
    let folder = tempfile::tempdir()?;
    let half = |first: u64| -> Result<MarkCounts> {
        let mut counts = MarkCounts::default();
        for number in (first..request.cards).step_by(2) {
            let marks = judge(folder.path(), request.seed + number, request.misses)?;
            for (count, mark) in counts.iter_mut().zip(marks) {
                count[mark as usize] += 1;
            }
        }
        Ok(counts)
    };
    let (own, other) = thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        (half(0), other.join())
    });
    let Ok(other) = other else {
        bail!("a simulation panicked");
    };
    let mut counts = own?;
    for (count, more) in counts.iter_mut().flatten().zip(other?.iter().flatten()) {
        *count += more;
    }
    Ok(counts)
}

/// Returns the mark of each trait of one card.
fn judge(folder: &Path, seed: u64, misses: bool) -> Result<Vec<FindingMark>> {
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
        twin: Twin {
            part: &part,
            policy,
            asked: &asked,
            folder,
        },
    };
    let mark = |what: Trait| -> Result<FindingMark> {
        let found = find(what, &answers);
        let mark = card.mark(what, &found)?;
        if mark == FindingMark::False || (mark == FindingMark::Missed && misses) {
            println!(
                "card {seed} ({policy}), {}: {mark:?}: {found:?}",
                what.name()
            );
        }
        Ok(mark)
    };
    Trait::ALL.into_iter().map(mark).collect()
}

struct Nobody;

impl Observer for Nobody {}

fn trial(job: &Job, path: &Path, seed: u64) -> Result<TrialRecord> {
    let never = AtomicBool::new(false);
    let measured =
        measure(job, path, seed, &never, &mut Nobody).with_context(|| job.name.clone())?;
    Ok(TrialRecord {
        measured: Some(measured),
        ..TrialRecord::new(job.clone(), 1, 0, seed, Outcome::Completed)
    })
}
