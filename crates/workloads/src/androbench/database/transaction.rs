//! Transactions of a step: prepared once, run many times.

use super::connection::{Database, INTEGERS, TEXTS};
use crate::WorkError;
use assay_model::rng::SplitMix64;
use assay_model::work::androbench::{DatabasePhase, Schema, Statement};
use rusqlite::types::Value;
use rusqlite::{Statement as Prepared, params_from_iter};

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
    pub(crate) fn prepare(database: &'a Database, kind: Statement) -> Result<Self, WorkError> {
        let mut transaction = Self::part(database, kind)?;
        if matches!(database.schema, Schema::Mobibench { .. }) {
            let prepare = |sql| prepare(database, sql);
            transaction.around = Some((prepare("BEGIN")?, prepare("COMMIT")?));
        }
        Ok(transaction)
    }

    /// Prepares its statements inside a transaction begun elsewhere.
    pub(crate) fn part(database: &'a Database, kind: Statement) -> Result<Self, WorkError> {
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

    pub(crate) fn run(&mut self) -> Result<(), WorkError> {
        self.steps()
            .map_err(|error| self.database.failed(self.kind.name(), &error))
    }

    fn steps(&mut self) -> Result<(), rusqlite::Error> {
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
    pub(crate) fn fill(
        &self,
        phase: &DatabasePhase,
        rng: &mut SplitMix64,
    ) -> Result<(), WorkError> {
        self.run("BEGIN")?;
        let mut insert = Transaction::part(self, Statement::Insert)?;
        for key in 1..=phase.transactions {
            insert.choose(key, rng);
            insert.run()?;
        }
        self.run("COMMIT")
    }
}

fn prepare<'a>(database: &'a Database, sql: &str) -> Result<Prepared<'a>, WorkError> {
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
