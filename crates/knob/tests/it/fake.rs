//! A machine made of a map of files, with as much of cpufreq's behaviour as the knobs must cope with.
use std::collections::BTreeMap;

use powerband_machine::*;

pub(crate) const ROOT: &str = "/sys/devices/system/cpu/cpufreq";
const GOVERNORS: &str = "conservative ondemand userspace powersave performance schedutil";

/// How its kernel behaves.
#[derive(Clone, Copy, Default)]
pub(crate) struct Rules {
    /// Limits out of order are refused, as before Linux 5.3.
    pub(crate) old_limits: bool,
    /// Limits take effect only after the read-back.
    pub(crate) late: bool,
    /// Tunables sit in each policy's folder.
    pub(crate) per_policy: bool,
}

pub(crate) struct Fake {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) rules: Rules,
    /// Files that refuse to be read.
    pub(crate) unreadable: BTreeMap<String, Errno>,
    /// Files and folders read so far.
    pub(crate) reads: usize,
    /// Files that refuse to be written.
    pub(crate) refuse: BTreeMap<String, Errno>,
    /// A file that takes one more value and refuses from then on.
    pub(crate) stuck_once_written: Option<String>,
    /// Set speeds asked for, by policy folder: they come up again when the limits allow.
    pub(crate) speeds: BTreeMap<String, u64>,
    /// Refuses the action of this number (from 0), once.
    pub(crate) refuse_action: Option<usize>,
    pub(crate) groups: Vec<String>,
    /// Network cards by device: what their drivers have. One with `rx-usecs` takes no more than 100.
    pub(crate) cards: BTreeMap<String, Coalescing>,
    /// What cards were asked, request by request.
    pub(crate) requests: Vec<Coalescing>,
    /// What a group's quota reads back as; nothing when absent.
    pub(crate) quota_reads: Option<String>,
    /// What was written, in order.
    pub(crate) written: Vec<(String, String)>,
    /// Actions so far.
    pub(crate) acts: usize,
    /// A file that accepts and does not follow.
    pub(crate) deaf: Option<String>,
    /// What holds the upper limit down, kHz, whatever is asked.
    pub(crate) ceiling: Option<u64>,
    /// Latencies that are held, us.
    pub(crate) held: Vec<u64>,
    late: Vec<(String, String)>,
    ledger: Option<Ledger>,
    identity: Identity,
}

/// A machine without anything.
pub(crate) fn bare() -> Fake {
    let identity = Identity {
        name: "fake".into(),
        system: "fake".into(),
        boot_id: "boot".into(),
        address: "127.0.0.1".into(),
        privileged: true,
        owner: 0,
    };
    Fake {
        files: BTreeMap::new(),
        rules: Rules::default(),
        unreadable: BTreeMap::new(),
        reads: 0,
        refuse: BTreeMap::new(),
        stuck_once_written: None,
        speeds: BTreeMap::new(),
        refuse_action: None,
        groups: Vec::new(),
        cards: BTreeMap::new(),
        requests: Vec::new(),
        quota_reads: None,
        written: Vec::new(),
        acts: 0,
        deaf: None,
        ceiling: None,
        held: Vec::new(),
        late: Vec::new(),
        ledger: Some(Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap()),
        identity,
    }
}

/// Policies of `width` CPUs each, 1600 to 2400 MHz in three steps, under ondemand.
pub(crate) fn cpufreq(policies: u32, width: u32, rules: Rules) -> Fake {
    let mut fake = bare();
    fake.rules = rules;
    for policy in 0..policies {
        let first = policy * width;
        let cpus: Vec<String> = (first..first + width).map(|cpu| cpu.to_string()).collect();
        for (file, text) in [
            ("affected_cpus", cpus.join(" ")),
            ("related_cpus", cpus.join(" ")),
            ("cpuinfo_min_freq", "1600000".into()),
            ("cpuinfo_max_freq", "2400000".into()),
            ("cpuinfo_transition_latency", "10000".into()),
            ("scaling_min_freq", "1600000".into()),
            ("scaling_max_freq", "2400000".into()),
            ("scaling_cur_freq", "2400000".into()),
            ("scaling_available_frequencies", "2400000 2000000 1600000 ".into()),
            ("scaling_available_governors", format!("{GOVERNORS} ")),
            ("scaling_driver", "fake".into()),
            ("scaling_setspeed", "<unsupported>".into()),
        ] {
            fake.files.insert(format!("{ROOT}/policy{first}/{file}"), format!("{text}\n"));
        }
        fake.govern(&format!("{ROOT}/policy{first}"), "ondemand");
    }
    fake
}

impl Fake {
    /// The same, asked by somebody without rights.
    pub(crate) fn asked_by_nobody(mut self) -> Fake {
        self.identity.privileged = false;
        self
    }

    pub(crate) fn show(&self, path: &str) -> &str {
        self.files.get(path).map_or("(none)", |text| text.trim_end())
    }

    /// Somebody else's hand, past the ledger.
    pub(crate) fn meddle(&mut self, path: &str, text: &str) {
        self.write(path, text).unwrap();
        self.settle();
    }

    pub(crate) fn settle(&mut self) {
        for (path, text) in std::mem::take(&mut self.late) {
            self.limit(&path, &text).unwrap();
        }
    }

    fn put(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), format!("{text}\n"));
    }

    fn number(&self, path: &str) -> u64 {
        self.show(path).parse().unwrap()
    }

    fn govern(&mut self, folder: &str, governor: &str) {
        self.put(&format!("{folder}/scaling_governor"), governor);
        let speed = if governor == "userspace" {
            self.show(&format!("{folder}/scaling_cur_freq")).to_owned()
        } else {
            "<unsupported>".into()
        };
        self.put(&format!("{folder}/scaling_setspeed"), &speed);
        let policies: Vec<String> =
            self.files.keys().filter_map(|path| path.strip_suffix("/scaling_governor")).map(str::to_owned).collect();
        for governor in ["ondemand", "conservative", "schedutil"] {
            let users: Vec<&String> =
                policies.iter().filter(|p| self.show(&format!("{p}/scaling_governor")) == governor).collect();
            let wanted: Vec<String> = if self.rules.per_policy {
                users.iter().map(|policy| format!("{policy}/{governor}")).collect()
            } else {
                users.iter().take(1).map(|_| format!("{ROOT}/{governor}")).collect()
            };
            let gone: Vec<String> = self
                .files
                .keys()
                .filter(|path| path.contains(&format!("/{governor}/")) && !wanted.iter().any(|w| path.starts_with(w)))
                .cloned()
                .collect();
            gone.iter().for_each(|path| drop(self.files.remove(path)));
            for folder in wanted
                .iter()
                .filter(|w| !self.files.keys().any(|path| path.starts_with(&format!("{w}/"))))
                .cloned()
                .collect::<Vec<_>>()
            {
                for (file, text) in defaults(governor) {
                    self.put(&format!("{folder}/{file}"), text);
                }
            }
        }
    }

    fn limit(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        let (folder, file) = path.rsplit_once('/').unwrap();
        let asked: u64 = text.parse().map_err(|_| Errno::EINVAL)?;
        let steps = [1_600_000, 2_000_000, 2_400_000];
        let (mut min, mut max) =
            (self.number(&format!("{folder}/scaling_min_freq")), self.number(&format!("{folder}/scaling_max_freq")));
        if file == "scaling_min_freq" {
            min = asked
        } else {
            max = asked
        }
        if self.rules.old_limits && min > max {
            return Err(Errno::EINVAL);
        }
        let max = max.min(self.ceiling.unwrap_or(u64::MAX));
        let max = *steps.iter().rev().find(|step| **step <= max).unwrap_or(&steps[0]);
        let min = *steps.iter().find(|step| **step >= min).unwrap_or(&steps[2]);
        self.put(&format!("{folder}/scaling_max_freq"), &max.to_string());
        self.put(&format!("{folder}/scaling_min_freq"), &min.min(max).to_string());
        self.run_at_speed(folder);
        Ok(())
    }

    fn run_at_speed(&mut self, folder: &str) {
        let Some(&asked) = self.speeds.get(folder) else { return };
        if self.show(&format!("{folder}/scaling_governor")) == "userspace" {
            let asked = asked.min(self.number(&format!("{folder}/scaling_max_freq")));
            let asked = asked.max(self.number(&format!("{folder}/scaling_min_freq")));
            let speed = [1_600_000, 2_000_000, 2_400_000].into_iter().find(|step| *step >= asked).unwrap_or(2_400_000);
            self.put(&format!("{folder}/scaling_cur_freq"), &speed.to_string());
            self.put(&format!("{folder}/scaling_setspeed"), &speed.to_string());
        }
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        if let Some(errno) = self.refuse.get(path) {
            return Err(*errno);
        }
        let text = text.trim_end();
        if let Some(written) = crate::neighbours::kernel(self, path, text) {
            return written;
        }
        let (folder, file) = path.rsplit_once('/').unwrap();
        if !path.starts_with("/sys") {
            return self.list(folder).map(|_| self.put(path, text));
        }
        if !self.files.contains_key(path) {
            return Err(Errno::ENOENT);
        }
        if self.deaf.as_deref() == Some(path) {
            return Ok(());
        }
        match file {
            "scaling_governor" if !GOVERNORS.split(' ').any(|name| name == text) => return Err(Errno::EINVAL),
            "scaling_governor" => self.govern(folder, text),
            "scaling_min_freq" | "scaling_max_freq" if self.rules.late => self.late.push((path.into(), text.into())),
            "scaling_min_freq" | "scaling_max_freq" => return self.limit(path, text),
            "scaling_setspeed" => {
                if self.show(&format!("{folder}/scaling_governor")) != "userspace" {
                    return Err(Errno::EINVAL);
                }
                let asked: u64 = text.parse().map_err(|_| Errno::EINVAL)?;
                self.speeds.insert(folder.into(), asked);
                self.run_at_speed(folder);
            }
            "sampling_rate" if text.parse::<u64>().map_err(|_| Errno::EINVAL)? < 8000 => return Err(Errno::EINVAL),
            "down_threshold" if self.number(&format!("{folder}/up_threshold")) <= text.parse().unwrap() => {
                return Err(Errno::EINVAL);
            }
            "up_threshold"
                if folder.ends_with("conservative")
                    && self.number(&format!("{folder}/down_threshold")) >= text.parse().unwrap() =>
            {
                return Err(Errno::EINVAL);
            }
            // A driver that changes its mode makes its policies anew.
            "status" => {
                self.put(path, text);
                self.make_policies_anew();
            }
            "ignore_nice_load" => self.put(path, if text == "0" { "0" } else { "1" }),
            _ => self.put(path, text),
        }
        Ok(())
    }

    fn make_policies_anew(&mut self) {
        let policies: Vec<String> =
            self.files.keys().filter_map(|path| path.strip_suffix("/scaling_governor")).map(str::to_owned).collect();
        for folder in policies {
            self.govern(&folder, "performance");
            self.put(&format!("{folder}/energy_performance_preference"), "balance_performance");
            self.put(&format!("{folder}/scaling_min_freq"), "1600000");
            self.put(&format!("{folder}/scaling_max_freq"), "2400000");
        }
    }

    fn perform(&mut self, action: &Action) -> Result<(), Errno> {
        match action {
            Action::WriteFile { path, text } => {
                self.written.push((path.clone(), text.trim_end().into()));
                self.write(path, text)?;
                if self.stuck_once_written.as_ref() == Some(path) {
                    self.refuse.insert(path.clone(), Errno::EBUSY);
                }
                Ok(())
            }
            Action::RemoveFile { path } => self.files.remove(path).map(drop).ok_or(Errno::ENOENT),
            Action::MakeGroup { group, .. } => {
                self.groups.push(group.clone());
                Ok(())
            }
            Action::RemoveGroup { group } => {
                self.groups.retain(|other| other != group);
                Ok(())
            }
            Action::Coalesce { device, values } => {
                self.requests.push(values.clone());
                let card = self.cards.get_mut(device).ok_or(Errno::ENODEV)?;
                if values.0.keys().any(|name| card.get(name).is_none()) {
                    return Err(Errno::EINVAL);
                }
                let taken = |(name, &value): (&String, &u32)| {
                    (name.clone(), if name == "rx-usecs" { value.min(100) } else { value })
                };
                card.0.extend(values.0.iter().map(taken));
                Ok(())
            }
            Action::HoldFile { text, .. } => {
                let held = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
                self.held.push(held.ok_or(Errno::EINVAL)?);
                self.hold();
                Ok(())
            }
            Action::ReleaseFile { .. } => {
                self.held.pop();
                self.hold();
                Ok(())
            }
            _ => Err(Errno::ENOSYS),
        }
    }

    fn hold(&mut self) {
        let least = self.held.iter().min().copied().unwrap_or(2_000_000_000);
        self.put(LATENCY_DEVICE, &least.to_string());
    }

    fn look(&self, path: &str) -> Result<String, Errno> {
        match CoalescingPlace::of(path) {
            Some(place) => self.cards.get(place.device).ok_or(Errno::ENODEV)?.read(&place),
            None => self.files.get(path).cloned().ok_or(Errno::ENOENT),
        }
    }
}

fn defaults(governor: &str) -> &'static [(&'static str, &'static str)] {
    match governor {
        "ondemand" => &[
            ("ignore_nice_load", "0"),
            ("io_is_busy", "0"),
            ("powersave_bias", "0"),
            ("sampling_down_factor", "1"),
            ("sampling_rate", "10000"),
            ("up_threshold", "95"),
        ],
        "conservative" => &[
            ("down_threshold", "20"),
            ("freq_step", "5"),
            ("ignore_nice_load", "0"),
            ("sampling_down_factor", "1"),
            ("sampling_rate", "10000"),
            ("up_threshold", "80"),
        ],
        _ => &[("rate_limit_us", "10000")],
    }
}

impl Look for Fake {
    fn identity(&self) -> &Identity {
        &self.identity
    }
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.reads += 1;
        let inside = format!("{folder}/");
        let mut entries: Vec<Entry> = self
            .files
            .range(inside.clone()..)
            .map_while(|(path, _)| path.strip_prefix(&inside))
            .map(|rest| rest.split_once('/').map_or((rest, false), |(name, _)| (name, true)))
            .map(|(name, folder)| Entry::new(name, folder, if folder { 0o755 } else { 0o644 }))
            .collect();
        entries.dedup();
        if entries.is_empty() { Err(Errno::ENOENT) } else { Ok(entries) }
    }
    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.reads += 1;
        self.unreadable.get(path).map_or_else(|| self.look(path), |errno| Err(*errno))
    }
    fn open(&mut self, _path: &str) -> Result<Handle, Errno> {
        Err(Errno::ENOSYS)
    }
    fn read_many(&mut self, _handles: &[Handle], _into: &mut Vec<Result<String, Errno>>) {}
    fn close(&mut self, _handle: Handle) {}
}

impl Change for Fake {
    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        let mut ledger = self.ledger.take().unwrap();
        let entry = ledger.intend(turn, &mut |path| self.look(path))?;
        let refused = self.refuse_action == Some(self.acts);
        self.acts += 1;
        let errno = if refused { Some(Errno::EIO) } else { self.perform(&turn.action).err() };
        let reads_back =
            turn.read_back.as_ref().and_then(|path| self.read(path).ok()).map(|text| text.trim_end().to_owned());
        let quota = self.quota_reads.clone().filter(|_| matches!(turn.action, Action::MakeGroup { .. }));
        let reads_back = quota.or(reads_back);
        ledger.done(entry, errno, reads_back.clone(), &mut |_| {})?;
        self.ledger = Some(ledger);
        self.settle();
        Ok(Acted { entry, errno, words: None, reads_back })
    }
    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        let mut ledger = self.ledger.take().unwrap();
        let this = std::cell::RefCell::new(&mut *self);
        let mut look = |path: &str| this.borrow().look(path);
        let undone = ledger.undo(entry, force, &mut look, &mut |action| this.borrow_mut().perform(action));
        self.ledger = Some(ledger);
        self.settle();
        undone
    }
    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        self.ledger.as_mut().unwrap().keep(entries)
    }
    fn open_entries(&self) -> Vec<OpenEntry> {
        self.ledger.as_ref().unwrap().open().to_vec()
    }
    fn damage(&self) -> Vec<Damage> {
        self.ledger.as_ref().unwrap().damage().to_vec()
    }
    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        self.ledger.as_mut().unwrap().set_damage_aside()
    }
}
