//! `export`: an experiment's events, or its results as JSON or CSV, to a file or the terminal.
use std::fmt::Write as _;
use std::path::Path;

use powerband_report::json::Report;

use crate::cli::{Export, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::measure::{need_store, store_failure};
use crate::{output, verb};

pub(crate) fn run(shared: &Shared, args: &Export) -> Answer {
    let store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(usage)?;
    let failed = |error: serde_json::Error| Failure::new(Exit::Failed, error);
    let text = if args.journal {
        let (header, lines) = store.journal(id).map_err(store_failure)?;
        let header = serde_json::to_string(&header).map_err(failed)?;
        lines.iter().fold(format!("{{\"header\":{header}}}\n"), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        })
    } else if args.csv {
        powerband_report::csv::render(&verb::show::model(&store, id)?)
    } else {
        serde_json::to_string_pretty(&Report::new(&verb::show::model(&store, id)?)).map_err(failed)? + "\n"
    };
    match &args.output {
        Some(path) => write(path, &text),
        None => {
            output::say(&text);
            Ok(Exit::Fine as u8)
        }
    }
}

fn write(path: &Path, text: &str) -> Answer {
    powerband_host::with_rights_for(path, || std::fs::write(path, text)).map_err(|error| {
        let exit = if error.kind() == std::io::ErrorKind::PermissionDenied { Exit::Denied } else { Exit::CannotGoOn };
        Failure::new(exit, format!("cannot write {}: {}", path.display(), error.to_string().to_lowercase()))
    })?;
    Ok(Exit::Fine as u8)
}
