//! `cargo xtask bench`: ratios, measured in one run on the same work.

mod bare;
mod dialects;
mod fio;
mod huge;
mod memory;
mod model;
mod overhead;
mod report;
mod scratch;
mod traits;

pub use dialects::dialects;
pub use memory::memory;
pub use model::model;
pub use overhead::{measure_child, overhead};
pub use report::report;
pub use traits::traits;
