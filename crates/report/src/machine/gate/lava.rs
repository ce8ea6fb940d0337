//! The lines that LAVA looks for in what a board prints
//! (<https://docs.lavasoftware.org/lava/actions-test.html>). They have room for an
//! id, a result and a figure; the reason stands in a line of its own before.

use super::{Status, Suite, ids};
use std::io::{self, Write};

/// Writes the suite, a signal for each case.
///
/// # Errors
/// When `out` cannot be written.
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
            // Never with an exponent: `Display` of f64 has none.
            write!(out, " MEASUREMENT={}", figure.value)?;
        }
        writeln!(out, ">")?;
    }
    for warning in &suite.warnings {
        writeln!(out, "warning: {}", unsignalled(warning))?;
    }
    Ok(())
}

/// No text of others is taken for a signal.
fn unsignalled(text: &str) -> String {
    text.replace(['<', '>'], "_")
}
