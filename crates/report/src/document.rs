//! Documents that people read, independent of any format.
