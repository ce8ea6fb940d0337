//! File of the workbook: a ZIP archive of XML parts. The charts are replaced here, because
//! `rust_xlsxwriter` does not support surfaces.

use std::io::{self, Cursor, Read, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Returns the workbook with its n-th chart replaced by the n-th of `charts`; all other parts are
/// copied unchanged.
///
/// # Errors
/// If the workbook has another number of charts.
pub fn with_charts(workbook: Vec<u8>, charts: &[String]) -> io::Result<Vec<u8>> {
    if charts.is_empty() {
        return Ok(workbook);
    }
    let mut archive = ZipArchive::new(Cursor::new(workbook))?;
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default());
    let mut replaced = 0;
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index)?;
        let name = part.name()?.into_owned();
        match chart_number(&name).and_then(|number| charts.get(number.checked_sub(1)?)) {
            None => writer.raw_copy_file(part)?,
            Some(chart) => {
                writer.start_file(name, options)?;
                writer.write_all(chart.as_bytes())?;
                replaced += 1;
            }
        }
    }
    if replaced != charts.len() {
        return Err(io::Error::other(format!(
            "the workbook has {replaced} of {} charts",
            charts.len()
        )));
    }
    Ok(writer.finish()?.into_inner())
}

/// Returns the text of one part of a workbook.
///
/// # Errors
/// If the file is not a workbook, has no such part, or the part is not text.
pub fn part(workbook: impl Read + Seek, name: &str) -> io::Result<String> {
    /// Maximum length; far above that of any requested part.
    const LONGEST: u64 = 1 << 20;
    let mut archive = ZipArchive::new(workbook)?;
    let mut text = String::new();
    let part = archive.by_name(name)?;
    part.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the number of a chart's part: `1` for `xl/charts/chart1.xml`.
fn chart_number(part: &str) -> Option<usize> {
    let number = part.strip_prefix("xl/charts/chart")?.strip_suffix(".xml")?;
    number.parse().ok()
}
