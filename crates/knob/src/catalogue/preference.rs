//! `cpufreq.epp`, `cpufreq.epb`: hints to processors that pick their frequency themselves.
use powerband_machine::Errno;

use super::plain::{Place, PlainFile};
use super::takes::Takes;
use crate::{About, Phase, Scope};

pub(super) const EPP: PlainFile = PlainFile::new(
    &About {
        name: "cpufreq.epp",
        short: "epp",
        aliases: &["energy_performance_preference"],
        unit: "",
        scope: Scope::Policy,
        summary: "how much a processor that picks its own frequency leans towards speed or towards saving",
        doc: "A hint to Intel's hardware P-states and AMD's CPPC. Under the governor performance the kernel takes \
              performance alone; AMD's driver stays there under the next governor, so that powerband saves it before. A raw number (0 is fastest, 255 saves most) is taken on Intel.",
        accepts: "a name from energy_performance_available_preferences, or 0 to 255",
        needs: "",
        source: "energy_performance_preference; Linux 6.12 drivers/cpufreq/intel_pstate.c, amd-pstate.c",
        invalid: "this driver takes names only",
        phase: Phase::Preference,
    },
    Place::EachPolicy("energy_performance_preference"),
    Takes::Listed { file: "energy_performance_available_preferences", raw: Some(255) },
    "this driver passes no preference on; intel_pstate with hardware P-states and amd-pstate do",
    &[(Errno::EBUSY, "under the governor performance it stays performance: set governor=powersave as well")],
);

pub(super) const EPB: PlainFile = PlainFile::new(
    &About {
        name: "cpufreq.epb",
        short: "epb",
        aliases: &["energy_perf_bias"],
        unit: "",
        scope: Scope::Cpu,
        summary: "the older hint of Intel processors, speed against saving",
        doc: "From 0 (performance) to 15 (power). The kernel lifts a 0 left by firmware to 6 when it boots.",
        accepts: "performance (0), balance-performance (4), normal (6), balance-power (8), power (15), or a number up to 15",
        needs: "",
        source: "cpuN/power/energy_perf_bias; Linux 6.12 arch/x86/kernel/cpu/intel_epb.c",
        invalid: "it takes a number up to 15",
        phase: Phase::Preference,
    },
    Place::EachCpu("power/energy_perf_bias"),
    Takes::Named(&[("performance", 0), ("balance-performance", 4), ("normal", 6), ("balance-power", 8), ("power", 15)]),
    "only Intel processors have it, and a virtual machine seldom shows it",
    &[],
);
