//! Evidence for the waves of a load, and the messages to the host meanwhile.

use super::disks::Disks;
use super::send_report;
use super::stops::Stops;
use crate::cached::{HeldFiles, are_synchronous, holes, pages, pages_of_parts};
use crate::frame::FrameError;
use crate::inspect::storage_of;
use crate::outbox::Outbox;
use crate::trial::Glances;
use assay_engine::held;
use assay_engine::load::{LoadObserver, Note, Turn};
use assay_model::evidence::{Evidence, Snapshot};
use assay_model::load::report::{FilePart, LoadProgress, LoadReport, WaveEvidence};
use assay_model::load::{Load, Stream};
use assay_model::storage::Storage;
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use assay_probe::counters;
use assay_probe::processes::{ProcessIoTable, busiest};
use assay_probe::roots::Roots;
use assay_probe::snapshot::{counters as counted, glance, snapshot};
use assay_probe::stack::device_gone;
use rustix::fs::{Mode, OFlags};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Processes named in the evidence.
const PROCESSES_KEPT: usize = 8;

/// Takes snapshots of the system when a wave starts and ends, and forwards messages of the engine.
pub(super) struct LoadWatch<'a> {
    roots: &'a Roots,
    outbox: &'a Outbox,
    load: &'a Load,
    disks: Disks,
    under_way: Option<Wave>,
    /// Evidence of the waves that have ended.
    evidence: Vec<WaveEvidence>,
    /// Description of a device that disappeared.
    lost: Option<String>,
    /// Error of the first message that could not be sent.
    unsent: Option<FrameError>,
}

/// A wave in progress.
struct Wave {
    number: u32,
    places: Vec<WatchedStorage>,
    processes: ProcessIoTable,
    began: Instant,
    glances: Glances,
    /// Block devices of the wave. The kernel drops the pages of a block device when its last
    /// descriptor is closed, but they are examined after the streams have closed it.
    _held: Vec<File>,
}

/// One storage that a wave works on.
struct WatchedStorage {
    storage: Storage,
    /// Files of the wave on this storage, each with the begin and end of its part.
    files: BTreeMap<PathBuf, (u64, u64)>,
    held: HeldFiles,
    streams: Vec<u32>,
    before: Snapshot,
    stops: Stops,
}

impl<'a> LoadWatch<'a> {
    pub(super) fn new(roots: &'a Roots, outbox: &'a Outbox, load: &'a Load) -> Self {
        Self {
            roots,
            outbox,
            load,
            disks: Disks::default(),
            under_way: None,
            evidence: Vec::new(),
            lost: None,
            unsent: None,
        }
    }

    /// The device that went away.
    pub(super) fn lost(&self) -> Option<String> {
        self.lost.clone()
    }

    /// Sends the last report, with all evidence.
    pub(super) fn close(mut self, mut report: LoadReport) -> Result<(), FrameError> {
        if let Some(error) = self.unsent {
            return Err(error);
        }
        report.evidence = std::mem::take(&mut self.evidence);
        report.lost = self.lost.take();
        report.disks = self.disks.uses(self.roots);
        send_report(self.outbox, report)
    }

    fn send(&mut self, message: &FromAgent) {
        let sent = self.outbox.send(message);
        self.keep(sent);
    }

    fn keep(&mut self, sent: Result<(), FrameError>) {
        if let Err(error) = sent {
            self.unsent.get_or_insert(error);
        }
    }

    /// Returns the storages of a wave with the streams and files on each.
    fn places(&self, files: &[(u32, Vec<(PathBuf, FilePart)>)]) -> Vec<WatchedStorage> {
        let mut places: Vec<WatchedStorage> = Vec::new();
        for (stream, paths) in files {
            // Regular files in one folder are on the same storage.
            let mut last: Option<(&Path, usize)> = None;
            for (path, part) in paths {
                let folder = path.parent().filter(|_| !is_node(path));
                let at = match (last, folder) {
                    (Some((known, at)), Some(folder)) if known == folder => at,
                    _ => place_of(&mut places, storage_of(self.roots, path)),
                };
                last = folder.map(|folder| (folder, at));
                places[at].add(*stream, path, *part);
            }
        }
        places
    }

    /// Returns true if a stream on this storage asks for its disks to be shown.
    fn shows_disks(&self, place: &WatchedStorage) -> bool {
        place
            .streams(self.load)
            .any(|stream| stream.stats.disk_util)
    }

    /// Returns the evidence of a wave up to now. The counters are read first, before slow
    /// operations.
    fn evidence_of(&self, wave: &Wave) -> Vec<WaveEvidence> {
        let places = wave.places.iter();
        let mut after: Vec<Snapshot> = places
            .map(|place| snapshot(self.roots, &place.storage))
            .collect();
        for (place, after) in wave.places.iter().zip(&mut after) {
            place.look_at_files(after);
            after.synchronous_files = are_synchronous(&place.paths());
            // Trims of a file punch holes, which would look like lost data.
            let trims = place.streams(self.load).any(|stream| stream.blocks.rw.trim);
            after.file_change = place.held.change().filter(|_| !trims);
        }
        let processes = processes(self.roots);
        let others = busiest(&wave.processes, &processes, PROCESSES_KEPT);
        wave.places
            .iter()
            .zip(after)
            .map(|(place, after)| WaveEvidence {
                wave: wave.number,
                streams: place.streams.clone(),
                evidence: Evidence {
                    storage: place.storage.clone(),
                    queues: counters::queues(self.roots, &place.storage),
                    before: place.before.clone(),
                    after,
                    during: wave.glances.taken().to_vec(),
                    other_processes: others.clone(),
                },
                stops: place.stops.to_vec(),
            })
            .collect()
    }
}

impl LoadObserver for LoadWatch<'_> {
    fn note(&mut self, note: &Note) {
        let (weight, text) = match note {
            Note::Info(text) => (NoteWeight::Info, text),
            Note::Warning(text) => (NoteWeight::Warning, text),
            Note::Error(text) => (NoteWeight::Error, text),
        };
        let text = text.clone();
        self.send(&FromAgent::LoadNote(LoadNote { weight, text }));
    }

    /// Reads the counters last, because the clocks start right afterwards.
    fn wave_starts(&mut self, wave: u32, files: &[(u32, Vec<(PathBuf, FilePart)>)]) {
        let mut places = self.places(files);
        let nodes = files.iter().flat_map(|(_, paths)| paths);
        let held = nodes.filter_map(|(path, _)| block_device(path)).collect();
        for place in &places {
            if self.shows_disks(place) {
                self.disks.add(self.roots, &place.storage);
            }
        }
        let processes = processes(self.roots);
        let cached = places.iter_mut().map(|place| {
            // Holding a file would keep its blocks allocated after its removal.
            let removes = |stream: &Stream| {
                let files = &stream.files;
                files.unlink || files.unlink_each_loop || !stream.engine.kind.moves_data()
            };
            if !place.streams(self.load).any(removes) {
                place.held = HeldFiles::hold(place.files.keys().map(PathBuf::as_path));
            }
            let mut cached = Snapshot {
                holes: holes(
                    place
                        .parts()
                        .iter()
                        .map(|(path, at, length)| (&**path, *at, *length)),
                ),
                queues: counters::queues(self.roots, &place.storage),
                ..Snapshot::default()
            };
            place.look_at_files(&mut cached);
            cached
        });
        let cached: Vec<Snapshot> = cached.collect();
        for (place, cached) in places.iter_mut().zip(cached) {
            place.before = Snapshot {
                file_cache: cached.file_cache,
                region_cache: cached.region_cache,
                queues: cached.queues,
                holes: cached.holes,
                ..snapshot(self.roots, &place.storage)
            };
        }
        self.under_way = Some(Wave {
            number: wave,
            places,
            processes,
            began: Instant::now(),
            glances: Glances::default(),
            _held: held,
        });
    }

    fn clocks_turn(&mut self, _wave: u32, turn: Turn, streams: &[u32]) {
        let roots = self.roots;
        for place in self.under_way.iter_mut().flat_map(|wave| &mut wave.places) {
            place.turn(roots, turn, streams);
        }
    }

    fn wave_ended(&mut self, _wave: u32) {
        if let Some(wave) = self.under_way.take() {
            let evidence = self.evidence_of(&wave);
            self.evidence.extend(evidence);
            let mut places = wave.places.iter().map(|place| &place.storage);
            if let Some(gone) = places.find(|storage| device_gone(self.roots, storage)) {
                let lost = || format!("{} went away", gone.words());
                self.lost.get_or_insert_with(lost);
            }
        }
    }

    fn progress(&mut self, progress: &LoadProgress) {
        if let Some(wave) = &mut self.under_way {
            let elapsed_ns = u64::try_from(wave.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let roots = self.roots;
            wave.glances.look(elapsed_ns, || glance(roots));
        }
        self.outbox.tell(&FromAgent::LoadProgress(progress.clone()));
    }

    fn interim(&mut self, mut report: LoadReport) {
        report.interim = true;
        report.evidence.clone_from(&self.evidence);
        if let Some(wave) = &self.under_way {
            report.evidence.extend(self.evidence_of(wave));
        }
        report.disks = self.disks.uses(self.roots);
        let sent = send_report(self.outbox, report);
        self.keep(sent);
    }
}

impl WatchedStorage {
    fn add(&mut self, stream: u32, path: &Path, part: FilePart) {
        if self.streams.last() != Some(&stream) {
            self.streams.push(stream);
        }
        let end = part.offset.saturating_add(part.length);
        let known = self.files.entry(path.to_owned());
        let known = known.or_insert((part.offset, end));
        *known = (known.0.min(part.offset), known.1.max(end));
    }

    /// Returns the paths of the files as they were when the wave started.
    fn paths(&self) -> Vec<Cow<'_, Path>> {
        self.files.keys().map(|path| self.held.path(path)).collect()
    }

    /// Returns the parts of the files that the streams use: offset and length.
    fn parts(&self) -> Vec<(Cow<'_, Path>, u64, u64)> {
        let parts = self.files.iter();
        let parts = parts.map(|(path, (begin, end))| (self.held.path(path), *begin, end - begin));
        parts.collect()
    }

    fn streams<'l>(&'l self, load: &'l Load) -> impl Iterator<Item = &'l Stream> {
        let streams = self.streams.iter();
        streams.filter_map(|&index| load.streams.get(index as usize))
    }

    /// Records the cached pages of the files, and of the parts that the streams use.
    fn look_at_files(&self, snapshot: &mut Snapshot) {
        snapshot.file_cache = pages(&self.paths());
        let parts = self.parts();
        let parts = parts
            .iter()
            .map(|(path, at, length)| (&**path, *at, *length));
        snapshot.region_cache = pages_of_parts(parts);
    }

    /// Records that clocks of streams stop or continue, unless none of the streams uses this
    /// storage.
    fn turn(&mut self, roots: &Roots, turn: Turn, streams: &[u32]) {
        let here = self.streams.iter().filter(|s| streams.contains(s));
        let here: Vec<u32> = here.copied().collect();
        if here.is_empty() {
            return;
        }
        let mut now = counted(roots, &self.storage);
        self.look_at_files(&mut now);
        match turn {
            Turn::Stops => self.stops.stopped(here, now),
            Turn::GoesOn => self.stops.go_on(&here, &now),
        }
    }
}

/// Returns the index of the entry with this storage, which is added if necessary. Two paths are on
/// the same storage if their mounts and their devices are the same.
fn place_of(places: &mut Vec<WatchedStorage>, storage: Storage) -> usize {
    let same = |known: &Storage| {
        known.mount == storage.mount
            && known.backing == storage.backing
            && known.layers == storage.layers
    };
    if let Some(at) = places.iter().position(|place| same(&place.storage)) {
        return at;
    }
    places.push(WatchedStorage {
        storage,
        files: BTreeMap::new(),
        held: HeldFiles::default(),
        streams: Vec::new(),
        before: Snapshot::default(),
        stops: Stops::default(),
    });
    places.len() - 1
}

/// Opens the block device at a path; `None` for anything else.
fn block_device(path: &Path) -> Option<File> {
    if !path.metadata().ok()?.file_type().is_block_device() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    held::open(path, flags, Mode::empty()).ok().map(File::from)
}

/// Returns `true` if a path may be on another storage than its folder: anything except a regular
/// file.
fn is_node(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
}

fn processes(roots: &Roots) -> ProcessIoTable {
    ProcessIoTable::take(roots, &[std::process::id()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::storage::Backing;
    use assay_probe::stack;

    #[test]
    fn storages_are_told_apart_and_found_again() {
        let roots = Roots::default();
        let storage = |path: &str| stack::resolve(&roots, Path::new(path)).unwrap();
        let mut places = Vec::new();
        let first = place_of(&mut places, storage("/"));
        let mut other = storage("/");
        other.backing = Backing::Unknown {
            why: "another".to_owned(),
        };
        assert_ne!(place_of(&mut places, other), first);
        assert_eq!(place_of(&mut places, storage("/")), first);
        assert_eq!(places.len(), 2);
    }
}
