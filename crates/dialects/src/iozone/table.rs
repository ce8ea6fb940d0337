//! Table of single and automatic mode: a row for each file size and record
//! size, written cell by cell.

use super::Output;
use assay_model::number::as_u64;
use assay_model::work::iozone::{IozoneRow, IozoneStep, RateUnit, Test};

/// Columns of every table.
const USUAL: [Test; 13] = [
    Test::Write,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::RandomRead,
    Test::RandomWrite,
    Test::BackwardRead,
    Test::RecordRewrite,
    Test::StrideRead,
    Test::Fwrite,
    Test::Frewrite,
    Test::Fread,
    Test::Freread,
];
/// Number of columns with `-A`.
const SHORT: usize = 4;
/// Number of columns before those of streams, which are absent for mapped
/// files.
const UNSTREAMED: usize = 9;
/// Number of columns with those of `fwrite` and `frewrite`.
const STREAM_WRITES: usize = 11;
const EXTENDED: [Test; 4] = [Test::Pwrite, Test::Repwrite, Test::Pread, Test::Repread];
const VECTORS: [Test; 4] = [Test::Pwritev, Test::Repwritev, Test::Preadv, Test::Repreadv];

/// Returns the columns of a table, in order.
pub fn columns(output: &Output) -> Vec<Test> {
    if output.short {
        return USUAL[..SHORT].to_vec();
    }
    if output.mapped {
        let end = match output.stream_blanks {
            true => STREAM_WRITES,
            false => UNSTREAMED,
        };
        return USUAL[..end].to_vec();
    }
    let mut columns = USUAL.to_vec();
    if output.extended {
        columns.extend(EXTENDED);
    }
    if output.vectors {
        columns.extend(VECTORS);
    }
    columns
}

/// Width of a cell, at which programs split the lines.
pub(crate) const fn width(test: Test) -> usize {
    match test {
        Test::RecordRewrite | Test::StrideRead => 10,
        Test::Pread => 8,
        _ => 9,
    }
}

/// Width of an empty cell: iozone's blanks may be narrower or wider than its
/// figures.
const fn blank(test: Test) -> usize {
    match test {
        Test::Fread => 8,
        Test::Pread => 9,
        other => width(other),
    }
}

/// Returns the two lines above the rows. The names are placed as in iozone, not
/// exactly above the figures.
pub(super) fn heading(output: &Output) -> String {
    let mut upper = "                                                            ".to_owned();
    let mut lower = "              kB  reclen    write  rewrite    read    reread".to_owned();
    if output.short {
        return format!("{upper}\n{lower}\n");
    }
    upper.push_str(
        "  random    random     bkwd    record    stride                                    ",
    );
    lower.push_str("    read     write     read   rewrite      read");
    lower.push_str(if output.mapped {
        "                                    "
    } else {
        "   fwrite frewrite    fread  freread"
    });
    if output.extended && !output.mapped {
        upper.push_str("                                   ");
        lower.push_str("  pwrite repwrite   pread   repread");
    }
    if output.vectors && !output.mapped {
        upper.push_str("                                    ");
        lower.push_str("  pwritev repwritev  preadv repreadv");
    }
    format!("{upper}\n{lower}\n")
}

/// Row that is being written. The results of [`RowText::cell`] and
/// [`RowText::end`] are to be written at once.
#[derive(Debug)]
pub struct RowText {
    columns: Vec<Test>,
    unit: RateUnit,
    /// Tests left out by `-+n`, which appear as 0 instead of blanks.
    zeros: Vec<Test>,
    next: usize,
}

impl RowText {
    /// Begins a row and returns the text of its sizes.
    pub fn begin(output: &Output, tests: &[Test], row: IozoneRow) -> (Self, String) {
        let no_second = |test: &Test| test.repeats() && !tests.contains(test);
        let columns = columns(output);
        let zeros = columns.iter().copied().filter(no_second);
        let zeros = zeros.filter(|test| tests.iter().any(|run| run.number() == test.number()));
        let text = format!("{:16}{:8}", row.file_kib, row.record_kib);
        let begun = Self {
            zeros: zeros.collect(),
            columns,
            unit: output.unit,
            next: 0,
        };
        (begun, text)
    }

    /// Returns a figure, after blanks for the tests before it that were not
    /// run.
    pub fn cell(&mut self, step: &IozoneStep) -> String {
        let Some(at) = self.columns.iter().position(|test| *test == step.test) else {
            return String::new();
        };
        let mut text = self.up_to(at);
        let rate = whole(self.unit.of(step));
        text.push_str(&format!("{rate:width$}", width = width(step.test)));
        self.next = at + 1;
        text
    }

    /// Returns the end of the row.
    pub fn end(mut self) -> String {
        self.up_to(self.columns.len()) + "\n"
    }

    fn up_to(&mut self, at: usize) -> String {
        let left_out = self.columns.get(self.next..at).unwrap_or_default();
        self.next = self.next.max(at);
        left_out
            .iter()
            .map(|test| {
                if self.zeros.contains(test) {
                    format!("{:width$}", 0, width = width(*test))
                } else {
                    " ".repeat(blank(*test))
                }
            })
            .collect()
    }
}

/// Rounds a rate: iozone's figures have no fractions.
pub(super) fn whole(rate: f64) -> u64 {
    as_u64(rate)
}
