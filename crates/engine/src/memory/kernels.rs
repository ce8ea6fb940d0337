//! Loops over arrays with the widest vector instructions of the processor. The
//! instructions are explicit, because the code that a compiler generates for a plain
//! loop depends on the compiler's options, and the results must not.

use super::Region;
use assay_model::act::memory::{Kernel, Stores, Vectors};
use std::io;
use std::sync::atomic::{Ordering, compiler_fence};

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
        Vectors::Avx512 => avx512::chosen(kernel, stores),
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => avx2::chosen(kernel, stores),
        #[cfg(target_arch = "x86_64")]
        Vectors::Sse2 => sse2::chosen(kernel, stores),
        #[cfg(target_arch = "aarch64")]
        Vectors::Neon => neon::chosen(kernel, stores),
        _ => portable_loop(kernel, stores),
    }
}

/// Words of a piece of a portable loop. A compiler fence between two pieces prevents the compiler
/// from replacing the loop by a call of `memcpy`.
const PIECE: usize = 64;

/// Returns the loop of a kernel without vector instructions, always with plain stores. Compilers
/// vectorize it.
fn portable_loop(kernel: Kernel, _stores: Stores) -> Loop {
    match kernel {
        Kernel::Copy | Kernel::Memcpy => portable_copy,
        Kernel::Scale => portable_scale,
        Kernel::Add => portable_add,
        Kernel::Triad => portable_triad,
        Kernel::Fill => portable_fill,
        Kernel::Read => portable_read,
    }
}

/// Defines a portable loop that stores.
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

storing!(portable_copy, |a, _b, c, at| c = a.add(at).read());
storing!(portable_scale, |_a, b, c, at| b = SCALAR * c.add(at).read());
storing!(portable_add, |a, b, c, at| c =
    a.add(at).read() + b.add(at).read());
storing!(portable_triad, |a, b, c, at| a =
    b.add(at).read() + SCALAR * c.add(at).read());
storing!(portable_fill, |a, _b, _c, at| a = SCALAR);

/// # Safety
/// As for `Arrays::pass`.
unsafe fn portable_read(a: *mut f64, _b: *mut f64, _c: *mut f64, words: usize) -> f64 {
    let mut sums = [0.0; 8];
    for piece in (0..words).step_by(sums.len()) {
        for (word, sum) in sums.iter_mut().enumerate() {
            // SAFETY: within the array (see `Arrays::pass`).
            *sum += unsafe { a.add(piece + word).read() };
        }
    }
    sums.iter().sum()
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
        use super::SCALAR;
        use assay_model::act::memory::{Kernel, Stores};
        use std::sync::atomic::{Ordering, compiler_fence};

        /// Number of words per iteration.
        const TOGETHER: usize = 4 * $lanes;

        /// Returns the loop of a kernel. `Memcpy` has none, because it calls the C
        /// library.
        pub(crate) fn chosen(kernel: Kernel, stores: Stores) -> super::Loop {
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

/// Loops with vectors of 512 bits.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64 as of;

    loops!(
        "avx512f", lanes 8, fence super::store_fence,
        of::_mm512_set1_pd, of::_mm512_loadu_pd, of::_mm512_storeu_pd, of::_mm512_stream_pd,
        of::_mm512_add_pd, of::_mm512_mul_pd, of::_mm512_reduce_add_pd
    );
}

/// Loops with vectors of 256 bits.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64 as of;

    #[target_feature(enable = "avx2")]
    fn sum(vector: of::__m256d) -> f64 {
        let high = of::_mm256_extractf128_pd::<1>(vector);
        super::sum_of_two(of::_mm_add_pd(high, of::_mm256_castpd256_pd128(vector)))
    }

    loops!(
        "avx2", lanes 4, fence super::store_fence,
        of::_mm256_set1_pd, of::_mm256_loadu_pd, of::_mm256_storeu_pd, of::_mm256_stream_pd,
        of::_mm256_add_pd, of::_mm256_mul_pd, sum
    );
}

/// Loops with vectors of 128 bits.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64 as of;

    loops!(
        "sse2", lanes 2, fence super::store_fence,
        of::_mm_set1_pd, of::_mm_loadu_pd, of::_mm_storeu_pd, of::_mm_stream_pd,
        of::_mm_add_pd, of::_mm_mul_pd, super::sum_of_two
    );
}

/// Waits until streaming stores are visible.
#[cfg(target_arch = "x86_64")]
fn store_fence() {
    // SAFETY: every x86-64 has it.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn sum_of_two(vector: std::arch::x86_64::__m128d) -> f64 {
    use std::arch::x86_64::{_mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd};
    _mm_cvtsd_f64(_mm_add_sd(vector, _mm_unpackhi_pd(vector, vector)))
}

/// Loops with vectors of NEON, which every such processor has.
#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64 as of;

    loops!(
        "neon", lanes 2, fence super::store_fence,
        of::vdupq_n_f64, of::vld1q_f64, of::vst1q_f64, super::store_streaming,
        of::vaddq_f64, of::vmulq_f64, super::sum_of_two
    );
}

/// Stores a vector with a hint that it bypasses the caches (`STNP`).
///
/// # Safety
/// `to` must be valid for a write of one vector.
#[cfg(target_arch = "aarch64")]
unsafe fn store_streaming(to: *mut f64, value: std::arch::aarch64::float64x2_t) {
    // SAFETY: stores the two halves of the vector at `to`, which is valid for
    // it.
    unsafe {
        std::arch::asm!(
            "mov {high}, {value:v}.d[1]",
            "fmov {low}, {value:d}",
            "stnp {low}, {high}, [{to}]",
            to = in(reg) to,
            value = in(vreg) value,
            high = out(reg) _,
            low = out(reg) _,
            options(nostack, preserves_flags)
        );
    }
}

/// Does nothing: the barrier at which the threads meet after the loop orders
/// the stores.
#[cfg(target_arch = "aarch64")]
const fn store_fence() {}

#[cfg(target_arch = "aarch64")]
fn sum_of_two(vector: std::arch::aarch64::float64x2_t) -> f64 {
    // SAFETY: every aarch64 processor that runs Linux has NEON.
    unsafe { std::arch::aarch64::vaddvq_f64(vector) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All vectors that this processor has.
    fn vectors() -> Vec<Vectors> {
        let mut all = vec![Vectors::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            all.push(Vectors::Sse2);
            if std::arch::is_x86_feature_detected!("avx2") {
                all.push(Vectors::Avx2);
            }
            if std::arch::is_x86_feature_detected!("avx512f") {
                all.push(Vectors::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        all.push(Vectors::Neon);
        all
    }

    /// The arrays as slices: `a`, `b`, `c`.
    fn contents(arrays: &Arrays) -> [Vec<f64>; 3] {
        [0, 1, 2].map(|index| {
            let start = arrays.array(index);
            let words = 0..arrays.words;
            // SAFETY: the array has `words` words.
            words.map(|at| unsafe { start.add(at).read() }).collect()
        })
    }

    #[test]
    fn every_loop_does_what_its_formula_says_to_every_word() {
        for vectors in vectors() {
            for kernel in Kernel::ALL {
                for &stores in kernel.stores() {
                    let mut arrays = Arrays::new(1000).unwrap();
                    assert_eq!(arrays.words(), 1024);
                    arrays.pass_with(vectors, kernel, stores);
                    let (a, b, c) = (1.0, 2.0, 0.5);
                    let expected = match kernel {
                        Kernel::Copy => [a, b, a],
                        Kernel::Scale => [a, SCALAR * c, c],
                        Kernel::Add => [a, b, a + b],
                        Kernel::Triad => [b + SCALAR * c, b, c],
                        Kernel::Fill => [SCALAR, b, c],
                        Kernel::Read => [a, b, c],
                        Kernel::Memcpy => [a, a, c],
                    };
                    for (found, value) in contents(&arrays).iter().zip(expected) {
                        let wrong = found.iter().position(|word| *word != value);
                        assert_eq!(wrong, None, "{vectors} {kernel:?} {stores:?}");
                    }
                    if kernel == Kernel::Read {
                        assert!((arrays.sum - 1024.0).abs() < 1e-9, "{vectors}");
                    }
                }
            }
        }
    }
}
