//! `export`: an experiment's events, or its results as JSON, CSV or Markdown, or a picture, to a file or the terminal.
use std::fmt::Write as _;
use std::path::Path;

use powerband_report::json::Report;
use powerband_store::Store;

use crate::cli::{Export, Format, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::measure::{need_store, store_failure};
use crate::{output, page, verb};

pub(crate) fn run(shared: &Shared, args: &Export) -> Answer {
    let store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(usage)?;
    let format = match args.format {
        _ if args.journal => Format::Journal,
        _ if args.csv => Format::Csv,
        format => format.unwrap_or(Format::Json),
    };
    if args.picture.is_some() && format != Format::Svg {
        return Err(usage("--picture names a picture of --format svg"));
    }
    if args.timelines && format != Format::Csv {
        return Err(usage("--timelines is a table of --format csv"));
    }
    let failed = |error: serde_json::Error| Failure::new(Exit::Failed, error);
    let text = match format {
        Format::Journal => journal(&store, id)?,
        Format::Csv if args.timelines => verb::show::readings(&store, id, None)?.csv(),
        Format::Csv => powerband_report::csv::render(&verb::show::model(&store, id)?),
        Format::Json => {
            serde_json::to_string_pretty(&Report::new(&verb::show::model(&store, id)?)).map_err(failed)? + "\n"
        }
        Format::Md => powerband_report::markdown::render(&verb::show::model(&store, id)?),
        Format::Svg => picture(&store, id, args.picture.as_deref())?,
    };
    match &args.output {
        Some(path) => write(path, &text),
        None => {
            output::say(&text);
            Ok(Exit::Fine as u8)
        }
    }
}

fn journal(store: &Store, id: i64) -> Result<String, Failure> {
    let (header, lines) = store.journal(id).map_err(store_failure)?;
    let header = serde_json::to_string(&header).map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(lines.iter().fold(format!("{{\"header\":{header}}}\n"), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    }))
}

/// One picture of an experiment, by name; the first without one.
fn picture(store: &Store, id: i64, name: Option<&str>) -> Result<String, Failure> {
    let pictures = page::pictures_of(store, id)?;
    let found = match name {
        Some(name) => pictures.iter().find(|picture| picture.id == name),
        None => pictures.first(),
    };
    if let Some(picture) = found {
        return Ok(picture.file());
    }
    let names: Vec<&str> = pictures.iter().map(|picture| picture.id.as_str()).collect();
    Err(usage(match (name, names.as_slice()) {
        (_, []) => format!("experiment {id} has no picture: it has too little to show"),
        (name, names) => {
            format!("experiment {id} has no picture '{}'; it has: {}", name.unwrap_or_default(), names.join(", "))
        }
    }))
}

fn write(path: &Path, text: &str) -> Answer {
    powerband_host::with_rights_for(path, || std::fs::write(path, text)).map_err(|error| {
        let exit = if error.kind() == std::io::ErrorKind::PermissionDenied { Exit::Denied } else { Exit::CannotGoOn };
        Failure::new(exit, format!("cannot write {}: {}", path.display(), error.to_string().to_lowercase()))
    })?;
    Ok(Exit::Fine as u8)
}
