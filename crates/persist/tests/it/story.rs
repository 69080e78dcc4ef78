//! Stories: commands to a machine of prepared files in `stories/*.txt`; what each of them finds or writes is in `snapshots/`.
use std::path::Path;

use powerband_machine::{Action, Before, Errno, Hold, Turn};
use powerband_persist::{BootFinding, BootStanding, KeepError, Keeping, KnobSetter, set_by};

use crate::tree::{Tree, cpus, empty};

macro_rules! stories {
    ($($name:ident)*) => { $(#[test] fn $name() { check(stringify!($name)); })* };
}

stories! { cards conflicts keeping lists scripts services slurm systems unreadable }

#[expect(clippy::disallowed_methods, reason = "the stories are files next to the tests")]
fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/stories/{name}.txt"));
    std::fs::read_to_string(path).unwrap()
}

fn check(name: &str) {
    let mut tree = empty();
    let mut told = String::new();
    for line in text_of(name).lines() {
        told += &format!("{line}\n");
        for answer in tell(&mut tree, line) {
            told += &format!("    {answer}\n");
        }
    }
    insta::assert_snapshot!(name, told);
}

/// Carries out a line; a comment or a heading does nothing.
fn tell(tree: &mut Tree, line: &str) -> Vec<String> {
    let line = line.replace("$P", "/sys/devices/system/cpu/cpufreq/policy").replace("$C", "/sys/devices/system/cpu");
    let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let text = || text.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0");
    match verb {
        "why" => return why(&tree.why(rest)),
        "keep" | "try-keep" => match tree.keeping(rest) {
            Ok(keeping) => {
                if verb == "keep" {
                    tree.keep(&keeping);
                }
                return kept(&keeping, verb == "keep");
            }
            Err(error) => return vec![refused(&error)],
        },
        "checked" => {
            let (checked, changed) = tree.checked();
            let line = |one: &powerband_persist::Checked| {
                let reads = one.reads.as_deref().unwrap_or("nothing");
                let culprit = one.culprit.as_deref().unwrap_or("nobody");
                format!(
                    "{}@{}: reads {reads}, in force: {}, by {culprit}",
                    one.setting.knob, one.setting.site, one.in_force
                )
            };
            return checked.iter().map(line).chain(changed).collect();
        }
        "set-by" => return vec![format!("{:?}", set_by(tree, &[], "cpufreq.governor", rest))],
        "" | "#" => {}
        // A machine: of nothing, or four CPUs in two policies under a driver, with these governors and one that reads.
        "machine" => {
            *tree = empty();
            if let [driver, governors, reads] = rest.split(" | ").collect::<Vec<_>>()[..] {
                *tree = cpus(driver, governors, reads);
            }
        }
        "like" => {
            for line in text_of(&format!("machines/{rest}")).lines() {
                assert_eq!(tell(tree, line), [""; 0], "{line}");
            }
        }
        "default" => tree.set_default_governor(rest),
        "systemd" => tree.start_systemd(rest),
        "file" => tree.put(first, text() + "\n"),
        "raw" => tree.put(first, text()),
        "script" => tree.put_script(first, text() + "\n"),
        "reads" => ["policy0", "policy2"].iter().for_each(|policy| {
            tree.put(&format!("/sys/devices/system/cpu/cpufreq/{policy}/scaling_governor"), format!("{rest}\n"));
        }),
        "gone" => tree.remove(rest),
        "unreadable" => tree.fail(first, (1..200).map(Errno).find(|errno| errno.name() == text()).unwrap()),
        "hold" | "set" => tree.set(&ours(if verb == "set" { Hold::Set } else { Hold::Held })),
        _ => panic!("no such verb: {line}"),
    }
    Vec::new()
}

/// What powerband itself has set.
fn ours(hold: Hold) -> Turn {
    let path = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let undo = Some(Action::WriteFile { path: path.into(), text: "schedutil".into() });
    let before = Before::Reads("schedutil".to_owned());
    let (knob, site, asked) = ("cpufreq.governor".to_owned(), "policy0".to_owned(), "performance".to_owned());
    Turn { undo, hold, knob, site, asked, before, read_back: Some(path.into()), ..Turn::write(path, "performance") }
}

fn why(why: &KnobSetter) -> Vec<String> {
    std::iter::once(why.sentence.clone()).chain(why.findings.iter().map(finding)).collect()
}

fn finding(one: &BootFinding) -> String {
    let line = one.line.map_or(String::new(), |line| format!(":{line}"));
    let (how, because) = (one.how.as_deref().unwrap_or("-"), one.because.as_deref().unwrap_or("-"));
    let standing = match &one.standing {
        BootStanding::Acts => "acts".to_owned(),
        other => format!("{other:?}"),
    };
    let explains = if one.explains { ", explains it" } else { "" };
    let (who, path, values, sites) = (&one.who, &one.path, one.values.join("|"), one.sites.join(" "));
    format!(
        "{:?} {who} {path}{line} `{}`: {values} at {sites}; {how}; {because}; {standing}{explains}",
        one.phase,
        one.text.replace('\n', "\\n")
    )
}

fn kept(keeping: &Keeping, whole: bool) -> Vec<String> {
    let mut told = Vec::new();
    for one in &keeping.manifest.settings {
        let everywhere = if one.everywhere { "everywhere" } else { "not everywhere" };
        told.push(format!(
            "{}@{}={} by {}, {everywhere}; boot option {:?}",
            one.knob,
            one.site,
            one.value,
            one.by,
            one.boot_option()
        ));
    }
    if whole {
        told.push(format!("folders {}", keeping.folders.join(" ")));
        for file in &keeping.files {
            told.push(format!("{} {}", file.path, if file.after.is_none() { "is removed" } else { "holds" }));
            told.extend(file.after.iter().flat_map(|text| text.lines()).map(|line| format!("| {line}")));
        }
    }
    told
}

/// The variant of an error and its sentence.
fn refused(error: &KeepError) -> String {
    let variant = format!("{error:?}");
    format!("{}: {error}", variant.split([' ', '(']).next().unwrap())
}
