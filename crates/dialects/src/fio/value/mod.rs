//! Values of options: numbers, times, patterns.

pub(super) mod arithmetic;
pub(super) mod number;
pub(super) mod pattern;
pub(super) mod time;
