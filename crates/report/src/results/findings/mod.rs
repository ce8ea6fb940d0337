//! Findings other than figures: sentences about each trial or a whole run.

pub mod capacity;
pub mod load_curve;
pub mod memory;
pub mod powercut;
pub mod soak;

use crate::results::describe;
use crate::results::summary::{Figure, Group, JobSummary, JudgedTrial, Summary};
use crate::words::labels::Labels;
use crate::words::{clean, numbered, quantity};
use assay_lang::{counted, tr};
use assay_model::act::scenario::{Deadlines, ScenarioStep};
use assay_model::act::{ReplayStep, StepDetail};
use assay_model::evidence::LatencyRecord;
use assay_model::figures::Unit;
use assay_model::trial::{Outcome, TrialRecord, WENT_AWAY};
use assay_model::units::{Bytes, Nanos};
use assay_stats::figures::{scenario_ns, scenario_repetitions};
use assay_stats::histogram::Percentile;
use assay_stats::latency::Distribution;
use assay_stats::summary::Summary as Statistics;

/// Sentence about the data of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// True if data differs from the written data, or a guarantee was broken.
    pub bad: bool,
    /// The sentence, safe to display.
    pub text: String,
}

impl Sentence {
    /// Returns a sentence without a bad result.
    pub const fn plain(text: String) -> Self {
        Self { bad: false, text }
    }
}

/// Sentences about a trial or about the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The trial, whose conclusion comes first; `None` for the whole run.
    pub subject: Option<String>,
    /// The sentences.
    pub sentences: Vec<Sentence>,
}

impl Finding {
    /// Returns a finding in which only the first sentence, the conclusion, can be `bad`.
    pub fn concluding(bad: bool, sentences: Vec<String>) -> Self {
        let sentences = sentences.into_iter().enumerate();
        let sentence = |(index, text)| Sentence {
            bad: bad && index == 0,
            text,
        };
        Self {
            subject: None,
            sentences: sentences.map(sentence).collect(),
        }
    }

    #[cfg(test)]
    fn texts(&self) -> Vec<&str> {
        let sentences = self.sentences.iter();
        sentences.map(|sentence| sentence.text.as_str()).collect()
    }

    fn about(self, subject: String) -> Self {
        Self {
            subject: Some(subject),
            ..self
        }
    }
}

/// Findings of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Anchor for links.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Findings in the order of their trials.
    pub findings: Vec<Finding>,
}

impl Topic {
    /// Returns a topic of the whole run; `None` without sentences.
    pub(crate) fn of_run(
        id: &'static str,
        title: &'static str,
        sentences: Vec<Sentence>,
    ) -> Option<Self> {
        if sentences.is_empty() {
            return None;
        }
        let subject = None;
        Self::of_trials(id, title, vec![Finding { subject, sentences }])
    }

    fn of_trials(id: &'static str, title: &'static str, findings: Vec<Finding>) -> Option<Self> {
        (!findings.is_empty()).then_some(Self {
            id,
            title,
            findings,
        })
    }
}

/// Answers the question of a search for faults in one sentence; `None` for runs that only measure
/// rates.
pub fn answer(summary: &Summary<'_>) -> Option<Sentence> {
    let found = capacity::answer(summary)
        .or_else(|| soak::answer(summary))
        .or_else(|| memory::answer(summary))
        .or_else(|| powercut::answer(summary.run))
        .or_else(|| load_curve::answer(summary));
    let amount = |trial: &TrialRecord| match &trial.outcome {
        Outcome::Failed { error } => error.strip_prefix(WENT_AWAY).map(str::to_owned),
        _ => None,
    };
    let Some(amount) = summary.run.trials.iter().rev().find_map(amount) else {
        return found;
    };
    let gone = tr!("It went away after {amount}", amount);
    Some(Sentence {
        bad: true,
        text: found.map_or_else(|| gone.clone(), |found| format!("{gone}. {}", found.text)),
    })
}

/// Returns the topics of a run in reading order.
pub fn topics(summary: &Summary<'_>) -> Vec<Topic> {
    let capacity = of_each(summary, |detail| match detail {
        StepDetail::Capacity(step) => capacity::finding(step),
        _ => None,
    });
    let replay = of_each(summary, |detail| match detail {
        StepDetail::Replay(step) => Some(replay_finding(step)),
        _ => None,
    });
    let cuts = powercut::finding(summary.run);
    let cuts = cuts.map(|finding| finding.about(tr!("all cuts").to_owned()));
    let of_trials = [
        Topic::of_trials("capacity", tr!("Capacity"), capacity),
        Topic::of_trials("replay", tr!("Replay"), replay),
        Topic::of_trials("powercut", tr!("Power cuts"), cuts.into_iter().collect()),
    ];
    let mut all: Vec<Topic> = of_trials.into_iter().flatten().collect();
    all.extend(memory::topics(summary));
    all.extend(soak::topics(summary));
    all
}

/// Describes the loss of written data in a sentence; `None` if no data was lost, or if that was not
/// checked.
pub fn loss(detail: &StepDetail) -> Option<String> {
    if !detail.differs() {
        return None;
    }
    Some(match detail {
        StepDetail::Capacity(step) => capacity::finding(step)?.sentences.into_iter().next()?.text,
        StepDetail::Memory(step) => memory::flips(step)?,
        StepDetail::Powercut(_) => {
            tr!("after a cut of the power something was not as it was promised").to_owned()
        }
        _ => tr!("what was read back is not what was written").to_owned(),
    })
}

/// Returns the losses of a run by job: the number of affected trials and the first description.
pub fn losses(summary: &Summary<'_>) -> Vec<Loss> {
    let of_job = |job: &JobSummary<'_>| {
        let trials = job.trials.iter();
        let mut found = trials.filter_map(|trial| loss(trial.record.detail.as_deref()?));
        let first = found.next()?;
        Some(Loss {
            job: clean(&job.job.name),
            trials: 1 + found.count(),
            first,
        })
    };
    summary.jobs.iter().filter_map(of_job).collect()
}

/// Trials of a job in which data was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Name of the job.
    pub job: String,
    /// Number of affected trials.
    pub trials: usize,
    /// Description of the first loss.
    pub first: String,
}

/// Collects an item from each trial, in their order.
fn of_each(summary: &Summary<'_>, found: impl Fn(&StepDetail) -> Option<Finding>) -> Vec<Finding> {
    let mut trials: Vec<_> = summary.jobs.iter().flat_map(|job| &job.trials).collect();
    trials.sort_by_key(|trial| trial.record.position);
    let name = |trial: &JudgedTrial<'_>| {
        let (job, number) = (&trial.record.job.name, numbered(trial.record.trial));
        format!("{} {number}", clean(job))
    };
    let each = |trial: &JudgedTrial<'_>| {
        let detail = trial.record.detail.as_deref()?;
        Some(found(detail)?.about(name(trial)))
    };
    trials.into_iter().filter_map(each).collect()
}

/// Line on one act.
#[derive(Clone, Debug)]
pub struct ActLine {
    /// Name of the act.
    pub name: String,
    /// Duration of the act.
    pub time: String,
    /// Rate in bytes, files or transactions per second; empty without one.
    pub rate: String,
    /// Latency of the slowest operation of all trials.
    pub slowest: String,
    /// Longest time without any completion.
    pub gap: String,
    /// Number of missed deadlines and of all deadlines.
    pub missed: String,
    /// Labels of the metric.
    pub labels: Labels,
    /// Further findings, as a sentence.
    pub found: Option<String>,
}

/// Returns the acts of a run, in their order; empty if it has no scenario.
pub fn lines(summary: &Summary<'_>) -> Vec<ActLine> {
    let planned = &summary.run.header.plan.jobs;
    let place = |job: &&JobSummary<'_>| {
        planned
            .iter()
            .position(|planned| planned.job.name == job.job.name)
    };
    let mut jobs: Vec<&JobSummary<'_>> = summary.jobs.iter().collect();
    jobs.sort_by_key(place);
    jobs.into_iter().filter_map(line).collect()
}

/// Computes the total duration of each scenario of a run: its name, and the times of its complete
/// repetitions.
pub fn totals(summary: &Summary<'_>) -> Vec<(String, Figure)> {
    let mut found: Vec<(&str, Vec<(u32, f64)>)> = Vec::new();
    for (scenario, acts) in scenario_repetitions(&summary.run.header.plan, &summary.run.trials) {
        let (Some(total_ns), Some(first)) = (scenario_ns(&acts), acts.first()) else {
            continue;
        };
        let value = (first.trial, total_ns as f64);
        match found.iter_mut().find(|(name, _)| *name == scenario) {
            Some((_, values)) => values.push(value),
            None => found.push((scenario, vec![value])),
        }
    }
    let figures = found.into_iter().filter_map(|(scenario, values)| {
        let plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let figure = Figure {
            job: scenario.to_owned(),
            name: "act_time".to_owned(),
            unit: Unit::Nanos,
            stats: Statistics::of(&plain)?,
            values,
            labels: Labels::default(),
        };
        Some((clean(scenario), figure))
    });
    figures.collect()
}

/// Returns the acts with missed deadlines.
pub fn late(summary: &Summary<'_>) -> Vec<String> {
    let missed = |job: &&JobSummary<'_>| {
        let kept = steps(job).into_iter().filter_map(|step| step.deadlines);
        kept.map(|kept| kept.missed).sum::<u64>() > 0
    };
    let late = summary.jobs.iter().filter(missed);
    late.map(|job| clean(&job.job.name)).collect()
}

fn line(job: &JobSummary<'_>) -> Option<ActLine> {
    let steps = steps(job);
    if steps.is_empty() && job.group != Group::Act {
        return None;
    }
    let median = |name: &str| {
        let figure = job.figure(name);
        figure.map_or_else(String::new, |f| quantity(f.unit, f.stats.median))
    };
    let most = |names: &[&str]| {
        let figures = names.iter().filter_map(|name| job.figure(name));
        let most = figures.map(|figure| figure.stats.max).reduce(f64::max);
        most.map_or_else(String::new, |ns| quantity(Unit::Nanos, ns))
    };
    let whole = ["operation_lat_max", "commit_lat_max"];
    let single = ["read_lat_max", "write_lat_max", "flush_lat_max"];
    let slowest = match most(&whole) {
        none if none.is_empty() => most(&single),
        slowest => slowest,
    };
    Some(ActLine {
        name: clean(&job.job.name),
        time: median("act_time"),
        rate: rate(job, &median),
        slowest,
        gap: most(&["longest_gap"]),
        missed: missed(&steps),
        labels: job.labels(None),
        found: found(&steps),
    })
}

fn steps<'a>(job: &JobSummary<'a>) -> Vec<&'a ScenarioStep> {
    let details = job
        .trials
        .iter()
        .filter_map(|trial| trial.record.detail.as_deref());
    details.filter_map(StepDetail::scenario).collect()
}

fn rate(job: &JobSummary<'_>, median: &dyn Fn(&str) -> String) -> String {
    let transactions = median("commit_tps");
    if !transactions.is_empty() {
        return transactions;
    }
    let names = ["read_bw", "write_bw"];
    let rates = names.map(|name| (describe::metric(name), median(name)));
    let there: Vec<&(String, String)> = rates.iter().filter(|(_, rate)| !rate.is_empty()).collect();
    match there[..] {
        [(_, rate)] => rate.clone(),
        // Everything that is read is also written: one of the rates suffices.
        [_, (_, rate)] if job.job.rw.writes() => rate.clone(),
        _ => String::new(),
    }
}

fn missed(steps: &[&ScenarioStep]) -> String {
    let kept: Vec<Deadlines> = steps.iter().filter_map(|step| step.deadlines).collect();
    if kept.is_empty() {
        return String::new();
    }
    let missed: u64 = kept.iter().map(|kept| kept.missed).sum();
    let all: u64 = kept.iter().map(|kept| kept.operations).sum();
    tr!("{missed} of {all}", missed, all)
}

/// Returns the findings shown below the line.
fn found(steps: &[&ScenarioStep]) -> Option<String> {
    let mut sentences = Vec::new();
    let late = steps.iter().filter_map(|step| step.deadlines);
    let worst = late
        .map(|kept| (kept.worst_late_ns, kept.deadline_ns))
        .max();
    if let Some((late_ns @ 1.., deadline_ns)) = worst {
        sentences.push(tr!(
            "a deadline of {deadline} was missed by up to {late}",
            deadline = Nanos(deadline_ns),
            late = Nanos(late_ns)
        ));
    }
    if steps.iter().any(|step| step.differs()) {
        sentences.push(tr!("what was read back is not what was written").to_owned());
    } else if steps.iter().any(|step| step.verified.is_some()) {
        sentences.push(tr!("all of it is as it was written (SHA-256)").to_owned());
    }
    if let Some(percent) = steps.iter().find_map(|step| step.full_percent) {
        sentences.push(tr!("the file system is {percent} % full", percent));
    }
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// Median delay above which a replay did not keep the recorded times, in nanoseconds.
const IN_TIME_NS: u64 = 1_000_000;

/// Describes the I/O of a replay, and whether it kept the recorded times.
fn replay_finding(step: &ReplayStep) -> Finding {
    let ios: u64 = step.ios.iter().map(|(_, count)| *count).sum();
    let ios = counted!(ios, "{n} I/O", "{n} I/Os");
    let trace = clean(&step.trace);
    let lateness = step
        .lateness
        .as_ref()
        .map_or_else(String::new, describe_lateness);
    let mut lines = vec![match step.speed {
        None => tr!("{ios} of {trace} as fast as possible", ios, trace),
        Some(1.0) => tr!(
            "{ios} of {trace} at the recorded speed: {lateness}",
            ios,
            trace,
            lateness
        ),
        Some(speed) => tr!(
            "{ios} of {trace} at {speed} times the recorded speed: {lateness}",
            ios,
            trace,
            speed,
            lateness
        ),
    }];
    if let Some(how) = &step.shrunk {
        lines.push(tr!(
            "the trace reaches to {recorded}, behind the end of the storage: it was put on the first {size} ({how}), {moved} I/Os at other offsets",
            recorded = Bytes(step.recorded_extent),
            size = Bytes(step.extent),
            how = clean(how),
            moved = step.moved
        ));
    } else if step.moved > 0 {
        lines.push(tr!(
            "files of the trace lie behind each other: {moved} I/Os are at other offsets",
            moved = step.moved
        ));
    }
    if step.trims_left_out > 0 {
        lines.push(tr!(
            "{trims} trims were left out: a file has none",
            trims = step.trims_left_out
        ));
    }
    Finding::concluding(false, lines)
}

/// Describes the delays with which I/Os began.
fn describe_lateness(record: &LatencyRecord) -> String {
    let Ok(late) = Distribution::of(record) else {
        return String::new();
    };
    let at = |percentile| late.percentile_ns(percentile).map(Nanos);
    let (Some(median), Some(most)) = (at(Percentile::P50), late.max_ns().map(Nanos)) else {
        return String::new();
    };
    let tail = at(Percentile::P99).unwrap_or(most);
    if median.0 > IN_TIME_NS {
        return tr!(
            "NOT in time, late by {median} at the median, {tail} at p99, {most} at most: the device or --iodepth does not keep up",
            median,
            tail,
            most
        );
    }
    tr!(
        "in time, late by {median} at the median, {tail} at p99, {most} at most",
        median,
        tail,
        most
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Detail;
    use crate::machine::gate::{Status, Suite};
    use crate::machine::{gate, json};
    use crate::render::terminal::{Style, write_summary};
    use crate::render::{Form, html, write_mail};
    use crate::results::key_figures::{Belief, KeyFigures};
    use crate::results::warnings;
    use crate::testing::comparison_fixture::Sides;
    use crate::testing::{fixture, samples};
    use crate::views;
    use assay_model::act::soak::{Checkpoint, SoakStep, Stretch};
    use std::io::{self, Write};

    fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn memory_flips_are_listed_among_the_errors_of_a_soak() {
        let checkpoint = Checkpoint {
            memory_flips: 2,
            memory_bytes: 4096,
            ..Checkpoint::default()
        };
        let step = SoakStep {
            of: Stretch::Checking,
            checkpoint,
            area_bytes: 8,
            filled_bytes: 8,
            faults: Vec::new(),
            health: None,
        };
        let mut run = fixture::run();
        run.trials.truncate(1);
        run.trials[0].detail = Some(Box::new(StepDetail::Soak(Box::new(step))));
        let topics = soak::topics(&Summary::of(&run));
        let verdict = &topics[0].findings[0].sentences[0];
        assert!(verdict.bad);
        let flips = "2 words of memory wrong";
        assert!(verdict.text.contains(flips), "{}", verdict.text);
    }

    #[test]
    fn lost_data_fails_every_gate() {
        let suite = Suite::of_run(&samples::with_lost_data());
        assert_eq!(suite.count(Status::Fail), 1);
        let case = suite.cases.iter().find(|case| case.metric == "data");
        assert!(case.unwrap().reason.contains("DATA LOST"), "{case:?}");
        for (text, word) in [
            (written(|out| gate::write_tap(&suite, out)), "not ok"),
            (written(|out| gate::write_junit(&suite, out)), "<failure"),
            (written(|out| gate::write_lava(&suite, out)), "RESULT=fail"),
        ] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn lost_data_stands_before_any_rate_and_nothing_is_believed() {
        let run = samples::with_lost_data();
        let summary = Summary::of(&run);
        let warnings = warnings::collect(&summary);
        let digest = KeyFigures::of(&summary, &warnings);
        assert_eq!(digest.belief, Belief::No);
        assert_eq!(digest.lines[0].subject, "Data kept?");
        assert!(digest.lines[0].text.contains("DATA LOST"));
        assert!(warnings[0].is_severe() && warnings[0].message(9).contains("DATA LOST"));
    }

    #[test]
    fn lost_data_of_a_side_is_in_the_headline_of_a_comparison() {
        let sides = Sides::of(fixture::run(), samples::with_lost_data());
        let page = views::comparison::document(&sides.compared(), Detail::Brief);
        let title = format!("{page:?}");
        let lost = title.find("Data was not kept on B").expect(&title);
        let judged = title.find("No conclusion on").expect(&title);
        assert!(lost < judged, "{title}");
        let page = views::comparison::document(&Sides::new().compared(), Detail::Brief);
        assert!(!format!("{page:?}").contains("was not kept"));
    }

    #[test]
    fn lost_data_is_told_by_every_output_for_people() {
        let run = samples::with_lost_data();
        let style = Style {
            color: false,
            width: 200,
            ascii: false,
        };
        for text in [
            written(|out| write_mail(&views::run::mail(&run), Form::Text, out)),
            written(|out| write_mail(&views::run::mail(&run), Form::Markdown, out)),
            written(|out| write_summary(&run, style, &[], out)),
            written(|out| html::write(&run, out)),
        ] {
            assert!(text.contains("data was not kept"), "{text}");
            let title = text
                .find("Data lost: what is there is correct")
                .expect(&text);
            assert!(
                title < text.find("seq-read-1m").unwrap_or(usize::MAX),
                "{text}"
            );
        }
        let document = written(|out| json::write(&run, out));
        assert!(document.contains("\"data_lost\": true"), "{document}");
    }
}
