//! Output of a comparison in the requested format.

use crate::exit::{DONE, Failure, MISSED};
use crate::judging::args::{FORMATS, Terms, VerdictArgs};
use crate::judging::comparison::{Judged, NamedSide, two_sources, units};
use crate::output::{say, show};
use crate::stored::formats::{Format, OutputArgs};
use crate::stored::lookup::StoreArgs;
use assay_lang::tr;
use assay_report::document::Detail;
use assay_report::gate::{Status, Suite, junit, kcidb, lava, tap};
use assay_report::render::{Form, write_mail};
use assay_report::{html, json, views, xlsx};
use std::io::{self, Write};
use std::process::ExitCode;

type JudgedWriter = fn(&Judged, &OutputArgs, &mut dyn Write) -> io::Result<()>;

/// Writes a comparison.
pub fn write(judged: &Judged, format: Format, output: &OutputArgs) -> Result<(), Failure> {
    let write = writer_for(format)?;
    output.write(format, |out| write(judged, output, out))
}

fn writer_for(format: Format) -> Result<JudgedWriter, Failure> {
    Ok(match format {
        Format::Html => |judged, _, out| {
            let (a, b) = (judged.a.runs(), judged.b.runs());
            let [a, b] = judged.sides([&a, &b]);
            html::write_comparison(&judged.compared(), &a, &b, out)
        },
        Format::Json => {
            |judged, _, out| writeln!(out, "{:#}", json::comparison(&judged.compared()))
        }
        Format::Xlsx => |judged, _, out| xlsx::write_comparison(&judged.compared(), out),
        Format::Text => |judged, _, out| mail(judged, Form::Text, out),
        Format::Markdown => |judged, _, out| mail(judged, Form::Markdown, out),
        Format::Junit => |judged, _, out| junit::write(&suite(judged), out),
        Format::Tap => |judged, _, out| tap::write(&suite(judged), out),
        Format::Lava => |judged, _, out| lava::write(&suite(judged), out),
        Format::Kcidb => {
            |judged, output, out| kcidb::write(&suite(judged), &output.submission(), out)
        }
        Format::Csv | Format::Openmetrics => return Err(format.refused("a comparison", &FORMATS)),
    })
}

fn mail(judged: &Judged, form: Form, out: &mut dyn Write) -> io::Result<()> {
    write_mail(&views::comparison::mail(&judged.compared()), form, out)
}

fn suite(judged: &Judged) -> Suite {
    Suite::of_comparison(&judged.compared())
}

/// Returns the requested format; fails if a comparison cannot be written in it.
pub fn wanted(args: &VerdictArgs) -> Result<Option<Format>, Failure> {
    let wanted = match args.json {
        true => Some(Format::Json),
        false => args.output.wanted()?,
    };
    wanted.map(writer_for).transpose()?;
    Ok(wanted)
}

/// Compares two parts by runs of their units; returns the exit code of the gate.
pub fn of_units(parts: [(&str, &[String]); 2], args: &VerdictArgs) -> Result<ExitCode, Failure> {
    let [a, b] = parts.map(|(name, runs)| units(name, runs, &args.store));
    present(args, (a?, b?))
}

/// Judges two sides and shows the result; returns the exit code of the gate.
pub fn present(args: &VerdictArgs, sides: (NamedSide, NamedSide)) -> Result<ExitCode, Failure> {
    wanted(args)?;
    present_judged(
        args,
        Judged::of_stored(sides, &args.terms, &args.store, None)?,
    )
}

/// Shows a comparison; returns the exit code of the gate.
pub fn present_judged(args: &VerdictArgs, mut judged: Judged) -> Result<ExitCode, Failure> {
    let wanted = wanted(args)?;
    judged.allow_unjudged = args.allow_unjudged;
    let compared = judged.compared();
    match wanted {
        Some(format) => {
            write(&judged, format, &args.output)?;
            if args.output.output.is_some() {
                say(&views::comparison::headline(&compared));
            }
        }
        None => {
            let detail = match args.explain {
                true => Detail::Full,
                false => Detail::Brief,
            };
            show(&views::comparison::document(&compared, detail))?;
        }
    }
    if !args.gate {
        return Ok(DONE);
    }
    match (
        Suite::of_comparison(&compared).count(Status::Fail),
        compared.unjudged(),
    ) {
        (0, None) => Ok(DONE),
        (0, Some(why)) => Err(Failure::usage(tr!(
            "{why} To let the gate pass: --allow-unjudged.",
            why
        ))),
        _ => Ok(ExitCode::from(MISSED)),
    }
}

/// Writes the comparison for `assay report A B`.
pub fn report(
    [a, b]: [&String; 2],
    store: &StoreArgs,
    terms: &Terms,
    (format, output): (Format, &OutputArgs),
) -> Result<ExitCode, Failure> {
    let judged = Judged::of_stored(two_sources([a, b], store)?, terms, store, None)?;
    write(&judged, format, output)?;
    Ok(DONE)
}
