//! Comparison of the four ways to write with dd.

use super::evidence::size;
use assay_judge::judge;
use assay_model::gnu::rate;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::work::StepDetail;
use assay_model::work::copy::FileCopy;
use std::fmt::Write;
use std::path::PathBuf;

/// Way to write with dd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DdWriteMode {
    /// dd's operand for it.
    pub name: &'static str,
    /// Meaning of its rate.
    pub says: &'static str,
}

const WAYS: [DdWriteMode; 4] = [
    DdWriteMode {
        name: "plain",
        says: "how fast memory takes the data; the device may get it later",
    },
    DdWriteMode {
        name: "conv=fdatasync",
        says: "until all data is safe on the device: quote this one for a file that is written once",
    },
    DdWriteMode {
        name: "oflag=direct",
        says: "past the page cache, block by block; a volatile cache of the device may still hold it",
    },
    DdWriteMode {
        name: "oflag=dsync",
        says: "each block is safe before the next begins: quote this one for logs and databases",
    },
];

/// Makes the same copy in each way, as steps of one work. Without an input, it
/// writes zeros. With `remove`, each step removes its output file.
pub fn ways(copy: &FileCopy, remove: bool) -> FileCopy {
    let one = |way: DdWriteMode| {
        let mut one = copy.clone();
        one.name = way.name.to_owned();
        one.input = Some(
            copy.input
                .clone()
                .unwrap_or_else(|| PathBuf::from("/dev/zero")),
        );
        one.remove_output = remove;
        one.settle = true;
        one.treatment.fsync = false;
        one.treatment.fdatasync = way.name == "conv=fdatasync";
        one.output_flags.sync = false;
        one.output_flags.direct = way.name == "oflag=direct";
        one.output_flags.dsync = way.name == "oflag=dsync";
        one
    };
    let mut first = one(WAYS[0]);
    first.then = WAYS[1..].iter().map(|&way| one(way)).collect();
    first
}

/// Formats the results and meanings of all ways as a table.
pub fn explanation(trials: &[TrialRecord]) -> String {
    let mut rows = vec![
        [
            "way",
            "rate",
            "reached the device",
            "still dirty",
            "flushes",
            "measured",
        ]
        .map(str::to_owned),
    ];
    rows.extend(trials.iter().map(row));
    let mut width = [0; 6];
    for row in &rows {
        for (width, cell) in width.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(width).enumerate() {
            // Writing to a String cannot fail.
            let _ = match at {
                0 => write!(line, "{cell:<width$}"),
                5 => write!(line, "  {cell}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    for way in WAYS {
        let _ = writeln!(text, "{:<15} {}", way.name, way.says);
    }
    text
}

fn row(trial: &TrialRecord) -> [String; 6] {
    let name = match trial.trial {
        1 => trial.job.name.clone(),
        number => format!("{} ({number})", trial.job.name),
    };
    let report = match trial.detail.as_deref() {
        Some(StepDetail::Copy(report)) if trial.outcome == Outcome::Completed => report,
        _ => {
            return [
                name,
                trial.outcome.word().to_owned(),
                dash(),
                dash(),
                dash(),
                dash(),
            ];
        }
    };
    let write = judge(trial).and_then(|judgement| judgement.write);
    let share = write.as_ref().and_then(|write| write.device_share);
    let dirty = write.as_ref().and_then(|write| write.dirty_bytes_at_stop);
    let flushes = write.as_ref().and_then(|write| write.flushes);
    [
        name,
        rate(report.bytes, report.elapsed_ns),
        share.map_or_else(dash, |share| format!("{:.0} %", (share * 100.0).floor())),
        dirty.map_or_else(dash, size),
        flushes.map_or_else(dash, |flushes| flushes.to_string()),
        write.map_or_else(dash, |write| write.measured.to_string()),
    ]
}

fn dash() -> String {
    "-".to_owned()
}
