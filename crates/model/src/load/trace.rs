//! Recording and replaying of I/O.

use super::PerDirection;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

crate::defaults! {
    /// Recording and replaying of I/O.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Trace {
        /// File that every I/O is recorded in (fio's iolog, version 3).
        pub write: Option<PathBuf>,
        /// File that I/O is replayed from: an iolog (version 2 or 3) or the binary trace of
        /// blktrace.
        pub read: Option<PathBuf>,
        /// Text of the iolog, if the machine that replays it does not have the file; `read` is then
        /// only its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub recorded: Option<Arc<str>>,
        /// `true` to read the iolog in chunks instead of at once.
        pub read_chunked: bool,
        /// `true` to replay as fast as possible.
        pub no_stall: bool,
        /// Percentage of the recorded speed: 200 is twice as fast.
        pub time_scale_percent: u32 = 100,
        /// File or device that replaces all recorded ones.
        pub redirect: Option<PathBuf>,
        /// Divisor of offsets; 0: not used.
        pub scale: u32,
        /// Alignment to which offsets are rounded down; 0: not used.
        pub align: u32,
        /// Directions that are left out.
        pub skip: PerDirection<bool>,
        /// `true` to leave out flushes.
        pub skip_sync: bool,
    }
}
