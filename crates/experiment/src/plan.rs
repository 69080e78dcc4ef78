//! The plan as it is written: a TOML file or the words of `try`, before anything is looked up on a machine.
use std::collections::BTreeMap;

use powerband_load::Load;
use powerband_record::{CommandKnob, CommandMeter, Hooks};
use serde::Deserialize;
use thiserror::Error;

mod read;

use read::read;

/// An experiment as a user writes it. Settings, axes and metrics are in the command line's own grammar, so that what
/// is tried by hand can be copied into a file. Everything but the load may be left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// A line for people.
    #[serde(default)]
    pub title: Option<String>,
    /// The machine that is turned and measured (`local`, `sim:NAME`).
    #[serde(default)]
    pub machine: Option<String>,
    /// The other end of the cable.
    #[serde(default)]
    pub far: Option<String>,
    /// A list of machines instead of these two, each `NAME=MACHINE`, `MACHINE` or a node's name; the first runs the load. One of
    /// `slurm` is the nodes of the allocation.
    #[serde(default)]
    pub machines: Vec<String>,
    /// What makes the machine work.
    pub load: Load,
    /// Assignments every setting but the baseline shares, e.g. `governor=userspace`.
    #[serde(default)]
    pub with: String,
    /// Axes that are crossed, e.g. `freq=500MHz,600MHz`.
    #[serde(default, rename = "try")]
    pub axes: Vec<String>,
    /// Whole settings, e.g. `tuned:governor=conservative up_threshold=98`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Label of the setting the others are compared with; the baseline when absent.
    #[serde(default)]
    pub reference: Option<String>,
    /// Knob whose value is the cost: the cheapest setting that is not worse than any other by more than the margin is
    /// sought.
    #[serde(default)]
    pub knee: Option<String>,
    /// Metrics to judge, `[NAME=]SOURCE[:higher|lower|info]`; the load's own when empty.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Meters to read instead of the first of each machine: `package-0`, `far/hwmon`, one of [`Plan::meters`]; one or a list.
    #[serde(default, deserialize_with = "one_or_more")]
    pub meter: Vec<String>,
    /// How late their numbers come: `3s`, `far/auto` to estimate it; one or a list.
    #[serde(default, deserialize_with = "one_or_more")]
    pub meter_lag: Vec<String>,
    /// What settings must fulfil besides, e.g. `p99_us<=500` or against the reference `p99_us<=+10%`; one or a list.
    #[serde(default, deserialize_with = "one_or_more")]
    pub require: Vec<String>,
    /// Nothing is turned: the noise of the machine as it is gets measured. A verb, not a key.
    #[serde(skip)]
    pub calibration: bool,
    /// Margin of "same", e.g. `5%`.
    #[serde(default)]
    pub margin: Option<String>,
    /// Error rate of all "better" and "worse" together, e.g. `5%`.
    #[serde(default)]
    pub alpha: Option<String>,
    /// What the error rate holds of together: `differences` (when absent), or `same`, then also of all "same" verdicts.
    #[serde(default)]
    pub family: Option<String>,
    /// What of a setting's trials is judged: `typical` (default) or `mean`.
    pub judge: Option<String>,
    /// Most blocks.
    #[serde(default)]
    pub blocks: Option<u32>,
    /// Exactly so many trials of each setting.
    #[serde(default)]
    pub runs: Option<u32>,
    /// At least so many.
    #[serde(default)]
    pub min_runs: Option<u32>,
    /// At most so many.
    #[serde(default)]
    pub max_runs: Option<u32>,
    /// Command line that runs before each trial.
    #[serde(default)]
    pub prepare: Option<String>,
    /// Command line that runs after each trial.
    #[serde(default)]
    pub conclude: Option<String>,
    /// Command line that runs once, before the first trial of each setting.
    #[serde(default)]
    pub setup: Option<String>,
    /// Command line that runs once, after the last trial.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// Most time, e.g. `15m`.
    #[serde(default)]
    pub budget: Option<String>,
    /// Most warm-up trials, 0 for none.
    #[serde(default)]
    pub warmup: Option<u32>,
    /// Time to settle after turning, e.g. `500ms`.
    #[serde(default)]
    pub settle: Option<String>,
    /// CPUs that are turned, e.g. `1` or `0-3`; all when absent.
    #[serde(default)]
    pub cpus: Option<String>,
    /// Whether a knob is set although the kernel does not take back what is there; it is then not restored.
    #[serde(default)]
    pub accept_unrestorable: bool,
    /// Seed of the orders and of a simulated machine's noise.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Knobs next to the catalogue's, each by its commands, by name.
    #[serde(default)]
    pub knobs: BTreeMap<String, CommandKnob>,
    /// Meters that only a program reaches, by name.
    #[serde(default)]
    pub meters: BTreeMap<String, CommandMeter>,
    /// How cool the machines are to be before each load: `50C`, `50C:2m`.
    #[serde(default)]
    pub cool: Option<String>,
    /// What is kept of the machines' CPUs while a load runs: `clock`, `utilisation@0-3:1s`; one or a list.
    #[serde(default, deserialize_with = "one_or_more")]
    pub record: Vec<String>,
    /// The best setting is searched, rather than all of them compared.
    #[serde(default)]
    pub tune: Option<Tune>,
    /// How the plan runs on many nodes; `run` does not look at it.
    #[serde(default)]
    pub fleet: Option<FleetPlan>,
    /// Rank-based path instead of t; chosen before the start, never by looking at the data.
    #[serde(default)]
    pub robust: bool,
}

/// What a search is for: `[tune]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// A metric, or a knob whose own value is to be as low as can be.
    #[serde(default)]
    pub minimize: Option<String>,
    /// A metric, or a knob whose own value is to be as high as can be.
    #[serde(default)]
    pub maximize: Option<String>,
    /// By how much a setting that is tried may break a requirement at most, e.g. `10%`.
    #[serde(default)]
    pub safe: Option<String>,
}

/// How a plan runs on many nodes: `[fleet]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetPlan {
    /// The machine of each node, instead of the plan's: `{node}` in it is the number of the node, as in `sim:server#{node}`.
    #[serde(default)]
    pub machine: Option<String>,
}

/// Why a plan cannot be used. Every variant is the user's to mend.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not TOML, an unknown key, a wrong type.
    #[error("{place}: {why}")]
    Toml {
        /// File and line.
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// A setting, axis or assignment that cannot be read.
    #[error(transparent)]
    Setting(#[from] powerband_record::SettingError),
    /// A quantity that cannot be read.
    #[error("{key}: {why}")]
    Quantity {
        /// Which key or option.
        key: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A metric that cannot be read.
    #[error(transparent)]
    Metric(#[from] powerband_load::PickError),
    /// A load that cannot be used.
    #[error(transparent)]
    Load(#[from] powerband_load::LoadError),
    /// Nothing to compare.
    #[error(
        "there is nothing to compare: give a knob two values (KNOB=V1,V2), two commands ('A' 'B'), or two settings with -s"
    )]
    NothingToCompare,
    /// Two settings of one name.
    #[error("two settings are called '{0}'; give each its own name")]
    TwiceNamed(String),
    /// A metric that is asked for twice.
    #[error("the metric '{0}' is there twice; leave one out, or give it a name of its own: NAME={0}")]
    MetricTwice(String),
    /// Two names for one setting are fine (an A/A); two identical unnamed ones are not.
    #[error("the setting '{0}' is there twice; name both if that is meant (-s a: -s b:)")]
    Twice(String),
    /// A reference that is no setting.
    #[error("there is no setting '{name}' to be the reference; there are: {known}")]
    NoReference {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A knee needs a cost for every setting.
    #[error("the knee is sought by {knob}, but the setting '{setting}' does not set it to a number")]
    NoCost {
        /// The knob.
        knob: String,
        /// The setting.
        setting: String,
    },
    /// A knob's own value is the goal, and a setting leaves it alone.
    #[error("{knob} is the goal, but the setting '{setting}' does not set it to a number above 0")]
    NoNumber {
        /// The knob.
        knob: String,
        /// The setting.
        setting: String,
    },
    /// A knob of the load that cannot be.
    #[error("{0}")]
    Variant(String),
    /// What a table does not have.
    #[error("{0}")]
    Table(String),
    /// What a search is asked makes no sense.
    #[error("{0}")]
    Search(String),
    /// A metric that neither the load nor a meter nor the plan gives.
    #[error("nothing measures '{name}' here; there are: {known}")]
    NoMetric {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A metric of a machine without a meter.
    #[error(
        "'{name}' needs a meter, and the {side} machine has none; powerband info meters says there what is missing"
    )]
    NoMeter {
        /// What was asked for.
        name: String,
        /// Which machine.
        side: powerband_record::Side,
    },
    /// A meter that the machine does not have.
    #[error(
        "there is no meter '{name}' on the {side} machine; there are: {known}; powerband info meters says why not others, and \
         --meter '{name}=BOUNDARY,W,cmd:COMMAND' or [meters.{name}] in a plan declares a program as one"
    )]
    NoSuchMeter {
        /// What was asked for.
        name: String,
        /// Which machine.
        side: powerband_record::Side,
        /// What there is.
        known: String,
    },
    /// Two meters of one machine, whose numbers may overlap.
    #[error("two meters are asked for of the {0} machine, and one is read; give one")]
    TwoMeters(powerband_record::Side),
    /// A figure of a machine's state that this machine does not tell.
    #[error("'{name}' cannot be measured on the {side} machine: {why}")]
    NoFigure {
        /// What was asked for.
        name: String,
        /// Which machine.
        side: powerband_record::Side,
        /// Which file is missing, and why.
        why: String,
    },
    /// One of several programs that was not chosen, or more than can be asked of one.
    #[error("{0}")]
    Meter(String),
    /// A machine is to cool down that tells no temperature.
    #[error(
        "nothing can be waited for to cool down: the machine has no thermal zone that shows a temperature; leave --cool out"
    )]
    NoThermal,
    /// A load that is over before its meter has made enough numbers.
    #[error("{0}")]
    TooShort(String),
    /// A ratio that is made of a ratio.
    #[error("'{name}' divides '{of}', which is a ratio itself; write each from what is measured")]
    RatioOfRatio {
        /// The metric.
        name: String,
        /// What it is made of.
        of: String,
    },
    /// A requirement that cannot be read.
    #[error(transparent)]
    Requirement(#[from] powerband_record::RequirementError),
    /// Ranks and a limit on a level at once.
    #[error(
        "'{0}' is a limit on a level, for which each block holds several trials of the reference, and --robust allows one; leave one of them out, or write the limit against the reference, e.g. 'p99_us<=+10%'"
    )]
    RobustLevel(String),
    /// A knee by ranks.
    #[error("a knee compares all pairs of settings, for which --robust has no test; leave out --robust or --knee")]
    RobustKnee,
    /// No metric at all to judge by.
    #[error(
        "the load '{0}' measures nothing by itself and no meter was found; add --metric, or use a machine with a meter"
    )]
    NothingToJudge(String),
    /// More settings than make sense in one experiment.
    #[error("{0} settings are too many for one experiment (at most {1}); take fewer values, e.g. 10..100:30")]
    TooMany(usize, usize),
}

impl Plan {
    /// An empty plan around a load, for building one from options.
    #[must_use]
    pub fn of(load: Load) -> Self {
        Plan {
            title: None,
            machine: None,
            far: None,
            machines: Vec::new(),
            load,
            with: String::new(),
            axes: Vec::new(),
            settings: Vec::new(),
            reference: None,
            knee: None,
            metrics: Vec::new(),
            meter: Vec::new(),
            meter_lag: Vec::new(),
            require: Vec::new(),
            calibration: false,
            margin: None,
            alpha: None,
            family: None,
            judge: None,
            blocks: None,
            runs: None,
            min_runs: None,
            max_runs: None,
            prepare: None,
            conclude: None,
            setup: None,
            cleanup: None,
            budget: None,
            warmup: None,
            settle: None,
            cpus: None,
            seed: None,
            knobs: BTreeMap::new(),
            meters: BTreeMap::new(),
            cool: None,
            record: Vec::new(),
            tune: None,
            fleet: None,
            accept_unrestorable: false,
            robust: false,
        }
    }

    /// What runs around its trials.
    #[must_use]
    pub fn hooks(&self) -> Hooks {
        Hooks {
            prepare: self.prepare.clone(),
            conclude: self.conclude.clone(),
            setup: self.setup.clone(),
            cleanup: self.cleanup.clone(),
        }
    }

    /// Reads a plan file's text; `name` is for messages.
    ///
    /// # Errors
    /// [`PlanError::Toml`] with file, line and what is wrong, in one line.
    pub fn parse(name: &str, text: &str) -> Result<Self, PlanError> {
        read(name, text)
    }

    /// Reads the knobs that a file declares and nothing else of it, so that it need not be a whole plan.
    ///
    /// # Errors
    /// As [`Plan::parse`].
    pub fn knobs_in(name: &str, text: &str) -> Result<BTreeMap<String, CommandKnob>, PlanError> {
        #[derive(Deserialize)]
        struct Part {
            #[serde(default)]
            knobs: BTreeMap<String, CommandKnob>,
        }
        read::<Part>(name, text).map(|part| part.knobs)
    }
}

/// A text or a list of them.
fn one_or_more<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(text) => vec![text],
        OneOrMore::More(texts) => texts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_and_what_is_wrong_in_it_is_one_line() {
        let text = "try = [\"freq=all\"]\nmargin = \"5%\"\n[load]\nkind = \"stream\"\nfor = \"10s\"\n";
        let plan = Plan::parse("p", text).unwrap();
        assert_eq!(plan.axes, ["freq=all"]);
        assert_eq!(plan.load.length_ns(), Some(10_000_000_000));
        let told = include_str!("plan/slips.txt").split("----\n").map(|text| {
            let error = Plan::parse("p", text).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
            format!("{text}    {error}\n")
        });
        insta::assert_snapshot!("slips", told.collect::<String>());
    }
}
