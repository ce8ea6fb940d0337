//! Job files: sections of `name=value` lines.

use super::Environment;
use super::error::{FioError, OptionLocation, quoted};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Option as written.
#[derive(Clone, Debug)]
pub(super) struct IniEntry {
    /// Name of the option.
    pub(super) name: String,
    /// Text after the `=`; `None` without one.
    pub(super) value: Option<String>,
    /// Position of the entry.
    pub(super) place: OptionLocation,
}

/// Section of a job file.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Text between the brackets.
    pub(super) name: String,
    /// Position of the section's start.
    pub(super) place: OptionLocation,
    /// Lines of the section, including those of included files.
    pub(super) entries: Vec<IniEntry>,
}

impl Section {
    /// Returns true if the options apply to the jobs below.
    pub(super) fn is_global(&self) -> bool {
        is_global(&self.name)
    }
}

/// Returns true for a global section. fio takes any name with this prefix as
/// global.
pub(super) fn is_global(name: &str) -> bool {
    name.starts_with("global")
}

/// Largest depth of nested include files.
const DEEPEST: usize = 16;
/// Largest number of included files in a section.
const MOST_INCLUDES: usize = 256;

/// Reads a job file and calls `each` with its sections in order. Skips sections
/// for which `wanted` returns false, without checking their options.
pub(super) fn read(
    path: &Path,
    env: &dyn Environment,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(Section) -> Result<(), FioError>,
) -> Result<(), FioError> {
    let text = contents(path, env, &OptionLocation::command_line())?;
    let mut file = File {
        env,
        path: path.to_owned(),
        label: label(path),
        includes: 0,
    };
    let mut current: Option<Section> = None;
    let mut skipping = false;
    for (line, place) in file.lines(&text) {
        readable(line, &place)?;
        if let Some(header) = line.strip_prefix('[') {
            if let Some(section) = current.take() {
                each(section)?;
            }
            let name = header.strip_suffix(']').ok_or_else(|| {
                let shown = quoted(header);
                FioError::at(place.clone(), format!("'[{shown}' has no closing ']'"))
            })?;
            file.includes = 0;
            skipping = !wanted(name);
            current = (!skipping).then(|| Section {
                name: name.to_owned(),
                place,
                entries: Vec::new(),
            });
        } else if let Some(section) = &mut current {
            let open = vec![path.to_owned()];
            file.option(line, place, &open, &mut section.entries)
                .map_err(|error| error.within(&section.name))?;
        } else if !skipping {
            return Err(FioError::at(
                place,
                format!(
                    "'{}' is outside of any section: begin one with [name]",
                    quoted(line)
                ),
            ));
        }
    }
    current.map_or(Ok(()), each)
}

/// Job file being read.
struct File<'a> {
    env: &'a dyn Environment,
    path: PathBuf,
    label: Arc<str>,
    includes: usize,
}

fn label(path: &Path) -> Arc<str> {
    match path.to_str() {
        Some("-") => "standard input".into(),
        _ => path.display().to_string().into(),
    }
}

impl File<'_> {
    /// Returns lines without comments and surrounding blanks, with their
    /// positions. Skips empty lines.
    fn lines<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = (&'t str, OptionLocation)> + use<'t> {
        let label = Arc::clone(&self.label);
        text.lines().zip(1_u32..).filter_map(move |(line, number)| {
            let line = line.split([';', '#']).next().unwrap_or("");
            let line = line.trim_matches(|c: char| c.is_whitespace() || c.is_control());
            (!line.is_empty()).then(|| {
                let file = Some(Arc::clone(&label));
                (line, OptionLocation { file, line: number })
            })
        })
    }

    /// Adds an option, or the options of an included file. `open` lists the
    /// files being read, each included by the one before.
    fn option(
        &mut self,
        line: &str,
        place: OptionLocation,
        open: &[PathBuf],
        into: &mut Vec<IniEntry>,
    ) -> Result<(), FioError> {
        let included = line
            .strip_prefix("include")
            .filter(|rest| rest.starts_with(char::is_whitespace));
        if let Some(name) = included {
            return self.include(Path::new(name.trim()), &place, open, into);
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim().to_owned())),
            None => (line, None),
        };
        into.push(IniEntry {
            name: name.to_owned(),
            value,
            place,
        });
        Ok(())
    }

    /// Reads an included file. A relative name is tried as it is, then in the
    /// folder of the including file.
    fn include(
        &mut self,
        name: &Path,
        place: &OptionLocation,
        open: &[PathBuf],
        into: &mut Vec<IniEntry>,
    ) -> Result<(), FioError> {
        self.includes += 1;
        if open.len() > DEEPEST || self.includes > MOST_INCLUDES {
            return Err(FioError::at(
                place.clone(),
                "too many files include each other",
            ));
        }
        let including = open.last().unwrap_or(&self.path);
        let beside = including.parent().map(|parent| parent.join(name));
        let (path, text) = match (contents(name, self.env, place), beside) {
            (Ok(text), _) => (name.to_owned(), text),
            (Err(error), None) => return Err(error),
            (Err(_), Some(beside)) => {
                let text = contents(&beside, self.env, place)?;
                (beside, text)
            }
        };
        if open.contains(&path) {
            let problem = format!("'{}' includes itself", path.display());
            return Err(FioError::at(place.clone(), problem));
        }
        let outer = std::mem::replace(&mut self.label, label(&path));
        let mut open = open.to_vec();
        open.push(path);
        let result = self.included(&text, &open, into);
        self.label = outer;
        result
    }

    fn included(
        &mut self,
        text: &str,
        open: &[PathBuf],
        into: &mut Vec<IniEntry>,
    ) -> Result<(), FioError> {
        for (line, place) in self.lines(text) {
            readable(line, &place)?;
            if line.starts_with('[') {
                return Err(FioError::at(
                    place,
                    "an included file may not begin sections",
                ));
            }
            self.option(line, place, open, into)?;
        }
        Ok(())
    }
}

/// Refuses a line that is not UTF-8, whose lossy conversion could name another
/// file, or that contains a NUL.
fn readable(line: &str, place: &OptionLocation) -> Result<(), FioError> {
    let problem = if line.contains(char::REPLACEMENT_CHARACTER) {
        "is not UTF-8"
    } else if line.contains('\0') {
        "holds a NUL character"
    } else {
        return Ok(());
    };
    let problem = format!("'{}' {problem}", quoted(line));
    Err(FioError::at(place.clone(), problem))
}

/// Returns the text of a file without a byte order mark. Bytes that are not
/// UTF-8 are accepted here, because they are harmless in comments.
fn contents(
    path: &Path,
    env: &dyn Environment,
    place: &OptionLocation,
) -> Result<String, FioError> {
    let bytes = env.read(path).map_err(|error| {
        FioError::at(
            place.clone(),
            format!("cannot read '{}': {error}", path.display()),
        )
    })?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}
