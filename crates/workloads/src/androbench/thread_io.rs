//! Kernel I/O counters of this thread's own calls.

use std::fs;

/// Lines of `/proc/thread-self/io`: what the thread handed to `write(2)` and
/// its kin, wherever it went. (Writes through a memory map are not among them.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadIo {
    /// `wchar`.
    pub(crate) bytes: u64,
    /// `syscw`.
    pub(crate) calls: u64,
}

impl ThreadIo {
    /// `None` where the kernel does not count (before Linux 3.17, or without
    /// `CONFIG_TASK_IO_ACCOUNTING`).
    pub(crate) fn look() -> Option<Self> {
        parse(&fs::read_to_string("/proc/thread-self/io").ok()?)
    }

    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            calls: self.calls.saturating_sub(before.calls),
        }
    }
}

fn parse(text: &str) -> Option<ThreadIo> {
    let value = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some(ThreadIo {
        bytes: value("wchar")?,
        calls: value("syscw")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_are_found_by_their_names() {
        let text = "rchar: 1\nwchar: 8192\nsyscr: 2\nsyscw: 3\nwrite_bytes: 4096\n";
        let found = ThreadIo {
            bytes: 8192,
            calls: 3,
        };
        assert_eq!(parse(text), Some(found));
        assert_eq!(parse("rchar: 1\n"), None);
    }

    #[test]
    fn only_writes_of_this_thread_count() {
        let Some(before) = ThreadIo::look() else {
            assay_testkit::skip("this kernel does not count the I/O of threads");
            return;
        };
        let other = std::thread::spawn(|| tempfile::tempfile().unwrap().write_all(&[1; 500]));
        other.join().unwrap().unwrap();
        tempfile::tempfile().unwrap().write_all(&[1; 100]).unwrap();
        let seen = ThreadIo::look().unwrap().since(before);
        assert_eq!((seen.bytes, seen.calls), (100, 1));
    }
}
