use super::*;
use crate::observer::recording::recorded;
use assay_model::act::memory::{
    Bandwidth, Bit, Cache, Kernel, Latency, MemoryPattern, Stress, StressStep,
};

/// A machine with a small cache, whose addresses are physical ones less a page.
struct Small;

impl MachineInfo for Small {
    fn machine(&self) -> Machine {
        Machine {
            cpus: assay_engine::memory::usable_cpus(),
            caches: vec![Cache {
                level: 1,
                bytes: 4096,
                count: 1,
                line_bytes: Some(64),
            }],
            total_bytes: Some(1 << 30),
            available_bytes: Some(1 << 30),
            ..Machine::default()
        }
    }
    fn throttled(&self) -> Option<u64> {
        None
    }
    fn huge_bytes(&self, _from: u64, _to: u64) -> Option<u64> {
        Some(0)
    }
    fn physical(&self, address: u64) -> Option<u64> {
        Some(address - 4096)
    }
}

/// Runs an act; returns its end and the results of its steps.
fn found(work: &Memory) -> (Result<ActReport, ActError>, Vec<MemoryStep>) {
    let (ended, details) = recorded(|context| run(work, &Small, context));
    let steps = details.into_iter().filter_map(|detail| match detail {
        StepDetail::Memory(step) => Some(*step),
        _ => None,
    });
    (ended, steps.collect())
}

const NOTHING: Memory = Memory {
    bandwidth: None,
    latency: None,
    stress: None,
};

#[test]
fn every_kernel_runs_alone_and_on_all_cpus() {
    let (ended, steps) = found(&Memory {
        bandwidth: Some(Bandwidth {
            array_bytes: Some(1 << 20),
            passes: 3,
            threads: Some(2),
        }),
        ..NOTHING
    });
    ended.unwrap();
    for kernel in Kernel::ALL {
        for threads in [1, 2] {
            let of_kernel = steps.iter().filter_map(|step| match &step.found {
                MemoryStepResult::Bandwidth(step) => Some(step),
                _ => None,
            });
            let mut own = of_kernel.filter(|s| s.kernel == kernel && s.cpus.len() == threads);
            let step = own.next().expect("each kernel ran");
            assert_eq!(step.array_bytes, 1 << 20);
            assert_eq!(step.counted_bytes, (1 << 17) * kernel.counted_per_word());
            assert_eq!(step.rates().len(), 2, "the first pass does not count");
        }
    }
}

#[test]
fn each_working_set_has_a_latency() {
    let (ended, steps) = found(&Memory {
        latency: Some(Latency {
            least_bytes: 4 << 10,
            most_bytes: 16 << 10,
        }),
        ..NOTHING
    });
    ended.unwrap();
    let sets: Vec<u64> = steps
        .iter()
        .filter_map(|step| match &step.found {
            MemoryStepResult::Latency(step) => {
                step.per_load_ns()[0].gt(&0.0).then_some(step.set_bytes)
            }
            _ => None,
        })
        .collect();
    assert_eq!(sets, [4 << 10, 8 << 10, 16 << 10]);
}

fn stressed(flip: Option<Bit>) -> Vec<StressStep> {
    let (ended, steps) = found(&Memory {
        stress: Some(Stress {
            bytes: Some(1 << 20),
            flip,
            ..Stress::default()
        }),
        ..NOTHING
    });
    ended.unwrap();
    let steps = steps.into_iter().filter_map(|step| match step.found {
        MemoryStepResult::Stress(step) => Some(step),
        _ => None,
    });
    steps.collect()
}

#[test]
fn sound_memory_passes_every_pattern() {
    let steps = stressed(None);
    let patterns: Vec<MemoryPattern> = steps.iter().map(|step| step.pattern).collect();
    assert_eq!(patterns, MemoryPattern::ALL);
    for step in steps {
        assert_eq!(step.flips, 0, "{:?}: {:?}", step.pattern, step.first);
        assert_eq!(step.end_phase, step.pattern.phases());
    }
}

#[test]
fn a_flipped_bit_is_found_with_its_address_and_the_pattern_goes_on() {
    let flip = Bit {
        offset: 0x1234,
        bit: 5,
    };
    let steps = stressed(Some(flip));
    let with: Vec<_> = steps.iter().filter(|step| step.flips > 0).collect();
    let [step] = with[..] else {
        panic!("{with:?}");
    };
    assert_eq!((step.flips, step.pattern), (1, MemoryPattern::Address));
    assert_eq!(step.flipped_on_purpose, Some(flip));
    let found = step.first[0];
    assert_eq!(found.address, step.parts[0].0 + 0x1230);
    assert_eq!(found.physical, Some(found.address - 4096));
    assert_eq!(found.bits().collect::<Vec<_>>(), [8 * 4 + 5]);
    assert_eq!((found.reads, found.wrong_reads), (8, 8), "it stays wrong");
    assert!(
        step.end_phase < step.pattern.phases(),
        "the step ended there"
    );
    let after = &steps[1];
    assert_eq!(
        after.first_phase, step.end_phase,
        "and the next one went on"
    );
    assert_eq!((after.pattern, after.flips), (MemoryPattern::Address, 0));
}

#[test]
fn more_than_is_safe_is_refused() {
    let (ended, steps) = found(&Memory {
        stress: Some(Stress {
            bytes: Some(1 << 30),
            ..Stress::default()
        }),
        ..NOTHING
    });
    assert!(matches!(ended, Err(ActError::Refused(why)) if why.contains("--stress-size")));
    assert!(steps.is_empty());
}

#[test]
fn nobody_is_ahead_by_more_than_a_round() {
    let (barrier, passed) = (SpinBarrier::of(3), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 0..200 {
                    barrier.wait();
                    let before = passed.fetch_add(1, Ordering::AcqRel);
                    assert!(before / 3 == round, "{before} in round {round}");
                    barrier.wait();
                }
            });
        }
    });
}
