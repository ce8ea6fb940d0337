//! Pool of connections to the store, each with a cache of rendered pages. One request at a time
//! uses a connection.
//!
//! The users of a team load the same few pages, and some of those count every run. Each connection
//! caches the pages of one revision of the store ([`assay_store::Store::revision`]), so they are
//! valid while the store does not change. It reads the revision before each page, so that no
//! outdated page is sent.

use crate::reply::{Problem, Reply};
use assay_store::{Store, StoreError};
use std::collections::HashMap;
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

/// Maximum size of the pages that a connection caches.
const MOST_BYTES: usize = 16 << 20;

/// Cached pages of one revision of the store.
#[derive(Debug, Default)]
pub struct KeptPages {
    revision: String,
    pages: HashMap<String, Reply>,
    bytes: usize,
}

impl KeptPages {
    /// Returns the cached page of an address. Empties the cache if the revision is another one.
    pub fn find(&mut self, revision: String, address: &str) -> Option<Reply> {
        if self.revision != revision {
            *self = Self {
                revision,
                ..Self::default()
            };
        }
        self.pages.get(address).cloned()
    }

    /// Caches a page of the revision that [`Self::find`] was called with last. A full cache is
    /// emptied: pages in use are cached again by their next request.
    pub fn keep(&mut self, address: String, page: &Reply) {
        let size = address.len() + page.body.len();
        if size > MOST_BYTES {
            return;
        }
        if self.bytes + size > MOST_BYTES {
            self.pages.clear();
            self.bytes = 0;
        }
        if self.pages.insert(address, page.clone()).is_none() {
            self.bytes += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::HTML;

    #[test]
    fn pages_last_as_long_as_their_revision() {
        let mut kept = KeptPages::default();
        let found = |kept: &mut KeptPages, revision: &str| {
            let page = kept.find(revision.to_owned(), "/");
            page.map(|page| page.body)
        };
        assert_eq!(found(&mut kept, "1"), None);
        kept.keep("/".to_owned(), &Reply::new(HTML, "first"));
        assert_eq!(found(&mut kept, "1").unwrap(), b"first");
        assert_eq!(found(&mut kept, "2"), None);
        assert_eq!(found(&mut kept, "1"), None, "it was forgotten");
    }

    #[test]
    fn pages_are_forgotten_when_there_are_too_many() {
        let mut kept = KeptPages::default();
        let page = Reply::new(HTML, vec![b'x'; MOST_BYTES / 3]);
        for address in ["/a", "/b", "/c", "/c"] {
            kept.find(String::new(), address);
            kept.keep(address.to_owned(), &page);
        }
        assert!(kept.bytes <= MOST_BYTES);
        assert_eq!(kept.find(String::new(), "/a"), None);
        assert!(kept.find(String::new(), "/c").is_some());
        kept.keep("/d".to_owned(), &Reply::new(HTML, vec![b'x'; MOST_BYTES]));
        assert_eq!(kept.find(String::new(), "/d"), None, "it is too large");
    }
}
