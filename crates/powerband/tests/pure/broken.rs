//! Recorded machines in which one file after another is broken: every verb that looks answers, by one of the documented
//! codes, and names the file where what it holds would have been told.
use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::{Desk, Ran, workspace};
use crate::fuzzed::{Dice, copy, files, first_seed, long};

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Empty,
    /// 100 MiB of nothing, none of it on the disk.
    Huge,
    Binary,
    Unsupported,
    TrailingText,
    Folder,
    /// The manifest says that the kernel refuses it.
    Refused(&'static str),
}

const HARMS: [Harm; 10] = [
    Harm::Empty,
    Harm::Huge,
    Harm::Binary,
    Harm::Unsupported,
    Harm::TrailingText,
    Harm::Folder,
    Harm::Refused("EBUSY"),
    Harm::Refused("EIO"),
    Harm::Refused("EACCES"),
    Harm::Refused("EINVAL"),
];

impl Harm {
    /// The error number that reading it comes to; none where there still is a text.
    fn errno(self) -> Option<&'static str> {
        match self {
            Harm::Huge => Some("EFBIG"),
            Harm::Binary => Some("EILSEQ"),
            Harm::Folder => Some("EISDIR"),
            Harm::Refused(errno) => Some(errno),
            Harm::Empty | Harm::Unsupported | Harm::TrailingText => None,
        }
    }

    /// The error number to be told of a file; none where the answer is a fact about a machine that is well. A device that
    /// is down answers so for its link, and a folder among scripts is no script to anyone who starts them.
    fn damage(self, place: &str) -> Option<&'static str> {
        let is_down =
            self == Harm::Refused("EINVAL") && place.starts_with("/sys/class/net/") && place.ends_with("/carrier");
        let is_no_script = self == Harm::Folder && place.starts_with("/etc/rc.d/init.d/");
        self.errno().filter(|_| !is_down && !is_no_script)
    }

    fn inflict(self, tree: &Path, file: &Path) {
        match self {
            Harm::Empty => fs::write(file, "").unwrap(),
            Harm::Huge => fs::File::create(file).unwrap().set_len(100 << 20).unwrap(),
            Harm::Binary => fs::write(file, [0x7f, b'E', 0xff, 0, 0xfe]).unwrap(),
            Harm::Unsupported => fs::write(file, "<unsupported>\n").unwrap(),
            Harm::TrailingText => fs::write(file, [&fs::read(file).unwrap()[..], b"and more\n"].concat()).unwrap(),
            Harm::Folder => {
                fs::remove_file(file).unwrap();
                fs::create_dir(file).unwrap();
            }
            Harm::Refused(errno) => {
                let manifest = tree.join("recorded.toml");
                let text = fs::read_to_string(&manifest).unwrap();
                let entry = format!("[errnos]\n\"{}\" = \"{errno}\"\n", place(tree, file));
                let text = match text.find("[errnos]\n") {
                    Some(_) => text.replace("[errnos]\n", &entry),
                    None => format!("{text}\n{entry}"),
                };
                fs::write(manifest, text).unwrap();
            }
        }
    }
}

/// What the machine calls a file of its tree.
fn place(tree: &Path, file: &Path) -> String {
    let below = file.strip_prefix(tree).unwrap().to_str().unwrap();
    match below.strip_prefix("coalesce/") {
        Some(device) => format!("coalesce:{device}"),
        None => below.trim_start_matches("root").to_owned(),
    }
}

const VERBS: [&[&str]; 5] = [&["info"], &["info", "cpu"], &["doctor"], &["why"], &["get", "governor"]];

/// A machine in a folder, and what its verbs answer.
struct Patient {
    desk: Desk,
    tree: PathBuf,
}

impl Patient {
    fn of(name: &str) -> Patient {
        let desk = Desk::new();
        let tree = desk.beside("machine");
        copy(&workspace().join("machines/recorded").join(name), &tree);
        Patient { desk, tree }
    }

    fn answers(&self) -> Vec<Ran> {
        let machine = format!("recorded:{}", self.tree.display());
        VERBS.iter().map(|words| self.desk.run(&[*words, &["--machine", &machine]].concat())).collect()
    }

    /// Breaks one file, asks, and mends it; complaints.
    fn suffer(&self, file: &Path, harm: Harm, intact: &[Ran], without: &[Ran]) -> Vec<String> {
        let manifest = self.tree.join("recorded.toml");
        let before = [fs::read(file).unwrap(), fs::read(&manifest).unwrap()];
        harm.inflict(&self.tree, file);
        let answers = self.answers();
        if file.is_dir() {
            fs::remove_dir(file).unwrap();
        }
        fs::write(file, &before[0]).unwrap();
        fs::write(&manifest, &before[1]).unwrap();
        let place = place(&self.tree, file);
        let mut complaints = Vec::new();
        for (number, ran) in answers.iter().enumerate() {
            let told = format!("{}{}", ran.out, ran.err);
            let mut complain = |what: &str| complaints.push(format!("{:?} {harm:?} {place}: {what}", VERBS[number]));
            if !matches!(ran.code, Some(0..=4)) || told.contains("panicked") {
                complain(&format!("ended with {:?}: {told}", ran.code));
            }
            if ran.err.lines().count() > 1 {
                complain(&format!("more than a sentence: {}", ran.err));
            }
            let matters = intact[number].out != without[number].out || intact[number].err != without[number].err;
            // Some files are told by their names alone, and of some another tells the same.
            let lost = ran.out != intact[number].out || ran.err != intact[number].err;
            if let (true, true, Some(errno)) = (matters, lost, harm.damage(&place)) {
                let name = place.rsplit(['/', ':']).next().unwrap();
                if !told.contains(errno) || !told.contains(name) {
                    complain(&format!("{errno} is not told: {told}"));
                }
            }
        }
        complaints
    }
}

/// Breaks files of a machine, each with the harms that `pick` picks for what the machine calls it.
fn break_all(name: &str, mut pick: impl FnMut(&str) -> Vec<Harm>) -> Vec<String> {
    let patient = Patient::of(name);
    let intact = patient.answers();
    let mut complaints = Vec::new();
    for file in files(&patient.tree).into_iter().filter(|file| !file.ends_with("recorded.toml")) {
        let harms = pick(&place(&patient.tree, &file));
        if harms.is_empty() {
            continue;
        }
        let text = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let without = patient.answers();
        fs::write(&file, text).unwrap();
        for harm in harms {
            complaints.extend(patient.suffer(&file, harm, &intact, &without));
        }
    }
    complaints
}

#[test]
fn a_broken_file_is_named_and_never_fatal() {
    let mut dice = Dice(first_seed());
    let complaints = break_all("omap3530", |_| vec![*dice.pick(&HARMS)]);
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

/// A file for each way in which one is read, with a harm: one list of CPUs without the other, a folder of settings, names
/// that meters, `doctor` and `why` look up.
const WAYS: [(&str, &str, Harm); 11] = [
    ("laptop", "/sys/devices/system/cpu/cpufreq/policy0/affected_cpus", Harm::Refused("EBUSY")),
    ("server", "/sys/devices/system/cpu/cpu0/cpufreq/affected_cpus", Harm::Refused("EBUSY")),
    ("server", "/sys/devices/system/cpu/cpu0/cpufreq/ondemand/sampling_rate", Harm::Folder),
    ("laptop", "/sys/devices/system/cpu/intel_pstate/status", Harm::Folder),
    ("laptop", "/proc/net/dev", Harm::Refused("EIO")),
    ("laptop", "/sys/class/powercap/intel-rapl:0/name", Harm::Refused("EACCES")),
    ("guest", "/sys/class/hwmon/hwmon0/device/power1_average_interval", Harm::Binary),
    ("guest", "/proc/1/comm", Harm::Huge),
    ("laptop", "/sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors", Harm::Refused("EINVAL")),
    ("server", "/proc/sys/kernel/osrelease", Harm::Binary),
    ("server", "/boot/config-2.6.18-398.el5", Harm::Folder),
];

#[test]
fn a_broken_file_is_named_in_whichever_way_it_is_read() {
    let mut complaints = Vec::new();
    let mut broken = 0;
    for name in ["guest", "laptop", "server"] {
        complaints.extend(break_all(name, |place| {
            let harms = WAYS.iter().filter(|way| (way.0, way.1) == (name, place));
            let harms: Vec<Harm> = harms.map(|way| way.2).collect();
            broken += harms.len();
            harms
        }));
    }
    assert_eq!(broken, WAYS.len(), "a machine has not all of its files any more");
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn sweep_every_file_of_every_machine_is_broken_in_every_way() {
    if !long() {
        return;
    }
    let machines = ["guest", "laptop", "microvm", "omap3530", "server"];
    let complaints: Vec<String> = machines.iter().flat_map(|name| break_all(name, |_| HARMS.to_vec())).collect();
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}
