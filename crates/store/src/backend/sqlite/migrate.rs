//! Brings an SQLite file to the newest format.

use crate::backend::Dialect;
use crate::schema::{APPLICATION_ID, NEWEST, STEPS};
use rusqlite::{Connection, Transaction, TransactionBehavior};

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
        transaction.execute_batch(&Dialect::Sqlite.tables(step))?;
    }
    if done < STEPS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", NEWEST)?;
    }
    transaction.commit()
}

/// A table with columns that were added to it.
struct Grown {
    table: &'static str,
    /// Step that made it.
    made: usize,
    /// Step that added to it.
    grown: usize,
    /// Columns that were added, each with its value for rows of an older file.
    added: &'static [(&'static str, &'static str)],
}

const GROWN: &[Grown] = &[
    Grown {
        table: "runs",
        made: 1,
        grown: 4,
        added: &[
            ("content_sha256", "NULL"),
            ("target", "{target}"),
            ("command", "{command}"),
            ("facts_version", "0"),
            (
                "words",
                "lower(id || ' ' || path || ' ' || device || ' ' || COALESCE({target}, ''))",
            ),
        ],
    },
    Grown {
        table: "imports",
        made: 2,
        grown: 4,
        added: &[("content_sha256", "NULL")],
    },
    Grown {
        table: "annotations",
        made: 3,
        grown: 4,
        added: &[("changed_unix_ms", "0")],
    },
];

/// Puts what newer steps made beside an old file, in memory: new tables, empty, and for tables
/// with new columns views that have them.
fn stand_in(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    for step in STEPS.iter().skip(done) {
        let step = Dialect::Sqlite.tables(step);
        // The other statements change tables that are there.
        for table in step.split_inclusive(';') {
            if let Some(at) = table.find("CREATE TABLE") {
                let (_, table) = table.split_at(at);
                connection.execute_batch(&table.replacen("TABLE", "TEMP TABLE", 1))?;
            }
        }
    }
    for grown in GROWN.iter().filter(|grown| done < grown.grown) {
        connection.execute_batch(&grown.stand_in(done))?;
    }
    Ok(())
}

impl Grown {
    /// Statements that put it beside a file of a format.
    fn stand_in(&self, done: usize) -> String {
        let table = self.table;
        if done < self.made {
            let added = self.added.iter();
            let added =
                added.map(|(name, _)| format!("ALTER TABLE temp.{table} ADD COLUMN {name};"));
            return added.collect();
        }
        let added = self.added.iter();
        let added = added.map(|(name, value)| format!(", {value} AS {name}"));
        let added = Dialect::Sqlite.tables(&added.collect::<String>());
        format!("CREATE TEMP VIEW {table} AS SELECT rowid AS rowid, *{added} FROM main.{table}")
    }
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
