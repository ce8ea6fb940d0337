//! The guest's side: builds each stack, runs the jobs on it, and compares each label with the
//! requests that the lowest devices completed meanwhile.

use super::super::claim::{Claim, Direction};
use super::super::jobs::{JOBS, Neighbour, On, TruthJob};
use super::super::judge::{Truth, by_share};
use super::super::operations::{MeasuredPhase, OperationKind, operations};
use super::super::table::TruthRow;
use super::super::topology::Storage;
use super::super::trace::{Micros, SyscallEvent, Tracer, What};
use super::super::{ATTEMPTS, Bench, TruthCell, claims, random};
use super::list::{HELPERS, STACKS, Stack, TAKE_DOWN};
use super::{DONE, ROW};
use anyhow::{Context, Result, bail};
use assay_testkit::Scratch;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Drivers whose devices are not the lowest ones, by their names in `/proc/devices`.
const UPPER: [&str; 3] = ["device-mapper", "loop", "nbd"];
/// Bytes that a file system or a layer may write besides the data.
const BESIDES: u64 = 64 << 10;
const SECTOR: u64 = 512;

/// Measures on all stacks whose name has `only` in it.
pub fn run(only: &str) -> Result<()> {
    let scratch = Scratch::new()?;
    let bench = Bench {
        tracer: Tracer::new(&scratch.join("tracing"))?,
        program: PathBuf::from("/assay"),
        contents: random()?,
        keep: None,
        scratch,
    };
    bench.tracer.listen_to_all()?;
    shell(TAKE_DOWN)?;
    for stack in STACKS.iter().filter(|stack| stack.name.contains(only)) {
        match shell(&[HELPERS, stack.script].concat()) {
            Ok(()) => measure(&bench, stack),
            Err(error) => println!("not built: {}: {error:#}", stack.name),
        }
        shell(TAKE_DOWN)?;
    }
    println!("{DONE}");
    Ok(())
}

fn shell(script: &str) -> Result<()> {
    let output = Command::new("sh").args(["-c", script]).output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

fn measure(bench: &Bench, stack: &Stack) {
    let storage = match stack.device {
        Some(device) => Storage::of_device(device.into()),
        None => Storage::of_file("/mnt/f".into()),
    };
    let jobs = JOBS.iter().filter(|job| {
        let on = job.on == On::All || (job.on == On::Files && stack.device.is_none());
        on && job.neighbour == Neighbour::None
    });
    for job in jobs {
        let mut rows = cell(bench, stack, job, &storage);
        for _ in 1..ATTEMPTS {
            if rows.is_err() {
                rows = cell(bench, stack, job, &storage);
            }
        }
        match rows {
            Ok(rows) => rows.iter().for_each(|row| println!("{ROW}{}", row.json())),
            Err(error) => println!("not judged: {} / {}: {error:#}", stack.name, job.title()),
        }
    }
}

fn cell(
    bench: &Bench,
    stack: &Stack,
    job: &'static TruthJob,
    storage: &Storage,
) -> Result<Vec<TruthRow>> {
    bench.prepare(job, storage)?;
    shell("sync; echo 3 > /proc/sys/vm/drop_caches; sleep 0.2")?;
    bench.tracer.begin()?;
    bench.fill_cache(job, storage)?;
    let cell = TruthCell {
        topology: &super::super::TOPOLOGIES[0],
        job,
        engine: "psync",
    };
    let words = bench.words(&cell, storage);
    let output = (bench.tracer.traced(&bench.program, &words))
        .env("ASSAY_JOURNAL_DIR", bench.scratch.path())
        .output()?;
    // What is still dirty shows itself now.
    shell("sync")?;
    let (calls, device) = bench.tracer.end(None)?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "assay failed: {}",
            complaint.lines().next().unwrap_or_default()
        );
    }
    let lowest = Lowest::new(device)?;
    let all = operations(&calls);
    let claims = claims(&String::from_utf8_lossy(&output.stdout))?;
    let judged = claims.iter().map(|claim| {
        let phase = MeasuredPhase::of(claim, &all, job.words.contains("sync"));
        let mut phase = phase.context("the calls of the job are not in the trace")?;
        if job.words.contains("end_fsync") {
            // On an emulated processor it may begin late.
            let last = phase.operations.iter().map(|one| one.end).max();
            let mut flushes = all.iter().filter(|one| one.kind == OperationKind::Flush);
            let flush = flushes.find(|one| Some(one.begin) >= last);
            phase.stop = flush.context("the trace has no flush at the end")?.end;
        }
        let mut truth = lowest.truth(claim, &phase);
        if stack.opaque {
            truth.label.push("unknown");
            // The label of a network block device has the caveat that its server is not seen.
            if claim.because.contains("beneath") {
                truth.label.extend(["device", "device-unflushed"]);
            }
        }
        let row = TruthRow {
            topology: stack.name.to_owned(),
            ..cell.row(claim, &truth)
        };
        Ok(row)
    });
    judged.collect()
}

/// Requests of the lowest devices.
struct Lowest {
    events: Vec<SyscallEvent>,
    /// Numbers of the drivers whose devices are all paths to one disk.
    paths: Vec<String>,
}

impl Lowest {
    fn new(mut events: Vec<SyscallEvent>) -> Result<Self> {
        let known = fs::read_to_string("/proc/devices")?;
        let majors = |names: &[&str]| -> Vec<String> {
            let lines = known.lines().filter_map(|line| line.trim().split_once(' '));
            let named = lines.filter(|(_, name)| names.contains(name));
            named.map(|(major, _)| major.to_owned()).collect()
        };
        let upper = majors(&UPPER);
        events.retain(|event| {
            let device = event.device.as_deref().and_then(|it| it.split_once(','));
            device.is_some_and(|(major, _)| upper.iter().all(|it| it != major))
        });
        let paths = majors(&["sd", "blkext"]);
        Ok(Self { events, paths })
    }

    fn truth(&self, claim: &Claim, phase: &MeasuredPhase) -> Truth {
        let done = |event: &&SyscallEvent| event.at >= phase.start;
        let (mut reached, mut later) = (0, 0);
        for event in self.events.iter().filter(done) {
            let bytes = data(event, claim.direction);
            match event.at <= phase.stop {
                true => reached += bytes,
                false => later += bytes,
            }
        }
        if claim.direction == Direction::Read {
            let share = share(reached, claim.bytes);
            return Truth {
                label: by_share(share, &["device"]),
                latency: Vec::new(),
                share,
            };
        }
        later -= BESIDES.min(later);
        // Mirrors and journals write all several times.
        let whole = claim.bytes.max(reached + later);
        let share = share(reached, whole);
        let safe: &[_] = match self.unsafe_bytes(phase) {
            _ if later > 0 => &["device-unflushed"],
            0 => &["device"],
            bytes if bytes <= BESIDES => &["device", "device-unflushed"],
            _ => &["device-unflushed"],
        };
        Truth {
            label: by_share(share, safe),
            latency: Vec::new(),
            share,
        }
    }

    /// Bytes that were written and that no later flush, nor FUA, made safe.
    fn unsafe_bytes(&self, phase: &MeasuredPhase) -> u64 {
        let mut devices: BTreeMap<&str, Vec<&SyscallEvent>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.at <= phase.stop) {
            let device = event.device.as_deref().unwrap_or_default();
            let (driver, _) = device.split_once(',').unwrap_or_default();
            // A stack has one SCSI or NVMe disk, but several paths to it.
            let disk = if self.paths.iter().any(|it| it == driver) {
                driver
            } else {
                device
            };
            devices.entry(disk).or_default().push(event);
        }
        let left = devices.values().map(|events| {
            let (mut left, mut asked): (Vec<(Micros, u64)>, Option<Micros>) = (Vec::new(), None);
            for event in events {
                match &event.what {
                    What::Issued { flags, .. } if flags.starts_with("FF") => {
                        asked.get_or_insert(event.at);
                    }
                    What::Done { flags, .. } if flags.starts_with("FF") => {
                        let from = asked.take().unwrap_or(0);
                        left.retain(|(at, _)| *at > from);
                    }
                    What::Done { flags, .. } if event.at >= phase.start => {
                        let forced = flags.trim_start_matches('F').contains('F');
                        let bytes = data(event, Direction::Write);
                        left.push((event.at, if forced { 0 } else { bytes }));
                    }
                    _ => {}
                }
            }
            left.iter().map(|(_, bytes)| bytes).sum::<u64>()
        });
        left.sum()
    }
}

/// Bytes of data that a completed request moved.
fn data(event: &SyscallEvent, direction: Direction) -> u64 {
    let letter = match direction {
        Direction::Read => 'R',
        Direction::Write => 'W',
    };
    match &event.what {
        What::Done { flags, sectors } if !flags.contains('M') => {
            let moved = flags.trim_start_matches('F').starts_with(letter);
            if moved { sectors.1 * SECTOR } else { 0 }
        }
        _ => 0,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64).min(1.0)
}
