//! Machine on which a run was made.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// System around the storage. A value that the kernel does not report is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Host name.
    pub hostname: Option<String>,
    /// Id of this boot from the kernel: equal ids mean the same machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Kernel release, as `uname -r`.
    pub kernel: String,
    /// Machine, as `uname -m`.
    pub machine: String,
    /// Distribution (`PRETTY_NAME` of os-release).
    pub os: Option<String>,
    /// Board or product name (device tree model, or DMI product).
    pub board: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub cpus: u32,
    /// RAM.
    pub memory: Bytes,
    /// Size of a page.
    pub page_size: Bytes,
    /// Clock source of the kernel.
    pub clocksource: Option<String>,
    /// `true` if the agent ran as root; without root some evidence is missing.
    pub root: bool,
}
