//! Charts of a comparison (the change of each metric in B, the trials of each metric before and
//! after, and the latencies of both sides) and of the conditions of a sweep: the change of each
//! against the first, with its interval and its letters.

use super::latency::{SUBJECTS, beside_trials, overlaid, records, scale_of};
use super::row;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, question,
    slug,
};
use crate::results::comparison::{Compared, Side, ends, percent};
use crate::results::describe::{is_alone, spoken};
use crate::results::summary::Summary;
use crate::results::sweep::Verdicts;
use crate::words::clean;
use crate::words::labels::label_of;
use assay_lang::{tr, translated};
use assay_model::evidence::LatencyRecord;
use assay_model::figures::{Better, Change, Figure, Sample, Unit, Verdict};
use assay_model::job::Direction;
use assay_stats::latency::pooled;
use assay_stats::summary::Summary as Statistics;
use assay_stats::unit::converted;
use assay_stats::verdict::VerdictRow;
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranked};
use assay_stats::verdict::units::unit_means;

/// Charts of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// Change of each metric in B.
    pub changes: Option<Chart>,
    /// Trials of both sides in the metrics that decide, one chart per unit.
    pub sides: Vec<Chart>,
    /// Latencies of both sides in one chart per operation.
    pub latencies: Vec<Chart>,
}

impl Gallery {
    /// Makes the charts of a comparison.
    pub fn of(compared: &Compared<'_>, a: &Side<'_>, b: &Side<'_>) -> Self {
        let deciding: Vec<&VerdictRow> = compared
            .comparison
            .lines
            .iter()
            .filter(|line| line.primary)
            .collect();
        let mut units: Vec<&str> = deciding.iter().map(|line| line.unit.as_str()).collect();
        units.sort_by_key(|unit| (Unit::ALL.iter().position(|one| one.name() == *unit), *unit));
        units.dedup();
        let composite = compared.comparison.composite.iter();
        let lines: Vec<&VerdictRow> = deciding.iter().copied().chain(composite).collect();
        Self {
            changes: changes_of(compared, &lines),
            sides: units
                .into_iter()
                .filter_map(|unit| {
                    let own = deciding.iter().copied().filter(|line| line.unit == unit);
                    sides(compared, unit, &own.collect::<Vec<_>>(), [a, b])
                })
                .collect(),
            latencies: latencies(compared, a, b),
        }
    }

    /// Iterates over all charts, in the order of the report.
    pub fn iter(&self) -> impl Iterator<Item = &Chart> {
        self.changes
            .iter()
            .chain(&self.sides)
            .chain(&self.latencies)
    }
}

fn changes_of(compared: &Compared<'_>, lines: &[&VerdictRow]) -> Option<Chart> {
    let [a, b] = &compared.names;
    let known = lines.iter().filter(|line| line.change.is_some());
    let known: Vec<&&VerdictRow> = known.collect();
    let metrics = || known.iter().map(|line| line.metric.as_str());
    let name = |line: &VerdictRow| {
        let named = translated(&line.metric);
        spoken(named, line.primary && is_alone(&line.metric, metrics()))
    };
    let words = known.iter().filter_map(|line| {
        Some(format!(
            "{} {}, {}",
            clean(translated(&line.metric)),
            change_in_words(line.change?),
            translated(line.verdict.word())
        ))
    });
    let words: Vec<String> = words.collect();
    let bars = known.iter().map(|line| Bar {
        name: name(line),
        change: line.change,
        tint: tint(&line.verdict),
        words: translated(line.verdict.word()).to_owned(),
    });
    let bars: Vec<Bar> = bars.collect();
    // The axis shows a direction only if all metrics share it.
    let first = known.first().and_then(|line| line.better);
    let common = first.filter(|_| known.iter().all(|line| line.better == first));
    (!known.is_empty()).then(|| Chart {
        name: "changes".to_owned(),
        title: tr!("Change from {a} to {b}", a, b),
        description: tr!(
            "from {a} to {b}: {metrics}",
            a,
            b,
            metrics = words.join("; ")
        ),
        body: changes(&bars, direction(common)),
    })
}

/// Metric with the values of both sides.
struct BothSides<'l> {
    line: &'l VerdictRow,
    values: [Vec<f64>; 2],
    stats: [Statistics; 2],
}

/// Draws the metrics of one unit: the trials of both sides of each metric on one axis. If means of
/// units or runs are compared, each mean is a point.
fn sides(
    compared: &Compared<'_>,
    unit: &str,
    lines: &[&VerdictRow],
    sides: [&Side<'_>; 2],
) -> Option<Chart> {
    let pairs = lines.iter().filter_map(|line| {
        let values = sides.map(|side| values(compared, side, line));
        let stats = [Statistics::of(&values[0])?, Statistics::of(&values[1])?];
        Some(BothSides {
            line,
            values,
            stats,
        })
    });
    let pairs: Vec<BothSides<'_>> = pairs.collect();
    let all = || pairs.iter().flat_map(|pair| pair.values.iter().flatten());
    let low = all().copied().fold(f64::INFINITY, f64::min);
    let extremes = (low, all().copied().fold(0.0, f64::max));
    let names = &compared.names;
    let measure = Measure::of_symbol(unit);
    let words = pairs.iter().map(|pair| {
        let of = |side: usize| {
            let mean = measure.write(pair.stats[side].centre());
            let values = compared.counted(pair.values[side].len());
            let words = tr!("{mean} ({values})", mean, values);
            format!("{} {words}", names[side])
        };
        let metric = clean(translated(&pair.line.metric));
        let unknown = || tr!("change unknown").to_owned();
        let change = pair.line.change.map_or_else(unknown, change_in_words);
        let verdict = translated(pair.line.verdict.word());
        format!("{metric}: {}, {}; {change}: {verdict}", of(0), of(1))
    });
    let row_name = |pair: &BothSides<'_>| {
        let others = lines.iter().map(|line| line.metric.as_str());
        let alone = is_alone(&pair.line.metric, others);
        spoken(translated(&pair.line.metric), alone)
    };
    let (name, title, axis) = question(unit).unwrap_or((unit, unit, ""));
    let axis = Axis::new(axis, measure.clone(), scale_of(extremes));
    let series = [0, 1].map(|side| of_side(&pairs, side, sides[side], &names[side], &measure));
    (!pairs.is_empty()).then(|| Chart {
        name: format!("sides-{}", slug(name)),
        title: tr!("{title} of both sides", title),
        description: words.collect::<Vec<_>>().join(". "),
        body: Body::Plane(Plane {
            limits: beside_trials(&axis.scale, extremes),
            panels: vec![Panel {
                y: Axis::names(pairs.iter().map(row_name).collect()),
                series: series.into_iter().flatten().collect(),
            }],
            x: axis,
        }),
    })
}

/// Returns the intervals and the trials of one side, beside the middle of each row.
fn of_side(
    pairs: &[BothSides<'_>],
    side: usize,
    of: &Side<'_>,
    name: &str,
    measure: &Measure,
) -> [Series; 2] {
    let height = |index| row(index) + [-APART, APART][side];
    let label = |line: &VerdictRow| {
        let mut own = of.figures.iter();
        let own = own.find(|figure| figure.metric == line.metric)?;
        label_of(own.measured.as_deref()?)
    };
    let dots = (0..).zip(pairs).flat_map(|(index, pair)| {
        let label = label(pair.line);
        pair.values[side].iter().map(move |value| Point {
            note: Some(measure.write(*value)),
            label,
            ..Point::at(*value, height(index))
        })
    });
    let intervals = (0..).zip(pairs).map(|(index, pair)| {
        let stats = &pair.stats[side];
        Point {
            ends: stats.interval.map(|found| (found.low, found.high)),
            ..Point::at(stats.centre(), height(index))
        }
    });
    let series = |mark, points| Series {
        name: name.to_owned(),
        tint: Tint::Nth(side),
        mark,
        points,
    };
    [
        series(SeriesStyle::Intervals, intervals.collect()),
        series(SeriesStyle::Dots, dots.collect()),
    ]
}

/// Distance of a side from the middle of its row, in rows.
const APART: f64 = 0.2;

/// Returns the values of one metric in its unit: those of the trials, or the means if means are
/// compared. Empty if the side has only a summary.
fn values(compared: &Compared<'_>, side: &Side<'_>, line: &VerdictRow) -> Vec<f64> {
    let these = side.figures.iter();
    let these = these.filter(|figure| figure.metric == line.metric);
    let these = these.filter_map(|figure| converted(figure, &line.unit));
    let these: Vec<Figure> = these.collect();
    let of_means = compared.is_of_means();
    let samples = match of_means {
        true => vec![unit_means(&these.iter().collect::<Vec<_>>())],
        false => these.into_iter().map(|figure| figure.sample).collect(),
    };
    let values = samples.into_iter().filter_map(|sample| match sample {
        Sample::Values { values, .. } => Some(values),
        Sample::Moments { .. } => None,
    });
    values.flatten().filter(|value| value.is_finite()).collect()
}

/// Draws the latencies of jobs that both sides timed.
fn latencies(compared: &Compared<'_>, a: &Side<'_>, b: &Side<'_>) -> Vec<Chart> {
    let of_a: Vec<Summary<'_>> = a.runs.iter().map(|run| Summary::of(run)).collect();
    let of_b: Vec<Summary<'_>> = b.runs.iter().map(|run| Summary::of(run)).collect();
    let jobs = of_a.first().into_iter().flat_map(|summary| &summary.jobs);
    let jobs = jobs
        .filter(|job| !job.is_cell())
        .map(|job| job.job.name.as_str());
    let both = jobs.flat_map(|name| SUBJECTS.map(|subject| (name, subject)));
    let charts = both.filter_map(|(name, subject)| {
        let [name_a, name_b] = compared.names.clone();
        let a = (name_a, pool(&of_a, name, subject)?);
        let b = (name_b, pool(&of_b, name, subject)?);
        Some(overlaid(name, subject, &[a, b]))
    });
    charts.flatten().collect()
}

fn pool(summaries: &[Summary<'_>], job: &str, subject: Option<Direction>) -> Option<LatencyRecord> {
    let jobs = summaries.iter().flat_map(|summary| &summary.jobs);
    let these = jobs.filter(|found| found.job.name == job);
    let pool = pooled(these.flat_map(|found| records(found, subject)));
    (pool.count > 0).then_some(pool)
}

/// Largest change that is drawn, in percent: with few trials, an interval can be so wide that it
/// hides all others. The text beside the bar gives the ends of the whole interval.
pub const WIDEST: f64 = 100.0;

/// Draws each metric that decides.
pub fn charts(verdicts: &Verdicts) -> Vec<Chart> {
    let all = verdicts.all.metrics.iter();
    all.map(|metric| chart(metric, verdicts)).collect()
}

fn chart(metric: &MetricRanking, verdicts: &Verdicts) -> Chart {
    let baseline = &verdicts.baseline;
    let rows: Vec<(&Ranked, Option<&Pair>)> = metric
        .conditions
        .iter()
        .map(|ranked| (ranked, verdicts.against(metric, &ranked.condition)))
        .collect();
    let words = rows.iter().map(|(ranked, pair)| {
        let change = pair.and_then(|pair| pair.change);
        let change = change.map_or_else(|| tr!("nothing to compare").to_owned(), change_in_words);
        let change = if ranked.condition == *baseline {
            tr!("the baseline").to_owned()
        } else {
            change
        };
        match &ranked.letters {
            Some(letters) => format!("{} {change}, {letters}", clean(&ranked.condition)),
            None => format!("{} {change}", clean(&ranked.condition)),
        }
    });
    let words: Vec<String> = words.collect();
    let bars = rows.iter().map(|(ranked, pair)| Bar {
        name: clean(&ranked.condition),
        change: pair
            .and_then(|pair| pair.change)
            .or((ranked.condition == *baseline).then_some(ZERO)),
        tint: pair.map_or(NOT_SIGNIFICANT, |pair| tint(&pair.verdict)),
        words: ranked.letters.clone().unwrap_or_default(),
    });
    let bars: Vec<Bar> = bars.collect();
    let conditions = words.join("; ");
    Chart {
        name: format!("change-{}", slug(&metric.metric)),
        title: tr!(
            "{metric} against {baseline}",
            metric = clean(&metric.metric),
            baseline = clean(baseline)
        ),
        description: match metric.better {
            Some(Better::Lower) => tr!(
                "lower is better: {conditions}. Conditions without a common letter differ.",
                conditions
            ),
            _ => tr!(
                "higher is better: {conditions}. Conditions without a common letter differ.",
                conditions
            ),
        },
        body: changes(&bars, direction(metric.better)),
    }
}

/// Change of the baseline against itself.
const ZERO: Change = Change {
    percent: 0.0,
    interval: None,
    confidence: 1.0,
    ci95: None,
};

/// Formats a change: `+4.2 % (+1.0 .. +7.5 %)`.
pub fn change_in_words(change: Change) -> String {
    let percent = percent(change);
    match ends(change) {
        Some(interval) => format!("{percent} ({interval})"),
        None => percent,
    }
}

/// One bar of a chart of changes.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Name of the row.
    pub name: String,
    /// Change to draw; `None` leaves the row empty.
    pub change: Option<Change>,
    /// Colour of the bar ([`tint`]).
    pub tint: Tint,
    /// Text beside the bar.
    pub words: String,
}

/// Tint of a change whose direction is not significant.
pub const NOT_SIGNIFICANT: Tint = Tint::Nth(0);

/// Returns the tint of a change. Its sign does not determine whether it is an improvement.
pub const fn tint(verdict: &Verdict) -> Tint {
    match verdict {
        Verdict::Faster(_) => Tint::Good,
        Verdict::Slower(_) => Tint::Bad,
        Verdict::Equivalent(_) | Verdict::NoConclusion { .. } => NOT_SIGNIFICANT,
    }
}

/// Returns the label of an axis of changes.
pub(super) fn direction(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => tr!("change, higher is better"),
        Some(Better::Lower) => tr!("change, lower is better"),
        None => tr!("change"),
    }
}

/// Draws changes as bars, each followed by its interval and text; `label` is that of the axis.
pub fn changes(bars: &[Bar], label: &str) -> Body {
    let known = || {
        (0..)
            .zip(bars)
            .filter_map(|(index, bar)| Some((index, bar.change?, bar)))
    };
    let names = bars.iter().map(|bar| bar.name.clone()).collect();
    let value = |(index, change, _): (usize, Change, &Bar)| Point {
        x: change.percent,
        y: row(index),
        ends: None,
        note: Some(change_in_words(change)),
        label: None,
    };
    // The text contains the number of a value beyond the axis.
    let words = |change: Change, bar: &Bar| match change.percent.abs() > WIDEST {
        true => format!("{} {}", percent(change), bar.words)
            .trim_end()
            .to_owned(),
        false => bar.words.clone(),
    };
    let interval = |(index, change, bar): (usize, Change, &Bar)| Point {
        ends: change.interval,
        note: Some(words(change, bar)),
        ..value((index, change, bar))
    };
    let tints = [
        (Tint::Good, tr!("faster")),
        (Tint::Bad, tr!("slower")),
        (NOT_SIGNIFICANT, tr!("change")),
    ];
    let series = tints.into_iter().map(|(tint, name)| Series {
        name: name.to_owned(),
        tint,
        mark: SeriesStyle::Bars,
        points: known()
            .filter(|(.., bar)| bar.tint == tint)
            .map(value)
            .collect(),
    });
    let series = series.filter(|series| !series.points.is_empty());
    let intervals = Series {
        name: tr!("interval that decided").to_owned(),
        tint: Tint::Ink,
        mark: SeriesStyle::Intervals,
        points: known().map(interval).collect(),
    };
    Body::Plane(Plane {
        limits: Some((-WIDEST, WIDEST)),
        x: Axis::new(label, Measure::Change, Scale::Linear),
        panels: vec![Panel {
            y: Axis::names(names),
            series: series.chain([intervals]).collect(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::comparison_fixture::Sides;
    use assay_stats::verdict::units::compare_units;

    #[test]
    fn parts_are_drawn_by_a_mark_for_each_unit() {
        let sides = Sides::new();
        let part = |figures: &[Figure]| vec![figures.to_vec(); 3];
        let (a, b) = (part(&sides.a_figures), part(&sides.b_figures));
        let comparison = compare_units(&a, &b, &sides.options);
        let compared = Compared {
            comparison: &comparison,
            ..sides.compared()
        };
        fn side<'a>(name: &'a str, units: &'a [Vec<Figure>]) -> Side<'a> {
            Side {
                name,
                figures: units.iter().flatten().collect(),
                runs: Vec::new(),
            }
        }
        let gallery = Gallery::of(&compared, &side("old", &a), &side("new", &b));
        let chart = gallery.sides.first().expect("metrics decide");
        let rows = chart.description.matches("; ").count();
        assert_eq!(chart.description.matches("(3 units)").count(), 2 * rows);
        let Body::Plane(plane) = &chart.body else {
            panic!("a plane");
        };
        let dots = plane.panels[0].series.iter();
        let dots = dots.filter(|series| series.mark == SeriesStyle::Dots);
        let dots: Vec<(&str, usize)> = dots
            .map(|series| (series.name.as_str(), series.points.len()))
            .collect();
        assert_eq!(dots, [("6.6.63", 3 * rows), ("6.6.8-board", 3 * rows)]);
    }
}
