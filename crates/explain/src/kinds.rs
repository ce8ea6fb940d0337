//! Parts of the time of an I/O.

/// What time was spent on.
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
    /// What a write waits for behind its data.
    Program,
    /// Ending an open transfer.
    Break,
    /// Loading addresses.
    Map,
    /// Garbage collection.
    Reclaim,
    /// A queue: of the device's model.
    Queue,
    /// All that the sizes do not tell apart.
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
    /// What else a flush call did.
    FlushRest,
    /// Flush calls.
    Flush,
    /// The processor.
    Processor,
    /// Neither processor nor device.
    Waiting,
    /// All of it.
    Whole,
    /// What the fit or the model leaves.
    Unexplained,
}

/// How a part is known.
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
    /// What is left.
    Rest,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Of what.
    pub kind: Kind,
    /// Microseconds; negative only for what is not explained.
    pub us: f64,
    /// How that is known.
    pub known: Known,
    /// The numbers behind it.
    pub basis: String,
}
