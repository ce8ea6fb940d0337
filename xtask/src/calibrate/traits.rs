//! `cargo xtask calibrate --traits`: share of findings of `assay model traits` that are right
//! on cards with known traits.
//!
//! It answers two separate questions. Must the trait be seen? Only if its effect is large against
//! the noise of the drawn cards, at least a tenth of an I/O, and within the measured range. Is the
//! finding right? Every statement is checked: it must match the card's parameters, or the behaviour
//! of its noiseless twin in a case that was not measured.

use crate::run::{Limits, in_release};
use anyhow::{Context, Result, bail};
use assay_engine::{Observer, measure};
use assay_flash::part::{Cache, DeviceModel, Flash, Gc, Map, ReadCosts, Slc, WriteCosts};
use assay_flash::policy::Policy;
use assay_flash::traits::ask::{BURST, Figure, Scope, TraitJob};
use assay_flash::traits::series::Answers;
use assay_flash::traits::{Trait, TraitFinding, find};
use assay_model::job::{EngineKind, FlashPattern, Flush, FlushCall, Job, Pause, Rw};
use assay_model::rng::SplitMix64;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::{Bytes, Nanos};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

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

/// Trials of each job, as in `assay model traits`.
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
    let (part, policy) = draw(seed);
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

/// Draws a card from a seed, and the policy of its host. Each trait is present with
/// probability 1/2.
fn draw(seed: u64) -> (DeviceModel, Policy) {
    let rng = &mut Draw(SplitMix64::new(seed));
    let policy = rng.one_of(&[
        Policy::Closed,
        Policy::SetCount,
        Policy::Queued,
        Policy::OPEN_SAFE,
        Policy::OPEN,
    ]);
    let part = DeviceModel {
        firmware: None,
        name: format!("drawn-{seed}"),
        about: "drawn".to_owned(),
        source: "cargo xtask calibrate --traits".to_owned(),
        size_gib: 4,
        noise_percent: rng.between(0.0, 10.0),
        bus: rng
            .one_of(&["hs200", "hs400", "sdr104", "ufs-g3x2"])
            .to_owned(),
        max_request_kib: 512,
        timer_ms: 150,
        set_count_us: Some(rng.between(5.0, 40.0)),
        queue_depth: Some(32),
        units: rng.one_of(&[1, 2, 4, 8]),
        read: reads(rng),
        write: writes(rng),
        cache: rng.coin().then(|| Cache {
            size_kib: rng.one_of(&[64, 256, 512]),
            drain_us: rng.between(5.0, 60.0),
            flush_us: rng.between(200.0, 2000.0),
        }),
        map: rng.coin().then(|| Map {
            region_kib: rng.one_of(&[1024, 4096]),
            regions: rng.one_of(&[16, 64, 128, 256]),
            load_us: rng.between(60.0, 300.0),
        }),
        gc: rng.coin().then(|| Gc {
            block_us: rng.between(20.0, 100.0),
            reserve_kib: rng.one_of(&[1024, 4096, 16384]),
        }),
        slc: rng.coin().then(|| Slc {
            size_kib: rng.one_of(&[65536, 131_072, 262_144]),
            fold_us: rng.between(30.0, 80.0),
        }),
        flash: Some(flash(rng)),
    };
    (part, policy)
}

fn reads(rng: &mut Draw) -> ReadCosts {
    ReadCosts {
        command_us: rng.between(80.0, 400.0),
        ramp_us: rng.between(0.0, 8.0),
        ramp_blocks: rng.one_of(&[0, 16, 32]),
        block_us: Some(rng.between(1.5, 10.0)),
        break_us: rng.between(50.0, 200.0),
        resume_us: rng.between(20.0, 60.0),
    }
}

fn writes(rng: &mut Draw) -> WriteCosts {
    WriteCosts {
        program_us: rng.between(200.0, 1500.0),
        ramp_us: rng.between(0.0, 20.0),
        ramp_blocks: rng.one_of(&[0, 64, 128]),
        block_us: rng.between(2.0, 20.0),
        break_us: rng.between(40.0, 150.0),
    }
}

/// Draws the flash costs; an absent effect has a cost of zero.
fn flash(rng: &mut Draw) -> Flash {
    let cost = |rng: &mut Draw, least, most| {
        if rng.coin() {
            rng.between(least, most)
        } else {
            0.0
        }
    };
    Flash {
        page_kib: rng.one_of(&[8, 16, 32, 64]),
        page_us: cost(rng, 25.0, 80.0),
        unit_kib: rng.one_of(&[1024, 2048, 4096, 8192]),
        unit_us: cost(rng, 40.0, 150.0),
        map_kib: rng.one_of(&[1, 2, 4, 8]),
        rmw_us: cost(rng, 300.0, 2000.0),
        open_units: u32::try_from(rng.0.below(20)).unwrap_or(0) + 2,
        close_us: cost(rng, 1000.0, 5000.0),
    }
}

struct Draw(SplitMix64);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.fraction()
    }

    fn coin(&mut self) -> bool {
        self.0.below(2) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let at = usize::try_from(self.0.below(all.len() as u64)).unwrap_or(0);
        all[at]
    }
}

/// Smallest effect that must be found, as a share of an I/O.
const LARGE: f64 = 0.1;
/// Tolerance for costs and levels, relative to the truth.
const NEAR: f64 = 0.1;
/// Tolerance for the difference of two levels or the length of one, relative to the truth.
const ROUGHLY: f64 = 0.15;
/// Tolerance for any difference, as a share of an I/O: half of the smallest that is reported.
const SLIGHT: f64 = 0.015;
/// Range of seconds until a long write fills the fast area, for which both levels are measured.
const CLIFF_SECONDS: std::ops::Range<f64> = 2.0..45.0;
/// Minimum slowdown factor of a cliff.
const CLIFF: f64 = 1.25;

/// Relation of a finding to the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FindingMark {
    /// The statement is right, or no statement is made and none is required.
    Right,
    /// The finding lacks all or part of a trait that must be found.
    Missed,
    /// The statement is wrong.
    False,
}

/// Card with its twin, for the check of its findings.
struct Card<'a> {
    pub part: &'a DeviceModel,
    pub policy: Policy,
    pub twin: Twin<'a>,
}

impl Card<'_> {
    /// Returns the mark of a finding.
    pub fn mark(&self, what: Trait, found: &TraitFinding) -> Result<FindingMark> {
        Ok(match found {
            TraitFinding::NotVisible(_) if self.is_visible(what)? => FindingMark::Missed,
            TraitFinding::NotVisible(_) => FindingMark::Right,
            TraitFinding::Boundaries(found) => self.boundaries(found),
            _ if self.agrees(found)? => FindingMark::Right,
            _ => FindingMark::False,
        })
    }

    fn is_open(&self) -> bool {
        matches!(self.policy, Policy::Open { .. })
    }

    /// Returns true if the card has that trait strongly enough that it must be seen.
    fn is_visible(&self, what: Trait) -> Result<bool> {
        let part = self.part;
        let flash = part.flash.as_ref();
        Ok(match what {
            Trait::ReadCosts => true,
            Trait::Boundaries => !self.true_boundaries().is_empty(),
            Trait::MapUnit => flash.is_some_and(|f| f.rmw_us > 0.0),
            Trait::OpenUnits => flash.is_some_and(|f| f.close_us > 0.0),
            // Both ends must lie within the measured range.
            Trait::MapSpan => self
                .span()
                .is_some_and(|span| span.0 * 4 <= part.size_gib << 30),
            Trait::Flush => {
                part.cache.is_some() || matches!(self.policy, Policy::Open { waits: true, .. })
            }
            Trait::Slc => self.cliff()?.is_some_and(|cliff| {
                CLIFF_SECONDS.contains(&cliff.seconds()) && cliff.slow_us > CLIFF * cliff.fast_us
            }),
            Trait::Break => self.is_open(),
            Trait::Deferred => {
                self.is_open() && {
                    let reads = self.twin.reads_of_16_kib_us()?;
                    reads.behind_writes > (1.0 + LARGE) * reads.random
                }
            }
            Trait::Recovery => {
                let (busy, rested) = self.twin.random_writes_us()?;
                busy > (1.0 + LARGE) * rested
            }
            Trait::Queue => self.policy == Policy::Queued && part.units > 1,
        })
    }

    /// Returns the boundaries that affect reads.
    fn true_boundaries(&self) -> Vec<Bytes> {
        let mut all = Vec::new();
        if let Some(flash) = &self.part.flash {
            if flash.page_us > 0.0 {
                all.push(Bytes::kib(flash.page_kib));
            }
            if flash.unit_us > 0.0 {
                all.push(Bytes::kib(flash.unit_kib));
            }
        }
        all.extend(self.part.map.iter().map(|map| Bytes::kib(map.region_kib)));
        all.sort();
        all.dedup();
        all
    }

    fn boundaries(&self, found: &[(Bytes, f64)]) -> FindingMark {
        let truth = self.true_boundaries();
        let known = found.iter().all(|(unit, _)| truth.contains(unit));
        match (known, found.len() == truth.len()) {
            (true, true) => FindingMark::Right,
            (true, false) => FindingMark::Missed,
            (false, _) => FindingMark::False,
        }
    }

    /// Returns the span that the address map in memory covers.
    fn span(&self) -> Option<Bytes> {
        let map = self.part.map.as_ref()?;
        Some(Bytes::kib(u64::from(map.regions) * map.region_kib))
    }

    /// Returns the amount after which a sustained write becomes slow, if it does: the area fills at
    /// the rate of incoming data and empties at the rate of folding.
    fn cliff(&self) -> Result<Option<Cliff>> {
        let Some(slc) = &self.part.slc else {
            return Ok(None);
        };
        let (fast_us, slow_us) = (self.twin.plain_block_us()?, slc.fold_us);
        let blocks = slc.size_kib as f64 * 2.0 * slow_us / (slow_us - fast_us);
        Ok((slow_us > fast_us).then_some(Cliff {
            blocks,
            fast_us,
            slow_us,
        }))
    }

    fn agrees(&self, found: &TraitFinding) -> Result<bool> {
        let flash = self.part.flash.as_ref();
        Ok(match found {
            TraitFinding::MapUnit { unit, .. } => {
                flash.is_some_and(|f| f.rmw_us > 0.0 && *unit == Bytes::kib(f.map_kib))
            }
            TraitFinding::OpenUnits { least, most, .. } => {
                flash.is_some_and(|f| f.close_us > 0.0 && (*least..=*most).contains(&f.open_units))
            }
            TraitFinding::MapSpan { least, most, .. } => self
                .span()
                .is_some_and(|span| (*least..=*most).contains(&span)),
            TraitFinding::Costs { .. } => self.predicts_reads(found)?,
            TraitFinding::Flush { flush_us, buffer } => {
                self.predicts_flushes(*flush_us, *buffer)?
            }
            TraitFinding::Slc { bytes, fast, slow } => self.cliff()?.is_some_and(|cliff| {
                near(bytes.0 as f64, cliff.blocks * 512.0, ROUGHLY)
                    && near(512e6 / fast, cliff.fast_us, NEAR)
                    && near(512e6 / slow, cliff.slow_us, NEAR)
            }),
            TraitFinding::Break { .. } | TraitFinding::Deferred { .. } => {
                self.is_open() && self.agrees_on_reads(found)?
            }
            TraitFinding::Recovery {
                busy_us, rested_us, ..
            } => {
                let (busy, rested) = self.twin.random_writes_us()?;
                near(*busy_us, busy, NEAR) && near(*rested_us, rested, NEAR) && busy > rested
            }
            TraitFinding::Queue { gain, depth } => {
                let (alone, deep) = (self.twin.deep_read_us(1)?, self.twin.deep_read_us(*depth)?);
                near(*gain, alone / deep, NEAR)
            }
            TraitFinding::Boundaries(_) | TraitFinding::NotVisible(_) => false,
        })
    }

    fn agrees_on_reads(&self, found: &TraitFinding) -> Result<bool> {
        let Reads {
            random,
            behind_writes,
            in_order,
        } = self.twin.reads_of_16_kib_us()?;
        Ok(match found {
            TraitFinding::Break { extra_us } => differs(*extra_us, random - in_order, in_order),
            // The host ends the transfer during a pause of 160 ms, the first that is long enough.
            TraitFinding::Deferred {
                extra_us,
                gone_after,
            } => {
                differs(*extra_us, behind_writes - random, random)
                    && gone_after.is_some_and(|pause| pause.0 == 160_000_000)
            }
            _ => false,
        })
    }

    /// Returns true if the finding predicts reads of sizes that were not measured.
    fn predicts_reads(&self, found: &TraitFinding) -> Result<bool> {
        let TraitFinding::Costs {
            command_us,
            block_us,
            ramp,
            ..
        } = found
        else {
            return Ok(false);
        };
        for kib in [24_u64, 96, 192] {
            let blocks = (kib * 2) as f64;
            let ramped = ramp.map_or(0.0, |(us, most)| us * blocks.min(most as f64));
            let told = command_us.0 + block_us.0 * blocks + ramped;
            if !near(told, self.twin.read_us(kib)?, NEAR) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if the finding predicts bursts that were not measured, below the size of the
    /// buffer and above.
    fn predicts_flushes(
        &self,
        flush_us: f64,
        buffer: Option<(f64, Bytes, Option<Bytes>)>,
    ) -> Result<bool> {
        for writes in [3_u32, 6, 12, 24, 48, 96, 192] {
            let kib = f64::from(writes) * 16.0;
            let told = match buffer {
                None => flush_us,
                Some((each, least, _)) if kib <= kib_of(least) => flush_us + each * kib,
                // Between the two sizes, the finding states no cost.
                Some(_) => continue,
            };
            if !near(told, self.twin.flush_us(writes)?, NEAR) {
                return Ok(false);
            }
        }
        let Some((_, _, Some(most))) = buffer else {
            return Ok(true);
        };
        let writes = u32::try_from(most.0 / Bytes::kib(16).0)?;
        let (full, more) = (
            self.twin.flush_us(writes)?,
            self.twin.flush_us(writes + writes / 2)?,
        );
        Ok(near(more, full, NEAR))
    }
}

fn kib_of(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1024.0
}

/// Compares differences of two levels, each known to a few thousandths of `base`.
fn differs(found: f64, truth: f64, base: f64) -> bool {
    near(found, truth, ROUGHLY) || (found - truth).abs() <= SLIGHT * base
}

fn near(found: f64, truth: f64, share: f64) -> bool {
    (found / truth - 1.0).abs() <= share
}

/// Point at which the fast area is full.
struct Cliff {
    blocks: f64,
    fast_us: f64,
    slow_us: f64,
}

impl Cliff {
    /// Time from the start of the write to the cliff.
    fn seconds(&self) -> f64 {
        self.blocks * self.fast_us / 1e6
    }
}

/// Pause that is longer than any background work of a card.
const REST: Nanos = Nanos::secs(30);
/// Minimum duration of a long series of I/Os, which uses up the effect of a rest.
const LONG: Nanos = Nanos::secs(10);
/// Duration that is enough for a uniform series of I/Os.
const SHORT: Nanos = Nanos::secs(2);

/// Noiseless twin of a card. The twin may lack one of the card's traits. It gives the true figures,
/// which few noisy trials on the card can only estimate.
struct Twin<'a> {
    pub part: &'a DeviceModel,
    pub policy: Policy,
    /// Jobs that measured the card; those for the twin are derived from them.
    pub asked: &'a [TraitJob],
    /// Folder for the file that describes the twin.
    pub folder: &'a Path,
}

impl Twin<'_> {
    /// Runs `job` on the twin and returns the time of an I/O, in microseconds.
    fn us(&self, part: &DeviceModel, figure: Figure, job: &Job) -> Result<f64> {
        let part = DeviceModel {
            noise_percent: 0.0,
            ..part.clone()
        };
        let file = self.folder.join(format!("{}-twin.toml", part.name));
        std::fs::write(&file, part.to_toml())?;
        let path = PathBuf::from(format!("sim:{},policy={}", file.display(), self.policy));
        let measured = trial(job, &path, 99)?.measured;
        measured
            .and_then(|measured| figure.of(&measured))
            .with_context(|| format!("{}: the twin of {} says nothing", job.name, part.name))
    }

    /// Returns the job that measured a trait.
    fn job(&self, what: Trait) -> Result<Job> {
        let asked = self.asked.iter().find(|one| one.what == what);
        let asked = asked.with_context(|| format!("{} was not asked", what.name()))?;
        Ok(asked.job.clone())
    }

    /// Time of a read of `kib` KiB that touches as few pages as possible.
    pub fn read_us(&self, kib: u64) -> Result<f64> {
        let job = Job {
            bs: Bytes::kib(kib),
            offset: Bytes::kib(kib / 2),
            pattern: Some(FlashPattern::Across {
                unit: Bytes::kib(256),
            }),
            ..self.job(Trait::ReadCosts)?
        };
        self.us(self.part, Figure::TypicalRead, &job)
    }

    /// Time of a flush after each `writes` writes of 16 KiB. Runs as long as the job on the
    /// card, because the amount written so far and its garbage collection affect the time of a
    /// flush.
    pub fn flush_us(&self, writes: u32) -> Result<f64> {
        let asked = self.job(Trait::Flush)?;
        let job = Job {
            flush: Flush {
                every: Some((writes, FlushCall::Fdatasync)),
                at_end: None,
            },
            ..asked
        };
        self.us(self.part, Figure::Flush, &job)
    }

    /// Times of a random write: within a busy stream, and in a burst after a long pause.
    pub fn random_writes_us(&self) -> Result<(f64, f64)> {
        let asked = self.job(Trait::Recovery)?;
        let busy = Job {
            pause: None,
            ramp_time: LONG,
            runtime: Some(SHORT),
            ..asked.clone()
        };
        // The first burst follows no pause, so it is not measured.
        let rested = Job {
            pause: Some(Pause {
                after: BURST,
                time: REST,
            }),
            ramp_time: Nanos(REST.0 / 2),
            runtime: Some(Nanos(100 * REST.0)),
            ..asked
        };
        let us = |job| self.us(self.part, Figure::Write, job);
        Ok((us(&busy)?, us(&rested)?))
    }

    /// Time per block of a sequential write without a fast area.
    pub fn plain_block_us(&self) -> Result<f64> {
        let part = DeviceModel {
            slc: None,
            ..self.part.clone()
        };
        // Once over the region: the host would end an open transfer between two passes.
        let job = Job {
            time_based: false,
            ..self.job(Trait::Slc)?
        };
        let blocks = job.bs.0 as f64 / 512.0;
        let us = self.us(&part, Figure::Write, &job)?;
        Ok(us / blocks)
    }

    /// Time of a read with `depth` reads in flight.
    pub fn deep_read_us(&self, depth: u32) -> Result<f64> {
        let job = Job {
            iodepth: depth,
            ..self.job(Trait::Queue)?
        };
        self.us(self.part, Figure::PerRead, &job)
    }

    /// Times of a 16 KiB read: random among reads, after a write each, and sequential.
    pub fn reads_of_16_kib_us(&self) -> Result<Reads> {
        let near = self.job(Trait::Break)?;
        let of = |rw| Job { rw, ..near.clone() };
        let behind_writes = Job {
            pattern: Some(FlashPattern::ReadThenWrite),
            ..of(Rw::RandRw)
        };
        let us = |job: &Job| self.us(self.part, Figure::Read, job);
        Ok(Reads {
            random: us(&of(Rw::RandRead))?,
            behind_writes: us(&behind_writes)?,
            in_order: us(&of(Rw::Read))?,
        })
    }
}

/// Times of reads, in microseconds.
struct Reads {
    pub random: f64,
    pub behind_writes: f64,
    pub in_order: f64,
}
