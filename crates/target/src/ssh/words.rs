//! Explanations of ssh's error messages.

use super::SshAddress;
use crate::complaint::Complaints;

/// Returns why a machine cannot be reached, and a remedy.
pub(super) fn of(complaints: &Complaints, address: &SshAddress) -> String {
    let says = |words: &str| complaints.with(words).is_some();
    let by_hand = address.by_hand();
    if says("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        return format!(
            "its host key has changed: it was reinstalled, or it is another machine. If that is \
             expected, remove the old key: ssh-keygen -R '{}'",
            address.known_as()
        );
    }
    if says("Host key verification failed") {
        return format!(
            "its host key is not known here: log in once by hand and confirm it ({by_hand})"
        );
    }
    if let Some(line) = complaints.with("Permission denied") {
        return format!(
            "login refused ({line}); assay does not ask for passwords, so {by_hand} has to \
             work with a key"
        );
    }
    complaints
        .last()
        .unwrap_or_else(|| format!("ssh ended without an error message: try {by_hand} by hand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(stderr: &str) -> String {
        let address = "ssh://root@board:2222".parse().unwrap();
        of(&Complaints::of(stderr), &address)
    }

    #[test]
    fn what_ssh_says_at_length_is_one_line_with_a_remedy() {
        for (stderr, expected) in [
            (
                "@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@\nHost key \
                 verification failed.\n",
                "ssh-keygen -R '[board]:2222'",
            ),
            (
                "No ED25519 host key is known\r\nHost key verification failed.\r\n",
                "(ssh -p 2222 root@board)",
            ),
            (
                "root@board: Permission denied (publickey).\n",
                "does not ask for passwords",
            ),
            (
                "ssh: connect to host board port 2222: Connection refused\n",
                "port 2222: Connection refused",
            ),
            ("", "without an error message"),
        ] {
            let said = words(stderr);
            assert!(said.contains(expected), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
}
