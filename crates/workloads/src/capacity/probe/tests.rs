use super::*;
use crate::observer::recording::Recording;
use assay_testkit::{Fake, Lie};
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: u64 = 1 << 20;

fn probed(fake: &mut Fake) -> Result<Probed, ProbeEnd> {
    probed_until(fake, &AtomicBool::new(false))
}

fn probed_until(fake: &mut Fake, stop: &AtomicBool) -> Result<Probed, ProbeEnd> {
    probed_by(fake, stop, Recording::default())
}

fn probed_by(
    fake: &mut Fake,
    stop: &AtomicBool,
    mut observer: Recording,
) -> Result<Probed, ProbeEnd> {
    let mut context = Context {
        seed: 0x1234_5678_9abc_def0,
        folder: None,
        stop,
        report_now: &AtomicBool::new(false),
        observer: &mut observer,
    };
    probe(&mut Probe {
        store: fake,
        meter: &mut Meter::start(0),
        progress: &mut ProgressReporter::new("probe", 0, None),
        context: &mut context,
        done: 0,
        of_free_space: false,
    })
}

/// What is found, where all that the fake held must be as it was.
fn kind_of(bytes: u64, lie: Lie) -> ProbedKind {
    let mut fake = Fake::new(bytes, lie);
    let before = fake.memory.clone();
    let found = probed(&mut fake).unwrap();
    if !matches!(lie, Lie::Sink(_)) {
        assert!(fake.memory == before, "{lie:?}: blocks were not put back");
    }
    assert_eq!(found.not_restored, [], "{lie:?}");
    found.kind
}

#[test]
fn a_good_device_is_good_and_few_of_its_blocks_are_written() {
    assert_eq!(kind_of(64 * MIB, Lie::None), ProbedKind::Good);
    assert_eq!(kind_of(64 * MIB + 512, Lie::None), ProbedKind::Good);
    assert_eq!(kind_of(MIB, Lie::None), ProbedKind::Good);
    let (small, giant) = steps((32 << 30) / BLOCK);
    let megabytes = (small.len() + giant.len()) as u64 * BLOCK / MIB;
    assert!(megabytes < 24, "{megabytes}");
}

#[test]
fn wraparound_is_found_whatever_the_real_size() {
    for real in [
        32 * MIB,
        16 * MIB,
        8 * MIB,
        4 * MIB,
        48 * MIB,
        30 * MIB + 4096,
        21 * MIB + 8192 * 3,
        63 * MIB,
        40 * MIB + 512,
    ] {
        let real_bytes = real;
        let kind = kind_of(64 * MIB, Lie::Wraparound(real));
        assert_eq!(kind, ProbedKind::Wraparound { real_bytes }, "{real}");
    }
}

#[test]
fn the_first_lost_block_is_found_exactly() {
    for real in [32 * MIB, 8 * MIB, 4 * MIB + 4096, 61 * MIB + 40_960] {
        let real_bytes = real;
        let kind = kind_of(64 * MIB, Lie::Limbo(real));
        assert_eq!(kind, ProbedKind::Limbo { real_bytes }, "{real}");
        let kind = kind_of(64 * MIB, Lie::Sink(real));
        assert_eq!(kind, ProbedKind::Limbo { real_bytes }, "{real}");
    }
}

#[test]
fn a_chain_tells_both_its_figures() {
    for (real_bytes, wraps_at) in [
        (12 * MIB, 16 * MIB),
        (7 * MIB + 4096, 8 * MIB),
        (20 * MIB, 32 * MIB),
    ] {
        let kind = kind_of(64 * MIB, Lie::Chain(real_bytes, wraps_at));
        let expected = ProbedKind::Chain {
            real_bytes,
            wraps_at,
        };
        assert_eq!(kind, expected);
    }
}

#[test]
fn a_cache_does_not_hide_what_is_lost() {
    let mut fake = Fake::new(64 * MIB, Lie::Limbo(20 * MIB));
    fake.cached = 4_096;
    let real_bytes = 20 * MIB;
    assert_eq!(
        probed(&mut fake).unwrap().kind,
        ProbedKind::Limbo { real_bytes }
    );
}

#[test]
fn broken_blocks_are_told_from_a_fake_and_not_written() {
    let mut fake = Fake::new(64 * MIB, Lie::None);
    fake.broken.push(20 * MIB..21 * MIB);
    let found = probed(&mut fake).unwrap();
    assert_eq!(found.kind, ProbedKind::Damaged);
    assert!(!found.is_good());
    assert_eq!(found.unreadable.first(), Some(&(20 * MIB)));
    assert_eq!(found.real_bytes(), None);
}

#[test]
fn errors_from_some_point_on_are_the_end_of_a_fake() {
    let mut fake = Fake::new(64 * MIB, Lie::None);
    fake.broken.push(24 * MIB + 4096..64 * MIB);
    let real_bytes = 24 * MIB + 4096;
    assert_eq!(
        probed(&mut fake).unwrap().kind,
        ProbedKind::Limbo { real_bytes }
    );
}

#[test]
fn a_device_that_keeps_nothing_is_dead() {
    assert_eq!(kind_of(64 * MIB, Lie::Limbo(0)), ProbedKind::Dead);
}

#[test]
fn a_device_that_cannot_be_read_is_unreadable_not_dead() {
    let mut fake = Fake::new(64 * MIB, Lie::None);
    fake.broken.push(0..64 * MIB);
    let ended = probed(&mut fake).unwrap_err();
    let words = ended.error.to_string();
    assert!(words.starts_with("unreadable: none of the"), "{words}");
    assert_eq!(ended.not_restored, [], "nothing was written");
}

#[test]
fn a_device_that_goes_away_is_not_judged() {
    let mut fake = Fake::new(64 * MIB, Lie::None);
    fake.broken.push(24 * MIB..64 * MIB);
    let gone = Recording {
        gone: true,
        ..Recording::default()
    };
    let ended = probed_by(&mut fake, &AtomicBool::new(false), gone).unwrap_err();
    assert!(matches!(ended.error, ActError::Gone { .. }), "{ended:?}");
}

#[test]
fn too_small_storage_is_refused() {
    let mut fake = Fake::new(MIB - 4096, Lie::None);
    let refused = probed(&mut fake).unwrap_err().error.to_string();
    assert!(refused.contains("too little to probe"), "{refused}");
    assert_eq!(fake.writes, 0);
}

/// Is stopped after so many writes, and from there on refuses to write to one
/// block.
struct Stopping<'a> {
    fake: Fake,
    after: usize,
    stop: &'a AtomicBool,
    then_broken: Option<u64>,
}

impl BlockStore for Stopping<'_> {
    fn bytes(&self) -> u64 {
        self.fake.bytes()
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
        self.fake.read_at(offset, into)
    }
    fn write_at(&mut self, offset: u64, from: &[u8]) -> std::io::Result<()> {
        if self.stop.load(Ordering::Relaxed) && self.then_broken == Some(offset) {
            return Err(rustix::io::Errno::IO.into());
        }
        self.fake.write_at(offset, from)?;
        let stops = self.fake.writes >= self.after;
        self.stop.store(stops, Ordering::Relaxed);
        Ok(())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Probes storage until it is stopped; what it held before and holds then, and
/// how it ended.
fn stopped(lie: Lie, then_broken: Option<u64>) -> (Vec<u8>, Vec<u8>, ProbeEnd) {
    let fake = Fake::new(64 * MIB, lie);
    let before = fake.memory.clone();
    let stop = AtomicBool::new(false);
    let mut stopping = Stopping {
        fake,
        after: 500,
        stop: &stop,
        then_broken,
    };
    let mut observer = Recording::default();
    let mut context = Context {
        seed: 7,
        folder: None,
        stop: &stop,
        report_now: &AtomicBool::new(false),
        observer: &mut observer,
    };
    let ended = probe(&mut Probe {
        store: &mut stopping,
        meter: &mut Meter::start(0),
        progress: &mut ProgressReporter::new("probe", 0, None),
        context: &mut context,
        done: 0,
        of_free_space: false,
    });
    let ended = ended.unwrap_err();
    assert!(matches!(ended.error, ActError::Stopped));
    (before, stopping.fake.memory, ended)
}

#[test]
fn a_stop_puts_everything_back() {
    let (before, after, ended) = stopped(Lie::Wraparound(16 * MIB), None);
    assert!(before == after);
    assert_eq!(ended.not_restored, []);
}

#[test]
fn a_stop_names_the_blocks_that_could_not_be_put_back() {
    // The first of the giant steps is the first that is written.
    let (_, giant) = steps(64 * MIB / BLOCK);
    let broken = giant[0];
    let (before, after, ended) = stopped(Lie::None, Some(broken));
    assert!(before != after);
    assert_eq!(ended.not_restored, [broken]);
}
