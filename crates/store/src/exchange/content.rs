//! SHA-256 of what a record says: it tells whether two stores have the same.

use super::{RawImport, RawRun, Record};
use crate::runs::error_of;
use assay_model::device::register::to_hex;
use sha2::{Digest, Sha256};

impl Record {
    /// SHA-256 of the contents, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        match self {
            Self::Run(run) => run.sha256(),
            Self::Import(import) => import.sha256(),
        }
    }
}

impl RawRun {
    /// SHA-256 over header, status, error and finish time, and position and record of each trial,
    /// each after its length.
    fn sha256(&self) -> String {
        let error = error_of(&self.status).unwrap_or_default();
        let finished = self.finished_unix_ms.map(|at| at.to_string());
        let mut content = Content::default();
        content.add(self.header.as_bytes());
        content.add(self.status.word().as_bytes());
        content.add(error.as_bytes());
        content.add(finished.unwrap_or_default().as_bytes());
        for trial in &self.trials {
            content.add(trial.position.to_string().as_bytes());
            content.add(&trial.record);
        }
        content.hex()
    }
}

impl RawImport {
    /// SHA-256 over the record, which has all that the other columns say.
    fn sha256(&self) -> String {
        let mut content = Content::default();
        content.add(&self.record);
        content.hex()
    }
}

/// Parts that are hashed one after the other, so that none can pass for two.
#[derive(Default)]
struct Content(Sha256);

impl Content {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    fn hex(self) -> String {
        to_hex(&self.0.finalize())
    }
}
