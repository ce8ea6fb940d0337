//! Key figures of a run in a few lines: the actual speed of the device, and whether the figures are
//! trustworthy. They use only figures, labels and warnings. In a sweep, a figure is a range over
//! the conditions, with the conditions of its ends.

use assay_lang::tr;
mod lines;
mod main_memory;
mod over;
use crate::results::summary::{JobSummary, Summary};
use crate::results::warnings::{Doubt, Warning};

/// Line with a subject and its figures. Safe to display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFigure {
    /// Subject, for example `Sequential`.
    pub subject: String,
    /// Figures, for example `read 166 MB/s; write 15.9 MB/s not flushed`.
    pub text: String,
}

/// Trustworthiness of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Reliable: the evidence raises no doubt.
    Yes,
    /// Less exact than they look.
    WithCare,
    /// Partly missing or misleading.
    InPart,
    /// None of the figures is the device's.
    No,
}

/// Key figures of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFigures {
    /// Lines of figures, one per subject.
    pub lines: Vec<KeyFigure>,
    /// Trustworthiness of the figures.
    pub belief: Belief,
    /// Reason in one sentence that begins with the answer.
    pub because: String,
}

/// Maximum number of reasons; the warnings contain all.
const REASONS: usize = 3;

impl KeyFigures {
    /// Derives the key figures of a run with its warnings.
    pub fn of(summary: &Summary<'_>, warnings: &[Warning]) -> Self {
        let mut doubts: Vec<Doubt> = warnings.iter().filter_map(Warning::doubt).collect();
        if summary.jobs.iter().any(JobSummary::is_cuts) {
            return Self::of_cuts();
        }
        let is_of_memory = summary.is_of_memory();
        doubts.extend(is_of_memory.then(|| main_memory::doubt(summary)).flatten());
        let belief = belief(summary, &doubts);
        Self {
            lines: match is_of_memory {
                true => main_memory::all(summary),
                false => lines::all(summary),
            },
            belief,
            because: because(belief, &doubts, summary),
        }
    }

    /// Returns the key figures of power cuts, which have a separate verdict and no figures.
    fn of_cuts() -> Self {
        let because = tr!(
            "yes: each cut is proved by another start of the kernel, and what was checked was read after it"
        );
        Self {
            lines: Vec::new(),
            belief: Belief::Yes,
            because: because.to_owned(),
        }
    }
}

fn belief(summary: &Summary<'_>, doubts: &[Doubt]) -> Belief {
    let has = |wanted: fn(&Doubt) -> bool| doubts.iter().any(wanted);
    let seen = summary.jobs.iter().any(|job| match summary.is_of_memory() {
        true => job.completed().next().is_some(),
        false => {
            let labels = job.labels(None);
            labels.has("device") || labels.has("device-unflushed")
        }
    });
    if !seen || has(|doubt| matches!(doubt, Doubt::All(_))) {
        Belief::No
    } else if has(|doubt| matches!(doubt, Doubt::Some(_))) {
        Belief::InPart
    } else if doubts.is_empty() {
        Belief::Yes
    } else {
        Belief::WithCare
    }
}

/// Returns true if all figures come from a model.
fn is_simulated(summary: &Summary<'_>) -> bool {
    let mut labels = summary.jobs.iter().map(|job| job.labels(None));
    labels.any(|labels| labels.agreed() == Some("simulated"))
}

fn is_repeated(summary: &Summary<'_>) -> bool {
    summary.jobs.iter().any(|job| job.completed().count() > 1)
}

fn because(belief: Belief, doubts: &[Doubt], summary: &Summary<'_>) -> String {
    let mut doubts: Vec<&Doubt> = doubts.iter().collect();
    doubts.sort_by_key(|doubt| match doubt {
        Doubt::All(_) => 0,
        Doubt::Some(_) => 1,
        Doubt::Exactness(_) => 2,
    });
    let reasons: Vec<&str> = doubts
        .iter()
        .map(|doubt| match doubt {
            Doubt::All(why) | Doubt::Some(why) | Doubt::Exactness(why) => why.as_str(),
        })
        .take(REASONS)
        .collect();
    let reasons = match doubts.len().saturating_sub(REASONS) {
        0 => reasons.join("; "),
        more => tr!("{reasons}; {more} more", reasons = reasons.join("; "), more),
    };
    match belief {
        Belief::Yes if summary.is_of_memory() => {
            tr!("yes: nothing in the evidence speaks against it").to_owned()
        }
        Belief::No if summary.is_of_memory() && reasons.is_empty() => {
            tr!("no: nothing was measured").to_owned()
        }
        Belief::Yes if !is_repeated(summary) => {
            tr!("yes: these bytes were seen at the device").to_owned()
        }
        Belief::Yes => tr!("yes: these bytes were seen at the device, and trials agree").to_owned(),
        Belief::WithCare => tr!("with care: {reasons}", reasons),
        Belief::InPart => tr!("in part: {reasons}", reasons),
        Belief::No if is_simulated(summary) => {
            tr!("no: a model of a device computed them, nothing was measured").to_owned()
        }
        Belief::No if reasons.is_empty() => tr!("no: nothing was seen at a device").to_owned(),
        Belief::No => tr!("no: {reasons}", reasons),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::warnings::collect;
    use crate::testing::fixture;
    use crate::testing::samples;
    use assay_model::job::{Job, Rw};
    use assay_model::run::Run;
    use assay_model::storage::Backing;
    use assay_model::units::Bytes;

    fn digest(run: &Run) -> KeyFigures {
        let summary = Summary::of(run);
        KeyFigures::of(&summary, &collect(&summary))
    }

    fn told<'d>(digest: &'d KeyFigures, subject: &str) -> Option<&'d str> {
        let line = digest.lines.iter().find(|line| line.subject == subject)?;
        Some(&line.text)
    }

    /// Only jobs with nothing to complain about.
    fn calm() -> Run {
        let mut run = fixture::run();
        run.trials.retain(|trial| trial.job.name == "seq-read-1m");
        let planned = &mut run.header.plan.jobs;
        planned.retain(|planned| planned.job.name == "seq-read-1m");
        run
    }

    #[test]
    fn a_write_is_told_flushed_and_not_flushed() {
        let digest = digest(&fixture::run());
        assert_eq!(
            told(&digest, "Sequential"),
            Some(
                "read 166 MB/s; write 15.9 MB/s not flushed; write with one flush at the end 15.9 MB/s"
            )
        );
    }

    #[test]
    fn the_answer_begins_with_yes_only_without_any_doubt() {
        let answer = digest(&calm());
        assert_eq!(answer.belief, Belief::Yes);
        assert!(answer.because.starts_with("yes: "), "{}", answer.because);
        let mut two = calm();
        two.trials.pop();
        assert_eq!(digest(&two).belief, Belief::WithCare);
        assert_eq!(digest(&fixture::run()).belief, Belief::InPart);
        assert_eq!(digest(&samples::empty()).belief, Belief::No);
    }

    #[test]
    fn memory_is_never_believed() {
        let mut run = calm();
        let backing = Backing::Memory {
            fs_type: "tmpfs".to_owned(),
        };
        run.header.storage.layers.clear();
        run.header.storage.backing = backing;
        for trial in &mut run.trials {
            trial.evidence.as_mut().unwrap().storage = run.header.storage.clone();
        }
        let digest = digest(&run);
        assert_eq!(digest.belief, Belief::No);
        assert!(digest.because.contains("tmpfs"), "{}", digest.because);
        let sequential = told(&digest, "Sequential");
        assert_eq!(sequential, Some("read 166 MB/s in memory"));
    }

    #[test]
    fn a_sustained_write_tells_its_cliff_and_its_longest_stall() {
        let digest = digest(&samples::with_sustained());
        let text = told(&digest, "Sustained").unwrap();
        assert!(text.contains("until 1.0 GiB, then 36.5 MB/s"), "{text}");
        assert!(text.contains("2 stalls, the longest 1.31 s"), "{text}");
    }

    /// `bfq` takes so many times as long; trials vary by up to 4 %.
    fn swept(factor: u64) -> Run {
        let mut run = samples::swept();
        for (trial, noise) in run
            .trials
            .iter_mut()
            .zip([0, 3, 1, 4, 2, 0, 4].into_iter().cycle())
        {
            let bfq = trial.condition.as_deref() == Some("scheduler=bfq");
            if let Some(measured) = &mut trial.measured {
                let times = if bfq { factor } else { 1 };
                measured.elapsed_ns = measured.elapsed_ns * times * (100 + noise) / 100;
            }
        }
        run
    }

    #[test]
    fn of_a_sweep_each_figure_is_a_range_whose_ends_are_named_where_a_verdict_tells_them_apart() {
        let run = swept(2);
        for run in [&run, &crate::results::sweep::by_condition(run.clone())] {
            let digest = digest(run);
            let text = told(&digest, "Sequential").unwrap();
            assert!(text.starts_with("read 8"), "{text}");
            let named = "MB/s (least scheduler=bfq, most scheduler=none)";
            assert!(text.contains(named), "{text}");
        }
        let mut alone = run;
        alone
            .trials
            .retain(|trial| trial.condition.as_deref() != Some("scheduler=bfq"));
        let text = digest(&alone);
        let text = told(&text, "Sequential").unwrap();
        assert!(text.starts_with("read 16") && !text.contains('('), "{text}");
    }

    #[test]
    fn no_condition_is_least_without_a_verdict() {
        let run = swept(1);
        for run in [&run, &crate::results::sweep::by_condition(run.clone())] {
            for line in digest(run).lines {
                assert!(!line.text.contains("least"), "{}", line.text);
            }
            let digest = digest(run);
            let text = told(&digest, "Sequential").unwrap();
            assert!(
                text.contains(" .. ") && text.contains("(no difference found)"),
                "{text}"
            );
        }
    }

    #[test]
    fn each_job_of_a_few_that_were_asked_for_has_a_line() {
        let mut run = samples::with_read_ladder();
        let few = ["read-cached", "seq-read-1m", "rand-read-4k"];
        run.trials
            .retain(|trial| few.contains(&trial.job.name.as_str()));
        let planned = &mut run.header.plan.jobs;
        planned.retain(|planned| few.contains(&planned.job.name.as_str()));
        let larger = |job: &Job| Job {
            name: "rand-read-16k".to_owned(),
            bs: Bytes::kib(16),
            ..job.clone()
        };
        for mut trial in run.trials.clone() {
            trial.job = larger(&trial.job);
            run.trials
                .extend((trial.job.rw == Rw::RandRead).then_some(trial));
        }
        let digest = digest(&run);
        for (subject, words) in [
            ("Sequential", "read 166 MB/s"),
            ("Random 4 KiB", "read "),
            ("rand-read-16k", "read "),
            ("read-cached", "in memory"),
        ] {
            let text = told(&digest, subject).unwrap_or_else(|| panic!("{subject}: {digest:?}"));
            assert!(text.contains(words), "{subject}: {text}");
        }
        let all = self::digest(&samples::with_read_ladder());
        assert_eq!(told(&all, "read-cached"), None, "many are in short");
    }
}
