//! The courses that pictures draw: of each setting its first valid trial, folded into columns that keep the least and the most
//! of their readings, and how busy each CPU was on average. A trial's readings are unpacked one timeline at a time.
use std::collections::BTreeMap;

use powerband_record::{Event, InOrder, MeterQuantity, MeterReading, PlannedTrial, Side, Timeline, TimelineError};

/// A course has at most so many columns: more than a wide screen has pixels to show them in.
pub const COLUMNS: usize = 3000;

/// What can be drawn of an experiment's timelines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Courses {
    /// By setting, in the order of their first trials.
    pub courses: Vec<Course>,
    /// How busy CPUs were.
    pub uses: Vec<Use>,
}

/// What one timeline is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourseSite {
    /// The machine.
    pub side: Side,
    /// Name of the kind of meter, `clock` or `utilisation`.
    pub meter: String,
    /// What its numbers cover: a meter's boundary, `policy0`, `cpu3`.
    pub boundary: String,
    /// Which stretch of the load, where it has several.
    pub stretch: Option<String>,
    /// What they are.
    pub quantity: MeterQuantity,
}

/// The course of one quantity over one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Index of the setting.
    pub setting: u32,
    /// The trial.
    pub trial: u32,
    /// What it is of.
    pub site: CourseSite,
    /// How many readings there are.
    pub readings: usize,
    /// How many of them a column stands for.
    pub together: usize,
    /// In the order of time.
    pub columns: Vec<Column>,
    /// When the last reading was, seconds from the first.
    pub end_s: f64,
    /// Mean of the readings that tell a value.
    pub mean: f64,
}

/// Some readings in a row; none of them a number where they tell none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// When it begins, seconds from the first reading.
    pub at_s: f64,
    /// The least of its readings, in W, MHz or as a share.
    pub low: f64,
    /// Their mean.
    pub mean: f64,
    /// The most.
    pub high: f64,
}

/// How busy one CPU was under one setting, over all its valid trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// Index of the setting.
    pub setting: u32,
    /// What it is of.
    pub site: CourseSite,
    /// The mean of each trial, 0 to 1.
    pub trials: Vec<f64>,
}

impl CourseSite {
    fn of(timeline: &Timeline) -> CourseSite {
        CourseSite {
            side: timeline.side,
            meter: timeline.meter.clone(),
            boundary: timeline.boundary.clone(),
            stretch: timeline.stretch.clone(),
            quantity: timeline.quantity,
        }
    }

    /// What it is of, with the machine where that is not the near one: `far, hwmon: power1`, `policy0`.
    #[must_use]
    pub fn title(&self) -> String {
        let side = if self.side == Side::Near { String::new() } else { format!("{}, ", self.side) };
        match self.quantity {
            MeterQuantity::PowerUw | MeterQuantity::EnergyUj => format!("{side}{}: {}", self.meter, self.boundary),
            MeterQuantity::ClockKhz | MeterQuantity::BusyPermille => format!("{side}{}", self.boundary),
        }
    }
}

impl Courses {
    /// Those of a journal; trials of the warm-up are left out.
    ///
    /// # Errors
    /// When a timeline that is drawn cannot be unpacked.
    pub fn from_events(events: &[Event]) -> Result<Courses, TimelineError> {
        let mut courses = Courses::default();
        let mut planned: Option<PlannedTrial> = None;
        for event in events {
            match event {
                Event::TrialStarted(trial) => planned = Some(*trial),
                Event::TrialDone { trial, outcome, .. } => {
                    let Some(of) = planned.filter(|of| of.trial == *trial && of.block > 0) else { continue };
                    for timeline in &outcome.timelines {
                        courses.take(timeline, of)?;
                    }
                }
                _ => {}
            }
        }
        Ok(courses)
    }

    fn take(&mut self, timeline: &Timeline, of: PlannedTrial) -> Result<(), TimelineError> {
        let site = CourseSite::of(timeline);
        if site.quantity == MeterQuantity::BusyPermille {
            let share = timeline.mean / 1e3;
            match self.uses.iter_mut().find(|known| known.setting == of.setting && known.site == site) {
                Some(known) => known.trials.push(share),
                None => self.uses.push(Use { setting: of.setting, site: site.clone(), trials: vec![share] }),
            }
        }
        if !self.courses.iter().any(|known| known.setting == of.setting && known.site == site) {
            self.courses.push(course(timeline, site, of)?);
        }
        Ok(())
    }

    /// The courses of one quantity, those of a site together and by setting, in the order the sites came in; of a load of many
    /// levels those of the highest, the middle and the lowest.
    #[must_use]
    pub fn by_site(&self, wanted: impl Fn(MeterQuantity) -> bool) -> Vec<(&CourseSite, Vec<&Course>)> {
        let mut sites: Vec<(&CourseSite, Vec<&Course>)> = Vec::new();
        for course in self.courses.iter().filter(|course| wanted(course.site.quantity)) {
            match sites.iter_mut().find(|(site, _)| **site == course.site) {
                Some((_, known)) => known.push(course),
                None => sites.push((&course.site, vec![course])),
            }
        }
        let few = few(sites.iter().map(|(site, _)| site.stretch.as_deref()));
        sites.retain(|(site, _)| few.contains(&site.stretch.as_deref()));
        sites.iter_mut().for_each(|(_, courses)| courses.order_by_key(|course| course.setting));
        sites
    }
}

/// The highest, the middle and the lowest of some levels of load: all of them are alike to look at.
pub(crate) fn few<'a>(stretches: impl Iterator<Item = Option<&'a str>>) -> Vec<Option<&'a str>> {
    let level = |name: &str| name.strip_prefix("at_").and_then(|level| level.parse::<u32>().ok());
    let mut by_level: BTreeMap<(u32, &str), Option<&str>> = BTreeMap::new();
    for stretch in stretches {
        let name = stretch.unwrap_or_default();
        by_level.insert((level(name).unwrap_or(0), name), stretch);
    }
    let all: Vec<Option<&str>> = by_level.into_values().rev().collect();
    let mut few: Vec<Option<&str>> =
        [0, all.len() / 2, all.len().saturating_sub(1)].iter().filter_map(|place| all.get(*place).copied()).collect();
    few.dedup();
    few
}

/// Unpacks a timeline into its columns, a reading at a time.
fn course(timeline: &Timeline, site: CourseSite, of: PlannedTrial) -> Result<Course, TimelineError> {
    let readings = timeline.samples as usize;
    let mut folding = Folding::new(readings.div_ceil(COLUMNS).max(1));
    let (quantity, mut before, mut end_ns) = (site.quantity, None, 0);
    let scaled = |value: u64| value as f64 * if quantity == MeterQuantity::PowerUw { 1e-6 } else { 1e-3 };
    timeline.read(|now| {
        let (at_ns, value) = match (quantity, before.replace(now)) {
            (MeterQuantity::PowerUw | MeterQuantity::ClockKhz, _) => (now.0, scaled(now.1)),
            // What holds since the reading before begins there.
            (_, None) => return,
            (MeterQuantity::BusyPermille, Some(before)) => (before.0, scaled(now.1)),
            (_, Some(before)) => (before.0, watts_between(&[before, now]).unwrap_or(f64::NAN)),
        };
        end_ns = now.0;
        folding.take(at_ns as f64 * 1e-9, value);
    })?;
    let (together, mean) = (folding.together, folding.sum / folding.count.max(1.0));
    let (columns, end_s) = (folding.columns(), end_ns as f64 * 1e-9);
    Ok(Course { setting: of.setting, trial: of.trial, site, readings, together, columns, end_s, mean })
}

/// Columns as readings come; a value that tells nothing is no number.
struct Folding {
    together: usize,
    done: Vec<Column>,
    part: Vec<(f64, f64)>,
    sum: f64,
    count: f64,
}

impl Folding {
    fn new(together: usize) -> Folding {
        Folding { together, done: Vec::new(), part: Vec::with_capacity(together), sum: 0.0, count: 0.0 }
    }

    fn take(&mut self, at_s: f64, value: f64) {
        if value.is_finite() {
            (self.sum, self.count) = (self.sum + value, self.count + 1.0);
        }
        self.part.push((at_s, value));
        if self.part.len() == self.together {
            self.done.push(column(&self.part));
            self.part.clear();
        }
    }

    fn columns(mut self) -> Vec<Column> {
        self.done.extend((!self.part.is_empty()).then(|| column(&self.part)));
        self.done
    }
}

/// Power between two readings of a counter of energy, W; none where it came round.
pub(crate) fn watts_between(pair: &[MeterReading]) -> Option<f64> {
    let energy_uj = pair[1].1.checked_sub(pair[0].1)? as f64;
    let time_ns = pair[1].0.saturating_sub(pair[0].0) as f64;
    // µJ/ns = kW.
    (time_ns > 0.0).then(|| energy_uj / time_ns * 1e3)
}

fn column(part: &[(f64, f64)]) -> Column {
    let (mut low, mut high, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
    for (_, value) in part.iter().filter(|(_, value)| value.is_finite()) {
        (low, high, sum, count) = (low.min(*value), high.max(*value), sum + value, count + 1.0);
    }
    let at_s = part[0].0;
    if count == 0.0 {
        return Column { at_s, low: f64::NAN, mean: f64::NAN, high: f64::NAN };
    }
    Column { at_s, low, mean: sum / count, high }
}

impl Course {
    /// The same with at most `most` columns, and how many readings each stands for.
    #[must_use]
    pub fn folded(&self, most: usize) -> (Vec<Column>, usize) {
        let by = self.columns.len().div_ceil(most.max(1)).max(1);
        let fold = |part: &[Column]| {
            let ends: Vec<(f64, f64)> = part.iter().flat_map(|it| [(it.at_s, it.low), (it.at_s, it.high)]).collect();
            let means: Vec<(f64, f64)> = part.iter().map(|it| (it.at_s, it.mean)).collect();
            Column { mean: column(&means).mean, ..column(&ends) }
        };
        (self.columns.chunks(by).map(fold).collect(), by * self.together)
    }

    /// The least and the most of all readings, if any tells a value.
    #[must_use]
    pub fn ends(&self) -> Option<(f64, f64)> {
        let finite = self.columns.iter().filter(|column| column.low.is_finite());
        finite.map(|column| (column.low, column.high)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: PlannedTrial = PlannedTrial { trial: 3, block: 1, setting: 2, copy: 0, at_ns: 0 };

    fn drawn(quantity: MeterQuantity, readings: &[MeterReading]) -> Course {
        let timeline = Timeline::pack(Side::Near, "m", "b", quantity, readings).unwrap();
        course(&timeline, CourseSite::of(&timeline), OF).unwrap()
    }

    #[test]
    fn columns_keep_the_least_and_the_most_of_all_readings() {
        // One reading in a hundred thousand stands out either way.
        let value = |i: u64| match i {
            12_345 => 9_000_000,
            77_777 => 1,
            i => 2_000_000 + i % 7,
        };
        let readings: Vec<MeterReading> = (0..100_000).map(|i| (i * 1_000_000, value(i))).collect();
        let course = drawn(MeterQuantity::PowerUw, &readings);
        assert!(course.columns.len() <= COLUMNS && course.columns.len() * course.together >= 100_000);
        let (folded, together) = course.folded(300);
        assert!(folded.len() <= 300 && folded.len() * together >= 100_000, "{} of {together}", folded.len());
        for columns in [&course.columns, &folded] {
            let most = columns.iter().max_by(|a, b| a.high.total_cmp(&b.high)).unwrap();
            let least = columns.iter().min_by(|a, b| a.low.total_cmp(&b.low)).unwrap();
            assert_eq!((least.low, most.high), (1e-6, 9.0));
            let wide_s = columns[1].at_s;
            assert!((0.0..=wide_s).contains(&(12.345 - most.at_s)) && (0.0..=wide_s).contains(&(77.777 - least.at_s)));
        }
        assert_eq!(course.ends(), Some((1e-6, 9.0)));
        assert!((course.mean - 2.000_083).abs() < 1e-4, "{}", course.mean);
    }

    #[test]
    fn what_holds_since_the_reading_before_begins_there() {
        let busy = [(0, 0), (1_000_000_000, 250), (3_000_000_000, 1000)];
        let course = drawn(MeterQuantity::BusyPermille, &busy);
        let told: Vec<(f64, f64)> = course.columns.iter().map(|column| (column.at_s, column.mean)).collect();
        assert_eq!((told, course.end_s), (vec![(0.0, 0.25), (1.0, 1.0)], 3.0));
    }

    #[test]
    fn of_many_levels_three_are_drawn() {
        let levels = ["idle", "at_10", "at_100", "at_50", "at_90"].map(Some);
        assert_eq!(few(levels.into_iter()), [Some("at_100"), Some("at_50"), Some("idle")]);
        assert_eq!(few([None].into_iter()), [None]);
    }
}
