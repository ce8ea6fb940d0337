//! Summary of a ranking in one sentence.

use super::RankingTable;
use assay_lang::{enumerate, tr};
use std::fmt::{self, Display, Formatter};

/// Best conditions, slower conditions and the number of metrics on which they are slower; formatted
/// by `Display`.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    front: Front,
    /// Results of conditions compared with a baseline.
    beside: Vec<Beside>,
    /// Slower conditions, sorted by the number of metrics.
    slower: Vec<Slower>,
    /// Conditions that are slower than another, but not than the best ones.
    apart: Vec<String>,
    /// Conditions that no metric can judge.
    unjudged: Vec<String>,
    /// Number of metrics examined.
    metrics: usize,
}

/// Best conditions, which no other one beats.
#[derive(Clone, Debug, PartialEq)]
enum Front {
    /// No condition can be judged.
    Unjudged,
    /// All conditions.
    Everyone(Vec<String>),
    /// No condition: each is slower than another on some metric.
    Nobody,
    /// A single condition.
    One(String),
    /// Several conditions that are equivalent on every metric.
    Equivalent(Vec<String>),
    /// Several conditions that are not all equivalent.
    NotApart(Vec<String>),
    /// The baseline, with which all others were compared.
    Baseline(String),
}

/// Comparison with the baseline: numbers of metrics on which the condition is better, worse and
/// equivalent.
#[derive(Clone, Debug, PartialEq)]
struct Beside {
    name: String,
    faster: usize,
    slower: usize,
    equivalent: usize,
}

/// Counts the results of each condition against `baseline`.
pub(super) fn against(
    tables: &[&RankingTable<'_>],
    conditions: &[String],
    baseline: &str,
) -> Standings {
    let on = |is: &dyn Fn(&RankingTable<'_>) -> bool| tables.iter().filter(|t| is(t)).count();
    let judged = |name: &&String| tables.iter().any(|table| table.is_judged(name));
    let others = conditions.iter().filter(|name| *name != baseline);
    let (others, unjudged): (Vec<&String>, Vec<&String>) = others.partition(judged);
    let beside = others.iter().map(|name| Beside {
        name: (*name).clone(),
        faster: on(&|table| table.is_slower(baseline, name)),
        slower: on(&|table| table.is_slower(name, baseline)),
        equivalent: on(&|table| table.is_equivalent(name, baseline)),
    });
    Standings {
        front: match others.is_empty() {
            true => Front::Unjudged,
            false => Front::Baseline(baseline.to_owned()),
        },
        beside: beside.collect(),
        slower: Vec::new(),
        apart: Vec::new(),
        unjudged: owned(&unjudged),
        metrics: tables.len(),
    }
}

/// A condition that is slower than some of the best ones.
#[derive(Clone, Debug, PartialEq)]
struct Slower {
    name: String,
    /// Best conditions that it is slower than; empty if it is slower than all of them.
    than: Vec<String>,
    /// Number of metrics on which it is slower.
    on: usize,
}

/// Determines the best, slower and unjudged conditions.
pub(super) fn of(tables: &[&RankingTable<'_>], conditions: &[String]) -> Standings {
    let loses = |name: &str, others: &[&String]| {
        let lost =
            |table: &&&RankingTable<'_>| others.iter().any(|other| table.is_slower(name, other));
        tables.iter().filter(lost).count()
    };
    let judged = |name: &&String| tables.iter().any(|table| table.is_judged(name));
    let (all, unjudged): (Vec<&String>, Vec<&String>) = conditions.iter().partition(judged);
    let (leaders, others): (Vec<&String>, Vec<&String>) =
        all.iter().copied().partition(|name| loses(name, &all) == 0);
    let rivals = if leaders.is_empty() { &all } else { &leaders };
    let mut losers: Vec<(usize, &String)> = others
        .iter()
        .map(|name| (loses(name, rivals), *name))
        .collect();
    losers.sort_by_key(|loser| std::cmp::Reverse(loser.0));
    let (slower, apart): (Vec<_>, Vec<_>) = losers.into_iter().partition(|(lost, _)| *lost > 0);
    let slower = slower.into_iter().map(|(on, name)| Slower {
        name: name.clone(),
        than: than(tables, name, rivals),
        on,
    });
    Standings {
        front: match (all.is_empty(), others.is_empty()) {
            (true, _) => Front::Unjudged,
            (false, true) => match front(tables, &all) {
                equivalent @ Front::Equivalent(_) => equivalent,
                _ => Front::Everyone(owned(&all)),
            },
            (false, false) => front(tables, &leaders),
        },
        beside: Vec::new(),
        unjudged: owned(&unjudged),
        slower: slower.collect(),
        apart: apart.into_iter().map(|(_, name)| name.clone()).collect(),
        metrics: tables.len(),
    }
}

/// Returns the rivals that beat a condition; empty if all do, which needs no mention.
fn than(tables: &[&RankingTable<'_>], name: &str, rivals: &[&String]) -> Vec<String> {
    let beats = |rival: &&&String| tables.iter().any(|table| table.is_slower(name, rival));
    let better: Vec<&String> = rivals.iter().filter(beats).copied().collect();
    match better.len() == rivals.len() {
        true => Vec::new(),
        false => owned(&better),
    }
}

fn front(tables: &[&RankingTable<'_>], leaders: &[&String]) -> Front {
    let pairs = || {
        let of = |i: usize| leaders[i + 1..].iter().map(move |b| (leaders[i], *b));
        (0..leaders.len()).flat_map(of)
    };
    match leaders {
        [] => Front::Nobody,
        [one] => Front::One((*one).clone()),
        _ if pairs().all(|(a, b)| tables.iter().all(|table| table.is_equivalent(a, b))) => {
            Front::Equivalent(owned(leaders))
        }
        _ => Front::NotApart(owned(leaders)),
    }
}

fn owned(names: &[&String]) -> Vec<String> {
    names.iter().map(|name| (*name).clone()).collect()
}

impl Display for Standings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.front == Front::Unjudged {
            let names = enumerate(&self.unjudged);
            let none = tr!(
                "{names}: none can be judged, and each metric says why",
                names
            );
            return f.write_str(&none);
        }
        self.front.fmt(f)?;
        let beside = self.beside.iter().map(|beside| beside.clause(self.metrics));
        f.write_str(&beside.collect::<Vec<_>>().join(", "))?;
        for (place, slower) in self.slower.iter().enumerate() {
            f.write_str(if place == 0 { "; " } else { ", " })?;
            f.write_str(&slower.clause(place == 0, self.metrics))?;
        }
        if !self.apart.is_empty() {
            let names = enumerate(&self.apart);
            let apart = tr!("{names}: slower than another, but not than these", names);
            write!(f, "; {apart}")?;
        }
        if !self.unjudged.is_empty() {
            let names = enumerate(&self.unjudged);
            write!(f, "; {}", tr!("{names} cannot be judged", names))?;
        }
        Ok(())
    }
}

impl Display for Front {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let told = match self {
            Self::Everyone(names) => {
                let names = enumerate(names);
                tr!("no difference found between {names}", names)
            }
            Self::Unjudged => String::new(),
            Self::Nobody => {
                tr!("each is slower than another somewhere, so there is no winner").to_owned()
            }
            Self::One(one) => tr!("{one} is best: nothing beats it on any metric", one),
            Self::Equivalent(names) => tr!("{names} are equivalent", names = enumerate(names)),
            Self::NotApart(names) => tr!("{names} cannot be told apart", names = enumerate(names)),
            Self::Baseline(name) => tr!("against {name}: ", name),
        };
        f.write_str(&told)
    }
}

impl Beside {
    fn clause(&self, metrics: usize) -> String {
        let Self {
            name,
            faster,
            slower,
            equivalent,
        } = self;
        match (*faster, *slower) {
            (0, 0) if *equivalent == metrics => tr!("{name} is equivalent", name),
            (0, 0) => tr!("{name} cannot be told from it", name),
            (_, 0) => tr!(
                "{name} is faster on {faster} of {metrics}",
                name,
                faster,
                metrics
            ),
            (0, _) => tr!(
                "{name} is slower on {on} of {metrics}",
                name,
                on = slower,
                metrics
            ),
            _ => tr!(
                "{name} is faster on {faster} and slower on {slower} of {metrics}",
                name,
                faster,
                slower,
                metrics
            ),
        }
    }
}

impl Slower {
    /// Formats the clause; only the first one contains the verb.
    fn clause(&self, first: bool, metrics: usize) -> String {
        let (name, on, than) = (&self.name, self.on, enumerate(&self.than));
        match (first, than.is_empty()) {
            (true, true) => tr!("{name} is slower on {on} of {metrics}", name, on, metrics),
            (true, false) => tr!(
                "{name} is slower than {than} on {on} of {metrics}",
                name,
                than,
                on,
                metrics
            ),
            (false, true) => tr!("{name} on {on} of {metrics}", name, on, metrics),
            (false, false) => tr!(
                "{name} than {than} on {on} of {metrics}",
                name,
                than,
                on,
                metrics
            ),
        }
    }
}
