//! Wrapper named `ssh` that runs the system's ssh with private settings.

use crate::Unavailable;
use std::fs;
use std::path::Path;

/// Writes an `ssh` wrapper into a folder. It logs in with a key and reads host
/// keys from one file only; `check` is its `StrictHostKeyChecking`.
pub(crate) fn write(
    folder: &Path,
    key: &Path,
    hosts: &Path,
    check: &str,
) -> Result<(), Unavailable> {
    let config = folder.join("config");
    let settings = format!(
        "Host *\n IdentityFile {}\n IdentitiesOnly yes\n IdentityAgent none\n \
         UserKnownHostsFile {}\n GlobalKnownHostsFile /dev/null\n \
         StrictHostKeyChecking {check}\n LogLevel ERROR\n",
        key.display(),
        hosts.display()
    );
    fs::write(&config, settings).map_err(|error| Unavailable(error.to_string()))?;
    let ssh = folder.join("ssh");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}} exec /usr/bin/ssh -F '{}' \"$@\"\n",
        config.display()
    );
    crate::write_program(&ssh, &script)
}
