//! iozone's tests on files, with the calls that iozone 3.489 makes.
//!
//! In single mode one child works on one file, row after row; in throughput mode several
//! children work at the same time, each on a separate file. Children are threads in both
//! modes: a thread with its own table of open files makes system calls as cheaply as a
//! process.

mod access;
mod step;

use crate::observer::EVERY;
use crate::{ActError, Context};
use crate::{remove_if_there, run_program};
use access::{Buffers, MARK};
use assay_engine::held::shown;
use assay_engine::{StartLine, held, own_file_table};
use assay_model::act::ActReport;
use assay_model::act::iozone::{Iozone, IozoneRow, Test};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{fs, io};
use step::{Child, ChildResult, ChildrenState, StepSetup, Together};

/// Age of the last stored step after which steps are stored. Waiting for the store after
/// each step of a few milliseconds would take longer than the steps.
const UNKEPT: Duration = Duration::from_secs(1);

pub(crate) fn run(work: &Iozone, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    access::admit(work)?;
    let files = Files::admit(work)?;
    step::admit(work)?;
    let came = rows(work, &files, context);
    let cleared = files.clear(work);
    came.and(cleared).map(|()| ActReport::Steps)
}

fn rows(work: &Iozone, files: &Files, context: &mut Context<'_>) -> Result<(), ActError> {
    let single = [1];
    let counts: &[u32] = match work.children.as_slice() {
        [] => &single,
        counts => counts,
    };
    let mut buffers = Vec::new();
    let mut steps_done = 0;
    let mut kept = Instant::now();
    for &row in &work.rows {
        for &children in counts {
            prepare_buffers(work, row, children, context.seed, &mut buffers)?;
            for &test in &work.tests {
                let step = StepSetup {
                    work,
                    row,
                    test,
                    files: files.of(children),
                    steps_done,
                };
                step.run(&mut buffers, context)?;
                steps_done += 1;
                if kept.elapsed() > UNKEPT {
                    context.observer.keep();
                    kept = Instant::now();
                }
            }
        }
    }
    Ok(())
}

/// Creates buffers once and only enlarges them, because filling them takes time.
fn prepare_buffers(
    work: &Iozone,
    row: IozoneRow,
    children: u32,
    seed: u64,
    buffers: &mut Vec<Buffers>,
) -> Result<(), ActError> {
    for child in 0..u64::from(children) {
        match usize::try_from(child)
            .ok()
            .and_then(|at| buffers.get_mut(at))
        {
            Some(buffers) => buffers.prepare(row.record_kib),
            None => {
                let largest = work.rows.iter().map(|row| row.record_kib).max();
                let largest = largest.unwrap_or(row.record_kib);
                let mut new = Buffers::new(work, largest, seed ^ child)?;
                new.prepare(row.record_kib);
                buffers.push(new);
            }
        }
    }
    Ok(())
}

/// Begin of iozone's files: this, and zeros.
const MARK_OF_IOZONE: [u8; 16] = *b"________\0\0\0\0\0\0\0\0";

/// Files of an act.
#[derive(Debug)]
struct Files {
    files: Vec<TestFile>,
}

/// A test file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TestFile {
    path: PathBuf,
    /// A block device, which is neither created nor removed.
    device: bool,
    /// True if the content is disposable: the file may be written and removed.
    ours: bool,
}

impl Files {
    /// Checks all files before anything is written.
    ///
    /// # Errors
    /// If a file to read is missing or too short, or a file to write contains other data.
    fn admit(work: &Iozone) -> Result<Self, ActError> {
        let files = work.files.iter().map(|path| test_file(work, path));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the files of the first `children` children.
    fn of(&self, children: u32) -> &[TestFile] {
        let children = usize::try_from(children).unwrap_or(usize::MAX);
        &self.files[..children.min(self.files.len())]
    }

    /// Removes the files of the tests, unless they are to be kept.
    fn clear(&self, work: &Iozone) -> Result<(), ActError> {
        if work.keep {
            return Ok(());
        }
        for file in self.files.iter().filter(|file| file.ours && !file.device) {
            remove_if_there(&file.path)?;
        }
        Ok(())
    }
}

/// Returns true if a test writes the whole file before a test reads it.
fn makes(work: &Iozone) -> bool {
    let reads = |test: &Test| !test.writes() || *test == Test::Mixed;
    let whole = |test: &Test| {
        matches!(
            test,
            Test::Write | Test::Fwrite | Test::Pwrite | Test::Pwritev | Test::RandomWrite
        )
    };
    let mut tests = work.tests.iter();
    tests
        .find(|test| reads(test) || whole(test))
        .is_none_or(whole)
}

fn test_file(work: &Iozone, path: &Path) -> Result<TestFile, ActError> {
    let writes = work.tests.iter().any(|test| test.writes());
    let found = match fs::metadata(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return Err(ActError::Refused(format!(
                "cannot look at {}: {error}",
                shown(path)
            )));
        }
    };
    let shown = shown(path);
    let device = found
        .as_ref()
        .is_some_and(|found| found.file_type().is_block_device());
    if found
        .as_ref()
        .is_some_and(|found| !device && !found.is_file())
    {
        return Err(ActError::Refused(format!(
            "{shown} is neither a file nor a block device: name another with -f"
        )));
    }
    let length = found.as_ref().map_or(Ok(0), |_| length(path));
    let length =
        length.map_err(|error| ActError::Refused(format!("cannot read {shown}: {error}")))?;
    let needed = work
        .rows
        .iter()
        .map(|row| row.file_kib << 10)
        .max()
        .unwrap_or(0);
    if (device || !makes(work)) && length < needed {
        let of = if device { "the device" } else { "the file" };
        return Err(ActError::Refused(format!(
            "{shown}: the tests read {needed} bytes, and {of} has only {length}: write it first with -i 0 -w, or give a smaller -s or -g"
        )));
    }
    let ours = device || length == 0 || has_mark(path);
    if writes && !ours {
        return Err(ActError::Refused(format!(
            "{shown} has {length} bytes that were not written by iozone's tests, so it is not overwritten: name another file with -f, or remove it"
        )));
    }
    Ok(TestFile {
        path: path.to_owned(),
        device,
        ours,
    })
}

/// Returns the length of a file or device.
fn length(path: &Path) -> io::Result<u64> {
    held::open_to_read(path)?.seek(SeekFrom::End(0))
}

fn has_mark(path: &Path) -> bool {
    let mut start = [0; 16];
    let read = held::open_to_read(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start == MARK || start == MARK_OF_IOZONE)
}

/// Unmounts a file system and mounts it again with the same options.
///
/// # Errors
/// If nothing is mounted at the path, or the file system is in use.
fn remount(place: &Path) -> Result<(), ActError> {
    let mounts = fs::read_to_string("/proc/self/mounts")
        .map_err(|error| ActError::io("read", Path::new("/proc/self/mounts"), &error))?;
    let mut found = mounts.lines().filter_map(Mount::parse);
    // The last entry is mounted on top of the others.
    let mount = found.rfind(|mount| Path::new(&mount.target) == place);
    let Some(mount) = mount else {
        return Err(ActError::Refused(format!(
            "-U {}: nothing is mounted there; name a mount point as findmnt shows it",
            shown(place)
        )));
    };
    call(Command::new("umount").arg(&mount.target))?;
    mount_again(&mount, call)
}

/// Mounts a file system again. If it rejects the options that the kernel listed for it,
/// it is mounted without them, so that its files are accessible again; the test then
/// fails, because it would run with other options than requested.
fn mount_again(
    mount: &Mount,
    call: impl Fn(&mut Command) -> Result<(), ActError>,
) -> Result<(), ActError> {
    let Err(error) = call(&mut mount.command(&mount.options)) else {
        return Ok(());
    };
    let Mount {
        source,
        target,
        kind,
        options,
    } = mount;
    let read_only = options.split(',').any(|option| option == "ro");
    let left = match call(&mut mount.command(if read_only { "ro" } else { "rw" })) {
        Ok(()) => format!(
            "{target} is now mounted without its options: restore them with mount -o remount,{options} {target}"
        ),
        Err(_) => format!(
            "{target} is now unmounted: mount it with mount -t {kind} -o {options} {source} {target}"
        ),
    };
    Err(ActError::Failed {
        message: format!("{error}; {left}"),
        errno: error.errno(),
    })
}

/// A line of `/proc/self/mounts`.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    source: String,
    target: String,
    kind: String,
    options: String,
}

impl Mount {
    fn command(&self, options: &str) -> Command {
        let mut command = Command::new("mount");
        command.args(["-t", &self.kind, "-o", options]);
        command.args([&self.source, &self.target]);
        command
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ').map(unescape);
        Some(Self {
            source: words.next()?,
            target: words.next()?,
            kind: words.next()?,
            options: words.next()?,
        })
    }
}

/// Decodes octal escapes such as `\040` for a space.
fn unescape(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        match code {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

fn call(command: &mut Command) -> Result<(), ActError> {
    let name = command.get_program().to_string_lossy().into_owned();
    run_program(command).map_err(|why| ActError::failed(format!("{name}: {why}")))
}

/// Gates at which the children wait.
#[derive(Default)]
struct Gates {
    /// Opens when all are ready and the clock starts.
    start: StartLine<()>,
    /// Opens when the clock has stopped.
    settle: StartLine<()>,
}

impl Gates {
    /// Releases all children without work, including those that arrive later.
    fn cancel(&self) {
        self.start.cancel();
        self.settle.cancel();
    }
}

/// Message from a child, with its number.
type ChildMessage<T> = (usize, T);

impl StepSetup<'_> {
    /// Measures with all children.
    fn measure_threads(
        &self,
        step: crate::ObservedStep<'_>,
        buffers: &mut [Buffers],
        shared: &ChildrenState<'_>,
        context: &mut Context<'_>,
    ) -> Result<Together, ActError> {
        let count = self.files.len();
        let gates = Gates::default();
        let (ready, is_ready) = sync_channel(count);
        let (done, is_done) = sync_channel(count);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, buffers) in buffers.iter_mut().take(count).enumerate() {
                let (ready, done) = (ready.clone(), done.clone());
                let gates = &gates;
                let life = move || self.live(number, buffers, shared, gates, ready, done);
                match std::thread::Builder::new().spawn_scoped(scope, life) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        gates.cancel();
                        return Err(no_child(number, count, &error));
                    }
                }
            }
            // The channels must report when all children have ended.
            drop((ready, done));
            let came = self.conduct(step, shared, &gates, &is_ready, &is_done, context);
            gates.cancel();
            let settled = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(lost())));
            let settled: Result<Vec<()>, ActError> = settled.collect();
            let came = came?;
            settled.map(|_| came)
        })
    }

    /// Body of a child's thread.
    fn live(
        &self,
        number: usize,
        buffers: &mut Buffers,
        shared: &ChildrenState<'_>,
        gates: &Gates,
        ready: SyncSender<ChildMessage<Result<(), ActError>>>,
        done: SyncSender<ChildMessage<ChildResult>>,
    ) -> Result<(), ActError> {
        own_file_table();
        let (mut child, told) = match Child::ready(self.wanted(number), buffers, shared, number) {
            Ok(child) => (Some(child), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _ = ready.send((number, told));
        drop(ready);
        let goes = gates.start.wait().is_some();
        if let Some(child) = child.as_mut().filter(|_| goes) {
            let _ = done.send((number, child.measure(&mut |_| {})));
        }
        drop(done);
        let settles = gates.settle.wait().is_some();
        child.filter(|_| settles).map_or(Ok(()), Child::settle)
    }

    /// Starts the children together, collects their results, and waits for their end.
    fn conduct(
        &self,
        step: crate::ObservedStep<'_>,
        shared: &ChildrenState<'_>,
        gates: &Gates,
        is_ready: &Receiver<ChildMessage<Result<(), ActError>>>,
        is_done: &Receiver<ChildMessage<ChildResult>>,
        context: &mut Context<'_>,
    ) -> Result<Together, ActError> {
        let ready = is_ready.iter().take(self.files.len());
        let ready: Result<Vec<()>, ActError> = ready.map(|(_, word)| word).collect();
        if ready?.len() < self.files.len() {
            return Err(lost());
        }
        context.observer.clock_starts(step);
        let start = Instant::now();
        gates.start.open(());
        let words = self.follow(shared, is_done, context);
        let parent = start.elapsed();
        context.observer.clock_stopped();
        gates.settle.open(());
        if words.len() < self.files.len() {
            return Err(lost());
        }
        let children = words.into_iter().map(|(_, came)| came).collect();
        Ok(Together { children, parent })
    }

    /// Collects the results of the children.
    fn follow(
        &self,
        shared: &ChildrenState<'_>,
        is_done: &Receiver<ChildMessage<ChildResult>>,
        context: &mut Context<'_>,
    ) -> Vec<ChildMessage<ChildResult>> {
        let progress = self.progress();
        let mut words: Vec<ChildMessage<ChildResult>> = Vec::new();
        while words.len() < self.files.len() {
            match is_done.recv_timeout(EVERY) {
                Ok(word) => {
                    // If a child failed, the others stop as well.
                    if word.1.failure.is_some() {
                        shared.halt.store(true, Ordering::Relaxed);
                    }
                    words.push(word);
                }
                Err(RecvTimeoutError::Timeout) => progress.report_now(context, shared.moved()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        words.sort_by_key(|(number, _)| *number);
        words
    }
}

#[cold]
fn no_child(number: usize, count: usize, error: &io::Error) -> ActError {
    ActError::Failed {
        message: format!(
            "cannot start child {} of {count}: {error}; give a smaller -t or -u",
            number + 1
        ),
        errno: error.raw_os_error(),
    }
}

#[cold]
fn lost() -> ActError {
    ActError::failed("a child ended before it was done: this is a bug in assay, please report it")
}

/// Random generator MT19937-64 (Matsumoto and Nishimura, 2004), which iozone initializes
/// with the four numbers of the authors' example.
struct Twister {
    state: [u64; N],
    next: usize,
}

const N: usize = 312;
const M: usize = 156;
const KEY: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

impl Twister {
    fn seeded(seed: u64) -> Self {
        let mut state = [0; N];
        state[0] = seed;
        for i in 1..N {
            let before: u64 = state[i - 1];
            state[i] = 6_364_136_223_846_793_005_u64
                .wrapping_mul(before ^ (before >> 62))
                .wrapping_add(i as u64);
        }
        Self { state, next: N }
    }

    /// Initializes the state like `init_by_array64`.
    fn new() -> Self {
        let mut twister = Self::seeded(19_650_218);
        let state = &mut twister.state;
        let (mut i, mut j) = (1, 0);
        for _ in 0..N {
            let before = state[i - 1];
            let mixed = (before ^ (before >> 62)).wrapping_mul(3_935_559_000_370_003_845);
            state[i] = (state[i] ^ mixed)
                .wrapping_add(KEY[j])
                .wrapping_add(j as u64);
            i += 1;
            j = (j + 1) % KEY.len();
            if i >= N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        for _ in 1..N {
            let before = state[i - 1];
            let mixed = (before ^ (before >> 62)).wrapping_mul(2_862_933_555_777_941_757);
            state[i] = (state[i] ^ mixed).wrapping_sub(i as u64);
            i += 1;
            if i >= N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        state[0] = 1 << 63;
        twister
    }

    fn next(&mut self) -> u64 {
        if self.next >= N {
            self.refill();
        }
        let mut x = self.state[self.next];
        self.next += 1;
        x ^= (x >> 29) & 0x5555_5555_5555_5555;
        x ^= (x << 17) & 0x71d6_7fff_eda6_0000;
        x ^= (x << 37) & 0xfff7_eee0_0000_0000;
        x ^ (x >> 43)
    }

    fn refill(&mut self) {
        const UPPER: u64 = 0xffff_ffff_8000_0000;
        for i in 0..N {
            let x = (self.state[i] & UPPER) | (self.state[(i + 1) % N] & !UPPER);
            let odd = if x & 1 == 1 { 0xb502_6f5a_a966_19e9 } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (x >> 1) ^ odd;
        }
        self.next = 0;
    }
}

/// Returns each number below `records` once, in iozone's random order, which is the same
/// for every run (Fisher-Yates, from the end).
fn shuffled(records: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..records).collect();
    let mut twister = Twister::new();
    for i in (0..order.len()).rev() {
        let below = i as u64 + 1;
        let j = usize::try_from(twister.next() % below).unwrap_or(i);
        order.swap(i, j);
    }
    order
}

/// Order in which a test processes the records.
#[derive(Debug)]
enum RecordOrder {
    /// Ascending order.
    Forward,
    /// Descending order.
    Backward { records: u64 },
    /// Always the first record.
    Same,
    /// The listed order.
    Listed(Vec<u64>),
    /// Every `stride`-th record; near the end, restarts one record after the last start.
    Stride { records: u64, stride: u64 },
}

impl RecordOrder {
    /// Returns the order of a test; `sequential` applies to mixed reads and writes.
    fn of(test: Test, records: u64, stride: u64, sequential: bool) -> Self {
        match test {
            Test::RandomRead | Test::RandomWrite => Self::Listed(shuffled(records)),
            Test::Mixed if !sequential => Self::Listed(shuffled(records)),
            Test::BackwardRead => Self::Backward { records },
            Test::RecordRewrite => Self::Same,
            Test::StrideRead => Self::Stride { records, stride },
            _ => Self::Forward,
        }
    }

    /// Returns a cursor over the records of the I/Os.
    fn records(&self) -> OrderCursor<'_> {
        OrderCursor {
            order: self,
            count: 0,
            at: 0,
            start: 0,
        }
    }
}

/// Position in an order.
#[derive(Debug)]
struct OrderCursor<'a> {
    order: &'a RecordOrder,
    count: u64,
    at: u64,
    start: u64,
}

impl OrderCursor<'_> {
    /// Returns the next record.
    #[inline]
    fn next(&mut self) -> u64 {
        let count = self.count;
        self.count += 1;
        match self.order {
            RecordOrder::Forward => count,
            RecordOrder::Backward { records } => records.saturating_sub(count + 1),
            RecordOrder::Same => 0,
            RecordOrder::Listed(list) => usize::try_from(count)
                .ok()
                .and_then(|count| list.get(count).copied())
                .unwrap_or(0),
            RecordOrder::Stride { records, stride } => self.stride(*records, *stride),
        }
    }

    /// Returns the record and advances. iozone turns back if less than two records remain
    /// after the next, and does not move at all if a stride is as long as the file.
    fn stride(&mut self, records: u64, stride: u64) -> u64 {
        let now = self.at;
        let next = now.saturating_add(stride);
        self.at = if stride >= records {
            0
        } else if next.saturating_add(2) < records {
            next
        } else {
            self.start = (self.start + 1) % records;
            self.start
        };
        now
    }
}

#[cfg(test)]
mod tests;
