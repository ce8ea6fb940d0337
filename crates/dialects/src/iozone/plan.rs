//! Converts flags to a work and an output.

use super::sizes::{Sizes, number, parse as size};
use super::words::{Given, given};
use super::{IozoneCommand, IozoneError, IozoneRequest, Output};
use crate::OwnOptions;
use assay_model::job::OpenSync;
use assay_model::work::iozone::{Iozone, MapSync, RateUnit, Test};
use std::path::PathBuf;

/// Order of the tests in throughput mode.
const THROUGHPUT: [Test; 15] = [
    Test::Write,
    Test::Rewrite,
    Test::Read,
    Test::Reread,
    Test::BackwardRead,
    Test::StrideRead,
    Test::RandomRead,
    Test::Mixed,
    Test::RandomWrite,
    Test::Pwrite,
    Test::Pread,
    Test::Pwritev,
    Test::Preadv,
    Test::Fwrite,
    Test::Fread,
];
/// Tests without `-i`, and those that `-E` adds.
const USUAL: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const EXTENDED: [u8; 2] = [9, 10];
const USUAL_THROUGHPUT: [u8; 10] = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10];
/// Largest number of children; with more, the scheduler determines the figures rather than
/// the storage.
const MOST_CHILDREN: u64 = 1024;

/// Parses the words after `assay iozone`.
///
/// # Errors
/// When a word is not a flag of iozone, or flags cannot be combined.
pub fn parse(words: &[String]) -> Result<IozoneRequest, IozoneError> {
    let flags = given(words)?;
    let has = |name| flags.iter().any(|given| given.flag.name == name);
    if has("h") || has("-help") {
        return Ok(IozoneRequest::Help);
    }
    if has("v") {
        return Ok(IozoneRequest::Version);
    }
    let mut draft = Draft::new();
    for given in &flags {
        draft.take(given)?;
    }
    Ok(IozoneRequest::Measure(Box::new(draft.finish()?)))
}

/// Command while its flags are parsed.
struct Draft {
    work: Iozone,
    output: Output,
    own: OwnOptions,
    sizes: Sizes,
    numbers: Vec<u8>,
    file: Option<PathBuf>,
    files: Vec<PathBuf>,
    least: Option<u64>,
    most: Option<u64>,
    map_sync: MapSync,
    no_second: bool,
}

impl Draft {
    fn new() -> Self {
        Self {
            work: Iozone {
                stonewall: true,
                stride: 17,
                cache_kib: 1024,
                ..Iozone::default()
            },
            output: Output {
                line_bytes: 32,
                ..Output::default()
            },
            own: OwnOptions::default(),
            sizes: Sizes {
                factor: 2,
                ..Sizes::default()
            },
            numbers: Vec::new(),
            file: None,
            files: Vec::new(),
            least: None,
            most: None,
            map_sync: MapSync::None,
            no_second: false,
        }
    }

    fn remark(&mut self, text: impl Into<String>) {
        self.output.remarks.push(text.into());
    }

    fn take(&mut self, given: &Given) -> Result<(), IozoneError> {
        let name = given.flag.name;
        let value = given.values.first().map_or("", String::as_str);
        if self.take_own(name, value)?
            || self.take_size(name, value)?
            || self.take_output(name, value)?
            || self.take_switch(name)
        {
            return Ok(());
        }
        self.take_number(name, value, &given.values)
    }

    fn take_own(&mut self, name: &str, value: &str) -> Result<bool, IozoneError> {
        match name {
            "-trials" => {
                let trials = number(name, value, 1, 1000)?;
                self.own.trials = u32::try_from(trials).unwrap_or(1);
            }
            "-json" => self.own.json = true,
            "-store" => self.own.store = Some(PathBuf::from(value)),
            "-name" | "-tag" | "-note" => {
                let taken = self.own.annotation.take(&name[1..], value);
                taken.map_err(|why| IozoneError(format!("-{name}: {why}")))?;
            }
            "-destroy-data" => self.own.destroy_data = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_size(&mut self, name: &str, value: &str) -> Result<bool, IozoneError> {
        let Some((_, before, after)) = SIZES.iter().find(|(flag, ..)| *flag == name) else {
            return Ok(false);
        };
        let kib = size(name, value)?;
        match name {
            "s" => self.sizes.files.push(kib),
            "r" => self.sizes.records.push(kib),
            "n" => self.sizes.file_min = Some(kib),
            "g" => self.sizes.file_max = Some(kib),
            "y" => self.sizes.record_min = Some(kib),
            _ => self.sizes.record_max = Some(kib),
        }
        self.remark(format!("{before}{kib}{after}"));
        Ok(true)
    }

    /// Applies flags about the output without a remark.
    fn take_output(&mut self, name: &str, value: &str) -> Result<bool, IozoneError> {
        match name {
            "b" => self.output.workbook = Some(PathBuf::from(value)),
            "C" => self.output.children = true,
            "E" => self.output.extended = true,
            "T" => self.output.threads = true,
            "L" => self.output.line_bytes = number(name, value, 1, 1 << 20)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Applies switches with a remark of iozone's.
    fn take_switch(&mut self, name: &str) -> bool {
        let work = &mut self.work;
        match name {
            "a" => self.sizes.auto = true,
            "A" => {
                self.sizes.auto = true;
                self.sizes.all_records = true;
                self.output.short = true;
            }
            "z" => self.sizes.all_records = true,
            "B" => work.mapped = Some(MapSync::None),
            "c" => work.close = true,
            "D" => self.map_sync = MapSync::Async,
            "e" => work.flush = true,
            "G" => self.map_sync = MapSync::Sync,
            "I" => work.direct = true,
            "m" => work.many_buffers = true,
            "M" => self.output.machine = true,
            "N" => self.output.unit = RateUnit::MicrosPerOp,
            "o" => work.sync = OpenSync::Sync,
            "O" => self.output.unit = RateUnit::OpsPerSec,
            "p" => work.purge = true,
            "Q" => work.latency_files = Some(PathBuf::from(".")),
            "R" => self.output.blocks = true,
            "w" => work.keep = true,
            "W" => work.lock = true,
            "x" => work.stonewall = false,
            "+B" => work.mix.sequential = true,
            "+d" => work.diagnose = true,
            "+D" if work.sync == OpenSync::None => work.sync = OpenSync::Dsync,
            "+D" => {}
            "+n" => self.no_second = true,
            "+r" => work.rsync = true,
            "+u" => self.output.cpu = true,
            _ => return false,
        }
        for (_, remark) in REMARKS.iter().filter(|(flag, _)| *flag == name) {
            self.remark(*remark);
        }
        true
    }

    fn take_number(
        &mut self,
        name: &str,
        value: &str,
        values: &[String],
    ) -> Result<(), IozoneError> {
        match name {
            "i" => self.numbers.push(test_number(value)?),
            "f" => self.file = Some(PathBuf::from(value)),
            "F" => self.files = values.iter().map(PathBuf::from).collect(),
            "U" => self.work.remount = Some(PathBuf::from(value)),
            "j" => self.work.stride = number(name, value, 1, 1 << 32)?,
            "J" => self.work.think_ms = number(name, value, 0, 3_600_000)?,
            "S" => self.work.cache_kib = size(name, value)?.min(1 << 20),
            "t" => {
                let children = number(name, value, 1, MOST_CHILDREN)?;
                (self.least, self.most) = (Some(children), Some(children));
            }
            "l" => {
                self.least = Some(number(name, value, 1, MOST_CHILDREN)?);
                self.output.sweep = true;
            }
            "u" => {
                self.most = Some(number(name, value, 1, MOST_CHILDREN)?);
                self.output.sweep = true;
            }
            "V" => {
                let pattern = u8::try_from(number(name, value, 0, 255)?).unwrap_or(0);
                self.work.verify = Some(pattern);
                let shown = u32::from_ne_bytes([pattern; 4]);
                self.remark(format!("Verify Mode. Pattern {shown:x}"));
                self.remark(INVALID);
            }
            "+p" => {
                let percent = u8::try_from(number(name, value, 0, 100)?).unwrap_or(0);
                self.work.mix.read_percent = Some(percent);
                self.remark(format!("Percent read in mix test is {percent}"));
            }
            "+x" => self.sizes.factor = number(name, value, 2, 1 << 20)?,
            other => return Err(format!("-{other} is not supported").into()),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<IozoneCommand, IozoneError> {
        let throughput = self.least.is_some() || self.most.is_some();
        self.output.blocks |= self.output.workbook.is_some();
        if self.work.diagnose {
            self.work.verify.get_or_insert(0xa5);
        }
        if self.work.mapped.is_some() {
            self.work.mapped = Some(self.map_sync);
        }
        if throughput {
            self.throughput()?;
        } else {
            self.single()?;
        }
        self.leave_out_streams()?;
        self.work.rows = self.sizes.rows()?;
        self.output.records = self.sizes.record_sizes();
        if self.no_second {
            self.work.tests.retain(|test| !test.repeats());
        }
        Ok(IozoneCommand {
            work: self.work,
            output: self.output,
            own: self.own,
        })
    }

    /// Leaves out tests that iozone cannot run on mapped files, because these are not
    /// accessed by read and write calls.
    fn leave_out_streams(&mut self) -> Result<(), IozoneError> {
        self.output.mapped = self.work.mapped.is_some() || self.map_sync == MapSync::Async;
        if !self.output.mapped {
            return Ok(());
        }
        self.output.stream_blanks = !self.work.tests.contains(&Test::Fwrite);
        let by_copies = |test: &Test| matches!(test.number(), 0..=5 | 8);
        self.work.tests.retain(by_copies);
        if self.work.tests.is_empty() {
            return Err("with -B files are mapped: only tests 0 to 5 and 8 can be chosen".into());
        }
        Ok(())
    }

    fn single(&mut self) -> Result<(), IozoneError> {
        if !self.files.is_empty() {
            return Err(
                "-F names a file for each child: add -t N, or name one file with -f".into(),
            );
        }
        if self.numbers.contains(&8) {
            return Err("-i 8 mixes children that read with others that write: add -t N".into());
        }
        if self.output.short {
            self.numbers = vec![0, 1];
        } else if self.numbers.is_empty() {
            self.numbers.extend(USUAL);
            if self.output.extended {
                self.numbers.extend(EXTENDED);
            }
        }
        let chosen = |number: u8| self.numbers.contains(&number);
        self.output.vectors = chosen(11) || chosen(12);
        self.output.extended |= chosen(9) || chosen(10) || self.output.vectors;
        let tests = Test::ALL.into_iter();
        self.work.tests = tests.filter(|test| chosen(test.number())).collect();
        let file = self.file.take();
        self.work.files = vec![file.unwrap_or_else(|| PathBuf::from("iozone.tmp"))];
        Ok(())
    }

    fn throughput(&mut self) -> Result<(), IozoneError> {
        if self.sizes.auto {
            return Err("-a runs one child at a time: leave it out, or -t, -l and -u".into());
        }
        if self.sizes.files.len() > 1 || self.sizes.records.len() > 1 {
            return Err("with -t there is one -s and one -r: run once for each size".into());
        }
        if self.output.unit == RateUnit::MicrosPerOp {
            return Err("-N is for one child: use -O with -t, -l and -u".into());
        }
        if self.numbers.contains(&4) {
            return Err("-i 4 (record rewrite) is for one child: leave out -t, -l and -u".into());
        }
        if self.numbers.is_empty() {
            self.numbers.extend(USUAL_THROUGHPUT);
        }
        let chosen = |test: &Test| self.numbers.contains(&test.number());
        self.work.tests = THROUGHPUT.into_iter().filter(chosen).collect();
        let (least, most) = (
            self.least.unwrap_or(1),
            self.most.or(self.least).unwrap_or(1),
        );
        if least > most {
            return Err(format!("-l {least} is more than -u {most}").into());
        }
        let counts = (least..=most).filter_map(|count| u32::try_from(count).ok());
        self.work.children = counts.collect();
        self.name_files(usize::try_from(most).unwrap_or(usize::MAX))
    }

    fn name_files(&mut self, most: usize) -> Result<(), IozoneError> {
        if !self.files.is_empty() && self.files.len() < most {
            let named = self.files.len();
            return Err(format!("-F names {named} files for {most} children").into());
        }
        if self.files.is_empty() {
            let base = self.file.take().unwrap_or_else(|| PathBuf::from("iozone"));
            self.files = (0..most)
                .map(|child| {
                    let mut name = base.clone().into_os_string();
                    name.push(format!(".DUMMY.{child}"));
                    PathBuf::from(name)
                })
                .collect();
        }
        self.files.truncate(most);
        self.work.files = std::mem::take(&mut self.files);
        Ok(())
    }
}

/// Flags with a size, and iozone's text before and after it, in KiB.
const SIZES: [(&str, &str, &str); 6] = [
    ("s", "File size set to ", " kB"),
    ("r", "Record Size ", " kB"),
    ("n", "Using minimum file size of ", " kilobytes."),
    ("g", "Using maximum file size of ", " kilobytes."),
    ("y", "Using Minimum Record Size ", " kB"),
    ("q", "Using Maximum Record Size ", " kB"),
];

/// Placeholder in the remarks for the machine.
pub(super) const MACHINE: &str = "Machine = ";
/// iozone's remark on the verification of contents.
const INVALID: &str = "Performance measurements are invalid in this mode.";

/// iozone's remarks on its switches.
const REMARKS: [(&str, &str); 28] = [
    ("a", "Auto Mode"),
    (
        "A",
        "Auto Mode 2. This option is obsolete. Use -az -i0 -i1 ",
    ),
    ("z", "Cross over of record size disabled."),
    ("B", "Using mmap files"),
    ("c", "Include close in write timing"),
    ("D", "Using msync(MS_ASYNC) on mmap files"),
    ("e", "Include fsync in write timing"),
    ("G", "Using msync(MS_SYNC) on mmap files"),
    ("I", "O_DIRECT feature enabled"),
    ("m", "Multi_buffer. Work area 16777216 bytes"),
    ("M", MACHINE),
    (
        "N",
        "Microseconds/op Mode. Output is in microseconds per operation.",
    ),
    ("o", "SYNC Mode. "),
    ("O", "OPS Mode. Output is in operations per second."),
    ("p", "Purge Mode On"),
    ("Q", "Offset/latency files enabled."),
    ("R", "Excel chart generation enabled"),
    ("w", "Setting no_unlink"),
    ("W", "Lock file when reading/writing."),
    ("x", "Stonewall disabled"),
    ("+B", ">>> Sequential Mixed workload. <<<"),
    ("+d", ">>> I/O Diagnostic mode enabled. <<<"),
    ("+d", INVALID),
    ("+D", ">>> O_DSYNC mode enabled. <<<"),
    ("+n", "No retest option selected"),
    ("+r", "Read & Write sync mode active."),
    ("+u", "CPU utilization Resolution = 0.000 seconds."),
    ("+u", "CPU utilization Excel chart enabled"),
];

fn test_number(text: &str) -> Result<u8, IozoneError> {
    let known = text.parse::<u8>().ok().filter(|number| *number <= 12);
    known.ok_or_else(|| {
        format!("-i {text}: no test; they have numbers from 0 to 12, see assay iozone -h").into()
    })
}
