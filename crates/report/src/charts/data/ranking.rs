//! Charts of the conditions of a sweep: the change of each against the first, with its interval and
//! its letters.

use super::row;
use crate::charts::draw::{
    Axis, Body, Chart, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint, slug,
};
use crate::results::comparison::{ends, percent};
use crate::results::sweep::Verdicts;
use crate::words::text::clean;
use assay_lang::tr;
use assay_model::figures::Better;
use assay_model::verdict::{Change, Verdict};
use assay_stats::verdict::ranking::{MetricRanking, Pair, Ranked};

/// Largest change that is drawn, in percent: with few trials, an interval can be so wide that it
/// hides all others. The text beside it has its ends.
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
        tint: pair.map_or(UNTOLD, |pair| tint(&pair.verdict)),
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
pub const UNTOLD: Tint = Tint::Nth(0);

/// Returns the tint of a change. Its sign does not determine whether it is an improvement.
pub const fn tint(verdict: &Verdict) -> Tint {
    match verdict {
        Verdict::Faster(_) => Tint::Good,
        Verdict::Slower(_) => Tint::Bad,
        Verdict::Equivalent(_) | Verdict::NoConclusion { .. } => UNTOLD,
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
        (UNTOLD, tr!("change")),
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
