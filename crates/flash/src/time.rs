//! Virtual time.

use assay_model::units::as_u64;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// A duration or time in virtual time, in picoseconds. This represents a block's time on
/// any bus with six exact digits, and up to 213 days. Sums saturate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u64);

impl Picos {
    /// Start of virtual time, or a duration of zero.
    pub const ZERO: Self = Self(0);

    /// Converts microseconds, rounded to picoseconds; negative numbers and NaN become
    /// zero.
    pub fn from_us(us: f64) -> Self {
        Self(as_u64((us * 1e6).round()))
    }

    /// Converts milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }

    /// Returns microseconds.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Multiplies by `n`.
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

/// Subtraction saturates at zero.
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
