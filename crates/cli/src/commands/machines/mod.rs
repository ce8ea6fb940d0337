//! Commands about machines: devices, targets, agents, campaigns.

pub mod agent;
pub mod campaign;
pub mod devices;
pub mod doctor;
pub mod targets;
