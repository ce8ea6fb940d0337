//! Traits in words.

use super::found::Said;
use assay_flash::traits::{Trait, TraitFinding, Why};
use assay_lang::tr;
use assay_model::units::{Bytes, BytesPerSec, three_digits};

/// Returns the title of a trait.
pub fn title(what: Trait) -> &'static str {
    match what {
        Trait::ReadCosts => tr!("Cost of a read"),
        Trait::Boundaries => tr!("Pages and erase units"),
        Trait::MapUnit => tr!("Mapping unit"),
        Trait::OpenUnits => tr!("Open erase units"),
        Trait::MapSpan => tr!("Cached addresses"),
        Trait::Flush => tr!("Write buffer and flush"),
        Trait::Slc => tr!("SLC cache"),
        Trait::Break => tr!("Non-sequential read"),
        Trait::Deferred => tr!("Deferred work"),
        Trait::Recovery => tr!("Recovery in pauses"),
        Trait::Queue => tr!("Command queue"),
    }
}

/// Returns the conclusion on a trait, one sentence.
pub fn sentence(said: &Said) -> String {
    match said {
        Said::Refused(why) => tr!("refused: its figures are not the device's ({why})", why),
        Said::NoFlash(why) => tr!("not claimed: {why}", why),
        Said::NotAsked => tr!("not asked").to_owned(),
        Said::Found(finding) => of(finding),
    }
}

fn us(value: f64) -> String {
    format!("{} µs", three_digits(value))
}

fn of(finding: &TraitFinding) -> String {
    match finding {
        TraitFinding::Costs { .. } => costs(finding),
        TraitFinding::Boundaries(found) => {
            let all = found.iter().map(|(unit, extra)| {
                tr!(
                    "{unit} (reads that cross one take {extra} more on average)",
                    unit,
                    extra = us(*extra)
                )
            });
            let all: Vec<String> = all.collect();
            tr!("boundaries at multiples of {units}", units = all.join(", "))
        }
        TraitFinding::MapUnit { unit, extra_us } => tr!(
            "{unit}: a write that is shifted against it takes {extra} more",
            unit,
            extra = us(*extra_us)
        ),
        TraitFinding::OpenUnits {
            least,
            most,
            extra_us,
        } => {
            let units = if least == most {
                least.to_string()
            } else {
                format!("{least} .. {most}")
            };
            tr!(
                "{units} can be written in turn; with one more each write takes {extra} more",
                units,
                extra = us(*extra_us)
            )
        }
        TraitFinding::MapSpan {
            least,
            most,
            extra_us,
        } => tr!(
            "they cover {least} .. {most}; a read elsewhere takes {extra} more",
            least,
            most,
            extra = us(*extra_us)
        ),
        TraitFinding::Flush { flush_us, buffer } => flush(*flush_us, *buffer),
        TraitFinding::Slc { bytes, fast, slow } => tr!(
            "{bytes} are written at {fast}, all that follows at {slow}",
            bytes,
            fast = BytesPerSec(*fast),
            slow = BytesPerSec(*slow)
        ),
        other => of_differences(other),
    }
}

fn of_differences(finding: &TraitFinding) -> String {
    match finding {
        TraitFinding::Break { extra_us } => tr!(
            "a read that does not follow the one before takes {extra} more",
            extra = us(*extra_us)
        ),
        TraitFinding::Deferred {
            extra_us,
            gone_after,
        } => {
            let extra = us(*extra_us);
            match gone_after {
                Some(pause) => tr!(
                    "a read right behind a write waits {extra} longer; after {pause} without I/O it does not",
                    extra,
                    pause
                ),
                None => tr!(
                    "a read behind a write waits {extra} longer, however long the pause",
                    extra
                ),
            }
        }
        TraitFinding::Recovery {
            busy_us,
            rested_us,
            pause,
        } => tr!(
            "work in the background: random writes take {busy} without pauses and {rested} after {pause}",
            busy = us(*busy_us),
            rested = us(*rested_us),
            pause
        ),
        TraitFinding::Queue { gain, depth } => tr!(
            "{gain} times the reads with {depth} in flight",
            gain = three_digits(*gain),
            depth
        ),
        TraitFinding::NotVisible(why) => not_visible(*why),
        _ => String::new(),
    }
}

fn costs(finding: &TraitFinding) -> String {
    let TraitFinding::Costs {
        command_us,
        block_us,
        ramp,
        worst_pct,
    } = finding
    else {
        return String::new();
    };
    let ramp = match ramp {
        Some((extra, blocks)) => tr!(
            ", and {extra} for each of the first {blocks}",
            extra = us(*extra),
            blocks
        ),
        None => String::new(),
    };
    tr!(
        "{command} ± {command_error} for an I/O and {block} ± {block_error} for each block of 512 bytes{ramp}; sizes left out of the fit are predicted to {worst} %",
        command = us(command_us.0),
        command_error = three_digits(command_us.1),
        block = us(block_us.0),
        block_error = three_digits(block_us.1),
        ramp,
        worst = three_digits(*worst_pct)
    )
}

fn flush(flush_us: f64, buffer: Option<(f64, Bytes, Option<Bytes>)>) -> String {
    let flush = us(flush_us);
    match buffer {
        None => tr!(
            "a flush takes {flush}, whatever was written before it",
            flush
        ),
        Some((each, least, None)) => tr!(
            "a flush takes {flush}, and {each} for each KiB before it, for bursts of {least} too",
            flush,
            each = us(each),
            least
        ),
        Some((each, least, Some(most))) => tr!(
            "a flush takes {flush}, and {each} for each KiB before it, up to a burst of {least} .. {most}",
            flush,
            each = us(each),
            least,
            most
        ),
    }
}

fn not_visible(why: Why) -> String {
    match why {
        Why::TooFew => tr!("not visible: too few points or trials were measured"),
        Why::Flat => tr!("not visible: no effect above the noise"),
        Why::Unclear => {
            tr!("not visible: there is an effect, but more than one thing could be its cause")
        }
    }
    .to_owned()
}
