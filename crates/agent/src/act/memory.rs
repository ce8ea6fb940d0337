//! Machine information for a work on main memory.

use assay_engine::memory::usable_cpus;
use assay_model::act::memory::Machine;
use assay_probe::roots::Roots;
use assay_probe::system;
use assay_workloads::memory::MachineInfo;

/// This machine, read from files of its kernel.
pub(super) struct Here<'a>(pub(super) &'a Roots);

impl MachineInfo for Here<'_> {
    fn machine(&self) -> Machine {
        system::describe_memory(self.0, usable_cpus())
    }

    fn throttled(&self) -> Option<u64> {
        system::throttled(self.0)
    }

    fn huge_bytes(&self, from: u64, to: u64) -> Option<u64> {
        system::huge_bytes(self.0, from, to)
    }

    fn physical(&self, address: u64) -> Option<u64> {
        system::physical_address(self.0, address)
    }
}
