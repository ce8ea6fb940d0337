//! Counts of answers, for `/metrics`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of answers by class of status, from 1xx to 5xx.
#[derive(Debug, Default)]
pub struct Counts([AtomicU64; 5]);

impl Counts {
    /// Counts an answer.
    pub fn add(&self, status: u16) {
        let class = usize::from(status / 100).wrapping_sub(1);
        if let Some(count) = self.0.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of answers of each class, from 1xx to 5xx.
    pub fn by_class(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|count| count.load(Ordering::Relaxed))
    }
}
