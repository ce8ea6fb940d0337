//! Tables of disk marks, class checks, checks of cards, and rounds until a steady state.

use super::run::origin;
use crate::document::{Block, Cell, Column, Document, Keep, Section, Table, TableRow};
use crate::results::findings::capacity::{self, CapacityVerdict};
use crate::results::key_figures::KeyFigures;
use crate::results::summary::{Figure, JobSummary, Summary};
use crate::results::warnings;
use crate::words::{Tone, clean, labels, quantity, registers, spread};
use assay_lang::tr;
use assay_model::act::StepDetail;
use assay_model::figures::Unit;
use assay_model::job::Job;
use assay_model::run::{Run, RunStatus};
use assay_model::trial::TrialRecord;
use assay_model::units::{BytesPerSec, Iops, Nanos};
use assay_stats::course::Window;
use assay_stats::derive::subject_in_words;
use assay_stats::figures::{RequiredFigure, Requirement, RequirementFinding};

/// Returns the marks of a run: the best trial of each test, as disk marks show it, with the median
/// and the range, which show what to expect. The conditioning trial is not counted.
pub fn marks(run: &Run) -> Document {
    let summary = Summary::of(run);
    let mut document = headed(run, &summary);
    let mut section = Section::new(
        "marks",
        tr!("Marks (MB = 1000000 bytes; best of the trials after one for conditioning)"),
    );
    let tests = run.header.plan.jobs.iter().filter_map(|planned| {
        let mut jobs = summary.jobs.iter();
        jobs.find(|job| job.job.name == planned.job.name)
    });
    section.table(Table {
        columns: vec![
            Column::text(tr!("test")),
            Column::text(""),
            Column::number(tr!("best MB/s")),
            Column::number("IOPS"),
            Column::number(tr!("latency")),
            Column::number(tr!("median")),
            Column::number(tr!("range")),
            Column::text(tr!("measured")).keep(Keep::IfRoom),
        ],
        rows: tests.map(mark).collect(),
    });
    document.push(section);
    document
}

fn headed(run: &Run, summary: &Summary<'_>) -> Document {
    let mut document = Document::new(labels::name(&run.header.storage));
    document.push(origin(summary));
    document
}

/// Returns one test in one direction.
fn mark(job: &JobSummary<'_>) -> TableRow {
    let direction = if job.job.rw.writes() { "write" } else { "read" };
    let figure = |metric: &str| job.figure(&format!("{direction}_{metric}"));
    let name = mark_name(job.job);
    let labels = job.labels(None);
    let (Some(bandwidth), Some(iops), Some(latency)) =
        (figure("bw"), figure("iops"), figure("lat_mean"))
    else {
        let cells = [
            name,
            tr!(
                "{direction}: no trial was completed",
                direction = subject_in_words(direction)
            ),
        ];
        return TableRow::new(cells.map(Cell::Text).into());
    };
    let (median, low, best) = (
        bandwidth.stats.median,
        bandwidth.stats.min,
        bandwidth.stats.max,
    );
    let at = |figure: &Figure| trial_of(&bandwidth, best).and_then(|n| value_of(figure, n));
    let cells = [
        name,
        subject_in_words(direction).to_owned(),
        format!("{:.1}", best / 1e6),
        at(&iops).map_or(String::new(), |iops| format!("{iops:.0}")),
        at(&latency).map_or(String::new(), |ns| quantity(Unit::Nanos, ns)),
        quantity(Unit::BytesPerSec, median),
        spread(Unit::BytesPerSec, median, low, best),
    ];
    let cells = cells.map(Cell::Text).into_iter();
    TableRow::new(cells.chain([Cell::Labels(labels)]).collect())
}

fn trial_of(figure: &Figure, wanted: f64) -> Option<u32> {
    let mut values = figure.values.iter();
    let found = values.find(|(_, value)| value.total_cmp(&wanted).is_eq());
    found.map(|(trial, _)| *trial)
}

fn value_of(figure: &Figure, wanted: u32) -> Option<f64> {
    let mut values = figure.values.iter();
    let found = values.find(|(trial, _)| *trial == wanted);
    found.map(|(_, value)| *value)
}

/// Returns the name of a mark: `SEQ1M Q8T1` for `seq1m-q8t1-read`.
fn mark_name(job: &Job) -> String {
    let name = job.name.rsplit_once('-').map_or("", |(name, _)| name);
    name.replace('-', " ").to_uppercase()
}

/// Class to check.
pub struct CheckedClass {
    /// Name of the class.
    pub name: String,
    /// Requirements of the class.
    pub requirements: Vec<Requirement>,
    /// Conditions under which the figures were taken.
    pub conditions: String,
}

impl CheckedClass {
    /// Checks the trials of a run against the class: it is met if all its requirements are met, and
    /// missed if one is missed.
    pub fn finding(&self, run: &Run) -> RequirementFinding {
        let findings: Vec<RequirementFinding> = self
            .requirements
            .iter()
            .map(|requirement| requirement.finding(&run.trials))
            .collect();
        if findings.contains(&RequirementFinding::Missed) {
            return RequirementFinding::Missed;
        }
        let open = |finding: &RequirementFinding| {
            matches!(finding, RequirementFinding::NoConclusion { .. })
        };
        let first = findings.into_iter().find(open);
        first.unwrap_or(RequirementFinding::Met)
    }
}

/// Returns the verdict on a class, with every figure that it requires.
pub fn class(run: &Run, class: &CheckedClass) -> Document {
    let summary = Summary::of(run);
    let mut document = Document::new(labels::name(&run.header.storage));
    let title = tr!(
        "Class {class}: {finding}",
        class = class.name,
        finding = class.finding(run)
    );
    let mut section = Section::new("class", title);
    for requirement in &class.requirements {
        let shown = |value| in_its_unit(requirement, value);
        let values = requirement.values(&run.trials);
        let values: Vec<String> = values.into_iter().map(shown).collect();
        let line = tr!(
            "{figure}: at least {least}; measured {values}: {finding}",
            figure = requirement.figure.name(),
            least = shown(requirement.least),
            values = if values.is_empty() {
                tr!("nothing").to_owned()
            } else {
                values.join(", ")
            },
            finding = requirement.finding(&run.trials)
        );
        section.say(line, None);
    }
    let conditions = tr!("conditions: {conditions}", conditions = class.conditions);
    section.say(conditions, None);
    document.push(section);
    document.push(origin(&summary));
    document
}

/// Formats a value of the required figure.
fn in_its_unit(requirement: &Requirement, value: f64) -> String {
    match requirement.figure {
        RequiredFigure::ReadIops | RequiredFigure::WriteIops => Iops(value).to_string(),
        _ => BytesPerSec(value).to_string(),
    }
}

/// Length from which a gap between I/Os is a stall, and part of the verdict on a card.
const LONG_STALL: Nanos = Nanos::secs(1);

/// Returns the check of a card or stick: figures, then the verdict as the last line. Its capacity,
/// its `classes`, and the use that it is checked for.
pub fn card(run: &Run, classes: &[CheckedClass], purpose: &CheckedClass) -> Document {
    let capacity = capacity::concluded(run);
    // The probe has an answer, and no figures.
    let mut jobs = run.clone();
    let is_probe =
        |trial: &TrialRecord| matches!(trial.detail.as_deref(), Some(StepDetail::Capacity(_)));
    jobs.trials.retain(|trial| !is_probe(trial));
    let summary = Summary::of(&jobs);
    let digest = KeyFigures::of(&summary, &warnings::collect(&summary));
    let (answer, holds) = capacity.unwrap_or_else(|| {
        let unknown = tr!("Not known: its capacity was not checked");
        (unknown.to_owned(), CapacityVerdict::NotKnown)
    });
    let gap = jobs.longest_gap();
    let layer = run.header.storage.device();
    let worn = layer.map_or_else(Vec::new, |layer| registers::problems(&layer.identity));
    let mut facts = vec![(tr!("Capacity").to_owned(), answer.clone())];
    let lines = digest.lines.into_iter();
    facts.extend(lines.map(|line| (line.subject, line.text)));
    facts.extend(gap.map(|(length, job)| {
        let text = tr!("{length} without any I/O ({job})", length, job = clean(job));
        (tr!("Longest gap").to_owned(), text)
    }));
    facts.extend((!worn.is_empty()).then(|| (tr!("Health").to_owned(), worn.join("; "))));
    let is_measured = !jobs.trials.is_empty();
    facts.extend(is_measured.then(|| (tr!("Believe it?").to_owned(), digest.because)));
    let mut document = Document::new(labels::name(&run.header.storage));
    let mut figures = Section::new("figures", "");
    figures.facts(facts);
    document.push(figures);
    let fails = holds == CapacityVerdict::Fails;
    let mut verdict = vec![answer];
    if fails {
        verdict.push(tr!("do not store anything on it").to_owned());
    } else {
        verdict.extend(classes.iter().map(|class| class.in_brief(run)));
        let stall = gap.filter(|(length, _)| *length >= LONG_STALL);
        verdict.extend(stall.map(|(length, _)| tr!("stalls for {length}", length)));
        verdict.extend((!worn.is_empty()).then(|| tr!("worn").to_owned()));
        let is_sound = worn.is_empty() && holds == CapacityVerdict::Holds;
        verdict.push(purpose.suits(run, is_sound));
    }
    let is_bad = fails || purpose.finding(run) == RequirementFinding::Missed;
    let tone = if is_bad { Tone::Bad } else { Tone::Strong };
    let mut section = Section::new("verdict", tr!("Verdict"));
    section.say(verdict.join(" \u{b7} "), Some(tone));
    document.push(section);
    document
}

impl CheckedClass {
    /// Returns the class with its finding: `A2 FAIL (random write 591 IOPS of 2000 IOPS)`.
    fn in_brief(&self, run: &Run) -> String {
        let (name, finding) = (&self.name, self.finding(run));
        match finding {
            RequirementFinding::NoConclusion { .. } => tr!("{name} open", name),
            RequirementFinding::Met => format!("{name} {finding}"),
            RequirementFinding::Missed => {
                format!("{name} {finding} ({})", self.shortfall(run))
            }
        }
    }

    /// Says if the storage suits the use that these requirements are of: it is good for it if it is
    /// sound as well as fast enough.
    fn suits(&self, run: &Run, is_sound: bool) -> String {
        let name = &self.name;
        match self.finding(run) {
            RequirementFinding::Met if run.status != RunStatus::Finished => {
                let why = tr!("the check did not finish");
                tr!("not known if good for {name}: {why}", name, why)
            }
            RequirementFinding::Met if is_sound => tr!("good for {name}", name),
            RequirementFinding::Met => tr!("fast enough for {name}", name),
            RequirementFinding::Missed => tr!(
                "too slow for {name}: {shortfall}",
                name,
                shortfall = self.shortfall(run)
            ),
            RequirementFinding::NoConclusion { why } => {
                tr!("not known if good for {name}: {why}", name, why)
            }
        }
    }

    /// Returns the first figure that is missed, with the best trial and the required value.
    fn shortfall(&self, run: &Run) -> String {
        let mut requirements = self.requirements.iter();
        let missed =
            requirements.find(|one| one.finding(&run.trials) == RequirementFinding::Missed);
        missed.map_or_else(String::new, |one| {
            let best = one.values(&run.trials).into_iter().fold(0.0, f64::max);
            tr!(
                "{figure} {best} of {least}",
                figure = one.figure.name(),
                best = in_its_unit(one, best),
                least = in_its_unit(one, one.least)
            )
        })
    }
}

/// Returns the rounds of a run, and whether they became steady.
pub fn rounds(run: &Run, round: &str) -> Document {
    let summary = Summary::of(run);
    let mut document = headed(run, &summary);
    let job = summary.jobs.iter().find(|job| job.job.name == round);
    let figure = job.and_then(|job| job.figure("write_iops"));
    let values = figure.map_or(Vec::new(), |figure| figure.values);
    let iops: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    let mut section = Section::new("rounds", tr!("Rounds"));
    section.say(steadiness(&iops), None);
    let lines = values.iter();
    let lines = lines.map(|(number, value)| format!("{number:>3}  {}", Iops(*value)));
    section.blocks.push(Block::Lines(lines.collect()));
    if let Some(labels) = job.map(|job| job.labels(None).to_string()) {
        let measured = tr!("  measured: {labels}", labels);
        section.say(measured.trim(), None);
    }
    document.push(section);
    document
}

fn steadiness(iops: &[f64]) -> String {
    let Some(window) = Window::of(iops) else {
        return tr!("Fewer than five rounds: no word on a steady state.").to_owned();
    };
    let figures = tr!(
        "the last five rounds range by {range} % of their mean {mean} (at most 20 %), their trend is \
         {trend} % (at most 10 %)",
        range = format_args!("{:.0}", window.range * 100.0),
        mean = Iops(window.mean),
        trend = format_args!("{:.0}", window.trend * 100.0)
    );
    if window.is_steady() {
        tr!(
            "Steady state after {n} rounds: {figures}.",
            n = iops.len(),
            figures
        )
    } else {
        tr!(
            "No steady state in {n} rounds: {figures}.",
            n = iops.len(),
            figures
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixture;

    /// Trials of a direct read of 1 MiB blocks, the label of which is `device`.
    fn requirement(least: f64) -> Requirement {
        Requirement {
            job: "seq-read-1m",
            figure: RequiredFigure::ReadIops,
            least,
        }
    }

    #[test]
    fn a_figure_of_the_device_passes_or_fails() {
        let run = fixture::run();
        let values = requirement(0.0).values(&run.trials);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        assert!(values.len() > 1 && low < high);
        let finding = |least| requirement(least).finding(&run.trials);
        assert_eq!(finding(low), RequirementFinding::Met);
        assert_eq!(finding(high * 1.01), RequirementFinding::Missed);
        let between = finding(f64::midpoint(low, high)).to_string();
        assert!(between.contains("trials reached it"), "{between}");
    }

    #[test]
    fn a_figure_of_the_page_cache_neither_passes_nor_fails() {
        let run = fixture::run();
        let requirement = Requirement {
            job: "dd-plain",
            figure: RequiredFigure::WriteBandwidth,
            least: 1.0,
        };
        let finding = requirement.finding(&run.trials).to_string();
        assert!(finding.contains("page-cache"), "{finding}");
        let none = Requirement {
            job: "no such job",
            ..requirement
        };
        assert!(matches!(
            none.finding(&run.trials),
            RequirementFinding::NoConclusion { .. }
        ));
    }

    #[test]
    fn a_class_is_missed_by_one_thing_and_open_by_one() {
        let run = fixture::run();
        let finding = |least: &[f64]| {
            CheckedClass {
                name: "X".to_owned(),
                requirements: least.iter().map(|&least| requirement(least)).collect(),
                conditions: String::new(),
            }
            .finding(&run)
        };
        assert_eq!(finding(&[1.0, 2.0]), RequirementFinding::Met);
        assert_eq!(finding(&[1.0, 1e12]), RequirementFinding::Missed);
    }

    /// The fixture's first trial of each job conditions the storage.
    #[test]
    fn marks_have_the_medians_that_other_views_of_the_run_have() {
        let mut run = fixture::run();
        for trial in &mut run.trials {
            trial.trial -= 1;
        }
        let document = marks(&run);
        let Some(Block::Table(table)) = document.sections.last().and_then(|s| s.blocks.first())
        else {
            panic!("a table");
        };
        let summary = Summary::of(&run);
        let mut compared = 0;
        for (row, planned) in table.rows.iter().zip(&run.header.plan.jobs) {
            let mut jobs = summary.jobs.iter();
            let job = jobs.find(|job| job.job.name == planned.job.name).unwrap();
            let direction = if job.job.rw.writes() { "write" } else { "read" };
            let Some(shown) = row.cells.get(5) else {
                continue;
            };
            let figure = job.figure(&format!("{direction}_bw")).unwrap();
            assert!(figure.values.iter().all(|(trial, _)| *trial > 0));
            assert_eq!(shown.text(), quantity(figure.unit, figure.stats.median));
            compared += 1;
        }
        assert!(compared > 3, "{compared}");
    }

    #[test]
    fn rounds_that_are_not_steady_are_no_steady_state() {
        assert!(steadiness(&[100.0; 5]).starts_with("Steady state after 5"));
        assert!(steadiness(&[100.0, 50.0, 25.0, 12.0, 6.0]).starts_with("No steady state"));
        assert!(steadiness(&[100.0]).starts_with("Fewer than five"));
    }
}
