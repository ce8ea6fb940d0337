//! Cache of rendered pages, valid while the store does not change.
//!
//! The users of a team load the same few pages, and some of those count every run. Each connection
//! to the store caches the pages of one revision ([`assay_store::Store::revision`]). It reads the
//! revision before each page, so that no outdated page is sent.

use crate::reply::Reply;
use std::collections::HashMap;

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
