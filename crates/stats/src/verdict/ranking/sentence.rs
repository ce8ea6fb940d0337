//! What can be said of all conditions in one sentence.

use super::Table;

/// Who is at the front, who is slower and on how many metrics.
pub(super) fn of(tables: &[Table], conditions: &[String]) -> String {
    let judged = |name: &&String| tables.iter().any(|table| table.is_judged(name));
    let (all, unjudged): (Vec<&String>, Vec<&String>) = conditions.iter().partition(judged);
    if all.is_empty() {
        return format!(
            "{}: none can be judged, and each metric says why",
            list(&unjudged)
        );
    }
    let mut said = vec![of_judged(tables, &all)];
    if !unjudged.is_empty() {
        said.push(format!("{} cannot be judged", list(&unjudged)));
    }
    said.join("; ")
}

fn of_judged(tables: &[Table], all: &[&String]) -> String {
    let loses = |name: &str, others: &[&String]| {
        let lost = |table: &&Table| others.iter().any(|other| table.is_worse(name, other));
        tables.iter().filter(lost).count()
    };
    let (leaders, others): (Vec<&String>, Vec<&String>) =
        all.iter().copied().partition(|name| loses(name, all) == 0);
    if others.is_empty() {
        return format!("{}: no condition can be told from another", list(all));
    }
    let rivals: &[&String] = if leaders.is_empty() { all } else { &leaders };
    let mut losers: Vec<(usize, &String)> = others
        .iter()
        .map(|name| (loses(name, rivals), *name))
        .collect();
    losers.sort_by_key(|loser| std::cmp::Reverse(loser.0));
    let mut parts = vec![front(tables, &leaders)];
    let slower: Vec<String> = losers
        .iter()
        .filter(|(lost, _)| *lost > 0)
        .enumerate()
        .map(|(i, (lost, name))| {
            let verb = if i == 0 { " is slower" } else { "" };
            let than = than(tables, name, rivals);
            format!("{name}{verb}{than} on {lost} of {}", tables.len())
        })
        .collect();
    if !slower.is_empty() {
        parts.push(slower.join(", "));
    }
    let apart: Vec<&String> = losers
        .iter()
        .filter(|(lost, _)| *lost == 0)
        .map(|(_, name)| *name)
        .collect();
    if !apart.is_empty() {
        parts.push(format!(
            "{}: slower than another, but not than these",
            list(&apart)
        ));
    }
    parts.join("; ")
}

/// Than whom, unless it is all of them.
fn than(tables: &[Table], name: &str, rivals: &[&String]) -> String {
    let beats = |rival: &&&String| tables.iter().any(|table| table.is_worse(name, rival));
    let better: Vec<&String> = rivals.iter().filter(beats).copied().collect();
    if better.len() == rivals.len() {
        return String::new();
    }
    format!(" than {}", list(&better))
}

fn front(tables: &[Table], leaders: &[&String]) -> String {
    let pairs = || {
        let of = |i: usize| leaders[i + 1..].iter().map(move |b| (leaders[i], *b));
        (0..leaders.len()).flat_map(of)
    };
    match leaders {
        [] => "each is slower than another somewhere, so there is no winner".to_owned(),
        [one] => format!("{one} is slower than no other on any metric"),
        _ if pairs().all(|(a, b)| tables.iter().all(|table| table.is_equivalent(a, b))) => {
            format!("{} are equivalent", list(leaders))
        }
        _ => format!("{} cannot be told apart", list(leaders)),
    }
}

fn list(names: &[&String]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).clone(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(|name| name.as_str()).collect();
            format!("{} and {last}", first.join(", "))
        }
    }
}
