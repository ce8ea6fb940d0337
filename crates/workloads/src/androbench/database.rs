//! Phases on a database: transactions on one connection, between two snapshots of the
//! observer.
//!
//! A transaction of a step is prepared once and run many times.

use super::progress;
use crate::observer::nanos;
use crate::{ActError, Context, ObservedStep, StepOutcome, remove_if_there, write_back};
use assay_engine::held::{let_sqlite_in, shown};
use assay_engine::thread_cpu_use;
use assay_model::act::androbench::{
    DATABASE, DATABASE_SUFFIXES, DatabasePhase, DatabaseStep, Journal, Schema, Statement,
};
use assay_model::act::{ProgressUnit, StepDetail};
use assay_model::evidence::LatencyRecord;
use assay_model::job::Direction;
use assay_model::rng::SplitMix64;
use assay_model::trial::{CpuUse, DirectionTotals, IoErrorRecord, IoErrors, Measurement, Outcome};
use assay_stats::histogram::Histogram;
use rusqlite::types::Value;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Statement as Prepared, params_from_iter};
use rustix::io::Errno;
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
) -> Result<(), ActError> {
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
    ) -> Result<(), ActError> {
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
            Ok(()) if context.stopped() => (Outcome::Interrupted, Some(ActError::Stopped)),
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
    ) -> Result<(), ActError> {
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
) -> (Histogram, Result<(), ActError>) {
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
fn errors_of(done: &Result<(), ActError>, at_ns: u64) -> IoErrors {
    match done {
        Err(ActError::Failed {
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
            io: ThreadIo::read(),
            cpu: thread_cpu_use(),
            at: Instant::now(),
        }
    }

    /// Stops the clock. The writes are those that `SQLite` passed to the kernel; their
    /// latencies are unknown. Without the kernel's counters there are none.
    fn stop(&self) -> Measurement {
        let elapsed_ns = nanos(self.at.elapsed());
        let io = ThreadIo::read().zip(self.io);
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
    pub(crate) fn read() -> Option<Self> {
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

/// Integer columns of AndroBench's table besides its key.
const INTEGERS: usize = 11;
const TEXTS: usize = 5;

/// An open database.
pub(crate) struct Database {
    connection: Connection,
    schema: Schema,
    path: PathBuf,
}

impl Database {
    /// Returns the database's files that may hold dirty pages during transactions, for the
    /// evidence.
    pub(crate) fn files(folder: &Path, journal: Journal) -> Vec<PathBuf> {
        let beside = match journal {
            Journal::Wal => Some("-wal"),
            Journal::Delete | Journal::Truncate | Journal::Persist => Some("-journal"),
            Journal::Memory | Journal::Off => None,
        };
        let mut files = vec![folder.join(DATABASE)];
        files.extend(beside.map(|end| folder.join(format!("{DATABASE}{end}"))));
        files
    }

    /// Creates a new database; removes existing files of that name.
    pub(crate) fn make(phase: &DatabasePhase, folder: &Path) -> Result<Self, ActError> {
        let path = folder.join(DATABASE);
        remove_if_there(&path)?;
        for end in DATABASE_SUFFIXES {
            remove_if_there(&folder.join(format!("{DATABASE}{end}")))?;
        }
        let_sqlite_in().map_err(|error| ActError::io("open", &path, &error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&path, flags)
            .map_err(|error| failed("open", &path, &error))?;
        let database = Self {
            connection,
            schema: phase.schema,
            path,
        };
        database.set_up(phase)?;
        database.run(&tables(phase.schema))?;
        Ok(database)
    }

    /// Sets the requested parameters, and checks that they are in force.
    fn set_up(&self, phase: &DatabasePhase) -> Result<(), ActError> {
        self.run(&format!(
            "PRAGMA page_size = {}; PRAGMA temp_store = MEMORY; PRAGMA synchronous = {}",
            DatabasePhase::PAGE.0,
            phase.synchronous
        ))?;
        let wanted = phase.journal.name();
        let set = format!("PRAGMA journal_mode = {wanted}");
        let mode = self.connection.query_row(&set, [], |row| row.get(0));
        let mode: String = mode.map_err(|error| self.failed("set the journal of", &error))?;
        if mode == wanted {
            return Ok(());
        }
        Err(ActError::Refused(format!(
            "SQLite does not take journal mode {wanted} for {} and stays with {mode}: choose \
             another --journal, or a folder on another file system",
            shown(&self.path)
        )))
    }

    /// Transfers the write-ahead log into the database as far as possible; returns the
    /// duration in nanoseconds.
    pub(crate) fn checkpoint(&self) -> Result<u64, ActError> {
        let begin = Instant::now();
        let done = self
            .connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        done.map_err(|error| self.failed("checkpoint", &error))?;
        Ok(nanos(begin.elapsed()))
    }

    pub(crate) fn close(self) -> Result<(), ActError> {
        let Self {
            connection, path, ..
        } = self;
        connection
            .close()
            .map_err(|(_, error)| failed("close", &path, &error))
    }

    fn run(&self, sql: &str) -> Result<(), ActError> {
        let ran = self.connection.execute_batch(sql);
        ran.map_err(|error| self.failed("set up", &error))
    }

    pub(crate) fn failed(&self, doing: &str, error: &Error) -> ActError {
        failed(doing, &self.path, error)
    }
}

/// Returns the statements that create the tables of a schema.
fn tables(schema: Schema) -> String {
    match schema {
        Schema::AndroBench => {
            let integers = (1..=INTEGERS).map(|n| format!("int{n} INTEGER"));
            let texts = (1..=TEXTS).map(|n| format!("text{n} TEXT"));
            let columns: Vec<String> = integers.chain(texts).collect();
            format!(
                "CREATE TABLE testing (id INTEGER PRIMARY KEY AUTOINCREMENT, {})",
                columns.join(", ")
            )
        }
        Schema::Mobibench { tables } => {
            let tables = (0..tables).map(|n| {
                format!(
                    "CREATE TABLE testing{n} (id INTEGER PRIMARY KEY, value TEXT, \
                     creation_date INTEGER);"
                )
            });
            tables.collect()
        }
    }
}

/// Converts an error of `SQLite`, with the kernel's error number if known.
fn failed(doing: &str, path: &Path, error: &Error) -> ActError {
    let errno = match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => Some(Errno::IO),
        Some(ErrorCode::DiskFull) => Some(Errno::NOSPC),
        Some(ErrorCode::ReadOnly) => Some(Errno::ROFS),
        _ => None,
    };
    ActError::Failed {
        message: format!("SQLite cannot {doing} {}: {error}", shown(path)),
        errno: errno.map(Errno::raw_os_error),
    }
}

/// Length of AndroBench's texts. The original length is unknown; phones store names and
/// short messages.
const TEXT: usize = 32;
/// Length of Mobibench's texts.
const LONG_TEXT: usize = 100;
/// Column by which AndroBench finds a row; it has no index.
const FOUND_BY: &str = "int1";

/// A transaction with the values of its next run.
pub(crate) struct Transaction<'a> {
    database: &'a Database,
    kind: Statement,
    /// `BEGIN` and `COMMIT`, for transactions of more than one statement.
    around: Option<(Prepared<'a>, Prepared<'a>)>,
    /// One statement for each table.
    statements: Vec<Prepared<'a>>,
    values: Vec<Value>,
}

impl<'a> Transaction<'a> {
    /// Prepares a whole transaction.
    pub(crate) fn prepare(database: &'a Database, kind: Statement) -> Result<Self, ActError> {
        let mut transaction = Self::part(database, kind)?;
        if matches!(database.schema, Schema::Mobibench { .. }) {
            let prepare = |sql| prepare(database, sql);
            transaction.around = Some((prepare("BEGIN")?, prepare("COMMIT")?));
        }
        Ok(transaction)
    }

    /// Prepares its statements inside a transaction begun elsewhere.
    pub(crate) fn part(database: &'a Database, kind: Statement) -> Result<Self, ActError> {
        let sql = sql(database.schema, kind);
        let statements = sql.iter().map(|sql| prepare(database, sql));
        Ok(Self {
            database,
            kind,
            around: None,
            statements: statements.collect::<Result<_, _>>()?,
            values: Vec::new(),
        })
    }

    /// Chooses the next row and its values.
    pub(crate) fn choose(&mut self, key: u64, rng: &mut SplitMix64) {
        let key = Value::Integer(i64::try_from(key).unwrap_or(i64::MAX));
        let values = &mut self.values;
        values.clear();
        values.push(key);
        if self.kind == Statement::Delete {
            return;
        }
        match self.database.schema {
            Schema::AndroBench => {
                values.extend((1..INTEGERS).map(|_| integer(rng)));
                values.extend((0..TEXTS).map(|_| text(rng, TEXT)));
            }
            Schema::Mobibench { .. } => {
                values.push(text(rng, LONG_TEXT));
                values.push(integer(rng));
            }
        }
    }

    pub(crate) fn run(&mut self) -> Result<(), ActError> {
        self.steps()
            .map_err(|error| self.database.failed(self.kind.name(), &error))
    }

    fn steps(&mut self) -> Result<(), Error> {
        if let Some((begin, _)) = &mut self.around {
            begin.execute([])?;
        }
        for statement in &mut self.statements {
            statement.execute(params_from_iter(&self.values))?;
        }
        if let Some((_, commit)) = &mut self.around {
            commit.execute([])?;
        }
        Ok(())
    }
}

impl Database {
    /// Adds the rows that updates and deletes need, in one transaction.
    pub(crate) fn fill(&self, phase: &DatabasePhase, rng: &mut SplitMix64) -> Result<(), ActError> {
        self.run("BEGIN")?;
        let mut insert = Transaction::part(self, Statement::Insert)?;
        for key in 1..=phase.transactions {
            insert.choose(key, rng);
            insert.run()?;
        }
        self.run("COMMIT")
    }
}

fn prepare<'a>(database: &'a Database, sql: &str) -> Result<Prepared<'a>, ActError> {
    let prepared = database.connection.prepare(sql);
    prepared.map_err(|error| database.failed("prepare a statement for", &error))
}

/// Returns the statements of a transaction; their first value is the key of the row.
fn sql(schema: Schema, kind: Statement) -> Vec<String> {
    match schema {
        Schema::AndroBench => vec![on_one_table(kind)],
        Schema::Mobibench { tables } => (0..tables).map(|n| on_table(n, kind)).collect(),
    }
}

fn on_one_table(kind: Statement) -> String {
    let integers = (2..=INTEGERS).map(|n| format!("int{n}"));
    let texts = (1..=TEXTS).map(|n| format!("text{n}"));
    let others: Vec<String> = integers.chain(texts).collect();
    match kind {
        Statement::Insert => {
            let marks = vec!["?"; others.len() + 1].join(", ");
            let columns = others.join(", ");
            format!("INSERT INTO testing ({FOUND_BY}, {columns}) VALUES ({marks})")
        }
        Statement::Update => {
            let set: Vec<String> = others
                .iter()
                .zip(2..)
                .map(|(column, n)| format!("{column} = ?{n}"))
                .collect();
            let set = set.join(", ");
            format!("UPDATE testing SET {set} WHERE {FOUND_BY} = ?1")
        }
        Statement::Delete => format!("DELETE FROM testing WHERE {FOUND_BY} = ?1"),
    }
}

fn on_table(number: u32, kind: Statement) -> String {
    match kind {
        Statement::Insert => {
            format!("INSERT INTO testing{number} (id, value, creation_date) VALUES (?1, ?2, ?3)")
        }
        Statement::Update => {
            format!("UPDATE testing{number} SET value = ?2, creation_date = ?3 WHERE id = ?1")
        }
        Statement::Delete => format!("DELETE FROM testing{number} WHERE id = ?1"),
    }
}

/// Draws an integer as large as a time in milliseconds.
fn integer(rng: &mut SplitMix64) -> Value {
    Value::Integer(i64::try_from(rng.below(1 << 41)).unwrap_or(0))
}

fn text(rng: &mut SplitMix64, length: usize) -> Value {
    let letters = (0..length).map(|_| char::from(b'a' + u8::try_from(rng.below(26)).unwrap_or(0)));
    Value::Text(letters.collect())
}

#[cfg(test)]
mod tests;
