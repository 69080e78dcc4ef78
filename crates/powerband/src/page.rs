//! Pages as files: from the store to HTML, never over a file that is there unless that is asked for.
use std::io::{ErrorKind, Write};
use std::path::Path;

use powerband_host::with_rights_for;
use powerband_record::Event;
use powerband_report::Model;
use powerband_report::courses::Courses;
use powerband_report::page;
use powerband_report::picture::{Picture, pictures};
use powerband_store::Store;

use crate::cli::Shared;
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;
use crate::stored::model_of;

/// The page of a stored experiment.
pub(crate) fn of_experiment(shared: &Shared, store: &Store, id: i64) -> Result<String, Failure> {
    let events = store.events(id)?;
    let model = model_of(shared, store, id, &events)?;
    let pictures = pictures_in(&model, &events)?;
    page::experiment(&model, &events, &pictures).map_err(|error| Failure::new(Exit::Failed, error))
}

/// The pictures of a stored experiment.
pub(crate) fn pictures_of(shared: &Shared, store: &Store, id: i64) -> Result<Vec<Picture>, Failure> {
    let events = store.events(id)?;
    pictures_in(&model_of(shared, store, id, &events)?, &events)
}

fn pictures_in(model: &Model, events: &[Event]) -> Result<Vec<Picture>, Failure> {
    let courses = Courses::from_events(events).map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(pictures(model, Some(&courses)))
}

/// Whether a page may be written there.
pub(crate) fn is_free(path: &Path, force: bool) -> Result<(), Failure> {
    let there = with_rights_for(path, || path.symlink_metadata().is_ok());
    if there && !force && path.as_os_str() != "-" { Err(taken(path)) } else { Ok(()) }
}

fn taken(path: &Path) -> Failure {
    usage(format!("{} is there already; --force writes over it, -o FILE.html writes another", path.display()))
}

/// Writes a page where it was asked for; `-` is standard output.
pub(crate) fn write(path: &Path, page: &str, force: bool) -> Answer {
    if path.as_os_str() == "-" {
        output::print_raw(page.as_bytes());
        return Ok(Exit::Fine as u8);
    }
    let put = || {
        let mut options = std::fs::OpenOptions::new();
        options.write(true);
        if force {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        options.open(path).and_then(|mut file| file.write_all(page.as_bytes()))
    };
    with_rights_for(path, put).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(path),
        kind => {
            let exit = if kind == ErrorKind::PermissionDenied { Exit::Denied } else { Exit::CannotGoOn };
            Failure::new(exit, format!("cannot write {}: {}", path.display(), error.to_string().to_lowercase()))
        }
    })?;
    Ok(Exit::Fine as u8)
}
