//! The table of governor tunables: names, ranges and what they mean. Facts as of Linux 6.1 unless said.
use super::Tunable;
use crate::catalogue::takes::Takes;
use crate::{About, Phase, Scope};

/// The kernel's tunables are unsigned 32-bit numbers.
const U32_MAX: u64 = u32::MAX as u64;
const NUMBER: Takes = Takes::Number { least: 0, most: U32_MAX };
/// Linux 2.6.32 raises a shorter period, 2.6.18 refuses it; so does Linux 6.1, which does not have the file.
const SAMPLING_RATE: Takes = Takes::Raised { least: 1, most: U32_MAX, to: "sampling_rate_min", since: (2, 6, 32) };

/// The tunables of one governor. A row: its constant; its file, unit and values; the values in words, and what "invalid
/// argument" means; the summary; the documentation.
macro_rules! tunables {
    ($governor:literal, $source:literal: $(
        $constant:ident($short:literal, $unit:literal, $takes:expr)
        $accepts:literal, $invalid:literal, $summary:literal, $doc:literal;
    )+) => {$(
        pub(crate) const $constant: Tunable = Tunable {
            about: &About {
                name: concat!($governor, ".", $short),
                short: $short,
                aliases: &[],
                unit: $unit,
                scope: Scope::Governor,
                summary: $summary,
                doc: $doc,
                accepts: $accepts,
                needs: concat!("governor=", $governor),
                source: $source,
                invalid: $invalid,
                phase: Phase::Tunable,
            },
            governor: $governor,
            takes: $takes,
        };
    )+};
}

tunables! {
    "ondemand", "Linux 6.1 drivers/cpufreq/cpufreq_ondemand.c; Linux 2.6.18":

    ONDEMAND_SAMPLING_RATE("sampling_rate", "us", SAMPLING_RATE)
        "from two ticks up; Linux 2.6 shows its range in sampling_rate_min and sampling_rate_max",
        "it lies below two scheduler ticks, the least the kernel takes (8000 us at 250 Hz, 20000 us at 100 Hz)",
        "how often the load is looked at",
        "The time between two looks at the load. The kernel refuses less than two scheduler ticks (8000 us at 250 \
         Hz); the default follows from the driver's transition latency. A busy CPU is looked at on ticks only, so the \
         true period is a multiple of a tick.";

    ONDEMAND_UP_THRESHOLD("up_threshold", "percent", Takes::Since { before: (11, 100), since: (3, 0, 0), then: (1, 100) })
        "1 to 100 (Linux 2.6: 11 to 100)", "Linux 2.6 takes nothing below 11",
        "the load above which it jumps to the highest frequency",
        "Above this load the highest frequency is chosen at once; at or below it, a frequency in proportion to the \
         load. A lower threshold reaches full speed sooner and costs energy. Default 95 on tickless kernels, 80 on \
         others.";

    ONDEMAND_SAMPLING_DOWN_FACTOR("sampling_down_factor", "", Takes::Number { least: 1, most: 100_000 })
        "1 to 100000", "it takes 1 to 100000",
        "how many times longer it stays at the highest frequency",
        "Multiplies sampling_rate while the highest frequency is in use, so that under steady load the CPU is looked \
         at less often and falls back later. Default 1.";

    ONDEMAND_IGNORE_NICE_LOAD("ignore_nice_load", "", Takes::Flag)
        "0 or 1", "it takes 0 or 1",
        "whether the time of niced programs counts as idle",
        "With 1, programs that run niced do not raise the frequency. Default 0.";

    ONDEMAND_POWERSAVE_BIAS("powersave_bias", "thousandths", Takes::Number { least: 0, most: 1000 })
        "0 to 1000", "it takes 0 to 1000",
        "how far below the chosen frequency it stays on average",
        "Takes this many thousandths off the frequency that was chosen and alternates between the two steps around \
         the result. 0, the default, is off.";

    ONDEMAND_IO_IS_BUSY("io_is_busy", "", Takes::Flag)
        "0 or 1", "it takes 0 or 1",
        "whether waiting for disks counts as work",
        "With 1, time spent waiting for input and output raises the frequency. Default 1 on newer Intel processors, 0 \
         elsewhere.";
}

tunables! {
    "conservative", "Linux 6.1 drivers/cpufreq/cpufreq_conservative.c; Linux 2.6.18":

    CONSERVATIVE_SAMPLING_RATE("sampling_rate", "us", SAMPLING_RATE)
        "from two ticks up",
        "it lies below two scheduler ticks, the least the kernel takes (8000 us at 250 Hz, 20000 us at 100 Hz)",
        "how often the load is looked at",
        "The time between two looks at the load; each look moves the frequency by one step at most. The kernel \
         refuses less than two scheduler ticks (8000 us at 250 Hz).";

    CONSERVATIVE_UP_THRESHOLD("up_threshold", "percent", Takes::Number { least: 1, most: 100 })
        "1 to 100, above down_threshold", "it must stay above down_threshold: set both",
        "the load above which it climbs one step",
        "Above this load the frequency rises by freq_step. Must stay above down_threshold; powerband writes the two \
         in the order that never crosses them. Default 80.";

    CONSERVATIVE_DOWN_THRESHOLD("down_threshold", "percent", Takes::Number { least: 1, most: 99 })
        "1 to 99, below up_threshold", "it must stay below up_threshold: set both (Linux 2.6 takes nothing below 11)",
        "the load below which it descends one step",
        "Below this load the frequency falls by freq_step, every sampling_down_factor looks. Must stay below \
         up_threshold. Default 20.";

    CONSERVATIVE_SAMPLING_DOWN_FACTOR("sampling_down_factor", "", Takes::Number { least: 1, most: 10 })
        "1 to 10", "it takes 1 to 10",
        "how many looks it takes to descend one step",
        "Only every so many looks may lower the frequency; raising it is not held back. Default 1.";

    CONSERVATIVE_FREQ_STEP("freq_step", "percent", Takes::Number { least: 0, most: 100 })
        "0 to 100", "it takes 0 to 100",
        "the size of one step",
        "Percent of the highest frequency by which it climbs and descends; 0 freezes the frequency. Where the table \
         is coarse several looks add up before the frequency moves. Default 5.";

    CONSERVATIVE_IGNORE_NICE_LOAD("ignore_nice_load", "", Takes::Flag)
        "0 or 1", "it takes 0 or 1",
        "whether the time of niced programs counts as idle",
        "With 1, programs that run niced do not raise the frequency. Default 0.";
}

tunables! {
    "schedutil", "Linux 6.1 kernel/sched/cpufreq_schedutil.c":

    SCHEDUTIL_RATE_LIMIT_US("rate_limit_us", "us", NUMBER)
        "a whole number, 0 for no limit", "it takes a whole number",
        "the least time between two changes of frequency",
        "Within this time of a change the frequency stays, however demand moves. The default follows from the \
         driver's transition latency.";
}

tunables! {
    "interactive", "Android common kernels 3.4 to 4.9, Documentation/cpu-freq/governors.txt; never in mainline Linux":

    INTERACTIVE_TARGET_LOADS("target_loads", "percent", Takes::Line)
        "90, or pairs such as \"85 1000000:90 1700000:99\"", "",
        "the load it aims at, at which frequencies",
        "It picks the lowest frequency at which the load stays at or below this. Several loads are divided by the \
         frequencies (kHz, ascending) from which each holds. Default 90.";

    INTERACTIVE_MIN_SAMPLE_TIME("min_sample_time", "us", NUMBER)
        "microseconds", "",
        "how long it stays before it goes down",
        "The least time at a frequency before a lower one is taken. Default 80000.";

    INTERACTIVE_HISPEED_FREQ("hispeed_freq", "kHz", NUMBER)
        "a frequency in kHz", "",
        "where it jumps to at the first burst",
        "The frequency taken at once when the load reaches go_hispeed_load. Default: the highest allowed.";

    INTERACTIVE_GO_HISPEED_LOAD("go_hispeed_load", "percent", Takes::Number { least: 0, most: 100 })
        "0 to 100", "",
        "the load at which it jumps to hispeed_freq",
        "Default 99 (85 in the first versions).";

    INTERACTIVE_ABOVE_HISPEED_DELAY("above_hispeed_delay", "us", Takes::Line)
        "20000, or pairs such as \"19000 1400000:39000\"", "",
        "how long it stays at hispeed_freq before it goes higher",
        "Several delays are divided by the frequencies (kHz, ascending) from which each holds. Default 20000.";

    INTERACTIVE_TIMER_RATE("timer_rate", "us", NUMBER)
        "microseconds", "",
        "how often the load is looked at",
        "The time between two looks while a CPU works. Default 20000.";

    INTERACTIVE_TIMER_SLACK("timer_slack", "us", Takes::Line)
        "microseconds, or -1 to wait for ever", "",
        "how late a look at an idle CPU may be",
        "How long beyond timer_rate a look may be put off while the CPU sleeps above its lowest frequency. Default \
         80000.";

    INTERACTIVE_BOOST("boost", "", Takes::Flag)
        "0 or 1", "",
        "whether it stays at hispeed_freq or above",
        "With 1 every CPU runs at hispeed_freq at least. Default 0.";

    INTERACTIVE_BOOSTPULSE_DURATION("boostpulse_duration", "us", NUMBER)
        "microseconds", "",
        "how long a pulse of boost lasts",
        "A write to boostpulse lifts every CPU to hispeed_freq for so long. Default 80000.";

    INTERACTIVE_IO_IS_BUSY("io_is_busy", "", Takes::Flag)
        "0 or 1", "",
        "whether waiting for disks counts as work",
        "With 1, time spent waiting for input and output raises the frequency. Default 0.";
}
