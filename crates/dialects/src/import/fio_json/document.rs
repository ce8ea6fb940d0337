//! fio's JSON, as far as it is used. Other members, above all bins, are skipped without
//! being stored.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Options with their values, which fio writes as text.
pub(super) type Options = Map<String, Value>;

#[derive(Debug, Deserialize)]
pub(super) struct FioJson {
    #[serde(rename = "fio version")]
    pub(super) version: Option<String>,
    /// Time of writing, in seconds since the epoch.
    timestamp: Option<f64>,
    timestamp_ms: Option<f64>,
    pub(super) time: Option<String>,
    /// Global options; `None` before fio 2.2.
    #[serde(rename = "global options")]
    pub(super) global: Option<Options>,
    #[serde(default)]
    jobs: Vec<FioJsonJob>,
    /// Replaces `jobs` if fio was a client.
    #[serde(default)]
    client_stats: Vec<FioJsonJob>,
    #[serde(rename = "disk_util", default)]
    pub(super) disks: Vec<Disk>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Disk {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct FioJsonJob {
    #[serde(rename = "jobname", default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) error: i64,
    /// Run time in seconds, rounded up.
    elapsed: Option<f64>,
    /// Start in milliseconds since the epoch; `None` in older versions.
    job_start: Option<f64>,
    #[serde(rename = "job options", default)]
    pub(super) options: Options,
    read: Option<Direction>,
    write: Option<Direction>,
    trim: Option<Direction>,
    mixed: Option<Direction>,
    pub(super) sync: Option<Sync>,
    /// Label of each direction, added by assay.
    #[serde(default)]
    assay: BTreeMap<String, Value>,
}

/// Figures of a direction. Without `flatten`, which would buffer all bins and parse them
/// twice.
#[derive(Debug, Deserialize)]
pub(super) struct Direction {
    pub(super) bw: Option<f64>,
    pub(super) iops: Option<f64>,
    io_bytes: Option<f64>,
    /// Run time in milliseconds.
    runtime: Option<f64>,
    total_ios: Option<f64>,
    slat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
    /// Latencies before fio 3, in microseconds.
    slat: Option<Latency>,
    clat: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Sync {
    lat_ns: Option<Latency>,
    lat: Option<Latency>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Latency {
    /// Number of samples; `None` if absent. fio writes 0 if nothing was counted.
    #[serde(rename = "N")]
    count: Option<f64>,
    max: Option<f64>,
    pub(super) mean: Option<f64>,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

impl FioJson {
    pub(super) fn all_jobs(&self) -> impl Iterator<Item = &FioJsonJob> {
        self.jobs.iter().chain(&self.client_stats)
    }

    /// Returns true if `earlier` is an interim report of the same run, that is, one with the
    /// same start.
    pub(super) fn goes_on_from(&self, earlier: &Self) -> bool {
        let (Some(one), Some(other)) = (self.all_jobs().next(), earlier.all_jobs().next()) else {
            return false;
        };
        let names = |document: &'_ Self| document.all_jobs().map(|job| job.name.clone()).collect();
        let (names, other_names): (Vec<_>, Vec<_>) = (names(self), names(earlier));
        if names != other_names {
            return false;
        }
        if let (Some(began), Some(other_began)) = (one.job_start, other.job_start) {
            return began.total_cmp(&other_began).is_eq();
        }
        // Tolerance in seconds: both values are whole seconds, one rounded up and one down.
        const ROUNDING: f64 = 1.0;
        // After a run of this many seconds, the next run's start differs by more than the
        // rounding.
        const TELLING: f64 = 4.0;
        let began = |document: &Self, job: &FioJsonJob| Some(document.timestamp? - job.elapsed?);
        let (Some(began), Some(other_began)) = (began(self, one), began(earlier, other)) else {
            return false;
        };
        let (bytes, runtime) = self.progress();
        let (other_bytes, other_runtime) = earlier.progress();
        let written = |document: &Self| document.timestamp_ms.or(Some(document.timestamp? * 1e3));
        let between = written(self)
            .zip(written(earlier))
            .map(|(now, then)| now - then);
        let grew = bytes > other_bytes && runtime >= other_runtime && between < Some(runtime);
        (began - other_began).abs() <= ROUNDING
            && one.elapsed >= other.elapsed
            && (other.elapsed >= Some(TELLING) || grew)
    }

    /// Returns the bytes of all jobs, and the longest run time.
    fn progress(&self) -> (f64, f64) {
        let directions = self.all_jobs().flat_map(FioJsonJob::directions);
        directions.fold((0.0, 0.0), |(bytes, runtime), direction| {
            let bytes = bytes + direction.io_bytes.unwrap_or(0.0);
            (bytes, direction.runtime.unwrap_or(0.0).max(runtime))
        })
    }

    /// Returns true unless the file rules out direct I/O; a file without options does not.
    pub(super) fn may_be_direct(&self, job: &FioJsonJob) -> bool {
        let is_on = |options: &Options, name, on: &str| {
            let value = options.get(name).and_then(Value::as_str);
            value.is_some_and(|value| value == on || (value.is_empty() && on == "1"))
        };
        let (Some(global), false) = (&self.global, job.options.is_empty()) else {
            return true;
        };
        [&job.options, global]
            .iter()
            .any(|options| is_on(options, "direct", "1") || is_on(options, "buffered", "0"))
    }
}

impl FioJsonJob {
    fn directions(&self) -> impl Iterator<Item = &Direction> {
        let all = [&self.read, &self.write, &self.trim, &self.mixed];
        all.into_iter().flatten()
    }

    pub(super) fn direction(&self, name: &str) -> Option<&Direction> {
        match name {
            "read" => self.read.as_ref(),
            "write" => self.write.as_ref(),
            "trim" => self.trim.as_ref(),
            "mixed" => self.mixed.as_ref(),
            _ => None,
        }
    }

    pub(super) fn label(&self, direction: &str) -> Option<String> {
        let label = self.assay.get(direction)?.get("label")?.as_str()?;
        Some(label.to_owned())
    }

    pub(super) fn is_labelled(&self) -> bool {
        !self.assay.is_empty()
    }
}

impl Direction {
    /// Returns true if there was any I/O: fio writes all directions in every job.
    pub(super) fn moved(&self) -> bool {
        let mut told = [self.io_bytes, self.total_ios]
            .into_iter()
            .flatten()
            .peekable();
        told.peek().is_none() || told.any(|count| count != 0.0)
    }

    pub(super) fn latencies(&self) -> Vec<(&'static str, &'static str, &Latency)> {
        let all = [
            ("slat", "ns", &self.slat_ns),
            ("clat", "ns", &self.clat_ns),
            ("lat", "ns", &self.lat_ns),
            ("slat", "usec", &self.slat),
            ("clat", "usec", &self.clat),
            ("lat", "usec", &self.lat),
        ];
        present(&all)
    }
}

impl Sync {
    pub(super) fn latencies(&self) -> Vec<(&'static str, &'static str, &Latency)> {
        present(&[("lat", "ns", &self.lat_ns), ("lat", "usec", &self.lat)])
    }
}

fn present<'a>(
    all: &[(&'static str, &'static str, &'a Option<Latency>)],
) -> Vec<(&'static str, &'static str, &'a Latency)> {
    let present = all
        .iter()
        .filter_map(|&(name, unit, latency)| Some((name, unit, latency.as_ref()?)));
    present
        .filter(|(_, _, latency)| !latency.is_empty())
        .collect()
}

impl Latency {
    fn is_empty(&self) -> bool {
        match self.count {
            Some(count) => count == 0.0,
            None => self.max.is_none_or(|max| max == 0.0),
        }
    }

    /// Returns the percentiles, such as `p99.99` for `99.990000`, in fio's order.
    pub(super) fn percentiles(&self) -> Vec<(String, f64)> {
        let mut all: Vec<(f64, String, f64)> = self
            .percentile
            .iter()
            .filter_map(|(percent, value)| {
                let name = match percent.split_once('.') {
                    Some(_) => percent.trim_end_matches('0').trim_end_matches('.'),
                    None => percent,
                };
                // Before fio 3, unused entries of the list are 0.
                let percent = percent.parse().ok().filter(|percent| *percent > 0.0)?;
                Some((percent, format!("p{name}"), *value))
            })
            .collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all.into_iter()
            .map(|(_, name, value)| (name, value))
            .collect()
    }
}
