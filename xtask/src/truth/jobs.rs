//! Jobs that assay measures on a file in a known state.

use assay_model::job::{EngineKind, QueueMode};

/// Part of the file that is in the page cache when the command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// No file exists; on a device nothing is cached.
    NoFile,
    Nothing,
    FirstHalf,
    All,
    /// The file is one hole.
    Hole,
    /// The blocks of the file are allocated but were never written.
    Unwritten,
}

/// Activity of another process during the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    None,
    /// It rewrites the second half of the file repeatedly and flushes nothing.
    DirtiesTheFile,
    /// It writes and flushes another file repeatedly.
    WritesAnotherFile,
    /// It reads the device directly, repeatedly.
    ReadsTheDevice,
    /// It changes the file once, while the job runs.
    Unlinks,
    Renames,
    Replaces,
    Truncates,
    Punches,
}

impl Neighbour {
    /// Command that changes the file at the path `$0`.
    pub const fn change(self) -> Option<&'static str> {
        match self {
            Self::Unlinks => Some("rm $0"),
            Self::Renames => Some("mv $0 $0.moved"),
            Self::Replaces => Some("cp $0 $0.new && mv $0.new $0"),
            Self::Truncates => Some("truncate -s 1M $0"),
            Self::Punches => Some("fallocate --punch-hole -o 0 -l 4M $0"),
            _ => None,
        }
    }
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
    /// On topologies where another file shares the blocks.
    Shared,
    /// On topologies with blocks smaller than a page.
    Small,
}

pub struct TruthJob {
    pub name: &'static str,
    pub on: On,
    /// Selects the engines, each of which makes a cell; a job without any makes one.
    engines: SelectsEngine,
    pub cached: Cached,
    pub neighbour: Neighbour,
    /// Arguments of `assay`: `F` is replaced by the file. `qualify` is followed by the name of
    /// its job.
    pub words: &'static str,
}

impl TruthJob {
    /// Returns the names of the engines.
    pub fn engines(&self) -> Vec<&'static str> {
        let own = EngineKind::ALL
            .into_iter()
            .filter(|kind| (self.engines)(*kind));
        let names: Vec<&str> = own.map(EngineKind::name).collect();
        if names.is_empty() { vec!["-"] } else { names }
    }

    /// Returns the name, with the neighbour if there is one.
    pub fn title(&self) -> String {
        let beside = match self.neighbour {
            Neighbour::None => "",
            Neighbour::DirtiesTheFile => "; another process dirties the file",
            Neighbour::WritesAnotherFile => "; another process writes a file",
            Neighbour::ReadsTheDevice => "; another process reads the device",
            Neighbour::Unlinks => "; the file is unlinked midway",
            Neighbour::Renames => "; the file is renamed midway",
            Neighbour::Replaces => "; the file is replaced midway",
            Neighbour::Truncates => "; the file is truncated midway",
            Neighbour::Punches => "; a hole is punched midway",
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
}

type SelectsEngine = fn(EngineKind) -> bool;
const PSYNC: SelectsEngine = |kind| kind == EngineKind::Psync;
const OTHERS: SelectsEngine = |kind| kind.moves_data() && !PSYNC(kind) && !MAPPED(kind);
const QUEUED: SelectsEngine = |kind| {
    matches!(
        kind.properties().queue,
        QueueMode::Kernel | QueueMode::SharedThreads
    )
};
const MAPPED: SelectsEngine = EngineKind::maps_memory;
const NONE: SelectsEngine = |_| false;

/// Size of prepared files; jobs use 8 MiB of it or all.
pub const FILE_MIB: usize = 16;

/// Makes the table of all jobs: name, topologies, cached part, neighbour, engines, words.
macro_rules! jobs {
    ($($name:literal $on:ident $cached:ident $neighbour:ident $engines:ident $words:literal)*) => {
        &[$(TruthJob {
            name: $name,
            on: On::$on,
            engines: $engines,
            cached: Cached::$cached,
            neighbour: Neighbour::$neighbour,
            words: $words,
        }),*]
    };
}

pub const JOBS: &[TruthJob] = jobs! {
    "write"                            All        NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m"
    "write, end_fsync"                 All        NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --end_fsync=1"
    "write, fdatasync=32"              All        NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --fdatasync=32"
    "write, direct"                    All        Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --direct=1"
    "write, direct dsync"              All        Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync"
    "read, cold"                       All        Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=8m"
    "read, cached"                     All        All       None              PSYNC  "fio --rw=read --bs=64k --size=8m --invalidate=0"
    "randread 4k, direct"              All        Nothing   None              PSYNC  "fio --rw=randread --bs=4k --size=2m --direct=1"
    "randread 4k, cold"                Files      Nothing   None              PSYNC  "fio --rw=randread --bs=4k --size=2m"
    // Flushes.
    "write, fdatasync=1"               Main       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=2m --fdatasync=1"
    "write, fsync=1"                   Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --fsync=1"
    "write, last blocks after a flush" Main       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --fdatasync=31"
    "write, sync=dsync"                Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --sync=dsync"
    "write, sync=sync"                 Ext4       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=2m --sync=sync"
    "write, direct fdatasync=1"        Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=2m --direct=1 --fdatasync=1"
    "write, direct end_fsync"          Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --direct=1 --end_fsync=1"
    "write, direct, new file"          Ext4       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=8m --direct=1"
    "write 4k, fdatasync=1"            Ext4       Nothing   None              PSYNC  "fio --rw=randwrite --bs=4k --size=8m --io_size=256k --fdatasync=1"
    "randwrite, fsync=16"              Ext4       Nothing   None              PSYNC  "fio --rw=randwrite --bs=16k --size=8m --fsync=16"
    "write over a file"                Main       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --overwrite=1"
    "write twice over"                 Ext4       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=4m --io_size=8m --end_fsync=1"
    "write, verify"                    Main       NoFile    None              PSYNC  "fio --rw=write --bs=64k --size=16m --verify=crc32c"
    "write, direct, verify"            Ext4       Nothing   None              PSYNC  "fio --rw=write --bs=64k --size=8m --verify=crc32c --direct=1"
    "write 64 MiB"                     Ext4       NoFile    None              PSYNC  "fio --rw=write --bs=1m --size=64m"
    // Partly or fully cached files.
    "read, half cached"                Main       FirstHalf None              PSYNC  "fio --rw=read --bs=64k --size=16m --invalidate=0"
    "randread 4k, half cached"         Main       FirstHalf None              PSYNC  "fio --rw=randread --bs=4k --size=16m --io_size=4m --invalidate=0"
    "randread 4k, cached"              Main       All       None              PSYNC  "fio --rw=randread --bs=4k --size=8m --invalidate=0"
    "read twice"                       Main       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=4m --io_size=8m"
    "read twice, file of 16 MiB"       Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=2m --io_size=4m"
    "read three times"                 Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=4m --loops=3"
    "read 4k, cold"                    Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=4k --size=8m"
    "read, direct"                     Main       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=8m --direct=1"
    "read, direct, cached"             Ext4       All       None              PSYNC  "fio --rw=read --bs=64k --size=8m --direct=1 --invalidate=0"
    "read, pre_read"                   Ext4       Nothing   None              PSYNC  "fio --rw=read --bs=64k --size=8m --pre_read=1 --invalidate=0"
    "randread 64k, cold"               Ext4       Nothing   None              PSYNC  "fio --rw=randread --bs=64k --size=8m"
    "read backwards"                   Ext4       Nothing   None              PSYNC  "fio --rw=read:-128k --bs=64k --size=8m --io_size=2m"
    // Both directions.
    "rw, direct"                       Main       Nothing   None              PSYNC  "fio --rw=rw --bs=64k --size=4m --direct=1"
    "randrw 4k, cold"                  Ext4       Nothing   None              PSYNC  "fio --rw=randrw --bs=4k --size=4m"
    "randrw 4k, direct dsync"          Ext4       Nothing   None              PSYNC  "fio --rw=randrw --bs=4k --size=512k --direct=1 --sync=dsync"
    // Other engines.
    "write"                            Ext4       NoFile    None              OTHERS "fio --rw=write --bs=64k --size=8m"
    "write, end_fsync"                 Ext4       NoFile    None              OTHERS "fio --rw=write --bs=64k --size=8m --end_fsync=1"
    "write, direct dsync"              Ext4       Nothing   None              OTHERS "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync"
    "read, cold"                       Ext4       Nothing   None              OTHERS "fio --rw=read --bs=64k --size=8m"
    "read, cached"                     Ext4       All       None              OTHERS "fio --rw=read --bs=64k --size=8m --invalidate=0"
    "randread 4k, direct"              Ext4       Nothing   None              OTHERS "fio --rw=randread --bs=4k --size=2m --direct=1"
    "randread 4k, half cached"         Ext4       FirstHalf None              OTHERS "fio --rw=randread --bs=4k --size=16m --io_size=4m --invalidate=0"
    "randread 4k, direct qd16"         Main       Nothing   None              QUEUED "fio --rw=randread --bs=4k --size=4m --direct=1 --iodepth=16"
    "randwrite 4k, direct qd16 fsync"  Main       Nothing   None              QUEUED "fio --rw=randwrite --bs=4k --size=2m --direct=1 --iodepth=16 --end_fsync=1"
    "write"                            Ext4       Nothing   None              MAPPED "fio --rw=write --bs=64k --size=8m"
    "write, end_fsync"                 Ext4       Nothing   None              MAPPED "fio --rw=write --bs=64k --size=8m --end_fsync=1"
    "write, fdatasync=32"              Ext4       Nothing   None              MAPPED "fio --rw=write --bs=64k --size=8m --fdatasync=32"
    "read, cold"                       Ext4       Nothing   None              MAPPED "fio --rw=read --bs=64k --size=8m"
    "read, cached"                     Ext4       All       None              MAPPED "fio --rw=read --bs=64k --size=8m --invalidate=0"
    // Others.
    "write, direct dsync"              Files      Nothing   DirtiesTheFile    PSYNC  "fio --rw=write --bs=64k --size=4m --overwrite=1 --direct=1 --sync=dsync"
    "write, direct"                    Main       Nothing   DirtiesTheFile    PSYNC  "fio --rw=write --bs=64k --size=4m --overwrite=1 --direct=1"
    "write"                            Main       NoFile    WritesAnotherFile PSYNC  "fio --rw=write --bs=64k --size=8m"
    "write, direct dsync"              Ext4       Nothing   WritesAnotherFile PSYNC  "fio --rw=write --bs=64k --size=2m --direct=1 --sync=dsync"
    "read, cached"                     Main       All       ReadsTheDevice    PSYNC  "fio --rw=read --bs=64k --size=8m --invalidate=0"
    "read, cold"                       Ext4       Nothing   ReadsTheDevice    PSYNC  "fio --rw=read --bs=64k --size=8m"
    "randread 4k, direct"              Ext4       Nothing   ReadsTheDevice    PSYNC  "fio --rw=randread --bs=4k --size=1m --direct=1"
    // Holes, and files that another process changes midway.
    "read, direct, hole"               Main       Hole      None              PSYNC  "fio --rw=read --bs=64k --size=8m --direct=1"
    "read, hole"                       Main       Hole      None              PSYNC  "fio --rw=read --bs=64k --size=8m"
    "randread 4k, direct, unwritten"   Main       Unwritten None              PSYNC  "fio --rw=randread --bs=4k --size=2m --direct=1"
    "write, end_fsync"                 Ext4       Nothing   Unlinks           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Renames           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Replaces          PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Truncates         PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write, end_fsync"                 Ext4       Nothing   Punches           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --end_fsync=1 --overwrite=1"
    "write"                            Ext4       Nothing   Unlinks           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Renames           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Replaces          PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Truncates         PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "write"                            Ext4       Nothing   Punches           PSYNC  "fio --rw=write --bs=64k --size=8m --rate=8m --overwrite=1"
    "read, direct"                     Ext4       Nothing   Punches           PSYNC  "fio --rw=read --bs=64k --size=8m --rate=8m --direct=1"
    "write 512, direct end_fsync"      Shared     Nothing   None              PSYNC  "fio --rw=write --bs=512 --size=128k --direct=1 --end_fsync=1"
    "write 512, direct fdatasync=1"    Shared     Nothing   None              PSYNC  "fio --rw=randwrite --bs=512 --size=4m --io_size=64k --direct=1 --fdatasync=1"
    "read 1k, cold"                    Small      Nothing   None              PSYNC  "fio --rw=read --bs=1k --size=4m"
    "randwrite 1k, fsync=16"           Small      Nothing   None              PSYNC  "fio --rw=randwrite --bs=1k --size=4m --io_size=512k --fsync=16"
    "randwrite 1k"                     Small      Nothing   None              PSYNC  "fio --rw=randwrite --bs=1k --size=4m --io_size=512k --end_fsync=1"
    "randread 1k, direct"              Small      Nothing   None              PSYNC  "fio --rw=randread --bs=1k --size=4m --io_size=512k --direct=1"
    // The four ways of dd.
    "dd"                               Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=16"
    "dd conv=fdatasync"                Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=16 conv=fdatasync"
    "dd oflag=direct"                  Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=16 oflag=direct"
    "dd oflag=dsync"                   Main       NoFile    None              NONE   "dd if=/dev/zero of=F bs=1M count=8 oflag=dsync"
    "dd from the file"                 Main       Nothing   None              NONE   "dd if=F of=/dev/null bs=1M count=16"
    "dd from the file, cached"         Main       All       None              NONE   "dd if=F of=/dev/null bs=1M count=16"
    "dd from the file, direct"         Main       Nothing   None              NONE   "dd if=F of=/dev/null bs=1M count=16 iflag=direct"
    "dd oflag=direct, short last block" Main      NoFile    None              NONE   "dd if=/dev/zero of=F bs=64k count=4000000 iflag=count_bytes oflag=direct"
    "dd from the second half"          Main       FirstHalf None              NONE   "dd if=F of=/dev/null bs=1M skip=8 count=8"
    // The jobs of qualify, on the file that it makes.
    "qualify ladder-plain"             Ext4       NoFile    None              NONE   "qualify ladder-plain"
    "qualify ladder-fdatasync"         Ext4       NoFile    None              NONE   "qualify ladder-fdatasync"
    "qualify ladder-direct"            Ext4       NoFile    None              NONE   "qualify ladder-direct"
    "qualify ladder-dsync"             Ext4       NoFile    None              NONE   "qualify ladder-dsync"
    "qualify read-cached"              Ext4       NoFile    None              NONE   "qualify read-cached"
    "qualify read-buffered"            Ext4       NoFile    None              NONE   "qualify read-buffered"
    "qualify seq-read-1m"              Ext4       NoFile    None              NONE   "qualify seq-read-1m"
    "qualify seq-write-1m"             Ext4       NoFile    None              NONE   "qualify seq-write-1m"
    "qualify rand-read-4k"             Ext4       NoFile    None              NONE   "qualify rand-read-4k"
    "qualify rand-write-4k"            Ext4       NoFile    None              NONE   "qualify rand-write-4k"
    "qualify rand-read-1m"             Ext4       NoFile    None              NONE   "qualify rand-read-1m"
    "qualify rand-read-4k-qd32"        Ext4       NoFile    None              NONE   "qualify rand-read-4k-qd32"
    "qualify rand-write-4k-qd32"       Ext4       NoFile    None              NONE   "qualify rand-write-4k-qd32"
    "qualify mixed-4k-70-30"           Ext4       NoFile    None              NONE   "qualify mixed-4k-70-30"
    "qualify append-4k-fsync"          Ext4       NoFile    None              NONE   "qualify append-4k-fsync"
    "qualify ladder-plain"             OtherFiles NoFile    None              NONE   "qualify ladder-plain"
    "qualify ladder-fdatasync"         OtherFiles NoFile    None              NONE   "qualify ladder-fdatasync"
    "qualify ladder-dsync"             OtherFiles NoFile    None              NONE   "qualify ladder-dsync"
    "qualify read-cached"              OtherFiles NoFile    None              NONE   "qualify read-cached"
};
