//! Matrices of iozone: for each test the rate by file size and record size, with the label of each
//! cell.

use crate::words::labels::Labels;
use assay_judge::{Measured, judge};
use assay_model::act::StepDetail;
use assay_model::act::iozone::{IozoneStep, RateUnit, Test};
use assay_model::run::Run;
use assay_model::trial::{Outcome, TrialRecord};

/// Matrix of one test (with one number of children).
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Title, for example `Writer report`, `Reader report, 4 children`.
    pub title: String,
    /// Unit of the values.
    pub unit: RateUnit,
    /// File sizes, in KiB, ascending.
    pub rows: Vec<u64>,
    /// Record sizes, in KiB, ascending.
    pub columns: Vec<u64>,
    /// Cells by row, then by column; `None` if not measured.
    pub cells: Vec<Vec<Option<Cell>>>,
}

impl Matrix {
    /// Returns the number of decimals of the values.
    pub const fn digits(&self) -> usize {
        match self.unit {
            RateUnit::MicrosPerOp => 2,
            RateUnit::KibPerSec | RateUnit::OpsPerSec => 0,
        }
    }
}

/// Cell of one file size and one record size.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Rate in the matrix's unit; the median of several trials.
    pub value: f64,
    /// Label of the cell: one of [`Measured::label`], or `differs` if the trials disagree; `None`
    /// without evidence.
    pub label: Option<String>,
}

/// Returns the matrices of a run in KiB/s, in the order of iozone's columns; empty if the run has
/// no tests of iozone.
pub fn matrices(run: &Run) -> Vec<Matrix> {
    matrices_in(run, RateUnit::default())
}

/// Returns the matrices of a run in the given unit.
pub fn matrices_in(run: &Run, unit: RateUnit) -> Vec<Matrix> {
    let steps: Vec<_> = run.trials.iter().filter_map(done).collect();
    let mut kinds: Vec<_> = steps.iter().map(|(step, _)| kind(step)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
        .into_iter()
        .map(|kind_of| {
            let its = steps.iter().filter(|(step, _)| kind(step) == kind_of);
            matrix(kind_of, unit, &its.copied().collect::<Vec<_>>())
        })
        .collect()
}

type Done<'a> = (&'a IozoneStep, &'a TrialRecord);

/// Returns a completed cell.
fn done(trial: &TrialRecord) -> Option<Done<'_>> {
    match trial.detail.as_deref() {
        Some(StepDetail::Iozone(step)) if trial.outcome == Outcome::Completed => {
            Some((step, trial))
        }
        _ => None,
    }
}

/// Returns the key of a cell's matrix. The number of children is part of it only in throughput
/// mode.
fn kind(step: &IozoneStep) -> (Option<usize>, Test) {
    (step.parent_ns.map(|_| step.children.len()), step.test)
}

fn matrix((children, test): (Option<usize>, Test), unit: RateUnit, steps: &[Done<'_>]) -> Matrix {
    let sizes = |size: fn(&IozoneStep) -> u64| {
        let mut all: Vec<u64> = steps.iter().map(|(step, _)| size(step)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let rows = sizes(|step| step.file_kib);
    let columns = sizes(|step| step.record_kib);
    let cell_at = |file, record| {
        let its = steps
            .iter()
            .filter(|(step, _)| step.file_kib == file && step.record_kib == record);
        cell(unit, &its.copied().collect::<Vec<_>>())
    };
    let cells = rows
        .iter()
        .map(|&file| {
            columns
                .iter()
                .map(|&record| cell_at(file, record))
                .collect()
        })
        .collect();
    let title = match children {
        None => format!("{} report", test.title()),
        Some(1) => format!("{} report, 1 child", test.title()),
        Some(n) => format!("{} report, {n} children", test.title()),
    };
    Matrix {
        title,
        unit,
        rows,
        columns,
        cells,
    }
}

fn cell(unit: RateUnit, trials: &[Done<'_>]) -> Option<Cell> {
    let mut values: Vec<f64> = trials.iter().map(|(step, _)| unit.of(step)).collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    let labels: Labels = trials
        .iter()
        .filter_map(|(step, trial)| measured(step.test, trial))
        .collect();
    let label = (!labels.is_empty()).then(|| labels.agreed().unwrap_or("differs").to_owned());
    Some(Cell {
        value: f64::midpoint(lower, upper),
        label,
    })
}

/// Returns the label of a cell. If the test reads and writes, a label other than the device's
/// prevails.
fn measured(test: Test, trial: &TrialRecord) -> Option<Measured> {
    let judgement = judge(trial)?;
    let of_reads = judgement.read.map(|read| read.measured);
    let of_writes = judgement.write.map(|write| write.measured);
    if test != Test::Mixed {
        return if test.writes() { of_writes } else { of_reads };
    }
    match (of_reads, of_writes) {
        (Some(Measured::Device), writes) => writes.or(Some(Measured::Device)),
        (reads, writes) => reads.or(writes),
    }
}
