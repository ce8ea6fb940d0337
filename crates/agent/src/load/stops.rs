//! Counters when the clocks of streams stop before their work is done, and between their
//! passes.

use assay_model::evidence::Snapshot;
use assay_model::load::report::{BetweenPasses, ClockStop};

/// Stops kept for each storage of a wave: a wave of many jobs that end one by one.
const STOPS_KEPT: usize = 64;

/// Clock stops of the streams of a wave on one storage.
#[derive(Clone, Debug, Default)]
pub(super) struct Stops(Vec<ClockStop>);

impl Stops {
    pub(super) fn to_vec(&self) -> Vec<ClockStop> {
        self.0.clone()
    }

    /// Records a stop of these streams' clocks; the last stop of each counts. If a stream
    /// stopped together with others before, the counters between its passes are unknown.
    pub(super) fn stopped(&mut self, streams: Vec<u32>, after: Snapshot) {
        if let Some(stop) = self.0.iter_mut().find(|stop| stop.streams == streams) {
            stop.after = after;
            return;
        }
        let mut is_again = false;
        for stop in &mut self.0 {
            let before = stop.streams.len();
            stop.streams.retain(|stream| !streams.contains(stream));
            if stop.streams.len() < before {
                is_again = true;
                stop.between = Some(BetweenPasses::default());
            }
        }
        self.0.retain(|stop| !stop.streams.is_empty());
        if self.0.len() < STOPS_KEPT {
            self.0.push(ClockStop {
                streams,
                after,
                between: is_again.then(BetweenPasses::default),
            });
        }
    }

    /// Records that these streams' clocks continue. If other streams stopped with them
    /// and do not continue, the counters in between are unknown: the interval is kept
    /// without counters.
    pub(super) fn go_on(&mut self, streams: &[u32], now: &Snapshot) {
        let concerned = self.0.iter_mut();
        let concerned = concerned.filter(|stop| stop.streams.iter().any(|s| streams.contains(s)));
        for stop in concerned {
            let passed = match stop.streams == streams {
                true => between(&stop.after, now),
                false => BetweenPasses::default(),
            };
            stop.between = Some(match stop.between.take() {
                None => passed,
                Some(sum) => both(&sum, &passed),
            });
        }
    }
}

/// Returns the counters between a stop and the continuation.
fn between(stop: &Snapshot, now: &Snapshot) -> BetweenPasses {
    let devices = stop.devices.iter().zip(&now.devices);
    let dirty = |stop: &Snapshot| {
        let cache = stop.region_cache.or(stop.file_cache)?;
        Some(cache.dirty_bytes? + cache.writeback_bytes?)
    };
    BetweenPasses {
        times: 1,
        elapsed_ns: now.at_ns.saturating_sub(stop.at_ns),
        devices: devices
            .map(|(a, b)| b.combined(a, u64::saturating_sub))
            .collect(),
        own_io: (stop.own_io.zip(now.own_io)).map(|(a, b)| b.combined(a, u64::saturating_sub)),
        dirty_bytes: dirty(stop),
        cached_bytes: (now.region_cache.or(now.file_cache)).map(|cache| cache.cached_bytes),
    }
}

fn both(a: &BetweenPasses, b: &BetweenPasses) -> BetweenPasses {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
    let devices = a.devices.iter().zip(&b.devices);
    BetweenPasses {
        times: a.times + b.times,
        elapsed_ns: a.elapsed_ns + b.elapsed_ns,
        devices: devices
            .map(|(a, b)| a.combined(b, u64::saturating_add))
            .collect(),
        own_io: (a.own_io.zip(b.own_io)).map(|(a, b)| a.combined(b, u64::saturating_add)),
        dirty_bytes: sum(a.dirty_bytes, b.dirty_bytes),
        cached_bytes: sum(a.cached_bytes, b.cached_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::evidence::{CacheSource, DeviceCounters, FileCache, OwnIo};

    fn moment(at_ns: u64, written: u64, dirty: u64) -> Snapshot {
        Snapshot {
            at_ns,
            devices: vec![DeviceCounters {
                name: "sda".to_owned(),
                write_bytes: written,
                ..DeviceCounters::default()
            }],
            own_io: Some(OwnIo {
                write_bytes: written,
                ..OwnIo::default()
            }),
            file_cache: Some(FileCache {
                source: CacheSource::Cachestat,
                cached_bytes: dirty,
                dirty_bytes: Some(dirty),
                writeback_bytes: Some(0),
            }),
            ..Snapshot::default()
        }
    }

    #[test]
    fn what_moves_between_passes_adds_up() {
        let mut stops = Stops::default();
        stops.stopped(vec![0, 1], moment(10, 0, 64));
        stops.go_on(&[0, 1], &moment(15, 64, 0));
        stops.stopped(vec![0, 1], moment(20, 64, 64));
        stops.go_on(&[0, 1], &moment(27, 128, 0));
        stops.stopped(vec![0, 1], moment(30, 128, 32));
        let all = stops.to_vec();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].after.at_ns, 30);
        let between = all[0].between.as_ref().unwrap();
        assert_eq!((between.times, between.elapsed_ns), (2, 12));
        assert_eq!(between.devices[0].write_bytes, 128);
        assert_eq!(between.own_io.unwrap().write_bytes, 128);
        assert_eq!(between.dirty_bytes, Some(128));
    }

    #[test]
    fn a_stop_with_fewer_streams_takes_the_place_of_an_earlier_one() {
        let mut stops = Stops::default();
        stops.stopped(vec![0, 1], moment(10, 0, 64));
        stops.go_on(&[0, 1], &moment(15, 64, 0));
        stops.stopped(vec![0], moment(20, 128, 0));
        stops.stopped(vec![1], moment(21, 128, 0));
        let all = stops.to_vec();
        let streams: Vec<&[u32]> = all.iter().map(|stop| &*stop.streams).collect();
        assert_eq!(streams, [[1], [0]]);
        for stop in &all {
            assert_eq!(stop.between, Some(BetweenPasses::default()));
        }
    }

    #[test]
    fn passes_that_do_not_fit_together_are_not_counted() {
        let mut stops = Stops::default();
        stops.stopped(vec![0, 1], moment(10, 0, 64));
        stops.go_on(&[0], &moment(15, 64, 0));
        let between = stops.to_vec()[0].between.clone().unwrap();
        assert_eq!((between.devices.len(), between.own_io), (0, None));
    }
}
