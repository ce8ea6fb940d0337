//! aarch64: NEON, which every such processor has. Its streaming stores (`STNP`)
//! are a hint.

use std::arch::aarch64::{float64x2_t, vaddvq_f64};

/// # Safety
/// `to` must be valid for a write of one vector.
unsafe fn stream(to: *mut f64, value: float64x2_t) {
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
const fn fence() {}

fn sum(vector: float64x2_t) -> f64 {
    // SAFETY: every aarch64 processor that runs Linux has NEON.
    unsafe { vaddvq_f64(vector) }
}

/// The loops.
pub(super) mod loops {
    use std::arch::aarch64 as of;

    super::super::loops!(
        "neon", lanes 2, fence super::fence,
        of::vdupq_n_f64, of::vld1q_f64, of::vst1q_f64, super::stream,
        of::vaddq_f64, of::vmulq_f64, super::sum
    );
}
