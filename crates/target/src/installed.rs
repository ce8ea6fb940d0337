//! Agents that are installed on a machine by `assay agent push` or by a package.
//!
//! An installed agent does not block a machine: if it fails before both sides agree on a protocol
//! and settings are undone, it is given up, and the next shell ends it and receives this program's
//! own agent.

use assay_model::wire::{Feature, Greeting};

/// Shell functions for the machine. `installed COMMAND` calls a command with the path of each agent that may
/// be installed, and `about PATH` prints a line about an installed one, see [`Installed::read`].
///
/// An agent prints its version only when it is started. Therefore only an agent that no one but root and this
/// user can replace is started: neither the file nor any folder above it may belong to others or be writable
/// for them. In a sticky folder of root, such as /tmp, others cannot replace it either.
pub(crate) const FUNCTIONS: &str = "\
    uid=$(id -u); \
    safe() { \
    p=$1; \
    while :; do \
    set -- $(ls -ldn \"$p\" 2>/dev/null); \
    case $1 in d????????[tT]*) [ \"$3\" = 0 ] || return 1;; \"\" | ?????w* | ????????w*) return 1;; esac; \
    [ \"$3\" = 0 ] || [ \"$3\" = \"$uid\" ] || return 1; \
    [ \"$p\" = / ] && return 0; \
    p=${p%/*}; p=${p:-/}; \
    done; \
    }; \
    installed() { \
    for base in \"${HOME:-/root}\" /data/local/tmp; do \
    \"$1\" \"$base/.assay-agent/agent\"; \"$1\" \"$base/.assay-agent/larger\"; \
    done; \
    \"$1\" /usr/libexec/assay/assay-agent; \
    \"$1\" \"$(command -v assay-agent || echo /usr/bin/assay-agent)\"; \
    }; \
    about() { \
    at=$(readlink -f \"$1\" 2>/dev/null); \
    [ -f \"$at\" ] && [ -x \"$at\" ] || return 0; \
    set -- $(sha256sum <\"$at\" 2>/dev/null); \
    limit=; command -v timeout >/dev/null && limit=\"timeout 5\"; \
    if safe \"$at\"; \
    then echo assay-boot stays ${1:--} \"$at|$($limit \"$at\" --version </dev/null 2>/dev/null | { read -r said; echo \"$said\"; })\"; \
    else echo assay-boot foreign ${1:--} \"$at\"; \
    fi; \
    }; ";

/// An agent that is installed on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    /// SHA-256, or `-` if the machine has no sha256sum.
    pub(crate) hash: String,
    pub(crate) path: String,
    /// Only root and the remote user can replace it.
    pub(crate) trusted: bool,
    /// Greeting that the agent prints; agents older than protocol 1 print none.
    pub(crate) greeting: Option<Greeting>,
}

impl Installed {
    /// Parses `stays SUM PATH|GREETING`, or `foreign SUM PATH` for an agent that others can replace.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ')?;
        let (hash, rest) = rest.split_once(' ')?;
        let (path, said) = match word {
            "stays" => rest.split_once('|')?,
            "foreign" => (rest, ""),
            _ => return None,
        };
        Some(Self {
            hash: hash.to_owned(),
            path: path.to_owned(),
            trusted: word == "stays",
            greeting: said.parse().ok(),
        })
    }

    /// Returns `true` if the agent has the feature that a command needs.
    fn is_able(&self, needs: Option<Feature>) -> bool {
        let greeting = self.greeting.as_ref();
        greeting.is_some_and(|greeting| {
            let speaks = greeting.common(&Greeting::of_host()).is_some();
            speaks && needs.is_none_or(|feature| greeting.has(feature))
        })
    }

    /// Returns `true` if the agent reports the build of this program.
    fn is_of_this_build(&self) -> bool {
        let greeting = self.greeting.as_ref();
        greeting.is_some_and(|greeting| greeting.build == Greeting::of_host().build)
    }
}

/// Chooses the agent to use, in this order: the agent with the hash `own` of this program's agent; an agent
/// of another build with the needed feature, which is noted in the record of the run. An agent that reports
/// this build but has another hash is modified, so this program's agent is sent instead. If this program has
/// no agent for the machine, any trusted agent is used: its greeting reports missing features.
pub(crate) fn choose<'i>(
    installed: &'i [Installed],
    own: Option<&str>,
    needs: Option<Feature>,
) -> Option<&'i Installed> {
    let first = |fits: &dyn Fn(&Installed) -> bool| installed.iter().find(|agent| fits(agent));
    first(&|agent| own == Some(&agent.hash))
        .or_else(|| first(&|agent| agent.is_able(needs) && !agent.is_of_this_build()))
        .or_else(|| first(&|agent| own.is_none() && agent.is_able(needs)))
        .or_else(|| first(&|agent| own.is_none() && agent.trusted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Installed {
        Installed::read(line).unwrap()
    }

    #[test]
    fn the_own_agent_comes_first_then_an_able_one_then_any() {
        let here = Greeting::with([Feature::Works]);
        let later = format!("{here}").replacen(&here.build, "9.0.0", 1);
        let silent = read("stays 1 /old|");
        let able = read(&format!("stays 2 /able|{later}"));
        let altered = read(&format!("stays 4 /altered|{here}"));
        let foreign = read("foreign 3 /a b|c");
        assert_eq!(foreign.path, "/a b|c");
        let all = [silent.clone(), foreign.clone(), able.clone()];
        let works = Some(Feature::Works);
        for (own, needs, expected) in [
            (Some("3"), works, Some(&foreign)),
            (Some("9"), works, Some(&able)),
            (Some("9"), Some(Feature::Loads), None),
            (None, works, Some(&able)),
            (None, Some(Feature::Loads), Some(&silent)),
        ] {
            assert_eq!(choose(&all, own, needs), expected, "{own:?} {needs:?}");
        }
        let altered = [altered];
        assert_eq!(choose(&altered, Some("9"), works), None);
        assert_eq!(choose(&altered, None, works), Some(&altered[0]));
        assert_eq!(
            choose(&[foreign], None, None),
            None,
            "others can replace it"
        );
        for line in ["", "stays 1", "stays 1 /a", "left /a"] {
            assert_eq!(Installed::read(line), None, "{line}");
        }
    }
}
