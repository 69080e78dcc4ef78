//! Measuring on a machine that is a table: the same experiments, with trials drawn from rows. Nothing is locked or changed.
use std::path::Path;

use powerband_experiment::{Plan, TableBench, TableMachine, resolve_table, run};
use powerband_record::{FleetTask, Started};
use powerband_rig::{MAX_MEASURED_BYTES, MAX_WRITTEN_BYTES, Names, Notes, read_text};
use powerband_store::Store;

use crate::options::names_written;
use crate::store_journal::StoreJournal;
use crate::{EndedExperiment, Options, Progress, SessionError, header, store};

/// An experiment on a table.
pub struct OnTable {
    table: TableMachine,
    started: Started,
    /// None in a dry run.
    store: Option<Store>,
    seed_drawn: bool,
    fleet: Option<FleetTask>,
}

/// Makes a plan an experiment on its table.
pub(crate) fn prepare(
    plan: &Plan,
    options: &Options,
    seed_drawn: bool,
    notes: &mut dyn Notes,
) -> Result<OnTable, SessionError> {
    if !plan.hooks().is_empty() {
        return Err(SessionError::HooksOnTable);
    }
    let table = read(&names_written(plan))?;
    let resolved = resolve_table(plan, &table)?;
    notes.note(table.describe().into());
    let mut on_table = OnTable::new(table, resolved.started, options, seed_drawn)?;
    on_table.store.iter_mut().for_each(|store| store::note(store, notes));
    Ok(on_table)
}

impl OnTable {
    /// The store is opened last: a table that answers nothing makes none.
    pub(crate) fn new(
        table: TableMachine,
        started: Started,
        options: &Options,
        seed_drawn: bool,
    ) -> Result<OnTable, SessionError> {
        bench(&table, &started)?;
        let store = if options.stores_nothing() { None } else { Some(store::open(options.store.as_deref())?) };
        Ok(OnTable { table, started, store, seed_drawn, fleet: options.fleet.clone() })
    }

    /// The experiment.
    #[must_use]
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// Whether nobody gave its seed.
    #[must_use]
    pub fn seed_drawn(&self) -> bool {
        self.seed_drawn
    }

    /// Draws the trials.
    ///
    /// # Errors
    /// When the store cannot take it, or this was a dry run.
    pub fn run(self, command_line: &[String], progress: &mut dyn Progress) -> Result<EndedExperiment, SessionError> {
        let OnTable { table, started, store, fleet, .. } = self;
        let mut bench = bench(&table, &started)?;
        let mut store = store.ok_or_else(|| SessionError::Failed("a dry run measures nothing".into()))?;
        let header = header::header(command_line, fleet);
        let (id, finding) =
            StoreJournal::begin(&mut store, &header, progress, |journal| run(&started, &mut bench, journal))?;
        Ok(EndedExperiment { store, id, finding, in_place: Ok(()) })
    }
}

/// The table of an experiment that was begun, if it still is the same.
pub(crate) fn same(names: &Names, started: &Started) -> Result<TableMachine, SessionError> {
    let table = read(names)?;
    if table.system() == started.system {
        return Ok(table);
    }
    let (then, now) = (&started.system, table.system());
    Err(SessionError::Usage(format!("its table was {then} and is {now}; begin it again")))
}

/// The bench an experiment runs on.
pub(crate) fn bench<'t>(table: &'t TableMachine, started: &Started) -> Result<TableBench<'t>, SessionError> {
    TableBench::new(table, started).map_err(|error| SessionError::Usage(error.to_string()))
}

/// Reads the rows and their description next to them.
fn read(names: &Names) -> Result<TableMachine, SessionError> {
    let file = names.table().unwrap_or_default();
    let described = Path::new(file).with_extension("toml");
    let described_name = described.display().to_string();
    let rows = read_text(Path::new(file), "the table", MAX_MEASURED_BYTES)?;
    let about = read_text(&described, "the description of the table's columns,", MAX_WRITTEN_BYTES)?;
    TableMachine::parse(&format!("table:{file}"), (file, &rows), (&described_name, &about))
        .map_err(|error| SessionError::Usage(error.to_string()))
}
