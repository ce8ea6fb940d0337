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
mod derived;
mod error;
pub mod exchange;
mod location;
mod pages;
mod runs;
mod schema;
mod select;

pub use backend::{Question, Value, views};
pub use derived::{CheckedSeries, DeviceSummary, SeriesFilter, UnitFigure};
pub use error::StoreError;
pub use exchange::Queued;
pub use location::{Location, Server, is_address, without_secrets};
pub use pages::{
    KeyedPage, ListFilter, ListKey, ListPage, Listed, PageKey, RecordState, RunsFilter, Totals,
};
pub use runs::{ImportSummary, LoadedRun, Owner, RunSummary, Store};
pub use select::{SomeTrials, StoredCandidate, StoredId};

/// SQL that creates the groups `assay_reader` and `assay_writer` in a PostgreSQL database.
pub const ROLES: &str = include_str!("roles.sql");
