//! Interrupt coalescing of a network device: its parameters by name, and the places they read from.
use std::collections::BTreeMap;
use std::fmt;

use powerband_record::IntoOrdered as _;
use serde::{Deserialize, Serialize};

use crate::Errno;

/// What a place of coalescing begins with. No path does, as paths are absolute.
const PLACE: &str = "coalesce:";

/// One parameter, as `ethtool -C` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Number of its attribute (`ETHTOOL_A_COALESCE_…`, Linux include/uapi/linux/ethtool_netlink.h).
    pub attribute: u16,
    /// Whether it is `on` or `off`; otherwise a number.
    pub switch: bool,
}

const fn number(attribute: u16, name: &'static str) -> Parameter {
    Parameter { name, attribute, switch: false }
}

const fn switch(attribute: u16, name: &'static str) -> Parameter {
    Parameter { name, attribute, switch: true }
}

/// Every parameter, in the kernel's order.
pub const PARAMETERS: [Parameter; 27] = [
    number(2, "rx-usecs"),
    number(3, "rx-frames"),
    number(4, "rx-usecs-irq"),
    number(5, "rx-frames-irq"),
    number(6, "tx-usecs"),
    number(7, "tx-frames"),
    number(8, "tx-usecs-irq"),
    number(9, "tx-frames-irq"),
    number(10, "stats-block-usecs"),
    switch(11, "adaptive-rx"),
    switch(12, "adaptive-tx"),
    number(13, "pkt-rate-low"),
    number(14, "rx-usecs-low"),
    number(15, "rx-frames-low"),
    number(16, "tx-usecs-low"),
    number(17, "tx-frames-low"),
    number(18, "pkt-rate-high"),
    number(19, "rx-usecs-high"),
    number(20, "rx-frames-high"),
    number(21, "tx-usecs-high"),
    number(22, "tx-frames-high"),
    number(23, "sample-interval"),
    switch(24, "cqe-mode-tx"),
    switch(25, "cqe-mode-rx"),
    number(26, "tx-aggr-max-bytes"),
    number(27, "tx-aggr-max-frames"),
    number(28, "tx-aggr-time-usecs"),
];

impl Parameter {
    /// By its name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|parameter| parameter.name == name)
    }

    /// A value as it is typed: `20`, `on`.
    #[must_use]
    pub fn typed(&self, value: u32) -> String {
        match (self.switch, value) {
            (false, number) => number.to_string(),
            (true, 0) => "off".into(),
            (true, _) => "on".into(),
        }
    }

    /// Reads a value as typed.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<u32> {
        match (self.switch, text.trim()) {
            (false, text) => text.parse().ok(),
            (true, "on") => Some(1),
            (true, "off") => Some(0),
            (true, _) => None,
        }
    }
}

/// Parameters of one device with their values, switches as 0 and 1: those the driver has, or those to be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Coalescing(pub BTreeMap<String, u32>);

impl Coalescing {
    /// The value of a parameter, if the driver has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }

    /// The same, as typed.
    #[must_use]
    pub fn typed(&self, name: &str) -> Option<String> {
        Parameter::named(name)?.typed(self.get(name)?).into()
    }

    /// What reads at a place of these.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for a parameter that is not among them.
    pub fn read(&self, place: &CoalescingPlace<'_>) -> Result<String, Errno> {
        if place.names.is_empty() {
            return Ok(self.to_string());
        }
        let values: Option<Vec<String>> = place.names.iter().map(|name| self.typed(name)).collect();
        values.map(|values| values.join(" ") + "\n").ok_or(Errno::EOPNOTSUPP)
    }

    /// Reads the lines of the whole again.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let value = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), Parameter::named(name)?.parse(value)?))
        };
        Coalescing(text.lines().filter_map(value).into_map())
    }
}

impl fmt::Display for Coalescing {
    /// One line a parameter, in the kernel's order: `rx-usecs 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PARAMETERS.iter().try_for_each(|parameter| match self.get(parameter.name) {
            Some(value) => writeln!(f, "{} {}", parameter.name, parameter.typed(value)),
            None => Ok(()),
        })
    }
}

/// A place of coalescing, which reads like a file: `coalesce:eth0/rx-usecs`, `coalesce:eth0/adaptive-rx,rx-usecs` (values
/// in that order, a blank between), or `coalesce:eth0` for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoalescingPlace<'p> {
    /// The device.
    pub device: &'p str,
    /// Names of its parameters; empty for all.
    pub names: Vec<&'p str>,
}

impl<'p> CoalescingPlace<'p> {
    /// Of a path, if it is one of these and no file's.
    #[must_use]
    pub fn of(path: &'p str) -> Option<Self> {
        let place = path.strip_prefix(PLACE)?;
        let (device, names) = place.split_once('/').unwrap_or((place, ""));
        Some(CoalescingPlace { device, names: names.split(',').filter(|name| !name.is_empty()).collect() })
    }
}

impl CoalescingPlace<'_> {
    /// The values in what reads there, switches as 0 and 1; `None` when it is not of this place.
    #[must_use]
    pub fn values(&self, text: &str) -> Option<Coalescing> {
        if self.names.is_empty() {
            return Some(Coalescing::parse(text));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() != self.names.len() {
            return None;
        }
        let value = |(name, word): (&&str, &str)| Some(((*name).to_owned(), Parameter::named(name)?.parse(word)?));
        self.names.iter().zip(words).map(value).collect::<Option<BTreeMap<_, _>>>().map(Coalescing)
    }
}

impl fmt::Display for CoalescingPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.names.is_empty() { "" } else { "/" };
        write!(f, "{PLACE}{}{slash}{}", self.device, self.names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_print_as_they_are_read() {
        for path in ["coalesce:eth0", "coalesce:eth0/rx-usecs", "coalesce:br-0.5/adaptive-rx,rx-usecs"] {
            assert_eq!(CoalescingPlace::of(path).unwrap().to_string(), path);
        }
        assert_eq!(CoalescingPlace::of("/coalesce:eth0"), None);
    }

    #[test]
    fn a_driver_shows_what_it_has() {
        let has = Coalescing([("rx-usecs".to_owned(), 3), ("adaptive-rx".to_owned(), 1)].into());
        let read = |path: &str| has.read(&CoalescingPlace::of(path).unwrap());
        assert_eq!(read("coalesce:eth0/adaptive-rx,rx-usecs").unwrap(), "on 3\n");
        assert_eq!(read("coalesce:eth0").unwrap(), "rx-usecs 3\nadaptive-rx on\n");
        assert_eq!(read("coalesce:eth0/rx-frames"), Err(Errno::EOPNOTSUPP));
        assert_eq!(Coalescing::parse(&has.to_string()), has);
    }

    #[test]
    fn attributes_stand_in_the_kernels_order() {
        assert!(PARAMETERS.iter().zip(2..).all(|(parameter, attribute)| parameter.attribute == attribute));
    }
}
