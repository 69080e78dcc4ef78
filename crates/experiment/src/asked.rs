//! The metrics of an experiment: where each comes from on this rig, what it covers, which way is better, and its value after
//! a trial.
use std::cell::RefCell;
use std::collections::BTreeMap;

use powerband_load::{Finishes, Load, MetricSpec, NumberStyles, Picked, Source};
use powerband_machine::World;
use powerband_meter::state::FIGURES;
use powerband_record::{Better, CpuList, DirectionSource, InOrder, Metric, Side};

use crate::metering::{Metering, figure_of, of_stretch, side_of};
use crate::{PlanError, ResolveError};

/// What metrics can be made of on a rig.
pub(crate) struct Sources<'a> {
    /// Of the load and the meters.
    measured: Vec<Metric>,
    picks: &'a [MetricSpec],
    metering: &'a Metering,
    /// The CPUs that figures of state are of.
    cpus: Option<&'a CpuList>,
}

/// Which way is better, and what the number covers or is made of.
type About = (Better, Option<String>);

impl<'a> Sources<'a> {
    pub(crate) fn of(
        load: &Load,
        picks: &'a [MetricSpec],
        metering: &'a Metering,
        cpus: Option<&'a CpuList>,
    ) -> Sources<'a> {
        let mut measured = if metering.has(Side::Near) { load.metrics_by_meter() } else { Vec::new() };
        for metric in &mut measured {
            metric.boundary = metering.boundary(Side::Near);
        }
        measured.extend(load.metrics());
        let timed = load.length_ns().is_some();
        for prefix in load.prefixes() {
            measured.extend(metering.metrics().into_iter().map(|(name, boundary)| {
                // Fixed durations are judged by watts, finite commands by joules; of many stretches none by itself.
                let own = name.strip_prefix("all/").unwrap_or(&name);
                let judged = prefix.is_empty() && if timed { own == "power_w" } else { own == "energy_j" };
                let name = of_stretch(&prefix, &name);
                Metric { name, better: Better::Lower, judged, boundary: Some(boundary) }
            }));
        }
        Sources { measured, picks, metering, cpus }
    }

    /// What is judged and shown: the user's choice, or the load's own and those of the near machine's meter by the kind of
    /// load. What the far machine's meter is for is asked for by name.
    pub(crate) fn metrics(&self, world: &mut dyn World, load: &Load) -> Result<Vec<Metric>, ResolveError> {
        let mut metrics: Vec<Metric> = Vec::new();
        for pick in self.picks {
            let mut metric = pick.metric.clone();
            let (better, boundary) = self.about(world, pick)?;
            metric.boundary = boundary;
            if pick.direction != DirectionSource::Stated {
                metric.better = better;
            }
            if metrics.iter().any(|m| m.name == metric.name) {
                return Err(PlanError::MetricTwice(metric.name).into());
            }
            metrics.push(metric);
        }
        let chosen = metrics.iter().any(|metric| metric.judged);
        let own = self.measured.iter().filter(|metric| !matches!(side_of(&metric.name), Some(Side::Far | Side::Both)));
        for metric in own {
            if metrics.iter().all(|m| m.name != metric.name) {
                metrics.push(Metric { judged: metric.judged && !chosen, ..metric.clone() });
            }
        }
        metrics.order_by_key(|metric| !metric.judged);
        if metrics.first().is_none_or(|metric| !metric.judged) {
            return Err(PlanError::NothingToJudge(load.kind().into()).into());
        }
        Ok(metrics)
    }

    /// What a metric covers now: one that was asked for, or one that is shown anyway.
    pub(crate) fn boundary(&self, world: &mut dyn World, metric: &str) -> Option<String> {
        match self.picks.iter().find(|pick| pick.metric.name == metric) {
            Some(pick) => self.about(world, pick).ok()?.1,
            None => self.about_measured(world, metric).ok()?.1,
        }
    }

    fn about(&self, world: &mut dyn World, pick: &MetricSpec) -> Result<About, ResolveError> {
        match &pick.source {
            Source::Measured(name) => self.about_measured(world, name),
            Source::Ratio(over, under) => {
                let operands = [self.about_operand(world, pick, over)?, self.about_operand(world, pick, under)?];
                let better = match (operands[0].0, operands[1].0) {
                    (Better::Lower, Better::Higher) => Better::Lower,
                    _ => Better::Higher,
                };
                let mut words = vec![format!("{over}/{under}")];
                for boundary in operands.into_iter().filter_map(|(_, boundary)| boundary) {
                    if !words.contains(&boundary) {
                        words.push(boundary);
                    }
                }
                Ok((better, Some(words.join(", "))))
            }
            _ => Ok((pick.metric.better, None)),
        }
    }

    fn about_operand(&self, world: &mut dyn World, ratio: &MetricSpec, name: &str) -> Result<About, ResolveError> {
        match self.picks.iter().find(|pick| pick.metric.name == name) {
            Some(pick) if matches!(pick.source, Source::Ratio(..)) => {
                Err(PlanError::RatioOfRatio { name: ratio.metric.name.clone(), of: name.into() }.into())
            }
            Some(pick) => self.about(world, pick),
            None => self.about_measured(world, name),
        }
    }

    fn about_measured(&self, world: &mut dyn World, name: &str) -> Result<About, ResolveError> {
        if let Some(metric) = self.measured.iter().find(|metric| metric.name == name) {
            return Ok((metric.better, metric.boundary.clone()));
        }
        let Some((side, figure)) = figure_of(name) else { return Err(self.unmeasured(world, name)) };
        let Some(machine) = world.machine(side) else { return Err(ResolveError::NoFar(name.into())) };
        let open = figure.open(machine, self.cpus);
        let open = open.map_err(|why| PlanError::NoFigure { name: name.into(), side, why })?;
        let of_cpus = self.cpus.filter(|_| figure.figure.is_by_cpu()).map(|cpus| format!("CPUs {cpus}"));
        let far = (side != Side::Near).then(|| side.to_string());
        let words: Vec<String> = [far, open.told_from().map(str::to_owned), of_cpus].into_iter().flatten().collect();
        open.close(machine);
        Ok((figure.figure.better, (!words.is_empty()).then(|| words.join(", "))))
    }

    /// Why nothing measures a metric.
    fn unmeasured(&self, world: &mut dyn World, name: &str) -> ResolveError {
        let side = side_of(name);
        if side == Some(Side::All)
            && let Some(why) = self.metering.apart()
        {
            return PlanError::Meter(format!("{name} would add up what different meters read: {why}")).into();
        }
        let sides = side.map(|side| world.covered(side)).unwrap_or_default();
        if sides.contains(&Side::Far) && world.machine(Side::Far).is_none() {
            return ResolveError::NoFar(name.into());
        }
        if let Some(&side) = sides.iter().find(|side| !self.metering.has(**side)) {
            return PlanError::NoMeter { name: name.into(), side }.into();
        }
        let measured = self.measured.iter().map(|metric| metric.name.as_str());
        let known = measured.chain(FIGURES.iter().map(|figure| figure.name)).collect::<Vec<_>>().join(", ");
        PlanError::NoMetric { name: name.into(), known }.into()
    }
}

/// The values metrics are made of after a trial.
pub(crate) struct Values<'a> {
    pub(crate) picks: &'a [MetricSpec],
    /// By the load, its meters and the machine's state.
    pub(crate) measured: &'a BTreeMap<String, f64>,
    /// Why one of them was refused.
    pub(crate) refused: &'a BTreeMap<String, String>,
    pub(crate) finishes: &'a Finishes,
    /// How the numbers of trials before were written.
    pub(crate) written: &'a RefCell<NumberStyles>,
}

/// The value of a metric.
pub(crate) struct Valued {
    pub(crate) value: f64,
    /// What it was read from, where that was an output.
    pub(crate) picked: Option<Picked>,
}

impl From<f64> for Valued {
    fn from(value: f64) -> Self {
        Valued { value, picked: None }
    }
}

impl Values<'_> {
    /// The value of a metric.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(crate) fn of(&self, metric: &str) -> Result<Valued, String> {
        let Some(pick) = self.picks.iter().find(|pick| pick.metric.name == metric) else {
            return self.measured(metric).map(Valued::from);
        };
        match &pick.source {
            Source::Measured(name) => self.measured(name).map(Valued::from),
            Source::Ratio(over, under) => {
                let (above, below) = (self.operand(over)?, self.operand(under)?);
                if below == 0.0 {
                    Err(format!("{under} is 0, so that nothing can be divided by it"))
                } else {
                    Ok((above / below).into())
                }
            }
            _ => {
                let finished = self.finishes.get("load").ok_or("the load has no output of its own".to_owned())?;
                let picked = pick.pick(&finished.output, &mut self.written.borrow_mut())?;
                Ok(Valued { value: picked.value, picked: Some(picked) })
            }
        }
    }

    /// What a ratio is made of is no ratio.
    fn operand(&self, name: &str) -> Result<f64, String> {
        let is = |pick: &&MetricSpec| pick.metric.name == name && !matches!(pick.source, Source::Ratio(..));
        if self.picks.iter().any(|pick| is(&pick)) { Ok(self.of(name)?.value) } else { self.measured(name) }
    }

    fn measured(&self, name: &str) -> Result<f64, String> {
        let missing =
            || self.refused.get(name).cloned().unwrap_or_else(|| format!("nothing measured {name} this time"));
        self.measured.get(name).copied().ok_or_else(missing)
    }
}
