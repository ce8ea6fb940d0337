//! Language of the texts for users: it is chosen once, before any output, and the help of every
//! command is translated into it.

use super::{Cli, GROUPS};
use crate::config;
use crate::output::print_columns;
use assay_lang::{Language, tr, translated};
use assay_report::words::wrap;
use clap::builder::StyledStr;
use clap::{Arg, Command, CommandFactory};
use std::ffi::{OsStr, OsString};

/// Variables that set the language of messages, the strongest first (`locale(7)`).
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Returns the language that the command line requests, else that of the settings or the locale.
/// The arguments are searched before they are parsed, because parsing prints help. The parser
/// reports a wrong value. Arguments after the name of another tool or a `--` are not assay's.
pub fn wanted(words: &[OsString], tools: &[&str]) -> Language {
    asked_for(words, tools)
        .or(config::values().language)
        .unwrap_or_else(|| of_locale(|name| std::env::var_os(name)))
}

fn asked_for(words: &[OsString], tools: &[&str]) -> Option<Language> {
    let ends = |word: &&OsString| *word == "--" || tools.iter().any(|tool| *word == tool);
    let mut words = words.iter().skip(1).take_while(|word| !ends(word));
    while let Some(word) = words.next() {
        let value = match word.to_str()?.strip_prefix("--lang") {
            Some("") => words.next().and_then(|value| value.to_str()),
            Some(value) => value.strip_prefix('='),
            None => continue,
        };
        return Language::of_tag(value?);
    }
    None
}

fn of_locale(variable: impl Fn(&str) -> Option<OsString>) -> Language {
    let mut set = VARIABLES.iter().filter_map(|name| variable(name));
    let locale = set.find(|value| !value.is_empty());
    let locale = locale.as_deref().map(OsStr::to_string_lossy);
    Language::of_locale(&locale.unwrap_or_default())
}

/// Default and maximum width of help, in columns.
const WIDTH: usize = 100;
/// Indent of clap for the text below an option, in columns.
const INDENT: usize = 10;

/// Returns the command line with its help in the current language and its commands in groups.
pub fn localized() -> Command {
    let mut command = Cli::command();
    let commands = grouped(&command);
    if assay_lang::current() == Language::English {
        command = with_whole_paragraphs(command);
    } else {
        // Options such as `--help` exist only after this.
        command.build();
        let columns = print_columns().unwrap_or(WIDTH).min(WIDTH);
        command = in_language(command, columns);
    }
    let (usage, options) = (tr!("Usage: "), tr!("Options"));
    command.max_term_width(80).help_template(format!(
        "{{about-with-newline}}\n{usage}{{usage}}\n{commands}\n{options}:\n{{options}}{{after-help}}"
    ))
}

/// Formats a heading for each group, a line for each command, and an example of each first step.
fn grouped(command: &Command) -> String {
    let mut lines = String::new();
    for (number, (heading, names)) in GROUPS.into_iter().enumerate() {
        lines += &format!("\n{}:\n", translated(heading));
        for name in names {
            let command = command.find_subcommand(name);
            let about = command.and_then(Command::get_about).map(plain);
            let about = about.unwrap_or_default();
            lines += &format!("  {name:<10}  {}\n", translated(&about));
            if let Some(example) = command.filter(|_| number == 0).and_then(example) {
                lines += &format!("              $ {example}\n");
            }
        }
    }
    lines
}

/// Returns the first example of a command's help.
pub fn example(command: &Command) -> Option<String> {
    let after = command.get_after_help().map(plain)?;
    let (_, examples) = after.split_once("Examples:\n  ")?;
    // A comment stands three spaces behind the command.
    let line = examples.lines().next()?.split("   ").next();
    line.map(str::to_owned)
}

/// Joins the lines of each paragraph below the options: the source wraps them for its readers, clap
/// wraps at the width of the terminal.
fn with_whole_paragraphs(command: Command) -> Command {
    let command = command.mut_subcommands(with_whole_paragraphs);
    match command.get_after_help().map(plain) {
        Some(after) => command.after_help(whole_paragraphs(&after)),
        None => command,
    }
}

/// Joins a line with the one before it, unless that ends a sentence or one of both is indented.
fn whole_paragraphs(text: &str) -> String {
    let mut whole = String::new();
    let mut last = "";
    for line in text.lines() {
        let apart = last.is_empty()
            || line.is_empty()
            || last.ends_with(['.', ':'])
            || [last, line].iter().any(|line| line.starts_with(' '));
        let between = match (whole.is_empty(), apart) {
            (true, _) => "",
            (false, true) => "\n",
            (false, false) => " ",
        };
        whole += between;
        whole += line;
        last = line;
    }
    whole
}

/// Translates a command's help and wraps it here: clap breaks lines only at spaces, which Chinese
/// does not have. The descriptions of options begin on the line below, where the width is known.
fn in_language(command: Command, columns: usize) -> Command {
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{}{{usage}}\n\n{{all-args}}{{after-help}}",
        tr!("Usage: ")
    );
    let mut command = command
        .next_line_help(true)
        .help_template(template)
        .subcommand_help_heading(tr!("Commands"))
        .mut_args(|arg| argument(arg, columns.saturating_sub(INDENT)))
        .mut_subcommands(|command| in_language(command, columns));
    if let Some(about) = command.get_about().map(plain) {
        command = command.about(broken(&about, columns));
    }
    if let Some(about) = command.get_long_about().map(plain) {
        command = command.long_about(broken(&about, columns));
    }
    if let Some(after) = command.get_after_help().map(plain) {
        command = command.after_help(translated(&after).to_owned());
    }
    command
}

fn argument(arg: Arg, columns: usize) -> Arg {
    let heading = match arg.is_positional() {
        true => tr!("Arguments"),
        false => tr!("Options"),
    };
    let mut notes = Vec::new();
    let defaults: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let value = defaults.join(" ");
        notes.push(tr!("[default: {value}]", value));
    }
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    if !values.is_empty() && arg.get_action().takes_values() {
        let values = values.join(", ");
        notes.push(tr!("[possible values: {values}]", values));
    }
    let notes = notes.join(" ");
    let whole =
        |help: &StyledStr| broken(&format!("{} {notes}", translated(&plain(help))), columns);
    let (short, long) = (arg.get_help().map(whole), arg.get_long_help().map(whole));
    let arg = arg
        .help_heading(heading)
        .hide_default_value(true)
        .hide_possible_values(true);
    match (short, long) {
        (Some(short), Some(long)) => arg.help(short).long_help(long),
        (Some(short), None) => arg.help(short),
        _ => arg,
    }
}

fn plain(text: &StyledStr) -> String {
    text.to_string()
}

/// Returns the translation in lines of at most `columns` columns.
fn broken(text: &str, columns: usize) -> String {
    let lines = translated(text).lines();
    let lines: Vec<String> = lines.map(|line| wrap(line, columns).join("\n")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_lang::within;
    use proc_macro2::{TokenStream, TokenTree};
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write as _;
    use std::fs;
    use std::path::{Path, PathBuf};
    use syn::LitStr;

    fn words(words: &str) -> Vec<OsString> {
        words.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_option_is_found_before_it_is_parsed() {
        let asked = |line: &str| asked_for(&words(line), &["dd"]);
        for line in [
            "assay --lang zh list",
            "assay list --lang=zh",
            "assay --help --lang zh",
        ] {
            assert_eq!(asked(line), Some(Language::Chinese), "{line}");
        }
        assert_eq!(asked("assay --lang en"), Some(Language::English));
        for line in [
            "assay",
            "assay --lang",
            "assay --lang fr",
            "assay --language=zh",
            "assay dd --lang zh",
            "assay sweep x -- dd --lang=zh",
        ] {
            assert_eq!(asked(line), None, "{line}");
        }
    }

    #[test]
    fn the_strongest_variable_that_says_something_decides() {
        let of = |set: &[(&str, &str)]| {
            of_locale(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(of(&[]), Language::English);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Language::Chinese);
        assert_eq!(of(&[("LC_ALL", ""), ("LANG", "zh_CN")]), Language::Chinese);
        let both = [("LANG", "zh_CN.UTF-8"), ("LC_MESSAGES", "en_GB.UTF-8")];
        assert_eq!(of(&both), Language::English);
        assert_eq!(
            of(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")]),
            Language::English
        );
    }

    #[test]
    fn help_is_chinese_down_to_its_headings() {
        within(Language::Chinese, || check(&mut localized()));
    }

    fn check(command: &mut Command) {
        let help = command.render_long_help().to_string();
        assert!(help.contains("用法"), "{help}");
        for english in ["Usage:", "Commands:", "Arguments:", "Options:"] {
            assert!(!help.contains(english), "{english} in {help}");
        }
        for below in command.get_subcommands_mut() {
            check(below);
        }
    }

    #[test]
    fn each_command_has_one_plain_line_in_one_group() {
        let help = localized().render_help().to_string();
        for command in Cli::command().get_subcommands() {
            let groups = GROUPS
                .iter()
                .filter(|(_, names)| names.contains(&command.get_name()));
            assert_eq!(groups.count(), 1, "{}", command.get_name());
        }
        let commands = Cli::command().get_subcommands().count();
        let names = GROUPS.iter().map(|(_, names)| names.len());
        assert_eq!(names.sum::<usize>(), commands);
        assert!(commands <= 30, "{commands} commands at the top");
        for line in help.lines() {
            assert!(line.len() <= 80, "{line}");
        }
        let first = help.find("First steps:").expect("first steps");
        assert_eq!(
            help.find(":\n"),
            Some(first + "First steps".len()),
            "{help}"
        );
        assert_eq!(help.matches("  $ assay ").count(), 5, "{help}");
    }

    #[test]
    fn paragraphs_below_the_options_are_broken_by_the_terminal_alone() {
        let text = "Exit codes: 0 done,\n1 failed.\nExamples:\n  assay list\n\nAs a\nfile";
        assert_eq!(
            whole_paragraphs(text),
            "Exit codes: 0 done, 1 failed.\nExamples:\n  assay list\n\nAs a file"
        );
    }

    #[test]
    fn examples_fit_into_80_columns() {
        fn check(command: &Command) {
            let after = command.get_after_help().map(plain).unwrap_or_default();
            for line in after.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    /// Template of translations: every text for users, extracted from the sources and from the
    /// help, in their order. `cargo xtask words` writes it; no catalogue has to be complete.
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
        let texts = all_texts();
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
        fs::write(path, template(&all_texts())).unwrap();
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

    fn all_texts() -> Texts {
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
}
