//! Observation of a command: samples of memory, paging, processors and devices at each
//! interval, and the time at which the command's dirty pages are written.
//!
//! The command has the user's own streams. A separate thread waits for it, so that its
//! end is known at once and not only at the next sample.

mod drain;

use crate::inspect::storage_of;
use crate::window;
use assay_model::act::watch::{
    CommandEnd, DiskCounters, Drain, Phase, Watch, WatchReport, WatchSample,
};
use assay_model::evidence::{DeviceCounters, OwnIo};
use assay_model::storage::{Backing, Storage};
use assay_model::units::Bytes;
use assay_probe::counters;
use assay_probe::processes::descendants;
use assay_probe::roots::Roots;
use assay_probe::snapshot::own_io;
use assay_workloads::ActError;
use drain::Pending;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant, SystemTime};

/// Interval at which the end of the work, and the writeback of dirty pages, are checked.
const POLL: Duration = Duration::from_millis(100);

/// Writes to another disk below this size are not reported, in bytes.
const MUCH_BYTES: u64 = 1 << 20;

/// Runs the observation; passes each message to `sink`.
///
/// # Errors
/// If the device is not known, or the command cannot be started.
pub(crate) fn run(
    roots: &Roots,
    watch: &Watch,
    stop: &AtomicBool,
    sink: &mut dyn FnMut(WatchMessage),
) -> Result<WatchReport, ActError> {
    let selection = select_device(roots, watch.device.as_deref(), &watch.command)?;
    let mut watching = Watching {
        roots,
        watch,
        selection,
        stop,
        sink,
        began: Instant::now(),
        samples: 0,
        due: Duration::ZERO,
        last_sample_ns: None,
    };
    if watch.command.is_empty() {
        watching.alone();
        return Ok(WatchReport::default());
    }
    watching.with_command()
}

/// Message sent while watching.
pub(crate) enum WatchMessage {
    /// A line for the user.
    Remark(String),
    /// Counters.
    Sample(Box<WatchSample>),
}

struct Watching<'a> {
    roots: &'a Roots,
    watch: &'a Watch,
    selection: Selection,
    stop: &'a AtomicBool,
    sink: &'a mut dyn FnMut(WatchMessage),
    began: Instant,
    /// Samples sent so far.
    samples: u32,
    /// Time from `began` to the next sample.
    due: Duration,
    /// Time from `began` to the last sample sent, in nanoseconds.
    last_sample_ns: Option<u64>,
}

impl Watching<'_> {
    /// Takes samples until stopped, or until the requested number is reached.
    fn alone(&mut self) {
        self.report_selection();
        self.send(self.read_counters(Phase::Alone));
        let wanted = self.watch.samples.unwrap_or(u64::MAX);
        while u64::from(self.samples) < wanted && !self.stopped() {
            match self.until_due() {
                Duration::ZERO => self.send(self.read_counters(Phase::Alone)),
                time => std::thread::sleep(time.min(POLL)),
            }
        }
    }

    fn with_command(&mut self) -> Result<WatchReport, ActError> {
        let everywhere = written_by_disk(self.roots);
        let files = NamedFiles::before(self.roots, &self.watch.command);
        let before = self.read_counters(Phase::Command);
        let shown = before.disks.clone();
        let mut pending = Pending::after(&before, counters::dirty_page_age_ns(self.roots));
        let mut command = Command::start(&self.watch.command)?;
        self.report_selection();
        self.send(before);
        let end = loop {
            match command.wait(self.until_due().min(POLL)) {
                Waited::Ended(end) => break end.since(self.began),
                Waited::Runs if self.stopped() => command.ask_to_end(),
                Waited::Runs => {}
            }
            if self.until_due() == Duration::ZERO {
                let now = self.read_counters(Phase::Command);
                pending.record(&now, now.at_ns);
                self.send(now);
            }
        };
        let drain = self.drain(&mut pending, &end, &files);
        self.report_busier_disk(&everywhere, &shown);
        Ok(WatchReport {
            ended: Some(end),
            drain: Some(drain),
            last_writes: pending.last_writes(),
        })
    }

    /// Waits until the command's dirty pages are written.
    fn drain(&mut self, pending: &mut Pending, end: &CommandEnd, files: &NamedFiles) -> Drain {
        let give_up = Instant::now() + Duration::from_nanos(self.watch.drain_limit_ns);
        let mut now = self.read_counters(Phase::Draining);
        // Writes since the last sample are dated to the command's end, just before this sample.
        pending.record(&now, end.at_ns);
        self.send(now.clone());
        let drain = loop {
            if let Some(drain) = pending.drained(&now, end) {
                break drain;
            }
            // The named files account for all its dirty pages, even if others keep pages dirty.
            if files.unwritten(self.roots, &self.watch.command) == Some(0) {
                break Drain::Left {
                    at_ns: now.at_ns,
                    within_bytes: 0,
                };
            }
            let unwritten_bytes = pending.unwritten(&now).unwrap_or(0);
            if self.stopped() {
                break Drain::NotAwaited { unwritten_bytes };
            }
            if Instant::now() >= give_up {
                break Drain::TimedOut { unwritten_bytes };
            }
            if self.until_due() == Duration::ZERO {
                self.send(now.clone());
            }
            std::thread::sleep(self.until_due().min(POLL));
            now = self.read_counters(Phase::Draining);
            pending.record(&now, now.at_ns);
        };
        if self.last_sample_ns != Some(now.at_ns) {
            self.send(now);
        }
        drain
    }

    fn read_counters(&self, phase: Phase) -> WatchSample {
        let at_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let names = match &self.selection {
            Selection::At(name) | Selection::AtNamed { device: name, .. } => vec![name.clone()],
            Selection::AtAll { .. } => counters::disks(self.roots),
        };
        let disks = names.iter();
        WatchSample {
            at_ns,
            phase,
            memory: counters::memory(self.roots),
            paging: counters::paging(self.roots),
            processor: counters::processor(self.roots),
            disks: disks
                .filter_map(|name| counters::disk(self.roots, name))
                .collect(),
        }
    }

    fn send(&mut self, sample: WatchSample) {
        self.samples = self.samples.saturating_add(1);
        self.last_sample_ns = Some(sample.at_ns);
        self.due = next_due(self.began.elapsed(), self.watch.interval_ns);
        (self.sink)(WatchMessage::Sample(Box::new(sample)));
    }

    fn report_selection(&mut self) {
        let remark = match &self.selection {
            Selection::At(_) => return,
            Selection::AtNamed { device, path } => format!(
                "watching {device}, which {} is on; --device names another",
                path.display()
            ),
            Selection::AtAll { because } => because.clone(),
        };
        (self.sink)(WatchMessage::Remark(remark));
    }

    /// Reports another disk to which over ten times as much, and over 1 MiB, was written.
    fn report_busier_disk(&mut self, before: &[(String, u64)], shown: &[DiskCounters]) {
        let written = |(name, before): &(String, u64)| {
            let now = counters::disk(self.roots, name)?.counters.write_bytes;
            Some((name.clone(), now.saturating_sub(*before)))
        };
        let most = before.iter().filter_map(written).max_by_key(|(_, n)| *n);
        let of_shown = shown.iter().filter_map(|disk| {
            let DeviceCounters {
                name, write_bytes, ..
            } = &disk.counters;
            written(&(name.clone(), *write_bytes))
        });
        let of_shown = of_shown.map(|(_, bytes)| bytes).max().unwrap_or(0);
        if let (Some((name, bytes)), Some(disk)) = (most, shown.first())
            && bytes / 10 > of_shown
            && bytes > MUCH_BYTES
        {
            (self.sink)(WatchMessage::Remark(format!(
                "{} was written to {name} meanwhile, and {} to {}: if that was the command, \
                 watch it with --device {name}",
                Bytes(bytes),
                Bytes(of_shown),
                disk.counters.name
            )));
        }
    }

    /// Returns the time until the next sample.
    fn until_due(&self) -> Duration {
        self.due.saturating_sub(self.began.elapsed())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Returns the bytes written to each disk since boot.
fn written_by_disk(roots: &Roots) -> Vec<(String, u64)> {
    let written = |name: String| {
        let bytes = counters::disk(roots, &name)?.counters.write_bytes;
        Some((name, bytes))
    };
    let names = counters::disks(roots).into_iter();
    names.filter_map(written).collect()
}

/// Returns when the next sample is due, at a multiple of the interval. Missed samples,
/// for example while the process was stopped, are not repeated.
fn next_due(elapsed: Duration, interval_ns: u64) -> Duration {
    let interval = u128::from(interval_ns.max(1));
    let due = (elapsed.as_nanos() / interval + 1) * interval;
    Duration::from_nanos(u64::try_from(due).unwrap_or(u64::MAX))
}

/// A running command.
struct Command {
    child: SharedChild,
    ended: Receiver<EndedCommand>,
    asked_to_end: bool,
}

/// Child process behind a lock. Signal and reap the child only with the lock held: after the reap,
/// its process id may belong to another process.
#[derive(Clone)]
struct SharedChild(Arc<Mutex<Child>>);

/// Result of waiting for a command.
enum Waited {
    /// It has ended.
    Ended(EndedCommand),
    /// It still runs.
    Runs,
}

/// End of a command.
struct EndedCommand {
    at: Instant,
    status: io::Result<ExitStatus>,
}

impl Command {
    /// Starts the command in this process's own process group, so that it may read from the
    /// terminal and receives its Ctrl-C.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start(words: &[OsString]) -> Result<Self, ActError> {
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| ActError::Refused("no command".to_owned()))?;
        let started = std::process::Command::new(program).args(arguments).spawn();
        let child = started.map_err(|error| {
            let program = program.to_string_lossy();
            ActError::Refused(format!("cannot start {program}: {error}"))
        })?;
        let child = SharedChild(Arc::new(Mutex::new(child)));
        let (sender, ended) = channel();
        let waited_for = child.clone();
        let wait = move || {
            waited_for.await_end();
            let at = Instant::now();
            let status = waited_for.lock().wait();
            // Without a receiver, the session is over.
            let _ = sender.send(EndedCommand { at, status });
        };
        Builder::new().spawn(wait).map_err(|error| {
            child.signal(Signal::KILL);
            ActError::no_thread(error)
        })?;
        Ok(Self {
            child,
            ended,
            asked_to_end: false,
        })
    }

    /// Waits for the end of the command, at most `at_most`.
    fn wait(&self, at_most: Duration) -> Waited {
        match self.ended.recv_timeout(at_most) {
            Ok(ended) => Waited::Ended(ended),
            Err(RecvTimeoutError::Timeout) => Waited::Runs,
            Err(RecvTimeoutError::Disconnected) => Waited::Ended(EndedCommand {
                at: Instant::now(),
                status: Err(io::ErrorKind::BrokenPipe.into()),
            }),
        }
    }

    /// Sends SIGTERM to the command, once.
    fn ask_to_end(&mut self) {
        if std::mem::replace(&mut self.asked_to_end, true) {
            return;
        }
        self.child.signal(Signal::TERM);
    }
}

impl SharedChild {
    fn lock(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the command has ended, without reaping it.
    fn await_end(&self) {
        // The lock is not held while waiting.
        let pid = pid(&self.lock());
        if let Some(pid) = pid {
            let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            // Fails only if the child was reaped already.
            let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), end));
        }
    }

    /// Sends a signal, unless the command has ended; `true` if it was sent.
    fn signal(&self, signal: Signal) -> bool {
        let mut child = self.lock();
        let runs = matches!(child.try_wait(), Ok(None));
        let pid = pid(&child).filter(|_| runs);
        pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

impl EndedCommand {
    fn since(self, began: Instant) -> CommandEnd {
        let elapsed = self.at.saturating_duration_since(began).as_nanos();
        let status = self.status.ok();
        CommandEnd {
            at_ns: u64::try_from(elapsed).unwrap_or(u64::MAX),
            exit_code: status.and_then(|status| status.code()),
            signal: status.and_then(|status| status.signal()),
        }
    }
}

/// Similar names in the error message, at most.
const NEAREST: usize = 4;

/// Watched device.
#[derive(Debug)]
enum Selection {
    /// The device of that kernel name.
    At(String),
    /// The device of this path of the command; the current directory is on another one.
    AtNamed { device: String, path: PathBuf },
    /// Every disk, because of `because`; the most active one is shown.
    AtAll { because: String },
}

/// Selects the device that the user named. Without a name, selects the device of the last path in
/// the command, which is usually its output; otherwise the device of the current directory.
///
/// # Errors
/// If the name does not exist, or no device is behind it.
fn select_device(
    roots: &Roots,
    named: Option<&Path>,
    command: &[OsString],
) -> Result<Selection, ActError> {
    let Some(path) = named else {
        let here = name_of(&storage_of(roots, Path::new(".")));
        let on_device = |path: PathBuf| Some((name_of(&storage_of(roots, &path)).ok()?, path));
        let of_command = paths(command).into_iter().rev().find_map(on_device);
        return Ok(match (of_command, here) {
            (Some((device, path)), here) if here.as_ref() != Ok(&device) => {
                Selection::AtNamed { device, path }
            }
            (_, Ok(name)) => Selection::At(name),
            (_, Err(why)) => Selection::AtAll {
                because: format!(
                    "no device behind the current directory: {why}; each row shows the disk that \
                     moved most so far, which others may have used: name one with --device"
                ),
            },
        });
    };
    let name = path.to_str().filter(|name| !name.contains('/'));
    if let Some(name) = name.filter(|name| counters::is_device(roots, name)) {
        return Ok(Selection::At(name.to_owned()));
    }
    if !path.exists() {
        return Err(ActError::Refused(nothing_there(roots, path)));
    }
    name_of(&storage_of(roots, path))
        .map(Selection::At)
        .map_err(|why| {
            ActError::Refused(format!(
                "no device to watch behind {}: {why}; name another with --device",
                path.display()
            ))
        })
}

/// Returns the kernel name of a storage's device, or the reason why it has no device.
fn name_of(storage: &Storage) -> Result<String, String> {
    match (storage.top(), &storage.backing) {
        (Some(top), _) => Ok(top.name.clone()),
        (None, Backing::Device { name }) => Err(format!("{name} has no counters")),
        (None, Backing::Memory { fs_type }) => Err(format!("it is in memory ({fs_type})")),
        (None, Backing::Simulated { part }) => Err(format!("{part} is simulated")),
        (None, Backing::MainMemory) => Err("it is main memory".to_owned()),
        (None, Backing::Unknown { why }) => Err(why.clone()),
    }
}

/// Returns the message for an unknown name, with similar names.
fn nothing_there(roots: &Roots, path: &Path) -> String {
    let meant = path.file_name().unwrap_or_default().to_string_lossy();
    let mut names = counters::devices(roots);
    names.sort_by_cached_key(|name| distance(&meant, name));
    names.truncate(NEAREST);
    let hint = match &names[..] {
        [] => "there is no device with counters here".to_owned(),
        names => format!("the nearest devices are {}", names.join(", ")),
    };
    format!(
        "--device: there is neither a device nor a path {}; {hint}",
        path.display()
    )
}

/// Computes the Levenshtein distance of two names, by rows. It is written by hand because the small
/// static agent does without a crate for one message.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (column, &counterpart) in other.iter().enumerate() {
            let exchanged = corner + usize::from(letter != counterpart);
            corner = row[column + 1];
            row[column + 1] = exchanged.min(corner + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Bytes that end a path in an argument such as `of=/mnt/file` or in a script of `sh -c`.
const ENDS: &[u8] = b" \t\n\"'`=;|&<>(),";
/// Resolution of modification times: the clock that file systems use ticks this rarely.
const TICK: Duration = Duration::from_millis(20);
/// Largest page size of any kernel, in bytes.
const PAGE_BYTES: u64 = 64 << 10;

/// Returns the paths in the arguments that exist, or whose folder exists, in their order. The
/// command probably writes these files.
fn paths(command: &[OsString]) -> Vec<PathBuf> {
    let words = command.iter().skip(1);
    let parts = words.flat_map(|word| word.as_bytes().split(|byte| ENDS.contains(byte)));
    let paths = parts.map(|part| Path::new(OsStr::from_bytes(part)));
    let named = |path: &&Path| {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        path.exists() || folder.is_some_and(Path::is_dir)
    };
    paths.filter(named).map(Path::to_owned).collect()
}

/// Files named by a command, for comparison with the kernel's I/O accounting of it.
struct NamedFiles {
    began: SystemTime,
    io_before: Option<OwnIo>,
    /// Sizes of files that existed before, in bytes.
    sizes_before: BTreeMap<PathBuf, u64>,
}

impl NamedFiles {
    /// Records the state before the command starts. Processes that the command leaves
    /// running become children of this process, so they can be found.
    fn before(roots: &Roots, command: &[OsString]) -> Self {
        // If this fails, such processes are not found.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Self {
            began: SystemTime::now() - TICK,
            io_before: own_io(roots),
            sizes_before: paths(command)
                .into_iter()
                .filter_map(|path| Some((path.clone(), size(&path)?)))
                .collect(),
        }
    }

    /// Returns the bytes of an ended command that are not on the device yet. `None` if the
    /// named files cannot account for all of its dirty pages, or it left a process running.
    ///
    /// The kernel adds a child's dirtied bytes to its parent's account when the child is
    /// reaped.
    fn unwritten(&self, roots: &Roots, command: &[OsString]) -> Option<u64> {
        let (before, now) = (self.io_before?, own_io(roots)?);
        let dirtied = now.write_bytes.checked_sub(before.write_bytes)?;
        let changed = |path: &PathBuf| {
            let data = path.metadata().ok().filter(std::fs::Metadata::is_file);
            data.and_then(|data| data.modified().ok()) >= Some(self.began)
        };
        let mut files: Vec<PathBuf> = paths(command).into_iter().filter(changed).collect();
        files.sort_unstable();
        files.dedup();
        let pages = window::pages(&files)?;
        let held: u64 = files.iter().map(|file| self.most_dirtied(file)).sum();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let left_running = !descendants(roots, u32::try_from(own).ok()?).is_empty();
        (!left_running && dirtied <= pages.cached_bytes.min(held))
            .then(|| Some(pages.dirty_bytes? + pages.writeback_bytes?))?
    }

    /// Returns the bytes of a file that a command can have dirtied, at most: the appended
    /// bytes with the pages at both ends; the whole file if it is new or has not grown.
    fn most_dirtied(&self, file: &Path) -> u64 {
        let now = size(file).unwrap_or(0);
        let appended = self
            .sizes_before
            .get(file)
            .map(|before| now.saturating_sub(*before));
        let bytes = appended.filter(|appended| *appended > 0).unwrap_or(now);
        bytes.saturating_add(2 * PAGE_BYTES)
    }
}

fn size(path: &Path) -> Option<u64> {
    let data = path.metadata().ok().filter(std::fs::Metadata::is_file);
    data.map(|data| data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn missed_samples_are_not_repeated() {
        let due = |millis| next_due(Duration::from_millis(millis), 1_000_000_000);
        assert_eq!(due(1), Duration::from_secs(1));
        assert_eq!(due(1000), Duration::from_secs(2));
        assert_eq!(due(9500), Duration::from_secs(10));
    }

    #[test]
    fn a_stop_is_seen_although_samples_are_due_all_the_time() {
        let watch = Watch {
            interval_ns: 1,
            ..Watch::default()
        };
        let mut samples = 0;
        let stop = AtomicBool::new(false);
        let mut sink = |message| {
            samples += u32::from(matches!(message, WatchMessage::Sample(_)));
            stop.store(samples == 3, Ordering::Relaxed);
            assert!(samples < 4, "it goes on");
        };
        run(&Roots::default(), &watch, &stop, &mut sink).unwrap();
        assert_eq!(samples, 3);
    }

    fn start(words: &[&str]) -> Command {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        Command::start(&words).unwrap()
    }

    fn end(command: &Command) -> CommandEnd {
        loop {
            if let Waited::Ended(end) = command.wait(Duration::from_secs(1)) {
                return end.since(Instant::now());
            }
        }
    }

    #[test]
    fn a_command_that_runs_is_asked_to_end() {
        let mut command = start(&["sleep", "60"]);
        assert!(matches!(
            command.wait(Duration::from_millis(200)),
            Waited::Runs
        ));
        command.ask_to_end();
        assert_eq!(end(&command).signal, Some(15));
    }

    /// Checks that a command that has ended but keeps its process id is not signalled.
    #[test]
    fn a_command_that_has_ended_is_not_signalled() {
        let child = std::process::Command::new("true").spawn().unwrap();
        let child = SharedChild(Arc::new(Mutex::new(child)));
        child.await_end();
        assert!(!child.signal(Signal::TERM));
        assert!(child.lock().wait().unwrap().success(), "still known");
    }

    /// Creates a machine with these devices.
    fn machine(names: &[&str]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let device = folder.path().join("class/block").join(name);
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("size"), "8\n").unwrap();
        }
        let sys = folder.path().to_owned();
        (
            folder,
            Roots {
                sys,
                ..Roots::default()
            },
        )
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_the_nearest() {
        let (_folder, roots) = machine(&["mmcblk0", "mmcblk0p1", "mmcblk1", "sda", "vda", "zram0"]);
        for named in ["mmcblk2", "/dev/mmcblk2"] {
            let refused = select_device(&roots, Some(Path::new(named)), &[]).unwrap_err();
            let text = refused.to_string();
            assert!(text.contains(named), "{text}");
            let nearest = "nearest devices are mmcblk0, mmcblk1, mmcblk0p1";
            assert!(text.contains(nearest), "{text}");
        }
        let (_folder, roots) = machine(&[]);
        let refused = select_device(&roots, Some(Path::new("nope")), &[]).unwrap_err();
        assert!(refused.to_string().contains("no device with counters"));
    }

    #[test]
    fn letters_put_in_taken_out_and_exchanged_are_counted() {
        for (one, other, count) in [
            ("", "sda", 3),
            ("sda", "", 3),
            ("sda", "sda", 0),
            ("sad", "sda", 2),
            ("nvme0n1", "nvme0n1p2", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), count, "{one} {other}");
        }
    }

    #[test]
    fn a_line_that_is_appended_does_not_stand_for_a_long_file() {
        let folder = tempfile::tempdir().unwrap();
        let [long, new] = ["long", "new"].map(|name| folder.path().join(name));
        fs::write(&long, vec![0; 4 << 20]).unwrap();
        let command = [Path::new("tool"), &long, &new].map(OsString::from);
        let files = NamedFiles::before(&Roots::default(), &command);
        fs::write(&new, vec![0; 1 << 20]).unwrap();
        assert_eq!(files.most_dirtied(&new), (1 << 20) + 2 * PAGE_BYTES);
        assert_eq!(files.most_dirtied(&long), (4 << 20) + 2 * PAGE_BYTES);
        let mut appended = fs::OpenOptions::new().append(true).open(&long).unwrap();
        io::Write::write_all(&mut appended, b"a line\n").unwrap();
        assert_eq!(files.most_dirtied(&long), 7 + 2 * PAGE_BYTES);
    }

    #[test]
    fn paths_stand_in_words_and_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there");
        fs::write(&there, "x").unwrap();
        let new = folder.path().join("new");
        let of = |script: String| {
            let command = ["/bin/sh", "-c", &script].map(OsString::from);
            paths(&command)
        };
        let dd = format!("dd if='{}' of={};sync", there.display(), new.display());
        assert_eq!(of(dd), [there, new]);
        assert_eq!(
            of("dd if=/nowhere/at/all of=x bs=1M".to_owned()),
            [""; 0].map(PathBuf::from)
        );
    }
}
