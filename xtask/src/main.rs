//! Development tasks of assay: `cargo xtask help`.
fn main() {}
