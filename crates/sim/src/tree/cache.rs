//! The caches of a CPU and the counts of its throttling, as x86 kernels show them (Linux 6.1 drivers/base/cacheinfo.c,
//! arch/x86/kernel/cpu/cacheinfo.c, drivers/thermal/intel/therm_throt.c).
use super::topology::{Form, Shared};
use super::{CPU, Node, Show, Tree};
use crate::cpufreq::KernelRules;
use crate::profile::{CacheSpec, Profile};

/// Bytes of a line, as in all x86 processors of today.
const LINE_BYTES: u32 = 64;

/// Counts of a core and of its package, which the model never throttles.
const THROTTLED: [&str; 6] = [
    "core_throttle_count",
    "core_throttle_max_time_ms",
    "core_throttle_total_time_ms",
    "package_throttle_count",
    "package_throttle_max_time_ms",
    "package_throttle_total_time_ms",
];

impl Tree {
    /// The folder `cache` of a CPU in service, and `thermal_throttle` of one of Intel's.
    pub(super) fn add_caches(&mut self, cpu: u32, profile: &Profile) {
        for (index, cache) in profile.caches.iter().enumerate() {
            self.add_cache(cpu, index, *cache, profile);
        }
        if profile.throttle_counts {
            // Times came with 5.6, the package's own count with processors that have a sensor for it.
            let names = if profile.cpufreq.rules == KernelRules::V6_1 { &THROTTLED[..] } else { &THROTTLED[..1] };
            for name in names {
                self.add(format!("{CPU}/cpu{cpu}/thermal_throttle/{name}"), Node::Fixed("0\n".into()));
            }
        }
    }

    fn add_cache(&mut self, cpu: u32, index: usize, cache: CacheSpec, profile: &Profile) {
        let rules = profile.cpufreq.rules;
        let sets = cache.kib * 1024 / LINE_BYTES / cache.ways.max(1);
        let mut texts = vec![
            ("level", cache.level.to_string()),
            ("type", cache.kind.name().to_owned()),
            ("size", format!("{}K", cache.kib)),
            ("coherency_line_size", LINE_BYTES.to_string()),
            ("ways_of_associativity", cache.ways.to_string()),
            ("number_of_sets", sets.to_string()),
            ("physical_line_partition", "1".to_owned()),
        ];
        if rules == KernelRules::V6_1 {
            let id = profile.cache_of(cpu, cache.cores);
            texts.push(("id", id.to_string()));
        }
        let file = |name: &str| format!("{CPU}/cpu{cpu}/cache/index{index}/{name}");
        for (name, text) in texts {
            self.add(file(name), Node::Fixed(format!("{text}\n")));
        }
        let shared = Shared::Cache(cpu, cache.cores);
        self.add(file("shared_cpu_map"), Node::Show(Show::Cpus(shared, Form::Mask)));
        if rules > KernelRules::V2_6_18 {
            self.add(file("shared_cpu_list"), Node::Show(Show::Cpus(shared, Form::List)));
        }
    }
}

impl Profile {
    /// Which of the caches that so many cores share is a CPU's, counted through the machine.
    pub(super) fn cache_of(&self, cpu: u32, cores: u32) -> u32 {
        let per_package = (self.cores() / self.packages.max(1)).max(1).div_ceil(cores.max(1));
        self.package_of(cpu) * per_package + self.core_of(cpu) / cores.max(1)
    }
}
