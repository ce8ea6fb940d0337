//! Every I/O of a stream, stored in pieces that are never reallocated.

use crate::error::EngineError;
use assay_model::load::{Ddir, IoPriority};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

/// Entries of an uncompressed piece (384 KiB).
const PIECE: usize = 8192;
/// Bytes of an entry before compression.
const PACKED_BYTES: usize = 48;
/// Value for an I/O without submission latency. An `Option` would add 8 bytes
/// to each entry.
const NO_LATENCY: u64 = u64::MAX;
/// Compression level; fast, because compression takes CPU time from the
/// measured load.
const LEVEL: u8 = 1;

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoSample {
    /// Time of completion.
    pub(super) at_ns: u64,
    pub(super) offset: u64,
    slat_ns: u64,
    pub(super) clat_ns: u64,
    pub(super) lat_ns: u64,
    pub(super) bytes: u32,
    pub(super) ddir: Ddir,
    /// Priority of this I/O.
    pub(super) priority: IoPriority,
}

impl IoSample {
    #[inline]
    pub(super) fn new(
        at_ns: u64,
        ddir: Ddir,
        bytes: u32,
        offset: u64,
        slat_ns: Option<u64>,
        clat_ns: u64,
        lat_ns: u64,
    ) -> Self {
        Self {
            at_ns,
            offset,
            slat_ns: slat_ns.unwrap_or(NO_LATENCY),
            clat_ns,
            lat_ns,
            bytes,
            ddir,
            priority: IoPriority::NONE,
        }
    }

    /// Returns the time in the submission call; `None` for synchronous engines.
    #[inline]
    pub(super) fn slat_ns(&self) -> Option<u64> {
        (self.slat_ns != NO_LATENCY).then_some(self.slat_ns)
    }
}

/// Samples of the I/Os so far.
pub(super) struct Samples {
    /// The piece being filled; its capacity is its final length.
    piece: Vec<IoSample>,
    full: Full,
}

/// The full pieces.
enum Full {
    Kept(Vec<Vec<IoSample>>),
    /// A separate thread compresses the pieces, so that the stream does not.
    Packing {
        pieces: Sender<Vec<IoSample>>,
        packer: JoinHandle<Vec<Vec<u8>>>,
    },
}

impl Samples {
    /// Creates an empty store. Samples are compressed in pieces of about
    /// `compress_from` bytes; 0 disables compression.
    pub(super) fn new(compress_from: u64) -> Result<Self, EngineError> {
        if compress_from == 0 {
            return Ok(Self {
                piece: Vec::with_capacity(PIECE),
                full: Full::Kept(Vec::new()),
            });
        }
        let length = usize::try_from(compress_from).unwrap_or(usize::MAX) / PACKED_BYTES;
        let (pieces, arriving) = mpsc::channel::<Vec<IoSample>>();
        let packer = thread::Builder::new()
            .name("log-packer".to_owned())
            .spawn(move || arriving.into_iter().map(|piece| pack(&piece)).collect())
            .map_err(|source| EngineError::Threads { number: 1, source })?;
        Ok(Self {
            piece: Vec::with_capacity(length.clamp(1, 1 << 20)),
            full: Full::Packing { pieces, packer },
        })
    }

    /// Adds a sample.
    #[inline]
    pub(super) fn push(&mut self, sample: IoSample) {
        if self.piece.len() == self.piece.capacity() {
            self.next_piece();
        }
        self.piece.push(sample);
    }

    #[cold]
    fn next_piece(&mut self) {
        let empty = Vec::with_capacity(self.piece.capacity());
        let piece = std::mem::replace(&mut self.piece, empty);
        match &mut self.full {
            Full::Kept(pieces) => pieces.push(piece),
            // If the packer has ended, `into_pieces` returns the reason.
            Full::Packing { pieces, .. } => drop(pieces.send(piece)),
        }
    }

    /// Converts the samples for reading.
    pub(super) fn into_pieces(self) -> io::Result<Pieces> {
        let mut full = match self.full {
            Full::Kept(pieces) => pieces.into_iter().map(Piece::Plain).collect::<Vec<_>>(),
            Full::Packing { pieces, packer } => {
                drop(pieces);
                let packed = packer
                    .join()
                    .map_err(|_| io::Error::other("the thread that compresses panicked"))?;
                packed.into_iter().map(Piece::Packed).collect()
            }
        };
        full.push(Piece::Plain(self.piece));
        Ok(Pieces(full))
    }
}

impl fmt::Debug for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Samples").finish_non_exhaustive()
    }
}

/// Samples of a stream that has ended.
pub(super) struct Pieces(Vec<Piece>);

enum Piece {
    Plain(Vec<IoSample>),
    Packed(Vec<u8>),
}

impl Pieces {
    /// Returns the I/Os in the order of their completion.
    pub(super) fn iter(&self) -> impl Iterator<Item = io::Result<IoSample>> {
        self.0.iter().flat_map(|piece| {
            let (samples, error) = match piece {
                Piece::Plain(samples) => (samples.clone(), None),
                Piece::Packed(bytes) => match unpack(bytes) {
                    Ok(samples) => (samples, None),
                    Err(error) => (Vec::new(), Some(Err(error))),
                },
            };
            samples.into_iter().map(Ok).chain(error)
        })
    }
}

fn pack(samples: &[IoSample]) -> Vec<u8> {
    let fields = samples.iter().flat_map(|sample| {
        [
            sample.at_ns,
            sample.offset,
            sample.slat_ns,
            sample.clat_ns,
            sample.lat_ns,
            u64::from(sample.priority.0) << 48
                | u64::from(sample.ddir.number()) << 32
                | u64::from(sample.bytes),
        ]
    });
    let bytes: Vec<u8> = fields.flat_map(u64::to_le_bytes).collect();
    compress_to_vec_zlib(&bytes, LEVEL)
}

fn unpack(packed: &[u8]) -> io::Result<Vec<IoSample>> {
    let bytes =
        decompress_to_vec_zlib(packed).map_err(|error| io::Error::other(error.to_string()))?;
    let samples = bytes.chunks_exact(PACKED_BYTES).map(|entry| {
        let mut fields = entry.chunks_exact(8).map(|field| {
            let field = field.try_into().unwrap_or_default();
            u64::from_le_bytes(field)
        });
        let mut next = || fields.next().unwrap_or(0);
        let (at_ns, offset, slat_ns, clat_ns, lat_ns) = (next(), next(), next(), next(), next());
        let last = next();
        IoSample {
            at_ns,
            offset,
            slat_ns,
            clat_ns,
            lat_ns,
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            bytes: last as u32,
            priority: IoPriority((last >> 48) as u16),
            ddir: match last >> 32 & 0xffff {
                0 => Ddir::Read,
                1 => Ddir::Write,
                _ => Ddir::Trim,
            },
        }
    });
    Ok(samples.collect())
}
