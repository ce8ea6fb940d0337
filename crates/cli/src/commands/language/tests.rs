use super::*;
use assay_lang::within;

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
    for line in help.lines() {
        assert!(line.len() <= 100, "{line}");
    }
    for line in grouped(&Cli::command()).lines() {
        assert!(line.len() <= 80, "{line}");
    }
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
    for command in Cli::command().get_subcommands() {
        let after = command.get_after_help().map(plain).unwrap_or_default();
        for line in after.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
        }
    }
}
