//! Measured surfaces, read from tables: a row a run, made into settings with their true levels and residuals.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use powerband_advice::{Factor, FactorKind, Space};
use powerband_testkit::replay::ReplayTable;

/// The interrupt delay that means adaptive: not a number, so left out.
const ADAPTIVE_USECS: u32 = 1;

/// The cap at which the machine is not capped, for searches over two knobs.
const UNCAPPED_W: u32 = 135;

/// Repeats from which a setting says something of noise: with two, made on different days, it is rather the days'.
const FEWEST: usize = 3;

/// Delay in µs, frequency in kHz, cap in watts.
type Setting = [u32; 3];

/// The runs of one load.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    start: Vec<(f64, f64)>,
    settings: BTreeMap<Setting, Vec<(f64, f64)>>,
}

/// How many knobs a search has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knobs {
    /// Frequency and delay.
    Two,
    /// And the cap.
    Three,
}

impl Runs {
    /// Reads `setting,repeat,rx_usecs,freq_khz,cap_w,…` with `p99_us` and `watts` among the columns.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().context("the table is empty")?.split(',').collect();
        let column = |name: &str| {
            header
                .iter()
                .position(|other| *other == name)
                .with_context(|| format!("no column {name} in {}", file.display()))
        };
        let knobs = [column("rx_usecs")?, column("freq_khz")?, column("cap_w")?];
        let (setting, watts, p99) = (column("setting")?, column("watts")?, column("p99_us")?);
        let mut runs = Self { start: Vec::new(), settings: BTreeMap::new() };
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            let number = |at: usize| -> Result<f64> { Ok(cells.get(at).context("a short row")?.parse()?) };
            let values = (number(watts)?.ln(), number(p99)?.ln());
            if cells.get(setting) == Some(&"default") {
                runs.start.push(values);
                continue;
            }
            let at = [number(knobs[0])? as u32, number(knobs[1])? as u32, number(knobs[2])? as u32];
            if at[0] != ADAPTIVE_USECS {
                runs.settings.entry(at).or_default().push(values);
            }
        }
        if runs.start.is_empty() || runs.settings.is_empty() {
            bail!("{} has no row of the start or none of a setting", file.display());
        }
        Ok(runs)
    }

    /// The machine of this load: truth is the mean of a setting's repeats, noise the residuals of all repeats, made as
    /// wide as single runs lie around a level that is not their own mean.
    pub(crate) fn table(&self, knobs: Knobs, limit_us: f64) -> ReplayTable {
        let chosen = || self.settings.iter().filter(|(at, _)| knobs == Knobs::Three || at[2] == UNCAPPED_W);
        let axes: &[usize] = if knobs == Knobs::Two { &[1, 0] } else { &[1, 0, 2] };
        let values = |axis: usize| {
            let mut values: Vec<u32> = chosen().map(|(at, _)| at[axis]).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let levels: Vec<Vec<u32>> = axes.iter().map(|axis| values(*axis)).collect();
        let point = |at: &Setting| -> Vec<Option<u16>> {
            let of =
                |(axis, values): (&usize, &Vec<u32>)| values.binary_search(&at[*axis]).ok().map(|level| level as u16);
            axes.iter().zip(&levels).map(of).collect()
        };
        let names = ["rx-usecs", "freq", "cap"];
        let factor = |(axis, values): (&usize, &Vec<u32>)| Factor {
            name: names[*axis].to_owned(),
            kind: FactorKind::Number(values.iter().map(|value| f64::from(*value)).collect()),
            switch_s: 0.0,
        };
        let means: Vec<(f64, f64)> = chosen().map(|(_, runs)| mean(runs)).collect();
        let (goal_trends, tail_trends) = ([-0.3, 1.0, 0.3], [1.0, -1.0, -0.3]);
        let every = self.settings.values().chain(std::iter::once(&self.start));
        ReplayTable {
            space: Space {
                factors: axes.iter().zip(&levels).map(factor).collect(),
                points: chosen().map(|(at, _)| point(at)).collect(),
            },
            goal: means.iter().map(|mean| mean.0).collect(),
            tail: means.iter().map(|mean| mean.1).collect(),
            start: mean(&self.start),
            residuals: every.flat_map(|runs| residuals(runs)).collect(),
            limit: limit_us.ln(),
            trends: (
                axes.iter().map(|axis| goal_trends[*axis]).collect(),
                axes.iter().map(|axis| tail_trends[*axis]).collect(),
            ),
        }
    }
}

fn mean(runs: &[(f64, f64)]) -> (f64, f64) {
    let count = runs.len() as f64;
    (runs.iter().map(|run| run.0).sum::<f64>() / count, runs.iter().map(|run| run.1).sum::<f64>() / count)
}

fn residuals(runs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (goal, tail) = mean(runs);
    let count = runs.len() as f64;
    if runs.len() < FEWEST {
        return Vec::new();
    }
    let wide = (count / (count - 1.0)).sqrt();
    runs.iter().map(|run| (wide * (run.0 - goal), wide * (run.1 - tail))).collect()
}
