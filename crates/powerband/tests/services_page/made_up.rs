//! Experiments made by hand, of any number of settings, with honest or hostile names.
use powerband_record::{
    CloseReason, Event, FactChange, Finding, Level, Outcome, PlannedTrial, SettingVerdict, Side, Started, Verdict,
};
use powerband_report::Model;

/// Names that would like to be more than names.
const HOSTILE: [&str; 5] = [
    "</script><script>window.hostile = 1</script>",
    "\"' onmouseover='window.hostile = 1' <img src=x onerror=\"window.hostile = 1\">",
    "a\u{202e}b\u{2066}c\u{0}d\u{1b}[31me",
    "שלום عالم",
    "]]><!-- </style> <svg/onload=window.hostile=1> &lt; \u{2028}",
];

/// The page of an experiment with so many settings.
pub(crate) fn page(settings: u32, hostile: bool) -> String {
    let events = events(settings, hostile);
    let model = Model::from_events(&events).unwrap();
    let pictures = powerband_report::picture::pictures(&model, None);
    powerband_report::page::experiment(&model, &events, &pictures).unwrap()
}

fn label(setting: u32, hostile: bool) -> String {
    match hostile {
        true => HOSTILE[setting as usize % HOSTILE.len()].to_owned(),
        false if setting == 0 => "baseline".to_owned(),
        false => format!("governor=userspace freq={}MHz", 500 + 10 * setting),
    }
}

fn started(settings: u32, hostile: bool) -> Started {
    let named = |setting| serde_json::json!({"label": label(setting, hostile), "turns": if setting == 0 { String::new() } else { label(setting, hostile) }});
    let value = serde_json::json!({
        "machine": "local", "system": if hostile { HOSTILE[0] } else { "Linux 6.1" },
        "load": {"kind": "command", "argv": ["sh", "-c", if hostile { HOSTILE[1] } else { "true" }]},
        "seed": 7, "settings": (0..settings).map(named).collect::<Vec<_>>(),
        "metrics": [
            {"name": "rate_mbit_s", "better": "higher", "judged": true},
            {"name": "power_w", "better": "lower", "judged": true, "boundary": if hostile { HOSTILE[2] } else { "package" }},
        ],
        "alpha": 0.05, "margin": 0.05, "margin_source": "default", "max_blocks": 30, "settle_ns": 0, "warmup": 0,
    });
    serde_json::from_value(value).unwrap()
}

/// What of the machine is not as it was at the end.
fn changed(hostile: bool) -> Vec<FactChange> {
    let change = |part: &str, what: &str, was: Option<&str>, is: Option<&str>| FactChange {
        side: Side::Near,
        part: part.to_owned(),
        what: what.to_owned(),
        was: was.map(str::to_owned),
        is: is.map(str::to_owned),
    };
    let governor = if hostile { HOSTILE[0] } else { "schedutil" };
    vec![
        change("clocks", "governor", Some("ondemand"), Some(governor)),
        change("clocks", "boost", Some("1"), None),
        change("idle states", if hostile { HOSTILE[2] } else { "driver" }, None, Some("intel_idle")),
    ]
}

/// The value of a metric in a trial: what the setting makes of it, and a little that comes and goes.
fn value(metric: &str, setting: u32, trial: u32) -> f64 {
    let noise = 1.0 + 0.01 * f64::from((trial * 7919) % 13) / 13.0;
    let level = if metric == "power_w" { 2.0 + 0.1 * f64::from(setting) } else { 50.0 + 2.0 * f64::from(setting) };
    level * noise
}

fn events(settings: u32, hostile: bool) -> Vec<Event> {
    let started = started(settings, hostile);
    let metrics: Vec<String> = started.metrics.iter().map(|metric| metric.name.clone()).collect();
    let mut events = vec![Event::Started(Box::new(started))];
    let mut trial = 0;
    for block in 1..=3 {
        for setting in 0..settings {
            let at_ns = u64::from(trial) * 1_000_000_000;
            events.push(Event::TrialStarted(PlannedTrial { trial, block, setting, copy: 0, at_ns }));
            let measured = metrics.iter().map(|name| (name.clone(), value(name, setting, trial))).collect();
            let outcome = Outcome { metrics: measured, ..Outcome::default() };
            events.push(Event::TrialDone { trial, at_ns: at_ns + 900_000_000, outcome });
            trial += 1;
        }
    }
    events.push(Event::Restored { entries: settings, failed: Vec::new(), changed: changed(hostile) });
    let cells = || metrics.iter().flat_map(|metric| (0..settings).map(move |setting| (metric, setting)));
    let level = |(metric, setting): (&String, u32)| {
        let typical = value(metric, setting, setting);
        let (low, high) = (Some(typical * 0.98), Some(typical * 1.02));
        Level { setting, metric: metric.clone(), trials: 3, typical, low, high }
    };
    let verdict = |(metric, setting): (&String, u32)| {
        let change = value(metric, setting, 0) / value(metric, 0, 0) - 1.0;
        let verdict = match (change < 0.05, metric == "power_w") {
            (true, _) => Verdict::Undecided,
            (false, true) => Verdict::Worse,
            (false, false) => Verdict::Better,
        };
        serde_json::from_value::<SettingVerdict>(serde_json::json!({
            "setting": setting, "metric": metric, "verdict": verdict, "change": change, "low": change - 0.02,
            "high": change + 0.02, "blocks": 3,
            "notes": if hostile { vec![HOSTILE[0]] } else { Vec::new() },
        }))
        .unwrap()
    };
    events.push(Event::Closed(Finding {
        reason: CloseReason::Blocks,
        at_ns: u64::from(trial) * 1_000_000_000,
        blocks: 3,
        trials: trial,
        voids: 0,
        verdicts: cells().filter(|(_, setting)| *setting > 0).map(verdict).collect(),
        requirements: Vec::new(),
        calibrations: Vec::new(),
        levels: cells().map(level).collect(),
        knee: None,
        search: None,
        notes: Vec::new(),
    }));
    events
}
