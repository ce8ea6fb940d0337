//! Names of parts of the time, reasons and units as text.

use crate::kinds::Kind;
use crate::observed::Nothing;
use assay_lang::tr;
use assay_model::number::as_u64;
use assay_model::units::{Nanos, three_digits};

/// Returns the name of a part of the time. Only `flash` devices have one for programming.
pub fn title(kind: Kind, flash: bool, on_bus: bool) -> &'static str {
    match kind {
        Kind::Bus => tr!("data on the bus"),
        Kind::Data if on_bus => tr!("data, beyond the bus"),
        Kind::Data => tr!("data"),
        Kind::Command => tr!("command"),
        Kind::Ramp => tr!("first blocks of a read"),
        Kind::Program if flash => tr!("programming"),
        Kind::Program => tr!("end of a write"),
        Kind::Break => tr!("ending an open transfer"),
        Kind::Map => tr!("loading addresses"),
        Kind::Reclaim => tr!("garbage collection"),
        Kind::Queue => tr!("waiting for the device"),
        Kind::Fixed => tr!("command and device"),
        Kind::Software => tr!("above the block layer"),
        Kind::Device => tr!("request, driver and device"),
        Kind::Wait => tr!("because of others in flight"),
        Kind::Overlap => tr!("while others ended"),
        Kind::Stalls => tr!("slow I/Os"),
        Kind::FlushDevice => tr!("the device's flush"),
        Kind::FlushRest => tr!("rest of flush calls"),
        Kind::Flush => tr!("flush calls"),
        Kind::Processor => tr!("kernel on the processor"),
        Kind::Waiting => tr!("waiting"),
        Kind::Whole => tr!("not divided"),
        Kind::Unexplained => tr!("not explained"),
    }
}

/// Returns the reason why a job is not explained.
pub fn nothing(why: Nothing) -> &'static str {
    match why {
        Nothing::NotRun => tr!("no trial of it ran to its end: there is nothing to explain"),
        Nothing::Memory => tr!("main memory was measured, no storage"),
        Nothing::NoTimes => tr!("no times of single I/Os were recorded, or they are damaged"),
    }
}

/// Formats a time in microseconds.
pub fn time(us: f64) -> String {
    match us.abs() < 1.0 {
        true => format!("{} µs", three_digits(us)),
        false => {
            let ns = as_u64((us.abs() * 1e3).round());
            let sign = if us < 0.0 { "-" } else { "" };
            format!("{sign}{}", Nanos(ns))
        }
    }
}

/// Formats a share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
