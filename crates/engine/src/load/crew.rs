//! The threads of the streams.

use super::files::{FilePlan, FileTable, SharedFiles};
use super::logs::LogSet;
use super::pace::{FlowShare, FlowTable, Pacing};
use super::sequence::Sequence;
use super::source::{IoSource, longest};
use super::trace::{TraceReader, TraceWriter};
use super::worker::{Checks, Finished, Parts, Worker};
use super::{Note, Priorities, StreamShared, Turn, Turns, has_turns};
use crate::buffer::{Filler, IoBuf};
use crate::engines::{IoEngine, WithEngine, with_engine};
use crate::extra::{Extra, Loads};
use crate::recorder::WorkerGaps;
#[cfg(feature = "sim")]
use crate::sim::{Sim, VirtualClock};
use crate::sys::StartLine;
use crate::sys::{Clock, MonotonicClock};
use crate::{EngineError, sys};
use assay_model::job::{DataPath, QueueMode};
use assay_model::load::report::StreamState;
use assay_model::load::{Load, Stream};
use assay_model::rng::SplitMix64;
use assay_model::units::Bytes;
use rustix::process::{Pid, Signal};
use rustix::thread::CpuSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
#[cfg(feature = "sim")]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Name of the file with the output of a command that runs before or after a stream.
pub(super) fn output_name(stream: &str, when: &str) -> String {
    format!("{stream}.{when}.txt")
}

/// Interval of checks of the stop flag while a stream waits for its start.
const LOOK_EVERY_NS: u64 = 50_000_000;
/// Interval of checks whether a command of the user has ended.
const LOOK_AT_COMMAND_EVERY_NS: u64 = 10_000_000;

/// Message from a thread.
pub(super) enum Event {
    /// The stream is ready to start.
    Ready,
    /// Message for the user.
    Note(Note),
    /// Change of the stream's clock; the thread waits until the sender is dropped.
    Clock(Turn, Sender<()>),
    /// The stream failed to start, or was stopped before its start.
    NotStarted(Option<EngineError>),
    /// The stream has ended.
    Finished(Box<Finished>),
    /// The thread panicked. The panic is propagated when all threads have ended.
    Panicked,
}

/// Reports a panic of the thread, so that the conductor does not wait for it.
struct LastWord<'a>(&'a Sender<(usize, Event)>, usize);

impl Drop for LastWord<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send((self.1, Event::Panicked));
        }
    }
}

/// Kills a command and all processes that it started.
fn end_group(shell: &mut Child) {
    if let Some(group) = i32::try_from(shell.id()).ok().and_then(Pid::from_raw) {
        // This fails if the group has just ended.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = shell.wait();
}

/// Context given to a stream's thread.
pub(super) struct Post<'a> {
    pub(super) load: &'a Load,
    pub(super) stream: &'a Stream,
    pub(super) plan: &'a FilePlan,
    pub(super) files: &'a SharedFiles,
    pub(super) flows: &'a FlowTable,
    pub(super) shared: &'a StreamShared,
    pub(super) stop: &'a AtomicBool,
    pub(super) start: &'a StartLine<u64>,
    pub(super) gaps: WorkerGaps,
    pub(super) seed: u64,
    /// Seeds of the written content of each stream of the load.
    pub(super) fill_seeds: &'a [u64],
    pub(super) events: Sender<(usize, Event)>,
    /// Index of the stream in the load.
    pub(super) index: usize,
}

impl Post<'_> {
    /// Runs the stream from its preparation to its end.
    pub(super) fn serve(self) {
        let _last_word = LastWord(&self.events, self.index);
        if self.stream.engine.kind.properties().queue != QueueMode::SharedThreads {
            sys::own_file_table();
        }
        self.shared.set_state(StreamState::SettingUp);
        self.take_place();
        let ended = self.run_command(self.stream.schedule.exec_before.as_deref(), "prerun");
        let ended = ended.and_then(|()| self.prepare_and_run());
        let event = match ended {
            Ok(Some(finished)) => Event::Finished(Box::new(finished)),
            Ok(None) => Event::NotStarted(None),
            Err(error) => Event::NotStarted(Some(error)),
        };
        let after = self.run_command(self.stream.schedule.exec_after.as_deref(), "postrun");
        if let Err(error) = after {
            self.send(Event::Note(Note::Warning(error.to_string())));
        }
        self.send(event);
    }

    fn send(&self, event: Event) {
        // If the receiver is gone, nothing waits for the event.
        let _ = self.events.send((self.index, event));
    }

    /// Sets the thread's CPUs and priorities. Reports each setting that the kernel refuses and
    /// continues without it.
    fn take_place(&self) {
        let process = &self.stream.process;
        let mut refused = Vec::new();
        if let Some(cpus) = self.cpus()
            && rustix::thread::sched_setaffinity(None, &cpus).is_err()
        {
            refused.push("cpus_allowed");
        }
        let thread = Some(rustix::thread::gettid());
        if process.nice != 0 && rustix::process::setpriority_process(thread, process.nice).is_err()
        {
            refused.push("nice");
        }
        if process.io_class.is_some() || process.io_priority.is_some() {
            // Without a class, fio means best effort.
            let class = process.io_class.unwrap_or(2);
            if sys::set_io_priority(class, process.io_priority.unwrap_or(0)).is_err() {
                refused.push("prio");
            }
        }
        for option in refused {
            self.send(Event::Note(Note::Warning(format!(
                "{}: the kernel refuses {option} for this user: it runs without",
                self.stream.name
            ))));
        }
    }

    fn cpus(&self) -> Option<CpuSet> {
        let process = &self.stream.process;
        let copy = self.stream.number.saturating_sub(1) as usize;
        let chosen = match process.cpus.as_slice() {
            [] => return None,
            all if process.split_cpus => &all[copy % all.len()..][..1],
            all => all,
        };
        let mut set = CpuSet::new();
        for &cpu in chosen {
            set.set(cpu as usize);
        }
        Some(set)
    }

    /// Runs a command of the user, with its output in a file beside the logs.
    fn run_command(&self, command: Option<&str>, when: &str) -> Result<(), EngineError> {
        let (Some(command), Some(_)) = (command, Loads::here()) else {
            return Ok(());
        };
        let path = self.beside(&output_name(&self.stream.name, when));
        let output =
            std::fs::File::create(&path).map_err(|e| EngineError::file("create", &path, e))?;
        let errors = (output.try_clone()).map_err(|e| EngineError::file("duplicate", &path, e))?;
        let failed = |e| EngineError::file("run", Path::new("sh"), e);
        let mut shell = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            // Its own process group, so that the processes it starts can be killed with it.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let status = loop {
            if let Some(status) = shell.try_wait().map_err(failed)? {
                break status;
            }
            if self.stop.load(Ordering::Relaxed) || self.shared.is_stopped() {
                end_group(&mut shell);
                return Err(EngineError::Stopped);
            }
            MonotonicClock.sleep(LOOK_AT_COMMAND_EVERY_NS);
        };
        if status.success() {
            return Ok(());
        }
        Err(self.problem(format!(
            "its command exec_{when} ended with {status}: see {}",
            path.display()
        )))
    }

    fn beside(&self, name: &str) -> PathBuf {
        let folder = self.load.aux_path.as_deref().unwrap_or(Path::new(""));
        folder.join(name)
    }

    fn problem(&self, problem: String) -> EngineError {
        EngineError::Job {
            job: self.stream.name.clone(),
            problem,
        }
    }

    /// Prepares and runs the stream; `None` if it was stopped before its start.
    fn prepare_and_run(&self) -> Result<Option<Finished>, EngineError> {
        #[cfg(feature = "sim")]
        if self.stream.engine.kind.properties().data == DataPath::Simulated {
            return self.simulate();
        }
        with_engine(&self.stream.engine, OnEngine(self))?
    }

    /// Runs the stream in virtual time, which stands still until the start.
    #[cfg(feature = "sim")]
    fn simulate(&self) -> Result<Option<Finished>, EngineError> {
        let now_ns = AtomicU64::new(MonotonicClock.now());
        let clock = VirtualClock::new(&now_ns);
        let engine = Sim::new(self.load, self.stream, self.seed ^ self.load.entropy, clock)?;
        self.on_engine(engine, clock)
    }

    fn on_engine<E: IoEngine, C: Clock>(
        &self,
        engine: E,
        clock: C,
    ) -> Result<Option<Finished>, EngineError> {
        let parts = self.parts(clock)?;
        let mut worker = Worker::new(engine, parts);
        worker.open_files(self.stop)?;
        self.send(Event::Ready);
        let gate_ns = self.start.wait();
        if let Some(gate_ns) = gate_ns {
            clock.begin(gate_ns);
        }
        let start_ns = gate_ns.and_then(|gate_ns| self.delayed(gate_ns, clock));
        Ok(start_ns.map(|start_ns| worker.run(start_ns)))
    }

    /// Waits for `startdelay`. Returns the start time of the stream's clock, or `None` if it was
    /// stopped meanwhile.
    fn delayed(&self, gate_ns: u64, clock: impl Clock) -> Option<u64> {
        let Some(delay) = self.stream.schedule.start_delay else {
            return Some(gate_ns);
        };
        let span = delay.max.saturating_sub(delay.min);
        let extra = match span {
            0 => 0,
            span => SplitMix64::new(self.seed ^ self.load.entropy).next_u64() % (span + 1),
        };
        let until_ns = gate_ns.saturating_add(delay.min + extra);
        loop {
            if self.stop.load(Ordering::Relaxed) || self.shared.is_stopped() {
                return None;
            }
            let now_ns = clock.now();
            let left_ns = until_ns.saturating_sub(now_ns);
            if left_ns == 0 {
                return Some(now_ns);
            }
            clock.sleep(left_ns.min(LOOK_EVERY_NS));
        }
    }

    fn parts<C: Clock>(&self, clock: C) -> Result<Parts<'_, C>, EngineError> {
        let stream = self.stream;
        let (source, largest) = self.source()?;
        let mut seeds = SplitMix64::new(self.seed);
        let checked = stream
            .verify
            .as_ref()
            .filter(|_| stream.engine.kind.moves_data());
        let folder = self.beside("");
        let checks = Extra::try_new(|| {
            let checks = |spec| Checks::new(spec, stream, &folder, seeds.next_u64());
            checked.map(checks).transpose()
        })?;
        let trace = Extra::try_new(|| {
            let create = |path| TraceWriter::create(&folder.join(path), &self.plan.paths());
            stream.trace.write.as_ref().map(create).transpose()
        })?;
        let mut filler = has_buffers(stream).then(|| self.filler(largest));
        let mut buffers = self.buffers(largest)?;
        if let Some(filler) = filler.as_mut().filter(|_| stream.blocks.rw.write) {
            buffers
                .iter_mut()
                .for_each(|buf| filler.prepare(buf.all_mut()));
        }
        Ok(Parts {
            clock,
            stream,
            plan: self.plan,
            shared_files: self.files,
            shared: self.shared,
            files: FileTable::new(stream, self.plan, self.files),
            source,
            pass_bytes: self.pass_bytes(),
            buffers,
            filler,
            checks,
            pacing: Pacing::new(&stream.pace, clock.now(), seeds.next_u64()),
            priorities: Extra::new(|| Priorities::new(stream, seeds.next_u64())),
            flow: Extra::new(|| {
                let flow = stream.pace.flow.as_ref();
                flow.map(|flow| FlowShare::join(self.flows, flow))
            }),
            logs: Extra::try_new(|| {
                LogSet::open(
                    &stream.logs,
                    &stream.stats,
                    &stream.process,
                    &stream.name,
                    stream.number,
                )
            })?,
            trace,
            gaps: self.gaps.clone(),
            turns: Extra::new(|| {
                let (events, index) = (self.events.clone(), self.index);
                has_turns(stream).then(|| {
                    Turns::new(move |turn, answer| {
                        events.send((index, Event::Clock(turn, answer))).is_ok()
                    })
                })
            }),
        })
    }

    /// Returns the source of the I/Os, and the length of the largest I/O.
    fn source(&self) -> Result<(IoSource, u32), EngineError> {
        let stream = self.stream;
        if let (Some(path), Some(loads)) = (&stream.trace.read, Loads::here()) {
            let reader = TraceReader::open(path, &stream.trace)?;
            let largest = longest(&reader);
            return Ok((
                IoSource::replay(path, &stream.trace, reader, loads),
                largest.max(1),
            ));
        }
        let spans = self.plan.parts();
        let sequence = Sequence::new(stream, &spans, self.seed)?;
        let sizes = &stream.blocks.sizes;
        let largest = sizes.iter().map(|(_, size)| {
            let split = size.split.iter().map(|(length, _)| *length).max();
            size.max.max(size.min).max(split.unwrap_or(0))
        });
        Ok((IoSource::order(sequence), largest.max().unwrap_or(1)))
    }

    fn filler(&self, largest: u32) -> Filler {
        let stream = self.stream;
        let blocks = self.plan.total_bytes / u64::from(stream.blocks.sizes.write.min.max(1));
        let all = match stream.content.dedupe_global {
            true => self.fill_seeds,
            false => &[],
        };
        Filler::new(&stream.content, largest, self.fill_seeds[self.index])
            .with_working_set(blocks, all)
    }

    fn pass_bytes(&self) -> u64 {
        // In this mode each block is trimmed and written.
        let times = if self.stream.blocks.rw.trim_then_write {
            2
        } else {
            1
        };
        self.plan.total_bytes.saturating_mul(times)
    }

    /// Allocates as many buffers as blocks can be in flight or wait to be checked.
    fn buffers(&self, largest: u32) -> Result<Vec<IoBuf>, EngineError> {
        let threads = self
            .stream
            .verify
            .as_ref()
            .map_or(0, |verify| verify.threads);
        let count = match threads {
            0 => self.stream.engine.iodepth,
            threads => self.stream.engine.iodepth * 2 + threads,
        };
        // An engine that moves no data needs no room for it.
        let bytes = match has_buffers(self.stream) {
            true => largest as usize,
            false => 1,
        };
        let needed = u64::from(count).saturating_mul(bytes as u64);
        if needed > sys::memory_bytes() {
            return Err(self.problem(format!(
                "its I/O buffers would take {}, more than there is memory: lower bs or iodepth",
                Bytes(needed)
            )));
        }
        let one = |_| match self.stream.blocks.rw.write {
            true => IoBuf::to_write(bytes, count as usize),
            false => IoBuf::of(bytes as u64),
        };
        (0..count).map(one).collect()
    }
}

struct OnEngine<'a, 'b>(&'a Post<'b>);

impl WithEngine for OnEngine<'_, '_> {
    type Output = Result<Option<Finished>, EngineError>;

    fn run<E: IoEngine>(self, engine: E) -> Self::Output {
        self.0.on_engine(engine, MonotonicClock)
    }
}

/// Returns true if the stream has data in memory, also if the engine only pretends to transfer it.
fn has_buffers(stream: &Stream) -> bool {
    let kind = stream.engine.kind;
    kind.moves_data() || kind.properties().data == DataPath::Discarded
}
