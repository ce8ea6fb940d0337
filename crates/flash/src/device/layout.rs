//! Costs of the flash layout: pages, erase units, mapping units.

use crate::part::{Flash, blocks};
use crate::policy::BlockRequest;
use crate::time::Picos;

/// The layout of a card, and its erase units that are being written.
#[derive(Clone, Debug)]
pub struct Layout {
    page: (u64, Picos),
    unit: (u64, Picos),
    map: (u64, Picos),
    close: Picos,
    /// Units that are being written, the most recently used last.
    open: Vec<u64>,
    most_open: usize,
}

impl Layout {
    /// Creates a layout in which no unit is being written.
    pub fn new(flash: &Flash) -> Self {
        let us = Picos::from_us;
        Self {
            page: (blocks(flash.page_kib).max(1), us(flash.page_us)),
            unit: (blocks(flash.unit_kib).max(1), us(flash.unit_us)),
            map: (blocks(flash.map_kib).max(1), us(flash.rmw_us)),
            close: us(flash.close_us),
            open: Vec::new(),
            most_open: flash.open_units as usize,
        }
    }

    /// Returns the extra time of a read that crosses boundaries.
    pub fn read(&self, request: &BlockRequest) -> Picos {
        across(request, self.page) + across(request, self.unit)
    }

    /// Returns the extra time of a write that covers mapping units in part.
    pub fn merge(&self, request: &BlockRequest) -> Picos {
        let (unit, cost) = self.map;
        let end = request.block.saturating_add(request.blocks);
        let (head, tail) = (
            !request.block.is_multiple_of(unit),
            !end.is_multiple_of(unit),
        );
        let one = request.block / unit == end.saturating_sub(1) / unit;
        let parts = match (head, tail) {
            (false, false) => 0,
            (true, true) if !one => 2,
            _ => 1,
        };
        cost.times(parts)
    }

    /// Returns the extra time of a write for which another unit has to be closed.
    pub fn touch(&mut self, request: &BlockRequest) -> Picos {
        let unit = request.block / self.unit.0;
        if let Some(at) = self.open.iter().position(|open| *open == unit) {
            self.open.remove(at);
            self.open.push(unit);
            return Picos::ZERO;
        }
        let full = self.open.len() >= self.most_open;
        if full && !self.open.is_empty() {
            self.open.remove(0);
        }
        self.open.push(unit);
        if full { self.close } else { Picos::ZERO }
    }
}

/// Returns the extra cost of the units that the request touches beyond the
/// minimum for its length.
fn across(request: &BlockRequest, (size, cost): (u64, Picos)) -> Picos {
    let end = request.block.saturating_add(request.blocks);
    let touched = end.div_ceil(size) - request.block / size;
    cost.times(touched.saturating_sub(request.blocks.div_ceil(size)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Direction;

    fn request(block: u64, blocks: u64) -> BlockRequest {
        BlockRequest {
            direction: Direction::Write,
            block,
            blocks,
        }
    }

    fn layout() -> Layout {
        Layout::new(&Flash {
            page_kib: 16,
            page_us: 1.0,
            unit_kib: 64,
            unit_us: 10.0,
            map_kib: 4,
            rmw_us: 100.0,
            open_units: 2,
            close_us: 1000.0,
        })
    }

    #[test]
    fn what_lies_across_a_boundary_costs_more() {
        let us = |block, blocks| layout().read(&request(block, blocks)).as_us();
        assert_eq!(
            [us(0, 8), us(28, 8), us(124, 8), us(0, 128)],
            [0.0, 1.0, 11.0, 0.0]
        );
    }

    #[test]
    fn what_covers_a_mapping_unit_in_part_is_merged() {
        let us = |block, blocks| layout().merge(&request(block, blocks)).as_us();
        let found = [us(0, 8), us(1, 8), us(1, 4), us(0, 9), us(8, 32)];
        assert_eq!(found, [0.0, 200.0, 100.0, 100.0, 0.0]);
    }

    #[test]
    fn one_unit_too_many_closes_the_one_that_was_used_longest_ago() {
        let mut layout = layout();
        let found = [0, 128, 0, 256, 0, 128].map(|block| layout.touch(&request(block, 8)).as_us());
        assert_eq!(found, [0.0, 0.0, 0.0, 1000.0, 0.0, 1000.0]);
    }
}
