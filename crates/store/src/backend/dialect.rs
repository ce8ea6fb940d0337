//! Differences of SQL between the back ends.

/// SQL dialect of a back end. Statements are the same except for these fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.38 and later.
    Sqlite,
    /// PostgreSQL 15 and later.
    Postgres,
}

impl Dialect {
    /// Returns the column of `runs` and `imports` that grows with each row. It orders rows of the
    /// same millisecond.
    pub fn sequence(self) -> &'static str {
        match self {
            Self::Sqlite => "rowid",
            Self::Postgres => "seq",
        }
    }

    /// Returns a condition on `words` of runs that an index alone answers.
    pub fn by_words(self, condition: &str) -> String {
        match self {
            // Without the hint SQLite reads every run in order of time, with its long header.
            Self::Sqlite => {
                format!("id IN (SELECT id FROM runs INDEXED BY runs_by_words WHERE {condition})")
            }
            Self::Postgres => condition.to_owned(),
        }
    }

    /// Returns the text of a JSON column's key; NULL if the key is missing or the JSON is invalid.
    pub fn json_text(self, column: &str, key: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("CASE WHEN json_valid({column}) THEN {column} ->> '$.{key}' END")
            }
            Self::Postgres => format!("(CAST({column} AS json) ->> '{key}')"),
        }
    }

    /// Returns a query for the value `revision`. The value changes with every commit since the last
    /// query on the same connection; it may also change without one.
    pub fn revision(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "SELECT data_version || '-' || total_changes() AS revision FROM pragma_data_version"
            }
            // Ids of visible transactions; read-only ones have none. On a standby the list is not
            // complete: the position in the replayed log shows the changes there.
            Self::Postgres => {
                "SELECT CAST(pg_current_snapshot() AS text) || ' ' \
                 || COALESCE(CAST(pg_last_wal_replay_lsn() AS text), '') AS revision"
            }
        }
    }

    /// Returns the tables of a schema step in this dialect. Types are written as in SQLite (TEXT,
    /// INTEGER, REAL, BLOB). Placeholders: `{seq}` precedes the columns of a table that has
    /// [`Self::sequence`], `{reals}` is the type of a column of several numbers
    /// ([`super::Value::Reals`]), `{then_seq}` follows the time in an index on both, `{generated}`
    /// ends a computed column, and `{target}` and `{command}` are expressions that read the run's
    /// header.
    pub fn tables(self, step: &str) -> String {
        let step = step
            .replace("{target}", &self.json_text("header", "target"))
            .replace("{command}", &self.json_text("header", "command"));
        match self {
            Self::Sqlite => step
                .replace("{seq}", "")
                .replace("{then_seq}", "")
                .replace("{generated}", "VIRTUAL")
                .replace("{reals}", "TEXT"),
            Self::Postgres => step
                .replace("{seq}", "seq bigint GENERATED ALWAYS AS IDENTITY,")
                .replace("{then_seq}", ", seq")
                .replace("{generated}", "STORED")
                .replace("{reals}", "double precision[]")
                .replace("TEXT", "text COLLATE \"C\"")
                .replace("INTEGER", "bigint")
                .replace("REAL", "double precision")
                .replace("BLOB", "bytea"),
        }
    }

    /// Returns a statement, with placeholders such as `?1` in the form of the back end.
    pub fn statement(self, sql: &str) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Sqlite => sql.into(),
            Self::Postgres => sql.replace('?', "$").into(),
        }
    }
}
