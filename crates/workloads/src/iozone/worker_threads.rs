//! Children of a step, each in a thread.

use super::buffers::Buffers;
use super::child::{Came, Child, ChildrenState};
use super::step::{StepSetup, Together};
use crate::progress::EVERY;
use crate::{Context, WorkError};
use assay_engine::{StartLine, own_file_table};
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Instant;

/// Gates at which the children wait.
#[derive(Default)]
struct Gates {
    /// Opens when all are ready and the clock starts.
    start: StartLine<()>,
    /// Opens when the clock has stopped.
    settle: StartLine<()>,
}

impl Gates {
    /// Releases all children without work, including those that arrive later.
    fn cancel(&self) {
        self.start.cancel();
        self.settle.cancel();
    }
}

/// Message from a child, with its number.
type ChildMessage<T> = (usize, T);

impl StepSetup<'_> {
    /// Measures with all children.
    pub(super) fn measure_threads(
        &self,
        step: crate::ObservedStep<'_>,
        buffers: &mut [Buffers],
        shared: &ChildrenState<'_>,
        context: &mut Context<'_>,
    ) -> Result<Together, WorkError> {
        let count = self.files.len();
        let gates = Gates::default();
        let (ready, is_ready) = sync_channel(count);
        let (done, is_done) = sync_channel(count);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, buffers) in buffers.iter_mut().take(count).enumerate() {
                let (ready, done) = (ready.clone(), done.clone());
                let gates = &gates;
                let life = move || self.live(number, buffers, shared, gates, ready, done);
                match std::thread::Builder::new().spawn_scoped(scope, life) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        gates.cancel();
                        return Err(no_child(number, count, &error));
                    }
                }
            }
            // The channels must report when all children have ended.
            drop((ready, done));
            let came = self.conduct(step, shared, &gates, &is_ready, &is_done, context);
            gates.cancel();
            let settled = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(lost())));
            let settled: Result<Vec<()>, WorkError> = settled.collect();
            let came = came?;
            settled.map(|_| came)
        })
    }

    /// Body of a child's thread.
    fn live(
        &self,
        number: usize,
        buffers: &mut Buffers,
        shared: &ChildrenState<'_>,
        gates: &Gates,
        ready: SyncSender<ChildMessage<Result<(), WorkError>>>,
        done: SyncSender<ChildMessage<Came>>,
    ) -> Result<(), WorkError> {
        own_file_table();
        let (mut child, told) = match Child::ready(self.wanted(number), buffers, shared, number) {
            Ok(child) => (Some(child), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let _ = ready.send((number, told));
        drop(ready);
        let goes = gates.start.wait().is_some();
        if let Some(child) = child.as_mut().filter(|_| goes) {
            let _ = done.send((number, child.measure(&mut |_| {})));
        }
        drop(done);
        let settles = gates.settle.wait().is_some();
        child.filter(|_| settles).map_or(Ok(()), Child::settle)
    }

    /// Starts the children together, collects their results, and waits for their end.
    fn conduct(
        &self,
        step: crate::ObservedStep<'_>,
        shared: &ChildrenState<'_>,
        gates: &Gates,
        is_ready: &Receiver<ChildMessage<Result<(), WorkError>>>,
        is_done: &Receiver<ChildMessage<Came>>,
        context: &mut Context<'_>,
    ) -> Result<Together, WorkError> {
        let ready = is_ready.iter().take(self.files.len());
        let ready: Result<Vec<()>, WorkError> = ready.map(|(_, word)| word).collect();
        if ready?.len() < self.files.len() {
            return Err(lost());
        }
        context.observer.clock_starts(step);
        let start = Instant::now();
        gates.start.open(());
        let words = self.follow(shared, is_done, context);
        let parent = start.elapsed();
        context.observer.clock_stopped();
        gates.settle.open(());
        if words.len() < self.files.len() {
            return Err(lost());
        }
        let children = words.into_iter().map(|(_, came)| came).collect();
        Ok(Together { children, parent })
    }

    /// Collects the results of the children.
    fn follow(
        &self,
        shared: &ChildrenState<'_>,
        is_done: &Receiver<ChildMessage<Came>>,
        context: &mut Context<'_>,
    ) -> Vec<ChildMessage<Came>> {
        let progress = self.progress();
        let mut words: Vec<ChildMessage<Came>> = Vec::new();
        while words.len() < self.files.len() {
            match is_done.recv_timeout(EVERY) {
                Ok(word) => {
                    // If a child failed, the others stop as well.
                    if word.1.failure.is_some() {
                        shared.halt.store(true, Ordering::Relaxed);
                    }
                    words.push(word);
                }
                Err(RecvTimeoutError::Timeout) => progress.tell(context, shared.moved()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        words.sort_by_key(|(number, _)| *number);
        words
    }
}

#[cold]
fn no_child(number: usize, count: usize, error: &io::Error) -> WorkError {
    WorkError::Failed {
        message: format!(
            "cannot start child {} of {count}: {error}; give a smaller -t or -u",
            number + 1
        ),
        errno: error.raw_os_error(),
    }
}

#[cold]
fn lost() -> WorkError {
    WorkError::failed("a child ended before it was done: this is a bug in assay, please report it")
}
