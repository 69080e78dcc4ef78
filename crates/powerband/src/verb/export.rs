//! `export`: an experiment's events, or its results as JSON, CSV or Markdown, or a picture, to a file or standard output.
use std::fmt::Write as _;

use powerband_report::Model;
use powerband_report::json::Report;
use powerband_report::picture::WIDTH;
use powerband_report::picture::palette::Theme;
use powerband_store::Store;

use crate::cli::{Export, Exports, Format, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::failure::not_found;
use crate::stored::{model, need_store, readings};
use crate::{file, output, page};

pub(crate) fn run(shared: &Shared, args: &Export) -> Answer {
    let store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(not_found)?;
    let format = match args.format {
        _ if args.journal => Format::Journal,
        _ if args.csv => Format::Csv,
        format => format.unwrap_or(Format::Json),
    };
    fitting(shared, args, format)?;
    if let Some(path) = &args.output {
        file::is_free(path, args.force, OTHER)?;
    }
    let bytes = match format {
        Format::Journal => journal(&store, id)?.into_bytes(),
        Format::Csv if args.timelines => readings(&store, id, None)?.csv().into_bytes(),
        Format::Csv => powerband_report::csv::render(&model(shared, &store, id)?).into_bytes(),
        Format::Json => json(&model(shared, &store, id)?)?.into_bytes(),
        Format::Md => powerband_report::markdown::render(&model(shared, &store, id)?).into_bytes(),
        Format::Svg => picture(shared, &store, id, args)?.into_bytes(),
        Format::Png => {
            let width = args.width.unwrap_or((WIDTH * TWICE) as u32);
            png(&picture(shared, &store, id, args)?, width)?
        }
    };
    match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => file::write(path, &bytes, args.force, OTHER)?,
        None => output::print_raw(&bytes),
    }
    Ok(Exit::Fine as u8)
}

/// A drawing as PNG.
#[cfg(feature = "png")]
fn png(svg: &str, width: u32) -> Result<Vec<u8>, Failure> {
    powerband_raster::png(svg, width).map_err(usage)
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str, _width: u32) -> Result<Vec<u8>, Failure> {
    Err(crate::failure::lacks("PNG", "use --format svg, or ", "png"))
}

/// Pixels of a picture to each unit of its drawing, without another width: sharp on screens of today, and in print.
const TWICE: f64 = 2.0;

/// Whether the options are of this format, and the format is one for where it goes.
fn fitting(shared: &Shared, args: &Export, format: Format) -> Result<(), Failure> {
    if shared.json && format != Format::Json {
        return Err(usage("an export has one format; leave out --json, or the other one"));
    }
    let drawn = matches!(format, Format::Svg | Format::Png);
    if (args.picture.is_some() || args.dark) && !drawn {
        let option = if args.dark { "--dark is for" } else { "--picture names" };
        return Err(usage(format!("{option} a picture; add --format svg or --format png")));
    }
    if args.timelines && format != Format::Csv {
        return Err(usage("--timelines is a table; add --format csv"));
    }
    if args.width.is_some() && format != Format::Png {
        return Err(usage("--width counts pixels; add --format png"));
    }
    if format == Format::Png && args.output.is_none() && crate::streams::terminals().out() {
        return Err(usage("a PNG is no text for a terminal; `-o FILE.png` writes it to a file"));
    }
    Ok(())
}

fn journal(store: &Store, id: i64) -> Result<String, Failure> {
    let (header, lines) = store.journal(id)?;
    let header = serde_json::to_string(&header).map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(lines.iter().fold(format!("{{\"header\":{header}}}\n"), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    }))
}

/// The drawing of one picture of an experiment, by name; the first without one.
fn picture(shared: &Shared, store: &Store, id: i64, args: &Export) -> Result<String, Failure> {
    let name = args.picture.as_deref();
    let pictures = page::pictures_of(shared, store, id)?;
    let found = match name {
        Some(name) => pictures.iter().find(|picture| picture.id == name),
        None => pictures.first(),
    };
    if let Some(picture) = found {
        return Ok(picture.file(if args.dark { Theme::Dark } else { Theme::Light }));
    }
    let names: Vec<&str> = pictures.iter().map(|picture| picture.id.as_str()).collect();
    Err(usage(match (name, names.as_slice()) {
        (_, []) => format!("experiment {id} has no picture: it has too little to show"),
        (name, names) => {
            format!("experiment {id} has no picture '{}'; it has: {}", name.unwrap_or_default(), names.join(", "))
        }
    }))
}

/// How another place for an export is named.
const OTHER: &str = "-o FILE";

/// Whether the files can be written that an experiment was asked to write at its end.
pub(crate) fn are_free(exports: &Exports) -> Result<(), Failure> {
    exports.files().try_for_each(|(_, option, path)| file::is_free(path, exports.force, option))
}

/// Writes the files that an experiment was asked to write at its end.
pub(crate) fn after(shared: &Shared, store: &Store, id: i64, exports: &Exports) -> Result<(), Failure> {
    if exports.files().next().is_none() {
        return Ok(());
    }
    let model = model(shared, store, id)?;
    for (format, option, path) in exports.files() {
        let text = match format {
            Format::Md => powerband_report::markdown::table(&model),
            Format::Json => json(&model)?,
            _ => powerband_report::csv::render(&model),
        };
        file::write(path, text.as_bytes(), exports.force, option)?;
    }
    Ok(())
}

fn json(model: &Model) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(&Report::new(model));
    text.map(|text| text + "\n").map_err(|error| Failure::new(Exit::Failed, error))
}
