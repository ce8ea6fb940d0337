use super::*;
use assay_testkit::Scratch;
use std::os::unix::fs::{PermissionsExt, symlink};

const PAGE: &str = include_str!("../../../../docs/config.md");

/// A home with a project in it.
struct Home {
    folder: Scratch,
    variables: BTreeMap<&'static str, String>,
}

impl Home {
    fn new() -> Self {
        let folder = Scratch::new().unwrap();
        fs::create_dir_all(folder.join(".config/assay")).unwrap();
        fs::create_dir_all(folder.join("project/sub")).unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let variables = BTreeMap::from([("HOME", home)]);
        Self { folder, variables }
    }

    fn user(self, text: &str) -> Self {
        fs::write(self.folder.join(".config/assay/config.toml"), text).unwrap();
        self
    }

    fn project(self, text: &str) -> Self {
        fs::write(self.folder.join("project/assay.toml"), text).unwrap();
        self
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.insert(name, value.to_owned());
        self
    }

    fn read(&self) -> Config {
        let folder = self.folder.join("project/sub");
        let variable = |name: &str| self.variables.get(name).map(OsString::from);
        Config::read(&variable, Some(&folder))
    }

    /// Reasons why the settings cannot be used, without the folder.
    fn problem(&self) -> String {
        let problems = self.read().problems.join("\n");
        problems.replace(self.folder.path().to_str().unwrap(), "~")
    }
}

fn source(config: &Config, key: &str) -> Option<(String, &'static str)> {
    let (value, layer) = config.find(key)?;
    Some((value_in_words(value), layer.kind))
}

fn of(value: &str, kind: &'static str) -> Option<(String, &'static str)> {
    Some((value.to_owned(), kind))
}

#[test]
fn the_environment_precedes_the_project_and_that_the_user() {
    let home = Home::new();
    assert_eq!(source(&home.read(), "trials"), None);
    let home = home.user("trials = 3\nmargin = 2.5\nlanguage = \"zh\"");
    assert_eq!(source(&home.read(), "trials"), of("3", USER));
    let home = home.project("trials = 4\nmargin = 3");
    let config = home.read();
    assert_eq!(source(&config, "trials"), of("4", PROJECT));
    assert_eq!(source(&config, "language"), of("zh", USER));
    assert_eq!(config.values.trials, Some(4));
    assert_eq!(config.values.margin, Some(0.03));
    assert_eq!(config.values.language, Some(Language::Chinese));
    let home = home
        .variable("ASSAY_TRIALS", "5")
        .variable("ASSAY_MARGIN", "");
    let config = home.read();
    assert_eq!(source(&config, "trials"), of("5", "environment"));
    assert_eq!(
        source(&config, "margin"),
        of("3", PROJECT),
        "an empty variable"
    );
    assert_eq!(config.problems, [""; 0]);
}

#[test]
fn one_file_can_be_named_instead_of_all_or_none() {
    let home = Home::new().user("trials = 3").project("trials = 4");
    let named = home.folder.join("ci.toml");
    fs::write(&named, "margin = 1").unwrap();
    let home = home.variable(FILE, named.to_str().unwrap());
    let config = home.read();
    assert_eq!(source(&config, "margin"), of("1", NAMED));
    assert_eq!(config.values.trials, None);
    let home = home.variable(FILE, "");
    assert_eq!(home.read().files().count(), 0);
    let home = home.variable(FILE, "/no/such.toml");
    assert!(
        home.problem().starts_with("/no/such.toml: "),
        "{}",
        home.problem()
    );
}

#[test]
fn names_of_all_sources_are_targets() {
    let home = Home::new()
        .user("[targets]\nold = \"ssh://root@a\"\nnew = \"ssh://root@b\"")
        .project("targets.new = \"adb:0123\"")
        .variable("ASSAY_TARGETS", "any=labgrid:reserve?media=sd");
    let config = home.read();
    assert_eq!(config.problems, [""; 0]);
    let targets = config.values.targets.iter();
    let targets: Vec<String> = targets.map(|(name, on)| format!("{name} {on}")).collect();
    assert_eq!(
        targets,
        [
            "any labgrid:reserve?media=sd",
            "new adb:0123",
            "old ssh://root@a"
        ]
    );
    assert_eq!(source(&config, "targets.new"), of("adb:0123", PROJECT));
    assert_eq!(source(&config, "targets.old"), of("ssh://root@a", USER));
}

#[test]
fn paths_are_relative_to_the_file_that_has_them() {
    let home = Home::new().project("store = \"kept/runs.sqlite\"\npart = \"mine.toml\"");
    fs::write(home.folder.join("project/mine.toml"), "").unwrap();
    let config = home.read();
    let folder = home.folder.join("project");
    assert_eq!(
        config.values.store,
        Some(Location::File(folder.join("kept/runs.sqlite")))
    );
    assert_eq!(
        config.values.part.map(PathBuf::from),
        Some(folder.join("mine.toml"))
    );
    let home = home.project("store = \"~/runs.sqlite\"\npart = \"emmc-8gb-hs400\"");
    let config = home.read();
    assert_eq!(
        config.values.store,
        Some(Location::File(home.folder.join("runs.sqlite")))
    );
    assert_eq!(config.values.part.as_deref(), Some("emmc-8gb-hs400"));
}

#[test]
fn mistakes_are_named_with_file_line_and_what_is_meant() {
    for (text, expected) in [
        (
            "\ntrails = 3",
            "line 2: there is no key trails (did you mean trials?)",
        ),
        ("trials = 0", "line 1: trials: give a number from 1 to 1000"),
        (
            "\n\nmargin = \"much\"",
            "line 3: margin: give a number of percent",
        ),
        ("language = \"fr\"", "line 1: language: give en or zh"),
        (
            "store = 7",
            "line 1: store: a text in quotes is wanted here",
        ),
        (
            "unit = \" \"",
            "line 1: unit: a name has at least one letter",
        ),
        (
            "[targets]\nold = \"phone\"",
            "line 2: old: no machine is called so",
        ),
        (
            "[targets]\nold = \"@list\"",
            "line 2: old: a name is that of one machine",
        ),
        (
            "targets.\"a b\" = \"local\"",
            "line 1: targets: \"a b\" cannot name a target",
        ),
        (
            "targets.local = \"adb:1\"",
            "line 1: targets: \"local\" cannot name a target",
        ),
        ("trials = ", "line 1: "),
        ("trials = 1\ntrials = 2", "line 2: "),
    ] {
        let problem = Home::new().project(text).problem();
        let expected = format!("~/project/assay.toml: {expected}");
        assert!(problem.starts_with(&expected), "{text}: {problem}");
    }
    for (name, value, expected) in [
        (
            "ASSAY_TRIALS",
            "many",
            "ASSAY_TRIALS: give a number from 1 to 1000",
        ),
        (
            "ASSAY_MARGIN",
            "0",
            "ASSAY_MARGIN: give a number of percent",
        ),
        ("ASSAY_LANG", "fr", "ASSAY_LANG: give en or zh"),
        ("ASSAY_TARGETS", "sd1", "ASSAY_TARGETS: give NAME=TARGET"),
        (
            "ASSAY_TARGETS",
            "sd1=phone",
            "ASSAY_TARGETS: no machine is called so",
        ),
    ] {
        let problem = Home::new().variable(name, value).problem();
        assert!(problem.starts_with(expected), "{value}: {problem}");
    }
}

#[test]
fn a_project_is_a_word_that_can_be_shown() {
    let config = Home::new()
        .variable("ASSAY_PROJECT", " kernel-6.12 ")
        .read();
    assert_eq!(config.values.project.as_deref(), Some("kernel-6.12"));
    let problem = Home::new().variable("ASSAY_PROJECT", "-x").problem();
    assert!(
        problem.starts_with("ASSAY_PROJECT: it begins with -"),
        "{problem}"
    );
}

#[test]
fn a_variable_that_cannot_be_used_leaves_the_others() {
    let home = Home::new().variable("ASSAY_TRIALS", "x");
    let home = home
        .variable("ASSAY_MARGIN", "y")
        .variable("ASSAY_UNIT", "u");
    assert_eq!(source(&home.read(), "unit"), of("u", "environment"));
    let problem = home.problem();
    assert!(
        problem.contains("ASSAY_TRIALS: ") && problem.contains("ASSAY_MARGIN: "),
        "{problem}"
    );
}

#[test]
fn a_folder_that_others_can_write_has_no_project() {
    let home = Home::new().project("trials = 4");
    let sub = home.folder.join("project/sub");
    fs::write(sub.join("assay.toml"), "trials = 9").unwrap();
    assert_eq!(source(&home.read(), "trials"), of("9", "project"));
    fs::set_permissions(&sub, fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(source(&home.read(), "trials"), None);
}

#[test]
fn an_invalid_config_file_is_refused_with_the_reason() {
    for (text, expected) in [
        ("store = \"~\"".to_owned(), "names no file"),
        ("store = \"\"".to_owned(), "names no file"),
        ("#".repeat(2 << 20), "longer than 1 MiB"),
    ] {
        let problem = Home::new().project(&text).problem();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn the_project_is_searched_upwards_as_far_as_only_the_user_can_write() {
    let folder = Scratch::new().unwrap();
    let sub = folder.join("a/b");
    fs::create_dir_all(&sub).unwrap();
    let (outer, inner) = (folder.join("assay.toml"), folder.join("a/assay.toml"));
    fs::write(&outer, "").unwrap();
    let found = |home: Option<&Path>| project_file(&sub, home);
    assert_eq!(found(None), Some(outer.clone()));
    assert_eq!(found(Some(&folder.join("a"))), None, "the home is the end");
    fs::write(&inner, "").unwrap();
    assert_eq!(found(None), Some(inner.clone()), "the nearest");
    fs::remove_file(&inner).unwrap();
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.join("a"), open).unwrap();
    assert_eq!(found(None), None, "everybody can write a");
}

#[test]
fn a_file_that_others_can_write_is_refused_unless_it_is_named() {
    let home = Home::new().project("trials = 4");
    let file = home.folder.join("project/assay.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let problem = home.problem();
    assert!(
        problem.contains("assay.toml: other users can write it"),
        "{problem}"
    );
    assert!(problem.contains("ASSAY_CONFIG="), "{problem}");
    assert_eq!(home.read().values.trials, None);
    let link = home.folder.join("project/sub/assay.toml");
    symlink(&file, &link).unwrap();
    assert!(home.problem().contains("other users"), "through a link");
    let home = home.variable(FILE, file.to_str().unwrap());
    assert_eq!(home.read().values.trials, Some(4));
}

#[test]
fn another_process_gets_the_same_settings_from_variables_alone() {
    let home = Home::new()
        .user("unit = \"7\"\nmargin = 2.5\n[targets]\nb = \"adb:1\"\na = \"ssh://x:22\"")
        .project("store = \"runs.sqlite\"\ntrials = 4");
    let config = home.read();
    let variables: BTreeMap<_, _> = config.variables().into_iter().collect();
    let variable = |name: &str| variables.get(name).map(OsString::from);
    // Files that came after are not read.
    let home = home.project("trials = 9\npart = \"sd\"");
    let other = Config::read(&variable, Some(&home.folder.join("project")));
    assert_eq!(
        format!("{:?}", other.values),
        format!("{:?}", config.values)
    );
    assert_eq!((other.files().count(), &other.problems), (0, &Vec::new()));
}

/// Names of places and values of tags can have any characters but control characters.
#[test]
fn another_process_gets_targets_with_spaces_and_backslashes() {
    let home = Home::new().user(
        "[targets]\na = 'labgrid:reserve?board=my board'\nb = 'labgrid:c:\\ d\\\\ e=f\u{a0}g'\n\
         c = \"adb:1\"",
    );
    let config = home.read();
    let variables: BTreeMap<_, _> = config.variables().into_iter().collect();
    let other = Config::read(&|name| variables.get(name).map(OsString::from), None);
    assert_eq!((&other.problems, &config.problems), (&vec![], &vec![]));
    assert_eq!(other.values.targets.len(), 3);
    assert_eq!(other.values.targets, config.values.targets);
    let problem = Home::new()
        .user("[targets]\na = \"labgrid:\\u0000\"")
        .problem();
    assert!(problem.contains("control character"), "{problem}");
}

#[test]
fn the_page_has_every_setting_and_every_variable() {
    for Setting {
        key,
        variable,
        flag,
        about,
        ..
    } in SETTINGS
    {
        let row = format!("| `{key}` | `{variable}` | `{flag}` | {about} |");
        assert!(PAGE.contains(&row), "{row}");
    }
    for (name, about, _) in VARIABLES {
        let row = format!("| `{}` | {about} |", name.replace(", ", "`, `"));
        assert!(PAGE.contains(&row), "{row}");
    }
}

#[test]
fn the_example_of_the_page_is_one() {
    let example = PAGE.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let home = Home::new().project(example);
    let config = home.read();
    assert_eq!(config.problems, [""; 0]);
    for setting in SETTINGS {
        assert!(config.find(setting.key).is_some(), "{}", setting.key);
    }
}
