//! Properties that flash shows when patterns of I/O ask for them (after uFLIP, CIDR 2009, and
//! flashbench).
//!
//! - [`ask`]: the jobs that ask, each for one point of a series.
//! - [`series`]: the measured answers.
//! - [`find`]: the conclusion: a statement, or that nothing is visible.
//!
//! A statement needs trials that tell the noise, an effect of six standard errors that is large
//! enough to matter, a shape that only one explanation fits, and a fit that leaves no more than
//! noise. Anything else is not visible.

pub mod ask;
mod boundary;
mod cliff;
mod costs;
mod other;
pub mod series;
mod step;

use assay_model::units::{Bytes, Nanos};
use series::Answers;

assay_model::named! {
    /// Property of flash that can be asked for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Trait {
        /// Cost of a read, and of each of its blocks.
        ReadCosts = "read-costs",
        /// Pages, erase units, allocation units: what reads across their boundaries cost.
        Boundaries = "boundaries",
        /// Mapping unit: the data that one address stands for.
        MapUnit = "map-unit",
        /// Units that can be written at the same time.
        OpenUnits = "open-units",
        /// Span of the addresses that the device keeps in memory.
        MapSpan = "map-span",
        /// The write buffer, and what flushing costs.
        Flush = "flush",
        /// The area that is written fast.
        Slc = "slc",
        /// Ending a sequence.
        Break = "break",
        /// Work that a write leaves for later.
        Deferred = "deferred",
        /// Speed that random writes regain after pauses.
        Recovery = "recovery",
        /// Gain from queued requests.
        Queue = "queue",
    }
}

/// Findings after the power came back.
#[derive(Clone, Debug, PartialEq)]
pub enum TraitFinding {
    /// `command + block * n` microseconds for n blocks of 512 bytes, and `ramp` more for each
    /// of the first `ramp_blocks`; with standard errors.
    Costs {
        /// Time of an I/O in microseconds, with its standard error.
        command_us: (f64, f64),
        /// Time of each block in microseconds, with its standard error.
        block_us: (f64, f64),
        /// Extra time of each of the first blocks in microseconds, and their number.
        ramp: Option<(f64, u64)>,
        /// The worst prediction of a size that was not used in the fit, in percent.
        worst_pct: f64,
    },
    /// Sizes whose multiples cost a read that lies across, and how much.
    Boundaries(Vec<(Bytes, f64)>),
    /// Writes that are shifted against units of this cost so much more, in microseconds.
    MapUnit {
        /// The unit.
        unit: Bytes,
        /// Microseconds.
        extra_us: f64,
    },
    /// From `least` to `most` units can be written in turn; one more costs `extra_us` a write.
    OpenUnits {
        /// That many were fast.
        least: u32,
        /// One more than that many was slow.
        most: u32,
        /// Microseconds.
        extra_us: f64,
    },
    /// Random reads cost more when they spread over more than this.
    MapSpan {
        /// Between this
        least: Bytes,
        /// and this.
        most: Bytes,
        /// Microseconds of a read that finds no address.
        extra_us: f64,
    },
    /// A flush costs this, and more for what was written before it.
    Flush {
        /// Microseconds of a flush of next to nothing.
        flush_us: f64,
        /// Microseconds for each KiB before it, up to a burst between these two; without the
        /// second, up to the largest that was tried.
        buffer: Option<(f64, Bytes, Option<Bytes>)>,
    },
    /// So much is written fast.
    Slc {
        /// Amount that is written fast.
        bytes: Bytes,
        /// Bytes per second until then.
        fast: f64,
        /// And from then on.
        slow: f64,
    },
    /// A read that does not follow the one before takes so many microseconds more.
    Break {
        /// Microseconds.
        extra_us: f64,
    },
    /// A read right behind a write takes longer.
    Deferred {
        /// Microseconds.
        extra_us: f64,
        /// After that pause it does not.
        gone_after: Option<Nanos>,
    },
    /// Random writes are faster after a pause.
    Recovery {
        /// Microseconds of a write without one.
        busy_us: f64,
        /// After it.
        rested_us: f64,
        /// The shortest pause that gives nearly all of that.
        pause: Nanos,
    },
    /// Several reads in flight are faster, by this factor.
    Queue {
        /// The factor.
        gain: f64,
        /// The depth that gives nearly all of it.
        depth: u32,
    },
    /// Nothing that can be stated.
    NotVisible(Why),
}

/// Why nothing can be stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Not enough points were measured, or not often enough.
    TooFew,
    /// There is no effect above the noise.
    Flat,
    /// There is an effect, but no shape that only one explanation has.
    Unclear,
}

/// Derives the finding on a trait from the answers.
pub fn find(what: Trait, answers: &Answers) -> TraitFinding {
    // The long write is no series: one course has many intervals.
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
        Trait::MapSpan => cliff::map_span(&answers.of(what, "")),
        Trait::Flush => cliff::flush(&answers.of(what, "")),
        Trait::Slc => other::slc(answers.courses()),
        Trait::Break => other::jump(&answers.of(what, "")),
        Trait::Deferred => other::deferred(&answers.of(what, ""), &answers.of(Trait::Break, "")),
        Trait::Recovery => other::recovery(&answers.of(what, "")),
        Trait::Queue => other::queue(&answers.of(what, "")),
    };
    found.unwrap_or_else(TraitFinding::NotVisible)
}

#[cfg(test)]
mod tests;
