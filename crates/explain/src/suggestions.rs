//! Changes that would help most, each with an upper limit of its effect.

use crate::account::{Account, Context};
use crate::facts::governors;
use crate::kinds::Kind;
use crate::observed::Observed;
use crate::words::{percent, time};
use assay_lang::tr;
use assay_model::job::{Job, Rw};
use assay_model::limits;
use assay_model::units::BytesPerSec;
use assay_report::text::clean;

/// Suggested change.
#[derive(Clone, Debug, PartialEq)]
pub struct Help {
    /// Largest share of the time that the change can save.
    pub share: f64,
    /// Description of the change.
    pub sentence: String,
}

/// Maximum number of suggestions for a result.
const MOST: usize = 3;
/// Smallest ratio of two rates that counts as a gain.
const GAIN: f64 = 1.2;
/// Smallest ratio of the rates of two bus modes that counts as faster.
const FASTER_MODE: f64 = 1.05;

/// Returns the changes that would help a result, the most effective first.
pub fn of(one: &Observed<'_>, account: &Account, context: Context<'_>) -> Vec<Help> {
    let others = context.others;
    if one.label == Some("page-cache") {
        let sentence = match one.job.direct {
            true => tr!(
                "A file system on a device, if one is to be measured: direct I/O does not leave memory here."
            ),
            false => tr!(
                "Direct I/O, or a flush within the measured time, if the device is to be measured: this is the page cache."
            ),
        };
        return vec![Help {
            share: 1.0,
            sentence: sentence.to_owned(),
        }];
    }
    if !one.is_past_the_cache() {
        return Vec::new();
    }
    let all = [
        bus(one, account, context),
        in_flight(one, others),
        larger(one, others),
        in_order(one, others),
        flushes(one, account),
        file_system(one, account),
        stalls(one, account),
        fewer_in_flight(one, account, others),
        software(one, account),
    ];
    let mut all: Vec<Help> = all.into_iter().flatten().collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(MOST);
    all
}

/// Part of the time that a change could save.
struct Saving {
    us: f64,
    /// Time of which it is a part, in microseconds.
    of_us: f64,
}

impl Saving {
    /// Returns the time of these kinds if its share is at least `least`. For I/Os that follow each
    /// other, the whole includes the time between them: it limits the gain in rate as well.
    fn of(one: &Observed<'_>, account: &Account, kinds: &[Kind], least: f64) -> Option<Self> {
        let us = kinds.iter().map(|kind| account.of_kind(*kind)).sum();
        let whole_us = match one.is_one_by_one() {
            true => account.total_us.max(one.interval_us),
            false => account.total_us,
        };
        let of_us = whole_us.max(1e-9);
        (us / of_us >= least).then_some(Self { us, of_us })
    }

    fn share(&self) -> f64 {
        self.us / self.of_us
    }
}

fn bus(one: &Observed<'_>, account: &Account, context: Context<'_>) -> Option<Help> {
    let share = Saving::of(one, account, &[Kind::Bus], 0.3)?.share();
    let ceiling = &context.bus?.ceiling;
    let rate = ceiling.rate(one.direction);
    let mut modes = limits::all().into_iter();
    modes.find(|mode| mode.bus == ceiling.bus && mode.rate(one.direction) > FASTER_MODE * rate)?;
    let sentence = tr!(
        "A faster mode of the bus, where host and device have one: {share} of the time are data on it.",
        share = percent(share)
    );
    Some(Help { share, sentence })
}

/// Returns the fastest result among those that are surely faster.
fn best<'o, 'a>(
    one: &Observed<'_>,
    others: &'o [Observed<'a>],
    fits: impl Fn(&Observed<'a>) -> bool,
) -> Option<(&'o Observed<'a>, f64)> {
    if one.beside {
        return None;
    }
    let others = others
        .iter()
        .filter(|other| one.is_like(other) && fits(other) && other.is_surely_faster_than(one));
    let best = others.max_by(|a, b| a.rate().total_cmp(&b.rate()))?;
    let gain = best.rate() / one.rate();
    (gain >= GAIN).then(|| (best, 1.0 - 1.0 / gain))
}

fn in_flight(one: &Observed<'_>, others: &[Observed<'_>]) -> Option<Help> {
    let fits = |other: &Observed<'_>| other.job.bs == one.job.bs && other.depth > one.depth;
    let (best, share) = best(one, others, fits)?;
    let sentence = tr!(
        "More in flight: {job} moves {rate} with {depth}, instead of {own} (in this run).",
        job = clean(&best.job.name),
        rate = BytesPerSec(best.rate()),
        depth = best.depth,
        own = BytesPerSec(one.rate())
    );
    Some(Help { share, sentence })
}

fn larger(one: &Observed<'_>, others: &[Observed<'_>]) -> Option<Help> {
    let fits = |other: &Observed<'_>| other.job.bs > one.job.bs && other.depth == one.depth;
    let (best, share) = best(one, others, fits)?;
    let sentence = tr!(
        "Larger I/Os: {job} moves {rate} with {bs}, instead of {own} (in this run).",
        job = clean(&best.job.name),
        rate = BytesPerSec(best.rate()),
        bs = best.job.bs,
        own = BytesPerSec(one.rate())
    );
    Some(Help { share, sentence })
}

/// Suggests sequential I/O of the same size.
fn in_order(one: &Observed<'_>, others: &[Observed<'_>]) -> Option<Help> {
    let sequential = match one.job.rw {
        Rw::RandRead => Rw::Read,
        Rw::RandWrite => Rw::Write,
        _ => return None,
    };
    let ordered = Job {
        rw: sequential,
        ..one.job.clone()
    };
    let like = Observed {
        job: &ordered,
        ..one.clone()
    };
    let fits = |other: &Observed<'_>| other.job.bs == one.job.bs && other.depth == one.depth;
    let (best, share) = best(&like, others, fits)?;
    let sentence = tr!(
        "In order: {job} moves {rate}, instead of {own} at random (in this run).",
        job = clean(&best.job.name),
        rate = BytesPerSec(best.rate()),
        own = BytesPerSec(one.rate())
    );
    Some(Help { share, sentence })
}

fn flushes(one: &Observed<'_>, account: &Account) -> Option<Help> {
    let kinds = [Kind::Flush, Kind::FlushDevice, Kind::FlushRest];
    let part = Saving::of(one, account, &kinds, 0.1)?;
    let share = part.share();
    let sentence = tr!(
        "Fewer flushes: {share} of the time of a write is spent on them ({flush} of {total}).",
        share = percent(share),
        flush = time(part.us),
        total = time(part.of_us)
    );
    Some(Help { share, sentence })
}

fn file_system(one: &Observed<'_>, account: &Account) -> Option<Help> {
    let part = Saving::of(one, account, &[Kind::FlushRest], 0.1)?;
    let sentence = tr!(
        "Less work in a flush call beside the device's flush ({us}: data, journal): fdatasync, blocks that are there already, or another file system (assay sweep --vary mkfs).",
        us = time(part.us)
    );
    Some(Help {
        share: part.share(),
        sentence,
    })
}

fn stalls(one: &Observed<'_>, account: &Account) -> Option<Help> {
    let share = Saving::of(one, account, &[Kind::Stalls], 0.1)?.share();
    let sentence = tr!(
        "Fewer slow I/Os: half of them take at most {median}, on average they take {mean}. What slows them cannot be told from times alone.",
        median = time(one.median_us),
        mean = time(one.mean_us)
    );
    Some(Help { share, sentence })
}

fn fewer_in_flight(one: &Observed<'_>, account: &Account, others: &[Observed<'_>]) -> Option<Help> {
    let share = Saving::of(one, account, &[Kind::Wait, Kind::Queue], 0.3)?.share();
    let fits = |other: &&Observed<'_>| {
        one.is_like(other) && other.depth == 1 && other.job.bs == one.job.bs
    };
    let alone = others.iter().find(fits)?;
    let sentence = tr!(
        "Fewer in flight, where the latency matters: {alone} with one instead of {mean}, at {rate} instead of {own} (in this run).",
        alone = time(alone.mean_us),
        mean = time(one.mean_us),
        rate = BytesPerSec(alone.rate()),
        own = BytesPerSec(one.rate())
    );
    Some(Help { share, sentence })
}

fn software(one: &Observed<'_>, account: &Account) -> Option<Help> {
    let part = Saving::of(one, account, &[Kind::Software], 0.15)?;
    let share = part.share();
    let mut slow = governors(one);
    slow.retain(|governor| governor != "performance");
    let us = time(part.us);
    let worked_us = one.cpu_us.0 + one.cpu_us.1;
    if worked_us < account.of_kind(Kind::Software) / 2.0 {
        let worked = time(worked_us);
        let sentence = tr!(
            "A processor that is free: {us} pass above the block layer, and only {worked} of processor time for the whole I/O; the rest is waiting, to be run or for a lock.",
            us,
            worked
        );
        return Some(Help { share, sentence });
    }
    let sentence = match slow.first() {
        Some(governor) => tr!(
            "A faster processor clock: {us} are spent above the block layer, under governor {governor} (assay sweep --vary governor=performance,{governor} tells).",
            us,
            governor
        ),
        None => tr!(
            "A shorter way to the block layer, {us} now: another engine, or fewer and larger calls.",
            us
        ),
    };
    Some(Help { share, sentence })
}
