//! Upgrades an SQLite file to the newest format.

use crate::backend::Dialect;
use crate::schema::{APPLICATION_ID, NEWEST, STEPS};
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Upgrades the file to the newest format, all steps or none. The caller has checked that the file
/// is assay's or empty. A read-only file keeps its format and gets the newer tables in memory.
pub fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let found = version(connection)?;
    if found >= NEWEST {
        return Ok(());
    }
    if connection.is_readonly("main")? {
        return stand_in(connection, found);
    }
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have upgraded meanwhile.
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

/// Table that got columns in a later step.
struct Grown {
    table: &'static str,
    /// Step that created the table.
    made: usize,
    /// Step that added the columns.
    grown: usize,
    /// Added columns, each with its value for rows of an older file.
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

/// Adds the tables of newer steps to an old file, in memory: new tables are empty, and tables with
/// new columns are replaced by views.
fn stand_in(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    for step in STEPS.iter().skip(done) {
        let step = Dialect::Sqlite.tables(step);
        // Other statements of a step change existing tables.
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
    /// Returns the statements that add the table to a file of format `done`.
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

/// Returns the format version of the file; 0 for a new file.
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
