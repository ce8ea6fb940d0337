//! `--name`, `--tag` and `--note`: annotation of a run when it begins.

use crate::child;
use crate::exit::Failure;
use crate::stored::lookup::StoreArgs;
use assay_model::annotation::{Annotation, parse_name, parse_note, parse_tag};
use assay_store::{Location, Store};
use clap::Args;
use std::path::PathBuf;

/// Name, tags and note of a run.
#[derive(Args, Clone, Debug, Default)]
pub struct AnnotationArgs {
    /// Name of the run, which other commands take like its id.
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Word to find the run by; may be given several times.
    #[arg(long, value_name = "TAG", value_parser = parse_tag)]
    pub tag: Vec<String>,
    /// Text about the run, shown with it.
    #[arg(long, value_name = "TEXT", value_parser = parse_note)]
    pub note: Option<String>,
}

impl AnnotationArgs {
    /// Returns the annotation.
    pub fn annotation(&self) -> Annotation {
        let mut annotation = Annotation {
            name: self.name.clone(),
            tags: Vec::new(),
            note: self.note.clone().filter(|note| !note.is_empty()),
        };
        for tag in &self.tag {
            annotation.add_tag(tag);
        }
        annotation
    }

    /// Returns the annotation of one of two runs, whose names end with their sides.
    pub fn of_side(&self, side: &str) -> Result<Annotation, Failure> {
        let name = self.name.as_ref();
        let name = name.map(|name| parse_name(&format!("{name}-{side}")));
        let name = name.transpose().map_err(Failure::usage)?;
        Ok(Annotation {
            name,
            ..self.annotation()
        })
    }
}

/// Store of a run, and the name, tags and note that it gets there.
#[derive(Args, Clone, Debug, Default)]
pub struct KeepArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub annotation: AnnotationArgs,
}

impl KeepArgs {
    /// Makes arguments from the options that a drop-in tool has parsed.
    pub fn of(store: Option<PathBuf>, annotation: Annotation) -> Self {
        Self {
            store: StoreArgs {
                store: store.map(|store| Location::parse(store.as_os_str())),
            },
            annotation: AnnotationArgs {
                name: annotation.name,
                tag: annotation.tags,
                note: annotation.note,
            },
        }
    }

    /// Returns the path of the file that is measured into ([`StoreArgs::local_file`]).
    ///
    /// # Errors
    /// If there is no folder for the default file.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        self.store.local_file()
    }

    /// Opens a store for a new run, which gets the annotation.
    ///
    /// # Errors
    /// If the store cannot be opened, or another run has the name.
    pub fn open(&self, at: impl Into<Location>) -> Result<Store, Failure> {
        let mut store = Store::open(at)?;
        if let (Some(name), Some(_)) = (&self.annotation.name, child::this()) {
            return Err(Failure::usage(format!(
                "--name {name} names one run, and there are several targets: name the runs later \
                 with assay tag RUN --name NAME"
            )));
        }
        store.annotate_next(self.annotation.annotation())?;
        Ok(store)
    }
}
