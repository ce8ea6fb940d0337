//! Plain columns, as wide as their widest cell.

use assay_flash::experiment::Parameter;
use assay_lang::tr;
use assay_model::units::three_digits;
use assay_report::text::{pad, pad_left, width as columns_of};
use std::io::{self, Write};

/// Writes rows below a head, two blanks before each; cells of the first `left` columns
/// stand left, all others right.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    head: &[&str],
    rows: &[Vec<String>],
    left: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_noted(head, rows, &[], (left, usize::MAX), out)
}

/// Writes rows as [`write()`] does, with a line below each row that has a note.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_noted(
    head: &[&str],
    rows: &[Vec<String>],
    notes: &[String],
    (left, columns): (usize, usize),
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| columns_of(cell)).max();
        let head = columns_of(head[column]);
        head.max(widest.unwrap_or_default())
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if column < left {
                    format!("  {}", pad(cell, *width))
                } else {
                    format!("  {}", pad_left(cell, *width))
                }
            });
        cells.collect::<String>().trim_end().to_owned()
    };
    writeln!(out, "{}", line(&mut head.iter().copied()))?;
    for (number, row) in rows.iter().enumerate() {
        writeln!(out, "{}", line(&mut row.iter().map(String::as_str)))?;
        if let Some(note) = notes.get(number) {
            paragraph(note, 6, columns, out)?;
        }
    }
    Ok(())
}

/// Writes parameters with their standard errors; behind them those that cannot be told.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_parameters(
    parameters: &[Parameter],
    columns: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (told, untold): (Vec<&Parameter>, Vec<&Parameter>) =
        (parameters.iter()).partition(|parameter| parameter.error.is_some());
    if !told.is_empty() {
        write_told(&told, out)?;
    }
    if untold.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = untold.iter().map(|parameter| parameter.name).collect();
    let said = tr!("Cannot be told: {what}", what = names.join(", "));
    paragraph(&said, 2, columns, out)
}

fn write_told(parameters: &[&Parameter], out: &mut dyn Write) -> io::Result<()> {
    let rows = parameters.iter().map(|parameter| {
        vec![
            parameter.name.to_owned(),
            parameter.unit.to_owned(),
            three_digits(parameter.value),
            parameter.error.map(three_digits).unwrap_or_default(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = [
        tr!("parameter"),
        tr!("unit"),
        tr!("value"),
        tr!("std. error"),
    ];
    write(&head, &rows, 2, out)
}

/// Writes a paragraph of lines of at most `columns` columns, `indent` blanks before each.
///
/// # Errors
/// If `out` cannot be written.
pub fn paragraph(text: &str, indent: usize, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let width = columns.max(40) - indent;
    for line in assay_report::text::wrap(text, width) {
        writeln!(out, "{:indent$}{line}", "")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1"], ["bcd", "10"]].map(|row| row.map(str::to_owned).to_vec());
        let mut out = Vec::new();
        write(&["x", "no"], &rows, 1, &mut out).expect("it can be written");
        let text = String::from_utf8(out).expect("it is text");
        assert_eq!(text, "  x    no\n  a     1\n  bcd  10\n");
    }
}
