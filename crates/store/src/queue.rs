//! Queue of runs to copy to another store.

use crate::error::StoreError;
use crate::runs::Store;

/// Run or import that waits to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Id of the run or import.
    pub id: String,
    /// Destination store, without a password.
    pub destination: String,
    /// Number of failed attempts.
    pub attempts: u32,
    /// Error of the last attempt.
    pub last_error: Option<String>,
}

impl Store {
    /// Adds a run or import to the queue for another store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn enqueue(&mut self, id: &str, destination: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO queue (id, destination) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.database
            .execute(sql, &[id.into(), destination.into()])
            .map(drop)
    }

    /// Returns the queued runs and imports, by destination.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn queued(&self) -> Result<Vec<Queued>, StoreError> {
        let sql = "SELECT id, destination, attempts, last_error FROM queue \
                   ORDER BY destination, id";
        self.database.query(sql, &[], |row| {
            Ok(Queued {
                id: row.get("id")?,
                destination: row.get("destination")?,
                attempts: row.get("attempts")?,
                last_error: row.get("last_error")?,
            })
        })
    }

    /// Removes records from the queue for a store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn dequeue<'a>(
        &mut self,
        ids: impl IntoIterator<Item = &'a String>,
        destination: &str,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM queue WHERE id = ?1 AND destination = ?2";
        self.database.transaction(|t| {
            for id in ids {
                t.execute(sql, &[id.into(), destination.into()])?;
            }
            Ok(())
        })
    }

    /// Stores the reason of a failed attempt with all records queued for a store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn note_failed_attempt(
        &mut self,
        destination: &str,
        error: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE queue SET attempts = attempts + 1, last_error = ?1 \
                   WHERE destination = ?2";
        self.database
            .execute(sql, &[error.into(), destination.into()])
            .map(drop)
    }
}
