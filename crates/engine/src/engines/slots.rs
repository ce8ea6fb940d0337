//! Units of an asynchronous engine while they are in the kernel.

use crate::io::{Completion, IoUnit};

/// A table of units by slot. The kernel gets the slot's number with the I/O and
/// returns it with the result. A unit in the table keeps its buffer in place.
#[derive(Debug)]
pub(super) struct Slots {
    units: Vec<Option<IoUnit>>,
    free: Vec<usize>,
}

impl Slots {
    pub(super) fn new(depth: u32) -> Self {
        let slots = depth as usize;
        Self {
            units: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().collect(),
        }
    }

    /// Returns a free slot for [`Slots::put`]; it stays free until then.
    #[inline]
    pub(super) fn next_free(&self) -> Option<usize> {
        self.free.last().copied()
    }

    /// Puts a unit into the slot that [`Slots::next_free`] returned.
    #[inline]
    pub(super) fn put(&mut self, slot: usize, unit: IoUnit) {
        debug_assert_eq!(self.next_free(), Some(slot));
        self.free.pop();
        self.units[slot] = Some(unit);
    }

    /// Returns a unit that the kernel has finished. `tag` is its slot, and
    /// `result` is the kernel's result: a number of bytes, or a negated error
    /// number.
    #[inline]
    pub(super) fn complete(&mut self, tag: u64, result: i64, done: &mut Vec<Completion>) {
        let slot = usize::try_from(tag).unwrap_or(usize::MAX);
        let Some(unit) = self.units.get_mut(slot).and_then(Option::take) else {
            return;
        };
        self.free.push(slot);
        let result = u32::try_from(result).map_err(|_| i32::try_from(-result).unwrap_or(libc::EIO));
        done.push(Completion { unit, result });
    }

    /// Returns the number of units in the table.
    #[inline]
    pub(super) fn taken(&self) -> usize {
        self.units.len() - self.free.len()
    }

    /// Drops the units without freeing their buffers, because the kernel may
    /// still write to them.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.units));
        self.free.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::IoBuf;
    use assay_model::load::Ddir;
    use assay_model::load::priority::IoPriority;

    fn unit(offset: u64) -> IoUnit {
        IoUnit {
            ddir: Ddir::Read,
            file: 0,
            offset,
            length: 512,
            moved: 0,
            buf: IoBuf::zeroed(512),
            submitted_ns: 0,
            priority: IoPriority::NONE,
            tag: 0,
        }
    }

    #[test]
    fn each_result_finds_its_unit_once() {
        let mut slots = Slots::new(2);
        let first = slots.next_free().unwrap();
        slots.put(first, unit(1));
        let second = slots.next_free().unwrap();
        slots.put(second, unit(2));
        assert_eq!((slots.next_free(), slots.taken()), (None, 2));
        let mut done = Vec::new();
        slots.complete(second as u64, 512, &mut done);
        slots.complete(second as u64, 512, &mut done);
        slots.complete(u64::MAX, 512, &mut done);
        slots.complete(first as u64, -5, &mut done);
        let came: Vec<_> = done.iter().map(|c| (c.unit.offset, c.result)).collect();
        assert_eq!(came, [(2, Ok(512)), (1, Err(5))]);
        assert_eq!(slots.taken(), 0);
    }
}
