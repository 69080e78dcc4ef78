//! Measuring on a machine that is a table: the same experiments, with trials drawn from rows. Nothing is locked or turned.
use std::path::Path;

use powerband_experiment::{Plan, Table, TableBench, resolve_table, run};
use powerband_record::{Started, format_duration};

use crate::cli::{Measuring, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::journal::StoreJournal;
use crate::measure::{conclude, header, open_store, store_failure};
use crate::rig::{Names, resolve_failure};
use crate::{dry, input, output};

/// Runs an experiment on a table and prints what it found.
pub(crate) fn measure(shared: &Shared, plan: Plan, measuring: &Measuring, drawn: bool) -> Answer {
    if !plan.hooks().is_empty() {
        return Err(usage("a table has been measured already; leave out --prepare, --conclude, --setup and --cleanup"));
    }
    let table = read(&Names::written(&plan))?;
    let resolved = resolve_table(&plan, &table).map_err(resolve_failure)?;
    output::remark(&table.describe());
    conduct(shared, &table, &resolved.started, measuring, drawn)
}

/// The experiment of a page, if its table still is the same.
pub(crate) fn from_page(shared: &Shared, names: &Names, started: &Started, measuring: &Measuring) -> Answer {
    conduct(shared, &again(names, started)?, started, measuring, false)
}

fn conduct(shared: &Shared, table: &Table, started: &Started, measuring: &Measuring, drawn: bool) -> Answer {
    let mut bench = bench(table, started)?;
    if measuring.setup.dry_run {
        return print(shared, started, drawn);
    }
    let mut store = open_store(shared)?;
    let id = store.begin(&header()).map_err(store_failure)?;
    let mut journal = StoreJournal::new(&mut store, id, measuring.setup.quiet || shared.json);
    let finding = run(started, &mut bench, &mut journal);
    journal.finish();
    conclude(shared, &mut store, id, finding, measuring)
}

/// The table of an experiment that was begun, if it still is the same.
pub(crate) fn again(names: &Names, started: &Started) -> Result<Table, Failure> {
    let table = read(names)?;
    if table.system() == started.system {
        return Ok(table);
    }
    Err(usage(format!("its table was {} and is {}; begin it again", started.system, table.system())))
}

/// The bench an experiment runs on.
pub(crate) fn bench<'t>(table: &'t Table, started: &Started) -> Result<TableBench<'t>, Failure> {
    TableBench::new(table, started).map_err(usage)
}

/// Reads the rows and what stands beside them.
fn read(names: &Names) -> Result<Table, Failure> {
    let file = names.table().unwrap_or_default();
    let beside = Path::new(file).with_extension("toml");
    let beside_name = beside.display().to_string();
    let rows = input::text(Path::new(file), "the table", input::MEASURED)?;
    let about = input::text(&beside, "the description of the table's columns,", input::WRITTEN)?;
    Table::parse(&format!("table:{file}"), (file, &rows), (&beside_name, &about)).map_err(usage)
}

/// Prints what would be drawn.
fn print(shared: &Shared, started: &Started, drawn: bool) -> Answer {
    if shared.json {
        return output::say_document(started);
    }
    let mut text = format!("on {} ({})\n", started.machine, started.system);
    match &started.search {
        Some(search) => text += &dry::sought(search, &started.budget_ns.map(dry::at_most).unwrap_or_default()),
        None => {
            text.extend(started.settings.iter().map(|setting| format!("{}\n", setting.label)));
            let budget = started.budget_ns.map(format_duration).map(|time| format!(", at most {time}"));
            text += &format!("at most {} blocks{}", started.max_blocks, budget.unwrap_or_default());
        }
    }
    text += &dry::seeded(started.seed, drawn);
    output::say(&text);
    Ok(Exit::Fine as u8)
}
