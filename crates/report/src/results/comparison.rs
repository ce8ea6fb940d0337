//! Comparison with its names, as every output shows it.
//!
//! A comparison states its contradictions: B is better at one kind of work and worse at another. No
//! single word applies to such a part, and the first figure would hide the other.

use crate::results::describe::{Jobs, is_alone, spoken};
use crate::results::findings::losses;
use crate::results::names::{self, ComparedSource};
use crate::results::summary::Summary;
use crate::results::warnings;
use crate::results::warnings::{NAMES, Warning};
use crate::words;
use crate::words::{clean, enumerate, percent_points, sentence};
use assay_lang::{Told, counted, key, tr, translated};
use assay_model::figures;
use assay_model::figures::{Change, Figure, LEVEL, Verdict};
use assay_model::run::Run;
use assay_stats::figures::measured_in_words;
use assay_stats::verdict::between::RunVariance;
use assay_stats::verdict::compare::{Comparison, Scope};
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranking};
use assay_stats::verdict::{Note, Options, VerdictRow, power, ranking};
use std::collections::BTreeMap;

/// Comparison with its sources.
#[derive(Clone, Debug)]
pub struct Compared<'a> {
    /// Names of both sides for people ([`names`]).
    pub names: [String; 2],
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
    /// Margins of single metrics, as shares, where they differ from that of the options.
    pub margins: BTreeMap<String, f64>,
    /// Requirements on side B beside the comparison.
    pub requirements: Vec<RequirementRow>,
    /// Sentence that names the command for more trials of the open metrics; empty if no metric is open
    /// or no command can add trials.
    pub remedy: String,
    /// True if gates pass a comparison in which no deciding metric was judged.
    pub allow_unjudged: bool,
    /// Sources of the figures of A, one for each unit.
    pub a_sources: Vec<ComparedSource<'a>>,
    /// Sources of the figures of B, one for each unit.
    pub b_sources: Vec<ComparedSource<'a>>,
}

/// Result for one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementRow {
    /// The requirement, as the user wrote it.
    pub requirement: String,
    /// Figure, both bounds and their unit; `None` if the run has none.
    pub figure: Option<(f64, (f64, f64), String)>,
    /// Finding where there is no figure, or the reason why it decides nothing.
    pub why: Option<String>,
    /// The decision.
    pub decision: Qualification,
}

impl RequirementRow {
    /// Returns the decision in one word: `pass`, `fail` or `open`.
    pub const fn word(&self) -> &'static str {
        decided(self.decision)
    }

    /// Returns the figure and its bounds; empty where there are none.
    pub fn in_words(&self) -> [String; 2] {
        match &self.figure {
            Some((centre, (low, high), unit)) => [
                words::value(unit, *centre),
                format!(
                    "{} .. {}",
                    words::value(unit, *low),
                    words::value(unit, *high)
                ),
            ],
            None => [String::new(), String::new()],
        }
    }
}

/// Returns the word of a decision for people.
const fn decided(decision: Qualification) -> &'static str {
    match decision {
        Qualification::Pass => key!("pass"),
        Qualification::Fail => key!("fail"),
        Qualification::Inconclusive => key!("open"),
    }
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

impl<'a> Compared<'a> {
    /// Returns the comparison for programs: sides are A and B.
    #[must_use]
    pub fn in_letters(&self) -> Self {
        Self {
            names: names::letters(),
            ..self.clone()
        }
    }

    /// Gives the sides of comparisons with one first side names that all differ.
    pub fn name_together(all: &mut [Self]) {
        let first = all.first().into_iter().map(|compared| &*compared.a_sources);
        let others = all.iter().map(|compared| &*compared.b_sources);
        let sides: Vec<&[ComparedSource<'_>]> = first.chain(others).collect();
        let letters = || ('A'..='Z').map(String::from).collect();
        let names = names::of_all(&sides).unwrap_or_else(letters);
        let first = names.first().cloned().unwrap_or_default();
        for (compared, name) in all.iter_mut().zip(names.into_iter().skip(1)) {
            compared.names = [first.clone(), name];
        }
    }

    /// Returns the name of a side.
    pub fn name_of(&self, side: figures::Side) -> &str {
        &self.names[usize::from(side == figures::Side::B)]
    }

    /// Returns the sources of both sides, each with the name of its side.
    pub fn named_sources(&self) -> impl Iterator<Item = (&str, &ComparedSource<'a>)> {
        let [a, b] = &self.names;
        let of_a = self
            .a_sources
            .iter()
            .map(move |source| (a.as_str(), source));
        of_a.chain(
            self.b_sources
                .iter()
                .map(move |source| (b.as_str(), source)),
        )
    }

    /// Returns the sentence of a note with the names of the sides, safe to display.
    pub fn told(&self, note: &Note) -> String {
        clean(&note.told(&self.names))
    }

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
        let [a, b] = &self.names;
        match self.qualify {
            true => tr!(
                "may {b} replace {a}, at most {margin} % slower?",
                a,
                b,
                margin
            ),
            false => tr!(
                "is {b} faster, slower or equivalent, within {margin} %?",
                b,
                margin
            ),
        }
    }

    /// Returns warnings about the whole comparison, a sentence each, safe to display: notes on the
    /// comparison, and doubts about figures of a side.
    pub fn all_warnings(&self) -> Vec<String> {
        let notes = self.comparison.notes.iter().map(|note| self.told(note));
        let warnings = self
            .warnings
            .iter()
            .map(|warning| clean(&warning.to_string()));
        let mut warnings: Vec<String> = notes.chain(warnings).collect();
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
        for side in [figures::Side::A, figures::Side::B] {
            self.join_missing(side, &mut warnings);
        }
        warnings
    }

    /// Replaces the warnings on metrics that one side lacks by a single one.
    fn join_missing(&self, side: figures::Side, warnings: &mut Vec<String>) {
        let notes = self.comparison.notes.iter();
        let missing = notes.filter_map(|note| match note {
            Note::Missing(of, metric) if *of == side => Some((metric, self.told(note))),
            _ => None,
        });
        let missing: Vec<_> = missing.collect();
        let [(first, _), _, ..] = &missing[..] else {
            return;
        };
        warnings.retain(|warning| missing.iter().all(|(_, told)| told != warning));
        warnings.push(clean(&tr!(
            "{metric} and {more} more are missing on {side}",
            metric = first,
            more = missing.len() - 1,
            side = self.name_of(side)
        )));
    }

    /// Returns the reasons to doubt figures of a side, with the side, one sentence each, safe to
    /// show.
    pub fn doubts(&self) -> Vec<String> {
        let (a, b) = (doubts(&self.a_sources), doubts(&self.b_sources));
        let (both, of_a): (Vec<_>, Vec<_>) = a.into_iter().partition(|doubt| b.contains(doubt));
        let of_b = b.into_iter().filter(|doubt| !both.contains(doubt));
        let [name_a, name_b] = &self.names;
        let of_a = of_a.into_iter().map(|doubt| format!("{name_a}: {doubt}"));
        let of_b = of_b.map(|doubt| format!("{name_b}: {doubt}"));
        of_a.chain(of_b)
            .chain(both.iter().map(|doubt| tr!("both: {doubt}", doubt)))
            .collect()
    }

    /// Reports the sides on which a job lost data, with the first finding; not yet safe to display.
    pub fn lost_data(&self) -> Option<String> {
        let lost = figures::Side::BOTH
            .into_iter()
            .filter_map(|side| self.lost_on(side));
        let lost: Vec<String> = lost.collect();
        (!lost.is_empty()).then(|| lost.join(" "))
    }

    /// Reports the first job of a side that lost data; not yet safe to display.
    pub fn lost_on(&self, side: figures::Side) -> Option<String> {
        let sources = match side {
            figures::Side::A => &self.a_sources,
            figures::Side::B => &self.b_sources,
        };
        let runs = sources.iter().filter_map(|source| source.run);
        let first = runs.flat_map(|run| losses(&Summary::of(run))).next()?;
        Some(tr!(
            "Data was not kept on {side}: {job}, {first}.",
            side = self.name_of(side),
            job = first.job,
            first = first.first
        ))
    }

    /// Returns true if only its label prevents a metric from deciding.
    pub fn is_kept_by_label(&self, line: &VerdictRow) -> bool {
        let sources = self.a_sources.iter().chain(&self.b_sources);
        let mut figures = sources.flat_map(|source| source.figures);
        !line.primary
            && line.notes.iter().any(Note::is_on_label)
            && figures.any(|figure| figure.metric == line.metric && figure.primary)
    }

    /// Returns the metrics that would decide, but one side lacks them or has another label, each with
    /// the reason in a clause.
    pub fn uncompared(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (side, other, name) in [
            (&self.a_sources, figures::Side::B, self.b),
            (&self.b_sources, figures::Side::A, self.a),
        ] {
            let figures = side.iter().flat_map(|source| source.figures);
            for figure in figures.filter(|figure| figure.primary) {
                let mut lines = self.comparison.lines.iter();
                let line = lines.find(|line| line.metric == figure.metric);
                let differs =
                    |note: &&Note| matches!(note, Note::Measured(..) | Note::LabelNotRecorded(..));
                let why = match line {
                    None => Some(tr!(
                        "missing on {other} ({name})",
                        other = self.name_of(other),
                        name
                    )),
                    Some(line) => line.notes.iter().find(differs).map(|note| self.told(note)),
                };
                let is_known = found.iter().any(|(metric, _)| *metric == figure.metric);
                if let Some(why) = why.filter(|_| !is_known) {
                    found.push((figure.metric.clone(), why));
                }
            }
        }
        found
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

    /// Returns the verdict on a line for people, who read `open` for `inconclusive`; in English.
    pub const fn word_for_people(&self, line: &VerdictRow) -> &'static str {
        match self.qualify {
            true => decided(line.qualification),
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
            reason.push_str(&format!("; {}", self.told(note)));
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
            (a, b) => {
                let [name_a, name_b] = &self.names;
                Some(format!("{name_a} {}, {name_b} {}", known(a), known(b)))
            }
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

/// Verdicts, in the order in which they are counted.
const WORDS: [&str; 4] = ["faster", "slower", "equivalent", "no conclusion"];

impl Compared<'_> {
    /// Returns the conclusion in a few sentences; not yet safe to display.
    pub fn conclusion(&self) -> String {
        let short = self.in_short();
        match self.contradiction() {
            Some(contradiction) => format!("{short} {contradiction}"),
            None => short,
        }
    }

    /// Reports that B is faster at some work and slower at other work; `None` without such a
    /// contradiction.
    pub fn contradiction(&self) -> Option<String> {
        let faster = self.kinds(|verdict| matches!(verdict, Verdict::Faster(_)));
        let slower = self.kinds(|verdict| matches!(verdict, Verdict::Slower(_)));
        // Within one kind of work the verdicts of the metrics show it already.
        if faster.is_empty() || slower.is_empty() || faster == slower && faster.len() == 1 {
            return None;
        }
        Some(tr!(
            "Mixed: faster in {faster}, slower in {slower}.",
            faster = enumerate(&faster),
            slower = enumerate(&slower)
        ))
    }

    /// Counts the verdicts of the deciding metrics for each kind of work, in reading order; empty
    /// if there is only one kind.
    pub fn dimensions(&self) -> Vec<(String, String)> {
        let lines = self.comparison.lines.iter().filter(|line| line.primary);
        let kinds = self.jobs().grouped(lines, |line| &line.metric);
        if kinds.len() < 2 {
            return Vec::new();
        }
        let told = kinds.into_iter().map(|(title, lines)| {
            let words = lines.iter().map(|line| line.verdict.word());
            (title, tallied(words, &WORDS))
        });
        told.collect()
    }

    /// Returns the conclusion in a sentence or two.
    fn in_short(&self) -> String {
        let comparison = self.comparison;
        let primary: Vec<&VerdictRow> = comparison
            .lines
            .iter()
            .filter(|line| line.primary)
            .collect();
        if primary.is_empty() {
            let notes = || comparison.lines.iter().flat_map(|line| &line.notes);
            let unlabelled = notes().find_map(|note| match note {
                Note::LabelNotRecorded(side, false) => Some(side),
                _ => None,
            });
            return match (unlabelled, notes().any(Note::is_on_label)) {
                (Some(side), _) => tr!(
                    "Nothing decides: what {name} measured is not recorded. If its jobs are the same, and bypassed the page cache, --trust {side} lets it decide.",
                    name = self.name_of(*side),
                    side
                ),
                (None, true) => {
                    tr!("Not compared: no job has the same device label on both sides.").to_owned()
                }
                (None, false) => self.nothing_common(),
            };
        }
        let all = || primary.iter().map(|line| line.metric.as_str());
        let with = |wanted: fn(&Verdict) -> bool| {
            let found = primary.iter().filter(|line| wanted(&line.verdict));
            let names = found.map(|line| spoken(&line.metric, is_alone(&line.metric, all())));
            names.collect::<Vec<_>>()
        };
        let words = [
            ("faster", with(|v| matches!(v, Verdict::Faster(_)))),
            ("slower", with(|v| matches!(v, Verdict::Slower(_)))),
            ("equivalent", with(|v| matches!(v, Verdict::Equivalent(_)))),
        ];
        let found = words.iter().filter(|(_, metrics)| !metrics.is_empty());
        let found = found.map(|(word, metrics)| {
            let metrics = match metrics.len() {
                few if few <= NAMED => enumerate(metrics),
                many => tr!("{n} of {all} metrics", n = many, all = primary.len()),
            };
            tr!("{word} in {metrics}", word = translated(word), metrics)
        });
        let found: Vec<String> = found.collect();
        let mut said = Vec::new();
        if !found.is_empty() {
            said.push(tr!(
                "{b} is {found}",
                b = self.name_of(figures::Side::B),
                found = found.join("; ")
            ));
        }
        let open = with(|v| matches!(v, Verdict::NoConclusion { .. })).len();
        if open > 0 {
            let of = counted!(primary.len(), "{n} metric", "{n} metrics");
            said.push(match (said.is_empty(), open) {
                (true, 1) => tr!("No conclusion on the metric that decides").to_owned(),
                (true, _) => tr!("No conclusion on any of the {of} that decide", of),
                (false, _) => tr!("no conclusion on {open} of {of}", open, of),
            });
        }
        if open > 0 && primary.iter().any(|line| is_single(line)) {
            said.push(
                tr!("single trials: measure each side at least 4 times, better 6, in turn (assay sweep, or runs with --trials)")
                    .to_owned(),
            );
        }
        sentence(&said.join("; "))
    }

    /// Reports that the sides have no deciding metric in common, with the first one of each.
    fn nothing_common(&self) -> String {
        let first = |sources: &[ComparedSource<'_>]| {
            let mut figures = sources.iter().flat_map(|source| source.figures);
            let figure = figures.find(|figure| figure.primary)?;
            Some(figure.metric.clone())
        };
        let none = || tr!("none").to_owned();
        let [a, b] = &self.names;
        tr!(
            "Nothing to compare: the metrics of {a} ({of_a}) are not those of {b} ({of_b}).",
            a,
            b,
            of_a = first(&self.a_sources).unwrap_or_else(none),
            of_b = first(&self.b_sources).unwrap_or_else(none)
        )
    }

    /// Returns the kinds of work with a metric of that verdict.
    fn kinds(&self, wanted: fn(&Verdict) -> bool) -> Vec<String> {
        let lines = self.comparison.lines.iter();
        let found = lines.filter(|line| line.primary && wanted(&line.verdict));
        let kinds = self.jobs().grouped(found, |line| &line.metric);
        let kinds = kinds.into_iter();
        kinds.map(|(title, _)| format!("“{title}”")).collect()
    }
}

/// Formats a change: `-3.9 %`.
pub fn percent(change: Change) -> String {
    words::change(change.percent)
}

/// Returns the interval as `-11.7 .. +4.6 %`.
pub fn ends(change: Change) -> Option<String> {
    let (low, high) = change.interval?;
    Some(format!("{low:+.1} .. {high:+.1} %"))
}

/// Counts each word: `2 faster, 5 equivalent`.
pub fn tallied<'a>(words: impl Iterator<Item = &'a str>, kinds: &[&str]) -> String {
    let words: Vec<&str> = words.collect();
    let counts = kinds.iter().filter_map(|kind| {
        let count = words.iter().filter(|word| *word == kind).count();
        (count > 0).then(|| tr!("{n} {outcome}", n = count, outcome = translated(kind)))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// Describes the drift of the deciding metrics during the session; `None` if the order is unknown.
pub fn drift(comparison: &Comparison) -> Option<String> {
    let primary = comparison.lines.iter().filter(|line| line.primary);
    // A drift that cannot be separated from the difference is not removed.
    let primary = primary.filter(|line| !line.notes.contains(&Note::OrderConfounded));
    let known: Vec<(&str, Change)> = primary
        .filter_map(|line| Some((line.metric.as_str(), line.drift?)))
        .collect();
    let shows = |change: &Change| change.interval.is_some_and(|(low, high)| low * high > 0.0);
    let told = known.iter().filter(|(_, change)| shows(change));
    let told: Vec<String> = told
        .map(|(metric, change)| {
            let (name, ends) = (percent(*change), ends(*change).unwrap_or_default());
            format!("{metric} {name} ({ends})")
        })
        .collect();
    match (known.is_empty(), told.as_slice()) {
        (true, _) => None,
        (false, []) => Some(tr!("no drift over the session shows").to_owned()),
        (false, told) => Some(tr!(
            "drift over the session, taken out: {metrics}",
            metrics = told.join("; ")
        )),
    }
}

/// Number of metrics above which they are counted instead of named.
const NAMED: usize = 3;

/// Returns true if a side has only one trial.
fn is_single(line: &VerdictRow) -> bool {
    let sides = [&line.a, &line.b].into_iter().flatten();
    let mut sides = sides.map(|side| side.n);
    sides.any(|n| n == 1)
}

/// Notes that apply to several metrics, reported once.
#[derive(Debug)]
pub struct SharedNotes {
    /// Notes with the number of metrics that they apply to.
    notes: Vec<(String, usize)>,
    /// Names of the sides.
    names: [String; 2],
    metrics: usize,
}

impl SharedNotes {
    /// Collects the notes that apply to every metric. A note about too few trials is shared as soon
    /// as it applies to two metrics.
    pub fn of(comparison: &Comparison, names: &[String; 2]) -> Self {
        let metrics = comparison.lines.len();
        let mut notes: Vec<(String, usize)> = Vec::new();
        for note in comparison.lines.iter().flat_map(|line| &line.notes) {
            let with = comparison.lines.iter();
            let with = with.filter(|line| line.notes.contains(note)).count();
            let text = note.told(names);
            let enough = with > 1 && (with == metrics || note.is_on_trials());
            if enough && !notes.iter().any(|(known, _)| *known == text) {
                notes.push((text, with));
            }
        }
        Self {
            notes,
            names: names.clone(),
            metrics,
        }
    }

    /// Returns the notes, each with the metrics that it applies to.
    pub fn told(&self) -> impl Iterator<Item = String> + '_ {
        self.notes.iter().map(|(note, with)| match *with {
            all if all == self.metrics => tr!("all metrics: {note}", note),
            some => tr!(
                "{metrics}: {note}",
                metrics = counted!(some, "{n} metric", "{n} metrics"),
                note
            ),
        })
    }

    /// Returns true if a note is shared.
    pub fn has(&self, note: &Note) -> bool {
        let note = note.told(&self.names);
        self.notes.iter().any(|(known, _)| *known == note)
    }

    /// Returns the notes of a metric that are not shared.
    pub fn not_among(&self, notes: &[Note]) -> Vec<String> {
        let notes = notes.iter().map(|note| note.told(&self.names));
        let shared = |note: &String| self.notes.iter().any(|(known, _)| known == note);
        notes.filter(|note| !shared(note)).collect()
    }
}

/// Formats the possible ranks of a condition: `2`, `1-3`.
pub fn places(ranked: &ranking::Ranked) -> String {
    match (ranked.best_rank, ranked.worst_rank) {
        (best, worst) if best == worst => best.to_string(),
        (best, worst) => format!("{best}-{worst}"),
    }
}

/// Returns each verdict with its pairs, safe to display; against a `baseline` only the other
/// condition of a pair is named.
pub fn pairs(metric: &MetricRanking, baseline: bool) -> Vec<String> {
    let mut words: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in &metric.pairs {
        // Most of all pairs have no conclusion.
        if baseline || !matches!(pair.verdict, Verdict::NoConclusion { .. }) {
            let said = words.entry(translated(pair.verdict.word())).or_default();
            said.push(clean(&pair_words(pair, baseline)));
        }
    }
    let words = words.into_iter();
    words
        .map(|(word, pairs)| format!("{word}: {}", pairs.join("; ")))
        .collect()
}

fn pair_words(pair: &Pair, baseline: bool) -> String {
    let name = match &pair.verdict {
        _ if baseline => pair.b.clone(),
        Verdict::Equivalent(_) => enumerate(&[&pair.b, &pair.a]),
        _ => tr!("{b} than {a}", b = pair.b, a = pair.a),
    };
    let Some(Change {
        percent, interval, ..
    }) = pair.change
    else {
        return name;
    };
    match interval {
        Some((low, high)) => format!("{name} ({percent:+.1} %, {low:+.1} .. {high:+.1})"),
        None => format!("{name} ({percent:+.1} %)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::{Sides, repeated};
    use assay_model::figures::Verdict;

    fn of(factor: fn(&str) -> f64) -> Option<String> {
        let sides = Sides::of(repeated(2, |_| 1.0), repeated(2, factor));
        sides.compared().contradiction()
    }

    #[test]
    fn kinds_of_work_that_point_both_ways_are_named() {
        let said = of(|job| match job {
            "seq-read-1m" => 1.4,
            "rand-rw-4k" => 0.7,
            _ => 1.0,
        });
        let said = said.expect("a contradiction");
        assert!(said.contains("faster in “Mixed”, slower in"), "{said}");
        assert!(said.contains("slower in “Sequential”"), "{said}");
    }

    #[test]
    fn one_direction_is_none() {
        assert_eq!(of(|_| 1.4), None);
        assert_eq!(of(|_| 1.0), None);
    }

    /// Nor in the conclusion: `dd-plain` measured the page cache on both sides.
    #[test]
    fn the_page_cache_has_no_say() {
        let slower = |factor: fn(&str) -> f64| Sides::of(repeated(2, |_| 1.0), repeated(2, factor));
        let sides = slower(|job| if job == "dd-plain" { 1.4 } else { 1.0 });
        let lines = sides.comparison.lines.iter();
        let mut plain = lines.filter(|line| line.metric == "dd-plain: write_bw");
        let plain = plain.next().expect("it is shown");
        assert!(matches!(plain.verdict, Verdict::Slower(_)), "{plain:#?}");
        assert!(!plain.primary);
        assert!(
            plain.notes[0].to_string().contains("page-cache"),
            "{plain:#?}"
        );
        let concluded = sides.compared().conclusion();
        assert!(!concluded.contains("dd-plain"), "{concluded}");
        let mixed = slower(|job| match job {
            "dd-plain" => 1.4,
            "rand-rw-4k" => 0.7,
            _ => 1.0,
        });
        assert_eq!(mixed.compared().contradiction(), None);
    }

    /// Beside metrics that cannot be judged for another reason.
    #[test]
    fn too_few_trials_are_told_once() {
        let mut comparison = Sides::new().comparison;
        let few = Note::TooFew(3, 4);
        for line in &mut comparison.lines {
            line.notes = vec![few.clone()];
        }
        let (first, last) = (comparison.lines.len() - 1, &mut comparison.lines[0]);
        last.notes = vec![Note::Directions];
        let shared = SharedNotes::of(&comparison, &names::letters());
        let told: Vec<String> = shared.told().collect();
        assert_eq!(told, [format!("{first} metrics: {few}")]);
        let lines = comparison.lines.iter();
        let beside: Vec<String> = lines.flat_map(|l| shared.not_among(&l.notes)).collect();
        assert_eq!(beside, [Note::Directions.to_string()]);
    }
}
