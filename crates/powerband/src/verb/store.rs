//! `store`: experiments from one store to another.
use std::path::Path;

use powerband_store::{Moved, Store, migrate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Push, Shared, StoreArgs, StoreVerb};
use crate::exit::{Answer, Exit, usage};
use crate::output::{self, Document};

/// What one store took of another.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Taken {
    /// The store that was read.
    from: String,
    /// The store that took it.
    to: String,
    /// Experiments it did not have.
    experiments: u64,
    /// Experiments it had completely.
    complete: u64,
    /// Events it did not have.
    events: u64,
    /// Events it had already, the same.
    already: u64,
    /// Experiments it has otherwise, of which it took nothing.
    differ: Vec<Different>,
}

/// An experiment that the other store has otherwise.
#[derive(Serialize, JsonSchema)]
struct Different {
    /// Its number in the store that was read.
    experiment: i64,
    /// What differs.
    why: String,
}

/// What `store push` delivered.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Pushed(Taken);

/// What `store migrate` copied.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Migrated(Taken);

impl Document for Pushed {
    const KIND: &'static str = "store-push";
}

impl Document for Migrated {
    const KIND: &'static str = "store-migrate";
}

pub(crate) fn run(shared: &Shared, args: &StoreArgs) -> Answer {
    match &args.verb {
        StoreVerb::Push(args) => push(shared, args),
        StoreVerb::Migrate { from, to } => {
            let taken = taken(&need(from)?, to, true)?;
            conclude(shared, taken, Migrated)
        }
    }
}

fn push(shared: &Shared, args: &Push) -> Answer {
    let Some(to) = &shared.store else {
        return Err(usage("name the store to deliver to, e.g. --store postgresql://user@host/database"));
    };
    let from = match &args.from {
        Some(file) => Some(need(file)?),
        None => powerband_session::store::find_journal()?,
    };
    let taken = match from {
        Some(from) => taken(&from, to, false)?,
        None => Taken::new(String::new(), String::new(), Moved::default()),
    };
    conclude(shared, taken, Pushed)
}

fn need(store: &Path) -> Result<Store, crate::exit::Failure> {
    let none =
        || usage(format!("there is no store {}", powerband_store::without_password(&store.display().to_string())));
    powerband_session::store::find(Some(store))?.ok_or_else(none)
}

fn taken(from: &Store, to: &Path, same_numbers: bool) -> Result<Taken, crate::exit::Failure> {
    let mut to = powerband_session::store::open_to_deliver(Some(to))?;
    let moved = migrate(from, &mut to, same_numbers)?;
    Ok(Taken::new(from.place(), to.place(), moved))
}

impl Taken {
    fn new(from: String, to: String, moved: Moved) -> Taken {
        let Moved { experiments, complete, events, already, differ } = moved;
        let different =
            |(experiment, why): (i64, powerband_store::StoreError)| Different { experiment, why: why.to_string() };
        Taken { from, to, experiments, complete, events, already, differ: differ.into_iter().map(different).collect() }
    }
}

/// Prints what was taken; a difference is a failed check.
fn conclude<D: Document>(shared: &Shared, taken: Taken, document: impl FnOnce(Taken) -> D) -> Answer {
    for Different { experiment, why } in &taken.differ {
        output::error(&format!("experiment {experiment}: {why}"));
    }
    let exit = if taken.differ.is_empty() { Exit::Fine } else { Exit::Failed };
    if shared.json {
        output::print_document(&document(taken))?;
    } else if taken.from.is_empty() {
        output::print("nothing to deliver: this host has measured nothing for a shared store");
    } else {
        let Taken { from, to, experiments, complete, events, already, differ } = &taken;
        output::print(&format!(
            "{events} events delivered from {from} to {to}: {experiments} new experiments\n\
             {already} events were there already; {complete} experiments were complete, {} differ",
            differ.len()
        ));
    }
    Ok(exit as u8)
}
