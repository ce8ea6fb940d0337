//! I/O of other processes, from `/proc/PID/io`.

use crate::attr;
use crate::roots::Roots;
use crate::snapshot::parse_io;
use assay_model::evidence::ProcessIo;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// `PF_KTHREAD` of `include/linux/sched.h`, in the flags of `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Bytes read and written by each process at one moment.
///
/// Reading another user's process needs root. Kernel threads are left out: their writeback was
/// accounted to the process that dirtied the data.
#[derive(Clone, Debug, Default)]
pub struct ProcessIoTable(HashMap<Process, Io>);

/// Identifies a process: its id alone may be reused, but not with the same start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Process {
    pid: u32,
    start_ticks: u64,
}

#[derive(Clone, Debug, Default)]
struct Io {
    name: String,
    read_bytes: u64,
    write_bytes: u64,
}

impl ProcessIoTable {
    /// Reads all processes except those in `own_pids`.
    pub fn take(roots: &Roots, own_pids: &[u32]) -> Self {
        let names = attr::entries(&roots.proc).into_iter();
        let pids = names
            .filter_map(|name| attr::numbered(&name, ""))
            .filter(|pid| !own_pids.contains(pid));
        Self(
            pids.filter_map(|pid| read(&roots.proc.join(pid.to_string()), pid))
                .collect(),
        )
    }
}

fn read(folder: &Path, pid: u32) -> Option<(Process, Io)> {
    let io = parse_io(&attr::whole(&folder.join("io")).ok()?)?;
    let stat = fs::read(folder.join("stat")).ok()?;
    let stat = parse_stat(&String::from_utf8_lossy(&stat))?;
    let process = Process {
        pid,
        start_ticks: stat.start_ticks,
    };
    (stat.flags & KERNEL_THREAD == 0).then(|| {
        let io = Io {
            name: stat.name,
            read_bytes: io.read_bytes,
            write_bytes: io.write_bytes,
        };
        (process, io)
    })
}

struct Stat {
    name: String,
    parent: u32,
    session: u32,
    flags: u64,
    start_ticks: u64,
}

/// Parses fields 2, 4, 6, 9 and 22 of proc_pid_stat(5). The name may contain brackets and blanks,
/// so the last bracket ends it.
fn parse_stat(text: &str) -> Option<Stat> {
    let (head, tail) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let after_name: Vec<&str> = tail.split_whitespace().collect();
    let field = |number: usize| after_name.get(number - 3)?.parse().ok();
    Some(Stat {
        name: name.to_owned(),
        parent: u32::try_from(field(4)?).ok()?,
        session: u32::try_from(field(6)?).ok()?,
        flags: field(9)?,
        start_ticks: field(22)?,
    })
}

/// `true` if this process leads its session, as after setsid(2). getsid(2) returns 0 if the leader
/// is in another PID namespace, as in a container.
pub fn leads_session(roots: &Roots) -> bool {
    let stat = fs::read(roots.proc.join("self/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat);
    let pid = stat
        .split_whitespace()
        .next()
        .and_then(|pid| pid.parse().ok());
    parse_stat(&stat).is_some_and(|stat| Some(stat.session) == pid)
}

/// Returns the direct and indirect children of a process, each after its parent.
pub fn descendants(roots: &Roots, pid: u32) -> Vec<u32> {
    let names = attr::entries(&roots.proc).into_iter();
    let parents: Vec<(u32, u32)> = names
        .filter_map(|name| attr::numbered(&name, ""))
        .filter_map(|pid| {
            let stat = fs::read(roots.proc.join(pid.to_string()).join("stat")).ok()?;
            Some((pid, parse_stat(&String::from_utf8_lossy(&stat))?.parent))
        })
        .collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = parents.iter().filter(|(_, of)| *of == parent);
        // The files are read one after the other, so two processes may each appear as the other's
        // parent.
        let new: Vec<u32> = children.map(|(pid, _)| *pid).collect();
        for pid in new {
            if !found.contains(&pid) {
                found.push(pid);
            }
        }
        at += 1;
    }
    found.split_off(1)
}

/// Returns the processes with the most I/O between two tables, busiest first, at most `limit`;
/// `None` if no other process could be read.
///
/// A process that started in between counts from its start. One that ended in between is missed
/// with all its I/O, since the kernel keeps no record of it.
pub fn busiest(
    before: &ProcessIoTable,
    after: &ProcessIoTable,
    limit: usize,
) -> Option<Vec<ProcessIo>> {
    if after.0.is_empty() {
        return None;
    }
    let mut all: Vec<ProcessIo> = after
        .0
        .iter()
        .map(|(process, io)| {
            let (read, written) = before
                .0
                .get(process)
                .map_or((0, 0), |io| (io.read_bytes, io.write_bytes));
            ProcessIo {
                pid: process.pid,
                name: io.name.clone(),
                read_bytes: io.read_bytes.saturating_sub(read),
                write_bytes: io.write_bytes.saturating_sub(written),
            }
        })
        .filter(|io| io.read_bytes > 0 || io.write_bytes > 0)
        .collect();
    all.sort_by_key(|io| {
        let total = io.read_bytes.saturating_add(io.write_bytes);
        (std::cmp::Reverse(total), io.pid)
    });
    all.truncate(limit);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    fn process(machine: &Machine, pid: u32, flags: u64, start: u64, io: (u64, u64)) {
        let rest = "0 ".repeat(12);
        machine.file(
            &format!("proc/{pid}/stat"),
            &format!("{pid} (a (b) c) S 1 1 1 0 -1 {flags} {rest}{start} 0 0"),
        );
        machine.file(
            &format!("proc/{pid}/io"),
            &format!(
                "rchar: 0\nread_bytes: {}\nwrite_bytes: {}\ncancelled_write_bytes: 0\n",
                io.0, io.1
            ),
        );
    }

    #[test]
    fn descendants_are_found_through_their_parents() {
        let machine = Machine::new();
        for (pid, parent) in [(3, 9), (5, 1), (7, 5), (9, 5), (11, 6), (13, 3), (5000, 13)] {
            let rest = "0 ".repeat(17);
            let stat = format!("{pid} (a) (b) S {parent} 1 1 0 -1 0 {rest}");
            machine.file(&format!("proc/{pid}/stat"), &stat);
        }
        let mut found = descendants(&machine.roots, 5);
        found.sort_unstable();
        assert_eq!(found, [3, 7, 9, 13, 5000]);
        assert!(descendants(&machine.roots, 11).is_empty());
    }

    #[test]
    fn a_leader_in_another_namespace_is_not_this_process() {
        let machine = Machine::new();
        let rest = "0 ".repeat(17);
        for (session, leads) in [(7, true), (0, false), (3, false)] {
            let stat = format!("7 (a) (b) S 1 7 {session} 0 -1 0 {rest}");
            machine.file("proc/self/stat", &stat);
            assert_eq!(leads_session(&machine.roots), leads, "{session}");
        }
    }

    #[test]
    fn only_what_was_done_in_between_counts() {
        let machine = Machine::new();
        process(&machine, 10, 0, 5, (1000, 1000));
        process(&machine, 11, 0, 5, (7, 7));
        process(&machine, 13, 0, 5, (900, 0));
        let before = ProcessIoTable::take(&machine.roots, &[]);
        process(&machine, 10, 0, 5, (1000, 5000));
        process(&machine, 12, 0, 90, (64, 0));
        process(&machine, 13, 0, 91, (100, 0));
        let after = ProcessIoTable::take(&machine.roots, &[]);
        let busiest = busiest(&before, &after, 8).unwrap();
        let seen: Vec<_> = busiest
            .iter()
            .map(|p| (p.pid, p.read_bytes, p.write_bytes))
            .collect();
        // 11 did nothing, 12 is new, 13 is a new process with an old id.
        assert_eq!(seen, [(10, 0, 4000), (13, 100, 0), (12, 64, 0)]);
        assert_eq!(busiest[0].name, "a (b) c");
    }

    #[test]
    fn own_processes_and_kernel_threads_are_left_out() {
        let machine = Machine::new();
        process(&machine, 20, 0, 1, (1, 1));
        process(&machine, 21, KERNEL_THREAD | 0x40, 1, (1, 1));
        process(&machine, 22, 0, 1, (5, 5));
        let none = ProcessIoTable::default();
        let table = ProcessIoTable::take(&machine.roots, &[20]);
        let pids: Vec<u32> = busiest(&none, &table, 8)
            .unwrap()
            .iter()
            .map(|p| p.pid)
            .collect();
        assert_eq!(pids, [22]);
    }

    #[test]
    fn the_list_is_cut_at_the_limit() {
        let machine = Machine::new();
        for pid in 1..=9 {
            process(&machine, pid, 0, 1, (u64::from(pid), 0));
        }
        let table = ProcessIoTable::take(&machine.roots, &[]);
        let list = busiest(&ProcessIoTable::default(), &table, 3).unwrap();
        assert_eq!(list.iter().map(|p| p.pid).collect::<Vec<_>>(), [9, 8, 7]);
    }

    #[test]
    fn no_readable_process_gives_none() {
        let machine = Machine::new();
        machine.file("proc/5/stat", "5 (hidden) S");
        let table = ProcessIoTable::take(&machine.roots, &[]);
        assert_eq!(busiest(&table, &table, 8), None);
    }
}
