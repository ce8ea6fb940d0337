//! The course of a trial.

use assay_model::trial::Measurement;
use assay_stats::course::{Course, Level, Settled};
use serde::Serialize;

#[derive(Serialize)]
pub struct CoursePart {
    levels: Vec<LevelPart>,
    warm_up_ns: Option<u64>,
    settled: Option<SettledPart>,
}

#[derive(Serialize)]
struct LevelPart {
    start_ns: u64,
    bytes_before: u64,
    bytes_per_sec: f64,
}

#[derive(Serialize)]
struct SettledPart {
    from_ns: u64,
    drift_pct: f64,
    error_pct: f64,
    steady: bool,
    snia: bool,
}

impl CoursePart {
    pub fn of(measured: &Measurement, course: &Course) -> Self {
        let interval_ns = measured.series.interval_ns;
        let level = |level: &Level| LevelPart {
            start_ns: interval_ns.saturating_mul(level.start as u64),
            bytes_before: level.bytes_before.0,
            bytes_per_sec: level.rate,
        };
        Self {
            levels: course.levels.iter().map(level).collect(),
            warm_up_ns: course.warm_up.map(|time| time.0),
            settled: course.settled.map(SettledPart::of),
        }
    }
}

impl SettledPart {
    fn of(settled: Settled) -> Self {
        let found = settled.steadiness;
        Self {
            from_ns: settled.from.0,
            drift_pct: 100.0 * found.drift,
            error_pct: 100.0 * found.error,
            steady: found.steady,
            snia: found.snia,
        }
    }
}
