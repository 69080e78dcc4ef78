//! `fleet table`: what settings do to several applications, a fleet for each.
use std::path::Path;

use powerband_fleet::Fleet;
use powerband_report::fleet::{FleetAnswer, applications};

use super::{answer, find_named};
use crate::cli::{FleetTable, Shared};
use crate::exit::{Answer, Exit, usage};
use crate::output;

pub(super) fn run(shared: &Shared, args: &FleetTable) -> Answer {
    let mut rows: Vec<(String, FleetAnswer)> = Vec::new();
    for text in &args.fleets {
        let (folder, fleet) = find_named(text)?;
        let answer = answer::answer(&fleet, &folder)?;
        if rows.iter().any(|(_, known)| known.fleet == answer.fleet) {
            return Err(usage(format!("fleet {} is named twice; a row of the table is one fleet", fleet.short())));
        }
        let name = name(&fleet, &answer);
        let taken = rows.iter().any(|(known, _)| *known == name);
        rows.push((if taken { format!("{name} ({})", fleet.short()) } else { name }, answer));
    }
    let table = applications(&rows).map_err(usage)?;
    if shared.json {
        return output::print_document(&table);
    }
    output::print(&table.render(output::width()));
    Ok(Exit::Fine as u8)
}

/// The title of its plan, else the name of the plan's file.
fn name(fleet: &Fleet, answer: &FleetAnswer) -> String {
    let file = || Path::new(&fleet.plan_file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    answer.title.clone().or_else(file).unwrap_or_else(|| fleet.short().to_owned())
}
