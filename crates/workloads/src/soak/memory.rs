//! Memory that is written and checked beside the I/O.

use crate::WorkError;
use crate::memory::{no_room, stress};
use assay_model::work::soak::Checkpoint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// A thread that writes and checks memory until it is dropped.
pub(super) struct Beside {
    counts: Arc<MemoryCounts>,
    thread: Option<JoinHandle<()>>,
}

/// What it has done.
#[derive(Default)]
struct MemoryCounts {
    stop: AtomicBool,
    flips: AtomicU64,
    bytes: AtomicU64,
}

impl Beside {
    /// Over so many bytes; without, it does nothing.
    pub(super) fn new(bytes: Option<u64>) -> Result<Self, WorkError> {
        let counts = Arc::new(MemoryCounts::default());
        let thread = match bytes {
            None => None,
            Some(bytes) => {
                let mut part = stress::part(bytes).map_err(|error| no_room(bytes, &error))?;
                let counts = Arc::clone(&counts);
                Some(std::thread::spawn(move || {
                    let mut seed = 0;
                    while !counts.stop.load(Ordering::Relaxed) {
                        seed += 1;
                        let (flips, bytes) = stress::random(&mut part, seed, &counts.stop);
                        counts.flips.fetch_add(flips, Ordering::Relaxed);
                        counts.bytes.fetch_add(bytes, Ordering::Relaxed);
                    }
                }))
            }
        };
        Ok(Self { counts, thread })
    }

    /// Flips and bytes so far, with those before a run was resumed.
    pub(super) fn since(&self, from: Option<&Checkpoint>) -> (u64, u64) {
        let (flips, bytes) = from.map_or((0, 0), |from| (from.memory_flips, from.memory_bytes));
        (
            flips + self.counts.flips.load(Ordering::Relaxed),
            bytes + self.counts.bytes.load(Ordering::Relaxed),
        )
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.counts.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its panic is told by itself.
            let _ = thread.join();
        }
    }
}
