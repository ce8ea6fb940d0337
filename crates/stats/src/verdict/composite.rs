//! Composite of all primary metrics: a summary of their verdicts, which decides nothing itself.

use super::adjust::Adjusted;
use super::arm::Arm;
use super::between::RunVariance;
use super::candidate::Candidate;
use super::combined::Level;
use super::line::{Options, VerdictRow, none};
use super::note::Note;
use super::shift::Tables;
use assay_lang::key;
use assay_model::figures::Better;
use assay_model::verdict::{Change, Verdict};

/// Returns the composite of each trial, c = mean of its y over the primary metrics, so that
/// correlated metrics do not count as independent. `None` with fewer than two metrics, or if one
/// has a different number of trials or only a summary.
pub(crate) fn candidate(
    candidates: &[&Candidate],
    level: Level,
    options: &Options,
    tables: &mut Tables,
) -> Option<Candidate> {
    let primary: Vec<_> = candidates.iter().filter(|c| c.line().primary).collect();
    if primary.len() < 2 || primary.iter().any(|c| c.is_barred()) {
        return None;
    }
    let a = join(&primary.iter().map(|c| c.arms().0).collect::<Vec<_>>())?;
    let b = join(&primary.iter().map(|c| c.arms().1).collect::<Vec<_>>())?;
    let mut line = VerdictRow::new(key!("all primary metrics").to_owned(), String::new(), false);
    if primary.iter().any(|c| c.arms().0.better != a.better) {
        line.notes.push(Note::AsSpeed);
    }
    let simulated = primary.iter().all(|c| c.is_simulated());
    let between: Vec<RunVariance> = primary.iter().filter_map(|c| c.between()).collect();
    let options = &Options {
        between: RunVariance::of_composite(&between),
        ..*options
    };
    Some(Candidate::new(
        line,
        (a, b),
        level,
        simulated,
        options,
        tables,
    ))
}

/// Averages the metrics trial by trial; the place of a trial is the mean of its places in the
/// metrics.
fn join(arms: &[&Arm]) -> Option<Arm> {
    let n = arms.first()?.y.len();
    if arms.iter().any(|arm| arm.y.len() != n) {
        return None;
    }
    let mean =
        |of: &dyn Fn(&Arm) -> f64| arms.iter().map(|arm| of(arm)).sum::<f64>() / arms.len() as f64;
    let y = (0..n).map(|r| mean(&|arm| arm.y[r])).collect();
    let known = arms.iter().all(|arm| arm.positions.len() == n);
    let positions = if known {
        (0..n).map(|r| mean(&|arm| arm.positions[r])).collect()
    } else {
        Vec::new()
    };
    Arm::of_logs(y, positions, direction(arms)).ok()
}

/// Returns the direction in which all metrics are better; for rates and times together it is that
/// of speed.
fn direction(arms: &[&Arm]) -> Better {
    let mixed = arms.windows(2).any(|pair| pair[0].better != pair[1].better);
    let common = arms.first().filter(|_| !mixed);
    common.map_or(Better::Higher, |arm| arm.better)
}

/// Judges the composite at the full level. It only repeats a verdict that a primary metric has,
/// since it would otherwise be an additional test. It has no verdict if another primary metric
/// contradicts it, which is a trade-off.
pub(crate) fn conclude(
    candidate: Option<Candidate>,
    lines: &[VerdictRow],
    options: &Options,
    tables: &mut Tables,
    notes: &mut Vec<Note>,
) -> Option<VerdictRow> {
    let primary: Vec<&VerdictRow> = lines.iter().filter(|line| line.primary).collect();
    let Some(candidate) = candidate else {
        if primary.len() >= 2 {
            notes.push(Note::NoComposite);
        }
        return None;
    };
    let adjusted = candidate.p().map(|p| Adjusted {
        p,
        level: options.alpha,
    });
    let mut line = candidate.conclude(adjusted, options, tables);
    let word = line.verdict.word();
    let (alike, others): (Vec<&VerdictRow>, Vec<&VerdictRow>) = primary
        .into_iter()
        .partition(|line| line.verdict.word() == word);
    let differs =
        |line: &&VerdictRow| matches!(line.verdict, Verdict::Faster(_) | Verdict::Slower(_));
    let contrary: Vec<(String, &str)> = others
        .into_iter()
        .filter(differs)
        .map(|line| (line.metric.clone(), line.verdict.word()))
        .collect();
    let why = match &line.verdict {
        Verdict::NoConclusion { .. } => return Some(line),
        _ if !contrary.is_empty() => Note::TradeOff(contrary),
        _ if alike.is_empty() => Note::OnlyTogether(word),
        _ => return Some(line),
    };
    if !options.qualify {
        line.change = line.change.map(|change| Change {
            interval: None,
            ..change
        });
    }
    line.verdict = none(line.change);
    line.notes
        .retain(|note| !matches!(note, Note::BeyondMargin(_) | Note::TinyDifference));
    line.notes.push(why);
    Some(line)
}
