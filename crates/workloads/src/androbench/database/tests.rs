use super::*;
use crate::androbench::tests::{Recorder, carry_out};
use assay_model::act::androbench::{DATABASE, Phase, Synchronous, file_names};
use rusqlite::Connection;
use std::fs;
use std::io::Write;
use std::sync::atomic::AtomicBool;

const TRANSACTIONS: u64 = 20;

fn phase(schema: Schema, journal: Journal, statements: &[Statement]) -> DatabasePhase {
    DatabasePhase {
        schema,
        journal,
        synchronous: Synchronous::Off,
        transactions: TRANSACTIONS,
        statements: statements.to_vec(),
        checkpoint: false,
    }
}

/// The steps of a phase, and the folder that it leaves.
fn steps(phase: DatabasePhase) -> (tempfile::TempDir, Vec<DatabaseStep>) {
    let mut recorder = Recorder::default();
    let (folder, came) = carry_out(vec![Phase::Database(phase)], &mut recorder);
    came.unwrap();
    let steps = recorder.ended.into_iter().map(|(outcome, came)| {
        assert_eq!(outcome, Outcome::Completed);
        came.detail.unwrap().database().unwrap().clone()
    });
    (folder, steps.collect())
}

fn rows(folder: &Path, sql: &str) -> u64 {
    let connection = Connection::open(folder.join(DATABASE)).unwrap();
    let rows: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    rows.unsigned_abs()
}

#[test]
fn each_statement_is_a_step_of_timed_transactions() {
    for journal in Journal::ALL {
        let (folder, steps) = steps(phase(Schema::AndroBench, journal, &Statement::ALL));
        let done: Vec<Statement> = steps.iter().map(|step| step.statement).collect();
        assert_eq!(done, Statement::ALL);
        for step in &steps {
            assert_eq!(step.journal, journal);
            assert_eq!(
                (step.transactions, step.latency.count),
                (TRANSACTIONS, TRANSACTIONS)
            );
            assert!(step.latency.sum_ns > 0);
        }
        assert_eq!(
            rows(folder.path(), "SELECT count(*) FROM testing"),
            0,
            "{journal}"
        );
        let known: Vec<String> = file_names().collect();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(known.contains(&name), "{name}");
        }
    }
}

#[test]
fn rows_are_made_where_no_insert_was_asked_for() {
    let changed = phase(Schema::AndroBench, Journal::Wal, &[Statement::Update]);
    let (folder, steps) = steps(changed);
    assert_eq!(steps.len(), 1);
    assert_eq!(
        rows(folder.path(), "SELECT count(*) FROM testing"),
        TRANSACTIONS
    );
    let columns = "SELECT count(*) FROM pragma_table_info('testing')";
    assert_eq!(rows(folder.path(), columns), 17);
    let indexes = "SELECT count(*) FROM pragma_index_list('testing')";
    assert_eq!(rows(folder.path(), indexes), 0);
}

#[test]
fn a_transaction_of_mobibench_is_over_all_tables() {
    let mut phase = phase(
        Schema::Mobibench { tables: 3 },
        Journal::Wal,
        &[Statement::Insert],
    );
    phase.checkpoint = true;
    let (folder, steps) = steps(phase);
    assert_eq!(
        (steps[0].statements_each, steps[0].transactions),
        (3, TRANSACTIONS)
    );
    assert!(steps[0].checkpoint_ns.is_some_and(|ns| ns > 0));
    for table in ["testing0", "testing1", "testing2"] {
        let count = format!("SELECT count(*) FROM {table} WHERE length(value) = 100");
        assert_eq!(rows(folder.path(), &count), TRANSACTIONS);
    }
}

#[test]
fn a_checkpoint_comes_when_the_clock_has_stopped() {
    let mut phase = phase(Schema::AndroBench, Journal::Wal, &[Statement::Insert]);
    phase.checkpoint = true;
    let mut recorder = Recorder::default();
    let (folder, came) = carry_out(vec![Phase::Database(phase)], &mut recorder);
    came.unwrap();
    // Until then all rows are in the log.
    let before = recorder.sizes[0][0].unwrap();
    assert_eq!(recorder.sizes_after[0][0], Some(before));
    let came = recorder.ended[0].1.detail.as_ref().unwrap();
    assert!(came.database().unwrap().checkpoint_ns.is_some());
    let after = fs::metadata(folder.path().join(DATABASE)).unwrap().len();
    assert!(after > before);
}

#[test]
fn statements_before_an_error_are_kept_with_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let phase = phase(Schema::AndroBench, Journal::Delete, &[Statement::Insert]);
    let database = Database::make(&phase, folder.path()).unwrap();
    let most = "PRAGMA max_page_count = 4";
    database.connection.query_row(most, [], |_| Ok(())).unwrap();
    let mut bench = DatabaseBench {
        phase: &phase,
        folder: folder.path(),
        database: Some(database),
        filled: false,
        rng: SplitMix64::new(1),
    };
    let mut recorder = Recorder::default();
    let mut context = Context {
        seed: 1,
        folder: Some(folder.path()),
        stop: &AtomicBool::new(false),
        report_now: &AtomicBool::new(false),
        observer: &mut recorder,
    };
    let ended = bench.step(Statement::Insert, 0, &mut context).unwrap_err();
    let full = Some(Errno::NOSPC.raw_os_error());
    assert_eq!(ended.errno(), full);
    let (outcome, came) = &recorder.ended[0];
    assert!(matches!(outcome, Outcome::Failed { .. }));
    let measured = came.measured.as_ref().unwrap();
    assert_eq!(
        (measured.errors.count, measured.errors.first[0].errno),
        (1, full)
    );
    let step = came.detail.as_ref().unwrap().database().unwrap();
    assert!(
        (1..TRANSACTIONS).contains(&step.transactions),
        "{}",
        step.transactions
    );
    assert!(measured.elapsed_ns >= step.latency.sum_ns);
}

#[test]
fn the_writes_of_sqlite_are_counted() {
    let mut recorder = Recorder::default();
    let insert = phase(Schema::AndroBench, Journal::Off, &[Statement::Insert]);
    let (_folder, came) = carry_out(vec![Phase::Database(insert)], &mut recorder);
    came.unwrap();
    let written = recorder.ended[0].1.measured.clone().unwrap().write;
    if written.ios == 0 {
        assay_testkit::skip("this kernel does not count the I/O of threads");
        return;
    }
    // Each changes the table's leaf, the sequence's, and the first page.
    assert!(
        written.bytes >= TRANSACTIONS * 2 * 4096,
        "{}",
        written.bytes
    );
    assert_eq!(written.bytes % 4096, 0, "without a journal all is pages");
}

#[test]
fn lines_are_found_by_their_names() {
    let text = "rchar: 1\nwchar: 8192\nsyscr: 2\nsyscw: 3\nwrite_bytes: 4096\n";
    let found = ThreadIo {
        bytes: 8192,
        calls: 3,
    };
    assert_eq!(parse(text), Some(found));
    assert_eq!(parse("rchar: 1\n"), None);
}

#[test]
fn only_writes_of_this_thread_count() {
    let Some(before) = ThreadIo::read() else {
        assay_testkit::skip("this kernel does not count the I/O of threads");
        return;
    };
    let other = std::thread::spawn(|| tempfile::tempfile().unwrap().write_all(&[1; 500]));
    other.join().unwrap().unwrap();
    tempfile::tempfile().unwrap().write_all(&[1; 100]).unwrap();
    let seen = ThreadIo::read().unwrap().since(before);
    assert_eq!((seen.bytes, seen.calls), (100, 1));
}
