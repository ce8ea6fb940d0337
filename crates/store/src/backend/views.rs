//! Views for users and other tools. Within a version, names and meanings of columns never change;
//! tables may change with each release.
//!
//! To add a column: add it at the end of its view, and to `docs/query.md` (a test compares them). A
//! column that changes its meaning or is removed needs a new `VIEWS_VERSION`, beside the views of
//! the old one.

use super::Dialect;

/// Version of the views. Removing a column or changing its meaning requires a new version.
pub const VIEWS_VERSION: u32 = 1;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text in UTF-8.
    Text,
    /// 64-bit integer; booleans are 0 and 1.
    Integer,
    /// Double precision.
    Real,
    /// Time: in SQLite text such as `2026-11-03T14:05:09.250Z`, in PostgreSQL `timestamptz`.
    Time,
}

/// View of the store.
#[derive(Clone, Copy, Debug)]
pub struct StoreView {
    /// Name without version.
    pub name: &'static str,
    /// Columns in their order.
    pub columns: &'static [(&'static str, ColumnType)],
    /// Columns by which an export is sorted.
    pub order: &'static str,
    body: &'static str,
}

use ColumnType::{Integer, Real, Text, Time};

/// Declares a [`StoreView`] by `column: Type = "expression",` for each column and the text after
/// `FROM`. [`fragment`] replaces words in braces: `{time r.started_unix_ms}`, `{t}runs`.
macro_rules! view {
    (
        name: $name:literal,
        columns: {
            $first:ident: $first_type:ident = $first_value:literal,
            $($column:ident: $type:ident = $value:literal,)+
        },
        order: $order:literal,
        from: $from:literal,
    ) => {
        StoreView {
            name: $name,
            columns: &[
                (stringify!($first), $first_type),
                $((stringify!($column), $type)),+
            ],
            order: $order,
            body: concat!(
                "SELECT ", $first_value, " AS ", stringify!($first),
                $(", ", $value, " AS ", stringify!($column),)+
                " FROM ", $from
            ),
        }
    };
}

/// The views of a store.
pub const VIEWS: [StoreView; 10] = [
    view! {
        name: "assay_runs",
        columns: {
            run: Text = "r.id",
            started: Time = "{time r.started_unix_ms}",
            finished: Time = "{time r.finished_unix_ms}",
            status: Text = "r.status",
            project: Text = "f.project",
            target: Text = "f.target",
            model: Text = "f.model",
            unit: Text = "f.unit",
            bus: Text = "f.bus",
            firmware: Text = "f.firmware",
            kernel: Text = "f.kernel",
            governor: Text = "f.governor",
            path: Text = "r.path",
            name: Text = "a.name",
            tags: Text = "a.tags",
            note: Text = "a.note",
        },
        order: "started, run",
        from: "{t}runs r LEFT JOIN {t}facts f ON f.run_id = r.id
            LEFT JOIN {t}annotations a ON a.id = r.id",
    },
    view! {
        name: "assay_devices",
        columns: {
            model: Text = "f.model",
            units: Integer = "count(DISTINCT f.unit)",
            runs: Integer = "count(*)",
            first_run: Time = "{time min(r.started_unix_ms)}",
            last_run: Time = "{time max(r.started_unix_ms)}",
        },
        order: "model",
        from: "{t}facts f JOIN {t}runs r ON r.id = f.run_id GROUP BY f.model",
    },
    view! {
        name: "assay_units",
        columns: {
            model: Text = "f.model",
            unit: Text = "f.unit",
            runs: Integer = "count(*)",
            first_run: Time = "{time min(r.started_unix_ms)}",
            last_run: Time = "{time max(r.started_unix_ms)}",
        },
        order: "model, unit",
        from: "{t}facts f JOIN {t}runs r ON r.id = f.run_id
            WHERE f.unit IS NOT NULL GROUP BY f.model, f.unit",
    },
    view! {
        name: "assay_jobs",
        columns: {
            job_hash: Text = "s.job_hash",
            job: Text = "max(s.job)",
            series: Integer = "count(DISTINCT s.id)",
            runs: Integer = "count(DISTINCT p.run_id)",
        },
        order: "job, job_hash",
        from: "{t}series s JOIN {t}points p ON p.series = s.id GROUP BY s.job_hash",
    },
    view! {
        name: "assay_trials",
        columns: {
            run: Text = "t.run_id",
            position: Integer = "t.position",
            job: Text = "t.job",
            trial: Integer = "t.trial",
            outcome: Text = "t.outcome",
            started: Time = "{time t.started_unix_ms}",
        },
        order: "run, position",
        from: "{t}trials t",
    },
    view! {
        name: "assay_figures",
        columns: {
            run: Text = "p.run_id",
            started: Time = "{time p.started_unix_ms}",
            series: Text = "s.key",
            project: Text = "s.project",
            model: Text = "s.model",
            unit: Text = "f.unit",
            bus: Text = "f.bus",
            job_hash: Text = "s.job_hash",
            job: Text = "s.job",
            condition: Text = "s.condition",
            metric: Text = "s.metric",
            label: Text = "s.label",
            unit_of_measure: Text = "s.unit_of_measure",
            better: Text = "s.better",
            n: Integer = "p.n",
            centre: Real = "p.centre",
            low: Real = "{least p.samples}",
            high: Real = "{most p.samples}",
            samples: Text = "{list p.samples}",
        },
        order: "started, run, series",
        from: "{t}points p JOIN {t}series s ON s.id = p.series
            LEFT JOIN {t}facts f ON f.run_id = p.run_id",
    },
    view! {
        name: "assay_evidence",
        columns: {
            run: Text = "f.run_id",
            name: Text = "e.key",
            value: Text = "e.value",
        },
        order: "run, name",
        from: "{t}facts f, {each f.surroundings} e",
    },
    view! {
        name: "assay_trial_evidence",
        columns: {
            run: Text = "e.run_id",
            // The numbers are positions in the tuple of `derived::columns`.
            position: Integer = "{integer 0}",
            job: Text = "t.job",
            trial: Integer = "t.trial",
            condition: Text = "j.value ->> 1",
            direction: Text = "j.value ->> 2",
            label: Text = "j.value ->> 3",
            latency_label: Text = "j.value ->> 4",
            because: Text = "j.value ->> 5",
            job_bytes: Integer = "{integer 6}",
            device_bytes: Integer = "{integer 7}",
            device_share: Real = "CAST(j.value ->> 8 AS double precision)",
            flushes: Integer = "{integer 9}",
            volatile_cache: Integer = "{integer 10}",
            dirty_bytes: Integer = "{integer 11}",
            foreign_bytes: Integer = "{integer 12}",
        },
        order: "run, position, direction",
        from: "{t}trial_evidence e CROSS JOIN {items e.trials} j
            JOIN {t}trials t ON t.run_id = e.run_id AND t.position = {integer 0}",
    },
    view! {
        name: "assay_series",
        columns: {
            series: Text = "s.key",
            project: Text = "s.project",
            model: Text = "s.model",
            unit: Text = "s.unit",
            target: Text = "s.target",
            job_hash: Text = "s.job_hash",
            job: Text = "s.job",
            condition: Text = "s.condition",
            metric: Text = "s.metric",
            label: Text = "s.label",
            unit_of_measure: Text = "s.unit_of_measure",
            better: Text = "s.better",
            decides: Integer = "s.decides",
            runs: Integer = "s.runs",
            first_run: Time = "{time s.first_unix_ms}",
            last_run: Time = "{time s.last_unix_ms}",
        },
        order: "series",
        from: "{t}series s WHERE s.runs > 0",
    },
    view! {
        name: "assay_changes",
        columns: {
            series: Text = "s.key",
            run: Text = "c.run_id",
            before_run: Text = "c.before_run_id",
            started: Time = "{time c.started_unix_ms}",
            project: Text = "s.project",
            model: Text = "s.model",
            target: Text = "s.target",
            job: Text = "s.job",
            condition: Text = "s.condition",
            metric: Text = "s.metric",
            label: Text = "s.label",
            decides: Integer = "s.decides",
            effect: Real = "c.effect",
            effect_low: Real = "c.effect_low",
            effect_high: Real = "c.effect_high",
            verdict: Text = "c.verdict",
            p: Real = "c.p",
            events: Text = "c.events",
            state: Text = "coalesce(o.state, 'open')",
            note: Text = "o.note",
        },
        order: "started, series",
        from: "{t}changes c JOIN {t}series s ON s.id = c.series
            LEFT JOIN {t}opinions o ON o.series_key = s.key AND o.run_id = c.run_id
            AND o.state <> 'withdrawn'",
    },
];

impl StoreView {
    /// Returns the name with its version, which remains the same over releases.
    pub fn versioned(&self) -> String {
        format!("{}_v{VIEWS_VERSION}", self.name)
    }

    /// Returns the SELECT of the view, with `prefix` before the names of tables.
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

/// Returns the SQL of a macro in braces: `{t}` prefix of tables; `{time X}` milliseconds as a time;
/// `{least X}`, `{most X}` extremes of a list; `{list X}` a list as JSON; `{items X}` rows of a
/// JSON list, as `j` in a view; `{integer N}` element N of `j`; `{each X}` keys and values of an
/// object.
fn fragment(dialect: Dialect, what: &str, prefix: &str) -> String {
    let (word, of) = what.split_once(' ').unwrap_or((what, ""));
    match (dialect, word) {
        (_, "t") => prefix.to_owned(),
        (_, "integer") => format!("CAST(j.value ->> {of} AS bigint)"),
        (Dialect::Sqlite, "time") => {
            format!("strftime('%Y-%m-%dT%H:%M:%fZ', {of} / 1000.0, 'unixepoch')")
        }
        (Dialect::Postgres, "time") => format!("to_timestamp({of} / 1000.0)"),
        (Dialect::Sqlite, "least") => format!("(SELECT min(value) FROM json_each({of}))"),
        (Dialect::Postgres, "least") => format!("(SELECT min(x) FROM unnest({of}) AS x)"),
        (Dialect::Sqlite, "most") => format!("(SELECT max(value) FROM json_each({of}))"),
        (Dialect::Postgres, "most") => format!("(SELECT max(x) FROM unnest({of}) AS x)"),
        // SQLite stores whole numbers with ".0", which PostgreSQL omits.
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
    fn every_macro_is_expanded_and_columns_keep_their_order() {
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
