//! Change points of a metric over many runs: when a series of runs became faster or slower.
//!
//! [`suspects`] finds candidates with the method of Apache Otava. [`find`] applies further tests to
//! them. The result depends on the points alone, so the same points give the same changes on every
//! machine.
//!
//! To add a rule: add a field of `Rules`, apply it in `judged`, and add a series to the tests that
//! needs it. It must pass `cargo xtask calibrate --changes` and be described in `docs/series.md`.
//!
//! Sources:
//!
//! - Candidates: E-divisive means in sliding windows, with Student's t in place of permutations
//!   (Fleming and others 2023, "Hunter", arXiv 2301.03034; Apache Otava is its successor).
//! - Most likely change point of an interval: E-divisive means of Matteson and James (2014, arXiv
//!   1306.4933), equations 5 and 7, with exponent 1.

pub use assay_model::figures::OpinionState;

use crate::distributions;
use crate::summary::{mean, median};
use crate::verdict::compare::Comparison;
use crate::verdict::units::compare_runs;
use crate::verdict::{Options, Summary, VerdictRow};
use assay_model::figures::{Better, Change, Figure, Sample, Verdict};
use std::ops::Range;

/// Name and version of the method, stored with each change: another version may find other changes.
pub const METHOD: &str = "e-divisive/1";

/// Largest distance in points between a change and a user's mark on it: a change moves slightly as
/// runs are added.
pub const JITTER: usize = 2;

/// One run in a series.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPoint {
    /// Identifier of the run.
    pub run_id: String,
    /// Start time, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Figure of each trial in the unit of the metric. A tail has a single figure, from the pooled
    /// histograms of all trials.
    pub trials: Vec<f64>,
}

/// One metric of one job on one device, over runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeries {
    /// Runs, the oldest first. Runs without a positive figure are ignored.
    pub points: Vec<RunPoint>,
    /// Direction in which the metric is better.
    pub better: Better,
    /// `true` for percentiles from the 99th on: they count as changed only together with another
    /// metric of the job.
    pub tail: bool,
    /// Largest change without practical relevance, as a share; `None` for the margin of the
    /// [`Rules`].
    pub margin: Option<f64>,
}

/// Opinion of a user on the change that begins with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// First run after the change.
    pub run_id: String,
    /// The opinion.
    pub state: OpinionState,
}

/// Runs on one side of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideOfChange {
    /// Number of runs that were compared, those nearest to the change.
    pub runs: usize,
    /// Geometric mean of their centres, in the unit of the metric.
    pub centre: f64,
}

/// Change of a series between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first point after the change.
    pub index: usize,
    /// The run of that point.
    pub run_id: String,
    /// Last run before the change.
    pub before_run_id: String,
    /// Start of the first run after the change, milliseconds since 1970 (UTC).
    pub started_unix_ms: u64,
    /// Runs before the change.
    pub before: SideOfChange,
    /// Runs after the change.
    pub after: SideOfChange,
    /// Change of the metric in percent, with its interval.
    pub effect: Option<Change>,
    /// Verdict on the runs after the change against those before it.
    pub verdict: Verdict,
    /// p value of the verdict.
    pub p: f64,
    /// `true` if the user accepted the change.
    pub accepted: bool,
    /// Method that found the change, [`METHOD`].
    pub method: &'static str,
}

assay_model::defaults! {
    /// Rules for changes. `cargo xtask calibrate --changes` checks the error rates of the defaults.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Rules {
        /// Search for candidates.
        pub windows: Windows,
        /// Fewest runs on each side of a change.
        pub min_runs: usize = 3,
        /// Fewest runs on both sides together; fewer do not show the size of the noise.
        pub min_runs_together: usize = 10,
        /// Number of runs from which a side is settled. Below it, its values may not overlap those
        /// of the other side, and [`Self::level_of_few`] applies: from seven runs a side on, ranks
        /// can have a p value below [`Self::level`].
        pub settled_runs: usize = 7,
        /// Most runs of a side that are compared.
        pub max_runs: usize = 30,
        /// Largest p value of a change.
        pub level: f64 = 0.001,
        /// Largest p value if a side is not settled; a few runs cannot have a smaller one.
        pub level_of_few: f64 = 0.02,
        /// Fewest standard errors of a change, by the noise of the series.
        pub standard_errors: f64 = 4.5,
        /// Smallest share by which a straight line must fit the runs worse than a step.
        pub worse_line: f64 = 0.1,
        /// Margin of a series without a margin, as a share.
        pub margin: f64 = 0.02,
    }
}

/// Number of neighbours on each side with which a value is compared.
const NEIGHBOURS: usize = 4;

/// Distance from the median of its neighbours beyond which a value is an outlier, in robust
/// standard deviations.
const FAR: f64 = 4.0;

/// A median absolute deviation times this is a normal standard deviation.
const FROM_MEDIAN: f64 = 1.4826;

/// Replaces single outliers by the median of their neighbours, so that they neither hide a change
/// nor look like two.
///
/// A value is an outlier only if both neighbourhoods lie on the same side of it, and it is farther
/// from both than they are from each other. The first values of a new level are therefore no
/// outliers.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let noise = noise(values);
    let cleaned = values.iter().enumerate();
    cleaned
        .map(|(at, value)| replacement(values, at, noise).unwrap_or(*value))
        .collect()
}

fn replacement(values: &[f64], at: usize, noise: f64) -> Option<f64> {
    let value = values.get(at)?;
    let before = values.get(at.saturating_sub(NEIGHBOURS)..at)?;
    let rest = values.get(at + 1..)?;
    let after = rest.get(..NEIGHBOURS).unwrap_or(rest);
    let off = |side: &[f64]| Some(value - median(side)?);
    let (off_before, off_after) = (off(before)?, off(after)?);
    let nearer = off_before.abs().min(off_after.abs());
    let between = off_before * off_after <= 0.0;
    let step = (off_before - off_after).abs();
    if between || nearer <= step.max(FAR * noise) {
        return None;
    }
    let around: Vec<f64> = before.iter().chain(after).copied().collect();
    median(&around)
}

/// Returns the standard deviation of a value, from the differences of neighbours, which ignore
/// levels.
fn noise(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values
        .windows(2)
        .filter_map(|pair| match *pair {
            [one, next] => Some((next - one).abs()),
            _ => None,
        })
        .collect();
    FROM_MEDIAN * median(&steps).unwrap_or(0.0) / std::f64::consts::SQRT_2
}

/// Finds the changes of all metrics of one job on one device, in the order of `series`, with the
/// opinions on each.
///
/// A change of a tail counts only if a series that is not a tail changed at the same run, or at
/// most [`JITTER`] runs from it. A change that the user accepted always counts.
pub fn find_in_job(series: &[(RunSeries, Vec<Opinion>)], rules: &Rules) -> Vec<Vec<ChangePoint>> {
    let found = series.iter();
    let mut found: Vec<_> = found
        .map(|(series, opinions)| find(series, opinions, rules))
        .collect();
    let mut steady = Vec::new();
    for ((of, _), changes) in series.iter().zip(&found) {
        if !of.tail {
            steady.extend(changes.iter().map(|change| change.run_id.clone()));
        }
    }
    for ((of, _), changes) in series.iter().zip(&mut found) {
        if of.tail {
            changes.retain(|change| change.accepted || is_near(of, change, &steady));
        }
    }
    found
}

/// `true` if one of the runs is near the change of a series.
fn is_near(series: &RunSeries, change: &ChangePoint, runs: &[String]) -> bool {
    let first = change.index.saturating_sub(JITTER);
    let near = series.points.iter().skip(first).take(2 * JITTER + 1);
    let mut near = near.map(|point| &point.run_id);
    near.any(|id| runs.contains(id))
}

/// Runs of a series as input of the judgement.
struct JudgedRuns<'a> {
    /// Logarithm of each run's centre, without single outliers.
    pub logs: &'a [f64],
    /// Figure of each run.
    pub runs: &'a [Vec<Figure>],
    /// Standard deviation of a run, from the differences of neighbours.
    pub noise: f64,
    /// Margin, as a share.
    pub margin: f64,
    /// The rules.
    pub rules: &'a Rules,
}

/// Result of a comparison of both sides.
struct Finding {
    /// Runs before the change that were compared.
    pub before: Range<usize>,
    /// Runs after the change that were compared.
    pub after: Range<usize>,
    /// The verdict.
    pub row: VerdictRow,
    /// p value of the difference.
    pub p: f64,
}

impl JudgedRuns<'_> {
    /// Compares the runs on both sides of `at` within a part of the series, those nearest to `at`.
    pub fn compare(&self, part: &Range<usize>, at: usize) -> Option<Finding> {
        let most = self.rules.max_runs;
        let before = part.start.max(at.saturating_sub(most))..at;
        let after = at..part.end.min(at + most);
        let options = Options {
            margin: self.margin,
            ..Options::default()
        };
        let side = |range: &Range<usize>| self.runs.get(range.clone());
        let Comparison { lines, .. } = compare_runs(side(&before)?, side(&after)?, &options);
        let row = lines.into_iter().next()?;
        let p = row.p_adjusted.unwrap_or(1.0);
        Some(Finding {
            before,
            after,
            row,
            p,
        })
    }

    /// `true` if a difference is a change of the series.
    pub fn counts(&self, finding: &Finding) -> bool {
        let (Verdict::Faster(change) | Verdict::Slower(change)) = finding.row.verdict else {
            return false;
        };
        let Rules {
            min_runs,
            min_runs_together,
            settled_runs,
            ..
        } = *self.rules;
        let (before, after) = (finding.before.len(), finding.after.len());
        let runs = before.min(after);
        let settled = runs >= settled_runs;
        let level = match settled {
            true => self.rules.level,
            false => self.rules.level_of_few,
        };
        let size = change.log().abs();
        runs >= min_runs
            && before + after >= min_runs_together
            && finding.p <= level
            && change.percent.abs() > 100.0 * self.margin
            && size > self.rules.standard_errors * self.standard_error(finding)
            && (settled || self.is_apart(finding))
            && !self.is_drift(finding)
    }

    /// Returns the standard error of the difference. Uses the spread of the compared runs if it is
    /// larger than the noise of the whole series: noise may have grown. A smaller spread is
    /// ignored, since few runs may lie close together by chance.
    fn standard_error(&self, finding: &Finding) -> f64 {
        let (before, after) = self.sides(finding);
        let (n, m) = (before.len() as f64, after.len() as f64);
        let pooled = (squares(before) + squares(after)) / (n + m - 2.0).max(1.0);
        self.noise.max(pooled.sqrt()) * (n.recip() + m.recip()).sqrt()
    }

    /// `true` if the values of both sides do not overlap.
    fn is_apart(&self, finding: &Finding) -> bool {
        let ends = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (low, high)
        };
        let (before, after) = self.sides(finding);
        let (before, after) = (ends(before), ends(after));
        before.1 < after.0 || after.1 < before.0
    }

    /// `true` if a straight line fits the runs nearly as well as a step.
    fn is_drift(&self, finding: &Finding) -> bool {
        let (before, after) = self.sides(finding);
        let step = squares(before) + squares(after);
        squares_of_line(&[before, after].concat()) <= (1.0 + self.rules.worse_line) * step
    }

    fn sides(&self, finding: &Finding) -> (&[f64], &[f64]) {
        let side = |range: &Range<usize>| self.logs.get(range.clone()).unwrap_or_default();
        (side(&finding.before), side(&finding.after))
    }
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Sum of squared deviations from the line of least squares through values at equal distances.
fn squares_of_line(values: &[f64]) -> f64 {
    let mean = mean(values);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (x, y) = (index as f64 - middle, value - mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    yy - xy * xy / xx
}

/// Returns the figure of one run; the name of its metric is not used.
fn figure(trials: &[f64], better: Better) -> Figure {
    Figure {
        condition: String::new(),
        metric: String::new(),
        unit: String::new(),
        better: Some(better),
        primary: true,
        sample: Sample::Values {
            values: trials.to_vec(),
            positions: Vec::new(),
        },
        measured: None,
        waited: None,
    }
}

/// Finds the changes of a series, in order.
///
/// A candidate of [`suspects`] counts if there are enough runs on both sides; if the verdict on the
/// runs after it against those before it, each run one observation, is faster or slower at a strict
/// level and by more than the margin; if the change is large relative to the noise of the series;
/// and if a step fits the runs better than a drift. Single outliers are not changes. With few runs
/// on a side, its values may not overlap those of the other.
///
/// Changes that the user accepted are always included and begin a new series; changes that the user
/// marked as false are left out.
pub fn find(series: &RunSeries, opinions: &[Opinion], rules: &Rules) -> Vec<ChangePoint> {
    let runs = Runs::of(series);
    let marks = |state| runs.marked(opinions, state);
    let (accepted, denied) = (marks(OpinionState::Accepted), marks(OpinionState::False));
    let cleaned = without_outliers(&runs.logs);
    let judged = JudgedRuns {
        logs: &cleaned,
        runs: &runs.figures,
        noise: noise(&cleaned),
        margin: series.margin.unwrap_or(rules.margin),
        rules,
    };
    let cuts = Cuts {
        accepted: &accepted,
        judged: &judged,
    };
    let found = cuts.settled(cuts.candidates());
    let found = found.into_iter().filter(|(at, _)| {
        accepted.contains(at) || !denied.iter().any(|denied| denied.abs_diff(*at) <= JITTER)
    });
    found
        .filter_map(|(at, finding)| runs.change(at, finding, accepted.contains(&at)))
        .collect()
}

/// Runs of a series that have figures.
struct Runs<'a> {
    /// Index in the series, and the run.
    points: Vec<(usize, &'a RunPoint)>,
    /// Logarithm of the geometric mean of each run's trials.
    logs: Vec<f64>,
    figures: Vec<Vec<Figure>>,
}

impl<'a> Runs<'a> {
    fn of(series: &'a RunSeries) -> Self {
        let mut runs = Self {
            points: Vec::new(),
            logs: Vec::new(),
            figures: Vec::new(),
        };
        for (index, point) in series.points.iter().enumerate() {
            let logs: f64 = point.trials.iter().map(|trial| trial.ln()).sum();
            let centre = logs / point.trials.len() as f64;
            if centre.is_finite() && point.trials.iter().all(|trial| *trial > 0.0) {
                runs.points.push((index, point));
                runs.logs.push(centre);
                runs.figures
                    .push(vec![figure(&point.trials, series.better)]);
            }
        }
        runs
    }

    /// Returns the places of the runs with this opinion of the user, in order.
    fn marked(&self, opinions: &[Opinion], state: OpinionState) -> Vec<usize> {
        let marked = |id: &str| {
            let mut of_state = opinions.iter().filter(|opinion| opinion.state == state);
            of_state.any(|opinion| opinion.run_id == id)
        };
        let runs = self.points.iter().enumerate();
        runs.filter(|(place, (_, point))| *place > 0 && marked(&point.run_id))
            .map(|(place, _)| place)
            .collect()
    }

    fn change(&self, at: usize, finding: Finding, accepted: bool) -> Option<ChangePoint> {
        let (index, first) = *self.points.get(at)?;
        let (_, last_before) = *self.points.get(at.checked_sub(1)?)?;
        let side = |summary: Option<Summary>| {
            summary.map(|side| SideOfChange {
                runs: side.n,
                centre: side.centre,
            })
        };
        Some(ChangePoint {
            index,
            run_id: first.run_id.clone(),
            before_run_id: last_before.run_id.clone(),
            started_unix_ms: first.started_unix_ms,
            before: side(finding.row.a)?,
            after: side(finding.row.b)?,
            effect: finding.row.change,
            verdict: finding.row.verdict,
            p: finding.p,
            accepted,
            method: METHOD,
        })
    }
}

/// Cuts of a series: accepted cuts, and candidates between them.
struct Cuts<'a> {
    accepted: &'a [usize],
    judged: &'a JudgedRuns<'a>,
}

impl Cuts<'_> {
    /// Returns the candidates of each part between accepted cuts, with the accepted cuts.
    fn candidates(&self) -> Vec<usize> {
        let logs = self.judged.logs;
        let mut cuts = self.accepted.to_vec();
        for part in parts(self.accepted, logs.len()) {
            let values = logs.get(part.clone()).unwrap_or_default();
            let found = suspects(values, &self.judged.rules.windows);
            cuts.extend(found.iter().map(|suspect| part.start + suspect.index));
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// Drops the weakest cut that does not count, until all others count.
    fn settled(&self, mut cuts: Vec<usize>) -> Vec<(usize, Finding)> {
        loop {
            let found = self.compared(&cuts);
            let fails = found.iter().filter(|(at, finding)| {
                !self.accepted.contains(at) && !self.judged.counts(finding)
            });
            let weakest = fails.max_by(|(_, one), (_, other)| one.p.total_cmp(&other.p));
            let Some(&(weakest, _)) = weakest else {
                return found;
            };
            cuts.retain(|cut| *cut != weakest);
        }
    }

    fn compared(&self, cuts: &[usize]) -> Vec<(usize, Finding)> {
        let all: Vec<Range<usize>> = parts(cuts, self.judged.logs.len()).collect();
        let pairs = all.windows(2);
        pairs
            .filter_map(|pair| match pair {
                [before, after] => {
                    let part = before.start..after.end;
                    Some((after.start, self.judged.compare(&part, after.start)?))
                }
                _ => None,
            })
            .collect()
    }
}

assay_model::defaults! {
    /// Settings of the search for candidates.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Windows {
        /// Values of a window; at least 2.
        pub length: usize = 50,
        /// Largest p value of a candidate.
        pub max_p: f64 = 0.001,
        /// Smallest relative change of a candidate, as a share of the smaller mean.
        pub min_magnitude: f64,
    }
}

/// Position where a series may have changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// Index of the first value after the change.
    pub index: usize,
    /// p value of Student's t-test between the values up to both neighbouring cuts.
    pub p: f64,
    /// Relative change between the means of both sides, relative to the smaller one.
    pub magnitude: f64,
}

/// Finds candidates in a series, in order.
///
/// Cuts each window at its best place, then its parts, as long as the cut is significant at a
/// relaxed level. Merges the cuts of all windows: drops the weakest cut and tests those behind it
/// again with their new parts, until all are significant.
///
/// ```
/// use assay_stats::changes::{Windows, suspects};
/// let series = [10.0, 10.1, 9.9, 10.0, 10.1, 12.0, 12.1, 11.9, 12.0, 12.1];
/// let found = suspects(&series, &Windows::default());
/// assert_eq!(found.iter().map(|s| s.index).collect::<Vec<_>>(), [5]);
/// ```
pub fn suspects(values: &[f64], windows: &Windows) -> Vec<Suspect> {
    merge(&weak_cuts(values, windows), values, windows)
}

/// Returns the level of the cuts before they are merged, as in Otava.
fn relaxed(max_p: f64) -> f64 {
    match max_p {
        p if p < 0.05 => 10.0 * p,
        p if p < 0.5 => 2.0 * p,
        p => p,
    }
}

/// Returns the cuts of all windows. Each window begins half a window after the previous one, or
/// later at the latest cut.
fn weak_cuts(values: &[f64], windows: &Windows) -> Vec<usize> {
    let length = windows.length.max(2);
    let (mut start, mut cuts) = (0, Vec::new());
    while let Some(rest) = values.get(start..).filter(|rest| !rest.is_empty()) {
        let window = rest.get(..length).unwrap_or(rest);
        let found = cuts_of_window(window, relaxed(windows.max_p));
        cuts.extend(found.iter().map(|at| start + at));
        let last = found.last().map_or(0, |at| start + at);
        start = last.max(start + length / 2);
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Cuts a window repeatedly at its best place until the cut is not significant; returns the cuts in
/// order.
fn cuts_of_window(window: &[f64], max_p: f64) -> Vec<usize> {
    let mut cuts: Vec<usize> = Vec::new();
    loop {
        let parts = parts(&cuts, window.len());
        let found = parts.filter_map(|part| {
            let cut = best_cut(window.get(part.clone())?)?;
            Some((cut.divergence, part.start, part.start + cut.at, part.end))
        });
        // The first of several equal cuts is chosen.
        let best = found.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((_, start, at, end)) = best else {
            return cuts;
        };
        // A p value of NaN is not significant.
        let significant = suspect(window, start, at, end).p <= max_p;
        if !significant {
            return cuts;
        }
        let place = cuts.partition_point(|cut| *cut < at);
        cuts.insert(place, at);
    }
}

/// Returns the parts of a series between cuts.
fn parts(cuts: &[usize], length: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(length));
    starts.zip(ends).map(|(start, end)| start..end)
}

fn merge(cuts: &[usize], values: &[f64], windows: &Windows) -> Vec<Suspect> {
    let mut found = tested(cuts, values);
    while let Some(weakest) = weakest(&found, windows) {
        found.remove(weakest);
        let cuts: Vec<usize> = found.iter().map(|suspect| suspect.index).collect();
        // As in Otava, the two cuts after the dropped one are tested again, and the one before it
        // keeps its result.
        let again = tested(&cuts, values);
        for (old, new) in found.iter_mut().zip(again).skip(weakest).take(2) {
            *old = new;
        }
    }
    found
}

/// Returns the cut with the largest p value, or, if all are significant, the cut with the smallest
/// change; `None` if all cuts are kept.
fn weakest(found: &[Suspect], windows: &Windows) -> Option<usize> {
    let first = |better: fn(&Suspect, &Suspect) -> bool| {
        let all = 0..found.len();
        all.reduce(|best, next| match (found.get(best), found.get(next)) {
            (Some(a), Some(b)) if better(b, a) => next,
            _ => best,
        })
    };
    let by_p = first(|one, other| one.p > other.p)?;
    if found
        .get(by_p)
        .is_some_and(|weakest| weakest.p < windows.max_p)
    {
        let by_change = first(|one, other| one.magnitude < other.magnitude)?;
        let smallest = found.get(by_change)?.magnitude;
        return (smallest <= windows.min_magnitude).then_some(by_change);
    }
    Some(by_p)
}

/// Tests each cut between its neighbours.
fn tested(cuts: &[usize], values: &[f64]) -> Vec<Suspect> {
    let bounds: Vec<usize> = std::iter::once(0)
        .chain(cuts.iter().copied())
        .chain(std::iter::once(values.len()))
        .collect();
    let around = bounds.windows(3);
    around
        .filter_map(|bounds| match *bounds {
            [start, at, end] => Some(suspect(values, start, at, end)),
            _ => None,
        })
        .collect()
}

/// Runs Student's t-test between both sides of a cut. Uses population deviations, as Otava does.
fn suspect(values: &[f64], start: usize, at: usize, end: usize) -> Suspect {
    let left = values.get(start..at).unwrap_or_default();
    let right = values.get(at..end).unwrap_or_default();
    let (n, m) = (left.len() as f64, right.len() as f64);
    let (mean_left, mean_right) = (mean(left), mean(right));
    let df = n + m - 2.0;
    let squares = (n - 1.0) * variance(left, mean_left) + (m - 1.0) * variance(right, mean_right);
    let se = (squares / df * (n.recip() + m.recip())).sqrt();
    let p = match df > 0.0 {
        true => distributions::student_two_sided((mean_left - mean_right) / se, df),
        false => 1.0,
    };
    let change = |from: f64, to: f64| match from == 0.0 {
        true => 0.0,
        false => (to / from - 1.0).abs(),
    };
    let magnitude = change(mean_left, mean_right).max(change(mean_right, mean_left));
    Suspect {
        index: at,
        p,
        magnitude,
    }
}

/// Returns the population variance (divisor n, not n - 1).
fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / values.len() as f64
}

/// Best place to cut an interval in two.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    /// Index of the first value after the cut.
    pub at: usize,
    /// Divergence of the two parts.
    pub divergence: f64,
}

/// Finds the cut `at` and the end `until` that maximize the divergence of `values[..at]` and
/// `values[at..until]`; `None` below two values. The first of several equal cuts is returned.
///
/// The divergence is nm/(n + m) times the energy distance of both parts, with unbiased means
/// within them. Sums over pairs grow by one value at a time: O(n^2) in all.
fn best_cut(values: &[f64]) -> Option<Cut> {
    if values.len() < 2 {
        return None;
    }
    let distances = Distances::of(values);
    let mut best = Cut {
        at: 1,
        divergence: f64::NEG_INFINITY,
    };
    // Distances of each value to all values before the cut.
    let mut to_left = vec![0.0; values.len()];
    let mut within_left = 0.0;
    for (newest, value) in values.iter().enumerate().take(values.len() - 1) {
        within_left += to_left.get(newest).copied().unwrap_or_default();
        for (sum, other) in to_left.iter_mut().zip(values) {
            *sum += (value - other).abs();
        }
        let at = newest + 1;
        let divergence = distances.best_end(at, &to_left, within_left);
        if divergence > best.divergence {
            best = Cut { at, divergence };
        }
    }
    Some(best)
}

/// Sums of distances of an interval.
struct Distances {
    /// Distances of each value to all values before it.
    to_earlier: Vec<f64>,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let of_one = |(end, value): (usize, &f64)| {
            let earlier = values.iter().take(end);
            earlier.map(|other| (value - other).abs()).sum()
        };
        let to_earlier = values.iter().enumerate().map(of_one).collect();
        Self { to_earlier }
    }

    /// Largest divergence of a cut over all ends of its right part.
    fn best_end(&self, at: usize, to_left: &[f64], within_left: f64) -> f64 {
        let n = at as f64;
        let (mut cross, mut within_right) = (0.0, 0.0);
        let mut best = f64::NEG_INFINITY;
        let right = self.to_earlier.iter().zip(to_left).skip(at);
        for (index, (to_earlier, to_left)) in right.enumerate() {
            cross += to_left;
            within_right += to_earlier - to_left;
            let m = (index + 1) as f64;
            // Each product is rounded as in Otava, so that the same one of several equal
            // divergences is chosen.
            let left = weight(m, n, n + m) * within_left;
            let right = weight(n, m, n + m) * within_right;
            best = best.max(2.0 / (n + m) * cross - left - right);
        }
        best
    }
}

/// Weight of the pairs within a part of `n` values if the other part has `m`.
fn weight(m: f64, n: f64, all: f64) -> f64 {
    if n < 2.0 {
        return 0.0;
    }
    2.0 * m / (all * (n - 1.0))
}

#[cfg(test)]
mod tests;
