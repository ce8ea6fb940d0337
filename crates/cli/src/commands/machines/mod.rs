//! Commands about machines: devices, targets, agents, campaigns, settings.

pub mod campaign;
pub mod config;
pub mod devices;
pub mod targets;
