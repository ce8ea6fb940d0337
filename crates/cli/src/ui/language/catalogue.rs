//! Every catalogue has every text that assay says, and no other.

use crate::commands::Cli;
use clap::{Command, CommandFactory};
use polib::po_file;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::LitStr;

/// English texts, each with its plural where it counts something.
type Texts = BTreeMap<String, Option<String>>;

const CATALOGUES: [&str; 1] = ["zh"];

#[test]
fn every_text_has_a_translation_with_the_same_placeholders() {
    let said = all();
    assert!(said.len() > 500, "only {} texts were found", said.len());
    for language in CATALOGUES {
        let wrong = wrong(&said, &crates().join(format!("lang/po/{language}.po")));
        assert!(wrong.is_empty(), "{language}.po:\n\n{}", wrong.join("\n\n"));
    }
}

/// What is wrong with a catalogue; what is missing as an entry to be filled in.
fn wrong(said: &Texts, path: &Path) -> Vec<String> {
    let catalogue = po_file::parse(path).unwrap();
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for message in catalogue.messages() {
        let english = message.msgid();
        known.insert(english.to_owned());
        let Some(plural) = said.get(english) else {
            wrong.push(format!("nobody says: {english:?}"));
            continue;
        };
        if message.is_fuzzy() {
            wrong.push(format!("fuzzy: {english:?}"));
        }
        if message.msgid_plural().ok() != plural.as_deref() {
            wrong.push(format!("another plural than {plural:?}: {english:?}"));
        }
        let translations = match plural {
            Some(_) => message.msgstr_plural().unwrap().clone(),
            None => vec![message.msgstr().unwrap_or_default().to_owned()],
        };
        for translation in translations {
            if translation.trim().is_empty() {
                wrong.push(format!("empty: {english:?}"));
            } else if placeholders(&translation) != placeholders(english) {
                wrong.push(format!("other placeholders: {english:?}: {translation:?}"));
            }
        }
    }
    let missing = said.iter().filter(|(english, _)| !known.contains(*english));
    wrong.extend(missing.map(|(english, plural)| entry(english, plural.as_deref())));
    wrong
}

fn entry(english: &str, plural: Option<&str>) -> String {
    match plural {
        None => format!("msgid {english:?}\nmsgstr \"\""),
        Some(plural) => format!("msgid {english:?}\nmsgid_plural {plural:?}\nmsgstr[0] \"\""),
    }
}

fn placeholders(text: &str) -> BTreeSet<&str> {
    let after = text.split('{').skip(1);
    let names = after.filter_map(|rest| rest.split_once('}'));
    names.map(|(name, _)| name).collect()
}

fn all() -> Texts {
    let mut texts = Texts::new();
    for file in sources(&crates()) {
        let source = fs::read_to_string(&file).unwrap();
        let tokens: TokenStream = source.parse().unwrap();
        in_source(tokens, &mut texts, &file);
    }
    let mut command = Cli::command();
    command.build();
    in_help(&command, &mut texts);
    texts
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources of all crates.
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

/// The texts in `tr!`, `counted!` and `key!`, also within other macros.
fn in_source(tokens: TokenStream, texts: &mut Texts, file: &Path) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        if let Some(name) = macro_before(&tokens[..index]) {
            let mut literals = literals(group.stream());
            match (name.as_str(), literals.next(), literals.next()) {
                ("tr" | "key", Some(text), _) => texts.entry(text).or_insert(None),
                ("counted", Some(one), Some(many)) => texts.entry(one).or_insert(Some(many)),
                _ => panic!("{}: {name}! without its text", file.display()),
            };
        }
        in_source(group.stream(), texts, file);
    }
}

/// The name of one of our macros that is called with the group that follows.
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

/// The texts of a command and of all below it.
fn in_help(command: &Command, texts: &mut Texts) {
    let own = [
        command.get_about(),
        command.get_long_about(),
        command.get_after_help(),
    ];
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let args = shown.flat_map(|arg| [arg.get_help(), arg.get_long_help()]);
    for text in own.into_iter().chain(args).flatten() {
        texts.entry(text.to_string()).or_insert(None);
    }
    for below in command.get_subcommands() {
        in_help(below, texts);
    }
}
