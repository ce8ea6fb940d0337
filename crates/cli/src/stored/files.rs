//! Reading of text files in several encodings.

use crate::checks::input;
use crate::exit::Failure;
use assay_dialects::import::{Format, Taken, read};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Name that stands for standard input.
pub const STDIN: &str = "-";
/// Maximum size of a file, in bytes: results are smaller, but a device is not.
const MOST: u64 = 1 << 30;

/// Checks that standard input is given at most once.
pub fn only_once(files: &[PathBuf]) -> Result<(), Failure> {
    let count = files
        .iter()
        .filter(|file| *file == Path::new(STDIN))
        .count();
    if count > 1 {
        return Err(Failure::usage(
            "standard input (-) is named twice, and can be read once",
        ));
    }
    Ok(())
}

/// Reads the text of a file; returns a note if it had to be converted.
fn of(file: &Path) -> Result<(String, Option<String>), Failure> {
    let bytes = bytes(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", name(file))))?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::usage(format!(
            "{} is larger than 1 GiB: results are not",
            name(file)
        )));
    }
    Ok(decoded(bytes, &name(file)))
}

fn bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file == Path::new(STDIN) {
        io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes)?;
    } else {
        input::open(file)?.take(MOST + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Decodes UTF-8, or UTF-16, which some spreadsheets write.
fn decoded(bytes: Vec<u8>, name: &str) -> (String, Option<String>) {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| -> Vec<u16> {
        let pairs = bytes.chunks_exact(2);
        pairs.map(|pair| unit([pair[0], pair[1]])).collect()
    };
    let wide = match &bytes[..] {
        [0xff, 0xfe, rest @ ..] => Some(units(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Some(units(rest, u16::from_be_bytes)),
        _ => None,
    };
    if let Some(wide) = wide {
        return (String::from_utf16_lossy(&wide), None);
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => (
            String::from_utf8_lossy(error.as_bytes()).into_owned(),
            Some(format!(
                "{name} is not UTF-8: characters that are not known are shown as \u{fffd}."
            )),
        ),
    }
}

/// Reads the results of one file. With `format` `None`, the format is detected.
pub fn read_file(file: &Path, format: Option<Format>) -> Result<Taken, Failure> {
    let (text, note) = of(file)?;
    let mut taken =
        read(&text, format).map_err(|error| Failure::usage(format!("{}: {error}", name(file))))?;
    taken.results.notes.extend(note);
    Ok(taken)
}

/// Returns the name of a file for messages.
pub fn name(file: &Path) -> String {
    if file == Path::new(STDIN) {
        return "standard input".to_owned();
    }
    file.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_spreadsheets_are_read() {
        let wide: Vec<u8> = "\u{feff}a;µ\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(decoded(wide, "f").0, "a;µ\n");
        let latin = decoded(b"a;\xb5s\n".to_vec(), "f");
        assert_eq!(latin.0, "a;\u{fffd}s\n");
        assert!(
            latin
                .1
                .is_some_and(|note| note.starts_with("f is not UTF-8"))
        );
    }
}
