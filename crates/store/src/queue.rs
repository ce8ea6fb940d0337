//! Runs that are still to be copied to another store.

use crate::error::StoreError;
use crate::runs::Store;

/// Run or import that waits to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Id of the run or import.
    pub id: String,
    /// Store that it is to be copied to, without a password.
    pub destination: String,
    /// Number of attempts that failed.
    pub attempts: u32,
    /// Reason for the last one.
    pub last_error: Option<String>,
}

impl Store {
    /// Notes that a run or import is to be copied to another store.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn enqueue(&mut self, id: &str, destination: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO queue (id, destination) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        self.database
            .execute(sql, &[id.into(), destination.into()])
            .map(drop)
    }

    /// Runs and imports that wait to be copied, by destination.
    ///
    /// # Errors
    /// When the store cannot be read.
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

    /// Notes that these need no longer be copied to that store.
    ///
    /// # Errors
    /// When the store cannot be written.
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

    /// Notes why those that still wait for that store could not be copied.
    ///
    /// # Errors
    /// When the store cannot be written.
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
