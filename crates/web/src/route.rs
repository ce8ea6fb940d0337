//! One address of the server.

use crate::asked::Asked;
use crate::reply::{Problem, Reply};
use serde_json::Value;

/// Who may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A person with a browser.
    Page,
    /// A script, with the token where there is one.
    Data,
}

/// A parameter behind the path.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// Meaning of its value.
    pub about: &'static str,
}

/// Contents of an answer, for the OpenAPI document.
#[derive(Clone, Copy)]
pub enum Answer {
    /// A page, or a file that only people ask for: not in the document.
    Page,
    /// JSON of a schema.
    Json(fn() -> Value),
    /// Text of a media type.
    Text(&'static str),
}

/// An address, what it answers and how.
pub struct Route {
    /// Path with its variable parts in braces.
    pub path: &'static str,
    /// Meaning of the address in a line.
    pub about: &'static str,
    /// Who may ask.
    pub access: Access,
    /// Parameters behind the path.
    pub parameters: &'static [Parameter],
    /// Contents of the answer.
    pub answer: Answer,
    /// Makes the answer.
    pub make: fn(&Asked<'_>) -> Result<Reply, Problem>,
}
