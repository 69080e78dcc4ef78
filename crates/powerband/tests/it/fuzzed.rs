//! Whatever a kernel's file holds, or somebody made of a recorded machine: an answer or a sentence, never a panic.
use std::fs;
use std::path::{Path, PathBuf};

use powerband_host::{RecordedMachine, Recording};
use powerband_knob::{Selection, catalogue};
use powerband_machine::{Coalescing, CoalescingPlace, Machine, Parameter};
use powerband_record::{CpuList, KnobRef, format_khz, parse_duration_ns, parse_frequency_khz};
use tempfile::TempDir;

use crate::desk::workspace;

/// Whether the long form is wanted; the seed is then a fresh one.
fn long() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

fn first_seed() -> u64 {
    std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Chance from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.roll() % count.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// What stands in kernel files, and what should not.
const BITS: [&str; 34] = [
    "0",
    "1",
    "3",
    "-1",
    "4294967295",
    "18446744073709551615",
    "18446744073709551616",
    "600000",
    "2.5",
    "0-3",
    "0-",
    "-",
    ",",
    "0-3:2",
    "0-65535",
    "0,2-5",
    " ",
    "\t",
    "\n",
    "\0",
    "<unsupported>",
    "<unknown>",
    "ondemand ",
    "MHz",
    "rx-usecs 3",
    "adaptive-rx on",
    "   From  :    To\n",
    "   600000:         0 ",
    "1e9",
    "é",
    "µs",
    "#",
    "@",
    "=",
];

fn text(dice: &mut Dice) -> String {
    let parts = dice.below(9);
    (0..parts).map(|_| *dice.pick(&BITS)).collect()
}

/// Everything that takes a kernel file's text, or a name of such a file, apart.
fn parse_all(text: &str) {
    let list = text.parse::<CpuList>();
    if let Ok(list) = &list {
        assert_eq!(list.to_string().parse::<CpuList>().as_ref(), Ok(list), "{text:?}");
    }
    if let Ok(list) = CpuList::parse_spaced(text) {
        assert!(list.len() <= text.len(), "{text:?}");
    }
    let coalescing = Coalescing::parse(text);
    assert_eq!(Coalescing::parse(&coalescing.to_string()), coalescing, "{text:?}");
    if let Some(place) = CoalescingPlace::of(text) {
        let _ = coalescing.read(&place);
    }
    let values = ["rx-usecs", "adaptive-rx"].map(|name| Parameter::named(name).unwrap().parse(text));
    assert!(values[1].is_none_or(|value| value < 2), "{text:?}");
    if let Ok(khz) = parse_frequency_khz(text) {
        assert_eq!(parse_frequency_khz(&format_khz(khz)), Ok(khz), "{text:?}");
    }
    let _ = (parse_duration_ns(text), KnobRef::parse(text));
}

#[test]
fn sweep_any_text_is_taken_apart_or_refused() {
    let mut dice = Dice(first_seed());
    for _ in 0..if long() { 10_000_000 } else { 20_000 } {
        parse_all(&text(&mut dice));
    }
}

/// Looks at everything a verb that looks would look at.
fn look(folder: &Path) {
    let Ok(mut machine) = RecordedMachine::open("recorded:x", folder) else { return };
    let _ = powerband_knob::cpufreq(&mut machine);
    for knob in catalogue::ALL {
        if let Ok(reference) = KnobRef::parse(knob.about().name) {
            let _ = powerband_knob::get(&mut machine, &reference, &Selection::everywhere());
        }
    }
    let _ = powerband_meter::find_all(&mut machine);
    let again = TempDir::new().unwrap();
    Recording::of(&mut machine).write(&again.path().join("copy")).unwrap();
    let _ = machine.list("/");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let there = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(there.parent().unwrap()).unwrap();
        fs::copy(&file, there).unwrap();
    }
}

/// Does something to one file that no kernel would.
fn spoil(file: &Path, dice: &mut Dice) {
    let remove = || if file.is_dir() { fs::remove_dir_all(file) } else { fs::remove_file(file) };
    match dice.below(9) {
        0 => remove().unwrap(),
        1 => {
            remove().unwrap();
            let target = *dice.pick(&["/etc/passwd", ".", "..", "/", "loop", "../../../../../../etc"]);
            std::os::unix::fs::symlink(target, file).unwrap();
        }
        2 => {
            remove().unwrap();
            fs::create_dir(file).unwrap();
        }
        3 => fs::write(file, [0xff, 0, 0xfe]).unwrap(),
        4 => fs::write(file, vec![b'7'; 1 << 21]).unwrap(),
        5 => fs::write(file, "").unwrap(),
        6 => {
            let bytes = fs::read(file).unwrap_or_default();
            fs::write(file, &bytes[..dice.below(bytes.len())]).unwrap();
        }
        7 => {
            let mut bytes = fs::read(file).unwrap_or_default();
            let at = dice.below(bytes.len());
            bytes.splice(at..at, text(dice).into_bytes());
            fs::write(file, bytes).unwrap();
        }
        _ => fs::write(file, text(dice)).unwrap(),
    }
}

#[test]
fn sweep_spoiled_recordings_are_answered_or_refused() {
    let mut dice = Dice(first_seed());
    let machines = ["omap3530", "server", "laptop"];
    for _ in 0..if long() { 5_000 } else { 12 } {
        let place = TempDir::new().unwrap();
        let name = *dice.pick(&machines);
        copy(&workspace().join("machines/recorded").join(name), place.path());
        let all = files(place.path());
        for _ in 0..1 + dice.below(12) {
            // One that was spoiled into a folder or away is left as it is.
            let file = dice.pick(&all);
            let is_plain = fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
            // The manifest decides whether there is a machine at all: it is spoiled seldom.
            if is_plain && (!file.ends_with("recorded.toml") || dice.below(4) == 0) {
                spoil(file, &mut dice);
            }
        }
        look(place.path());
    }
}
