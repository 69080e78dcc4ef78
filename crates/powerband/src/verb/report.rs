//! `report`: an experiment as a page of HTML in one file.
use std::path::PathBuf;

use crate::cli::{Report, Shared};
use crate::exit::Answer;
use crate::failure::not_found;
use crate::stored::need_store;
use crate::{output, page};

pub(crate) fn run(shared: &Shared, args: &Report) -> Answer {
    page::refuse_json(shared)?;
    let store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(not_found)?;
    let text = page::of_experiment(shared, &store, id)?;
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("powerband-{id}.html")));
    let answer = page::write(&path, &text, args.force)?;
    if path.as_os_str() != "-" {
        output::print(&format!("wrote {}", path.display()));
    }
    Ok(answer)
}
