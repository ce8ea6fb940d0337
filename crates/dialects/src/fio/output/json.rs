//! JSON output.

use super::entry::{
    CLASSES, CLASSES_MS, EntryDirection, JobEntry, Traffic, bin_value, moments, percentiles,
};
use super::samples::Spread;
use super::text::{criterion_name, mean_of, percent_sign};
use super::{Figures, JsonValue, Map, Presentation, RunGroup, disks, entry, percent_of_group};
use assay_model::evidence::LatencyRecord;
use assay_model::load::report::SteadyStateReached;
use std::io::{self, Write};
use std::iter::repeat_n;

/// Writes the report as fio's JSON, with an object `assay` in each job that
/// labels its figures. With `plus`, latencies include their bins.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_json(p: &Presentation<'_>, plus: bool, out: &mut dyn Write) -> io::Result<()> {
    let figures = Figures::of(p);
    let elapsed_ns = p.report.streams.iter().map(|s| s.elapsed_ns).max();
    let elapsed_s = elapsed_ns.unwrap_or(0).div_ceil(1_000_000_000);
    let jobs = figures.entries.iter().map(|entry| {
        let writer = JsonJob {
            entry,
            group: figures.group(entry),
            plus,
        };
        JsonValue::from(writer.object(p, elapsed_s))
    });
    let mut root = Map::new();
    root.add("fio version", p.version);
    root.add("timestamp", p.timestamp_ms / 1000);
    root.add("timestamp_ms", p.timestamp_ms);
    root.add("time", p.time_text.trim_end());
    root.add("global options", options(p.global_options));
    root.add("jobs", jobs.collect::<Vec<_>>());
    let disks = disks::objects(&p.report.disks);
    if !disks.is_empty() {
        let disks: Vec<JsonValue> = disks.into_iter().map(JsonValue::from).collect();
        root.add("disk_util", disks);
    }
    super::write(&root, out)
}

/// Formats options; fio writes an empty value for an option without one.
fn options(options: &[(String, Option<String>)]) -> Map {
    let mut map = Map::new();
    for (name, value) in options {
        map.add(name, value.as_deref().unwrap_or_default());
    }
    map
}

/// Element of `jobs` while it is built.
struct JsonJob<'a> {
    entry: &'a JobEntry<'a>,
    group: Option<&'a RunGroup>,
    plus: bool,
}

impl JsonJob<'_> {
    fn object(&self, p: &Presentation<'_>, elapsed_s: u64) -> Map {
        let entry = self.entry;
        let mut map = Map::new();
        map.add("jobname", entry.stream.name.as_str());
        map.add("groupid", entry.stream.group);
        map.add("job_start", entry.first.started_unix_ms);
        map.add("error", u64::from(entry.errno.unsigned_abs()));
        map.add("eta", p.eta_s);
        map.add("elapsed", elapsed_s);
        map.add(
            "job options",
            options(entry.text.map_or(&[], |text| &text.options)),
        );
        self.add_directions(&mut map);
        map.add("job_runtime", entry.total_ms);
        map.add("usr_cpu", entry.user_percent);
        map.add("sys_cpu", entry.system_percent);
        map.add("ctx", entry.switches);
        map.add("majf", entry.major_faults);
        map.add("minf", entry.minor_faults);
        self.add_depths(&mut map);
        self.add_classes(&mut map);
        if entry.goes_on_after_errors() {
            map.add("total_err", entry.total_errors);
            map.add("first_error", u64::from(entry.errno.unsigned_abs()));
        }
        let target = entry.stream.pace.latency_target;
        map.add("latency_depth", entry.latency_depth());
        map.add("latency_target", target.map_or(0, |target| target.target.0));
        map.add(
            "latency_percentile",
            target.map_or(100.0, |target| target.percentile),
        );
        map.add(
            "latency_window",
            target.map_or(0, |target| target.window.0 / 1000),
        );
        if let Some(description) = &entry.stream.description {
            map.add("desc", description.as_str());
        }
        if let Some(steady) = &entry.first.steady_state {
            map.add("steadystate", steady_object(steady));
        }
        map.add("assay", entry.evidence.object());
        map
    }

    /// Adds the directions. fio writes the flushes after the trims, before
    /// `mixed`.
    fn add_directions(&self, map: &mut Map) {
        let (apart, mixed): (Vec<_>, Vec<_>) = self
            .entry
            .traffic
            .iter()
            .partition(|(way, _)| *way != EntryDirection::Mixed);
        let both = !apart.is_empty();
        for (way, traffic) in if both { &apart } else { &mixed } {
            map.add(way.name(), self.direction(*way, traffic));
        }
        map.add("sync", self.sync());
        for (way, traffic) in mixed.iter().filter(|_| both) {
            map.add(way.name(), self.direction(*way, traffic));
        }
    }

    fn direction(&self, way: EntryDirection, traffic: &Traffic) -> Map {
        let iops = match traffic.runtime_ms {
            0 => 0.0,
            ms => 1000.0 * traffic.ios as f64 / ms as f64,
        };
        let stats = self.entry.stats();
        let mut map = Map::new();
        map.add("io_bytes", traffic.bytes);
        map.add("io_kbytes", traffic.bytes / 1024);
        map.add("bw_bytes", traffic.bytes_per_s());
        map.add("bw", traffic.bytes_per_s() / 1024);
        map.add("iops", iops);
        map.add("runtime", traffic.runtime_ms);
        map.add("total_ios", traffic.ios);
        map.add("short_ios", traffic.short_ios);
        map.add("drop_ios", traffic.dropped_ios);
        map.add(
            "slat_ns",
            self.latency(&traffic.submission, stats.slat_percentiles),
        );
        map.add(
            "clat_ns",
            self.latency(&traffic.completion, stats.clat_percentiles),
        );
        map.add(
            "lat_ns",
            self.latency(&traffic.total, stats.lat_percentiles),
        );
        if !traffic.priorities.is_empty() {
            map.add("prios", self.priorities(traffic));
        }
        self.add_samples(way, traffic, &mut map);
        map
    }

    /// Returns latencies by priority: the total latency if its percentiles are
    /// enabled, otherwise the completion latency.
    fn priorities(&self, traffic: &Traffic) -> Vec<JsonValue> {
        let stats = self.entry.stats();
        let name = if stats.lat_percentiles {
            "lat_ns"
        } else {
            "clat_ns"
        };
        let with_percentiles = stats.clat_percentiles || stats.lat_percentiles;
        let objects = traffic.priorities.iter().map(|(priority, record)| {
            let mut map = Map::new();
            map.add("prioclass", u64::from(priority.class()));
            map.add("prio", u64::from(priority.level()));
            // assay has no option that sets a hint.
            map.add("priohint", 0_u64);
            map.add(name, self.latency(record, with_percentiles));
            JsonValue::from(map)
        });
        objects.collect()
    }

    fn add_samples(&self, way: EntryDirection, traffic: &Traffic, map: &mut Map) {
        let group_bytes_per_s = self.group.map_or(0, |group| group.bytes_per_s(way));
        let bw = traffic.samples.bandwidth(1024);
        let share = bw.map_or(0.0, |bw| percent_of_group(bw.mean, 1024, group_bytes_per_s));
        let bw = bw.unwrap_or_default();
        map.add("bw_min", bw.min);
        map.add("bw_max", bw.max);
        map.add("bw_agg", share);
        map.add("bw_mean", bw.mean);
        map.add("bw_dev", bw.stdev);
        map.add("bw_samples", bw.count as u64);
        let iops: Spread = traffic.samples.iops().unwrap_or_default();
        map.add("iops_min", iops.min);
        map.add("iops_max", iops.max);
        map.add("iops_mean", iops.mean);
        map.add("iops_stddev", iops.stdev);
        map.add("iops_samples", iops.count as u64);
    }

    fn sync(&self) -> Map {
        let stats = self.entry.stats();
        let percentiles = stats.clat_percentiles || stats.lat_percentiles;
        let mut map = Map::new();
        map.add("total_ios", self.entry.sync.count);
        map.add("lat_ns", self.latency(&self.entry.sync, percentiles));
        map
    }

    fn latency(&self, record: &LatencyRecord, with_percentiles: bool) -> Map {
        let figures = moments(record).unwrap_or_default();
        let mut map = Map::new();
        map.add("min", figures.min_ns);
        map.add("max", figures.max_ns);
        map.add("mean", figures.mean_ns);
        map.add("stddev", figures.stdev_ns);
        map.add("N", figures.count);
        if !with_percentiles || figures.count == 0 {
            return map;
        }
        let mut found = Map::new();
        for (percent, ns) in percentiles(record, &self.entry.stats().percentiles) {
            found.add(&format!("{percent:.6}"), ns);
        }
        map.add("percentile", found);
        if self.plus {
            let mut bins = Map::new();
            for &(index, operations) in &record.bins {
                bins.add(&bin_value(index).to_string(), operations);
            }
            map.add("bins", bins);
        }
        map
    }

    fn add_depths(&self, map: &mut Map) {
        let depths = &self.entry.depths;
        let handed_over = ["0", "4", "8", "16", "32", "64", ">=64"];
        for (name, classes, counts) in [
            (
                "iodepth_level",
                ["1", "2", "4", "8", "16", "32", ">=64"],
                &depths.level,
            ),
            ("iodepth_submit", handed_over, &depths.submit),
            ("iodepth_complete", handed_over, &depths.complete),
        ] {
            map.add(name, named(classes, entry::depth_shares(counts)));
        }
    }

    fn add_classes(&self, map: &mut Map) {
        let (ios, classes) = (self.entry.ios(), &self.entry.classes);
        let names = CLASSES.map(|end| end.to_string());
        let names_ms = CLASSES_MS.map(|end| end.to_string());
        let names_ms = names_ms.into_iter().chain([">=2000".to_owned()]);
        map.add(
            "latency_ns",
            named(names.clone(), entry::class_shares(&classes.ns, ios)),
        );
        map.add(
            "latency_us",
            named(names, entry::class_shares(&classes.us, ios)),
        );
        map.add(
            "latency_ms",
            named(names_ms, entry::class_shares(&classes.ms, ios)),
        );
    }
}

fn named(
    names: impl IntoIterator<Item = impl AsRef<str>>,
    percents: impl IntoIterator<Item = f64>,
) -> Map {
    let mut map = Map::new();
    for (name, percent) in names.into_iter().zip(percents) {
        map.add(name.as_ref(), percent);
    }
    map
}

/// Pads the values of an incomplete window with zeros, as fio does. Programs that read it divide
/// by the length of the list.
fn padded(values: &[u64], length: usize) -> Vec<JsonValue> {
    let missing = length.saturating_sub(values.len());
    let all = values.iter().copied().chain(repeat_n(0, missing));
    all.map(JsonValue::from).collect()
}

/// Returns the result of the steady-state check.
fn steady_object(steady: &SteadyStateReached) -> Map {
    let (what, slope) = criterion_name(steady.criterion);
    let slope = if slope { "_slope" } else { "" };
    let sign = percent_sign(steady);
    let length = usize::try_from(steady.duration_ns / 1_000_000_000).unwrap_or(0);
    let mut data = Map::new();
    data.add("bw_mean", mean_of(&steady.bw));
    data.add("iops_mean", mean_of(&steady.iops));
    data.add("lat_mean", mean_of(&steady.lat));
    data.add("iops", padded(&steady.iops, length));
    data.add("bw", padded(&steady.bw, length));
    data.add("lat", padded(&steady.lat, length));
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
