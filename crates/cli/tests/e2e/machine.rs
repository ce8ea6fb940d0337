//! Who uses this machine: tests that run side by side, or one that would
//! disturb the others.
//!
//! iozone calls `sync(2)` before each of its tests, which writes back the dirty
//! pages of every file system. What another test has just left in the page
//! cache would then have reached its device, and be labelled so.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

static USE: Mutex<Option<Use>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

#[derive(Default)]
struct Use {
    /// Threads of tests, and how many shares each of them holds.
    shares: HashMap<ThreadId, usize>,
    /// How many wait to be alone. No test begins before they have been.
    waiting: usize,
    alone: Option<ThreadId>,
}

/// A share of the machine, until it is dropped.
#[derive(Debug)]
pub struct Share(ThreadId);

/// The whole machine, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Alone(());

/// Waits while another test is alone. A thread that has a share, or is alone,
/// gets more of them at once.
pub fn share() -> Share {
    let me = thread::current().id();
    let mut used = wait_until(|used| {
        used.shares.contains_key(&me)
            || used.alone == Some(me)
            || (used.alone.is_none() && used.waiting == 0)
    });
    let used = used.get_or_insert_default();
    *used.shares.entry(me).or_default() += 1;
    Share(me)
}

/// Waits until no other test has a share. Before any share of this thread.
pub fn alone() -> Alone {
    lock().get_or_insert_default().waiting += 1;
    let mut used = wait_until(|used| used.alone.is_none() && used.shares.is_empty());
    let used = used.get_or_insert_default();
    used.waiting -= 1;
    used.alone = Some(thread::current().id());
    Alone(())
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut used = lock();
        let shares = &mut used.get_or_insert_default().shares;
        if let Some(held) = shares.get_mut(&self.0) {
            *held -= 1;
            if *held == 0 {
                shares.remove(&self.0);
            }
        }
        CHANGED.notify_all();
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        lock().get_or_insert_default().alone = None;
        CHANGED.notify_all();
    }
}

/// A test that fails with a share gives it back; nothing is half done.
fn lock() -> MutexGuard<'static, Option<Use>> {
    USE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_until(is_so: impl Fn(&Use) -> bool) -> MutexGuard<'static, Option<Use>> {
    let waiting = CHANGED.wait_while(lock(), |used| !is_so(used.get_or_insert_default()));
    waiting.unwrap_or_else(PoisonError::into_inner)
}
