//! Parts of the time of an I/O.

/// Part of the time of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data on the wire.
    Bus,
    /// Data that came slower than the wire carries them.
    Data,
    /// Command, interrupts, driver, the device's answer.
    Command,
    /// The first blocks of a read.
    Ramp,
    /// Time that a write waits after its data.
    Program,
    /// Ending an open transfer.
    Break,
    /// Loading addresses.
    Map,
    /// Garbage collection.
    Reclaim,
    /// A queue: of the device's model.
    Queue,
    /// Fixed cost: everything that the sizes do not tell apart.
    Fixed,
    /// Above the block layer.
    Software,
    /// From the making of a request to its end, less what else is known.
    Device,
    /// Behind the others in flight.
    Wait,
    /// While others in flight ended.
    Overlap,
    /// Slow I/Os.
    Stalls,
    /// Flushes of the device.
    FlushDevice,
    /// Remainder of a flush call.
    FlushRest,
    /// Flush calls.
    Flush,
    /// The processor.
    Processor,
    /// Neither processor nor device.
    Waiting,
    /// Whole time.
    Whole,
    /// Time that the fit or the model does not explain.
    Unexplained,
}

/// Source of a part's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Evidence of the trials.
    Measured,
    /// The ceiling of the bus.
    Ceiling,
    /// A fit of the run's results.
    Fit,
    /// A part that the user named.
    Given,
    /// The model that made the figures.
    Model,
    /// Remainder after the other parts.
    Rest,
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
