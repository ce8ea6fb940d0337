//! Effects of the factors of a sweep: what each setting and each option of the job changes, the knee
//! of one with ordered levels, and maps of a metric over two factors.
//!
//! A level's trials are those of its conditions: the n-th value of a level is the geometric mean of
//! the n-th values under all of them, so that each level has every level of the other factors equally
//! often. Levels are then judged as conditions are.

use crate::results::describe;
use crate::results::matrix::{Axis, Cell, Level, Mark, Matrix};
use assay_model::condition::Condition;
use assay_model::figures::{Figure, Sample, Verdict};
use assay_model::units::{Bytes, as_f64};
use assay_stats::derive::MetricName;
use assay_stats::figures::{OR, may_decide};
use assay_stats::summary::Summary;
use assay_stats::verdict::Options;
use assay_stats::verdict::power::{self, PowerRow};
use assay_stats::verdict::ranking::{MetricRanking, Ranked, Ranking, rank_figures};
use std::collections::BTreeSet;

/// Setting or option that differs between the conditions of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Name, as in the condition.
    pub name: String,
    /// Values: numbers and sizes in ascending order, others in that of the plan.
    pub levels: Vec<String>,
    /// `true` if all levels are numbers or sizes, and no two are the same.
    pub is_ordered: bool,
}

impl Factor {
    /// Returns the factors of a sweep, in the order of the conditions' settings; none unless every
    /// condition sets the same subjects.
    pub fn all(conditions: &[Condition]) -> Vec<Self> {
        let names = |condition: &Condition| -> Vec<String> {
            let settings = condition.settings.iter();
            settings
                .map(|setting| setting.subject.to_string())
                .collect()
        };
        let Some(first) = conditions.first().map(names) else {
            return Vec::new();
        };
        if conditions.iter().any(|condition| names(condition) != first) {
            return Vec::new();
        }
        let factor = |(index, name): (usize, String)| {
            let mut levels: Vec<String> = Vec::new();
            for condition in conditions {
                let value = &condition.settings[index].value;
                if !levels.contains(value) {
                    levels.push(value.clone());
                }
            }
            let numbers: BTreeSet<u64> = levels.iter().filter_map(|level| number(level)).collect();
            let is_ordered = numbers.len() == levels.len();
            if is_ordered {
                levels.sort_by_key(|level| number(level));
            }
            Self {
                name,
                levels,
                is_ordered,
            }
        };
        let factors = first.into_iter().enumerate().map(factor);
        factors.filter(|factor| factor.levels.len() > 1).collect()
    }
}

/// Returns the number of a level such as `16` or `64k`; `None` for words and for pairs (`4k+64k`).
fn number(level: &str) -> Option<u64> {
    level.parse::<Bytes>().ok().map(|bytes| bytes.0)
}

/// Value of a factor in a condition.
fn level_of<'c>(condition: &'c Condition, factor: &str) -> Option<&'c str> {
    let mut settings = condition.settings.iter();
    let setting = settings.find(|setting| setting.subject.to_string() == factor)?;
    Some(&setting.value)
}

/// Effect of one factor on one metric.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The factor.
    pub factor: Factor,
    /// Levels as conditions, the best first, with the verdicts on all pairs.
    pub ranking: MetricRanking,
    /// Smallest difference between two levels that would have been found, in percent; `None` if
    /// unknown.
    pub unseen_percent: Option<f64>,
    /// Number of further trials of each condition that would settle a difference as large as the one
    /// seen, at the level of an extended run; `None` if 100 do not suffice, or if the run cannot be
    /// extended.
    pub more: Option<u32>,
    /// Label of the figures; of levels with different labels, all of them.
    pub measured: Option<String>,
    /// The knee; `None` without one.
    pub knee: Option<Knee>,
}

/// Lowest level of a factor beyond which no level is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The level.
    pub level: String,
    /// Change of the metric from it to the highest level, in percent.
    pub more_percent: f64,
    /// Ratio of the 99th percentile of latency at the highest level to that at the knee.
    pub p99_ratio: Option<f64>,
    /// `true` if all higher levels are equivalent to it; `false` if some are worse.
    pub is_plateau: bool,
}

/// Returns the effects of all factors on all deciding metrics, by metric and then by factor. All of
/// them together are held to the level of `options`. `extended`: the level that verdicts would be held
/// to after more trials; `None` if there cannot be more.
pub fn effects(
    conditions: &[Condition],
    figures: &[Figure],
    options: &Options,
    extended: Option<f64>,
) -> Vec<Effect> {
    let mut found = Vec::new();
    let factors = Factor::all(conditions);
    let share = as_f64(factors.len().max(1) as u64);
    let options = &options.at_level(options.alpha / share);
    for factor in factors {
        let levels = by_level(conditions, figures, &factor);
        let primary = levels.iter().filter(|figure| figure.primary);
        let primary: Vec<Figure> = primary.cloned().collect();
        let Ok(ranking) = rank_figures(&primary, None, options) else {
            continue;
        };
        let spreads = power::spreads(&primary);
        let tests = ranking.metrics.len() * factor.levels.len() * (factor.levels.len() - 1) / 2;
        for metric in ranking.metrics {
            let spread = spreads.iter().find(|spread| spread.metric == metric.metric);
            let trials = metric.conditions.iter().map(|level| level.summary.n).min();
            let trials = u32::try_from(trials.unwrap_or(0)).unwrap_or(u32::MAX);
            let table = |alpha: f64, numbers: &[u32]| {
                let cv = spread.map_or(0.0, |spread| spread.cv);
                power::table(cv, alpha / as_f64(tests as u64), options.margin, numbers)
            };
            let now = table(options.alpha, &[trials])
                .first()
                .and_then(|row| row.difference_percent);
            let later: Vec<u32> = (trials.saturating_add(1)..=options.budget).collect();
            let enough = |row: &PowerRow| {
                let finds = row
                    .difference_percent
                    .is_some_and(|least| least <= seen_percent(&metric));
                let equal = row
                    .equivalence_percent
                    .is_some_and(|least| least <= 100.0 * options.margin);
                finds || equal && seen_percent(&metric) < 100.0 * options.margin
            };
            let more = extended.and_then(|level| {
                let mut rows = table(level / share, &later).into_iter();
                rows.find(enough)
            });
            let measured = labels(primary.iter().filter(|f| f.metric == metric.metric));
            let knee = is_of_device(measured.as_deref()).then(|| knee(&factor, &metric, &levels));
            found.push(Effect {
                knee: knee.flatten(),
                factor: factor.clone(),
                measured,
                unseen_percent: now.filter(|_| spread.is_some()),
                more: more.map(|row| row.n - trials),
                ranking: metric,
            });
        }
    }
    let position = |effect: &Effect| {
        let mut metrics = figures.iter();
        metrics.position(|figure| figure.metric == effect.ranking.metric)
    };
    found.sort_by_key(position);
    found
}

impl Effect {
    /// `true` if verdicts on the levels are about the device.
    pub fn is_judged(&self) -> bool {
        is_of_device(self.measured.as_deref())
    }

    /// Returns the better and the worse level of the largest difference that has a verdict; with a
    /// knee, of that between the first level and the knee.
    pub fn largest_difference(&self) -> Option<(&Ranked, &Ranked)> {
        let metric = &self.ranking;
        let level = |name: &str| {
            let mut levels = metric.conditions.iter();
            levels.find(|level| level.condition == name)
        };
        let differing = metric.pairs.iter().filter_map(|pair| match pair.verdict {
            Verdict::Faster(_) => Some((level(&pair.b)?, level(&pair.a)?)),
            Verdict::Slower(_) => Some((level(&pair.a)?, level(&pair.b)?)),
            _ => None,
        });
        let differing: Vec<(&Ranked, &Ranked)> = differing.collect();
        let ends = self
            .knee
            .as_ref()
            .map(|knee| (&knee.level, &self.factor.levels[0]));
        let of_knee = ends.and_then(|(knee, first)| {
            let mut pairs = differing.iter();
            pairs.find(|(better, worse)| better.condition == *knee && worse.condition == *first)
        });
        let size = |(better, worse): &(&Ranked, &Ranked)| {
            (better.summary.centre / worse.summary.centre).ln().abs()
        };
        let largest = differing.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        of_knee.or(largest).copied()
    }
}

/// Difference between the best and the worst level, in percent of the smaller value.
pub fn seen_percent(metric: &MetricRanking) -> f64 {
    let logs = metric
        .conditions
        .iter()
        .map(|level| level.summary.centre.ln());
    let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
        (f64::min(low, log), f64::max(high, log))
    });
    100.0 * (high - low).exp_m1()
}

/// Returns the figures of the levels of a factor, named by them, over all other factors.
fn by_level(conditions: &[Condition], figures: &[Figure], factor: &Factor) -> Vec<Figure> {
    let mut found = Vec::new();
    for metric in describe::distinct_metrics(figures.iter()) {
        // Conditions that differ only in the factor; those without all levels are left out.
        let mut groups: Vec<(Vec<&str>, Vec<Option<&Figure>>)> = Vec::new();
        for condition in conditions {
            let others = condition.settings.iter();
            let others = others.filter(|setting| setting.subject.to_string() != factor.name);
            let others: Vec<&str> = others.map(|setting| setting.value.as_str()).collect();
            let level = level_of(condition, &factor.name);
            let level = factor.levels.iter().position(|known| level == Some(known));
            let Some(level) = level else { continue };
            let index = groups.iter().position(|(known, _)| *known == others);
            let index = index.unwrap_or_else(|| {
                groups.push((others, vec![None; factor.levels.len()]));
                groups.len() - 1
            });
            let is_it = |f: &&Figure| f.metric == metric && f.condition == condition.name;
            groups[index].1[level] = figures.iter().find(is_it);
        }
        let whole = groups.into_iter();
        let whole = whole.filter_map(|(_, levels)| levels.into_iter().collect::<Option<Vec<_>>>());
        let whole: Vec<Vec<&Figure>> = whole.collect();
        for (index, level) in factor.levels.iter().enumerate() {
            let of_level: Vec<&Figure> = whole.iter().map(|levels| levels[index]).collect();
            found.extend(together(level, &of_level));
        }
    }
    found
}

/// Returns the figure of a level from those of its conditions; `None` without values.
fn together(level: &str, figures: &[&Figure]) -> Option<Figure> {
    let samples = figures.iter().map(|figure| match &figure.sample {
        Sample::Values { values, positions } if values.iter().all(|value| *value > 0.0) => {
            Some((values, positions))
        }
        _ => None,
    });
    let samples: Vec<(&Vec<f64>, &Vec<f64>)> = samples.collect::<Option<_>>()?;
    let count = samples.iter().map(|(values, _)| values.len()).min()?;
    let share = as_f64(samples.len() as u64);
    let over = |of: &dyn Fn(usize) -> f64| (0..count).map(of).collect::<Vec<f64>>();
    let values = over(&|n| {
        let logs = samples.iter().map(|(values, _)| values[n].ln());
        (logs.sum::<f64>() / share).exp()
    });
    let is_placed = samples.iter().all(|(_, places)| places.len() >= count);
    let positions = match is_placed {
        true => over(&|n| samples.iter().map(|(_, places)| places[n]).sum::<f64>() / share),
        false => Vec::new(),
    };
    Some(Figure {
        condition: level.to_owned(),
        sample: Sample::Values { values, positions },
        measured: labels(figures.iter().copied()),
        ..(*figures.first()?).clone()
    })
}

/// `true` if all figures with these labels are those of the device and have the same label.
fn is_of_device(labels: Option<&str>) -> bool {
    may_decide(labels) && labels.is_none_or(|labels| !labels.contains(OR))
}

/// Returns the labels of figures, each once.
fn labels<'f>(figures: impl Iterator<Item = &'f Figure>) -> Option<String> {
    let labels = figures.filter_map(|figure| figure.measured.as_deref());
    let labels: BTreeSet<&str> = labels.flat_map(|label| label.split(OR)).collect();
    let labels: Vec<&str> = labels.into_iter().collect();
    (!labels.is_empty()).then(|| labels.join(OR))
}

/// Relation of a condition to another one, by a verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Better,
    Same,
    Worse,
}

/// Returns how `other` compares with `base`; `None` without a verdict.
fn relation(metric: &MetricRanking, base: &str, other: &str) -> Option<Relation> {
    let pair = metric.pairs.iter().find(|pair| {
        [(base, other), (other, base)].contains(&(pair.a.as_str(), pair.b.as_str()))
    })?;
    let forward = pair.a == base;
    match &pair.verdict {
        Verdict::Equivalent(_) => Some(Relation::Same),
        Verdict::Faster(_) if forward => Some(Relation::Better),
        Verdict::Slower(_) if !forward => Some(Relation::Better),
        Verdict::Faster(_) | Verdict::Slower(_) => Some(Relation::Worse),
        Verdict::NoConclusion { .. } => None,
    }
}

/// Returns the index of the lowest of `names` beyond which none is better and below which all are
/// worse, with the relations of those beyond to it; `None` if a verdict on one of these pairs is
/// missing or contradicts it, or if it is the last.
fn lowest_best(metric: &MetricRanking, names: &[&str]) -> Option<(usize, Vec<Relation>)> {
    let relations = |at: usize, others: &[&str]| -> Vec<Option<Relation>> {
        let others = others.iter();
        others
            .map(|other| relation(metric, names[at], other))
            .collect()
    };
    let (at, beyond) = (0..names.len().checked_sub(1)?)
        .map(|at| (at, relations(at, &names[at + 1..])))
        .find(|(_, beyond)| !beyond.contains(&Some(Relation::Better)))?;
    let below = relations(at, &names[..at]);
    let are_worse = below.iter().all(|one| *one == Some(Relation::Worse));
    let beyond = beyond.into_iter().collect::<Option<_>>()?;
    are_worse.then_some((at, beyond))
}

fn knee(factor: &Factor, metric: &MetricRanking, figures: &[Figure]) -> Option<Knee> {
    let names: Vec<&str> = factor.levels.iter().map(String::as_str).collect();
    let (at, beyond) = lowest_best(metric, &names).filter(|_| factor.is_ordered)?;
    // A metric that only falls has no knee.
    if at == 0 && !beyond.contains(&Relation::Same) {
        return None;
    }
    let centre = |metric: &str, level: &str| {
        let mut of = figures.iter();
        centre(of.find(|figure| figure.metric == metric && figure.condition == level)?)
    };
    let ratio = |metric: &str| {
        let last = centre(metric, names.last()?)?;
        Some(last / centre(metric, names[at])?).filter(|ratio| ratio.is_finite())
    };
    Some(Knee {
        level: factor.levels[at].clone(),
        more_percent: 100.0 * (ratio(&metric.metric)? - 1.0),
        p99_ratio: p99_of(&metric.metric).and_then(|p99| ratio(&p99)),
        is_plateau: beyond.iter().all(|relation| *relation == Relation::Same),
    })
}

/// Returns the name of the 99th percentile of latency beside a metric: `job: read_lat_p99`.
fn p99_of(metric: &str) -> Option<String> {
    let (job, name) = metric.split_once(": ")?;
    let direction = MetricName::parse(name)?.direction?;
    Some(format!("{job}: {}_lat_p99", direction.name()))
}

fn centre(figure: &Figure) -> Option<f64> {
    match &figure.sample {
        Sample::Values { values, .. } => Some(Summary::of(values)?.centre()),
        Sample::Moments { mean, .. } => Some(*mean),
    }
}

/// Returns the maps of a sweep: each deciding metric, and its 99th percentile of latency, over the
/// two factors, of more the two first, ordered ones before others; one map for each combination of the other factors.
/// Marks need the ranking of the conditions.
pub fn maps(
    conditions: &[Condition],
    figures: &[Figure],
    ranking: Option<&Ranking>,
) -> Vec<Matrix> {
    let mut factors = Factor::all(conditions);
    if factors.len() > 2 {
        factors.sort_by_key(|factor| !factor.is_ordered);
    }
    let [rows, columns, others @ ..] = factors.as_slice() else {
        return Vec::new();
    };
    let mut series: Vec<Vec<(&str, &str)>> = Vec::new();
    for condition in conditions {
        let own = others.iter().filter_map(|factor| {
            let level = level_of(condition, &factor.name)?;
            Some((factor.name.as_str(), level))
        });
        let own = own.collect();
        if !series.contains(&own) {
            series.push(own);
        }
    }
    let deciding = figures.iter().filter(|figure| figure.primary);
    let mut metrics = describe::distinct_metrics(deciding);
    let p99: BTreeSet<String> = metrics.iter().filter_map(|metric| p99_of(metric)).collect();
    metrics.extend(p99.iter().map(String::as_str));
    let mut found = Vec::new();
    for metric in metrics {
        for under in &series {
            let under = under.as_slice();
            let ranked = ranking.and_then(|all| all.metrics.iter().find(|m| m.metric == metric));
            let place = MapPlace {
                conditions,
                figures,
                metric,
                under,
            };
            found.extend(place.map([rows, columns], ranked));
        }
    }
    found
}

/// One map of a sweep.
struct MapPlace<'a> {
    conditions: &'a [Condition],
    figures: &'a [Figure],
    metric: &'a str,
    /// Levels of the factors that are no axes.
    under: &'a [(&'a str, &'a str)],
}

impl<'a> MapPlace<'a> {
    fn condition(&self, axes: [(&str, &str); 2]) -> Option<&'a Condition> {
        let has = |condition: &&Condition| {
            let mut wanted = axes.iter().chain(self.under);
            wanted.all(|(factor, level)| level_of(condition, factor) == Some(level))
        };
        self.conditions.iter().find(has)
    }

    fn map(&self, [rows, columns]: [&Factor; 2], ranked: Option<&MetricRanking>) -> Option<Matrix> {
        let named: Vec<String> = self
            .under
            .iter()
            .map(|(f, level)| format!("{f}={level}"))
            .collect();
        let mut unit = None;
        let cells = rows.levels.iter().map(|row| {
            let under = columns
                .levels
                .iter()
                .map(|column| self.condition([(&rows.name, row), (&columns.name, column)]));
            let under: Vec<Option<&Condition>> = under.collect();
            let names: Option<Vec<&str>> = under
                .iter()
                .map(|c| Some(c.as_ref()?.name.as_str()))
                .collect();
            let of_row = self.figures.iter().filter(|figure| {
                let mut names = names.iter().flatten();
                figure.metric == self.metric && names.any(|name| *name == figure.condition)
            });
            let may_have_knee = columns.is_ordered && is_of_device(labels(of_row).as_deref());
            let best = names.zip(ranked).filter(|_| may_have_knee);
            let best = best.and_then(|(names, ranked)| lowest_best(ranked, &names));
            let cell = |(index, condition): (usize, &Option<&Condition>)| {
                let condition = condition.as_ref()?;
                let is_it = |f: &&Figure| f.metric == self.metric && f.condition == condition.name;
                let figure = self.figures.iter().find(is_it)?;
                unit.get_or_insert_with(|| figure.unit.clone());
                Some(Cell {
                    value: centre(figure)?,
                    label: figure.measured.clone(),
                    mark: best
                        .as_ref()
                        .and_then(|(at, beyond)| mark(*at, beyond, index)),
                })
            };
            under.iter().enumerate().map(cell).collect()
        });
        let cells: Vec<Vec<Option<Cell>>> = cells.collect();
        let axis = |factor: &Factor| Axis {
            name: factor.name.clone(),
            levels: factor.levels.iter().cloned().map(Level::Named).collect(),
        };
        Some(Matrix {
            title: match named.is_empty() {
                true => self.metric.to_owned(),
                false => format!("{}, {}", self.metric, named.join(", ")),
            },
            unit: unit?,
            digits: 0,
            rows: axis(rows),
            columns: axis(columns),
            cells,
        })
    }
}

fn mark(at: usize, beyond: &[Relation], index: usize) -> Option<Mark> {
    match index.checked_sub(at)? {
        0 if at > 0 || beyond.contains(&Relation::Same) => Some(Mark::Knee),
        0 => None,
        after => (beyond[after - 1] == Relation::Same).then_some(Mark::Plateau),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::condition::{Setting, Subject, cross};
    use assay_stats::verdict::ranking::Pair;

    fn conditions(varied: &[(&str, &[&str])]) -> Vec<Condition> {
        let subject = |option: &str| Subject::Job {
            option: option.to_owned(),
        };
        let varied = varied.iter().map(|(option, values)| {
            let values = values.iter().map(|&value| value.to_owned());
            (subject(option), values.collect())
        });
        cross(&varied.collect::<Vec<_>>()).unwrap()
    }

    /// Eight trials under each condition around a rate, in rounds.
    fn figures(
        conditions: &[Condition],
        metric: &str,
        rate: impl Fn(&Condition) -> f64,
    ) -> Vec<Figure> {
        let count = as_f64(conditions.len() as u64);
        let figure = |(index, condition): (usize, &Condition)| Figure {
            condition: condition.name.clone(),
            metric: metric.to_owned(),
            unit: "IOPS".to_owned(),
            better: Some(assay_model::figures::Better::Higher),
            primary: true,
            sample: Sample::Values {
                values: [0.99, 1.01, 1.0, 0.995, 1.005, 1.008, 0.992, 1.0]
                    .map(|noise| rate(condition) * noise)
                    .to_vec(),
                positions: (0_u64..8)
                    .map(|round| as_f64(round) * count + as_f64(index as u64))
                    .collect(),
            },
            measured: Some("device".to_owned()),
            waited: None,
        };
        conditions.iter().enumerate().map(figure).collect()
    }

    fn effects_of(conditions: &[Condition], figures: &[Figure]) -> Vec<Effect> {
        let options = Options::default();
        effects(conditions, figures, &options, Some(options.alpha / 2.0))
    }

    /// Value of an option as a number.
    fn number_of(condition: &Condition, option: &str) -> f64 {
        as_f64(number(level_of(condition, option).unwrap()).unwrap())
    }

    /// The rate rises up to a depth of 4; a block of 16 KiB halves it.
    fn rate(condition: &Condition) -> f64 {
        let depth = number_of(condition, "iodepth").min(4.0);
        1000.0 * depth / (number_of(condition, "bs") / 4096.0).sqrt()
    }

    /// The rate rises up to a depth of 4.
    fn to_four(condition: &Condition) -> f64 {
        1000.0 * number_of(condition, "iodepth").min(4.0)
    }

    #[test]
    fn numbers_and_sizes_are_ordered_and_words_are_not() {
        let all = conditions(&[
            ("iodepth", &["16", "4", "1"]),
            ("ioengine", &["sync", "mmap"]),
            ("rw", &["read"]),
        ]);
        let factors = Factor::all(&all);
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        assert_eq!(names, ["iodepth", "ioengine"], "one level is no factor");
        assert_eq!(factors[0].levels, ["1", "4", "16"]);
        assert!(factors[0].is_ordered && !factors[1].is_ordered);
        let all_pairs = conditions(&[("bs", &["4k+64k", "4k+8k"]), ("size", &["1m", "1024k"])]);
        let factors = Factor::all(&all_pairs);
        assert!(!factors[0].is_ordered, "pairs have no order");
        assert!(!factors[1].is_ordered, "no level is above the other");
        assert_eq!(factors[0].levels, ["4k+64k", "4k+8k"]);
        let mut differing = all.clone();
        differing[0].settings.push(Setting {
            subject: Subject::Mount,
            value: "sync".to_owned(),
        });
        assert_eq!(Factor::all(&differing), []);
    }

    #[test]
    fn a_knee_is_found_over_all_levels_of_the_other_factor() {
        let all = conditions(&[("bs", &["4k", "16k"]), ("iodepth", &["1", "2", "4", "8"])]);
        let mut figures_of_all = figures(&all, "job: read_iops", rate);
        let p99 = figures(&all, "job: read_lat_p99", |c| number_of(c, "iodepth"));
        figures_of_all.extend(p99.into_iter().map(|figure| Figure {
            primary: false,
            ..figure
        }));
        let found = effects_of(&all, &figures_of_all);
        let [bs, depth] = found.as_slice() else {
            panic!("{found:#?}");
        };
        assert_eq!(bs.knee, None, "the rate only falls");
        let (better, worse) = bs.largest_difference().unwrap();
        assert_eq!([&*better.condition, &*worse.condition], ["4k", "16k"]);
        let knee = depth.knee.as_ref().unwrap();
        assert_eq!(knee.level, "4");
        assert!(knee.is_plateau && knee.more_percent.abs() < 0.1);
        assert!((knee.p99_ratio.unwrap() - 2.0).abs() < 1e-9);
        // Twice at a depth of 4, the mean over both block sizes: sqrt(4000 * 2000).
        let level = depth
            .ranking
            .conditions
            .iter()
            .find(|one| one.condition == "4");
        assert!((level.unwrap().summary.centre / 8e6_f64.sqrt() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_third_factor_makes_a_map_for_each_of_its_levels() {
        let all = conditions(&[
            ("ioengine", &["sync", "mmap"]),
            ("bs", &["4k", "16k"]),
            ("iodepth", &["1", "4", "8"]),
        ]);
        let mut figures = figures(&all, "job: read_iops", rate);
        figures[0].measured = Some("page-cache".to_owned());
        let deciding = rank_figures(&figures, None, &Options::default()).unwrap();
        let maps = maps(&all, &figures, Some(&deciding));
        let titles: Vec<&str> = maps.iter().map(|map| map.title.as_str()).collect();
        let own = [
            "job: read_iops, ioengine=sync",
            "job: read_iops, ioengine=mmap",
        ];
        assert_eq!(titles, own);
        let axes = [&maps[1].rows.name, &maps[1].columns.name];
        assert_eq!(axes, ["bs", "iodepth"]);
        let cell = |row: usize, column: usize| maps[1].cells[row][column].clone().unwrap();
        assert!((cell(0, 1).value - 4000.0).abs() < 10.0);
        let marks: Vec<Option<Mark>> = (0..3).map(|column| cell(1, column).mark).collect();
        assert_eq!(marks, [None, Some(Mark::Knee), Some(Mark::Plateau)]);
        let label = maps[0].cells[0][0].as_ref().unwrap().label.as_deref();
        assert_eq!(label, Some("page-cache"), "each cell has its own label");
        assert_eq!(
            maps[1].sentence(),
            "Knee of iodepth, beyond which nothing is better: 4 at bs 4k and 16k."
        );
        assert_eq!(super::maps(&all[..1], &figures, None), []);
    }

    #[test]
    fn without_a_verdict_there_is_no_knee() {
        let all = conditions(&[("iodepth", &["1", "2", "4"])]);
        let mut figures = figures(&all, "job: read_iops", |_| 1000.0);
        for (index, figure) in figures.iter_mut().enumerate() {
            if let Sample::Values { values, .. } = &mut figure.sample {
                for (round, value) in values.iter_mut().enumerate() {
                    *value *= 1.0 + 0.4 * f64::from(u8::from((round + index) % 2 == 0));
                }
            }
        }
        let found = effects_of(&all, &figures);
        assert_eq!(found[0].knee, None);
        assert!(found[0].largest_difference().is_none());
        assert!(found[0].unseen_percent.unwrap() > 20.0);
    }

    #[test]
    fn a_knee_needs_all_verdicts_on_it() {
        let pair = |a: &str, b: &str, verdict: Verdict| Pair {
            a: a.to_owned(),
            b: b.to_owned(),
            change: None,
            p_adjusted: None,
            verdict,
            notes: Vec::new(),
        };
        let all = conditions(&[("iodepth", &["1", "2", "4"])]);
        let ranking = &effects_of(&all, &figures(&all, "job: read_iops", to_four))[0].ranking;
        let knee = |one_two, one_four, two_four| {
            let judged = MetricRanking {
                pairs: vec![
                    pair("1", "2", one_two),
                    pair("1", "4", one_four),
                    pair("2", "4", two_four),
                ],
                ..ranking.clone()
            };
            lowest_best(&judged, &["1", "2", "4"]).map(|(at, _)| at)
        };
        let change = || ranking.pairs[0].change.expect("a change");
        let open = || Verdict::NoConclusion {
            change: None,
            trials_needed: None,
        };
        let same = || Verdict::Equivalent(change());
        let (up, down) = (|| Verdict::Faster(change()), || Verdict::Slower(change()));
        assert_eq!(knee(up(), up(), same()), Some(1));
        assert_eq!(knee(down(), open(), same()), None, "1 is better than 2");
        assert_eq!(knee(open(), up(), same()), None, "1 may be as good as 2");
        assert_eq!(knee(open(), open(), same()), None);
        assert_eq!(knee(same(), same(), same()), Some(0));
    }

    #[test]
    fn all_factors_share_the_level() {
        let one = conditions(&[("iodepth", &["1", "2"])]);
        let two = conditions(&[("iodepth", &["1", "2"]), ("bs", &["4k", "16k"])]);
        let unseen = |all: &[Condition]| {
            let mut figures = figures(all, "job: read_iops", |_| 1.0);
            for figure in &mut figures {
                // Noise of 10 %: what is unseen is well above the margin.
                if let Sample::Values { values, .. } = &mut figure.sample {
                    values.iter_mut().for_each(|value| *value = value.powi(10));
                }
            }
            effects_of(all, &figures)[0]
                .unseen_percent
                .expect("a bound")
        };
        assert!(
            unseen(&two) > unseen(&one),
            "{} {}",
            unseen(&two),
            unseen(&one)
        );
    }

    #[test]
    fn figures_of_the_page_cache_have_no_knee() {
        let all = conditions(&[("iodepth", &["1", "2", "4", "8"])]);
        let mut cached = figures(&all, "job: read_iops", to_four);
        cached[3].measured = Some("page-cache".to_owned());
        let found = &effects_of(&all, &cached)[0];
        assert_eq!(found.measured.as_deref(), Some("device or page-cache"));
        assert!(!found.is_judged() && found.knee.is_none());
        let found = &effects_of(&all, &figures(&all, "job: read_iops", to_four))[0];
        assert!(found.is_judged() && found.knee.is_some());
    }
}
