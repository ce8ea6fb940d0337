//! Two plans at two agents that take turns. An agent waits until its last trial is acknowledged as
//! stored, so that a side pauses as long as the acknowledgement is withheld.
//!
//! Each agent runs a plan as in a single run, so evidence, leftovers, signals and lost agents need
//! nothing new. The headers of both runs name each other and the place of each trial in the session
//! (`assay_model::run::Paired`).

use crate::driver::host::Host;
use crate::driver::plans::{Executed, Execution, Recorder, SoFarOfPlan};
use crate::driver::runs::Ending;
use crate::driver::trials::Heard;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use assay_model::run::RunHeader;
use assay_model::verdict::Side;
use assay_model::wire::RunEnd;
use assay_model::work::acts::Acts;

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
    /// Number of slots in a turn.
    slots: usize,
}

impl<'a> Session<'a> {
    /// Makes a session; the sides are in the order of [`Side::BOTH`].
    pub fn new(
        hosts: [&'a mut Host; 2],
        headers: [&'a RunHeader; 2],
        acts: Option<&'a [Acts; 2]>,
    ) -> Self {
        let [a, b] = hosts;
        let arm = |host, header, acts| Arm {
            execution: match acts {
                None => Execution::new(host, header, Vec::new()),
                Some(acts) => Execution::of_acts(host, header, acts, (Vec::new(), 0), None),
            },
            begun: false,
            end: None,
        };
        let of = |side: Side| acts.map(|acts| &acts[side as usize]);
        Self {
            arms: [
                arm(a, headers[0], of(Side::A)),
                arm(b, headers[1], of(Side::B)),
            ],
            slots: match acts {
                None => headers[0].plan.jobs.len(),
                Some(_) => 1,
            },
        }
    }

    /// Number of slots in a turn.
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Runs the turns until one side ends, a signal comes or `enough` accepts the trials of both;
    /// `enough` is called when both sides have the same number of trials.
    pub fn run(
        &mut self,
        turns: &[Side],
        recorder: &mut Recorder<'_>,
        interrupt: &Interrupt,
        enough: &mut dyn FnMut([SoFarOfPlan<'_>; 2]) -> bool,
    ) {
        let mut over = true;
        for side in turns {
            let stopped = interrupt.exit_code().is_some();
            if stopped || !self.arms[*side as usize].turn(self.slots, recorder) {
                over = false;
                break;
            }
            let done = self.arms.each_ref().map(|arm| arm.execution.so_far());
            if done[0].slots == done[1].slots && enough(done) {
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
    /// Runs each job, or the act, once; returns `false` if the run of this side has ended.
    fn turn(&mut self, slots: usize, recorder: &mut Recorder<'_>) -> bool {
        self.begun = true;
        for _ in 0..slots {
            let heard = self
                .execution
                .next_slot()
                .and_then(|()| recorder.hear(&mut self.execution));
            match heard {
                Ok(Heard::Slot(_)) => {}
                Ok(Heard::Done(end)) => self.end = Some(Ok(end)),
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
            match recorder.hear(&mut self.execution) {
                // The trial that was under way.
                Ok(Heard::Slot(_)) => {}
                Ok(Heard::Done(RunEnd::Cancelled)) if over => break Ok(RunEnd::Finished),
                Ok(Heard::Done(end)) => break Ok(end),
                Err(failure) => break Err(failure),
            }
        };
        self.end = Some(end);
    }
}
