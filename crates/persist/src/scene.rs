//! What a source works with: the machine to read, the knob that is asked about, and the findings so far.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Look, OpenEntry};
use powerband_sysfs::{net, power};

use crate::finding::{BootFinding, BootPhase, BootStanding};
use crate::keys::{Key, keys, last};
use crate::service::{Service, Services, Start};
use crate::shell::{claims, scripts};
use crate::target::Target;

/// Where files of one kind may lie (`udev/rules.d`); a name in an earlier one hides the same name in a later one.
const SHELVES: [&str; 5] = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"];

/// The walk over one machine.
pub(crate) struct Scene<'m> {
    machine: &'m mut dyn Look,
    /// What powerband itself has set and not restored.
    pub(crate) open: &'m [OpenEntry],
    pub(crate) target: Target,
    services: Services,
    phase: BootPhase,
    findings: Vec<BootFinding>,
}

impl<'m> Scene<'m> {
    pub(crate) fn new(machine: &'m mut dyn Look, open: &'m [OpenEntry], mut target: Target) -> Self {
        let services = Services::of(machine);
        let unread = std::mem::take(&mut target.unread);
        let mut scene = Scene { machine, open, target, services, phase: BootPhase::Kernel, findings: Vec::new() };
        unread.into_iter().for_each(|file| scene.unread(&file.path, file.why));
        scene
    }

    /// What is found from now on acts in this phase.
    pub(crate) fn enter(&mut self, phase: BootPhase) {
        self.phase = phase;
    }

    pub(crate) fn leave(self) -> (Target, Vec<BootFinding>) {
        (self.target, self.findings)
    }

    /// For what is not a file.
    pub(crate) fn machine(&mut self) -> &mut dyn Look {
        self.machine
    }

    /// What was found before.
    pub(crate) fn findings(&self) -> &[BootFinding] {
        &self.findings
    }

    /// Leaves of the findings from a number on only sites that are network devices of this address.
    pub(crate) fn narrow(&mut self, from: usize, address: &str) {
        for finding in self.findings.iter_mut().skip(from) {
            finding.sites.retain(|site| {
                net::address(self.machine, site).is_some_and(|found| found.eq_ignore_ascii_case(address))
            });
        }
    }

    /// What starts services.
    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    /// Adds a finding of this phase, its values as they are typed.
    pub(crate) fn push(&mut self, mut finding: BootFinding) {
        finding.phase = self.phase;
        let values = std::mem::take(&mut finding.values);
        finding.values = values.iter().map(|value| self.target.typed(self.machine, value)).collect();
        finding.values.dedup();
        let unreadable = matches!(finding.standing, BootStanding::Unreadable { .. });
        if !unreadable || self.findings.iter().all(|before| before.path != finding.path) {
            self.findings.push(finding);
        }
    }

    /// The text of a file that may be anything, a program too: silently nothing when it is none or there is none.
    pub(crate) fn peek(&mut self, path: &str) -> Option<String> {
        self.machine.read(path).ok()
    }

    /// A file's text; one that is there and cannot be read is a finding.
    pub(crate) fn text(&mut self, path: &str) -> Option<String> {
        let why = match self.machine.read(path) {
            Ok(text) if text.contains('\0') => Errno::EILSEQ.to_string(),
            Ok(text) => return Some(text),
            Err(Errno::ENOENT | Errno::ENOTDIR) => return None,
            Err(errno @ (Errno::EACCES | Errno::EPERM)) => format!("{errno}: run it as root"),
            Err(errno) => errno.to_string(),
        };
        self.unread(path, why);
        None
    }

    /// Adds that a file could not be read.
    fn unread(&mut self, path: &str, why: String) {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        self.push(BootFinding::new(name, path).standing(BootStanding::Unreadable { why }));
    }

    /// Its assignments.
    pub(crate) fn keys(&mut self, path: &str) -> Vec<Key> {
        self.text(path).map(|text| keys(&text)).unwrap_or_default()
    }

    /// Files of a folder whose name ends with `suffix`, by name.
    pub(crate) fn files(&mut self, folder: &str, suffix: &str) -> Vec<String> {
        files(self.machine, folder, suffix)
    }

    /// Names of the folders in a folder.
    pub(crate) fn folders(&mut self, folder: &str) -> Vec<String> {
        let entries = self.machine.list(folder).unwrap_or_default();
        entries.into_iter().filter(|entry| entry.folder).map(|entry| entry.name).collect()
    }

    /// Whether a file may be executed; `None` when it is not there.
    pub(crate) fn is_executable(&mut self, path: &str) -> Option<bool> {
        let (folder, name) = path.rsplit_once('/')?;
        let entries = self.machine.list(folder).ok()?;
        entries.into_iter().find(|entry| entry.name == name).map(|entry| entry.mode & 0o111 != 0)
    }

    /// As [`shelved`].
    pub(crate) fn shelved(&mut self, kind: &str, suffix: &str) -> Vec<String> {
        shelved(self.machine, kind, suffix)
    }

    /// A service by its name.
    pub(crate) fn service(&mut self, name: &str) -> Service {
        self.services.named(self.machine, name)
    }

    /// A unit of systemd by its whole name.
    pub(crate) fn unit(&mut self, name: &str) -> Service {
        self.services.unit(self.machine, name)
    }

    /// What the commands of a script set, each a finding like `pattern`.
    pub(crate) fn script(&mut self, pattern: &BootFinding, text: &str) {
        for claim in claims(text, &self.target) {
            let line = pattern.line.map_or(claim.line, |first| first + claim.line - 1);
            let finding = pattern.clone().line(line, &claim.text);
            self.push(finding.sets(claim.value.into_iter().collect(), claim.sites));
        }
    }

    /// What a command line sets, or the scripts it runs.
    pub(crate) fn command(&mut self, pattern: &BootFinding, command: &str) {
        let before = self.findings.len();
        self.script(pattern, command);
        for path in scripts(command).iter().take(4) {
            if self.findings.len() > before {
                return;
            }
            if let Some(text) = self.peek(path).filter(|text| text.starts_with("#!")) {
                let script = BootFinding { path: path.clone(), line: None, ..pattern.clone() };
                self.script(&script, &text);
            }
        }
    }

    /// A value under `name` in a file of keys, as a finding like `pattern` at every site.
    pub(crate) fn key(&mut self, pattern: &BootFinding, path: &str, keys: &[Key], name: &str) {
        if let Some(key) = last(keys, name).filter(|key| !key.value.is_empty()) {
            let finding = BootFinding { path: path.to_owned(), ..pattern.clone() };
            let sites = self.target.everywhere();
            self.push(finding.line(key.line, &key.text).sets(vec![key.value.clone()], sites));
        }
    }

    /// The first of these governors that is offered; all of them when none is known to be.
    pub(crate) fn first_offered(&self, governors: &[&str]) -> Vec<String> {
        let offered = |name: &&&str| self.target.governors.iter().any(|offered| offered == **name);
        match governors.iter().find(offered) {
            Some(first) => vec![(*first).to_owned()],
            None => governors.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Whether the machine runs on mains power now; `None` when it does not say.
    pub(crate) fn on_mains(&mut self) -> Option<bool> {
        let folder = power::POWER_SUPPLY;
        let mut battery = false;
        // Supplies are links, which list as folders.
        for name in self.folders(folder) {
            let kind = self.peek(&format!("{folder}/{name}/type")).unwrap_or_default();
            match kind.trim() {
                "Battery" => battery = true,
                "Mains" | "USB" => {
                    let online = self.peek(&format!("{folder}/{name}/online")).unwrap_or_default();
                    if online.trim() == "1" {
                        return Some(true);
                    }
                }
                _ => {}
            }
        }
        // A machine without a battery runs on the mains.
        Some(!battery).filter(|_| self.machine.list("/sys").is_ok())
    }
}

fn files(machine: &mut dyn Look, folder: &str, suffix: &str) -> Vec<String> {
    let entries = machine.list(folder).unwrap_or_default();
    let wanted = entries.into_iter().filter(|entry| !entry.folder && entry.name.ends_with(suffix));
    wanted.map(|entry| format!("{folder}/{}", entry.name)).collect()
}

/// Files of one kind over all shelves, in the order in which they are taken: by name, each name once.
pub(crate) fn shelved(machine: &mut dyn Look, kind: &str, suffix: &str) -> Vec<String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for shelf in SHELVES {
        for path in files(machine, &format!("{shelf}/{kind}"), suffix) {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            found.entry(name).or_insert(path);
        }
    }
    found.into_values().collect()
}

/// A finding of a service with its standing: on, or off and why.
pub(crate) fn of_service(who: &str, service: &Service) -> BootFinding {
    let finding = BootFinding::new(who, service.path.clone());
    match &service.start {
        Start::On(how) => finding.how(how.clone()),
        Start::Off(why) => finding.standing(BootStanding::Off { why: why.clone() }),
        Start::Absent => finding.standing(BootStanding::Off { why: format!("there is no {who} to read it") }),
    }
}
