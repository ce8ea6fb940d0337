//! Parts of the time of an I/O.
//!
//! To add a part: add a variant of `Kind`, compute it in `account` from the remainder of the
//! latency, so that all parts add up, with its numbers in `Share::basis`, and add a line in
//! `docs/explain.md`. A cause without a number goes into `Account::untold`.

assay_model::named! {
    /// Part of the time of an I/O.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// Data on the wire.
        Bus = "bus",
        /// Transfer time beyond what the wire needs.
        Data = "data",
        /// Command, interrupts, the driver, and the device's response.
        Command = "command",
        /// Additional time of the first blocks of a read.
        Ramp = "ramp",
        /// Time that a write waits after its data: the medium is programmed.
        Program = "program",
        /// Ending an open multi-block transfer.
        Break = "break",
        /// Loading the address map.
        Map = "map",
        /// Garbage collection.
        Reclaim = "reclaim",
        /// Queue in the device's model.
        Queue = "queue",
        /// Fixed cost: every part that the sizes cannot separate.
        Fixed = "fixed",
        /// Time above the block layer.
        Software = "software",
        /// Time of the request from its allocation to its end, less the known parts.
        Device = "device",
        /// Wait behind other I/Os in flight.
        Wait = "wait",
        /// Time in which other I/Os in flight ended.
        Overlap = "overlap",
        /// Additional time of slow I/Os.
        Stalls = "stalls",
        /// Flushes of the device.
        FlushDevice = "flush-device",
        /// Remainder of a flush call.
        FlushRest = "flush-rest",
        /// Flush calls, not divided further.
        Flush = "flush",
        /// Processor time in the kernel.
        Processor = "processor",
        /// Time used neither by the processor nor in a flush of the device.
        Waiting = "waiting",
        /// Whole time, not divided.
        Whole = "whole",
        /// Time that the fit or the model does not explain.
        Unexplained = "unexplained",
    }
}

assay_model::named! {
    /// Source of a part's time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Known {
        /// Evidence of the trials.
        Measured = "measured",
        /// The ceiling of the bus.
        Ceiling = "ceiling",
        /// A fit of the run's results.
        Fit = "fit",
        /// A part that the user named.
        Given = "part",
        /// The model that made the figures.
        Model = "model",
        /// Remainder after the other parts.
        Rest = "rest",
    }
}

/// Part of the time of an I/O.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Kind of the part.
    pub kind: Kind,
    /// Microseconds; only an unexplained remainder can be negative.
    pub us: f64,
    /// Source of the number.
    pub known: Known,
    /// Numbers from which the time is computed.
    pub basis: String,
}
