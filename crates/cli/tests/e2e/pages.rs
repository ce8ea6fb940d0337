//! README and `docs` show what assay prints, and describe its JSON.

use crate::assay::{Bed, Ended, Running, text};
use assay_testkit::{LoopDevice, Scratch, Volume, needs, or_skip};
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Words of samples that are the user's, or of the machine that was measured.
const NAMES: [&str; 12] = [
    "emulated-board",
    "root",
    "board",
    "ann",
    "db",
    "lab",
    "Mon",
    "Nov",
    "xaa",
    "XY",
    "HARDDRIVE",
    "arm",
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Path and text of README and of each page in `docs`.
fn pages() -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join("docs")).expect("docs");
    let docs = entries.map(|entry| entry.expect("an entry").path());
    let docs = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let read = |path: PathBuf| {
        let name = path
            .strip_prefix(root())
            .expect("below it")
            .display()
            .to_string();
        (name, fs::read_to_string(&path).expect("text"))
    };
    docs.chain([root().join("README.md")]).map(read).collect()
}

/// A command that a page shows, with the output that follows.
struct Sample {
    place: String,
    command: String,
    shown: Vec<String>,
}

/// Code blocks of a page: language, number of the first line, and lines.
fn blocks(text: &str) -> Vec<(&str, usize, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut is_open = false;
    for (line, number) in text.lines().zip(1..) {
        if let Some(language) = line.strip_prefix("```") {
            is_open = !is_open;
            if is_open {
                blocks.push((language, number + 1, Vec::new()));
            }
        } else if let (true, Some(block)) = (is_open, blocks.last_mut()) {
            block.2.push(line);
        }
    }
    blocks
}

/// Commands of a block that begins with a prompt, each with what follows.
fn session(page: &str, number: usize, lines: &[&str]) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for (line, number) in lines.iter().zip(number..) {
        if let Some(command) = line.strip_prefix("$ ") {
            samples.push(Sample {
                place: format!("{page}:{number}"),
                command: command.to_owned(),
                shown: Vec::new(),
            });
        } else if let Some(sample) = samples.last_mut() {
            match sample.command.strip_suffix('\\') {
                Some(begin) => sample.command = format!("{begin}{line}"),
                None => sample.shown.push((*line).to_owned()),
            }
        }
    }
    samples
}

/// `true` if a session needs neither storage nor other machines.
fn needs_nothing(session: &[Sample]) -> bool {
    let of_shell = |sample: &Sample| sample.command.contains(" | ");
    let alone = ["sim:", "examples/", "assay model "];
    let is_alone = |line: &String| {
        alone.iter().any(|it| line.contains(it)) && !line.contains("model explain last")
    };
    !session.iter().any(of_shell) && session.iter().any(|sample| is_alone(&sample.command))
}

/// Runs of letters and digits, and what is between them.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    let is_border = |pair: &[(usize, char)]| {
        pair[0].1.is_ascii_alphanumeric() != pair[1].1.is_ascii_alphanumeric()
    };
    let borders = chars.windows(2).filter(|pair| is_border(pair));
    let mut ends: Vec<usize> = borders.map(|pair| pair[1].0).collect();
    ends.push(line.len());
    let starts: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|(from, to)| &line[from..to])
}

/// Length of the number that a text begins with: `-34.1..+52.6` has two, `5e-4` is one.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    for mark in [".", "e-"] {
        let more = text[length..].strip_prefix(mark).map_or(0, digits);
        if length > 0 && more > 0 {
            length += mark.len() + more;
        }
    }
    length
}

/// A line with `#` for each number, `ID` for each id, and one blank between words.
fn plain(line: &str, ids: &BTreeSet<String>) -> String {
    let is_id = |word: &str| {
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let looks = word.len() == 8 && word.chars().all(lower);
        ids.contains(word) || looks && word.contains(|c: char| c.is_ascii_digit())
    };
    let named = pieces(line).map(|piece| if is_id(piece) { "ID" } else { piece });
    let named: String = named.collect();
    let (mut out, mut rest) = (String::new(), named.as_str());
    while let Some(c) = rest.chars().next() {
        let length = number(rest);
        if length == 0 {
            out.push(c);
        } else {
            let unsigned = out.trim_end_matches(['+', '-']);
            if !unsigned.ends_with(|c: char| c.is_alphanumeric() || c == '#') {
                out.truncate(unsigned.len());
            }
            out.push('#');
        }
        rest = &rest[length.max(c.len_utf8())..];
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `true` if all lines are printed; a line `...` stands for any.
fn fits(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..]))
        }
        Some((first, rest)) => {
            let is_first = printed.first() == Some(first);
            is_first && fits(rest, &printed[1..])
        }
    }
}

/// `assay WORDS` as a user of this folder types it, with a store of the bed's.
pub fn run(bed: &Bed, folder: &Path, words: &[String]) -> Ended {
    let programs = Path::new(env!("CARGO_BIN_EXE_assay"))
        .parent()
        .expect("a folder");
    let path = format!("{}:{}", programs.display(), assay_testkit::search_path());
    let mut command = assay_testkit::command(&words[0]);
    command
        .args(&words[1..])
        .current_dir(folder)
        .env("PATH", path);
    command
        .env("ASSAY_STORE", bed.store())
        .env("HOME", bed.join("home"));
    Running::start(&mut command).end()
}

/// A folder with the examples in it.
pub fn sandbox(bed: &Bed) -> PathBuf {
    let folder = bed.folder();
    std::os::unix::fs::symlink(root().join("examples"), folder.join("examples")).expect("a link");
    folder
}

/// Runs the commands of a session, and returns what they do not print as it is shown.
fn repeat(session: &[Sample]) -> Vec<String> {
    let mut problems = Vec::new();
    let bed = Bed::new();
    let folder = sandbox(&bed);
    for Sample {
        place,
        command,
        shown,
    } in session
    {
        let words = shlex::split(command).expect("words");
        let ended = run(&bed, &folder, &words);
        let printed = match ended.code {
            Some(0 | 3) => ended.out.clone(),
            _ => ended.err.join("\n"),
        };
        let list = bed.run(&["list", "--json"]);
        let listed = if list.out.is_empty() {
            Value::Null
        } else {
            list.json()
        };
        let runs = listed["runs"].as_array().cloned().unwrap_or_default();
        let ids = runs
            .iter()
            .filter_map(|run| run["id"].as_str().map(str::to_owned));
        let ids: BTreeSet<String> = ids.collect();
        let all = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
            let text = lines.map(|line| plain(line, &ids)).collect::<Vec<_>>();
            text.join("\n")
                .trim_end()
                .lines()
                .map(str::to_owned)
                .collect()
        };
        let expected = all(&mut shown.iter().map(String::as_str));
        let printed = all(&mut printed.lines());
        if !shown.is_empty() && !fits(&expected, &printed) {
            let lacks = expected
                .iter()
                .filter(|line| *line != "..." && !printed.contains(line));
            let lacks: Vec<&String> = lacks.collect();
            problems.push(format!(
                "{place}: {command} (exit code {:?}): not printed, or not in this order: {lacks:#?}\n{}",
                ended.code,
                printed.join("\n")
            ));
        }
    }
    problems
}

/// Words of a text, with `|` for all else between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = vec!["|"];
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphabetic() || c == '-' || c == '\'';
        let end = rest
            .find(|c| is_word(c) != is_word(first))
            .unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        match token {
            " " => {}
            _ if is_word(first) => tokens.push(token),
            _ => tokens.push("|"),
        }
        rest = after;
    }
    tokens.push("|");
    tokens
}

/// Texts in quotation marks of Rust code; marks in raw strings cut these into pieces.
fn literals(code: &str) -> Vec<&str> {
    let mut literals = Vec::new();
    let mut rest = code;
    while let Some((_, after)) = rest.split_once('"') {
        let is_end = |at: &usize| !after[..*at].ends_with('\\') || after[..*at].ends_with("\\\\");
        let end = after.match_indices('"').map(|(at, _)| at).find(is_end);
        let (literal, next) = after.split_at(end.unwrap_or(after.len()));
        literals.push(literal);
        rest = next.strip_prefix('"').unwrap_or_default();
    }
    literals
}

/// Words that the program prints, each with its neighbour and with an empty one.
fn phrases() -> HashSet<(String, String)> {
    let mut folders = vec![root().join("crates")];
    let mut pairs = HashSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            if name.contains("test") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|end| end == "rs" || end == "toml")
            {
                let text = fs::read_to_string(&path).expect("text");
                let code = text
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                let code = code.map(|line| line.trim_start().to_owned() + "\n");
                let code = code.collect::<String>().replace("\\\n", "");
                let code = code.replace("'\"'", "");
                for literal in literals(&code) {
                    let words = tokens(literal);
                    let owned = words.windows(2).map(|w| (w[0].to_owned(), w[1].to_owned()));
                    pairs.extend(owned);
                    pairs.extend(words.iter().map(|word| ((*word).to_owned(), String::new())));
                }
            }
        }
    }
    pairs
}

/// Words of a line that the program does not print, or not one after the other.
fn foreign(line: &str, sample: &Sample, phrases: &HashSet<(String, String)>) -> Vec<String> {
    let has = |a: &str, b: &str| phrases.contains(&(a.to_owned(), b.to_owned()));
    let own = |word: &str| NAMES.contains(&word) || sample.command.contains(word);
    let columns = line.trim().replace("  ", "#");
    let plain = plain(&columns, &BTreeSet::new()).replace("ID", "#");
    let tokens = tokens(&plain);
    // Lines are wrapped anywhere.
    let words = tokens.strip_prefix(&["|"]).unwrap_or(&tokens);
    let words = words.strip_suffix(&["|"]).unwrap_or(words);
    let unknown = words.iter().filter(|word| !has(word, "") && !own(word));
    let mut found: Vec<String> = unknown.map(|word| (*word).to_owned()).collect();
    for pair in words.windows(2) {
        let [a, b] = pair else { continue };
        let fits = has(a, b) || (has(a, "|") || own(a)) && (has("|", b) || own(b));
        if !fits {
            found.push(format!("{a} {b}"));
        }
    }
    found
}

#[test]
fn each_shown_output_is_what_the_program_prints() {
    let mut run = 0;
    let (mut marked, mut problems) = (Vec::new(), Vec::new());
    let phrases = phrases();
    for (page, content) in pages() {
        for (language, number, lines) in blocks(&content) {
            let is_session = lines[0].starts_with("$ ");
            assert!(
                !language.is_empty() || is_session || lines[0].contains("assay "),
                "{page}:{number}: a block without a language has commands, or begins with the \
                 command that printed it"
            );
            let session = session(&page, number, &lines);
            if !language.is_empty() || !is_session {
                continue;
            }
            if needs_nothing(&session) {
                run += session
                    .iter()
                    .filter(|sample| !sample.shown.is_empty())
                    .count();
                problems.extend(repeat(&session));
                continue;
            }
            for sample in session.iter().filter(|sample| !sample.shown.is_empty()) {
                let lines = sample.shown.iter();
                let lines = lines.map(|line| (line, foreign(line, sample, &phrases)));
                let lines = lines.filter(|(_, words)| !words.is_empty());
                problems.extend(lines.map(|(line, words)| {
                    format!(
                        "{}: the program does not say {words:?}: {line}",
                        sample.place
                    )
                }));
                marked.push(sample.place.clone());
            }
        }
    }
    println!(
        "{run} outputs were repeated; {} need storage or other machines, and their words were \
         looked up: {}",
        marked.len(),
        marked.join(", ")
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(run >= 6, "only {run} outputs were repeated");
}

/// Commands of the first code block below a heading of a page, which README leads to.
fn commands_below(page: &str, heading: &str) -> Vec<String> {
    let all = pages();
    let text_of = |path: &str| &all.iter().find(|(page, _)| page == path).expect("a page").1;
    let anchor = heading.to_lowercase().replace('?', "").replace(' ', "-");
    let link = format!("{page}#{anchor}");
    assert!(text_of("README.md").contains(&link), "README: {link}");
    let (_, below) = text_of(page)
        .split_once(&format!("## {heading}\n"))
        .expect(heading);
    let block = below.split("```").nth(1).expect("a block");
    let lines = block.lines().filter(|line| line.starts_with("assay "));
    lines.map(str::to_owned).collect()
}

/// Runs such commands in a folder, with other words in place of some; the last one's end.
fn follow(bed: &Bed, folder: &Path, commands: &[String], others: &[(&str, &str)]) -> Ended {
    let mut last = None;
    for command in commands {
        let command = others
            .iter()
            .fold(command.clone(), |line, (a, b)| line.replace(a, b));
        // A column of remarks.
        let command = command.split("   ").next().expect("a part");
        let ended = run(bed, folder, &shlex::split(command).expect("words"));
        assert!(matches!(ended.code, Some(0 | 3)), "{command}: {ended:#?}");
        last = Some(ended);
    }
    last.expect("a command")
}

#[test]
fn whether_a_card_is_genuine_is_answered_as_its_page_shows() {
    needs!(root, "mkfs.ext4");
    let commands = commands_below("docs/check.md", "Is a card genuine?");
    let card = or_skip!(Volume::new("ext4", 256));
    let scratch = or_skip!(Scratch::new());
    let device = or_skip!(LoopDevice::new(&scratch, "card.img", 128));
    let (bed, folder) = (Bed::new(), text(scratch.path()).to_owned());
    let others = [
        ("/mnt/card", text(card.point())),
        ("/dev/sdX", text(device.node())),
        ("assay check", "assay check --seconds 1 --trials 1"),
    ];
    let ended = follow(&bed, Path::new(&folder), &commands, &others);
    let (_, verdict) = ended.out.rsplit_once("Verdict\n").expect("a verdict");
    assert!(verdict.contains("No sign of a fake"), "{}", ended.out);
}

/// The three commands of the page end with a comparison; its verdict depends on the machine and is not checked.
#[test]
fn before_and_after_are_compared_as_the_page_shows() {
    let commands = commands_below("docs/verdicts.md", "Before and after a change");
    let bed = Bed::new();
    let folder = bed.folder();
    let short = " --quick --size 4M --only read-cached,rand-read-4k --name";
    let others = [
        ("/mnt/disk", text(&folder)),
        (" --name", short),
        ("--gate", "--gate --allow-unjudged"),
    ];
    let ended = follow(&bed, &folder, &commands, &others);
    assert!(ended.out.contains("compared with"), "{}", ended.out);
}

#[test]
fn old_results_of_fio_are_judged_against_a_new_run_as_the_page_shows() {
    needs!(root, "mkfs.ext4", "fio");
    let commands = commands_below("docs/import.md", "An old result against a new run");
    let disk = or_skip!(Volume::new("ext4", 64));
    let job = "[reads]\nrw=randread\ndirect=1\nsize=8m\nruntime=200ms\ntime_based\n";
    fs::write(disk.point().join("job.fio"), job).expect("a file");
    for number in 1..=3 {
        let output = format!("--output=old-{number}.json");
        let mut fio = assay_testkit::command("fio");
        fio.args(["--output-format=json", &output, "job.fio"])
            .current_dir(disk.point());
        assert!(fio.status().expect("it starts").success());
    }
    let ended = follow(&Bed::new(), disk.point(), &commands, &[]);
    assert!(ended.out.contains("is not recorded"), "{}", ended.out);
}
