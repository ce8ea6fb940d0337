//! Documents: what a person reads, laid out once for all formats.
