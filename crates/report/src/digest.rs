//! A run in a few lines, for someone who has ten seconds: how fast the device
//! really is, and whether to believe it. Built from the figures, their labels
//! and the warnings alone.

use crate::describe;
use crate::format::quantity;
use crate::labels::Labels;
use crate::summary::{Figure, Group, JobSummary, Summary};
use crate::warnings::{Doubt, Warning};
use crate::way::Way;
use assay_lang::{counted, tr};
use assay_model::job::{Direction, Job, Rw};
use assay_model::trial::Measurement;
use assay_model::units::{Bytes, Nanos};
use assay_stats::course::Course;

/// One line: its subject, and what is to be said about it. Safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// For example `Sequential`.
    pub subject: String,
    /// For example `read 166 MB/s; write 15.9 MB/s flushed`.
    pub text: String,
}

/// Whether the figures can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Nothing in the evidence speaks against them.
    Yes,
    /// They are what they seem, but less exact.
    WithCare,
    /// Some are missing, or not what they seem.
    InPart,
    /// None is the device's.
    No,
}

/// The few lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// What was measured, one subject a line.
    pub lines: Vec<Line>,
    /// Whether to believe it.
    pub belief: Belief,
    /// Why, in one sentence that begins with the answer.
    pub because: String,
}

/// Reasons named; the warnings tell all.
const REASONS: usize = 3;

impl Digest {
    /// The digest of a run with its warnings.
    #[must_use]
    pub fn of(summary: &Summary<'_>, warnings: &[Warning]) -> Self {
        let lines = [
            sequential(summary),
            small_random(summary, false),
            small_random(summary, true),
            durable_append(summary),
            sustained(summary),
        ];
        let doubts: Vec<Doubt> = warnings.iter().filter_map(Warning::doubt).collect();
        let belief = belief(summary, &doubts);
        Self {
            lines: lines.into_iter().flatten().collect(),
            belief,
            because: because(belief, &doubts),
        }
    }
}

fn belief(summary: &Summary<'_>, doubts: &[Doubt]) -> Belief {
    let has = |wanted: fn(&Doubt) -> bool| doubts.iter().any(wanted);
    let seen = summary.jobs.iter().any(|job| {
        let labels = job.labels(None);
        labels.has("device") || labels.has("device-unflushed")
    });
    if !seen || has(|doubt| matches!(doubt, Doubt::All(_))) {
        Belief::No
    } else if has(|doubt| matches!(doubt, Doubt::Some(_))) {
        Belief::InPart
    } else if doubts.is_empty() {
        Belief::Yes
    } else {
        Belief::WithCare
    }
}

fn because(belief: Belief, doubts: &[Doubt]) -> String {
    let mut doubts: Vec<&Doubt> = doubts.iter().collect();
    doubts.sort_by_key(|doubt| match doubt {
        Doubt::All(_) => 0,
        Doubt::Some(_) => 1,
        Doubt::Exactness(_) => 2,
    });
    let reasons: Vec<&str> = doubts
        .iter()
        .map(|doubt| match doubt {
            Doubt::All(why) | Doubt::Some(why) | Doubt::Exactness(why) => why.as_str(),
        })
        .take(REASONS)
        .collect();
    let reasons = match doubts.len().saturating_sub(REASONS) {
        0 => reasons.join("; "),
        more => tr!("{reasons}; {more} more", reasons = reasons.join("; "), more),
    };
    match belief {
        Belief::Yes => tr!("yes: these bytes were seen at the device, and trials agree").to_owned(),
        Belief::WithCare => tr!("with care: {reasons}", reasons),
        Belief::InPart => tr!("in part: {reasons}", reasons),
        Belief::No if reasons.is_empty() => tr!("no: nothing was seen at a device").to_owned(),
        Belief::No => tr!("no: {reasons}", reasons),
    }
}

/// The direct sequential transfers; for writes that are not flushed also the
/// ladder's rate with a flush at the end.
fn sequential(summary: &Summary<'_>) -> Option<Line> {
    let direct = |rw: Rw| {
        let found = summary
            .jobs
            .iter()
            .filter(move |job| job.job.rw == rw && job.job.direct && job.group != Group::Sustained);
        found.max_by_key(|job| (job.group != Group::WriteLadder, job.job.bs))
    };
    let read = direct(Rw::Read).and_then(|job| job.figure("read_bw"));
    let write = direct(Rw::Write).and_then(|job| job.figure("write_bw"));
    let is_durable = |figure: &Figure| figure.labels.agreed() == Some("device");
    let flushed = summary
        .group(Group::WriteLadder)
        .find(|job| Way::of(job.job) == Way::FlushAtEnd)
        .and_then(|job| job.figure("write_bw"))
        .filter(|flushed| is_durable(flushed) && !write.as_ref().is_some_and(is_durable));
    let mut words: Vec<String> = read
        .iter()
        .map(|f| tr!("read {figure}", figure = told(f)))
        .collect();
    let writes: Vec<String> = flushed.iter().chain(&write).map(told).collect();
    if !writes.is_empty() {
        words.push(tr!("write {figure}", figure = writes.join(", ")));
    }
    line(tr!("Sequential"), &words)
}

/// Random I/O of the smallest blocks, one at a time or at the largest depth.
fn small_random(summary: &Summary<'_>, deep: bool) -> Option<Line> {
    let smallest = |group: Group| {
        let jobs = summary
            .group(group)
            .filter(|job| (job.job.iodepth > 1) == deep);
        jobs.min_by_key(|job| (job.job.bs, std::cmp::Reverse(job.job.iodepth)))
    };
    let sides = [Group::RandomRead, Group::RandomWrite];
    let mut subject = None;
    let mut words = Vec::new();
    for group in sides {
        let Some(job) = smallest(group) else { continue };
        let Some(figure) = job.headlines().into_iter().next() else {
            continue;
        };
        words.push(match group {
            Group::RandomRead => tr!("read {figure}", figure = told(&figure)),
            _ => tr!("write {figure}", figure = told(&figure)),
        });
        subject.get_or_insert_with(|| random_subject(job.job));
    }
    line(&subject?, &words)
}

fn random_subject(job: &Job) -> String {
    match job.iodepth {
        1 => tr!("Random {bs}", bs = job.bs),
        depth => tr!("{bs}, depth {depth}", bs = job.bs, depth),
    }
}

fn durable_append(summary: &Summary<'_>) -> Option<Line> {
    let job = summary.group(Group::Fsync).next()?;
    let figure = job.figure("flush_lat_p50")?;
    let mut text = tr!(
        "{flush} until it is flushed",
        flush = quantity(figure.unit, figure.stats.median)
    );
    if let Some(p99) = describe::p99_of(job, &figure) {
        text.push_str(&format!(" (p99 {})", quantity(p99.unit, p99.stats.median)));
    }
    if figure.labels.agreed() != Some("device") {
        text = tr!(
            "{flush} a flush{measured}",
            flush = quantity(figure.unit, figure.stats.median),
            measured = space(measured(&figure.labels))
        );
    }
    line(&tr!("Append {bs}", bs = job.job.bs), &[text])
}

/// The one long write, or the median of several with the longest stall.
fn sustained(summary: &Summary<'_>) -> Option<Line> {
    let job = summary.group(Group::Sustained).next()?;
    let measured_trials: Vec<&Measurement> = job
        .completed()
        .filter_map(|trial| trial.measured())
        .collect();
    let courses: Vec<Course> = measured_trials
        .iter()
        .copied()
        .filter_map(Course::of)
        .collect();
    let rate = match (measured_trials.as_slice(), courses.as_slice()) {
        ([_], [course]) if course.levels.len() > 1 => describe::levels(&course.levels),
        ([one], [_]) => {
            let (bytes, elapsed) = (Bytes(one.write.bytes), Nanos(one.elapsed_ns));
            tr!(
                "{rate} over {bytes} in {elapsed}",
                rate = median(job, "write_bw")?,
                bytes,
                elapsed
            )
        }
        _ => {
            let trials = counted!(courses.len(), "{n} trial", "{n} trials");
            tr!(
                "{rate}, median of {trials}",
                rate = median(job, "write_bw")?,
                trials
            )
        }
    };
    let longest = courses
        .iter()
        .max_by_key(|course| course.longest_stall().map(|stall| stall.length))?;
    let how = measured(&job.labels(Some(Direction::Write)));
    let words = [format!("{rate}, {how}"), describe::stalls(longest)];
    line(tr!("Sustained"), &words)
}

fn median(job: &JobSummary<'_>, metric: &str) -> Option<String> {
    let figure = job.figure(metric)?;
    Some(quantity(figure.unit, figure.stats.median))
}

fn line(subject: &str, words: &[String]) -> Option<Line> {
    (!words.is_empty()).then(|| Line {
        subject: subject.to_owned(),
        text: words.join("; "),
    })
}

/// A figure with what it measured: `15.9 MB/s flushed`.
fn told(figure: &Figure) -> String {
    let value = quantity(figure.unit, figure.stats.median);
    let is_read = figure.name.starts_with("read");
    match figure.labels.agreed() {
        Some("device") if is_read => value,
        _ => format!("{value}{}", space(measured(&figure.labels))),
    }
}

fn space(words: String) -> String {
    if words.is_empty() {
        words
    } else {
        format!(" {words}")
    }
}

/// What writes measured, in a word or two next to a figure.
fn measured(labels: &Labels) -> String {
    match labels.agreed() {
        Some("device") => tr!("flushed").to_owned(),
        Some("device-unflushed") => tr!("not flushed").to_owned(),
        Some("page-cache") => tr!("in memory").to_owned(),
        Some("mixed") => labels.to_string(),
        Some(_) => tr!("(what it measured is unknown)").to_owned(),
        None if labels.is_empty() => String::new(),
        None => tr!("(trials measured different things)").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warnings::collect;
    use crate::{fixture, samples};
    use assay_model::run::Run;
    use assay_model::storage::Backing;

    fn digest(run: &Run) -> Digest {
        let summary = Summary::of(run);
        Digest::of(&summary, &collect(&summary))
    }

    fn told<'d>(digest: &'d Digest, subject: &str) -> Option<&'d str> {
        let line = digest.lines.iter().find(|line| line.subject == subject)?;
        Some(&line.text)
    }

    /// Only jobs with nothing to complain about.
    fn calm() -> Run {
        let mut run = fixture::run();
        run.trials.retain(|trial| trial.job.name == "seq-read-1m");
        let planned = &mut run.header.plan.jobs;
        planned.retain(|planned| planned.job.name == "seq-read-1m");
        run
    }

    #[test]
    fn a_write_is_told_flushed_and_not_flushed() {
        let digest = digest(&fixture::run());
        assert_eq!(
            told(&digest, "Sequential"),
            Some("read 166 MB/s; write 15.9 MB/s flushed, 15.9 MB/s not flushed")
        );
    }

    #[test]
    fn the_answer_begins_with_yes_only_without_any_doubt() {
        let answer = digest(&calm());
        assert_eq!(answer.belief, Belief::Yes);
        assert!(answer.because.starts_with("yes: "), "{}", answer.because);
        let mut two = calm();
        two.trials.pop();
        assert_eq!(digest(&two).belief, Belief::WithCare);
        assert_eq!(digest(&fixture::run()).belief, Belief::InPart);
        assert_eq!(digest(&samples::empty()).belief, Belief::No);
    }

    #[test]
    fn memory_is_never_believed() {
        let mut run = calm();
        let backing = Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        };
        run.header.storage.layers.clear();
        run.header.storage.backing = backing;
        for trial in &mut run.trials {
            trial.evidence.as_mut().unwrap().storage = run.header.storage.clone();
        }
        let digest = digest(&run);
        assert_eq!(digest.belief, Belief::No);
        assert!(digest.because.contains("tmpfs"), "{}", digest.because);
        let sequential = told(&digest, "Sequential");
        assert_eq!(sequential, Some("read 166 MB/s in memory"));
    }

    #[test]
    fn a_sustained_write_tells_its_cliff_and_its_longest_stall() {
        let digest = digest(&samples::with_sustained());
        let text = told(&digest, "Sustained").unwrap();
        assert!(text.contains("until 1.0 GiB, then 36.5 MB/s"), "{text}");
        assert!(text.contains("2 stalls, the longest 1.31 s"), "{text}");
    }
}
