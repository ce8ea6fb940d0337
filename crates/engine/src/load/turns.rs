//! When the clock of a stream stops before its work does, and when it goes on: whoever
//! watches the load is told while the stream waits, and reads the counters at that moment.

use super::Turn;
use assay_model::job::{EngineKind, OpenSync};
use assay_model::load::Stream;
use std::sync::mpsc::{Sender, channel};

/// Tells who watches the load that the clock of a stream turns.
pub(super) struct Turns {
    /// Sends a turn with an end to drop once it was heard; `false` where nobody listens.
    send: Box<dyn Fn(Turn, Sender<()>) -> bool>,
}

impl Turns {
    pub(super) fn new(send: impl Fn(Turn, Sender<()>) -> bool + 'static) -> Self {
        Self {
            send: Box::new(send),
        }
    }

    /// Waits until the counters have been read, or nobody will do so.
    pub(super) fn tell(&self, turn: Turn) {
        let (answer, waits) = channel();
        if (self.send)(turn, answer) {
            // Nothing is ever sent: the other end is dropped.
            let _ = waits.recv();
        }
    }
}

/// Returns true if bytes of a stream may move while its clock is stopped. Dirty pages left in the
/// page cache are written back when they are read back, when a device is closed, and when a file
/// that was truncated before is closed (ext4, XFS); each pass but the first begins with an empty
/// page cache; and a command of the user may do anything.
pub(super) fn has_turns(stream: &Stream) -> bool {
    let durability = &stream.durability;
    let kind = stream.engine.kind;
    if !kind.moves_data() || kind == EngineKind::Sim {
        return false;
    }
    let leaves_pages = durability.sync == OpenSync::None
        && durability.at_end.is_none()
        && !durability.fsync_on_close;
    let cached = !durability.direct || kind == EngineKind::Mmap;
    let repeats = stream.length.loops > 1;
    let writes_late = stream.blocks.rw.write && leaves_pages;
    stream.schedule.exec_after.is_some() || (cached && (repeats || writes_late))
}
