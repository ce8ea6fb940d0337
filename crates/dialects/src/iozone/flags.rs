//! iozone's flags and assay's own: one table for the parser, the help and suggestions.

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
+z                every step has a histogram of latencies: see assay show
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
        return crate::nearest(name, long.map(|flag| flag.name));
    }
    let letter = name.trim_start_matches('+');
    supported
        .map(|flag| flag.name)
        .find(|known| known.trim_start_matches('+').eq_ignore_ascii_case(letter))
}
