//! Differences of SQL between the back ends.

/// The SQL of a back end. Statements are the same but for these fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.38 and later.
    Sqlite,
    /// PostgreSQL 15 and later.
    Postgres,
}

impl Dialect {
    /// The column of `runs` and `imports` that grows with each row: of two of one millisecond,
    /// the later is the newer.
    pub fn sequence(self) -> &'static str {
        match self {
            Self::Sqlite => "rowid",
            Self::Postgres => "seq",
        }
    }

    /// A condition on `words` of runs, answered by their index alone.
    pub fn by_words(self, condition: &str) -> String {
        match self {
            // It would read every run in the order of its time, with its long header.
            Self::Sqlite => {
                format!("id IN (SELECT id FROM runs INDEXED BY runs_by_words WHERE {condition})")
            }
            Self::Postgres => condition.to_owned(),
        }
    }

    /// The text of a key of a column with JSON, NULL if the key or valid JSON is missing.
    pub fn json_text(self, column: &str, key: &str) -> String {
        match self {
            Self::Sqlite => {
                format!("CASE WHEN json_valid({column}) THEN {column} ->> '$.{key}' END")
            }
            Self::Postgres => format!("(CAST({column} AS json) ->> '{key}')"),
        }
    }

    /// A statement whose one value `revision` differs from what it was before on the same
    /// connection if anything was committed since. It may differ without that, too.
    pub fn revision(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "SELECT data_version || '-' || total_changes() AS revision FROM pragma_data_version"
            }
            // Transactions that are visible; those that only read have no number. Of a standby it
            // does not name all, but there the log tells.
            Self::Postgres => {
                "SELECT CAST(pg_current_snapshot() AS text) || ' ' \
                 || COALESCE(CAST(pg_last_wal_replay_lsn() AS text), '') AS revision"
            }
        }
    }

    /// The tables of a step of the schema: types are written as in SQLite (TEXT, INTEGER, REAL,
    /// BLOB), `{seq}` stands before the other columns of a table that has [`Self::sequence`],
    /// `{reals}` is the type of a column with several numbers ([`super::Value::Reals`]), `{then_seq}`
    /// stands behind the time in an index on both, `{generated}` ends a column that is computed from
    /// others, and `{target}` and `{command}` are what a run's header says.
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

    /// A statement as the back end takes it: placeholders are written `?1`, `?2`.
    pub fn statement(self, sql: &str) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Sqlite => sql.into(),
            Self::Postgres => sql.replace('?', "$").into(),
        }
    }
}
