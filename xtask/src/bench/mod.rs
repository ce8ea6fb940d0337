//! `cargo xtask bench`: ratios between programs, measured in one run on the
//! same work.

mod bare;
mod depth;
mod dialects;
mod fio;
mod huge;
mod memory;
mod model;
mod overhead;
mod report;
mod scratch;
mod store;
mod traits;

pub use depth::depth;
pub use dialects::dialects;
pub use memory::memory;
pub use model::model;
pub use overhead::{measure_child, overhead};
pub use report::report;
pub use store::store;
pub use traits::traits;

/// Returns the median, or 0 for an empty list.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    f64::midpoint(at(values.len().saturating_sub(1) / 2), at(values.len() / 2))
}
