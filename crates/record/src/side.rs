//! Which machine of a rig something concerns: one end of a link, or a node of a list by its name.
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of the longest name of a node.
const MAX_NAME: usize = 31;

/// The name of a machine in a list of them, as it is written in front of a knob: `n1`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName {
    bytes: [u8; MAX_NAME],
    length: u8,
}

impl NodeName {
    /// A name of letters, digits, `-` and `_`, up to 31 of them; `None` for any other, and for `near`, `far`, `both`, `all`.
    #[must_use]
    pub fn new(text: &str) -> Option<NodeName> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let reserved = matches!(text, "near" | "far" | "both" | "all");
        if text.is_empty() || text.len() > MAX_NAME || !text.chars().all(fits) || reserved {
            return None;
        }
        let mut bytes = [0; MAX_NAME];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(NodeName { bytes, length: u8::try_from(text.len()).ok()? })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let own = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(own).unwrap_or_default()
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Which machine of the rig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The machine that is set and measured; of a list the first, which runs the load.
    #[default]
    Near,
    /// The other end of the link.
    Far,
    /// Both ends.
    Both,
    /// Every machine of the rig.
    All,
    /// A machine of a list.
    Node(NodeName),
}

impl Side {
    /// Whether what concerns this side concerns one machine, as its rig calls it.
    #[must_use]
    pub fn covers(self, machine: Side) -> bool {
        match self {
            Side::All => true,
            Side::Both => matches!(machine, Side::Near | Side::Far),
            one => one == machine,
        }
    }

    /// One machine of those that it covers.
    #[must_use]
    pub fn first(self) -> Side {
        if matches!(self, Side::Both | Side::All) { Side::Near } else { self }
    }

    /// What is written in front of a name on this side: nothing for the near machine, `n1/` for a node.
    #[must_use]
    pub fn prefix(self) -> String {
        if self == Side::Near { String::new() } else { format!("{self}/") }
    }

    /// A text with the machine it is about: `far/psys`, `n1/clock`, `3s`.
    #[must_use]
    pub fn split(text: &str) -> (Side, &str) {
        let named = text.split_once('/').and_then(|(side, rest)| Some((side.parse().ok()?, rest)));
        named.unwrap_or((Side::Near, text))
    }

    /// The machine in words: `far machine`, `machine n1`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Side::Node(name) => format!("machine {}", name.as_str()),
            other => format!("{other} machine"),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Near => "near",
            Side::Far => "far",
            Side::Both => "both",
            Side::All => "all",
            Side::Node(name) => name.as_str(),
        })
    }
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "near" => Side::Near,
            "far" => Side::Far,
            "both" => Side::Both,
            "all" => Side::All,
            name => Side::Node(NodeName::new(name).ok_or_else(|| format!("'{name}' names no machine"))?),
        })
    }
}

impl Serialize for Side {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Side {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Side {
    fn schema_name() -> Cow<'static, str> {
        "Side".into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Which machine of the rig: near, far, both, all, or the name of one in a list of machines.",
            "type": "string",
            "pattern": "^[A-Za-z0-9_-]{1,31}$"
        })
    }
}
