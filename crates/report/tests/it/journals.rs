//! Journals made by hand: a router with a knee, a counter under governors, one that was stopped, one that stayed open.
use powerband_record::{
    Better, BlockDone, CloseReason, Event, ExperimentHeader, Finding, KneeFinding, Level, Metric, Outcome,
    PlannedSetting, PlannedTrial, ReachedSite, SettingVerdict, Started, Verdict, Void,
};

const S: u64 = 1_000_000_000;

pub(crate) fn header() -> ExperimentHeader {
    ExperimentHeader {
        journal_version: 1,
        id: 12,
        run: None,
        fleet: None,
        started_unix_s: 1_795_240_200,
        host: "bench".into(),
        powerband: "0.1.0".into(),
        command_line: vec!["powerband".into(), "try".into()],
        folder: None,
        owner: None,
        resumed: vec![],
        observer_cpu_s: Some(0.4237),
        observer_wakeups: Some(118),
    }
}

pub(crate) fn metric(name: &str, better: Better, judged: bool, boundary: Option<&str>) -> Metric {
    Metric { name: name.into(), better, judged, boundary: boundary.map(Into::into) }
}

pub(crate) fn started(machine: &str, settings: &[(&str, &str)], metrics: Vec<Metric>) -> Started {
    let setting = |(label, turns): &(&str, &str)| PlannedSetting { label: (*label).into(), turns: (*turns).into() };
    let settings: Vec<PlannedSetting> = settings.iter().map(setting).collect();
    let started = serde_json::json!({
        "machine": machine, "system": "Linux 3.3.7", "load": {"kind": "counter", "for_ns": 5 * S}, "seed": 7,
        "settings": settings, "metrics": metrics, "alpha": 0.05, "margin": 0.05, "margin_source": "default",
        "max_blocks": 30, "settle_ns": S, "warmup": 0,
    });
    serde_json::from_value(started).unwrap()
}

/// Events with a running number for trials and a clock that goes on ten seconds a trial.
pub(crate) struct Journal {
    events: Vec<Event>,
    trial: u32,
    now_ns: u64,
}

impl Journal {
    pub(crate) fn new(started: Started) -> Self {
        Journal { events: vec![Event::Started(Box::new(started))], trial: 0, now_ns: 0 }
    }

    fn begin(&mut self, block: u32, setting: u32) {
        let (trial, at_ns) = (self.trial, self.now_ns);
        self.events.push(Event::TrialStarted(PlannedTrial { trial, block, setting, copy: 0, at_ns }));
        self.now_ns += 10 * S;
        self.trial += 1;
    }

    pub(crate) fn valid(&mut self, block: u32, setting: u32, metrics: &[(&str, f64)]) {
        self.begin(block, setting);
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let outcome = Outcome { metrics, ..Outcome::default() };
        self.events.push(Event::TrialDone { trial: self.trial - 1, at_ns: self.now_ns, outcome });
    }

    fn void(&mut self, block: u32, setting: u32, why: Void) {
        self.begin(block, setting);
        self.events.push(Event::TrialVoid { trial: self.trial - 1, at_ns: self.now_ns, why });
    }

    pub(crate) fn block(&mut self, block: u32, verdicts: Vec<SettingVerdict>, knee: Option<KneeFinding>) {
        let requirements = vec![];
        let done = BlockDone { block, at_ns: self.now_ns, verdicts, requirements, knee, search: None };
        self.events.push(Event::BlockDone(done));
    }

    /// The events so far, without an end.
    pub(crate) fn stopped_short(self) -> Vec<Event> {
        self.events
    }

    pub(crate) fn close(mut self, finding: Finding) -> Vec<Event> {
        self.events.push(Event::Restored { entries: 2, failed: vec![], changed: vec![] });
        self.events.push(Event::Closed(Finding { at_ns: self.now_ns, ..finding }));
        self.events
    }
}

pub(crate) fn finding(reason: CloseReason, blocks: u32) -> Finding {
    Finding {
        reason,
        at_ns: 0,
        blocks,
        trials: 0,
        voids: 0,
        verdicts: vec![],
        requirements: vec![],
        calibrations: vec![],
        levels: vec![],
        knee: None,
        search: None,
        notes: vec![],
    }
}

pub(crate) fn verdict(setting: u32, metric: &str, verdict: Verdict, change: (f64, f64, f64)) -> SettingVerdict {
    let open = verdict == Verdict::Undecided;
    SettingVerdict {
        setting,
        metric: metric.into(),
        verdict,
        change: change.0,
        low: Some(change.1),
        high: Some(change.2),
        allowing_after: None,
        blocks: 4,
        decided_at: (!open).then_some(4),
        predicted_blocks: open.then_some((10, 24)),
        absolute: false,
        unstable: false,
        notes: vec![],
    }
}

fn level(setting: u32, metric: &str, typical: f64, half: f64) -> Level {
    let (low, high) = (Some(typical - half), Some(typical + half));
    Level { setting, metric: metric.into(), trials: 4, typical, low, high }
}

/// Five frequencies, six metrics, the knee at 500 MHz.
pub(crate) fn router() -> Vec<Event> {
    let labels = ["600 MHz", "550 MHz", "500 MHz", "250 MHz", "125 MHz"];
    let turns: Vec<String> =
        labels.iter().map(|label| format!("governor=userspace freq={}", label.replace(' ', ""))).collect();
    let settings: Vec<(&str, &str)> = labels.iter().copied().zip(turns.iter().map(String::as_str)).collect();
    let metrics = vec![
        metric("rate_mbit_s", Better::Higher, true, None),
        metric("power_w", Better::Lower, false, Some("modelled")),
        metric("rtt_ms", Better::Lower, false, None),
        metric("receive_cpu_percent", Better::Lower, false, None),
        metric("energy_j", Better::Lower, false, Some("modelled")),
        metric("retransmits", Better::Lower, false, None),
    ];
    let mut journal = Journal::new(Started {
        title: Some("router throughput".into()),
        far: Some("sim:pc".into()),
        load: serde_json::json!({"kind": "stream", "for_ns": 10 * S, "from": "far"}),
        cost_order: vec![4, 3, 2, 1, 0],
        margin_source: "plan".into(),
        ..started("sim:omap3530", &settings, metrics)
    });
    let rates = [53.4, 54.1, 56.5, 30.8, 16.1];
    journal.valid(0, 0, &[("rate_mbit_s", 50.0)]);
    let name = "rate_mbit_s";
    let verdicts = |cheap| {
        let mut open = verdict(1, name, Verdict::Undecided, (0.004, -0.031, 0.039));
        if cheap {
            open = verdict(1, name, Verdict::Same, (0.004, -0.018, 0.026));
        }
        vec![
            open,
            verdict(2, name, Verdict::Same, (-0.002, -0.02, 0.016)),
            verdict(3, name, Verdict::Worse, (-0.432, -0.451, -0.413)),
            verdict(4, name, Verdict::Worse, (-0.698, -0.71, -0.686)),
        ]
    };
    let knee = |knee, provisional| KneeFinding {
        metric: name.into(),
        knee,
        provisional,
        probability: provisional.map(|_| 0.87),
        inferior: vec![4, 3],
        alike: if knee.is_some() { vec![2, 1, 0] } else { vec![] },
        none: false,
    };
    for block in 1..=4 {
        for setting in [3, 0, 4, 1, 2_u32] {
            let rate = rates[setting as usize] + f64::from(block) / 10.0;
            journal.valid(block, setting, &[(name, rate), ("power_w", 1.0), ("rtt_ms", 1.5)]);
        }
        match block {
            1 => journal.block(1, vec![], None),
            4 => journal.block(4, verdicts(true), Some(knee(Some(2), None))),
            _ => journal.block(block, verdicts(false), Some(knee(None, Some(2)))),
        }
    }
    journal.close(Finding {
        trials: 20,
        verdicts: verdicts(true),
        levels: router_levels(&rates),
        knee: Some(knee(Some(2), None)),
        notes: vec!["the rate of all settings rose by 0.4 % a block (0.1 .. 0.7)".into()],
        ..finding(CloseReason::Decided, 4)
    })
}

fn router_levels(rates: &[f64]) -> Vec<Level> {
    let mut levels = vec![];
    for (setting, rate) in (0..).zip(rates.iter().copied()) {
        levels.push(level(setting, "rate_mbit_s", rate, 0.31));
        levels.push(level(setting, "power_w", 0.9 + rate / 100.0, 0.012));
        levels.push(level(setting, "rtt_ms", 80.0 / rate, 0.21));
        levels.push(level(setting, "receive_cpu_percent", rate / 2.2, 0.42));
        levels.push(level(setting, "energy_j", 9.0 + rate / 10.0, 0.12));
        levels.push(level(setting, "retransmits", 0.0, 0.0));
    }
    levels
}

/// A counter under four governors: two differ, one does not.
pub(crate) fn governors() -> Vec<Event> {
    let settings = [
        ("performance", "governor=performance"),
        ("ondemand", "governor=ondemand"),
        ("conservative", "governor=conservative up_threshold=98 down_threshold=95"),
        ("powersave", "governor=powersave"),
    ];
    let metrics = vec![metric("count", Better::Higher, true, None)];
    let mut journal = Journal::new(started("local", &settings, metrics));
    let counts = [25.93e6, 25.8e6, 22.74e6, 17.02e6];
    let verdicts = vec![
        SettingVerdict {
            notes: vec!["a difference below the margin is likely".into()],
            ..verdict(1, "count", Verdict::Same, (-0.005, -0.012, 0.002))
        },
        verdict(2, "count", Verdict::Worse, (-0.123, -0.129, -0.118)),
        SettingVerdict { unstable: true, ..verdict(3, "count", Verdict::Worse, (-0.344, -0.352, -0.336)) },
    ];
    for block in 1..=4 {
        for setting in 0..4_u32 {
            journal.valid(block, setting, &[("count", counts[setting as usize])]);
            if setting == 3 {
                let site = ReachedSite {
                    knob: "cpufreq.max_freq".into(),
                    site: "policy0".into(),
                    asked: "1500000".into(),
                    reads_back: Some("1600000".into()),
                    landed: "clamped to 1600 MHz".into(),
                };
                let trial = journal.trial - 1;
                journal.events.push(Event::Landed { trial, site });
            }
        }
        journal.block(block, if block > 2 { verdicts.clone() } else { vec![] }, None);
    }
    journal.events.push(Event::SettingLeft { setting: 3, block: 3, why: "decided".into() });
    let levels = (0..).zip(counts).map(|(setting, count)| level(setting, "count", count, 62_000.0)).collect();
    journal.close(Finding { trials: 16, verdicts, levels, ..finding(CloseReason::Decided, 4) })
}

/// Ctrl-C in the second block, after trials that do not count.
pub(crate) fn stopped() -> Vec<Event> {
    let settings = [("baseline", ""), ("boost off", "boost=0")];
    let metrics = vec![metric("real_s", Better::Lower, true, None)];
    let mut journal = Journal::new(Started {
        load: serde_json::json!({"kind": "command", "argv": ["make", "-j8", "all"]}),
        warmup: 1,
        search: None,
        ..started("local", &settings, metrics)
    });
    journal.valid(0, 0, &[("real_s", 13.0)]);
    journal.valid(1, 1, &[("real_s", 14.0)]);
    let failed = Void::LoadFailed { why: "load: exit status 2, \u{1b}[31mmake: *** no rule\u{1b}[0m".into() };
    journal.void(1, 0, failed.clone());
    journal.void(1, 0, failed);
    let by = vec![];
    let moved = Void::KnobMoved { knob: "cpufreq.boost".into(), expected: "0".into(), found: "1".into(), by };
    journal.void(1, 0, moved);
    journal.valid(1, 0, &[("real_s", 12.5)]);
    journal.block(1, vec![], None);
    journal.valid(2, 0, &[("real_s", 12.7)]);
    journal.void(2, 1, Void::Stopped);
    let mut events = journal.close(Finding { trials: 3, voids: 4, ..finding(CloseReason::Stopped, 1) });
    let failed = vec!["/sys/devices/system/cpu/cpufreq/boost could not be set to 1: it is gone".into()];
    let place = events.len() - 2;
    events[place] = Event::Restored { entries: 1, failed, changed: vec![] };
    events
}

/// Two judged metrics, a difference on one, the other open when the time was over.
pub(crate) fn open() -> Vec<Event> {
    let settings = [("governor=performance", "governor=performance"), ("governor=schedutil", "governor=schedutil")];
    let metrics =
        vec![metric("real_s", Better::Lower, true, None), metric("energy_j", Better::Lower, true, Some("package"))];
    let plan = Started { robust: true, budget_ns: Some(900 * S), ..started("local", &settings, metrics) };
    let mut journal = Journal::new(plan);
    let verdicts = vec![
        verdict(1, "real_s", Verdict::Undecided, (0.021, -0.03, 0.073)),
        verdict(1, "energy_j", Verdict::Better, (-0.0812, -0.0905, -0.072)),
    ];
    for block in 1..=4 {
        journal.valid(block, 0, &[("real_s", 21.1), ("energy_j", 310.0)]);
        journal.valid(block, 1, &[("real_s", 21.5), ("energy_j", 285.0)]);
        journal.block(block, verdicts.clone(), None);
    }
    let levels = vec![
        level(0, "real_s", 21.119, 0.4),
        level(1, "real_s", 21.56, 0.9),
        level(0, "energy_j", 310.2, 1.2),
        Level { low: Some(279.0), high: Some(296.0), ..level(1, "energy_j", 285.0, 0.0) },
    ];
    journal.close(Finding { trials: 8, verdicts, levels, ..finding(CloseReason::Budget, 4) })
}

/// A ping under two settings, five trials each after a warm-up that does not count.
pub(crate) fn pings() -> Vec<Event> {
    let metrics = vec![metric("rtt_ms", Better::Lower, true, None)];
    let settings = [("rx-usecs=10", "nic.rx-usecs=10"), ("slow, \"100\"", "nic.rx-usecs=100")];
    let mut events = vec![Event::Started(Box::new(started("sim:pc", &settings, metrics)))];
    for number in 0..11_u32 {
        let (trial, block, setting) = (number, number.div_ceil(2), u32::from(number % 2 == 0 && number > 0));
        let at_ns = u64::from(number) * S;
        let base = 60_000 + 50_000 * u64::from(setting) + 100 * u64::from(number);
        let histogram = vec![(base, 500), (base + 5_000, 440), (base + 20_000, 58), (base + 400_000, 2)];
        let metrics = [("rtt_ms".to_owned(), base as f64 / 1e6)].into();
        let histograms = [("rtt_ns".to_owned(), histogram)].into();
        events.push(Event::TrialStarted(PlannedTrial { trial, block, setting, copy: 0, at_ns }));
        events.push(Event::TrialDone { trial, at_ns, outcome: Outcome { metrics, histograms, ..Outcome::default() } });
    }
    events
}
