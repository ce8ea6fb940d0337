//! Template of translations: every text for users, extracted from the sources and from the help.
//! `cargo xtask words` writes it; no catalogue has to be complete.

use crate::commands::Cli;
use clap::{Command, CommandFactory};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use syn::LitStr;

/// English texts in their order.
type Texts = BTreeMap<String, Text>;

/// One English text.
#[derive(Default)]
struct Text {
    /// Text for other numbers than one, for texts with a count.
    plural: Option<String>,
    /// Files that contain the text.
    sources: BTreeSet<String>,
}

const HEADER: &str = r#"msgid ""
msgstr ""
"Project-Id-Version: assay\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"#;

#[test]
fn the_template_has_texts_of_sources_and_of_help() {
    let texts = all();
    assert!(texts.len() > 500, "only {} texts were found", texts.len());
    let template = template(&texts);
    for part in [
        "\n#: crates/lang/src/lib.rs\nmsgid \"{first} and {last}\"\nmsgstr \"\"\n",
        "\nmsgid \"{n} trial\"\nmsgid_plural \"{n} trials\"\nmsgstr[0] \"\"\n",
        "\n#: crates/cli (help)\n",
    ] {
        assert!(template.contains(part), "{part}");
    }
}

#[test]
#[ignore = "writes crates/lang/po/assay.pot: cargo xtask words"]
fn write_the_template() {
    let path = crates().join("lang/po/assay.pot");
    fs::write(path, template(&all())).unwrap();
}

/// Formats the texts as a `.pot` file, in the order of their first sources.
fn template(texts: &Texts) -> String {
    let mut entries: Vec<_> = texts.iter().collect();
    entries.sort_by_key(|(_, text)| text.sources.first());
    let mut template = HEADER.to_owned();
    for (english, text) in entries {
        for source in &text.sources {
            write!(template, "\n#: {source}").unwrap();
        }
        write!(template, "\nmsgid {}", quoted(english)).unwrap();
        match &text.plural {
            None => template.push_str("\nmsgstr \"\"\n"),
            Some(plural) => {
                let plural = quoted(plural);
                write!(template, "\nmsgid_plural {plural}\nmsgstr[0] \"\"\n").unwrap();
            }
        }
    }
    template
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

fn all() -> Texts {
    let mut texts = Texts::new();
    for file in sources(&crates()) {
        let source = fs::read_to_string(&file).unwrap();
        let tokens: TokenStream = source.parse().unwrap();
        let name = file.strip_prefix(crates()).unwrap().display();
        in_source(tokens, &mut texts, &format!("crates/{name}"));
    }
    let mut command = Cli::command();
    command.build();
    in_help(&command, &mut texts);
    texts
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the source files of all crates.
fn sources(crates: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let each = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = each.map(|path| path.join("src")).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Extracts the texts in `tr!`, `counted!` and `key!`, also within other macros.
fn in_source(tokens: TokenStream, texts: &mut Texts, file: &str) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        if let Some(name) = macro_before(&tokens[..index]) {
            let mut literals = literals(group.stream());
            match (name.as_str(), literals.next(), literals.next()) {
                ("tr" | "key", Some(text), _) => add(texts, text, None, file),
                ("counted", Some(one), Some(many)) => add(texts, one, Some(many), file),
                _ => panic!("{file}: {name}! without its text"),
            }
        }
        in_source(group.stream(), texts, file);
    }
}

fn add(texts: &mut Texts, english: String, plural: Option<String>, source: &str) {
    let text = texts.entry(english).or_default();
    text.plural = text.plural.take().or(plural);
    text.sources.insert(source.to_owned());
}

/// Returns the name of a translation macro that is called with the group that follows.
fn macro_before(tokens: &[TokenTree]) -> Option<String> {
    let [.., TokenTree::Ident(name), TokenTree::Punct(bang)] = tokens else {
        return None;
    };
    let name = name.to_string();
    let ours = ["tr", "counted", "key"].contains(&name.as_str());
    (bang.as_char() == '!' && ours).then_some(name)
}

fn literals(tokens: TokenStream) -> impl Iterator<Item = String> {
    let literals = tokens.into_iter().filter_map(|token| match token {
        TokenTree::Literal(literal) => syn::parse_str::<LitStr>(&literal.to_string()).ok(),
        _ => None,
    });
    literals.map(|literal| literal.value())
}

/// Extracts the texts of a command and of its subcommands.
fn in_help(command: &Command, texts: &mut Texts) {
    let own = [
        command.get_about(),
        command.get_long_about(),
        command.get_after_help(),
    ];
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let args = shown.flat_map(|arg| [arg.get_help(), arg.get_long_help()]);
    for text in own.into_iter().chain(args).flatten() {
        add(texts, text.to_string(), None, "crates/cli (help)");
    }
    for below in command.get_subcommands() {
        in_help(below, texts);
    }
}
