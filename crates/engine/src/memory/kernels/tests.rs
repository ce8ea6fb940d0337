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
