//! Simulated devices: a model of a device instead of the kernel, and a clock that only
//! advances when an operation takes time.
//!
//! Each stream has a separate device, which is idle and empty when its clock starts.

use crate::EngineError;
use crate::engines::{Completion, IoEngine, IoUnit, OpenFile, QueueStatus};
use crate::sys::Clock;
use assay_flash::device::{Device, Simulation};
use assay_flash::experiment::{Timed, io};
use assay_flash::{BLOCK_BYTES, Picos};
use assay_model::job::{Direction, FlushCall, OpenSync};
use assay_model::load::{Ddir, Load, Stream};
use assay_model::storage::{
    Backing, DeviceIdentity, DeviceKind, Layer, LayerRole, Storage, simulated,
};
use assay_model::units::Bytes;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum length of a part file, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Returns the simulation that a path selects; `None` for a real path.
fn find(path: &Path) -> Option<Result<Simulation, String>> {
    let words = simulated(path)?;
    let read = |name: &str| {
        let mut text = String::new();
        // Opening a pipe would block until another process writes to it.
        if !std::fs::metadata(name)?.is_file() {
            return Err(std::io::Error::other("it is no file"));
        }
        File::open(name)?
            .take(MOST_BYTES)
            .read_to_string(&mut text)?;
        Ok(text)
    };
    Some(Simulation::parse(words, read).map_err(|error| error.to_string()))
}

/// Returns the storage that a simulated path selects. It contains the complete part, so
/// that the simulation can be repeated.
///
/// # Errors
/// If the path selects no simulated device, or its part cannot be read.
pub fn storage(path: &Path) -> Result<Storage, String> {
    let Simulation { part, policy } =
        find(path).unwrap_or_else(|| Err("it is no simulated device".to_owned()))?;
    let size = Some(Bytes::gib(part.size_gib));
    let raw = [
        ("bus", part.bus.clone()),
        ("part", part.to_toml()),
        ("policy", policy.to_string()),
    ];
    let identity = DeviceIdentity {
        kind: DeviceKind::Simulated,
        model: Some(part.name.clone()),
        firmware: part.firmware.clone(),
        bus: Some(format!("{}, {policy}", part.bus)),
        raw: raw.map(|(name, text)| (name.to_owned(), text)).into(),
        ..DeviceIdentity::default()
    };
    Ok(Storage {
        backing: Backing::Simulated {
            part: part.name.clone(),
        },
        layers: vec![Layer {
            name: part.name,
            major: 0,
            minor: 0,
            role: LayerRole::Top,
            parent: None,
            other_parents: Vec::new(),
            size,
            backing_file: None,
            identity,
        }],
        total: size,
        ..Storage::unknown(path.to_owned(), String::new())
    })
}

/// A clock that advances only when an operation takes time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VirtualClock<'a>(&'a AtomicU64);

impl<'a> VirtualClock<'a> {
    pub(crate) const fn new(now_ns: &'a AtomicU64) -> Self {
        Self(now_ns)
    }

    /// Advances the clock to `ns`, if it is earlier.
    pub(crate) fn advance_to(self, ns: u64) {
        self.0.fetch_max(ns, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock<'_> {
    const REAL: bool = false;

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep(&self, ns: u64) {
        self.advance_to(self.now().saturating_add(ns));
    }

    fn begin(&self, start_ns: u64) {
        self.advance_to(start_ns);
    }

    /// Advances by a microsecond, so that a busy-wait ends.
    fn spin(&self) {
        self.sleep(1000);
    }
}

/// The engine of one stream.
#[derive(Debug)]
pub(crate) struct Sim<'a> {
    device: Device,
    clock: VirtualClock<'a>,
    /// Clock time of the first I/O, at which the device's time begins.
    zero_ns: Option<u64>,
    /// True if each write is followed by a flush.
    synchronous: bool,
    /// Time at which each slot of the device's queue becomes free.
    places: Vec<Picos>,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    issued: u64,
    queued: usize,
    spent: Timed,
}

/// An I/O in flight, with the time at which it ends.
#[derive(Debug)]
struct UnderWay {
    end: Picos,
    /// Position in the order of issue.
    number: u64,
    unit: IoUnit,
}

impl PartialEq for UnderWay {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for UnderWay {}

impl PartialOrd for UnderWay {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UnderWay {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.end, self.number).cmp(&(other.end, other.number))
    }
}

impl<'a> Sim<'a> {
    /// Creates the device of a stream, on a clock that does not move before the first
    /// I/O.
    pub(crate) fn new(
        load: &Load,
        stream: &Stream,
        seed: u64,
        clock: VirtualClock<'a>,
    ) -> Result<Self, EngineError> {
        let refused = |problem: String| EngineError::Job {
            job: stream.name.clone(),
            problem,
        };
        admit(load, stream).map_err(|why| refused(why.to_owned()))?;
        let path = stream.files.paths.first().map_or(Path::new(""), |it| it);
        let found = find(path).unwrap_or_else(|| {
            Err("ioengine=sim needs a device: ioengine=sim:emmc-8gb-hs400".to_owned())
        });
        let Simulation { part, policy } = found.map_err(refused)?;
        let device = Device::new(&part, policy).map_err(|error| refused(error.to_string()))?;
        let places = vec![Picos::ZERO; device.depth().max(1) as usize];
        Ok(Self {
            device: device.seeded(seed),
            clock,
            zero_ns: None,
            synchronous: stream.durability.sync != OpenSync::None,
            places,
            under_way: BinaryHeap::new(),
            issued: 0,
            queued: 0,
            spent: Timed::default(),
        })
    }

    fn now(&mut self) -> Picos {
        let now_ns = self.clock.now();
        let zero_ns = *self.zero_ns.get_or_insert(now_ns);
        Picos(now_ns.saturating_sub(zero_ns)).times(1000)
    }

    /// Converts a moment of the device to the clock, rounded up to a nanosecond.
    fn ns(&self, moment: Picos) -> u64 {
        let zero_ns = self.zero_ns.unwrap_or_default();
        zero_ns.saturating_add(moment.0.div_ceil(1000))
    }

    /// Executes an I/O that is issued now, and returns the time at which it ends.
    fn carry_out(&mut self, unit: &IoUnit, direction: Direction) -> Picos {
        let now = self.now();
        let places = self.places.iter().enumerate();
        let free = places.min_by_key(|(_, free)| **free);
        let (place, at) = free.map_or((0, now), |(place, free)| (place, now.max(*free)));
        let first = unit.offset / BLOCK_BYTES;
        let last = (unit.offset + u64::from(unit.length)).div_ceil(BLOCK_BYTES);
        let io_of = (direction, first, last - first);
        let mut end = io(&mut self.device, at, io_of, &mut self.spent);
        if direction == Direction::Write && self.synchronous {
            end = self.device.flush(end).end;
        }
        if let Some(place) = self.places.get_mut(place) {
            *place = end;
        }
        end
    }
}

/// Refuses streams that a simulated device cannot run.
fn admit(load: &Load, stream: &Stream) -> Result<(), &'static str> {
    let in_wave = |other: &&Stream| other.wave == stream.wave;
    if stream.verify.is_some() {
        return Err("a simulated device keeps no data: it cannot be verified");
    }
    if load.streams.iter().filter(in_wave).count() > 1 {
        return Err(
            "a simulated device has one stream at a time: numjobs must be 1, and stonewall \
             between jobs; iodepth keeps several I/Os in flight",
        );
    }
    if stream.steady_state.is_some() {
        return Err("steadystate is looked for in real time: leave it out on a simulated device");
    }
    if stream.blocks.rw.trim || stream.blocks.rw.trim_then_write {
        return Err("a simulated device does not trim");
    }
    Ok(())
}

impl IoEngine for Sim<'_> {
    #[inline]
    fn is_asynchronous(&self) -> bool {
        true
    }

    fn queue(&mut self, _file: &OpenFile, unit: IoUnit) -> QueueStatus {
        let direction = match unit.ddir {
            Ddir::Read => Direction::Read,
            Ddir::Write => Direction::Write,
            Ddir::Trim => {
                let result = Err(Errno::OPNOTSUPP.raw_os_error());
                return QueueStatus::Completed(Completion { unit, result });
            }
        };
        let end = self.carry_out(&unit, direction);
        self.issued += 1;
        self.queued += 1;
        self.under_way.push(Reverse(UnderWay {
            end,
            number: self.issued,
            unit,
        }));
        QueueStatus::Queued
    }

    fn flush(&mut self, _file: &OpenFile, _call: FlushCall) -> Result<(), Errno> {
        let now = self.now();
        let end = self.device.flush(now).end;
        self.clock.advance_to(self.ns(end));
        Ok(())
    }

    fn commit(&mut self) -> Result<usize, EngineError> {
        Ok(std::mem::take(&mut self.queued))
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout_ns: Option<u64>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let until_ns = timeout_ns.map(|ns| self.clock.now().saturating_add(ns));
        while done.len() < max as usize
            && let Some(Reverse(next)) = self.under_way.peek()
        {
            let end_ns = self.ns(next.end);
            if end_ns > self.clock.now() {
                if done.len() >= min as usize {
                    return Ok(());
                }
                if let Some(until_ns) = until_ns.filter(|until_ns| end_ns > *until_ns) {
                    self.clock.advance_to(until_ns);
                    return Ok(());
                }
                self.clock.advance_to(end_ns);
            }
            if let Some(Reverse(over)) = self.under_way.pop() {
                let result = Ok(over.unit.left());
                let unit = over.unit;
                done.push(Completion { unit, result });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
