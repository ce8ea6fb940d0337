//! Test fixtures on a real kernel: scratch folders, loop devices, file systems,
//! processes. Fixtures undo themselves when dropped, so a test that holds them
//! in the order in which it made them leaves nothing behind, however it ends.
//!
//! A fixture that this user or machine cannot provide is [`Unavailable`]; a
//! test then skips with [`needs!`] or [`or_skip!`], which print the reason.
//!
//! ```no_run
//! use assay_testkit::{Volume, needs, or_skip};
//!
//! fn a_test() {
//!     needs!(root, "mkfs.ext4");
//!     let volume = or_skip!(Volume::new("ext4", 64));
//!     std::fs::write(volume.point().join("f"), "hello").unwrap();
//! }
//! ```

mod agents;
pub mod board;
mod command;
mod fake;
mod known_speed;
pub mod lab;
mod needs;
pub mod neighbour;
mod otava;
pub mod postgres;
pub mod prepared;
mod switched_board;
mod volatile_drive;
mod volume;

pub use agents::{archive, static_agent};
pub use board::Board;
pub use command::{
    Process, Scratch, Unavailable, Undo, command, copy_program, run, search_path, signal_to, text,
    write_program,
};
pub use fake::{Fake, FakeDevice, Lie};
pub use known_speed::{BETWEEN_TRIALS, KnownSpeed};
pub use lab::Lab;
pub use needs::{FULL, QUICK, SKIPS, missing, skip};
pub use neighbour::Neighbour;
pub use otava::Otava;
pub use postgres::Postgres;
pub use switched_board::SwitchedBoard;
pub use volatile_drive::{Flushes, VolatileDrive};
pub use volume::{LoopDevice, Mount, Volume, make_file_system};
