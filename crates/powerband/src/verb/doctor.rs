//! `doctor`: what the kernel lets powerband turn here, and what to type or change about the rest.
use std::path::Path;

use powerband_knob::doctor::{self, Config, DefaultGovernor, DoctorFinding, Examined, Kernel, Mark, Section};
use powerband_machine::{Errno, Identity};
use powerband_record::Side;
use powerband_rig::access::allowed_here;
use powerband_rig::{MAX_WRITTEN_BYTES, read_bytes};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Doctor, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// What a machine and its kernel lack; of a kernel's configuration alone there is no machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Lacking<'a> {
    /// The machine as it is named on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a str>,
    /// Kernel release, or the rules a simulated machine follows and the nearest published kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    /// Whether the caller may write what only root may.
    #[serde(skip_serializing_if = "Option::is_none")]
    privileged: Option<bool>,
    /// How many things are missing.
    missing: usize,
    /// What was found, by section; those without a finding are left out.
    sections: &'a [Section],
    /// The configuration, symbol by symbol; null when none could be read.
    kernel: Option<&'a Kernel>,
}

impl Document for Lacking<'_> {
    const KIND: &'static str = "doctor";
}

pub(crate) fn run(shared: &Shared, args: &Doctor) -> Answer {
    if args.fragment && shared.json {
        return Err(usage(
            "--fragment prints lines to merge, not JSON; `powerband doctor --json` has them as kernel.fragment",
        ));
    }
    let default = args.default_governor.as_deref().map(DefaultGovernor::parse).transpose().map_err(usage)?;
    let given = args.kernel.as_deref().map(configuration).transpose()?;
    let (identity, examined) = match given {
        Some((config, name)) if shared.machine.is_none() => (None, doctor::examine_file(&config, &name, default)),
        given => {
            let (identity, examined) = machine(shared, given, default)?;
            (Some(identity), examined)
        }
    };
    if args.fragment {
        return fragment(&examined);
    }
    if shared.json {
        output::print_document(&shape(identity.as_ref(), &examined))?;
    } else {
        output::print(&text(identity.as_ref(), &examined));
    }
    Ok(if examined.missing() == 0 { Exit::Fine } else { Exit::Failed } as u8)
}

/// The machine named, with its meters.
fn machine(
    shared: &Shared,
    given: Option<(Config, String)>,
    default: Option<DefaultGovernor>,
) -> Result<(Identity, Examined), Failure> {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let near = rig.world().machine(Side::Near);
    let machine = near.ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let identity = machine.identity().clone();
    let mut examined = doctor::examine(machine, given, default);
    let inventory = powerband_meter::find_all(machine);
    // What a lost machine does not answer is not what it lacks.
    rig::check_lost(rig.world())?;
    let found = inventory.meters.iter().map(|meter| DoctorFinding {
        mark: Mark::Ok,
        about: meter.meter.to_string(),
        told: format!("covers {}, read from {}", meter.boundary, meter.source),
        todo: None,
    });
    let absent = inventory.absent.iter().map(|absent| {
        let todo = (!absent.lines.is_empty()).then(|| absent.lines.join("; "));
        DoctorFinding { todo, ..DoctorFinding::note(absent.meter.to_string(), absent.why.clone()) }
    });
    let unread = inventory.unread.iter().map(DoctorFinding::unread);
    let findings: Vec<DoctorFinding> = found.chain(absent).chain(unread).collect();
    examined.sections.extend(access(&identity));
    if !findings.is_empty() {
        examined.sections.push(Section { name: "meters", title: "meters".into(), findings });
    }
    Ok((identity, examined))
}

/// What the access service sets for a caller without root.
fn access(identity: &Identity) -> Option<Section> {
    if identity.name != "local" || identity.privileged {
        return None;
    }
    let findings = match allowed_here()? {
        Ok(lines) => lines
            .iter()
            .map(|line| {
                let (about, told) = line.split_once(": ").unwrap_or((line, ""));
                let told = format!("the access service sets it for you: {told}");
                DoctorFinding { mark: Mark::Ok, about: about.into(), told, todo: None }
            })
            .collect(),
        Err(error) => vec![DoctorFinding::note("access service", error.to_string())],
    };
    Some(Section { name: "access", title: "access service".into(), findings })
}

/// A configuration a user named, and its name.
fn configuration(file: &Path) -> Result<(Config, String), Failure> {
    let name = file.display().to_string();
    let config = Config::parse(&read(file)?).map_err(|error| usage(format!("{name} {error}")))?;
    Ok((config, name))
}

/// The text of a configuration, packed or not.
fn read(file: &Path) -> Result<String, Failure> {
    let name = file.display();
    let bytes = read_bytes(file, "", MAX_WRITTEN_BYTES)?;
    powerband_host::text_of(&bytes).map_err(|errno| match errno {
        Errno::EFBIG => {
            usage(format!("{name} is larger than 1 MiB, which no kernel's configuration is; name a .config"))
        }
        _ => usage(format!("{name} is no text, packed or not; name a kernel's .config or a config.gz")),
    })
}

/// The lines alone, ready to be merged.
fn fragment(examined: &Examined) -> Answer {
    let Some(kernel) = &examined.kernel else {
        let why = "this machine does not show its kernel's configuration; name the file with --kernel FILE";
        return Err(Failure::new(Exit::Unsupported, why));
    };
    output::print(&kernel.fragment.iter().map(|line| format!("{line}\n")).collect::<String>());
    if let Some(warning) = kernel.driver_warning() {
        output::note(warning);
    }
    Ok(Exit::Fine as u8)
}

fn shape<'a>(identity: Option<&'a Identity>, examined: &'a Examined) -> Lacking<'a> {
    Lacking {
        machine: identity.map(|identity| identity.name.as_str()),
        system: identity.map(|identity| identity.system.as_str()),
        privileged: identity.map(|identity| identity.privileged),
        missing: examined.missing(),
        sections: &examined.sections,
        kernel: examined.kernel.as_ref(),
    }
}

fn text(identity: Option<&Identity>, examined: &Examined) -> String {
    let mut text = identity.map(|identity| format!("{}: {}\n", identity.name, identity.system)).unwrap_or_default();
    for section in &examined.sections {
        text += &format!("{}\n", section.title);
        text.extend(section.findings.iter().map(line));
    }
    text += &match examined.missing() {
        0 => match absent(identity, examined)[..] {
            [] => "nothing is missing\n".to_owned(),
            ref absent => format!("no check failed, but this machine has no {}\n", absent.join(" and no ")),
        },
        1 => "1 thing is missing\n".to_owned(),
        count => format!("{count} things are missing\n"),
    };
    text
}

/// What experiments here do without: no check fails by it, and yet it is missing.
fn absent(identity: Option<&Identity>, examined: &Examined) -> Vec<&'static str> {
    if identity.is_none() {
        return Vec::new();
    }
    let is_ok = |found: &DoctorFinding| found.mark == Mark::Ok;
    let cpufreq = examined.sections.iter().flat_map(|section| &section.findings);
    let cpufreq = cpufreq.filter(|found| found.about == "cpufreq.*").any(is_ok);
    let meter = examined.sections.iter().any(|section| section.name == "meters" && section.findings.iter().any(is_ok));
    let lacks = [(cpufreq, "cpufreq"), (meter, "power meter")];
    lacks.into_iter().filter(|(there, _)| !there).map(|(_, name)| name).collect()
}

fn line(found: &DoctorFinding) -> String {
    let mark = match found.mark {
        Mark::Ok => "ok",
        Mark::Missing => "missing",
        Mark::Note => "note",
    };
    let todo = found.todo.as_ref().map(|todo| format!("; {todo}")).unwrap_or_default();
    format!("  {mark:<7}  {}: {}{todo}\n", found.about, found.told)
}
