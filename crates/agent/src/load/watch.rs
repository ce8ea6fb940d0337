//! Evidence for the waves of a load, with the counters when the clocks of streams stop before their
//! work is done, and between their passes; activity of its disks over the whole load; and the
//! messages to the host meanwhile.

use super::send_report;
use crate::frame::FrameError;
use crate::inspect::storage_of;
use crate::messages::Outbox;
use crate::window::{FileReads, Files, Machine, Sampler, Window};
use assay_engine::load::{LoadObserver, Note, Turn};
use assay_model::act::watch::DiskCounters;
use assay_model::evidence::Snapshot;
use assay_model::load::report::{
    BetweenPasses, ClockStop, DiskUse, FilePart, LoadProgress, LoadReport, WaveEvidence,
};
use assay_model::load::{Load, Stream};
use assay_model::storage::{Layer, LayerRole, Storage};
use assay_model::wire::{FromAgent, LoadNote, NoteWeight};
use assay_probe::counters::disk_stat;
use assay_probe::roots::Roots;
use assay_probe::snapshot::glance;
use assay_probe::stack::device_gone;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Opens and closes an evidence window for each storage of a wave, and forwards messages of the
/// engine.
pub(super) struct LoadWatch<'a> {
    roots: &'a Roots,
    outbox: &'a Outbox,
    load: &'a Load,
    disks: Disks,
    under_way: Option<Wave<'a>>,
    /// Evidence of the waves that have ended.
    evidence: Vec<WaveEvidence>,
    /// Description of a device that disappeared.
    lost: Option<String>,
    /// Error of the first message that could not be sent.
    unsent: Option<FrameError>,
}

/// A wave in progress.
struct Wave<'a> {
    number: u32,
    machine: Machine<'a>,
    places: Vec<WatchedStorage>,
    began: Instant,
    sampler: Sampler,
}

/// One storage that a wave works on.
struct WatchedStorage {
    window: Window,
    streams: Vec<u32>,
    stops: Stops,
}

/// Files of a wave on one storage.
struct StorageFiles {
    storage: Storage,
    /// Files, each with the begin and end of its part.
    files: BTreeMap<PathBuf, (u64, u64)>,
    streams: Vec<u32>,
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
    fn places(&self, files: &[(u32, Vec<(PathBuf, FilePart)>)]) -> Vec<StorageFiles> {
        let mut places: Vec<StorageFiles> = Vec::new();
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

    /// Returns true if one of the streams has a property.
    fn any_stream(&self, streams: &[u32], has: impl Fn(&Stream) -> bool) -> bool {
        let streams = streams.iter();
        let mut streams = streams.filter_map(|&index| self.load.streams.get(index as usize));
        streams.any(has)
    }

    /// Returns what the window of a storage reads of its files.
    fn files_of(&self, place: &StorageFiles) -> Files {
        let mut files = Files::new(FileReads {
            parts: true,
            holes: true,
            no_changes: self.any_stream(&place.streams, |stream| stream.blocks.rw.trim),
        });
        for (path, (begin, end)) in &place.files {
            files.add(path, (*begin, end - begin));
        }
        // Holding a file would keep its blocks allocated after its removal.
        let removes = |stream: &Stream| {
            let files = &stream.files;
            files.unlink || files.unlink_each_loop || !stream.engine.kind.moves_data()
        };
        if !self.any_stream(&place.streams, removes) {
            files.hold();
        }
        files.hold_devices();
        files
    }
}

impl Wave<'_> {
    /// Returns the evidence of the wave up to now. The counters are read first, before slow
    /// operations.
    fn evidence(&mut self) -> Vec<WaveEvidence> {
        let machine = &mut self.machine;
        let places = self.places.iter();
        let after = places.map(|place| place.window.counters_after(machine));
        let mut after: Vec<Snapshot> = after.collect();
        for (place, after) in self.places.iter().zip(&mut after) {
            place.window.files_after(after);
        }
        let others = machine.others(self.began);
        let places = self.places.iter().zip(after);
        let evidence = places.map(|(place, after)| WaveEvidence {
            wave: self.number,
            streams: place.streams.clone(),
            evidence: place.window.evidence_so_far(
                machine,
                after,
                others.clone(),
                self.sampler.taken().to_vec(),
            ),
            stops: place.stops.to_vec(),
        });
        evidence.collect()
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
        let mut machine = Machine::new(self.roots);
        machine.read_processes();
        let mut places = Vec::new();
        for place in self.places(files) {
            if self.any_stream(&place.streams, |stream| stream.stats.disk_util) {
                self.disks.add(self.roots, &place.storage);
            }
            let files = self.files_of(&place);
            places.push(WatchedStorage {
                window: Window::new(place.storage, files),
                streams: place.streams,
                stops: Stops::default(),
            });
        }
        for place in &mut places {
            place.window.read_files(&mut machine);
        }
        for place in &mut places {
            place.window.read_counters(&mut machine);
        }
        self.under_way = Some(Wave {
            number: wave,
            machine,
            places,
            began: Instant::now(),
            sampler: Sampler::default(),
        });
    }

    fn clocks_turn(&mut self, _wave: u32, turn: Turn, streams: &[u32]) {
        let roots = self.roots;
        for place in self.under_way.iter_mut().flat_map(|wave| &mut wave.places) {
            place.turn(roots, turn, streams);
        }
    }

    fn wave_ended(&mut self, _wave: u32) {
        if let Some(mut wave) = self.under_way.take() {
            self.evidence.extend(wave.evidence());
            let mut places = wave.places.iter().map(|place| &place.window.storage);
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
            wave.sampler.sample(elapsed_ns, || glance(roots));
        }
        self.outbox.post(&FromAgent::LoadProgress(progress.clone()));
    }

    fn interim(&mut self, mut report: LoadReport) {
        report.interim = true;
        report.evidence.clone_from(&self.evidence);
        if let Some(wave) = &mut self.under_way {
            report.evidence.extend(wave.evidence());
        }
        report.disks = self.disks.uses(self.roots);
        let sent = send_report(self.outbox, report);
        self.keep(sent);
    }
}

impl StorageFiles {
    fn add(&mut self, stream: u32, path: &Path, part: FilePart) {
        if self.streams.last() != Some(&stream) {
            self.streams.push(stream);
        }
        let end = part.offset.saturating_add(part.length);
        let known = self.files.entry(path.to_owned());
        let known = known.or_insert((part.offset, end));
        *known = (known.0.min(part.offset), known.1.max(end));
    }
}

impl WatchedStorage {
    /// Records that clocks of streams stop or continue, unless none of the streams uses this
    /// storage.
    fn turn(&mut self, roots: &Roots, turn: Turn, streams: &[u32]) {
        let here = self.streams.iter().filter(|s| streams.contains(s));
        let here: Vec<u32> = here.copied().collect();
        if here.is_empty() {
            return;
        }
        let now = self.window.meanwhile(roots);
        match turn {
            Turn::Stops => self.stops.stopped(here, now),
            Turn::GoesOn => self.stops.go_on(&here, &now),
        }
    }
}

/// Returns the index of the entry with this storage, which is added if necessary. Two paths are on
/// the same storage if their mounts and their devices are the same.
fn place_of(places: &mut Vec<StorageFiles>, storage: Storage) -> usize {
    let same = |known: &Storage| {
        known.mount == storage.mount
            && known.backing == storage.backing
            && known.layers == storage.layers
    };
    if let Some(at) = places.iter().position(|place| same(&place.storage)) {
        return at;
    }
    places.push(StorageFiles {
        storage,
        files: BTreeMap::new(),
        streams: Vec::new(),
    });
    places.len() - 1
}

/// Returns `true` if a path may be on another storage than its folder: anything except a regular
/// file.
fn is_node(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// Disks seen so far, with the counters of their first occurrence.
#[derive(Default)]
struct Disks(Vec<Disk>);

struct Disk {
    name: String,
    below: Vec<String>,
    before: DiskCounters,
    since: Instant,
}

impl Disks {
    /// Adds the disks of a storage.
    fn add(&mut self, roots: &Roots, storage: &Storage) {
        let Some(top) = storage.device() else { return };
        let members = storage.layers.iter().filter(|layer| is_member(layer));
        for disk in std::iter::once(top).chain(members) {
            self.add_disk(roots, storage, disk);
        }
    }

    fn add_disk(&mut self, roots: &Roots, storage: &Storage, disk: &Layer) {
        if self.0.iter().any(|known| known.name == disk.name) {
            return;
        }
        let Some(before) = disk_stat(roots, &disk.name) else {
            return;
        };
        let below = storage.below(disk).filter(|layer| is_member(layer));
        self.0.push(Disk {
            name: disk.name.clone(),
            below: below.map(|layer| layer.name.clone()).collect(),
            before,
            since: Instant::now(),
        });
    }

    /// Returns the activity of the disks since the start; a disk that is gone is left out.
    fn uses(&self, roots: &Roots) -> Vec<DiskUse> {
        let seen = self.0.iter();
        seen.filter_map(|disk| Some(disk.since_then(&disk_stat(roots, &disk.name)?)))
            .collect()
    }
}

fn is_member(layer: &Layer) -> bool {
    matches!(layer.role, LayerRole::Member | LayerRole::Path)
}

impl Disk {
    fn since_then(&self, now: &DiskCounters) -> DiskUse {
        let (old, new) = (&self.before.counters, &now.counters);
        let grown = |new: u64, old: u64| new.saturating_sub(old);
        DiskUse {
            name: self.name.clone(),
            read_ios: grown(new.read_ios, old.read_ios),
            write_ios: grown(new.write_ios, old.write_ios),
            read_merges: grown(now.read_merges, self.before.read_merges),
            write_merges: grown(now.write_merges, self.before.write_merges),
            read_bytes: grown(new.read_bytes, old.read_bytes),
            write_bytes: grown(new.write_bytes, old.write_bytes),
            read_ms: grown(new.read_ms, old.read_ms),
            write_ms: grown(new.write_ms, old.write_ms),
            queue_ms: grown(now.queue_ms, self.before.queue_ms),
            busy_ms: grown(new.busy_ms, old.busy_ms),
            over_ms: u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            below: self.below.clone(),
        }
    }
}

/// Stops kept for each storage of a wave: a wave of many jobs that end one by one.
const STOPS_KEPT: usize = 64;

/// Clock stops of the streams of a wave on one storage.
#[derive(Clone, Debug, Default)]
struct Stops(Vec<ClockStop>);

impl Stops {
    fn to_vec(&self) -> Vec<ClockStop> {
        self.0.clone()
    }

    /// Records a stop of these streams' clocks; the last stop of each counts. If a stream
    /// stopped together with others before, the counters between its passes are unknown.
    fn stopped(&mut self, streams: Vec<u32>, after: Snapshot) {
        if let Some(stop) = self.0.iter_mut().find(|stop| stop.streams == streams) {
            stop.after = after;
            return;
        }
        let mut is_again = false;
        for stop in &mut self.0 {
            let before = stop.streams.len();
            stop.streams.retain(|stream| !streams.contains(stream));
            if stop.streams.len() < before {
                is_again = true;
                stop.between = Some(BetweenPasses::default());
            }
        }
        self.0.retain(|stop| !stop.streams.is_empty());
        if self.0.len() < STOPS_KEPT {
            self.0.push(ClockStop {
                streams,
                after,
                between: is_again.then(BetweenPasses::default),
            });
        }
    }

    /// Records that these streams' clocks continue. If other streams stopped with them
    /// and do not continue, the counters in between are unknown: the interval is kept
    /// without counters.
    fn go_on(&mut self, streams: &[u32], now: &Snapshot) {
        let concerned = self.0.iter_mut();
        let concerned = concerned.filter(|stop| stop.streams.iter().any(|s| streams.contains(s)));
        for stop in concerned {
            let passed = match stop.streams == streams {
                true => between(&stop.after, now),
                false => BetweenPasses::default(),
            };
            stop.between = Some(match stop.between.take() {
                None => passed,
                Some(sum) => both(&sum, &passed),
            });
        }
    }
}

/// Returns the counters between a stop and the continuation.
fn between(stop: &Snapshot, now: &Snapshot) -> BetweenPasses {
    let devices = stop.devices.iter().zip(&now.devices);
    let dirty = |stop: &Snapshot| {
        let cache = stop.region_cache.or(stop.file_cache)?;
        Some(cache.dirty_bytes? + cache.writeback_bytes?)
    };
    BetweenPasses {
        times: 1,
        elapsed_ns: now.at_ns.saturating_sub(stop.at_ns),
        devices: devices
            .map(|(a, b)| b.combined(a, u64::saturating_sub))
            .collect(),
        own_io: (stop.own_io.zip(now.own_io)).map(|(a, b)| b.combined(a, u64::saturating_sub)),
        dirty_bytes: dirty(stop),
        cached_bytes: (now.region_cache.or(now.file_cache)).map(|cache| cache.cached_bytes),
    }
}

fn both(a: &BetweenPasses, b: &BetweenPasses) -> BetweenPasses {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    let devices = a.devices.iter().zip(&b.devices);
    BetweenPasses {
        times: a.times + b.times,
        elapsed_ns: a.elapsed_ns + b.elapsed_ns,
        devices: devices
            .map(|(a, b)| a.combined(b, u64::saturating_add))
            .collect(),
        own_io: (a.own_io.zip(b.own_io)).map(|(a, b)| a.combined(b, u64::saturating_add)),
        dirty_bytes: sum(a.dirty_bytes, b.dirty_bytes),
        cached_bytes: sum(a.cached_bytes, b.cached_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::evidence::{CacheSource, DeviceCounters, FileCache, OwnIo};
    use assay_model::storage::{Backing, DeviceIdentity};
    use assay_probe::stack;
    use std::fs;
    use std::path::Path;

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

    fn layer(name: &str, role: LayerRole, parent: Option<&str>) -> Layer {
        Layer {
            name: name.to_owned(),
            major: 8,
            minor: 0,
            role,
            parent: parent.map(str::to_owned),
            other_parents: Vec::new(),
            size: None,
            backing_file: None,
            identity: DeviceIdentity::default(),
        }
    }

    fn storage(layers: Vec<Layer>) -> Storage {
        Storage {
            path: "/mnt".into(),
            mount: None,
            backing: Backing::Device {
                name: layers[0].name.clone(),
            },
            layers,
            total: None,
            available: None,
        }
    }

    fn stat(folder: &Path, name: &str, line: &str) {
        let folder = folder.join("sys/class/block").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("stat"), line).unwrap();
    }

    #[test]
    fn a_partition_shows_its_disk_once_and_only_what_was_done_since() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        stat(folder.path(), "sda", "1 2 3 4 5 6 7 8 0 10 11");
        let partition = storage(vec![
            layer("sda1", LayerRole::Top, None),
            layer("sda", LayerRole::Disk, Some("sda1")),
        ]);
        let mut disks = Disks::default();
        disks.add(&roots, &partition);
        stat(folder.path(), "sda", "2 4 6 8 10 12 14 16 0 20 22");
        disks.add(&roots, &partition);
        let uses = disks.uses(&roots);
        assert_eq!(uses.len(), 1);
        let sda = &uses[0];
        assert_eq!(
            (sda.read_ios, sda.read_merges, sda.read_bytes),
            (1, 2, 3 * 512)
        );
        assert_eq!((sda.write_ios, sda.write_merges, sda.queue_ms), (5, 6, 11));
    }

    #[test]
    fn the_disks_below_a_volume_are_shown_too() {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots::under(folder.path());
        for name in ["dm-0", "sda", "sdb"] {
            stat(folder.path(), name, "0 0 0 0 0 0 0 0 0 0 0");
        }
        let mut disks = Disks::default();
        disks.add(
            &roots,
            &storage(vec![
                layer("dm-0", LayerRole::Top, None),
                layer("sda", LayerRole::Member, Some("dm-0")),
                layer("sdb", LayerRole::Member, Some("dm-0")),
            ]),
        );
        let uses = disks.uses(&roots);
        assert_eq!(uses.len(), 3);
        assert_eq!(uses[0].below, ["sda", "sdb"]);
        fs::remove_dir_all(folder.path().join("sys/class/block/sdb")).unwrap();
        assert_eq!(disks.uses(&roots).len(), 2, "one was pulled out");
    }

    fn moment(at_ns: u64, written: u64, dirty: u64) -> Snapshot {
        Snapshot {
            at_ns,
            devices: vec![DeviceCounters {
                name: "sda".to_owned(),
                write_bytes: written,
                ..DeviceCounters::default()
            }],
            own_io: Some(OwnIo {
                write_bytes: written,
                ..OwnIo::default()
            }),
            file_cache: Some(FileCache {
                source: CacheSource::Cachestat,
                cached_bytes: dirty,
                dirty_bytes: Some(dirty),
                writeback_bytes: Some(0),
            }),
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_counters_between_passes_are_added() {
        let mut stops = Stops::default();
        stops.stopped(vec![0, 1], moment(10, 0, 64));
        stops.go_on(&[0, 1], &moment(15, 64, 0));
        stops.stopped(vec![0, 1], moment(20, 64, 64));
        stops.go_on(&[0, 1], &moment(27, 128, 0));
        stops.stopped(vec![0, 1], moment(30, 128, 32));
        let all = stops.to_vec();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].after.at_ns, 30);
        let between = all[0].between.as_ref().unwrap();
        assert_eq!((between.times, between.elapsed_ns), (2, 12));
        assert_eq!(between.devices[0].write_bytes, 128);
        assert_eq!(between.own_io.unwrap().write_bytes, 128);
        assert_eq!(between.dirty_bytes, Some(128));
    }

    #[test]
    fn a_stop_with_fewer_streams_takes_the_place_of_an_earlier_one() {
        let mut stops = Stops::default();
        stops.stopped(vec![0, 1], moment(10, 0, 64));
        stops.go_on(&[0, 1], &moment(15, 64, 0));
        stops.stopped(vec![0], moment(20, 128, 0));
        stops.stopped(vec![1], moment(21, 128, 0));
        let all = stops.to_vec();
        let streams: Vec<&[u32]> = all.iter().map(|stop| &*stop.streams).collect();
        assert_eq!(streams, [[1], [0]]);
        for stop in &all {
            assert_eq!(stop.between, Some(BetweenPasses::default()));
        }
    }

    #[test]
    fn passes_that_do_not_fit_together_are_not_counted() {
        let mut stops = Stops::default();
        stops.stopped(vec![0, 1], moment(10, 0, 64));
        stops.go_on(&[0], &moment(15, 64, 0));
        let between = stops.to_vec()[0].between.clone().unwrap();
        assert_eq!((between.devices.len(), between.own_io), (0, None));
    }
}
