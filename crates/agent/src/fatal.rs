//! Errors that end a run.

use assay_engine::goes_away;
use assay_model::storage::Storage;
use assay_model::wire::RunEnd;
use assay_probe::roots::Roots;
use assay_probe::stack::device_gone;
use rustix::io::Errno;

/// Reason why no later trial can succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fatal {
    DeviceLost(String),
    Storage(String),
}

impl Fatal {
    /// Classifies an error; `None` if the next trial may succeed.
    pub(crate) fn of(
        error: &str,
        errno: Option<i32>,
        roots: &Roots,
        storage: &Storage,
    ) -> Option<Self> {
        let errno = errno.map(Errno::from_raw_os_error);
        // Checked first: a device without a medium also has no free space.
        if matches!(errno, Some(Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM))
            || device_gone(roots, storage)
            || (errno == Some(Errno::IO) && goes_away(|| device_gone(roots, storage)))
        {
            let device = storage.words();
            return Some(Self::DeviceLost(format!("{device} went away: {error}")));
        }
        let remedy = match errno {
            Some(Errno::NOSPC | Errno::DQUOT) => "make room, or write less",
            Some(Errno::ROFS) => {
                "the file system is read-only; if it was not before, see the kernel log"
            }
            _ => return None,
        };
        Some(Self::Storage(format!("{error}: {remedy}")))
    }
}

impl From<Fatal> for RunEnd {
    fn from(fatal: Fatal) -> Self {
        match fatal {
            Fatal::DeviceLost(error) => Self::DeviceLost { error },
            Fatal::Storage(error) => Self::Failed { error },
        }
    }
}
