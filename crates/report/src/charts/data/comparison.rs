//! Charts of a comparison: the change of each metric in B, the trials of each metric before and
//! after, and the latencies of both sides.

use super::latency::{SUBJECTS, overlaid, records};
use super::ranking::{Bar, change_in_words, changes, direction, tint};
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Point, Scale, Series, SeriesStyle, Tint, slug,
};
use crate::results::comparison::{Compared, Side};
use crate::results::summary::Summary;
use crate::words::text::clean;
use assay_lang::{tr, translated};
use assay_model::figures::{Figure, Sample};
use assay_model::job::Direction;
use assay_model::latency::LatencyRecord;
use assay_stats::latency::pooled;
use assay_stats::summary::Summary as Statistics;
use assay_stats::unit::converted;
use assay_stats::verdict::line::VerdictRow;
use assay_stats::verdict::units::unit_means;

/// Charts of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// Change of each metric in B.
    pub changes: Option<Chart>,
    /// Trials of both sides, one chart per metric that decides.
    pub pairs: Vec<Chart>,
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
        let composite = compared.comparison.composite.iter();
        let lines: Vec<&VerdictRow> = deciding.iter().copied().chain(composite).collect();
        Self {
            changes: changes_of(&lines),
            pairs: deciding
                .iter()
                .filter_map(|line| pair(compared, line, a, b))
                .collect(),
            latencies: latencies(a, b),
        }
    }

    /// Iterates over all charts, in the order of the report.
    pub fn iter(&self) -> impl Iterator<Item = &Chart> {
        self.changes
            .iter()
            .chain(&self.pairs)
            .chain(&self.latencies)
    }
}

fn changes_of(lines: &[&VerdictRow]) -> Option<Chart> {
    let known = lines.iter().filter(|line| line.change.is_some());
    let known: Vec<&&VerdictRow> = known.collect();
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
        name: clean(translated(&line.metric)),
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
        title: tr!("By how much B differs").to_owned(),
        description: tr!("from A to B: {metrics}", metrics = words.join("; ")),
        body: changes(&bars, direction(common)),
    })
}

/// Draws one metric: the trials of A, those of B, and a line between their means. If means of units
/// or runs are compared, each mean is a point.
fn pair(compared: &Compared<'_>, line: &VerdictRow, a: &Side<'_>, b: &Side<'_>) -> Option<Chart> {
    let values = [values(compared, a, line), values(compared, b, line)];
    let stats = [Statistics::of(&values[0])?, Statistics::of(&values[1])?];
    let measure = Measure::of_symbol(&line.unit);
    let dots = (0_usize..).zip(&values).map(|(side, values)| Series {
        name: match (compared.is_of_means(), if side == 0 { "A" } else { "B" }) {
            (true, side) => tr!("means of {side}", side),
            (false, side) => tr!("trials of {side}", side),
        },
        tint: Tint::Nth(side),
        mark: SeriesStyle::Dots,
        points: values
            .iter()
            .map(|value| told(side, *value, &measure))
            .collect(),
    });
    let means = Series {
        name: tr!("geometric mean").to_owned(),
        tint: Tint::Ink,
        mark: SeriesStyle::Line,
        points: (0_usize..)
            .zip(&stats)
            .map(|(side, stats)| Point::at(place(side), stats.centre()))
            .collect(),
    };
    let words = [0, 1].map(|side| {
        tr!(
            "{mean} ({values})",
            mean = measure.write(stats[side].centre()),
            values = compared.counted(stats[side].n)
        )
    });
    Some(Chart {
        name: format!("pair-{}", slug(&line.metric)),
        title: tr!(
            "{metric}: A and B",
            metric = clean(translated(&line.metric))
        ),
        description: format!(
            "A {}, B {}; {}: {}",
            words[0],
            words[1],
            line.change
                .map_or_else(|| tr!("change unknown").to_owned(), change_in_words),
            translated(line.verdict.word())
        ),
        body: Body::plane(
            Axis::names(vec![
                format!("A: {}", clean(a.name)),
                format!("B: {}", clean(b.name)),
            ]),
            Axis::new(
                clean(translated(&line.metric)),
                measure.clone(),
                Scale::Close,
            ),
            std::iter::once(means).chain(dots).collect(),
        ),
    })
}

fn place(side: usize) -> f64 {
    if side == 0 { 0.0 } else { 1.0 }
}

fn told(side: usize, value: f64, measure: &Measure) -> Point {
    Point {
        note: Some(measure.write(value)),
        ..Point::at(place(side), value)
    }
}

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
fn latencies(a: &Side<'_>, b: &Side<'_>) -> Vec<Chart> {
    let of_a: Vec<Summary<'_>> = a.runs.iter().map(|run| Summary::of(run)).collect();
    let of_b: Vec<Summary<'_>> = b.runs.iter().map(|run| Summary::of(run)).collect();
    let jobs = of_a.first().into_iter().flat_map(|summary| &summary.jobs);
    let names = jobs
        .filter(|job| !job.is_cell())
        .map(|job| job.job.name.as_str());
    let both = names.flat_map(|name| SUBJECTS.map(|subject| (name, subject)));
    let charts = both.filter_map(|(name, subject)| {
        let a = (format!("A: {}", clean(a.name)), pool(&of_a, name, subject)?);
        let b = (format!("B: {}", clean(b.name)), pool(&of_b, name, subject)?);
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
        let chart = gallery.pairs.first().expect("metrics decide");
        assert_eq!(chart.description.matches("(3 units)").count(), 2);
        let Body::Plane(plane) = &chart.body else {
            panic!("a plane");
        };
        let dots = plane.panels[0].series.iter();
        let dots = dots.filter(|series| series.mark == SeriesStyle::Dots);
        let dots: Vec<(&str, usize)> = dots
            .map(|series| (series.name.as_str(), series.points.len()))
            .collect();
        assert_eq!(dots, [("means of A", 3), ("means of B", 3)]);
    }
}
