//! A differential test of restoring on a real kernel: every writable file of its settings is changed by powerband and restored,
//! and every file that can be read is compared before and after.
mod judged;
mod moving;
mod values;

use std::collections::BTreeMap;

use powerband_bench_virtual::Guest;

use crate::desk::{on_desk, sweep_seed, sweeps};
use crate::recorded::score::Chance;

use judged::{Judged, Outcome};

/// Functions of the guest's shell.
const SHELL: &str = include_str!("../../guest/differential.sh");

/// Values that are tried for a file until the kernel takes one.
const MAX_TRIED: usize = 4;

/// Files that are in every sample, as each has a mechanism of its own, and whether they are changed and restored.
const CHOSEN: [(&str, bool); 11] = [
    ("/proc/sys/kernel/panic", true),
    ("/proc/sys/kernel/printk_devkmsg", true),
    ("/proc/sys/kernel/unprivileged_bpf_disabled", false),
    ("/proc/sys/kernel/usermodehelper/bset", false),
    ("/proc/sys/kernel/watchdog", true),
    ("/proc/sys/net/ipv4/ip_forward", true),
    ("/proc/sys/net/ipv4/neigh/eth0/retrans_time", true),
    ("/proc/sys/net/ipv4/route/flush", false),
    ("/proc/sys/vm/dirty_bytes", true),
    ("/sys/block/vda/queue/scheduler", true),
    ("/sys/devices/system/cpu/cpu1/online", true),
];

/// Files of a sample that are drawn.
const SAMPLE: usize = 12;

/// Files that a sweep changes together.
const TOGETHER: usize = 12;

/// Names where the files of a sweep are, with commas between, for work on one of them.
const BELOW: &str = "POWERBAND_SWEEP_BELOW";

/// Manners of changing a file.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Held,
    Kept,
    Killed,
}

impl Manner {
    /// The function of the guest's shell.
    fn function(self) -> &'static str {
        match self {
            Manner::Held => "held",
            Manner::Kept => "kept",
            Manner::Killed => "killed",
        }
    }
}

/// Runs a script with the functions.
#[track_caller]
fn shell(desk: &mut Guest, script: &str) -> (i32, String, String) {
    let ran = desk.script(format!(". /run/differential\n{script}")).unwrap();
    (ran.code, ran.text(), String::from_utf8_lossy(&ran.err).into_owned())
}

/// Texts of files, from lines with their paths.
fn texts(lines: &str) -> BTreeMap<&str, String> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (path, line) in lines.lines().filter_map(|line| line.split_once(':')) {
        let text = texts.entry(path).or_default();
        text.push_str(line);
        text.push('\n');
    }
    texts
}

/// Writable files with what they show; nothing for those that cannot be read.
type Files = BTreeMap<String, Option<String>>;

fn writable(desk: &mut Guest) -> Files {
    desk.put("/run/differential", SHELL.as_bytes()).unwrap();
    desk.put("/run/moving", moving::patterns().as_bytes()).unwrap();
    let (_, found, _) = shell(desk, "look; mv /run/now /run/before; all_files -perm -200; echo; cat /run/before");
    let (paths, lines) = found.split_once("\n\n").unwrap();
    let texts = texts(lines);
    paths.lines().map(|path| (path.to_owned(), texts.get(path).cloned())).collect()
}

/// The knob of a file.
fn knob(path: &str) -> String {
    let turned = |letter| match letter {
        '/' => '.',
        '.' => '/',
        other => other,
    };
    match path.strip_prefix("/proc/sys/") {
        Some(name) => format!("sysctl.{}", name.chars().map(turned).collect::<String>()),
        None => format!("file:{path}"),
    }
}

/// A file and a value for it.
struct Change<'a> {
    path: &'a str,
    shown: Option<&'a str>,
    value: String,
}

impl Change<'_> {
    fn setting(&self) -> String {
        format!("{}={}", knob(self.path), self.value)
    }

    /// True where powerband names it.
    fn is_named(&self, said: &str) -> bool {
        [' ', '=', ':'].iter().any(|next| said.contains(&format!("{}{next}", knob(self.path))))
    }
}

/// Changes files together; what came of it, and which of them showed another value meanwhile.
fn changed(desk: &mut Guest, manner: Manner, changes: &[Change]) -> (Outcome, Vec<bool>) {
    let paths: Vec<&str> = changes.iter().map(|it| it.path).collect();
    let quoted = |it: &Change| format!("'{}'", it.setting().replace('\'', "'\\''"));
    let settings: Vec<String> = changes.iter().map(quoted).collect();
    let script = format!("try {} '{}' {}", manner.function(), paths.join(" "), settings.join(" "));
    let (code, out, err) = shell(desk, &script);
    let (held, differing) = out.split_once("----\n").unwrap_or((&out, ""));
    let held = texts(held);
    let is_changed = |it: &Change| it.shown.map(str::trim) != held.get(it.path).map(|text| text.trim());
    let changed: Vec<bool> = changes.iter().map(is_changed).collect();
    let outcome = match Outcome::of(code, &err, differing, changed.iter().all(|it| *it)) {
        Outcome::Refused(said) if !changes.iter().any(|it| it.is_named(&said)) => Outcome::Different(said),
        outcome => outcome,
    };
    eprintln!("{manner:?} {}: {outcome:?}", settings.join(" "));
    if matches!(outcome, Outcome::Different(_)) {
        shell(desk, "forget");
    }
    (outcome, changed)
}

/// Changes a file to one value after the other until one is taken, and judges what came of it.
fn judge(desk: &mut Guest, manner: Manner, path: &str, shown: Option<&str>) -> Judged {
    let mut last = Judged { path: path.to_owned(), value: String::new(), outcome: Outcome::NoValue };
    for value in values::others(path, shown).into_iter().take(MAX_TRIED) {
        let change = Change { path, shown, value };
        let (outcome, _) = changed(desk, manner, std::slice::from_ref(&change));
        let goes_on = matches!(outcome, Outcome::Refused(_) | Outcome::Unchanged);
        last = Judged { path: path.to_owned(), value: change.value, outcome };
        if !goes_on {
            break;
        }
    }
    last
}

/// Changes files together, and each alone that prevents that. What differs only when they are changed together counts as well.
fn judge_together(desk: &mut Guest, manner: Manner, files: &[(&String, &Option<String>)]) -> Vec<Judged> {
    let mut judged = Vec::new();
    let mut changes: Vec<Change> = Vec::new();
    for (path, shown) in files {
        match values::others(path, shown.as_deref()).into_iter().next() {
            Some(value) if shown.is_some() => changes.push(Change { path, shown: shown.as_deref(), value }),
            _ => judged.push(judge(desk, manner, path, shown.as_deref())),
        }
    }
    while !changes.is_empty() {
        let (outcome, changed) = changed(desk, manner, &changes);
        let together = match &outcome {
            Outcome::Different(_) => Some((changes.iter().map(Change::setting).collect(), outcome.clone())),
            _ => None,
        };
        let first = judged.len();
        let well = matches!(outcome, Outcome::Restored | Outcome::Unchanged);
        let mut alone: Vec<bool> = match outcome {
            Outcome::NotChanged(said) | Outcome::Refused(said) => changes.iter().map(|it| it.is_named(&said)).collect(),
            _ => changed.iter().map(|changed| !(well && *changed)).collect(),
        };
        if !well && !alone.contains(&true) {
            alone.fill(true);
        }
        for (change, alone) in std::mem::take(&mut changes).into_iter().zip(alone) {
            match (alone, well) {
                (true, _) => judged.push(judge(desk, manner, change.path, change.shown)),
                (false, false) => changes.push(change),
                (false, true) => {
                    let (path, value) = (change.path.to_owned(), change.value);
                    judged.push(Judged { path, value, outcome: Outcome::Restored });
                }
            }
        }
        let differs = |it: &Judged| matches!(it.outcome, Outcome::Different(_));
        if let Some((settings, outcome)) = together.filter(|_| !judged[first..].iter().any(differs)) {
            let settings: Vec<String> = settings;
            judged.push(Judged { path: "together".to_owned(), value: settings.join(" "), outcome });
        }
    }
    judged
}

/// So many of the files that chance draws.
fn drawn<'a>(
    chance: &mut Chance,
    files: &'a BTreeMap<String, Option<String>>,
    count: usize,
) -> BTreeMap<&'a String, &'a Option<String>> {
    let paths: Vec<&String> = files.keys().collect();
    let mut drawn = BTreeMap::new();
    while drawn.len() < count.min(paths.len()) {
        let path = paths[usize::try_from(chance.between(0, paths.len() as u64)).unwrap()];
        drawn.insert(path, &files[path]);
    }
    drawn
}

/// One of the manners, most often the first.
fn any_manner(chance: &mut Chance) -> Manner {
    match chance.between(0, 8) {
        0 => Manner::Killed,
        1 => Manner::Kept,
        _ => Manner::Held,
    }
}

/// Changes files, some at a time.
fn judge_all(desk: &mut Guest, chance: &mut Chance, files: &[(&String, &Option<String>)]) -> Vec<Judged> {
    files.chunks(TOGETHER).flat_map(|files| judge_together(desk, any_manner(chance), files)).collect()
}

#[test]
fn a_sample_of_the_kernels_files_is_restored_or_refused_before_the_change() {
    on_desk(|desk| {
        let files = writable(desk);
        let mut chance = Chance::new(41);
        let mut some = drawn(&mut chance, &files, SAMPLE);
        some.extend(CHOSEN.map(|(path, _)| files.get_key_value(path).unwrap_or_else(|| panic!("no {path}"))));
        let judged: Vec<Judged> = some
            .into_iter()
            .map(|(path, shown)| judge(desk, any_manner(&mut chance), path, shown.as_deref()))
            .collect();
        judged::assert_none_differs(&judged);
        for (path, restored) in CHOSEN {
            let outcome = &judged.iter().find(|it| it.path == path).unwrap().outcome;
            let is_as_known = if restored { *outcome == Outcome::Restored } else { outcome.is_not_changed() };
            assert!(is_as_known, "{path}: {outcome:?}");
        }
    });
}

#[test]
fn sweep_every_file_of_the_kernel_is_restored_or_refused_before_the_change() {
    if !sweeps() {
        return;
    }
    on_desk(|desk| {
        let mut chance = Chance::new(sweep_seed());
        let mut files = writable(desk);
        let below = std::env::var(BELOW).unwrap_or_default();
        files.retain(|path, _| below.split(',').any(|below| path.starts_with(below)));
        let mut judged = judge_all(desk, &mut chance, &Vec::from_iter(&files));
        eprintln!("{}", judged::summary(&judged));
        let release = desk.script("uname -r").unwrap().text();
        if below.is_empty() {
            judged::record(release.trim(), &judged);
        }
        // From another state: a part of them has the value that was taken before.
        let mut set = String::new();
        for it in judged.iter().filter(|it| it.outcome == Outcome::Restored) {
            if chance.between(0, 3) == 0 {
                set.push_str(&format!("echo '{}' >'{}'\n", it.value.replace('\'', "'\\''"), it.path));
            }
        }
        shell(desk, &set);
        let files = writable(desk);
        let some = drawn(&mut chance, &files, files.len() / 5);
        let again = judge_all(desk, &mut chance, &Vec::from_iter(some));
        eprintln!("from another state: {}", judged::summary(&again));
        judged.extend(again);
        judged::assert_none_differs(&judged);
    });
}
