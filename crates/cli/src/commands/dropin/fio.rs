//! `assay fio ARGS`, or the program called as `fio`: fio's job files, command line and outputs on
//! assay's engine.

use crate::checks::input;
use crate::child;
use crate::commands::dropin::texts;
use crate::driver::runs::unix_ms;
use crate::driver::trials::Listener;
use crate::driver::{Host, Repeats, acts};
use crate::exit::{DATA_MISMATCH, DONE, Failure, Interrupts, SIGNALLED};
use crate::jobs::{Talk, machine, warn};
use crate::output::{
    admit_output, print, print_columns, print_while_read, prints_to_terminal, say,
    talks_to_terminal,
};
use assay_dialects::fio;
use assay_dialects::fio::output::{
    Presentation, TerseVersion, opening, write_json, write_normal, write_terse,
};
use assay_dialects::fio::{
    Eta, FioCommand, Formats, Invocation, JobText, OutputOptions, VERSION, output,
};
use assay_judge::judge_load;
use assay_model::act::Act;
use assay_model::load::Load;
use assay_model::load::report::{LoadProgress, LoadReport};
use assay_model::plan::Place;
use assay_model::text::clean;
use assay_model::units::Nanos;
use assay_model::wire::{Feature, LoadNote, NoteWeight};
use assay_target::Target;
use flate2::bufread::ZlibDecoder;
use jiff::Zoned;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Carries out a command line of fio; `words` does not include the program's name.
pub fn run(words: &[OsString], target: &mut dyn Target) -> Result<ExitCode, Failure> {
    texts(words)?;
    target.needs(Feature::Loads);
    // Only the agent knows which options another machine supports.
    let mut there = match target.name() {
        Some(_) => Some(Host::start(target)?),
        None => None,
    };
    let machine = machine(there.as_mut())?;
    match fio::parse(words, machine.as_ref()).map_err(Failure::usage)? {
        FioCommand::Print(text) => print(|out| out.write_all(text.as_bytes())).map(|()| DONE),
        FioCommand::InflateLog(path) => inflate_log(&path).map(|()| DONE),
        FioCommand::ParsedOnly { warnings, parsing } => {
            show(&parsing)?;
            warn(&warnings, say);
            Ok(DONE)
        }
        FioCommand::Run(invocation) => {
            show(&invocation.parsing)?;
            warn(&invocation.warnings, talk(&invocation.output));
            if invocation.warnings_fatal && !invocation.warnings.is_empty() {
                return Err(Failure::usage("warnings are fatal (--warnings-fatal)"));
            }
            let load = acts::permit_devices(invocation.load.clone());
            let host = match there {
                Some(host) => host,
                None => Host::start(target)?,
            };
            run_jobs(&invocation, &load, host)
        }
    }
}

/// Returns the function that prints messages that are no failures: to standard output if the results
/// go to a file, as in fio, since programs that run fio take text on standard error for a failure.
/// Otherwise to standard error, so that standard output holds only results.
fn talk(output: &OutputOptions) -> Talk {
    match output.path {
        // The load continues if the reader of standard output is gone.
        Some(_) => |line| drop(print(|out| writeln!(out, "{line}"))),
        None => say,
    }
}

/// Prints the options as they were parsed.
fn show(parsing: &[String]) -> Result<(), Failure> {
    if parsing.is_empty() {
        return Ok(());
    }
    print(|out| {
        parsing
            .iter()
            .try_for_each(|line| writeln!(out, "{}", clean(line)))
    })
}

fn run_jobs(invocation: &Invocation, load: &Load, mut host: Host) -> Result<ExitCode, Failure> {
    if invocation.output.path.is_some() && child::this().is_some() {
        return Err(Failure::usage(
            "--output: all targets would write the same file; results on standard output are \
             kept apart",
        ));
    }
    let sink = Sink::open(invocation.output.path.as_deref())?;
    let live = live_line(&invocation.output, load, &sink);
    let mut results = Results {
        load,
        words: Words {
            jobs: &invocation.jobs,
            global: &invocation.global_options,
            remarks: &invocation.notes,
        },
        formats: invocation.output.formats,
        terse: (invocation.output.formats.terse).then_some(invocation.output.terse_version),
        sink,
        live,
        random_seeds: invocation.output.random_seeds,
        opened: false,
        talk: talk(&invocation.output),
        repeats: Repeats::default(),
    };
    let interrupt = host.obey_signals(Interrupts::Caught, || {
        say("assay: stopping; the results so far follow");
    })?;
    let (act, seed) = (Act::Streams(Box::new(load.clone())), load.entropy);
    let order = acts::single("", Place::Memory, act, seed, true);
    let (_, outcome) = acts::once(&mut host, order, &mut results)?;
    let report = outcome.and_then(|outcome| outcome.streams);
    let report = report.ok_or_else(|| Failure::lost("the agent sent no report"))?;
    results.close_notes();
    results.present(&report)?;
    if let Some(lost) = &report.lost {
        say(&format!("assay: {lost}"));
    }
    Ok(exit_code(&report, interrupt.exit_code().is_some()))
}

/// Makes the live line. It is on standard output like fio's, and hidden if the results are written
/// there in formats for programs.
fn live_line<'a>(output: &OutputOptions, load: &'a Load, sink: &Sink) -> LiveLine<'a> {
    let OutputOptions {
        formats,
        eta,
        eta_newline,
        eta_interval,
        ..
    } = output;
    let is_for_people = formats.normal || !sink.is_stdout();
    let wanted = match eta {
        Eta::Always => true,
        Eta::Auto => prints_to_terminal(),
        Eta::Never => false,
    };
    let duration = |nanos: Nanos| Duration::from_nanos(nanos.0);
    LiveLine::new(
        load,
        is_for_people && wanted,
        duration(*eta_interval),
        eta_newline.map(duration),
    )
}

/// Live line and its display settings.
struct LiveLine<'a> {
    eta: output::Eta<'a>,
    /// Display state; `None` if the line is not shown.
    shown: Option<Shown>,
}

struct Shown {
    /// Minimum time between two updates.
    interval: Duration,
    /// Time after which the line is ended, so that it stays on the screen.
    newline_after: Option<Duration>,
    drawn: Option<Instant>,
    /// Time of the last newline, or of the start.
    last_newline: Instant,
    /// `true` if the cursor is behind a line that is not ended.
    open: bool,
}

impl<'a> LiveLine<'a> {
    /// Makes a line that is drawn at most every `interval`, and not at all unless `shown`.
    pub fn new(
        load: &'a Load,
        shown: bool,
        interval: Duration,
        newline_after: Option<Duration>,
    ) -> Self {
        Self {
            eta: output::Eta::new(load),
            shown: shown.then(|| Shown {
                interval,
                newline_after,
                drawn: None,
                last_newline: Instant::now(),
                open: false,
            }),
        }
    }

    /// Redraws the line if the interval has passed.
    pub fn update(&mut self, progress: &LoadProgress) {
        let Some(shown) = &mut self.shown else {
            self.eta.update(progress);
            return;
        };
        let now = Instant::now();
        if shown
            .drawn
            .is_some_and(|drawn| now - drawn < shown.interval)
        {
            return;
        }
        self.eta.update(progress);
        let ends = shown
            .newline_after
            .is_some_and(|after| now - shown.last_newline >= after);
        if ends {
            shown.last_newline = now;
        }
        shown.drawn = Some(now);
        shown.open = !ends;
        // One column stays free: a terminal wraps after the last one.
        let width = print_columns().map(|columns| columns.saturating_sub(1));
        let line = self.eta.line(width);
        let end = if ends { '\n' } else { '\r' };
        // The load continues if the reader of standard output is gone.
        let _ = print(|out| write!(out, "{line}{end}"));
    }

    /// Ends the line, so that other text can follow.
    pub fn close(&mut self) {
        if let Some(shown) = &mut self.shown
            && std::mem::take(&mut shown.open)
        {
            let _ = print(|out| writeln!(out));
        }
    }

    /// Returns the remaining seconds, as fio's JSON has them.
    pub fn seconds_left(&self) -> u64 {
        self.eta.seconds_left()
    }
}

/// Texts in the output besides the results.
#[derive(Clone, Copy)]
struct Words<'a> {
    /// The options of each stream.
    pub jobs: &'a [JobText],
    /// Options of the global sections.
    pub global: &'a [(String, Option<String>)],
    /// Notes on options without effect, in the command line and the job files.
    pub remarks: &'a [String],
}

/// Writer of results while a load runs.
struct Results<'a> {
    /// Load that runs.
    pub load: &'a Load,
    /// Texts beside the results.
    pub words: Words<'a>,
    /// Formats of the results.
    pub formats: Formats,
    /// Version of the terse format, if that is requested.
    pub terse: Option<TerseVersion>,
    /// Destination of the results.
    pub sink: Sink,
    /// Live line that is shown while the load runs.
    pub live: LiveLine<'a>,
    /// `true` if the seed of each stream is shown.
    pub random_seeds: bool,
    /// `true` once the first lines are written.
    pub opened: bool,
    /// Function that prints messages that are neither results nor failures.
    pub talk: Talk,
    /// Notes on the load so far.
    pub repeats: Repeats,
}

impl Results<'_> {
    /// Writes the start of the normal output, once it is known that the load runs: a refused load
    /// writes nothing.
    fn open(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.opened, true) {
            return Ok(());
        }
        if self.random_seeds {
            self.write(|this, text| random_seeds(this.load, text))?;
        }
        if self.formats.normal {
            self.write(|this, text| cleaned(text, |raw| opening(this.load, VERSION, raw)))?;
        }
        let mut remarks = self.words.remarks.iter();
        remarks.try_for_each(|remark| self.remark(remark))
    }

    /// Writes a note to the normal output, as fio does. Without that format, prints it as a message,
    /// unless the results go to standard output and standard error is no terminal: programs that run
    /// fio take such text for a failure. The JSON never contains notes.
    fn remark(&mut self, remark: &str) -> Result<(), Failure> {
        if self.formats.normal {
            return self.write(|_, text| writeln!(text, "{}", clean(remark)));
        }
        if !self.sink.is_stdout() || talks_to_terminal() {
            (self.talk)(&format!("assay: {}", clean(remark)));
        }
        Ok(())
    }

    fn say(&self, weight: NoteWeight, line: &str) {
        match weight {
            NoteWeight::Info | NoteWeight::Warning => (self.talk)(line),
            NoteWeight::Error => say(line),
        }
    }

    /// Prints a summary of the notes that occurred more than once.
    pub fn close_notes(&mut self) {
        for (weight, line) in self.repeats.close() {
            self.say(weight, &line);
        }
    }

    /// Writes the results, in fio's order of formats.
    pub fn present(&mut self, report: &LoadReport) -> Result<(), Failure> {
        self.open()?;
        self.live.close();
        let judgements = judge_load(self.load, report);
        let now = Zoned::now();
        let shown = Presentation {
            load: self.load,
            report,
            jobs: self.words.jobs,
            global_options: self.words.global,
            judgements: &judgements,
            version: VERSION,
            timestamp_ms: unix_ms(),
            time_text: now.strftime("%a %b %e %H:%M:%S %Y").to_string(),
            eta_s: if report.interim {
                self.live.seconds_left()
            } else {
                0
            },
        };
        let (formats, terse) = (self.formats, self.terse);
        self.write(|_, text| {
            if let Some(version) = terse {
                cleaned(text, |raw| write_terse(&shown, version, raw))?;
            }
            if formats.json {
                write_json(&shown, formats.json_plus, text)?;
            }
            if formats.normal {
                cleaned(text, |raw| write_normal(&shown, raw))?;
            }
            Ok(())
        })
    }

    /// Writes text as one piece: a reader of the file never sees half a document.
    fn write(
        &mut self,
        make: impl FnOnce(&Self, &mut Vec<u8>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut text = Vec::new();
        make(self, &mut text)
            .map_err(|error| Failure::failed(format!("cannot write the results: {error}")))?;
        self.sink.write(&text)
    }
}

/// Appends what `make` writes, without control characters that could steer a terminal.
fn cleaned(
    text: &mut Vec<u8>,
    make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut raw = Vec::new();
    make(&mut raw)?;
    let raw = String::from_utf8_lossy(&raw);
    for piece in raw.split_inclusive(['\n', '\t']) {
        let words = piece.trim_end_matches(['\n', '\t']);
        text.extend_from_slice(clean(words).as_bytes());
        text.extend_from_slice(&piece.as_bytes()[words.len()..]);
    }
    Ok(())
}

/// Appends the seeds in the form of fio's `--debug=random`: all generators of a job start from one
/// seed.
fn random_seeds(load: &Load, text: &mut Vec<u8>) -> io::Result<()> {
    for stream in &load.streams {
        let number = stream.number;
        let seed = load.seed_of(stream);
        writeln!(text, "random   {number:<5} FIO_RAND_NR_OFFS=1")?;
        writeln!(text, "random   {number:<5} rand_seeds[0]={seed}")?;
    }
    Ok(())
}

impl Listener for Results<'_> {
    fn note(&mut self, note: &LoadNote) -> Result<(), Failure> {
        self.open()?;
        self.live.close();
        if note.weight == NoteWeight::Info {
            return self.remark(&note.text);
        }
        if let Some(line) = self.repeats.receive(note) {
            self.say(note.weight, &line);
        }
        Ok(())
    }

    fn load_progress(&mut self, progress: &LoadProgress) -> Result<(), Failure> {
        self.open()?;
        self.live.update(progress);
        Ok(())
    }

    fn interim(&mut self, report: &LoadReport) -> Result<(), Failure> {
        self.present(report)
    }
}

/// Destination of results.
enum Sink {
    /// Standard output.
    Stdout,
    /// A file, opened before the load runs: an error is found before hours of work, not after.
    File {
        /// The file.
        file: File,
        /// Path of the file.
        path: PathBuf,
    },
}

impl Sink {
    /// Opens and empties a file, or returns standard output.
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::Stdout);
        };
        admit_output(path)?;
        let file = File::create(path)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self::File {
            file,
            path: path.to_owned(),
        })
    }

    /// Writes the whole text.
    pub fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => print(|out| out.write_all(text)),
            Self::File { file, path } => file.write_all(text).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", path.display()))
            }),
        }
    }

    /// `true` if the destination is standard output.
    pub const fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }
}

/// Largest exit code for failures: to shells, 126 and 127 mean that a command cannot be run, and
/// higher codes are signals.
const MOST_FAILURES: u8 = 125;

/// Returns fio's exit code: 128 after a signal, else the number of failed jobs. There are two
/// differences to fio: a number too large for an exit code does not wrap round to 0, and a failed
/// verification is never 0.
fn exit_code(report: &LoadReport, stopped: bool) -> ExitCode {
    ExitCode::from(code(report, stopped))
}

fn code(report: &LoadReport, stopped: bool) -> u8 {
    // A signal may have stopped the agent alone.
    if stopped || report.stopped {
        return SIGNALLED;
    }
    let streams = || report.streams.iter();
    let failed = streams().filter(|stream| stream.errno != 0).count();
    let mismatch = streams().any(|stream| stream.data_mismatches > 0);
    match u8::try_from(failed) {
        Ok(0) if mismatch => DATA_MISMATCH,
        Ok(failed) => failed.min(MOST_FAILURES),
        Err(_) => MOST_FAILURES,
    }
}

/// Flags in the direction field of an entry, for the optional fields that follow.
const HAS_OFFSET: u32 = 0x8000_0000;
const HAS_PRIORITY: u32 = 0x4000_0000;
const HAS_MAX: u32 = 0x2000_0000;
const HAS_ISSUE_TIME: u32 = 0x1000_0000;
const ENTRY_FLAGS: u32 = HAS_OFFSET | HAS_PRIORITY | HAS_MAX | HAS_ISSUE_TIME;
/// Highest class of I/O priority; the class is in the bits from [`CLASS_SHIFT`] on.
const REAL_TIME: u16 = 1;
const CLASS_SHIFT: u16 = 13;

/// Size of the text that is printed at once, in bytes: a short file may hold any number of entries.
const INFLATED_PART: usize = 1 << 20;

/// Prints a compressed log as text (`--inflate-log=FILE`).
fn inflate_log(path: &Path) -> Result<(), Failure> {
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
            let read = append_entries(&mut entries, &mut text);
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
fn append_entries(entries: &mut impl BufRead, text: &mut String) -> io::Result<()> {
    while text.len() < INFLATED_PART && !is_over(entries)? {
        append_entry(entries, text).map_err(|error| match error.kind() {
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
fn append_entry(entries: &mut impl Read, text: &mut String) -> io::Result<()> {
    let at_ms = u64::from_ne_bytes(take_bytes(entries)?);
    let value = u64::from_ne_bytes(take_bytes(entries)?);
    let ddir = u32::from_ne_bytes(take_bytes(entries)?);
    let priority = u16::from_ne_bytes(take_bytes(entries)?);
    let _padding: [u8; 2] = take_bytes(entries)?;
    let bytes = u64::from_ne_bytes(take_bytes(entries)?);
    let mut more = |flag| match ddir & flag {
        0 => Ok(None),
        _ => take_bytes(entries).map(|bytes| Some(u64::from_ne_bytes(bytes))),
    };
    let (offset, max, issued) = (more(HAS_OFFSET)?, more(HAS_MAX)?, more(HAS_ISSUE_TIME)?);
    let direction = u64::from(ddir & !ENTRY_FLAGS);
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

fn take_bytes<const N: usize>(entries: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    entries.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::report::StreamReport;
    use flate2::Compression;
    use flate2::read::ZlibEncoder;

    #[test]
    fn lines_and_columns_stay_and_control_characters_do_not() {
        let mut text = b"{".to_vec();
        cleaned(&mut text, |raw| {
            raw.write_all("\ta \u{1b}[2J:\n\n b\t\tc".as_bytes())
        })
        .unwrap();
        assert_eq!(text, b"{\ta \\u{1b}[2J:\n\n b\t\tc");
    }

    fn report(failed: usize, mismatches: u64) -> LoadReport {
        let mut streams = vec![
            StreamReport {
                errno: 5,
                ..StreamReport::default()
            };
            failed
        ];
        streams.push(StreamReport {
            data_mismatches: mismatches,
            ..StreamReport::default()
        });
        LoadReport {
            streams,
            ..LoadReport::default()
        }
    }

    #[test]
    fn failed_jobs_are_counted_and_never_wrap_to_success() {
        assert_eq!(code(&report(0, 0), false), 0);
        assert_eq!(code(&report(3, 0), false), 3);
        for many in [126, 127, 255, 256, 3000] {
            assert_eq!(code(&report(many, 0), false), 125);
        }
        assert_eq!(code(&report(0, 0), true), 128);
        let stopped = LoadReport {
            stopped: true,
            ..report(0, 0)
        };
        assert_eq!(code(&stopped, false), 128);
    }

    #[test]
    fn a_mismatch_is_no_success() {
        assert_eq!(code(&report(0, 1), false), 4);
        assert_eq!(code(&report(2, 1), false), 2);
    }

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
                .all(|length| (INFLATED_PART..INFLATED_PART + 100).contains(length)),
            "{parts:?}"
        );
    }
}
