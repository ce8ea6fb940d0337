//! `assay rank`: the conditions of a sweep, or of a table, against each other.

use crate::args::StoreArgs;
use crate::compare::args::parse_margin;
use crate::exit::{DONE, Failure};
use crate::figures::{Source, held_to};
use crate::formats::DocumentArgs;
use crate::output::{print, say};
use assay_lang::Told;
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_report::comparison::Ranked;
use assay_report::json;
use assay_report::stopping::looked_at;
use assay_report::sweep::Verdicts;
use assay_report::views;
use assay_stats::verdict::line::Options;
use assay_stats::verdict::ranking::{RankError, Ranking, rank_figures};
use clap::Args;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Conditions without a common letter differ; a common letter does not say that they
are equal (equivalent does). Without --baseline all pairs are judged.

Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given.";

/// `assay rank`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct RankArgs {
    /// `last`, the first letters of a sweep's or import's id, or a file that
    /// assay import understands.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Judge each condition against this one.
    #[arg(long, value_name = "CONDITION")]
    pub baseline: Option<String>,
    /// Largest difference without a meaning, in percent [default: 5, or that of
    /// the run].
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub margin: Option<f64>,
    /// Rank by metrics that do not decide, too.
    #[arg(long)]
    pub all: bool,
    /// Print the ranking as JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub output: DocumentArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Ranks.
pub fn run(args: &RankArgs) -> Result<ExitCode, Failure> {
    let mut source = Source::find(&args.source, &args.store)?;
    source.figures.retain(|figure| figure.primary || args.all);
    let judged = Judged::of(&source, args.baseline.clone(), args.margin)
        .map_err(|error| Failure::usage(format!("{}: {error}", source.name)))?;
    let ranked = judged.ranked();
    if args.json {
        let value = json::ranking(&ranked);
        print(|out| writeln!(out, "{value:#}"))?;
    } else {
        args.output.show(&views::ranking::document(&ranked))?;
    }
    for note in &source.notes {
        say(&format!("assay: {}: {note}", source.name));
    }
    Ok(DONE)
}

/// The conditions of an import against each other and against its first one; `None` when
/// it has fewer than two.
pub fn verdicts_of_import(import: &Import, margin: Option<f64>) -> Option<Verdicts> {
    let source = Source::of_import(import.clone());
    let options = held_to([&source], margin);
    let conditions = source.conditions();
    Verdicts::of_figures(&source.figures, conditions.first()?, options)
}

/// Conditions and what came of them.
pub struct Judged {
    name: String,
    baseline: Option<String>,
    options: Options,
    ranking: Ranking,
    warnings: Vec<Told>,
}

impl Judged {
    fn of(
        source: &Source,
        baseline: Option<String>,
        margin: Option<f64>,
    ) -> Result<Self, RankError> {
        let options = held_to([source], margin);
        Ok(Self {
            ranking: rank_figures(&source.figures, baseline.as_deref(), &options)?,
            name: source.name.clone(),
            warnings: Told::all(|| {
                let looked = source.run.as_deref().and_then(looked_at);
                looked.into_iter().collect()
            }),
            baseline,
            options,
        })
    }

    /// The conditions of a run by the metrics that decide; `None` when it has fewer
    /// than two.
    pub fn of_run(run: &Run, margin: Option<f64>) -> Option<Self> {
        let mut source = Source::of_run(run.clone());
        source.figures.retain(|figure| figure.primary);
        Self::of(&source, None, margin).ok()
    }

    /// The conditions of an import in the same way.
    pub fn of_import(import: &Import, margin: Option<f64>) -> Option<Self> {
        let mut source = Source::of_import(import.clone());
        source.figures.retain(|figure| figure.primary);
        Self::of(&source, None, margin).ok()
    }

    /// As reports take it.
    pub fn ranked(&self) -> Ranked<'_> {
        Ranked {
            source: &self.name,
            baseline: self.baseline.as_deref(),
            options: &self.options,
            ranking: &self.ranking,
            warnings: self.warnings.clone(),
        }
    }
}
