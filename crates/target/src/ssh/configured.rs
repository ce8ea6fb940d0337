//! Names of machines in the settings of ssh.

use super::SshAddress;

/// The machines that a `config` of ssh names (ssh_config(5)): the words of its `Host`
/// lines, without patterns. What a file includes, and what `Match` means, is ssh's.
#[must_use]
pub fn configured(config: &str) -> Vec<SshAddress> {
    let mut found: Vec<SshAddress> = Vec::new();
    for line in config.lines() {
        let line = line.trim();
        let mut words = line.split([' ', '\t', '=']).filter(|word| !word.is_empty());
        if !words
            .next()
            .is_some_and(|word| word.eq_ignore_ascii_case("host"))
        {
            continue;
        }
        let names = words.map(|word| word.trim_matches('"'));
        let plain = names.filter(|name| !name.contains(['*', '?', '!']));
        for address in plain.filter_map(|name| format!("ssh://{name}").parse().ok()) {
            if !found.contains(&address) {
                found.push(address);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_without_patterns() {
        let config = "# Host old\nHost board1 board2\n  HostName 10.0.0.1\nhost=\"pi\"\n\
                      Host *.lan !x board1\nHost a;b\nMatch host y\n  HostKeyAlias z\n";
        let names: Vec<String> = configured(config).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["ssh://board1", "ssh://board2", "ssh://pi"]);
    }
}
