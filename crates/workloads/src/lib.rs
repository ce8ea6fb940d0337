//! Works, which are more than one block job: `assay dd`, `iozone`, `androbench`, `disks`,
//! `capacity`, `scenario` and `watch` on the target.
//!
//! [`run`] carries out a work of `assay_model::act`, step by step. It does not access
//! device properties, counters or the host: an [`Observer`] receives the events of each
//! step, collects evidence when its clock starts and stops, and forwards the outcome.

mod androbench;
mod capacity;
mod copy;
mod error;
mod extent;
mod files;
mod iozone;
#[cfg(feature = "sqlite")]
pub mod memory;
mod observer;
#[cfg(feature = "sqlite")]
mod powercut;
#[cfg(feature = "sqlite")]
mod scenario;
#[cfg(feature = "sqlite")]
pub mod soak;

pub use error::ActError;
pub use observer::{Context, ObservedStep, Observer, StepOutcome, Together};

use assay_model::act::{Act, ActReport};

/// Carries out a work.
///
/// # Errors
/// If it cannot begin, cannot continue, or was stopped. The observer has received the
/// steps that ended before.
pub fn run(work: &Act, context: &mut Context<'_>) -> Result<ActReport, ActError> {
    match work {
        Act::Copy(work) => copy::run(work, context),
        Act::Iozone(work) => iozone::run(work, context),
        Act::AndroBench(work) => androbench::run(work, context),
        Act::Extent(work) => extent::run(work, context),
        Act::Capacity(work) => capacity::run(work, context),
        #[cfg(feature = "sqlite")]
        Act::Scenario(work) => scenario::run(work, context),
        #[cfg(feature = "sqlite")]
        Act::Powercut(work) => powercut::run(work, context),
        #[cfg(not(feature = "sqlite"))]
        Act::Scenario(_) | Act::Powercut(_) => Err(ActError::Refused(
            "this agent was built without scenarios and power cuts: use the larger one (assay-agent-...-sqlite)"
                .to_owned(),
        )),
        // What they need of the machine is the agent's to look up.
        Act::Streams(_) | Act::Memory(_) | Act::Soak(_) | Act::Watch(_) => {
            Err(ActError::Refused("this work is not carried out on files: it is a bug in assay, please report it".to_owned()))
        }
    }
}
