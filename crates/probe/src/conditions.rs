//! Kernel settings that make up conditions: where they are, which values they accept, and how to
//! read, set and restore them.
//!
//! Paths are resolved through `Roots` once, when the knobs of a subject are looked up; a knob then
//! names the file itself.

mod command;
mod file_system;
mod knobs;
mod offers;
mod set;

pub use knobs::{companions, knobs};
pub use offers::offers;
pub use set::{holds, read, set, undo};

use assay_model::condition::Knob;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[cfg(test)]
mod tests;

/// Reasons why a setting cannot be made here.
#[derive(Debug, Error)]
pub enum ConditionError {
    /// The storage has no block device.
    #[error("{subject} cannot be varied: {} is on no block device ({words})", path.display())]
    NoDevice {
        /// Requested subject.
        subject: String,
        /// The path.
        path: PathBuf,
        /// The storage in words.
        words: String,
    },
    /// A file system can only be made on a device.
    #[error(
        "mkfs cannot be varied: {} is not a block device: name an unused one whose data may be lost",
        path.display()
    )]
    NotADevice {
        /// The path.
        path: PathBuf,
    },
    /// The device, or the machine, has no such attribute.
    #[error("{subject} cannot be varied: {place} has none; there is {there}")]
    Missing {
        /// Requested subject.
        subject: String,
        /// Location that was searched.
        place: String,
        /// Names that exist there instead.
        there: String,
    },
    /// The file holds more than one value.
    #[error(
        "file:{} cannot be varied: it holds more than one line, so it is no setting that could \
         be put back; name a file of one value, or use cmd: with --apply and --undo", path.display()
    )]
    NotASetting {
        /// The file.
        path: PathBuf,
    },
    /// The setting may not be written.
    #[error("{knob} cannot be set: {error}{}", remedy(error))]
    NotWritable {
        /// The knob.
        knob: String,
        /// The reason.
        error: io::Error,
    },
    /// The setting cannot be read, so it could not be restored.
    #[error("{knob} cannot be read, so it could not be undone: {error}")]
    Unreadable {
        /// The knob.
        knob: String,
        /// The reason.
        error: io::Error,
    },
    /// The kernel refused the value.
    #[error("{knob} does not take '{value}': {why}")]
    Refused {
        /// The knob.
        knob: String,
        /// The value.
        value: String,
        /// The reason.
        why: String,
    },
    /// The setting cannot be restored.
    #[error("{knob} cannot be undone: {why}")]
    NotUndone {
        /// The knob.
        knob: String,
        /// The reason.
        why: String,
    },
    /// The value read back differs from the value that was set.
    #[error("{knob} was set to '{asked}' and reads back as '{read}': use a value that it keeps")]
    Differs {
        /// The knob.
        knob: String,
        /// Value that was set.
        asked: String,
        /// Value that was read back.
        read: String,
    },
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            ": settings of the kernel need root"
        }
        io::ErrorKind::PermissionDenied => ": the kernel only shows it",
        _ => "",
    }
}

impl ConditionError {
    fn unreadable(knob: &Knob, error: io::Error) -> Self {
        let knob = knob.to_string();
        Self::Unreadable { knob, error }
    }

    fn not_undone(knob: &Knob, why: String) -> Self {
        let knob = knob.to_string();
        Self::NotUndone { knob, why }
    }

    fn refused(knob: &Knob, value: &str, why: String) -> Self {
        Self::Refused {
            knob: knob.to_string(),
            value: value.to_owned(),
            why,
        }
    }
}
