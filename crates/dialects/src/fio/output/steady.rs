//! Result of the steady-state check.

use super::terse::{NumberScale, count};
use super::{JsonValue, Map};
use assay_model::load::report::{SteadyCriterion, SteadyStateReached};
use std::iter::repeat_n;

/// Returns the name of the criterion, and `true` if it is a slope.
const fn criterion(criterion: SteadyCriterion) -> (&'static str, bool) {
    match criterion {
        SteadyCriterion::Iops => ("iops", false),
        SteadyCriterion::IopsSlope => ("iops", true),
        SteadyCriterion::Bw => ("bw", false),
        SteadyCriterion::BwSlope => ("bw", true),
        SteadyCriterion::Lat => ("lat", false),
        SteadyCriterion::LatSlope => ("lat", true),
    }
}

fn mean(values: &[u64]) -> u64 {
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    let mean = sum.checked_div(values.len() as u128);
    u64::try_from(mean.unwrap_or(0)).unwrap_or(u64::MAX)
}

const fn percent_sign(steady: &SteadyStateReached) -> &'static str {
    if steady.percent { "%" } else { "" }
}

/// Formats the line of the normal output. (fio 3.33 writes the same number in both units of the
/// bandwidth; here they differ.)
pub(super) fn line(steady: &SteadyStateReached, scale: NumberScale) -> String {
    let (bw, bw_other) = scale.rates(mean(&steady.bw));
    let (what, slope) = criterion(steady.criterion);
    format!(
        "  steadystate  : attained={}, bw={bw} ({bw_other}), iops={}, {what}{}={:.3}{}",
        if steady.attained { "yes" } else { "no" },
        count(mean(&steady.iops), scale.digits),
        if slope { " slope" } else { " mean dev" },
        steady.value,
        percent_sign(steady)
    )
}

/// Pads the values of an incomplete window with zeros, as fio does. Programs that read it divide
/// by the length of the list.
fn list(values: &[u64], length: usize) -> Vec<JsonValue> {
    let missing = length.saturating_sub(values.len());
    let all = values.iter().copied().chain(repeat_n(0, missing));
    all.map(JsonValue::from).collect()
}

/// Returns the object of the JSON output.
pub(super) fn object(steady: &SteadyStateReached) -> Map {
    let (what, slope) = criterion(steady.criterion);
    let slope = if slope { "_slope" } else { "" };
    let sign = percent_sign(steady);
    let length = usize::try_from(steady.duration_ns / 1_000_000_000).unwrap_or(0);
    let mut data = Map::new();
    data.add("bw_mean", mean(&steady.bw));
    data.add("iops_mean", mean(&steady.iops));
    data.add("lat_mean", mean(&steady.lat));
    data.add("iops", list(&steady.iops, length));
    data.add("bw", list(&steady.bw, length));
    data.add("lat", list(&steady.lat, length));
    let mut map = Map::new();
    map.add(
        "ss",
        format!("{what}{slope}:{:.6}{sign}", steady.limit).as_str(),
    );
    map.add("duration", steady.duration_ns / 1_000_000_000);
    map.add("attained", u64::from(steady.attained));
    map.add("criterion", format!("{:.6}{sign}", steady.value).as_str());
    map.add("max_deviation", steady.deviation);
    map.add("slope", steady.slope);
    map.add("data", data);
    map
}
