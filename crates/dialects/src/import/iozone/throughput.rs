//! Throughput mode: lines of each test.

use super::{IozoneFigure, sizes};
use crate::import::error::ImportError;
use crate::import::lines::NumberedLine;
use crate::import::number::leading;

/// Results read so far.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    sizes: Option<String>,
    /// Name of the children, for example `2 initial writers`.
    doers: Option<String>,
    unit: &'static str,
    pub(super) cells: Vec<IozoneFigure>,
}

/// Lines below the total of the children.
const OF_EACH: [(&str, &str); 3] = [
    ("Min throughput per", "min throughput per"),
    ("Max throughput per", "max throughput per"),
    ("Avg throughput per", "avg throughput per"),
];

impl Throughput {
    pub(super) fn line(
        &mut self,
        line: &NumberedLine<'_>,
        unit: &'static str,
    ) -> Result<(), ImportError> {
        self.unit = unit;
        let text = line.text.trim();
        if let Some(found) = sizes_of(text) {
            self.sizes = Some(found);
            return Ok(());
        }
        let Some((left, right)) = text.split_once('=') else {
            return Ok(());
        };
        let left = left.trim();
        let sums = [
            ("Children see throughput for", "throughput"),
            ("Parent sees throughput for", "throughput as parent sees it"),
        ];
        for (start, name) in sums {
            if let Some(doers) = left.strip_prefix(start) {
                let words: Vec<&str> = doers.split_whitespace().collect();
                self.doers = Some(words.join(" "));
                return self.cell(name, right, line.number);
            }
        }
        for (start, name) in OF_EACH {
            if let Some(each) = left.strip_prefix(start) {
                return self.cell(&format!("{name} {}", each.trim()), right, line.number);
            }
        }
        Ok(())
    }

    fn cell(&mut self, test: &str, figure: &str, line: usize) -> Result<(), ImportError> {
        let Some(doers) = &self.doers else {
            return Ok(());
        };
        let (value, _) = leading(figure).ok_or_else(|| {
            let problem = format!("'{}' is not a figure of iozone", figure.trim());
            ImportError::at(Some(line), problem)
        })?;
        let of = match &self.sizes {
            Some(sizes) => format!("{sizes}, {doers}"),
            None => doers.clone(),
        };
        self.cells.push(IozoneFigure {
            of,
            test: test.to_owned(),
            value,
            unit: self.unit,
            line,
        });
        Ok(())
    }
}

/// Parses `Each process writes a 1024 kByte file in 4 kByte records`.
pub(super) fn sizes_of(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [
        "Each",
        ..,
        "writes",
        "a",
        file,
        unit,
        "file",
        "in",
        record,
        _,
        last,
    ] = &words[..]
    else {
        return None;
    };
    let are_sizes = unit.eq_ignore_ascii_case("kByte") && last.starts_with("record");
    are_sizes.then(|| sizes(file, record))
}
