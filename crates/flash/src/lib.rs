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
//! - [`traits`]: properties of flash that patterns of I/O reveal.
//! - [`check`]: exhaustive search for broken rules under a policy.
//! - [`fit`]: least squares for nonlinear models.
//! - [`time`]: virtual time.
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
pub mod time;
pub mod traits;

pub use assay_model::device::BLOCK_BYTES;

/// Reason why a part, a policy or an I/O cannot be simulated, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FlashError(String);
