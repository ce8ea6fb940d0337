//! Search for the changes of one series: candidates, marks of the user, and the final selection.

use super::clean::{noise, without_outliers};
use super::judged::{Finding, JudgedRuns, figure};
use super::windows::{parts, suspects};
use super::{
    ChangePoint, JITTER, METHOD, Opinion, OpinionState, Rules, RunPoint, RunSeries, SideOfChange,
};
use crate::verdict::line::Summary;
use assay_model::figures::Figure;
use std::ops::Range;

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
