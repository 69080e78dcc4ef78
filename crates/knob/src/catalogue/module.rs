//! `module.NAME`: whether a module of the kernel is loaded, through modprobe(8) and rmmod(8).
use powerband_machine::{Action, Change, CommandPlace, Errno, Look};
use powerband_sysfs::module;

use super::file::only_everywhere;
use crate::knob::Turning;
use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value};

/// The family of the kernel's modules.
#[derive(Clone, Copy, Debug)]
pub struct Module;

const ABOUT: About = About {
    name: "module.",
    short: "module.",
    aliases: &[],
    unit: "",
    scope: Scope::System,
    summary: "whether a kernel module is loaded: module.tcp_bbr=loaded, module.msr=absent",
    doc: "loaded runs `modprobe NAME`, absent `modprobe -r NAME`, both as root. Undo removes the modules that loading brought \
          along and leaves those that were there; what was removed is loaded again, with the parameters that modprobe's \
          configuration gives it. A module that is in use stays, and the message is the kernel's. What is built into the \
          kernel cannot be absent. It is set before all else, but a knob that exists only with the module needs a command \
          of its own, after this one.",
    accepts: "loaded, absent",
    needs: "",
    source: "modprobe(8), rmmod(8); /sys/module/NAME, Linux Documentation/ABI/stable/sysfs-module",
    invalid: "",
    phase: Phase::Module,
};

/// In the kernel.
const LOADED: &str = "loaded";
/// Not in the kernel.
const ABSENT: &str = "absent";

/// As root: under sudo, a command of a plan runs as the user who called.
const ROOT: Option<u32> = Some(0);

/// The module of a knob's name, as the kernel spells it. It becomes a word of a shell's line.
fn module(name: &str) -> Result<String, KnobError> {
    let module = name.strip_prefix(ABOUT.name).unwrap_or(name);
    if module.is_empty() || !module.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
        return Err(KnobError::value(
            name,
            "a module's name has letters, digits, '_' and '-'; write e.g. module.msr=loaded",
        ));
    }
    Ok(module.replace('-', "_"))
}

/// The module of a site, which its path names.
fn module_of(path: &str) -> Option<&str> {
    CommandPlace::of(path)?.line.split(['/', ' ']).nth(5)
}

/// What reads whether it is loaded.
fn place(module: &str) -> String {
    let line = format!("[ -e /sys/module/{module} ] && echo {LOADED} || echo {ABSENT}");
    CommandPlace { line: &line, user: ROOT }.to_string()
}

fn run(program: &str, arguments: impl IntoIterator<Item = impl Into<String>>) -> Action {
    let argv = std::iter::once(program.to_owned()).chain(arguments.into_iter().map(Into::into)).collect();
    Action::Run { argv, user: ROOT }
}

/// Built-in code that takes parameters or has a version has a folder as well, but no state.
fn is_built_in(machine: &mut dyn Look, module: &str) -> bool {
    let folder = module::folder(module);
    machine.list(&folder).is_ok() && machine.read(&format!("{folder}/initstate")) == Err(Errno::ENOENT)
}

/// What modprobe would do to load it: a line each.
fn needed(machine: &mut dyn Look, module: &str) -> Result<String, Errno> {
    machine.read(&CommandPlace { line: &format!("modprobe -D {module}"), user: ROOT }.to_string())
}

/// The modules that loading brings along and that are not there yet, last first: those to remove again.
fn brought(machine: &mut dyn Look, needed: &str) -> Vec<String> {
    let mut modules: Vec<String> = Vec::new();
    for line in needed.lines() {
        let mut words = line.split_whitespace();
        let file = words.next().filter(|word| *word == "insmod").and(words.next());
        let file = file.and_then(|path| path.rsplit('/').next()?.split(".ko").next());
        modules.extend(file.map(|file| file.replace('-', "_")));
    }
    modules.retain(|module| machine.list(&module::folder(module)).is_err());
    modules.reverse();
    modules
}

impl Knob for Module {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        only_everywhere(name, at)?;
        let path = place(&module(name)?);
        match machine.read(&path) {
            // A dry run executes nothing.
            Ok(_) | Err(Errno::ECANCELED) => Ok(Sites { sites: vec![Site::system(path)], ..Sites::default() }),
            Err(Errno::EOPNOTSUPP) => {
                Err(KnobError::absent(name, format!("no commands are run on {}", machine.identity().name)))
            }
            Err(errno) => Err(KnobError::Unreadable { knob: name.to_owned(), path, errno }),
        }
    }

    fn parse(&self, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError> {
        let module = module(name)?;
        let built_in = || KnobError::value(name, format!("{module} is built into this kernel, so it is always there"));
        match text.trim() {
            ABSENT if is_built_in(machine, &module) => return Err(built_in()),
            LOADED | ABSENT => {}
            other => {
                return Err(KnobError::value(name, format!("'{other}' is none of its values: {LOADED}, {ABSENT}")));
            }
        }
        let reads = site.path.as_deref().and_then(|path| machine.read(path).ok()).unwrap_or_default();
        if reads.trim() == ABSENT {
            match needed(machine, &module) {
                Ok(lines) if lines.lines().any(|line| line.starts_with("builtin ")) && !lines.contains("insmod ") => {
                    return Err(built_in());
                }
                Ok(_) | Err(Errno::ECANCELED) => {}
                Err(_) => {
                    let why =
                        format!("modprobe finds no module {module} for this kernel; `modprobe -D {module}` says why");
                    return Err(KnobError::value(name, why));
                }
            }
        }
        Ok(Value::Word(text.trim().to_owned()))
    }

    fn choices(&self, machine: &mut dyn Look, site: &Site) -> Vec<Value> {
        let built_in = site.path.as_deref().and_then(module_of).is_some_and(|module| is_built_in(machine, module));
        let words = if built_in { &[LOADED][..] } else { &[ABSENT, LOADED] };
        words.iter().map(|&word| Value::Word(word.to_owned())).collect()
    }

    fn skips_when_equal(&self) -> bool {
        true
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let path = site.path.as_deref().ok_or(Errno::ENOENT)?;
        let before = machine.read(path)?.trim().to_owned();
        let module = module_of(path).ok_or(Errno::EINVAL)?;
        let (action, undo) = if value.typed() == ABSENT {
            (run("modprobe", ["-r", module]), run("modprobe", [module]))
        } else {
            let lines = if before == LOADED { String::new() } else { needed(machine, module)? };
            (run("modprobe", [module]), run("rmmod", brought(machine, &lines)))
        };
        Ok(Turning { action, undo: Some(undo), before: Some(before) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_kernels_and_no_line_of_a_shell() {
        assert_eq!(module("module.tcp-bbr").unwrap(), "tcp_bbr");
        assert_eq!(module_of(&place("tcp_bbr")), Some("tcp_bbr"));
        for wrong in ["module.", "module.a b", "module.x;reboot", "module.../../etc"] {
            assert!(module(wrong).is_err(), "{wrong}");
        }
    }
}
