//! A plan resolved against a table: its axes expand to the table's values, its metrics are the table's.
use powerband_knob::{RankedValue, Selection, place_of_word, resolve as resolve_knob};
use powerband_load::{MetricSpec, Source};
use powerband_record::{
    Assignment, Axis, InOrder, KnobRef, Metric, PlannedSetting, Setting, Started, parse_frequency_khz,
};

use super::{KnobColumn, TableKnob, TableMachine, plain};
use crate::cost::{ByCost, by_cost};
use crate::crossing::most_settings;
use crate::resolve::{requirements, rules, with_reference};
use crate::search::Asked;
use crate::space::{Column, Space};
use crate::{Plan, PlanError, ResolveError, Resolved};

impl TableKnob {
    pub(super) fn of(column: &KnobColumn, special: Vec<String>, values: Vec<String>) -> TableKnob {
        let name = column.name.as_ref().unwrap_or(&column.column);
        let known = |name: &String| resolve_knob(name).ok().map(|named| named.name);
        let canonical = known(name);
        TableKnob {
            name: canonical.clone().unwrap_or_else(|| name.clone()),
            column: column.column.clone(),
            like: canonical.or_else(|| column.like.as_ref().and_then(known)),
            special,
            values,
        }
    }

    fn is(&self, name: &str) -> bool {
        self.name == name || self.column == name || resolve_knob(name).is_ok_and(|named| named.name == self.name)
    }

    /// A value as the column has it.
    fn cell(&self, text: &str) -> String {
        let unit = resolve_knob(&self.name).map_or("", |named| named.knob.about().unit);
        match parse_frequency_khz(text) {
            Ok(khz) if unit == "kHz" => khz.to_string(),
            _ => plain(text.trim().trim_end_matches('%')),
        }
    }

    /// What is typed for a value.
    fn typed(&self, cell: &str) -> String {
        let unit = resolve_knob(&self.name).map_or("", |named| named.knob.about().unit);
        match cell.parse::<u32>() {
            Ok(khz) if unit == "kHz" && khz % 1000 == 0 => format!("{}MHz", khz / 1000),
            _ => cell.to_owned(),
        }
    }

    fn level(&self, cell: &str) -> RankedValue {
        let place = self.like.as_ref().and_then(|like| place_of_word(like, cell));
        match (cell.parse::<f64>(), place) {
            _ if self.special.iter().any(|special| special == cell) => RankedValue::Word(cell.into()),
            (Ok(number), _) => RankedValue::Number(number),
            (_, Some(place)) => RankedValue::Place(place, cell.into()),
            _ => RankedValue::Word(cell.into()),
        }
    }

    fn column(&self) -> Column {
        let about = self.like.as_ref().and_then(|like| resolve_knob(like).ok()).map(|named| named.knob);
        let own = about.filter(|_| self.like.as_ref() == Some(&self.name)).map(|knob| knob.about());
        let knob = KnobRef { side: powerband_record::Side::Near, name: self.name.clone(), site: None };
        Column {
            typed: KnobRef { name: own.map_or(&*self.name, |own| own.short).to_owned(), ..knob.clone() },
            knob,
            canonical: self.like.clone().unwrap_or_default(),
            names: own
                .into_iter()
                .flat_map(|own| own.aliases.iter().copied().chain([own.short]))
                .map(str::to_owned)
                .chain([self.column.clone()])
                .collect(),
            settles_ns: 0,
            only_held: false,
            values: Vec::new(),
        }
    }

    /// The values of an axis: a list, `all`, or a range, which without a step has every value of the table in it.
    fn expand(&self, items: &str) -> Result<Vec<String>, String> {
        let mut values: Vec<String> = Vec::new();
        for item in items.split(',').map(str::trim) {
            match (item, item.split_once("..")) {
                ("", _) => return Err("an entry of its list is empty; write e.g. 10,20 or all".into()),
                ("all", _) => values.extend(self.values.iter().cloned()),
                (_, Some((first, rest))) => values.extend(self.range(item, first, rest)?),
                _ => values.push(self.there(item)?),
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        values.retain(|value| seen.insert(value.clone()));
        Ok(values)
    }

    fn range(&self, item: &str, first: &str, rest: &str) -> Result<Vec<String>, String> {
        let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
        let number = |text: &str| {
            let number = self.cell(text).parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("'{text}' of {item} is no number"))
        };
        let (low, high, step) = (number(first)?, number(last)?, step.map(number).transpose()?);
        if low > high || step.is_some_and(|step| step <= 0.0) {
            return Err(format!("the range {item} has nothing in it"));
        }
        let on =
            |value: f64| step.is_none_or(|step| ((value - low) / step - ((value - low) / step).round()).abs() < 1e-9);
        let inside = |text: &&String| text.parse::<f64>().is_ok_and(|value| value >= low && value <= high && on(value));
        let values: Vec<String> = self.values.iter().filter(inside).cloned().collect();
        if values.is_empty() { Err(format!("the table has no value in {item}")) } else { Ok(values) }
    }

    /// A value that the table has.
    fn there(&self, text: &str) -> Result<String, String> {
        let cell = self.cell(text);
        let shown = || self.values.iter().map(|cell| self.typed(cell)).collect::<Vec<_>>().join(", ");
        let known = self.values.contains(&cell);
        if known { Ok(cell) } else { Err(format!("the table has no {text}; it has: {}", shown())) }
    }
}

impl TableMachine {
    fn knob(&self, knob: &KnobRef) -> Result<usize, PlanError> {
        let place = self.knobs.iter().position(|it| it.is(&knob.name));
        let known = || self.knobs.iter().map(|knob| knob.name.as_str()).collect::<Vec<_>>().join(", ");
        place.ok_or_else(|| PlanError::Table(format!("the table has no knob '{knob}'; it has: {}", known())))
    }

    /// The cells of a setting, a knob of the table that is not in it being told.
    pub(super) fn cells_of(&self, setting: &Setting) -> Result<Vec<String>, PlanError> {
        let mut cells: Vec<Option<String>> = vec![None; self.knobs.len()];
        for assignment in &setting.assignments {
            let place = self.knob(&assignment.knob)?;
            let there = self.knobs[place].there(&assignment.value);
            let wrong = |why| PlanError::Table(format!("{}: {why}", self.knobs[place].name));
            cells[place] = Some(there.map_err(wrong)?);
        }
        let missing = cells.iter().zip(&self.knobs).find(|(cell, _)| cell.is_none());
        if let Some((_, knob)) = missing {
            return Err(PlanError::Table(format!(
                "'{}' does not say {}, and a row of the table has a value of each of its knobs; add e.g. {}={}",
                setting.label(),
                knob.name,
                knob.column,
                knob.values.first().map_or("", String::as_str)
            )));
        }
        Ok(cells.into_iter().flatten().collect())
    }

    /// Every combination of the axes' values, those that the table has no row of as well.
    fn crossed(&self, plan: &Plan, shared: &[Assignment]) -> Result<Vec<Setting>, PlanError> {
        if plan.axes.is_empty() {
            return Ok(Vec::new());
        }
        let mut combinations: Vec<Vec<Assignment>> = vec![Vec::new()];
        let mut varied = Vec::new();
        for (place, text) in plan.axes.iter().enumerate() {
            let axis = Axis::parse(text)?;
            let knob = &self.knobs[self.knob(&axis.knob)?];
            let values = knob.expand(&axis.values).map_err(|why| PlanError::Table(format!("{text}: {why}")))?;
            if values.len() > 1 {
                varied.push(place);
            }
            let with = |value: &String| Assignment { knob: axis.knob.clone(), value: knob.typed(value) };
            combinations = combinations
                .iter()
                .flat_map(|so_far| values.iter().map(|value| [so_far.as_slice(), &[with(value)]].concat()))
                .collect();
            if combinations.len() > most_settings(plan) {
                return Err(PlanError::TooMany(combinations.len(), most_settings(plan)));
            }
        }
        let named = |assignments: Vec<Assignment>| {
            // An axis of one value tells no setting from another.
            let telling = |place: &usize| varied.is_empty() || varied.contains(place);
            let words = (0..assignments.len()).filter(telling).map(|place| assignments[place].to_string());
            Setting { name: Some(words.collect::<Vec<_>>().join(" ")), assignments: [shared, &assignments].concat() }
        };
        Ok(combinations.into_iter().map(named).collect())
    }

    fn settings(&self, plan: &Plan) -> Result<Vec<Setting>, PlanError> {
        let shared = Setting::parse(&plan.with)?.assignments;
        let mut settings = Vec::new();
        for text in &plan.settings {
            let mut setting = Setting::parse(text)?;
            if !setting.assignments.is_empty() {
                setting.assignments.splice(0..0, shared.iter().cloned());
            }
            settings.push(setting);
        }
        settings.extend(self.crossed(plan, &shared)?);
        with_reference(plan, settings)
    }

    fn space(&self, settings: &[Setting]) -> Result<Space, PlanError> {
        let mut columns: Vec<Column> = self.knobs.iter().map(TableKnob::column).collect();
        let mut rows = Vec::new();
        for setting in settings {
            let cells = self.cells_of(setting)?;
            let row =
                cells.iter().zip(&self.knobs).zip(&mut columns).enumerate().map(|(place, ((cell, knob), column))| {
                    let found = self.found_at.as_ref().is_some_and(|found| found.get(place) == Some(cell));
                    Some(column.value(cell, knob.level(cell), found))
                });
            rows.push(row.collect());
        }
        Ok(Space::whole(columns, rows))
    }

    fn metric_names(&self) -> String {
        self.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The metrics of a plan: those it asks for judged, the table's own choice without any.
    fn metrics(&self, texts: &[String]) -> Result<Vec<Metric>, PlanError> {
        let mut metrics = self.metrics.clone();
        let picks = texts.iter().map(|text| MetricSpec::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if picks.iter().any(|pick| pick.metric.judged) {
            metrics.iter_mut().for_each(|metric| metric.judged = false);
        }
        for pick in &picks {
            let name = &pick.metric.name;
            let own = matches!(&pick.source, Source::Measured(measured) if measured == name);
            let place = self.metrics.iter().position(|metric| own && metric.name == *name);
            let none = || PlanError::NoMetric { name: name.clone(), known: self.metric_names() };
            let metric = &mut metrics[place.ok_or_else(none)?];
            metric.judged = pick.metric.judged;
            if pick.direction == powerband_record::DirectionSource::Stated {
                metric.better = pick.metric.better;
            }
        }
        if metrics.iter().all(|metric| !metric.judged)
            && let Some(first) = metrics.first_mut()
        {
            first.judged = true;
        }
        metrics.order_by_key(|metric| !metric.judged);
        Ok(metrics)
    }
}

/// Resolves a plan against a table; its load is not run, as the table was measured under one of its own.
///
/// # Errors
/// [`ResolveError`]: the plan's fault, or what the table does not have.
pub fn resolve_table(plan: &Plan, table: &TableMachine) -> Result<Resolved, ResolveError> {
    if plan.far.is_some() || plan.cpus.is_some() {
        return Err(
            PlanError::Table("a table has no far machine and no CPUs; leave out --far and --cpus".into()).into()
        );
    }
    if !plan.record.is_empty() {
        return Err(PlanError::Table(
            "a table keeps no time series of frequencies and CPUs; leave out --record".into(),
        )
        .into());
    }
    let settings = table.settings(plan)?;
    let meant = |knob: &KnobRef| Ok(table.knobs[table.knob(knob)?].name.clone());
    let ByCost { settings, order: cost_order, note } = by_cost(plan, settings, &meant)?;
    let others = settings.iter().filter(|setting| !setting.assignments.is_empty());
    others.map(|setting| table.cells_of(setting)).collect::<Result<Vec<_>, _>>()?;
    let asked = match &plan.tune {
        Some(tune) => {
            let others = settings.get(1..).unwrap_or_default();
            Some(Asked::of(plan, tune, others, table.space(others)?)?)
        }
        None => None,
    };
    let required = if asked.is_some() { Vec::new() } else { requirements(plan)? };
    let texts = asked.as_ref().map_or_else(|| Ok(plan.metrics.clone()), |asked| asked.picks(plan))?;
    let mut metrics = table.metrics(&texts)?;
    let unknown = required.iter().find(|limit| metrics.iter().all(|metric| metric.name != limit.metric));
    if let Some(limit) = unknown {
        return Err(PlanError::NoMetric { name: limit.metric.clone(), known: table.metric_names() }.into());
    }
    let mut search = None;
    if let Some(asked) = asked {
        let (sought, judged) = asked.search(metrics);
        (search, metrics) = (Some(sought), judged);
    }
    let started = Started {
        machine: table.name.clone(),
        system: table.system.clone(),
        load: serde_json::json!({ "kind": "table", "title": table.title }),
        settings: settings.iter().map(|s| PlannedSetting { label: s.label(), turns: s.turns() }).collect(),
        metrics,
        search,
        requirements: required,
        cost_order,
        notes: note.iter().cloned().collect(),
        // Rows do not warm up.
        warmup: plan.warmup.unwrap_or(0),
        ..rules(plan)?
    };
    let (load, narrow) = (plan.load.clone(), Selection::everywhere());
    let variants = Vec::new();
    Ok(Resolved { started, settings, load, variants, picks: Vec::new(), narrow, notes: note.into_iter().collect() })
}
