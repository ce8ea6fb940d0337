//! Copying with the options of dd.

use crate::act::ActSpec;
use crate::evidence::LatencyRecord;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Step of [`crate::act::ActProgress`] when all data is copied and the output is about to be
/// flushed.
pub const FLUSHING: &str = "flush";

crate::defaults! {
    /// A copy, in dd's terms.
    ///
    /// The default is dd without operands.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FileCopy {
        /// Name of the step, unique in the run.
        pub name: String = "dd".to_owned(),
        /// Input (`if=`); `None`: the agent's standard input.
        pub input: Option<PathBuf>,
        /// Output (`of=`); `None`: the agent's standard output.
        pub output: Option<PathBuf>,
        /// Bytes of an input block (`ibs=`).
        pub input_block: u64 = 512,
        /// Bytes of an output block (`obs=`).
        pub output_block: u64 = 512,
        /// Bytes of a record that [`Records`] creates or splits (`cbs=`); 0: none.
        pub record: u64,
        /// `true` to copy input through a second buffer, to form new blocks or convert them.
        /// Otherwise a short read causes a short write.
        pub reblock: bool = true,
        /// Length to skip at the beginning of the input (`skip=`).
        pub skip: Extent,
        /// Length to skip at the beginning of the output (`seek=`).
        pub seek: Extent,
        /// Most to copy (`count=`); `None`: all.
        pub count: Option<Extent>,
        /// Conversion of the bytes.
        pub conversion: Conversion,
        /// Treatment of input and output (the rest of `conv=`).
        pub treatment: Treatment,
        /// Flags for opening and reading the input (`iflag=`).
        pub input_flags: Flags,
        /// Flags for opening and writing the output (`oflag=`).
        pub output_flags: Flags,
        /// `true` to report about once a second (`status=progress`).
        pub progress: bool,
        /// `true` to report only errors (`status=none`).
        pub quiet: bool,
        /// `true` if the output was created for this copy: it is removed afterwards, after its
        /// evidence is taken.
        pub remove_output: bool,
        /// `true` to write data back to the device afterwards, outside the clock, so that it does
        /// not disturb the next steps.
        pub settle: bool,
        /// Copies that follow, each as a separate step.
        pub then: Vec<FileCopy>,
    }
}

impl ActSpec for FileCopy {
    fn writes(&self) -> Vec<PathBuf> {
        let all = std::iter::once(self).chain(&self.then);
        let mut written: Vec<PathBuf> = all.filter_map(|copy| copy.output.clone()).collect();
        written.dedup();
        written
    }

    fn touches(&self) -> Vec<PathBuf> {
        self.writes()
            .into_iter()
            .chain(self.input.clone())
            .collect()
    }

    fn named_files(&mut self) -> Vec<&mut PathBuf> {
        let Self {
            input,
            output,
            then,
            ..
        } = self;
        let next = then.iter_mut();
        let next = next.flat_map(|copy| copy.input.iter_mut().chain(&mut copy.output));
        input.iter_mut().chain(output).chain(next).collect()
    }

    fn opens_own_devices(&self) -> bool {
        false
    }

    fn waits_on_exit(&self) -> bool {
        self.removes()
    }

    fn is_filter(&self) -> bool {
        true
    }

    fn writes_stdout(&self) -> bool {
        self.output.is_none()
    }
}

impl FileCopy {
    /// `true` if this copy, or one that follows, removes a file.
    pub fn removes(&self) -> bool {
        self.remove_output || self.then.iter().any(Self::removes)
    }

    /// Returns the bytes that `count` allows to read; `None`: all.
    pub fn limit_bytes(&self) -> Option<u64> {
        self.count.map(|count| count.of_blocks(self.input_block))
    }
}

/// A length in blocks and additional bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Whole blocks.
    pub blocks: u64,
    /// Additional bytes.
    pub bytes: u64,
}

impl Extent {
    /// `true` if the length is 0.
    pub const fn is_empty(self) -> bool {
        self.blocks == 0 && self.bytes == 0
    }

    /// Returns the length in bytes; at most `u64::MAX`.
    pub const fn of_blocks(self, block: u64) -> u64 {
        self.blocks.saturating_mul(block).saturating_add(self.bytes)
    }
}

/// Conversions of the bytes, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// Conversion table: the new value of each of the 256 byte values; empty: no change.
    pub table: Vec<u8>,
    /// `true` to swap each pair of bytes (`swab`).
    pub swap_pairs: bool,
    /// Lines to records or back.
    pub records: Option<Records>,
    /// End of a line, for `records`.
    pub newline: u8,
    /// Padding of records, for `records`.
    pub space: u8,
}

/// Lines and records of a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Records {
    /// A line becomes a record (`block`).
    Block,
    /// A record becomes a line (`unblock`).
    Unblock,
}

/// Treatment of input and output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// `true` to pad short input blocks (`sync`).
    pub pad: bool,
    /// `true` to continue after read errors (`noerror`).
    pub go_on: bool,
    /// `true` to turn blocks of zeros into holes (`sparse`).
    pub sparse: bool,
    /// `true` if the output must not exist (`excl`).
    pub exclusive: bool,
    /// `true` if the output must exist (`nocreat`).
    pub must_exist: bool,
    /// `true` to keep the content of the output (`notrunc`).
    pub keep_length: bool,
    /// `true` to call `fdatasync(2)` at the end.
    pub fdatasync: bool,
    /// `true` to call `fsync(2)` at the end.
    pub fsync: bool,
}

/// Flags for opening and using a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// `O_APPEND`.
    pub append: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// `O_DIRECTORY`.
    pub directory: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
    /// `O_SYNC`.
    pub sync: bool,
    /// `true` to continue short reads (input only).
    pub full_block: bool,
    /// `O_NONBLOCK`.
    pub nonblock: bool,
    /// `O_NOATIME`.
    pub noatime: bool,
    /// `true` to drop copied data from the page cache.
    pub nocache: bool,
    /// `O_NOCTTY`.
    pub noctty: bool,
    /// `O_NOFOLLOW`.
    pub nofollow: bool,
}

/// File type of the input or output of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndKind {
    /// A regular file.
    File,
    /// A block device.
    Device,
    /// A pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A terminal.
    Terminal,
    /// Another character device, such as `/dev/zero`.
    Character,
    /// A directory, or an unknown type.
    #[default]
    Other,
}

impl EndKind {
    /// `true` for types that are storage.
    pub const fn is_storage(self) -> bool {
        matches!(self, Self::File | Self::Device)
    }
}

/// Final or interim report of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyReport {
    /// Whole blocks read.
    pub read_full: u64,
    /// Short blocks read.
    pub read_partial: u64,
    /// Whole blocks written.
    pub written_full: u64,
    /// Short blocks written.
    pub written_partial: u64,
    /// Lines that were longer than a record.
    pub truncated: u64,
    /// Bytes written, including holes.
    pub bytes: u64,
    /// Part of `bytes` that became holes.
    pub hole_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time since both files were open.
    pub elapsed_ns: u64,
    /// `true` if something failed and was reported.
    pub failed: bool,
    /// `true` if a short block was not suitable for direct I/O: it and all following blocks were
    /// written through the page cache and flushed at the end.
    #[serde(default)]
    pub left_direct: bool,
    /// Bytes that were written directly, before a short block.
    #[serde(default)]
    pub direct_bytes: u64,
    /// `true` if the copy was stopped by the user or another process.
    pub stopped: bool,
    /// `true` if the output pipe or socket has no reader left.
    pub reader_gone: bool,
    /// File type of the input.
    pub input: EndKind,
    /// File type of the output.
    pub output: EndKind,
    /// Latency of each read, from call to return; the only record of reads from an input without
    /// evidence.
    pub read_latency: LatencyRecord,
}
