//! The system's ssh with settings of its own, by the same name.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes an `ssh` in a folder that logs in with a key and looks for host keys in
/// that file only; `check` is its `StrictHostKeyChecking`.
pub(crate) fn write(folder: &Path, key: &Path, hosts: &Path, check: &str) -> io::Result<()> {
    let config = folder.join("config");
    let settings = format!(
        "Host *\n IdentityFile {}\n IdentitiesOnly yes\n IdentityAgent none\n \
         UserKnownHostsFile {}\n GlobalKnownHostsFile /dev/null\n \
         StrictHostKeyChecking {check}\n LogLevel ERROR\n",
        key.display(),
        hosts.display()
    );
    fs::write(&config, settings)?;
    let ssh = folder.join("ssh");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}} exec /usr/bin/ssh -F '{}' \"$@\"\n",
        config.display()
    );
    fs::write(&ssh, script)?;
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755))
}
