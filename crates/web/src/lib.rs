//! Serves stored results as web pages, and as JSON for other programs.
//!
//! [`serve`] answers the requests to one [`Served`]. Each request reads the store and renders on
//! its own thread (`pool`), while one thread does all network I/O (`connections`). Pages are cached
//! while the store does not change (`pool` too). One table lists all addresses (`routes`); the router
//! and the OpenAPI document are made from it. Nothing is written, and no address leads to a path of
//! the file system.

mod access;
mod api;
mod asked;
mod connections;
mod pages;
mod pool;
mod reply;
mod routes;

pub use access::{Program, Served, ServedParts, Token, is_loopback};
pub use connections::{Stop, serve};
