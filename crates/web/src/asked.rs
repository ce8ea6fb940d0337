//! A request, as handlers see it.

use crate::reply::{Problem, tag_of};
use crate::served::Served;
use assay_lang::current;
use assay_store::Store;
use std::collections::BTreeMap;

/// Most parameters of a request, three for each run of a comparison; further ones are ignored.
const PARAMETERS: usize = 256;
/// Longest value of a parameter.
const LONGEST: usize = 200;

/// A request and what it takes to answer it.
pub struct Asked<'a> {
    /// The store.
    pub store: &'a Store,
    /// The server.
    pub served: &'a Served,
    /// Parts of the path by their names.
    pub path: BTreeMap<String, String>,
    /// Parameters behind the path.
    pub query: Query,
    /// Tags of contents that the client has.
    pub has: Option<String>,
}

impl Asked<'_> {
    /// A part of the path.
    pub fn part(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// Makes a tag of parts that decide the contents; ends the request if the client has them.
    ///
    /// # Errors
    /// [`Problem::Unchanged`].
    pub fn tag(&self, parts: &[&str]) -> Result<String, Problem> {
        let own = [
            env!("CARGO_PKG_VERSION"),
            &self.served.build,
            current().tag(),
        ];
        let all = own.iter().chain(parts);
        self.unless_had(tag_of(all.map(|part| part.as_bytes())))
    }

    /// Gives a tag back; ends the request if the client has its contents.
    ///
    /// # Errors
    /// [`Problem::Unchanged`].
    pub fn unless_had(&self, tag: String) -> Result<String, Problem> {
        match is_in(self.has.as_deref(), &tag) {
            true => Err(Problem::Unchanged(tag)),
            false => Ok(tag),
        }
    }
}

/// True if a header `If-None-Match` has a tag.
fn is_in(header: Option<&str>, tag: &str) -> bool {
    let mut tags = header.unwrap_or_default().split(',').map(str::trim);
    tags.any(|other| other == "*" || other.trim_start_matches("W/") == tag)
}

/// Parameters in their order.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part of an address behind its `?`.
    pub fn read(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes()).take(PARAMETERS);
        let pairs = pairs.map(|(name, value)| {
            let value: String = value.trim().chars().take(LONGEST).collect();
            (name.into_owned(), without_nul(&value))
        });
        Self(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Every value of a parameter.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let named = self.0.iter().filter(|(known, _)| known == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// An address with these parameters, one of them with another value.
    pub fn with(&self, path: &str, name: &str, value: &str) -> String {
        let others = self.0.iter().filter(|(known, _)| known != name);
        let others = others.map(|(name, value)| (name.as_str(), value.as_str()));
        address(path, others.chain([(name, value)]))
    }
}

/// A text as PostgreSQL can take it: no text of a store has the character NUL.
pub fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// An address with parameters.
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

/// A text as one part of a path.
pub fn segment(text: &str) -> String {
    // A form writes a space as a plus, a path does not.
    let escaped: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    escaped.replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_written_as_they_are() {
        let query = Query::read("q=a%26b+c&run=1&run=2&empty=&since=%20");
        assert_eq!(query.get("q"), Some("a&b c"));
        assert_eq!(query.all("run"), ["1", "2"]);
        assert_eq!(query.get("empty"), None);
        assert_eq!(
            query.with("/runs", "run", "<\">"),
            "/runs?q=a%26b+c&run=%3C%22%3E"
        );
        assert_eq!(Query::read("q=a%00").get("q"), Some("a\u{fffd}"));
        assert_eq!(segment("a b/../c"), "a%20b%2F..%2Fc");
        assert_eq!(Query::read(&"a=1&".repeat(1000)).0.len(), PARAMETERS);
    }

    #[test]
    fn a_client_has_what_its_tags_say() {
        assert!(is_in(Some("\"x\", W/\"y\""), "\"y\""));
        assert!(is_in(Some("*"), "\"y\""));
        assert!(!is_in(Some("\"yy\""), "\"y\""));
        assert!(!is_in(None, "\"y\""));
    }
}
