//! Answers to requests, and errors.

use assay_store::StoreError;
use axum::body::Body;
use axum::body::Bytes;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
/// Media type of data under `/api`.
pub const JSON: &str = "application/json";

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Media type.
    pub kind: &'static str,
    /// File name for a download.
    pub file: Option<String>,
    /// Contents.
    pub body: Vec<u8>,
    /// Entity tag; `None` derives it from the body.
    pub tag: Option<String>,
    /// True if the contents of this address never change.
    pub lasts: bool,
}

impl Reply {
    /// Returns an answer without a file name.
    pub fn new(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            kind,
            file: None,
            body: body.into(),
            tag: None,
            lasts: false,
        }
    }

    /// Sets the tag of the contents.
    #[must_use]
    pub fn tagged(self, tag: String) -> Self {
        Self {
            tag: Some(tag),
            ..self
        }
    }

    /// Returns the tag of the contents.
    pub fn tag(&self) -> String {
        self.tag.clone().unwrap_or_else(|| tag_of([&self.body[..]]))
    }
}

/// Computes an entity tag from the parts that determine the contents.
pub fn tag_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length comes first, so that different lists of parts cannot have the same bytes.
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let mut tag = String::from("\"");
    for byte in hash.finalize().iter().take(12) {
        // Writing to a String cannot fail.
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

/// Reason why a request has no answer.
#[derive(Debug)]
pub enum Problem {
    /// The address does not exist, or the store has no such entry.
    Missing(String),
    /// The request is invalid.
    Wrong(String),
    /// The client has the contents already, under this tag.
    Unchanged(String),
    /// The store failed.
    Store(StoreError),
    /// Too many requests are under way.
    Busy,
    /// The request's thread panicked or its result could not be serialized.
    Broken,
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchRun { text, .. } => Self::Missing(text),
            StoreError::Empty { .. } => Self::Missing("run in this store yet".to_owned()),
            StoreError::Ambiguous { .. } => Self::Wrong(error.to_string()),
            other => Self::Store(other),
        }
    }
}

impl Problem {
    /// Returns the status of the response.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Missing(_) => StatusCode::NOT_FOUND,
            Self::Wrong(_) => StatusCode::BAD_REQUEST,
            Self::Unchanged(_) => StatusCode::NOT_MODIFIED,
            Self::Store(_) | Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Broken => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Total size of the answers being sent; a further one is refused.
const IN_MEMORY_KIB: u32 = 512 << 10;

/// Limit on the memory of answers that clients read slowly.
#[derive(Clone, Debug)]
pub struct AnswerRoom(Arc<Semaphore>);

impl Default for AnswerRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(IN_MEMORY_KIB as usize)))
    }
}

/// Body that holds its share of the memory limit until it is sent.
struct Held {
    bytes: Vec<u8>,
    _part: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AnswerRoom {
    /// Converts the answer to a response; `None` while too much memory is in use.
    pub fn response(&self, reply: Reply) -> Option<Response<Body>> {
        let tag = reply.tag();
        let kib = u32::try_from(reply.body.len() / 1024).unwrap_or(u32::MAX);
        let kib = kib.saturating_add(1).min(IN_MEMORY_KIB);
        let part = self.0.clone().try_acquire_many_owned(kib).ok()?;
        let held = Held {
            bytes: reply.body,
            _part: part,
        };
        let mut response = Response::new(Body::from(Bytes::from_owner(held)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply.kind));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(ETAG, tag);
        }
        let file = reply.file.map(|file| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
            let name: String = file.chars().filter(|c| plain(*c)).collect();
            HeaderValue::from_str(&format!("attachment; filename=\"{name}\""))
        });
        if let Some(Ok(file)) = file {
            headers.insert(CONTENT_DISPOSITION, file);
        }
        Some(response)
    }
}

/// Returns a response with a status and a text.
pub fn short(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}
