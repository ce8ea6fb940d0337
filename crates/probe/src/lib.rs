//! Data from the kernel and the device: mounts, device stacks, identities and raw counters, read
//! from `/proc` and `/sys`.
//!
//! All paths are resolved through [`roots::Roots`], so that a folder of files can replace a
//! machine. Nothing is interpreted beyond the kernel's documentation: a value that a kernel, a
//! container or a missing permission hides is `None`, never zero.

mod attr;
pub mod checkup;
pub mod conditions;
pub mod counters;
mod device;
pub mod devices;
mod files;
pub mod hindrances;
pub mod identity;
pub mod processes;
pub mod roots;
pub mod safety;
pub mod snapshot;
pub mod stack;
pub mod system;

#[cfg(test)]
mod fixture;
