//! A machine that is nothing but prepared files.
use std::collections::BTreeMap;

use powerband_knob::{PlannedKnob, Selection, catalogue, plan};
use powerband_machine::{
    Acted, Change, Damage, Entry, EntryId, Errno, Handle, Identity, Ledger, LedgerError, Look, MemoryLedger, OpenEntry,
    Turn, Undone,
};
use powerband_persist::{Checked, KeepError, KeepRequest, Keeping, KnobSetter, Manifest, Origin, check, keep, why};
use powerband_record::{KnobRef, Setting};

/// Files by path; an error where one cannot be read. A path that ends with a slash is an empty folder.
pub(crate) struct Tree {
    files: BTreeMap<String, Result<String, Errno>>,
    scripts: Vec<String>,
    ledger: Ledger,
    identity: Identity,
}

/// Nothing at all.
pub(crate) fn empty() -> Tree {
    let identity = Identity {
        name: "tree".into(),
        system: "prepared".into(),
        boot_id: "boot".into(),
        address: String::new(),
        privileged: true,
        owner: 0,
    };
    Tree {
        files: BTreeMap::new(),
        scripts: Vec::new(),
        ledger: Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap(),
        identity,
    }
}

/// Four CPUs in two policies under `driver`, all reading `governor`.
pub(crate) fn cpus(driver: &str, governors: &str, governor: &str) -> Tree {
    let mut tree = empty();
    for (policy, cpus) in [(0, "0 1"), (2, "2 3")] {
        for (file, text) in [
            ("affected_cpus", cpus),
            ("related_cpus", cpus),
            ("scaling_driver", driver),
            ("scaling_available_governors", governors),
            ("scaling_governor", governor),
            ("cpuinfo_min_freq", "800000"),
            ("cpuinfo_max_freq", "3000000"),
            ("scaling_min_freq", "800000"),
            ("scaling_max_freq", "3000000"),
        ] {
            tree.put(&format!("/sys/devices/system/cpu/cpufreq/policy{policy}/{file}"), format!("{text}\n"));
        }
    }
    tree.put("/proc/sys/kernel/osrelease", "6.1.0\n");
    tree.put("/proc/cmdline", "root=/dev/sda1 ro quiet\n");
    tree
}

impl Tree {
    pub(crate) fn put(&mut self, path: &str, text: impl Into<String>) {
        self.files.insert(path.to_owned(), Ok(text.into()));
    }

    pub(crate) fn put_script(&mut self, path: &str, text: String) {
        self.scripts.push(path.to_owned());
        self.put(path, text);
    }

    /// Removes the files below a path.
    pub(crate) fn remove(&mut self, below: &str) {
        self.files.retain(|path, _| !path.starts_with(below));
    }

    pub(crate) fn fail(&mut self, path: &str, errno: Errno) {
        self.files.insert(path.to_owned(), Err(errno));
    }

    /// Runs under systemd, with these units there, those with a plus enabled.
    pub(crate) fn start_systemd(&mut self, units: &str) {
        self.put("/run/systemd/system/", "");
        for unit in units.split_whitespace() {
            let name = unit.trim_start_matches('+');
            self.put(&format!("/usr/lib/systemd/system/{name}.service"), "[Service]\nExecStart=/usr/bin/x\n");
            if unit != name {
                self.put(&format!("/etc/systemd/system/multi-user.target.wants/{name}.service"), "[Unit]\n");
            }
        }
    }

    /// The kernel's default, in the configuration of its release.
    pub(crate) fn set_default_governor(&mut self, governor: &str) {
        let option = format!("CONFIG_CPU_FREQ_DEFAULT_GOV_{}=y", governor.to_uppercase());
        self.put(
            "/boot/config-6.1.0",
            format!("CONFIG_CPU_FREQ=y\n# CONFIG_CPU_FREQ_DEFAULT_GOV_X is not set\n{option}\n"),
        );
    }

    pub(crate) fn why(&mut self, knob: &str) -> KnobSetter {
        let open = self.ledger.open().to_vec();
        why(self, &open, &KnobRef::parse(knob).unwrap(), &Selection::everywhere()).unwrap()
    }

    /// Turns a file for good, as `set` does.
    pub(crate) fn set(&mut self, turn: &Turn) {
        let entry = self.ledger.intend(turn, &mut |_| Err(Errno::ENOENT)).unwrap();
        self.ledger.done(entry, None, turn.before.text().map(str::to_owned), &mut |_| {}).unwrap();
    }
}

impl Tree {
    /// All that a setting sets.
    pub(crate) fn planned(&mut self, setting: &str) -> Vec<PlannedKnob> {
        let setting = Setting::parse(&format!("a:{setting}")).unwrap();
        plan(&setting, self, &Selection::everywhere()).unwrap().planned(self).unwrap()
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.files.get(path)?.clone().ok()
    }

    /// All files with their texts.
    pub(crate) fn all(&self) -> BTreeMap<String, Result<String, Errno>> {
        self.files.clone()
    }

    /// What would keep a setting.
    pub(crate) fn keeping(&mut self, setting: &str) -> Result<Keeping, KeepError> {
        let planned = self.planned(setting);
        let origin = Origin { lines: vec!["Asked for".into()], ..Origin::default() };
        keep(self, &KeepRequest { planned: &planned, ..KeepRequest::default() }, &origin)
    }

    /// Keeps a setting, as `keep` does but for what reads now.
    pub(crate) fn keep(&mut self, keeping: &Keeping) {
        for file in &keeping.files {
            match &file.after {
                Some(text) => self.put(&file.path, text),
                None => drop(self.files.remove(&file.path)),
            }
        }
    }

    pub(crate) fn checked(&mut self) -> (Vec<Checked>, Vec<String>) {
        let manifest = Manifest::read(self).unwrap();
        check(self, &[], &manifest)
    }
}

/// Only what is planned is asked of it.
impl Change for Tree {
    fn act(&mut self, _turn: &Turn) -> Result<Acted, LedgerError> {
        unreachable!()
    }
    fn undo(&mut self, _entry: EntryId, _force: bool) -> Result<Undone, LedgerError> {
        unreachable!()
    }
    fn keep(&mut self, _entries: &[EntryId]) -> Result<(), LedgerError> {
        unreachable!()
    }
    fn open_entries(&self) -> Vec<OpenEntry> {
        self.ledger.open().to_vec()
    }
    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }
    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        Ok(Vec::new())
    }
}

/// Names of every knob that can be asked for.
pub(crate) fn every_knob() -> Vec<&'static str> {
    catalogue::ALL.iter().map(|knob| knob.about().name).filter(|name| !name.ends_with(['.', ':'])).collect()
}

impl Look for Tree {
    fn identity(&self) -> &Identity {
        &self.identity
    }
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        let inside = format!("{folder}/");
        let mut entries: Vec<Entry> = Vec::new();
        let mut there = false;
        for path in self.files.keys() {
            let Some(rest) = path.strip_prefix(&inside) else { continue };
            there = true;
            let (name, folder) = rest.split_once('/').map_or((rest, false), |(name, _)| (name, true));
            let mode = if folder || self.scripts.contains(path) { 0o755 } else { 0o644 };
            if !name.is_empty() && entries.iter().all(|entry| entry.name != name) {
                entries.push(Entry::new(name, folder, mode));
            }
        }
        if there { Ok(entries) } else { Err(Errno::ENOENT) }
    }
    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.files.get(path).cloned().unwrap_or(Err(Errno::ENOENT))
    }
    fn open(&mut self, _path: &str) -> Result<Handle, Errno> {
        Err(Errno::ENOSYS)
    }
    fn read_many(&mut self, _handles: &[Handle], _into: &mut Vec<Result<String, Errno>>) {}
    fn close(&mut self, _handle: Handle) {}
}
