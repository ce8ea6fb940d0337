//! Output of an explanation, as a document and as JSON.

use crate::account::{Account, Context, governors, nothing, percent, time, title};
use crate::costs::{Costs, Kind, Share};
use crate::fit_input::{parameters, say_parameters};
use crate::observed::Observed;
use crate::on_bus::OnBus;
use crate::{Explained, Explanation, Group};
use assay_lang::{counted, tr};
use assay_model::device;
use assay_model::job::{Job, Rw};
use assay_model::units::BytesPerSec;
use assay_report::describe;
use assay_report::document::{Cell, Column, Document, Keep, Section, Table, TableRow};
use assay_report::reference::of_bus;
use assay_report::words::{Tone, clean};
use serde_json::{Value, json};

impl Explained<'_> {
    /// Returns the explanation as a document, with the largest part of each result's time first.
    pub fn document(&self) -> Document {
        let header = &self.run.header;
        let device = clean(&header.storage.words());
        let mut document = Document::new(tr!("Run {id}: {device}", id = header.id, device));
        document.push(self.summary());
        let flash = self.no_flash.is_none();
        for group in &self.groups {
            document.push(group.explained(flash));
            document.push(group.section());
        }
        let mut without = Section::new("without", tr!("Without an explanation"));
        let jobs = self.without.iter();
        let jobs = jobs.map(|one| format!("{}: {}", clean(&one.job.name), nothing(one.why)));
        without.list(jobs.collect());
        document.push(without);
        let mut warnings = Section::new("warnings", tr!("Other causes of delay"));
        warnings.warnings(&self.warnings);
        document.push(warnings);
        document
    }

    fn summary(&self) -> Section {
        let mut section = Section::new("summary", "");
        let flash = self.no_flash.is_none();
        let results = self.groups.iter().flat_map(|group| &group.results);
        section.facts(results.filter_map(|one| one.answer(flash)));
        let bus = self.bus.as_ref().map(of_bus).unwrap_or_else(|| {
            let why = tr!(
                "The maximum rate of the bus is unknown: the system does not report the bus mode, and --bus was not given"
            );
            why.to_owned()
        });
        section.say(bus, None);
        if let Some(why) = &self.no_flash {
            let said = tr!(
                "Nothing is said about erase units, mapping or garbage collection: {why}",
                why
            );
            section.say(said, None);
        }
        section
    }

    /// Returns the explanation as JSON.
    pub fn value(&self) -> Value {
        let bus = self.bus.as_ref().map(|bus| {
            json!({
                "mode": bus.ceiling.mode, "given": bus.given,
                "read_bytes_per_s": bus.ceiling.read, "write_bytes_per_s": bus.ceiling.write,
            })
        });
        let results = self.groups.iter().flat_map(|group| &group.results);
        let fits = self.groups.iter().map(Group::value);
        let without = self.without.iter();
        let without = without.map(|one| json!({"job": one.job.name, "why": nothing(one.why)}));
        let warnings = self.warnings.iter();
        let warnings = warnings.map(
            |warning| json!({"message": warning.message(usize::MAX), "remedy": warning.remedy()}),
        );
        json!({
            "schema": 1,
            "run": self.run.header.id,
            "device": self.run.header.storage.words(),
            "bus": bus,
            "not_flash": self.no_flash,
            "fits": fits.collect::<Vec<_>>(),
            "results": results.map(Explanation::value).collect::<Vec<_>>(),
            "without": without.collect::<Vec<_>>(),
            "warnings": warnings.collect::<Vec<_>>(),
        })
    }
}

impl Group<'_> {
    /// Explains each result under its own heading.
    fn explained(&self, flash: bool) -> Section {
        let title = match self.condition {
            Some(condition) => tr!("Results under {condition}", condition = clean(condition)),
            None => tr!("Results").to_owned(),
        };
        let mut section = Section::new("result", title);
        let results = self.results.iter();
        results.for_each(|one| one.explain(flash, &mut section));
        section
    }

    /// Describes the source of the costs of requests.
    fn section(&self) -> Section {
        let title = match self.condition {
            Some(condition) => tr!("Costs under {condition}", condition = clean(condition)),
            None => tr!("Costs of requests").to_owned(),
        };
        let mut section = Section::new("costs", title);
        match &self.costs {
            Costs::Truth(part, policy) => section.say(
                tr!(
                    "Simulated: the time of each phase is that of the model of {part} (policy {policy})",
                    part = clean(&part.name),
                    policy
                ),
                None,
            ),
            Costs::Given(part) => section.say(
                tr!(
                    "Costs of requests: those of part {part}, which the user named",
                    part = clean(&part.name)
                ),
                None,
            ),
            Costs::Unknown(why) => section.say(tr!("No fit: {why}", why), None),
            Costs::Fitted(fitted) => {
                let lines = fitted.measured.lines.len() as u64;
                section.say(
                    counted!(lines, "Fit of {n} result:", "Fit of {n} results:"),
                    None,
                );
                say_parameters(&fitted.parameters(), &mut section);
            }
        }
        if let Some(said) = self.scheduler() {
            section.say(said, None);
        }
        section
    }

    fn value(&self) -> Value {
        let (status, why) = match &self.costs {
            Costs::Truth(..) => ("model", None),
            Costs::Given(_) => ("part", None),
            Costs::Fitted(_) => ("fit", None),
            Costs::Unknown(why) => ("refused", Some(why)),
        };
        let fitted = match &self.costs {
            Costs::Fitted(fitted) => Some(fitted),
            _ => None,
        };
        let left_out = fitted.map(|fitted| {
            let all = fitted.measured.left_out.iter();
            all.map(|one| json!({"job": one.job, "why": one.why}))
                .collect::<Vec<_>>()
        });
        json!({
            "condition": self.condition,
            "status": status,
            "why": why,
            "parameters": fitted.map(|fitted| parameters(&fitted.parameters())),
            "left_out": left_out,
        })
    }
}

impl Explanation<'_> {
    /// Returns the parts of at least 0.05 %, the largest first.
    fn largest(&self) -> Vec<&Share> {
        let parts = self.account.shares.iter();
        let mut parts: Vec<&Share> = parts.filter(|one| self.part(one).abs() >= 0.0005).collect();
        parts.sort_by(|a, b| b.us.total_cmp(&a.us));
        parts
    }

    fn part(&self, share: &Share) -> f64 {
        share.us / self.account.total_us
    }

    fn title(&self, share: &Share, flash: bool) -> &'static str {
        title(share.kind, flash, self.account.of_kind(Kind::Bus) > 0.0)
    }

    /// Returns the name of the job and a sentence about the largest part of its time.
    fn answer(&self, flash: bool) -> Option<(String, String)> {
        let largest = *self.largest().first()?;
        let said = tr!(
            "{percent} of {time} for each {direction}: {part}",
            percent = percent(self.part(largest)),
            time = time(self.account.total_us),
            direction = describe::direction(self.of.direction),
            part = self.title(largest, flash)
        );
        Some((clean(&self.of.name()), said))
    }

    fn explain(&self, flash: bool, section: &mut Section) {
        let one = &self.of;
        let head = tr!(
            "{job}: {time} for each {direction} ({label})",
            job = clean(&one.name()),
            time = time(self.account.total_us),
            direction = describe::direction(one.direction),
            label = one.label.map_or(tr!("differs"), assay_lang::translated)
        );
        section.heading(head);
        let about = counted!(
            one.trials as u64,
            "{what}; {ios} I/Os in {n} trial, latency {mean} on average, {median} in the median",
            "{what}; {ios} I/Os in {n} trials, latency {mean} on average, {median} in the median",
            what = clean(&describe::job(one.job)),
            ios = one.ios,
            mean = time(one.mean_us),
            median = time(one.median_us)
        );
        section.say(about, None);
        section.table(self.shares(flash));
        let unknown = self.account.unknown.iter();
        let unknown = unknown.map(|what| tr!("Unknown: {what}", what));
        let said = self.on_bus.as_ref().map(OnBus::sentence).into_iter();
        said.chain(self.facts.iter().cloned())
            .chain(unknown)
            .for_each(|said| section.say(said, None));
        if !self.helps.is_empty() {
            section.say(tr!("What would help most"), Some(Tone::Strong));
        }
        section.list(
            self.helps
                .iter()
                .map(|help| help.sentence.clone())
                .collect(),
        );
    }

    fn shares(&self, flash: bool) -> Table {
        let row = |share: &Share| {
            TableRow::new(vec![
                self.title(share, flash).into(),
                time(share.us).into(),
                percent(self.part(share)).into(),
                Cell::Text(share.basis.clone()),
            ])
        };
        Table {
            columns: vec![
                Column::text(tr!("part of the time")),
                Column::number(tr!("time")),
                Column::number(tr!("share")),
                Column::text(tr!("basis")).keep(Keep::IfRoom),
            ],
            rows: self.largest().into_iter().map(row).collect(),
        }
    }

    fn value(&self) -> Value {
        let one = &self.of;
        let share = |share: &Share| {
            json!({
                "part": share.kind.name(),
                "us": share.us,
                "share": share.us / self.account.total_us,
                "known": share.known.name(),
                "basis": share.basis,
            })
        };
        let helps = self.helps.iter();
        let helps = helps.map(|help| json!({"share": help.share, "sentence": help.sentence}));
        json!({
            "job": one.job.name,
            "condition": one.condition,
            "direction": one.direction.to_string(),
            "label": one.label.unwrap_or("differs"),
            "because": one.because,
            "trials": one.trials,
            "ios": one.ios,
            "block_size": one.job.bs.0,
            "in_flight": one.depth,
            "latency_us": one.mean_us,
            "latency_median_us": one.median_us,
            "flush_us": one.flush_us,
            "total_us": self.account.total_us,
            "parts": self.account.shares.iter().map(share).collect::<Vec<_>>(),
            "bus": self.on_bus.as_ref().map(OnBus::value),
            "facts": self.facts,
            "cannot_tell": self.account.unknown,
            "helps": helps.collect::<Vec<_>>(),
        })
    }
}

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
                "To measure a device, use a file system on one: direct I/O does not leave memory here."
            ),
            false => tr!(
                "To measure the device, use direct I/O or a flush within the measured time: this is the page cache."
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
    let mut modes = device::all_ceilings().into_iter();
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
        "Fewer slow I/Os: half of them take at most {median}, on average they take {mean}. Times alone do not show what slows them.",
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
