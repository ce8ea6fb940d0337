//! Time as the worker loop sees it.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A clock that only moves forward. The real one is [`MonotonicClock`]; tests of the worker loop
/// use their own.
pub(crate) trait Clock: Copy + Send + Sync {
    /// True if this is the machine's clock, so that the machine's activity meanwhile belongs to its
    /// time.
    const REAL: bool = true;

    /// Nanoseconds since an arbitrary but fixed moment.
    fn now(&self) -> u64;

    /// Waits `ns` nanoseconds.
    fn sleep(&self, ns: u64);

    /// Called when a stream starts, with the start time, which is a moment ago.
    fn begin(&self, _start_ns: u64) {}

    /// Called in each round of a busy-wait. Only a virtual clock moves here.
    #[inline]
    fn spin(&self) {}
}

/// `CLOCK_MONOTONIC`, read in user space (vDSO) without a system call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    #[expect(
        clippy::cast_sign_loss,
        reason = "the monotonic clock starts at boot and is never negative"
    )]
    fn now(&self) -> u64 {
        let time = clock_gettime(ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }

    fn sleep(&self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}
