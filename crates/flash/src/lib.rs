//! Properties of flash storage, and their causes: the ceilings of buses, and a model of MMC and
//! SD transfers in virtual time.
//!
//! - [`part`]: parameters of a card, its bus and its host, as TOML.
//! - [`policy`]: commands that a host driver sends for a request.
//! - [`device`]: host, bus and card together, in virtual time; devices selected by paths such as
//!   `sim:emmc-8gb-hs400`.
//! - [`experiment`]: I/O of benchmarks, with the part of it inside their timed windows; the
//!   published comparison of two policies, fitted and explained.
//! - [`estimate`]: parameters of a part from measured rates.
//! - [`fit`]: least squares for nonlinear models.
//! - [`traits`]: properties of flash that patterns of I/O reveal.
//! - [`check`]: exhaustive search for broken rules under a policy.
//! - [`Picos`]: virtual time.
//!
//! This crate does no I/O and reads no clock. Virtual time is counted in whole picoseconds, and
//! the few transcendental functions are those of `libm`, so that the same seed gives the same
//! run, bit for bit, on every architecture.

pub mod check;
pub mod device;
pub mod estimate;
pub mod experiment;
pub mod fit;
pub mod part;
pub mod policy;
pub mod traits;

pub use assay_model::device::BLOCK_BYTES;

use assay_model::units::as_u64;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

/// Reason why a part, a policy or an I/O cannot be simulated, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FlashError(String);

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
