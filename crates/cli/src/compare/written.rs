//! A comparison in a format of choice.

use super::Judged;
use crate::exit::Failure;
use crate::formats::{Format, OutputArgs};
use assay_report::gate::{Suite, junit, kcidb, lava, tap};
use assay_report::render::{Form, write_mail};
use assay_report::{html, json, views, xlsx};
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

type Writer = fn(&Judged, &OutputArgs, &mut dyn Write) -> io::Result<()>;

/// Refuses a format that no comparison has.
pub fn is_possible(format: Format) -> Result<(), Failure> {
    writer_for(format).map(drop)
}

/// Writes it.
pub fn write(judged: &Judged, format: Format, output: &OutputArgs) -> Result<(), Failure> {
    let write = writer_for(format)?;
    output.write(format, |out| write(judged, output, out))
}

fn writer_for(format: Format) -> Result<Writer, Failure> {
    Ok(match format {
        Format::Html => |judged, _, out| {
            let (a, b) = (judged.a.runs(), judged.b.runs());
            let [a, b] = judged.sides([&a, &b]);
            html::write_comparison(&judged.compared(), &a, &b, out)
        },
        Format::Json => |judged, _, out| {
            let value = json::comparison(&judged.compared());
            writeln!(out, "{value:#}")
        },
        Format::Xlsx => |judged, _, out| xlsx::write_comparison(&judged.compared(), out),
        Format::Text => |judged, _, out| mail(judged, Form::Text, out),
        Format::Markdown => |judged, _, out| mail(judged, Form::Markdown, out),
        Format::Junit => |judged, _, out| junit::write(&suite(judged), out),
        Format::Tap => |judged, _, out| tap::write(&suite(judged), out),
        Format::Lava => |judged, _, out| lava::write(&suite(judged), out),
        Format::Kcidb => {
            |judged, output, out| kcidb::write(&suite(judged), &output.submission(), out)
        }
        Format::Csv => return Err(format.refused("a comparison", &POSSIBLE)),
    })
}

fn mail(judged: &Judged, form: Form, out: &mut dyn Write) -> io::Result<()> {
    write_mail(&views::comparison::mail(&judged.compared()), form, out)
}

fn suite(judged: &Judged) -> Suite {
    Suite::of_comparison(&judged.compared())
}
