//! Where settings can be kept, one place a file, in the order in which they are tried: first who sets such a knob on this machine
//! anyway, then the lists read at boot, last a unit of our own.
mod checks;
mod connections;
mod cpufrequtils;
mod cpupower;
mod cpuspeed;
mod link;
mod rc_local;
mod sysctl;
mod tlp;
mod tuned;
mod udev;
mod unit;

use powerband_knob::{PlannedKnob, Selection, resolve_here};
use powerband_machine::{Action, Look};
use powerband_record::quoted;

pub(super) use checks::checking;
pub(crate) use unit::{PULLS_IN, UNIT};

use super::manifest::{KeptSetting, Set};
use super::{KeepError, Origin, Overlay};
use crate::keys::{joined, keys, last};
use crate::service::{Services, Start};

/// Files by path with their whole text.
pub(super) type Texts = Vec<(String, String)>;

/// One place.
pub(super) struct Place {
    /// Who sets the knob at boot, by this place.
    pub(super) who: &'static str,
    /// Whether it is a service that sets such knobs at boot anyway.
    pub(super) is_owner: bool,
    /// Its files, so that these knobs are kept; `None` where it cannot keep one of them, or is not there.
    write: Write,
}

impl Place {
    pub(super) fn files(&self, machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
        (self.write)(machine, wants, origin)
    }
}

type Write = fn(&mut Overlay<'_>, &[Want], &Origin) -> Option<Texts>;

const fn owner(who: &'static str, write: Write) -> Place {
    Place { who, is_owner: true, write }
}

const fn list(who: &'static str, write: Write) -> Place {
    Place { who, is_owner: false, write }
}

/// All of them.
pub(super) static PLACES: [Place; 11] = [
    owner("TuneD", tuned::write),
    owner("TLP", tlp::write),
    owner("cpuspeed", cpuspeed::write),
    owner("cpupower.service", cpupower::write),
    owner("cpufrequtils", cpufrequtils::write),
    owner("NetworkManager", connections::write),
    list("sysctl.d", sysctl::write),
    list("udev (a .link file)", link::write),
    list("udev", udev::write),
    list("powerband-keep.service", unit::write),
    list("rc.local", rc_local::write),
];

/// A knob at a site that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Want {
    /// Canonical name.
    pub(super) knob: String,
    /// Site.
    pub(super) site: String,
    /// As it is typed.
    pub(super) value: String,
    /// Whether every site is to have it.
    pub(super) everywhere: bool,
    /// Number of the experiment that it is the result of.
    pub(super) experiment: Option<i64>,
    /// What reads there, where a driver rounds the value.
    pub(super) reads: Option<String>,
    /// What sets it.
    pub(super) set: Set,
}

impl Want {
    pub(super) fn of(planned: &PlannedKnob, origin: &Origin) -> Result<Want, KeepError> {
        let unfit = |why: &str| KeepError::Unfit { knob: planned.named.name.clone(), why: why.to_owned() };
        if let Some(why) = planned.named.knob.only_held() {
            return Err(unfit(why));
        }
        let set = match &planned.action {
            Action::WriteFile { path, text } => Set::Write { path: path.clone(), text: text.trim_end().to_owned() },
            Action::Coalesce { device, values } => {
                let (parameter, number) = values.0.iter().next().ok_or_else(|| unfit("it sets nothing"))?;
                Set::Coalesce { device: device.clone(), parameter: parameter.clone(), number: *number }
            }
            _ => return Err(unfit("it is set by a program, and powerband cannot know what that needs at boot")),
        };
        let (knob, site) = (planned.named.name.clone(), planned.site.name.clone());
        let (value, experiment) = (planned.asked.typed(), origin.experiment);
        let mut want = Want { knob, site, value, everywhere: planned.everywhere, experiment, reads: None, set };
        let rounded = origin.rounded.iter().find(|it| it.knob == want.knob && it.site == want.site);
        if let (Some(rounded), Set::Coalesce { number, .. }) = (rounded, &mut want.set) {
            *number = rounded.requested;
            (want.value, want.reads) = (rounded.requested.to_string(), Some(rounded.reads.clone()));
        }
        Ok(want)
    }

    /// One that is kept already.
    pub(super) fn kept(setting: &KeptSetting) -> Want {
        let KeptSetting { knob, site, value, everywhere, experiment, reads, set, .. } = setting.clone();
        Want { knob, site, value, everywhere, experiment, reads, set }
    }

    pub(super) fn setting(&self, by: &str) -> KeptSetting {
        let Want { knob, site, value, everywhere, experiment, reads, set } = self.clone();
        KeptSetting { knob, site, value, everywhere, by: by.to_owned(), experiment, reads, set }
    }

    /// The file that is written, where one is.
    fn path(&self) -> Option<&str> {
        match &self.set {
            Set::Write { path, .. } => Some(path),
            Set::Coalesce { .. } => None,
        }
    }

    /// What sets it in a shell; `None` for what would need quoting.
    pub(super) fn command(&self) -> Option<String> {
        let plain =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=, ".contains(c));
        let command = match &self.set {
            Set::Write { path, text } if plain(path) && !path.contains(' ') && plain(text) => {
                format!("echo {text} > {path}")
            }
            Set::Coalesce { device, parameter, .. } if plain(device) && plain(&self.value) => {
                format!("ethtool -C {device} {parameter} {}", self.value)
            }
            _ => return None,
        };
        Some(command)
    }
}

/// As many commands are printed for a script; more are one of powerband's.
const MAX_COMMANDS: usize = 4;

/// Why no place keeps these, which are one knob, and what sets them, for a script of one's own.
pub(super) fn by_hand(machine: &mut Overlay<'_>, wants: &[Want]) -> (&'static str, String) {
    let commands: Option<Vec<String>> = wants.iter().map(Want::command).collect();
    let why = match (has_systemd(machine), &commands) {
        (false, _) => "this machine has neither systemd nor rc.local nor a service that sets it at boot",
        (true, None) => "powerband writes no file or value with such characters into what is run at boot",
        (true, Some(_)) => "nothing that is read at boot here can set it",
    };
    let command = commands.filter(|all| all.len() <= MAX_COMMANDS).map(|all| all.join("; "));
    let command = command.unwrap_or_else(|| {
        let same = wants.iter().all(|want| want.value == wants[0].value);
        let wants = if same { &wants[..1] } else { wants };
        let at = |want: &Want| if same { String::new() } else { format!("@{}", want.site) };
        let each: String =
            wants.iter().map(|it| format!(" {}", quoted(&format!("{}{}={}", it.knob, at(it), it.value)))).collect();
        format!("powerband set{each}")
    });
    (why, command)
}

/// Whether a service is started at boot.
fn is_on(machine: &mut Overlay<'_>, name: &str) -> bool {
    let services = Services::of(machine);
    matches!(services.named(machine, name).start, Start::On(_))
}

fn has_systemd(machine: &mut Overlay<'_>) -> bool {
    Services::of(machine).has_systemd()
}

fn has_udev(machine: &mut Overlay<'_>) -> bool {
    ["/lib/udev/rules.d", "/usr/lib/udev/rules.d"].iter().any(|folder| machine.list(folder).is_ok())
}

/// The one value of a knob at all the sites it has; `None` where sites differ or only some are meant.
fn everywhere<'w>(machine: &mut Overlay<'_>, wants: &[&'w Want]) -> Option<&'w str> {
    let first = wants.first()?;
    let named = resolve_here(&first.knob, &[], machine).ok()?;
    let sites = named.knob.sites(&named.name, machine, &Selection::everywhere()).ok()?.sites;
    let same = wants.iter().all(|want| want.value == first.value) && sites.len() == wants.len();
    same.then_some(first.value.as_str())
}

/// A knob with one value that was asked for at every site, now or when it was kept, is meant for every site.
pub(super) fn note_everywhere(all: &mut [Want]) {
    for of_knob in all.chunk_by_mut(|one, next| one.knob == next.knob) {
        let same = of_knob.iter().all(|want| want.value == of_knob[0].value);
        let whole = same && of_knob.iter().any(|want| want.everywhere);
        of_knob.iter_mut().for_each(|want| want.everywhere = whole);
    }
}

/// Each knob of these, with all its wants.
fn by_knob(wants: &[Want]) -> Vec<(&str, Vec<&Want>)> {
    let mut found: Vec<(&str, Vec<&Want>)> = Vec::new();
    for want in wants {
        match found.iter_mut().find(|(knob, _)| *knob == want.knob) {
            Some((_, of_knob)) => of_knob.push(want),
            None => found.push((&want.knob, vec![want])),
        }
    }
    found
}

/// A key for each of these knobs, which a place has for all sites together, with its value.
fn as_keys(
    machine: &mut Overlay<'_>,
    wants: &[Want],
    key: fn(&str) -> Option<&'static str>,
) -> Option<Vec<(&'static str, String)>> {
    let keys =
        by_knob(wants).into_iter().map(|(knob, wants)| Some((key(knob)?, everywhere(machine, &wants)?.to_owned())));
    keys.collect()
}

/// The first lines of a file of our own: what it is for and how to be rid of it.
fn header(origin: &Origin) -> String {
    let mut text = String::from("# Written by `powerband keep`; `powerband unkeep` removes it.\n");
    text.extend(origin.lines.iter().map(|line| format!("# {}\n", line.replace(['\n', '\r'], " "))));
    text
}

/// A file of our own: its header, the checksum of what follows, and that.
fn own(origin: &Origin, body: &str) -> String {
    header(origin) + &super::manifest::with_sum(body)
}

/// A text of keys with one of them set: in the line that sets it last, or a new one.
fn with_key(text: &str, name: &str, value: &str) -> String {
    let line = format!("{name}={value}");
    match last(&keys(text), name) {
        Some(key) => {
            let length = joined(text).iter().find(|(number, _)| *number == key.line).map_or(1, |(number, _)| {
                let next = joined(text).into_iter().map(|(number, _)| number).find(|other| other > number);
                next.unwrap_or_else(|| text.lines().count() + 1) - number
            });
            let mut lines: Vec<&str> = text.lines().collect();
            lines.splice(key.line - 1..key.line - 1 + length, [line.as_str()]);
            lines.join("\n") + "\n"
        }
        None => {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{newline}{line}\n")
        }
    }
}

/// The text of a file of somebody else; empty where there is none, `None` where it cannot be read.
fn theirs(machine: &mut Overlay<'_>, path: &str) -> Option<String> {
    match machine.read(path) {
        Err(powerband_machine::Errno::ENOENT | powerband_machine::Errno::ENOTDIR) => Some(String::new()),
        read => read.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_key;

    #[test]
    fn a_key_is_set_where_it_is_set() {
        assert_eq!(with_key("", "A", "1"), "A=1\n");
        assert_eq!(with_key("# A=0\nA=0\nB=2", "A", "1"), "# A=0\nA=1\nB=2\n");
        assert_eq!(with_key("A=0\nA=3\n", "A", "1"), "A=0\nA=1\n");
        assert_eq!(with_key("A=\"x \\\n y\"\nB=2\n", "A", "1"), "A=1\nB=2\n");
        assert_eq!(with_key("B=2", "A", "1"), "B=2\nA=1\n");
    }
}
