//! Ground truth of a figure: the labels that are right according to the kernel's events.

use super::trace::{MeasuredPhase, Micros, Operation, Range, SyscallEvent, What};
use super::{Claim, Direction};
use std::collections::HashMap;

/// Smallest share for the label of the device, and largest for that of the page cache
/// (docs/evidence.md).
const DEVICE: f64 = 0.95;
const CACHE: f64 = 0.05;
/// Distance from a limit within which both labels are right, because the clocks of the trace and of
/// the job differ.
const NEAR: f64 = 0.015;
/// Difference in time within which events may come in either order, in microseconds.
const SLACK: Micros = 5;
/// Bytes that a file system may write besides the file if the sectors of the file are unknown.
const METADATA: u64 = 64 << 10;
const SECTOR: u64 = 512;
const PAGE: u64 = 4096;

/// Facts about the storage and the job; none of them comes from assay.
pub struct Scene<'a> {
    pub device: &'a [SyscallEvent],
    /// Inode of the file; `None`: any file of the file system.
    pub inode: Option<u64>,
    /// Sectors of the file; `None`: all requests except metadata.
    pub extents: Option<Vec<Range>>,
    pub is_volatile: bool,
    pub is_memory: bool,
    /// Set if a program serves the file, so that pages and requests belong to different files.
    pub has_program: bool,
    pub is_direct: bool,
    pub is_random: bool,
    pub is_mapped: bool,
    /// Set if another process used the file or the device.
    pub has_neighbour: bool,
}

/// Labels that are right.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    pub label: Vec<&'static str>,
    /// Correct labels of the latency; empty if it is not checked.
    pub latency: Vec<&'static str>,
    pub share: f64,
}

pub fn truth(claim: &Claim, phase: &MeasuredPhase, scene: &Scene<'_>) -> Truth {
    if scene.is_memory {
        let label = vec!["page-cache"];
        return Truth {
            latency: label.clone(),
            label,
            share: 0.0,
        };
    }
    match claim.direction {
        Direction::Read => {
            let share = scene.read_share(claim, phase);
            Truth {
                label: by_share(share, &["device"]),
                latency: Vec::new(),
                share,
            }
        }
        Direction::Write => {
            let (share, left) = scene.write_share(claim, phase);
            let is_safe = left == 0.0 && scene.is_durable(phase);
            let safe: &[_] = match is_safe {
                true => &["device"],
                // A tail of less than a thousandth may come from a difference of the clocks.
                false if left > 0.0 && left < 0.001 => &["device", "device-unflushed"],
                false => &["device-unflushed"],
            };
            Truth {
                label: by_share(share, safe),
                latency: scene.write_latency(phase),
                share,
            }
        }
    }
}

/// Returns the labels of a share; `reached` are the labels for a share near 1.
pub fn by_share(share: f64, reached: &[&'static str]) -> Vec<&'static str> {
    let mut labels = Vec::new();
    if share >= DEVICE - NEAR {
        labels.extend(reached);
    }
    if share > CACHE - NEAR && share < DEVICE + NEAR {
        labels.push("mixed");
    }
    if share <= CACHE + NEAR {
        labels.push("page-cache");
    }
    // Two labels are right only near a limit.
    if share >= DEVICE + NEAR {
        labels.retain(|label| *label != "mixed");
    }
    labels
}

impl Scene<'_> {
    /// Share of the bytes of a read that the device moved for the job.
    fn read_share(&self, claim: &Claim, phase: &MeasuredPhase) -> f64 {
        let within = |event: &&SyscallEvent| {
            event.at + SLACK >= phase.start && event.at <= phase.stop + SLACK
        };
        let events = || self.device.iter().filter(within);
        if self.is_direct && self.has_neighbour {
            let own = |event: &&SyscallEvent| {
                event.is_ring_worker || phase.threads.contains(&event.thread)
            };
            let bytes: u64 = events()
                .filter(own)
                .map(|event| self.queued(event, 'R'))
                .sum();
            return share(bytes, claim.bytes);
        }
        let moved: u64 = events().map(|event| self.done(event, 'R')).sum();
        if self.is_direct || self.has_program {
            return share(moved, claim.bytes);
        }
        let fetched = self.pages(phase).device;
        share(fetched.min(moved), claim.bytes)
    }

    /// Counts the pages that the job read by their source. A page counts as the device's at its
    /// first use after it was fetched within the measured time.
    fn pages(&self, phase: &MeasuredPhase) -> Pages {
        let mut cache: HashMap<(u64, u64), bool> = HashMap::new();
        let mut pages = Pages::default();
        let mut last_read: HashMap<u32, (u64, u64)> = HashMap::new();
        for event in self.device {
            if event.at > phase.stop + SLACK {
                break;
            }
            let is_timed = event.at + SLACK >= phase.start;
            match event.what {
                What::PageAdded { inode, bytes } if self.is_of(inode) => {
                    for page in numbers(bytes) {
                        // The event of a fault precedes the fetch of its page.
                        let is_used = cache.get(&(inode, page)) == Some(&false);
                        cache.insert((inode, page), is_timed && !is_used);
                        pages.fetched += if is_timed { PAGE } else { 0 };
                    }
                }
                What::PageDropped { inode, bytes } if self.is_of(inode) => {
                    for page in numbers(bytes) {
                        cache.remove(&(inode, page));
                    }
                }
                What::PagesRead { inode, bytes } if is_timed && self.is_of(inode) => {
                    let (first, end) = (bytes.0, bytes.0 + bytes.1);
                    // The rest of a read whose first pages were already counted.
                    let before = last_read.insert(event.thread, (first, end));
                    if before.is_some_and(|(begun, until)| until == end && begun < first) {
                        continue;
                    }
                    for page in numbers(bytes) {
                        pages.used(cache.insert((inode, page), false));
                    }
                }
                What::Fault { inode, bytes } if is_timed && self.is_of(inode) => {
                    for page in numbers(bytes) {
                        pages.used(cache.insert((inode, page), false));
                    }
                }
                _ => {}
            }
        }
        if self.is_mapped && !self.is_random {
            // Mapped pages around a fault are used without a further event.
            pages.device = pages.fetched;
        }
        pages
    }

    /// Returns the share of a write's bytes that had reached the device when the clock stopped, and
    /// the share that reached it later.
    fn write_share(&self, claim: &Claim, phase: &MeasuredPhase) -> (f64, f64) {
        let (mut reached, mut later) = (0, 0);
        for event in self.device.iter().filter(|event| event.at >= phase.start) {
            if self.is_direct && self.has_neighbour {
                let is_own = event.is_ring_worker || phase.threads.contains(&event.thread);
                reached += if is_own { self.queued(event, 'W') } else { 0 };
                continue;
            }
            let bytes = self.done(event, 'W');
            if event.at <= phase.stop + SLACK {
                reached += bytes;
            } else {
                later += bytes;
            }
        }
        if self.extents.is_none() {
            // Not all metadata requests are flagged as such.
            later -= METADATA.min(later);
        }
        let later = later.min(claim.bytes);
        (
            share(reached.min(claim.bytes - later), claim.bytes),
            share(later, claim.bytes),
        )
    }

    /// Returns true if the device completed a flush, issued after the last write that reached it,
    /// before the clock stopped, or if it cannot lose data.
    fn is_durable(&self, phase: &MeasuredPhase) -> bool {
        if !self.is_volatile {
            return true;
        }
        let timed = || {
            let within =
                |event: &&SyscallEvent| event.at >= phase.start && event.at <= phase.stop + SLACK;
            self.device.iter().filter(within)
        };
        // Writes of a neighbour need no flush.
        let is_data = |event: &&SyscallEvent| match self.is_direct && self.has_neighbour {
            true => phase.threads.contains(&event.thread) && self.queued(event, 'W') > 0,
            false => self.done(event, 'W') > 0,
        };
        let last = timed().filter(is_data).map(|event| event.at).max();
        let is_flush = |flags: &str| flags.starts_with("FF");
        let mut issued = None;
        for event in timed().filter(|event| last.is_none_or(|last| event.at >= last)) {
            match &event.what {
                What::Issued { flags, .. } if is_flush(flags) => issued = Some(event.at),
                What::Done { flags, .. } if is_flush(flags) && issued.is_some() => return true,
                _ => {}
            }
        }
        false
    }

    /// Returns the labels of a write's latency, by the share of writes whose data was on the device
    /// when the call returned.
    fn write_latency(&self, phase: &MeasuredPhase) -> Vec<&'static str> {
        let all = phase.operations.len();
        if all == 0 || self.has_program {
            return Vec::new();
        }
        let done: Vec<(Micros, u64)> = self
            .device
            .iter()
            .map(|event| (event.at, self.done(event, 'W')))
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        let reached = |one: &&Operation| {
            let from = done.partition_point(|(at, _)| *at < one.begin);
            let mut within = done[from..]
                .iter()
                .take_while(|(at, _)| *at <= one.end + SLACK);
            within.next().is_some()
        };
        let count = phase.operations.iter().filter(reached).count();
        by_share(
            share(count as u64, all as u64),
            &["device", "device-unflushed"],
        )
    }

    fn is_of(&self, inode: u64) -> bool {
        self.inode.is_none_or(|own| own == inode)
    }

    fn done(&self, event: &SyscallEvent, direction: char) -> u64 {
        match &event.what {
            What::Done { flags, sectors } => self.of_file(flags, *sectors, direction),
            _ => 0,
        }
    }

    fn queued(&self, event: &SyscallEvent, direction: char) -> u64 {
        match &event.what {
            What::Queued { flags, sectors } => self.of_file(flags, *sectors, direction),
            _ => 0,
        }
    }

    /// Bytes of a request that belong to the file.
    fn of_file(&self, flags: &str, (first, count): Range, direction: char) -> u64 {
        // A leading F requests a flush before the data.
        if !flags.trim_start_matches('F').starts_with(direction) {
            return 0;
        }
        let sectors = match &self.extents {
            None if flags.contains('M') => 0,
            None => count,
            Some(extents) => extents
                .iter()
                .map(|(begin, length)| {
                    let end = (first + count).min(begin + length);
                    end.saturating_sub(first.max(*begin))
                })
                .sum(),
        };
        sectors * SECTOR
    }
}

/// Bytes of pages that were used from the device, and that were fetched.
#[derive(Default)]
struct Pages {
    device: u64,
    fetched: u64,
}

impl Pages {
    /// Counts the use of a page. `is_fresh` is its previous state: `Some(false)` if it was used
    /// before.
    fn used(&mut self, is_fresh: Option<bool>) {
        if is_fresh != Some(false) {
            self.device += PAGE;
        }
    }
}

fn numbers((first, length): Range) -> std::ops::Range<u64> {
    first / PAGE..(first + length).div_ceil(PAGE)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (part as f64 / whole as f64).min(1.0)
}
