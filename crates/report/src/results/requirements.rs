//! Answers: whether a run meets requirements, and whether B may replace A.

use crate::results::comparison::{Compared, RequirementRow};
use crate::results::describe::{is_alone, spoken};
use crate::words::{clean, enumerate};
use assay_lang::{counted, tr, translated};
use assay_model::figures::{Better, Side};
use assay_model::trial::{Outcome, TrialRecord};
use assay_stats::verdict::VerdictRow;
use assay_stats::verdict::judge::Qualification;

/// Returns the number of requirements with this decision.
pub fn count(rows: &[RequirementRow], decision: Qualification) -> usize {
    rows.iter().filter(|row| row.decision == decision).count()
}

/// Returns the verdict on all requirements: the failed ones by name.
pub fn verdict(rows: &[RequirementRow]) -> String {
    let failed = rows
        .iter()
        .filter(|row| row.decision == Qualification::Fail);
    let failed: Vec<String> = failed.map(|row| clean(&row.requirement)).collect();
    let open = count(rows, Qualification::Inconclusive);
    let all = counted!(rows.len(), "{n} requirement", "{n} requirements");
    match (failed.len(), open) {
        (0, 0) => tr!("Pass: {all} met", all),
        (0, open) => tr!("Open: {open} of {all}, and none fails", open, all),
        (number, open) => tr!(
            "Fail: {number} of {all} ({failed}); {open} open",
            number,
            all,
            failed = enumerate(&failed),
            open
        ),
    }
}

impl Compared<'_> {
    /// Returns the margin of a metric, in percent.
    pub fn margin_percent(&self, metric: &str) -> f64 {
        let own = self.margins.get(metric).copied();
        100.0 * own.unwrap_or(self.options.margin)
    }

    /// Returns the jobs that failed, or have no completed trial although they were planned, with the
    /// reason in a clause, each once.
    pub fn unmeasured(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (side, source) in self.named_sources() {
            if let Some(run) = source.run {
                for planned in &run.header.plan.jobs {
                    let name = &planned.job.name;
                    let trials = || run.trials.iter().filter(|trial| trial.job.name == *name);
                    let failed = |trial: &&TrialRecord| {
                        trial.counts() && matches!(trial.outcome, Outcome::Failed { .. })
                    };
                    let why = match trials().filter(failed).count() {
                        0 if trials().any(TrialRecord::gives_figures) => continue,
                        0 => tr!("no completed trial on {side}", side),
                        n => tr!(
                            "{trials} of {side} failed",
                            trials = counted!(n, "{n} trial", "{n} trials"),
                            side
                        ),
                    };
                    if !found.iter().any(|(known, _)| known == name) {
                        found.push((name.clone(), why));
                    }
                }
            }
        }
        found
    }

    /// Returns all that keeps an answer open beside metrics and requirements: metrics that could not
    /// be compared, and jobs that were not measured; each with the reason in a clause.
    pub fn missing(&self) -> Vec<(String, String)> {
        let mut missing = self.unmeasured();
        let of_job = |metric: &str, job: &str| {
            metric
                .strip_prefix(job)
                .is_some_and(|rest| rest.starts_with(": "))
        };
        let others = self.uncompared().into_iter();
        let others =
            others.filter(|(metric, _)| !missing.iter().any(|(job, _)| of_job(metric, job)));
        let others: Vec<_> = others.collect();
        missing.extend(others);
        missing
    }

    /// Returns the number of metrics that would decide if they had measured the device.
    fn not_of_device(&self) -> usize {
        let lines = self.comparison.lines.iter();
        lines.filter(|line| self.is_kept_by_label(line)).count()
    }

    /// Returns the deciding metrics with this qualification.
    pub fn qualified(&self, as_one: Qualification) -> impl Iterator<Item = &VerdictRow> {
        let lines = self.comparison.lines.iter();
        lines.filter(move |line| line.primary && line.qualification == as_one)
    }

    /// Decides whether B may replace A: all metrics and requirements must pass.
    pub fn replaces(&self) -> Qualification {
        let required = |decision| self.requirements.iter().any(|row| row.decision == decision);
        let any = |as_one| self.qualified(as_one).next().is_some() || required(as_one);
        let is_open = any(Qualification::Inconclusive) || !self.missing().is_empty();
        match () {
            () if self.lost_on(Side::B).is_some() || any(Qualification::Fail) => {
                Qualification::Fail
            }
            () if is_open || !any(Qualification::Pass) => Qualification::Inconclusive,
            () => Qualification::Pass,
        }
    }

    /// Answers whether B may replace A: names the failed and the open metrics, and the worst bound and
    /// the limit of the metric that fails most; not yet safe to display.
    pub fn answer(&self) -> String {
        let primary: Vec<&str> = self.primary_metrics().collect();
        let name = |metric: &str| {
            let alone = is_alone(metric, primary.iter().copied());
            spoken(translated(metric), alone)
        };
        let mut failed: Vec<&VerdictRow> = self.qualified(Qualification::Fail).collect();
        let excess =
            |line: &VerdictRow| self.distance(line, line.change.map(|change| change.percent));
        failed.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
        let failed = failed.iter().enumerate().map(|(index, line)| match index {
            0 => format!("{}{}", name(&line.metric), self.bound_in_words(line)),
            _ => name(&line.metric),
        });
        let required = |decision| {
            let rows = self.requirements.iter();
            rows.filter(move |row| row.decision == decision)
                .map(|row| row.requirement.clone())
        };
        let failed: Vec<String> = required(Qualification::Fail).chain(failed).collect();
        let open = self
            .qualified(Qualification::Inconclusive)
            .map(|line| name(&line.metric));
        let missing = self.missing().into_iter().map(|(metric, _)| name(&metric));
        let open: Vec<String> = open
            .chain(missing)
            .chain(required(Qualification::Inconclusive))
            .collect();
        let passed = self.qualified(Qualification::Pass).count()
            + count(&self.requirements, Qualification::Pass);
        let all = passed + failed.len() + open.len();
        let counts = match open.len() {
            0 => tr!("{passed} of {all} pass", passed, all),
            open => tr!("{passed} of {all} pass, {open} open", passed, all, open),
        };
        let remedy = match (self.remedy.is_empty(), open.is_empty()) {
            (false, false) => format!(". {}", self.remedy),
            _ => String::new(),
        };
        let lost_on_a = self.lost_on(Side::A);
        let [a, b] = &self.names;
        match self.replaces() {
            Qualification::Pass => {
                let passed = tr!("Yes: {b} may replace {a}: all {all} pass", a, b, all)
                    + &self.closest(&name);
                match self.not_of_device() {
                    0 => passed,
                    others => tr!(
                        "{passed}; {others} more did not measure the device",
                        passed,
                        others
                    ),
                }
            }
            Qualification::Inconclusive if lost_on_a.is_some() => {
                tr!("Open: {lost}", lost = lost_on_a.unwrap_or_default())
            }
            Qualification::Inconclusive if all == 0 => tr!("Open: nothing was compared").to_owned(),
            Qualification::Inconclusive => tr!(
                "Open: {counts} ({names}){remedy}",
                counts,
                names = shortened(&open),
                remedy
            ),
            Qualification::Fail if self.lost_on(Side::B).is_some() => {
                tr!("No: {b} does not keep its data; {counts}", b, counts)
            }
            Qualification::Fail => tr!(
                "No: {b} fails {names}; {counts}{remedy}",
                b,
                names = shortened(&failed),
                counts,
                remedy
            ),
        }
    }

    fn primary_metrics(&self) -> impl Iterator<Item = &str> {
        let lines = self.comparison.lines.iter().filter(|line| line.primary);
        lines.map(|line| &*line.metric)
    }

    /// Returns the end of the interval of the change that is the worst for B, in percent; `None` without
    /// an interval.
    pub fn at_worst(line: &VerdictRow) -> Option<f64> {
        let (low, high) = line.change?.interval?;
        Some(match line.better? {
            Better::Higher => low,
            Better::Lower => high,
        })
    }

    /// Returns the limit of the change of a metric, in percent.
    pub fn limit(&self, line: &VerdictRow) -> Option<f64> {
        let margin = self.margin_percent(&line.metric);
        Some(match line.better? {
            Better::Higher => -margin,
            Better::Lower => margin,
        })
    }

    /// Returns the distance of a change from the limit, in percent points; infinite if unknown.
    fn distance(&self, line: &VerdictRow, percent: Option<f64>) -> f64 {
        let ends = percent.zip(self.limit(line));
        ends.map_or(f64::INFINITY, |(percent, limit)| (percent - limit).abs())
    }

    fn bound_in_words(&self, line: &VerdictRow) -> String {
        let (Some(change), Some(limit)) = (line.change, self.limit(line)) else {
            return String::new();
        };
        let limit = format_args!("{limit:+}");
        match Self::at_worst(line) {
            Some(worst) => tr!(
                " ({change} %, at worst {worst} %; limit {limit} %)",
                change = format_args!("{:+.1}", change.percent),
                worst = format_args!("{worst:+.1}"),
                limit
            ),
            None => tr!(
                " ({change} %; limit {limit} %)",
                change = format_args!("{:+.1}", change.percent),
                limit
            ),
        }
    }

    /// Describes the passed metric that is nearest to its limit, as the end of a sentence.
    fn closest(&self, name: &dyn Fn(&str) -> String) -> String {
        let distance = |line: &VerdictRow| self.distance(line, Self::at_worst(line));
        let mut passed: Vec<&VerdictRow> = self.qualified(Qualification::Pass).collect();
        passed.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        let nearest = passed.first().filter(|line| Self::at_worst(line).is_some());
        nearest.map_or_else(String::new, |line| {
            tr!(
                "; nearest to its limit: {metric}{bound}",
                metric = name(&line.metric),
                bound = self.bound_in_words(line)
            )
        })
    }
}

/// Maximum number of metrics that an answer names.
const NAMED: usize = 3;

/// Lists the first names, and counts the others.
fn shortened(names: &[String]) -> String {
    let mut shown = names
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > NAMED {
        shown.push_str(&tr!(" and {more} more", more = names.len() - NAMED));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::Sides;
    use assay_stats::verdict::compare::Comparison;

    #[test]
    fn the_answer_names_the_bound_that_decides() {
        let sides = Sides::new();
        let asked = |comparison: &Comparison, qualify| {
            let compared = Compared {
                comparison,
                qualify,
                ..sides.compared()
            };
            (compared.replaces(), compared.answer())
        };
        let (decision, answer) = asked(&sides.comparison, true);
        assert_eq!(decision, Qualification::Fail);
        assert!(
            answer.starts_with("No: 6.6.8-board fails seq-read-1m (-"),
            "{answer}"
        );
        assert!(answer.contains(" %, at worst -"), "{answer}");
        assert!(answer.contains("; limit -5 %); "), "{answer}");
        let mut open = sides.comparison.clone();
        open.lines
            .retain(|line| line.qualification != Qualification::Fail);
        let (decision, answer) = asked(&open, true);
        assert_eq!(decision, Qualification::Inconclusive);
        assert!(
            answer.starts_with("Open: ") && answer.contains(" open ("),
            "{answer}"
        );
        let mut passed = open;
        passed
            .lines
            .retain(|line| line.qualification == Qualification::Pass);
        // The metrics that were removed are there on both sides, and were not compared.
        let (decision, answer) = asked(&passed, true);
        assert_eq!(decision, Qualification::Inconclusive, "{answer}");
        assert!(answer.starts_with("Open: 3 of "), "{answer}");
    }
}
