//! What flash storage can do, and why: the ceilings of buses, and a model of MMC and SD
//! transfers in virtual time.
//!
//! - [`limits`]: what a bus carries at most, with the formula and its source.
//! - [`part`]: parameters of a card, its bus and its host, as TOML.
//! - [`policy`]: which commands a host driver sends for a request.
//! - [`device`]: host, bus and card together, in virtual time.
//! - [`workload`]: what benchmarks ask of a device, and what falls into their timed windows.
//! - [`experiment`]: the published comparison of two policies, fitted and explained.
//! - [`estimate`]: parameters of a part from rates that were measured.
//! - [`check`]: all that can happen under a policy, searched for what must not.
//!
//! Pure: no I/O, no clock. Virtual time is counted in whole picoseconds, and the few
//! transcendental functions are those of `libm`, so that the same seed gives the same run,
//! bit for bit, on every architecture.

pub mod check;
pub mod device;
pub mod estimate;
pub mod experiment;
pub mod fit;
pub mod limits;
pub mod part;
pub mod policy;
pub mod time;
pub mod workload;

/// Bytes of a block: the unit of addresses and transfers in MMC and SD.
pub const BLOCK_BYTES: u64 = 512;
