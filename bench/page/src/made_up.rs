//! An experiment that nobody ran, in a store as `powerband` keeps it: any number of readings, noisy, with a few that stand out.
use std::path::Path;

use anyhow::{Context as _, Result};
use powerband_record::{Event, ExperimentHeader, MeterQuantity, MeterReading, Side, Timeline};
use powerband_store::Store;
use serde_json::{Value, json};

const SETTINGS: u32 = 4;
const BLOCKS: u32 = 10;
/// Timelines of a trial: one of power, two of clocks, two of how busy CPUs were.
const TIMELINES: u64 = 5;
/// A reading each 100 ms, some tens of microseconds late.
const PERIOD_NS: u64 = 100_000_000;

/// A generator of Knuth's (MMIX), its upper bits.
struct Noise(u64);

impl Noise {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Writes an experiment of so many readings, or a few more.
pub(crate) fn write(path: &Path, readings: u64) -> Result<()> {
    let mut store = Store::open(path)?;
    let id = store.begin(&header()?)?;
    let each = readings.div_ceil(u64::from(SETTINGS * BLOCKS) * TIMELINES).max(3);
    store.append(id, &event(started())?)?;
    let mut noise = Noise(1);
    for trial in 0..SETTINGS * BLOCKS {
        let (block, setting) = (trial / SETTINGS + 1, trial % SETTINGS);
        let at_ns = u64::from(trial) * each * PERIOD_NS;
        let planned = json!({"event": "trial_started", "trial": trial, "block": block, "setting": setting, "copy": 0, "at_ns": at_ns});
        store.append(id, &event(planned)?)?;
        let count = 1000.0 + f64::from(setting * 10) + noise.below(100) as f64 / 10.0;
        let outcome = json!({"metrics": {"count": count}});
        let done =
            json!({"event": "trial_done", "trial": trial, "at_ns": at_ns + each * PERIOD_NS, "outcome": outcome});
        let mut done = event(done)?;
        if let Event::TrialDone { outcome, .. } = &mut done {
            outcome.timelines = timelines(each, setting, &mut noise);
        }
        store.append(id, &done)?;
    }
    Ok(())
}

fn timelines(each: u64, setting: u32, noise: &mut Noise) -> Vec<Timeline> {
    let level = u64::from(setting);
    let mut of = |meter: &str, of: &str, quantity, value: &dyn Fn(u64, &mut Noise) -> u64| {
        let readings: Vec<MeterReading> =
            (0..each).map(|i| (i * PERIOD_NS + noise.below(50_000), value(i, noise))).collect();
        Timeline::pack(Side::Near, meter, of, quantity, &readings)
    };
    let power = |i: u64, noise: &mut Noise| {
        let spike = if noise.below(20_000) == 0 { 40_000_000 } else { 0 };
        50_000_000 + level * 5_000_000 + i / 600 % 7 * 1_000_000 + noise.below(3_000_000) + spike
    };
    let clock = |_: u64, noise: &mut Noise| 1_600_000 + 266_667 * noise.below(level + 2).min(3);
    let busy = |_: u64, noise: &mut Noise| noise.below(11) * 100;
    [
        of("hwmon", "board", MeterQuantity::PowerUw, &power),
        of("clock", "policy0", MeterQuantity::ClockKhz, &clock),
        of("clock", "policy1", MeterQuantity::ClockKhz, &clock),
        of("utilisation", "cpu0", MeterQuantity::BusyPermille, &busy),
        of("utilisation", "cpu1", MeterQuantity::BusyPermille, &busy),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn event(value: Value) -> Result<Event> {
    serde_json::from_value(value).context("the shape of events has changed")
}

fn started() -> Value {
    let setting = |setting: u32| json!({"label": format!("setting {setting}"), "turns": format!("knob={setting}")});
    json!({
        "event": "started", "machine": "made up", "system": "none", "load": {"kind": "counter", "for_ns": 1_000_000_000},
        "seed": 1, "settings": (0..SETTINGS).map(setting).collect::<Vec<_>>(),
        "metrics": [{"name": "count", "better": "higher", "judged": true}],
        "alpha": 0.05, "margin": 0.01, "margin_source": "default", "max_blocks": BLOCKS, "settle_ns": 0, "warmup": 0,
    })
}

fn header() -> Result<ExperimentHeader> {
    let header = json!({
        "journal_version": powerband_record::JOURNAL_VERSION, "id": 0, "started_unix_s": 1_700_000_000, "host": "none",
        "powerband": "0", "command_line": ["powerband"],
    });
    serde_json::from_value(header).context("the shape of headers has changed")
}
