//! Schema as numbered steps, for all back ends (placeholders: `backend::Dialect::tables`). A
//! released step is never changed: a change is a new step at the end. A step creates tables and
//! indexes, and adds columns; added columns must also be listed in `backend::sqlite::migrate`.

/// "assy" in ASCII: identifies the file as assay's (`PRAGMA application_id`).
pub const APPLICATION_ID: i32 = 0x6173_7379;

/// Upgrade steps: step n upgrades from format n to n + 1 (SQLite: `PRAGMA user_version`).
pub const STEPS: &[&str] = &[
    // 1: runs and trials. `header` is the run header as JSON, `record` the trial record as
    // zlib-compressed JSON. The other columns repeat data for lists and for users of the sqlite3
    // shell.
    "CREATE TABLE runs ({seq}
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
    // 2: imported results. `files` is a JSON list of names, `record` the whole import as
    // zlib-compressed JSON.
    "CREATE TABLE imports ({seq}
        id TEXT PRIMARY KEY NOT NULL,
        imported_unix_ms INTEGER NOT NULL,
        tool TEXT NOT NULL,
        files TEXT NOT NULL,
        figures INTEGER NOT NULL,
        record BLOB NOT NULL
    );",
    // 3: names, tags and notes of users, apart from the records, which never change. `tags` is a
    // JSON list of words.
    "CREATE TABLE annotations (
        id TEXT PRIMARY KEY NOT NULL,
        name TEXT UNIQUE,
        tags TEXT NOT NULL,
        note TEXT
    );",
    // 4: columns and tables for sharing a store. `content_sha256` (hex) is the hash of a finished
    // record (`exchange::message`), NULL until it is first computed. A tombstone marks a removed
    // run or import. The queue lists records to copy to another store. `target` and `command` (a
    // JSON list) repeat parts of the header, which is long. `words` is the text for searches.
    // `facts_version` is the version of the facts, 0 without any: an index finds the few such runs
    // among a million.
    // Derived data follow, which can be dropped and computed again (`crate::derived`): facts, the
    // evidence of all trials of a run in one row (JSON), series with their points and changes.
    // `series.id` is its key read as a number. Opinions on changes are the users' and remain.
    "ALTER TABLE runs ADD COLUMN content_sha256 TEXT;
    ALTER TABLE runs ADD COLUMN target TEXT;
    ALTER TABLE runs ADD COLUMN command TEXT;
    ALTER TABLE runs ADD COLUMN facts_version INTEGER NOT NULL DEFAULT 0;
    UPDATE runs SET target = {target}, command = {command};
    ALTER TABLE runs ADD COLUMN words TEXT GENERATED ALWAYS AS (
        lower(id || ' ' || path || ' ' || device || ' ' || COALESCE(target, ''))) {generated};
    ALTER TABLE imports ADD COLUMN content_sha256 TEXT;
    ALTER TABLE annotations ADD COLUMN changed_unix_ms INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE tombstones (
        id TEXT PRIMARY KEY NOT NULL,
        at_unix_ms INTEGER NOT NULL
    );
    CREATE TABLE queue (
        id TEXT NOT NULL,
        destination TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        last_error TEXT,
        PRIMARY KEY (id, destination)
    );
    CREATE INDEX runs_by_time ON runs (started_unix_ms{then_seq});
    CREATE INDEX runs_by_words ON runs (started_unix_ms{then_seq}, words, id);
    CREATE INDEX runs_by_facts ON runs (facts_version);
    CREATE INDEX imports_by_time ON imports (imported_unix_ms{then_seq});
    CREATE INDEX runs_under_way ON runs (id) WHERE status = 'running';
    CREATE TABLE facts (
        run_id TEXT PRIMARY KEY NOT NULL,
        project TEXT NOT NULL,
        target TEXT NOT NULL,
        model TEXT NOT NULL,
        unit TEXT,
        bus TEXT,
        kernel TEXT,
        firmware TEXT,
        governor TEXT,
        surroundings TEXT NOT NULL
    );
    CREATE TABLE trial_evidence (
        run_id TEXT PRIMARY KEY NOT NULL,
        trials TEXT NOT NULL
    );
    CREATE TABLE series (
        id INTEGER PRIMARY KEY NOT NULL,
        key TEXT UNIQUE NOT NULL,
        project TEXT NOT NULL,
        model TEXT NOT NULL,
        unit TEXT NOT NULL,
        target TEXT NOT NULL,
        job TEXT NOT NULL,
        job_hash TEXT NOT NULL,
        condition TEXT NOT NULL,
        metric TEXT NOT NULL,
        label TEXT NOT NULL,
        unit_of_measure TEXT NOT NULL,
        better TEXT,
        decides INTEGER NOT NULL,
        tail INTEGER NOT NULL,
        checked INTEGER NOT NULL,
        runs INTEGER NOT NULL DEFAULT 0,
        first_unix_ms INTEGER NOT NULL DEFAULT 0,
        last_unix_ms INTEGER NOT NULL DEFAULT 0,
        last_centre REAL NOT NULL DEFAULT 0
    );
    CREATE TABLE points (
        series INTEGER NOT NULL,
        started_unix_ms INTEGER NOT NULL,
        run_id TEXT NOT NULL,
        n INTEGER NOT NULL,
        centre REAL NOT NULL,
        samples {reals} NOT NULL,
        PRIMARY KEY (series, started_unix_ms, run_id)
    );
    CREATE TABLE changes (
        series INTEGER NOT NULL,
        run_id TEXT NOT NULL,
        before_run_id TEXT NOT NULL,
        started_unix_ms INTEGER NOT NULL,
        found_unix_ms INTEGER NOT NULL,
        verdict TEXT NOT NULL,
        effect REAL,
        effect_low REAL,
        effect_high REAL,
        before_runs INTEGER NOT NULL,
        before_centre REAL NOT NULL,
        after_runs INTEGER NOT NULL,
        after_centre REAL NOT NULL,
        p REAL NOT NULL,
        events TEXT NOT NULL,
        method TEXT NOT NULL,
        accepted INTEGER NOT NULL,
        PRIMARY KEY (series, run_id)
    );
    CREATE TABLE opinions (
        series_key TEXT NOT NULL,
        run_id TEXT NOT NULL,
        state TEXT NOT NULL,
        note TEXT NOT NULL,
        author TEXT NOT NULL,
        at_unix_ms INTEGER NOT NULL,
        PRIMARY KEY (series_key, run_id)
    );
    CREATE INDEX facts_by_model ON facts (model, target);
    CREATE INDEX points_by_run ON points (run_id);
    CREATE INDEX series_by_job ON series (job_hash, model, target);
    CREATE INDEX series_unchecked ON series (id) WHERE checked < 0;",
];

/// The newest known format.
#[expect(clippy::cast_possible_truncation, reason = "a handful of steps")]
pub const NEWEST: u32 = STEPS.len() as u32;
