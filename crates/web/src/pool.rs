//! Connections to the store, a few of them, each used by one request at a time.

use crate::kept::KeptPages;
use crate::reply::Problem;
use assay_store::{Store, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// Requests that are read and rendered at a time.
const AT_A_TIME: usize = 4;
/// Time limit for a request's turn.
const TURN: Duration = Duration::from_secs(20);

/// Opens the store once more.
pub type Open = dyn Fn() -> Result<Store, StoreError> + Send + Sync;

/// A connection to the store.
pub struct Connection {
    /// The store.
    pub store: Store,
    /// Pages that were made from it.
    pub kept: KeptPages,
}

/// Open connections that wait for a request.
pub struct Pool {
    open: Box<Open>,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Pool {
    /// A pool without open connections.
    pub fn new(open: Box<Open>) -> Arc<Self> {
        Arc::new(Self {
            open,
            idle: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_A_TIME)),
        })
    }

    /// Works with a connection on a thread of its own.
    pub async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnMut(&mut Connection) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = timeout(TURN, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Problem::Busy);
        };
        let pool = Arc::clone(self);
        let (tell, worked) = oneshot::channel();
        let work = move || {
            // Until the work is done, even if nobody waits for it any more.
            let _turn = turn;
            let _ = tell.send(pool.used(work));
        };
        // Where no thread is to be had, others use too many now.
        std::thread::Builder::new()
            .spawn(work)
            .map_err(|_| Problem::Busy)?;
        // Only a panic ends it otherwise.
        worked.await.unwrap_or(Err(Problem::Broken))
    }

    /// Works with a connection, and keeps it unless it failed. Where the file of one that was open
    /// was replaced, the work is done again with the one that is there now.
    fn used<T>(
        &self,
        mut work: impl FnMut(&mut Connection) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        loop {
            let idle = self.idle().pop();
            let was_open = idle.is_some();
            let mut connection = match idle {
                Some(connection) => connection,
                None => Connection {
                    store: (self.open)()?,
                    kept: KeptPages::default(),
                },
            };
            match work(&mut connection) {
                Err(Problem::Store(StoreError::Replaced { .. })) if was_open => {}
                Err(Problem::Store(error)) => return Err(Problem::Store(error)),
                worked => {
                    self.idle().push(connection);
                    return worked;
                }
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
