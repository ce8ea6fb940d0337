//! Errors when a board of a lab is acquired.

use serde_json::Value;
use thiserror::Error;

/// Reason why a board of a lab is not available.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LabError {
    /// labgrid is not installed on this host.
    #[error(
        "labgrid cannot be used here ({0}): install it (pip install labgrid), and put labgrid-client \
         or its python3 into PATH"
    )]
    Missing(String),
    /// The coordinator does not know the place, or no place has the tags.
    #[error("labgrid: {0}")]
    Unknown(String),
    /// Another user has acquired it.
    #[error("labgrid: {0}")]
    Busy(String),
    /// The coordinator, or the connection to it, is lost.
    #[error("labgrid: {0}")]
    Lost(String),
    /// The journal of held places could not be written.
    #[error("{0}")]
    Journal(String),
}

impl LabError {
    /// Parses the error that the session reports, if any.
    pub(super) fn said(answer: &Value) -> Option<Self> {
        let why = answer["why"].as_str().unwrap_or_default().to_owned();
        Some(match answer["error"].as_str()? {
            "missing" => Self::Missing(why),
            "unknown" => Self::Unknown(why),
            "busy" => Self::Busy(why),
            _ => Self::Lost(why),
        })
    }

    /// Adds the place's name to the message.
    pub(super) fn of_place(self, place: &str) -> Self {
        self.map(|why| format!("{place}: {why}"))
    }

    /// Adds the coordinator's address to the message of a lost connection.
    pub(super) fn at(self, coordinator: &str) -> Self {
        match self {
            Self::Lost(why) => Self::Lost(format!(
                "no coordinator answers at {coordinator} ({why}); set LG_COORDINATOR to use another"
            )),
            other => other,
        }
    }

    fn map(self, say: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Unknown(why) => Self::Unknown(say(why)),
            Self::Busy(why) => Self::Busy(say(why)),
            Self::Lost(why) => Self::Lost(say(why)),
            other => other,
        }
    }

    /// The user has to change the command or the installation.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Unknown(_))
    }

    /// The place is acquired by others, or unreachable: another board, or another
    /// attempt, may succeed.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Lost(_))
    }
}
