//! Conversions between real and whole numbers.
//!
//! Conversions to whole numbers drop the fraction and saturate: negative numbers and NaN become 0,
//! and a number that is too large becomes the largest of the type.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of real numbers saturate"
)]

/// Converts a count to the nearest real number; exact up to 2^53.
#[inline]
pub const fn as_f64(number: u64) -> f64 {
    number as f64
}

/// Converts a real number to a whole one.
#[inline]
pub const fn as_u64(number: f64) -> u64 {
    number as u64
}

/// Converts a real number to a whole one of 32 bits.
#[inline]
pub const fn as_u32(number: f64) -> u32 {
    number as u32
}

/// Converts a real number to an index or a length.
#[inline]
pub const fn as_usize(number: f64) -> usize {
    number as usize
}
