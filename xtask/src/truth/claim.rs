//! Claims of assay: figures of its JSON output with their labels.

use anyhow::{Context, Result};
pub use assay_model::job::Direction;
use serde_json::Value;

/// Figures of one direction of one job.
#[derive(Clone, Debug)]
pub struct Claim {
    pub direction: Direction,
    pub bytes: u64,
    pub ios: u64,
    /// Time over which the rate is measured, in microseconds.
    pub micros: u64,
    /// Label of the bandwidth.
    pub label: String,
    /// Label of the latency.
    pub latency_label: String,
    /// Share of the bytes that the device moved; `None` if unknown.
    pub share: Option<f64>,
    pub because: String,
}

/// Parses all claims in assay's output, which is fio's JSON or that of a run.
pub fn claims(text: &str) -> Result<Vec<Claim>> {
    let json: Value = serde_json::from_str(text).context("the output is not JSON")?;
    let (list, of): (_, fn(&Value, Direction) -> Option<Claim>) = match json.get("jobs") {
        Some(jobs) => (jobs, of_fio),
        None => (&json["trials"], of_run),
    };
    let entries = list
        .as_array()
        .context("the JSON has neither jobs nor trials")?;
    let both = |entry| Direction::ALL.map(|direction| of(entry, direction));
    Ok(entries.iter().flat_map(both).flatten().collect())
}

fn of_fio(job: &Value, direction: Direction) -> Option<Claim> {
    let figures = &job[direction.name()];
    let ios = figures["total_ios"].as_u64().filter(|ios| *ios > 0)?;
    Some(Claim {
        bytes: figures["io_bytes"].as_u64()?,
        ios,
        micros: figures["runtime"].as_u64()? * 1000,
        ..evidence(&job["assay"][direction.name()], direction)
    })
}

fn of_run(trial: &Value, direction: Direction) -> Option<Claim> {
    let totals = &trial["totals"][direction.name()];
    let ios = totals["ios"].as_u64().filter(|ios| *ios > 0)?;
    let mut claim = evidence(&trial["evidence"][direction.name()], direction);
    let latency = format!("{}_lat_p50", direction.name());
    let metrics = trial["metrics"].as_array()?;
    let of_latency = metrics.iter().find(|metric| metric["name"] == *latency);
    if let Some(label) = of_latency.and_then(|metric| metric["label"].as_str()) {
        claim.latency_label = label.to_owned();
    }
    Some(Claim {
        bytes: totals["bytes"].as_u64()?,
        ios,
        micros: trial["elapsed_ns"].as_u64()? / 1000,
        ..claim
    })
}

fn evidence(of: &Value, direction: Direction) -> Claim {
    let text = |name: &str| of[name].as_str().map(str::to_owned);
    let label = text("label").unwrap_or_else(|| "none".to_owned());
    Claim {
        direction,
        bytes: 0,
        ios: 0,
        micros: 0,
        latency_label: text("latency_label").unwrap_or_else(|| label.clone()),
        label,
        share: of["device_share"].as_f64(),
        because: text("because").unwrap_or_default(),
    }
}
