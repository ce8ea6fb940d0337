//! Mapped files.

use super::*;
use std::os::unix::fs::FileExt;

#[test]
fn an_empty_file_cannot_be_mapped() {
    struct Opens(OpenFile);
    impl WithEngine for Opens {
        type Output = Result<(), EngineError>;
        fn run<E: IoEngine>(self, mut engine: E) -> Self::Output {
            engine.opened(&self.0)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let empty = Opens(file(&folder, "a", 0, 0));
    let error = with_engine(&engine(EngineKind::Mmap), empty)
        .unwrap()
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cannot map") && text.contains("empty"),
        "{text}"
    );
}

/// A mapped file that somebody made shorter: an error where its pages are
/// missing, and as before when they are back.
#[test]
fn missing_pages_of_a_mapped_file_fail_the_io_alone() {
    struct Shrinks(OpenFile);
    impl WithEngine for Shrinks {
        type Output = ();
        fn run<E: IoEngine>(self, mut engine: E) {
            let file = self.0;
            engine.opened(&file).unwrap();
            let mut io = |ddir, offset| match engine.queue(&file, unit(ddir, &file, offset)) {
                QueueStatus::Completed(completion) => completion.result,
                other => panic!("{other:?}"),
            };
            file.file.set_len(2 * u64::from(BLOCK)).unwrap();
            let far = 6 * u64::from(BLOCK);
            for _ in 0..2 {
                assert_eq!(io(Ddir::Read, far), Err(libc::EIO));
                assert_eq!(io(Ddir::Write, far), Err(libc::EIO));
                assert_eq!(io(Ddir::Read, 0), Ok(BLOCK));
            }
            file.file.set_len(file.size).unwrap();
            assert_eq!(io(Ddir::Write, far), Ok(BLOCK));
            let mut byte = [0];
            file.file.read_exact_at(&mut byte, far).unwrap();
            assert_eq!(byte, [0x60 ^ 0x55], "it reached the file");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, "a", 0, 8 * BLOCK as usize);
    with_engine(&engine(EngineKind::Mmap), Shrinks(file)).unwrap();
}
