//! A comparison in a format of choice.

use super::Judged;
use crate::exit::Failure;
use crate::formats::{Format, OutputArgs};
use assay_report::comparison::Compared;
use assay_report::gate::{Suite, junit, kcidb, lava, tap};
use assay_report::mail::{self, Form};
use assay_report::{html, json, xlsx};
use std::io::{self, Write};

/// What a comparison can be written as.
const POSSIBLE: [Format; 9] = [
    Format::Html,
    Format::Json,
    Format::Xlsx,
    Format::Text,
    Format::Markdown,
    Format::Junit,
    Format::Tap,
    Format::Lava,
    Format::Kcidb,
];

type Writer = fn(&Compared<'_>, &OutputArgs, &mut dyn Write) -> io::Result<()>;

/// Refuses a format that no comparison has.
pub fn is_possible(format: Format) -> Result<(), Failure> {
    match POSSIBLE.contains(&format) {
        true => Ok(()),
        false => Err(format.refused("a comparison", &POSSIBLE)),
    }
}

/// Writes it.
pub fn write(judged: &Judged, format: Format, output: &OutputArgs) -> Result<(), Failure> {
    let compared = judged.compared();
    if format == Format::Html {
        let (a, b) = (judged.a.runs(), judged.b.runs());
        let (a, b) = (judged.a.shown(&a), judged.b.shown(&b));
        return output.write(format, |out| html::write_comparison(&compared, &a, &b, out));
    }
    let write = writer_for(format)?;
    output.write(format, |out| write(&compared, output, out))
}

fn writer_for(format: Format) -> Result<Writer, Failure> {
    Ok(match format {
        Format::Json => |compared, _, out| writeln!(out, "{:#}", json::comparison(compared)),
        Format::Xlsx => |compared, _, out| xlsx::write_comparison(compared, out),
        Format::Text => |compared, _, out| mail::write_comparison(compared, Form::Text, out),
        Format::Markdown => {
            |compared, _, out| mail::write_comparison(compared, Form::Markdown, out)
        }
        Format::Junit => |compared, _, out| junit::write(&Suite::of_comparison(compared), out),
        Format::Tap => |compared, _, out| tap::write(&Suite::of_comparison(compared), out),
        Format::Lava => |compared, _, out| lava::write(&Suite::of_comparison(compared), out),
        Format::Kcidb => |compared, output, out| {
            let suite = Suite::of_comparison(compared);
            kcidb::write(&suite, &output.submission(), out)
        },
        Format::Html | Format::Csv => return Err(format.refused("a comparison", &POSSIBLE)),
    })
}
