//! Whatever a kernel's file holds, or somebody made of a recorded machine: an answer or a sentence, never a panic.
use std::fs;
use std::path::{Path, PathBuf};

use powerband_host::{CapturedMachine, RecordedMachine};
use powerband_knob::doctor::Config;
use powerband_knob::{Selection, catalogue, look};
use powerband_load::{CommandLoad, Load};
use powerband_machine::{
    Action, Before, Coalescing, CoalescingPlace, Finished, Hold, Ledger, LedgerStore as _, Look, MemoryLedger,
    Parameter, Turn, wire,
};
use powerband_record::{
    Assignment, Axis, CpuList, Event, ExitStatus, KnobRef, Output, Setting, Usage, format_khz, parse_duration_ns,
    parse_frequency_khz, split_words,
};
use tempfile::TempDir;

use crate::desk::{Desk, workspace};
use crate::paper::Paper;

/// Whether the long form is wanted; the seed is then a fresh one.
pub(crate) fn long() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

pub(crate) fn first_seed() -> u64 {
    std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Chance from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        powerband_record::splitmix(&mut self.0)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.roll() % count.max(1) as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
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

/// Does to a text what happens to files: something stands in it that should not, or twice, or is gone.
fn garbled(mut bytes: Vec<u8>, dice: &mut Dice) -> String {
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(12)).min(bytes.len());
        match dice.below(6) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..end, dice.pick(&BITS).bytes())),
            2 => {
                let again = bytes[at..end].repeat(1 + dice.below(40));
                bytes.splice(at..at, again);
            }
            3 => bytes.truncate(at),
            4 if at < bytes.len() => bytes[at] = *dice.pick(b"\0\n\r\t \"'\\=:[]{}()$`%*?#;,.-+09azAZ\xff\x7f"),
            _ => drop(bytes.splice(at..at, text(dice).into_bytes())),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Takes a text apart.
type Reader = fn(&str);

/// What programs wrote and read again, and what people write for them: a text of each, and who reads it.
fn written() -> Vec<(String, Reader)> {
    let turn = Turn {
        action: Action::WriteFile { path: "/sys/a".into(), text: "1".into() },
        undo: Some(Action::WriteFile { path: "/sys/a".into(), text: "0".into() }),
        hold: Hold::Held,
        knob: "cpufreq.governor".into(),
        site: "policy0".into(),
        asked: "1".into(),
        before: Before::Reads("0".into()),
        read_back: Some("/sys/a".into()),
        step: None,
        moves: std::collections::BTreeMap::new(),
    };
    let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap();
    let entry = ledger.intend(&turn, &mut |_| Ok("0\n".into())).unwrap();
    let closing = Ledger::closing_line(entry, powerband_machine::Undone::AlreadyBack);
    let call = wire::FromOwner::Call(3, wire::Call::Undo(entry, true));
    let desk = Desk::new();
    desk.run(&["try", "governor=ondemand,performance", "--load", "counter", "--machine", "sim:pc", "--blocks", "2"])
        .ended(0);
    let journal = desk.run(&["export", "last", "--journal"]).ended(0).out;
    let file = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let ledger: Reader = |text| {
        let mut kept = MemoryLedger::default();
        kept.append(text.as_bytes()).unwrap();
        let Ok(ledger) = Ledger::load(Box::new(kept), "boot") else { return };
        let _ = (ledger.open().len(), ledger.damage().iter().map(powerband_machine::Damage::story).count());
    };
    let frames: Reader = |text| {
        let mut frames = wire::Frames::default();
        frames.take_in(text.as_bytes());
        while let Ok(Some(json)) = frames.next_frame() {
            let _ = (wire::first_message::<wire::FromOwner>(&json), wire::message::<wire::FromAgent>(&json));
        }
    };
    let mut all: Vec<(String, Reader)> = vec![
        (closing, ledger),
        (String::from_utf8(wire::frame(&call).unwrap()).unwrap(), frames),
        (file("plans/counter.toml"), |text| drop(powerband_experiment::Plan::parse("x", text))),
        (file("machines/sim/quadcore.toml"), |text| drop(powerband_sim::Profile::parse(text))),
        (file("machines/sim/smt.toml"), |text| drop(powerband_sim::Profile::parse(text))),
        (CONFIG.into(), |text| {
            if let Ok(config) = Config::parse(text) {
                let _ = powerband_knob::doctor::examine_file(&config, "x", None);
            }
        }),
        ("far/nic.rx-usecs@eth0=10,20..100/10".into(), |text| {
            let _ = (Axis::parse(text), Assignment::parse(text), Setting::parse(text), split_words(text));
        }),
        ("p99:us=regex:([0-9.]+) ms".into(), |text| drop(powerband_load::MetricSpec::parse(text))),
    ];
    for name in
        ["iperf3-udp-bidir.json", "nuttcp-udp.txt", "ping-lossy.txt", "cyclictest-hofall.txt", "sockperf-pp.txt"]
    {
        all.push((file(&format!("crates/load/src/drivers/printed/{name}")), printed));
    }
    let read: Reader = |line| {
        let _ = (serde_json::from_str::<Event>(line), serde_json::from_str::<serde_json::Value>(line));
    };
    all.extend(journal.lines().map(|line| (line.to_owned(), read)));
    all
}

/// Takes a text for what a load tool printed: whatever it is, it gives numbers or a sentence.
fn printed(text: &str) {
    const CALLS: [&str; 8] = [
        "iperf3 -J",
        "iperf3 -u --bidir --json-stream",
        "nuttcp -fparse -u -R1m",
        "ping",
        "cyclictest -q -H 9",
        "sockperf pp",
        "wrk --latency",
        "perf stat -x, -e cycles",
    ];
    for call in CALLS {
        let argv = call.split(' ').map(str::to_owned).collect();
        let load = Load::Command(CommandLoad { argv, ..CommandLoad::default() });
        let output = Output { stdout: text.to_owned(), stderr: text.to_owned(), cut: false };
        let usage = Usage { real_ns: 1_000_000_000, ..Usage::default() };
        let finished = Finished { status: ExitStatus::Code(0), usage, report: None, output, around: Vec::new() };
        match load.conclude(&[("load", finished)].into()) {
            Ok(told) => assert!(told.values.values().all(|value| value.is_finite()), "{call}: {told:?} of {text}"),
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
}

/// Part of a kernel's configuration.
const CONFIG: &str = "#\n# Linux/x86 6.1.192 Kernel Configuration\n#\nCONFIG_X86=y\nCONFIG_CPU_FREQ=y\nCONFIG_HZ=250\n\
    # CONFIG_CPU_FREQ_STAT is not set\nCONFIG_CPU_FREQ_GOV_ONDEMAND=m\nCONFIG_LOCALVERSION=\"-x\"\n";

#[test]
fn sweep_what_was_written_is_read_again_or_refused() {
    let mut dice = Dice(first_seed());
    let all = written();
    assert!(all.len() > 20, "a journal of {} lines", all.len());
    all.iter().for_each(|(text, read)| read(text));
    for _ in 0..if long() { 1_000_000 } else { 3_000 } {
        let (text, read) = dice.pick(&all);
        read(&garbled(text.clone().into_bytes(), &mut dice));
    }
}

/// Everything the verbs that look find on a machine, and who set its knobs.
fn look_at(machine: &mut Paper, knob: &str) {
    let _ = (look::cpus(machine, None), look::clocks(machine, None), look::idle(machine, None));
    let _ = (look::power(machine, None), look::devices(machine));
    let _ = powerband_knob::doctor::examine(machine, None, None);
    let reference = KnobRef::parse(knob).unwrap();
    if let Ok(why) = powerband_persist::why(machine, &[], &reference, &Selection::everywhere()) {
        assert!(!why.sentence.is_empty());
    }
}

#[test]
fn sweep_any_file_of_a_machine_may_be_garbled() {
    let mut dice = Dice(first_seed());
    let knobs = ["governor", "nic.rx-usecs@eth0", "sysctl.vm.swappiness", "ondemand.up_threshold", "cpufreq.boost"];
    let machines = ["omap3530", "server", "laptop", "guest", "microvm"].map(Paper::of);
    let paths = machines.each_ref().map(|machine| machine.files.keys().cloned().collect::<Vec<_>>());
    let mut machines = machines;
    for _ in 0..if long() { 50_000 } else { 60 } {
        let which = dice.below(machines.len());
        let machine = &mut machines[which];
        let mut before = Vec::new();
        for _ in 0..1 + dice.below(6) {
            // Half of them among the files that set knobs, which would else be seldom met.
            let boot = dice.below(2) == 0;
            let path = loop {
                let path = dice.pick(&paths[which]);
                if !boot || ["/etc/", "/boot/", "/proc/", "/var/"].iter().any(|start| path.starts_with(start)) {
                    break path;
                }
            };
            let text = garbled(machine.files[path].clone().into_bytes(), &mut dice);
            before.push((path.clone(), machine.files.insert(path.clone(), text).unwrap()));
        }
        let knob = dice.pick(&knobs);
        look_at(machine, knob);
        before.into_iter().rev().for_each(|(path, text)| drop(machine.files.insert(path, text)));
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
    CapturedMachine::of(&mut machine).write(&again.path().join("copy")).unwrap();
    let _ = machine.list("/");
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found.sort();
    found
}

pub(crate) fn copy(from: &Path, to: &Path) {
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
