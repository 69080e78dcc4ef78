//! The texts the kernel makes: CPU lists, /proc, the modelled meter.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use powerband_record::{CpuList, IntoOrdered as _};

use super::{Card, Shared, Show};
use crate::board::Board;
use crate::cpufreq::KernelRules;
use crate::nic::DEVICE;
use crate::profile::{InstructionSet, rules_name};
use crate::schedule::Times;

/// One unit of /proc/stat, ns (USER_HZ is 100).
const STAT_UNIT_NS: u64 = 10_000_000;

impl Board {
    pub(super) fn show(&mut self, show: Show) -> String {
        let profile = &self.profile;
        match show {
            Show::Possible => format!("{}\n", profile.possible),
            Show::Present => format!("{}\n", profile.present),
            Show::Online => format!("{}\n", self.cpus_that_are(true)),
            Show::Offline => format!("{}\n", self.cpus_that_are(false)),
            Show::KernelMax => format!("{}\n", self.kernel_max()),
            Show::Package(cpu) => format!("{}\n", profile.package_of(cpu)),
            Show::Core(cpu) => format!("{}\n", profile.core_of(cpu)),
            Show::Cpus(shared, form) => self.show_cpus(shared, form),
            Show::Version => format!(
                "Linux version {} (simulated {}; nearest published kernel {})\n",
                rules_name(profile.cpufreq.rules),
                profile.name,
                profile.kernel
            ),
            Show::BootId => format!("{}\n", self.identity.boot_id),
            Show::Boundary => "modelled\n".into(),
            Show::Temperature => format!("{}\n", self.show_temperature()),
            Show::Energy => format!("{}\n", self.energy_fj() / 1_000_000_000),
            Show::CpuInfo => self.cpuinfo(),
            Show::Stat => self.stat(),
            Show::Uptime => self.uptime(),
            Show::Interrupts => self.interrupts(),
            Show::NetDevices => self.net_devices(),
            Show::Card(card) => self.card(card),
        }
    }

    /// The highest CPU number the kernel was built for: none but 0 without SMP, on boards as many as they have, on others as
    /// Debian builds them (CONFIG_NR_CPUS of 2.6.32 and of 6.1 on amd64).
    fn kernel_max(&self) -> usize {
        match (self.profile.arch, self.profile.cpufreq.rules) {
            _ if self.profile.possible.len() == 1 => 0,
            (InstructionSet::Arm, _) => self.profile.possible.len() - 1,
            (InstructionSet::X86, KernelRules::V6_1) => 8_191,
            (InstructionSet::X86, _) => 511,
        }
    }

    /// All of the card's come to the first CPU.
    fn interrupts(&self) -> String {
        let online: Vec<usize> = (0..self.cpus.len()).filter(|&cpu| self.cpus[cpu].online).collect();
        let heading: String = online.iter().map(|cpu| format!(" {:>10}", format!("CPU{cpu}"))).collect();
        let counts: String =
            online.iter().map(|&cpu| format!(" {:>10}", if cpu == 0 { self.nic.interrupts } else { 0 })).collect();
        format!("    {heading}\n 24:{counts}  {DEVICE}\n")
    }

    fn net_devices(&self) -> String {
        let (rx, tx) = (self.nic.received, self.nic.sent);
        let head = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";
        let device = |name: &str, [rx_bytes, rx_frames, tx_bytes, tx_frames]: [u64; 4]| {
            format!("{name:>6}: {rx_bytes} {rx_frames} 0 0 0 0 0 0 {tx_bytes} {tx_frames} 0 0 0 0 0 0\n")
        };
        format!("{head}{}", device(DEVICE, [rx.bytes, rx.frames, tx.bytes, tx.frames]))
    }

    fn card(&self, card: Card) -> String {
        let text = match card {
            Card::Address => self.nic.address().to_owned(),
            Card::Driver => self.nic.driver_name().map_or_else(String::new, |name| format!("DRIVER={name}")),
            Card::Carrier => "1".into(),
            Card::OperState => "up".into(),
            Card::Speed => speed_mbit_s(self.profile.network.stream_kbit_s()).to_string(),
            Card::RxPackets => self.nic.received.frames.to_string(),
            Card::RxBytes => self.nic.received.bytes.to_string(),
            Card::TxPackets => self.nic.sent.frames.to_string(),
            Card::TxBytes => self.nic.sent.bytes.to_string(),
        };
        text + "\n"
    }

    fn cpus_that_are(&self, online: bool) -> CpuList {
        let numbered = (0_u32..).zip(&self.cpus).filter(|(_, cpu)| cpu.online == online);
        let mut list: Vec<u32> = numbered.map(|(number, _)| number).collect();
        if !online {
            list.extend(self.profile.possible.as_slice().iter().filter(|cpu| !self.profile.present.contains(**cpu)));
        }
        CpuList::new(list)
    }

    fn cpuinfo(&self) -> String {
        let top = self.profile.bogomips_hundredths;
        let bogomips = |hundredths: u64| format!("{}.{:02}", hundredths / 100, hundredths % 100);
        let mut text = String::new();
        for (number, cpu) in self.cpus.iter().enumerate().filter(|(_, cpu)| cpu.online) {
            let _ = match self.profile.arch {
                InstructionSet::Arm => {
                    let here = top * u64::from(cpu.khz) / u64::from(self.max_khz);
                    write!(
                        text,
                        "Processor\t: {}\nprocessor\t: {number}\nBogoMIPS\t: {}\n\n",
                        self.profile.model,
                        bogomips(here)
                    )
                }
                InstructionSet::X86 => {
                    let mhz = format!("{}.{:03}", cpu.khz / 1_000, cpu.khz % 1_000);
                    let said = self.x86_cpuinfo(u32::try_from(number).unwrap_or(0), &mhz);
                    write!(text, "{said}bogomips\t: {}\n\n", bogomips(top))
                }
            };
        }
        text
    }

    /// What an x86 kernel says of one CPU, but for its BogoMIPS. Flags are those by which programs know what drives the clock.
    fn x86_cpuinfo(&self, cpu: u32, mhz: &str) -> String {
        let profile = &self.profile;
        let in_package = self.cpus_of(Shared::Package(cpu));
        let cores: BTreeSet<u32> = in_package.as_slice().iter().map(|&cpu| profile.core_of(cpu)).into_set();
        let signature = profile
            .signature
            .map_or_else(String::new, |[family, model, _]| format!("cpu family\t: {family}\nmodel\t\t: {model}\n"));
        let stepping = profile.signature.map_or_else(String::new, |[.., stepping]| format!("stepping\t: {stepping}\n"));
        let pstate = profile.cpufreq.pstate;
        let amd = pstate.is_some_and(|own| own.cppc.is_some());
        let vendor = if amd { "AuthenticAMD" } else { "GenuineIntel" };
        let flags = [
            ("fpu tsc msr cx8 cmov mmx sse sse2", true),
            ("ht", in_package.len() > 1),
            ("lm constant_tsc", true),
            ("est", !amd),
            ("hwp hwp_epp", pstate.is_some() && !amd),
            ("hw_pstate cppc", amd),
        ];
        let flags: Vec<&str> = flags.into_iter().filter_map(|(flag, there)| there.then_some(flag)).collect();
        format!(
            "processor\t: {cpu}\nvendor_id\t: {vendor}\n{signature}model name\t: {}\n{stepping}cpu MHz\t\t: {mhz}\n\
             physical id\t: {}\nsiblings\t: {}\ncore id\t\t: {}\ncpu cores\t: {}\nflags\t\t: {}\n",
            profile.model,
            profile.package_of(cpu),
            in_package.len(),
            profile.core_of(cpu),
            cores.len(),
            flags.join(" "),
        )
    }

    fn stat(&mut self) -> String {
        for cpu in 0..u32::try_from(self.cpus.len()).unwrap_or(0) {
            self.book(cpu);
        }
        let (now, tick_ns) = (self.now_ns, Times::of(&self.cpus, self.now_ns, &self.profile).sampled_tick_ns);
        let sums = |cpu: &crate::schedule::Cpu| {
            let shown = cpu.shown(now, tick_ns);
            [shown.user_ns, shown.nice_ns, shown.system_ns, shown.idle_ns, shown.softirq_ns]
        };
        let mut all = [0; 5];
        let mut lines = String::new();
        for (number, cpu) in self.cpus.iter().enumerate() {
            let own = sums(cpu);
            all.iter_mut().zip(own).for_each(|(sum, part)| *sum += part);
            if cpu.online {
                push_line(&mut lines, &format!("cpu{number}"), own);
            }
        }
        let mut text = String::new();
        push_line(&mut text, "cpu ", all);
        text + &lines + &format!("btime 0\nprocesses {}\n", self.processes.len())
    }

    fn uptime(&self) -> String {
        let idle: u64 = self.cpus.iter().map(|cpu| cpu.idle_ns(self.now_ns)).sum();
        let seconds = |ns: u64| format!("{}.{:02}", ns / 1_000_000_000, ns / STAT_UNIT_NS % 100);
        format!("{} {}\n", seconds(self.now_ns), seconds(idle))
    }
}

/// The slowest standard Ethernet with that goodput.
pub(crate) fn speed_mbit_s(goodput_kbit_s: u64) -> u64 {
    let fits = |speed: &u64| goodput_kbit_s <= speed * 1_000;
    [10, 100, 1_000, 2_500, 5_000, 10_000, 25_000, 40_000, 100_000, 400_000].into_iter().find(fits).unwrap_or(800_000)
}

/// user nice system idle iowait irq softirq steal guest guest_nice.
fn push_line(text: &mut String, name: &str, [user, nice, system, idle, softirq]: [u64; 5]) {
    let [user, nice, system, idle, softirq] = [user, nice, system, idle, softirq].map(|ns| ns / STAT_UNIT_NS);
    let _ = writeln!(text, "{name} {user} {nice} {system} {idle} 0 0 {softirq} 0 0 0");
}
