//! fio's iolog: text with one event per line.
//!
//! The first line contains the version. Then follow `FILE ACTION` for files
//! (add, open, close) and `FILE ACTION OFFSET LENGTH` for I/O (read, write,
//! trim, sync, datasync). Version 3 starts each line with the time in
//! microseconds; version 2 has `FILE wait MICROSECONDS 0` instead.

use crate::{Action, EventTime, RecordedIo, TraceEvent, TraceSource, damaged};
use assay_model::load::Ddir;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Maximum line length: a path has at most 4096 bytes.
const LONGEST_LINE: u64 = 8192;
/// Minimum wait in microseconds; shorter ones are ignored, as fio documents it.
const SHORTEST_WAIT: u64 = 100;

/// An iolog being read.
pub struct IologSource<R> {
    input: R,
    version: Version,
    line: Vec<u8>,
    /// Number of the current line, from 1.
    line_number: u64,
    files: Vec<PathBuf>,
    numbers: HashMap<Vec<u8>, usize>,
    /// Sum of the waits since the last event, in nanoseconds (version 2).
    waited_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

/// A line without its time.
enum IologLine {
    Nothing,
    /// Wait in microseconds.
    Wait(u64),
    Event(usize, Action),
}

impl<R: BufRead> IologSource<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If it cannot be read, or is not that of an iolog.
    pub fn open(input: R) -> io::Result<Self> {
        let mut source = Self {
            input,
            version: Version::Three,
            line: Vec::new(),
            line_number: 0,
            files: Vec::new(),
            numbers: HashMap::new(),
            waited_ns: 0,
        };
        source.read_line()?;
        source.version = match source.line.trim_ascii_end() {
            b"fio version 2 iolog" => Version::Two,
            b"fio version 3 iolog" => Version::Three,
            _ => {
                return Err(source.bad(
                    "neither a blktrace file nor an iolog of version 2 or 3 \
                     ('fio version 3 iolog')",
                ));
            }
        };
        Ok(source)
    }

    /// Reads the next line; returns `false` at the end.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.line_number += 1;
        let read = (&mut self.input)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line)?;
        if read as u64 == LONGEST_LINE && self.line.last() != Some(&b'\n') {
            return Err(self.bad(&format!("longer than {LONGEST_LINE} bytes")));
        }
        Ok(read > 0)
    }

    fn bad(&self, problem: &str) -> io::Error {
        damaged(&format!("line {}: {problem}", self.line_number))
    }

    /// Parses the current line; `None` if it contains no event.
    fn parse(&mut self) -> io::Result<Option<TraceEvent>> {
        let line = std::mem::take(&mut self.line);
        let event = self.parse_fields(&line);
        self.line = line;
        event.map_err(|problem| self.bad(&problem))
    }

    fn parse_fields(&mut self, line: &[u8]) -> Result<Option<TraceEvent>, String> {
        let mut fields = line
            .split(u8::is_ascii_whitespace)
            .filter(|field| !field.is_empty());
        let stamp = match self.version {
            Version::Two => None,
            Version::Three => match fields.next() {
                None => return Ok(None),
                Some(field) => Some(number(field, "time")?.saturating_mul(1_000)),
            },
        };
        let fields: Vec<&[u8]> = fields.take(5).collect();
        let (file, action) = match self.parse_action(&fields)? {
            IologLine::Nothing => return Ok(None),
            IologLine::Wait(micros) => {
                if micros >= SHORTEST_WAIT {
                    let wait_ns = micros.saturating_mul(1_000);
                    self.waited_ns = self.waited_ns.saturating_add(wait_ns);
                }
                return Ok(None);
            }
            IologLine::Event(file, action) => (file, action),
        };
        let time = match stamp {
            Some(at_ns) => EventTime::At(at_ns),
            None => EventTime::After(std::mem::take(&mut self.waited_ns)),
        };
        Ok(Some(TraceEvent { file, action, time }))
    }

    /// Parses the fields after the time.
    fn parse_action(&mut self, fields: &[&[u8]]) -> Result<IologLine, String> {
        match *fields {
            [] if self.version == Version::Two => Ok(IologLine::Nothing),
            [name, b"add"] => {
                self.add(name);
                Ok(IologLine::Nothing)
            }
            [name, b"open"] => Ok(IologLine::Event(self.number_of(name)?, Action::Open)),
            [name, b"close"] => Ok(IologLine::Event(self.number_of(name)?, Action::Close)),
            [_, action] => Err(format!(
                "unknown action '{}': add, open and close stand alone, others need offset and length",
                action.escape_ascii()
            )),
            [_, b"wait", time, _] if self.version == Version::Two => {
                Ok(IologLine::Wait(number(time, "wait")?))
            }
            [_, b"wait", ..] => Err("version 3 has timestamps instead of 'wait'".to_owned()),
            [name, action, offset, length] => {
                let offset = number(offset, "offset")?;
                let action = io_action(action, offset, number(length, "length")?)?;
                Ok(IologLine::Event(self.number_of(name)?, action))
            }
            _ => Err(match self.version {
                Version::Two => "expected FILE ACTION [OFFSET LENGTH]".to_owned(),
                Version::Three => "expected TIME FILE ACTION [OFFSET LENGTH]".to_owned(),
            }),
        }
    }

    fn add(&mut self, name: &[u8]) {
        if !self.numbers.contains_key(name) {
            self.numbers.insert(name.to_vec(), self.files.len());
            self.files.push(PathBuf::from(OsStr::from_bytes(name)));
        }
    }

    fn number_of(&self, name: &[u8]) -> Result<usize, String> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let name = name.escape_ascii();
            format!("no earlier line adds the file '{name}' ('{name} add')")
        })
    }
}

impl<R: BufRead> TraceSource for IologSource<R> {
    fn next_event(&mut self) -> io::Result<Option<TraceEvent>> {
        while self.read_line()? {
            if let Some(event) = self.parse()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// Parses an action on bytes of a file. The offset and length of flushes are
/// ignored.
fn io_action(action: &[u8], offset: u64, length: u64) -> Result<Action, String> {
    let ddir = match action {
        b"read" => Ddir::Read,
        b"write" => Ddir::Write,
        b"trim" => Ddir::Trim,
        b"sync" => return Ok(Action::Sync),
        b"datasync" => return Ok(Action::Datasync),
        _ => {
            return Err(format!(
                "unknown action '{}': read, write, trim, sync, datasync or wait",
                action.escape_ascii()
            ));
        }
    };
    let length = u32::try_from(length).map_err(|_| format!("length {length} is above 4 GiB"))?;
    if offset.checked_add(u64::from(length)).is_none() {
        return Err(format!(
            "{length} bytes at offset {offset} end beyond the largest offset (2^64)"
        ));
    }
    Ok(Action::Io(RecordedIo {
        ddir,
        offset,
        length,
    }))
}

fn number(field: &[u8], what: &str) -> Result<u64, String> {
    std::str::from_utf8(field)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| format!("{what} '{}' is not a number", field.escape_ascii()))
}
