//! Plain loops, in pieces that compilers turn into what vectors there are.

use super::{Loop, SCALAR};
use assay_model::work::memory::{Kernel, Stores};
use std::sync::atomic::{Ordering, compiler_fence};

/// Words of a piece. A fence for the compiler alone stands between two, so that no
/// call of `memcpy` is made of them.
const PIECE: usize = 64;

/// The loop of a kernel; its stores are plain ones.
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

/// A loop that stores.
macro_rules! storing {
    ($name:ident, |$a:ident, $b:ident, $c:ident, $at:ident| $to:ident = $value:expr) => {
        /// # Safety
        /// As `Arrays::pass`.
        unsafe fn $name($a: *mut f64, $b: *mut f64, $c: *mut f64, words: usize) -> f64 {
            for piece in (0..words).step_by(PIECE) {
                for $at in piece..piece + PIECE {
                    // SAFETY: within the arrays, as `Arrays::pass` says.
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
/// As `Arrays::pass`.
unsafe fn read(a: *mut f64, _b: *mut f64, _c: *mut f64, words: usize) -> f64 {
    let mut sums = [0.0; 8];
    for piece in (0..words).step_by(sums.len()) {
        for (word, sum) in sums.iter_mut().enumerate() {
            // SAFETY: within the array, as `Arrays::pass` says.
            *sum += unsafe { a.add(piece + word).read() };
        }
    }
    sums.iter().sum()
}
