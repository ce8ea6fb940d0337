//! Stored results in a browser, and as JSON for other programs.
//!
//! [`serve`] answers requests from one [`Served`]: whatever is asked for is read from the store and
//! rendered on a thread of its own (`pool`), while one thread moves bytes (`connections`). A page is
//! sent again as it is while the store has not changed (`kept`). All
//! addresses stand in one table (`routes`), from which the router and the OpenAPI document are made.
//! Nothing is written, and no address leads to a path of the file system.

mod access;
mod api;
mod asked;
mod clients;
mod connections;
mod counts;
mod files;
mod kept;
mod metrics;
mod openapi;
mod pages;
mod patient;
mod pool;
mod reply;
mod route;
mod routes;
mod served;
mod stored;
mod wanted;

pub use access::Token;
pub use access::is_loopback;
pub use connections::{Stop, serve};
pub use served::{Program, Served, ServedParts};
