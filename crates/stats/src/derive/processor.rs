//! The share of the clock for which the measuring threads used processors.

use assay_model::trial::CpuUse;

/// From this share on, the tool may have been the limit: the device was waited
/// for in less than a tenth of the clock, so that one that takes no time at all
/// would hardly be told from it at the margin that verdicts work with.
pub const TOOL_LIMITS_FROM: f64 = 0.9;

/// Processor time of so many threads, in user and kernel mode, over the time
/// that they had; `None` where there was none.
///
/// ```
/// use assay_model::trial::CpuUse;
/// use assay_stats::derive::processor_share;
/// let cpu = CpuUse { user_ns: 600, system_ns: 300, ..CpuUse::default() };
/// assert_eq!(processor_share(cpu, 500, 2), Some(0.9));
/// assert_eq!(processor_share(cpu, 0, 2), None);
/// ```
#[must_use]
pub fn processor_share(cpu: CpuUse, elapsed_ns: u64, threads: u32) -> Option<f64> {
    let had_ns = elapsed_ns as f64 * f64::from(threads);
    let used_ns = cpu.user_ns as f64 + cpu.system_ns as f64;
    (had_ns > 0.0).then(|| used_ns / had_ns)
}
