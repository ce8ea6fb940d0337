//! The files that a replay uses, which the trace names.

use super::TraceSummary;
use crate::error::EngineError;
use assay_model::load::PerDirection;
use assay_model::load::trace::Trace;
use std::path::PathBuf;

/// Returns the files of a stream's trace and the directions of the I/Os to
/// each, after the options for skipping and redirection are applied. Empty if
/// the stream replays no trace. Reads the whole trace, in memory that does not
/// grow with its I/Os.
///
/// # Errors
/// If it cannot be replayed, with the same message as
/// [`run`](crate::load::run()).
pub fn traced_files(trace: &Trace) -> Result<Vec<(PathBuf, PerDirection<bool>)>, EngineError> {
    let Some(path) = &trace.read else {
        return Ok(Vec::new());
    };
    let files = TraceSummary::read(path, trace)?.files.into_iter();
    Ok(files.map(|file| (file.path, file.does)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use std::fs;

    /// Returns the files with the initials of their directions.
    fn traced(content: impl AsRef<[u8]>, mut trace: Trace) -> Vec<(String, String)> {
        let scratch = Scratch::new().unwrap();
        let path = scratch.join("trace");
        fs::write(&path, content).unwrap();
        trace.read = Some(path);
        let files = traced_files(&trace).unwrap().into_iter();
        let initials = |does: PerDirection<bool>| {
            let done = does.iter().filter(|(_, done)| **done);
            done.map(|(ddir, _)| &ddir.name()[..1]).collect()
        };
        files
            .map(|(path, does)| (path.display().to_string(), initials(does)))
            .collect()
    }

    fn plain(content: &str) -> Vec<(String, String)> {
        traced(content, Trace::default())
    }

    fn expected(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(path, done): &(&str, &str)| ((*path).to_owned(), (*done).to_owned());
        files.iter().map(owned).collect()
    }

    #[test]
    fn both_versions_of_an_iolog_name_their_files() {
        let log = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a write 0 4096\n";
        assert_eq!(plain(log), expected(&[("/dev/a", "w")]));
        let log = "fio version 3 iolog\n0 /dev/a add\n5 /dev/b add\n9 /dev/b write 0 4096\n\
                   9 /dev/a read 0 1\n";
        assert_eq!(plain(log), expected(&[("/dev/a", "r"), ("/dev/b", "w")]));
    }

    #[test]
    fn actions_are_told_apart() {
        let log = "fio version 2 iolog\n/a add\n/b add\n/c add\n/a write 0 1\n/b trim 0 1\n\
                   /b read 0 1\n/c sync 0 0\n";
        let files = [("/a", "w"), ("/b", "rt"), ("/c", "")];
        assert_eq!(plain(log), expected(&files));
    }

    #[test]
    fn what_is_skipped_is_not_done_and_what_is_redirected_is_done_elsewhere() {
        let log = "fio version 2 iolog\n/a add\n/b add\n/a write 0 1\n/b trim 0 1\n";
        let mut options = Trace::default();
        options.skip.trim = true;
        let files = [("/a", "w"), ("/b", "")];
        assert_eq!(traced(log, options.clone()), expected(&files));
        options.redirect = Some("/c".into());
        assert_eq!(traced(log, options), expected(&[("/c", "w")]));
    }

    #[test]
    fn without_a_trace_there_are_no_files() {
        assert!(traced_files(&Trace::default()).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        let scratch = Scratch::new().unwrap();
        let refused = |content: Option<&[u8]>| {
            let path = scratch.join("trace");
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let trace = Trace {
                read: Some(path),
                ..Trace::default()
            };
            traced_files(&trace).unwrap_err().to_string()
        };
        let long = [b"fio version 3 iolog\n".as_slice(), &[b'a'; 10_000]].concat();
        let cases: [(Option<&[u8]>, &str); 5] = [
            (None, "No such file"),
            (Some(b""), "neither a blktrace file nor an iolog"),
            (Some(b"fio version 3 iolog\n"), "no I/O to replay"),
            (Some(b"fio version 2 iolog\n/a write 0 1\n"), "'/a add'"),
            (Some(&long), "longer than"),
        ];
        for (content, words) in cases {
            let problem = refused(content);
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn a_pipe_is_refused_before_it_is_opened() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let trace = Trace {
            read: Some(path),
            ..Trace::default()
        };
        let problem = traced_files(&trace).unwrap_err().to_string();
        assert!(problem.contains("regular file"), "{problem}");
    }
}
