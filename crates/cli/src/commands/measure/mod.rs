//! Commands that measure storage or memory.

pub mod capacity;
pub mod disks;
pub mod mark;
pub mod mem;
pub mod ping;
pub mod powercut;
pub mod qualify;
pub mod replay;
pub mod run;
pub mod scenario;
pub mod soak;
pub mod sweep;
pub mod traits;
pub mod watch;
