//! What a stream may ask of its engine.

use super::*;
use std::os::unix::fs::OpenOptionsExt;

#[test]
fn options_of_a_ring_move_the_same_bytes() {
    if let Err(why) = usable(EngineKind::IoUring) {
        skip(&why.to_string());
        return;
    }
    let plain = engine(EngineKind::IoUring);
    let registers = Engine {
        register_files: true,
        ..plain.clone()
    };
    let polled = Engine {
        sq_thread_poll: true,
        ..plain.clone()
    };
    let both = Engine {
        sq_thread_poll: true,
        ..registers.clone()
    };
    for engine in [plain, registers, polled, both] {
        writes_and_reads_back(&engine);
    }
}

/// Either the cache has it or the call says so, instead of waiting.
#[test]
fn nowait_reads_what_is_cached() {
    for kind in [EngineKind::Pvsync2, EngineKind::IoUring, EngineKind::Libaio] {
        if let Err(why) = usable(kind) {
            skip(&why.to_string());
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let files = [file(&folder, "a", 0, 4 * BLOCK as usize)];
        let nowait = Engine {
            nowait: true,
            ..engine(kind)
        };
        let units = offsets(4)
            .map(|at| unit(Ddir::Read, &files[0], at))
            .collect();
        for read in does(&nowait, &files, units) {
            match read.result {
                Err(libc::EOPNOTSUPP) => skip(&format!("{kind}: no RWF_NOWAIT here")),
                result => assert_eq!(result, Ok(BLOCK), "{kind}"),
            }
        }
    }
}

/// Polled, if the device can be: each I/O ends, with its data or the kernel's
/// refusal. (A file that is not open for direct I/O cannot.)
#[test]
fn polled_io_ends_either_way() {
    for kind in [EngineKind::Pvsync2, EngineKind::IoUring] {
        if let Err(why) = usable(kind) {
            skip(&why.to_string());
            continue;
        }
        let polled = Engine {
            hipri: true,
            ..engine(kind)
        };
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, "a", 0, 4 * BLOCK as usize).path;
        for direct in [false, true] {
            let flags = if direct { libc::O_DIRECT } else { 0 };
            let Ok(opened) = File::options().read(true).custom_flags(flags).open(&path) else {
                skip("no direct I/O here");
                continue;
            };
            let files = [OpenFile::new(opened, 0, &path, false).unwrap()];
            let reads = offsets(4).map(|at| unit(Ddir::Read, &files[0], at));
            for read in does(&polled, &files, reads.collect()) {
                match read.result {
                    Err(libc::EOPNOTSUPP) => {}
                    result => assert_eq!(result, Ok(BLOCK), "{kind} direct={direct}"),
                }
            }
        }
    }
}

/// A class that no kernel knows is refused, so that it was handed over.
#[test]
fn a_ring_hands_over_priorities() {
    if let Err(why) = usable(EngineKind::IoUring) {
        skip(&why.to_string());
        return;
    }
    assert_eq!(
        read_with(EngineKind::IoUring, IoPriority::new(5, 0)),
        Err(libc::EINVAL)
    );
    assert_eq!(
        read_with(EngineKind::IoUring, IoPriority::new(2, 7)),
        Ok(BLOCK)
    );
}

#[test]
fn libaio_takes_priorities() {
    if let Err(why) = usable(EngineKind::Libaio) {
        skip(&why.to_string());
        return;
    }
    assert_eq!(
        read_with(EngineKind::Libaio, IoPriority::new(2, 7)),
        Ok(BLOCK)
    );
}

fn read_with(kind: EngineKind, priority: IoPriority) -> Result<u32, i32> {
    let folder = tempfile::tempdir().unwrap();
    let files = [file(&folder, "a", 0, BLOCK as usize)];
    let mut read = unit(Ddir::Read, &files[0], 0);
    read.priority = priority;
    let done = does(&engine(kind), &files, vec![read]);
    done.into_iter().next().unwrap().result
}
