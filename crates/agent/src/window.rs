//! The evidence window: what is read of the machine, the storage and the files when a measured
//! clock starts and when it stops. Trials of jobs, waves of streams and steps of acts all use it.

use assay_engine::{held, page_cache};
use assay_model::evidence::{
    CacheSource, Evidence, FileCache, FileChange, FileHoles, Glance, ProcessIo, QueueSettings,
    Snapshot,
};
use assay_model::storage::Storage;
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::{self, add_machine_state, snapshot, with_surroundings};
use rustix::fs::{Mode, OFlags, SeekFrom, ioctl_getflags, seek};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;
/// Age up to which short steps use an earlier reading of all processes, or of the queues, again.
/// Reading all processes takes milliseconds.
const YOUNG: Duration = Duration::from_secs(1);
/// Shortest step after which short steps read the processes again.
const SHORT: Duration = Duration::from_millis(200);
/// Age up to which short steps use earlier machine data again, and longest step after which they
/// do not read it.
const MOMENT: Duration = Duration::from_millis(20);

/// Reads the machine for evidence windows.
pub(crate) struct Machine<'a> {
    roots: &'a Roots,
    /// `true` if recent readings are used again, because steps of milliseconds follow each other.
    reuses: bool,
    processes: Option<(Instant, ProcessIoTable)>,
    surroundings: Option<(Instant, Snapshot)>,
    queues: Option<(Instant, Storage, Vec<QueueSettings>)>,
}

impl<'a> Machine<'a> {
    /// Reads everything for each window.
    pub(crate) fn new(roots: &'a Roots) -> Self {
        Self {
            roots,
            reuses: false,
            processes: None,
            surroundings: None,
            queues: None,
        }
    }

    /// Uses recent readings again, for steps that may take less time than a reading.
    #[cfg(feature = "works")]
    pub(crate) fn for_short_steps(roots: &'a Roots) -> Self {
        Self {
            reuses: true,
            ..Self::new(roots)
        }
    }

    /// Discards the queue settings, after the storage behind a path may have changed.
    #[cfg(feature = "works")]
    pub(crate) fn forget_queues(&mut self) {
        self.queues = None;
    }

    pub(crate) fn roots(&self) -> &'a Roots {
        self.roots
    }

    /// `true` if recent readings are used again; never in the smallest agent.
    const fn reuses(&self) -> bool {
        FOR_ACTS && self.reuses
    }

    fn is_recent(&self, taken: Instant, age: Duration) -> bool {
        self.reuses() && taken.elapsed() <= age
    }

    /// Reads the I/O of all processes, from which [`Self::others`] counts.
    pub(crate) fn read_processes(&mut self) {
        let taken = self.processes.as_ref().map(|(taken, _)| *taken);
        if taken.is_none_or(|taken| !self.is_recent(taken, YOUNG)) {
            self.processes = Some((Instant::now(), self.table()));
        }
    }

    fn table(&self) -> ProcessIoTable {
        ProcessIoTable::take(self.roots, &[std::process::id()])
    }

    /// Returns the other processes that did the most I/O since [`Self::read_processes`]; `None` if
    /// that is not known, or if a step that began at `started` was too short to examine them.
    pub(crate) fn others(&mut self, started: Instant) -> Option<Vec<ProcessIo>> {
        if self.reuses() && started.elapsed() < SHORT {
            return None;
        }
        let (_, before) = self.processes.as_ref()?;
        let after = self.table();
        let others = busiest(before, &after, PROCESSES_KEPT);
        if self.reuses() {
            self.processes = Some((Instant::now(), after));
        }
        others
    }

    fn queues(&mut self, storage: &Storage) -> Vec<QueueSettings> {
        if self.reuses()
            && let Some((taken, of, known)) = &self.queues
            && taken.elapsed() <= YOUNG
            && of == storage
        {
            return known.clone();
        }
        let queues = counters::queues(self.roots, storage);
        if self.reuses() {
            self.queues = Some((Instant::now(), storage.clone(), queues.clone()));
        }
        queues
    }

    /// Reads counters and machine data before a clock starts.
    fn before(&mut self, storage: &Storage) -> Snapshot {
        if !self.reuses() {
            return snapshot(self.roots, storage);
        }
        let surroundings = match &self.surroundings {
            Some((taken, known)) if taken.elapsed() <= MOMENT => known.clone(),
            _ => {
                let mut read = Snapshot::default();
                add_machine_state(self.roots, &mut read);
                self.surroundings = Some((Instant::now(), read.clone()));
                read
            }
        };
        with_surroundings(snapshot::counters(self.roots, storage), surroundings)
    }

    /// Reads counters after a clock has stopped, and machine data unless a step was too short.
    fn after(&self, storage: &Storage, started: Instant) -> Snapshot {
        match self.is_recent(started, MOMENT) {
            true => snapshot::counters(self.roots, storage),
            false => snapshot(self.roots, storage),
        }
    }
}

/// Readings of one storage and the files on it around one measured interval.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) storage: Storage,
    files: Files,
    before: Snapshot,
    started: Instant,
}

impl Window {
    pub(crate) fn new(storage: Storage, files: Files) -> Self {
        Self {
            storage,
            files,
            before: Snapshot::default(),
            started: Instant::now(),
        }
    }

    /// Reads what takes long before the clock starts: queues, cached pages, holes.
    pub(crate) fn read_files(&mut self, machine: &mut Machine<'_>) {
        self.files.note_sizes();
        self.before.queues = machine.queues(&self.storage);
        self.before.holes = self.files.holes();
        self.files.read_cached(&mut self.before);
    }

    /// Reads the counters. Comes last where the clock starts next, and first where it runs.
    pub(crate) fn read_counters(&mut self, machine: &mut Machine<'_>) {
        let files = std::mem::replace(&mut self.before, machine.before(&self.storage));
        self.before.queues = files.queues;
        self.before.holes = files.holes;
        self.before.file_cache = files.file_cache;
        self.before.region_cache = files.region_cache;
        self.started = Instant::now();
    }

    /// Reads counters and cached pages while the clocks of other streams may run.
    #[cfg(feature = "works")]
    pub(crate) fn meanwhile(&self, roots: &Roots) -> Snapshot {
        let mut now = snapshot::counters(roots, &self.storage);
        self.files.read_cached(&mut now);
        now
    }

    /// Reads the counters after the clock has stopped, before anything slow.
    pub(crate) fn counters_after(&self, machine: &Machine<'_>) -> Snapshot {
        machine.after(&self.storage, self.started)
    }

    /// Adds the state of the files to the counters read by [`Self::counters_after`].
    pub(crate) fn files_after(&self, after: &mut Snapshot) {
        self.files.read_cached(after);
        after.synchronous_files = self.files.are_synchronous();
        after.file_change = self.files.change();
    }

    /// Time at which the counters before were read.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Returns the evidence up to `after`.
    pub(crate) fn evidence(
        self,
        machine: &mut Machine<'_>,
        after: Snapshot,
        others: Option<Vec<ProcessIo>>,
        during: Vec<Glance>,
    ) -> Evidence {
        Evidence {
            queues: machine.queues(&self.storage),
            storage: self.storage,
            before: self.before,
            after,
            other_processes: others,
            during,
        }
    }

    /// Returns the evidence up to `after`, while the clock runs on.
    #[cfg(feature = "works")]
    pub(crate) fn evidence_so_far(
        &self,
        machine: &mut Machine<'_>,
        after: Snapshot,
        others: Option<Vec<ProcessIo>>,
        during: Vec<Glance>,
    ) -> Evidence {
        let copy = Self {
            storage: self.storage.clone(),
            files: Files::default(),
            before: self.before.clone(),
            started: self.started,
        };
        copy.evidence(machine, after, others, during)
    }

    #[cfg(test)]
    pub(crate) fn counters_read_at_ns(&self) -> u64 {
        self.before.at_ns
    }
}

/// Files of a window, in order.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: Vec<WatchedFile>,
    reads: FileReads,
}

/// Selection of what a window reads of its files besides their cached pages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileReads {
    /// `true` for the cached pages of the parts that are used.
    pub(crate) parts: bool,
    /// `true` for the holes of these parts before the clock starts.
    pub(crate) holes: bool,
    /// `true` if changes are not looked for: trims of a file punch holes, which look like lost data.
    pub(crate) no_changes: bool,
}

#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    /// Offset and length of the part that is used; length 0 extends to the end.
    part: (u64, u64),
    /// The file held open: one that is renamed or replaced meanwhile is still measured.
    held: Option<(File, Metadata)>,
}

/// `true` if windows of acts can be opened. The smallest agent has only trials of jobs, which hold
/// their one file open, read no parts of it and use no reading again.
const FOR_ACTS: bool = cfg!(feature = "works");

/// Files held open for a window, at most; further files are accessed by their names.
#[cfg(feature = "works")]
const MOST_HELD: usize = 64;

impl Files {
    #[cfg(feature = "works")]
    pub(crate) fn new(reads: FileReads) -> Self {
        let files = Vec::new();
        Self { files, reads }
    }

    /// Adds a file of which `part` is used: offset and length, where length 0 extends to the end.
    #[cfg(feature = "works")]
    pub(crate) fn add(&mut self, path: &Path, part: (u64, u64)) {
        self.files.push(WatchedFile {
            path: path.to_owned(),
            part,
            held: None,
        });
    }

    /// Returns a file that is already open.
    pub(crate) fn opened(path: &Path, file: File) -> Self {
        let held = file.metadata().ok().map(|metadata| (file, metadata));
        let one = WatchedFile {
            path: path.to_owned(),
            part: (0, 0),
            held,
        };
        Self {
            files: vec![one],
            ..Self::default()
        }
    }

    /// Holds regular files open.
    #[cfg(feature = "works")]
    pub(crate) fn hold(&mut self) {
        for file in self
            .files
            .iter_mut()
            .filter(|file| file.path.is_file())
            .take(MOST_HELD)
        {
            file.hold();
        }
    }

    /// Holds block devices open. The kernel drops the pages of a block device when its last
    /// descriptor is closed, but they are examined after the streams have closed it.
    #[cfg(feature = "works")]
    pub(crate) fn hold_devices(&mut self) {
        let is_device = |file: &&mut WatchedFile| {
            let metadata = file.path.metadata();
            metadata.is_ok_and(|metadata| metadata.file_type().is_block_device())
        };
        self.files
            .iter_mut()
            .filter(is_device)
            .for_each(WatchedFile::hold);
    }

    /// Notes the sizes of held files, with which [`Self::change`] compares.
    fn note_sizes(&mut self) {
        for (file, metadata) in self.files.iter_mut().filter_map(|file| file.held.as_mut()) {
            if let Ok(now) = file.metadata() {
                *metadata = now;
            }
        }
    }

    /// Reads the cached pages of the files, and of their parts.
    fn read_cached(&self, snapshot: &mut Snapshot) {
        snapshot.file_cache = self.pages(|file, _| page_cache::cached_pages(file));
        if FOR_ACTS && self.reads.parts {
            snapshot.region_cache =
                self.pages(|file, (at, length)| page_cache::cached_range(file, at, length));
        }
    }

    /// Returns the cached pages of all files together. `None` if a file cannot be opened, or is a
    /// folder, whose files are unknown. A missing file counts as zero pages.
    fn pages(&self, look: impl Fn(&File, (u64, u64)) -> Option<FileCache>) -> Option<FileCache> {
        let mut sum = FileCache {
            source: CacheSource::Cachestat,
            cached_bytes: 0,
            dirty_bytes: Some(0),
            writeback_bytes: Some(0),
        };
        for file in &self.files {
            if !file.may_be_cached()? {
                continue;
            }
            let pages = match file.with(|opened| look(opened, file.part)) {
                Ok(pages) => pages?,
                Err(Errno::NOENT) => continue,
                Err(_) => return None,
            };
            let both = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
            sum.cached_bytes += pages.cached_bytes;
            sum.dirty_bytes = both(sum.dirty_bytes, pages.dirty_bytes);
            sum.writeback_bytes = both(sum.writeback_bytes, pages.writeback_bytes);
            if pages.source == CacheSource::Mincore {
                sum.source = CacheSource::Mincore;
            }
        }
        Some(sum)
    }

    /// Returns the holes in the parts of the files.
    fn holes(&self) -> Option<FileHoles> {
        if !FOR_ACTS || !self.reads.holes {
            return None;
        }
        let mut sum = FileHoles::default();
        for file in &self.files {
            let found = file.with(|opened| holes(opened, file.part)).ok()??;
            sum.region_bytes += found.region_bytes;
            sum.hole_bytes += found.hole_bytes;
        }
        Some(sum)
    }

    /// Returns `true` if all files have the attribute `S`; `None` if a file cannot be opened.
    fn are_synchronous(&self) -> Option<bool> {
        let mut all = !self.files.is_empty();
        for file in &self.files {
            if !file.is_file() {
                return Some(false);
            }
            all &= file.with(is_synchronous).ok()? == Some(true);
        }
        Some(all)
    }

    fn change(&self) -> Option<FileChange> {
        let held = self.files.iter().filter_map(|file| file.held.as_ref());
        let mut changes = held.filter_map(|(file, before)| change(before, &file.metadata().ok()?));
        changes.next().filter(|_| !self.reads.no_changes)
    }
}

impl WatchedFile {
    fn hold(&mut self) {
        let file = held::open(&self.path, LOOKING, Mode::empty()).map(File::from);
        let with_metadata = |file: File| file.metadata().ok().map(|metadata| (file, metadata));
        self.held = file.ok().and_then(with_metadata);
    }

    /// Calls `look` with the file that had this name when it was opened, or with the one that has it
    /// now.
    fn with<T>(&self, look: impl FnOnce(&File) -> T) -> Result<T, Errno> {
        match &self.held {
            Some((file, _)) => Ok(look(file)),
            None if FOR_ACTS => {
                let file = held::open(&self.path, LOOKING, Mode::empty())?;
                Ok(look(&File::from(file)))
            }
            None => Err(Errno::NOENT),
        }
    }

    fn is_file(&self) -> bool {
        match &self.held {
            Some((_, metadata)) => metadata.is_file(),
            None => FOR_ACTS && self.path.is_file(),
        }
    }

    /// Returns true if the file may have pages in the page cache; `None` for a folder. Pipes and
    /// character devices have none, and are never held.
    fn may_be_cached(&self) -> Option<bool> {
        if !FOR_ACTS || self.held.is_some() {
            return Some(true);
        }
        match self.path.metadata() {
            Ok(metadata) if metadata.is_dir() => None,
            Ok(metadata) => Some(metadata.is_file() || metadata.file_type().is_block_device()),
            // If the file is missing, opening it fails with ENOENT.
            Err(_) => Some(true),
        }
    }
}

/// Returns the cached pages of all files together, see [`Files::pages`].
#[cfg(feature = "works")]
pub(crate) fn pages(paths: &[impl AsRef<Path>]) -> Option<FileCache> {
    let mut files = Files::default();
    for path in paths {
        files.add(path.as_ref(), (0, 0));
    }
    files.pages(|file, _| page_cache::cached_pages(file))
}

/// Returns the holes in a part of a file: offset and length, where length 0 extends to the end.
fn holes(file: &File, (offset, length): (u64, u64)) -> Option<FileHoles> {
    let size = file.metadata().ok().filter(Metadata::is_file)?.len();
    let end = match length {
        0 => size,
        length => size.min(offset.saturating_add(length)),
    };
    Some(FileHoles {
        region_bytes: end.saturating_sub(offset),
        hole_bytes: hole_bytes(file, offset..end)?,
    })
}

/// Returns the bytes in holes of a part of a file, and changes the file's position. `None`
/// if the part has more than 1,000 holes, or the file system cannot find holes.
fn hole_bytes(file: &File, part: Range<u64>) -> Option<u64> {
    const PIECES: usize = 1000;
    let (mut at, mut sum) = (part.start, 0);
    for _ in 0..PIECES {
        let hole = match seek(file, SeekFrom::Hole(at)) {
            Ok(hole) if hole < part.end => hole,
            Ok(_) | Err(Errno::NXIO) => return Some(sum),
            Err(_) => return None,
        };
        at = match seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(part.end),
            Err(Errno::NXIO) => part.end,
            Err(_) => return None,
        };
        sum += at - hole;
    }
    None
}

/// Flags for reading. `NONBLOCK` prevents blocking if the file was replaced by a pipe.
const LOOKING: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// Returns `true` if the file system writes an open file's data before each write returns (`chattr
/// +S`); `None` if it does not report that.
fn is_synchronous(file: &File) -> Option<bool> {
    /// `FS_SYNC_FL` (linux/fs.h).
    const SYNCHRONOUS: u32 = 0x8;
    let flags = ioctl_getflags(file).ok()?;
    Some(flags.bits() & SYNCHRONOUS != 0)
}

/// Returns how a file lost data between two reads of its metadata: it became shorter, or got a hole.
fn change(before: &Metadata, after: &Metadata) -> Option<FileChange> {
    let filled = |data: &Metadata, length: u64| data.blocks().saturating_mul(512) >= length;
    if after.len() < before.len() {
        Some(FileChange::Shortened)
    } else if filled(before, before.len()) && !filled(after, before.len()) {
        Some(FileChange::Punched)
    } else {
        None
    }
}

/// Initial interval between glances, in nanoseconds.
const FIRST_STEP_NS: u64 = 1_000_000_000;
/// Sampler that are kept, at most: as many as a chart can show.
const MOST: usize = 300;

/// Sampler of one trial. They contain temperature and dirty pages. The thread that sends the
/// progress reads them, because it wakes up anyway: once a second, and less often in a long trial.
#[derive(Debug)]
pub(crate) struct Sampler {
    taken: Vec<Glance>,
    step_ns: u64,
    /// Time of the next glance since the clock started, in nanoseconds.
    due_ns: u64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            taken: Vec::new(),
            step_ns: FIRST_STEP_NS,
            due_ns: FIRST_STEP_NS,
        }
    }
}

impl Sampler {
    /// Takes a glance if one is due, `elapsed_ns` after the clock started. When there are
    /// too many, every other one is dropped and the interval is doubled.
    pub(crate) fn sample(&mut self, elapsed_ns: u64, glance: impl FnOnce() -> Glance) {
        if elapsed_ns < self.due_ns {
            return;
        }
        self.taken.push(glance());
        if self.taken.len() >= MOST {
            let mut keep = false;
            self.taken.retain(|_| {
                keep = !keep;
                !keep
            });
            self.step_ns *= 2;
        }
        // If the thread woke up late, missed glances are skipped.
        self.due_ns = elapsed_ns - elapsed_ns % self.step_ns + self.step_ns;
    }

    /// Returns the kept glances, in order.
    pub(crate) fn into_taken(self) -> Vec<Glance> {
        self.taken
    }

    /// Returns the glances kept so far, in order.
    #[cfg(any(feature = "works", test))]
    pub(crate) fn taken(&self) -> &[Glance] {
        &self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::fs;

    #[test]
    fn pages_of_files_add_up_and_missing_files_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, missing] = ["one", "two", "missing"].map(|name| folder.path().join(name));
        fs::write(&one, vec![1; 1 << 20]).unwrap();
        fs::write(&two, vec![1; 2 << 20]).unwrap();
        let cached = |files: &[PathBuf]| pages(files).map(|pages| pages.cached_bytes);
        let Some(first) = cached(std::slice::from_ref(&one)) else {
            assay_testkit::skip("this kernel does not tell what is cached");
            return;
        };
        let second = cached(std::slice::from_ref(&two)).unwrap();
        assert!(first > 0 && second > 0);
        assert_eq!(cached(&[one, two, missing]), Some(first + second));
        assert_eq!(cached(&[folder.path().join("none")]), Some(0));
        let pipe = folder.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(cached(&[pipe, PathBuf::from("/dev/null")]), Some(0));
    }

    #[test]
    fn the_cached_pages_of_a_folder_are_unknown() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one"), vec![1; 1 << 20]).unwrap();
        assert_eq!(pages(&[folder.path()]), None);
    }

    /// Simulates progress four times a second; returns the times of the glances, in
    /// seconds.
    fn glance_times(seconds: u64) -> Vec<u64> {
        let mut glances = Sampler::default();
        for quarter in 1..=4 * seconds {
            let elapsed_ns = quarter * 250_000_000;
            glances.sample(elapsed_ns, || Glance {
                at_ns: elapsed_ns,
                ..Glance::default()
            });
        }
        let taken = glances.taken().iter();
        taken.map(|glance| glance.at_ns / 1_000_000_000).collect()
    }

    #[test]
    fn it_looks_once_a_second_and_not_at_all_in_a_short_trial() {
        assert!(glance_times(0).is_empty());
        assert_eq!(glance_times(3), [1, 2, 3]);
    }

    #[test]
    fn a_long_trial_is_looked_at_evenly_and_keeps_few() {
        for seconds in [299, 300, 301, 599, 3_600, 100_000] {
            let times = glance_times(seconds);
            assert!(times.len() < MOST, "{seconds} s: {}", times.len());
            let steps: Vec<u64> = times.windows(2).map(|two| two[1] - two[0]).collect();
            assert!(
                steps.iter().all(|step| *step == steps[0]),
                "{seconds} s: {steps:?}"
            );
            assert!(
                times[0] == steps[0] && times.len() > MOST / 3,
                "{seconds} s"
            );
        }
    }
}
