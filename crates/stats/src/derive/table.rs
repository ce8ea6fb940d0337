//! Table of all metrics: unit, direction, label and words of each.

use super::IO_PERCENTILES;
use crate::histogram::Percentile;
use MetricWords::{Latency, Name, Phrase, Subject};
use assay_judge::{Judgement, Measured, Quantity};
use assay_lang::{key, tr, translated};
use assay_model::figures::{Better, Unit};
use assay_model::job::Direction;
use std::borrow::Cow;

/// Words of a metric for people.
#[derive(Clone, Copy, Debug)]
enum MetricWords {
    /// Only the subject, for a rate: `read` for `read_bw`.
    Subject,
    /// The latency of the subject, with the statistic: `read latency p99`.
    Latency,
    /// A text of its own.
    Phrase(&'static str),
    /// The name, with spaces.
    Name,
}

/// Row of the table: metrics with the same properties, each of all the subjects.
#[derive(Debug)]
pub struct MetricRow {
    subjects: &'static [&'static str],
    /// Names without subject and statistic.
    names: &'static [&'static str],
    /// Unit.
    pub unit: Unit,
    /// Direction of improvement; `None` if neither direction is better.
    pub better: Option<Better>,
    /// Measured quantity, which determines the label.
    label: Quantity,
    /// Statistics that decide comparisons of some jobs; the empty one is the metric itself.
    decides: &'static [&'static str],
    /// Statistics that comparisons show where they do not decide.
    explores: &'static [&'static str],
    words: MetricWords,
}

/// Name of a metric of the table: `read_lat_p99` has the subject `read` and the statistic `p99`.
#[derive(Clone, Copy, Debug)]
pub struct MetricName<'a> {
    /// Row of the metric.
    pub row: &'static MetricRow,
    /// Subject; empty for the whole trial.
    pub subject: &'static str,
    /// Direction; flushes and commits belong to writes.
    pub direction: Option<Direction>,
    /// End of the name; empty for the metric itself.
    statistic: &'a str,
}

/// Subjects with their directions, and their words if they are not the name. Only imported results
/// have trims, mixed directions and syncs.
const SUBJECTS: [(&str, Option<Direction>, &str); 11] = [
    ("read", READ, key!("read")),
    ("write", WRITE, key!("write")),
    ("trim", None, ""),
    ("mixed", None, ""),
    ("sync", None, ""),
    ("flush", WRITE, key!("flush")),
    ("durable_write", WRITE, key!("durable write")),
    ("commit", WRITE, key!("commit")),
    ("operation", None, ""),
    ("memory", None, key!("memory")),
    ("", None, ""),
];

const READ: Option<Direction> = Some(Direction::Read);
const WRITE: Option<Direction> = Some(Direction::Write);
const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);
const NEITHER: Option<Better> = None;

macro_rules! rows {
    ($($subjects:tt $names:tt $unit:ident $better:ident $label:ident $decides:tt $explores:tt
        $words:expr;)*) => {
        &[$(MetricRow {
            subjects: &$subjects,
            names: &$names,
            unit: Unit::$unit,
            better: $better,
            label: Quantity::$label,
            decides: &$decides,
            explores: &$explores,
            words: $words,
        }),*]
    };
}

static TABLE: &[MetricRow] = rows! {
//  Subjects and names                                                                               Unit        Better  Label     Decides  Explores       Words
    ["read", "write", "trim", "mixed"]         ["bw"]                                                BytesPerSec HIGHER  Whole     [""]     [""]           Subject;
    ["read", "write", "trim", "mixed"]         ["iops"]                                              Iops        HIGHER  Whole     [""]     [""]           Subject;
    ["read", "write", "trim", "mixed", "sync"] ["lat"]                                               Nanos       LOWER   Call      ["mean"] ["p50", "p99"] Latency;
    ["read", "write"]                          ["slat"]                                              Nanos       LOWER   Call      []       []             Name;
    ["read", "write"]                          ["short_ios"]                                         Count       LOWER   Whole     []       []             Name;
    ["read", "write"]                          ["first_level_bw", "last_level_bw"]                   BytesPerSec HIGHER  Level     []       []             Name;
    ["read", "write"]                          ["first_level_bytes"]                                 Bytes       NEITHER Level     []       []             Name;
    ["read", "write"]                          ["sample_bw"]                                         BytesPerSec HIGHER  Whole     []       []             Name;
    ["flush"]                                  ["count"]                                             Count       NEITHER Whole     []       []             Name;
    ["flush"]                                  ["lat"]                                               Nanos       LOWER   Whole     ["p50"]  ["p50"]        Latency;
    ["durable_write"]                          ["lat"]                                               Nanos       LOWER   Whole     ["p50"]  ["p50", "p99"] Latency;
    ["commit"]                                 ["tps"]                                               Tps         HIGHER  Whole     [""]     []             Subject;
    ["commit"]                                 ["lat"]                                               Nanos       LOWER   Whole     ["mean"] []             Latency;
    ["commit"]                                 ["flushes"]                                           Count       NEITHER Whole     []       []             Name;
    ["commit"]                                 ["write_bytes", "device_bytes"]                       Bytes       LOWER   Whole     []       []             Name;
    ["memory"]                                 ["bw"]                                                BytesPerSec HIGHER  Whole     [""]     []             Subject;
    ["memory"]                                 ["lat"]                                               Nanos       LOWER   Whole     [""]     []             Latency;
    ["memory"]                                 ["stress_bw"]                                         BytesPerSec HIGHER  Whole     []       []             Name;
    ["memory"]                                 ["tested"]                                            Bytes       NEITHER Whole     []       []             Name;
    ["memory"]                                 ["flips"]                                             Count       LOWER   Whole     []       []             Name;
    ["operation"]                              ["lat"]                                               Nanos       LOWER   Operation []       ["p99"]        Latency;
    [""] ["longest_gap"]                                                                             Nanos       LOWER   Call      []       [""]           Phrase(key!("longest gap"));
    [""] ["act_time"]                                                                                Nanos       LOWER   Whole     [""]     []             Name;
    [""] ["access_time", "checkpoint_time", "lateness"]                                              Nanos       LOWER   Whole     []       []             Name;
    [""] ["cpu_per_io", "cpu_user_per_io", "cpu_system_per_io"]                                      Nanos       LOWER   Whole     []       []             Name;
    [""] ["in_flight", "context_switches"]                                                           Count       NEITHER Whole     []       []             Name;
    [""] ["errors", "empty_intervals", "deadline_misses"]                                            Count       LOWER   Whole     []       []             Name;
    [""] ["deadline_operations", "writes_acknowledged", "writes_checked"]                            Count       NEITHER Whole     []       []             Name;
    [""] ["writes_lost", "writes_torn", "writes_misordered", "places_garbage"]                       Count       LOWER   Whole     []       []             Name;
    [""] ["sectors_ok"]                                                                              Count       HIGHER  Whole     []       []             Name;
    [""] ["sectors_changed", "sectors_overwritten", "sectors_corrupted", "sectors_unreadable"]       Count       LOWER   Whole     []       []             Name;
};

impl<'a> MetricName<'a> {
    /// Finds a metric in the table. The statistic may be any word, because imported results have
    /// other percentiles.
    pub fn parse(name: &'a str) -> Option<Self> {
        let after = |beginning: &str, name: &'a str| match name.strip_prefix(beginning)? {
            rest if rest.is_empty() || beginning.is_empty() => Some(rest),
            rest => rest.strip_prefix('_'),
        };
        SUBJECTS.iter().find_map(|&(subject, direction, _)| {
            let rest = after(subject, name)?;
            let mut rows = TABLE.iter().filter(|row| row.subjects.contains(&subject));
            rows.find_map(|row| {
                let statistic = row.names.iter().find_map(|known| after(known, rest))?;
                Some(Self {
                    row,
                    subject,
                    direction,
                    statistic,
                })
            })
        })
    }

    /// `true` if comparisons show the metric where it does not decide.
    pub fn explores(self) -> bool {
        self.row.explores.contains(&self.statistic)
    }

    /// `true` if the metric decides comparisons of some jobs.
    pub fn may_decide(self) -> bool {
        self.row.decides.contains(&self.statistic)
    }

    /// Returns the percentile of a latency; `None` for any other metric.
    pub fn percentile(self) -> Option<Percentile> {
        let is_latency = matches!(self.row.words, Latency);
        let mut known = IO_PERCENTILES.into_iter().filter(|_| is_latency);
        known.find(|percentile| percentile.to_string() == self.statistic)
    }

    /// Returns the measured quantity, which determines the label.
    pub fn quantity(self) -> Quantity {
        let percentile = match self.statistic {
            "min" => Some(Percentile::ppm(0)),
            "max" => Some(Percentile::P100),
            _ => self.percentile(),
        };
        match (self.row.label, percentile) {
            (Quantity::Call, Some(of)) => Quantity::Percentile(of.parts_per_million()),
            (label, _) => label,
        }
    }
}

/// Returns a metric in words, in the user's language: `read`, `write latency p99`. A name that is
/// not in the table is shown with spaces.
pub fn in_words(name: &str) -> String {
    let Some(metric) = MetricName::parse(name) else {
        return name.replace('_', " ");
    };
    let operation = subject_in_words(metric.subject);
    match (metric.row.words, metric.statistic) {
        (Subject, "") => operation.to_owned(),
        (Phrase(phrase), "") => translated(phrase).to_owned(),
        // Only memory has a latency without a statistic.
        (Latency, "") => tr!("latency of a load").to_owned(),
        (Latency, percentile) => {
            tr!("{operation} latency {percentile}", operation, percentile)
        }
        _ => name.replace('_', " "),
    }
}

/// Returns a subject in words, in the user's language.
pub fn subject_in_words(name: &str) -> &str {
    let known = SUBJECTS.iter().find(|(subject, ..)| *subject == name);
    let words = known
        .map(|(.., words)| *words)
        .filter(|words| !words.is_empty());
    words.map_or(name, translated)
}

/// Returns the measured layers behind a metric, reads first: those of its direction, or of both
/// directions for a metric of the whole trial.
pub fn measured_of<'a>(metric: &str, judgement: &'a Judgement) -> Vec<Cow<'a, Measured>> {
    let (read, write) = (judgement.read.as_ref(), judgement.write.as_ref());
    let name = MetricName::parse(metric);
    let sides = match name.and_then(|name| name.direction) {
        READ => [read, None],
        WRITE => [None, write],
        None => [read, write],
    };
    let quantity = name.map_or(Quantity::Whole, MetricName::quantity);
    let sides = sides.into_iter().flatten();
    sides.map(|evidence| evidence.of(quantity)).collect()
}

/// Returns the label that is shown next to a metric. A metric of the whole trial has the common
/// label of both directions, or both if they differ, reads first: `device+page-cache`.
pub fn label_of(metric: &str, judgement: Option<&Judgement>) -> String {
    let measured = judgement.map_or_else(Vec::new, |judgement| measured_of(metric, judgement));
    let labels: Vec<&str> = measured.iter().map(|measured| measured.label()).collect();
    match labels[..] {
        [read, write] if read != write => format!("{read}+{write}"),
        [one, ..] => one.to_owned(),
        // Nothing was judged, so no layer can be claimed.
        [] => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of all metrics, without statistics.
    fn all() -> Vec<(String, &'static MetricRow)> {
        let full = |subject: &str, name: &str| match subject {
            "" => name.to_owned(),
            subject => format!("{subject}_{name}"),
        };
        let each = TABLE.iter().flat_map(|row| {
            let of = move |subject: &&'static str| (*subject, row);
            row.subjects.iter().map(of)
        });
        each.flat_map(|(subject, row)| row.names.iter().map(move |name| (full(subject, name), row)))
            .collect()
    }

    #[test]
    fn each_metric_is_found_in_its_own_row() {
        for (name, row) in all() {
            for name in [name.clone(), format!("{name}_p99")] {
                let found = MetricName::parse(&name).unwrap();
                assert!(std::ptr::eq(found.row, row), "{name}");
            }
        }
        assert!(MetricName::parse("read").is_none() && MetricName::parse("readiness").is_none());
    }

    #[test]
    fn each_metric_is_described() {
        let page = include_str!("../../../../docs/json.md");
        let imported = ["trim_", "mixed_", "sync_"];
        for (name, _) in all() {
            let is_own = !imported.iter().any(|subject| name.starts_with(subject));
            let described = name.replacen("write_", "read_", 1);
            let known = [&name, &described]
                .iter()
                .any(|name| page.contains(&format!("`{name}")));
            assert!(!is_own || known, "{name}");
        }
    }

    /// Guards against a rule for both `write_bw` and `write_lat` by their common prefix.
    #[test]
    fn only_io_latencies_are_calls_and_flushes_are_not() {
        let quantity_of = |name: &str| MetricName::parse(name).unwrap().quantity();
        let is_call =
            |name: &&str| matches!(quantity_of(name), Quantity::Call | Quantity::Percentile(_));
        let names = [
            "write_bw",
            "write_iops",
            "write_lat_mean",
            "write_lat_p99.9",
            "write_slat_mean",
            "read_lat_p50",
            "longest_gap",
            "flush_lat_p50",
            "flush_count",
            "commit_lat_p99",
            "commit_tps",
            "durable_write_lat_p50",
            "act_time",
            "operation_lat_p99",
            "write_last_level_bw",
            "write_sample_bw_mean",
        ];
        let calls: Vec<&str> = names.into_iter().filter(is_call).collect();
        assert_eq!(
            calls,
            [
                "write_lat_mean",
                "write_lat_p99.9",
                "write_slat_mean",
                "read_lat_p50",
                "longest_gap"
            ]
        );
        assert_eq!(quantity_of("write_lat_p99"), Quantity::Percentile(990_000));
        assert_eq!(quantity_of("read_lat_min"), Quantity::Percentile(0));
    }
}
