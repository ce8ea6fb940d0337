//! Block devices.

use super::*;
use assay_testkit::{LoopDevice, Scratch, needs, or_skip};

#[test]
fn a_device_is_written_read_and_discarded() {
    needs!(root, "losetup");
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "disk", 1));
    for engine in movers() {
        let files = [open(device.node(), 0)];
        assert!(files[0].is_device);
        assert_eq!(files[0].size, 1 << 20);
        let all = |ddir| offsets(4).map(|at| unit(ddir, &files[0], at)).collect();
        let done = does(&engine, &files, all(Ddir::Write));
        assert_eq!(results(&done), [Ok(BLOCK); 4], "{}", engine.kind);
        let done = does(&engine, &files, vec![unit(Ddir::Trim, &files[0], 0)]);
        if done[0].result == Err(libc::EOPNOTSUPP) {
            return skip("the device discards nothing");
        }
        assert_eq!(results(&done), [Ok(BLOCK)], "{}", engine.kind);
        for mut read in does(&engine, &files, all(Ddir::Read)) {
            assert_eq!(read.result, Ok(BLOCK), "{}", engine.kind);
            let offset = read.unit.offset;
            let gone = read.unit.remainder().1.iter().all(|&byte| byte == 0);
            assert_eq!(gone, offset == 0, "{}: {offset}", engine.kind);
        }
    }
}
