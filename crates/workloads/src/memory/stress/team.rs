//! Threads of a test: each tests a part of the memory, and waits for requests.

use super::part::{Swept, ThreadMemory};
use super::sweep::sweep_of;
use crate::WorkError;
use crate::memory::{lost_threads, no_room};
use assay_model::work::memory::{Bit, MemoryPattern};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// Request to a thread.
#[derive(Clone, Copy)]
pub(super) enum StressRequest {
    /// Phase of a pattern with a seed.
    Sweep(MemoryPattern, u32, u64),
    /// Bit to flip in a test of assay.
    Flip(Bit),
}

/// Message from a thread.
pub(super) enum StressReply {
    Failed(io::Error),
    Ready(MemoryPlacement),
    Swept(Swept),
    Flipped,
}

/// Location of a thread's memory.
pub(super) struct MemoryPlacement {
    pub(super) thread: u32,
    pub(super) cpu: Option<u32>,
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) locked: bool,
}

/// Body of a thread, which ends with the channel of requests.
pub(super) fn serve(
    mut part: ThreadMemory,
    orders: &Receiver<StressRequest>,
    say: &Sender<StressReply>,
    stop: &AtomicBool,
    done: &AtomicU64,
) {
    let (address, bytes) = part.place();
    let ready = StressReply::Ready(MemoryPlacement {
        thread: part.thread,
        cpu: part.cpu,
        address,
        bytes,
        locked: part.locked,
    });
    // Without a receiver, no requests follow either.
    let _ = say.send(ready);
    for order in orders {
        let word = match order {
            StressRequest::Sweep(pattern, phase, seed) => {
                let seed = seed ^ u64::from(part.thread) << 32;
                StressReply::Swept(part.sweep(sweep_of(pattern, phase), phase, seed, stop, done))
            }
            StressRequest::Flip(bit) => {
                part.flip(bit);
                StressReply::Flipped
            }
        };
        let _ = say.send(word);
    }
}

/// Threads that wait for requests.
pub(super) struct Team<'a> {
    pub(super) orders: Vec<Sender<StressRequest>>,
    pub(super) heard: Receiver<StressReply>,
    pub(super) stop: &'a AtomicBool,
    /// Words of the current sweep that are done.
    pub(super) done: &'a AtomicU64,
}

impl Team<'_> {
    /// Waits until all threads have their memory.
    pub(super) fn parts(&self, bytes: u64) -> Result<Vec<MemoryPlacement>, WorkError> {
        let mut parts = Vec::new();
        for _ in &self.orders {
            match self.heard.recv() {
                Ok(StressReply::Ready(place)) => parts.push(place),
                Ok(StressReply::Failed(error)) => return Err(no_room(bytes, &error)),
                _ => return Err(lost_threads()),
            }
        }
        parts.sort_by_key(|part| part.thread);
        Ok(parts)
    }

    /// Runs a sweep on all threads; `alive` is called a few times a second, and returns true to
    /// continue.
    pub(super) fn sweep(
        &self,
        (pattern, phase, seed): (MemoryPattern, u32, u64),
        mut alive: impl FnMut(u64) -> bool,
    ) -> Result<Vec<Swept>, WorkError> {
        self.done.store(0, Ordering::Relaxed);
        for thread in &self.orders {
            let order = StressRequest::Sweep(pattern, phase, seed);
            thread.send(order).map_err(|_| lost_threads())?;
        }
        let mut all = Vec::new();
        while all.len() < self.orders.len() {
            match self.heard.recv_timeout(Duration::from_millis(100)) {
                Ok(StressReply::Swept(swept)) => all.push(swept),
                Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(lost_threads()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if !alive(self.done.load(Ordering::Relaxed)) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(all)
    }

    pub(super) fn flip(&self, bit: Bit) -> Result<(), WorkError> {
        let first = self.orders.first().ok_or_else(lost_threads)?;
        first
            .send(StressRequest::Flip(bit))
            .map_err(|_| lost_threads())?;
        match self.heard.recv() {
            Ok(StressReply::Flipped) => Ok(()),
            _ => Err(lost_threads()),
        }
    }
}
