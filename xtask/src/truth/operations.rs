//! Reads, writes and flushes of a process tree, derived from its system calls.

use super::claim::{Claim, Direction};
use super::trace::{Micros, SyscallEvent, What};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

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
    use crate::truth::trace::events;

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
