//! Evidence for an entry's figures, in one line or one object.

use super::{JsonValue, Map, Member, Presentation};
use assay_judge::{DirectionEvidence, Judgement, Quantity};
use assay_model::evidence::LatencyRecord;
use assay_model::load::Ddir;
use assay_model::units::Nanos;
use assay_stats::derive::{TOOL_LIMITS_FROM, processor_share};
use assay_stats::histogram::Percentile;
use assay_stats::latency::{Distribution, pooled_where_any};
use std::fmt::Write as _;

/// Evidence for the figures of an entry.
#[derive(Debug)]
pub(super) struct EntryEvidence {
    /// Directions that moved bytes.
    directions: Vec<(Ddir, Conclusion)>,
    /// Bytes (read, written) by other processes; `None`: unknown.
    foreign_bytes: Option<(u64, u64)>,
    hindrances: Vec<String>,
    /// Longest time in which a stream completed nothing.
    longest_gap_ns: Option<u64>,
    /// Intervals in which a stream completed nothing.
    empty_intervals: u64,
    /// Latencies of groups of writes, each including the flush after it.
    durable: Option<LatencyRecord>,
    /// Set if a stream moves data at all.
    moves_data: bool,
    /// Largest share of its run time for which a thread used a processor.
    cpu_share: Option<f64>,
    /// Number of blocks with wrong content.
    data_mismatches: u64,
}

/// Evidence for a direction's figures.
#[derive(Debug, Default)]
struct Conclusion {
    label: String,
    /// Label of the latencies of single calls.
    latency_label: String,
    because: String,
    job_bytes: u64,
    device_share: Option<f64>,
    layers: Vec<(String, u64)>,
    flushes: Option<u64>,
    volatile_cache: Option<bool>,
    dirty_bytes_at_stop: Option<u64>,
    caveat: Option<String>,
}

impl EntryEvidence {
    pub(super) fn of(p: &Presentation<'_>, members: &[Member<'_>]) -> Self {
        let judged = |index: usize| p.judgements.get(index).and_then(Option::as_ref);
        let without = match p.report.interim {
            true => "the load is still running",
            false => "no evidence was taken",
        };
        let directions = Ddir::ALL
            .into_iter()
            .filter_map(|direction| {
                let parts: Vec<DirectionLabel<'_>> = members
                    .iter()
                    .filter_map(|&member| part(direction, member, judged(member.0)))
                    .collect();
                (!parts.is_empty()).then(|| (direction, conclude(&parts, without)))
            })
            .collect();
        let foreign = members
            .iter()
            .map(|member| judged(member.0)?.foreign.as_ref())
            .map(|foreign| foreign.map(|f| (f.read_bytes, f.write_bytes)));
        let reports = || members.iter().map(|(_, _, report)| report);
        Self {
            directions,
            // Streams on one storage see the same other processes, so this is the largest
            // value, not the sum.
            foreign_bytes: foreign
                .reduce(|a, b| a.zip(b).map(|(a, b)| (a.0.max(b.0), a.1.max(b.1))))
                .flatten(),
            hindrances: members
                .iter()
                .find_map(|member| judged(member.0))
                .map_or_else(Vec::new, |judged| {
                    judged
                        .hindrances
                        .iter()
                        .map(|found| found.words.clone())
                        .collect()
                }),
            longest_gap_ns: reports()
                .filter_map(|r| r.longest_gap)
                .map(|g| g.length_ns)
                .max(),
            empty_intervals: reports().map(|r| empty_intervals(&r.series.points)).sum(),
            durable: pooled_where_any(reports().map(|r| r.durable.as_ref())),
            moves_data: members
                .iter()
                .any(|(_, stream, _)| stream.engine.kind.moves_data()),
            cpu_share: reports()
                .filter_map(|r| processor_share(r.cpu, r.runtime_ns, 1))
                .reduce(f64::max),
            data_mismatches: reports().map(|r| r.data_mismatches).sum(),
        }
    }

    /// Formats `read=device; write=page-cache (why)`; `None` if no bytes were moved.
    pub(super) fn line(&self) -> Option<String> {
        let mut line = String::new();
        for (direction, conclusion) in &self.directions {
            let separator = if line.is_empty() { "" } else { "; " };
            let name = direction.name();
            let _ = write!(line, "{separator}{name}={}", conclusion.label);
            // Trims always get their reason, because their accounting is unusual.
            let bare = *direction != Ddir::Trim && conclusion.caveat.is_none();
            if conclusion.label != "device" || !bare {
                let _ = write!(line, " ({})", conclusion.because);
            }
            if conclusion.latency_label != conclusion.label {
                let _ = write!(line, ", {name} latency={}", conclusion.latency_label);
            }
        }
        let _ = match self.data_mismatches {
            0 => Ok(()),
            1 => write!(line, "; 1 mismatch of data"),
            many => write!(line, "; {many} mismatches of data"),
        };
        for hindrance in &self.hindrances {
            let _ = write!(line, "; {hindrance}");
        }
        let cleaned = line.chars().map(|c| if c.is_control() { '?' } else { c });
        (!line.is_empty()).then(|| cleaned.collect())
    }

    /// Formats `p50=3.02ms, p99=8.65ms, max=10.7ms (write and flush, 128 times)`; `None` for
    /// a job without regular flushes.
    pub(super) fn durable_line(&self) -> Option<String> {
        let durable = Distribution::of(self.durable.as_ref()?).ok()?;
        let shown = [
            ("p50", durable.percentile_ns(Percentile::P50)),
            ("p95", estimable(&durable, Percentile::P95)),
            ("p99", estimable(&durable, Percentile::P99)),
            ("max", durable.max_ns()),
        ];
        let shown = shown.into_iter().filter_map(|(name, ns)| {
            let time = Nanos(ns?).to_string().replace(' ', "");
            Some(format!("{name}={time}"))
        });
        let shown: Vec<String> = shown.collect();
        let count = durable.count();
        Some(format!(
            "{} (write and flush, {count} times)",
            shown.join(", ")
        ))
    }

    /// Reports that the processor may have been the limit, except for figures of memory.
    pub(super) fn limit_line(&self) -> Option<String> {
        let share = self.cpu_share.filter(|share| *share >= TOOL_LIMITS_FROM)?;
        let of_memory = |label: &str| ["page-cache", "simulated"].contains(&label);
        let mut labels = self.directions.iter().map(|(_, c)| c.label.as_str());
        let all_of_memory = !self.moves_data || labels.all(of_memory);
        (!all_of_memory).then(|| {
            let percent = (100.0 * share).min(100.0);
            format!(
                "its threads were busy for {percent:.0} % of the clock, the device may be faster"
            )
        })
    }

    /// Returns the object `assay` of a job.
    pub(super) fn object(&self) -> Map {
        let mut map = Map::new();
        for (direction, conclusion) in &self.directions {
            map.add(direction.name(), conclusion.object());
        }
        let foreign = self.foreign_bytes.map(|(read, write)| {
            let mut foreign = Map::new();
            foreign.add("read_bytes", read);
            foreign.add("write_bytes", write);
            foreign
        });
        map.add("foreign", foreign);
        if !self.hindrances.is_empty() {
            let words = self.hindrances.iter().map(|words| words.as_str().into());
            map.add("hindrances", words.collect::<Vec<JsonValue>>());
        }
        map.add("longest_gap_ns", self.longest_gap_ns);
        map.add("empty_intervals", self.empty_intervals);
        let durable = self.durable.as_ref().map(Distribution::of);
        let durable = durable.and_then(Result::ok).map(|latency| {
            let mut durable = Map::new();
            durable.add("N", latency.count());
            durable.add("mean", latency.mean_ns());
            durable.add("p50", latency.percentile_ns(Percentile::P50));
            durable.add("p95", estimable(&latency, Percentile::P95));
            durable.add("p99", estimable(&latency, Percentile::P99));
            durable.add("max", latency.max_ns());
            durable
        });
        map.add("durable_write_lat_ns", durable);
        map.add("cpu_share", self.cpu_share);
        map.add("data_mismatches", self.data_mismatches);
        map
    }
}

impl Conclusion {
    fn object(&self) -> Map {
        let mut map = Map::new();
        map.add("label", self.label.as_str());
        map.add("latency_label", self.latency_label.as_str());
        map.add("because", self.because.as_str());
        map.add("job_bytes", self.job_bytes);
        map.add("device_share", self.device_share);
        let mut layers = Map::new();
        for (layer, bytes) in &self.layers {
            layers.add(layer, *bytes);
        }
        map.add("layer_bytes", layers);
        map.add("flushes", self.flushes);
        map.add("volatile_cache", self.volatile_cache.map(JsonValue::Flag));
        map.add("dirty_bytes_at_stop", self.dirty_bytes_at_stop);
        map.add("caveat", self.caveat.as_deref());
        map
    }
}

/// Returns a percentile if there are enough operations to estimate it.
fn estimable(latency: &Distribution<'_>, percentile: Percentile) -> Option<u64> {
    let enough = percentile.estimable(latency.count());
    enough.then(|| latency.percentile_ns(percentile)).flatten()
}

fn empty_intervals(points: &[assay_model::trial::Interval]) -> u64 {
    let empty = points.iter().filter(|p| p.read_ios + p.write_ios == 0);
    empty.count() as u64
}

/// Evidence for one direction of one stream.
enum DirectionLabel<'a> {
    Judged(&'a DirectionEvidence),
    /// Bytes moved without any evidence.
    Unjudged(u64),
}

fn part<'a>(
    direction: Ddir,
    (_, _, report): Member<'_>,
    judgement: Option<&'a Judgement>,
) -> Option<DirectionLabel<'a>> {
    let judged = judgement.map(|judgement| match direction {
        Ddir::Read => &judgement.read,
        Ddir::Write => &judgement.write,
        Ddir::Trim => &judgement.trim,
    });
    let moved = report.directions[direction].bytes;
    match judged.and_then(Option::as_ref) {
        Some(evidence) => Some(DirectionLabel::Judged(evidence)),
        None => (moved > 0).then_some(DirectionLabel::Unjudged(moved)),
    }
}

/// Combines the labels of several streams. If they differ, the label is unknown, because one
/// word would be wrong for some of them.
fn conclude(parts: &[DirectionLabel<'_>], without: &str) -> Conclusion {
    let judged: Vec<&DirectionEvidence> = parts
        .iter()
        .filter_map(|part| match part {
            DirectionLabel::Judged(evidence) => Some(*evidence),
            DirectionLabel::Unjudged(_) => None,
        })
        .collect();
    let job_bytes = parts
        .iter()
        .map(|part| match part {
            DirectionLabel::Judged(evidence) => evidence.job_bytes,
            DirectionLabel::Unjudged(bytes) => *bytes,
        })
        .sum();
    let Some((first, others)) = judged.split_first() else {
        return Conclusion {
            label: "unknown".to_owned(),
            latency_label: "unknown".to_owned(),
            because: without.to_owned(),
            job_bytes,
            ..Conclusion::default()
        };
    };
    if others.is_empty() && parts.len() == 1 {
        return alone(first);
    }
    let label = |evidence: &DirectionEvidence| evidence.measured.label();
    let latency_label = match common(&judged, |evidence| evidence.of(Quantity::Call).label()) {
        common if common.is_empty() || judged.len() < parts.len() => "unknown",
        common => common,
    };
    let agree = judged.len() == parts.len() && others.iter().all(|e| label(e) == label(first));
    if !agree {
        return Conclusion {
            label: "unknown".to_owned(),
            latency_label: latency_label.to_owned(),
            because: disagreement(parts),
            job_bytes,
            ..Conclusion::default()
        };
    }
    Conclusion {
        latency_label: latency_label.to_owned(),
        because: common_reason(&judged),
        job_bytes,
        device_share: common_share(&judged),
        layers: common(&judged, |evidence| evidence.layers.clone()),
        flushes: common(&judged, |evidence| evidence.flushes),
        volatile_cache: common(&judged, |evidence| evidence.volatile_cache),
        dirty_bytes_at_stop: common(&judged, |evidence| evidence.dirty_bytes_at_stop),
        caveat: judged.iter().find_map(|evidence| evidence.caveat.clone()),
        ..alone(first)
    }
}

/// Returns a value on which all streams agree; otherwise the default.
fn common<T: Default + PartialEq>(
    judged: &[&DirectionEvidence],
    get: impl Fn(&DirectionEvidence) -> T,
) -> T {
    let alike = judged.windows(2).all(|pair| get(pair[0]) == get(pair[1]));
    let first = judged.first().filter(|_| alike);
    first.map(|evidence| get(evidence)).unwrap_or_default()
}

fn common_reason(judged: &[&DirectionEvidence]) -> String {
    let Some((first, others)) = judged.split_first() else {
        return String::new();
    };
    match others
        .iter()
        .filter(|other| other.because != first.because)
        .count()
    {
        0 => first.because.clone(),
        more => format!("{}; {more} more alike", first.because),
    }
}

fn alone(evidence: &DirectionEvidence) -> Conclusion {
    Conclusion {
        label: evidence.measured.label().to_owned(),
        latency_label: evidence.of(Quantity::Call).label().to_owned(),
        because: evidence.because.clone(),
        job_bytes: evidence.job_bytes,
        device_share: evidence.device_share,
        layers: evidence.layers.clone(),
        flushes: evidence.flushes,
        volatile_cache: evidence.volatile_cache,
        dirty_bytes_at_stop: evidence.dirty_bytes_at_stop,
        caveat: evidence.caveat.clone(),
    }
}

/// Returns the device's share of all bytes; `None` when it is unknown for one of the streams.
fn common_share(judged: &[&DirectionEvidence]) -> Option<f64> {
    let mut device = 0.0;
    for evidence in judged {
        device += evidence.device_share? * evidence.job_bytes as f64;
    }
    let bytes: u64 = judged.iter().map(|evidence| evidence.job_bytes).sum();
    (bytes > 0).then(|| device / bytes as f64)
}

/// Formats `the streams differ: 3 device, 1 page-cache`.
fn disagreement(parts: &[DirectionLabel<'_>]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for part in parts {
        let label = match part {
            DirectionLabel::Judged(evidence) => evidence.measured.label(),
            DirectionLabel::Unjudged(_) => "without evidence",
        };
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(label, n)| format!("{n} {label}"))
        .collect();
    format!("the streams differ: {}", counts.join(", "))
}
