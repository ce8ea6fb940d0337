//! Properties of flash that patterns of I/O reveal (after uFLIP, CIDR 2009, and flashbench).
//!
//! - [`ask`]: the jobs, each for one point of a series.
//! - [`series`]: the measured values.
//! - [`find`]: the conclusion: a finding, or that nothing is visible.
//!
//! A finding requires repeated trials, an effect of six standard errors that is large enough to
//! matter, a shape that only one explanation fits, and residuals within the noise. Otherwise
//! the trait is not visible.

pub mod ask;
mod boundary;
mod costs;
mod other;
pub mod series;
mod step;

use assay_model::units::{Bytes, Nanos, as_u64};
use series::Answers;

assay_model::named! {
    /// A measurable property of flash.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Trait {
        /// Cost of a read, and of each of its blocks.
        ReadCosts = "read-costs",
        /// Pages, erase units, allocation units: costs of reads across their boundaries.
        Boundaries = "boundaries",
        /// Mapping unit: the data to which one address refers.
        MapUnit = "map-unit",
        /// Units that can be written at the same time.
        OpenUnits = "open-units",
        /// Span of the addresses that the device keeps in memory.
        MapSpan = "map-span",
        /// Write buffer, and the cost of a flush.
        Flush = "flush",
        /// Area that is written fast.
        Slc = "slc",
        /// Cost of ending a sequence.
        Break = "break",
        /// Deferred work of a write.
        Deferred = "deferred",
        /// Speed that random writes regain after pauses.
        Recovery = "recovery",
        /// Gain from queued requests.
        Queue = "queue",
    }
}

/// Finding on a trait.
#[derive(Clone, Debug, PartialEq)]
pub enum TraitFinding {
    /// Costs of an I/O of n blocks of 512 bytes: `command + block * n` microseconds, and `ramp`
    /// more for each of the first `ramp_blocks`; with standard errors.
    Costs {
        /// Time of an I/O in microseconds, with its standard error.
        command_us: (f64, f64),
        /// Time of each block in microseconds, with its standard error.
        block_us: (f64, f64),
        /// Extra time of each of the first blocks in microseconds, and their number.
        ramp: Option<(f64, u64)>,
        /// Largest error in percent of the prediction of a size that was not used in the fit.
        worst_pct: f64,
    },
    /// Sizes with a cost for reads across their multiples, and that cost in microseconds.
    Boundaries(Vec<(Bytes, f64)>),
    /// Extra cost of writes that are not aligned to a unit.
    MapUnit {
        /// Mapping unit.
        unit: Bytes,
        /// Extra time in microseconds.
        extra_us: f64,
    },
    /// Number of units that can be written in turn, which is from `least` to `most`; one more
    /// costs `extra_us` per write.
    OpenUnits {
        /// Largest number of units that was fast.
        least: u32,
        /// One less than the smallest number of units that was slow.
        most: u32,
        /// Extra time in microseconds.
        extra_us: f64,
    },
    /// Span beyond which random reads cost more.
    MapSpan {
        /// Lower bound of the span.
        least: Bytes,
        /// Upper bound of the span.
        most: Bytes,
        /// Extra time of a read whose address is not in memory, in microseconds.
        extra_us: f64,
    },
    /// Cost of a flush, fixed and for the data written before it.
    Flush {
        /// Time of a flush without data, in microseconds.
        flush_us: f64,
        /// Time for each KiB written before, in microseconds, and the burst sizes between which
        /// it ends. Without the second size, it holds up to the largest burst measured.
        buffer: Option<(f64, Bytes, Option<Bytes>)>,
    },
    /// Amount of data that is written fast.
    Slc {
        /// Size of the fast area.
        bytes: Bytes,
        /// Rate within it, in bytes per second.
        fast: f64,
        /// Rate after it, in bytes per second.
        slow: f64,
    },
    /// Extra cost of a read that does not follow the previous one.
    Break {
        /// Extra time in microseconds.
        extra_us: f64,
    },
    /// Extra time of a read directly after a write.
    Deferred {
        /// Extra time in microseconds.
        extra_us: f64,
        /// Pause after which it disappears.
        gone_after: Option<Nanos>,
    },
    /// Speed-up of random writes after a pause.
    Recovery {
        /// Time of a write without a pause, in microseconds.
        busy_us: f64,
        /// Time of a write after a pause, in microseconds.
        rested_us: f64,
        /// Shortest pause with nearly the full gain.
        pause: Nanos,
    },
    /// Speed-up of several reads in flight.
    Queue {
        /// Factor of the speed-up.
        gain: f64,
        /// Smallest depth with nearly the full speed-up.
        depth: u32,
    },
    /// No finding, with the reason.
    NotVisible(Why),
}

/// Reason why there is no finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Not enough points were measured, or not often enough.
    TooFew,
    /// There is no effect above the noise.
    Flat,
    /// There is an effect, but its shape has more than one explanation.
    Unclear,
}

/// Derives the finding on a trait from the answers.
pub fn find(what: Trait, answers: &Answers) -> TraitFinding {
    // The long write has no series: one course has many intervals.
    if !answers.all_of(what).all(|(_, series)| series.is_repeated()) {
        return TraitFinding::NotVisible(Why::TooFew);
    }
    let found = match what {
        Trait::ReadCosts => costs::find(&answers.of(what, "")),
        Trait::Boundaries => {
            boundary::find(&answers.of(what, "across"), &answers.of(what, "beside"))
        }
        Trait::MapUnit => step::map_unit(&answers.of(what, "")),
        Trait::OpenUnits => step::open_units(&answers.of(what, "write"), &answers.of(what, "read")),
        Trait::MapSpan => series::map_span(&answers.of(what, "")),
        Trait::Flush => series::flush(&answers.of(what, "")),
        Trait::Slc => other::slc(answers.courses()),
        Trait::Break => other::jump(&answers.of(what, "")),
        Trait::Deferred => other::deferred(&answers.of(what, ""), &answers.of(Trait::Break, "")),
        Trait::Recovery => other::recovery(&answers.of(what, "")),
        Trait::Queue => other::queue(&answers.of(what, "")),
    };
    found.unwrap_or_else(TraitFinding::NotVisible)
}

/// Nearest whole number of bytes.
const fn bytes(x: f64) -> Bytes {
    Bytes(as_u64(x + 0.5))
}

#[cfg(test)]
mod tests;
