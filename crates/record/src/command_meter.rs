//! A meter that only a program reaches, as a plan or the command line declares it.
use serde::{Deserialize, Serialize};

/// A program that prints what it measures, a line a number, until it is ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::command_knob::extensible)]
pub struct CommandMeter {
    /// A line for `sh`, run in the folder `/` on the machine that is measured.
    pub command: String,
    /// Unit of the numbers.
    pub unit: MeterUnit,
    /// What they cover: `wall`, `GPU 0`.
    pub boundary: String,
    /// How often the meter makes a new number, e.g. `1s`, which is also meant when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Under sudo its command runs as root, not as the user who called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_root: bool,
}

/// Units of power, and of energy counted up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[expect(missing_docs, reason = "units speak for themselves")]
pub enum MeterUnit {
    W,
    #[serde(rename = "mW")]
    MilliW,
    #[serde(rename = "kW")]
    KiloW,
    J,
    #[serde(rename = "mJ")]
    MilliJ,
    #[serde(rename = "kJ")]
    KiloJ,
    #[serde(rename = "Wh")]
    WattHour,
    #[serde(rename = "kWh")]
    KiloWattHour,
}

impl MeterUnit {
    /// Whether numbers count energy up, and are not power.
    #[must_use]
    pub fn is_energy(self) -> bool {
        !matches!(self, MeterUnit::W | MeterUnit::MilliW | MeterUnit::KiloW)
    }

    /// Microwatts or microjoules in one.
    #[must_use]
    pub fn micro(self) -> f64 {
        match self {
            MeterUnit::MilliW | MeterUnit::MilliJ => 1e3,
            MeterUnit::W | MeterUnit::J => 1e6,
            MeterUnit::KiloW | MeterUnit::KiloJ => 1e9,
            MeterUnit::WattHour => 3.6e9,
            MeterUnit::KiloWattHour => 3.6e12,
        }
    }

    fn named(text: &str) -> Option<MeterUnit> {
        serde_json::from_value(text.into()).ok()
    }
}

impl CommandMeter {
    /// Reads `NAME=BOUNDARY,UNIT[,INTERVAL][,as_root],cmd:COMMAND`: the name and the meter.
    ///
    /// # Errors
    /// What is wrong with it, one sentence.
    pub fn parse(text: &str) -> Result<(String, CommandMeter), String> {
        let wrong = |why: &str| {
            format!(
                "'{text}' is no meter: {why}; write NAME=BOUNDARY,UNIT[,INTERVAL],cmd:COMMAND, e.g. 'bmc=wall,W,1s,cmd:./watts'"
            )
        };
        let (name, rest) = text.split_once('=').ok_or_else(|| wrong("it has no name"))?;
        let (about, command) = rest.split_once("cmd:").ok_or_else(|| wrong("it has no cmd:"))?;
        let mut words = about.split(',').map(str::trim);
        let (boundary, unit) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if name.is_empty() || command.trim().is_empty() {
            return Err(wrong("its name or its command is empty"));
        }
        if boundary.is_empty() {
            return Err(wrong("what its numbers cover must be said"));
        }
        let unit = MeterUnit::named(unit).ok_or_else(|| wrong("its unit must be W, mW, kW, J, mJ, kJ, Wh or kWh"))?;
        let (as_root, rest): (Vec<&str>, Vec<&str>) =
            words.filter(|word| !word.is_empty()).partition(|word| *word == "as_root");
        if rest.len() > 1 {
            return Err(wrong(&format!("'{}' is one word too many", rest[1])));
        }
        let (interval, as_root) = (rest.first().map(|word| (*word).to_owned()), !as_root.is_empty());
        let meter =
            CommandMeter { command: command.to_owned(), unit, boundary: boundary.to_owned(), interval, as_root };
        Ok((name.to_owned(), meter))
    }
}
