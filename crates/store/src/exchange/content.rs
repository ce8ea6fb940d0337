//! SHA-256 of a record's contents, by which two stores find out whether they have the same record.

use super::{RawImport, RawRun, Record};
use crate::runs::error_of;
use assay_model::device::register::to_hex;
use sha2::{Digest, Sha256};

impl Record {
    /// Returns the SHA-256 of the contents, in hexadecimal digits.
    pub fn sha256(&self) -> String {
        match self {
            Self::Run(run) => run.sha256(),
            Self::Import(import) => import.sha256(),
        }
    }
}

impl RawRun {
    /// Returns the SHA-256 over header, status, error and finish time, and over position and record
    /// of each trial, each preceded by its length.
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
    /// Returns the SHA-256 over the record, which contains the other columns too.
    fn sha256(&self) -> String {
        let mut content = Content::default();
        content.add(&self.record);
        content.hex()
    }
}

/// Hash over several parts. Each length precedes its part, so that no two lists hash the same
/// bytes.
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
