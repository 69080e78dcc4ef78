//! A kernel's configuration: its symbols, its version, its architecture. Nothing here knows what they are good for.
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use powerband_record::IntoOrdered as _;
use serde::Serialize;
use thiserror::Error;

/// Why a text is no kernel's configuration; the sentence goes on after the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Nothing in it.
    #[error("is empty; name a kernel's .config, or leave --kernel out to look at the kernel that runs")]
    Empty,
    /// No line of it sets or unsets a symbol.
    #[error(
        "has no line like CONFIG_SMP=y; name a kernel's .config, or leave --kernel out to look at the kernel that runs"
    )]
    NoSymbol,
}

/// How a symbol stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub enum SymbolState {
    /// The configuration does not name it: what it depends on is off, or this kernel has no such symbol.
    #[serde(rename = "absent")]
    Absent,
    /// Not set.
    #[serde(rename = "n")]
    Off,
    /// Built as a module.
    #[serde(rename = "m")]
    Module,
    /// Built in.
    #[serde(rename = "y")]
    Built,
}

impl SymbolState {
    /// Whether it is there at all, built in or as a module.
    pub(super) fn is_on(self) -> bool {
        self >= SymbolState::Module
    }
}

/// The architectures whose drivers are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// 32 and 64 bits.
    X86,
    /// 32 and 64 bits.
    Arm,
    /// Any other.
    Other,
}

impl Arch {
    /// For people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Arch::X86 => "x86",
            Arch::Arm => "arm",
            Arch::Other => "an architecture whose drivers are not known here",
        }
    }
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What follows each symbol's `=`; `n` for what is not set. Names are without `CONFIG_`.
    values: BTreeMap<String, String>,
    /// Version as its heading tells it, e.g. `6.1.192`.
    pub(super) release: Option<String>,
}

impl Config {
    /// Reads the text of a `.config`. Of several lines for one symbol the last counts, as it does for the kernel.
    ///
    /// # Errors
    /// [`ConfigError`] when it is none.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        if text.trim().is_empty() {
            return Err(ConfigError::Empty);
        }
        let values: BTreeMap<String, String> = text.lines().filter_map(symbol).into_map();
        if values.is_empty() {
            return Err(ConfigError::NoSymbol);
        }
        Ok(Config { values, release: text.lines().find_map(heading) })
    }

    /// How a symbol stands; one with a number or a text counts as built in.
    pub(super) fn state(&self, name: &str) -> SymbolState {
        match self.values.get(name).map(String::as_str) {
            None => SymbolState::Absent,
            Some("n") => SymbolState::Off,
            Some("m") => SymbolState::Module,
            Some(_) => SymbolState::Built,
        }
    }

    /// Whether a symbol is on.
    pub(super) fn has(&self, name: &str) -> bool {
        self.state(name).is_on()
    }

    /// The symbols that are on, by name.
    pub(super) fn on(&self) -> impl Iterator<Item = &str> {
        self.values.iter().filter(|(_, value)| *value != "n").map(|(name, _)| name.as_str())
    }

    /// What follows a symbol's `=`.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The architecture it is for.
    pub(super) fn arch(&self) -> Arch {
        match () {
            () if self.has("X86") => Arch::X86,
            () if self.has("ARM") || self.has("ARM64") => Arch::Arm,
            () => Arch::Other,
        }
    }

    /// First three numbers of its version, of which the third may lack; a heading without one is taken for the newest
    /// kernel.
    pub(super) fn version(&self) -> (u32, u32, u32) {
        let newest = (u32::MAX, 0, 0);
        let Some(release) = &self.release else { return newest };
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor, numbers.next().and_then(Result::ok).unwrap_or(0)),
            _ => newest,
        }
    }
}

/// `CONFIG_NAME=value` and `# CONFIG_NAME is not set`.
fn symbol(line: &str) -> Option<(String, String)> {
    let line = line.trim_end();
    let (name, value) = match line.strip_prefix("# CONFIG_") {
        Some(rest) => (rest.strip_suffix(" is not set")?, "n"),
        None => line.strip_prefix("CONFIG_")?.split_once('=')?,
    };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

/// The version in `# Linux/x86 6.1.192 Kernel Configuration`, or in `# Linux kernel version: 2.6.18`.
fn heading(line: &str) -> Option<String> {
    let rest = line.strip_prefix("# Linux")?;
    let told = rest.ends_with("Kernel Configuration") || rest.contains("kernel version:");
    let word = rest.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    told.then(|| word.to_owned())
}
