//! A machine that is nothing but texts in memory: a recorded one, on which every service is on that turns knobs.
use std::collections::BTreeMap;
use std::fs;

use powerband_machine::{Entry, Errno, Handle, Identity, Look};

use crate::desk::workspace;
use crate::fuzzed::files;

/// Files by path.
pub(crate) struct Paper {
    pub(crate) files: BTreeMap<String, String>,
    identity: Identity,
}

/// Files that set knobs at boot, as their programs' manuals write them.
const AT_BOOT: [(&str, &str); 25] = [
    ("/proc/cmdline", "root=/dev/sda1 ro cpufreq.default_governor=performance intel_pstate=passive quiet\n"),
    (
        "/etc/modprobe.d/x.conf",
        "# options\noptions cpufreq_ondemand x=1\ninstall acpi-cpufreq /bin/true\nblacklist x\n",
    ),
    ("/etc/modules", "cpufreq_ondemand\n"),
    (
        "/etc/udev/rules.d/x.rules",
        "ACTION==\"add\", SUBSYSTEM==\"cpu\", KERNEL==\"cpu[0-9]*\", \\\n ATTR{cpufreq/scaling_governor}=\"performance\"\nSUBSYSTEM==\"net\", RUN+=\"/sbin/ethtool -C %k rx-usecs 10\"\n",
    ),
    (
        "/etc/systemd/network/x.link",
        "[Match]\nOriginalName=*\n[Link]\nRxCoalesceSec=10us\nRxMaxCoalescedFrames=4\nUseAdaptiveRxCoalesce=no\n",
    ),
    ("/etc/sysctl.d/x.conf", "vm.swappiness = 10\n-net/core/rmem_max=212992 # no\n; kernel.x=1\n"),
    (
        "/etc/tmpfiles.d/x.conf",
        "w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - powersave\nw+ \"/sys/x y\" - - - - 1\n",
    ),
    ("/etc/sysfs.conf", "devices/system/cpu/cpu0/cpufreq/scaling_governor = userspace\nmode devices/x = 644\n"),
    (
        "/etc/network/interfaces",
        "auto eth0\niface eth0 inet dhcp\n  up ethtool -C $IFACE rx-usecs 30\n  coalesce-rx-usecs 7\n",
    ),
    (
        "/etc/sysconfig/network-scripts/ifcfg-eth0",
        "DEVICE=eth0\nETHTOOL_OPTS=\"-C ${DEVICE} rx-usecs 5; -K eth0 tso off\"\n",
    ),
    (
        "/etc/NetworkManager/system-connections/x",
        "[connection]\nid=x\ninterface-name=eth0\n[ethtool]\ncoalesce-rx-usecs=4\n",
    ),
    (
        "/etc/rc.local",
        "#!/bin/sh\nfor i in /sys/devices/system/cpu/cpu[0-9]*; do echo ondemand > $i/cpufreq/scaling_governor; done\ncpupower frequency-set -g performance\nexit 0\n",
    ),
    ("/etc/rc.d/init.d/cpuspeed", "#!/bin/sh\n# chkconfig: 12345 06 99\ngovernor=${GOVERNOR:-ondemand}\n"),
    ("/etc/rc.d/rc3.d/S06cpuspeed", "#!/bin/sh\n"),
    ("/etc/inittab", "# c\nid:3:initdefault:\n"),
    ("/etc/sysconfig/cpuspeed", "GOVERNOR=\nMAX_SPEED=2000000\nUP_THRESHOLD='80' # x\n"),
    ("/etc/default/cpufrequtils", "ENABLE=\"true\"\nGOVERNOR=\"performance\"\nMAX_SPEED=0\n"),
    ("/etc/default/cpupower", "governor='ondemand'\nmin_freq=\"1GHz\"\n"),
    ("/etc/tlp.conf", "TLP_ENABLE=1\nCPU_SCALING_GOVERNOR_ON_AC=performance\nCPU_ENERGY_PERF_POLICY_ON_BAT=power\n"),
    ("/etc/tuned/active_profile", "x balanced\n"),
    (
        "/etc/tuned/x/tuned.conf",
        "[main]\ninclude=balanced\n[variables]\ng=${b}\nb=performance\n[cpu]\ngovernor=${g}|powersave\nenergy_perf_bias=performance\n[sysctl]\nvm.swappiness=>10\n",
    ),
    ("/etc/auto-cpufreq.conf", "[charger]\ngovernor = performance\nscaling_min_freq = 800000\nturbo = auto\n"),
    ("/var/lib/power-profiles-daemon/state.ini", "[State]\nDriver=intel_pstate\nProfile=performance\n"),
    (
        "/etc/systemd/system/x.service",
        "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor'\n",
    ),
    (
        "/var/spool/cron/root",
        "@reboot echo 1 > /sys/devices/system/cpu/cpufreq/boost\n*/5 * * * * cpupower frequency-set -u 2GHz\n",
    ),
];

impl Paper {
    /// A recorded machine of the project's with what is at boot.
    pub(crate) fn of(name: &str) -> Paper {
        let folder = workspace().join("machines/recorded").join(name);
        let mut texts = BTreeMap::new();
        for file in files(&folder).into_iter().filter(|file| !file.ends_with("recorded.toml")) {
            let below = file.strip_prefix(&folder).unwrap().to_str().unwrap();
            let path = match below.strip_prefix("coalesce/") {
                Some(device) => format!("coalesce:{device}"),
                None => below.trim_start_matches("root").to_owned(),
            };
            texts.insert(path, fs::read_to_string(&file).unwrap());
        }
        texts.extend(AT_BOOT.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
        for unit in ["cpupower", "tlp", "tuned", "power-profiles-daemon", "auto-cpufreq", "ondemand", "x"] {
            let link = format!("/etc/systemd/system/multi-user.target.wants/{unit}.service");
            texts.insert(link, "[Unit]\n[Service]\nExecStart=/usr/bin/x\n".into());
        }
        let identity = Identity {
            name: name.into(),
            system: String::new(),
            boot_id: String::new(),
            address: String::new(),
            privileged: true,
            owner: 0,
        };
        Paper { files: texts, identity }
    }
}

impl Look for Paper {
    fn identity(&self) -> &Identity {
        &self.identity
    }
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        let inside = format!("{folder}/");
        let below = self.files.range(inside.clone()..).map_while(|(path, _)| path.strip_prefix(&inside));
        let mut entries: Vec<Entry> = Vec::new();
        for rest in below {
            let (name, folder) = rest.split_once('/').map_or((rest, false), |(name, _)| (name, true));
            if entries.last().is_none_or(|last| last.name != name) {
                entries.push(Entry::new(name, folder, 0o755));
            }
        }
        if entries.is_empty() { Err(Errno::ENOENT) } else { Ok(entries) }
    }
    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.files.get(path).cloned().ok_or(Errno::ENOENT)
    }
    fn open(&mut self, _path: &str) -> Result<Handle, Errno> {
        Err(Errno::ENOSYS)
    }
    fn read_many(&mut self, _handles: &[Handle], _into: &mut Vec<Result<String, Errno>>) {}
    fn close(&mut self, _handle: Handle) {}
}
