//! The model of the experiment: a part, the tool that measures it, and the fitted parameters.

use super::published::{PublishedRow, Tool};
use crate::BLOCK_BYTES;
use crate::FlashError;
use crate::device::Device;
use crate::part::DeviceModel;
use crate::policy::Policy;
use crate::workload::{SimulatedJob, Timed, disks, run};
use assay_model::job::Direction;

/// Model of the published table: fitted and fixed parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Card, bus and host.
    pub part: DeviceModel,
    /// Factor by which the timed windows of GNOME Disks are longer than their requests.
    pub disks_factor: f64,
}

/// A fitted parameter.
pub struct Free {
    /// Name of the parameter, as in the file of a part.
    pub name: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    place: fn(&mut Model) -> &mut f64,
}

const fn free(name: &'static str, unit: &'static str, place: fn(&mut Model) -> &mut f64) -> Free {
    Free { name, unit, place }
}

/// The fitted parameters. The time of a read block is that of the bus, and the sizes of the
/// ramps were chosen beforehand.
pub const FREE: [Free; 9] = [
    free("read.command", "µs", |model| {
        &mut model.part.read.command_us
    }),
    free("read.ramp", "µs/block", |model| {
        &mut model.part.read.ramp_us
    }),
    free("read.break", "µs", |model| &mut model.part.read.break_us),
    free("read.resume", "µs", |model| &mut model.part.read.resume_us),
    free("write.program", "µs", |model| {
        &mut model.part.write.program_us
    }),
    free("write.ramp", "µs/block", |model| {
        &mut model.part.write.ramp_us
    }),
    free("write.block", "µs/block", |model| {
        &mut model.part.write.block_us
    }),
    free("write.break", "µs", |model| &mut model.part.write.break_us),
    free("gnome-disks", "factor", |model| &mut model.disks_factor),
];

/// Number of I/Os that are simulated for a figure of fio. After the first, all take the same
/// time.
const IOS: u64 = 8;
/// Number of simulated samples of GNOME Disks, which are also equal.
const SAMPLES: u64 = 2;
/// Length of the region: 64 GiB.
const SPAN: u64 = (64 << 30) / BLOCK_BYTES;

impl Model {
    /// Returns the values of the fitted parameters.
    pub fn values(&self) -> Vec<f64> {
        let mut model = self.clone();
        FREE.iter().map(|free| *(free.place)(&mut model)).collect()
    }

    /// Returns the model with other values of the fitted parameters.
    pub fn with(&self, values: &[f64]) -> Self {
        let mut model = self.clone();
        for (free, value) in FREE.iter().zip(values) {
            *(free.place)(&mut model) = *value;
        }
        model
    }

    /// Simulates a row of the table under a policy.
    ///
    /// # Errors
    /// If the part lacks a feature that the policy needs.
    pub fn time(&self, row: &PublishedRow, policy: Policy) -> Result<Timed, FlashError> {
        let mut device = Device::new(&self.part, policy)?;
        Ok(match (row.tool, row.direction) {
            (Tool::Disks, Direction::Read) => disks(&mut device, SAMPLES, SPAN).0,
            (Tool::Disks, Direction::Write) => disks(&mut device, SAMPLES, SPAN).1,
            (Tool::Fio, direction) => run(&mut device, &fio(row, direction)),
        })
    }

    /// Returns the factor by which a tool lengthens times.
    pub const fn factor(&self, tool: Tool) -> f64 {
        match tool {
            Tool::Disks => self.disks_factor,
            Tool::Fio => 1.0,
        }
    }

    /// Returns the rate of a row in its unit.
    ///
    /// # Errors
    /// If the part lacks a feature that the policy needs.
    pub fn rate(&self, row: &PublishedRow, policy: Policy) -> Result<f64, FlashError> {
        let us = self.time(row, policy)?.mean_us() * self.factor(row.tool);
        let bytes = row.bytes as f64;
        Ok(bytes / us * 1e6 / row.unit_bytes)
    }
}

fn fio(row: &PublishedRow, direction: Direction) -> SimulatedJob {
    SimulatedJob {
        read_percent: if direction == Direction::Read { 100 } else { 0 },
        random: true,
        blocks: row.bytes / BLOCK_BYTES,
        span: SPAN,
        warm: 1,
        ios: IOS,
        seed: 1,
    }
}
