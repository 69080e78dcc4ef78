//! `sysctl.*`: kernel settings under /proc/sys, named as sysctl(8) names them.
use powerband_machine::{Errno, Look};
use powerband_sysfs::proc;

use crate::kernel_file::one_path;
use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value};

/// The family of kernel settings.
#[derive(Clone, Copy, Debug)]
pub struct Sysctl;

const ABOUT: About = About {
    name: "sysctl.",
    short: "sysctl.",
    aliases: &[],
    unit: "",
    scope: Scope::System,
    summary: "any kernel setting under /proc/sys: sysctl.vm.swappiness, sysctl.net.ipv4.tcp_rmem",
    doc: "Dots stand for the slashes below /proc/sys; where a name holds a dot itself (an interface eth0.5), write a slash \
          for it, as sysctl(8) does: sysctl.net.ipv4.conf.eth0/5.forwarding. Several numbers are written in quotes and \
          compared without regard to blanks. Ranges and lists work where the values are numbers. The value that is there is \
          written once before it is changed: where the kernel refuses that, or changes a file next to it, the setting could \
          not be restored and is refused (--accept-unrestorable changes it all the same).",
    accepts: "whatever the kernel takes there",
    needs: "",
    source: "sysctl(8), Linux Documentation/admin-guide/sysctl",
    invalid: "the kernel does not accept this value",
    phase: Phase::Sysctl,
};

fn path(name: &str) -> String {
    proc::sysctl(name.strip_prefix(ABOUT.name).unwrap_or(name))
}

impl Knob for Sysctl {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        super::file::only_everywhere(name, at)?;
        let path = path(name);
        if path.split('/').any(|part| part == "..") {
            return Err(KnobError::value(name, "a name under /proc/sys cannot go up with '..'"));
        }
        match machine.read(&path) {
            Err(Errno::ENOENT | Errno::ENOTDIR) => Err(KnobError::absent(
                name,
                format!("{path} does not exist on this kernel; `sysctl -a` lists what does"),
            )),
            Err(Errno::EISDIR) => Err(KnobError::absent(name, format!("{path} is a folder; name a setting in it"))),
            _ => Ok(Sites { sites: vec![Site::system(one_path(machine, &path))], ..Sites::default() }),
        }
    }

    fn parse(&self, _name: &str, text: &str, _machine: &mut dyn Look, _site: &Site) -> Result<Value, KnobError> {
        Ok(Value::Text(text.trim().to_owned()))
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        Vec::new()
    }

    fn same(&self, asked: &Value, reads: &str) -> bool {
        asked.typed().split_whitespace().eq(reads.split_whitespace())
    }

    fn shown(&self, reads: &str) -> String {
        reads.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn dots_and_slashes_change_places() {
        assert_eq!(path("sysctl.vm.swappiness"), "/proc/sys/vm/swappiness");
        assert_eq!(path("sysctl.net.ipv4.conf.eth0/5.forwarding"), "/proc/sys/net/ipv4/conf/eth0.5/forwarding");
    }
}
