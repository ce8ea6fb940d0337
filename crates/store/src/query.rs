//! Statements of users on the views of a store: read-only, one at a time, with a time limit.

mod population;

pub use population::UnitFigure;

use crate::backend::{Question, Value};
use crate::error::StoreError;
use crate::runs::Store;

impl Store {
    /// Calls `row` with each row of the answer to a user's statement. Returns the names of the
    /// columns. The statement can only read the views of the store.
    ///
    /// # Errors
    /// If the statement is not a single SELECT over views, exceeds its time limit, or fails.
    pub fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.database.ask(question, row)
    }
}
