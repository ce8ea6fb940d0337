//! What flash storage can do, and why: the ceilings of buses, and a model of MMC and SD
//! transfers in virtual time.
//!
//! - [`part`]: parameters of a card, its bus and its host, as TOML.
//! - [`policy`]: which commands a host driver sends for a request.
//! - [`device`]: host, bus and card together, in virtual time.
//! - [`simulation`]: which device a path such as `sim:emmc-8gb-hs400` means.
//! - [`workload`]: what benchmarks ask of a device, and what falls into their timed windows.
//! - [`experiment`]: the published comparison of two policies, fitted and explained.
//! - [`estimate`]: parameters of a part from rates that were measured.
//! - [`traits`]: what flash shows of itself to patterns of I/O.
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
pub mod part;
pub mod policy;
pub mod simulation;
pub mod time;
pub mod traits;
pub mod workload;

pub use assay_model::limits::BLOCK_BYTES;
