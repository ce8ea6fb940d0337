//! Phases on a database: transactions on one connection, between two snapshots of the
//! observer.

mod connection;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use connection::Database;
pub(crate) use transaction::Transaction;

use super::progress;
use crate::files::write_back;
use crate::meter::nanos;
use crate::{Context, ObservedStep, StepOutcome, WorkError};
use assay_engine::thread_cpu_use;
use assay_model::job::Direction;
use assay_model::latency::LatencyRecord;
use assay_model::rng::SplitMix64;
use assay_model::trial::{CpuUse, DirectionTotals, IoErrorRecord, IoErrors, Measurement, Outcome};
use assay_model::work::androbench::{DatabasePhase, DatabaseStep, Journal, Schema, Statement};
use assay_model::work::{ProgressUnit, StepDetail};
use assay_stats::histogram::Histogram;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Interval at which progress is reported and a stop request is noticed.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// Makes a new database, and runs each statement as a step.
pub(super) fn run(
    phase: &DatabasePhase,
    folder: &Path,
    steps_done: u32,
    context: &mut Context<'_>,
) -> Result<(), WorkError> {
    let mut bench = DatabaseBench {
        phase,
        folder,
        database: None,
        filled: false,
        rng: SplitMix64::new(context.seed),
    };
    for (&statement, done) in phase.statements.iter().zip(steps_done..) {
        bench.step(statement, done, context)?;
    }
    bench.database.map_or(Ok(()), Database::close)
}

/// State shared by the steps of a phase.
struct DatabaseBench<'a> {
    phase: &'a DatabasePhase,
    folder: &'a Path,
    /// Created by the first step.
    database: Option<Database>,
    /// The rows exist.
    filled: bool,
    rng: SplitMix64,
}

impl DatabaseBench<'_> {
    fn step(
        &mut self,
        statement: Statement,
        steps_done: u32,
        context: &mut Context<'_>,
    ) -> Result<(), WorkError> {
        let job = self.phase.job(statement);
        let paths = Database::files(self.folder, self.phase.journal);
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        let step = ObservedStep {
            job: &job,
            paths: &paths,
        };
        context.observer.begins(step);
        let mut came = StepOutcome::default();
        let done = self.measure(statement, step, steps_done, context, &mut came);
        let (outcome, error) = match done {
            Ok(()) if context.stopped() => (Outcome::Interrupted, Some(WorkError::Stopped)),
            Ok(()) => (Outcome::Completed, None),
            Err(error) => (error.outcome(), Some(error)),
        };
        context.observer.ended(outcome, came);
        error.map_or(Ok(()), Err)
    }

    /// Measures the transactions. After a failure, `came` holds the results so far.
    fn measure(
        &mut self,
        statement: Statement,
        step: ObservedStep<'_>,
        steps_done: u32,
        context: &mut Context<'_>,
        came: &mut StepOutcome,
    ) -> Result<(), WorkError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => Database::make(self.phase, self.folder)?,
        };
        let database = self.database.insert(database);
        if statement != Statement::Insert && !self.filled {
            database.fill(self.phase, &mut self.rng)?;
        }
        self.filled = statement != Statement::Delete;
        let keys = keys(self.phase, statement, &mut self.rng);
        write_back(self.folder)?;
        context.observer.clock_starts(step);
        let clock = Clock::start();
        let (latencies, done) = transactions(database, &keys, statement, &mut self.rng, |count| {
            let (name, total) = (statement.step(), keys.len() as u64);
            let now = progress(
                name,
                steps_done,
                (ProgressUnit::Items, count, total),
                clock.at.elapsed(),
            );
            context.observer.progress(&now);
            !context.stop.load(Ordering::Relaxed)
        });
        let mut measured = clock.stop();
        measured.errors = errors_of(&done, measured.elapsed_ns);
        context.observer.clock_stopped();
        // The writes of the checkpoint count neither as transactions nor in their
        // evidence.
        let ends_with_checkpoint = self.phase.checkpoint && self.phase.journal == Journal::Wal;
        let checkpoint = match done {
            Ok(()) if ends_with_checkpoint => database.checkpoint().map(Some),
            done => done.map(|()| None),
        };
        let checkpoint_ns = checkpoint.as_ref().ok().copied().flatten();
        let detail = detail(self.phase, statement, latencies.to_record(), checkpoint_ns);
        *came = StepOutcome {
            measured: Some(measured),
            detail: Some(StepDetail::Database(detail)),
        };
        checkpoint.map(drop)
    }
}

/// Builds the detail of a statement's transactions.
pub(crate) fn detail(
    phase: &DatabasePhase,
    statement: Statement,
    latency: LatencyRecord,
    checkpoint_ns: Option<u64>,
) -> DatabaseStep {
    DatabaseStep {
        statement,
        transactions: latency.count,
        statements_each: match phase.schema {
            Schema::AndroBench => 1,
            Schema::Mobibench { tables } => tables,
        },
        journal: phase.journal,
        synchronous: phase.synchronous,
        latency,
        checkpoint_ns,
        sqlite_version: rusqlite::version().to_owned(),
    }
}

/// Returns the rows to work on: in the order of insertion, or in random order.
pub(crate) fn keys(phase: &DatabasePhase, statement: Statement, rng: &mut SplitMix64) -> Vec<u64> {
    let mut keys: Vec<u64> = (1..=phase.transactions).collect();
    if statement != Statement::Insert && phase.schema == Schema::AndroBench {
        rng.shuffle(&mut keys);
    }
    keys
}

/// Runs and times the transaction of each key; `go_on` is called a few times a second.
/// Transactions before an error count.
fn transactions(
    database: &Database,
    keys: &[u64],
    statement: Statement,
    rng: &mut SplitMix64,
    mut go_on: impl FnMut(u64) -> bool,
) -> (Histogram, Result<(), WorkError>) {
    let mut latencies = Histogram::new();
    let mut transaction = match Transaction::prepare(database, statement) {
        Ok(transaction) => transaction,
        Err(error) => return (latencies, Err(error)),
    };
    let mut told = Instant::now();
    for (&key, done) in keys.iter().zip(1..) {
        transaction.choose(key, rng);
        let begin = Instant::now();
        if let Err(error) = transaction.run() {
            return (latencies, Err(error));
        }
        latencies.record(nanos(begin.elapsed()));
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            if !go_on(done) {
                break;
            }
        }
    }
    (latencies, Ok(()))
}

/// Returns the I/O error that ended the transactions, if any. `SQLite` does not report
/// the call and the offset; transactions are writes.
fn errors_of(done: &Result<(), WorkError>, at_ns: u64) -> IoErrors {
    match done {
        Err(WorkError::Failed {
            message,
            errno: Some(errno),
        }) => IoErrors {
            count: 1,
            first: vec![IoErrorRecord {
                direction: Some(Direction::Write),
                offset: 0,
                length: 0,
                errno: Some(*errno),
                message: message.clone(),
                at_ns,
            }],
        },
        _ => IoErrors::default(),
    }
}

/// Clock of a step, with the kernel's counters of this thread.
struct Clock {
    at: Instant,
    io: Option<ThreadIo>,
    cpu: CpuUse,
}

impl Clock {
    fn start() -> Self {
        Self {
            io: ThreadIo::look(),
            cpu: thread_cpu_use(),
            at: Instant::now(),
        }
    }

    /// Stops the clock. The writes are those that `SQLite` passed to the kernel; their
    /// latencies are unknown. Without the kernel's counters there are none.
    fn stop(&self) -> Measurement {
        let elapsed_ns = nanos(self.at.elapsed());
        let io = ThreadIo::look().zip(self.io);
        let io = io.map_or(ThreadIo::default(), |(after, before)| after.since(before));
        Measurement {
            elapsed_ns,
            write: DirectionTotals {
                ios: io.calls,
                bytes: io.bytes,
                ..DirectionTotals::default()
            },
            cpu: thread_cpu_use().since(self.cpu),
            ..Measurement::default()
        }
    }
}

/// Counters from `/proc/thread-self/io`: bytes and calls that the thread passed to
/// `write(2)` and similar calls for any file. (Writes through a memory mapping are not
/// included.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadIo {
    /// Bytes written: `wchar`.
    pub(crate) bytes: u64,
    /// Write calls: `syscw`.
    pub(crate) calls: u64,
}

impl ThreadIo {
    /// Reads the counters; `None` if the kernel has none (before Linux 3.17, or without
    /// `CONFIG_TASK_IO_ACCOUNTING`).
    pub(crate) fn look() -> Option<Self> {
        parse(&fs::read_to_string("/proc/thread-self/io").ok()?)
    }

    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            calls: self.calls.saturating_sub(before.calls),
        }
    }
}

fn parse(text: &str) -> Option<ThreadIo> {
    let value = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some(ThreadIo {
        bytes: value("wchar")?,
        calls: value("syscw")?,
    })
}
