//! Recording I/O and replaying it.

use super::PerDirection;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

crate::defaults! {
    /// Recording I/O and replaying it.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Trace {
        /// Every I/O is written there (fio's iolog, version 3).
        pub write: Option<PathBuf>,
        /// I/O is taken from there: an iolog (version 2 or 3) or the binary trace
        /// of blktrace.
        pub read: Option<PathBuf>,
        /// The iolog itself, where the machine that replays it does not have the file;
        /// `read` is only its name then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recorded: Option<Arc<str>>,
        /// The iolog is read piece by piece instead of at once.
        pub read_chunked: bool,
        /// As fast as possible.
        pub no_stall: bool,
        /// At this percentage of the recorded speed: 200 is twice as fast.
        pub time_scale_percent: u32 = 100,
        /// File or device that all I/O goes to instead.
        pub redirect: Option<PathBuf>,
        /// Offsets are divided by this; 0: not.
        pub scale: u32,
        /// Offsets are rounded down to this; 0: not.
        pub align: u32,
        /// These are left out.
        pub skip: PerDirection<bool>,
        /// Flushes are left out.
        pub skip_sync: bool,
    }
}
