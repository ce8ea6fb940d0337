//! Heading before the figures.

use crate::import::collect::Collector;

/// Values of the banner that are needed to read the figures.
#[derive(Debug, Default)]
pub(super) struct Heading {
    unit: Option<&'static str>,
    /// Tests that were asked for with `-i`; `None` where the command is not
    /// known.
    pub(super) tests: Option<Vec<u32>>,
}

impl Heading {
    pub(super) fn line(&mut self, line: &str, all: &mut Collector) {
        let line = line.trim();
        if line.starts_with("Iozone: Performance Test") {
            // Another output begins, perhaps with other flags.
            *self = Self::default();
        } else if let Some(version) = line.strip_prefix("Version $Revision:") {
            all.tool(format!("iozone {}", version.trim_end_matches('$').trim()));
        } else if line.starts_with("assay ") && line.contains("like iozone") {
            all.tool(line);
        } else if let Some(command) = line.strip_prefix("Command line used:") {
            self.tests = tests(command);
            all.circumstance(format!("command: {}", command.trim()));
        } else if line.starts_with("Each ") && line.contains(" kByte file") {
            all.circumstance(line);
        } else if let Some(date) = line.strip_prefix("Run began:") {
            all.circumstance(format!("run began {}", date.trim()));
        } else if line.starts_with("Output is in ") || line.contains(" Mode. Output is in ") {
            self.unit = Some(unit(line));
        }
    }

    /// iozone's own unit unless another was asked for.
    pub(super) fn unit(&self) -> &'static str {
        self.unit.unwrap_or("kBytes/sec")
    }
}

fn unit(line: &str) -> &'static str {
    let line = line.to_ascii_lowercase();
    if line.contains("microseconds") {
        "microseconds/op"
    } else if line.contains("operations per second") || line.contains("ops/sec") {
        "ops/sec"
    } else {
        "kBytes/sec"
    }
}

/// Numbers behind `-i`, apart or together (`-i 0 -i1`); all when there is none.
fn tests(command: &str) -> Option<Vec<u32>> {
    let mut words = command.split_whitespace().skip(1);
    let mut tests = Vec::new();
    while let Some(word) = words.next() {
        let Some(number) = word.strip_prefix("-i") else {
            continue;
        };
        let number = if number.is_empty() {
            words.next()?
        } else {
            number
        };
        tests.push(number.parse().ok()?);
    }
    Some(tests)
}
