//! Labels of main memory figures: memory, or a cache of the processor.

use super::{DirectionEvidence, Judgement, Measured};
use assay_lang::tr;
use assay_model::units::Bytes;
use assay_model::work::memory::{Machine, MemoryStep, MemoryStepResult, Pages, TIMES_LAST_LEVEL};

/// Judges a step. The result has one direction, since a loop over arrays has no direction of
/// storage.
pub(super) fn judge(step: &MemoryStep) -> Judgement {
    let (measured, because, job_bytes) = match &step.found {
        MemoryStepResult::Bandwidth(found) => {
            let (measured, because) = of_size(&step.machine, found.array_bytes, &found.pages);
            (measured, because, found.counted_bytes)
        }
        MemoryStepResult::Latency(found) => {
            let (measured, because) = of_size(&step.machine, found.set_bytes, &found.pages);
            (measured, because, found.set_bytes)
        }
        MemoryStepResult::Stress(found) => {
            let because = tr!(
                "{bytes} of memory were written and checked",
                bytes = Bytes(found.tested_bytes)
            );
            (Measured::Memory, because, found.moved_bytes)
        }
    };
    Judgement {
        read: Some(DirectionEvidence::saying(measured, because, job_bytes)),
        ..Judgement::default()
    }
}

/// Returns the label of a measurement with arrays of `bytes`.
fn of_size(machine: &Machine, bytes: u64, pages: &Pages) -> (Measured, String) {
    let unknown = |why: String| (Measured::unknown(why.clone()), why);
    if pages.major_faults > 0 {
        return unknown(tr!(
            "pages were brought back from swap {count} times meanwhile",
            count = pages.major_faults
        ));
    }
    let Some(cache) = machine.last_level_bytes() else {
        return unknown(tr!("the kernel does not tell how large the caches are").to_owned());
    };
    let (size, last) = (Bytes(bytes), Bytes(cache));
    if bytes <= cache {
        let because = tr!(
            "{size} fit into the last-level caches of {last} that the kernel reports",
            size,
            last
        );
        (Measured::CpuCache, because)
    } else if bytes >= cache.saturating_mul(TIMES_LAST_LEVEL) {
        let because = tr!(
            "{size} are {times} times or more the last-level caches of {last} that the kernel reports",
            size,
            times = TIMES_LAST_LEVEL,
            last
        );
        (Measured::Memory, because)
    } else {
        unknown(tr!(
            "{size} are more than the last-level caches of {last}, and less than {times} times as much: part of it came from there",
            size,
            last,
            times = TIMES_LAST_LEVEL
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::work::memory::{Cache, LatencyStep};

    fn label(set_bytes: u64, cache: Option<u64>, major_faults: u64) -> &'static str {
        let caches = cache.map(|bytes| Cache {
            level: 3,
            bytes,
            count: 2,
            line_bytes: None,
        });
        let step = MemoryStep {
            machine: Machine {
                caches: caches.into_iter().collect(),
                ..Machine::default()
            },
            throttled_after: None,
            found: MemoryStepResult::Latency(LatencyStep {
                set_bytes,
                line_bytes: 64,
                cpu: None,
                loads: 1,
                passes_ns: Vec::new(),
                pages: Pages {
                    major_faults,
                    ..Pages::default()
                },
            }),
        };
        judge(&step).read.unwrap().measured.label()
    }

    #[test]
    fn a_size_is_memory_only_far_beyond_all_caches_together() {
        let mib = 1 << 20;
        assert_eq!(label(2 * mib, Some(mib), 0), "cpu-cache");
        assert_eq!(label(8 * mib - 1, Some(mib), 0), "unknown");
        assert_eq!(label(8 * mib, Some(mib), 0), "memory");
        assert_eq!(label(8 * mib, Some(mib), 1), "unknown", "swapped");
        assert_eq!(label(1 << 40, None, 0), "unknown", "no cache is known");
    }
}
