//! The tables, as numbered steps, for all back ends (`backend::Dialect::tables` says what stands
//! for what). A step that was released is never changed: a change is a new step at the end.
//! A step makes tables and indexes, and adds columns, which `backend::sqlite::migrate` then knows too.

/// "assy" in ASCII: marks the file as assay's (`PRAGMA application_id`).
pub const APPLICATION_ID: i32 = 0x6173_7379;

/// Step n brings the version of the format from n to n + 1: in SQLite `PRAGMA user_version`.
pub const STEPS: &[&str] = &[
    // 1: runs and trials. `header` is the run header as JSON, `record` the
    // trial record as zlib-compressed JSON; the other columns repeat what
    // lists need, and what helps a person with the sqlite3 shell.
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
    // 2: results that were made elsewhere. `files` is a JSON list of names,
    // `record` all of it as zlib-compressed JSON.
    "CREATE TABLE imports ({seq}
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
    // 4: what sharing a store takes. `content_sha256` (hex) is that of a whole record that will
    // not change (`exchange::content`), NULL until someone asks; a tombstone is of a run or an
    // import that was removed; the queue holds what is still to be copied to another store.
    // `target` and `command` (a JSON list) stand in the header too, which is long. `words` is what
    // a search looks through, `facts_version` that of its facts, 0 without any: of a million
    // runs, an index finds the few without.
    // Then what is derived from runs, and made again when it is dropped (`crate::derived`): facts,
    // the evidence of all trials of a run in one row (JSON), series with their points and changes;
    // `series.id` is its key read as a number. Opinions on changes are the user's and stay.
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
