//! Time of requests by phase.

use crate::time::Picos;

/// Phase of a request: the part that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestPhase {
    /// Opening a transfer or going on with one: driver, command, firmware.
    Command,
    /// Fetching the first blocks of a read.
    Ramp,
    /// Waiting in the card's queue.
    Queue,
    /// Data on the bus, and waiting for it.
    Transfer,
    /// The card is programming.
    Program,
    /// Ending a transfer that was left open.
    Break,
    /// Loading addresses.
    Map,
    /// Garbage collection.
    Reclaim,
}

impl RequestPhase {
    /// Every phase.
    pub const ALL: [Self; 8] = [
        Self::Command,
        Self::Ramp,
        Self::Queue,
        Self::Transfer,
        Self::Program,
        Self::Break,
        Self::Map,
        Self::Reclaim,
    ];

    /// Name of the phase.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Ramp => "ramp",
            Self::Queue => "queue",
            Self::Transfer => "transfer",
            Self::Program => "program",
            Self::Break => "break",
            Self::Map => "map",
            Self::Reclaim => "reclaim",
        }
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
    #[must_use]
    pub const fn of(&self, phase: RequestPhase) -> Picos {
        self.0[phase as usize]
    }

    /// Returns the sum over all phases.
    #[must_use]
    pub fn total(&self) -> Picos {
        self.0.iter().copied().sum()
    }
}
