//! Benchmarks of main memory: memory regions, loops of vector instructions over
//! arrays, chains of dependent loads, and words with volatile access.
//!
//! The loops use the widest vector instructions of the processor. The instructions are explicit,
//! because the code that a compiler generates for a plain loop depends on the compiler's options,
//! and the results must not.

use crate::sys;
use assay_model::act::memory::{Kernel, Stores, Vectors};
use assay_model::rng::SplitMix64;
use rustix::thread::CpuSet;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

/// Alignment of regions in bytes, which is that of huge pages of 2 MiB.
const ALIGNMENT: usize = 2 << 20;

/// Zeroed, private memory, unmapped on drop. The kernel allocates each page when it is first
/// accessed, on the NUMA node of the accessing CPU.
#[derive(Debug)]
pub struct Region {
    /// Start of the whole mapping.
    map: NonNull<u8>,
    mapped: usize,
    /// Start of the part in use.
    start: NonNull<u8>,
    bytes: usize,
    huge_asked: bool,
}

// SAFETY: a region owns its mapping and has no interior sharing; moving it to
// another thread moves the only handle to that memory.
unsafe impl Send for Region {}

impl Region {
    /// Maps `bytes` bytes, with huge pages if the kernel provides them.
    ///
    /// # Errors
    /// If the address space or the memory is exhausted.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let none = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.max(1);
        let mapped = bytes.checked_add(ALIGNMENT).ok_or_else(none)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast::<u8>()).ok_or_else(none)?;
        let skipped = map.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        // SAFETY: `skipped` is at most ALIGNMENT, which the mapping has beyond `bytes`.
        let start = unsafe { map.add(skipped) };
        // SAFETY: advice on pages of the mapping made above; it changes no content.
        let advised =
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) } == 0;
        Ok(Self {
            map,
            mapped,
            start,
            bytes,
            huge_asked: advised,
        })
    }

    /// Returns the length in bytes.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the first address.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Returns true if the kernel accepted the request for huge pages.
    pub const fn huge_asked(&self) -> bool {
        self.huge_asked
    }

    /// Allocates all pages now and prevents swapping (`mlock(2)`).
    ///
    /// # Errors
    /// If this user may not lock as much memory, or memory is exhausted.
    pub fn lock(&mut self) -> io::Result<()> {
        // SAFETY: pages of this mapping; their content does not change.
        let answer = unsafe { libc::mlock(self.start.as_ptr().cast(), self.bytes) };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Returns the first byte. [`Self::bytes`] bytes from there are initialised and belong to this
    /// region alone.
    const fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly the mapping made in `new`, once; nothing points
        // into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.mapped) };
    }
}

/// Number of loads per iteration of the loop.
const UNROLLED: u64 = 16;

/// A cycle through all lines of a region in random order, which a prefetcher cannot
/// predict. Each load returns the address of the next, so that no load can begin before the
/// previous one has ended.
#[derive(Debug)]
pub struct Chain {
    region: Region,
    at: *const *const u8,
}

// SAFETY: the pointer leads into the region, which the chain owns.
unsafe impl Send for Chain {}

impl Chain {
    /// Creates a cycle through `bytes` bytes with one pointer per line. The seed
    /// determines the order.
    ///
    /// # Errors
    /// As for [`Region::new`].
    pub fn new(bytes: usize, line_bytes: usize, seed: u64) -> io::Result<Self> {
        let line_bytes = line_bytes.max(size_of::<usize>()).next_power_of_two();
        let lines = (bytes / line_bytes).max(1);
        let region = Region::new(lines * line_bytes)?;
        let place = |line: usize| {
            // SAFETY: `line` is below `lines`, all of which the region has; lines are
            // aligned to more than a pointer, as the region is.
            unsafe { region.start().add(line * line_bytes).cast::<usize>() }
        };
        for line in 0..lines {
            // SAFETY: a place in the region, to which no other reference exists.
            unsafe { place(line).write(line) };
        }
        // Sattolo's algorithm: a permutation that is one cycle.
        let mut rng = SplitMix64::new(seed);
        for line in (1..lines).rev() {
            let other = usize::try_from(rng.next_u64() % line as u64).unwrap_or(0);
            // SAFETY: two places in the region, as above.
            unsafe { place(line).swap(place(other)) };
        }
        for line in 0..lines {
            // SAFETY: the place holds the number of a line, written above.
            let next = place(unsafe { place(line).read() });
            // SAFETY: as above; the number is replaced by the pointer to that line.
            unsafe { place(line).cast::<*const u8>().write(next.as_ptr().cast()) };
        }
        let at = region.start().as_ptr().cast::<*const u8>();
        Ok(Self { region, at })
    }

    /// Returns the memory of the cycle.
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// Follows the cycle for `loads` loads, rounded up to a multiple of 16, and
    /// returns the number of loads made.
    pub fn walk(&mut self, loads: u64) -> u64 {
        let rounds = loads.div_ceil(UNROLLED);
        let mut at = self.at;
        for _ in 0..rounds {
            for _ in 0..UNROLLED {
                // SAFETY: every place of the cycle holds a pointer to a place of it.
                at = unsafe { at.read() }.cast();
            }
        }
        self.at = std::hint::black_box(at);
        rounds * UNROLLED
    }
}

/// Length of a word in bytes.
const WORD: usize = size_of::<u64>();

/// A region as 64-bit words. Reads and writes are volatile, so that the compiler
/// cannot replace a read by the value last written.
#[derive(Debug)]
pub struct Cells {
    region: Region,
    words: usize,
}

impl Cells {
    /// Allocates `words` words, all 0.
    ///
    /// # Errors
    /// As for [`Region::new`].
    pub fn new(words: usize) -> io::Result<Self> {
        let region = Region::new(words.saturating_mul(WORD))?;
        Ok(Self { region, words })
    }

    /// Returns the underlying memory.
    pub const fn region_mut(&mut self) -> &mut Region {
        &mut self.region
    }

    /// Returns the number of cells.
    pub const fn len(&self) -> usize {
        self.words
    }

    /// Returns true if there are no cells.
    pub const fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// Returns the address of a word.
    pub fn address(&self, index: usize) -> u64 {
        self.word(index).as_ptr() as u64
    }

    /// Writes a word.
    #[inline]
    pub fn write(&mut self, index: usize, value: u64) {
        // SAFETY: `word` is within the region, aligned, and borrowed mutably.
        unsafe { self.word(index).write_volatile(value) }
    }

    /// Reads a word.
    #[inline]
    pub fn read(&self, index: usize) -> u64 {
        // SAFETY: `word` is within the region, aligned and initialised, and is not
        // written while it is borrowed.
        unsafe { self.word(index).read_volatile() }
    }

    /// Reads a word from memory instead of the caches, if the processor lets user
    /// programs evict a line; otherwise reads as [`Self::read`].
    pub fn read_again(&self, index: usize) -> u64 {
        evict(self.word(index));
        self.read(index)
    }

    /// Returns a pointer to a word.
    ///
    /// # Panics
    /// If `index` is out of range.
    #[inline]
    fn word(&self, index: usize) -> NonNull<u64> {
        assert!(index < self.words, "there is no such word");
        // SAFETY: `index` words from the start are within the region (see above),
        // which begins at a multiple of more than a word.
        unsafe { self.region.start().cast::<u64>().add(index) }
    }
}

/// Writes a cache line back and evicts it.
#[cfg(target_arch = "x86_64")]
fn evict(word: NonNull<u64>) {
    use std::arch::x86_64::{_mm_clflush, _mm_mfence};
    compiler_fence(Ordering::SeqCst);
    // SAFETY: every x86-64 has these; the line is one of a live region, and its
    // content does not change.
    unsafe {
        _mm_mfence();
        _mm_clflush(word.as_ptr().cast());
        _mm_mfence();
    }
    compiler_fence(Ordering::SeqCst);
}

/// Writes a cache line back and evicts it, which Linux allows to user programs.
#[cfg(target_arch = "aarch64")]
fn evict(word: NonNull<u64>) {
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the line is one of a live region, and its content does not change.
    unsafe {
        std::arch::asm!("dsb sy", "dc civac, {0}", "dsb sy", in(reg) word.as_ptr(), options(nostack));
    }
    compiler_fence(Ordering::SeqCst);
}

/// Does nothing, because other processors do not let user programs evict a line.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const fn evict(_word: NonNull<u64>) {}

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

/// Loops with vectors of 128 bits (SSE2, which every such processor has).
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

/// Binds the calling thread to a CPU. Returns true if the kernel allowed it.
pub fn bind_to(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    if cpu as usize >= CpuSet::MAX_CPU {
        return false;
    }
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

/// Returns the numbers of the CPUs that the calling thread may use; empty if
/// the kernel does not report them.
pub fn usable_cpus() -> Vec<u32> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else {
        return Vec::new();
    };
    let all = 0..CpuSet::MAX_CPU;
    all.filter(|cpu| set.is_set(*cpu))
        .filter_map(|cpu| u32::try_from(cpu).ok())
        .collect()
}

/// Returns the number of page faults with I/O of the calling thread since it
/// started.
pub fn major_faults() -> u64 {
    sys::thread_faults().major
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_begins_where_a_huge_page_does_and_has_its_bytes() {
        let region = Region::new(5 << 20).unwrap();
        assert_eq!(region.address() % ALIGNMENT as u64, 0);
        let last = region.start().as_ptr().wrapping_add((5 << 20) - 1);
        // SAFETY: the last byte of the region, to which no other reference exists.
        unsafe { last.write_volatile(7) };
        // SAFETY: as above.
        assert_eq!(unsafe { last.read_volatile() }, 7);
        assert!(Region::new(usize::MAX).is_err());
    }

    #[test]
    fn a_chain_visits_each_line_once_and_comes_back() {
        let lines = 128;
        let mut chain = Chain::new(lines * 64, 64, 7).unwrap();
        let begin = chain.at;
        let mut seen = std::collections::HashSet::new();
        for _ in 0..lines {
            assert!(seen.insert(chain.at as usize));
            // SAFETY: as in `walk`.
            chain.at = unsafe { chain.at.read() }.cast();
        }
        assert_eq!(chain.at, begin);
        assert_eq!(chain.walk(100), 112);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let first = |seed| {
            let chain = Chain::new(1 << 16, 64, seed).unwrap();
            // SAFETY: as in `walk`.
            let second = unsafe { chain.at.read() };
            second as u64 - chain.region().address()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn what_is_written_is_read_again_with_and_without_the_caches() {
        let mut cells = Cells::new(1000).unwrap();
        cells.write(999, u64::MAX);
        assert_eq!((cells.read(0), cells.read(999)), (0, u64::MAX));
        assert_eq!(cells.read_again(999), u64::MAX);
        assert_eq!(cells.address(999) - cells.address(0), 999 * 8);
    }

    #[test]
    #[should_panic(expected = "there is no such word")]
    fn a_word_beyond_the_end_is_none() {
        let _ = Cells::new(1).unwrap().read(1);
    }

    /// Returns the vector instructions that this processor has.
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
