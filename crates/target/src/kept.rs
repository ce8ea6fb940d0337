//! An agent that outlives its link.
//!
//! The agent runs in a separate process, behind an abstract socket (`assay_agent`'s
//! `pushed::keeper`). The shell of each connection starts a relay to it; a new relay replaces an
//! older one. Both ends of the `Link` keep bytes until they are acknowledged, so the session above
//! does not notice a lost connection: the agent ends its trial and waits until the host has stored
//! it.

use assay_link::Link;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// This side of a connection to a kept agent.
pub(crate) struct Kept {
    pub(crate) link: Link,
    pub(crate) complaint: Complaint,
    /// Thread that opens and carries the connections.
    pub(crate) links: Option<JoinHandle<()>>,
}

/// Error message of the last connection.
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

    /// Waits until the thread that carries the connections has ended.
    pub(crate) fn await_end(&mut self) {
        if let Some(links) = self.links.take() {
            // The thread does not panic; if it did, it would have ended as well.
            let _ = links.join();
        }
    }
}
