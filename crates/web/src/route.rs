//! Description of one address of the server.

use crate::asked::Asked;
use crate::reply::{Problem, Reply};
use serde_json::Value;

/// Kind of client that an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Person with a browser.
    Page,
    /// Script; needs the token if the server has one.
    Data,
}

/// Query parameter.
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
    /// Page or file for people; not in the document.
    Page,
    /// JSON that matches a schema.
    Json(fn() -> Value),
    /// Text of a media type.
    Text(&'static str),
}

/// Address with its parameters and handler.
pub struct Route {
    /// Path with its variable parts in braces.
    pub path: &'static str,
    /// Description of the address in one line.
    pub about: &'static str,
    /// Kind of client that may read it.
    pub access: Access,
    /// Query parameters.
    pub parameters: &'static [Parameter],
    /// Contents of the answer.
    pub answer: Answer,
    /// Handler that makes the answer.
    pub make: fn(&Asked<'_>) -> Result<Reply, Problem>,
}
