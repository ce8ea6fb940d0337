//! Comparison with its names, as every output shows it.

mod contradiction;
mod words;

use assay_lang::{Told, counted, tr, translated};
pub use words::{SharedNotes, drift, ends, pairs, percent, places, tallied};

use crate::results::findings::losses;
use crate::results::jobs::Jobs;
use crate::results::summary::Summary;
use crate::results::warnings::{self, NAMES, Warning};
use crate::words::format::percent_points;
use crate::words::text::clean;
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_model::verdict::{self, LEVEL};
use assay_stats::figures::measured_in_words;
use assay_stats::verdict::between::RunVariance;
use assay_stats::verdict::compare::{Comparison, Scope};
use assay_stats::verdict::line::{Options, VerdictRow};
use assay_stats::verdict::note::Note;
use assay_stats::verdict::power;
use assay_stats::verdict::ranking::Ranking;

/// Comparison with its sources.
#[derive(Debug)]
pub struct Compared<'a> {
    /// Name of the reference side, in the user's words.
    pub a: &'a str,
    /// Name of the judged side, in the user's words.
    pub b: &'a str,
    /// Options of the comparison.
    pub options: &'a Options,
    /// Result of the comparison.
    pub comparison: &'a Comparison,
    /// Other differences between the sides, one sentence each.
    pub warnings: Vec<Told>,
    /// True if the question was whether B may replace A.
    pub qualify: bool,
    /// True if gates pass a comparison in which no deciding metric was judged.
    pub allow_unjudged: bool,
    /// Sources of the figures of A, one for each unit.
    pub a_sources: Vec<ComparedSource<'a>>,
    /// Sources of the figures of B, one for each unit.
    pub b_sources: Vec<ComparedSource<'a>>,
}

/// Side of a comparison, for charts.
#[derive(Debug)]
pub struct Side<'a> {
    /// Name in the user's words.
    pub name: &'a str,
    /// Figures of all units.
    pub figures: Vec<&'a Figure>,
    /// Runs of the figures, with only their counted trials; empty for imports.
    pub runs: Vec<&'a Run>,
}

/// Source of figures.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSource<'a> {
    /// Name in the user's words.
    pub name: &'a str,
    /// Figures of the source, of one condition.
    pub figures: &'a [Figure],
    /// Run of the figures; `None` for imported results.
    pub run: Option<&'a Run>,
    /// Tool, kernel and command line stated in imported results, one line each.
    pub circumstances: &'a [String],
}

impl ComparedSource<'_> {
    /// Identifies a run by its id and a file by its name without directories; with the condition,
    /// if one was named. Safe to display.
    pub fn known_by(&self) -> String {
        let (name, condition) = match self.name.rsplit_once('@') {
            Some((name, condition)) => (name, format!("@{condition}")),
            None => (self.name, String::new()),
        };
        let file = name.rsplit('/').next().unwrap_or_default();
        let name = self.run.map_or(file, |run| &run.header.id);
        clean(&format!("{name}{condition}"))
    }
}

impl<'a> Compared<'a> {
    /// Returns the jobs of both sides.
    pub fn jobs(&self) -> Jobs<'a> {
        let sources = self.a_sources.iter().chain(&self.b_sources);
        Jobs::of(sources.filter_map(|source| source.run))
    }

    /// Returns the identifiers of A and B: ids of runs, names of imported results. Safe to show.
    pub fn known_by(&self) -> [String; 2] {
        [&self.a_sources, &self.b_sources].map(|sources| {
            let names = sources.iter().map(ComparedSource::known_by);
            names.collect::<Vec<_>>().join(", ")
        })
    }

    /// Returns true if a value of a side is the mean of a unit or of a run, not a trial.
    pub fn is_of_means(&self) -> bool {
        let scope = self.comparison.scope;
        matches!(
            scope,
            Scope::Parts(..) | Scope::Runs(..) | Scope::RunsOfOne(..)
        )
    }

    /// Counts the values of a side: `5 trials`, `3 units`, `3 runs`.
    pub fn counted(&self, n: usize) -> String {
        match self.comparison.scope {
            Scope::Parts(..) => counted!(n, "{n} unit", "{n} units"),
            Scope::Runs(..) | Scope::RunsOfOne(..) => counted!(n, "{n} run", "{n} runs"),
            Scope::TwoUnits | Scope::OneDevice | Scope::Units(_) => {
                counted!(n, "{n} trial", "{n} trials")
            }
        }
    }

    /// Returns the question of the comparison, and the criteria for its answer.
    pub fn question(&self) -> String {
        let margin = percent_points(self.options.margin);
        match self.qualify {
            true => tr!(
                "may B take the place of A, at most {margin} % slower?",
                margin
            ),
            false => tr!(
                "is B faster, slower or equivalent, within {margin} %?",
                margin
            ),
        }
    }

    /// Returns warnings about the whole comparison, a sentence each, safe to display: notes on the
    /// comparison, and doubts about figures of a side.
    pub fn all_warnings(&self) -> Vec<String> {
        let notes = self.comparison.notes.iter().map(ToString::to_string);
        let warnings = notes.chain(self.warnings.iter().map(ToString::to_string));
        let mut warnings: Vec<String> = warnings.map(|warning| clean(&warning)).collect();
        warnings.extend(self.doubts());
        warnings
    }

    /// Returns the warnings for readers. The general note that labels are not recorded is left out
    /// if a source has its own.
    pub fn told_warnings(&self) -> Vec<String> {
        let mut warnings = self.all_warnings();
        let general = clean(&Note::MeasuredNotRecorded.to_string());
        let own = |warning: &String| *warning != general && warning.contains("is not recorded");
        if warnings.iter().any(own) {
            warnings.retain(|warning| *warning != general);
        }
        for side in [verdict::Side::A, verdict::Side::B] {
            self.join_missing(side, &mut warnings);
        }
        warnings
    }

    /// Replaces the warnings on metrics that one side lacks by a single one.
    fn join_missing(&self, side: verdict::Side, warnings: &mut Vec<String>) {
        let notes = self.comparison.notes.iter();
        let missing = notes.filter_map(|note| match note {
            Note::Missing(of, metric) if *of == side => Some((metric, clean(&note.to_string()))),
            _ => None,
        });
        let missing: Vec<_> = missing.collect();
        let [(first, _), _, ..] = &missing[..] else {
            return;
        };
        warnings.retain(|warning| missing.iter().all(|(_, told)| told != warning));
        warnings.push(clean(&tr!(
            "{metric} and {more} more are missing on side {side}, so they are not compared",
            metric = first,
            more = missing.len() - 1,
            side
        )));
    }

    /// Returns the reasons to doubt figures of a side, with the side, one sentence each, safe to
    /// show.
    pub fn doubts(&self) -> Vec<String> {
        let (a, b) = (doubts(&self.a_sources), doubts(&self.b_sources));
        let (both, of_a): (Vec<_>, Vec<_>) = a.into_iter().partition(|doubt| b.contains(doubt));
        let of_b = b.into_iter().filter(|doubt| !both.contains(doubt));
        let of_a = of_a.into_iter().map(|doubt| format!("A: {doubt}"));
        let of_b = of_b.map(|doubt| format!("B: {doubt}"));
        of_a.chain(of_b)
            .chain(both.iter().map(|doubt| tr!("both: {doubt}", doubt)))
            .collect()
    }

    /// Reports the side on which a job lost data, with the first finding; not yet safe to display.
    pub fn lost_data(&self) -> Option<String> {
        let sides = [
            (verdict::Side::A, &self.a_sources),
            (verdict::Side::B, &self.b_sources),
        ];
        let lost = sides.into_iter().filter_map(|(side, sources)| {
            let runs = sources.iter().filter_map(|source| source.run);
            let first = runs.flat_map(|run| losses(&Summary::of(run))).next()?;
            Some(tr!(
                "Data was not kept on side {side}: {job}, {first}.",
                side,
                job = first.job,
                first = first.first
            ))
        });
        let lost: Vec<String> = lost.collect();
        (!lost.is_empty()).then(|| lost.join(" "))
    }

    /// Returns true if only its label prevents a metric from deciding.
    pub fn is_kept_by_label(&self, line: &VerdictRow) -> bool {
        let sources = self.a_sources.iter().chain(&self.b_sources);
        let mut figures = sources.flat_map(|source| source.figures);
        !line.primary
            && line.notes.iter().any(Note::is_on_label)
            && figures.any(|figure| figure.metric == line.metric && figure.primary)
    }

    /// Explains why no deciding metric was judged, safe to display; `None` if one was, or if
    /// [`Self::allow_unjudged`] is set.
    pub fn unjudged(&self) -> Option<String> {
        let mut deciding = self.comparison.lines.iter().filter(|line| line.primary);
        let is_judged = self.allow_unjudged || deciding.any(VerdictRow::is_judged);
        (!is_judged).then(|| {
            let why = clean(&self.conclusion());
            tr!("nothing was judged. {why}", why)
        })
    }

    /// Returns the verdict on a line, or its qualification if that was the question.
    pub fn word(&self, line: &VerdictRow) -> &'static str {
        translated(self.word_in_english(line))
    }

    /// Returns the verdict on a line in English, as in gates and JSON.
    pub fn word_in_english(&self, line: &VerdictRow) -> &'static str {
        match self.qualify {
            true => line.qualification.word(),
            false => line.verdict.word(),
        }
    }

    /// Returns the verdict on a line with its basis, safe to display.
    pub fn reason(&self, line: &VerdictRow) -> String {
        let mut reason = self.word(line).to_owned();
        if let Some(change) = line.change {
            reason.push_str(&format!(", {}", percent(change)));
            if let Some(ends) = ends(change) {
                let confidence = (1e4 * change.confidence).round() / 1e2;
                reason.push_str(&tr!(" ({confidence} % interval {ends})", confidence, ends));
            }
        }
        for note in &line.notes {
            reason.push_str(&format!("; {note}"));
        }
        clean(&reason)
    }

    /// Returns the labels of a metric on both sides, safe to show; `None` if neither is known.
    pub fn measured(&self, metric: &str) -> Option<String> {
        let of = |sources: &[ComparedSource<'_>]| {
            let mut figures = sources.iter().flat_map(|source| source.figures);
            let figure = figures.find(|figure| figure.metric == metric)?;
            figure.measured.as_deref().map(measured_in_words)
        };
        let known = |what: Option<String>| what.unwrap_or_else(|| tr!("not known").to_owned());
        match (of(&self.a_sources), of(&self.b_sources)) {
            (a, b) if a == b => a,
            (a, b) => Some(format!("A {}, B {}", known(a), known(b))),
        }
    }
}

/// Returns the reasons to doubt figures of a side, each once. The spread and number of trials are
/// left out, because the verdicts already contain them.
fn doubts(sources: &[ComparedSource<'_>]) -> Vec<String> {
    let mut doubts: Vec<String> = Vec::new();
    for run in sources.iter().filter_map(|source| source.run) {
        for warning in warnings::collect(&Summary::of(run)) {
            let judged = matches!(warning, Warning::Spread { .. } | Warning::FewTrials { .. });
            let doubt = warning.message(NAMES);
            if !judged && !doubts.contains(&doubt) {
                doubts.push(doubt);
            }
        }
    }
    doubts
}

/// Ranking with its source.
#[derive(Debug)]
pub struct Ranked<'a> {
    /// Name of the source in the user's words.
    pub source: &'a str,
    /// Condition with which the others are compared; `None` compares all pairs.
    pub baseline: Option<&'a str>,
    /// Options of the ranking.
    pub options: &'a Options,
    /// Result of the ranking.
    pub ranking: &'a Ranking,
    /// Warnings about the whole ranking, one sentence each.
    pub warnings: Vec<Told>,
}

/// Differences that numbers of trials with a given spread can show.
#[derive(Clone, Debug)]
pub struct Power {
    /// Name of the metric or job that varies.
    pub name: String,
    /// Coefficient of variation, as a share.
    pub cv: f64,
    /// Significance level of the test.
    pub alpha: f64,
    /// Margin of the verdicts, as a share.
    pub margin: f64,
    /// Results for increasing numbers of trials.
    pub rows: Vec<power::PowerRow>,
    /// Variance between runs at different times; `None` if there is no run.
    pub between: Option<RunVariance>,
    /// Results for increasing numbers of such runs.
    pub of_runs: Vec<power::PowerRow>,
}

impl Power {
    /// Usual numbers of trials.
    const TRIALS: [u32; 10] = [3, 4, 5, 6, 8, 10, 15, 20, 50, 100];
    /// Numbers of runs.
    const RUNS: [u32; 6] = [1, 2, 3, 4, 6, 10];

    /// Computes the power for trials that vary by `cv` (a share). One of `metrics` deciding metrics
    /// is tested, at the first level of Holm's procedure.
    pub fn of(name: String, cv: f64, metrics: usize, margin: f64) -> Self {
        let alpha = LEVEL / metrics.max(1) as f64;
        Self {
            name,
            cv,
            alpha,
            margin,
            rows: power::table(cv, alpha, margin, &Self::TRIALS),
            between: None,
            of_runs: Vec::new(),
        }
    }

    /// Adds the results for several runs at different times.
    #[must_use]
    pub fn of_runs(self, between: Option<RunVariance>) -> Self {
        let rows = between
            .map(|between| power::table_of_runs(&between, self.alpha, self.margin, &Self::RUNS));
        Self {
            between,
            of_runs: rows.unwrap_or_default(),
            ..self
        }
    }
}
