//! Statements of users on an SQLite file, on a separate connection that can only read the views.

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

/// SQLite instructions between two checks of the time limit.
const STEPS: i32 = 10_000;

/// Maximum length of a text or row in a statement, in bytes.
const MOST_BYTES: i32 = 64 << 20;

/// Functions that reach beyond the database, where SQLite has them.
const FORBIDDEN: [&str; 5] = [
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
];

/// Table-valued functions that read only their arguments.
const OF_ARGUMENTS: [&str; 2] = ["json_each", "json_tree"];

/// Calls `row` with each row of an answer. Returns the names of the columns.
///
/// # Errors
/// If the statement does more than read views, exceeds its time limit, or fails.
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

/// Creates the views and returns the secret prefix of those that read tables.
///
/// The authorizer receives the name of the innermost view that reads a table, but a common table
/// expression with the name of a view (`WITH assay_runs AS (SELECT * FROM runs)`) looks the same.
/// Therefore the views that read tables have unpredictable names, and the known views read those.
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

/// Confines the connection to reading the views, for a limited time.
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
        // An empty column name stands for counting rows, of a view, a common table expression or a
        // table. The row count of a table is not secret.
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

/// Describes why a statement was refused, with the names of the permitted views.
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
