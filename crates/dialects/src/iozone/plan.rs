//! Converts iozone's flags and assay's own to an act and an output. One table of flags serves the
//! parser, the help and suggestions.
//!
//! Arguments are parsed as getopt does: one-letter flags may be combined, and the last of them may
//! have its value attached or in the next argument.

use super::{IozoneCommand, IozoneError, IozoneRequest, Output};
use crate::OwnOptions;
use assay_model::act::iozone::{Iozone, IozoneRow, MapSync, RateUnit, Test};
use assay_model::job::OpenSync;
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

/// Values that follow a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// No value.
    Nothing,
    /// One word, with its name in the help.
    One(&'static str),
    /// Every word up to the next flag.
    Many(&'static str),
}

/// Flag of iozone or assay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    /// Name without the first dash: `a`, `+n`, `-trials`.
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// Description of the flag, or the reason why assay does not support it.
    pub(super) about: &'static str,
    pub(super) supported: bool,
}

/// Table of flags in the order of the help: name, value, description. `...` after a value: every
/// word up to the next flag.
const SUPPORTED: &str = "\
a                 automatic mode: all file and record sizes between limits
A                 the same as -az -i 0 -i 1, with four columns
b FILE            also write a workbook (.xlsx)
B                 files are mapped into memory
c                 closing the file counts
C                 throughput mode: a line for each child
D                 with -B: msync(MS_ASYNC) after each record
e                 flushing the file counts (fsync, fflush)
E                 also tests 9 and 10, and their columns
f FILE            the file to work on [default: iozone.tmp]; FILE.DUMMY.N for children
F FILES...        a file for each child
g SIZE            automatic mode: largest file [default: 512m]
G                 with -B: msync(MS_SYNC) after each record
h                 this text
i N               a test, repeated for more: 0 write, 1 read, 2 random, 3 backward read, 4 record rewrite, 5 stride read, 6 fwrite, 7 fread, 8 mixed (with -t), 9 pwrite, 10 pread, 11 pwritev, 12 preadv
I                 O_DIRECT: past the page cache (not in tests 6 and 7)
j N               records from one stride read to the next [default: 17]
J MS              compute for so many milliseconds before each I/O
l N               throughput mode with at least N children
L BYTES           a line of the processor's cache, for the banner
m                 records come from many buffers in turn
M                 name the machine in the banner
n SIZE            automatic mode: smallest file [default: 64k]
N                 microseconds per operation instead of kB/s
o                 O_SYNC: each write is durable
O                 operations per second instead of kB/s
p                 empty the processor's caches before each test
q SIZE            automatic mode: largest record [default: 16m]
Q                 offset and latency of each record into wol.dat, rwol.dat, rol.dat ...
r SIZE            record size, repeated for more [default: 4k]
R                 also a block of text for each test, for spreadsheets
s SIZE            file size, repeated for more [default: 512k]
S KB              size of the processor's caches [default: 1024]
t N               throughput mode with N children
T                 children are called threads (here they always are)
u N               throughput mode with up to N children
U DIR             unmount and mount DIR before each test
v                 the version
V N               what is read is compared with this pattern
w                 files stay; else they are removed at the end
W                 files are locked while a test runs
x                 throughput mode: each child does all of its work
y SIZE            automatic mode: smallest record [default: 4k]
z                 automatic mode: also records below 64k in files above 16m
+B                test 8 is sequential
+d                like -V, and each byte of a record is another
+D                O_DSYNC: the data of each write is durable
+n                no second passes (rewrite, reread ...)
+p N              test 8: so many percent of the children read
+r                O_RSYNC and O_SYNC
+u                also processor use
+x N              automatic mode: factor from size to size [default: 2]
-trials N         do all of it N times; each time is stored [default: 1]
-json             print the run as JSON instead of iozone's text
-store FILE       file that keeps the runs
-name NAME        name of the run
-tag TAG          tag of the run; may be given several times
-note TEXT        note about the run
-destroy-data     overwrite the block device that -f names
-help             this text";

/// Flags of iozone that assay refuses, with the reason, in the same format.
const REFUSED: &str = "\
d N               children start together; a delay between them is not supported
H N               asynchronous I/O is assay fio's: --ioengine=libaio --iodepth=N
k N               asynchronous I/O is assay fio's: --ioengine=libaio --iodepth=N
K                 jitter in reads is not supported
P N               children are not bound to processors: use taskset
X FILE            a trace is replayed by assay fio: --read_iolog=FILE
Y FILE            a trace is replayed by assay fio: --read_iolog=FILE
Z                 mapped and plain I/O are not mixed: run with -B and without
+a N              contents are random: they neither compress nor dedupe
+A N              madvise is not supported
+b N,N            bursts are assay fio's: --thinktime
+C N              contents are random: they neither compress nor dedupe
+E                not needed: tests that only read take any file
+F                not supported: test 8 mixes by -+p and -+B
+H HOST           one machine at a time: run assay on each
+J                time spent computing (-J) never counts
+k                give each child its size with -s
+K                not supported: test 8 mixes by -+p and -+B
+l                record locks are not supported: -W locks files
+L                record locks are not supported: -W locks files
+m FILE           one machine at a time: run assay on each
+M                contents are random: they neither compress nor dedupe
+N                use tests that write in place: -i 2, -i 4
+P SERVICE        one machine at a time: run assay on each
+q SECONDS        pauses between tests are not supported
+Q N              contents are random: they neither compress nor dedupe
+R                name the files with -F
+S N              contents are random: they neither compress nor dedupe
+t                assay measures storage, not networks
+V                each child has a file of its own
+w N              contents are random: they neither compress nor dedupe
+W N              contents are random: they neither compress nor dedupe
+X                results would not be valid
+y N              contents are random: they neither compress nor dedupe
+z                every step has a histogram of latencies: see assay report
+Z                contents are random: they neither compress nor dedupe";

/// Returns every flag, in the order of the help.
pub(super) fn flags() -> impl Iterator<Item = Flag> {
    let supported = SUPPORTED.lines().map(|line| flag(line, true));
    supported.chain(REFUSED.lines().map(|line| flag(line, false)))
}

/// Parses a line of the table.
fn flag(line: &'static str, supported: bool) -> Flag {
    let (left, about) = line.split_once("  ").unwrap_or((line, ""));
    let (name, value) = left.split_once(' ').unwrap_or((left, ""));
    Flag {
        name,
        takes: match value.strip_suffix("...") {
            Some(value) => Takes::Many(value),
            None if value.is_empty() => Takes::Nothing,
            None => Takes::One(value),
        },
        about: about.trim_start(),
        supported,
    }
}

/// Finds a flag by name.
pub(super) fn find(name: &str) -> Option<Flag> {
    flags().find(|flag| flag.name == name)
}

/// Suggests a flag for an unknown one: the nearest long name, or the same letter in the other case.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let supported = flags().filter(|flag| flag.supported);
    if name.starts_with('-') {
        let long = supported.filter(|flag| flag.name.len() > 2);
        return assay_model::text::nearest(name, long.map(|flag| flag.name));
    }
    let letter = name.trim_start_matches('+');
    supported
        .map(|flag| flag.name)
        .find(|known| known.trim_start_matches('+').eq_ignore_ascii_case(letter))
}

/// Flag with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) flag: Flag,
    pub(super) values: Vec<String>,
}

/// Parses all flags, in their order.
pub(super) fn given(words: &[String]) -> Result<Vec<Given>, IozoneError> {
    let mut rest = words.iter().map(String::as_str).peekable();
    let mut all = Vec::new();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            all.push(long_flag(long, &mut rest)?);
        } else if let Some(letters) = word.strip_prefix('-').filter(|some| !some.is_empty()) {
            cluster(letters, &mut rest, &mut all)?;
        } else {
            return Err(IozoneError(format!(
                "{word:?} belongs to no flag: a file is named with -f, see assay iozone -h"
            )));
        }
    }
    Ok(all)
}

fn long_flag<'a>(
    long: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Given, IozoneError> {
    let (name, glued) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let flag = known(&format!("-{name}"))?;
    with_values(flag, glued.filter(|_| flag.takes != Takes::Nothing), rest)
}

fn cluster<'a>(
    letters: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    all: &mut Vec<Given>,
) -> Result<(), IozoneError> {
    let mut left = letters;
    while let Some(letter) = left.chars().next() {
        let length = match letter {
            '+' => 1 + left.chars().nth(1).map_or(0, char::len_utf8),
            other => other.len_utf8(),
        };
        let (name, after) = left.split_at(length);
        let flag = known(name)?;
        left = after;
        if flag.takes == Takes::Nothing {
            all.push(with_values(flag, None, rest)?);
        } else {
            let glued = (!left.is_empty()).then_some(left);
            all.push(with_values(flag, glued, rest)?);
            return Ok(());
        }
    }
    Ok(())
}

fn known(name: &str) -> Result<Flag, IozoneError> {
    let Some(flag) = find(name) else {
        let hint = match nearest(name) {
            Some(near) => format!("did you mean -{near}?"),
            None => "see assay iozone -h".to_owned(),
        };
        return Err(IozoneError(format!(
            "-{name} is not a flag of iozone; {hint}"
        )));
    };
    if flag.supported {
        Ok(flag)
    } else {
        Err(IozoneError(format!(
            "-{name} is not supported: {}",
            flag.about
        )))
    }
}

fn with_values<'a>(
    flag: Flag,
    glued: Option<&str>,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Given, IozoneError> {
    let mut values: Vec<String> = glued.map(str::to_owned).into_iter().collect();
    match flag.takes {
        Takes::Nothing => {}
        Takes::One(_) if values.is_empty() => values.extend(rest.next().map(str::to_owned)),
        Takes::One(_) => {}
        Takes::Many(_) => {
            while let Some(word) = rest.next_if(|word| !word.starts_with('-')) {
                values.push(word.to_owned());
            }
        }
    }
    match flag.takes {
        Takes::One(value) | Takes::Many(value) if values.is_empty() => Err(IozoneError(format!(
            "-{} needs a value: -{} {value}",
            flag.name, flag.name
        ))),
        _ => Ok(Given { flag, values }),
    }
}

/// Smallest and largest file of automatic mode, in KiB.
const AUTO_FILE: (u64, u64) = (64, 512 << 10);
/// Smallest and largest record of automatic mode, in KiB.
const AUTO_RECORD: (u64, u64) = (4, 16 << 10);
/// File size in KiB above which small records are not tested.
const CROSS_OVER_FILE: u64 = 16 << 10;
/// Record size in KiB below which a record counts as small for these files.
const CROSS_OVER_RECORD: u64 = 64;

/// Sizes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sizes {
    auto: bool,
    /// `-s`, `-r`: lists of sizes, in KiB.
    files: Vec<u64>,
    records: Vec<u64>,
    /// `-n`, `-g`, `-y`, `-q`: limits, in KiB.
    file_min: Option<u64>,
    file_max: Option<u64>,
    record_min: Option<u64>,
    record_max: Option<u64>,
    /// `-z`: test small records in large files, too.
    all_records: bool,
    /// `-+x`: factor between sizes.
    factor: u64,
}

impl Sizes {
    /// Returns the file sizes in order, in KiB.
    fn file_sizes(&self) -> Vec<u64> {
        let (least, most) = AUTO_FILE;
        match (self.files.is_empty(), self.auto) {
            (false, _) => self.files.clone(),
            (true, true) => self.ladder(
                self.file_min.unwrap_or(least),
                self.file_max.unwrap_or(most),
            ),
            (true, false) => vec![512],
        }
    }

    /// Returns the record sizes in order, in KiB; they are also the head of the
    /// blocks.
    fn record_sizes(&self) -> Vec<u64> {
        let (least, most) = AUTO_RECORD;
        match (self.records.is_empty(), self.auto) {
            (false, _) => self.records.clone(),
            (true, true) => self.ladder(
                self.record_min.unwrap_or(least),
                self.record_max.unwrap_or(most),
            ),
            (true, false) => vec![4],
        }
    }

    fn ladder(&self, least: u64, most: u64) -> Vec<u64> {
        std::iter::successors(Some(least), |size| size.checked_mul(self.factor))
            .take_while(|&size| size <= most)
            .collect()
    }

    /// Returns true for small records in large files, which take long and add
    /// little. Automatic mode leaves them out unless sizes or limits of records
    /// or files are given.
    fn crosses_over(&self, row: IozoneRow) -> bool {
        let asked = self.all_records
            || !self.files.is_empty()
            || !self.records.is_empty()
            || self.record_min.is_some()
            || self.record_max.is_some();
        self.auto && !asked && row.file_kib > CROSS_OVER_FILE && row.record_kib < CROSS_OVER_RECORD
    }

    /// Returns all rows, in order.
    fn rows(&self) -> Result<Vec<IozoneRow>, IozoneError> {
        let records = self.record_sizes();
        let mut rows = Vec::new();
        for file_kib in self.file_sizes() {
            let fitting = records.iter().filter(|&&record| record <= file_kib);
            rows.extend(
                fitting
                    .map(|&record_kib| IozoneRow {
                        file_kib,
                        record_kib,
                    })
                    .filter(|row| !self.crosses_over(*row)),
            );
        }
        if !rows.is_empty() {
            return Ok(rows);
        }
        let (files, records) = (kib(&self.file_sizes()), kib(&records));
        Err(match (files.is_empty(), records.is_empty()) {
            (true, _) => "-n is larger than -g: no file size is left".into(),
            (_, true) => "-y is larger than -q: no record size is left".into(),
            _ => {
                format!("no record fits into a file: records of {records}, files of {files}").into()
            }
        })
    }
}

fn kib(sizes: &[u64]) -> String {
    let words: Vec<String> = sizes.iter().map(|size| format!("{size} kB")).collect();
    words.join(", ")
}

/// Parses a size to KiB: a number with `k`, `m`, `g`, or without a suffix in
/// KiB.
fn size(flag: &str, text: &str) -> Result<u64, IozoneError> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 10),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 20),
        _ => (text, 1),
    };
    /// Largest size in KiB, 4 EiB, which is below the largest file offset.
    const MOST: u64 = 1 << 52;
    let number = digits.parse::<u64>().ok().filter(|_| is_number(digits));
    match number.and_then(|number| number.checked_mul(factor)) {
        Some(1..=MOST) => Ok(number.unwrap_or(0) * factor),
        Some(0) => Err(format!("-{flag} {text}: must be more than 0").into()),
        Some(_) => Err(format!("-{flag} {text}: too large").into()),
        None => Err(format!(
            "-{flag} {text}: no size; write a number of kB, or one that ends in k, m or g"
        )
        .into()),
    }
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses a whole number from `least` to `most`.
fn number(flag: &str, text: &str, least: u64, most: u64) -> Result<u64, IozoneError> {
    match text.parse::<u64>().ok().filter(|_| is_number(text)) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("-{flag} {text}: write a whole number from {least} to {most}").into()),
    }
}
