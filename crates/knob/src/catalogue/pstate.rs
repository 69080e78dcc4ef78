//! `pstate.*`: what Intel's and AMD's own drivers have beyond cpufreq.
use powerband_machine::Errno;
use powerband_sysfs::cpufreq;

use super::plain::{Place, PlainFile};
use super::takes::Takes;
use crate::{About, Phase, Scope};

const INTEL: &str = "this machine is not driven by intel_pstate; `powerband info` names its driver";

const ANY: About = About {
    name: "",
    short: "",
    aliases: &[],
    unit: "",
    scope: Scope::System,
    summary: "",
    doc: "",
    accepts: "",
    needs: "",
    source: "Linux 6.12 drivers/cpufreq/intel_pstate.c, Documentation/admin-guide/pm/intel_pstate.rst",
    invalid: "",
    phase: Phase::Boost,
};

pub(crate) const STATUS: PlainFile = PlainFile::new(
    &About {
        name: "pstate.status",
        short: "pstate",
        aliases: &["intel_pstate", "amd_pstate"],
        summary: "how intel_pstate or amd-pstate drives the CPUs",
        doc: "active: the driver has its own rules and offers the governors performance and powersave; passive: it is a \
              cpufreq driver as others, with all governors; guided (AMD): the processor picks between limits. A switch \
              creates all policies anew: governor, limits, preference, tunables and boost start from their defaults; \
              powerband saves them first and restores them on undo. Between passive and guided nothing is created anew.",
        accepts: "active, passive; guided on AMD",
        source: "intel_pstate/status, amd_pstate/status; Linux 6.12 drivers/cpufreq/intel_pstate.c, amd-pstate.c",
        invalid: "the driver has no such mode",
        phase: Phase::Mode,
        ..ANY
    },
    Place::System(&[cpufreq::INTEL_STATUS, cpufreq::AMD_STATUS]),
    Takes::Words(&["active", "passive", "guided"]),
    "neither intel_pstate nor amd-pstate drives this machine; `powerband info` names its driver",
    &[(Errno::EBUSY, "hardware P-states are on: the driver cannot be switched off, only to passive")],
);

pub(super) const NO_TURBO: PlainFile = PlainFile::new(
    &About {
        name: "pstate.no_turbo",
        short: "no_turbo",
        summary: "whether Intel's turbo is switched off",
        doc: "1 keeps every CPU at or below its nominal frequency and lowers the upper limits that are shown; they come \
              up again with 0. powerband sets it before the limits.",
        accepts: "0 or 1",
        ..ANY
    },
    Place::System(&[cpufreq::NO_TURBO]),
    Takes::Flag,
    INTEL,
    &[(Errno::EPERM, "the firmware has switched turbo off; only its set-up can switch it on")],
);

pub(super) const MIN_PERF_PCT: PlainFile = PlainFile::new(
    &About {
        name: "pstate.min_perf_pct",
        short: "min_perf_pct",
        unit: "percent",
        summary: "the least speed of all CPUs, in percent of the highest with turbo",
        doc: "Silently held between what the hardware can and max_perf_pct.",
        accepts: "0 to 100",
        ..ANY
    },
    Place::System(&[cpufreq::MIN_PERF_PCT]),
    Takes::Number { least: 0, most: 100 },
    "this machine is not driven by intel_pstate, or by one that keeps limits per CPU",
    &[],
);

pub(super) const MAX_PERF_PCT: PlainFile = PlainFile::new(
    &About {
        name: "pstate.max_perf_pct",
        short: "max_perf_pct",
        unit: "percent",
        summary: "the highest speed of all CPUs, in percent of the highest with turbo",
        doc: "Silently held between min_perf_pct and 100.",
        accepts: "1 to 100",
        ..ANY
    },
    Place::System(&[cpufreq::MAX_PERF_PCT]),
    Takes::Number { least: 1, most: 100 },
    "this machine is not driven by intel_pstate, or by one that keeps limits per CPU",
    &[],
);

pub(super) const HWP_DYNAMIC_BOOST: PlainFile = PlainFile::new(
    &About {
        name: "pstate.hwp_dynamic_boost",
        short: "hwp_dynamic_boost",
        summary: "whether a CPU that wakes from waiting for a disk is lifted for a moment",
        doc: "Only in active mode with hardware P-states.",
        accepts: "0 or 1",
        ..ANY
    },
    Place::System(&[cpufreq::HWP_DYNAMIC_BOOST]),
    Takes::Flag,
    "it is there only under intel_pstate in active mode with hardware P-states",
    &[],
);
