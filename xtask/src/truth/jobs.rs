//! Jobs: what is asked of assay, on a file in a known state.

/// Part of the file that is in the page cache when the command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// There is no file; on a device nothing is cached.
    NoFile,
    Nothing,
    FirstHalf,
    All,
}

/// Another process meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    None,
    /// It rewrites the second half of the file, again and again, and flushes nothing.
    DirtiesTheFile,
    /// It writes another file and flushes it, again and again.
    WritesAnotherFile,
    /// It reads the device directly, again and again.
    ReadsTheDevice,
}

/// Topologies on which a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// On all topologies.
    All,
    /// On those that have files.
    Files,
    /// On ext4, XFS, btrfs and a bare device.
    Main,
    /// On ext4 alone.
    Ext4,
    /// On XFS and btrfs.
    OtherFiles,
}

pub struct TruthJob {
    pub name: &'static str,
    pub on: On,
    /// One cell each.
    pub engines: &'static [&'static str],
    pub cached: Cached,
    pub neighbour: Neighbour,
    /// Words of `assay`: `F` stands for the file. `qualify` is followed by the name of its job.
    pub words: &'static str,
}

const fn job(name: &'static str, on: On, cached: Cached, words: &'static str) -> TruthJob {
    TruthJob {
        name,
        on,
        engines: PSYNC,
        cached,
        neighbour: Neighbour::None,
        words,
    }
}

/// A job of `assay qualify`, on a file of its own.
const fn qualify(on: On, words: &'static str) -> TruthJob {
    job(words, on, NoFile, words).by(NONE)
}

impl TruthJob {
    /// Name, and the neighbour if there is one.
    pub fn title(&self) -> String {
        let beside = match self.neighbour {
            Neighbour::None => "",
            DirtiesTheFile => "; another process dirties the file",
            WritesAnotherFile => "; another process writes a file",
            ReadsTheDevice => "; another process reads the device",
        };
        format!("{}{beside}", self.name)
    }

    pub fn is_direct(&self) -> bool {
        let buffered = ["plain", "fdatasync", "buffered", "cached", "fsync"];
        match self.words.strip_prefix("qualify ") {
            Some(name) => !buffered.iter().any(|word| name.ends_with(word)),
            None => ["direct=1", "flag=direct"]
                .iter()
                .any(|word| self.words.contains(word)),
        }
    }

    /// Returns true if assay makes and removes the file itself.
    pub fn has_own_file(&self) -> bool {
        self.words.starts_with("qualify")
    }

    const fn beside(self, neighbour: Neighbour) -> Self {
        Self { neighbour, ..self }
    }

    const fn by(self, engines: &'static [&'static str]) -> Self {
        Self { engines, ..self }
    }
}

const PSYNC: &[&str] = &["psync"];
const OTHERS: &[&str] = &[
    "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring",
];
const QUEUED: &[&str] = &["libaio", "posixaio", "io_uring"];
const MAPPED: &[&str] = &["mmap"];
const NONE: &[&str] = &["-"];

use Cached::{All as Warm, FirstHalf, NoFile, Nothing as Cold};
use Neighbour::{DirtiesTheFile, ReadsTheDevice, WritesAnotherFile};
use On::{All, Ext4, Files, Main, OtherFiles};

/// Size of files that are prepared; jobs use 8 MiB of it or all.
pub const FILE_MIB: usize = 16;

pub const JOBS: &[TruthJob] = &[
    job("write", All, NoFile, "fio --rw=write --bs=64k --size=8m"),
    job(
        "write, end_fsync",
        All,
        NoFile,
        "fio --rw=write --bs=64k --size=8m --end_fsync=1",
    ),
    job(
        "write, fdatasync=32",
        All,
        NoFile,
        "fio --rw=write --bs=64k --size=8m --fdatasync=32",
    ),
    job(
        "write, direct",
        All,
        Cold,
        "fio --rw=write --bs=64k --size=8m --direct=1",
    ),
    job(
        "write, direct dsync",
        All,
        Cold,
        "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync",
    ),
    job("read, cold", All, Cold, "fio --rw=read --bs=64k --size=8m"),
    job(
        "read, cached",
        All,
        Warm,
        "fio --rw=read --bs=64k --size=8m --invalidate=0",
    ),
    job(
        "randread 4k, direct",
        All,
        Cold,
        "fio --rw=randread --bs=4k --size=2m --direct=1",
    ),
    job(
        "randread 4k, cold",
        Files,
        Cold,
        "fio --rw=randread --bs=4k --size=2m",
    ),
    // Flushes.
    job(
        "write, fdatasync=1",
        Main,
        NoFile,
        "fio --rw=write --bs=64k --size=2m --fdatasync=1",
    ),
    job(
        "write, fsync=1",
        Main,
        Cold,
        "fio --rw=write --bs=64k --size=2m --fsync=1",
    ),
    job(
        "write, last blocks after a flush",
        Main,
        NoFile,
        "fio --rw=write --bs=64k --size=8m --fdatasync=31",
    ),
    job(
        "write, sync=dsync",
        Main,
        Cold,
        "fio --rw=write --bs=64k --size=2m --sync=dsync",
    ),
    job(
        "write, sync=sync",
        Ext4,
        NoFile,
        "fio --rw=write --bs=64k --size=2m --sync=sync",
    ),
    job(
        "write, direct fdatasync=1",
        Main,
        Cold,
        "fio --rw=write --bs=64k --size=2m --direct=1 --fdatasync=1",
    ),
    job(
        "write, direct end_fsync",
        Main,
        Cold,
        "fio --rw=write --bs=64k --size=8m --direct=1 --end_fsync=1",
    ),
    job(
        "write, direct, new file",
        Ext4,
        NoFile,
        "fio --rw=write --bs=64k --size=8m --direct=1",
    ),
    job(
        "write 4k, fdatasync=1",
        Ext4,
        Cold,
        "fio --rw=randwrite --bs=4k --size=8m --io_size=256k --fdatasync=1",
    ),
    job(
        "randwrite, fsync=16",
        Ext4,
        Cold,
        "fio --rw=randwrite --bs=16k --size=8m --fsync=16",
    ),
    job(
        "write over a file",
        Main,
        Cold,
        "fio --rw=write --bs=64k --size=8m --overwrite=1",
    ),
    job(
        "write twice over",
        Ext4,
        Cold,
        "fio --rw=write --bs=64k --size=4m --io_size=8m --end_fsync=1",
    ),
    job(
        "write, verify",
        Main,
        NoFile,
        "fio --rw=write --bs=64k --size=16m --verify=crc32c",
    ),
    job(
        "write, direct, verify",
        Ext4,
        Cold,
        "fio --rw=write --bs=64k --size=8m --verify=crc32c --direct=1",
    ),
    job(
        "write 64 MiB",
        Ext4,
        NoFile,
        "fio --rw=write --bs=1m --size=64m",
    ),
    // What is cached.
    job(
        "read, half cached",
        Main,
        FirstHalf,
        "fio --rw=read --bs=64k --size=16m --invalidate=0",
    ),
    job(
        "randread 4k, half cached",
        Main,
        FirstHalf,
        "fio --rw=randread --bs=4k --size=16m --io_size=4m --invalidate=0",
    ),
    job(
        "randread 4k, cached",
        Main,
        Warm,
        "fio --rw=randread --bs=4k --size=8m --invalidate=0",
    ),
    job(
        "read twice",
        Main,
        Cold,
        "fio --rw=read --bs=64k --size=4m --io_size=8m",
    ),
    job(
        "read twice, file of 16 MiB",
        Ext4,
        Cold,
        "fio --rw=read --bs=64k --size=2m --io_size=4m",
    ),
    job(
        "read three times",
        Ext4,
        Cold,
        "fio --rw=read --bs=64k --size=4m --loops=3",
    ),
    job(
        "read 4k, cold",
        Ext4,
        Cold,
        "fio --rw=read --bs=4k --size=8m",
    ),
    job(
        "read, direct",
        Main,
        Cold,
        "fio --rw=read --bs=64k --size=8m --direct=1",
    ),
    job(
        "read, direct, cached",
        Ext4,
        Warm,
        "fio --rw=read --bs=64k --size=8m --direct=1 --invalidate=0",
    ),
    job(
        "read, pre_read",
        Ext4,
        Cold,
        "fio --rw=read --bs=64k --size=8m --pre_read=1 --invalidate=0",
    ),
    job(
        "randread 64k, cold",
        Ext4,
        Cold,
        "fio --rw=randread --bs=64k --size=8m",
    ),
    job(
        "read backwards",
        Ext4,
        Cold,
        "fio --rw=read:-128k --bs=64k --size=8m --io_size=2m",
    ),
    // Both directions.
    job(
        "rw, direct",
        Main,
        Cold,
        "fio --rw=rw --bs=64k --size=4m --direct=1",
    ),
    job(
        "randrw 4k, cold",
        Ext4,
        Cold,
        "fio --rw=randrw --bs=4k --size=4m",
    ),
    job(
        "randrw 4k, direct dsync",
        Ext4,
        Cold,
        "fio --rw=randrw --bs=4k --size=512k --direct=1 --sync=dsync",
    ),
    // Other engines.
    job("write", Ext4, NoFile, "fio --rw=write --bs=64k --size=8m").by(OTHERS),
    job(
        "write, end_fsync",
        Ext4,
        NoFile,
        "fio --rw=write --bs=64k --size=8m --end_fsync=1",
    )
    .by(OTHERS),
    job(
        "write, direct dsync",
        Ext4,
        Cold,
        "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync",
    )
    .by(OTHERS),
    job("read, cold", Ext4, Cold, "fio --rw=read --bs=64k --size=8m").by(OTHERS),
    job(
        "read, cached",
        Ext4,
        Warm,
        "fio --rw=read --bs=64k --size=8m --invalidate=0",
    )
    .by(OTHERS),
    job(
        "randread 4k, direct",
        Ext4,
        Cold,
        "fio --rw=randread --bs=4k --size=2m --direct=1",
    )
    .by(OTHERS),
    job(
        "randread 4k, half cached",
        Ext4,
        FirstHalf,
        "fio --rw=randread --bs=4k --size=16m --io_size=4m --invalidate=0",
    )
    .by(OTHERS),
    job(
        "randread 4k, direct qd16",
        Main,
        Cold,
        "fio --rw=randread --bs=4k --size=4m --direct=1 --iodepth=16",
    )
    .by(QUEUED),
    job(
        "randwrite 4k, direct qd16 fsync",
        Main,
        Cold,
        "fio --rw=randwrite --bs=4k --size=2m --direct=1 --iodepth=16 --end_fsync=1",
    )
    .by(QUEUED),
    job("write", Ext4, Cold, "fio --rw=write --bs=64k --size=8m").by(MAPPED),
    job(
        "write, end_fsync",
        Ext4,
        Cold,
        "fio --rw=write --bs=64k --size=8m --end_fsync=1",
    )
    .by(MAPPED),
    job(
        "write, fdatasync=32",
        Ext4,
        Cold,
        "fio --rw=write --bs=64k --size=8m --fdatasync=32",
    )
    .by(MAPPED),
    job("read, cold", Ext4, Cold, "fio --rw=read --bs=64k --size=8m").by(MAPPED),
    job(
        "read, cached",
        Ext4,
        Warm,
        "fio --rw=read --bs=64k --size=8m --invalidate=0",
    )
    .by(MAPPED),
    // Others.
    job(
        "write, direct dsync",
        Files,
        Cold,
        "fio --rw=write --bs=64k --size=4m --overwrite=1 --direct=1 --sync=dsync",
    )
    .beside(DirtiesTheFile),
    job(
        "write, direct",
        Main,
        Cold,
        "fio --rw=write --bs=64k --size=4m --overwrite=1 --direct=1",
    )
    .beside(DirtiesTheFile),
    job("write", Main, NoFile, "fio --rw=write --bs=64k --size=8m").beside(WritesAnotherFile),
    job(
        "write, direct dsync",
        Ext4,
        Cold,
        "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync",
    )
    .beside(WritesAnotherFile),
    job(
        "read, cached",
        Main,
        Warm,
        "fio --rw=read --bs=64k --size=8m --invalidate=0",
    )
    .beside(ReadsTheDevice),
    job("read, cold", Ext4, Cold, "fio --rw=read --bs=64k --size=8m").beside(ReadsTheDevice),
    job(
        "randread 4k, direct",
        Ext4,
        Cold,
        "fio --rw=randread --bs=4k --size=1m --direct=1",
    )
    .beside(ReadsTheDevice),
    // The four ways of dd.
    job("dd", Main, NoFile, "dd if=/dev/zero of=F bs=1M count=16").by(NONE),
    job(
        "dd conv=fdatasync",
        Main,
        NoFile,
        "dd if=/dev/zero of=F bs=1M count=16 conv=fdatasync",
    )
    .by(NONE),
    job(
        "dd oflag=direct",
        Main,
        NoFile,
        "dd if=/dev/zero of=F bs=1M count=16 oflag=direct",
    )
    .by(NONE),
    job(
        "dd oflag=dsync",
        Main,
        NoFile,
        "dd if=/dev/zero of=F bs=1M count=8 oflag=dsync",
    )
    .by(NONE),
    job(
        "dd from the file",
        Main,
        Cold,
        "dd if=F of=/dev/null bs=1M count=16",
    )
    .by(NONE),
    job(
        "dd from the file, cached",
        Main,
        Warm,
        "dd if=F of=/dev/null bs=1M count=16",
    )
    .by(NONE),
    job(
        "dd from the file, direct",
        Main,
        Cold,
        "dd if=F of=/dev/null bs=1M count=16 iflag=direct",
    )
    .by(NONE),
    // The jobs of qualify, on a file of its own.
    qualify(Ext4, "qualify ladder-plain"),
    qualify(Ext4, "qualify ladder-fdatasync"),
    qualify(Ext4, "qualify ladder-direct"),
    qualify(Ext4, "qualify ladder-dsync"),
    qualify(Ext4, "qualify read-cached"),
    qualify(Ext4, "qualify read-buffered"),
    qualify(Ext4, "qualify seq-read-1m"),
    qualify(Ext4, "qualify seq-write-1m"),
    qualify(Ext4, "qualify rand-read-4k"),
    qualify(Ext4, "qualify rand-write-4k"),
    qualify(Ext4, "qualify rand-read-1m"),
    qualify(Ext4, "qualify rand-read-4k-qd32"),
    qualify(Ext4, "qualify rand-write-4k-qd32"),
    qualify(Ext4, "qualify mixed-4k-70-30"),
    qualify(Ext4, "qualify append-4k-fsync"),
    qualify(OtherFiles, "qualify ladder-plain"),
    qualify(OtherFiles, "qualify ladder-fdatasync"),
    qualify(OtherFiles, "qualify ladder-dsync"),
    qualify(OtherFiles, "qualify read-cached"),
];
