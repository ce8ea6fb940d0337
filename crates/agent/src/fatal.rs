//! Which errors end a run.

use assay_model::storage::Storage;
use assay_model::wire::RunEnd;
use assay_probe::roots::Roots;
use assay_probe::stack::device_gone;
use rustix::io::Errno;
use std::time::Duration;

/// Why no later trial can succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fatal {
    DeviceLost(String),
    Storage(String),
}

/// Number of looks at a device that gave an error, and the time between two.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Returns true if the device is gone within half a second. The first errors of a device that is
/// pulled come before the kernel removes it.
pub(crate) fn goes_away(roots: &Roots, storage: &Storage) -> bool {
    (0..LOOKS).any(|look| {
        if look > 0 {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        device_gone(roots, storage)
    })
}

impl Fatal {
    /// `None` when the next trial may well succeed.
    pub(crate) fn of(
        error: &str,
        errno: Option<i32>,
        roots: &Roots,
        storage: &Storage,
    ) -> Option<Self> {
        let errno = errno.map(Errno::from_raw_os_error);
        // First: a device without a medium has no room either.
        if matches!(errno, Some(Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM))
            || device_gone(roots, storage)
            || (errno == Some(Errno::IO) && goes_away(roots, storage))
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
