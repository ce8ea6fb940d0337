//! TAP 13 (<https://testanything.org/tap-version-13-specification.html>), with figures in a YAML
//! block. The output is also valid in version 14, but many harnesses refuse a document that
//! declares it.

use super::{Case, Status, Suite};
use serde_json::Value;
use std::io::{self, Write};

/// Writes the suite.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(suite: &Suite, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "TAP version 13")?;
    writeln!(out, "1..{}", suite.cases.len())?;
    writeln!(out, "# {}", suite.name)?;
    for (name, value) in &suite.facts {
        writeln!(out, "# {name}: {value}")?;
    }
    for (number, case) in (1..).zip(&suite.cases) {
        write_case(number, case, out)?;
    }
    for warning in &suite.warnings {
        writeln!(out, "# warning: {warning}")?;
    }
    Ok(())
}

fn write_case(number: usize, case: &Case, out: &mut dyn Write) -> io::Result<()> {
    let ok = match case.status {
        Status::Pass | Status::Skip | Status::Done => "ok",
        Status::Fail | Status::Error => "not ok",
    };
    write!(out, "{ok} {number} - {}", escaped(&case.name()))?;
    if case.status == Status::Skip {
        write!(out, " # SKIP {}", escaped(&case.reason))?;
    }
    writeln!(out)?;
    writeln!(out, "  ---")?;
    writeln!(out, "  message: {}", quoted(&case.reason))?;
    writeln!(out, "  outcome: {}", quoted(case.word))?;
    if let Some(figure) = &case.measurement {
        writeln!(out, "  value: {}", figure.value)?;
        writeln!(out, "  unit: {}", quoted(&figure.unit))?;
    }
    if let Some(measured) = &case.measured {
        writeln!(out, "  measured: {}", quoted(measured))?;
    }
    // Texts are already in the message, where they are safe to display.
    let figures = case.detail.iter().filter(|(_, value)| !value.is_string());
    for (name, value) in figures.filter(|(name, _)| *name != "notes") {
        writeln!(out, "  {name}: {value}")?;
    }
    writeln!(out, "  ...")
}

/// Escapes a `#`, which would begin a directive.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#")
}

/// Quotes a text as JSON, which is also valid YAML 1.2.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
