//! Plain loops over pieces that compilers vectorize.

use super::{Loop, SCALAR};
use assay_model::act::memory::{Kernel, Stores};
use std::sync::atomic::{Ordering, compiler_fence};

/// Words of a piece. A compiler fence between two pieces prevents the compiler
/// from replacing the loop by a call of `memcpy`.
const PIECE: usize = 64;

/// Returns the loop of a kernel, always with plain stores.
pub(super) fn chosen(kernel: Kernel, _stores: Stores) -> Loop {
    match kernel {
        Kernel::Copy | Kernel::Memcpy => copy,
        Kernel::Scale => scale,
        Kernel::Add => add,
        Kernel::Triad => triad,
        Kernel::Fill => fill,
        Kernel::Read => read,
    }
}

/// Defines a loop that stores.
macro_rules! storing {
    ($name:ident, |$a:ident, $b:ident, $c:ident, $at:ident| $to:ident = $value:expr) => {
        /// # Safety
        /// As for `Arrays::pass`.
        unsafe fn $name($a: *mut f64, $b: *mut f64, $c: *mut f64, words: usize) -> f64 {
            for piece in (0..words).step_by(PIECE) {
                for $at in piece..piece + PIECE {
                    // SAFETY: within the arrays (see `Arrays::pass`).
                    unsafe { $to.add($at).write($value) };
                }
                compiler_fence(Ordering::SeqCst);
            }
            0.0
        }
    };
}

storing!(copy, |a, _b, c, at| c = a.add(at).read());
storing!(scale, |_a, b, c, at| b = SCALAR * c.add(at).read());
storing!(add, |a, b, c, at| c = a.add(at).read() + b.add(at).read());
storing!(triad, |a, b, c, at| a =
    b.add(at).read() + SCALAR * c.add(at).read());
storing!(fill, |a, _b, _c, at| a = SCALAR);

/// # Safety
/// As for `Arrays::pass`.
unsafe fn read(a: *mut f64, _b: *mut f64, _c: *mut f64, words: usize) -> f64 {
    let mut sums = [0.0; 8];
    for piece in (0..words).step_by(sums.len()) {
        for (word, sum) in sums.iter_mut().enumerate() {
            // SAFETY: within the array (see `Arrays::pass`).
            *sum += unsafe { a.add(piece + word).read() };
        }
    }
    sums.iter().sum()
}
