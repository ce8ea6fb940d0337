//! Notification when the clock of a stream stops before its work ends, and when it resumes: the
//! observer of the load reads the counters while the stream waits.

use super::Turn;
use assay_model::job::OpenSync;
use assay_model::load::Stream;
use std::sync::mpsc::{Sender, channel};

/// Notifies the observer of the load when the clock of a stream stops or resumes.
pub(super) struct Turns {
    /// Sends a turn, with a sender to drop when it was handled; returns `false` if the receiver
    /// is gone.
    send: Box<dyn Fn(Turn, Sender<()>) -> bool>,
}

impl Turns {
    pub(super) fn new(send: impl Fn(Turn, Sender<()>) -> bool + 'static) -> Self {
        Self {
            send: Box::new(send),
        }
    }

    /// Sends a turn and waits until the counters have been read, or the receiver is gone.
    pub(super) fn tell(&self, turn: Turn) {
        let (answer, waits) = channel();
        if (self.send)(turn, answer) {
            // No value is ever sent: the other end is dropped.
            let _ = waits.recv();
        }
    }
}

/// Returns true if bytes of a stream may move while its clock is stopped. Dirty pages left in the
/// page cache are written back when they are read back, when a device is closed, and when a file
/// that was truncated before is closed (ext4, XFS); each pass but the first begins with an empty
/// page cache; and a command of the user may do any I/O.
pub(super) fn has_turns(stream: &Stream) -> bool {
    let durability = &stream.durability;
    let kind = stream.engine.kind;
    if !kind.moves_data() {
        return false;
    }
    let leaves_pages = durability.sync == OpenSync::None
        && durability.at_end.is_none()
        && !durability.fsync_on_close;
    let cached = !durability.direct || kind.maps_memory();
    let repeats = stream.length.loops > 1;
    let writes_late = stream.blocks.rw.write && leaves_pages;
    stream.schedule.exec_after.is_some() || (cached && (repeats || writes_late))
}
