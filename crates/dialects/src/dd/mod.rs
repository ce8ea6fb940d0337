//! GNU dd: its operands and its output.
//!
//! [`parse`] reads a command line, [`statistics`] and [`progress`] write dd's
//! lines, [`evidence()`] the line that assay adds. Follows coreutils 9, and was
//! checked against the installed dd.
//!
//! The character sets are those of POSIX dd: ISO/IEC 9945, utility `dd`, its tables "ASCII to
//! EBCDIC Conversion" and "ASCII to IBM EBCDIC Conversion".

mod build;

pub use build::Status;

use crate::OwnOptions;
use assay_judge::{DirectionEvidence, Measured, judge};
use assay_model::act::StepDetail;
use assay_model::act::copy::{CopyReport, EndKind, FileCopy};
use assay_model::text;
use assay_model::text::{Base, gnu_rate, quoted_c};
use assay_model::trial::{Outcome, TrialRecord};
use std::fmt;
use std::fmt::Write;
use std::path::PathBuf;

/// Action that a command line requests.
#[derive(Clone, Debug)]
pub enum DdCommand {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Make a copy.
    Copy(Box<Invocation>),
}

/// Copy with its output options.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Copy to make.
    pub copy: FileCopy,
    /// Amount of output on standard error.
    pub status: Status,
    /// Warnings about the operands, in dd's words without its name as prefix.
    pub warnings: Vec<String>,
    /// assay's own options.
    pub own: OwnOptions,
}

/// Parses a command line, without the program's name.
///
/// # Errors
/// With dd's message, if dd refuses the command line.
pub fn parse(words: &[String]) -> Result<DdCommand, DdError> {
    let mut own = OwnOptions::default();
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            operands.extend(words.by_ref());
            break;
        }
        if word == "--help" {
            return Ok(DdCommand::Help);
        }
        if word == "--version" {
            return Ok(DdCommand::Version);
        }
        if !word.starts_with('-') || word == "-" {
            operands.push(word);
            continue;
        }
        option(word, &mut words, &mut own)?;
    }
    let invocation = build::invocation(&operands, own)?;
    Ok(DdCommand::Copy(Box::new(invocation)))
}

/// Parses one of assay's own options.
fn option<'a>(
    word: &str,
    words: &mut impl Iterator<Item = &'a String>,
    own: &mut OwnOptions,
) -> Result<(), DdError> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let mut value = || {
        value
            .clone()
            .or_else(|| words.next().cloned())
            .ok_or_else(|| DdError::with_help(format!("option '{name}' requires an argument")))
    };
    match name {
        "--trials" => own.trials = trials(&value()?)?,
        "--store" => own.store = Some(PathBuf::from(value()?)),
        "--name" | "--tag" | "--note" => {
            let taken = own.annotation.take(&name[2..], &value()?);
            taken.map_err(|why| DdError::new(format!("{name}: {why}")))?;
        }
        "--json" => own.json = true,
        "--ladder" => own.ladder = true,
        "--destroy-data" => own.destroy_data = true,
        _ if word.starts_with("--") => {
            return Err(DdError::with_help(format!("unrecognized option '{word}'")));
        }
        _ => {
            let letter = word.chars().nth(1).unwrap_or('-');
            return Err(DdError::with_help(format!("invalid option -- '{letter}'")));
        }
    }
    Ok(())
}

fn trials(text: &str) -> Result<u32, DdError> {
    match text.parse() {
        Ok(number @ 1..=1000) => Ok(number),
        _ => Err(DdError::new(format!(
            "invalid number of trials: {}: give 1 to 1000",
            quoted_c(text)
        ))),
    }
}

/// Output of `assay dd --help`.
pub const HELP: &str = "\
Usage: assay dd [OPTION]... [OPERAND]...
Copies like GNU dd, and says what the rate measured: one more line on standard
error tells how much had reached the device when the clock stopped. The run is
kept (assay list).

Examples:
  assay dd if=/dev/zero of=/mnt/sd/file bs=1M count=512 conv=fdatasync
  assay dd --ladder of=/mnt/sd/file bs=1M count=512

Options of assay's own:
  --trials N       copy N times (not from a pipe or a terminal)
  --ladder         write of=FILE in four ways - plain, conv=fdatasync,
                   oflag=direct, oflag=dsync - and explain them
  --destroy-data   let --ladder overwrite what is there
  --json           print the run as JSON on standard output
  --store FILE     file that keeps the runs
  --name NAME      name of the run; --tag TAG, --note TEXT: its tags and note
  --help           this text
  --version        the version

Operands, as GNU dd has them:
  if=FILE of=FILE           instead of standard input and output
  bs=N                      read and write up to N bytes at a time
  ibs=N obs=N               the same apart (512)
  cbs=N                     length of a record for block and unblock
  count=N                   copy only N input blocks
  skip=N iseek=N            leave out N input blocks
  seek=N oseek=N            leave out N output blocks
  conv=WORD,...             ascii ebcdic ibm block unblock lcase ucase sparse
                            swab sync excl nocreat notrunc noerror fdatasync
                            fsync
  iflag=WORD,... oflag=WORD,...
                            append direct directory dsync sync nonblock noatime
                            nocache noctty nofollow; iflag only: fullblock
                            count_bytes skip_bytes; oflag only: seek_bytes
  status=none|noxfer|progress
                            with none there is no line of evidence either

N may have a suffix: c=1 w=2 b=512 kB=1000 K=KiB=1024 MB=1000*1000 M=MiB=1024*1024
and so on for G T P E; AxB is a product. count, skip and seek count bytes if N
ends in B. Naming a device as of= is the word that its data may go; a device in
use is refused.

SIGUSR1 prints the statistics so far.

Exit codes: 0 done, 1 failed, 2 refused by
assay.
";

/// Error in a command line, in dd's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DdError {
    message: String,
    /// Set if dd refers to its help after the error.
    points_to_help: bool,
    /// Warnings that dd prints before the error.
    warnings: Vec<String>,
}

impl DdError {
    const fn new(message: String) -> Self {
        Self {
            message,
            points_to_help: false,
            warnings: Vec::new(),
        }
    }

    /// Makes an error after which dd refers to its help.
    const fn with_help(message: String) -> Self {
        Self {
            message,
            points_to_help: true,
            warnings: Vec::new(),
        }
    }

    /// Adds warnings to print before the error.
    fn after(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// Returns dd's lines, prefixed by its name.
    pub fn lines(&self) -> Vec<String> {
        let texts = self.warnings.iter().chain([&self.message]);
        let mut lines: Vec<String> = texts.map(|text| format!("dd: {text}")).collect();
        if self.points_to_help {
            lines.push("Try 'dd --help' for more information.".to_owned());
        }
        lines
    }
}

impl fmt::Display for DdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DdError {}

/// Returns the evidence for a copy's rate: one line without a line end.
///
/// `page cache: 0 % of 100 MiB had reached mmcblk0 when the clock stopped; 100 MiB were dirty`
pub fn evidence(trial: &TrialRecord) -> String {
    let Some(StepDetail::Copy(report)) = trial.detail.as_deref() else {
        return "unknown: the copy did not begin".to_owned();
    };
    let judged = judge(trial);
    if report.output.is_storage() {
        let write = judged.and_then(|judgement| judgement.write);
        return written(trial, report, write.as_ref());
    }
    let output = kind(report.output);
    if !report.input.is_storage() {
        let input = kind(report.input);
        return format!("no device: from {input} to {output}, no storage was measured");
    }
    let read = judged.and_then(|judgement| judgement.read);
    let said = match &read {
        Some(read) => labelled(read),
        None => "nothing was read".to_owned(),
    };
    format!("nothing reached a device, the output is {output}; of the input: {said}")
}

fn written(trial: &TrialRecord, report: &CopyReport, write: Option<&DirectionEvidence>) -> String {
    let holes = match report.hole_bytes {
        0 => String::new(),
        bytes => format!("; {} became holes, which are not written", size(bytes)),
    };
    let Some(write) = write else {
        let why = match (trial.evidence.is_some(), report.bytes) {
            (true, _) | (false, 0) => "nothing was written".to_owned(),
            (false, _) => "unknown: the storage behind the output was not found".to_owned(),
        };
        return format!("{why}{holes}");
    };
    let dirty = match (write.dirty_bytes_at_stop, system_dirty(trial)) {
        (Some(bytes), _) if bytes > 0 => format!("; {} were dirty", size(bytes)),
        (None, Some(bytes)) => format!("; {} were dirty in all of memory", size(bytes)),
        _ => String::new(),
    };
    format!("{}{dirty}{holes}", labelled(write))
}

/// Formats the label and its reason.
fn labelled(judged: &DirectionEvidence) -> String {
    let label = match judged.measured {
        Measured::Device => "device",
        Measured::DeviceUnflushed => "device, not safe yet",
        Measured::Simulated => "nothing, simulated",
        Measured::PageCache => "page cache",
        Measured::Mixed { .. } => "mixed",
        Measured::Memory => "memory",
        Measured::CpuCache => "processor cache",
        Measured::Unknown { .. } => "unknown",
    };
    let of_all = format!("of {}", size(judged.job_bytes));
    let because = judged.because.replacen("of the bytes", &of_all, 1);
    format!("{label}: {because}")
}

/// Dirty bytes of the whole machine at clock stop.
fn system_dirty(trial: &TrialRecord) -> Option<u64> {
    let memory = trial.evidence.as_ref()?.after.memory?;
    Some(memory.dirty_bytes + memory.writeback_bytes)
}

fn size(bytes: u64) -> String {
    text::gnu_size(bytes, Base::Binary)
}

const fn kind(kind: EndKind) -> &'static str {
    match kind {
        EndKind::File => "a file",
        EndKind::Device => "a block device",
        EndKind::Pipe => "a pipe",
        EndKind::Socket => "a socket",
        EndKind::Terminal => "a terminal",
        EndKind::Character => "a character device",
        EndKind::Other => "no storage",
    }
}

/// Way to write with dd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DdWriteMode {
    /// dd's operand for it.
    pub name: &'static str,
    /// Meaning of its rate.
    pub says: &'static str,
}

const WAYS: [DdWriteMode; 4] = [
    DdWriteMode {
        name: "plain",
        says: "how fast memory takes the data; the device may get it later",
    },
    DdWriteMode {
        name: "conv=fdatasync",
        says: "until all data is safe on the device: quote this one for a file that is written once",
    },
    DdWriteMode {
        name: "oflag=direct",
        says: "past the page cache, block by block; a volatile cache of the device may still hold it",
    },
    DdWriteMode {
        name: "oflag=dsync",
        says: "each block is safe before the next begins: quote this one for logs and databases",
    },
];

/// Makes the same copy in each way, as steps of one work. Without an input, it
/// writes zeros. With `remove`, each step removes its output file.
pub fn ways(copy: &FileCopy, remove: bool) -> FileCopy {
    let one = |way: DdWriteMode| {
        let mut one = copy.clone();
        one.name = way.name.to_owned();
        one.input = Some(
            copy.input
                .clone()
                .unwrap_or_else(|| PathBuf::from("/dev/zero")),
        );
        one.remove_output = remove;
        one.settle = true;
        one.treatment.fsync = false;
        one.treatment.fdatasync = way.name == "conv=fdatasync";
        one.output_flags.sync = false;
        one.output_flags.direct = way.name == "oflag=direct";
        one.output_flags.dsync = way.name == "oflag=dsync";
        one
    };
    let mut first = one(WAYS[0]);
    first.then = WAYS[1..].iter().map(|&way| one(way)).collect();
    first
}

/// Formats the results and meanings of all ways as a table.
pub fn explanation(trials: &[TrialRecord]) -> String {
    let mut rows = vec![
        [
            "way",
            "rate",
            "reached the device",
            "still dirty",
            "flushes",
            "measured",
        ]
        .map(str::to_owned),
    ];
    rows.extend(trials.iter().map(row));
    let mut width = [0; 6];
    for row in &rows {
        for (width, cell) in width.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (at, (cell, width)) in row.iter().zip(width).enumerate() {
            // Writing to a String cannot fail.
            let _ = match at {
                0 => write!(line, "{cell:<width$}"),
                5 => write!(line, "  {cell}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    for way in WAYS {
        let _ = writeln!(text, "{:<15} {}", way.name, way.says);
    }
    text
}

fn row(trial: &TrialRecord) -> [String; 6] {
    let name = match trial.trial {
        1 => trial.job.name.clone(),
        number => format!("{} ({number})", trial.job.name),
    };
    let report = match trial.detail.as_deref() {
        Some(StepDetail::Copy(report)) if trial.outcome == Outcome::Completed => report,
        _ => {
            return [
                name,
                trial.outcome.word().to_owned(),
                dash(),
                dash(),
                dash(),
                dash(),
            ];
        }
    };
    let write = judge(trial).and_then(|judgement| judgement.write);
    let share = write.as_ref().and_then(|write| write.device_share);
    let dirty = write.as_ref().and_then(|write| write.dirty_bytes_at_stop);
    let flushes = write.as_ref().and_then(|write| write.flushes);
    [
        name,
        gnu_rate(report.bytes, report.elapsed_ns),
        share.map_or_else(dash, |share| format!("{:.0} %", (share * 100.0).floor())),
        dirty.map_or_else(dash, size),
        flushes.map_or_else(dash, |flushes| flushes.to_string()),
        write.map_or_else(dash, |write| write.measured.to_string()),
    ]
}

fn dash() -> String {
    "-".to_owned()
}

/// Returns the lines at the end of a copy, and after SIGUSR1.
pub fn statistics(report: &CopyReport, status: Status) -> Vec<String> {
    if status == Status::None {
        return Vec::new();
    }
    let mut lines = vec![
        format!("{}+{} records in", report.read_full, report.read_partial),
        format!(
            "{}+{} records out",
            report.written_full, report.written_partial
        ),
    ];
    match report.truncated {
        0 => {}
        1 => lines.push("1 truncated record".to_owned()),
        many => lines.push(format!("{many} truncated records")),
    }
    if status != Status::NoRate {
        let time = format!("{} s", seconds(report.elapsed_ns));
        lines.push(copied(report.bytes, report.elapsed_ns, &time));
    }
    lines
}

/// Returns the progress line, which is overwritten once a second.
pub fn progress(bytes: u64, elapsed_ns: u64) -> String {
    let time = format!("{:.0} s", elapsed_ns as f64 / 1e9);
    copied(bytes, elapsed_ns, &time)
}

/// Formats `104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s`.
fn copied(bytes: u64, elapsed_ns: u64, time: &str) -> String {
    let bytes_in_words = match bytes {
        1 => "1 byte".to_owned(),
        0..1000 => format!("{bytes} bytes"),
        1000..1024 => format!("{bytes} bytes ({})", text::gnu_size(bytes, Base::Decimal)),
        _ => format!(
            "{bytes} bytes ({}, {})",
            text::gnu_size(bytes, Base::Decimal),
            text::gnu_size(bytes, Base::Binary)
        ),
    };
    format!(
        "{bytes_in_words} copied, {time}, {}",
        gnu_rate(bytes, elapsed_ns)
    )
}

/// Formats seconds with six digits, like C's `%g`.
fn seconds(ns: u64) -> String {
    const DIGITS: i32 = 6;
    let seconds = ns as f64 / 1e9;
    if ns == 0 {
        return "0".to_owned();
    }
    // Rounding may add a digit, so the exponent is read afterwards.
    let scientific = format!("{seconds:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return without_zeros(&format!("{seconds:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs())
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// Conversion from ASCII to EBCDIC.
#[rustfmt::skip]
const ASCII_TO_EBCDIC: [u8; 256] = [
    0x00, 0x01, 0x02, 0x03, 0x37, 0x2d, 0x2e, 0x2f, 0x16, 0x05, 0x25, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
    0x10, 0x11, 0x12, 0x13, 0x3c, 0x3d, 0x32, 0x26, 0x18, 0x19, 0x3f, 0x27, 0x1c, 0x1d, 0x1e, 0x1f,
    0x40, 0x5a, 0x7f, 0x7b, 0x5b, 0x6c, 0x50, 0x7d, 0x4d, 0x5d, 0x5c, 0x4e, 0x6b, 0x60, 0x4b, 0x61,
    0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0x7a, 0x5e, 0x4c, 0x7e, 0x6e, 0x6f,
    0x7c, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6,
    0xd7, 0xd8, 0xd9, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xad, 0xe0, 0xbd, 0x9a, 0x6d,
    0x79, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96,
    0x97, 0x98, 0x99, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xc0, 0x4f, 0xd0, 0x5f, 0x07,
    0x20, 0x21, 0x22, 0x23, 0x24, 0x15, 0x06, 0x17, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x09, 0x0a, 0x1b,
    0x30, 0x31, 0x1a, 0x33, 0x34, 0x35, 0x36, 0x08, 0x38, 0x39, 0x3a, 0x3b, 0x04, 0x14, 0x3e, 0xe1,
    0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57,
    0x58, 0x59, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75,
    0x76, 0x77, 0x78, 0x80, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x6a, 0x9b, 0x9c, 0x9d, 0x9e,
    0x9f, 0xa0, 0xaa, 0xab, 0xac, 0x4a, 0xae, 0xaf, 0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
    0xb8, 0xb9, 0xba, 0xbb, 0xbc, 0xa1, 0xbe, 0xbf, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xda, 0xdb,
    0xdc, 0xdd, 0xde, 0xdf, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff,
];

/// Conversion from ASCII to the EBCDIC of IBM's printers, which differs in five
/// bytes.
const ASCII_TO_IBM: [u8; 256] = {
    let mut table = ASCII_TO_EBCDIC;
    table[0x5e] = 0x5f;
    table[0x7e] = 0xa1;
    table[0xcb] = 0x9a;
    table[0xd5] = 0xad;
    table[0xe5] = 0xbd;
    table
};

/// Conversion from EBCDIC to ASCII.
const EBCDIC_TO_ASCII: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = u8::MAX;
    loop {
        table[ASCII_TO_EBCDIC[byte as usize] as usize] = byte;
        if byte == 0 {
            break table;
        }
        byte -= 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_six_digits() {
        for (ns, text) in [
            (259_118_000, "0.259118"),
            (36_067, "3.6067e-05"),
            (100_000, "0.0001"),
            (1_000_000_000, "1"),
            (8_838_730, "0.00883873"),
            (678_821_499_999, "678.821"),
            (999_999_600, "1"),
            (1_234_567_000_000_000, "1.23457e+06"),
            (99_999_999, "0.1"),
        ] {
            assert_eq!(seconds(ns), text);
        }
    }

    #[test]
    fn the_last_line_is_dds() {
        let line = |bytes, ns| copied(bytes, ns, &format!("{} s", seconds(ns)));
        assert_eq!(
            line(104_857_600, 259_118_000),
            "104857600 bytes (105 MB, 100 MiB) copied, 0.259118 s, 405 MB/s"
        );
        assert_eq!(line(1, 233_015), "1 byte copied, 0.000233015 s, 4.3 kB/s");
        assert_eq!(
            line(1000, 293_018),
            "1000 bytes (1.0 kB) copied, 0.000293018 s, 3.4 MB/s"
        );
        assert_eq!(
            line(1024, 243_294),
            "1024 bytes (1.0 kB, 1.0 KiB) copied, 0.000243294 s, 4.2 MB/s"
        );
        assert_eq!(line(0, 36_067), "0 bytes copied, 3.6067e-05 s, 0.0 kB/s");
    }

    #[test]
    fn there_and_back_is_where_it_began() {
        for byte in 0..=255_u8 {
            let there = ASCII_TO_EBCDIC[usize::from(byte)];
            assert_eq!(EBCDIC_TO_ASCII[usize::from(there)], byte);
        }
        assert_eq!(ASCII_TO_EBCDIC[usize::from(b'A')], 0xc1);
        assert_eq!(ASCII_TO_IBM[usize::from(b'[')], 0xad);
    }
}
