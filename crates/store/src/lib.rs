//! Store of runs, trials and imported results, in an SQLite file or a PostgreSQL database. No other
//! crate uses SQL.
//!
//! A trial is durable once [`Store::save_trial`] has returned: neither a SIGKILL nor a power cut
//! loses it. Records are stored undigested, as compressed JSON, so that newer rules can judge an
//! old run.
//!
//! The store never changes a file or tables that are not its own. It reads only those, and the
//! files that PostgreSQL's clients read to connect. The owner of a run under way is data from the
//! caller ([`Owner`]).

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

/// SQL that creates the groups `assay_reader` and `assay_writer` in a PostgreSQL database.
pub const ROLES: &str = include_str!("roles.sql");
