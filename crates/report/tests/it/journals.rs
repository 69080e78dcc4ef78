//! Journals made by hand: a router with a knee, a counter under governors, one that was stopped, one that stayed open; and
//! what changes them.
use powerband_record::{
    Better, BlockDone, CloseReason, Event, ExperimentHeader, Finding, KneeFinding, Level, Metric, Outcome,
    PlannedSetting, PlannedTrial, SettingVerdict, Started,
};
use serde_json::{from_value, json};

const S: u64 = 1_000_000_000;

pub(crate) fn header() -> ExperimentHeader {
    let header = json!({
        "journal_version": 1, "id": 12, "started_unix_s": 1_795_240_200, "host": "bench", "powerband": "0.1.0",
        "command_line": ["powerband", "try"], "observer_cpu_s": 0.4237, "observer_wakeups": 118,
    });
    from_value(header).unwrap()
}

/// `rate_mbit_s+ power_w-?@wall`: more is better, less is better; `?` is not judged, and behind `@` is what is covered.
pub(crate) fn metrics(typed: &str) -> Vec<Metric> {
    let metric = |word: &str| {
        let (word, boundary) = word.split_once('@').map_or((word, None), |(word, of)| (word, Some(of)));
        let name = word.trim_end_matches('?');
        let better = if name.ends_with('+') { Better::Higher } else { Better::Lower };
        let (judged, boundary) = (!word.ends_with('?'), boundary.map(str::to_owned));
        Metric { name: name.trim_end_matches(['+', '-']).into(), better, judged, boundary }
    };
    typed.split(' ').map(metric).collect()
}

pub(crate) fn started(machine: &str, settings: &[(&str, &str)], metrics: Vec<Metric>) -> Started {
    let setting = |(label, turns): &(&str, &str)| PlannedSetting { label: (*label).into(), turns: (*turns).into() };
    let settings: Vec<PlannedSetting> = settings.iter().map(setting).collect();
    let started = json!({
        "machine": machine, "system": "Linux 3.3.7", "load": {"kind": "counter", "for_ns": 5 * S}, "seed": 7,
        "settings": settings, "metrics": metrics, "alpha": 0.05, "margin": 0.05, "margin_source": "default",
        "max_blocks": 30, "settle_ns": S, "warmup": 0,
    });
    from_value(started).unwrap()
}

/// A plan of settings as `label|what it sets; …`, of which the label alone is both, and of [`metrics`].
pub(crate) fn plan(machine: &str, settings: &str, judged: &str) -> Started {
    let settings: Vec<(&str, &str)> = settings.split("; ").map(|it| it.split_once('|').unwrap_or((it, it))).collect();
    started(machine, &settings, metrics(judged))
}

/// Events with a running number for trials and a clock that goes on ten seconds a trial.
pub(crate) struct Journal {
    pub(crate) events: Vec<Event>,
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
        let (trial, at_ns) = (self.trial - 1, self.now_ns);
        self.events.push(Event::TrialDone { trial, at_ns, outcome });
    }

    pub(crate) fn block(&mut self, block: u32, verdicts: Vec<SettingVerdict>, knee: Option<KneeFinding>) {
        let (at_ns, requirements, search) = (self.now_ns, vec![], None);
        self.events.push(Event::BlockDone(BlockDone { block, at_ns, verdicts, requirements, knee, search }));
    }

    pub(crate) fn close(mut self, finding: Finding) -> Vec<Event> {
        self.events.push(Event::Restored { entries: 2, failed: vec![], changed: vec![] });
        self.events.push(Event::Closed(Finding { at_ns: self.now_ns, ..finding }));
        self.events
    }
}

pub(crate) fn finding(reason: CloseReason, blocks: u32) -> Finding {
    let finding = json!({
        "reason": reason, "at_ns": 0, "blocks": blocks, "trials": 0, "voids": 0, "verdicts": [], "levels": [],
    });
    from_value(finding).unwrap()
}

/// Verdicts as `setting metric verdict change low high; …`; those that are open have a prediction.
pub(crate) fn verdicts(typed: &str) -> Vec<SettingVerdict> {
    let one = |typed: &str| {
        let words: Vec<&str> = typed.split_whitespace().collect();
        let [setting, metric, verdict, numbers @ ..] = &words[..] else { panic!("{typed}") };
        let numbers: Vec<f64> = numbers.iter().map(|it| it.parse().unwrap()).collect();
        let open = *verdict == "undecided";
        let found = json!({
            "setting": setting.parse::<u32>().unwrap(), "metric": metric, "verdict": verdict, "change": numbers[0],
            "low": numbers.get(1), "high": numbers.get(2), "blocks": 4, "decided_at": (!open).then_some(4),
            "predicted_blocks": open.then_some((10, 24)),
        });
        from_value::<SettingVerdict>(found).unwrap()
    };
    typed.split(';').filter(|it| !it.trim().is_empty()).map(one).collect()
}

pub(crate) fn level(setting: u32, metric: &str, typical: f64, half: f64) -> Level {
    let (low, high) = (Some(typical - half), Some(typical + half));
    Level { setting, metric: metric.into(), trials: 4, typical, low, high }
}

/// A closed journal with another plan or another end.
pub(crate) fn changed(mut events: Vec<Event>, change: impl FnOnce(&mut Started, &mut Finding)) -> Vec<Event> {
    let [Event::Started(started), .., Event::Closed(finding)] = &mut events[..] else { panic!("it has no end") };
    change(started, finding);
    events
}

/// A journal whose valid trials measured something else.
pub(crate) fn outcomes(mut events: Vec<Event>, change: impl Fn(u32, &mut Outcome)) -> Vec<Event> {
    for event in &mut events {
        if let Event::TrialDone { trial, outcome, .. } = event {
            change(*trial, outcome);
        }
    }
    events
}

/// Settings that measured these numbers in three blocks, with levels of a tenth around them and verdicts of all kinds.
pub(crate) fn measured(settings: &str, judged: &str, values: &[&[f64]]) -> Vec<Event> {
    let plan = plan("sim:pc", settings, judged);
    let names: Vec<String> = plan.metrics.iter().map(|metric| metric.name.clone()).collect();
    let mut journal = Journal::new(plan);
    let mut end = finding(CloseReason::Decided, 3);
    for block in 1..=3 {
        for (setting, values) in (0..).zip(values) {
            let values = values.iter().map(|value| value * (1.0 + f64::from(block) / 1000.0));
            let values: Vec<(&str, f64)> = names.iter().map(String::as_str).zip(values).collect();
            journal.valid(block, setting, &values);
        }
        journal.block(block, vec![], None);
    }
    for (setting, values) in (0..).zip(values) {
        for (name, value) in names.iter().zip(*values) {
            end.levels.push(level(setting, name, *value, value / 10.0));
            let word = ["better", "worse", "same", "undecided"][setting as usize % 4];
            let found = verdicts(&format!("{setting} {name} {word} 0.01 0.0 0.02"));
            end.verdicts.extend(found.into_iter().filter(|it| it.setting > 0));
        }
    }
    journal.close(end)
}

/// Settings that measured one number each, a time.
pub(crate) fn alone(settings: &str, values: &[f64]) -> Vec<Event> {
    measured(settings, "real_s-", &values.iter().map(std::slice::from_ref).collect::<Vec<_>>())
}

fn read(journal: &str) -> Vec<Event> {
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Five frequencies, six metrics, the knee at 500 MHz.
pub(crate) fn router() -> Vec<Event> {
    read(include_str!("journals/router.jsonl"))
}

/// A counter under four governors: two differ, one does not.
pub(crate) fn governors() -> Vec<Event> {
    read(include_str!("journals/governors.jsonl"))
}

/// Ctrl-C in the second block, after trials that do not count.
pub(crate) fn stopped() -> Vec<Event> {
    read(include_str!("journals/stopped.jsonl"))
}

/// Two judged metrics, a difference on one, the other open when the time was over.
pub(crate) fn open() -> Vec<Event> {
    read(include_str!("journals/open.jsonl"))
}

/// A ping under two settings, five trials each after a warm-up that does not count.
pub(crate) fn pings() -> Vec<Event> {
    read(include_str!("journals/pings.jsonl"))
}

/// The least power of two knobs with a limit of latency, confirmed.
pub(crate) fn searched() -> Vec<Event> {
    read(include_str!("journals/search.jsonl"))
}

/// Two settings that are one machine, and the noise of what they measured.
pub(crate) fn calibrated(default_margin: f64) -> Vec<Event> {
    changed(read(include_str!("journals/calibrated.jsonl")), |_, end| {
        let found = &mut end.calibrations[0];
        (found.default_margin, found.sigma) = (default_margin, default_margin / 2.0);
    })
}
