//! Which program wrote a text, by words that only it writes.

use super::{Format, dd, fio_text, lines, table, vmstat};

/// The format of a text; `None` when it is none of the known ones.
#[must_use]
pub fn detect(text: &str) -> Option<Format> {
    if text.contains('\0') {
        return None;
    }
    if text.contains("\"fio version\"") {
        return Some(Format::FioJson);
    }
    let mut seen = None;
    for line in lines::unquoted(text) {
        let line = line.text;
        if fio_text::is_job(line) {
            return Some(Format::FioText);
        }
        if is_iozone(line) {
            return Some(Format::Iozone);
        }
        // These may stand within the others' texts.
        if seen.is_none() {
            seen = weak(line);
        }
    }
    if seen.is_some() {
        return seen;
    }
    table::has_columns(text).then_some(Format::Table)
}

fn weak(line: &str) -> Option<Format> {
    if line.split('\r').any(dd::is_copied) {
        return Some(Format::Dd);
    }
    vmstat::is_head(line).then_some(Format::Vmstat)
}

fn is_iozone(line: &str) -> bool {
    let start = line.trim_start();
    start.starts_with("Iozone: Performance Test")
        || start.starts_with("Children see throughput for")
        || start.starts_with("\"Writer report\"")
        || start.starts_with("\"Reader report\"")
        || line.split_whitespace().take(2).eq(["kB", "reclen"])
}
