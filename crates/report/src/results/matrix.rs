//! Matrices: figures over two axes, with the label of each cell. Those of iozone have the rate of a
//! test by file size and record size, and the edge of the page cache: the file size up to which
//! figures are those of memory, and the size from which on they are those of the device. Those of a
//! sweep ([`crate::results::effects`]) have a metric by two factors.

use crate::words::labels::Labels;
use crate::words::{clean, enumerate};
use assay_judge::{Measured, judge};
use assay_lang::tr;
use assay_model::act::StepDetail;
use assay_model::act::iozone::{IozoneStep, RateUnit, Test};
use assay_model::figures::Unit;
use assay_model::run::Run;
use assay_model::trial::{Outcome, TrialRecord};
use assay_model::units::Bytes;
use std::fmt;

/// Figures over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Title, for example `Writer report`, `Reader report, 4 children`, `job: read_iops`.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// Number of decimals of the values.
    pub digits: usize,
    /// Rows, from top to bottom.
    pub rows: Axis,
    /// Columns, from left to right.
    pub columns: Axis,
    /// Cells by row, then by column; `None` if not measured.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// Axis of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Name of the axis: `file size`, or the factor of a sweep.
    pub name: String,
    /// Levels, in order.
    pub levels: Vec<Level>,
}

/// Level of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// A size of iozone, in KiB.
    Kib(u64),
    /// Value of a factor, as the user wrote it.
    Named(String),
}

impl Level {
    /// Returns the level for headings of a workbook, where a number makes a numeric axis.
    pub fn heading(&self) -> String {
        match self {
            Self::Kib(kib) => kib.to_string(),
            Self::Named(name) => clean(name),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kib(kib) => Bytes(kib.saturating_mul(1024)).fmt(f),
            Self::Named(name) => f.write_str(&clean(name)),
        }
    }
}

impl Matrix {
    /// `true` for a matrix of iozone, whose rows are file sizes.
    pub fn is_of_files(&self) -> bool {
        let mut levels = self.rows.levels.iter();
        levels.all(|level| matches!(level, Level::Kib(_)))
    }

    /// Describes the matrix in a sentence: the edge of the page cache, or the knees.
    pub fn sentence(&self) -> String {
        match self.is_of_files() {
            true => cache_edge_sentence(self),
            false => ridge_sentence(self),
        }
    }
}

/// Cell of one row and one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Value in the matrix's unit: of iozone the median of several trials, of a sweep their geometric
    /// mean.
    pub value: f64,
    /// Label of the cell: one of [`Measured::label`], or `differs` if the trials disagree; `None`
    /// without evidence.
    pub label: Option<String>,
    /// Place of the cell in its row; `None` if no verdict gives it one.
    pub mark: Option<Mark>,
}

/// Place of a cell in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Lowest level beyond which nothing is better.
    Knee,
    /// Equivalent to the knee.
    Plateau,
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
    let axis = |name: &str, sizes: &[u64]| Axis {
        name: name.to_owned(),
        levels: sizes.iter().copied().map(Level::Kib).collect(),
    };
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
        unit: unit.name().to_owned(),
        digits: match unit {
            RateUnit::MicrosPerOp => 2,
            RateUnit::KibPerSec | RateUnit::OpsPerSec => 0,
        },
        rows: axis(tr!("file size"), &rows),
        columns: axis(tr!("record size"), &columns),
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
        mark: None,
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

/// Storage that the cells of one file size measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeasuredStorage {
    /// The page cache, in every cell.
    Cache,
    /// The device, in every cell.
    Device,
    /// Any other combination.
    Both,
}

/// Describes the edge: `Up to 256 MiB per file, the page cache was measured; ...`.
pub fn cache_edge_sentence(matrix: &Matrix) -> String {
    let rows: Vec<(&Level, MeasuredStorage)> = rows_with_storage(matrix);
    if rows.is_empty() {
        return tr!("Nothing was measured.").to_owned();
    }
    let cached = rows
        .iter()
        .take_while(|(_, row)| *row == MeasuredStorage::Cache)
        .count();
    let device = rows
        .iter()
        .rev()
        .take_while(|(_, row)| *row == MeasuredStorage::Device);
    let device = rows.len() - device.count();
    let between = &rows[cached.min(device)..device];
    let plain = between.iter().all(|(_, row)| *row == MeasuredStorage::Both);
    let size = |index: usize| rows[index].0;
    match (cached, device) {
        _ if !plain || between.len() == rows.len() => count_labels(matrix),
        (0, 0) => tr!("Every figure measured the device.").to_owned(),
        (n, _) if n == rows.len() => tr!(
            "Every figure measured the page cache, not the device: only files of at least twice the memory, or -I, show the device."
        ).to_owned(),
        (0, from) => tr!(
            "From {size} per file on, the device was measured; below, in part the page cache, or it is unknown.",
            size = size(from)
        ),
        (to, from) if to == from => tr!(
            "Up to {cached} per file, the page cache was measured; from {size} on, the device.",
            cached = size(to - 1),
            size = size(from)
        ),
        (to, from) if from == rows.len() => tr!(
            "Up to {cached} per file, the page cache was measured; above, in part.",
            cached = size(to - 1)
        ),
        (to, from) => tr!(
            "Up to {cached} per file, the page cache was measured; from {size} on, the device; in between, both or unknown.",
            cached = size(to - 1),
            size = size(from)
        ),
    }
}

/// Returns the first row of a matrix with a figure that is not the page cache's, if all rows before
/// it measured the cache; `None` if there is no such edge.
pub fn cache_edge_row(matrix: &Matrix) -> Option<usize> {
    let rows = rows_with_storage(matrix);
    let cached = rows
        .iter()
        .take_while(|(_, row)| *row == MeasuredStorage::Cache)
        .count();
    let (first, _) = rows.get(cached).filter(|_| cached > 0)?;
    matrix.rows.levels.iter().position(|level| level == *first)
}

/// Returns the sentence of each matrix, once for matrices with the same sentence, with the names of
/// their tests: `Writer, Re-writer: Up to ...`.
pub fn cache_edge_sentences(matrices: &[Matrix]) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for matrix in matrices {
        let said = cache_edge_sentence(matrix);
        let title = &matrix.title;
        let name = title.strip_suffix(" report").unwrap_or(title);
        match found.iter_mut().find(|(known, _)| *known == said) {
            Some((_, names)) => names.push(name),
            None => found.push((said, vec![name])),
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(said, names)| format!("{}: {said}", names.join(", ")))
        .collect()
}

/// Returns the file sizes that have cells, with the storage that they measured.
fn rows_with_storage(matrix: &Matrix) -> Vec<(&Level, MeasuredStorage)> {
    let rows = matrix.rows.levels.iter().zip(&matrix.cells);
    let kinds = rows.filter_map(|(level, cells)| {
        let mut kinds = cells
            .iter()
            .flatten()
            .map(|cell| match cell.label.as_deref() {
                Some("page-cache") => MeasuredStorage::Cache,
                Some("device" | "device-unflushed") => MeasuredStorage::Device,
                _ => MeasuredStorage::Both,
            });
        let first = kinds.next()?;
        Some((
            level,
            if kinds.all(|kind| kind == first) {
                first
            } else {
                MeasuredStorage::Both
            },
        ))
    });
    kinds.collect()
}

/// Describes a matrix without a single edge: the number of figures with each label.
fn count_labels(matrix: &Matrix) -> String {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for cell in matrix.cells.iter().flatten().flatten() {
        let label = cell.label.as_deref().unwrap_or("unknown");
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, n)) => *n += 1,
            None => counts.push((label, 1)),
        }
    }
    let words: Vec<String> = counts
        .iter()
        .map(|(label, n)| tr!("{label} in {n}", label, n))
        .collect();
    let all: u64 = counts.iter().map(|(_, n)| n).sum();
    if let [(label, _)] = counts.as_slice() {
        return tr!("What every figure measured: {label}.", label);
    }
    tr!(
        "No one file size separates page cache and device; of {all} figures: {words}.",
        all,
        words = enumerate(&words)
    )
}

/// Describes the knees of the rows: `Knee of iodepth: 4 at bs=4k and bs=16k; none at bs=64k.`
fn ridge_sentence(matrix: &Matrix) -> String {
    let mut knees: Vec<(&Level, Vec<String>)> = Vec::new();
    for (level, cells) in matrix.rows.levels.iter().zip(&matrix.cells) {
        let is_knee =
            |cell: &Option<Cell>| cell.as_ref().is_some_and(|c| c.mark == Some(Mark::Knee));
        let Some(at) = cells.iter().position(is_knee) else {
            continue;
        };
        let (knee, row) = (&matrix.columns.levels[at], level.to_string());
        match knees.iter_mut().find(|(known, _)| *known == knee) {
            Some((_, rows)) => rows.push(row),
            None => knees.push((knee, vec![row])),
        }
    }
    if knees.is_empty() {
        return String::new();
    }
    let (down, across) = (clean(&matrix.rows.name), clean(&matrix.columns.name));
    let knees: Vec<String> = knees
        .iter()
        .map(|(knee, rows)| {
            tr!(
                "{knee} at {factor} {levels}",
                knee,
                factor = down,
                levels = enumerate(rows)
            )
        })
        .collect();
    tr!(
        "Knee of {factor}, beyond which nothing is better: {knees}.",
        factor = across,
        knees = knees.join("; ")
    )
}

/// Most decimals of a value in a table.
const MOST_DECIMALS: usize = 6;

/// Scale of the values of a matrix in a table: divisor, unit and decimals, with which the smallest
/// value has three digits.
pub fn scale_of(matrix: &Matrix) -> (f64, &str, usize) {
    let (divisor, unit, digits) = match matrix.unit.as_str() {
        unit if unit == Unit::BytesPerSec.name() => (1e6, "MB/s", 1),
        unit if unit == Unit::Nanos.name() => (1e3, "us", 0),
        unit => (1.0, unit, matrix.digits),
    };
    let values = matrix.cells.iter().flatten().flatten();
    let values = values.map(|cell| cell.value.abs() / divisor);
    let smallest = values.filter(|value| *value > 0.0).reduce(f64::min);
    let has_three = |decimals: &usize| {
        let scale = (0..*decimals).fold(1.0, |scale, _| 10.0 * scale);
        smallest.is_none_or(|value| value * scale >= 99.95)
    };
    let needed = (0..MOST_DECIMALS).find(has_three);
    (divisor, unit, digits.max(needed.unwrap_or(MOST_DECIMALS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses rows of cells, one letter a cell and one word a row: `c`, `d`, `m`, `?`, and `.` for
    /// none.
    fn sentence_of(rows: &str) -> String {
        let label = |letter| match letter {
            'c' => Some("page-cache"),
            'd' => Some("device"),
            'm' => Some("mixed"),
            _ => None,
        };
        let cell = |letter| {
            (letter != '.').then(|| Cell {
                value: 1.0,
                label: label(letter).map(str::to_owned),
                mark: None,
            })
        };
        let cells: Vec<Vec<_>> = rows
            .split(' ')
            .map(|row| row.chars().map(cell).collect())
            .collect();
        let axis = |kib: Vec<u64>| Axis {
            name: String::new(),
            levels: kib.into_iter().map(Level::Kib).collect(),
        };
        cache_edge_sentence(&Matrix {
            title: "t".to_owned(),
            unit: String::new(),
            digits: 0,
            rows: axis((0..cells.len()).map(|n| 131_072 << n).collect()),
            columns: axis(vec![4, 8]),
            cells,
        })
    }

    #[test]
    fn the_edge_is_between_two_file_sizes() {
        assert_eq!(
            sentence_of("cc c. dd dd"),
            "Up to 256 MiB per file, the page cache was measured; from 512 MiB on, the device."
        );
        assert_eq!(
            sentence_of("cc cm dd"),
            "Up to 128 MiB per file, the page cache was measured; from 512 MiB on, the device; in between, both or unknown."
        );
        assert_eq!(
            sentence_of("cc cc cd"),
            "Up to 256 MiB per file, the page cache was measured; above, in part."
        );
        assert_eq!(
            sentence_of("cd dd"),
            "From 256 MiB per file on, the device was measured; below, in part the page cache, or it is unknown."
        );
    }

    #[test]
    fn without_an_edge_there_is_none() {
        assert_eq!(sentence_of("dd dd"), "Every figure measured the device.");
        assert!(sentence_of("cc cc").starts_with(
            "Every figure measured the page cache, not the device: only files of at least twice the memory"
        ));
        assert_eq!(sentence_of("?? ??"), "What every figure measured: unknown.");
        assert_eq!(
            sentence_of("dd cc d?"),
            "No one file size separates page cache and device; of 6 figures: device in 3, page-cache in 2 and unknown in 1."
        );
        assert_eq!(sentence_of(".. .."), "Nothing was measured.");
    }

    #[test]
    fn the_smallest_value_of_a_table_has_three_digits() {
        let matrix = |unit: Unit, values: &[f64]| Matrix {
            title: String::new(),
            unit: unit.name().to_owned(),
            digits: 0,
            rows: Axis {
                name: String::new(),
                levels: vec![Level::Kib(4)],
            },
            columns: Axis {
                name: String::new(),
                levels: vec![Level::Kib(4); values.len()],
            },
            cells: vec![
                values
                    .iter()
                    .map(|value| {
                        Some(Cell {
                            value: *value,
                            label: None,
                            mark: None,
                        })
                    })
                    .collect(),
            ],
        };
        let digits = |unit, values: &[f64]| scale_of(&matrix(unit, values)).2;
        assert_eq!(digits(Unit::Iops, &[1.8, 2.4, 4000.0]), 2);
        assert_eq!(digits(Unit::Iops, &[120.0, 4000.0]), 0);
        assert_eq!(digits(Unit::BytesPerSec, &[4e4, 3e8]), 4);
        assert_eq!(
            digits(Unit::BytesPerSec, &[0.0, 3e8]),
            1,
            "zero has no digits"
        );
        assert_eq!(digits(Unit::Nanos, &[1e-9]), MOST_DECIMALS);
    }
}
