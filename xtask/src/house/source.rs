//! Reads Rust source and extracts the data of the report: lines, functions, types, doc comments,
//! paths.
//!
//! Tokens are sufficient. A syntax tree would require `syn` with all its features.

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Path of a module or of an item, from the root of its crate.
pub type ItemPath = Vec<String>;

/// A crate of the workspace.
#[derive(Debug, Default)]
pub struct Crate {
    pub name: String,
    /// Modules except those of tests.
    pub modules: Vec<Module>,
    pub test_lines: usize,
}

/// Source file, which is a module. Inline modules belong to it.
#[derive(Debug, Default)]
pub struct Module {
    pub names: ItemPath,
    pub file: PathBuf,
    /// Lines except tests.
    pub lines: usize,
    pub test_lines: usize,
    pub functions: Vec<Function>,
    /// Names of structs, enums, traits and type aliases.
    pub types: Vec<String>,
    /// First word of each doc comment.
    pub doc_words: Vec<String>,
    /// Lines of comments, and those of them with a word of [`IDIOM`].
    pub comments: [usize; 2],
    /// Paths that begin in this crate.
    pub paths: Vec<ItemPath>,
    /// Items that the module defines.
    pub items: BTreeSet<String>,
    /// Names that `use` declarations import, with their paths.
    pub imports: BTreeMap<String, ItemPath>,
    /// Modules that glob imports name.
    pub globs: Vec<ItemPath>,
    /// Child modules that only exist for tests.
    test_children: Vec<String>,
}

#[derive(Debug)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

impl Crate {
    /// Reads all source files of the crate in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut files = Vec::new();
        source_files(folder, &mut files)?;
        let mut krate = Self {
            name: name.into_owned(),
            ..Self::default()
        };
        let mut all = Vec::new();
        for file in files {
            let relative = file.strip_prefix(folder).unwrap_or(&file);
            let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            if krate.name == "testkit" || is_of_tests(relative) {
                krate.test_lines += text.lines().count();
                continue;
            }
            let module = Module::read(names_of(relative), &text);
            let mut module = module.map_err(|error| anyhow!("{}: {error}", file.display()))?;
            module.file = file;
            all.push(module);
        }
        let of_tests: BTreeSet<ItemPath> = all.iter().flat_map(Module::test_children).collect();
        for module in all {
            let inside = |names: &ItemPath| module.names.starts_with(names);
            if of_tests.iter().any(inside) {
                krate.test_lines += module.lines + module.test_lines;
            } else {
                krate.test_lines += module.test_lines;
                krate.modules.push(module);
            }
        }
        Ok(krate)
    }

    pub fn lines(&self) -> usize {
        self.modules.iter().map(|module| module.lines).sum()
    }
}

/// Words on which a reader of a comment stumbles, in lower case.
const IDIOM: [&str; 30] = [
    "whoever",
    "nobody",
    "somebody",
    "whatever",
    "told",
    "tells",
    "said",
    "says",
    "goes on",
    "go on",
    "gone on",
    "went on",
    "going on",
    "what is",
    "what was",
    "what are",
    "what were",
    "what has",
    "what had",
    "what it",
    "what they",
    "what comes",
    "what follows",
    "befalls",
    "comes to",
    "became of",
    "is none",
    "as good as",
    "to be had",
    "of its own",
];

/// Returns true if a comment has a word of [`IDIOM`].
fn has_idiom(comment: &str) -> bool {
    let words: Vec<String> = comment
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .collect();
    let text = format!(" {} ", words.join(" "));
    IDIOM
        .iter()
        .any(|phrase| text.contains(&format!(" {phrase} ")))
}

fn source_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            source_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns true if the name of a file shows that it contains tests.
fn is_of_tests(relative: &Path) -> bool {
    let stem = relative.file_stem().unwrap_or_default().to_string_lossy();
    let in_folder = relative.iter().any(|name| name == "tests");
    in_folder || stem == "tests" || stem.ends_with("_tests")
}

/// Returns names of the module in a file: `src/load/pace.rs` is `load::pace`.
fn names_of(relative: &Path) -> ItemPath {
    let inside = relative.strip_prefix("src").unwrap_or(relative);
    let path = inside.with_extension("");
    let mut names: ItemPath = path
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if names.last().is_some_and(|name| name == "mod")
        || names.len() == 1 && ["lib", "main"].contains(&names[0].as_str())
    {
        names.pop();
    }
    names
}

impl Module {
    /// Parses the text of a module.
    pub fn read(names: ItemPath, text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{error}"))?;
        let mut module = Self {
            lines: text.lines().count(),
            names,
            ..Self::default()
        };
        for comment in text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("//"))
        {
            let comment = comment.trim_start_matches(['/', '!']).trim();
            if !comment.is_empty() {
                module.comments[0] += 1;
                module.comments[1] += usize::from(has_idiom(comment));
            }
        }
        let scope = module.names.clone();
        module.walk(tokens, &scope, true);
        module.lines -= module.test_lines;
        Ok(module)
    }

    fn test_children(&self) -> impl Iterator<Item = ItemPath> {
        self.test_children
            .iter()
            .map(|child| joined(&self.names, child))
    }

    /// Visits tokens. Types and items count only if `at_items` is set: in modules, not in
    /// functions.
    fn walk(&mut self, tokens: TokenStream, scope: &ItemPath, at_items: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut after_doc = false;
        let mut next = 0;
        while next < tokens.len() {
            let here = &tokens[next..];
            next += 1;
            if let Some((length, attribute)) = attribute(here) {
                if attribute == "cfg (test)" {
                    next += self.skip_test(here) - 1;
                } else if let Some(text) = attribute.strip_prefix("doc = ") {
                    self.doc_words.extend((!after_doc).then(|| word(text)));
                    after_doc = true;
                    next += length - 1;
                }
                continue;
            }
            after_doc = false;
            match &here[0] {
                TokenTree::Group(group) => self.walk(group.stream(), scope, false),
                TokenTree::Ident(ident) => {
                    next += self.keyword(&ident.to_string(), here, scope, at_items);
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Handles the item that begins with this identifier. Returns the number of tokens behind the
    /// identifier that it consumed.
    fn keyword(
        &mut self,
        keyword: &str,
        here: &[TokenTree],
        scope: &ItemPath,
        at_items: bool,
    ) -> usize {
        let name = match here.get(1) {
            Some(TokenTree::Ident(name)) => Some(name.to_string()),
            _ => None,
        };
        match (keyword, name) {
            // `use<'a>` names lifetimes.
            ("use", _) if !is_punct(&here[1], '<') => {
                let length = here.iter().position(|token| is_punct(token, ';'));
                let length = length.unwrap_or(here.len());
                self.import(&here[1..length], scope, &ItemPath::new());
                return length - 1;
            }
            ("mod", Some(name)) => {
                if let Some(TokenTree::Group(group)) = here.get(2) {
                    self.walk(group.stream(), &joined(scope, &name), true);
                    return 2;
                }
            }
            ("fn", Some(name)) => {
                self.items.extend(at_items.then(|| name.clone()));
                self.functions.extend(function(name, here));
                return 1;
            }
            ("struct" | "enum" | "trait" | "type" | "union", Some(name)) if at_items => {
                self.items.insert(name.clone());
                self.types.push(name);
                return 1;
            }
            ("const" | "static", Some(name)) if at_items && name != "fn" => {
                self.items.insert(name);
                return 1;
            }
            ("crate" | "self" | "super", _) => {
                let (path, length) = path(here);
                if path.len() > 1 {
                    self.paths.extend(absolute(&path, scope));
                }
                return length - 1;
            }
            _ => {}
        }
        0
    }

    /// Counts the item behind `#[cfg(test)]` as test. Returns the number of its tokens.
    fn skip_test(&mut self, here: &[TokenTree]) -> usize {
        let end = here.iter().position(|token| {
            is_punct(token, ';')
                || matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace)
        });
        let end = end.unwrap_or(here.len() - 1);
        let first = here[0].span().start().line;
        self.test_lines += here[end].span().end().line + 1 - first;
        let named = here[..end].windows(2).find_map(|pair| match pair {
            [TokenTree::Ident(word), TokenTree::Ident(name)] if word == "mod" => Some(name),
            _ => None,
        });
        let in_file = is_punct(&here[end], ';');
        self.test_children
            .extend(named.filter(|_| in_file).map(ToString::to_string));
        end + 1
    }

    /// Records one branch of a `use` declaration's tree.
    fn import(&mut self, tokens: &[TokenTree], scope: &ItemPath, before: &ItemPath) {
        let (path, length) = path(tokens);
        let path = [before.as_slice(), path.as_slice()].concat();
        let Some(target) = absolute(&path, scope).filter(|_| !tokens.is_empty()) else {
            return;
        };
        match tokens.get(length..).unwrap_or_default() {
            [TokenTree::Group(branches), ..] => {
                let branches: Vec<TokenTree> = branches.stream().into_iter().collect();
                for branch in branches.split(|token| is_punct(token, ',')) {
                    self.import(branch, scope, &path);
                }
            }
            [star, ..] if is_punct(star, '*') => {
                self.paths.push(target.clone());
                self.globs.push(target);
            }
            rest => {
                let renamed = match rest {
                    [TokenTree::Ident(_), TokenTree::Ident(name)] => Some(name.to_string()),
                    _ => None,
                };
                self.paths.push(target.clone());
                if let Some(name) = renamed.or_else(|| target.last().cloned()) {
                    self.imports.insert(name, target);
                }
            }
        }
    }
}

/// Returns the attribute at the beginning, as text without its brackets, and the number of its
/// tokens.
fn attribute(here: &[TokenTree]) -> Option<(usize, String)> {
    if !is_punct(here.first()?, '#') {
        return None;
    }
    let inner = usize::from(is_punct(here.get(1)?, '!'));
    match here.get(1 + inner)? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            Some((2 + inner, group.stream().to_string()))
        }
        _ => None,
    }
}

/// Returns the first word of a doc comment, given its literal.
fn word(literal: &str) -> String {
    let text = literal.trim_start_matches(['r', '#', '"']).trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '\'');
    text[..end.unwrap_or(text.len())].to_owned()
}

fn function(name: String, here: &[TokenTree]) -> Option<Function> {
    let body = here.iter().find(|token| {
        is_punct(token, ';')
            || matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace)
    });
    let line = here[0].span().start().line;
    match body? {
        TokenTree::Group(body) => Some(Function {
            name,
            line,
            lines: body.span_close().end().line + 1 - line,
        }),
        _ => None,
    }
}

/// Returns identifiers joined by `::` at the beginning, and the number of their tokens including
/// a trailing `::`.
fn path(tokens: &[TokenTree]) -> (ItemPath, usize) {
    let mut names = ItemPath::new();
    let mut length = 0;
    while let Some(TokenTree::Ident(name)) = tokens.get(length) {
        names.push(name.to_string());
        length += 1;
        match (tokens.get(length), tokens.get(length + 1)) {
            (Some(first), Some(second)) if is_joined_colon(first) && is_punct(second, ':') => {
                length += 2;
            }
            _ => break,
        }
    }
    (names, length)
}

/// Returns a path relative to the root of the crate; `None` if it begins above the root.
fn absolute(path: &[String], scope: &ItemPath) -> Option<ItemPath> {
    let mut at = scope.clone();
    let mut rest = path;
    while let [first, behind @ ..] = rest {
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
            }
            _ => break,
        }
        rest = behind;
    }
    // `use a::{self, b}` names `a` by a word in the middle.
    at.extend(rest.iter().filter(|name| *name != "self").cloned());
    Some(at)
}

fn joined(names: &ItemPath, name: &str) -> ItemPath {
    let mut names = names.clone();
    names.push(name.to_owned());
    names
}

fn is_punct(token: &TokenTree, what: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == what)
}

fn is_joined_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(p) if p.as_char() == ':' && p.spacing() == Spacing::Joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Module {
        Module::read(vec!["a".to_owned(), "b".to_owned()], text).unwrap()
    }

    #[test]
    fn paths_are_found_in_uses_code_and_macros() {
        let module = read(
            "use super::{c, d::{self, E as F}};
             fn f() { vec![crate::g::h(), self::i()]; }
             mod inside { use super::j; }",
        );
        let paths: Vec<String> = module.paths.iter().map(|names| names.join("::")).collect();
        assert_eq!(
            paths,
            ["a::c", "a::d", "a::d::E", "g::h", "a::b::i", "a::b::j"]
        );
        assert_eq!(module.imports["F"].join("::"), "a::d::E");
    }

    #[test]
    fn idiom_in_comments_is_counted() {
        let module = read("/// Nobody waits.\n// It\'s so.\n//! Tell\nstruct A; // said\n");
        assert_eq!(module.comments, [3, 1]);
    }

    #[test]
    fn tests_are_counted_apart() {
        let module = read("struct A;\n#[cfg(test)]\nmod tests {\n    struct B;\n}\n");
        assert_eq!((module.lines, module.test_lines), (1, 4));
        assert_eq!(module.types, ["A"]);
        let module = read("#[cfg(test)]\nmod fixture;\nuse crate::c::D;\n");
        assert_eq!(module.test_children, ["fixture"]);
        assert_eq!(module.paths.len(), 1);
    }

    #[test]
    fn a_doc_comment_counts_once_by_its_first_word() {
        let module = read("/// What it is.\n/// Where.\nfn f() {}\n/// `B` too.\nstruct A;");
        assert_eq!(module.doc_words, ["What", ""]);
    }

    #[test]
    fn types_of_traits_are_not_definitions_and_functions_have_lengths() {
        let module = read("impl I for A {\n    type T = u8;\n    fn f() {\n    }\n}\ntype U = u8;");
        assert_eq!(module.types, ["U"]);
        assert_eq!(module.functions[0].lines, 2);
    }

    #[test]
    fn files_are_modules() {
        let names = |path: &str| names_of(Path::new(path)).join("::");
        assert_eq!(names("src/lib.rs"), "");
        assert_eq!(names("src/load/mod.rs"), "load");
        assert_eq!(names("src/load/pace.rs"), "load::pace");
        assert!(is_of_tests(Path::new("src/load/pace_tests.rs")));
        assert!(is_of_tests(Path::new("tests/e2e/main.rs")));
    }
}
