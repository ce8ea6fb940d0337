//! Fixtures that several tests share, and tests that compare formats with each other.

mod agreement;
pub mod comparison_fixture;
pub mod fixture;
mod in_chinese;
pub mod samples;
