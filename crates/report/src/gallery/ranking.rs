//! The conditions of a sweep: by how much each is better than the first, with its
//! interval and its letters.

use super::row;
use crate::chart::{
    Axis, Body, Chart, Mark, Measure, Panel, Plane, Point, Scale, Series, Tint, slug,
};
use crate::comparison::{ends, percent};
use crate::sweep::Verdicts;
use crate::text::clean;
use assay_lang::tr;
use assay_model::verdict::Change;
use assay_stats::verdict::ranking::{MetricRanking, Ranked};

/// Intervals are drawn up to here, in percent: with few trials they are so wide that
/// nothing else would be seen. The words beside them have their ends.
pub const WIDEST: f64 = 100.0;

/// A chart for each metric that decides.
#[must_use]
pub fn charts(verdicts: &Verdicts) -> Vec<Chart> {
    let all = verdicts.all.metrics.iter();
    let both = all.filter_map(|metric| {
        let mut against = verdicts.against.metrics.iter();
        Some((metric, against.find(|other| other.metric == metric.metric)?))
    });
    both.map(|(metric, against)| chart(metric, against, &verdicts.baseline))
        .collect()
}

fn chart(metric: &MetricRanking, against: &MetricRanking, baseline: &str) -> Chart {
    let rows: Vec<(&Ranked, Option<Change>)> = metric
        .conditions
        .iter()
        .map(|ranked| {
            let mut pairs = against.pairs.iter();
            let pair = pairs.find(|pair| pair.b == ranked.condition);
            (ranked, pair.and_then(|pair| pair.change))
        })
        .collect();
    let words = rows.iter().map(|(ranked, change)| {
        let change = change.map_or_else(|| tr!("nothing to compare").to_owned(), in_words);
        let change = if ranked.condition == baseline {
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
    let bars = rows.iter().map(|(ranked, change)| Bar {
        name: clean(&ranked.condition),
        change: change.or((ranked.condition == baseline).then_some(ZERO)),
        words: ranked.letters.clone().unwrap_or_default(),
    });
    let bars: Vec<Bar> = bars.collect();
    Chart {
        name: format!("change-{}", slug(&metric.metric)),
        title: tr!(
            "{metric} against {baseline}",
            metric = clean(&metric.metric),
            baseline = clean(baseline)
        ),
        description: tr!(
            "positive is better: {conditions}. Conditions without a common letter differ.",
            conditions = words.join("; ")
        ),
        body: changes(&bars),
    }
}

/// The baseline against itself.
const ZERO: Change = Change {
    percent: 0.0,
    interval: None,
};

/// `+4.2 % (+1.0 .. +7.5 %)`.
#[must_use]
pub fn in_words(change: Change) -> String {
    let percent = percent(change);
    match ends(change) {
        Some(interval) => format!("{percent} ({interval})"),
        None => percent,
    }
}

/// One change that is drawn.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Of what it is.
    pub name: String,
    /// By how much that is better; `None` leaves its row empty.
    pub change: Option<Change>,
    /// What stands behind it.
    pub words: String,
}

/// Bars of changes, each with its interval and words behind it.
#[must_use]
pub fn changes(bars: &[Bar]) -> Body {
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
        note: Some(in_words(change)),
    };
    let interval = |(index, change, bar): (usize, Change, &Bar)| Point {
        ends: change.interval,
        note: Some(bar.words.clone()),
        ..value((index, change, bar))
    };
    let bars = Series {
        name: tr!("change").to_owned(),
        tint: Tint::Nth(0),
        mark: Mark::Bars,
        points: known().map(value).collect(),
    };
    let intervals = Series {
        name: tr!("95 % interval").to_owned(),
        tint: Tint::Ink,
        mark: Mark::Intervals,
        points: known().map(interval).collect(),
    };
    Body::Plane(Plane {
        limits: Some((-WIDEST, WIDEST)),
        x: Axis {
            label: tr!("change, better to the right").to_owned(),
            measure: Measure::Change,
            scale: Scale::Linear,
        },
        panels: vec![Panel {
            y: Axis {
                label: String::new(),
                measure: Measure::Foreign(String::new()),
                scale: Scale::Names(names),
            },
            series: vec![bars, intervals],
        }],
    })
}
