//! I/O priorities of single I/Os.

use serde::{Deserialize, Serialize};

/// An I/O priority in the kernel's encoding (`linux/ioprio.h`): the class above 13 bits of level. 0
/// uses the thread's priority.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct IoPriority(pub u16);

impl IoPriority {
    /// Uses the thread's priority.
    pub const NONE: Self = Self(0);

    /// Creates a priority of class 1 (real time), 2 (best effort) or 3 (idle) and level 0 (highest)
    /// to 7. Larger numbers are truncated.
    pub const fn new(class: u8, level: u8) -> Self {
        Self((class as u16 & 7) << 13 | level as u16 & 7)
    }

    /// Returns the priority class; 0: none.
    pub const fn class(self) -> u16 {
        self.0 >> 13
    }

    /// Returns the level within the class.
    pub const fn level(self) -> u16 {
        self.0 & 7
    }
}

/// A share of the I/Os of a direction with a separate priority (fio's `cmdprio` options).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    /// Block size that the share applies to; `None`: all blocks.
    pub size: Option<u32>,
    /// Share of those I/Os, in percent.
    pub percent: u8,
    /// Priority that they get.
    pub priority: IoPriority,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_numbered_as_in_the_kernel() {
        let real_time = IoPriority::new(1, 3);
        assert_eq!(real_time.0, 0x2003);
        assert_eq!((real_time.class(), real_time.level()), (1, 3));
    }
}
