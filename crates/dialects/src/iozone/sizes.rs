//! File and record sizes: parsing, and the rows of automatic mode.

use super::IozoneError;
use assay_model::act::iozone::IozoneRow;

/// Smallest and largest file of automatic mode, in KiB.
pub(super) const AUTO_FILE: (u64, u64) = (64, 512 << 10);
/// Smallest and largest record of automatic mode, in KiB.
pub(super) const AUTO_RECORD: (u64, u64) = (4, 16 << 10);
/// File size in KiB above which small records are not tested.
const CROSS_OVER_FILE: u64 = 16 << 10;
/// Record size in KiB below which a record counts as small for these files.
const CROSS_OVER_RECORD: u64 = 64;

/// Sizes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) auto: bool,
    /// `-s`, `-r`: lists of sizes, in KiB.
    pub(super) files: Vec<u64>,
    pub(super) records: Vec<u64>,
    /// `-n`, `-g`, `-y`, `-q`: limits, in KiB.
    pub(super) file_min: Option<u64>,
    pub(super) file_max: Option<u64>,
    pub(super) record_min: Option<u64>,
    pub(super) record_max: Option<u64>,
    /// `-z`: test small records in large files, too.
    pub(super) all_records: bool,
    /// `-+x`: factor between sizes.
    pub(super) factor: u64,
}

impl Sizes {
    /// Returns the file sizes in order, in KiB.
    fn file_sizes(&self) -> Vec<u64> {
        let (least, most) = AUTO_FILE;
        match (self.files.is_empty(), self.auto) {
            (false, _) => self.files.clone(),
            (true, true) => self.ladder(
                self.file_min.unwrap_or(least),
                self.file_max.unwrap_or(most),
            ),
            (true, false) => vec![512],
        }
    }

    /// Returns the record sizes in order, in KiB; they are also the head of the
    /// blocks.
    pub(super) fn record_sizes(&self) -> Vec<u64> {
        let (least, most) = AUTO_RECORD;
        match (self.records.is_empty(), self.auto) {
            (false, _) => self.records.clone(),
            (true, true) => self.ladder(
                self.record_min.unwrap_or(least),
                self.record_max.unwrap_or(most),
            ),
            (true, false) => vec![4],
        }
    }

    fn ladder(&self, least: u64, most: u64) -> Vec<u64> {
        std::iter::successors(Some(least), |size| size.checked_mul(self.factor))
            .take_while(|&size| size <= most)
            .collect()
    }

    /// Returns true for small records in large files, which take long and add
    /// little. Automatic mode leaves them out unless sizes or limits of records
    /// or files are given.
    fn crosses_over(&self, row: IozoneRow) -> bool {
        let asked = self.all_records
            || !self.files.is_empty()
            || !self.records.is_empty()
            || self.record_min.is_some()
            || self.record_max.is_some();
        self.auto && !asked && row.file_kib > CROSS_OVER_FILE && row.record_kib < CROSS_OVER_RECORD
    }

    /// Returns all rows, in order.
    pub(super) fn rows(&self) -> Result<Vec<IozoneRow>, IozoneError> {
        let records = self.record_sizes();
        let mut rows = Vec::new();
        for file_kib in self.file_sizes() {
            let fitting = records.iter().filter(|&&record| record <= file_kib);
            rows.extend(
                fitting
                    .map(|&record_kib| IozoneRow {
                        file_kib,
                        record_kib,
                    })
                    .filter(|row| !self.crosses_over(*row)),
            );
        }
        if !rows.is_empty() {
            return Ok(rows);
        }
        let (files, records) = (kib(&self.file_sizes()), kib(&records));
        Err(match (files.is_empty(), records.is_empty()) {
            (true, _) => "-n is larger than -g: no file size is left".into(),
            (_, true) => "-y is larger than -q: no record size is left".into(),
            _ => {
                format!("no record fits into a file: records of {records}, files of {files}").into()
            }
        })
    }
}

fn kib(sizes: &[u64]) -> String {
    let words: Vec<String> = sizes.iter().map(|size| format!("{size} kB")).collect();
    words.join(", ")
}

/// Parses a size to KiB: a number with `k`, `m`, `g`, or without a suffix in
/// KiB.
pub(super) fn parse(flag: &str, text: &str) -> Result<u64, IozoneError> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 10),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 20),
        _ => (text, 1),
    };
    /// Largest size in KiB, 4 EiB, which is below the largest file offset.
    const MOST: u64 = 1 << 52;
    let number = digits.parse::<u64>().ok().filter(|_| is_number(digits));
    match number.and_then(|number| number.checked_mul(factor)) {
        Some(1..=MOST) => Ok(number.unwrap_or(0) * factor),
        Some(0) => Err(format!("-{flag} {text}: must be more than 0").into()),
        Some(_) => Err(format!("-{flag} {text}: too large").into()),
        None => Err(format!(
            "-{flag} {text}: no size; write a number of kB, or one that ends in k, m or g"
        )
        .into()),
    }
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses a whole number from `least` to `most`.
pub(super) fn number(flag: &str, text: &str, least: u64, most: u64) -> Result<u64, IozoneError> {
    match text.parse::<u64>().ok().filter(|_| is_number(text)) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("-{flag} {text}: write a whole number from {least} to {most}").into()),
    }
}
