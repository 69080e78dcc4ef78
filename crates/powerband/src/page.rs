//! Pages as files: from the store to HTML, never over a file that is there unless that is asked for.
use std::path::Path;

use powerband_record::Event;
use powerband_report::Model;
use powerband_report::courses::Courses;
use powerband_report::page;
use powerband_report::picture::{Picture, pictures};
use powerband_store::Store;

use crate::cli::Shared;
use crate::exit::{Answer, Exit, Failure, usage};
use crate::stored::model_of;
use crate::{file, output};

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

/// How another place for a page is named.
const OTHER: &str = "-o FILE.html";

/// Whether a page may be written there.
pub(crate) fn is_free(path: &Path, force: bool) -> Result<(), Failure> {
    file::is_free(path, force, OTHER)
}

/// Refuses `--json` where a page was asked for.
pub(crate) fn refuse_json(shared: &Shared) -> Result<(), Failure> {
    if shared.json { Err(usage("a page is HTML, not JSON; leave out --json")) } else { Ok(()) }
}

/// Writes a page where it was asked for; `-` is standard output.
pub(crate) fn write(path: &Path, page: &str, force: bool) -> Answer {
    if path.as_os_str() == "-" {
        output::print_raw(page.as_bytes());
        return Ok(Exit::Fine as u8);
    }
    file::write(path, page.as_bytes(), force, OTHER)?;
    Ok(Exit::Fine as u8)
}
