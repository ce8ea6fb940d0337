//! Statements of users on an SQLite file: a connection of its own, which can only read, and only
//! the views.

use super::file::RECORD_LOCKS;
use super::migrate;
use crate::backend::Question;
use crate::backend::row::Columns;
use crate::backend::views::{StoreView, VIEWS};
use crate::backend::{Dialect, Value};
use crate::error::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Time limit for waiting on a writer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Instructions of SQLite's machine between two looks at the clock.
const STEPS: i32 = 10_000;

/// Longest text or row that a statement can make.
const MOST_BYTES: i32 = 64 << 20;

/// Functions that reach beyond the database where they exist.
const FORBIDDEN: [&str; 5] = [
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
];

/// Tables that functions make of their arguments alone.
const OF_ARGUMENTS: [&str; 2] = ["json_each", "json_tree"];

/// Gives each row of an answer to `row`; names of the columns.
///
/// # Errors
/// When the statement does more than read views, takes longer than its time, or fails otherwise.
pub fn ask(
    path: &Path,
    question: &Question<'_>,
    row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<Vec<String>, StoreError> {
    let _held = RECORD_LOCKS.read().unwrap_or_else(PoisonError::into_inner);
    let failed = |error| StoreError::from_sqlite(path, error);
    let mut connection = open(path).map_err(failed)?;
    let secret = make_views(&connection).map_err(failed)?;
    confine(&mut connection, secret, question.time).map_err(failed)?;
    let refused = |error: rusqlite::Error| StoreError::Question {
        reason: reason(&error, question),
    };
    let mut statement = connection.prepare(question.sql).map_err(refused)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let count = names.len();
    if count == 0 || statement.parameter_count() > 0 {
        let reason = "it is no SELECT, or has placeholders, for which there are no values";
        return Err(StoreError::Question {
            reason: reason.to_owned(),
        });
    }
    let mut rows = statement.query([]).map_err(refused)?;
    while let Some(next) = rows.next().map_err(refused)? {
        let values: Result<Vec<Value>, String> = (0..count).map(|at| next.read(at)).collect();
        row(values.map_err(|reason| StoreError::Question { reason })?)?;
    }
    Ok(names)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    migrate::migrate(&connection)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Makes the views, and says how the names of those begin that read tables.
///
/// The authorizer is told the innermost view that reads a table, but a name that a user gives to a
/// part of a statement (`WITH assay_runs AS (SELECT * FROM runs)`) looks the same. So the views that
/// read tables have names that nobody can guess, and those with known names read them.
fn make_views(connection: &Connection) -> rusqlite::Result<String> {
    let secret: String =
        connection.query_row("SELECT 'v' || lower(hex(randomblob(16)))", [], |row| {
            row.get(0)
        })?;
    for view in &VIEWS {
        let name = view.name;
        let select = view.select(Dialect::Sqlite, "");
        let versioned = view.versioned();
        connection.execute_batch(&format!(
            "CREATE TEMP VIEW {secret}_{name} AS {select};
            CREATE TEMP VIEW {versioned} AS SELECT * FROM {secret}_{name};
            CREATE TEMP VIEW {name} AS SELECT * FROM {secret}_{name};"
        ))?;
    }
    Ok(secret)
}

/// From here on the connection only reads the views, for a limited time.
fn confine(connection: &mut Connection, secret: String, time: Duration) -> rusqlite::Result<()> {
    connection.pragma_update(None, "query_only", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_BYTES)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let ends = Instant::now() + time;
    connection.progress_handler(STEPS, Some(move || Instant::now() > ends))?;
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        match is_allowed(&context, &secret) {
            true => Authorization::Allow,
            false => Authorization::Deny,
        }
    }))
}

fn is_allowed(context: &AuthContext<'_>, secret: &str) -> bool {
    match &context.action {
        AuthAction::Select | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => !FORBIDDEN.contains(function_name),
        // Rows are counted without a column: those of views, of parts of a statement, and of a
        // table. How many rows a table has is no secret; what stands in them is.
        AuthAction::Read {
            column_name: "", ..
        } => true,
        AuthAction::Read { table_name, .. } => {
            let known =
                |view: &StoreView| view.name == *table_name || view.versioned() == *table_name;
            let within = context
                .accessor
                .is_some_and(|view| view.starts_with(secret));
            within
                || table_name.starts_with(secret)
                || OF_ARGUMENTS.contains(table_name)
                || VIEWS.iter().any(known)
        }
        _ => false,
    }
}

/// Says why a statement was refused, in words that tell what is allowed.
fn reason(error: &rusqlite::Error, question: &Question<'_>) -> String {
    use rusqlite::ErrorCode;
    match error {
        rusqlite::Error::MultipleStatement => "it is more than one statement".to_owned(),
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::OperationInterrupted => {
            format!("it took longer than {} s", question.time.as_secs())
        }
        rusqlite::Error::SqliteFailure(code, text)
            if code.code == ErrorCode::AuthorizationForStatementDenied =>
        {
            let names: Vec<&str> = VIEWS.iter().map(|view| view.name).collect();
            let text = text.as_deref().unwrap_or("not authorized");
            format!("only SELECT over {} is allowed: {text}", names.join(", "))
        }
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}
