//! Kernel traces: two private instances of the tracer, one for the system calls of a process tree,
//! one for a device and the page cache of its files. No code of assay is involved.

use super::{Claim, Direction};
use anyhow::{Context, Result, bail};
use assay_testkit::Mount;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Size of the buffer of one processor, in KiB; an event takes 50 to 100 bytes.
const BUFFER_KIB: &str = "32768";

const CALLS: [&str; 17] = [
    "read",
    "write",
    "pread64",
    "pwrite64",
    "readv",
    "writev",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "fsync",
    "fdatasync",
    "msync",
    "sync_file_range",
    "io_submit",
    "io_getevents",
    "io_pgetevents",
];
const RING: [&str; 2] = ["io_uring_submit_req", "io_uring_complete"];
const BLOCK: [&str; 3] = ["block_bio_queue", "block_rq_issue", "block_rq_complete"];
const PAGES: [&str; 5] = [
    "mm_filemap_add_to_page_cache",
    "mm_filemap_delete_from_page_cache",
    "mm_filemap_get_pages",
    "mm_filemap_fault",
    "mm_filemap_map_pages",
];

/// Time of the kernel's monotonic clock, in microseconds.
pub type Micros = u64;

/// Range of bytes of a file, or of 512-byte sectors of a device: start and length.
pub type Range = (u64, u64);

#[derive(Clone, Debug, PartialEq)]
pub struct SyscallEvent {
    pub at: Micros,
    pub thread: u32,
    /// Set if the thread is a worker of io_uring, whose number is not that of the submitting
    /// thread.
    pub is_ring_worker: bool,
    /// Device number of a request, for example `7,0`.
    pub device: Option<String>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Enter {
        call: String,
        first: u64,
        second: u64,
    },
    Exit {
        call: String,
        result: i64,
    },
    Submitted {
        request: String,
        code: String,
    },
    Completed {
        request: String,
        result: i64,
    },
    /// A bio was handed to the device.
    Queued {
        flags: String,
        sectors: Range,
    },
    /// A request was sent to the driver.
    Issued {
        flags: String,
        sectors: Range,
    },
    /// The driver completed the request.
    Done {
        flags: String,
        sectors: Range,
    },
    PageAdded {
        inode: u64,
        bytes: Range,
    },
    PageDropped {
        inode: u64,
        bytes: Range,
    },
    /// A buffered read found these pages or fetched them.
    PagesRead {
        inode: u64,
        bytes: Range,
    },
    /// A mapped page without an entry in the page table was touched.
    Fault {
        inode: u64,
        bytes: Range,
    },
    /// Cached pages around a fault were mapped.
    Mapped {
        inode: u64,
        bytes: Range,
    },
}

/// Two instances of the tracer, removed when dropped.
pub struct Tracer {
    calls: PathBuf,
    device: PathBuf,
    // Unmounted last.
    _mount: Mount,
}

impl Tracer {
    /// Mounts a private tracefs at `point`.
    pub fn new(point: &Path) -> Result<Self> {
        let mount = Mount::new(&["-t", "tracefs"], "tracefs", point)?;
        // The folder is new, so its name is unique.
        let own = point.parent().and_then(Path::file_name).unwrap_or_default();
        let instance = |name: &str| point.join(format!("instances/{}-{name}", own.display()));
        let tracer = Self {
            calls: instance("calls"),
            device: instance("device"),
            _mount: mount,
        };
        for folder in [&tracer.calls, &tracer.device] {
            fs::create_dir(folder).context("the kernel makes no instance of its tracer")?;
            put(folder, "tracing_on", "0")?;
            put(folder, "trace_clock", "mono")?;
            put(folder, "buffer_size_kb", BUFFER_KIB)?;
        }
        put(&tracer.calls, "options/event-fork", "1")?;
        for call in CALLS {
            for side in ["enter", "exit"] {
                put(
                    &tracer.calls,
                    &format!("events/syscalls/sys_{side}_{call}/enable"),
                    "1",
                )?;
            }
        }
        for event in RING {
            let path = format!("events/io_uring/{event}/enable");
            // The first event has another name before Linux 6.4.
            if tracer.calls.join(&path).exists() {
                put(&tracer.calls, &path, "1")?;
            }
        }
        Ok(tracer)
    }

    /// Records events of the devices, of pages of files whose file system has the number `files`,
    /// and of pages of the devices themselves.
    pub fn listen(&self, devices: &[u64], files: u64) -> Result<()> {
        let any = |field: &str| {
            let terms: Vec<String> = devices
                .iter()
                .map(|device| format!("{field} == {device}"))
                .collect();
            terms.join(" || ")
        };
        let filters = [
            ("block", BLOCK.as_slice(), any("dev")),
            (
                "filemap",
                PAGES.as_slice(),
                // The inode of a block device has the device's number.
                format!("s_dev == {files} || {}", any("i_ino")),
            ),
        ];
        for (system, events, filter) in filters {
            for event in events {
                let folder = format!("events/{system}/{event}");
                put(&self.device, &format!("{folder}/filter"), &filter)?;
                put(&self.device, &format!("{folder}/enable"), "1")?;
            }
        }
        Ok(())
    }

    /// Records the requests of all devices.
    pub fn listen_to_all(&self) -> Result<()> {
        let events = BLOCK.iter();
        let mut enabled = events.map(|event| format!("events/block/{event}/enable"));
        enabled.try_for_each(|path| put(&self.device, &path, "1"))
    }

    /// Clears the buffers and starts recording the device. The calls start with [`Self::traced`].
    pub fn begin(&self) -> Result<()> {
        for folder in [&self.calls, &self.device] {
            put(folder, "tracing_on", "0")?;
            put(folder, "trace", "")?;
        }
        put(&self.calls, "set_event_pid", "")?;
        put(&self.device, "tracing_on", "1")
    }

    /// Returns the command; its calls and those of its children are recorded.
    pub fn traced(&self, program: &Path, words: &[String]) -> Command {
        const SCRIPT: &str =
            r#"echo $$ > "$1/set_event_pid"; echo 1 > "$1/tracing_on"; shift; exec "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh"]);
        command.arg(&self.calls).arg(program).args(words);
        command
    }

    /// Ends the trace and returns all events since its start: those of the process tree, and those
    /// of the device. Copies the kernel's text to the folder `keep`.
    pub fn end(&self, keep: Option<&Path>) -> Result<(Vec<SyscallEvent>, Vec<SyscallEvent>)> {
        let read = |folder: &Path, name: &str| {
            put(folder, "tracing_on", "0")?;
            complete(folder)?;
            let text = fs::read(folder.join("trace")).context("the trace cannot be read")?;
            if let Some(keep) = keep {
                fs::write(keep.join(name), &text).context("the trace cannot be kept")?;
            }
            Ok::<_, anyhow::Error>(events(&String::from_utf8_lossy(&text)))
        };
        Ok((read(&self.calls, "calls")?, read(&self.device, "device")?))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        for folder in [&self.calls, &self.device] {
            if let Err(error) = fs::remove_dir(folder) {
                eprintln!("xtask: {} stays: {error}", folder.display());
            }
        }
    }
}

fn put(folder: &Path, file: &str, value: &str) -> Result<()> {
    let path = folder.join(file);
    fs::write(&path, value).with_context(|| format!("cannot write {value:?} to {}", path.display()))
}

/// Returns an error if the tracer lost events: an incomplete trace proves nothing.
fn complete(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder.join("per_cpu"))? {
        let stats = fs::read_to_string(entry?.path().join("stats"))?;
        for line in stats.lines() {
            let lost = ["overrun: ", "dropped events: "]
                .iter()
                .find_map(|name| line.strip_prefix(name));
            if lost.is_some_and(|count| count.trim() != "0") {
                bail!("the tracer lost events ({line})");
            }
        }
    }
    Ok(())
}

/// Parses the text of a trace; skips other lines.
pub fn events(text: &str) -> Vec<SyscallEvent> {
    text.lines().filter_map(event).collect()
}

/// Parses ` fio-2346    [001] .....   867.706261: NAME: DETAILS`. The name of a thread may contain
/// spaces.
fn event(line: &str) -> Option<SyscallEvent> {
    let processor = (0..line.len()).find(|&at| {
        let rest = line.get(at..).unwrap_or_default();
        rest.starts_with(" [") && rest.get(5..7) == Some("] ")
    })?;
    let (name, thread) = line[..processor].trim().rsplit_once('-')?;
    let mut words = line[processor + 7..].splitn(2, ' ');
    let _states = words.next()?;
    let (at, rest) = words.next()?.trim_start().split_once(": ")?;
    let (seconds, micros) = at.split_once('.')?;
    Some(SyscallEvent {
        at: seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?,
        thread: thread.parse().ok()?,
        is_ring_worker: name.starts_with("iou-wrk-"),
        device: rest
            .strip_prefix("block_")
            .and_then(|rest| rest.split(' ').nth(1))
            .map(str::to_owned),
        what: what(rest)?,
    })
}

fn what(rest: &str) -> Option<What> {
    if let Some(rest) = rest.strip_prefix("sys_") {
        return system_call(rest);
    }
    let (name, details) = rest.split_once(": ")?;
    if name.starts_with("block_") {
        return block(name, details);
    }
    if let Some(name) = name.strip_prefix("mm_filemap_") {
        return page(name, details);
    }
    let request = value(details, "req ")?.to_owned();
    match name {
        "io_uring_submit_req" => Some(What::Submitted {
            request,
            code: value(details, "opcode ")?.to_owned(),
        }),
        "io_uring_complete" => Some(What::Completed {
            request,
            result: value(details, "result ")?.parse().ok()?,
        }),
        _ => None,
    }
}

/// Parses `pwrite64(fd: 6, buf: 0x7f36, count: 0x10000, pos: 0)` or `pwrite64 -> 0x10000`.
fn system_call(text: &str) -> Option<What> {
    if let Some((call, result)) = text.split_once(" -> ") {
        // Errors are printed as the 64 bits of a negative number.
        let result = i64::from_ne_bytes(number(result.trim())?.to_ne_bytes());
        let call = call.to_owned();
        return Some(What::Exit { call, result });
    }
    let (call, operands) = text.split_once('(')?;
    let mut values = operands
        .trim_end_matches(')')
        .split(", ")
        .filter_map(|operand| number(operand.split(": ").nth(1)?));
    Some(What::Enter {
        call: call.to_owned(),
        first: values.next()?,
        second: values.next().unwrap_or(0),
    })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses `7,0 WS 524288 () 32770 + 1024 be,0,4 [fio]`; a bio has no bytes and parentheses.
fn block(name: &str, details: &str) -> Option<What> {
    let words: Vec<&str> = details.split(' ').collect();
    let plus = words.iter().position(|word| *word == "+")?;
    let sectors = (
        words.get(plus.checked_sub(1)?)?.parse().ok()?,
        words.get(plus + 1)?.parse().ok()?,
    );
    let flags = (*words.get(1)?).to_owned();
    match name {
        "block_bio_queue" => Some(What::Queued { flags, sectors }),
        "block_rq_issue" => Some(What::Issued { flags, sectors }),
        "block_rq_complete" => Some(What::Done { flags, sectors }),
        _ => None,
    }
}

/// Parses `dev 7:0 ino c pfn=0x450580 ofs=0 order=4` or `dev=7:0 ino=c ofs=0-4095`.
fn page(name: &str, details: &str) -> Option<What> {
    const PAGE: u64 = 4096;
    let inode = value(details, "ino ").or_else(|| value(details, "ino="))?;
    let inode = u64::from_str_radix(inode, 16).ok()?;
    let place = value(details, "ofs=")?;
    let (first, last) = place.split_once('-').unwrap_or((place, ""));
    let first: u64 = first.parse().ok()?;
    let length = match last.parse::<u64>() {
        Ok(last) => (last + 1).saturating_sub(first),
        Err(_) => {
            PAGE << value(details, "order=")
                .map_or(Ok(0), str::parse::<u32>)
                .ok()?
        }
    };
    let bytes = (first, length);
    match name {
        "add_to_page_cache" => Some(What::PageAdded { inode, bytes }),
        "delete_from_page_cache" => Some(What::PageDropped { inode, bytes }),
        "get_pages" => Some(What::PagesRead { inode, bytes }),
        "fault" => Some(What::Fault { inode, bytes }),
        "map_pages" => Some(What::Mapped { inode, bytes }),
        _ => None,
    }
}

/// Returns the word after `key`.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let at = text.find(key)? + key.len();
    text[at..].split([' ', ',']).next()
}

/// Difference from the claim's time up to which calls count as an equally good match, in
/// microseconds.
const NEAR: Micros = 20_000;
/// Longest time from the last I/O to a flush that counts as the job's, in microseconds.
const FLUSH_WITHIN: Micros = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    Read,
    Write,
    Flush,
    /// I/O of libaio; its calls do not show the direction.
    Either,
}

/// One I/O, from its submission to its completion.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub thread: u32,
    /// Descriptor; `None` if the calls do not show it.
    pub file: Option<u64>,
    pub kind: OperationKind,
    pub begin: Micros,
    pub end: Micros,
    /// Bytes moved; `None` if the calls do not show them.
    pub bytes: Option<u64>,
}

/// Returns all operations, ordered by their ends.
pub fn operations(calls: &[SyscallEvent]) -> Vec<Operation> {
    let mut under_way: HashMap<u32, (String, u64, u64, Micros)> = HashMap::new();
    let mut requests: HashMap<&str, (OperationKind, u32, Micros)> = HashMap::new();
    // I/Os of libaio that no call has reaped, and the end of the thread's latest call.
    let mut queued: BTreeMap<u32, (VecDeque<Micros>, Micros)> = BTreeMap::new();
    let mut found = Vec::new();
    for event in calls {
        let (thread, end) = (event.thread, event.at);
        match &event.what {
            What::Enter {
                call,
                first,
                second,
            } => {
                under_way.insert(thread, (call.clone(), *first, *second, end));
            }
            What::Exit { call, result } => {
                let Some((entered, first, _, begin)) = under_way.remove(&thread) else {
                    continue;
                };
                if entered != *call || *result < 0 {
                    continue;
                }
                let count = u64::try_from(*result).unwrap_or(0);
                let mut done = |kind, begin, bytes| {
                    let file = (kind != OperationKind::Either).then_some(first);
                    found.push(Operation {
                        thread,
                        file,
                        kind,
                        begin,
                        end,
                        bytes,
                    });
                };
                match call.as_str() {
                    "io_submit" => {
                        let (queue, latest) = queued.entry(thread).or_default();
                        queue.extend((0..count).map(|_| begin));
                        *latest = end;
                    }
                    "io_getevents" | "io_pgetevents" => {
                        let (queue, latest) = queued.entry(thread).or_default();
                        *latest = end;
                        for begin in (0..count).map_while(|_| queue.pop_front()) {
                            done(OperationKind::Either, begin, None);
                        }
                    }
                    "fsync" | "fdatasync" | "msync" | "sync_file_range" => {
                        done(OperationKind::Flush, begin, Some(0));
                    }
                    call if call.contains("read") => done(OperationKind::Read, begin, Some(count)),
                    _ => done(OperationKind::Write, begin, Some(count)),
                }
            }
            What::Submitted { request, code } => {
                let kind = match code.as_str() {
                    code if code.starts_with("READ") => OperationKind::Read,
                    code if code.starts_with("WRITE") => OperationKind::Write,
                    "FSYNC" => OperationKind::Flush,
                    _ => continue,
                };
                requests.insert(request, (kind, thread, end));
            }
            What::Completed { request, result } => {
                let Some((kind, thread, begin)) = requests.remove(request.as_str()) else {
                    continue;
                };
                let bytes = Some(u64::try_from(*result).unwrap_or(0));
                found.push(Operation {
                    thread,
                    file: None,
                    kind,
                    begin,
                    end,
                    bytes,
                });
            }
            _ => {}
        }
    }
    // The process reaps these from the ring that it shares with the kernel, without a call.
    for (thread, (begins, end)) in queued {
        found.extend(begins.into_iter().map(|begin| Operation {
            thread,
            file: None,
            kind: OperationKind::Either,
            begin,
            end,
            bytes: None,
        }));
    }
    found.sort_by_key(|operation| operation.end);
    found
}

/// Operations that a claim covers, and the measured time.
#[derive(Debug)]
pub struct MeasuredPhase {
    pub operations: Vec<Operation>,
    pub threads: Vec<u32>,
    pub start: Micros,
    pub stop: Micros,
}

impl MeasuredPhase {
    /// Finds consecutive I/Os of one thread on one descriptor that have the claim's number,
    /// bytes and time. The clock stops at the end of the last I/O or, in a job with flushes, of
    /// a flush after it, whichever fits the claim's time better.
    pub fn of(claim: &Claim, all: &[Operation], flushes: bool) -> Option<Self> {
        let of_thread = Self::among(claim, all, flushes, |one| (one.thread, one.file));
        // An engine with several threads spreads the I/Os of a job over them.
        of_thread.or_else(|| Self::among(claim, all, flushes, |one| (0, one.file)))
    }

    fn among(
        claim: &Claim,
        all: &[Operation],
        flushes: bool,
        group: impl Fn(&Operation) -> (u32, Option<u64>),
    ) -> Option<Self> {
        let mut groups: BTreeMap<(u32, Option<u64>), Vec<&Operation>> = BTreeMap::new();
        let wanted = match claim.direction {
            Direction::Read => OperationKind::Read,
            Direction::Write => OperationKind::Write,
        };
        for operation in all {
            if [wanted, OperationKind::Either].contains(&operation.kind) {
                groups.entry(group(operation)).or_default().push(operation);
            }
        }
        let phases = groups.values().flat_map(|group| rows(claim, group));
        let phases = phases.map(|row| Self::timed(claim, row, all, flushes));
        // Preparation of a file comes before the job and may look like it: prefer the latest
        // match.
        phases.min_by_key(|phase| {
            let misfit = phase.misfit(claim);
            (misfit.saturating_sub(NEAR), Reverse(phase.start))
        })
    }

    fn timed(claim: &Claim, row: &[&Operation], all: &[Operation], flushes: bool) -> Self {
        let start = row.iter().map(|one| one.begin).min().unwrap_or(0);
        let last = row.iter().map(|one| one.end).max().unwrap_or(0);
        let mut threads: Vec<u32> = row.iter().map(|one| one.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let claimed = start + claim.micros;
        // In a job with both directions, the last I/O may have the other direction.
        let is_own = |one: &&Operation| match one.kind {
            OperationKind::Flush => flushes,
            _ => threads.contains(&one.thread),
        };
        let begins = start..=last + FLUSH_WITHIN;
        let ends = all
            .iter()
            .filter(|one| begins.contains(&one.begin) && one.end >= last)
            .filter(is_own)
            .map(|one| one.end);
        let stop = ends.min_by_key(|end| end.abs_diff(claimed)).unwrap_or(last);
        Self {
            operations: row.iter().map(|one| (*one).clone()).collect(),
            threads,
            start,
            stop,
        }
    }

    /// Microseconds by which the phase and the claim's time differ.
    pub fn misfit(&self, claim: &Claim) -> u64 {
        (self.stop - self.start).abs_diff(claim.micros)
    }

    /// Returns the phase of a mapped file, which has no calls: from the first touch of a page.
    pub fn of_touches(claim: &Claim, device: &[SyscallEvent], inode: u64) -> Option<Self> {
        let first = device.iter().find(|event| {
            let touched = match event.what {
                What::Fault { inode, .. } | What::Mapped { inode, .. } => inode,
                _ => return false,
            };
            touched == inode
        })?;
        Some(Self {
            operations: Vec::new(),
            threads: vec![first.thread],
            start: first.at,
            stop: first.at + claim.micros,
        })
    }
}

/// Returns consecutive I/Os of a group with the claim's count and bytes.
fn rows<'g>(claim: &Claim, group: &'g [&'g Operation]) -> Vec<&'g [&'g Operation]> {
    let Ok(count) = usize::try_from(claim.ios) else {
        return Vec::new();
    };
    let fits = |row: &&[&Operation]| {
        let bytes: Option<u64> = row.iter().map(|one| one.bytes).sum();
        bytes.is_none_or(|bytes| bytes == claim.bytes)
    };
    group.windows(count).filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let text = "\
# tracer: nop
 opt 3s54km-24-2434    [001] .....   867.706261: sys_pwrite64(fd: 6, buf: 0x7f36dc000d90, count: 0x10000, pos: 0)
             fio-2346    [001] .....   867.706307: sys_pwrite64 -> 0x10000
             fio-2346    [001] .....   867.706308: sys_read -> 0xfffffffffffffff4
    kworker/1:0H-24      [001] .....   867.716180: block_rq_issue: 7,0 FF 0 () 0 + 0 none,0,0 [kworker/1:0H]
     ksoftirqd/1-22      [001] ..s..   867.706987: block_rq_complete: 7,0 WS () 32770 + 1024 be,0,4 [0]
             fio-2414    [001] .....   869.997174: block_bio_queue: 7,0 RA 33794 + 8 [fio]
    iou-wrk-2414-2415    [001] .....   870.000001: mm_filemap_add_to_page_cache: dev 7:0 ino c pfn=0x450580 ofs=65536 order=4
             fio-2414    [001] .....   870.000002: mm_filemap_get_pages: dev=7:0 ino=c ofs=0-8191
             fio-2414    [001] .....   870.000003: mm_filemap_fault: dev=7:0 ino=c ofs=4096
             fio-2414    [001] .....   869.997344: io_uring_submit_req: ring 0000, req 00005c34, user_data 0x7f92, opcode READ, flags 0x40, sq_thread 0
             fio-2414    [001] .....   870.010714: io_uring_complete: ring 0000, req 00005c34, user_data 0x7f92, result 65536, cflags 0x0 extra1 0 extra2 0 ";
        let found = events(text);
        assert_eq!(found.len(), 11);
        assert_eq!((found[0].at, found[0].thread), (867_706_261, 2434));
        let call = "pwrite64".to_owned();
        let (first, second) = (6, 0x7f36_dc00_0d90);
        assert_eq!(
            found[0].what,
            What::Enter {
                call,
                first,
                second
            }
        );
        let call = "read".to_owned();
        assert_eq!(found[2].what, What::Exit { call, result: -12 });
        let (flags, sectors) = ("FF".to_owned(), (0, 0));
        assert_eq!(found[3].what, What::Issued { flags, sectors });
        let (flags, sectors) = ("WS".to_owned(), (32770, 1024));
        assert_eq!(found[4].what, What::Done { flags, sectors });
        assert!(found[6].is_ring_worker);
        let bytes = (65536, 65536);
        assert_eq!(found[6].what, What::PageAdded { inode: 12, bytes });
        let bytes = (0, 8192);
        assert_eq!(found[7].what, What::PagesRead { inode: 12, bytes });
        let bytes = (4096, 4096);
        assert_eq!(found[8].what, What::Fault { inode: 12, bytes });
        let (request, result) = ("00005c34".to_owned(), 65536);
        assert_eq!(found[10].what, What::Completed { request, result });
    }

    #[test]
    fn calls_of_one_thread_become_its_operations() {
        let text = "\
 a-7 [000] ..... 1.000010: sys_pwrite64(fd: 6, buf: 0x7, count: 0x1000, pos: 0)
 b-8 [001] ..... 1.000015: sys_io_submit(ctx_id: 0x7, nr: 2, iocbpp: 0x7)
 a-7 [000] ..... 1.000020: sys_pwrite64 -> 0x1000
 a-7 [000] ..... 1.000030: sys_fdatasync(fd: 6)
 b-8 [001] ..... 1.000035: sys_io_submit -> 0x2
 b-8 [001] ..... 1.000036: sys_io_getevents(ctx_id: 0x7, min_nr: 1, nr: 2, events: 0x7, timeout: 0)
 b-8 [001] ..... 1.000040: sys_io_getevents -> 0x1
 a-7 [000] ..... 1.000050: sys_fdatasync -> 0x0";
        let found = operations(&events(text));
        let short: Vec<_> = found
            .iter()
            .map(|one| (one.kind, one.begin, one.end))
            .collect();
        let at = |micros: u64| 1_000_000 + micros;
        assert_eq!(
            short,
            [
                (OperationKind::Write, at(10), at(20)),
                (OperationKind::Either, at(15), at(40)),
                (OperationKind::Either, at(15), at(40)),
                (OperationKind::Flush, at(30), at(50)),
            ]
        );
        assert_eq!(found[0].bytes, Some(4096));
    }
}
