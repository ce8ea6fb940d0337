//! Messages in the format of dd (without the program's name).

use assay_engine::held::named;
use assay_model::gnu::{quoted, quoted_if_needed};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// Displayed name of an input or output.
#[derive(Clone, Debug)]
pub(super) struct Name(std::ffi::OsString);

impl Name {
    pub(super) fn of(path: Option<&Path>, otherwise: &str) -> Self {
        let name = path.map(named);
        let name = name
            .as_deref()
            .map_or(OsStr::new(otherwise), Path::as_os_str);
        Self(name.to_owned())
    }

    /// Returns the name in quotes.
    pub(super) fn quoted(&self) -> String {
        quoted(&self.0)
    }

    /// Returns the name for the beginning of a message.
    pub(super) fn leading(&self) -> String {
        quoted_if_needed(&self.0)
    }
}

/// Returns the text of an error number, as in the C library.
pub(super) fn errno(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Builds the message of a failure and its cause.
pub(super) fn failed(what: &str, why: Errno) -> String {
    format!("{what}: {}", errno(why))
}
