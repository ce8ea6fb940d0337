//! Edge of the page cache in a matrix: the file size up to which figures are those of memory, and
//! the size from which on they are those of the device.

use crate::results::matrix::Matrix;
use crate::words::enumerate;
use assay_lang::tr;
use assay_model::units::Bytes;

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

/// Describes the edge: `Files up to 256 MiB measured the page cache; from 512 MiB on the device.`
pub fn sentence(matrix: &Matrix) -> String {
    let rows: Vec<(u64, MeasuredStorage)> = rows(matrix);
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
    let size = |index: usize| size(rows[index].0);
    match (cached, device) {
        _ if !plain || between.len() == rows.len() => scattered(matrix),
        (0, 0) => tr!("Every figure measured the device.").to_owned(),
        (n, _) if n == rows.len() => tr!(
            "Every figure measured the page cache, not the device: only files of at least twice the memory, or -I, show the device."
        ).to_owned(),
        (0, from) => tr!(
            "Files from {size} on measured the device; smaller ones in part the page cache or something unknown.",
            size = size(from)
        ),
        (to, from) if to == from => tr!(
            "Files up to {cached} measured the page cache; from {size} on the device.",
            cached = size(to - 1),
            size = size(from)
        ),
        (to, from) if from == rows.len() => tr!(
            "Files up to {cached} measured the page cache; larger ones in part.",
            cached = size(to - 1)
        ),
        (to, from) => tr!(
            "Files up to {cached} measured the page cache, from {size} on the device; between them both, or something unknown.",
            cached = size(to - 1),
            size = size(from)
        ),
    }
}

/// Returns the first row of a matrix with a figure that is not the page cache's, if all rows before
/// it measured the cache; `None` if there is no such edge.
pub fn edge(matrix: &Matrix) -> Option<usize> {
    let rows = rows(matrix);
    let cached = rows
        .iter()
        .take_while(|(_, row)| *row == MeasuredStorage::Cache)
        .count();
    let (first, _) = rows.get(cached).filter(|_| cached > 0)?;
    matrix.rows.iter().position(|kib| kib == first)
}

/// Returns the sentence of each matrix, once for matrices with the same sentence, with the names of
/// their tests: `Writer, Re-writer: Files up to ...`.
pub fn sentences(matrices: &[Matrix]) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for matrix in matrices {
        let said = sentence(matrix);
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
fn rows(matrix: &Matrix) -> Vec<(u64, MeasuredStorage)> {
    let rows = matrix.rows.iter().zip(&matrix.cells);
    let kinds = rows.filter_map(|(kib, cells)| {
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
            *kib,
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
fn scattered(matrix: &Matrix) -> String {
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

fn size(kib: u64) -> Bytes {
    Bytes(kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::matrix::Cell;
    use assay_model::act::iozone::RateUnit;

    /// Parses rows of cells, one letter a cell and one word a row: `c`, `d`, `m`, `?`, and `.` for
    /// none.
    fn said(rows: &str) -> String {
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
            })
        };
        let cells: Vec<Vec<_>> = rows
            .split(' ')
            .map(|row| row.chars().map(cell).collect())
            .collect();
        sentence(&Matrix {
            title: "t".to_owned(),
            unit: RateUnit::default(),
            rows: (0..cells.len()).map(|n| 131_072 << n).collect(),
            columns: vec![4, 8],
            cells,
        })
    }

    #[test]
    fn the_edge_is_between_two_file_sizes() {
        assert_eq!(
            said("cc c. dd dd"),
            "Files up to 256 MiB measured the page cache; from 512 MiB on the device."
        );
        assert_eq!(
            said("cc cm dd"),
            "Files up to 128 MiB measured the page cache, from 512 MiB on the device; between them both, or something unknown."
        );
        assert_eq!(
            said("cc cc cd"),
            "Files up to 256 MiB measured the page cache; larger ones in part."
        );
        assert_eq!(
            said("cd dd"),
            "Files from 256 MiB on measured the device; smaller ones in part the page cache or something unknown."
        );
    }

    #[test]
    fn without_an_edge_there_is_none() {
        assert_eq!(said("dd dd"), "Every figure measured the device.");
        assert!(said("cc cc").starts_with(
            "Every figure measured the page cache, not the device: only files of at least twice the memory"
        ));
        assert_eq!(said("?? ??"), "What every figure measured: unknown.");
        assert_eq!(
            said("dd cc d?"),
            "No one file size separates page cache and device; of 6 figures: device in 3, page-cache in 2 and unknown in 1."
        );
        assert_eq!(said(".. .."), "Nothing was measured.");
    }
}
