//! Runs and their trials, and results made elsewhere, in one SQLite file. The only crate that knows SQL.
//!
//! A trial is stored when [`Store::save_trial`] has returned: neither a
//! SIGKILL nor a power cut loses it afterwards. Records are kept raw, as
//! compressed JSON, so that an old run can be judged by newer rules.
//!
//! The store never changes a file that is not its own, and reads nothing but
//! its file: who owns a run under way is data given by the caller
//! ([`Owner`]).

mod annotations;
mod backend;
mod browse;
mod clock;
mod copies;
mod derived;
mod error;
mod imports;
mod location;
mod record;
mod rows;
mod runs;
mod schema;
mod select;

pub use browse::{Page, PageKey, RecordState, RunFilter, Totals};
pub use copies::{Copied, RawRun, RawTrial};
pub use derived::{CheckedSeries, DeviceSummary, SeriesFilter};
pub use error::StoreError;
pub use imports::ImportSummary;
pub use location::Location;
pub use runs::{LoadedRun, Owner, RunSummary, Store};
pub use select::{SomeTrials, StoredCandidate, StoredId};
