//! `cargo xtask house`: size of the source, and properties that make it hard to read.
//!
//! One of them is import cycles between the modules of a crate that have the same parent. A child
//! may use its parent's items, and a parent its children's. A re-exported item counts for the
//! module that defines it.

mod source;

use crate::run::{output, workspace};
use anyhow::{Context, Result, bail};
use source::{Crate, Function, ItemPath, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const HELP: &str = "cargo xtask house [--check] [--commit REV] [CRATE]...";

/// Number of longest functions, longest files and most shared names to print.
const LONGEST: usize = 10;

/// Prints the report, or the imports that form cycles in the named crates.
pub fn run(words: &[&str]) -> Result<()> {
    match words {
        [] => {
            print!("{}", House::read(workspace())?);
            Ok(())
        }
        ["--check"] => House::read(workspace())?.check(),
        ["--commit", revision] => print_commit(revision),
        [word, ..] if word.starts_with('-') => bail!("{HELP}"),
        names => {
            let house = House::read(workspace())?;
            names.iter().try_for_each(|name| house.print_imports(name))
        }
    }
}

/// Crates of the workspace.
#[derive(Debug)]
struct House {
    crates: Vec<Crate>,
}

impl House {
    fn read(root: &Path) -> Result<Self> {
        let mut folders = vec![root.join("xtask")];
        let crates = root.join("crates");
        let entries = std::fs::read_dir(&crates).with_context(|| crates.display().to_string())?;
        for entry in entries {
            folders.push(entry?.path());
        }
        folders.sort();
        let mut crates = folders
            .iter()
            .map(|folder| Crate::read(folder))
            .collect::<Result<Vec<_>>>()?;
        for module in crates.iter_mut().flat_map(|krate| &mut krate.modules) {
            if let Ok(relative) = module.file.strip_prefix(root) {
                module.file = relative.to_owned();
            }
        }
        Ok(Self { crates })
    }

    fn modules(&self) -> impl Iterator<Item = &Module> {
        self.crates.iter().flat_map(|krate| &krate.modules)
    }

    /// Functions, longest first.
    fn functions(&self) -> Vec<(&Module, &Function)> {
        let all = self.modules();
        let all = all.flat_map(|module| module.functions.iter().map(move |f| (module, f)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(_, function)| std::cmp::Reverse(function.lines));
        all
    }

    /// Files, longest first.
    fn files(&self) -> Vec<&Module> {
        let mut all: Vec<&Module> = self.modules().collect();
        all.sort_by_key(|module| std::cmp::Reverse(module.lines));
        all
    }

    /// Returns type names that too many types share, with their files.
    fn shared_names(&self) -> Vec<(&str, Vec<&Path>)> {
        let mut names: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
        for module in self.modules() {
            for name in &module.types {
                names.entry(name).or_default().push(&module.file);
            }
        }
        let shared = names.into_iter();
        let mut shared: Vec<_> = shared
            .filter(|(_, files)| files.len() > TYPES_OF_A_NAME)
            .collect();
        shared.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
        shared
    }

    /// Counts doc comments, and those that begin with each word of [`DOC_WORDS`].
    fn doc_words(&self) -> (usize, BTreeMap<&str, usize>) {
        let mut counts = BTreeMap::new();
        let mut all = 0;
        for word in self.modules().flat_map(|module| &module.doc_words) {
            all += 1;
            if DOC_WORDS.contains(&word.as_str()) {
                *counts.entry(word.as_str()).or_default() += 1;
            }
        }
        (all, counts)
    }

    fn doc_permille(&self) -> usize {
        let (all, counts) = self.doc_words();
        counts.values().sum::<usize>() * 1000 / all.max(1)
    }

    /// Comment lines with idiom, in thousandths.
    fn idiom_permille(&self) -> usize {
        let sum = |of: usize| {
            self.modules()
                .map(|module| module.comments[of])
                .sum::<usize>()
        };
        sum(1) * 1000 / sum(0).max(1)
    }

    /// Lists the violated limits.
    fn problems(&self, limits: &Limits) -> Vec<String> {
        let mut problems = self.problems_of_cycles(limits.in_cycles);
        for file in self.files() {
            if file.lines > FILE_LINES {
                let (file, lines) = (file.file.display(), file.lines);
                problems.push(format!("{file}: {lines} lines, at most {FILE_LINES}"));
            }
        }
        let permille = self.doc_permille();
        if permille > limits.doc_permille {
            problems.push(format!(
                "{permille} ‰ of doc comments begin with {}; at most {} ‰ may",
                DOC_WORDS.join(", "),
                limits.doc_permille,
            ));
        }
        let lines = self.modules().map(|module| module.lines).sum();
        for (what, found, limit) in [
            ("lines without tests", lines, limits.lines),
            ("files", self.modules().count(), limits.files),
            (
                "lines of 1,000 of comments with idiom",
                self.idiom_permille(),
                limits.idiom_permille,
            ),
        ] {
            if found > limit {
                problems.push(format!("{found} {what}, at most {limit}"));
            }
        }
        let shared = self.shared_names();
        if shared.len() > limits.shared_names {
            let names = shared.iter();
            let names: Vec<String> = names
                .map(|(name, files)| format!("{name} ({})", files.len()))
                .collect();
            problems.push(format!(
                "names of more than {TYPES_OF_A_NAME} types: {}, at most {}: {}",
                shared.len(),
                limits.shared_names,
                names.join(", "),
            ));
        }
        problems
    }

    fn problems_of_cycles(&self, limits: &[(&str, usize)]) -> Vec<String> {
        let mut problems = Vec::new();
        for krate in &self.crates {
            let found = find_cycles(krate);
            let modules = in_cycles(&found);
            let limit = limits.iter().find(|(name, _)| *name == krate.name);
            let limit = limit.map_or(0, |(_, limit)| *limit);
            if modules > limit {
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                problems.push(format!(
                    "{name}: {modules} modules in import cycles, at most {limit}: {}; \
                     cargo xtask house {name} names the imports",
                    found.join("; "),
                    name = krate.name,
                ));
            }
        }
        problems
    }

    fn check(&self) -> Result<()> {
        let problems = self.problems(&NOW);
        if problems.is_empty() {
            return Ok(());
        }
        bail!("the source got worse:\n  {}", problems.join("\n  "))
    }

    fn print_imports(&self, name: &str) -> Result<()> {
        let krate = self.crates.iter().find(|krate| krate.name == name);
        let krate = krate.with_context(|| format!("no crate {name}; {HELP}"))?;
        for cycle in find_cycles(krate) {
            println!("{cycle}");
            for ((from, to), imports) in &cycle.imports {
                println!("  {from} -> {to}");
                for import in imports {
                    println!("    {import}");
                }
            }
        }
        Ok(())
    }
}

fn in_cycles(cycles: &[Cycle]) -> usize {
    cycles.iter().map(|cycle| cycle.modules.len()).sum()
}

impl fmt::Display for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "crate        lines  files  tests  in cycles")?;
        let mut sums = [0; 4];
        let mut cycle_lines = String::new();
        for krate in &self.crates {
            let cycles = find_cycles(krate);
            let row = [
                krate.lines(),
                krate.modules.len(),
                krate.test_lines,
                in_cycles(&cycles),
            ];
            for (sum, figure) in sums.iter_mut().zip(row) {
                *sum += figure;
            }
            write_row(f, &krate.name, row)?;
            for cycle in &cycles {
                writeln!(cycle_lines, "  {} {cycle}", krate.name)?;
            }
        }
        write_row(f, "all", sums)?;
        writeln!(
            f,
            "\nimport cycles of modules with the same parent:\n{cycle_lines}"
        )?;
        writeln!(f, "longest functions:")?;
        for (module, function) in self.functions().iter().take(LONGEST) {
            let (file, Function { name, line, lines }) = (module.file.display(), function);
            writeln!(f, "  {lines:5} {name} {file}:{line}")?;
        }
        writeln!(f, "\nlongest files:")?;
        for file in self.files().iter().take(LONGEST) {
            writeln!(f, "  {:5} {}", file.lines, file.file.display())?;
        }
        let (all, counts) = self.doc_words();
        let permille = self.doc_permille();
        writeln!(
            f,
            "\ndoc comments: {all}; {permille} ‰ begin with a word for which they cannot stand alone: {counts:?}"
        )?;
        writeln!(f, "comment lines with idiom: {} ‰", self.idiom_permille())?;
        let shared = self.shared_names();
        writeln!(
            f,
            "\nnames of more than {} types: {}",
            TYPES_OF_A_NAME,
            shared.len()
        )?;
        for (name, files) in shared {
            writeln!(f, "  {:5} {name}", files.len())?;
        }
        Ok(())
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, row: [usize; 4]) -> fmt::Result {
    let [lines, files, tests, in_cycles] = row;
    writeln!(f, "{name:10} {lines:7} {files:6} {tests:6} {in_cycles:10}")
}

/// Prints the files that a commit changed.
fn print_commit(revision: &str) -> Result<()> {
    let mut show = Command::new("git");
    show.args(["show", "--format=%h %s", "--stat=200", revision, "--"]);
    print!("{}", output(show.current_dir(workspace()))?);
    Ok(())
}

/// Largest number of lines of a file.
pub const FILE_LINES: usize = 1_000;

/// First words of doc comments that cannot stand alone.
pub const DOC_WORDS: [&str; 8] = [
    "What", "How", "Whether", "Of", "Its", "Those", "Where", "All",
];

/// Largest number of types that share a name, apart from the names that
/// [`Limits::shared_names`] allows.
pub const TYPES_OF_A_NAME: usize = 3;

/// Limits that the source does not meet everywhere yet.
#[derive(Debug)]
pub struct Limits {
    /// Lines of all crates without tests.
    pub lines: usize,
    /// Files of all crates without tests.
    pub files: usize,
    /// Comment lines with idiom, in thousandths.
    pub idiom_permille: usize,
    /// Share of doc comments that begin with one of [`DOC_WORDS`], in thousandths.
    pub doc_permille: usize,
    /// Number of names that more than [`TYPES_OF_A_NAME`] types share.
    pub shared_names: usize,
    /// Number of modules in import cycles, for each crate that has any.
    pub in_cycles: &'static [(&'static str, usize)],
}

/// Present limits. Lower them with the change that makes it possible; a higher one is a commit of
/// its own that says why.
pub const NOW: Limits = Limits {
    lines: 186_300,
    files: 453,
    idiom_permille: 5,
    doc_permille: 20,
    shared_names: 0,
    in_cycles: &[],
};

/// Goals for the limits.
#[cfg(test)]
pub const GOAL: Limits = Limits {
    lines: 166_000,
    files: 440,
    idiom_permille: 5,
    doc_permille: 20,
    shared_names: 0,
    in_cycles: &[],
};

/// Modules that import each other, directly or indirectly.
#[derive(Debug)]
struct Cycle {
    parent: ItemPath,
    modules: Vec<String>,
    /// Imports between each pair of modules: file and path.
    imports: BTreeMap<(String, String), Vec<String>>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = self.parent.join("::");
        let parent = if parent.is_empty() { "crate" } else { &parent };
        write!(f, "{parent}: {}", self.modules.join(", "))
    }
}

/// Finds all cycles of a crate.
fn find_cycles(krate: &Crate) -> Vec<Cycle> {
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
    use std::fs;

    /// Returns problems of a workspace with one crate `a` that has these files.
    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("xtask")).unwrap();
        for (name, text) in files {
            let file = root.path().join("crates/a/src").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        House::read(root.path()).unwrap().problems(&GOAL)
    }

    /// Returns files and folders of the source that a page names, such as
    /// `crates/a/src/b.rs`.
    fn named(page: &str) -> Vec<&str> {
        let words = page
            .split('`')
            .filter(|word| !word.contains([' ', '\n', '{']));
        let of_source = words.filter(|word| {
            let folders = ["/src/", "/tests/", "/po/"];
            folders.iter().any(|folder| word.contains(folder)) && !word.ends_with(".pot")
        });
        of_source.collect()
    }

    #[test]
    fn files_that_the_manual_names_exist() {
        let root = workspace();
        let pages = fs::read_dir(root.join("docs")).unwrap();
        let pages = pages.map(|page| page.unwrap().path());
        let mut missing = Vec::new();
        for page in pages.chain([root.join("CONTRIBUTING.md")]) {
            let is_page = page.extension().is_some_and(|ending| ending == "md");
            let text = is_page.then(|| fs::read_to_string(&page).unwrap());
            let text = text.unwrap_or_default();
            let is_there =
                |name: &&str| root.join(name).exists() || root.join("crates").join(name).exists();
            let names = named(&text).into_iter().filter(|name| !is_there(name));
            missing.extend(names.map(|name| format!("{}: {name}", page.display())));
        }
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_clean_crate_has_no_problems() {
        assert_eq!(
            problems(&[("lib.rs", "/// Good.\nmod b;"), ("b.rs", "")]),
            [""; 0]
        );
    }

    #[test]
    fn a_cycle_is_named() {
        let b = ("b.rs", "use crate::c::f;");
        let found = problems(&[("lib.rs", ""), b, ("c.rs", "use crate::b::g;")]);
        assert!(found[0].contains("2 modules in import cycles, at most 0: crate: b, c"));
    }

    #[test]
    fn a_long_file_is_named_unless_it_is_of_tests() {
        let text = "\n".repeat(FILE_LINES + 1);
        let found = problems(&[("lib.rs", "#[cfg(test)]\nmod c;"), ("b.rs", &text)]);
        assert_eq!(found, ["crates/a/src/b.rs: 1001 lines, at most 1000"]);
        let tests = [
            ("lib.rs", "#[cfg(test)]\nmod c;"),
            ("c.rs", &text),
            ("tests.rs", &text),
        ];
        assert_eq!(problems(&tests), [""; 0]);
    }

    #[test]
    fn doc_comments_that_begin_badly_are_counted() {
        let found = problems(&[("lib.rs", "/// What it does.\nfn f() {}")]);
        assert!(found[0].starts_with("1000 ‰ of doc comments begin with What"));
    }

    #[test]
    fn a_name_of_four_types_is_named() {
        let found = problems(&[("lib.rs", &"mod m { struct Line; }".repeat(4))]);
        assert_eq!(
            found,
            ["names of more than 3 types: 1, at most 0: Line (4)"]
        );
        let three = "mod m { struct Line; }".repeat(3);
        assert_eq!(problems(&[("lib.rs", &three)]), [""; 0]);
    }

    fn found(modules: &[(&str, &str)]) -> Vec<String> {
        let modules = modules.iter().map(|(names, text)| {
            let names = names.split("::").filter(|name| !name.is_empty());
            Module::read(names.map(str::to_owned).collect(), text).unwrap()
        });
        let krate = Crate {
            modules: modules.collect(),
            ..Crate::default()
        };
        find_cycles(&krate)
            .iter()
            .map(ToString::to_string)
            .collect()
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
