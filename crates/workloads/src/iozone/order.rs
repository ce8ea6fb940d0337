//! Order of the records.

use assay_model::work::iozone::Test;

/// Random generator MT19937-64 (Matsumoto and Nishimura, 2004), which iozone initializes
/// with the four numbers of the authors' example.
struct Twister {
    state: [u64; N],
    next: usize,
}

const N: usize = 312;
const M: usize = 156;
const KEY: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

impl Twister {
    fn seeded(seed: u64) -> Self {
        let mut state = [0; N];
        state[0] = seed;
        for i in 1..N {
            let before: u64 = state[i - 1];
            state[i] = 6_364_136_223_846_793_005_u64
                .wrapping_mul(before ^ (before >> 62))
                .wrapping_add(i as u64);
        }
        Self { state, next: N }
    }

    /// Initializes the state like `init_by_array64`.
    fn new() -> Self {
        let mut twister = Self::seeded(19_650_218);
        let state = &mut twister.state;
        let (mut i, mut j) = (1, 0);
        for _ in 0..N {
            let before = state[i - 1];
            let mixed = (before ^ (before >> 62)).wrapping_mul(3_935_559_000_370_003_845);
            state[i] = (state[i] ^ mixed)
                .wrapping_add(KEY[j])
                .wrapping_add(j as u64);
            i += 1;
            j = (j + 1) % KEY.len();
            if i >= N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        for _ in 1..N {
            let before = state[i - 1];
            let mixed = (before ^ (before >> 62)).wrapping_mul(2_862_933_555_777_941_757);
            state[i] = (state[i] ^ mixed).wrapping_sub(i as u64);
            i += 1;
            if i >= N {
                state[0] = state[N - 1];
                i = 1;
            }
        }
        state[0] = 1 << 63;
        twister
    }

    fn next(&mut self) -> u64 {
        if self.next >= N {
            self.refill();
        }
        let mut x = self.state[self.next];
        self.next += 1;
        x ^= (x >> 29) & 0x5555_5555_5555_5555;
        x ^= (x << 17) & 0x71d6_7fff_eda6_0000;
        x ^= (x << 37) & 0xfff7_eee0_0000_0000;
        x ^ (x >> 43)
    }

    fn refill(&mut self) {
        const UPPER: u64 = 0xffff_ffff_8000_0000;
        for i in 0..N {
            let x = (self.state[i] & UPPER) | (self.state[(i + 1) % N] & !UPPER);
            let odd = if x & 1 == 1 { 0xb502_6f5a_a966_19e9 } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (x >> 1) ^ odd;
        }
        self.next = 0;
    }
}

/// Returns each number below `records` once, in iozone's random order, which is the same
/// for every run (Fisher-Yates, from the end).
fn shuffled(records: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..records).collect();
    let mut twister = Twister::new();
    for i in (0..order.len()).rev() {
        let below = i as u64 + 1;
        let j = usize::try_from(twister.next() % below).unwrap_or(i);
        order.swap(i, j);
    }
    order
}

/// Order in which a test processes the records.
#[derive(Debug)]
pub(super) enum RecordOrder {
    /// Ascending order.
    Forward,
    /// Descending order.
    Backward { records: u64 },
    /// Always the first record.
    Same,
    /// The listed order.
    Listed(Vec<u64>),
    /// Every `stride`-th record; near the end, restarts one record after the last start.
    Stride { records: u64, stride: u64 },
}

impl RecordOrder {
    /// Returns the order of a test; `sequential` applies to mixed reads and writes.
    pub(super) fn of(test: Test, records: u64, stride: u64, sequential: bool) -> Self {
        match test {
            Test::RandomRead | Test::RandomWrite => Self::Listed(shuffled(records)),
            Test::Mixed if !sequential => Self::Listed(shuffled(records)),
            Test::BackwardRead => Self::Backward { records },
            Test::RecordRewrite => Self::Same,
            Test::StrideRead => Self::Stride { records, stride },
            _ => Self::Forward,
        }
    }

    /// Returns a cursor over the records of the I/Os.
    pub(super) fn records(&self) -> OrderCursor<'_> {
        OrderCursor {
            order: self,
            count: 0,
            at: 0,
            start: 0,
        }
    }
}

/// Position in an order.
#[derive(Debug)]
pub(super) struct OrderCursor<'a> {
    order: &'a RecordOrder,
    count: u64,
    at: u64,
    start: u64,
}

impl OrderCursor<'_> {
    /// Returns the next record.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let count = self.count;
        self.count += 1;
        match self.order {
            RecordOrder::Forward => count,
            RecordOrder::Backward { records } => records.saturating_sub(count + 1),
            RecordOrder::Same => 0,
            RecordOrder::Listed(list) => usize::try_from(count)
                .ok()
                .and_then(|count| list.get(count).copied())
                .unwrap_or(0),
            RecordOrder::Stride { records, stride } => self.stride(*records, *stride),
        }
    }

    /// Returns the record and advances. iozone turns back if less than two records remain
    /// after the next, and does not move at all if a stride is as long as the file.
    fn stride(&mut self, records: u64, stride: u64) -> u64 {
        let now = self.at;
        let next = now.saturating_add(stride);
        self.at = if stride >= records {
            0
        } else if next.saturating_add(2) < records {
            next
        } else {
            self.start = (self.start + 1) % records;
            self.start
        };
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(test: Test, records: u64, stride: u64) -> Vec<u64> {
        let order = RecordOrder::of(test, records, stride, false);
        let mut walk = order.records();
        (0..records).map(|_| walk.next()).collect()
    }

    /// Observed with strace on iozone 3.489 (`-s 128 -r 8 -i 2`).
    #[test]
    fn random_records_come_in_the_order_of_iozone() {
        let seen = [1, 5, 7, 13, 10, 6, 0, 8, 14, 3, 11, 2, 4, 12, 9, 15];
        assert_eq!(first(Test::RandomRead, 16, 17), seen);
        assert_eq!(first(Test::RandomWrite, 4, 17), [1, 2, 0, 3]);
        let mut all = first(Test::RandomRead, 10_000, 17);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10_000));
    }

    /// Observed with strace on iozone 3.489 (`-i 5`, `-j 3`).
    #[test]
    fn strides_turn_back_where_those_of_iozone_do() {
        let from_22 = [
            0, 17, 1, 18, 2, 19, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
        ];
        assert_eq!(first(Test::StrideRead, 22, 17), from_22);
        assert_eq!(first(Test::StrideRead, 9, 3), [0, 3, 6, 1, 4, 2, 5, 3, 6]);
        assert_eq!(first(Test::StrideRead, 16, 17), [0; 16]);
    }

    #[test]
    fn backward_ends_with_the_first_record() {
        assert_eq!(first(Test::BackwardRead, 4, 17), [3, 2, 1, 0]);
        assert_eq!(first(Test::RecordRewrite, 3, 17), [0; 3]);
        assert_eq!(first(Test::Read, 3, 17), [0, 1, 2]);
    }
}
