//! Tests of iozone on files.

use crate::act::ActSpec;
use crate::job::{Job, OpenSync, Rw};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

crate::named! {
    /// A measured test: a column of iozone's table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Test {
        /// Writes a new file sequentially.
        Write = "write",
        /// Overwrites the file sequentially.
        Rewrite = "rewrite",
        /// Reads the file sequentially.
        Read = "read",
        /// Reads the file sequentially once more.
        Reread = "reread",
        /// Reads each record once, in random order.
        RandomRead = "random-read",
        /// Writes each record once, in random order.
        RandomWrite = "random-write",
        /// Reads from the last record to the first.
        BackwardRead = "backward-read",
        /// Writes the first record repeatedly.
        RecordRewrite = "record-rewrite",
        /// Reads one record per stride; after the end it continues at the next record.
        StrideRead = "stride-read",
        /// `fwrite(3)` into the existing file, or a new one.
        Fwrite = "fwrite",
        /// `fwrite(3)` over the existing file.
        Frewrite = "frewrite",
        /// `fread(3)`.
        Fread = "fread",
        /// `fread(3)` again.
        Freread = "freread",
        /// Some children read, the others write (throughput mode).
        Mixed = "mixed",
        /// `pwrite(2)` into the existing file, or a new one.
        Pwrite = "pwrite",
        /// `pwrite(2)` over the existing file.
        Repwrite = "repwrite",
        /// `pread(2)`.
        Pread = "pread",
        /// `pread(2)` again.
        Repread = "repread",
        /// `pwritev(2)` into the existing file, or a new one.
        Pwritev = "pwritev",
        /// `pwritev(2)` over the existing file.
        Repwritev = "repwritev",
        /// `preadv(2)`.
        Preadv = "preadv",
        /// `preadv(2)` again.
        Repreadv = "repreadv",
    }
}

impl Test {
    /// Returns the number of the test for iozone's `-i`, its name in reports, and the file of `-Q`:
    /// iozone's own where it has one.
    const fn in_iozone(self) -> (u8, &'static str, &'static str) {
        match self {
            Self::Write => (0, "Writer", "wol.dat"),
            Self::Rewrite => (0, "Re-writer", "rwol.dat"),
            Self::Read => (1, "Reader", "rol.dat"),
            Self::Reread => (1, "Re-Reader", "rrol.dat"),
            Self::RandomRead => (2, "Random read", "randrol.dat"),
            Self::RandomWrite => (2, "Random write", "randwol.dat"),
            Self::BackwardRead => (3, "Backward read", "revol.dat"),
            Self::RecordRewrite => (4, "Record rewrite", "record-rewriteol.dat"),
            Self::StrideRead => (5, "Stride read", "strol.dat"),
            Self::Fwrite => (6, "Fwrite", "fwriteol.dat"),
            Self::Frewrite => (6, "Re-Fwrite", "frewriteol.dat"),
            Self::Fread => (7, "Fread", "freadol.dat"),
            Self::Freread => (7, "Re-Fread", "frereadol.dat"),
            Self::Mixed => (8, "Mixed workload", "mixedol.dat"),
            Self::Pwrite => (9, "Pwrite", "pwol.dat"),
            Self::Repwrite => (9, "Re-Pwrite", "repwriteol.dat"),
            Self::Pread => (10, "Pread", "prol.dat"),
            Self::Repread => (10, "Re-Pread", "repreadol.dat"),
            Self::Pwritev => (11, "Pwritev", "pwritevol.dat"),
            Self::Repwritev => (11, "Re-Pwritev", "repwritevol.dat"),
            Self::Preadv => (12, "Preadv", "preadvol.dat"),
            Self::Repreadv => (12, "Re-Preadv", "repreadvol.dat"),
        }
    }

    /// Returns the number that selects the test in iozone's `-i`, together with others.
    pub const fn number(self) -> u8 {
        self.in_iozone().0
    }

    /// Returns the name of the test in iozone's reports, where `report` is appended.
    pub const fn title(self) -> &'static str {
        self.in_iozone().1
    }

    /// `true` if the test writes.
    pub fn writes(self) -> bool {
        self == Self::Mixed || self.name().contains("write")
    }

    /// `true` if the test only repeats the previous one, so that `-+n` leaves it out.
    pub fn repeats(self) -> bool {
        self.title().starts_with("Re-")
    }

    /// `true` if the test begins with a new, empty file.
    pub const fn creates(self) -> bool {
        matches!(self, Self::Write)
    }
}

/// A row of the table: a file size with a record size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneRow {
    /// Size of each file.
    pub file_kib: u64,
    /// Size of a record.
    pub record_kib: u64,
}

/// Synchronization of mapped files, to which records are copied (`-B`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapSync {
    /// No synchronization.
    #[default]
    None,
    /// `MS_ASYNC` after each record (`-D`).
    Async,
    /// `MS_SYNC` after each record (`-G`).
    Sync,
}

/// Test of mixed reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// Percentage of children that read (`-+p`); `None`: every second one.
    pub read_percent: Option<u8>,
    /// `true` for sequential instead of random records (`-+B`).
    pub sequential: bool,
}

/// A run of iozone's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iozone {
    /// Files to use: one, or one for each child.
    pub files: Vec<PathBuf>,
    /// Numbers of children to run with (throughput mode), in this order; empty: a single stream
    /// (single mode).
    pub children: Vec<u32>,
    /// Tests, in the order in which they are run for each row.
    pub tests: Vec<Test>,
    /// File and record sizes, in order.
    pub rows: Vec<IozoneRow>,
    /// `true` if the time of `fsync(2)` counts (`-e`).
    pub flush: bool,
    /// `true` if the time of `close(2)` counts (`-c`).
    pub close: bool,
    /// `O_DIRECT` (`-I`).
    pub direct: bool,
    /// `O_SYNC` (`-o`), `O_DSYNC` (`-+D`).
    pub sync: OpenSync,
    /// `O_RSYNC` (`-+r`), which Linux treats as `O_SYNC`.
    pub rsync: bool,
    /// Synchronization of mapped files (`-B`); `None`: files are not mapped.
    pub mapped: Option<MapSync>,
    /// Mount point that is remounted before each test (`-U`).
    pub remount: Option<PathBuf>,
    /// `true` to empty the processor's caches before each test (`-p`).
    pub purge: bool,
    /// Size of the processor's caches (`-S`).
    pub cache_kib: u64,
    /// `true` to keep the files (`-w`).
    pub keep: bool,
    /// `true` to lock the whole file while a test runs (`-W`).
    pub lock: bool,
    /// `true` if children stop when the first is complete; else each completes (`-x`).
    pub stonewall: bool,
    /// Folder of files with the offsets and latencies of all records (`-Q`).
    pub latency_files: Option<PathBuf>,
    /// Pattern that data read is compared with (`-V`, `-+d`).
    pub verify: Option<u8>,
    /// `true` for a pattern that differs in each byte of a record (`-+d`).
    pub diagnose: bool,
    /// Milliseconds of computing before each I/O (`-J`).
    pub think_ms: u64,
    /// Records per stride (`-j`).
    pub stride: u64,
    /// `true` to use many buffers in turn (`-m`).
    pub many_buffers: bool,
    /// Mix of reads and writes.
    pub mix: Mix,
}

impl ActSpec for Iozone {
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
    /// Returns the name of a cell's step, such as `write-65536-4`; `children`: the number of files.
    pub fn name_of(&self, test: Test, row: IozoneRow, children: usize) -> String {
        let name = format!("{test}-{}-{}", row.file_kib, row.record_kib);
        match self.children.is_empty() {
            true => name,
            false => format!("{name}-x{children}"),
        }
    }

    /// Returns a job for each step, in their order, with its name and sizes; the trials complete it.
    pub fn steps(&self) -> Vec<Job> {
        let counts = match self.children.as_slice() {
            [] => &[1],
            counts => counts,
        };
        let mut steps = Vec::new();
        for &row in &self.rows {
            for &children in counts {
                steps.extend(self.tests.iter().map(|&test| {
                    let rw = match test.writes() {
                        true => Rw::Write,
                        false => Rw::Read,
                    };
                    let name = self.name_of(test, row, children as usize);
                    let job = Job::new(
                        &name,
                        rw,
                        Bytes::kib(row.record_kib),
                        Bytes::kib(row.file_kib),
                    );
                    Job {
                        numjobs: children,
                        ..job
                    }
                }));
            }
        }
        steps
    }

    /// Returns the file for offsets and latencies of a test; with several children, its name has a
    /// number for each. `None` without `-Q`.
    pub fn latency_path(&self, test: Test, child: usize) -> Option<PathBuf> {
        let (_, _, name) = test.in_iozone();
        let name = if self.children.is_empty() {
            name.to_owned()
        } else {
            format!("Child_{child}_{name}")
        };
        Some(self.latency_files.as_ref()?.join(name))
    }

    /// Returns the paths of all latency files.
    pub fn latency_paths(&self) -> Vec<PathBuf> {
        let most = self.children.iter().max().map_or(1, |&most| most as usize);
        let tests = self.tests.iter();
        let paths = tests.flat_map(|&test| (0..most).map(move |child| (test, child)));
        paths
            .filter_map(|(test, child)| self.latency_path(test, child))
            .collect()
    }
}

/// A cell: a test with one file size and one record size.
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
    /// Time from the moment at which all children could begin to the end of the last one; `None` in
    /// single mode.
    pub parent_ns: Option<u64>,
    /// `true` if data read differs from data written (`-V`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mismatch: bool,
}

impl IozoneStep {
    /// `true` if one child read its file from start to end, each byte once.
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
    /// Bytes until it was complete, or until another child was.
    pub bytes: u64,
    /// Time of these bytes, including `-e` and `-c`.
    pub elapsed_ns: u64,
    /// Processor time of the child, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time between its records for other work, which `elapsed_ns` excludes: `-J`, comparing
    /// (`-V`).
    #[serde(default, skip_serializing_if = "crate::evidence::is_zero")]
    pub idle_ns: u64,
}

impl Child {
    /// Returns the bytes per second; 0 if no time was measured.
    pub fn bytes_per_sec(self) -> f64 {
        if self.elapsed_ns == 0 {
            return 0.0;
        }
        self.bytes as f64 * 1e9 / self.elapsed_ns as f64
    }
}

impl IozoneStep {
    /// Returns the rate of all children together, in bytes per second.
    pub fn bytes_per_sec(&self) -> f64 {
        self.children
            .iter()
            .map(|child| child.bytes_per_sec())
            .sum()
    }
}

crate::named! {
    /// Unit of iozone's rates.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RateUnit {
        /// KiB/s.
        #[default]
        KibPerSec = "KiB/s",
        /// Records per second (`-O`).
        OpsPerSec = "ops/s",
        /// Microseconds per record (`-N`).
        MicrosPerOp = "µs/op",
    }
}

impl RateUnit {
    /// Returns the rate of a step in this unit; 0 if it moved nothing.
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
