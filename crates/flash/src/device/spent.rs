//! Time of requests by phase.

use crate::time::Picos;

assay_model::named! {
    /// Phase of a request: the part that it waits for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RequestPhase {
        /// Opening a transfer or going on with one: driver, command, firmware.
        Command = "command",
        /// Fetching the first blocks of a read.
        Ramp = "ramp",
        /// Waiting in the card's queue.
        Queue = "queue",
        /// Data on the bus, and waiting for it.
        Transfer = "transfer",
        /// The card is programming.
        Program = "program",
        /// Ending a transfer that was left open.
        Break = "break",
        /// Loading addresses.
        Map = "map",
        /// Garbage collection.
        Reclaim = "reclaim",
    }
}

/// The time of each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent([Picos; RequestPhase::ALL.len()]);

impl Spent {
    /// More time of a phase.
    pub fn add(&mut self, phase: RequestPhase, time: Picos) {
        self.0[phase as usize] += time;
    }

    /// Adds all times of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (time, more) in self.0.iter_mut().zip(&other.0) {
            *time += *more;
        }
    }

    /// Time of a phase.
    pub const fn of(&self, phase: RequestPhase) -> Picos {
        self.0[phase as usize]
    }

    /// Returns the sum over all phases.
    pub fn total(&self) -> Picos {
        self.0.iter().copied().sum()
    }
}
