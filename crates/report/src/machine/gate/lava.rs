//! Signals that LAVA detects in a board's output
//! (<https://docs.lavasoftware.org/lava/actions-test.html>). They contain an id, a result and a
//! figure; the reason is in a separate line before.

use super::{Status, Suite, ids};
use std::io::{self, Write};

/// Writes the suite with a signal for each case.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", unsignalled(&suite.name))?;
    for (case, id) in suite.cases.iter().zip(ids(suite)) {
        let result = match case.status {
            Status::Pass | Status::Done => "pass",
            Status::Fail | Status::Error => "fail",
            Status::Skip => "skip",
        };
        writeln!(out, "{id}: {}", unsignalled(&case.reason))?;
        write!(
            out,
            "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={id} RESULT={result}"
        )?;
        if let Some(figure) = &case.measurement {
            let unit = figure.unit.replace(char::is_whitespace, "_");
            let unit = unsignalled(&unit);
            if !unit.is_empty() {
                write!(out, " UNITS={unit}")?;
            }
            // `Display` of f64 never uses an exponent, which LAVA would not read.
            write!(out, " MEASUREMENT={}", figure.value)?;
        }
        writeln!(out, ">")?;
    }
    for warning in &suite.warnings {
        writeln!(out, "warning: {}", unsignalled(warning))?;
    }
    Ok(())
}

/// Replaces angle brackets, so that foreign text cannot form a signal.
fn unsignalled(text: &str) -> String {
    text.replace(['<', '>'], "_")
}
