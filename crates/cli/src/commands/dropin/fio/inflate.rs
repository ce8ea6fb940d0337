//! `--inflate-log=FILE`: a log that was stored compressed, as text.

use crate::checks::input;
use crate::exit::Failure;
use crate::output::print;
use flate2::bufread::ZlibDecoder;
use std::fmt::Write;
use std::io::{self, Read};
use std::path::Path;

/// Flags in an entry's direction: what else the entry has.
const HAS_OFFSET: u32 = 0x8000_0000;
const HAS_PRIORITY: u32 = 0x4000_0000;
const HAS_MAX: u32 = 0x2000_0000;
const HAS_ISSUE_TIME: u32 = 0x1000_0000;
const FLAGS: u32 = HAS_OFFSET | HAS_PRIORITY | HAS_MAX | HAS_ISSUE_TIME;
/// Real time: the highest class of I/O priority, in the bits above these.
const REAL_TIME: u16 = 1;
const CLASS_SHIFT: u16 = 13;

/// Prints a log.
pub fn run(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let failed = |error| Failure::usage(format!("cannot read {shown}: {error}"));
    let mut stored = Vec::new();
    let read = input::open(path).and_then(|mut file| file.read_to_end(&mut stored));
    read.map_err(failed)?;
    let entries = inflate(&stored).map_err(|error| {
        Failure::usage(format!("{shown} is not a compressed log of fio: {error}"))
    })?;
    let text = text(&entries)
        .ok_or_else(|| Failure::usage(format!("{shown}: its last entry is cut short")))?;
    print(|out| out.write_all(text.as_bytes()))
}

/// The streams of zlib that follow each other in the file.
fn inflate(mut stored: &[u8]) -> io::Result<Vec<u8>> {
    let mut entries = Vec::new();
    while !stored.is_empty() {
        let mut stream = ZlibDecoder::new(stored);
        stream.read_to_end(&mut entries)?;
        stored = stream.into_inner();
    }
    Ok(entries)
}

/// A line for each entry; `None` when the last one is not whole.
fn text(mut entries: &[u8]) -> Option<String> {
    let mut text = String::new();
    while !entries.is_empty() {
        let at_ms = u64::from_ne_bytes(take(&mut entries)?);
        let value = u64::from_ne_bytes(take(&mut entries)?);
        let ddir = u32::from_ne_bytes(take(&mut entries)?);
        let priority = u16::from_ne_bytes(take(&mut entries)?);
        let _padding: [u8; 2] = take(&mut entries)?;
        let bytes = u64::from_ne_bytes(take(&mut entries)?);
        let mut more = |flag| match ddir & flag {
            0 => Some(None),
            _ => take(&mut entries).map(|bytes| Some(u64::from_ne_bytes(bytes))),
        };
        let (offset, max, issued) = (more(HAS_OFFSET)?, more(HAS_MAX)?, more(HAS_ISSUE_TIME)?);
        let direction = u64::from(ddir & !FLAGS);
        let numbers = [
            Some(at_ms),
            Some(value),
            max,
            Some(direction),
            Some(bytes),
            offset,
        ];
        for number in numbers.into_iter().flatten() {
            // Writing to a string does not fail.
            let _ = write!(text, "{number}, ");
        }
        text += &match ddir & HAS_PRIORITY {
            0 => u8::from(priority >> CLASS_SHIFT == REAL_TIME).to_string(),
            _ => format!("0x{priority:04x}"),
        };
        if let Some(issued) = issued {
            let _ = write!(text, ", {issued}");
        }
        text.push('\n');
    }
    Some(text)
}

fn take<const N: usize>(entries: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = entries.split_first_chunk()?;
    *entries = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::ZlibEncoder;

    fn entry(ddir: u32, offset: Option<u64>) -> Vec<u8> {
        let mut entry = Vec::new();
        entry.extend(500_u64.to_ne_bytes());
        entry.extend(42_u64.to_ne_bytes());
        entry.extend(ddir.to_ne_bytes());
        entry.extend((REAL_TIME << CLASS_SHIFT).to_ne_bytes());
        entry.extend([0, 0]);
        entry.extend(4096_u64.to_ne_bytes());
        entry.extend(offset.iter().flat_map(|offset| offset.to_ne_bytes()));
        entry
    }

    fn compressed(entries: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        let mut encoder = ZlibEncoder::new(entries, Compression::default());
        encoder.read_to_end(&mut stored).unwrap();
        stored
    }

    #[test]
    fn all_streams_of_a_file_become_lines() {
        let plain = entry(1, None);
        let full = entry(HAS_OFFSET | HAS_PRIORITY, Some(8192));
        let mut newer = entry(HAS_OFFSET | HAS_MAX | HAS_ISSUE_TIME, Some(512));
        newer.extend([50_u64, 7].iter().flat_map(|number| number.to_ne_bytes()));
        let stored = [compressed(&plain), compressed(&full), compressed(&newer)].concat();
        let entries = inflate(&stored).unwrap();
        let expected = "500, 42, 1, 4096, 1\n500, 42, 0, 4096, 8192, 0x2000\n\
                        500, 42, 50, 0, 4096, 512, 1, 7\n";
        assert_eq!(text(&entries).unwrap(), expected);
    }

    #[test]
    fn damage_is_told() {
        let mut stored = compressed(&entry(0, None));
        assert!(inflate(&stored[..stored.len() - 6]).is_err());
        stored.extend(b"rubbish");
        assert!(inflate(&stored).is_err());
        assert_eq!(text(&entry(HAS_OFFSET, None)), None);
    }
}
