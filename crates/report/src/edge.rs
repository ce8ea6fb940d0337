//! Where the page cache ends: in iozone's matrices the file size from which on
//! the device is measured, in words.

use crate::matrix::{Cell, Matrix};

/// What the cells of one file size measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Cache,
    Device,
    Both,
    Unknown,
}

/// One sentence for tests that measured alike, in the order of the matrices;
/// none where there is no evidence at all.
#[must_use]
pub fn sentences(matrices: &[Matrix]) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for matrix in matrices {
        let Some(clause) = clause(matrix) else {
            continue;
        };
        let name = matrix
            .title
            .strip_suffix(" report")
            .unwrap_or(&matrix.title);
        match found.iter_mut().find(|(known, _)| *known == clause) {
            Some((_, names)) => names.push(name),
            None => found.push((clause, vec![name])),
        }
    }
    found
        .into_iter()
        .map(|(clause, names)| format!("{}: {clause}", names.join(", ")))
        .collect()
}

/// The same of one matrix: a sentence that stands alone.
#[must_use]
pub fn sentence(matrix: &Matrix) -> String {
    let clause = clause(matrix);
    let clause = clause.unwrap_or_else(|| "what was measured cannot be told".to_owned());
    let mut letters = clause.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// What one matrix says.
fn clause(matrix: &Matrix) -> Option<String> {
    let rows: Vec<(u64, Layer)> = matrix
        .rows
        .iter()
        .zip(&matrix.cells)
        .filter_map(|(&file, cells)| Some((file, layer(cells)?)))
        .collect();
    let cached = rows
        .iter()
        .take_while(|(_, layer)| *layer == Layer::Cache)
        .count();
    let rest = &rows[cached..];
    let on_device = rest
        .iter()
        .rev()
        .take_while(|(_, layer)| *layer == Layer::Device)
        .count();
    let between = &rest[..rest.len() - on_device];
    let last_cached = rows[..cached].last().map(|(file, _)| size(*file));
    let first_device = rest[between.len()..].first().map(|(file, _)| size(*file));
    let middle = match between {
        [] => None,
        some if some.iter().all(|(_, layer)| *layer == Layer::Unknown) => Some("cannot be told"),
        _ => Some("are of both, or cannot be told"),
    };
    if rows.is_empty() {
        return None;
    }
    Some(match (last_cached, middle, first_device) {
        (Some(_), None, None) => "all files measured the page cache".to_owned(),
        (None, None, Some(_)) => "all files measured the device".to_owned(),
        (None, Some(middle), None) => format!("what files measured: they {middle}"),
        (cached, middle, device) => {
            let mut parts = Vec::new();
            parts.extend(cached.map(|file| format!("files up to {file} measured the page cache")));
            parts.extend(middle.map(|middle| {
                let sizes: Vec<String> = between.iter().map(|(file, _)| size(*file)).collect();
                format!("those of {} {middle}", sizes.join(", "))
            }));
            parts.extend(device.map(|file| format!("from {file} the device")));
            parts.join("; ")
        }
    })
}

/// What the cells of a file size measured together; `None` without evidence.
fn layer(cells: &[Option<Cell>]) -> Option<Layer> {
    let labels: Vec<&str> = cells
        .iter()
        .flatten()
        .filter_map(|cell| cell.label.as_deref())
        .collect();
    let all = |wanted: &[&str]| labels.iter().all(|label| wanted.contains(label));
    if labels.is_empty() {
        None
    } else if all(&["page-cache"]) {
        Some(Layer::Cache)
    } else if all(&["device", "device-unflushed"]) {
        Some(Layer::Device)
    } else if all(&["unknown"]) {
        Some(Layer::Unknown)
    } else {
        Some(Layer::Both)
    }
}

/// A size as people say it.
fn size(kib: u64) -> String {
    match kib {
        _ if kib >= 1 << 20 && kib.is_multiple_of(1 << 20) => format!("{} GiB", kib >> 20),
        _ if kib >= 1 << 10 && kib.is_multiple_of(1 << 10) => format!("{} MiB", kib >> 10),
        _ => format!("{kib} KiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::iozone::RateUnit;

    fn matrix(title: &str, labels: &[(u64, &[&str])]) -> Matrix {
        let cell = |label: &&str| {
            Some(Cell {
                value: 1.0,
                label: (!label.is_empty()).then(|| (*label).to_owned()),
            })
        };
        Matrix {
            title: format!("{title} report"),
            unit: RateUnit::KibPerSec,
            rows: labels.iter().map(|(file, _)| *file).collect(),
            columns: vec![4, 8],
            cells: labels
                .iter()
                .map(|(_, labels)| labels.iter().map(cell).collect())
                .collect(),
        }
    }

    const CACHE: &[&str] = &["page-cache", "page-cache"];
    const DEVICE: &[&str] = &["device", "device-unflushed"];

    #[test]
    fn the_edge_is_between_the_last_cached_file_and_the_first_on_the_device() {
        let sizes = [(256 << 10, CACHE), (512 << 10, DEVICE), (1 << 20, DEVICE)];
        let same = [matrix("Reader", &sizes), matrix("Re-Reader", &sizes)];
        assert_eq!(
            sentences(&same),
            [
                "Reader, Re-Reader: files up to 256 MiB measured the page cache; from 512 MiB the device"
            ]
        );
        let sizes = [(64, CACHE), (128, &["mixed", "device"]), (256, DEVICE)];
        assert_eq!(
            sentences(&[matrix("Reader", &sizes)]),
            [
                "Reader: files up to 64 KiB measured the page cache; those of 128 KiB are of both, or cannot be told; from 256 KiB the device"
            ]
        );
        assert_eq!(
            sentence(&same[0]),
            "Files up to 256 MiB measured the page cache; from 512 MiB the device."
        );
        assert_eq!(
            sentence(&matrix("Reader", &[(64, &["", ""])])),
            "What was measured cannot be told."
        );
    }

    #[test]
    fn without_an_edge_there_is_one_layer_or_none() {
        let all = [
            matrix("Writer", &[(64, CACHE), (128, CACHE)]),
            matrix("Reader", &[(64, DEVICE)]),
            matrix("Fread", &[(64, &["unknown"])]),
            matrix("Fwrite", &[(64, &["", ""])]),
            matrix("Stride read", &[(64, DEVICE), (128, CACHE)]),
        ];
        assert_eq!(
            sentences(&all),
            [
                "Writer: all files measured the page cache",
                "Reader: all files measured the device",
                "Fread: what files measured: they cannot be told",
                "Stride read: what files measured: they are of both, or cannot be told",
            ]
        );
    }
}
