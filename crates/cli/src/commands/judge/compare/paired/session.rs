//! Two plans at two agents, a turn of one after a turn of the other. An agent waits until
//! its last trial is stored, so whoever is not told so stands still.

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

/// A side under way.
struct Arm<'a> {
    execution: Execution<'a>,
    /// `true` if its agent was asked for anything.
    begun: bool,
    end: Option<Result<RunEnd, Failure>>,
}

/// Both sides.
pub struct Session<'a> {
    arms: [Arm<'a>; 2],
    /// Trials of a turn.
    jobs: usize,
}

impl<'a> Session<'a> {
    /// Sides in the order of [`Side::BOTH`].
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

    /// Makes these turns, until one side ends, a signal comes or `enough` says so of the
    /// trials of both; it is asked when both had as many turns.
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

    /// Ends the session, which a signal may have stopped.
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
    /// Runs each job once; whether its run goes on.
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

    /// Ends its run. `over`: both sides have all that is wanted of them.
    fn close(&mut self, over: bool, recorder: &mut Recorder<'_>) {
        if !self.begun || self.end.is_some() {
            return;
        }
        self.execution.cancel();
        let end = loop {
            match self.execution.hear(recorder) {
                // The one that was under way.
                Ok(Heard::Kept(_)) => {}
                Ok(Heard::Done(RunEnd::Cancelled, _)) if over => break Ok(RunEnd::Finished),
                Ok(Heard::Done(end, _)) => break Ok(end),
                Err(failure) => break Err(failure),
            }
        };
        self.end = Some(end);
    }
}
