//! A complete trace of any format.

use crate::blktrace::{BlktraceSource, ByteOrder};
use crate::events::{self, BlockStage};
use crate::iolog::IologSource;
use crate::{Action, EventTime, TraceEvent, TraceSource, damaged};
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

/// Maximum line length of the known formats.
const LONGEST_LINE: u64 = 64 * 1024;

/// A step of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedStep {
    /// Time since the first step, in nanoseconds.
    pub at_ns: u64,
    /// Index into [`Recording::files`].
    pub file: usize,
    /// Action of the step.
    pub action: Action,
}

/// A complete trace, with its steps ordered by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Name of the format.
    pub format: &'static str,
    /// Paths of the files, or `MAJOR:MINOR` of the devices.
    pub files: Vec<PathBuf>,
    /// Steps of the recording, in the order of their times.
    pub steps: Vec<RecordedStep>,
}

impl Recording {
    /// Reads a trace to its end. Its first bytes determine the format.
    ///
    /// # Errors
    /// If the format is unknown, or the trace is damaged or contains no I/O.
    pub fn read(mut input: impl BufRead) -> io::Result<Self> {
        let start = input.fill_buf()?;
        let recording = if let Some(order) = ByteOrder::of(start) {
            let names = Box::new(|major, minor| Some(PathBuf::from(format!("{major}:{minor}"))));
            Self::of("blktrace", BlktraceSource::new(input, order, 0, names))?
        } else if start.starts_with(b"fio version") {
            Self::of("iolog", IologSource::open(input)?)?
        } else {
            Self::of_text(input)?
        };
        let is_io = |step: &RecordedStep| matches!(step.action, Action::Io(_));
        if recording.steps.iter().any(is_io) {
            return Ok(recording);
        }
        Err(damaged(match recording.format {
            "" => {
                "neither an iolog of fio (version 2 or 3), nor a trace of blktrace, nor text of \
                 blkparse, trace-cmd report, perf script or /sys/kernel/tracing/trace with block events"
            }
            _ => "the recording contains no I/O",
        }))
    }

    fn of(format: &'static str, mut source: impl TraceSource) -> io::Result<Self> {
        let mut steps = Vec::new();
        let mut now_ns: Option<u64> = None;
        while let Some(TraceEvent { file, action, time }) = source.next_event()? {
            let at_ns = match time {
                EventTime::At(at_ns) => at_ns.max(now_ns.unwrap_or(0)),
                EventTime::After(wait_ns) => now_ns.unwrap_or(0).saturating_add(wait_ns),
            };
            now_ns = Some(at_ns);
            steps.push(RecordedStep {
                at_ns,
                file,
                action,
            });
        }
        Ok(Self {
            format,
            files: source.files().to_vec(),
            steps: from_zero(steps),
        })
    }

    /// Reads a text trace. Uses the queued I/Os if the trace contains them, else those issued to
    /// the driver.
    fn of_text(mut input: impl BufRead) -> io::Result<Self> {
        let mut seen = Vec::new();
        let mut files = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = (&mut input)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            if read as u64 == LONGEST_LINE && seen.is_empty() {
                break;
            }
            let Some(event) = events::parse(&String::from_utf8_lossy(&line), number)? else {
                continue;
            };
            let name = PathBuf::from(&event.device);
            let file = files.iter().position(|known| *known == name);
            let file = file.unwrap_or_else(|| {
                files.push(name);
                files.len() - 1
            });
            seen.push((event, file));
        }
        let queued = |(event, _): &(events::BlockEvent, usize)| {
            event.stage == BlockStage::Queued && event.action.is_some()
        };
        let wanted = match seen.iter().any(queued) {
            true => BlockStage::Queued,
            false => BlockStage::Issued,
        };
        let mut steps = Vec::with_capacity(seen.len());
        for (event, file) in seen {
            if event.stage != wanted && event.stage != BlockStage::Done {
                continue;
            }
            let flush = (event.flush && event.stage == wanted).then_some(Action::Sync);
            steps.extend(
                flush
                    .into_iter()
                    .chain(event.action)
                    .map(|action| RecordedStep {
                        at_ns: event.at_ns,
                        file,
                        action,
                    }),
            );
        }
        steps.sort_by_key(|step| step.at_ns);
        Ok(Self {
            format: match (steps.is_empty(), wanted) {
                (true, _) => "",
                (_, BlockStage::Queued) => "block events (queued)",
                (_, _) => "block events (issued)",
            },
            files,
            steps: from_zero(steps),
        })
    }
}

/// Makes all times relative to the first step.
fn from_zero(mut steps: Vec<RecordedStep>) -> Vec<RecordedStep> {
    let first_ns = steps.first().map_or(0, |step| step.at_ns);
    for step in &mut steps {
        step.at_ns -= first_ns;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordedIo;
    use assay_model::load::Ddir;
    use proptest::prelude::*;

    fn read(text: &str) -> io::Result<Recording> {
        Recording::read(text.as_bytes())
    }

    #[test]
    fn queued_events_are_taken_before_issued_ones() {
        let text = "\
x-1 [0] 5.000001: block_bio_queue: 8,0 W 8 + 8 [x]
x-1 [0] 5.000002: block_rq_issue: 8,0 W 4096 () 8 + 8 [x]
x-1 [0] 5.000009: block_rq_complete: 8,0 W () 8 + 8 [0]
";
        let recording = read(text).unwrap();
        assert_eq!(recording.format, "block events (queued)");
        assert_eq!(recording.files, [PathBuf::from("8:0")]);
        let at: Vec<u64> = recording.steps.iter().map(|step| step.at_ns).collect();
        assert_eq!(at, [0, 8_000]);
        let issued = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        assert_eq!(read(&issued).unwrap().format, "block events (issued)");
    }

    #[test]
    fn an_iolog_is_read_with_its_times() {
        let recording = read("fio version 3 iolog\n5 f add\n7 f write 0 512\n9 f sync 0 0\n");
        let recording = recording.unwrap();
        let step = Action::Io(RecordedIo {
            ddir: Ddir::Write,
            offset: 0,
            length: 512,
        });
        let steps: Vec<(u64, Action)> = recording
            .steps
            .iter()
            .map(|s| (s.at_ns, s.action))
            .collect();
        assert_eq!(steps, [(0, step), (2_000, Action::Sync)]);
    }

    #[test]
    fn what_is_no_trace_is_named() {
        for (text, words) in [
            ("", "neither an iolog"),
            ("hello\nworld\n", "neither an iolog"),
            ("fio version 3 iolog\n", "no I/O"),
            (
                "x-1 [0] 5.1: block_rq_issue: 8,0 FF 0 () 0 + 0 [x]\n",
                "no I/O",
            ),
        ] {
            let problem = read(text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text:?}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(block_rq_issue: |8,0 |W |[0-9]{1,20} |\\+ |: |\n|.){0,60}") {
            let _ = read(&text);
        }
    }
}
