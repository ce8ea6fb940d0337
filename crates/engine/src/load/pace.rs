//! When the next I/O may go.
