//! The files of H2testw and f3 in a folder: `1.h2w`, `2.h2w` and so on.

use crate::WorkError;
use assay_model::work::capacity::{FILE_BYTES, Fill};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const ENDING: &str = ".h2w";

/// Name of the file of that number.
pub(super) fn name(number: u32) -> String {
    format!("{number}{ENDING}")
}

/// Where the file of that number begins in all that is written.
pub(super) fn offset(number: u32) -> u64 {
    u64::from(number.saturating_sub(1)) * FILE_BYTES
}

/// The files of a folder that a fill is about, by number.
///
/// # Errors
/// When the folder cannot be read, or something of such a name is no file.
pub(super) fn list(folder: &Path, fill: &Fill) -> Result<BTreeMap<u32, PathBuf>, WorkError> {
    let failed = |error| failure("read", folder, &error);
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Some(number) = entry.file_name().to_str().and_then(number_of) else {
            continue;
        };
        if number < fill.first_file || fill.last_file.is_some_and(|last| number > last) {
            continue;
        }
        let path = entry.path();
        if !entry.file_type().map_err(failed)?.is_file() {
            let text = format!(
                "{} is not a regular file: move it away, or choose files with --start and --end",
                path.display()
            );
            return Err(WorkError::Refused(text));
        }
        files.insert(number, path);
    }
    Ok(files)
}

/// The number in a name, if it is such a name.
fn number_of(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(ENDING)?;
    let number = digits.parse().ok()?;
    // Neither "+1" nor "01".
    (number > 0 && name == self::name(number)).then_some(number)
}

/// Numbers that are missing between the first asked for and the last that is
/// there.
pub(super) fn missing(files: &BTreeMap<u32, PathBuf>, fill: &Fill) -> Vec<String> {
    let Some((&last, _)) = files.last_key_value() else {
        return Vec::new();
    };
    (fill.first_file..=last)
        .filter(|number| !files.contains_key(number))
        .map(name)
        .collect()
}

/// Something cannot be done with a file or folder.
pub(super) fn failure(operation: &str, path: &Path, error: &std::io::Error) -> WorkError {
    WorkError::Failed {
        message: format!("cannot {operation} {}: {error}", path.display()),
        errno: error.raw_os_error(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_f3_would_write_count() {
        for (name, number) in [
            ("1.h2w", Some(1)),
            ("120.h2w", Some(120)),
            ("0.h2w", None),
            ("01.h2w", None),
            ("+1.h2w", None),
            ("1.h2w.bak", None),
            (".h2w", None),
            ("1.H2W", None),
        ] {
            assert_eq!(number_of(name), number, "{name}");
        }
    }

    #[test]
    fn files_are_found_by_number_and_gaps_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["2.h2w", "10.h2w", "4.h2w", "notes.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let all = Fill::default();
        let files = list(folder.path(), &all).unwrap();
        assert_eq!(files.keys().copied().collect::<Vec<_>>(), [2, 4, 10]);
        let some = Fill {
            first_file: 2,
            last_file: Some(5),
            ..Fill::default()
        };
        let files = list(folder.path(), &some).unwrap();
        assert_eq!(files.keys().copied().collect::<Vec<_>>(), [2, 4]);
        assert_eq!(missing(&files, &some), ["3.h2w"]);
        assert_eq!(missing(&files, &all), ["1.h2w", "3.h2w"]);
    }

    #[test]
    fn what_is_no_file_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("3.h2w")).unwrap();
        let refused = list(folder.path(), &Fill::default()).unwrap_err();
        assert!(refused.to_string().contains("3.h2w is not a regular file"));
    }

    #[test]
    fn files_follow_each_other() {
        assert_eq!((offset(1), offset(3)), (0, 2 << 30));
    }
}
