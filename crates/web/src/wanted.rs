//! Filters that the query parameters of an address describe.

use crate::asked::Query;
use crate::reply::Problem;
use assay_lang::tr;
use assay_model::run::RunStatus;
use assay_store::{ListFilter, ListKey, PageKey, RunsFilter, SeriesFilter};
use jiff::civil::Date;
use jiff::tz::TimeZone;

const DAY_MS: u64 = 86_400_000;

/// Returns the filter of runs that the parameters describe.
///
/// # Errors
/// If a date or a status is invalid.
pub fn runs(query: &Query) -> Result<ListFilter, Problem> {
    let text = |name| query.get(name).map(str::to_owned);
    let status = query.get("status");
    if let Some(status) = status
        && !STATUSES.contains(&status)
    {
        let why = tr!("{status} is no status of a run.", status);
        return Err(Problem::Wrong(why));
    }
    let until = query.get("until").map(day).transpose()?;
    Ok(ListFilter {
        text: text("text"),
        device: text("device"),
        command: text("command"),
        since_unix_ms: query.get("since").map(day).transpose()?,
        of_runs: RunsFilter {
            before_unix_ms: until.map(|day| day + DAY_MS),
            status: status.map(str::to_owned),
            target: text("target"),
            model: text("model"),
            unit: text("unit"),
        },
    })
}

/// Returns the filter of series that the parameters describe. The default is primary metrics only.
///
/// # Errors
/// If a date is invalid, or `metrics` has a value other than `all`.
pub fn series(query: &Query) -> Result<SeriesFilter, Problem> {
    let text = |name| query.get(name).map(str::to_owned);
    Ok(SeriesFilter {
        model: None,
        project: text("project"),
        device: text("device"),
        job: text("job"),
        metric: text("metric"),
        key: None,
        since_unix_ms: query.get("since").map(day).transpose()?,
        only_primary: word(query, "metrics", &["all"])?.is_none(),
    })
}

/// Returns true if only open slowdowns are requested: `state=open`. `state=all` requests every
/// change; without the parameter the result is `otherwise`.
///
/// # Errors
/// If `state` has another value.
pub fn only_open(query: &Query, otherwise: bool) -> Result<bool, Problem> {
    let state = word(query, "state", &["open", "all"])?;
    Ok(state.map_or(otherwise, |state| state == "open"))
}

/// Reads a parameter that allows only some values.
fn word<'a>(query: &'a Query, name: &str, words: &[&str]) -> Result<Option<&'a str>, Problem> {
    let value = query.get(name);
    match value.filter(|value| !words.contains(value)) {
        Some(value) => {
            let words = words.join(", ");
            let why = tr!(
                "{name}={value} makes no sense: there is {words}.",
                name,
                value,
                words
            );
            Err(Problem::Wrong(why))
        }
        None => Ok(value),
    }
}

/// Names of the values of [`RunStatus`].
pub const STATUSES: [&str; 4] = [
    RunStatus::Running.word(),
    RunStatus::Finished.word(),
    RunStatus::Interrupted.word(),
    "failed",
];

/// Reads `after`, the key at which the previous page ended.
///
/// # Errors
/// If it is not the key of a page.
pub fn after(query: &Query) -> Result<Option<PageKey>, Problem> {
    key_after(query, PageKey::read)
}

/// Reads `after`, the key at which the previous page of the list of runs ended.
///
/// # Errors
/// If it is not the key of a page.
pub fn after_run(query: &Query) -> Result<Option<ListKey>, Problem> {
    key_after(query, |text| text.parse().ok())
}

fn key_after<K>(query: &Query, read: fn(&str) -> Option<K>) -> Result<Option<K>, Problem> {
    let read = |text: &str| {
        let key = read(text);
        key.ok_or_else(|| Problem::Wrong(tr!("{text} is not the end of a page.", text)))
    };
    query.get("after").map(read).transpose()
}

fn day(text: &str) -> Result<u64, Problem> {
    let midnight = || {
        let date = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?;
        u64::try_from(date.timestamp().as_millisecond()).ok()
    };
    midnight().ok_or_else(|| Problem::Wrong(tr!("{text} is no day such as 2026-03-14.", text)))
}
