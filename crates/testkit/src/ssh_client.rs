//! The system's ssh with settings of its own, by the same name.

use crate::Unavailable;
use std::fs;
use std::path::Path;

/// Makes an `ssh` in a folder that logs in with a key and looks for host keys in
/// that file only; `check` is its `StrictHostKeyChecking`.
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
