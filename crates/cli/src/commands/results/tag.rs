//! `assay tag`: changes name, tags and note of a stored run or import.

use crate::exit::{DONE, Failure};
use crate::output::say;
use crate::stored::AnnotationArgs;
use crate::stored::lookup::StoreArgs;
use assay_lang::tr;
use assay_model::annotation::Annotation;
use assay_model::text::clean;
use clap::{ArgGroup, Args};
use std::process::ExitCode;

/// Group of the options for changes, of which at least one is required.
fn changes() -> ArgGroup {
    let group = ArgGroup::new("changes").args(["name", "no_name", "tag", "untag", "note"]);
    group.required(true).multiple(true)
}

/// `assay tag`.
#[derive(Args, Debug)]
#[command(
    after_help = "\
Examples:
  assay tag last --name baseline --tag nightly
  assay tag baseline --note 'kernel 6.12, before the patch'
  assay compare baseline last

Names, tags and notes can change; the measured record cannot.

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.",
    group(changes())
)]
pub struct TagArgs {
    /// Name, id, beginning of an id, or `last`.
    pub run: String,
    #[command(flatten)]
    pub annotation: AnnotationArgs,
    /// Remove its name.
    #[arg(long, conflicts_with = "name")]
    pub no_name: bool,
    /// Remove a tag; may be given several times.
    #[arg(long, value_name = "TAG")]
    pub untag: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `assay tag`.
pub fn run(args: &TagArgs) -> Result<ExitCode, Failure> {
    let mut store = args.store.open_to_change()?;
    let found = store.find(&args.run)?;
    let before = store.annotation(found.id())?;
    if let Some(missing) = args.untag.iter().find(|tag| !before.tags.contains(tag)) {
        let id = found.id();
        return Err(Failure::usage(format!("{id} has no tag '{missing}'")));
    }
    let after = store.annotate(found.id(), |annotation| change(annotation, args))?;
    let shown = shown(&after).unwrap_or_else(|| tr!("no name, no tags, no note").to_owned());
    say(&format!("{}: {shown}", clean(found.id())));
    Ok(DONE)
}

fn change(annotation: &mut Annotation, args: &TagArgs) {
    if args.no_name {
        annotation.name = None;
    }
    if let Some(name) = &args.annotation.name {
        annotation.name = Some(name.clone());
    }
    annotation.tags.retain(|tag| !args.untag.contains(tag));
    for tag in &args.annotation.tag {
        annotation.add_tag(tag);
    }
    if let Some(note) = &args.annotation.note {
        annotation.note = Some(note.clone()).filter(|note| !note.is_empty());
    }
}

/// Formats an annotation in one line; `None` if it is empty.
fn shown(annotation: &Annotation) -> Option<String> {
    let name = annotation.name.iter().map(|name| tr!("name {name}", name));
    let tags = (!annotation.tags.is_empty()).then(|| annotation.tags.join(", "));
    let tags = tags.map(|tags| tr!("tags {tags}", tags));
    let note = annotation.note.iter().map(|note| tr!("note {note}", note));
    let parts: Vec<String> = name.chain(tags).chain(note).collect();
    (!parts.is_empty()).then(|| clean(&parts.join("; ")))
}
