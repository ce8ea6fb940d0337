//! Exit code of `assay fio`.

use crate::exit::{DATA_MISMATCH, SIGNALLED};
use assay_model::load::report::LoadReport;
use std::process::ExitCode;

/// Largest exit code for failures: to shells, 126 and 127 mean that a command cannot be run, and
/// higher codes are signals.
const MOST_FAILURES: u8 = 125;

/// Returns fio's exit code: 128 after a signal, else the number of failed jobs. There are two
/// differences to fio: a number too large for an exit code does not wrap round to 0, and a failed
/// verification is never 0.
pub fn exit_code(report: &LoadReport, stopped: bool) -> ExitCode {
    ExitCode::from(code(report, stopped))
}

fn code(report: &LoadReport, stopped: bool) -> u8 {
    // A signal may have stopped the agent alone.
    if stopped || report.stopped {
        return SIGNALLED;
    }
    let streams = || report.streams.iter();
    let failed = streams().filter(|stream| stream.errno != 0).count();
    let mismatch = streams().any(|stream| stream.data_mismatches > 0);
    match u8::try_from(failed) {
        Ok(0) if mismatch => DATA_MISMATCH,
        Ok(failed) => failed.min(MOST_FAILURES),
        Err(_) => MOST_FAILURES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::load::report::StreamReport;

    fn report(failed: usize, mismatches: u64) -> LoadReport {
        let mut streams = vec![
            StreamReport {
                errno: 5,
                ..StreamReport::default()
            };
            failed
        ];
        streams.push(StreamReport {
            data_mismatches: mismatches,
            ..StreamReport::default()
        });
        LoadReport {
            streams,
            ..LoadReport::default()
        }
    }

    #[test]
    fn failed_jobs_are_counted_and_never_wrap_to_success() {
        assert_eq!(code(&report(0, 0), false), 0);
        assert_eq!(code(&report(3, 0), false), 3);
        for many in [126, 127, 255, 256, 3000] {
            assert_eq!(code(&report(many, 0), false), 125);
        }
        assert_eq!(code(&report(0, 0), true), 128);
        let stopped = LoadReport {
            stopped: true,
            ..report(0, 0)
        };
        assert_eq!(code(&stopped, false), 128);
    }

    #[test]
    fn a_mismatch_is_no_success() {
        assert_eq!(code(&report(0, 1), false), 4);
        assert_eq!(code(&report(2, 1), false), 2);
    }
}
