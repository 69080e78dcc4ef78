//! Services: which are there, and which are started when the machine boots, by systemd or by the scripts before it.
use powerband_record::InOrder;
use std::collections::BTreeMap;

use powerband_machine::Look;

/// Where systemd looks for units, what wins first.
const UNITS: [&str; 5] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// Where the scripts are that started services before systemd.
const SCRIPTS: [&str; 2] = ["/etc/init.d", "/etc/rc.d/init.d"];

/// Whether a service is started at boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It is; how, as a remark.
    On(String),
    /// It is there and is not started; why.
    Off(String),
    /// It is not there.
    Absent,
}

/// A service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// Its unit file or its script; empty when it is not there.
    pub(crate) path: String,
    pub(crate) start: Start,
}

impl Service {
    fn absent() -> Service {
        Service { path: String::new(), start: Start::Absent }
    }

    /// Whether it is there.
    pub(crate) fn is_there(&self) -> bool {
        self.start != Start::Absent
    }
}

/// What starts services on a machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services {
    systemd: bool,
    /// Units by name, and what wants them.
    wanted: BTreeMap<String, Vec<String>>,
    /// Unit files by name, and their path.
    units: BTreeMap<String, String>,
    /// Scripts by name, and their path.
    scripts: BTreeMap<String, String>,
    /// Scripts by name, and where they stand in which runlevel.
    links: BTreeMap<String, Vec<(String, u32)>>,
    /// The runlevel the machine boots into, without systemd.
    runlevel: String,
}

impl Services {
    pub(crate) fn of(machine: &mut dyn Look) -> Services {
        let mut services = Services { systemd: machine.list("/run/systemd/system").is_ok(), ..Services::default() };
        if services.systemd {
            for folder in UNITS {
                services.units_in(machine, folder);
            }
        }
        for folder in SCRIPTS {
            for entry in machine.list(folder).unwrap_or_default().into_iter().filter(|entry| !entry.folder) {
                let path = format!("{folder}/{}", entry.name);
                services.scripts.entry(entry.name).or_insert(path);
            }
        }
        if !services.scripts.is_empty() {
            services.runlevel = runlevel(&machine.read("/etc/inittab").unwrap_or_default());
            for level in ["S", "2", "3", "4", "5"] {
                services.links_of(machine, level);
            }
        }
        services
    }

    fn units_in(&mut self, machine: &mut dyn Look, folder: &str) {
        for entry in machine.list(folder).unwrap_or_default() {
            let target = entry.name.strip_suffix(".wants").or_else(|| entry.name.strip_suffix(".requires"));
            match target {
                Some(target) if entry.folder => {
                    for unit in machine.list(&format!("{folder}/{}", entry.name)).unwrap_or_default() {
                        self.wanted.entry(unit.name).or_default().push(target.to_owned());
                    }
                }
                _ if !entry.folder => {
                    let path = format!("{folder}/{}", entry.name);
                    self.units.entry(entry.name).or_insert(path);
                }
                _ => {}
            }
        }
    }

    fn links_of(&mut self, machine: &mut dyn Look, level: &str) {
        for folder in [format!("/etc/rc{level}.d"), format!("/etc/rc.d/rc{level}.d")] {
            let Ok(entries) = machine.list(&folder) else { continue };
            for entry in entries {
                let Some(rest) = entry.name.strip_prefix('S') else { continue };
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let (order, name) = rest.split_at(digits);
                self.links.entry(name.to_owned()).or_default().push((level.to_owned(), order.parse().unwrap_or(0)));
            }
            return;
        }
    }

    /// A service by its name without `.service`: the unit where there is one, else the script.
    pub(crate) fn named(&self, machine: &mut dyn Look, name: &str) -> Service {
        let unit = self.unit(machine, &format!("{name}.service"));
        if unit.is_there() { unit } else { self.script(name) }
    }

    /// A unit of systemd.
    pub(crate) fn unit(&self, machine: &mut dyn Look, name: &str) -> Service {
        let Some(path) = self.units.get(name) else { return Service::absent() };
        let start = match self.wanted_by(name) {
            // A masked unit leads to /dev/null.
            _ if machine.read(path).is_ok_and(|text| text.is_empty()) => Start::Off(format!("{name} is masked")),
            Some(how) => Start::On(how),
            None => Start::Off(format!("{name} is not enabled")),
        };
        Service { path: path.clone(), start }
    }

    /// How a unit comes to be started: a target wants it or an instance of it, or a timer of its name does.
    fn wanted_by(&self, name: &str) -> Option<String> {
        if let Some(targets) = self.wanted.get(name) {
            return Some(format!("enabled for {}", targets.first().map_or("", String::as_str)));
        }
        let stem = name.strip_suffix(".service")?;
        let timer = format!("{stem}.timer");
        if self.wanted.contains_key(&timer) {
            return Some(format!("started by {timer}"));
        }
        let instance = self.wanted.keys().find(|wanted| stem.ends_with('@') && wanted.starts_with(stem));
        instance.map(|instance| format!("enabled as {instance}"))
    }

    /// A script under /etc/init.d.
    pub(crate) fn script(&self, name: &str) -> Service {
        let Some(path) = self.scripts.get(name) else { return Service::absent() };
        let levels: Vec<&str> = self.links.get(name).into_iter().flatten().map(|(level, _)| level.as_str()).collect();
        let here = |level: &&str| self.systemd || *level == "S" || *level == self.runlevel;
        let start = match levels.iter().find(|level| here(level)) {
            Some(&"S") => Start::On("on at boot".to_owned()),
            Some(_) if self.systemd => Start::On(format!("on in runlevel {}", levels.join(" "))),
            Some(level) => Start::On(format!("on in runlevel {level}")),
            None if self.systemd => Start::Off(format!("{name} is on in no runlevel")),
            None => Start::Off(format!("{name} is not on in runlevel {}", self.runlevel)),
        };
        Service { path: path.clone(), start }
    }

    /// Scripts that are started without a unit of the same name, in their order.
    pub(crate) fn scripts_started(&self) -> Vec<(String, Service)> {
        let mut found: Vec<(u32, String, Service)> = Vec::new();
        for name in self.scripts.keys().filter(|name| !self.units.contains_key(&format!("{name}.service"))) {
            let service = self.script(name);
            let order = self.links.get(name).and_then(|links| links.iter().map(|(_, order)| *order).min());
            if let (Some(order), Start::On(_)) = (order, &service.start) {
                found.push((order, name.clone(), service));
            }
        }
        found.order_by_key(|(order, ..)| *order);
        found.into_iter().map(|(_, name, service)| (name, service)).collect()
    }

    /// Units that somebody wrote here, and those that are wanted at boot; paths by name.
    pub(crate) fn units_of_interest(&self) -> Vec<(String, String)> {
        let is_ours = |path: &str| path.starts_with("/etc/") || path.starts_with("/usr/local/");
        let interesting = self
            .units
            .iter()
            .filter(|(name, path)| name.ends_with(".service") && (is_ours(path) || self.wanted_by(name).is_some()));
        interesting.map(|(name, path)| (name.clone(), path.clone())).collect()
    }

    /// Whether systemd runs the machine.
    pub(crate) fn has_systemd(&self) -> bool {
        self.systemd
    }
}

/// The runlevel of an inittab, or 2, which Debian takes without one.
fn runlevel(inittab: &str) -> String {
    let lines = inittab.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut levels = lines.filter_map(|line| {
        let mut fields = line.split(':').skip(1);
        let level = fields.next()?;
        (fields.next()? == "initdefault").then_some(level)
    });
    levels.next().filter(|level| !level.is_empty()).unwrap_or("2").to_owned()
}

#[cfg(test)]
mod tests {
    use super::runlevel;

    #[test]
    fn the_runlevel_is_the_default_of_inittab() {
        assert_eq!(runlevel("# id:5:initdefault:\nid:3:initdefault:\n"), "3");
        assert_eq!(runlevel("si::sysinit:/etc/rc.d/rc.sysinit\nid"), "2");
        assert_eq!(runlevel(""), "2");
    }
}
