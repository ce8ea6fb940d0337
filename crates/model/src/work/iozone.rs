//! iozone's tests on files.

use crate::job::OpenSync;
use crate::work::WorkSpec;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A measured test: a column of iozone's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// A new file, record after record.
    Write,
    /// The same over the file that is there.
    Rewrite,
    /// Record after record.
    Read,
    /// The same again.
    Reread,
    /// Each record once, in random order.
    RandomRead,
    /// Each record once, in random order.
    RandomWrite,
    /// From the last record to the first.
    BackwardRead,
    /// The first record again and again.
    RecordRewrite,
    /// Every so many records, and from the next record on after the end.
    StrideRead,
    /// `fwrite(3)` into the file that is there, or a new one.
    Fwrite,
    /// `fwrite(3)` over the file that is there.
    Frewrite,
    /// `fread(3)`.
    Fread,
    /// `fread(3)` again.
    Freread,
    /// Some children read, the others write (throughput mode).
    Mixed,
    /// `pwrite(2)` into the file that is there, or a new one.
    Pwrite,
    /// `pwrite(2)` over the file that is there.
    Repwrite,
    /// `pread(2)`.
    Pread,
    /// `pread(2)` again.
    Repread,
    /// `pwritev(2)` into the file that is there, or a new one.
    Pwritev,
    /// `pwritev(2)` over the file that is there.
    Repwritev,
    /// `preadv(2)`.
    Preadv,
    /// `preadv(2)` again.
    Repreadv,
}

impl Test {
    /// Every test, in the order of iozone's columns.
    pub const ALL: [Self; 22] = [
        Self::Write,
        Self::Rewrite,
        Self::Read,
        Self::Reread,
        Self::RandomRead,
        Self::RandomWrite,
        Self::BackwardRead,
        Self::RecordRewrite,
        Self::StrideRead,
        Self::Fwrite,
        Self::Frewrite,
        Self::Fread,
        Self::Freread,
        Self::Mixed,
        Self::Pwrite,
        Self::Repwrite,
        Self::Pread,
        Self::Repread,
        Self::Pwritev,
        Self::Repwritev,
        Self::Preadv,
        Self::Repreadv,
    ];

    /// The number that iozone's `-i` selects it by, together with others.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Write | Self::Rewrite => 0,
            Self::Read | Self::Reread => 1,
            Self::RandomRead | Self::RandomWrite => 2,
            Self::BackwardRead => 3,
            Self::RecordRewrite => 4,
            Self::StrideRead => 5,
            Self::Fwrite | Self::Frewrite => 6,
            Self::Fread | Self::Freread => 7,
            Self::Mixed => 8,
            Self::Pwrite | Self::Repwrite => 9,
            Self::Pread | Self::Repread => 10,
            Self::Pwritev | Self::Repwritev => 11,
            Self::Preadv | Self::Repreadv => 12,
        }
    }

    /// Name of the test in steps and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Rewrite => "rewrite",
            Self::Read => "read",
            Self::Reread => "reread",
            Self::RandomRead => "random-read",
            Self::RandomWrite => "random-write",
            Self::BackwardRead => "backward-read",
            Self::RecordRewrite => "record-rewrite",
            Self::StrideRead => "stride-read",
            Self::Fwrite => "fwrite",
            Self::Frewrite => "frewrite",
            Self::Fread => "fread",
            Self::Freread => "freread",
            Self::Mixed => "mixed",
            Self::Pwrite => "pwrite",
            Self::Repwrite => "repwrite",
            Self::Pread => "pread",
            Self::Repread => "repread",
            Self::Pwritev => "pwritev",
            Self::Repwritev => "repwritev",
            Self::Preadv => "preadv",
            Self::Repreadv => "repreadv",
        }
    }

    /// Name of the test in iozone's reports, which ends in `report` there.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Write => "Writer",
            Self::Rewrite => "Re-writer",
            Self::Read => "Reader",
            Self::Reread => "Re-Reader",
            Self::RandomRead => "Random read",
            Self::RandomWrite => "Random write",
            Self::BackwardRead => "Backward read",
            Self::RecordRewrite => "Record rewrite",
            Self::StrideRead => "Stride read",
            Self::Fwrite => "Fwrite",
            Self::Frewrite => "Re-Fwrite",
            Self::Fread => "Fread",
            Self::Freread => "Re-Fread",
            Self::Mixed => "Mixed workload",
            Self::Pwrite => "Pwrite",
            Self::Repwrite => "Re-Pwrite",
            Self::Pread => "Pread",
            Self::Repread => "Re-Pread",
            Self::Pwritev => "Pwritev",
            Self::Repwritev => "Re-Pwritev",
            Self::Preadv => "Preadv",
            Self::Repreadv => "Re-Preadv",
        }
    }

    /// The file of its offsets and latencies (`-Q`): iozone's where it has one.
    #[must_use]
    pub fn latency_file(self) -> String {
        match self {
            Self::Write => "wol.dat".to_owned(),
            Self::Rewrite => "rwol.dat".to_owned(),
            Self::Read => "rol.dat".to_owned(),
            Self::Reread => "rrol.dat".to_owned(),
            Self::RandomRead => "randrol.dat".to_owned(),
            Self::RandomWrite => "randwol.dat".to_owned(),
            Self::BackwardRead => "revol.dat".to_owned(),
            Self::StrideRead => "strol.dat".to_owned(),
            Self::Pwrite => "pwol.dat".to_owned(),
            Self::Pread => "prol.dat".to_owned(),
            other => format!("{other}ol.dat"),
        }
    }

    /// `true` if the test writes.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::Rewrite
                | Self::RandomWrite
                | Self::RecordRewrite
                | Self::Fwrite
                | Self::Frewrite
                | Self::Mixed
                | Self::Pwrite
                | Self::Repwrite
                | Self::Pwritev
                | Self::Repwritev
        )
    }

    /// `true` if the test only repeats the one before it, so that `-+n` leaves it out.
    #[must_use]
    pub const fn repeats(self) -> bool {
        matches!(
            self,
            Self::Rewrite
                | Self::Reread
                | Self::Frewrite
                | Self::Freread
                | Self::Repwrite
                | Self::Repread
                | Self::Repwritev
                | Self::Repreadv
        )
    }

    /// `true` if the test begins with an empty file of its own.
    #[must_use]
    pub const fn creates(self) -> bool {
        matches!(self, Self::Write)
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One row: a file size with a record size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneRow {
    /// Size of each file.
    pub file_kib: u64,
    /// Size of a record.
    pub record_kib: u64,
}

/// Files are mapped, and records copied (`-B`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapSync {
    /// Nothing more.
    #[default]
    None,
    /// `MS_ASYNC` after each record (`-D`).
    Async,
    /// `MS_SYNC` after each record (`-G`).
    Sync,
}

/// The test of mixed reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// So many of a hundred children read (`-+p`); `None`: every second one.
    pub read_percent: Option<u8>,
    /// Record after record instead of at random (`-+B`).
    pub sequential: bool,
}

/// A run of iozone's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iozone {
    /// Files that are worked on: one, or one for each child.
    pub files: Vec<PathBuf>,
    /// Numbers of children to run with (throughput mode), in this order; empty:
    /// one stream and no more (single mode).
    pub children: Vec<u32>,
    /// Tests, in the order in which they are run for each row.
    pub tests: Vec<Test>,
    /// File and record sizes, in order.
    pub rows: Vec<IozoneRow>,
    /// `fsync(2)` counts (`-e`).
    pub flush: bool,
    /// `close(2)` counts (`-c`).
    pub close: bool,
    /// `O_DIRECT` (`-I`).
    pub direct: bool,
    /// `O_SYNC` (`-o`), `O_DSYNC` (`-+D`).
    pub sync: OpenSync,
    /// `O_RSYNC` (`-+r`), which Linux takes for `O_SYNC`.
    pub rsync: bool,
    /// Files are mapped (`-B`).
    pub mapped: Option<MapSync>,
    /// Unmounted and mounted again before each test (`-U`).
    pub remount: Option<PathBuf>,
    /// The processor's caches are emptied before each test (`-p`).
    pub purge: bool,
    /// Size of the processor's caches (`-S`).
    pub cache_kib: u64,
    /// Files stay (`-w`).
    pub keep: bool,
    /// The whole file is locked while a test runs (`-W`).
    pub lock: bool,
    /// Children stop when the first is done; else each does all (`-x`).
    pub stonewall: bool,
    /// Offsets and latencies of all records go to files in this folder (`-Q`).
    pub latency_files: Option<PathBuf>,
    /// Pattern that data read is compared with (`-V`, `-+d`).
    pub verify: Option<u8>,
    /// The pattern is another in each byte of a record (`-+d`).
    pub diagnose: bool,
    /// Computing before each I/O (`-J`).
    pub think_ms: u64,
    /// Records from one stride read to the next (`-j`).
    pub stride: u64,
    /// Records come from many buffers in turn (`-m`).
    pub many_buffers: bool,
    /// Mix of reads and writes.
    pub mix: Mix,
}

impl WorkSpec for Iozone {
    fn writes(&self) -> Vec<PathBuf> {
        let mut written = if self.tests.iter().any(|test| test.writes()) {
            self.files.clone()
        } else {
            Vec::new()
        };
        written.extend(self.latency_paths());
        written
    }

    fn touches(&self) -> Vec<PathBuf> {
        [self.files.clone(), self.writes()].concat()
    }

    fn claims(&self) -> Vec<PathBuf> {
        self.touches()
    }

    fn claim_remedy(&self) -> &'static str {
        "name another file with -f, or -F"
    }

    fn named_files(&mut self) -> Vec<&mut PathBuf> {
        self.files.iter_mut().collect()
    }

    fn opens_own_devices(&self) -> bool {
        false
    }
}

impl Iozone {
    /// The file for offsets and latencies of a test; of several children each
    /// has a number in its file's name. `None` without `-Q`.
    #[must_use]
    pub fn latency_path(&self, test: Test, child: usize) -> Option<PathBuf> {
        let name = test.latency_file();
        let name = if self.children.is_empty() {
            name
        } else {
            format!("Child_{child}_{name}")
        };
        Some(self.latency_files.as_ref()?.join(name))
    }

    /// Returns the paths of all latency files.
    #[must_use]
    pub fn latency_paths(&self) -> Vec<PathBuf> {
        let most = self.children.iter().max().map_or(1, |&most| most as usize);
        let tests = self.tests.iter();
        let paths = tests.flat_map(|&test| (0..most).map(move |child| (test, child)));
        paths
            .filter_map(|(test, child)| self.latency_path(test, child))
            .collect()
    }
}

/// One cell: a test on one file size with one record size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneStep {
    /// The test.
    pub test: Test,
    /// Size of each file.
    pub file_kib: u64,
    /// Size of a record.
    pub record_kib: u64,
    /// Results of each child; one in single mode.
    pub children: Vec<Child>,
    /// From the moment at which all children could begin until the last was
    /// gone; `None` in single mode.
    pub parent_ns: Option<u64>,
    /// `true` if data read differs from data written (`-V`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mismatch: bool,
}

impl IozoneStep {
    /// `true` if one child read its file from start to end, each byte once.
    #[must_use]
    pub fn read_all_in_order(&self) -> bool {
        let in_order = matches!(
            self.test,
            Test::Read
                | Test::Reread
                | Test::Fread
                | Test::Freread
                | Test::Pread
                | Test::Repread
                | Test::Preadv
                | Test::Repreadv
        );
        let all = |child: &Child| child.bytes >> 10 == self.file_kib;
        in_order && matches!(self.children.as_slice(), [child] if all(child))
    }
}

/// Results of one child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// Bytes until it was done, or until another was.
    pub bytes: u64,
    /// The time that took, `-e` and `-c` included.
    pub elapsed_ns: u64,
    /// Processor time of the child, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time between its records in which it did something else, and which
    /// `elapsed_ns` leaves out: `-J`, comparing (`-V`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_ns: u64,
}

const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Child {
    /// Bytes per second; 0 where no time was measured.
    #[must_use]
    pub fn bytes_per_sec(self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.bytes as f64 * 1e9 / self.elapsed_ns as f64
    }
}

impl IozoneStep {
    /// Returns the rate of all children together, in bytes per second.
    #[must_use]
    pub fn bytes_per_sec(&self) -> f64 {
        self.children
            .iter()
            .map(|child| child.bytes_per_sec())
            .sum()
    }
}

/// In what iozone gives its rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateUnit {
    /// KiB/s.
    #[default]
    KibPerSec,
    /// Records per second (`-O`).
    OpsPerSec,
    /// Microseconds per record (`-N`).
    MicrosPerOp,
}

impl RateUnit {
    /// As it stands next to values.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::KibPerSec => "KiB/s",
            Self::OpsPerSec => "ops/s",
            Self::MicrosPerOp => "µs/op",
        }
    }

    /// The rate of a step in this unit; 0 when it moved nothing.
    #[must_use]
    pub fn of(self, step: &IozoneStep) -> f64 {
        let bytes = step.bytes_per_sec();
        let ops = bytes / (step.record_kib.max(1) * 1024) as f64;
        match self {
            Self::KibPerSec => bytes / 1024.0,
            Self::OpsPerSec => ops,
            Self::MicrosPerOp if ops > 0.0 => 1e6 / ops,
            Self::MicrosPerOp => 0.0,
        }
    }
}
