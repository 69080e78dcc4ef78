//! The space of a search: what settings differ in, as factors with levels, and which of them the machine was found in.
use std::collections::BTreeMap;

use powerband_knob::{Named, RankedValue, Selection, for_side, level, plan as plan_steps, trend};
use powerband_machine::World;
use powerband_record::{
    Assignment, Better, InOrder, KnobRef, Metric, SearchFactor, SearchFactorKind, SearchRole, Setting, Side, unit_of,
};

use crate::{PlanError, ResolveError};

const GOVERNOR: &str = "cpufreq.governor";

/// The level of a number among special values of the same knob.
const A_NUMBER: &str = "a number";

/// One knob at its sites, with every value the settings give it.
pub(crate) struct Column {
    /// With its full name.
    pub(crate) knob: KnobRef,
    /// As typed first.
    pub(crate) typed: KnobRef,
    /// The knob of the catalogue that its trends are known of.
    pub(crate) canonical: String,
    /// Other names it is known by.
    pub(crate) names: Vec<String>,
    pub(crate) settles_ns: u64,
    pub(crate) only_held: bool,
    pub(crate) values: Vec<Typed>,
}

/// A value of a column.
pub(crate) struct Typed {
    text: String,
    level: RankedValue,
    /// Whether the machine was found so.
    found: bool,
}

/// What settings are made of.
pub(crate) struct Space {
    columns: Vec<Column>,
    /// By setting and column: the place of its value.
    cells: Vec<Vec<Option<usize>>>,
}

/// The factors of a space, and what they are at its settings.
pub(crate) struct Factors {
    pub(crate) factors: Vec<SearchFactor>,
    /// The level of each at each setting.
    pub(crate) points: Vec<Vec<Option<u16>>>,
}

impl Space {
    /// Reads the values of all settings on the machines they are for; `settings` without the baseline.
    ///
    /// # Errors
    /// [`ResolveError`] for a knob or a value that a machine does not take.
    pub(crate) fn of(settings: &[Setting], world: &mut dyn World, narrow: &Selection) -> Result<Space, ResolveError> {
        let (names, places) = (BTreeMap::new(), BTreeMap::new());
        let mut reader = Reader { narrow, names, places, knobs: Vec::new(), columns: Vec::new() };
        let rows: Vec<Vec<(usize, usize)>> = settings
            .iter()
            .map(|setting| {
                let governors = governors(setting);
                setting.assignments.iter().map(|assignment| reader.cell(assignment, &governors, world)).collect()
            })
            .collect::<Result<_, ResolveError>>()?;
        let columns = reader.columns;
        let row = |cells: Vec<(usize, usize)>| {
            let mut row = vec![None; columns.len()];
            cells.into_iter().for_each(|(column, value)| row[column] = Some(value));
            row
        };
        let cells = rows.into_iter().map(row).collect();
        Ok(Space { columns, cells })
    }

    /// Of columns and the place of each one's value at each setting, which is turned whole or not at all.
    pub(crate) fn whole(columns: Vec<Column>, cells: Vec<Vec<Option<usize>>>) -> Space {
        Space { columns, cells }
    }

    /// The factors, and the level of each at each setting.
    pub(crate) fn factors(&self, metrics: &[Metric]) -> Factors {
        let mut factors = Vec::new();
        let mut points: Vec<Vec<Option<u16>>> = vec![Vec::new(); self.cells.len()];
        for (place, column) in self.columns.iter().enumerate() {
            let everywhere = self.cells.iter().all(|row| row[place].is_some());
            if everywhere && column.values.len() < 2 {
                continue;
            }
            for (kind, levels) in column.kinds(everywhere) {
                for (row, point) in self.cells.iter().zip(&mut points) {
                    point.push(row[place].and_then(|value| levels[value]));
                }
                factors.push(column.factor(kind, metrics));
            }
        }
        Factors { factors, points }
    }

    /// Whether one of the knobs cannot be set for good.
    pub(crate) fn only_held(&self) -> bool {
        self.columns.iter().any(|column| column.only_held)
    }

    /// The first setting that the machine was found in, from 0.
    pub(crate) fn found_at(&self) -> Option<usize> {
        let is_found = |row: &Vec<Option<usize>>| {
            let mut cells = row.iter().zip(&self.columns);
            cells.all(|(value, column)| value.is_none_or(|value| column.values[value].found))
        };
        self.cells.iter().position(is_found)
    }

    /// The value that the machine was found at, of a knob that [`Space::values`] has.
    pub(crate) fn found_value(&self, knob: &str) -> Option<f64> {
        let found = self.columns[self.place(knob)?].values.iter().find(|value| value.found)?;
        if let RankedValue::Number(number) = found.level { Some(number) } else { None }
    }

    /// The value of one knob at each setting as a number; `None` when no setting turns it.
    ///
    /// # Errors
    /// [`PlanError::NoCost`] for the first setting that does not set it to a number.
    pub(crate) fn values(&self, knob: &str, settings: &[Setting]) -> Result<Option<Vec<f64>>, PlanError> {
        let Some(place) = self.place(knob) else { return Ok(None) };
        let number = |(row, setting): (&Vec<Option<usize>>, &Setting)| {
            let level = row[place].map(|value| &self.columns[place].values[value].level);
            let wrong = || PlanError::NoNumber { knob: knob.into(), setting: setting.label() };
            match level {
                Some(RankedValue::Number(number)) if *number > 0.0 => Ok(*number),
                _ => Err(wrong()),
            }
        };
        self.cells.iter().zip(settings).map(number).collect::<Result<Vec<f64>, _>>().map(Some)
    }

    /// The column a knob means, as typed.
    fn place(&self, knob: &str) -> Option<usize> {
        let asked = KnobRef::parse(knob).ok()?;
        let fits = |column: &Column| {
            let is = |name: &String| name.eq_ignore_ascii_case(&asked.name);
            let named = is(&column.knob.name) || is(&column.typed.name) || column.names.iter().any(is);
            named && column.knob.side == asked.side && (asked.site.is_none() || asked.site == column.knob.site)
        };
        self.columns.iter().position(fits)
    }
}

fn governors(setting: &Setting) -> Vec<String> {
    let is_governor = |it: &&Assignment| powerband_knob::resolve(&it.knob.name).is_ok_and(|it| it.name == GOVERNOR);
    setting.assignments.iter().filter(is_governor).map(|it| it.value.to_lowercase()).collect()
}

/// Reads each name and each value once.
struct Reader<'a> {
    narrow: &'a Selection,
    names: BTreeMap<(String, Vec<String>), usize>,
    places: BTreeMap<(usize, String), usize>,
    knobs: Vec<Named>,
    columns: Vec<Column>,
}

impl Reader<'_> {
    fn cell(
        &mut self,
        assignment: &Assignment,
        governors: &[String],
        world: &mut dyn World,
    ) -> Result<(usize, usize), ResolveError> {
        let column = self.column(&assignment.knob, governors, world)?;
        if let Some(&value) = self.places.get(&(column, assignment.value.clone())) {
            return Ok((column, value));
        }
        let found = self.is_found(assignment, world);
        let side = first_side(&assignment.knob);
        let machine = world.machine(side).ok_or_else(|| ResolveError::NoFar(assignment.knob.to_string()))?;
        let at = self.narrow.at(assignment.knob.site.as_deref());
        let level = level(&self.knobs[column], &assignment.value, machine, &at)?;
        let value = self.columns[column].value(&assignment.value, level, found);
        self.places.insert((column, assignment.value.clone()), value);
        Ok((column, value))
    }

    fn column(&mut self, knob: &KnobRef, governors: &[String], world: &mut dyn World) -> Result<usize, ResolveError> {
        let key = (knob.to_string(), governors.to_vec());
        if let Some(&column) = self.names.get(&key) {
            return Ok(column);
        }
        let machine = world.machine(first_side(knob)).ok_or_else(|| ResolveError::NoFar(knob.to_string()))?;
        let named = self.narrow.resolve(&knob.name, governors, machine)?;
        let canonical = KnobRef { name: named.name.clone(), ..knob.clone() };
        let column = self.columns.iter().position(|it| it.knob == canonical).unwrap_or(self.columns.len());
        if column == self.columns.len() {
            let about = named.knob.about();
            self.columns.push(Column {
                knob: canonical,
                typed: knob.clone(),
                canonical: named.name.clone(),
                names: about.aliases.iter().chain([&about.short]).map(|name| (*name).to_owned()).collect(),
                settles_ns: named.knob.settles_ns(),
                only_held: named.knob.only_held().is_some(),
                values: Vec::new(),
            });
            self.knobs.push(named);
        }
        self.names.insert(key, column);
        Ok(column)
    }

    /// Whether turning to a value would change nothing on any machine it is for.
    fn is_found(&self, assignment: &Assignment, world: &mut dyn World) -> bool {
        let alone = Setting { name: None, assignments: vec![assignment.clone()] };
        world.covered(assignment.knob.side).into_iter().all(|side| {
            let Some(machine) = world.machine(side) else { return false };
            // What cannot even be planned by itself, a tunable of another governor say, is not in force.
            let Ok(steps) = plan_steps(&for_side(&alone, side), machine, self.narrow) else { return false };
            steps.lines.iter().all(|line| line.already || line.from.as_ref() == Some(&line.to))
        })
    }
}

fn first_side(knob: &KnobRef) -> Side {
    knob.side.first()
}

/// What one column's values are, by their places.
type Levels = Vec<Option<u16>>;

impl Column {
    /// The place of a value; two spellings of one are one.
    pub(crate) fn value(&mut self, text: &str, level: RankedValue, found: bool) -> usize {
        let value = self.values.iter().position(|known| known.level == level).unwrap_or(self.values.len());
        if value == self.values.len() {
            self.values.push(Typed { text: text.to_owned(), level, found });
        }
        value
    }

    /// The factors a column comes to. Special values among numbers are no numbers: a factor of their own says which one it
    /// is, unless there is but one, which is then known by its number's absence.
    fn kinds(&self, everywhere: bool) -> Vec<(SearchFactorKind, Levels)> {
        let numbers = self.values.iter().filter(|value| matches!(value.level, RankedValue::Number(_))).count();
        let special = self.values.len() - numbers;
        if numbers >= 2 {
            let by_number = self.numbers();
            return match special {
                0 => vec![by_number],
                1 if everywhere => vec![by_number],
                _ => vec![self.modes(), by_number],
            };
        }
        if self.values.iter().all(|value| matches!(value.level, RankedValue::Place(..))) {
            return vec![self.names()];
        }
        vec![self.categories()]
    }

    fn numbers(&self) -> (SearchFactorKind, Levels) {
        let number = |value: &Typed| if let RankedValue::Number(number) = value.level { Some(number) } else { None };
        let mut sorted: Vec<f64> = self.values.iter().filter_map(number).collect();
        sorted.sort_by(f64::total_cmp);
        let place = |number: f64| sorted.iter().position(|&known| known == number).and_then(short);
        let levels = self.values.iter().map(|value| number(value).and_then(place)).collect();
        (SearchFactorKind::Numbers(sorted), levels)
    }

    fn modes(&self) -> (SearchFactorKind, Levels) {
        let mut names = vec![A_NUMBER.to_owned()];
        let mut levels = Vec::new();
        for value in &self.values {
            if matches!(value.level, RankedValue::Number(_)) {
                levels.push(Some(0));
            } else {
                levels.push(short(names.len()));
                names.push(value.text.clone());
            }
        }
        (SearchFactorKind::Category(names), levels)
    }

    fn names(&self) -> (SearchFactorKind, Levels) {
        let place = |value: &Typed| if let RankedValue::Place(place, _) = value.level { place } else { usize::MAX };
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.order_by_key(|&value| place(&self.values[value]));
        let rank = |value: usize| order.iter().position(|&it| it == value).and_then(short);
        let levels = (0..self.values.len()).map(rank).collect();
        (SearchFactorKind::Names(order.iter().map(|&value| self.values[value].text.clone()).collect()), levels)
    }

    fn categories(&self) -> (SearchFactorKind, Levels) {
        let levels = (0..self.values.len()).map(short).collect();
        (SearchFactorKind::Category(self.values.iter().map(|value| value.text.clone()).collect()), levels)
    }

    fn factor(&self, kind: SearchFactorKind, metrics: &[Metric]) -> SearchFactor {
        let ordered = !matches!(kind, SearchFactorKind::Category(_));
        let believed = |metric: &Metric| {
            let slope = slope(&self.canonical, metric);
            (ordered && slope != 0.0).then(|| (metric.name.clone(), slope))
        };
        let numbers = matches!(kind, SearchFactorKind::Numbers(_));
        SearchFactor {
            name: self.typed.to_string(),
            kind,
            role: role(&self.canonical).filter(|_| numbers),
            switch_s: self.settles_ns as f64 / 1e9,
            trends: metrics.iter().filter_map(believed).collect(),
        }
    }
}

/// What a knob's numbers are, where charts show them in a unit of their own.
fn role(knob: &str) -> Option<SearchRole> {
    match knob {
        "cpufreq.freq" | "cpufreq.max_freq" => Some(SearchRole::ClockKhz),
        "nic.rx-usecs" => Some(SearchRole::DelayUs),
        _ => None,
    }
}

fn short(place: usize) -> Option<u16> {
    u16::try_from(place).ok()
}

/// What is believed of a metric's slope over a knob: watts and times as the catalogue has them, rates of work the other way
/// round than times.
pub(crate) fn slope(knob: &str, metric: &Metric) -> f64 {
    let known = trend(knob);
    match (unit_of(&metric.name), metric.better) {
        ("W", _) => known.power,
        ("ns" | "us" | "ms" | "s", Better::Lower) => known.time,
        ("1/s" | "Mbit/s", Better::Higher) => -known.time,
        _ => 0.0,
    }
}
