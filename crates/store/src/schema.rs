//! The tables, as numbered steps. A step that was released is never changed:
//! a change is a new step at the end.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// "assy" in ASCII: marks the file as assay's (`PRAGMA application_id`).
pub const APPLICATION_ID: i32 = 0x6173_7379;

/// Step n brings `PRAGMA user_version` from n to n + 1.
const STEPS: &[&str] = &[
    // 1: runs and trials. `header` is the run header as JSON, `record` the
    // trial record as zlib-compressed JSON; the other columns repeat what
    // lists need, and what helps a person with the sqlite3 shell.
    "CREATE TABLE runs (
        id TEXT PRIMARY KEY NOT NULL,
        started_unix_ms INTEGER NOT NULL,
        finished_unix_ms INTEGER,
        status TEXT NOT NULL,
        error TEXT,
        owner_pid INTEGER NOT NULL,
        owner_boot_id TEXT NOT NULL,
        owner_start_ticks INTEGER NOT NULL,
        path TEXT NOT NULL,
        device TEXT NOT NULL,
        trials_planned INTEGER NOT NULL,
        header TEXT NOT NULL
    );
    CREATE TABLE trials (
        run_id TEXT NOT NULL REFERENCES runs (id),
        position INTEGER NOT NULL,
        job TEXT NOT NULL,
        trial INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        started_unix_ms INTEGER NOT NULL,
        record BLOB NOT NULL,
        PRIMARY KEY (run_id, position)
    );",
    // 2: results that were made elsewhere. `files` is a JSON list of names,
    // `record` all of it as zlib-compressed JSON.
    "CREATE TABLE imports (
        id TEXT PRIMARY KEY NOT NULL,
        imported_unix_ms INTEGER NOT NULL,
        tool TEXT NOT NULL,
        files TEXT NOT NULL,
        figures INTEGER NOT NULL,
        record BLOB NOT NULL
    );",
    // 3: what users call runs and imports, apart from their records, which never
    // change. `tags` is a JSON list of words.
    "CREATE TABLE annotations (
        id TEXT PRIMARY KEY NOT NULL,
        name TEXT UNIQUE,
        tags TEXT NOT NULL,
        note TEXT
    );",
];

/// The newest known format.
#[expect(clippy::cast_possible_truncation, reason = "a handful of steps")]
pub const NEWEST: u32 = STEPS.len() as u32;

/// Brings the file to the newest format, all steps or none. The caller has
/// made sure that the file is assay's or empty. One that may only be read is
/// read as it is.
pub fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let found = version(connection)?;
    if found >= NEWEST {
        return Ok(());
    }
    if connection.is_readonly("main")? {
        return stand_in(connection, found);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Again under the lock: another process may just have done it.
    let done = usize::try_from(version(&transaction)?).unwrap_or(usize::MAX);
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    if done < STEPS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", NEWEST)?;
    }
    transaction.commit()
}

/// Puts empty tables beside an old file, in memory, so that what reads them
/// finds nothing. As long as steps only add tables, that is all it takes.
fn stand_in(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    for step in STEPS.iter().skip(done) {
        connection.execute_batch(&step.replace("CREATE TABLE", "CREATE TEMP TABLE"))?;
    }
    Ok(())
}

/// Format of the file; 0 when it is new.
pub fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_migration_changes_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        migrate(&connection).unwrap();
        assert_eq!(version(&connection).unwrap(), NEWEST);
        migrate(&connection).unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_nothing_behind() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE trials (x)").unwrap();
        assert!(migrate(&connection).is_err());
        assert_eq!(version(&connection).unwrap(), 0);
        let runs: u32 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'runs'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(runs, 0, "the first table of the failed step stayed");
    }
}
