//! The list of what is kept, as a file: which knob at which site, by whom it is set at boot, and what each file holds.
use std::collections::BTreeMap;

use diffy::{DiffOptions, Patch};
use powerband_machine::{Errno, Look};
use serde::{Deserialize, Serialize};

use super::Origin;
use super::place::Want;
use crate::source::boot_option_of;

/// Where it lies.
pub const MANIFEST: &str = "/etc/powerband/kept.toml";

/// The version of its format.
const VERSION: u32 = 1;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Manifest {
    /// Version of the format: 1.
    pub version: u32,
    /// Number of the experiment whose result it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<i64>,
    /// Its verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The program that checks after each boot.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program: String,
    /// The state folder that it uses then, where that is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_folder: Option<String>,
    /// Whether it is removed at the second boot unless somebody confirms it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_confirmed: bool,
    /// Folders that were made for it, outer ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Each knob at each site, in the order of setting.
    #[serde(default, rename = "setting")]
    pub settings: Vec<KeptSetting>,
    /// Files that were written for it.
    #[serde(default, rename = "file")]
    pub files: Vec<KeptFile>,
    /// Somebody has edited the list.
    #[serde(skip)]
    pub edited: bool,
}

/// One knob at one site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeptSetting {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// The value, as it is typed.
    pub value: String,
    /// Whether it is for every site, neither one nor CPUs having been named.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
    /// Who sets it at boot: `TuneD`, `TLP and cpufrequtils`, …
    pub by: String,
    /// Number of the experiment that it is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<i64>,
    /// What reads there once it is set, where a driver rounds the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<String>,
    /// What is written to set it: a file and its text, or the parameter of a network device.
    pub set: Set,
}

impl KeptSetting {
    /// The option of the kernel command line that would set it from the start of the kernel, where there is one. powerband edits no
    /// boot loader's configuration.
    #[must_use]
    pub fn boot_option(&self) -> Option<String> {
        let Set::Write { path, text } = &self.set else { return None };
        boot_option_of(path, self.knob == "cpufreq.governor", text)
    }
}

/// What sets a knob at a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Set {
    /// A text is written to a file.
    Write {
        /// The file.
        path: String,
        /// What is written.
        text: String,
    },
    /// A parameter of coalescing is set.
    Coalesce {
        /// The network device.
        device: String,
        /// As `ethtool -C` calls it.
        parameter: String,
        /// Its number; 0 and 1 for off and on.
        number: u32,
    },
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeptFile {
    /// Where it lies.
    pub path: String,
    /// CRC-32 of its bytes, in hexadecimal.
    pub crc32: String,
    /// The lines that lead back to what was there, as `diff -U0` prints them; absent for a file that was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

impl KeptFile {
    /// Describes a file that is written over what would be there without it.
    pub(super) fn new(path: &str, text: &str, beneath: Option<&String>) -> KeptFile {
        let undo = beneath.map(|beneath| {
            let patch = DiffOptions::new().set_context_len(0).create_patch(text, beneath).to_string();
            patch.lines().skip_while(|line| !line.starts_with("@@")).fold(String::new(), |all, line| all + line + "\n")
        });
        KeptFile { path: path.to_owned(), crc32: crc32(text), undo }
    }

    /// True for the text that was written.
    pub(super) fn is(&self, text: &str) -> bool {
        crc32(text) == self.crc32
    }

    /// A text of this file without what powerband wrote in it; `None` where somebody has changed those very lines.
    pub(super) fn without(&self, undo: &str, text: &str) -> Option<String> {
        // Behind a line that had no end somebody may have written more.
        let undo = if self.is(text) { undo.to_owned() } else { undo.replace("\\ No newline at end of file\n", "") };
        diffy::apply(text, &Patch::from_str(&format!("--- a\n+++ b\n{undo}")).ok()?).ok()
    }
}

/// Why the list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is there and cannot be read.
    #[error("{MANIFEST}, the list of what is kept, cannot be read: {0}")]
    Unreadable(Errno),
    /// It is no such list.
    #[error(
        "{MANIFEST} is not a list of what is kept ({0}); mend it, or delete it and each file that begins with \"Written by `powerband keep`\""
    )]
    Broken(String),
    /// A later powerband wrote it.
    #[error("{MANIFEST} has version {0} of its format, and this powerband knows {VERSION}")]
    Later(u32),
}

impl Manifest {
    /// What a machine has kept; nothing where there is no list.
    ///
    /// # Errors
    /// [`ManifestError`] where there is something else.
    pub fn read(machine: &mut dyn Look) -> Result<Manifest, ManifestError> {
        match machine.read(MANIFEST) {
            Ok(text) => Manifest::parse(&text),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(Manifest::default()),
            Err(errno) => Err(ManifestError::Unreadable(errno)),
        }
    }

    fn parse(text: &str) -> Result<Manifest, ManifestError> {
        let broken = |error: toml::de::Error| ManifestError::Broken(error.message().to_owned());
        let mut manifest: Manifest = toml::from_str(text).map_err(broken)?;
        let sum = text.split_once(SUM).and_then(|(_, rest)| rest.split_once('\n'));
        manifest.edited = sum.is_none_or(|(sum, body)| sum != crc32(body));
        if manifest.version == VERSION { Ok(manifest) } else { Err(ManifestError::Later(manifest.version)) }
    }

    pub(super) fn of(
        all: &[Want],
        by: &BTreeMap<String, String>,
        (files, folders): (Vec<KeptFile>, Vec<String>),
        origin: &Origin,
    ) -> Manifest {
        let settings = all.iter().map(|want| want.setting(by.get(&want.knob).map_or("", String::as_str)));
        Manifest {
            version: VERSION,
            experiment: origin.experiment,
            verdict: origin.verdict.clone(),
            program: origin.program.clone(),
            state_folder: origin.state_folder.clone(),
            until_confirmed: origin.until_confirmed,
            folders,
            settings: settings.collect(),
            files,
            edited: false,
        }
    }

    pub(super) fn text(&self) -> String {
        let body = toml::to_string(self).unwrap_or_default();
        format!(
            "# What `powerband keep` keeps over reboots; `powerband unkeep` removes it, `powerband check` compares.\n{}",
            with_sum(&body)
        )
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }
}

/// The line of a file of ours by which an edit is noticed.
const SUM: &str = "# crc32 of the lines below: ";

/// The rest of a file of ours behind its head: a checksum, and what it is of.
pub(super) fn with_sum(body: &str) -> String {
    format!("{SUM}{}\n{body}", crc32(body))
}

pub(super) fn crc32(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}
