//! Why a board of a lab cannot be had.

use serde_json::Value;
use thiserror::Error;

/// Why a board of a lab cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LabError {
    /// There is no labgrid here.
    #[error(
        "labgrid cannot be used here ({0}): install it (pip install labgrid), and put labgrid-client \
         or its python3 into PATH"
    )]
    Missing(String),
    /// The coordinator has no such thing.
    #[error("labgrid: {0}")]
    Unknown(String),
    /// Somebody else has it.
    #[error("labgrid: {0}")]
    Busy(String),
    /// The coordinator, or the way to it, is gone.
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

    /// The same of a place.
    pub(super) fn of_place(self, place: &str) -> Self {
        self.map(|why| format!("{place}: {why}"))
    }

    /// The same of a coordinator.
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

    /// The command cannot be carried out as given.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Unknown(_))
    }

    /// Others have it, or it is gone: another board, or another time, may do.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Lost(_))
    }
}
