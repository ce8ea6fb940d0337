//! Requests as the route handlers receive them, the filters that their query parameters describe,
//! and the stored runs and imports that they name.

use crate::access::Served;
use crate::reply::{Problem, tag_of};
use assay_lang::{current, tr};
use assay_model::figures::Import;
use assay_model::run::{Run, RunStatus};
use assay_store::{
    ListFilter, ListKey, ListPage, Listed, LoadedRun, Owner, PageKey, RunsFilter, SeriesFilter,
    Store, StoredId,
};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Maximum number of parameters of a request: a comparison has up to three for each run.
const PARAMETERS: usize = 256;
/// Maximum length of a parameter's value, in characters.
const LONGEST: usize = 200;

/// Request with the state that a handler needs to answer it.
pub struct Asked<'a> {
    /// The store.
    pub store: &'a Store,
    /// The server.
    pub served: &'a Served,
    /// Variable parts of the path, by name.
    pub path: BTreeMap<String, String>,
    /// Query parameters.
    pub query: Query,
    /// `If-None-Match` header: tags of contents that the client has cached.
    pub has: Option<String>,
    /// True if the answer depends on more than the store, so that it must not be cached.
    pub passing: Cell<bool>,
}

impl Asked<'_> {
    /// Returns a variable part of the path; empty if the route has no such part.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// Returns true if the process that makes a run is alive. Marks the answer as not to be cached.
    pub fn is_alive(&self, owner: &Owner) -> bool {
        self.passing.set(true);
        self.served.program.is_alive(owner)
    }

    /// Returns the tag for parts that determine the contents.
    ///
    /// # Errors
    /// [`Problem::Unchanged`] if the client has these contents, which ends the request.
    pub fn tag(&self, parts: &[&str]) -> Result<String, Problem> {
        let own = [
            env!("CARGO_PKG_VERSION"),
            &self.served.build,
            current().tag(),
        ];
        let all = own.iter().chain(parts);
        self.unless_had(tag_of(all.map(|part| part.as_bytes())))
    }

    /// Returns the same tag.
    ///
    /// # Errors
    /// [`Problem::Unchanged`] if the client has these contents, which ends the request.
    pub fn unless_had(&self, tag: String) -> Result<String, Problem> {
        match is_in(self.has.as_deref(), &tag) {
            true => Err(Problem::Unchanged(tag)),
            false => Ok(tag),
        }
    }
}

/// Returns true if an `If-None-Match` header lists a tag.
fn is_in(header: Option<&str>, tag: &str) -> bool {
    let mut tags = header.unwrap_or_default().split(',').map(str::trim);
    tags.any(|other| other == "*" || other.trim_start_matches("W/") == tag)
}

/// Query parameters in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the query string of an address.
    ///
    /// # Errors
    /// If it has too many parameters, or a value is too long or contains a NUL character.
    pub fn read(text: &str) -> Result<Self, Problem> {
        let mut pairs = Vec::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let value = value.trim();
            if value.chars().nth(LONGEST).is_some() {
                let why = tr!("{name} has more than {n} characters.", name, n = LONGEST);
                return Err(Problem::Wrong(why));
            }
            if !is_text(value) {
                let why = tr!("{name} has a character that no text here has.", name);
                return Err(Problem::Wrong(why));
            }
            if !value.is_empty() {
                pairs.push((name.into_owned(), value.to_owned()));
            }
        }
        match pairs.len() > PARAMETERS {
            true => {
                let why = tr!("The address has more than {n} parameters.", n = PARAMETERS);
                Err(Problem::Wrong(why))
            }
            false => Ok(Self(pairs)),
        }
    }

    /// Returns the names of the parameters, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns every value of a parameter.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let named = self.0.iter().filter(|(known, _)| known == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns an address with these parameters, one of them replaced by another value.
    pub fn with(&self, path: &str, name: &str, value: &str) -> String {
        let others = self.0.iter().filter(|(known, _)| known != name);
        let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
        address(path, others.chain([(name, value)]))
    }
}

/// Returns true if a database can store this text: PostgreSQL rejects NUL characters.
pub fn is_text(value: &str) -> bool {
    !value.contains('\0')
}

/// Returns an address with query parameters.
pub fn address<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    match query.finish().as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Escapes a text as one segment of a path.
pub fn segment(text: &str) -> String {
    // A form writes a space as a plus, a path does not.
    let escaped: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    escaped.replace('+', "%20")
}

const DAY_MS: u64 = 86_400_000;

/// Returns the filter of runs that the parameters describe.
///
/// # Errors
/// If a date or a status is invalid.
pub fn runs_filter(query: &Query) -> Result<ListFilter, Problem> {
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
pub fn series_filter(query: &Query) -> Result<SeriesFilter, Problem> {
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

/// A run or an import with all its data.
pub enum Stored {
    /// A run measured by assay.
    Run(Box<Run>),
    /// Results measured by another program.
    Import(Box<Import>),
}

/// Run or import named by a path. Its record is not loaded yet.
pub struct Named {
    /// Complete id.
    pub id: StoredId,
    /// State of the record in the store; determines the contents.
    state: String,
    /// True unless the process that makes the run is alive.
    abandoned: bool,
}

/// Finds the run or the import that the path names.
///
/// # Errors
/// If the store has no such run or import.
pub fn found(asked: &Asked<'_>) -> Result<Named, Problem> {
    let id = asked.store.find(asked.part("id"))?;
    let state = asked.store.state_of(id.id())?;
    let alive = |owner| asked.is_alive(&owner);
    let abandoned = !state.owner.is_some_and(alive);
    Ok(Named {
        id,
        state: state.text,
        abandoned,
    })
}

/// Returns the tag of a run or an import in one form, such as `json`.
///
/// # Errors
/// [`Problem::Unchanged`] if the client has these contents.
pub fn tag(asked: &Asked<'_>, of: &Named, form: &str) -> Result<String, Problem> {
    let word = if of.abandoned { "abandoned" } else { "" };
    asked.tag(&[form, of.id.id(), &of.state, word])
}

/// Returns a part of the list of runs and imports. An unfinished run whose process has ended is
/// shown as interrupted.
pub fn listed(
    asked: &Asked<'_>,
    filter: &ListFilter,
    after: Option<ListKey>,
    most: u32,
) -> Result<ListPage, Problem> {
    let mut page = asked.store.page(filter, after, most)?;
    let running =
        |entry: &Listed| matches!(entry, Listed::Run(run) if run.status == RunStatus::Running);
    if page.entries.iter().any(running) {
        let alive = |owner: &Owner| asked.is_alive(owner);
        let abandoned = asked.store.abandoned_runs(alive)?;
        for entry in &mut page.entries {
            if let Listed::Run(run) = entry
                && abandoned.iter().any(|one| one.id == run.id)
            {
                run.status = RunStatus::Interrupted;
            }
        }
    }
    Ok(page)
}

/// Loads a run or an import.
pub fn load(asked: &Asked<'_>, of: &Named) -> Result<Stored, Problem> {
    let id = match &of.id {
        StoredId::Import(id) => return Ok(Stored::Import(Box::new(asked.store.load_import(id)?))),
        StoredId::Run(id) => id,
    };
    let LoadedRun { mut run, .. } = asked.store.load(id)?;
    // Lists show it as interrupted too.
    if run.status == RunStatus::Running && of.abandoned {
        run.status = RunStatus::Interrupted;
    }
    Ok(Stored::Run(Box::new(run)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_written_as_they_are() {
        let query = Query::read("q=a%26b+c&run=1&run=2&empty=&since=%20").unwrap();
        assert_eq!(query.get("q"), Some("a&b c"));
        assert_eq!(query.all("run"), ["1", "2"]);
        assert_eq!(query.get("empty"), None);
        assert_eq!(
            query.with("/runs", "run", "<\">"),
            "/runs?q=a%26b+c&run=%3C%22%3E"
        );
        assert_eq!(segment("a b/../c"), "a%20b%2F..%2Fc");
    }

    #[test]
    fn parameters_that_make_no_sense_are_refused() {
        let most = "a=1&".repeat(PARAMETERS);
        assert!(Query::read(&most).is_ok());
        let longest = format!("a={}", "x".repeat(LONGEST));
        assert!(Query::read(&longest).is_ok());
        for text in [
            format!("{most}b=1"),
            format!("{longest}x"),
            "a=%00".to_owned(),
        ] {
            assert!(
                matches!(Query::read(&text), Err(Problem::Wrong(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_client_has_what_its_tags_say() {
        assert!(is_in(Some("\"x\", W/\"y\""), "\"y\""));
        assert!(is_in(Some("*"), "\"y\""));
        assert!(!is_in(Some("\"yy\""), "\"y\""));
        assert!(!is_in(None, "\"y\""));
    }
}
