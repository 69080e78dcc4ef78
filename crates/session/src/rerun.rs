//! The experiment of a page, from the page alone: its plan as resolved, its seed, its machine.
use std::path::{Path, PathBuf};

use powerband_experiment::{Resolved, check_rig, rebuild};
use powerband_machine::User;
use powerband_record::Started;
use powerband_report::page::PageOrigin;
use powerband_rig::{MAX_MEASURED_BYTES, Names, Notes, read_bytes};

use crate::measure::{Experiment, OnRig};
use crate::{Listed, OnTable, Options, SessionError, caller, dry_run, start_nothing, store, table_run};

/// An experiment read from a page, before its machine is opened.
pub struct Page {
    path: PathBuf,
    names: Names,
    started: Started,
    /// None on a table.
    on_rig: Option<(Resolved, Option<User>, Vec<Listed>)>,
}

/// Reads a page. `check` is asked whether what was typed fits its machines.
///
/// # Errors
/// [`SessionError`]: no page of an experiment, or one of another machine.
pub fn read(
    page: &Path,
    options: &Options,
    check: &dyn Fn(&Names) -> Result<(), SessionError>,
    notes: &mut dyn Notes,
) -> Result<Page, SessionError> {
    let bytes = read_bytes(page, "the page", MAX_MEASURED_BYTES)?;
    let refused = |error| refused(page, error);
    let usage = |why: String| refused(SessionError::Usage(why));
    let origin = PageOrigin::read(&String::from_utf8_lossy(&bytes)).map_err(|error| usage(error.to_string()))?;
    let Some(started) = origin.plan else { return Err(refused(SessionError::NoPage)) };
    let names = Names::begun(&started).linked(options.link);
    check(&names).map_err(&refused)?;
    let here = powerband_host::hostname();
    if let Some(then) = origin.host.filter(|then| *then != here && !names.simulated() && names.table().is_none()) {
        notes.note(format!("the page was made on {then}, this is {here}").into());
    }
    let mut read = Page { path: page.to_owned(), names, started, on_rig: None };
    if read.names.table().is_none() {
        read.on_rig = Some(read.for_rig(options).map_err(&refused)?);
    }
    Ok(read)
}

/// That a page cannot be run again, and why.
fn refused(page: &Path, error: SessionError) -> SessionError {
    SessionError::Rerun { page: page.display().to_string(), error: Box::new(error) }
}

impl Page {
    fn for_rig(&mut self, options: &Options) -> Result<(Resolved, Option<User>, Vec<Listed>), SessionError> {
        let names = &self.names;
        let user = if names.here() { caller::user_of_loads(options.as_root)? } else { None };
        self.started.user = (!names.simulated()).then(|| caller::number(user.as_ref()));
        let resolved = rebuild(&self.started).map_err(|error| SessionError::Usage(error.to_string()))?;
        names.seed()?;
        let listed = Listed::of(&resolved, names, user.as_ref());
        if options.dry_run {
            start_nothing(&self.path, names, options.trusted)?;
        }
        Ok((resolved, user, listed))
    }

    /// What is to be trusted before it runs on a real machine: the knobs it sets and the commands it executes. None where it runs
    /// on a simulated machine or a table.
    #[must_use]
    pub fn to_trust(&self) -> Option<(&Resolved, &[Listed])> {
        let (resolved, _, listed) = self.on_rig.as_ref().filter(|_| !self.names.simulated())?;
        Some((resolved, listed))
    }

    /// Makes it an experiment on its machine.
    ///
    /// # Errors
    /// [`SessionError`]: another machine, or one that cannot be used.
    pub fn prepare(self, options: &Options, notes: &mut dyn Notes) -> Result<Experiment, SessionError> {
        let Page { path, names, started, on_rig } = self;
        let Some((resolved, user, commands)) = on_rig else {
            let table = table_run::same(&names, &started)?;
            return Ok(Experiment::OnTable(Box::new(OnTable::new(table, started, options, false)?)));
        };
        let on_rig = open(&names, &started, (resolved, user, commands), options, notes);
        on_rig.map(|on_rig| Experiment::OnRig(Box::new(on_rig))).map_err(|error| refused(&path, error))
    }
}

fn open(
    names: &Names,
    started: &Started,
    (mut resolved, user, commands): (Resolved, Option<User>, Vec<Listed>),
    options: &Options,
    notes: &mut dyn Notes,
) -> Result<OnRig, SessionError> {
    let seed = names.seed()?.unwrap_or(started.seed);
    // The store first: without a place for results nothing may be changed.
    let store = if options.dry_run { None } else { Some(store::open(options.store.as_deref())?) };
    let doing = options.doing();
    let mut rig = powerband_rig::open(names, &options.opening(Some(seed), &doing), notes)?;
    check_rig(&resolved.started, rig.world()).map_err(|error| {
        let told = error.to_string();
        let differs = told.split("; go on where").next().unwrap_or(&told);
        SessionError::Usage(format!("{differs}; run it on the machine it was measured on"))
    })?;
    // A page tells how the machine stood then.
    resolved.started.facts = powerband_experiment::facts(rig.world());
    let steps = dry_run::steps(&resolved, rig.world())?;
    resolved.started.baseline = dry_run::baseline(&steps);
    Ok(OnRig { resolved, steps, commands, rig, user, store, seed_drawn: false, fleet: None })
}
