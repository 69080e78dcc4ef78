//! `fleet report`: what holds for all nodes.
use powerband_fleet::{Fleet, Folder};
use powerband_report::picture::fleet_pictures;

use super::{answer, find};
use crate::cli::{FleetReport, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::{output, page};

pub(super) fn run(shared: &Shared, args: &FleetReport) -> Answer {
    if let Some(path) = &args.output {
        page::refuse_json(shared)?;
        page::is_free(path, args.force)?;
    }
    let (folder, fleet) = find(&args.of)?;
    let Some(path) = &args.output else { return print(shared, &fleet, &folder) };
    let answer = answer::answer(&fleet, &folder)?;
    let page = powerband_report::page::fleet(&answer, &fleet_pictures(&answer));
    let written = page::write(path, &page.map_err(|error| Failure::new(Exit::Failed, error))?, args.force)?;
    if path.as_os_str() != "-" {
        output::print(&format!("wrote {}", path.display()));
    }
    Ok(written)
}

/// Prints what it found.
pub(super) fn print(shared: &Shared, fleet: &Fleet, folder: &Folder) -> Answer {
    let answer = answer::answer(fleet, folder)?;
    if shared.json {
        return output::print_document(&answer);
    }
    let text = if shared.verbose { answer.render(output::width()) } else { answer.brief(output::width()) };
    output::print(&text);
    Ok(Exit::Fine as u8)
}
