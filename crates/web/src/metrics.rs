//! `/metrics`: state of the server and its store, as OpenMetrics text.

use crate::asked::Asked;
use crate::reply::{Problem, Reply};
use std::fmt::Write;

/// Media type of OpenMetrics text (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
pub const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers with the metrics.
pub fn metrics(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let totals = asked.store.totals()?;
    let mut text = String::new();
    let mut gauge = |name: &str, unit: &str, about: &str, value: u64| {
        let unit = match unit {
            "" => String::new(),
            unit => format!("# UNIT {name} {unit}\n"),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "# TYPE {name} gauge\n{unit}# HELP {name} {about}\n{name} {value}\n"
        );
    };
    gauge("assay_runs", "", "Runs in the store.", totals.runs);
    gauge("assay_imports", "", "Imports in the store.", totals.imports);
    gauge(
        "assay_devices",
        "",
        "Different models of devices.",
        totals.devices,
    );
    let open = asked.store.open_changes()?;
    gauge(
        "assay_open_changes",
        "",
        "Slowdowns that nobody accepted.",
        open,
    );
    if let Some(newest) = totals.newest_unix_ms {
        let about = "Start of the newest run, seconds since 1970.";
        gauge("assay_newest_run_seconds", "seconds", about, newest / 1000);
    }
    text.push_str(
        "# TYPE assay_http_answers counter\n# HELP assay_http_answers Answers by status.\n",
    );
    for (class, count) in asked.served.counts.by_class().enumerate() {
        let _ = writeln!(
            text,
            "assay_http_answers_total{{status=\"{}xx\"}} {count}",
            class + 1
        );
    }
    text.push_str("# EOF\n");
    Ok(Reply::new(KIND, text))
}
