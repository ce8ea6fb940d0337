//! Random buffered reads of which most were served by what the kernel read
//! around the others.

use super::*;
use assay_model::load::blocks::Sequencer;

/// 4 KiB random reads of [`MOVED`] bytes with a map, and what the device did.
fn random(device_bytes: u64, requests: u64) -> Wave {
    let mut wave = Wave::new();
    wave.stream("m", Ddir::Read, MOVED).read(device_bytes);
    wave.last(|stream, came| {
        stream.blocks.rw.random = true;
        stream.engine.kind = EngineKind::Mmap;
        came.directions.read.ios = MOVED / 4096;
    });
    wave.after().devices[0].read_ios = requests;
    wave
}

const READS: u64 = MOVED / 4096;

/// Seen on Linux 6.18: 16 MiB read with a map at random made the device move
/// 64 MiB in 512 requests; the median read took 660 ns.
#[test]
fn bytes_read_around_do_not_vouch_for_the_reads() {
    let wave = random(4 * MOVED, READS / 8);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"]);
    let because = wave.because(Ddir::Read);
    assert!(because.contains("only 12 % of the reads"), "{because}");
    let judged = wave.judged().remove(0).unwrap().read.unwrap();
    assert_eq!(judged.device_share, Some(0.125));
    let few = random(4 * MOVED, READS / 32);
    assert_eq!(few.labels(Ddir::Read), ["page-cache"]);
}

#[test]
fn a_request_for_each_read_is_the_device() {
    assert_eq!(random(MOVED, READS).labels(Ddir::Read), ["device"]);
    // A few neighbours may have shared one.
    let most = READS - READS / 50;
    assert_eq!(random(MOVED, most).labels(Ddir::Read), ["device"]);
}

#[test]
fn large_blocks_may_take_one_request_or_many() {
    for requests in [MOVED / MIB, 8 * MOVED / MIB] {
        let mut wave = random(MOVED, requests);
        wave.last(|_, came| came.directions.read.ios = MOVED / MIB);
        assert_eq!(wave.labels(Ddir::Read), ["device"]);
    }
}

#[test]
fn reads_in_order_are_merged_and_direct_ones_are_not_cached() {
    let mut wave = random(MOVED, MOVED / (128 << 10));
    assert_eq!(wave.labels(Ddir::Read), ["page-cache"]);
    wave.last(|stream, _| stream.blocks.rw.random = false);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    wave.last(|stream, _| {
        stream.blocks.rw.random = true;
        stream.engine.kind = EngineKind::Psync;
        stream.durability.direct = true;
    });
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
}

#[test]
fn runs_of_reads_in_order_need_one_request_each() {
    let mut wave = random(MOVED, READS / 8);
    wave.last(|stream, _| stream.blocks.rw.every = 8);
    assert_eq!(wave.labels(Ddir::Read), ["device"]);
    wave.last(|stream, _| stream.blocks.rw.sequencer = Sequencer::Identical);
    assert_eq!(wave.labels(Ddir::Read), ["mixed"], "the same block again");
    let mut half = random(MOVED, READS / 2);
    half.last(|stream, _| stream.blocks.percentage_random.read = 50);
    assert_eq!(half.labels(Ddir::Read), ["device"]);
}

#[test]
fn requests_of_others_do_not_vouch() {
    // A direct job beside it made as many requests.
    let mut wave = random(2 * MOVED, READS / 8 + READS);
    wave.stream("d", Ddir::Read, MOVED).direct();
    wave.last(|_, came| came.directions.read.ios = READS);
    assert_eq!(wave.labels(Ddir::Read), ["unknown", "device"]);
    wave.after().devices[0].read_ios = 2 * READS;
    assert_eq!(wave.labels(Ddir::Read), ["device", "device"]);
    // Another process did.
    let mut busy = random(MOVED, READS);
    busy.after().devices[0].read_bytes = 2 * MOVED;
    assert_eq!(busy.labels(Ddir::Read), ["unknown"]);
}
