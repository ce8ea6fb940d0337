//! End to end, through the real binary, on real storage. One module a concept;
//! one program, so that it is linked once. What needs root or a tool that is
//! not here is skipped with its reason.

mod androbench;
mod assay;
mod board;
mod capacity;
mod compare;
mod dd;
mod device;
mod disks;
mod evidence;
mod examples;
mod failures;
mod file_systems;
mod fio;
mod fio_parity;
mod fio_stop;
mod import;
mod iozone;
mod kill;
mod ladder;
mod machine;
mod mark;
mod outputs;
mod over_ssh;
mod reads;
mod refusals;
mod run_file;
mod seeds;
mod stop;
mod sweep;
mod untouched;
mod user;
mod watch;
