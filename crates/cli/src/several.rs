//! One command on several targets at the same time.

use crate::crew::{Crew, Ended, Event, Task};
use crate::exit::{Failure, LOST};
use crate::on::On;
use crate::output::{print, say};
use assay_model::text::clean;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Runs a command's words on each target; the worst of their exit codes.
pub fn run(targets: &[On], words: &[OsString], json: bool) -> Result<ExitCode, Failure> {
    let mut crew = Crew::new()?;
    for target in targets {
        let name = target.to_string();
        crew.start(&Task {
            address: name.clone(),
            name,
            words: words.to_vec(),
            limit: None,
        })?;
    }
    let mut ended = all(&mut crew);
    crew.close();
    ended.sort_by_key(|ended| ended.number);
    print(|out| write_results(&ended, json, out))?;
    say_failures(&ended);
    let worst = ended.iter().map(|ended| ended.code).max().unwrap_or(0);
    Ok(ExitCode::from(crew.signalled().unwrap_or(worst)))
}

/// Waits until all have ended.
fn all(crew: &mut Crew) -> Vec<Ended> {
    let mut all: Vec<Ended> = Vec::new();
    while crew.under_way() > 0 {
        let failed = all.iter().filter(|ended| ended.code != 0).count();
        let done = all.len() - failed;
        crew.set_title(&format!(
            "{} under way, {done} done, {failed} failed",
            crew.under_way()
        ));
        if let Event::Ended(ended) = crew.next(Duration::from_secs(1)) {
            all.push(ended);
        }
    }
    all
}

/// What each wrote, in the order of the targets; documents of JSON in one array.
fn write_results(all: &[Ended], json: bool, out: &mut dyn Write) -> io::Result<()> {
    let wrote = || {
        all.iter()
            .filter(|ended| !ended.out.trim_ascii().is_empty())
    };
    if !json {
        for ended in wrote() {
            writeln!(out, "--- {}", clean(&ended.name))?;
            out.write_all(&ended.out)?;
        }
        return Ok(());
    }
    out.write_all(b"[")?;
    for (index, ended) in wrote().enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        out.write_all(ended.out.trim_ascii())?;
    }
    out.write_all(b"\n]\n")
}

fn say_failures(all: &[Ended]) {
    let failed: Vec<&Ended> = all.iter().filter(|ended| ended.code != 0).collect();
    for ended in &failed {
        say(&format!("assay: {}", in_words(ended)));
    }
    if !failed.is_empty() {
        say(&format!(
            "assay: {} of {} targets failed",
            failed.len(),
            all.len()
        ));
    }
}

/// Which target failed, how, and why.
pub fn in_words(ended: &Ended) -> String {
    let why = match (&ended.complaint, ended.too_late) {
        (_, true) => "its time was over".to_owned(),
        (Some(complaint), _) => complaint.clone(),
        (None, _) if ended.code == LOST => "the target was lost".to_owned(),
        (None, _) => "see what it said above".to_owned(),
    };
    clean(&format!("{} ended with {}: {why}", ended.name, ended.code))
}
