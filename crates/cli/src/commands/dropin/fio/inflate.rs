//! `--inflate-log=FILE`: prints a compressed log as text.

use crate::checks::input;
use crate::exit::Failure;
use crate::output::print_while_read;
use flate2::bufread::ZlibDecoder;
use std::fmt::Write;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Flags in the direction field of an entry, for the optional fields that follow.
const HAS_OFFSET: u32 = 0x8000_0000;
const HAS_PRIORITY: u32 = 0x4000_0000;
const HAS_MAX: u32 = 0x2000_0000;
const HAS_ISSUE_TIME: u32 = 0x1000_0000;
const FLAGS: u32 = HAS_OFFSET | HAS_PRIORITY | HAS_MAX | HAS_ISSUE_TIME;
/// Highest class of I/O priority; the class is in the bits from [`CLASS_SHIFT`] on.
const REAL_TIME: u16 = 1;
const CLASS_SHIFT: u16 = 13;

/// Size of the text that is printed at once, in bytes: a short file may hold any number of entries.
const PART: usize = 1 << 20;

/// Prints a log.
pub fn run(path: &Path) -> Result<(), Failure> {
    let mut printed = Ok(true);
    let inflated = input::open(path).and_then(|file| {
        inflate(BufReader::new(file), |text| {
            printed = print_while_read(|out| out.write_all(text.as_bytes()));
            matches!(printed, Ok(true))
        })
    });
    printed?;
    inflated.map_err(|error| {
        Failure::in_file(
            path,
            format!("it cannot be read as a compressed log of fio: {error}"),
        )
    })
}

/// Passes the text of all zlib streams in the file to `go_on`, part by part, until that returns
/// `false`. Text before damaged data is passed.
fn inflate(mut stored: impl BufRead, mut go_on: impl FnMut(&str) -> bool) -> io::Result<()> {
    while !is_over(&mut stored)? {
        let mut entries = BufReader::new(ZlibDecoder::new(&mut stored));
        loop {
            let mut text = String::new();
            let read = part(&mut entries, &mut text);
            if !go_on(&text) {
                return Ok(());
            }
            read?;
            if text.is_empty() {
                break;
            }
        }
    }
    Ok(())
}

/// Appends the lines of the next entries of a stream; none at its end.
fn part(entries: &mut impl BufRead, text: &mut String) -> io::Result<()> {
    while text.len() < PART && !is_over(entries)? {
        line(entries, text).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("its last entry is cut short"),
            _ => error,
        })?;
    }
    Ok(())
}

fn is_over(source: &mut impl BufRead) -> io::Result<bool> {
    source.fill_buf().map(<[u8]>::is_empty)
}

/// Appends the line of an entry.
fn line(entries: &mut impl Read, text: &mut String) -> io::Result<()> {
    let at_ms = u64::from_ne_bytes(take(entries)?);
    let value = u64::from_ne_bytes(take(entries)?);
    let ddir = u32::from_ne_bytes(take(entries)?);
    let priority = u16::from_ne_bytes(take(entries)?);
    let _padding: [u8; 2] = take(entries)?;
    let bytes = u64::from_ne_bytes(take(entries)?);
    let mut more = |flag| match ddir & flag {
        0 => Ok(None),
        _ => take(entries).map(|bytes| Some(u64::from_ne_bytes(bytes))),
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
    *text += &match ddir & HAS_PRIORITY {
        0 => u8::from(priority >> CLASS_SHIFT == REAL_TIME).to_string(),
        _ => format!("0x{priority:04x}"),
    };
    if let Some(issued) = issued {
        let _ = write!(text, ", {issued}");
    }
    text.push('\n');
    Ok(())
}

fn take<const N: usize>(entries: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    entries.read_exact(&mut bytes)?;
    Ok(bytes)
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

    fn text(stored: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        inflate(stored, |part| {
            text += part;
            true
        })?;
        Ok(text)
    }

    #[test]
    fn all_streams_of_a_file_become_lines() {
        let plain = entry(1, None);
        let full = entry(HAS_OFFSET | HAS_PRIORITY, Some(8192));
        let mut newer = entry(HAS_OFFSET | HAS_MAX | HAS_ISSUE_TIME, Some(512));
        newer.extend([50_u64, 7].iter().flat_map(|number| number.to_ne_bytes()));
        let stored = [compressed(&plain), compressed(&full), compressed(&newer)].concat();
        let expected = "500, 42, 1, 4096, 1\n500, 42, 0, 4096, 8192, 0x2000\n\
                        500, 42, 50, 0, 4096, 512, 1, 7\n";
        assert_eq!(text(&stored).unwrap(), expected);
    }

    #[test]
    fn damage_is_told() {
        let mut stored = compressed(&entry(0, None));
        assert!(text(&stored[..stored.len() - 6]).is_err());
        stored.extend(b"rubbish");
        assert!(text(&stored).is_err());
        let short = text(&compressed(&entry(HAS_OFFSET, None))).unwrap_err();
        assert_eq!(short.to_string(), "its last entry is cut short");
    }

    #[test]
    fn a_short_file_of_many_entries_is_given_in_parts() {
        let stored = compressed(&entry(0, None).repeat(200_000));
        assert!(stored.len() < 100_000);
        let mut parts = Vec::new();
        inflate(&*stored, |part| {
            parts.push(part.len());
            parts.len() < 3
        })
        .unwrap();
        assert!(
            parts
                .iter()
                .all(|length| (PART..PART + 100).contains(length)),
            "{parts:?}"
        );
    }
}
