//! Two plans at two agents that take turns. An agent waits until its last trial is acknowledged as
//! stored, so that a side pauses as long as the acknowledgement is withheld.

use crate::driver::host::Host;
use crate::driver::plans::{Executed, Execution, Recorder};
use crate::driver::runs::Ending;
use crate::driver::trials::Heard;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use assay_model::run::RunHeader;
use assay_model::trial::TrialRecord;
use assay_model::verdict::Side;
use assay_model::wire::RunEnd;

/// Side of a session under way.
struct Arm<'a> {
    execution: Execution<'a>,
    /// `true` once its agent was asked to run.
    begun: bool,
    end: Option<Result<RunEnd, Failure>>,
}

/// Session of both sides.
pub struct Session<'a> {
    arms: [Arm<'a>; 2],
    /// Number of trials in a turn.
    jobs: usize,
}

impl<'a> Session<'a> {
    /// Makes a session; the sides are in the order of [`Side::BOTH`].
    pub fn new(hosts: [&'a mut Host; 2], headers: [&'a RunHeader; 2]) -> Self {
        let jobs = headers[0].plan.jobs.len();
        let [a, b] = hosts;
        let arm = |host, header| Arm {
            execution: Execution::new(host, header, Vec::new()),
            begun: false,
            end: None,
        };
        Self {
            arms: [arm(a, headers[0]), arm(b, headers[1])],
            jobs,
        }
    }

    /// Runs the turns until one side ends, a signal comes or `enough` accepts the trials of both;
    /// `enough` is called when both sides have the same number of trials.
    pub fn run(
        &mut self,
        turns: &[Side],
        recorder: &mut Recorder<'_>,
        interrupt: &Interrupt,
        enough: &mut dyn FnMut([&[TrialRecord]; 2]) -> bool,
    ) {
        let mut over = true;
        for side in turns {
            let stopped = interrupt.exit_code().is_some();
            if stopped || !self.arms[*side as usize].turn(self.jobs, recorder) {
                over = false;
                break;
            }
            let trials = self.arms.each_ref().map(|arm| arm.execution.trials());
            if trials[0].len() == trials[1].len() && enough(trials) {
                break;
            }
        }
        for arm in &mut self.arms {
            arm.close(over, recorder);
        }
    }

    /// Returns the trials and the end of each side; `signal` is the exit code of a signal.
    pub fn finish(self, signal: Option<u8>) -> [Executed; 2] {
        self.arms.map(|arm| Executed {
            trials: arm.execution.finish(),
            ended: match arm.end {
                Some(end) => end.map(|end| Ending::of(end, signal)),
                None => Ok(Ending::of(RunEnd::Cancelled, signal)),
            },
        })
    }
}

impl Arm<'_> {
    /// Runs each job once; returns `false` if the run of this side has ended.
    fn turn(&mut self, jobs: usize, recorder: &mut Recorder<'_>) -> bool {
        self.begun = true;
        for _ in 0..jobs {
            let heard = self
                .execution
                .go_on()
                .and_then(|()| self.execution.hear(recorder));
            match heard {
                Ok(Heard::Kept(_)) => {}
                Ok(Heard::Done(end, _)) => self.end = Some(Ok(end)),
                Err(failure) => self.end = Some(Err(failure)),
            }
            if self.end.is_some() {
                return false;
            }
        }
        true
    }

    /// Ends the run of this side. `over`: the session is complete, so that this is not an interruption.
    fn close(&mut self, over: bool, recorder: &mut Recorder<'_>) {
        if !self.begun || self.end.is_some() {
            return;
        }
        self.execution.cancel();
        let end = loop {
            match self.execution.hear(recorder) {
                // The trial that was under way.
                Ok(Heard::Kept(_)) => {}
                Ok(Heard::Done(RunEnd::Cancelled, _)) if over => break Ok(RunEnd::Finished),
                Ok(Heard::Done(end, _)) => break Ok(end),
                Err(failure) => break Err(failure),
            }
        };
        self.end = Some(end);
    }
}
