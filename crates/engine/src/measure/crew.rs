//! The threads of a job's workers, from their files to the start line.

use crate::clock::MonotonicClock;
use crate::engines::{WithEngine, may_own_file_table, with_engine};
use crate::error::EngineError;
use crate::gaps::{SharedGaps, WorkerGaps};
use crate::io::{IoEngine, OpenFile};
use crate::pattern::Pattern;
use crate::start::StartLine;
use crate::sys;
use crate::worker::{Finished, Parts, Shared, Worker, buffers};
use assay_model::job::{EngineKind, Job, OpenSync};
use assay_model::load::Engine;
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
    /// The life of a worker's thread. Engines are made here because the kernel
    /// ties rings to the thread that uses them.
    fn serve(&self, own: Own) {
        if may_own_file_table(self.job.ioengine) {
            // The threads of POSIX AIO belong to the process and know its table.
            if self.job.ioengine != EngineKind::Posixaio {
                sys::own_file_table();
            }
        }
        let mut own = Some(own);
        let made = with_engine(
            &engine_of(self.job),
            Serving {
                work: self,
                own: &mut own,
            },
        );
        // Whether anybody still listens shows at the start line.
        if let (Err(error), Some(own)) = (made, own) {
            let _ = own.ready.send(Err(error));
        }
    }

    /// The same, whatever the engine.
    fn on<E: IoEngine>(&self, own: Own, mut engine: E) {
        let Own {
            seed,
            gaps,
            ready,
            done,
        } = own;
        let prepared = self
            .prepare(seed, gaps)
            .and_then(|parts| engine.opened(&parts.file).map(|()| parts));
        let parts = match prepared {
            Ok(parts) => {
                let _ = ready.send(Ok(()));
                parts
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

    fn prepare(
        &self,
        seed: u64,
        gaps: WorkerGaps,
    ) -> Result<Parts<'_, MonotonicClock>, EngineError> {
        let file = open_for(self.job, self.path)?;
        let pattern = Pattern::new(self.job, seed).ok_or_else(|| EngineError::Job {
            job: self.job.name.clone(),
            problem: "not one block fits into its region".to_owned(),
        })?;
        Ok(Parts {
            clock: MonotonicClock,
            job: self.job,
            shared: self.shared,
            file,
            pattern,
            buffers: buffers(self.job, seed),
            seed,
            gaps,
        })
    }
}

/// A worker that waits for its engine.
struct Serving<'a> {
    work: &'a Work<'a>,
    /// Taken when there is an engine; otherwise left for telling so.
    own: &'a mut Option<Own>,
}

impl WithEngine for Serving<'_> {
    type Output = ();

    fn run<E: IoEngine>(self, engine: E) {
        if let Some(own) = self.own.take() {
            self.work.on(own, engine);
        }
    }
}

/// How a job's I/O is handed over. Registering the file costs nothing and saves
/// its lookup at each I/O.
fn engine_of(job: &Job) -> Engine {
    Engine {
        kind: job.ioengine,
        iodepth: job.iodepth,
        register_files: true,
        ..Engine::default()
    }
}

fn open_for(job: &Job, path: &Path) -> Result<OpenFile, EngineError> {
    let mut flags = OFlags::CLOEXEC
        | match (job.rw.reads(), job.rw.writes()) {
            (true, true) => OFlags::RDWR,
            // A mapping that is written must be of a file that can be read.
            (false, true) if job.ioengine == EngineKind::Mmap => OFlags::RDWR,
            (false, true) => OFlags::WRONLY,
            (_, false) => OFlags::RDONLY,
        };
    if job.direct {
        flags |= OFlags::DIRECT;
    }
    flags |= match job.sync {
        OpenSync::None => OFlags::empty(),
        // `OFlags::DSYNC` of rustix 1.1.6 is `O_SYNC` on Linux.
        OpenSync::Dsync => OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned()),
        OpenSync::Sync => OFlags::SYNC,
    };
    match open(path, flags, Mode::empty()) {
        Ok(fd) => OpenFile::new(File::from(fd), 0, path, job.rw.writes())
            .map_err(|error| EngineError::file("use", path, error)),
        Err(Errno::INVAL) if job.direct => Err(EngineError::NoDirect {
            path: path.to_owned(),
        }),
        Err(errno) => Err(EngineError::file("open", path, errno.into())),
    }
}
