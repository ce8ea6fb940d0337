//! An agent that outlives its link.

use assay_link::Link;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// This side of it.
pub(crate) struct Kept {
    pub(crate) link: Link,
    pub(crate) complaint: Complaint,
    /// The thread that carries one link after the other.
    pub(crate) links: Option<JoinHandle<()>>,
}

/// Complaint of the last link.
pub(crate) type Complaint = Arc<Mutex<Option<String>>>;

impl Kept {
    /// Returns a function that ends the stream.
    pub(crate) fn cutter(&self, why: String) -> impl FnOnce() + Send + 'static {
        let link = self.link.clone();
        move || link.give_up(Some(why))
    }

    pub(crate) fn complaint(&self) -> Option<String> {
        self.complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until there is no link any more.
    pub(crate) fn await_end(&mut self) {
        if let Some(links) = self.links.take() {
            // It does not panic; if it did, there would be no link either.
            let _ = links.join();
        }
    }
}
