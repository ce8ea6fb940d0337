//! `assay dd` beside the installed GNU dd: the same bytes, blocks, exit codes and
//! lines.

mod both;
mod cases;
mod refused;
mod signals;
mod steps;
