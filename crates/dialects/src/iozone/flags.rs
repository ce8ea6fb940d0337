//! iozone's flags and assay's own: one table for the parser, the help and the
//! search for the nearest name.

/// Values that follow a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// Nothing.
    Nothing,
    /// One word; its name in the help.
    One(&'static str),
    /// Every word up to the next flag.
    Many(&'static str),
}

/// One flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    /// Without the dash: `a`, `+n`, `-trials`.
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    /// Description of the flag, or the reason why assay does not support it.
    pub(super) about: &'static str,
    pub(super) supported: bool,
}

const fn flag(name: &'static str, takes: Takes, about: &'static str) -> Flag {
    Flag {
        name,
        takes,
        about,
        supported: true,
    }
}

const fn refused(name: &'static str, takes: Takes, why: &'static str) -> Flag {
    Flag {
        name,
        takes,
        about: why,
        supported: false,
    }
}

use Takes::{Many, Nothing, One};

const ASYNC: &str = "asynchronous I/O is assay fio's: --ioengine=libaio --iodepth=N";
const TELEMETRY: &str = "a trace is replayed by assay fio: --read_iolog=FILE";
const CLUSTER: &str = "one machine at a time: run assay on each";
const DEDUP: &str = "contents are random: they neither compress nor dedupe";
const MIXES: &str = "not supported: test 8 mixes by -+p and -+B";

/// Every flag, in the order of the help.
pub(super) const FLAGS: &[Flag] = &[
    flag(
        "a",
        Nothing,
        "automatic mode: all file and record sizes between limits",
    ),
    flag("A", Nothing, "the same as -az -i 0 -i 1, with four columns"),
    flag("b", One("FILE"), "also write a workbook (.xlsx)"),
    flag("B", Nothing, "files are mapped into memory"),
    flag("c", Nothing, "closing the file counts"),
    flag("C", Nothing, "throughput mode: a line for each child"),
    flag("D", Nothing, "with -B: msync(MS_ASYNC) after each record"),
    flag("e", Nothing, "flushing the file counts (fsync, fflush)"),
    flag("E", Nothing, "also tests 9 and 10, and their columns"),
    flag(
        "f",
        One("FILE"),
        "the file to work on [default: iozone.tmp]; FILE.DUMMY.N for children",
    ),
    flag("F", Many("FILES"), "a file for each child"),
    flag(
        "g",
        One("SIZE"),
        "automatic mode: largest file [default: 512m]",
    ),
    flag("G", Nothing, "with -B: msync(MS_SYNC) after each record"),
    flag("h", Nothing, "this text"),
    flag(
        "i",
        One("N"),
        "a test, repeated for more: 0 write, 1 read, 2 random, 3 backward read, 4 record rewrite, 5 stride read, 6 fwrite, 7 fread, 8 mixed (with -t), 9 pwrite, 10 pread, 11 pwritev, 12 preadv",
    ),
    flag(
        "I",
        Nothing,
        "O_DIRECT: past the page cache (not in tests 6 and 7)",
    ),
    flag(
        "j",
        One("N"),
        "records from one stride read to the next [default: 17]",
    ),
    flag(
        "J",
        One("MS"),
        "compute for so many milliseconds before each I/O",
    ),
    flag("l", One("N"), "throughput mode with at least N children"),
    flag(
        "L",
        One("BYTES"),
        "a line of the processor's cache, for the banner",
    ),
    flag("m", Nothing, "records come from many buffers in turn"),
    flag("M", Nothing, "name the machine in the banner"),
    flag(
        "n",
        One("SIZE"),
        "automatic mode: smallest file [default: 64k]",
    ),
    flag("N", Nothing, "microseconds per operation instead of kB/s"),
    flag("o", Nothing, "O_SYNC: each write is durable"),
    flag("O", Nothing, "operations per second instead of kB/s"),
    flag(
        "p",
        Nothing,
        "empty the processor's caches before each test",
    ),
    flag(
        "q",
        One("SIZE"),
        "automatic mode: largest record [default: 16m]",
    ),
    flag(
        "Q",
        Nothing,
        "offset and latency of each record into wol.dat, rwol.dat, rol.dat ...",
    ),
    flag(
        "r",
        One("SIZE"),
        "record size, repeated for more [default: 4k]",
    ),
    flag(
        "R",
        Nothing,
        "also a block of text for each test, for spreadsheets",
    ),
    flag(
        "s",
        One("SIZE"),
        "file size, repeated for more [default: 512k]",
    ),
    flag(
        "S",
        One("KB"),
        "size of the processor's caches [default: 1024]",
    ),
    flag("t", One("N"), "throughput mode with N children"),
    flag(
        "T",
        Nothing,
        "children are called threads (here they always are)",
    ),
    flag("u", One("N"), "throughput mode with up to N children"),
    flag("U", One("DIR"), "unmount and mount DIR before each test"),
    flag("v", Nothing, "the version"),
    flag("V", One("N"), "what is read is compared with this pattern"),
    flag("w", Nothing, "files stay; else they are removed at the end"),
    flag("W", Nothing, "files are locked while a test runs"),
    flag(
        "x",
        Nothing,
        "throughput mode: each child does all of its work",
    ),
    flag(
        "y",
        One("SIZE"),
        "automatic mode: smallest record [default: 4k]",
    ),
    flag(
        "z",
        Nothing,
        "automatic mode: also records below 64k in files above 16m",
    ),
    flag("+B", Nothing, "test 8 is sequential"),
    flag(
        "+d",
        Nothing,
        "like -V, and each byte of a record is another",
    ),
    flag("+D", Nothing, "O_DSYNC: the data of each write is durable"),
    flag("+n", Nothing, "no second passes (rewrite, reread ...)"),
    flag(
        "+p",
        One("N"),
        "test 8: so many percent of the children read",
    ),
    flag("+r", Nothing, "O_RSYNC and O_SYNC"),
    flag("+u", Nothing, "also processor use"),
    flag(
        "+x",
        One("N"),
        "automatic mode: factor from size to size [default: 2]",
    ),
    flag(
        "-trials",
        One("N"),
        "do all of it N times; each time is stored [default: 1]",
    ),
    flag(
        "-json",
        Nothing,
        "print the run as JSON instead of iozone's text",
    ),
    flag("-store", One("FILE"), "file that keeps the runs"),
    flag("-name", One("NAME"), "name of the run"),
    flag(
        "-tag",
        One("TAG"),
        "tag of the run; may be given several times",
    ),
    flag("-note", One("TEXT"), "note about the run"),
    flag(
        "-destroy-data",
        Nothing,
        "overwrite the block device that -f names",
    ),
    flag("-help", Nothing, "this text"),
    refused(
        "d",
        One("N"),
        "children start together; a delay between them is not supported",
    ),
    refused("H", One("N"), ASYNC),
    refused("k", One("N"), ASYNC),
    refused("K", Nothing, "jitter in reads is not supported"),
    refused(
        "P",
        One("N"),
        "children are not bound to processors: use taskset",
    ),
    refused("X", One("FILE"), TELEMETRY),
    refused("Y", One("FILE"), TELEMETRY),
    refused(
        "Z",
        Nothing,
        "mapped and plain I/O are not mixed: run with -B and without",
    ),
    refused("+a", One("N"), DEDUP),
    refused("+A", One("N"), "madvise is not supported"),
    refused("+b", One("N,N"), "bursts are assay fio's: --thinktime"),
    refused("+C", One("N"), DEDUP),
    refused(
        "+E",
        Nothing,
        "not needed: tests that only read take any file",
    ),
    refused("+F", Nothing, MIXES),
    refused("+H", One("HOST"), CLUSTER),
    refused("+J", Nothing, "time spent computing (-J) never counts"),
    refused("+k", Nothing, "give each child its size with -s"),
    refused("+K", Nothing, MIXES),
    refused(
        "+l",
        Nothing,
        "record locks are not supported: -W locks files",
    ),
    refused(
        "+L",
        Nothing,
        "record locks are not supported: -W locks files",
    ),
    refused("+m", One("FILE"), CLUSTER),
    refused("+M", Nothing, DEDUP),
    refused("+N", Nothing, "use tests that write in place: -i 2, -i 4"),
    refused("+P", One("SERVICE"), CLUSTER),
    refused(
        "+q",
        One("SECONDS"),
        "pauses between tests are not supported",
    ),
    refused("+Q", One("N"), DEDUP),
    refused("+R", Nothing, "name the files with -F"),
    refused("+S", One("N"), DEDUP),
    refused("+t", Nothing, "assay measures storage, not networks"),
    refused("+V", Nothing, "each child has a file of its own"),
    refused("+w", One("N"), DEDUP),
    refused("+W", One("N"), DEDUP),
    refused("+X", Nothing, "results would not be valid"),
    refused("+y", One("N"), DEDUP),
    refused(
        "+z",
        Nothing,
        "every step has a histogram of latencies: see assay show",
    ),
    refused("+Z", Nothing, DEDUP),
];

/// The flag of that name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

/// Suggests a flag for an unknown one: the nearest long name, or the same letter in the other case.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let supported = FLAGS.iter().filter(|flag| flag.supported);
    if name.starts_with('-') {
        let long = supported.filter(|flag| flag.name.len() > 2);
        return crate::nearest(name, long.map(|flag| flag.name));
    }
    let letter = name.trim_start_matches('+');
    supported
        .map(|flag| flag.name)
        .find(|known| known.trim_start_matches('+').eq_ignore_ascii_case(letter))
}
