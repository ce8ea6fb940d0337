//! Whatever goes wrong before the start, nobody waits for ever.

use super::{Start, alone, folder, job, zeros};
use assay_engine::{EngineError, Observer, Progress, measure};
use assay_model::job::{EngineKind, Rw};
use assay_testkit::needs;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Somebody who owns no other processes, as a rule.
const NOBODY: u32 = 65_534;

/// The limit does not bind root, so this runs itself as somebody else.
#[test]
fn threads_that_cannot_be_had_are_a_typed_error() {
    let _alone = alone();
    needs!(root);
    let myself = Path::new("/proc/self/exe");
    let child = assay_testkit::command(myself)
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "threads::few_threads",
        ])
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("this test as somebody else");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "lowers the limits of its process: the test above runs it"]
fn few_threads() {
    let few = Rlimit {
        current: Some(20),
        maximum: Some(20),
    };
    setrlimit(Resource::Nproc, few).expect("a lower limit");
    let mut job = job(Rw::Read, 1);
    job.ioengine = EngineKind::Null;
    job.numjobs = 100;
    let error = super::try_run(&job, Path::new("/dev/null")).unwrap_err();
    assert!(matches!(error, EngineError::Threads { .. }), "{error}");
    assert!(error.to_string().contains("numjobs"), "{error}");
}

/// Fails while everybody waits for it.
struct Panics;

impl Observer for Panics {
    fn clock_starts(&mut self, _: Start) {
        panic!("as this test wants");
    }

    fn clock_stopped(&mut self) {}

    fn progress(&mut self, _: Progress) {}
}

#[test]
fn a_panic_before_the_start_lets_the_workers_go() {
    let _alone = alone();
    let folder = folder();
    let path = zeros(&folder, 8 * super::BLOCK);
    let mut job = job(Rw::Read, 8);
    job.numjobs = 4;
    let never = AtomicBool::new(false);
    let run = || measure(&job, &path, 1, &never, &mut Panics);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}
