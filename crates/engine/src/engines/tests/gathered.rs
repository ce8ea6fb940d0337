//! Which blocks vsync moves with one call, counted by the kernel.

use super::*;

/// Read and write calls of this thread so far; `None`: the kernel does not
/// count them.
fn calls() -> Option<(u64, u64)> {
    let io = fs::read_to_string("/proc/thread-self/io").ok()?;
    let count = |name: &str| {
        let line = io.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some((count("syscr:")?, count("syscw:")?))
}

/// Calls that the I/Os took, besides those for looking.
fn calls_for(files: &[OpenFile], units: Vec<IoUnit>) -> Option<(u64, u64)> {
    let look = calls()?;
    let before = calls()?;
    let done = does(&engine(EngineKind::Vsync), files, units);
    let after = calls()?;
    assert!(done.iter().all(|c| c.result == Ok(BLOCK)));
    let looking = before.0 - look.0;
    Some((after.0 - before.0 - looking, after.1 - before.1))
}

#[test]
fn neighbours_of_one_direction_and_file_are_moved_together() {
    let folder = tempfile::tempdir().unwrap();
    let size = 16 * BLOCK as usize;
    let files = [file(&folder, "a", 0, size), file(&folder, "b", 1, size)];
    let blocks = |ddir, file: &OpenFile, order: &[u64]| -> Vec<IoUnit> {
        let at = order.iter().map(|block| block * u64::from(BLOCK));
        at.map(|offset| unit(ddir, file, offset)).collect()
    };
    let Some(took) = calls_for(
        &files,
        blocks(Ddir::Write, &files[0], &[0, 1, 2, 3, 4, 5, 6, 7]),
    ) else {
        return skip("no /proc/thread-self/io");
    };
    assert_eq!(took, (0, 2), "two times the depth");
    let took = calls_for(&files, blocks(Ddir::Read, &files[0], &[0, 1, 5, 6]));
    assert_eq!(took, Some((2, 0)), "a gap");
    let took = calls_for(&files, blocks(Ddir::Read, &files[0], &[3, 2, 1]));
    assert_eq!(took, Some((3, 0)), "backwards");
    let mut mixed = blocks(Ddir::Read, &files[0], &[0, 1]);
    mixed.extend(blocks(Ddir::Write, &files[0], &[2, 3]));
    assert_eq!(calls_for(&files, mixed), Some((1, 1)), "another direction");
    let mut elsewhere = blocks(Ddir::Write, &files[0], &[0, 1]);
    elsewhere.extend(blocks(Ddir::Write, &files[1], &[2, 3]));
    assert_eq!(calls_for(&files, elsewhere), Some((0, 2)), "another file");
}
