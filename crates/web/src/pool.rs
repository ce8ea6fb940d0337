//! Pool of connections to the store. One request at a time uses a connection.

use crate::kept::KeptPages;
use crate::reply::Problem;
use assay_store::{Store, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// Maximum number of requests that read and render at the same time.
const AT_A_TIME: usize = 4;
/// Time limit for waiting for a free connection.
const TURN: Duration = Duration::from_secs(20);

/// Opens another connection to the store.
pub type Open = dyn Fn() -> Result<Store, StoreError> + Send + Sync;

/// A connection to the store.
pub struct Connection {
    /// The store.
    pub store: Store,
    /// Pages rendered from it.
    pub kept: KeptPages,
}

/// Pool of connections to the store.
pub struct Pool {
    open: Box<Open>,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Pool {
    /// Returns a pool without open connections.
    pub fn new(open: Box<Open>) -> Arc<Self> {
        Arc::new(Self {
            open,
            idle: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_A_TIME)),
        })
    }

    /// Runs `work` with a connection on a new thread.
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
            // Held until the work is done, also when its request has been cancelled meanwhile.
            let _turn = turn;
            let _ = tell.send(pool.used(work));
        };
        // The system has no thread left: other programs use too many.
        std::thread::Builder::new()
            .spawn(work)
            .map_err(|_| Problem::Busy)?;
        // The sender is dropped without a result only if the work panics.
        worked.await.unwrap_or(Err(Problem::Broken))
    }

    /// Runs `work` with a connection, and returns the connection to the pool unless it failed. If
    /// the file under an idle connection was replaced, repeats the work with the new file.
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
