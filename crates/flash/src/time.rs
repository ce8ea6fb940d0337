//! Virtual time.

use assay_model::number::as_u64;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// A span or a moment of virtual time, in picoseconds: fine enough that a block's time on
/// any bus is exact to six digits, and 213 days fit. Sums stop at that end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u64);

impl Picos {
    /// The begin of time, and no time at all.
    pub const ZERO: Self = Self(0);

    /// The nearest whole number of picoseconds; negative numbers and those that are none
    /// are no time.
    pub fn from_us(us: f64) -> Self {
        Self(as_u64((us * 1e6).round()))
    }

    /// So many milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// In microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This time, `n` times.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Add for Picos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Picos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Subtraction that stops at zero.
impl Sub for Picos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for Picos {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}
