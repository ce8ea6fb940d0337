//! When the clock of a stream stops before its work does, and when it goes on: whoever
//! watches the load is told while the stream waits, and reads the counters at that moment.

use super::Turn;
use super::crew::Event;
use assay_model::job::{EngineKind, OpenSync};
use assay_model::load::Stream;
use std::sync::mpsc::{Sender, channel};

/// The way of a stream to who must hear of its clock.
pub(super) struct Turns {
    events: Sender<(usize, Event)>,
    index: usize,
}

impl Turns {
    pub(super) const fn new(events: Sender<(usize, Event)>, index: usize) -> Self {
        Self { events, index }
    }

    /// Waits until the counters have been read, or nobody will do so.
    pub(super) fn tell(&self, turn: Turn) {
        let (answer, waits) = channel();
        if self
            .events
            .send((self.index, Event::Clock(turn, answer)))
            .is_ok()
        {
            // Nothing is ever sent: the other end is dropped.
            let _ = waits.recv();
        }
    }
}

/// Whether bytes of a stream may move while its clock stands still. What it left in the
/// page cache is written back when it is read back, when a device is closed, and when a
/// file is that was emptied before (ext4, XFS); each pass but the first begins with an
/// empty page cache; and a command of the user may do anything.
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
