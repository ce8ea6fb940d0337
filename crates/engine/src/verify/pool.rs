//! Threads that check blocks in parallel with the stream's reads
//! (`verify_async`).

use super::{Expected, Mismatch, Verifier};
use crate::EngineError;
use crate::buffer::IoBuf;
use crate::sys::lock;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Maximum number of blocks in the pool for each of its threads.
const BLOCKS_PER_THREAD: usize = 8;

/// A block to check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) buf: IoBuf,
    /// Length of the block; its buffer may be longer.
    pub(crate) length: u32,
    pub(crate) expected: Expected,
    /// Tag for the caller's use.
    pub(crate) tag: u64,
}

/// A block that was checked.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) check: Check,
    pub(crate) result: Result<(), Mismatch>,
}

/// Threads that check blocks.
#[derive(Debug)]
pub(crate) struct CheckPool {
    shared: Arc<PoolShared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct PoolShared {
    queues: Mutex<Queues>,
    /// Signals that a block waits, or that the pool was closed.
    work: Condvar,
    /// Signals that a block was checked.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Queues {
    waiting: VecDeque<Check>,
    done: Vec<Checked>,
    /// Number of blocks submitted and not yet returned.
    inside: usize,
    closed: bool,
}

impl CheckPool {
    /// Starts `threads` threads (at least one), on the given processors only,
    /// or on any if `cpus` is empty.
    ///
    /// # Errors
    /// If the threads cannot be started, or may not run on these processors.
    pub(crate) fn new(
        threads: u32,
        cpus: &[u32],
        verifier: &Arc<Verifier>,
    ) -> Result<Self, EngineError> {
        let number = threads.max(1);
        let failed = |source| EngineError::Threads { number, source };
        let cpus = cpu_set(cpus).map_err(failed)?;
        let mut pool = Self {
            shared: Arc::default(),
            threads: Vec::new(),
        };
        for _ in 0..number {
            let (shared, verifier) = (Arc::clone(&pool.shared), Arc::clone(verifier));
            let thread = std::thread::Builder::new()
                .name("assay-verify".to_owned())
                .spawn(move || {
                    if let Some(cpus) = cpus {
                        // The set was tested before. If a processor was removed
                        // since then, the blocks are checked on any other.
                        let _ = sched_setaffinity(None, &cpus);
                    }
                    check_all(&shared, &verifier);
                })
                .map_err(failed)?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Submits a block. If the pool is full, the error returns the block; the
    /// caller must first remove checked blocks.
    pub(crate) fn submit(&self, check: Check) -> Result<(), Check> {
        let mut queues = lock(&self.shared.queues);
        if queues.inside >= BLOCKS_PER_THREAD * self.threads.len() {
            return Err(check);
        }
        queues.inside += 1;
        queues.waiting.push_back(check);
        drop(queues);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Returns the blocks that were checked so far.
    pub(crate) fn take_done(&self) -> Vec<Checked> {
        take_done(&mut lock(&self.shared.queues))
    }

    /// Waits until a block is checked and returns the checked blocks; empty if
    /// no block is in the pool.
    pub(crate) fn wait_done(&self) -> Vec<Checked> {
        let idle = |queues: &mut Queues| queues.done.is_empty() && queues.inside > 0;
        let queues = self.shared.done.wait_while(lock(&self.shared.queues), idle);
        take_done(&mut queues.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for CheckPool {
    fn drop(&mut self) {
        lock(&self.shared.queues).closed = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

fn take_done(queues: &mut Queues) -> Vec<Checked> {
    let done = std::mem::take(&mut queues.done);
    queues.inside -= done.len();
    done
}

/// Checks blocks until the pool is closed.
fn check_all(shared: &PoolShared, verifier: &Verifier) {
    let idle = |queues: &mut Queues| queues.waiting.is_empty() && !queues.closed;
    loop {
        let queues = shared.work.wait_while(lock(&shared.queues), idle);
        let mut queues = queues.unwrap_or_else(PoisonError::into_inner);
        if queues.closed {
            return;
        }
        let Some(mut check) = queues.waiting.pop_front() else {
            continue;
        };
        drop(queues);
        let block = &mut check.buf.block_mut()[..check.length as usize];
        let result = verifier.check(block, check.expected);
        lock(&shared.queues).done.push(Checked { check, result });
        shared.done.notify_one();
    }
}

/// Returns the set of these processors, after testing that a thread may run
/// there; `None` if `cpus` is empty.
fn cpu_set(cpus: &[u32]) -> io::Result<Option<CpuSet>> {
    if cpus.is_empty() {
        return Ok(None);
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!("there is no processor {cpu}")));
        }
        set.set(cpu as usize);
    }
    // Tested on a separate thread, so that the caller keeps its processors.
    let tried = std::thread::scope(|scope| {
        let attempt = std::thread::Builder::new().spawn_scoped(scope, || {
            sched_setaffinity(None, &set).map_err(io::Error::from)
        })?;
        attempt.join().unwrap_or(Ok(()))
    });
    tried.map(|()| Some(set))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::BlockMark;
    use assay_model::load::blocks::{Verify, VerifyKind};

    fn verifier() -> Arc<Verifier> {
        Arc::new(Verifier::new(&Verify::new(VerifyKind::Crc32c), 0))
    }

    /// A block whose mark is its tag; every tenth one is damaged.
    fn check(verifier: &Verifier, tag: u64) -> Check {
        let mut buf = IoBuf::zeroed(8192);
        let mark = BlockMark {
            offset: tag * 4096,
            seed: tag,
            ..BlockMark::default()
        };
        let block = &mut buf.block_mut()[..4096];
        verifier.stamp(block, mark);
        if tag % 10 == 3 {
            block[100] ^= 1;
        }
        Check {
            buf,
            length: 4096,
            expected: Expected {
                offset: mark.offset,
                ..Expected::default()
            },
            tag,
        }
    }

    #[test]
    fn every_block_comes_back_with_its_own_answer_and_few_are_inside() {
        let verifier = verifier();
        let pool = CheckPool::new(3, &[0], &verifier).unwrap();
        let mut seen = vec![false; 1000];
        let mut inside = 0;
        let mut take = |done: Vec<Checked>, inside: &mut usize| {
            for Checked { check, result } in done {
                *inside -= 1;
                assert_eq!(result.is_err(), check.tag % 10 == 3, "{}", check.tag);
                let slot = &mut seen[usize::try_from(check.tag).unwrap()];
                assert!(!std::mem::replace(slot, true));
            }
        };
        for tag in 0..1000 {
            let mut waiting = Some(check(&verifier, tag));
            while let Some(check) = waiting.take() {
                match pool.submit(check) {
                    Ok(()) => inside += 1,
                    Err(check) => {
                        assert_eq!(inside, 3 * BLOCKS_PER_THREAD);
                        waiting = Some(check);
                        take(pool.wait_done(), &mut inside);
                    }
                }
            }
            take(pool.take_done(), &mut inside);
        }
        while inside > 0 {
            take(pool.wait_done(), &mut inside);
        }
        assert!(pool.wait_done().is_empty());
        assert!(seen.iter().all(|&seen| seen));
    }

    #[test]
    fn a_pool_that_is_dropped_with_work_inside_ends() {
        let verifier = verifier();
        let pool = CheckPool::new(1, &[], &verifier).unwrap();
        for tag in 0..5 {
            assert!(pool.submit(check(&verifier, tag)).is_ok());
        }
    }

    #[test]
    fn processors_that_do_not_exist_are_refused() {
        for cpu in [1000, 5000] {
            let error = CheckPool::new(1, &[cpu], &verifier()).unwrap_err();
            assert!(matches!(error, EngineError::Threads { .. }), "{error}");
        }
    }
}
