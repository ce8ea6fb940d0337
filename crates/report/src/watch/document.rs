//! JSON document of all samples.

use super::ending::{Moved, Name, on_device_ns, sentences};
use assay_lang::in_english;
use assay_model::work::watch::{Phase, WatchReport, WatchSample};
use assay_stats::watch::busiest;
use serde_json::{Value, json};
use std::ffi::OsString;

/// Version of the document; rises when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// Returns the document: raw samples, the end of the command, the activity of the device.
pub fn document(
    command: &[OsString],
    interval_ns: u64,
    samples: &[WatchSample],
    report: &WatchReport,
) -> Value {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    let (first, last) = (samples.first(), samples.last());
    let disk = first
        .zip(last)
        .and_then(|(first, last)| busiest(first, last));
    let disk = disk.map(|disk| disk.counters.name.as_str());
    json!({
        "schema": SCHEMA,
        "command": words,
        "interval_ns": interval_ns,
        "exit_code": report.ended.and_then(|end| end.exit_code),
        "signal": report.ended.and_then(|end| end.signal),
        "finished_ns": report.ended.map(|end| end.at_ns),
        "on_device_ns": on_device_ns(disk, report),
        "drain": report.drain,
        "last_writes": report.last_writes,
        "device": disk.and_then(|disk| device(disk, samples)),
        "conclusion": in_english(|| sentences(&Name::of(command), samples, report)),
        "samples": samples,
    })
}

/// Returns the activity of the device until the command ended, and in total.
fn device(name: &str, samples: &[WatchSample]) -> Option<Value> {
    let (first, last) = (samples.first()?, samples.last()?);
    let ended = samples
        .iter()
        .find(|sample| sample.phase == Phase::Draining);
    let until = |sample: &WatchSample| {
        Moved::of(name, first, sample).map(|moved| {
            json!({
                "read_bytes": moved.read_bytes,
                "written_bytes": moved.written_bytes,
                "writes": moved.writes,
                "flushes": moved.flushes,
            })
        })
    };
    Some(json!({
        "name": name,
        "until_finished": ended.and_then(until),
        "in_all": until(last),
    }))
}
