//! Statements of users over the views of the store: they only read, one at a time, for a limited
//! time.

mod population;

pub use population::UnitFigure;

use crate::backend::{Question, Value};
use crate::error::StoreError;
use crate::runs::Store;

impl Store {
    /// Gives each row of the answer to a user's statement to `row`; names of its columns. The
    /// statement can read the views of the store and nothing else, and write nothing.
    ///
    /// # Errors
    /// When it is not such a statement, takes longer than its time, or fails otherwise.
    pub fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        self.database.ask(question, row)
    }
}
