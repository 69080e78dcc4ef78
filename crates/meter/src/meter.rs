//! What a meter says of itself, and what it found on a machine.
use std::fmt;

use powerband_machine::{Look, ReadFailure};
use powerband_record::MeterUnit;
use serde::Serialize;

use crate::gauge::PERIODS;
use crate::{FileScale, PowerScope, Window, Wrap};

/// A kind of meter. Implementations are unit structs.
pub trait Meter: Sync + fmt::Debug {
    /// What it says of itself.
    fn about(&self) -> &'static MeterAbout;

    /// What there is of it on this machine.
    ///
    /// # Errors
    /// [`Absent`], with the reason, when there is none.
    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent>;
}

/// A meter's description of itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeterAbout {
    /// Its name: `modelled`, `hwmon`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Unit of what its files show.
    pub unit: &'static str,
    /// What its numbers cover, in general; each instance names its own.
    pub boundary: &'static str,
    /// Counter, gauge, or both.
    pub kind: &'static str,
    /// What reading it costs the machine that is measured.
    pub cost: &'static str,
    /// Where the facts come from.
    pub source: &'static str,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Microjoules since some start.
    EnergyUj,
    /// Microwatts now, or on average over a while.
    PowerUw,
}

/// How it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Energy counted up; read before and after.
    Counter {
        /// Where it starts again from 0, if it does.
        #[serde(skip_serializing_if = "Option::is_none")]
        wrap: Option<Wrap>,
    },
    /// Power shown; recorded all along.
    Gauge {
        /// How often the meter itself makes a new number, ns.
        interval_ns: u64,
        /// What stretch of time one number stands for.
        window: Window,
    },
}

impl Kind {
    /// What its numbers count.
    #[must_use]
    pub fn quantity(self) -> Quantity {
        match self {
            Kind::Counter { .. } => Quantity::EnergyUj,
            Kind::Gauge { .. } => Quantity::PowerUw,
        }
    }
}

/// One meter on one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct MeterInstance {
    /// Name of its kind.
    pub meter: &'static str,
    /// What its numbers cover: `modelled`, `power_meter power1`, `amdgpu PPT`.
    pub boundary: String,
    /// The file that is read.
    pub source: String,
    /// A file whose number it is multiplied by: the voltage of a current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
    /// What makes microwatts or microjoules of the file's number.
    #[serde(skip_serializing_if = "FileScale::is_one")]
    pub scale: FileScale,
    /// How.
    #[serde(flatten)]
    pub kind: Kind,
    /// The part of the machine, for what overlaps.
    pub scope: PowerScope,
    /// The most it can show, W; what is beyond is no measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_w: Option<u32>,
    /// How often its number changes, ns, where its driver is known for it or says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates_ns: Option<u64>,
    /// How late its numbers come, ns, where that is known and to be reckoned with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
    /// Unit of what it prints, where it is a program's lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prints: Option<MeterUnit>,
    /// The meters it is the sum of; it has no file of its own then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MeterInstance>,
    /// What a person should know of its numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl MeterInstance {
    /// What its files show, in microwatts or microjoules.
    ///
    /// # Errors
    /// The text that is no number.
    pub fn number<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Result<u64, String> {
        self.scale.apply(texts, matches!(self.kind, Kind::Gauge { .. }))
    }

    /// A meter that reads one file, of which no more is known.
    #[must_use]
    pub fn new(meter: &'static str, boundary: String, source: String, kind: Kind) -> MeterInstance {
        MeterInstance {
            meter,
            boundary,
            source,
            times: None,
            scale: FileScale::default(),
            kind,
            scope: PowerScope::Unknown,
            at_most_w: None,
            updates_ns: None,
            lag_ns: None,
            prints: None,
            parts: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The shortest load it can be read around, ns: of one that makes a number now and then, ten of those.
    #[must_use]
    pub fn shortest_ns(&self) -> u64 {
        match (self.kind, self.prints) {
            (Kind::Gauge { interval_ns, .. }, _) => interval_ns.saturating_mul(PERIODS),
            (Kind::Counter { .. }, Some(_)) => self.updates_ns.unwrap_or(0).saturating_mul(PERIODS),
            // Of others each reading is as old as it is short before.
            (Kind::Counter { .. }, None) => 0,
        }
    }

    /// The meters whose files are read for it: its parts, or itself.
    #[must_use]
    pub fn read(&self) -> &[MeterInstance] {
        if self.parts.is_empty() { std::slice::from_ref(self) } else { &self.parts }
    }
}

/// A meter that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Absent {
    /// Name of its kind.
    pub meter: &'static str,
    /// Why, and what would help.
    pub why: String,
    /// Lines that would help, as they are to be written somewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

impl Absent {
    /// One for whose lack nobody can write a line.
    #[must_use]
    pub fn new(meter: &'static str, why: String) -> Absent {
        Absent { meter, why, lines: Vec::new() }
    }
}

/// What a machine can be measured with: the data of `info meters`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Inventory {
    /// Meters found, the ones to prefer first.
    pub meters: Vec<MeterInstance>,
    /// Kinds that are not there, each with its reason.
    pub absent: Vec<Absent>,
    /// What could not be read of the meters' surroundings: names, labels, intervals.
    pub unread: Vec<ReadFailure>,
}
