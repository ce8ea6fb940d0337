//! Runs and their trials, and results made elsewhere, in an SQLite file or a PostgreSQL database.
//! The only crate that knows SQL.
//!
//! A trial is stored when [`Store::save_trial`] has returned: neither a
//! SIGKILL nor a power cut loses it afterwards. Records are kept raw, as
//! compressed JSON, so that an old run can be judged by newer rules.
//!
//! The store never changes a file or tables that are not its own, and reads nothing but them and
//! what PostgreSQL's clients read to connect: who owns a run under way is data given by the caller
//! ([`Owner`]).

mod annotations;
mod backend;
mod browse;
mod clock;
mod derived;
mod error;
pub mod exchange;
mod imports;
mod location;
mod pages;
mod query;
mod queue;
mod record;
mod rows;
mod runs;
mod schema;
mod select;

pub use backend::{Question, Value, views};
pub use browse::{KeyedPage, PageKey, RecordState, Totals};
pub use derived::{CheckedSeries, DeviceSummary, SeriesFilter};
pub use error::StoreError;
pub use imports::ImportSummary;
pub use location::{Location, Server, is_address, without_secrets};
pub use pages::{ListFilter, ListKey, ListPage, Listed, RunsFilter};
pub use query::UnitFigure;
pub use queue::Queued;
pub use runs::{LoadedRun, Owner, RunSummary, Store};
pub use select::{SomeTrials, StoredCandidate, StoredId};

/// Statements that make groups of users of a PostgreSQL database: `assay_reader` and
/// `assay_writer`.
pub const ROLES: &str = include_str!("roles.sql");
