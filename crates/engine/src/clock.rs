//! Time as the worker loop sees it.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A clock that only goes forward. The real one is [`MonotonicClock`]; tests
/// of the loop bring their own.
pub(crate) trait Clock: Copy + Send + Sync {
    /// True if this is the machine's clock, so that the machine's activity meanwhile belongs to its
    /// time.
    const REAL: bool = true;

    /// Nanoseconds since an arbitrary but fixed moment.
    fn now(&self) -> u64;

    /// Lets that many nanoseconds pass.
    fn sleep(&self, ns: u64);

    /// A stream starts at that moment, which has just been.
    fn begin(&self, _start_ns: u64) {}

    /// Somebody waits without sleeping.
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
