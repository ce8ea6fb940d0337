//! The conditions of a sweep: by how much each differs from the first, with its
//! interval and its letters.

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

/// Intervals are drawn up to here, in percent: with few trials they are so wide that
/// nothing else would be seen. The words beside them have their ends.
pub const WIDEST: f64 = 100.0;

/// A chart for each metric that decides.
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

/// The baseline against itself.
const ZERO: Change = Change {
    percent: 0.0,
    interval: None,
    confidence: 1.0,
    ci95: None,
};

/// `+4.2 % (+1.0 .. +7.5 %)`.
pub fn change_in_words(change: Change) -> String {
    let percent = percent(change);
    match ends(change) {
        Some(interval) => format!("{percent} ({interval})"),
        None => percent,
    }
}

/// One change that is drawn.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Name of the subject of the change.
    pub name: String,
    /// By how much that differs; `None` leaves its row empty.
    pub change: Option<Change>,
    /// Colour of the bar ([`tint`]).
    pub tint: Tint,
    /// Text beside the bar.
    pub words: String,
}

/// The tint of a change without a direction that was found.
pub const UNTOLD: Tint = Tint::Nth(0);

/// The tint of a change: whether it is good is not told by its sign.
pub const fn tint(verdict: &Verdict) -> Tint {
    match verdict {
        Verdict::Faster(_) => Tint::Good,
        Verdict::Slower(_) => Tint::Bad,
        Verdict::Equivalent(_) | Verdict::NoConclusion { .. } => UNTOLD,
    }
}

/// Words for an axis of changes.
pub(super) fn direction(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => tr!("change, higher is better"),
        Some(Better::Lower) => tr!("change, lower is better"),
        None => tr!("change"),
    }
}

/// Bars of changes, each with its interval and words behind it; `label` is of their axis.
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
    // A value beyond the axis has its number beside it.
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
