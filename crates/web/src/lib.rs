//! Serves stored results as web pages, and as JSON for other programs.
//!
//! [`serve`] answers the requests to one [`Served`]. Each request reads the store and renders on
//! its own thread (`pool`), while one thread does all network I/O (`connections`). Pages are cached
//! while the store does not change (`kept`). One table lists all addresses (`routes`); the router
//! and the OpenAPI document are made from it. Nothing is written, and no address leads to a path of
//! the file system.

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
