//! Time of requests by phase.

use crate::time::Picos;

assay_model::named! {
    /// Phase of a request, named after the resource for which it waits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RequestPhase {
        /// Opening or continuing a transfer: driver, command, firmware.
        Command = "command",
        /// Fetching the first blocks of a read.
        Ramp = "ramp",
        /// Waiting in the card's queue.
        Queue = "queue",
        /// Data on the bus, and waiting for the bus.
        Transfer = "transfer",
        /// Waiting for the card's programming.
        Program = "program",
        /// Ending an open transfer.
        Break = "break",
        /// Loading addresses.
        Map = "map",
        /// Garbage collection.
        Reclaim = "reclaim",
    }
}

/// Time of each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent([Picos; RequestPhase::ALL.len()]);

impl Spent {
    /// Adds time to a phase.
    pub fn add(&mut self, phase: RequestPhase, time: Picos) {
        self.0[phase as usize] += time;
    }

    /// Adds all times of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (time, more) in self.0.iter_mut().zip(&other.0) {
            *time += *more;
        }
    }

    /// Returns the time of a phase.
    pub const fn of(&self, phase: RequestPhase) -> Picos {
        self.0[phase as usize]
    }

    /// Returns the sum over all phases.
    pub fn total(&self) -> Picos {
        self.0.iter().copied().sum()
    }
}
