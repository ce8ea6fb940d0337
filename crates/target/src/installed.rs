//! Agents that are installed on a machine: by `assay agent push`, or by a package.

use assay_model::wire::{Feature, Greeting};

/// Functions for a shell on the machine. `installed COMMAND` calls a command with the path of each
/// agent that may be installed, and `about PATH` prints a line about one that is, see
/// [`Installed::read`].
///
/// An agent says what it is when it is started, so only one is started that nobody but root and
/// this user can replace: neither the file nor any folder above it may belong to others or let them
/// write. In a sticky folder of root, such as /tmp, others cannot replace it either.
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
    /// SHA-256, or `-` where the machine cannot tell.
    pub(crate) hash: String,
    pub(crate) path: String,
    /// Only root and the user there can replace it.
    pub(crate) trusted: bool,
    /// What it says of itself; agents from before protocol 1 say nothing.
    pub(crate) greeting: Option<Greeting>,
}

impl Installed {
    /// Reads `stays SUM PATH|GREETING`, or `foreign SUM PATH` of one that others can replace.
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

    /// Returns true if it can do what a command needs.
    fn is_able(&self, needs: Option<Feature>) -> bool {
        let greeting = self.greeting.as_ref();
        greeting.is_some_and(|greeting| {
            let speaks = greeting.common(&Greeting::of_host()).is_some();
            speaks && needs.is_none_or(|feature| greeting.has(feature))
        })
    }

    /// Returns true if it is called as the build of this program.
    fn is_of_this_build(&self) -> bool {
        let greeting = self.greeting.as_ref();
        greeting.is_some_and(|greeting| greeting.build == Greeting::of_host().build)
    }
}

/// Chooses the agent to use: the one that is this program's, `own` by its hash, else one that is
/// able and of another build, which runs note. One of this build with another hash is not what it
/// says, so the own one is sent instead. For a machine that this program has no agent for, any that may be started is better than
/// none: it says in its greeting what it lacks.
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
