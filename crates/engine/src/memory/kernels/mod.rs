//! Loops over arrays with the widest vector instructions of the processor. The
//! instructions are explicit, because the code that a compiler generates for a plain
//! loop depends on the compiler's options, and the results must not.

#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::Region;
use assay_model::act::memory::{Kernel, Stores, Vectors};
use std::io;

/// Number of words of which an array's length is a multiple, so that no loop has a
/// remainder.
const MULTIPLE: usize = 512;
/// Factor of the scaling kernels, as in STREAM.
const SCALAR: f64 = 3.0;
/// Distance between the start offsets of the arrays within a page, in words. It
/// prevents false dependencies of loads on recent stores to another array (4 KiB
/// aliasing).
const STAGGER: usize = 1280;

/// A kernel on one thread's arrays `a`, `b` and `c`, each of the given number of words.
type Loop = unsafe fn(*mut f64, *mut f64, *mut f64, usize) -> f64;

/// Returns the vectors that a kernel uses on this processor: the widest, except that
/// loads of 32 bytes read memory faster than those of 64 (by a tenth, with all
/// processors of an EPYC 9004; `cargo xtask bench memory`).
pub fn vectors_for(kernel: Kernel) -> Vectors {
    match (widest_vectors(), kernel) {
        // Every processor with AVX-512 has AVX2.
        (Vectors::Avx512, Kernel::Read) => Vectors::Avx2,
        (widest, _) => widest,
    }
}

/// Returns the widest vectors of this processor.
fn widest_vectors() -> Vectors {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            Vectors::Avx512
        } else if std::arch::is_x86_feature_detected!("avx2") {
            Vectors::Avx2
        } else {
            Vectors::Sse2
        }
    }
    #[cfg(target_arch = "aarch64")]
    {
        Vectors::Neon
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Vectors::Portable
    }
}

/// Returns true if stores can bypass the caches with these vectors.
pub const fn can_stream(vectors: Vectors) -> bool {
    !matches!(vectors, Vectors::Portable)
}

/// The arrays of one thread.
#[derive(Debug)]
pub struct Arrays {
    regions: [Region; 3],
    words: usize,
    /// Sum of the words read, kept so that no compiler removes the reads.
    sum: f64,
}

impl Arrays {
    /// Allocates arrays of at least `words` words each, first accessed by the calling
    /// thread.
    ///
    /// # Errors
    /// If memory is exhausted.
    pub fn new(words: usize) -> io::Result<Self> {
        let words = words.max(1).next_multiple_of(MULTIPLE);
        let bytes = (words + 3 * STAGGER) * size_of::<f64>();
        let region = || Region::new(bytes);
        let arrays = Self {
            regions: [region()?, region()?, region()?],
            words,
            sum: 0.0,
        };
        for (index, value) in (0..3).zip([1.0, 2.0, 0.5]) {
            let start = arrays.array(index);
            for word in 0..words {
                // SAFETY: the array has `words` words, and is this value's alone.
                unsafe { start.add(word).write(value) };
            }
        }
        Ok(arrays)
    }

    /// Returns the number of words of each array.
    pub const fn words(&self) -> usize {
        self.words
    }

    /// Returns the memory of the arrays.
    pub const fn regions(&self) -> &[Region; 3] {
        &self.regions
    }

    /// Runs a kernel once over all words, with the vectors of [`vectors_for`]. If
    /// streaming stores are not available ([`can_stream`]), it uses plain ones.
    pub fn pass(&mut self, kernel: Kernel, stores: Stores) {
        self.pass_with(vectors_for(kernel), kernel, stores);
    }

    /// Runs a kernel with the given vectors, which this processor must support.
    fn pass_with(&mut self, vectors: Vectors, kernel: Kernel, stores: Stores) {
        let [a, b, c] = [self.array(0), self.array(1), self.array(2)];
        if kernel == Kernel::Memcpy {
            // SAFETY: both arrays have `words` words, and lie in separate regions.
            unsafe { std::ptr::copy_nonoverlapping(a, b, self.words) };
            return;
        }
        let run = chosen(vectors, kernel, stores);
        // SAFETY: the arrays have `words` words each, a multiple of MULTIPLE, begin at
        // multiples of 64 bytes, lie in separate regions, and are borrowed mutably;
        // `vectors` are of this processor.
        self.sum = std::hint::black_box(unsafe { run(a, b, c, self.words) });
    }

    fn array(&self, index: usize) -> *mut f64 {
        let start = self.regions[index].start().cast::<f64>();
        // SAFETY: regions have 3 * STAGGER words more than an array.
        unsafe { start.add(index * STAGGER) }.as_ptr()
    }
}

/// Returns the loop of a kernel.
fn chosen(vectors: Vectors, kernel: Kernel, stores: Stores) -> Loop {
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => x86::avx512::chosen(kernel, stores),
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => x86::avx2::chosen(kernel, stores),
        #[cfg(target_arch = "x86_64")]
        Vectors::Sse2 => x86::sse2::chosen(kernel, stores),
        #[cfg(target_arch = "aarch64")]
        Vectors::Neon => neon::loops::chosen(kernel, stores),
        _ => portable::chosen(kernel, stores),
    }
}

/// Defines the loops of one vector width: `$load` .. `$add` are its instructions, each
/// on `$lanes` words. One iteration handles four vectors. A compiler fence prevents the
/// compiler from replacing the loop by a call of `memcpy`, which would choose its own
/// stores.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! loops {
    (
        $feature:literal, lanes $lanes:literal, fence $fence:path,
        $set:path, $load:path, $store:path, $stream:path, $add:path, $mul:path, $sum:path
    ) => {
        use super::super::{SCALAR, pair};
        use assay_model::act::memory::{Kernel, Stores};
        use std::sync::atomic::{Ordering, compiler_fence};

        /// Number of words per iteration.
        const TOGETHER: usize = 4 * $lanes;

        /// Returns the loop of a kernel. `Memcpy` has none, because it calls the C
        /// library.
        pub(crate) fn chosen(kernel: Kernel, stores: Stores) -> super::super::Loop {
            match (kernel, stores) {
                (Kernel::Copy | Kernel::Memcpy, Stores::Plain) => copy,
                (Kernel::Copy | Kernel::Memcpy, Stores::Streaming) => copy_streaming,
                (Kernel::Scale, Stores::Plain) => scale,
                (Kernel::Scale, Stores::Streaming) => scale_streaming,
                (Kernel::Add, Stores::Plain) => add,
                (Kernel::Add, Stores::Streaming) => add_streaming,
                (Kernel::Triad, Stores::Plain) => triad,
                (Kernel::Triad, Stores::Streaming) => triad_streaming,
                (Kernel::Fill, Stores::Plain) => fill,
                (Kernel::Fill, Stores::Streaming) => fill_streaming,
                (Kernel::Read, _) => read,
            }
        }

        pair!(
            copy,
            copy_streaming,
            $feature,
            $lanes,
            $fence,
            $store,
            $stream,
            |a, _b, c, at| (c, $load(a.add(at)))
        );
        pair!(
            scale,
            scale_streaming,
            $feature,
            $lanes,
            $fence,
            $store,
            $stream,
            |_a, b, c, at| (b, $mul($set(SCALAR), $load(c.add(at))))
        );
        pair!(
            add,
            add_streaming,
            $feature,
            $lanes,
            $fence,
            $store,
            $stream,
            |a, b, c, at| (c, $add($load(a.add(at)), $load(b.add(at))))
        );
        pair!(
            triad,
            triad_streaming,
            $feature,
            $lanes,
            $fence,
            $store,
            $stream,
            |a, b, c, at| (
                a,
                $add($load(b.add(at)), $mul($set(SCALAR), $load(c.add(at))))
            )
        );
        pair!(
            fill,
            fill_streaming,
            $feature,
            $lanes,
            $fence,
            $store,
            $stream,
            |a, _b, _c, _at| (a, $set(SCALAR))
        );

        /// Sums up `a` in four independent sums.
        ///
        /// # Safety
        /// As for `Arrays::pass`.
        #[target_feature(enable = $feature)]
        unsafe fn read(a: *mut f64, _b: *mut f64, _c: *mut f64, words: usize) -> f64 {
            let [mut first, mut second, mut third, mut fourth] = [$set(0.0); 4];
            let mut at = 0;
            while at < words {
                // SAFETY: within the array (see `Arrays::pass`).
                unsafe {
                    first = $add(first, $load(a.add(at)));
                    second = $add(second, $load(a.add(at + $lanes)));
                    third = $add(third, $load(a.add(at + 2 * $lanes)));
                    fourth = $add(fourth, $load(a.add(at + 3 * $lanes)));
                }
                at += TOGETHER;
            }
            $sum($add($add(first, second), $add(third, fourth)))
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use loops;

/// Defines a loop with plain stores, and the same loop with streaming stores.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! pair {
    ($plain:ident, $streaming:ident, $feature:literal, $lanes:literal, $fence:path,
        $store:path, $stream:path, |$a:ident, $b:ident, $c:ident, $at:ident| ($to:ident, $value:expr)) => {
        /// # Safety
        /// As for `Arrays::pass`.
        #[target_feature(enable = $feature)]
        unsafe fn $plain($a: *mut f64, $b: *mut f64, $c: *mut f64, words: usize) -> f64 {
            let mut start = 0;
            while start < words {
                // SAFETY: within the arrays and aligned (see `Arrays::pass`).
                unsafe {
                    let $at = start;
                    $store($to.add(start), $value);
                    let $at = start + $lanes;
                    $store($to.add(start + $lanes), $value);
                    let $at = start + 2 * $lanes;
                    $store($to.add(start + 2 * $lanes), $value);
                    let $at = start + 3 * $lanes;
                    $store($to.add(start + 3 * $lanes), $value);
                }
                compiler_fence(Ordering::SeqCst);
                start += TOGETHER;
            }
            0.0
        }

        /// # Safety
        /// As for `Arrays::pass`.
        #[target_feature(enable = $feature)]
        unsafe fn $streaming($a: *mut f64, $b: *mut f64, $c: *mut f64, words: usize) -> f64 {
            let mut start = 0;
            while start < words {
                // SAFETY: within the arrays and aligned (see `Arrays::pass`).
                unsafe {
                    let $at = start;
                    $stream($to.add(start), $value);
                    let $at = start + $lanes;
                    $stream($to.add(start + $lanes), $value);
                    let $at = start + 2 * $lanes;
                    $stream($to.add(start + 2 * $lanes), $value);
                    let $at = start + 3 * $lanes;
                    $stream($to.add(start + 3 * $lanes), $value);
                }
                start += TOGETHER;
            }
            $fence();
            0.0
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use pair;

#[cfg(test)]
mod tests;
