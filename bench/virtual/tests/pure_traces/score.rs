//! Loads and governors as a score for the player: six kinds of load, every tunable at its default and changed.

const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy0";
const MS: u64 = 1_000_000;

/// One governor with some tunables under one load.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    governor: &'static str,
    /// Tunables changed from their defaults: `name=value` with spaces between.
    tunables: String,
    load: Load,
    /// Whether every other pair of stretches is nice.
    nice: bool,
}

/// Stretches of busy and idle time, ns.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    name: String,
    stretches: Vec<(u64, u64)>,
}

impl Case {
    fn new(governor: &'static str, tunables: String, load: Load) -> Self {
        let nice = tunables.contains("ignore_nice_load");
        Case { governor, tunables, load, nice }
    }

    pub(crate) fn name(&self) -> String {
        let tunables = if self.tunables.is_empty() { "default" } else { &self.tunables };
        format!("{} {tunables}: {}", self.governor, self.load.name)
    }

    /// By how many points of a hundred the share of time in a state may be apart.
    pub(crate) fn limit_percent(&self) -> f64 {
        if self.governor == "schedutil" { 3.0 } else { 1.0 }
    }
}

/// Knuth's MMIX generator; its upper bits are the good ones.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// From `least` to one below `most`.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        least + (self.0 >> 33) % (most - least)
    }
}

fn load(name: &str, stretches: Vec<(u64, u64)>) -> Load {
    Load { name: name.to_owned(), stretches }
}

/// By how much periods miss multiples of a tick and of a sample, ns: where they are some, all decisions of a case fall equally
/// near to a threshold, and when the guest's boot puts that within what is known of its times, each of them can go either way.
const OFF: u64 = 50_000;

/// The six kinds of load.
fn loads(seed: u64) -> Vec<Load> {
    let mut chance = Chance::new(seed);
    let ramp = (1..=20).flat_map(|step: u64| vec![(step * MS, 20 * MS + OFF - step * MS); 2]).collect();
    let bursts = (0..25).map(|_| (chance.between(MS / 5, 40 * MS), chance.between(MS / 5, 60 * MS))).collect();
    let near = |middle: u64, chance: &mut Chance| {
        let one = |_| {
            let busy = chance.between((middle - 1) * 100, (middle + 1) * 100) * 2_000;
            (busy, 20 * MS - busy)
        };
        (0..30).map(one).collect::<Vec<_>>()
    };
    vec![
        load("300 ms of 600", vec![(300 * MS, 300 * MS); 2]),
        load("10 ms of 20", vec![(10 * MS, 10 * MS + OFF); 30]),
        load("3 ms of 10", vec![(3 * MS, 7 * MS + OFF); 60]),
        load("a ramp", ramp),
        load(&format!("bursts of seed {seed}"), bursts),
        load("79 to 81 %", near(80, &mut chance)),
        load("94 to 96 %", near(95, &mut chance)),
    ]
}

/// Every governor under every load with its defaults, and under some of them with each tunable changed.
pub(crate) fn chosen(seed: u64) -> Vec<Case> {
    let loads = loads(seed);
    let mut cases = Vec::new();
    let mut add = |governor: &'static str, tunables: &str, which: &[usize]| {
        cases.extend(which.iter().map(|&load| Case::new(governor, tunables.to_owned(), loads[load].clone())));
    };
    for governor in ["ondemand", "conservative", "schedutil"] {
        add(governor, "", &[0, 1, 2, 3, 4, 5, 6]);
    }
    for tunables in [
        "sampling_rate=50000",
        "up_threshold=60",
        "sampling_down_factor=5",
        "ignore_nice_load=1",
        "powersave_bias=150",
        "sampling_rate=9000 up_threshold=80 powersave_bias=40 sampling_down_factor=3",
    ] {
        add("ondemand", tunables, &[1, 4, 5]);
    }
    for tunables in [
        "sampling_rate=50000",
        "up_threshold=60 down_threshold=40",
        "sampling_down_factor=3",
        "ignore_nice_load=1",
        "freq_step=12",
        "down_threshold=55 freq_step=30 sampling_rate=15000",
    ] {
        add("conservative", tunables, &[1, 4, 5]);
    }
    for tunables in ["rate_limit_us=0", "rate_limit_us=2000", "rate_limit_us=50000"] {
        add("schedutil", tunables, &[1, 4, 5]);
    }
    cases
}

/// Governors with tunables anywhere in their ranges, under bursts of any density.
pub(crate) fn random(seed: u64, count: usize) -> Vec<Case> {
    let mut chance = Chance::new(seed);
    (0..count).map(|_| random_case(seed, &mut chance)).collect()
}

fn random_case(seed: u64, chance: &mut Chance) -> Case {
    let mut tunables = Vec::new();
    let mut maybe = |name: &str, least: u64, most: u64, chance: &mut Chance| {
        if chance.between(0, 2) == 0 {
            tunables.push(format!("{name}={}", chance.between(least, most)));
        }
    };
    let governor = ["ondemand", "conservative", "schedutil"][usize::try_from(chance.between(0, 3)).unwrap()];
    match governor {
        "schedutil" => maybe("rate_limit_us", 0, 40_000, chance),
        "ondemand" => {
            maybe("sampling_rate", 8_000, 60_000, chance);
            maybe("up_threshold", 20, 100, chance);
            maybe("sampling_down_factor", 1, 12, chance);
            maybe("ignore_nice_load", 0, 2, chance);
            maybe("powersave_bias", 1, 500, chance);
        }
        _ => {
            maybe("sampling_rate", 8_000, 60_000, chance);
            maybe("up_threshold", 50, 100, chance);
            maybe("down_threshold", 5, 50, chance);
            maybe("sampling_down_factor", 1, 11, chance);
            maybe("ignore_nice_load", 0, 2, chance);
            maybe("freq_step", 1, 60, chance);
        }
    }
    let (busy, idle) = (chance.between(MS, 60 * MS), chance.between(MS, 60 * MS));
    let count = 1_000 * MS / (busy / 2 + idle / 2);
    let bursts = (0..count).map(|_| (chance.between(MS / 5, busy), chance.between(MS / 5, idle))).collect();
    let name = format!("bursts to {}/{} µs of seed {seed}", busy / 1_000, idle / 1_000);
    Case::new(governor, tunables.join(" "), load(&name, bursts))
}

/// The cases as a score: a line a step.
pub(crate) fn score(cases: &[Case]) -> String {
    // Nothing of what ran before the trace is left in the scheduler's signals then.
    let mut lines = vec![format!("sleep {}", 1_000 * MS)];
    for case in cases {
        let governor = case.governor;
        for name in ["powersave", governor] {
            lines.push(format!("write {POLICY}/scaling_governor {name}"));
        }
        for pair in case.tunables.split_whitespace() {
            let (tunable, value) = pair.split_once('=').unwrap();
            lines.push(format!("write /sys/devices/system/cpu/cpufreq/{governor}/{tunable} {value}"));
        }
        lines.push(format!("sleep {}", 25 * MS));
        lines.push(format!("write {POLICY}/stats/reset 1"));
        for (number, (busy_ns, idle_ns)) in case.load.stretches.iter().enumerate() {
            if case.nice {
                lines.push(format!("nice {}", if number % 4 < 2 { 5 } else { 0 }));
            }
            lines.push(format!("busy {busy_ns}"));
            lines.push(format!("sleep {idle_ns}"));
        }
        if case.nice {
            lines.push("nice 0".to_owned());
        }
        // The sample taken when it wakes comes before the end.
        lines.push("busy 300000".to_owned());
        lines.push(format!("read {POLICY}/stats/time_in_state"));
        lines.push(format!("read {POLICY}/stats/total_trans"));
    }
    lines.join("\n") + "\n"
}
