//! A byte stream between two processes that outlives its connections: written bytes
//! arrive in order and exactly once, however often the connection breaks.
//!
//! Each side keeps written bytes until the peer acknowledges them. On a new connection,
//! each side first sends the number of bytes that it has received. Both sides repeat this
//! number periodically ([`Times`]), so a side that receives nothing for long knows that
//! the connection is dead, even if the operating system reports no error.
//!
//! The link does not interpret the bytes and does not open connections: the caller opens
//! one and passes it to [`Link::carry`].

mod state;
mod stream;

pub use state::{NotOfThisVersion, Times};
pub use stream::{Broken, Link, LinkReader, LinkWriter, link};
