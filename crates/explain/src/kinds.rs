//! Parts of the time of an I/O.

assay_model::named! {
    /// Part of the time of an I/O.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// Data on the wire.
        Bus = "bus",
        /// Data that came slower than the wire carries them.
        Data = "data",
        /// Command, interrupts, driver, the device's answer.
        Command = "command",
        /// The first blocks of a read.
        Ramp = "ramp",
        /// Time that a write waits after its data.
        Program = "program",
        /// Ending an open transfer.
        Break = "break",
        /// Loading addresses.
        Map = "map",
        /// Garbage collection.
        Reclaim = "reclaim",
        /// A queue: of the device's model.
        Queue = "queue",
        /// Fixed cost: everything that the sizes do not tell apart.
        Fixed = "fixed",
        /// Above the block layer.
        Software = "software",
        /// From the making of a request to its end, less what else is known.
        Device = "device",
        /// Behind the others in flight.
        Wait = "wait",
        /// While others in flight ended.
        Overlap = "overlap",
        /// Slow I/Os.
        Stalls = "stalls",
        /// Flushes of the device.
        FlushDevice = "flush-device",
        /// Remainder of a flush call.
        FlushRest = "flush-rest",
        /// Flush calls.
        Flush = "flush",
        /// The processor.
        Processor = "processor",
        /// Neither processor nor device.
        Waiting = "waiting",
        /// Whole time.
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

/// A part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Kind of the part.
    pub kind: Kind,
    /// Microseconds; negative only for what is not explained.
    pub us: f64,
    /// Source of the number.
    pub known: Known,
    /// The numbers behind it.
    pub basis: String,
}
