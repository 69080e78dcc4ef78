//! Which CPUs share a core, a package and a memory node, as each kernel shows it: the topology files of a CPU, the node tree, and
//! the links by which devices of the bus `cpu` are found.
use powerband_record::CpuList;

use super::{CPU, Node, Show, Tree};
use crate::board::Board;
use crate::cpufreq::KernelRules;
use crate::profile::{InstructionSet, Profile};

/// Where the kernel keeps its memory nodes.
const NODE: &str = "/sys/devices/system/node";

/// Where the devices of the bus `cpu` are linked, since CPUs are devices (Linux 3.3).
const BUS: &str = "/sys/bus/cpu/devices";

/// Distance of a node to itself and to another, as the ACPI specification's SLIT has them where a machine has no table.
const NEAR: u32 = 10;
const FAR: u32 = 20;

/// What CPUs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shared {
    /// The core of a CPU.
    Core(u32),
    /// The package of a CPU, which is one die.
    Package(u32),
    /// A memory node.
    Node(u32),
    /// A cache of a CPU that so many cores share.
    Cache(u32, u32),
}

/// How a set of CPUs is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `0-3`
    List,
    /// `f`, in words of 32 bits
    Mask,
}

/// Names of the files that show a set of CPUs, its mask and (since 2.6.26) its list, and the first rules that have them.
const SETS: [(&str, Option<&str>, bool, KernelRules); 6] = [
    ("thread_siblings", Some("thread_siblings_list"), true, KernelRules::V2_6_18),
    ("core_siblings", Some("core_siblings_list"), false, KernelRules::V2_6_18),
    ("core_cpus", Some("core_cpus_list"), true, KernelRules::V6_1),
    ("cluster_cpus", Some("cluster_cpus_list"), true, KernelRules::V6_1),
    ("die_cpus", Some("die_cpus_list"), false, KernelRules::V6_1),
    ("package_cpus", Some("package_cpus_list"), false, KernelRules::V6_1),
];

impl Tree {
    /// The topology files of a CPU in service.
    pub(super) fn add_topology(&mut self, cpu: u32, profile: &Profile) {
        let rules = profile.cpufreq.rules;
        let file = |name: &str| format!("{CPU}/cpu{cpu}/topology/{name}");
        self.add(file("physical_package_id"), Node::Show(Show::Package(cpu)));
        self.add(file("core_id"), Node::Show(Show::Core(cpu)));
        for (mask, list, of_core, since) in SETS.into_iter().filter(|(_, _, _, since)| rules >= *since) {
            let shared = if of_core { Shared::Core(cpu) } else { Shared::Package(cpu) };
            self.add(file(mask), Node::Show(Show::Cpus(shared, Form::Mask)));
            let lists = rules > KernelRules::V2_6_18 || since > KernelRules::V2_6_18;
            if let Some(list) = list.filter(|_| lists) {
                self.add(file(list), Node::Show(Show::Cpus(shared, Form::List)));
            }
        }
        if rules == KernelRules::V6_1 {
            self.add(file("die_id"), Node::Fixed("0\n".into()));
            // What the kernel says where nothing names clusters: -1 in sixteen bits.
            self.add(file("cluster_id"), Node::Fixed("65535\n".into()));
        }
    }

    /// What is there of each CPU whether it is in service or not, and the nodes.
    pub(super) fn add_nodes(&mut self, profile: &Profile) {
        let rules = profile.cpufreq.rules;
        if rules == KernelRules::V6_1 {
            for &cpu in profile.present.as_slice() {
                self.add(format!("{CPU}/cpu{cpu}/uevent"), Node::Uevent("DRIVER=processor\n"));
                self.add(format!("{CPU}/cpu{cpu}/subsystem"), Node::Link("../../../../bus/cpu".into()));
                self.add(format!("{BUS}/cpu{cpu}"), Node::Link(format!("../../../devices/system/cpu/cpu{cpu}")));
            }
        }
        // Kernels for ARM boards are built without NUMA.
        if profile.arch == InstructionSet::Arm {
            return;
        }
        let all = CpuList::new((0..profile.nodes).collect());
        if rules > KernelRules::V2_6_18 {
            for name in ["online", "possible", "has_cpu", "has_normal_memory"] {
                self.add(format!("{NODE}/{name}"), Node::Fixed(format!("{all}\n")));
            }
        }
        for node in 0..profile.nodes {
            self.add_node(node, profile);
        }
    }

    fn add_node(&mut self, node: u32, profile: &Profile) {
        let rules = profile.cpufreq.rules;
        let folder = format!("{NODE}/node{node}");
        self.add(format!("{folder}/cpumap"), Node::Show(Show::Cpus(Shared::Node(node), Form::Mask)));
        if rules > KernelRules::V2_6_18 {
            self.add(format!("{folder}/cpulist"), Node::Show(Show::Cpus(Shared::Node(node), Form::List)));
        }
        if let Some(kib) = profile.memory_kib {
            let kib = kib / u64::from(profile.nodes.max(1));
            // No process here takes any.
            let line = |name: &str, kib: u64| format!("Node {node} {:<15}{kib:>8} kB\n", format!("{name}:"));
            let text = line("MemTotal", kib) + &line("MemFree", kib) + &line("MemUsed", 0);
            self.add(format!("{folder}/meminfo"), Node::Fixed(text));
        }
        let distance = |other| if other == node { NEAR } else { FAR }.to_string();
        let distances: Vec<String> = (0..profile.nodes).map(distance).collect();
        self.add(format!("{folder}/distance"), Node::Fixed(format!("{}\n", distances.join(" "))));
        for &cpu in profile.present.as_slice().iter().filter(|&&cpu| profile.node_of(cpu) == node) {
            self.add(format!("{folder}/cpu{cpu}"), Node::Link(format!("../../cpu/cpu{cpu}")));
            if rules == KernelRules::V6_1 {
                self.add(format!("{CPU}/cpu{cpu}/node{node}"), Node::Link(format!("../../node/node{node}")));
            }
        }
    }
}

impl Board {
    /// The online CPUs that share something.
    pub(super) fn cpus_of(&self, shared: Shared) -> CpuList {
        let profile = &self.profile;
        let has = |cpu: u32| match shared {
            Shared::Core(of) => cpu % profile.cores() == of % profile.cores(),
            Shared::Package(of) => profile.package_of(cpu) == profile.package_of(of),
            Shared::Node(node) => profile.node_of(cpu) == node,
            Shared::Cache(of, cores) => profile.cache_of(cpu, cores) == profile.cache_of(of, cores),
        };
        let numbered = (0_u32..).zip(&self.cpus).filter(|(_, cpu)| cpu.online);
        CpuList::new(numbered.map(|(number, _)| number).filter(|&cpu| has(cpu)).collect())
    }

    /// Those CPUs as a file shows them.
    pub(super) fn show_cpus(&self, shared: Shared, form: Form) -> String {
        let cpus = self.cpus_of(shared);
        match form {
            Form::List => format!("{cpus}\n"),
            Form::Mask => format!("{}\n", mask(&cpus, self.profile.possible.len())),
        }
    }
}

/// A mask of so many bits in words of 32, the highest first, each digit of them written.
fn mask(cpus: &CpuList, bits: usize) -> String {
    let words = bits.div_ceil(32).max(1);
    let word = |place: usize| {
        let first = 32 * place;
        let set = cpus.as_slice().iter().map(|&cpu| cpu as usize).filter(|cpu| (first..first + 32).contains(cpu));
        let value = set.fold(0_u32, |value, cpu| value | 1 << (cpu - first));
        let digits = (bits - first).min(32).div_ceil(4);
        format!("{value:0digits$x}")
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_digits_of_the_cpus_that_could_be_there() {
        let cpus = |text: &str| text.parse::<CpuList>().unwrap();
        assert_eq!(mask(&cpus("0"), 1), "1");
        assert_eq!(mask(&cpus("1,5"), 8), "22");
        assert_eq!(mask(&cpus("0-31"), 32), "ffffffff");
        assert_eq!(mask(&cpus("0,32-39"), 40), "ff,00000001");
    }
}
