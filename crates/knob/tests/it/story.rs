//! Stories: commands to a machine of files in `stories/*.txt`; what each of them gives, and which files it changes, is in `snapshots/`.
use std::collections::BTreeMap;
use std::path::Path;

use powerband_knob::doctor::{Config, DefaultGovernor, Examined, examine, examine_file};
use powerband_knob::*;
use powerband_machine::{Change, Coalescing, Errno, Hold};
use powerband_record::{Axis, CpuList, KnobRef, Setting, Side};
use serde_json::Value as Json;

use crate::fake::{Fake, ROOT, Rules, bare, cpufreq};

macro_rules! stories {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

stories! { axes cards doctor held_latency kernel_configuration limits look modes places refusals restored settings whole_laptop witness }

#[expect(clippy::disallowed_methods, reason = "the stories are files next to the tests")]
fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/stories/{name}.txt"));
    std::fs::read_to_string(path).unwrap()
}

fn check(name: &str) {
    let mut story = Story::new();
    let mut told = String::new();
    for line in text_of(name).lines() {
        told += &format!("{line}\n");
        for answer in story.tell(line) {
            told += &format!("    {answer}\n");
        }
    }
    insta::assert_snapshot!(name, told);
}

/// A machine, and what was done to it so far.
struct Story {
    machine: Fake,
    narrow: Selection,
    applied: Vec<(Applied, BTreeMap<String, String>)>,
    witness: Option<Witness>,
}

impl Story {
    fn new() -> Self {
        Self { machine: bare(), narrow: Selection::everywhere(), applied: Vec::new(), witness: None }
    }

    /// Carries out a line; a comment or a heading does nothing.
    fn tell(&mut self, line: &str) -> Vec<String> {
        let line =
            line.replace("$P", &format!("{ROOT}/policy")).replace("$F", ROOT).replace("$C", "/sys/devices/system/cpu");
        let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let words: Vec<&str> = rest.split(' ').filter(|word| !word.is_empty()).collect();
        match verb {
            "" | "#" => Vec::new(),
            "machine" => {
                *self = Self::new();
                self.become_machine(&words);
                Vec::new()
            }
            "set" | "hold" | "restore" | "force" | "meddle" => self.act(verb, rest),
            "clocks" | "cpus" | "idle" | "power" | "devices" | "policies" | "get" | "probe" | "explain" => {
                self.look(verb, &words)
            }
            "doctor" | "config" => self.examine(verb, &words),
            _ if self.prepare(verb, &words, rest) => Vec::new(),
            _ => self.ask(verb, rest, &words),
        }
    }

    fn become_machine(&mut self, words: &[&str]) {
        let rules = Rules {
            old_limits: words.contains(&"old-limits"),
            late: words.contains(&"late"),
            per_policy: words.contains(&"per-policy"),
        };
        for word in words {
            if let Some((policies, width)) = word.split_once('x') {
                self.machine = cpufreq(policies.parse().unwrap(), width.parse().unwrap(), rules);
            } else if let Some(like) = word.strip_prefix("like:") {
                for line in text_of(&format!("machines/{like}")).lines() {
                    assert_eq!(self.tell(line), [""; 0], "{line}");
                }
            } else if *word == "nobody" {
                self.machine = std::mem::replace(&mut self.machine, bare()).asked_by_nobody();
            }
        }
    }

    /// What another has done to the machine; false if it is no such verb.
    fn prepare(&mut self, verb: &str, words: &[&str], rest: &str) -> bool {
        let machine = &mut self.machine;
        let first = words.first().copied().unwrap_or_default().to_owned();
        let errno = || (1..200).map(Errno).find(|errno| errno.name() == words[1]).unwrap();
        let text = || {
            rest.split_once(' ')
                .map_or("", |(_, text)| text)
                .replace("\\n", "\n")
                .replace("\\t", "\t")
                .replace("\\0", "\0")
        };
        match verb {
            "file" => drop(machine.files.insert(first, text() + "\n")),
            "gone" => machine.files.retain(|path, _| !path.starts_with(&first)),
            // So that a kernel's configuration differs in one line.
            "edit" => {
                let text = text();
                let (old, new) = text.split_once(" => ").unwrap();
                let file = machine.files.get_mut(&first).unwrap();
                assert!(file.contains(old), "{old}");
                *file = file.replace(old, new);
            }
            "card" => {
                drop(machine.cards.insert(first, Coalescing::parse(&text().replace(' ', "\n").replace('=', " "))))
            }
            "refuse" => drop(machine.refuse.insert(first, errno())),
            "unreadable" => drop(machine.unreadable.insert(first, errno())),
            "readable" => machine.unreadable.clear(),
            "willing" => machine.refuse.clear(),
            "deaf" => machine.deaf = Some(first),
            "stuck" => machine.stuck_once_written = Some(first),
            "ceiling" => machine.ceiling = Some(first.parse().unwrap()),
            "another-holds" => machine.held.push(first.parse().unwrap()),
            "quota-reads" => machine.quota_reads = Some(first),
            "only" => self.narrow = Selection::cpus(first.parse().unwrap()),
            "everywhere" => self.narrow = Selection::everywhere(),
            // A machine whose kernel has a folder in each CPU's.
            "old-folders" => {
                for (path, text) in std::mem::take(&mut machine.files) {
                    let cpu = path.strip_prefix(&format!("{ROOT}/policy")).and_then(|rest| rest.split_once('/'));
                    let old = cpu.map(|(cpu, file)| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"));
                    machine.files.insert(old.unwrap_or(path), text);
                }
            }
            _ => return false,
        }
        true
    }

    fn act(&mut self, verb: &str, rest: &str) -> Vec<String> {
        let (before, cards, requests) =
            (self.machine.files.clone(), self.machine.cards.clone(), self.machine.requests.len());
        let mut told = match verb {
            "meddle" => {
                let (path, text) = rest.split_once(' ').unwrap();
                self.machine.meddle(path, text);
                return Vec::new();
            }
            "restore" | "force" => return self.restore(verb == "force"),
            _ => {
                let hold = if verb == "set" { Hold::Set } else { Hold::Held };
                match apply(&mut self.machine, &Setting::parse(rest).unwrap(), hold, &self.narrow) {
                    Ok(applied) => {
                        let told = told(&applied);
                        assert_eq!(applied.group.as_ref(), applied.group.as_ref().and(self.machine.groups.last()));
                        self.applied.push((applied, before.clone()));
                        told
                    }
                    Err(error) => vec![why(&error)],
                }
            }
        };
        told.extend(changed(&before, &self.machine.files));
        told.extend(self.machine.requests[requests..].iter().map(|request| format!("request: {request:?}")));
        for (name, card) in self.machine.cards.iter().filter(|(name, card)| cards[*name] != **card) {
            told.push(format!("{name}: {card:?}"));
        }
        told
    }

    /// Restores what was set last; what differs afterwards from what there was before it.
    fn restore(&mut self, force: bool) -> Vec<String> {
        let (applied, before) = self.applied.pop().unwrap();
        let restored = restore(&mut self.machine, &applied.entries, force);
        let mut told = vec![format!("undone {}, complete: {}", restored.undone, restored.complete())];
        let foreign = |foreign: &Foreign| {
            format!("{} at {}: {} in place of {}", foreign.knob, foreign.site, foreign.found, foreign.ours)
        };
        told.extend(restored.foreign.iter().map(|one| format!("foreign: {}", foreign(one))));
        told.extend(restored.inexact.iter().map(|one| format!("inexact: {}", foreign(one))));
        told.extend(restored.left().into_iter().map(|left| format!("left: {left}")));
        told.extend(changed(&before, &self.machine.files));
        told.extend(self.machine.cards.iter().map(|(name, card)| format!("{name}: {card:?}")));
        told.push(format!("in the ledger: {}", self.machine.open_entries().len()));
        if !restored.complete() {
            self.applied.push((applied, before));
        }
        told
    }

    fn look(&mut self, verb: &str, words: &[&str]) -> Vec<String> {
        use powerband_knob::look;
        let machine = &mut self.machine;
        let list = words.first().and_then(|word| word.parse::<CpuList>().ok());
        let found = match verb {
            "clocks" => look::clocks(machine, list.as_ref()).map(|found| serde_json::to_value(found).unwrap()),
            "cpus" => look::cpus(machine, list.as_ref()).map(|found| serde_json::to_value(found).unwrap()),
            "idle" => look::idle(machine, list.as_ref()).map(|found| serde_json::to_value(found).unwrap()),
            "power" => look::power(machine, list.as_ref()).map(|found| serde_json::to_value(found).unwrap()),
            "devices" => serde_json::to_value(look::devices(machine)).map_err(|_| unreachable!()),
            "probe" => probe(machine, None).map(|found| serde_json::to_value(found).unwrap()),
            "get" => get(machine, &KnobRef::parse(words[0]).unwrap(), &self.narrow)
                .map(|found| serde_json::to_value(found).unwrap()),
            "explain" => docs::explain(words[0]).map(|page| page.lines().collect()),
            _ => policies(machine, "cpufreq").map(|found| {
                let unread = serde_json::to_value(&found.unread).unwrap();
                serde_json::json!({ "active": found.active, "asleep": found.asleep, "unread": unread })
            }),
        };
        found.map_or_else(|error| vec![why(&error)], |found| lines(&found))
    }

    fn examine(&mut self, verb: &str, words: &[&str]) -> Vec<String> {
        let config = |path: &str, machine: &Fake| Config::parse(&machine.files[path]).unwrap();
        let section = words.first().filter(|word| !word.starts_with('/')).copied();
        let governor = words.get(1).map(|name| DefaultGovernor::parse(name));
        let governor = match governor.transpose() {
            Ok(governor) => governor,
            Err(why) => return vec![why],
        };
        if verb == "config" {
            return found(&examine_file(&config(words[0], &self.machine), "given", governor), None);
        }
        let given = words.first().filter(|_| section.is_none());
        let given = given.map(|path| (config(path, &self.machine), "given".to_owned()));
        found(&examine(&mut self.machine, given, governor), section)
    }

    fn ask(&mut self, verb: &str, rest: &str, words: &[&str]) -> Vec<String> {
        let machine = &mut self.machine;
        match verb {
            "plan" => match plan(&Setting::parse(rest).unwrap(), machine, &self.narrow) {
                Ok(steps) => describe_steps(&steps),
                Err(error) => vec![why(&error)],
            },
            // An axis, behind it the modes it is next to.
            "values" => {
                let modes = words[1..].iter().map(|mode| (*mode).to_owned()).collect();
                let beside = Beside { modes, ..Beside::default() };
                match expand(&Axis::parse(&words[0].replace('~', " ")).unwrap(), machine, &self.narrow, &beside) {
                    Ok(expanded) => {
                        let values: Vec<String> = expanded.values.iter().map(Value::typed).collect();
                        let mut told = vec![values.join(",")];
                        told.extend(expanded.lacking.iter().map(|(mode, value)| format!("{mode} lacks {value}")));
                        told.extend(expanded.notes.into_iter().map(|note| format!("note: {note}")));
                        told
                    }
                    Err(error) => vec![why(&error)],
                }
            }
            "verify" => {
                let moved = verify(machine, &self.applied.last().unwrap().0);
                moved
                    .iter()
                    .map(|moved| {
                        format!(
                            "{}@{} ({}): {}, not {}",
                            moved.knob, moved.site, moved.path, moved.found, moved.expected
                        )
                    })
                    .collect()
            }
            "links" => vec![format!("{:?}", self.applied.last().unwrap().0.links_are_back(machine))],
            "requests" => machine.requests.iter().map(|request| format!("{request:?}")).collect(),
            "written" => machine.written.drain(..).map(|(path, text)| format!("{path}: {text}")).collect(),
            "groups" => {
                let names: std::collections::BTreeSet<_> = machine.groups.iter().collect();
                vec![format!("{} of {} names", names.len(), machine.groups.len())]
            }
            "summary" => vec![format!("{:?}", self.applied.last().unwrap().0.summary())],
            "settles" => vec![settles_ns(&Setting::parse(rest).unwrap()).to_string()],
            "sides" => [Side::Near, Side::Far]
                .map(|side| for_side(&Setting::parse(rest).unwrap(), side).turns().to_string())
                .into(),
            "reads-back" => self
                .applied
                .last()
                .unwrap()
                .0
                .sites
                .iter()
                .map(|site| format!("{:?}", site.reads_back))
                .chain(machine.open_entries().iter().map(|entry| format!("ledger: {:?}", entry.reads_back)))
                .collect(),
            "steps" => {
                let steps: Vec<_> = machine.open_entries().iter().map(|entry| entry.step).collect();
                vec![format!("{} entries, one step: {}", steps.len(), steps.iter().all(|step| *step == steps[0]))]
            }
            "witness" => {
                self.witness = Some(Witness::begin(machine, &self.applied.last().unwrap().0));
                Vec::new()
            }
            "testify" => self.witness.as_ref().unwrap().tell(machine),
            _ => panic!("no such verb: {verb} {rest}"),
        }
    }
}

/// The variant of an error, what it is for the caller, and its sentence.
fn why(error: &KnobError) -> String {
    let variant = format!("{error:?}");
    let variant = variant.split([' ', '(']).next().unwrap();
    format!("{variant} ({:?}): {error}", error.kind())
}

fn told(applied: &Applied) -> Vec<String> {
    let mut told: Vec<String> = applied.sites.iter().map(Reached::words).collect();
    told.extend(applied.reach.iter().map(|reach| format!("reach: {reach}")));
    told.extend(applied.notes.iter().map(|note| format!("note: {note}")));
    told.extend(applied.links.iter().map(|link| format!("link: {link}")));
    told.push(format!("entries: {}, inexact: {}", applied.entries.len(), applied.inexact().len()));
    told
}

/// Files whose texts differ, with both.
fn changed(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let paths: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let text = |files: &BTreeMap<String, String>, path: &String| {
        files.get(path).map_or("(none)", |text| text.trim_end()).to_owned()
    };
    let differ = paths.into_iter().filter(|path| before.get(*path) != now.get(*path));
    differ.map(|path| format!("{path}: {} → {}", text(before, path), text(now, path))).collect()
}

/// An object with a line for each key, and for each element of a list.
fn lines(value: &Json) -> Vec<String> {
    let list = |key: &str, value: &Json| match value {
        Json::Array(all) if all.iter().any(Json::is_object) => all.iter().map(|one| format!("{key}{one}")).collect(),
        Json::String(text) => vec![format!("{key}{text}")],
        one => vec![format!("{key}{one}")],
    };
    match value {
        Json::Object(all) => all.iter().flat_map(|(key, value)| list(&format!("{key}: "), value)).collect(),
        Json::Array(all) if all.iter().all(Json::is_string) => all.iter().flat_map(|one| list("", one)).collect(),
        other => list("", other),
    }
}

/// What the doctor finds, in one section or in all.
fn found(examined: &Examined, only: Option<&str>) -> Vec<String> {
    let mut told = vec![format!("missing: {}", examined.missing())];
    for section in examined.sections.iter().filter(|section| only.is_none_or(|only| only == section.name)) {
        for one in &section.findings {
            let todo = one.todo.as_ref().map_or(String::new(), |todo| format!(" → {todo}"));
            told.push(format!("{} {:?} {}: {}{todo}", section.name, one.mark, one.about, one.told));
        }
    }
    if let Some(kernel) = examined.kernel.as_ref().filter(|_| only.is_none_or(|only| only == "kernel")) {
        told.push(format!("kernel {:?} of {}, {} symbols", kernel.release, kernel.source, kernel.symbols.len()));
        told.extend(kernel.fragment.iter().map(|line| format!("fragment {line}")));
    }
    told
}
