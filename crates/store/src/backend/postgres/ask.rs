//! Statements of users on PostgreSQL, in a read-only transaction with a time limit.

use super::errors::{Failures, words};
use super::types::is_read;
use crate::backend::Question;
use crate::backend::row::Columns;
use crate::backend::{Row, Value};
use crate::error::StoreError;
use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Column, Error};
use std::fmt::Write as _;

/// Query for the right to read files of the server or to start programs there, which superusers
/// have.
const REACHES_FILES: &str = "SELECT bool_or(pg_has_role(asker, role, 'MEMBER')) \
    FROM (VALUES (current_user), (session_user)) AS askers (asker), \
    (VALUES ('pg_read_server_files'), ('pg_write_server_files'), ('pg_execute_server_program')) \
    AS roles (role)";

/// Calls `row` with each row of an answer. Returns the names of the columns.
///
/// Superusers are refused: a statement can change its own role with `set_config`, so that a switch
/// to a reader's role does not confine a superuser's connection.
///
/// # Errors
/// If the statement is not a single SELECT, exceeds its time limit, or fails.
pub fn ask(
    client: &mut Client,
    failures: Failures<'_>,
    question: &Question<'_>,
    row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<Vec<String>, StoreError> {
    let failed = |error: Error| failures.failed(&error);
    let milliseconds = question.time.as_millis();
    client
        .batch_execute(&format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
             SET LOCAL statement_timeout = {milliseconds}"
        ))
        .map_err(failed)?;
    let asked = within(client, failures, question, row);
    // If this fails, the connection is lost and the server rolls back.
    let _ = client.batch_execute("ROLLBACK");
    asked
}

fn within(
    client: &mut Client,
    failures: Failures<'_>,
    question: &Question<'_>,
    row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<Vec<String>, StoreError> {
    let reaches = client.query_one(REACHES_FILES, &[]);
    let reaches = reaches.map_err(|error| failures.failed(&error))?;
    if reaches.get::<_, bool>(0) {
        return Err(StoreError::Question {
            reason: "this user of the database may read files of the server: ask as a user with \
                     the role assay_reader, such as postgres://READER@HOST/DB (docs/query.md)"
                .to_owned(),
        });
    }
    let refused = |error: Error| match error.code() {
        Some(state) if *state == SqlState::QUERY_CANCELED => StoreError::Question {
            reason: format!("it took longer than {} s", question.time.as_secs()),
        },
        Some(_) => StoreError::Question {
            reason: words(&error),
        },
        None => failures.failed(&error),
    };
    let sql = question.sql.trim_end().trim_end_matches(';');
    let wrong = |reason: &str| StoreError::Question {
        reason: reason.to_owned(),
    };
    // Prepared alone first: only a single statement can be prepared, so that none escapes the
    // brackets.
    let alone = client.prepare(sql).map_err(refused)?;
    if !alone.params().is_empty() {
        return Err(wrong(
            "it has placeholders such as $1, for which there are no values",
        ));
    }
    let names = alone.columns().iter();
    let names: Vec<String> = names.map(|column| column.name().to_owned()).collect();
    if names.is_empty() {
        return Err(wrong("it has no columns"));
    }
    // Within brackets PostgreSQL permits only a statement that reads.
    let bracketed = client.prepare(&bracketed(sql, alone.columns()));
    let statement = bracketed.map_err(refused)?;
    let none: [Value; 0] = [];
    let mut rows = client.query_raw(&statement, &none).map_err(refused)?;
    while let Some(next) = rows.next().map_err(refused)? {
        let next = Row::new(&next as &dyn Columns, failures.store());
        let values: Result<Vec<Value>, StoreError> =
            (0..names.len()).map(|at| next.at(at)).collect();
        row(values?)?;
    }
    Ok(names)
}

/// Wraps a statement to select its columns by position; columns of other types are cast to text.
fn bracketed(sql: &str, columns: &[Column]) -> String {
    let (mut wanted, mut names) = (String::new(), String::new());
    for (at, column) in columns.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let cast = if is_read(column.type_()) {
            ""
        } else {
            "::text"
        };
        // Writing to a String cannot fail.
        let _ = write!(wanted, "{comma}c{at}{cast}");
        let _ = write!(names, "{comma}c{at}");
    }
    format!("SELECT {wanted} FROM (\n{sql}\n) AS answer ({names})")
}
