//! x86-64: SSE2, which every such processor has, AVX2 and AVX-512.

/// Loops with vectors of 512 bits.
pub(super) mod avx512 {
    use std::arch::x86_64 as of;

    super::super::loops!(
        "avx512f", lanes 8, fence super::fence,
        of::_mm512_set1_pd, of::_mm512_loadu_pd, of::_mm512_storeu_pd, of::_mm512_stream_pd,
        of::_mm512_add_pd, of::_mm512_mul_pd, of::_mm512_reduce_add_pd
    );
}

/// Loops with vectors of 256 bits.
pub(super) mod avx2 {
    use std::arch::x86_64 as of;

    #[target_feature(enable = "avx2")]
    fn sum(vector: of::__m256d) -> f64 {
        let high = of::_mm256_extractf128_pd::<1>(vector);
        super::sum_of_two(of::_mm_add_pd(high, of::_mm256_castpd256_pd128(vector)))
    }

    super::super::loops!(
        "avx2", lanes 4, fence super::fence,
        of::_mm256_set1_pd, of::_mm256_loadu_pd, of::_mm256_storeu_pd, of::_mm256_stream_pd,
        of::_mm256_add_pd, of::_mm256_mul_pd, sum
    );
}

/// Loops with vectors of 128 bits.
pub(super) mod sse2 {
    use std::arch::x86_64 as of;

    super::super::loops!(
        "sse2", lanes 2, fence super::fence,
        of::_mm_set1_pd, of::_mm_loadu_pd, of::_mm_storeu_pd, of::_mm_stream_pd,
        of::_mm_add_pd, of::_mm_mul_pd, super::sum_of_two
    );
}

/// Waits until streaming stores are visible.
fn fence() {
    // SAFETY: every x86-64 has it.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

#[target_feature(enable = "sse2")]
fn sum_of_two(vector: std::arch::x86_64::__m128d) -> f64 {
    use std::arch::x86_64::{_mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd};
    _mm_cvtsd_f64(_mm_add_sd(vector, _mm_unpackhi_pd(vector, vector)))
}
