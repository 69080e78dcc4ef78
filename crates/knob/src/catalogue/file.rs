//! `file:PATH`: any file at all, for what has no name of its own.
use powerband_machine::{Action, Change, Errno, Look};

use crate::kernel_file::{is_kernel_file, one_path, undo_of, value_of};
use crate::knob::Turning;
use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value};

/// Any file.
#[derive(Clone, Copy, Debug)]
pub struct File;

const ABOUT: About = About {
    name: "file:",
    short: "file:",
    aliases: &[],
    unit: "",
    scope: Scope::System,
    summary: "any file: file:/sys/module/x/parameters/y=1, file:/etc/app.conf=\"workers 4\"",
    doc: "The value is the whole text of the file. A missing file is created and, on undo, removed; its folder must \
          exist. A text that ended with a newline ends with one again. A file that cannot be read is not written, \
          because it could not be restored, and below /sys and /proc the value that is there is written once before, as for \
          sysctl.*.",
    accepts: "any text",
    needs: "",
    source: "the file's own documentation",
    invalid: "the file does not accept this value",
    phase: Phase::File,
};

/// Knobs of the whole machine have no sites to choose from.
pub(super) fn only_everywhere(name: &str, at: &Selection) -> Result<(), KnobError> {
    match at.site.as_deref() {
        None | Some("-") => Ok(()),
        Some(site) => Err(KnobError::NoSite { knob: name.into(), site: site.into(), there: vec!["-".into()] }),
    }
}

impl Knob for File {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        only_everywhere(name, at)?;
        let path = name.strip_prefix(ABOUT.name).unwrap_or(name);
        if !path.starts_with('/') {
            return Err(KnobError::value(name, "the path must begin with '/': write e.g. file:/tmp/x=1"));
        }
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        if machine.read(path) == Err(Errno::ENOENT) && machine.list(folder).is_err() {
            return Err(KnobError::absent(name, format!("the folder {folder} does not exist; make it first")));
        }
        let one = one_path(machine, path);
        let path = match (is_kernel_file(path), is_kernel_file(&one)) {
            (true, _) => one,
            // Under sudo a link of the caller's is followed with the caller's rights alone.
            (false, false) => path.to_owned(),
            (false, true) => {
                return Err(KnobError::value(name, format!("{path} leads to {one}; write file:{one}")));
            }
        };
        Ok(Sites { sites: vec![Site::system(path)], ..Sites::default() })
    }

    fn parse(&self, _name: &str, text: &str, _machine: &mut dyn Look, _site: &Site) -> Result<Value, KnobError> {
        Ok(Value::Text(text.to_owned()))
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        Vec::new()
    }

    fn same(&self, asked: &Value, reads: &str) -> bool {
        let typed = asked.typed();
        typed.trim_end() == reads.trim_end() || typed.trim() == value_of(reads)
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let path = site.path.clone().ok_or(Errno::ENOENT)?;
        let typed = value.typed();
        let (undo, before, text) = match machine.read(&path) {
            Ok(old) => {
                let newline = if old.is_empty() || old.ends_with('\n') { "\n" } else { "" };
                let text = format!("{typed}{newline}");
                let undo = match is_kernel_file(&path) {
                    true => undo_of(machine, &path, &old),
                    false => Action::WriteFile { path: path.clone(), text: old.clone() },
                };
                (undo, Some(old.trim_end().to_owned()), text)
            }
            // A file of the kernel is there or is not: nobody makes one.
            Err(Errno::ENOENT) if is_kernel_file(&path) => return Err(Errno::ENOENT),
            Err(Errno::ENOENT) => (Action::RemoveFile { path: path.clone() }, None, format!("{typed}\n")),
            Err(errno) => return Err(errno),
        };
        Ok(Turning { action: Action::WriteFile { path, text }, undo: Some(undo), before })
    }
}
