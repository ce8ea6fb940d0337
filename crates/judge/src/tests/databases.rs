//! Transactions of a database.

use super::*;
use assay_model::act::androbench::{DatabaseStep, Journal, Synchronous};

const TRANSACTIONS: u64 = 100;

/// [`TRANSACTIONS`] that wrote [`JOB`] bytes together.
fn transactions(journal: Journal, synchronous: Synchronous) -> Trial {
    let step = DatabaseStep {
        transactions: TRANSACTIONS,
        journal,
        synchronous,
        ..DatabaseStep::default()
    };
    let durable = synchronous.commits_durably(journal);
    Trial::new(Rw::RandWrite)
        .job(|job| job.flush.at_end = durable.then_some(FlushCall::Fsync))
        .with(|t| t.0.detail = Some(Box::new(StepDetail::Database(step))))
}

#[test]
fn each_durable_transaction_needs_a_flush() {
    let full = || transactions(Journal::Wal, Synchronous::Full).all_written();
    full().flushed("sda", TRANSACTIONS).writes_are("device");
    full().write_through().writes_are("device");
    // A device, or a file system, that answers without having flushed.
    let few = full().flushed("sda", TRANSACTIONS - 1);
    few.writes_are("device-unflushed");
    assert!(few.written().because.contains("only 99"));
    full().writes_are("device-unflushed");
}

#[test]
fn transactions_that_are_never_flushed_are_the_page_caches() {
    let off = transactions(Journal::Delete, Synchronous::Off);
    off.own_writes(JOB).dirty(JOB).writes_are("page-cache");
    let log = transactions(Journal::Wal, Synchronous::Normal);
    log.own_writes(JOB).dirty(JOB).writes_are("page-cache");
}

#[test]
fn what_a_journal_adds_is_not_somebody_elses() {
    let wrote = |trial: Trial, bytes| {
        let judged = trial.all_written().wrote("sda", bytes).judged();
        judged.foreign.unwrap().write_bytes
    };
    // Far more than a job without flushes can cause.
    let bytes = 32 * MIB;
    let full = transactions(Journal::Delete, Synchronous::Full);
    assert_eq!(wrote(full, bytes), 0);
    let off = transactions(Journal::Off, Synchronous::Off);
    assert!(wrote(off, bytes) > 0);
}
