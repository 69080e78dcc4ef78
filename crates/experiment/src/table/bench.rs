//! The bench a table is: a trial draws one of the rows of its setting, by the seed and the trial's number.
use std::collections::BTreeMap;

use powerband_record::{IntoOrdered as _, Outcome, PlannedTrial, SearchPlan, Setting, Started, Void};
use powerband_stats::{Draws, Purpose};

use super::TableMachine;
use crate::tune::{refused, refused_levels};
use crate::{Bench, Fatal, Halt, Journal, PlanError};

/// Answers trials out of a table.
pub struct TableBench<'t> {
    table: &'t TableMachine,
    /// By setting: its rows, or its label where the table has none.
    rows: Vec<Result<&'t [Vec<f64>], String>>,
    seed: u64,
    clock_ns: u64,
}

impl<'t> TableBench<'t> {
    /// A bench for one experiment.
    ///
    /// # Errors
    /// [`PlanError`] for a setting that cannot be read, or names what the table does not have.
    pub fn new(table: &'t TableMachine, started: &Started) -> Result<Self, PlanError> {
        let mut rows = Vec::new();
        for planned in &started.settings {
            // Behind a name, a colon of the first knob is never taken for the end of one.
            let setting = Setting::parse(&format!("as:{}", planned.turns))?;
            let of = if setting.assignments.is_empty() {
                Some(table.found.as_slice())
            } else {
                table.rows.get(&table.cells_of(&setting)?).map(Vec::as_slice)
            };
            rows.push(of.ok_or_else(|| planned.label.clone()));
        }
        Ok(TableBench { table, rows, seed: started.seed, clock_ns: 0 })
    }

    fn rows_of(&self, setting: u32) -> Result<&'t [Vec<f64>], String> {
        let rows = self.rows.get(setting as usize).cloned().unwrap_or_else(|| Err(format!("setting {setting}")));
        rows.map_err(|label| format!("the table has no row of {label}"))
    }
}

impl Bench for TableBench<'_> {
    fn now_ns(&self) -> u64 {
        self.clock_ns
    }

    fn trial(&mut self, trial: &PlannedTrial, _: &mut dyn Journal) -> Result<Outcome, Halt> {
        let rows = self.rows_of(trial.setting).map_err(|why| Void::NotTurned { why })?;
        self.clock_ns += self.table.trial_ns;
        let mut draws = Draws::new(self.seed, Purpose::Noise, u64::from(trial.trial), 0);
        let place = usize::try_from(draws.below(rows.len() as u64)).unwrap_or_default();
        let named = self.table.metrics.iter().zip(rows.get(place).into_iter().flatten());
        let metrics: BTreeMap<String, f64> = named.map(|(metric, value)| (metric.name.clone(), *value)).into_map();
        Ok(Outcome { metrics, ..Outcome::default() })
    }

    fn rehearse(&mut self) -> Result<Vec<(u32, String)>, Fatal> {
        let missing = (0..).zip(&self.rows).find_map(|(setting, _)| self.rows_of(setting).err());
        missing.map_or(Ok(Vec::new()), |why| Err(Fatal::Search { why }))
    }

    fn rehearse_levels(&mut self, plan: &SearchPlan) -> Result<Vec<(u32, String)>, Fatal> {
        refused_levels(plan, |setting| Ok(self.rows_of(setting).err().map(|why| refused(&why))))
    }

    fn notes(&self) -> Vec<String> {
        vec![format!(
            "the machine is a table ({}): nothing was changed, and trials drew from its rows",
            self.table.title
        )]
    }
}
