//! Files of requirements on a run, and the check of their lines.

use super::earlier_runs;
use crate::checks::input::{self, parse_toml};
use crate::exit::{DONE, Failure, MISSED, USAGE};
use crate::stored::lookup::{FigureSource, StoreArgs};
use crate::stored::series;
use crate::ui::{parse_margin, parse_time};
use assay_dialects::mark::{CHECKED_CLASSES, CardUse, SdClass, checked_requirements};
use assay_lang::{in_english, tr};
use assay_model::figures::Figure;
use assay_model::run::Run;
use assay_model::text::{clean, meant, nearest};
use assay_model::trial::TrialRecord;
use assay_model::units::Nanos;
use assay_report::comparison::RequirementRow;
use assay_report::findings::capacity::{self, CapacityVerdict};
use assay_report::words::value;
use assay_stats::figures::{RequiredFigure, Requirement, RequirementFinding, may_decide};
use assay_stats::unit::factor;
use assay_stats::verdict::between::{Earlier, RunVariance};
use assay_stats::verdict::compare::fits;
use assay_stats::verdict::judge::Qualification;
use assay_stats::verdict::limit::{Limit, check};
use serde::Deserialize;
use std::path::Path;
use std::process::ExitCode;
use std::slice::from_ref;

/// Content of a file of requirements.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequirementFile {
    /// The requirements.
    require: Vec<String>,
}

/// Requirements of a file.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// Each requirement as the user wrote it, and its meaning.
    all: Vec<(String, Demand)>,
}

/// Storage of Android's media performance classes (Compatibility Definition, 8.2/H-1-1 to H-1-4, of
/// Android 11, and of 12 and later), by the jobs of `assay qualify`.
const MEDIA_PERFORMANCE: [(&str, [u32; 4]); 2] = [
    ("mpc-11", [100, 10, 200, 25]),
    ("mpc-12", [125, 10, 250, 40]),
];

/// Returns the built-in requirements of this name; `None` if there are none.
fn built_in(name: &str) -> Option<Vec<(String, Demand)>> {
    let of_class = |all: Vec<Requirement>| {
        let demands = all.into_iter().map(|one| {
            let least = match one.figure {
                RequiredFigure::ReadIops | RequiredFigure::WriteIops => {
                    format!("{} IOPS", one.least)
                }
                _ => value("B/s", one.least),
            };
            let line = format!(
                "{}: {} >= {least}",
                one.job,
                in_english(|| one.figure.name())
            );
            (line, Demand::Class(one))
        });
        demands.collect()
    };
    let class = |class: &SdClass| class.to_string().eq_ignore_ascii_case(name);
    if let Some(class) = CHECKED_CLASSES.into_iter().find(class) {
        return Some(of_class(checked_requirements(class)));
    }
    if let Some(purpose) = CardUse::ALL.into_iter().find(|one| one.name() == name) {
        return Some(of_class(purpose.requirements()));
    }
    let (_, [written, writes, read, reads]) =
        MEDIA_PERFORMANCE.iter().find(|(class, _)| *class == name)?;
    let lines = [
        format!("seq-write-1m write_bw >= {written} MB/s"),
        format!("rand-write-4k write_bw >= {writes} MB/s"),
        format!("seq-read-1m read_bw >= {read} MB/s"),
        format!("rand-read-4k read_bw >= {reads} MB/s"),
    ];
    let demands = lines.into_iter().filter_map(|line| {
        let demand = Demand::parse(&line).ok()?;
        Some((line, demand))
    });
    Some(demands.collect())
}

/// Returns the names of the built-in requirements.
pub fn built_in_names() -> Vec<String> {
    let classes = CHECKED_CLASSES.map(|class| class.to_string().to_ascii_lowercase());
    let uses = CardUse::ALL.map(|one| one.name().to_owned());
    let media = MEDIA_PERFORMANCE.map(|(name, _)| name.to_owned());
    classes.into_iter().chain(uses).chain(media).collect()
}

impl Requirements {
    /// Reads a file of requirements, or returns the built-in ones of this name.
    ///
    /// # Errors
    /// If it cannot be read or is not such a file, or a line is no requirement.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        if let Some(all) = path.to_str().and_then(built_in).filter(|_| !path.is_file()) {
            return Ok(Self { all });
        }
        if !path.exists() && path.components().count() == 1 && path.extension().is_none() {
            return Err(Failure::usage(format!(
                "{}: there is no such file, and no such set of requirements{}: the sets are {}",
                path.display(),
                meant(
                    &path.to_string_lossy(),
                    built_in_names().iter().map(String::as_str)
                ),
                built_in_names().join(", ")
            )));
        }
        let file: RequirementFile = parse_toml(&input::text(path)?).map_err(|mistake| {
            Failure::in_file(path, format!("it is not a file of requirements: {mistake}"))
        })?;
        let all = file.require.into_iter().map(|line| {
            let demand = Demand::parse(&line)?;
            Ok((line, demand))
        });
        let all: Result<Vec<(String, Demand)>, String> = all.collect();
        let all = all.map_err(|why| Failure::in_file(path, why))?;
        match all.is_empty() {
            true => Err(Failure::in_file(path, "it has no requirement")),
            false => Ok(Self { all }),
        }
    }

    /// Returns the margins of metrics against side A: names of metrics, which may end in `*`, with the
    /// margin as a share; the last one that fits a metric applies.
    pub fn margins(&self) -> Vec<(String, f64)> {
        let margins = self.all.iter().filter_map(|(_, demand)| match demand {
            Demand::Within { metric, margin } => Some((metric.clone(), *margin)),
            _ => None,
        });
        margins.collect()
    }

    /// Checks the figures of a source at this significance level. Margins are open: they need a
    /// comparison.
    ///
    /// # Errors
    /// If earlier runs of its series cannot be read.
    pub fn check(
        &self,
        source: &FigureSource,
        store: &StoreArgs,
        level: f64,
    ) -> Result<Vec<RequirementRow>, Failure> {
        let [earlier, _] = match source.run {
            Some(_) => earlier_runs(&series::open(store)?, [from_ref(source), &[]])?,
            None => Default::default(),
        };
        let rows = self.all.iter();
        let rows = rows.map(|(line, demand)| demand.checked(line, source, (&earlier, level)));
        Ok(rows.collect())
    }

    /// Returns the requirements without the margins.
    pub fn without_margins(&self) -> Self {
        let mut all = self.all.clone();
        all.retain(|(_, demand)| !matches!(demand, Demand::Within { .. }));
        Self { all }
    }

    /// Returns an open row for each margin that fits none of the metrics.
    pub fn unused_margins(&self, metrics: &[&str]) -> Vec<RequirementRow> {
        let unused = self.all.iter().filter(|(_, demand)| match demand {
            Demand::Within { metric, .. } => !metrics.iter().any(|known| fits(known, metric)),
            _ => false,
        });
        let rows = unused.map(|(line, _)| RequirementRow {
            requirement: line.clone(),
            figure: None,
            why: Some(tr!("no metric or job of this name was compared").to_owned()),
            decision: Qualification::Inconclusive,
        });
        rows.collect()
    }

    /// `true` if one is a minimum of a speed class or of a use, which only `assay check` measures.
    pub fn has_class(&self) -> bool {
        self.all
            .iter()
            .any(|(_, demand)| matches!(demand, Demand::Class(_)))
    }
}

/// Returns the exit code for checked requirements: whether one fails, else whether one was judged.
pub fn exit_code(rows: &[RequirementRow]) -> ExitCode {
    let has = |decision| rows.iter().any(|row| row.decision == decision);
    match (has(Qualification::Fail), has(Qualification::Pass)) {
        (true, _) => ExitCode::from(MISSED),
        (false, true) => DONE,
        (false, false) => ExitCode::from(USAGE),
    }
}

/// A requirement.
#[derive(Clone, Debug, PartialEq)]
enum Demand {
    /// A figure of a job within a limit.
    Figure {
        /// Job and metric, as in comparisons.
        metric: String,
        limit: Limit,
        /// Unit of the limit.
        unit: String,
    },
    /// No sign of less capacity than is claimed.
    Genuine,
    /// The longest time without a completed I/O is below this.
    Stalls(Nanos),
    /// A minimum of a speed class, or of a use.
    Class(Requirement),
    /// Metrics that may be worse than on side A by at most this share.
    Within {
        /// Name of the metric; it may end in `*`.
        metric: String,
        margin: f64,
    },
}

/// Forms of a requirement, for error messages.
const FORMS: &str = "write JOB METRIC < NUMBER UNIT (or <=, >, >=), JOB METRIC within NUMBER %, capacity \
                     genuine, or stalls < TIME";

impl Demand {
    fn parse(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mistake = |why: &str| format!("\"{}\": {why}", clean(line));
        // Names of jobs may have spaces.
        let sign = words
            .iter()
            .position(|word| ["<", "<=", ">", ">="].contains(word));
        match words[..] {
            ["capacity", "genuine"] => Ok(Self::Genuine),
            [.., "within", number, "%"] => {
                let margin = parse_margin(number).map_err(|why| mistake(&why))?;
                let metric = match &words[..words.len() - 3] {
                    [] => return Err(mistake(FORMS)),
                    [one] => (*one).to_owned(),
                    [job @ .., metric] => format!("{}: {metric}", job.join(" ")),
                };
                Ok(Self::Within { metric, margin })
            }
            ["stalls", "<", ..] => {
                let time = words[2..].concat();
                parse_time(&time)
                    .map(Self::Stalls)
                    .map_err(|why| mistake(&why))
            }
            _ => {
                let at = sign.filter(|at| *at >= 2).ok_or_else(|| mistake(FORMS))?;
                let number = words.get(at + 1).copied().unwrap_or_default();
                let value: f64 = number
                    .parse()
                    .ok()
                    .filter(|value: &f64| value.is_finite() && *value > 0.0)
                    .ok_or_else(|| mistake(&format!("{number} is no number above 0; {FORMS}")))?;
                let (job, metric) = (words[..at - 1].join(" "), words[at - 1]);
                Ok(Self::Figure {
                    metric: format!("{job}: {metric}"),
                    limit: match words[at] {
                        "<" | "<=" => Limit::AtMost(value),
                        _ => Limit::AtLeast(value),
                    },
                    unit: words[at + 2..].concat(),
                })
            }
        }
    }

    fn checked(&self, line: &str, source: &FigureSource, held: (&Earlier, f64)) -> RequirementRow {
        let row = RequirementRow {
            requirement: line.to_owned(),
            figure: None,
            why: None,
            decision: Qualification::Inconclusive,
        };
        let run = source.run.as_deref();
        match self {
            Self::Figure {
                metric,
                limit,
                unit,
            } => of_figure(&row, (metric, *limit, unit), source, held),
            Self::Genuine => genuine(row, run),
            Self::Stalls(most) => stalls(row, run, *most),
            Self::Class(requirement) => of_class(row, requirement, run),
            Self::Within { .. } => RequirementRow {
                why: Some(
                    tr!("a margin against another part: assay accept A B --limits").to_owned(),
                ),
                ..row
            },
        }
    }
}

fn of_figure(
    row: &RequirementRow,
    (metric, limit, unit): (&str, Limit, &str),
    source: &FigureSource,
    (earlier, level): (&Earlier, f64),
) -> RequirementRow {
    let open = |why: String| RequirementRow {
        why: Some(why),
        ..row.clone()
    };
    let of_metric = |figure: &&Figure| figure.metric == metric;
    let mut found = source.figures.iter().filter(of_metric);
    let Some(figure) = found.next() else {
        let names = source.figures.iter().map(|figure| &*figure.metric);
        let near = nearest(metric, names);
        return open(match near {
            Some(near) => tr!("it has no figure {metric}; there is {near}", metric, near),
            None => tr!("it has no figure {metric}", metric),
        });
    };
    if found.next().is_some() {
        return open(tr!(
            "it has {metric} under several conditions: add @CONDITION to its name",
            metric
        ));
    }
    let Some(scale) = scale(unit, figure) else {
        return open(tr!(
            "{unit} is no unit of {metric}, which is in {own}",
            unit,
            metric,
            own = figure.unit
        ));
    };
    let limit = match limit {
        Limit::AtLeast(value) => Limit::AtLeast(value * scale),
        Limit::AtMost(value) => Limit::AtMost(value * scale),
    };
    let between = source.run.as_ref();
    let between = between.and_then(|_| RunVariance::of_one(figure, earlier));
    let Some(checked) = check(figure, between.as_ref(), limit, level) else {
        return open(tr!("one trial has no spread: measure more").to_owned());
    };
    let row = RequirementRow {
        figure: Some((checked.centre, checked.interval, figure.unit.clone())),
        decision: checked.decision,
        ..row.clone()
    };
    // Figures of a cache or a model say nothing about the device.
    match &figure.measured {
        Some(measured) if may_decide(Some(measured)) => row,
        Some(measured) => RequirementRow {
            why: Some(tr!("what was measured is {measured}", measured)),
            decision: Qualification::Inconclusive,
            ..row
        },
        None => RequirementRow {
            why: Some(tr!("what it measured was not recorded").to_owned()),
            decision: Qualification::Inconclusive,
            ..row
        },
    }
}

/// Returns the factor to the unit of a figure; a plain number has that unit.
fn scale(unit: &str, figure: &Figure) -> Option<f64> {
    match unit {
        "" => Some(1.0),
        _ => factor(unit, &figure.unit),
    }
}

/// Checks the trials by a minimum of a speed class: all must reach it.
fn of_class(row: RequirementRow, requirement: &Requirement, run: Option<&Run>) -> RequirementRow {
    let trials = run.map_or(&[][..], |run| &run.trials);
    let values = requirement.values(trials);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let (decision, why) = match requirement.finding(trials) {
        RequirementFinding::Met => (Qualification::Pass, None),
        RequirementFinding::Missed => (Qualification::Fail, None),
        RequirementFinding::NoConclusion { why } => (Qualification::Inconclusive, Some(why)),
    };
    let unit = match requirement.figure {
        RequiredFigure::ReadIops | RequiredFigure::WriteIops => "IOPS",
        RequiredFigure::WriteBandwidth | RequiredFigure::LowestSecondWritten => "B/s",
    };
    let lowest = lowest
        .is_finite()
        .then(|| tr!("the lowest: {value}", value = value(unit, lowest)));
    let why: Vec<String> = why.into_iter().chain(lowest).collect();
    RequirementRow {
        decision,
        why: (!why.is_empty()).then(|| why.join("; ")),
        ..row
    }
}

/// Checks the capacity by the steps that read data back.
fn genuine(row: RequirementRow, run: Option<&Run>) -> RequirementRow {
    let concluded = run.and_then(capacity::concluded);
    let Some((answer, verdict)) = concluded else {
        return RequirementRow {
            why: Some(tr!("its capacity was not checked: assay check, assay capacity").to_owned()),
            ..row
        };
    };
    RequirementRow {
        decision: match verdict {
            CapacityVerdict::Holds => Qualification::Pass,
            CapacityVerdict::Fails => Qualification::Fail,
            CapacityVerdict::NotKnown => Qualification::Inconclusive,
        },
        why: Some(answer),
        ..row
    }
}

/// Checks the longest time without I/O of each trial. One that is too long decides; else each trial
/// must have this figure.
fn stalls(row: RequirementRow, run: Option<&Run>, most: Nanos) -> RequirementRow {
    let open = |why| RequirementRow {
        why: Some(why),
        ..row.clone()
    };
    let Some((run, (length, job))) = run.and_then(|run| Some((run, run.longest_gap()?))) else {
        return open(tr!("no trial has the longest time without any I/O").to_owned());
    };
    let is_unknown = |trial: &&TrialRecord| {
        let measured = trial.measured.as_ref();
        // Steps of other acts, such as those of a database, have no such figure.
        trial.gives_figures()
            && trial.detail.is_none()
            && measured.is_none_or(|measured| measured.longest_gap.is_none())
    };
    let decision = match run.trials.iter().find(is_unknown) {
        Some(trial) if length < most => {
            let job = clean(&trial.job.name);
            return open(tr!("{job} has no longest time without any I/O", job));
        }
        _ if length < most => Qualification::Pass,
        _ => Qualification::Fail,
    };
    RequirementRow {
        decision,
        why: Some(tr!(
            "the longest: {length} ({job})",
            length,
            job = clean(job)
        )),
        ..row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_sets_have_requirements() {
        for name in built_in_names() {
            let all = built_in(&name).expect(&name);
            assert!(!all.is_empty(), "{name}");
        }
        assert_eq!(built_in("mpc-12").unwrap().len(), 4);
        let a1 = built_in("A1").unwrap();
        assert!(
            a1.iter()
                .any(|(line, _)| line.ends_with("random read >= 1500 IOPS")),
            "{a1:?}"
        );
        assert!(built_in("a3").is_none());
        let refused = Requirements::read(Path::new("a3")).unwrap_err().to_string();
        assert!(refused.contains("a1, a2, v30, pi, camera"), "{refused}");
    }

    #[test]
    fn lines_are_requirements() {
        let p99 = Demand::parse("rand-read-4k read_lat_p99 < 5 ms").unwrap();
        let expected = Demand::Figure {
            metric: "rand-read-4k: read_lat_p99".to_owned(),
            limit: Limit::AtMost(5.0),
            unit: "ms".to_owned(),
        };
        assert_eq!(p99, expected);
        assert_eq!(Demand::parse("capacity genuine"), Ok(Demand::Genuine));
        let stalls = Demand::Stalls(Nanos::millis(500));
        assert_eq!(Demand::parse("stalls < 500 ms"), Ok(stalls));
        let within = |metric: &str, margin| Demand::Within {
            metric: metric.to_owned(),
            margin,
        };
        let all = [
            ("rand-* within 10 %", within("rand-*", 0.1)),
            (
                "seq read write_bw within 2.5 %",
                within("seq read: write_bw", 0.025),
            ),
        ];
        for (line, demand) in all {
            assert_eq!(Demand::parse(line), Ok(demand), "{line}");
        }
        for line in [
            "within 5 %",
            "a within -1 %",
            "stalls <= 5ms",
            "",
            "a b",
            "a b = 3",
            "a b < x ms",
            "a b < -3",
            "stalls < x",
        ] {
            assert!(Demand::parse(line).is_err(), "{line}");
        }
    }
}
