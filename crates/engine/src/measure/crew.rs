//! The threads of a job's workers, from their files to the start line.

use crate::clock::MonotonicClock;
use crate::engines::{libaio::Libaio, null::Null, psync::Psync, sync::Sync, uring::Uring};
use crate::error::EngineError;
use crate::gaps::{SharedGaps, WorkerGaps};
use crate::io::IoEngine;
use crate::pattern::Pattern;
use crate::start::StartLine;
use crate::sys;
use crate::worker::{Finished, Parts, Shared, Worker, buffers};
use assay_model::job::{EngineKind, Job, OpenSync};
use assay_model::rng::SplitMix64;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};

/// What all workers have in common.
pub(super) struct Work<'a> {
    pub(super) job: &'a Job,
    pub(super) path: &'a Path,
    pub(super) shared: &'a Shared<'a>,
    pub(super) start: &'a StartLine,
}

/// However the coordinator ends, also by a panic: no worker waits for it any
/// longer, and none goes on without it.
pub(super) struct LetGo<'a>(pub(super) &'a Work<'a>);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.start.cancel();
        self.0.shared.halted.store(true, Ordering::Relaxed);
    }
}

/// What comes from the workers. Either channel ends when no worker can send to
/// it any more.
pub(super) struct Reports {
    pub(super) ready: Receiver<Result<(), EngineError>>,
    pub(super) done: Receiver<Result<Finished, EngineError>>,
}

/// Starts the threads of all workers.
pub(super) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: &'scope Work<'scope>,
    seed: u64,
    gaps: &Arc<SharedGaps>,
) -> Result<Reports, EngineError> {
    let mut seeds = SplitMix64::new(seed);
    let (to_ready, ready) = channel();
    let (to_done, done) = channel();
    for number in 0..work.job.numjobs {
        let own = Own {
            seed: seeds.next_u64(),
            gaps: gaps.of_worker(number as usize),
            ready: to_ready.clone(),
            done: to_done.clone(),
        };
        Builder::new()
            .name(format!("worker {number}"))
            .spawn_scoped(scope, move || work.serve(own))
            .map_err(|source| EngineError::Threads {
                number: work.job.numjobs,
                source,
            })?;
    }
    Ok(Reports { ready, done })
}

/// What each worker has of its own.
struct Own {
    seed: u64,
    gaps: WorkerGaps,
    ready: Sender<Result<(), EngineError>>,
    done: Sender<Result<Finished, EngineError>>,
}

impl Work<'_> {
    /// The life of a worker's thread. Rings are made here because the kernel
    /// ties them to the thread that uses them.
    fn serve(&self, own: Own) {
        let depth = self.job.iodepth;
        match self.job.ioengine {
            EngineKind::Psync => self.on(own, |file| Ok(Psync::new(file))),
            EngineKind::Sync => self.on(own, |file| Ok(Sync::new(file))),
            EngineKind::Libaio => self.on(own, |file| Libaio::new(file, depth)),
            EngineKind::IoUring => self.on(own, |file| Uring::new(file, depth)),
            _ => self.on(own, |_| Ok(Null)),
        }
    }

    /// The same, whatever the engine.
    fn on<E: IoEngine>(&self, own: Own, engine: impl FnOnce(File) -> Result<E, EngineError>) {
        sys::own_file_table();
        let Own {
            seed,
            gaps,
            ready,
            done,
        } = own;
        let prepared = self.prepare(seed, gaps, engine);
        // Whether anybody still listens shows at the start line.
        let (engine, parts) = match prepared {
            Ok(prepared) => {
                let _ = ready.send(Ok(()));
                prepared
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        drop(ready);
        let Some(start_ns) = self.start.wait() else {
            return;
        };
        let finished = Worker::new(engine, parts, start_ns).run();
        if finished.is_err() {
            self.shared.halted.store(true, Ordering::Relaxed);
        }
        let _ = done.send(finished);
    }

    fn prepare<E: IoEngine>(
        &self,
        seed: u64,
        gaps: WorkerGaps,
        engine: impl FnOnce(File) -> Result<E, EngineError>,
    ) -> Result<(E, Parts<'_, MonotonicClock>), EngineError> {
        let file = open_for(self.job, self.path)?;
        let for_flushes = file
            .try_clone()
            .map_err(|error| EngineError::file("duplicate", self.path, error))?;
        let pattern = Pattern::new(self.job, seed).ok_or_else(|| EngineError::Job {
            job: self.job.name.clone(),
            problem: "not one block fits into its region".to_owned(),
        })?;
        let parts = Parts {
            clock: MonotonicClock,
            job: self.job,
            shared: self.shared,
            file: for_flushes,
            pattern,
            buffers: buffers(self.job, seed),
            seed,
            gaps,
        };
        Ok((engine(file)?, parts))
    }
}

fn open_for(job: &Job, path: &Path) -> Result<File, EngineError> {
    let mut flags = OFlags::CLOEXEC
        | match (job.rw.reads(), job.rw.writes()) {
            (true, true) => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
    if job.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match job.sync {
        OpenSync::None => OFlags::empty(),
        OpenSync::Dsync => OFlags::DSYNC,
        OpenSync::Sync => OFlags::SYNC,
    };
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::INVAL) if job.direct => {
            return Err(EngineError::NoDirect {
                path: path.to_owned(),
            });
        }
        Err(errno) => return Err(EngineError::file("open", path, errno.into())),
    };
    // A directory opens for reading, and then fails every read.
    match file.metadata() {
        Ok(what) if what.is_dir() => {
            let error = Errno::ISDIR.into();
            Err(EngineError::file("use", path, error))
        }
        Ok(_) => Ok(file),
        Err(error) => Err(EngineError::file("look at", path, error)),
    }
}
