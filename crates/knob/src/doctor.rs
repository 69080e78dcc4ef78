//! `doctor`: what a machine and its kernel's configuration lack for the catalogue, and what to type or change about it.
//!
//! [`examine`] asks a machine, [`examine_file`] a configuration alone. Both only look. What is told is data; the command
//! makes text or JSON of it.
mod config;
mod driver;
mod energy;
mod fragment;
mod kernel;
mod place;
mod reach;
mod rights;
mod rivals;
mod slurm;
mod symbol;
mod tick;

use powerband_machine::{ErrorRecorder, Look, ReadFailure};
use serde::Serialize;

pub use config::{Arch, Config, ConfigError, SymbolState};
pub use kernel::{Kernel, SymbolRow};

use fragment::Fragment;
use kernel::Hardware;
pub(crate) use kernel::governors as governors_built;
use place::Place;

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// There, and as it should be.
    Ok,
    /// The catalogue needs it on this machine, and it is not there.
    Missing,
    /// Worth knowing; nothing fails by it.
    Note,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct DoctorFinding {
    /// How it is to be taken.
    pub mark: Mark,
    /// What it is about: a symbol, a driver, a program.
    pub about: String,
    /// What was found.
    pub told: String,
    /// What to type or change.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    pub todo: Option<String>,
}

impl DoctorFinding {
    fn ok(about: impl Into<String>, told: impl Into<String>) -> DoctorFinding {
        DoctorFinding { mark: Mark::Ok, about: about.into(), told: told.into(), todo: None }
    }

    fn missing(about: impl Into<String>, told: impl Into<String>, todo: impl Into<String>) -> DoctorFinding {
        DoctorFinding { mark: Mark::Missing, todo: Some(todo.into()), ..DoctorFinding::ok(about, told) }
    }

    /// Worth knowing.
    #[must_use]
    pub fn note(about: impl Into<String>, told: impl Into<String>) -> DoctorFinding {
        DoctorFinding { mark: Mark::Note, ..DoctorFinding::ok(about, told) }
    }

    /// A file that could not be read.
    #[must_use]
    pub fn unread(file: &ReadFailure) -> DoctorFinding {
        DoctorFinding::note(file.path.clone(), format!("cannot be read: {}", file.why))
    }

    fn with(self, todo: impl Into<String>) -> DoctorFinding {
        DoctorFinding { todo: Some(todo.into()), ..self }
    }
}

/// Findings about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Section {
    /// One word, for programs.
    pub name: &'static str,
    /// For people.
    pub title: String,
    /// Its lines.
    pub findings: Vec<DoctorFinding>,
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// By section; those without a finding are left out.
    pub sections: Vec<Section>,
    /// The configuration, symbol by symbol; absent when none could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
}

impl Examined {
    fn of(sections: Vec<Section>, kernel: Option<Kernel>) -> Examined {
        Examined { sections: sections.into_iter().filter(|section| !section.findings.is_empty()).collect(), kernel }
    }

    /// How many checks failed.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.sections.iter().flat_map(|section| &section.findings).filter(|found| found.mark == Mark::Missing).count()
    }
}

/// A governor that can be the default of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultGovernor(&'static str);

impl DefaultGovernor {
    /// By its name.
    ///
    /// # Errors
    /// A sentence with the names there are.
    pub fn parse(name: &str) -> Result<DefaultGovernor, String> {
        let names = symbol::DEFAULTS.map(|(known, ..)| known);
        names.into_iter().find(|known| *known == name).map(DefaultGovernor).ok_or_else(|| {
            format!("no kernel has '{name}' as its default governor; --default-governor takes {}", names.join(", "))
        })
    }
}

/// Examines a configuration alone, as of a kernel that is yet to be built; `source` is where it was read.
#[must_use]
pub fn examine_file(config: &Config, source: &str, default: Option<DefaultGovernor>) -> Examined {
    let fragment = Fragment::of(config, default.map(|governor| governor.0));
    let asked = kernel::Asked { config, source, hardware: Hardware::Unknown, fragment: &fragment, default };
    let rows = kernel::rows(&asked, &mut |_| None);
    let section = kernel::section(&asked, &rows);
    Examined::of(vec![section, tick::section(Some(config), None, "")], Some(Kernel::of(&asked, rows)))
}

/// Examines a machine: its kernel's configuration (`given` with its source, else as it tells it), its driver, what else
/// turns knobs there, what the caller may do.
pub fn examine(machine: &mut dyn Look, given: Option<(Config, String)>, default: Option<DefaultGovernor>) -> Examined {
    let mut error_recorder = ErrorRecorder::new(machine);
    let machine: &mut dyn Look = &mut error_recorder;
    let place = Place::look(machine);
    let cmdline = machine.read(powerband_sysfs::proc::CMDLINE).unwrap_or_default();
    let hardware = Hardware::of(machine, &place);
    let (kernel_section, kernel, config) = match given.map_or_else(|| kernel::find(machine), Ok) {
        Ok((config, source)) => {
            let fragment = Fragment::of(&config, default.map(|governor| governor.0));
            let asked = kernel::Asked { config: &config, source: &source, hardware, fragment: &fragment, default };
            let rows = kernel::rows(&asked, &mut |module| Some(kernel::is_loaded(machine, module)));
            (kernel::section(&asked, &rows), Some(Kernel::of(&asked, rows)), Some(config))
        }
        Err(section) => (section, None, None),
    };
    let reach = reach::look(machine);
    let mut sections = vec![
        place.section(),
        driver::section(machine, &place, config.as_ref(), &cmdline),
        kernel_section,
        tick::section(config.as_ref(), Some(machine), &cmdline),
        rivals::section(machine),
        reach.section(),
        rights::section(machine, &place, &reach),
        energy::section(machine),
    ];
    sections.push(unread(&sections, &error_recorder.into_failures()));
    Examined::of(sections, kernel)
}

/// The files that could not be read, of which something else may have been told for it; not those already named.
fn unread(sections: &[Section], files: &[ReadFailure]) -> Section {
    let told: Vec<&DoctorFinding> = sections.iter().flat_map(|section| &section.findings).collect();
    let is_told = |path: &str| told.iter().any(|found| found.about.contains(path) || found.told.contains(path));
    let untold = files.iter().filter(|file| !is_told(&file.path));
    Section {
        name: "unread",
        title: "what could not be read".into(),
        findings: untold.map(DoctorFinding::unread).collect(),
    }
}
