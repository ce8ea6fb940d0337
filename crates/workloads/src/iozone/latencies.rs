//! `wol.dat` and the like (`-Q`): where each record began, and how long it took.

use super::files::failed;
use crate::WorkError;
use assay_model::work::iozone::Test;
use std::fs;
use std::path::Path;

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) latency_ns: u64,
    pub(super) bytes: u64,
}

/// The name of a test's file: iozone's where it has one.
pub(super) fn name(test: Test) -> String {
    match test {
        Test::Write => "wol.dat".to_owned(),
        Test::Rewrite => "rwol.dat".to_owned(),
        Test::Read => "rol.dat".to_owned(),
        Test::Reread => "rrol.dat".to_owned(),
        other => format!("{other}ol.dat"),
    }
}

/// Writes the file of a test. Of several children each has a number in its
/// file's name.
pub(super) fn write(
    folder: &Path,
    test: Test,
    child: Option<usize>,
    entries: &[Entry],
) -> Result<(), WorkError> {
    let name = match child {
        None => name(test),
        Some(child) => format!("Child_{child}_{}", name(test)),
    };
    let path = folder.join(name);
    let mut text =
        "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n".to_owned();
    for entry in entries {
        let (offset, micros) = (entry.offset >> 10, entry.latency_ns / 1000);
        text.push_str(&format!("{offset:10} {micros:10} {:10}\n", entry.bytes));
    }
    fs::write(&path, text).map_err(|error| failed("cannot write", &path, &error))
}
