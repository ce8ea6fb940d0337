//! Texts about parts that cannot be told, with the reason.

use super::super::kinds::Known;
use super::super::observed::Observed;
use super::{percent, time};
use assay_lang::{counted, tr, translated};
use assay_model::job::Direction;
use assay_report::describe;

/// Explains that a figure belongs neither to the device nor to the page cache.
pub fn label(one: &Observed<'_>) -> String {
    match one.label {
        Some(label) => tr!(
            "where the time went: the figure is {label}, and its parts would be of two things or of none",
            label = translated(label)
        ),
        None => tr!("where the time went: the trials measured different things").to_owned(),
    }
}

/// A synchronous write's flush.
pub fn device_flush() -> String {
    tr!("how much of a synchronous write is the device's flush: flushes were not counted, took too few milliseconds, or have those of others among them")
        .to_owned()
}

/// Too few ticks.
pub fn processor() -> String {
    tr!("how much of it is the processor's work: too little processor time was counted").to_owned()
}

/// One counter for writes and the flushes behind them.
pub fn processor_of_writes() -> String {
    tr!("how much of it is the processor's work: its time is that of writes and flush calls together").to_owned()
}

/// The bus cannot be the one that carried the data.
pub fn bus(wire_us: f64, most_us: f64) -> String {
    tr!(
        "what is data on the bus: at its ceiling they would take {wire}, and all that may be data takes {most}. Another bus carried them, or none",
        wire = time(wire_us),
        most = time(most_us)
    )
}

/// Slow I/Os may have been slow above or below it.
pub fn above(slow_us: f64) -> String {
    tr!(
        "how much is above the block layer: slow I/Os, {slow} on average, may have been slow above or below it",
        slow = time(slow_us)
    )
}

/// Many in flight, and none alone.
pub fn crowd() -> String {
    tr!(
        "whether an I/O waits or is worked on while others end: no job of this run does the same one at a time"
    )
    .to_owned()
}

/// Too few sizes, and why one of the others was left out.
pub fn sizes(direction: Direction, sizes: usize, why: Option<&str>) -> String {
    let few = counted!(
        sizes as u64,
        "what is command and what is data: {n} size of {direction} can be fitted, and it takes three",
        "what is command and what is data: {n} sizes of {direction} can be fitted, and it takes three",
        direction = describe::direction(direction)
    );
    match why {
        Some(why) => tr!("{few} (left out: {why})", few, why),
        None => few,
    }
}

/// No simulation of a result that was measured.
pub fn order() -> String {
    tr!("what is command and what is data: its I/Os have an order, a mix or a pace of their own")
        .to_owned()
}

/// No simulation of a result that a model made.
pub fn model() -> String {
    tr!("what the model spent on it: its I/Os have an order, a mix or a pace of their own")
        .to_owned()
}

/// Neither the model nor the fit has that time.
pub fn off(known: Known, off: f64) -> String {
    let off = percent(off);
    match known {
        Known::Model => tr!(
            "what the model spent on it: simulated again, it is {off} off",
            off
        ),
        Known::Given => tr!(
            "what is command and what is data: the part that was named is {off} off here",
            off
        ),
        _ => tr!(
            "what is command and what is data: the fit is {off} off here",
            off
        ),
    }
}
