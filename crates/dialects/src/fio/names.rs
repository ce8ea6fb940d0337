//! File names of jobs.

use super::job::JobDraft;
use std::path::PathBuf;

/// Splits a list at `:`; `\:` is a colon within a name. A leading colon is
/// ignored.
pub(super) fn split_list(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        let last = names.len() - 1;
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                names[last].push(':');
            }
            ':' if !names[last].is_empty() => names.push(String::new()),
            ':' => {}
            _ => names[last].push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the files of a copy of a job. `special`: the job's name is the path
/// of a device, which the job uses.
///
/// # Errors
///
/// If a name is too long.
pub(super) fn paths(job: &JobDraft, copy: u64, special: bool) -> Result<Vec<PathBuf>, String> {
    if let Some(device) = &job.simulated {
        return Ok(vec![device.clone()]);
    }
    let named = &job.names.named;
    if !named.is_empty() {
        let directory = job.names.directories.first();
        return Ok(named.iter().map(|name| below(directory, name)).collect());
    }
    let directory = in_turn(&job.names.directories, copy);
    if special {
        return Ok(vec![below(directory, &job.section)]);
    }
    (0..job.names.count)
        .map(|number| Ok(below(directory, &made_up(job, copy, number)?)))
        .collect()
}

/// Longest path in Linux, in bytes.
const LONGEST: usize = 4096;

/// Returns the entry of a list for a copy; copies use the entries in turn.
pub(super) fn in_turn(list: &[String], copy: u64) -> Option<&String> {
    let length = u64::try_from(list.len()).ok()?;
    let index = copy.checked_rem(length)?;
    list.get(usize::try_from(index).ok()?)
}

/// Prepends the directory, also to an absolute name, as fio does.
fn below(directory: Option<&String>, name: &str) -> PathBuf {
    match directory {
        None => PathBuf::from(name),
        Some(directory) => PathBuf::from(format!("{directory}/{name}")),
    }
}

/// Returns `filename_format` with its keywords replaced.
pub(super) fn made_up(job: &JobDraft, copy: u64, number: u64) -> Result<String, String> {
    let copy = copy.to_string();
    let number = number.to_string();
    let words = [
        ("$jobname", job.section.as_str()),
        ("$jobnum", copy.as_str()),
        ("$filenum", number.as_str()),
        ("$clientuid", ""),
    ];
    let mut name = String::new();
    let mut rest = job.names.format.as_str();
    while let Some(dollar) = rest.find('$') {
        let (before, at) = rest.split_at(dollar);
        let word = words.iter().find(|(word, _)| {
            at.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word))
        });
        let (value, length) = word.map_or(("$", 1), |(word, value)| (*value, word.len()));
        name.push_str(before);
        name.push_str(value);
        rest = &at[length..];
        if name.len() > LONGEST {
            break;
        }
    }
    name.push_str(rest);
    match name.len() <= LONGEST {
        true => Ok(name),
        false => Err(format!(
            "the names of its files are longer than {LONGEST} bytes"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobDraft {
        let mut job = JobDraft::new();
        job.section = "a".to_owned();
        job
    }

    fn shown(paths: &[PathBuf]) -> Vec<String> {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    #[test]
    fn lists_are_split_at_colons_that_are_not_escaped() {
        assert_eq!(split_list("/dev/a:/dev/b"), ["/dev/a", "/dev/b"]);
        assert_eq!(split_list(r"/dev/x\:1:b"), ["/dev/x:1", "b"]);
        assert_eq!(split_list(":a"), ["a"]);
        assert_eq!(split_list(""), [""; 0]);
    }

    #[test]
    fn names_are_made_from_job_copy_and_number() {
        let mut job = job();
        job.names.count = 2;
        assert_eq!(
            shown(&paths(&job, 3, false).expect("names")),
            ["a.3.0", "a.3.1"]
        );
        job.names.format = "x$filenum/$JOBNAME-$other".to_owned();
        assert_eq!(
            shown(&paths(&job, 0, false).expect("names")),
            ["x0/a-$other", "x1/a-$other"]
        );
    }

    #[test]
    fn names_do_not_grow_without_end() {
        let mut job = job();
        job.section = "a".repeat(100_000);
        job.names.format = "$jobname".repeat(100_000);
        assert!(paths(&job, 0, false).is_err());
    }

    #[test]
    fn copies_take_directories_in_turn_and_named_files_the_first() {
        let mut job = job();
        job.names.directories = vec!["/d0".to_owned(), "/d1".to_owned()];
        assert_eq!(shown(&paths(&job, 1, false).expect("names")), ["/d1/a.1.0"]);
        job.names.named = vec!["f".to_owned()];
        assert_eq!(shown(&paths(&job, 1, false).expect("names")), ["/d0/f"]);
    }
}
