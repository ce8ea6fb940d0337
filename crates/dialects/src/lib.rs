//! Foreign words in, foreign words out: what the users of other tools already
//! speak. Pure: files, environment and clock come in through traits and
//! parameters.

pub mod androbench;
pub mod dd;
pub mod fio;
pub mod import;
pub mod iozone;
pub mod mark;
mod nearest;

pub use nearest::nearest;
