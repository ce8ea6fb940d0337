//! The views that people and other tools may rely on: names and columns of a version never change
//! their meaning. Tables may change with each release.

use super::Dialect;

/// Version of the views. A column that changes its meaning or goes makes a new one.
pub const VIEWS_VERSION: u32 = 1;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Texts.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Moments: in SQLite texts such as `2026-11-03T14:05:09.250Z`, in PostgreSQL `timestamptz`.
    Time,
}

/// A view of the store.
#[derive(Clone, Copy, Debug)]
pub struct StoreView {
    /// Name without version.
    pub name: &'static str,
    /// Columns in their order.
    pub columns: &'static [(&'static str, ColumnType)],
    /// Columns that it is sorted by where it is exported.
    pub order: &'static str,
    body: &'static str,
}

use ColumnType::{Integer, Real, Text, Time};

/// The views of a store.
pub const VIEWS: [StoreView; 10] = [
    StoreView {
        name: "assay_runs",
        columns: &[
            ("run", Text),
            ("started", Time),
            ("finished", Time),
            ("status", Text),
            ("project", Text),
            ("target", Text),
            ("model", Text),
            ("unit", Text),
            ("bus", Text),
            ("firmware", Text),
            ("kernel", Text),
            ("governor", Text),
            ("path", Text),
            ("name", Text),
            ("tags", Text),
            ("note", Text),
        ],
        order: "started, run",
        body: "SELECT r.id AS run, {time r.started_unix_ms} AS started,
                {time r.finished_unix_ms} AS finished, r.status AS status,
                f.project AS project, f.target AS target, f.model AS model, f.unit AS unit,
                f.bus AS bus, f.firmware AS firmware, f.kernel AS kernel, f.governor AS governor,
                r.path AS path, a.name AS name, a.tags AS tags, a.note AS note
            FROM {t}runs r LEFT JOIN {t}facts f ON f.run_id = r.id
                LEFT JOIN {t}annotations a ON a.id = r.id",
    },
    StoreView {
        name: "assay_devices",
        columns: &[
            ("model", Text),
            ("units", Integer),
            ("runs", Integer),
            ("first_run", Time),
            ("last_run", Time),
        ],
        order: "model",
        body: "SELECT f.model AS model, count(DISTINCT f.unit) AS units, count(*) AS runs,
                {time min(r.started_unix_ms)} AS first_run,
                {time max(r.started_unix_ms)} AS last_run
            FROM {t}facts f JOIN {t}runs r ON r.id = f.run_id GROUP BY f.model",
    },
    StoreView {
        name: "assay_units",
        columns: &[
            ("model", Text),
            ("unit", Text),
            ("runs", Integer),
            ("first_run", Time),
            ("last_run", Time),
        ],
        order: "model, unit",
        body: "SELECT f.model AS model, f.unit AS unit, count(*) AS runs,
                {time min(r.started_unix_ms)} AS first_run,
                {time max(r.started_unix_ms)} AS last_run
            FROM {t}facts f JOIN {t}runs r ON r.id = f.run_id
            WHERE f.unit IS NOT NULL GROUP BY f.model, f.unit",
    },
    StoreView {
        name: "assay_jobs",
        columns: &[
            ("job_hash", Text),
            ("job", Text),
            ("series", Integer),
            ("runs", Integer),
        ],
        order: "job, job_hash",
        body: "SELECT s.job_hash AS job_hash, max(s.job) AS job, count(DISTINCT s.id) AS series,
                count(DISTINCT p.run_id) AS runs
            FROM {t}series s JOIN {t}points p ON p.series = s.id GROUP BY s.job_hash",
    },
    StoreView {
        name: "assay_trials",
        columns: &[
            ("run", Text),
            ("position", Integer),
            ("job", Text),
            ("trial", Integer),
            ("outcome", Text),
            ("started", Time),
        ],
        order: "run, position",
        body: "SELECT t.run_id AS run, t.position AS position, t.job AS job, t.trial AS trial,
                t.outcome AS outcome, {time t.started_unix_ms} AS started
            FROM {t}trials t",
    },
    StoreView {
        name: "assay_figures",
        columns: &[
            ("run", Text),
            ("started", Time),
            ("series", Text),
            ("project", Text),
            ("model", Text),
            ("unit", Text),
            ("bus", Text),
            ("job_hash", Text),
            ("job", Text),
            ("condition", Text),
            ("metric", Text),
            ("label", Text),
            ("unit_of_measure", Text),
            ("better", Text),
            ("n", Integer),
            ("centre", Real),
            ("low", Real),
            ("high", Real),
            ("samples", Text),
        ],
        order: "started, run, series",
        body: "SELECT p.run_id AS run, {time p.started_unix_ms} AS started, s.key AS series,
                s.project AS project, s.model AS model, f.unit AS unit, f.bus AS bus,
                s.job_hash AS job_hash, s.job AS job, s.condition AS condition,
                s.metric AS metric, s.label AS label, s.unit_of_measure AS unit_of_measure,
                s.better AS better, p.n AS n, p.centre AS centre,
                {least p.samples} AS low, {most p.samples} AS high, {list p.samples} AS samples
            FROM {t}points p JOIN {t}series s ON s.id = p.series
                LEFT JOIN {t}facts f ON f.run_id = p.run_id",
    },
    StoreView {
        name: "assay_evidence",
        columns: &[("run", Text), ("name", Text), ("value", Text)],
        order: "run, name",
        body: "SELECT f.run_id AS run, e.key AS name, e.value AS value
            FROM {t}facts f, {each f.surroundings} e",
    },
    StoreView {
        name: "assay_trial_evidence",
        columns: &[
            ("run", Text),
            ("position", Integer),
            ("job", Text),
            ("trial", Integer),
            ("condition", Text),
            ("direction", Text),
            ("label", Text),
            ("latency_label", Text),
            ("because", Text),
            ("job_bytes", Integer),
            ("device_bytes", Integer),
            ("device_share", Real),
            ("flushes", Integer),
            ("volatile_cache", Integer),
            ("dirty_bytes", Integer),
            ("foreign_bytes", Integer),
        ],
        order: "run, position, direction",
        body: "SELECT e.run_id AS run, {whole 0} AS position, t.job AS job, t.trial AS trial,
                j.value ->> 1 AS condition, j.value ->> 2 AS direction, j.value ->> 3 AS label,
                j.value ->> 4 AS latency_label, j.value ->> 5 AS because,
                {whole 6} AS job_bytes, {whole 7} AS device_bytes,
                CAST(j.value ->> 8 AS double precision) AS device_share,
                {whole 9} AS flushes, {whole 10} AS volatile_cache, {whole 11} AS dirty_bytes,
                {whole 12} AS foreign_bytes
            FROM {t}trial_evidence e CROSS JOIN {items e.trials} j
                JOIN {t}trials t ON t.run_id = e.run_id AND t.position = {whole 0}",
    },
    StoreView {
        name: "assay_series",
        columns: &[
            ("series", Text),
            ("project", Text),
            ("model", Text),
            ("unit", Text),
            ("target", Text),
            ("job_hash", Text),
            ("job", Text),
            ("condition", Text),
            ("metric", Text),
            ("label", Text),
            ("unit_of_measure", Text),
            ("better", Text),
            ("decides", Integer),
            ("runs", Integer),
            ("first_run", Time),
            ("last_run", Time),
        ],
        order: "series",
        body: "SELECT s.key AS series, s.project AS project, s.model AS model, s.unit AS unit,
                s.target AS target, s.job_hash AS job_hash, s.job AS job,
                s.condition AS condition, s.metric AS metric, s.label AS label,
                s.unit_of_measure AS unit_of_measure, s.better AS better,
                s.decides AS decides, s.runs AS runs, {time s.first_unix_ms} AS first_run,
                {time s.last_unix_ms} AS last_run
            FROM {t}series s WHERE s.runs > 0",
    },
    StoreView {
        name: "assay_changes",
        columns: &[
            ("series", Text),
            ("run", Text),
            ("before_run", Text),
            ("started", Time),
            ("project", Text),
            ("model", Text),
            ("target", Text),
            ("job", Text),
            ("condition", Text),
            ("metric", Text),
            ("label", Text),
            ("decides", Integer),
            ("effect", Real),
            ("effect_low", Real),
            ("effect_high", Real),
            ("verdict", Text),
            ("p", Real),
            ("events", Text),
            ("state", Text),
            ("note", Text),
        ],
        order: "started, series",
        body: "SELECT s.key AS series, c.run_id AS run, c.before_run_id AS before_run,
                {time c.started_unix_ms} AS started, s.project AS project, s.model AS model,
                s.target AS target, s.job AS job, s.condition AS condition, s.metric AS metric,
                s.label AS label, s.decides AS decides, c.effect AS effect, c.effect_low AS effect_low,
                c.effect_high AS effect_high, c.verdict AS verdict, c.p AS p,
                c.events AS events, coalesce(o.state, 'open') AS state, o.note AS note
            FROM {t}changes c JOIN {t}series s ON s.id = c.series
                LEFT JOIN {t}opinions o ON o.series_key = s.key AND o.run_id = c.run_id
                    AND o.state <> 'withdrawn'",
    },
];

impl StoreView {
    /// The name with its version, for who wants to keep it over releases.
    pub fn versioned(&self) -> String {
        format!("{}_v{VIEWS_VERSION}", self.name)
    }

    /// The SELECT of the view; names of tables get `prefix`.
    pub fn select(&self, dialect: Dialect, prefix: &str) -> String {
        let mut select = String::new();
        let mut rest = self.body;
        while let Some((before, after)) = rest.split_once('{') {
            select.push_str(before);
            let (what, after) = after.split_once('}').unwrap_or((after, ""));
            select.push_str(&fragment(dialect, what, prefix));
            rest = after;
        }
        select + rest
    }
}

/// The SQL of a word in braces.
fn fragment(dialect: Dialect, what: &str, prefix: &str) -> String {
    let (word, of) = what.split_once(' ').unwrap_or((what, ""));
    match (dialect, word) {
        (_, "t") => prefix.to_owned(),
        // A number of a list that `items` gave.
        (_, "whole") => format!("CAST(j.value ->> {of} AS bigint)"),
        (Dialect::Sqlite, "time") => {
            format!("strftime('%Y-%m-%dT%H:%M:%fZ', {of} / 1000.0, 'unixepoch')")
        }
        (Dialect::Postgres, "time") => format!("to_timestamp({of} / 1000.0)"),
        (Dialect::Sqlite, "least") => format!("(SELECT min(value) FROM json_each({of}))"),
        (Dialect::Postgres, "least") => format!("(SELECT min(x) FROM unnest({of}) AS x)"),
        (Dialect::Sqlite, "most") => format!("(SELECT max(value) FROM json_each({of}))"),
        (Dialect::Postgres, "most") => format!("(SELECT max(x) FROM unnest({of}) AS x)"),
        // Whole numbers are stored with ".0", which PostgreSQL does not write.
        (Dialect::Sqlite, "list") => format!("replace(replace({of}, '.0,', ','), '.0]', ']')"),
        (Dialect::Postgres, "list") => format!("CAST(array_to_json({of}) AS text)"),
        (Dialect::Sqlite, "items") => format!("json_each({of})"),
        (Dialect::Postgres, "items") => format!("json_array_elements(CAST({of} AS json))"),
        (Dialect::Sqlite, "each") => format!("json_each({of})"),
        (Dialect::Postgres, "each") => format!("json_each_text(CAST({of} AS json))"),
        _ => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_in_braces_is_known_and_each_column_has_its_place() {
        for view in &VIEWS {
            for dialect in [Dialect::Sqlite, Dialect::Postgres] {
                let select = view.select(dialect, "main.");
                assert!(!select.contains(['{', '}']), "{select}");
                let mut rest = select.as_str();
                for (column, _) in view.columns {
                    let (_, after) =
                        rest.split_once(&format!(" AS {column}"))
                            .unwrap_or_else(|| {
                                panic!("{} has no {column}, or not there: {rest}", view.name)
                            });
                    rest = after;
                }
            }
        }
    }
}
