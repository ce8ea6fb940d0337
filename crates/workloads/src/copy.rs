//! Not built yet.

use crate::{Context, WorkError};
use assay_model::work::WorkReport;
use assay_model::work::copy::FileCopy;

pub(crate) fn run(_work: &FileCopy, _context: &mut Context<'_>) -> Result<WorkReport, WorkError> {
    Err(WorkError::Refused("not built yet".to_owned()))
}
