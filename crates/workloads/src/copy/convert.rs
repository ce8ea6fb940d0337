//! Conversion of the data between reading and writing.

use super::Halt;
use assay_model::work::copy::{FileCopy, Records};

/// Receiver of the converted bytes.
pub(super) trait Sink {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Halt>;
}

/// State of a conversion.
#[derive(Debug)]
pub(super) struct Converter {
    table: Option<Box<[u8; 256]>>,
    swap_pairs: bool,
    /// First byte of a pair whose second byte was not read yet.
    single: Option<u8>,
    records: Option<Records>,
    newline: u8,
    space: u8,
    /// Bytes of a record.
    width: u64,
    /// Position in the line or record.
    column: u64,
    /// Pending spaces, which are output only if another byte follows.
    spaces: u64,
    /// Lines that were longer than a record.
    pub(super) truncated: u64,
}

impl Converter {
    pub(super) fn new(work: &FileCopy) -> Self {
        let conversion = &work.conversion;
        let table: Option<[u8; 256]> = conversion.table.as_slice().try_into().ok();
        Self {
            table: table.map(Box::new),
            swap_pairs: conversion.swap_pairs,
            single: None,
            records: conversion.records,
            newline: conversion.newline,
            space: conversion.space,
            width: work.record,
            column: 0,
            spaces: 0,
            truncated: 0,
        }
    }

    /// Converts the bytes of a read, in place if possible.
    pub(super) fn feed(&mut self, bytes: &mut [u8], sink: &mut impl Sink) -> Result<(), Halt> {
        if let Some(table) = &self.table {
            for byte in bytes.iter_mut() {
                *byte = table[usize::from(*byte)];
            }
        }
        if self.swap_pairs {
            self.swapped(bytes, sink)
        } else {
            self.recorded(bytes, sink)
        }
    }

    /// Completes incomplete records after the last read.
    pub(super) fn close(&mut self, sink: &mut impl Sink) -> Result<(), Halt> {
        if let Some(single) = self.single.take() {
            self.recorded(&[single], sink)?;
        }
        match self.records {
            Some(Records::Block) if self.column > 0 => self.pad(sink),
            Some(Records::Unblock) if self.column > 0 => sink.put(&[self.newline]),
            _ => Ok(()),
        }
    }

    fn swapped(&mut self, bytes: &mut [u8], sink: &mut impl Sink) -> Result<(), Halt> {
        let mut rest = bytes;
        if let Some(first) = self.single.take() {
            let Some((second, after)) = rest.split_first_mut() else {
                self.single = Some(first);
                return Ok(());
            };
            self.recorded(&[*second, first], sink)?;
            rest = after;
        }
        let (pairs, single) = rest.as_chunks_mut::<2>();
        for pair in pairs.iter_mut() {
            pair.reverse();
        }
        self.single = single.first().copied();
        let even = rest.len() & !1;
        self.recorded(&rest[..even], sink)
    }

    fn recorded(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Halt> {
        match self.records {
            None => sink.put(bytes),
            Some(Records::Block) => bytes.iter().try_for_each(|&byte| self.block(byte, sink)),
            Some(Records::Unblock) => bytes.iter().try_for_each(|&byte| self.unblock(byte, sink)),
        }
    }

    /// Converts a line into a record: pads it with spaces, and truncates it if it is too
    /// long.
    fn block(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Halt> {
        if byte == self.newline {
            self.pad(sink)?;
            self.column = 0;
            return Ok(());
        }
        if self.column == self.width {
            self.truncated += 1;
        } else if self.column < self.width {
            sink.put(&[byte])?;
        }
        self.column += 1;
        Ok(())
    }

    fn pad(&self, sink: &mut impl Sink) -> Result<(), Halt> {
        (self.column..self.width).try_for_each(|_| sink.put(&[self.space]))
    }

    /// Converts a record into a line: removes trailing spaces.
    fn unblock(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), Halt> {
        if self.column == self.width {
            self.spaces = 0;
            self.column = 0;
            sink.put(&[self.newline])?;
        }
        self.column += 1;
        if byte == self.space {
            self.spaces += 1;
            return Ok(());
        }
        for _ in 0..std::mem::take(&mut self.spaces) {
            sink.put(&[self.space])?;
        }
        sink.put(&[byte])
    }
}
