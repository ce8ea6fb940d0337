//! A byte stream between two processes that outlives the connections it goes over:
//! what was written arrives, in order and once, however often the connection
//! breaks.
//!
//! Each side keeps what it has written until the other says that it has arrived, and
//! when a new connection stands, each first says how much has arrived here. Both
//! also say so every now and then ([`Times`]): whoever hears nothing for long knows
//! that a connection is dead although nothing has told so.
//!
//! It takes no notice of what is said, and starts no connection: a caller lets a
//! [`Link`] go over one with [`Link::carry`].

mod packet;
mod state;
mod stream;
mod times;

pub use packet::NotOfThisVersion;
pub use stream::{Broken, Link, LinkReader, LinkWriter, link};
pub use times::Times;
