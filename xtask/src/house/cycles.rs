//! Import cycles between the modules of a crate that have the same parent.
//!
//! A child may use its parent's items, and a parent its children's. A re-exported item counts
//! for the module that defines it.

use super::source::{Crate, ItemPath, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Modules that import each other, directly or indirectly.
#[derive(Debug)]
pub struct Cycle {
    pub parent: ItemPath,
    pub modules: Vec<String>,
    /// Imports between each pair of modules: file and path.
    pub imports: BTreeMap<(String, String), Vec<String>>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent.join("::");
        let parent = if parent.is_empty() { "crate" } else { &parent };
        write!(f, "{parent}: {}", self.modules.join(", "))
    }
}

/// Finds all cycles of a crate.
pub fn cycles(krate: &Crate) -> Vec<Cycle> {
    let modules: BTreeMap<&[String], &Module> = krate
        .modules
        .iter()
        .map(|module| (module.names.as_slice(), module))
        .collect();
    let mut parents: BTreeMap<ItemPath, Graph> = BTreeMap::new();
    for (from, module) in &modules {
        for path in &module.paths {
            let to = owner(&modules, path, 0);
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(shared), to.get(shared)) {
                let graph = parents.entry(from[..shared].to_vec()).or_default();
                let imports = graph.imports.entry((a.clone(), b.clone())).or_default();
                imports.push(format!("{} uses {}", from.join("::"), path.join("::")));
            }
        }
    }
    parents
        .into_iter()
        .flat_map(|(parent, graph)| graph.cycles(&parent))
        .collect()
}

/// Returns the module that defines the item of a path.
fn owner<'a>(
    modules: &BTreeMap<&'a [String], &'a Module>,
    path: &[String],
    re_exports: usize,
) -> &'a [String] {
    let length = (0..=path.len())
        .rev()
        .find(|n| modules.contains_key(&path[..*n]));
    let Some((names, module)) = length.and_then(|n| modules.get_key_value(&path[..n])) else {
        return &[];
    };
    let rest = &path[names.len()..];
    let Some(item) = rest.first() else {
        return names;
    };
    // Stops at a depth of 8, because a name can be imported from a module that imports it back.
    if re_exports > 8 || module.items.contains(item) {
        return names;
    }
    let defines =
        |module: &Module| module.items.contains(item) || module.imports.contains_key(item);
    if let Some(target) = module.imports.get(item) {
        return owner(modules, &[target, &rest[1..]].concat(), re_exports + 1);
    }
    let mut globs = module.globs.iter();
    match globs.find(|glob| modules.get(glob.as_slice()).is_some_and(|m| defines(m))) {
        Some(glob) => owner(modules, &[glob, rest].concat(), re_exports + 1),
        None => names,
    }
}

#[derive(Default)]
struct Graph {
    imports: BTreeMap<(String, String), Vec<String>>,
}

impl Graph {
    /// Finds groups of modules in which each module reaches all others.
    fn cycles(self, parent: &ItemPath) -> Vec<Cycle> {
        let modules: BTreeSet<&String> = self.imports.keys().map(|(from, _)| from).collect();
        let reached: BTreeMap<&String, BTreeSet<&String>> = modules
            .iter()
            .map(|module| (*module, self.reached(module)))
            .collect();
        let reaches = |a: &String, b: &String| reached.get(a).is_some_and(|all| all.contains(b));
        let mut done = BTreeSet::new();
        let mut found = Vec::new();
        for &module in &modules {
            if !reaches(module, module) || !done.insert(module) {
                continue;
            }
            let group = modules.iter().copied();
            let group: BTreeSet<&String> = group
                .filter(|other| reaches(module, other) && reaches(other, module))
                .collect();
            done.extend(&group);
            let inside = self.imports.iter();
            let inside = inside.filter(|((a, b), _)| group.contains(a) && group.contains(b));
            found.push(Cycle {
                parent: parent.clone(),
                imports: inside
                    .map(|(pair, all)| (pair.clone(), all.clone()))
                    .collect(),
                modules: group.into_iter().cloned().collect(),
            });
        }
        found
    }

    fn reached<'a>(&'a self, from: &String) -> BTreeSet<&'a String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(module) = open.pop() {
            for (a, b) in self.imports.keys() {
                if a == module && reached.insert(b) {
                    open.push(b);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(modules: &[(&str, &str)]) -> Vec<String> {
        let modules = modules.iter().map(|(names, text)| {
            let names = names.split("::").filter(|name| !name.is_empty());
            Module::read(names.map(str::to_owned).collect(), text).unwrap()
        });
        let krate = Crate {
            modules: modules.collect(),
            ..Crate::default()
        };
        cycles(&krate).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn siblings_that_use_each_other_are_a_cycle() {
        let b = ("b", "fn f() { crate::c::g(); }");
        assert_eq!(
            found(&[
                ("", ""),
                ("a", "use crate::b::f;"),
                b,
                ("c", "use super::a::x;")
            ]),
            ["crate: a, b, c"]
        );
        assert_eq!(found(&[("", ""), ("a", "use crate::b::f;"), b]), [""; 0]);
    }

    #[test]
    fn parents_and_children_may_use_each_other() {
        let child = ("a::b", "use super::T; use crate::U;");
        assert_eq!(
            found(&[("", "use a::b::V;"), ("a", "use b::V;"), child]),
            [""; 0]
        );
        let nested = [
            ("a", ""),
            ("a::b", "use super::c::X;"),
            ("a::c", "use crate::a::b::Y;"),
        ];
        assert_eq!(found(&nested), ["a: b, c"]);
    }

    #[test]
    fn a_re_export_is_an_import_of_what_it_names() {
        let root = ("", "pub use b::T; pub use c::*;");
        let a = ("a", "use crate::{T, U};");
        let (b, c) = (
            ("b", "pub struct T; use crate::a::x;"),
            ("c", "pub struct U;"),
        );
        assert_eq!(found(&[root, a, b, c]), ["crate: a, b"]);
        let c = ("c", "pub struct U; use crate::a::x;");
        assert_eq!(found(&[root, a, b, c]), ["crate: a, b, c"]);
    }

    #[test]
    fn imports_of_tests_do_not_count() {
        let a = ("a", "#[cfg(test)] mod tests { use crate::b::f; }");
        assert_eq!(found(&[("", ""), a, ("b", "use crate::a::x;")]), [""; 0]);
    }
}
