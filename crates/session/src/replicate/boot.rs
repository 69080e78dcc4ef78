//! Trying who sets the governor at boot, over the recording of a server that boots by init scripts.
use powerband_host::CarriedRecording;
use powerband_knob::Selection;
use powerband_persist::{BootStanding, why};
use powerband_record::KnobRef;
use powerband_report::replication::Tried;

use crate::SessionError;

macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../server/", $name)))
    };
}

/// Of machines/recorded/server what says who sets the governor, and of its CPUs the first.
const FILES: [(&str, &str); 12] = [
    file!("recorded.toml"),
    file!("root/boot/config-2.6.18-398.el5"),
    file!("root/etc/inittab"),
    file!("root/etc/rc.d/init.d/cpuspeed"),
    file!("root/etc/sysconfig/cpuspeed"),
    file!("root/proc/cmdline"),
    file!("root/proc/sys/kernel/osrelease"),
    file!("root/sys/devices/system/cpu/cpu0/cpufreq/affected_cpus"),
    file!("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors"),
    file!("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"),
    file!("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    file!("root/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
];

/// The recording, with one of its files changed.
fn recorded(change: Option<(&str, &str)>) -> std::io::Result<CarriedRecording> {
    CarriedRecording::new(FILES.map(|(name, text)| {
        let text = change.filter(|(changed, _)| *changed == name).map_or(text, |(_, text)| text);
        (name, text)
    }))
}

/// Whether the kernel's own choice is overridden by cpuspeed, which loads the driver and sets ondemand.
pub(super) fn chain() -> Result<Tried, SessionError> {
    told(None)
}

fn told(change: Option<(&str, &str)>) -> Result<Tried, SessionError> {
    let failed = |why: &dyn std::fmt::Display| SessionError::Failed(format!("the recording of a server: {why}"));
    let folder = recorded(change).map_err(|error| failed(&error))?;
    let mut machine = folder.open("server").map_err(|error| failed(&error))?;
    let governor = KnobRef::parse("governor").map_err(|error| failed(&error))?;
    let found = why(&mut machine, &[], &governor, &Selection::default()).map_err(|error| failed(&error))?;
    let sets = |who: &str, value: &str, standing: &dyn Fn(&BootStanding) -> bool| {
        let mut of = found.findings.iter().filter(|finding| finding.who == who);
        of.any(|finding| finding.values.iter().any(|set| set == value) && standing(&finding.standing))
    };
    let so = sets("the kernel", "userspace", &|standing| matches!(standing, BootStanding::Overridden { .. }))
        && sets("cpuspeed", "ondemand", &|standing| matches!(standing, BootStanding::Acts))
        && found.sentence.contains("loads acpi-cpufreq");
    Ok(Tried::so(so, found.sentence))
}

#[cfg(test)]
mod tests {
    use powerband_report::replication::ClaimOutcome;

    use super::*;

    #[test]
    fn without_the_service_in_the_runlevel_the_chain_is_another() {
        assert_eq!(chain().map(|tried| tried.holds).ok(), Some(ClaimOutcome::Yes));
        for change in [
            ("root/etc/inittab", "id:1:initdefault:\n"),
            ("root/etc/sysconfig/cpuspeed", "GOVERNOR=performance\n"),
            ("root/boot/config-2.6.18-398.el5", "CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y\n"),
        ] {
            assert_eq!(told(Some(change)).map(|tried| tried.holds).ok(), Some(ClaimOutcome::No), "{change:?}");
        }
    }
}
