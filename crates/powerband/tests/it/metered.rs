//! Meters of both machines of a rig: how long what they measured lasted, what it covers, and what is said when it could not
//! be measured. Machines here are agents that see a made-up tree of sensors, one of them behind a slow way.
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::desk::{Desk, root, split, typical};

const PAIR: [&str; 4] = ["--machine", "sim:omap3530", "--far", "sim:pc"];
const QUICK: [&str; 6] = ["--settle", "0", "--warmup", "0", "--blocks", "2"];

/// A counter of energy that moves as if so many watts were drawn.
struct Meter {
    ends: Arc<AtomicBool>,
    moves: Option<JoinHandle<()>>,
    late_us: Arc<AtomicU64>,
}

impl Meter {
    fn new(chip: &Path, name: &str, watts: u128) -> Meter {
        fs::create_dir_all(chip).unwrap();
        fs::write(chip.join("name"), name).unwrap();
        fs::write(chip.join("energy1_label"), "total").unwrap();
        let file = File::create(chip.join("energy1_input")).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let late_us = Arc::new(AtomicU64::new(0));
        let (stop, since, late) = (Arc::clone(&ends), Instant::now(), Arc::clone(&late_us));
        let moves = std::thread::spawn(move || {
            let mut moved = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                late.fetch_max(u64::try_from(moved.elapsed().as_micros()).unwrap(), Ordering::Relaxed);
                moved = Instant::now();
                // Always as many digits, so that nobody ever reads half of it.
                file.write_at(format!("{:020}\n", watts * since.elapsed().as_micros()).as_bytes(), 0).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Meter { ends, moves: Some(moves), late_us }
    }

    /// The longest time that it stood still, because this machine had other work.
    fn late_s(&self) -> f64 {
        self.late_us.load(Ordering::Relaxed) as f64 / 1e6
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.moves.take().map(JoinHandle::join);
    }
}

/// What leads to an agent with a state folder of its own that sees the sensors of a folder.
fn agent(desk: &Desk, sensors: &Path) -> String {
    let script = format!(
        "mount -t tmpfs none /sys/class && mkdir /sys/class/hwmon && mount --bind {} /sys/class/hwmon && exec {} agent",
        sensors.display(),
        env!("CARGO_BIN_EXE_powerband")
    );
    format!("env POWERBAND_STATE_DIR={} unshare -m sh -c '{script}'", desk.state().display())
}

/// What leads to a bare shell that sees the sensors of a folder.
fn shell(desk: &Desk, sensors: &Path) -> String {
    agent(desk, sensors).replace(&format!("exec {} agent", env!("CARGO_BIN_EXE_powerband")), "exec busybox sh")
}

/// A slow way to an agent: what leads to it hands its two streams to us, and everything arrives so much later.
fn slow(desk: &Desk, way: String, delay: Duration) -> String {
    let [there, back] = ["there", "back"].map(|name| desk.beside(name));
    for fifo in [&there, &back] {
        assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let leads = format!("cmd:sh -c \"cat {} & exec cat > {}\"", back.display(), there.display());
    // It ends with the tests when nobody comes any more.
    std::thread::spawn(move || serve(&there, &back, &way, delay));
    leads
}

fn serve(there: &PathBuf, back: &PathBuf, way: &str, delay: Duration) {
    loop {
        // Opens when somebody comes.
        let said = File::open(there).unwrap();
        let heard = File::options().write(true).open(back).unwrap();
        let mut agent =
            Command::new("sh").args(["-c", way]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (agent.stdin.take().unwrap(), agent.stdout.take().unwrap());
        let ways = [late(said, input, delay), late(output, heard, delay)];
        ways.into_iter().for_each(|way| way.join().unwrap());
        agent.wait().unwrap();
    }
}

/// Passes on what it reads, each piece so much later, to the end.
fn late(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static, delay: Duration) -> JoinHandle<()> {
    let (pieces, due) = std::sync::mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok(got @ 1..) = from.read(&mut bytes) {
            if pieces.send((Instant::now() + delay, bytes[..got].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (at, piece) in due {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            // One that has gone away hears nothing.
            if to.write_all(&piece).and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    })
}

/// The metrics of each trial.
fn trials(desk: &Desk) -> Vec<serde_json::Value> {
    let events = desk.journal().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    events.filter(|event| event["event"] == "trial_done").map(|event| event["outcome"]["metrics"].clone()).collect()
}

/// How long a meter was read, s.
fn span_s(metrics: &serde_json::Value, side: &str) -> f64 {
    let of = |name: &str| metrics[format!("{side}{name}")].as_f64().unwrap();
    of("energy_j") / of("power_w")
}

#[test]
fn a_shell_reads_its_meters_around_a_command_by_itself() {
    if !root() {
        return;
    }
    let [desk, near, far] = &[Desk::new(), Desk::new(), Desk::new()];
    let sensors = [near, far].map(|desk| desk.beside("sensors"));
    let meters =
        [Meter::new(&sensors[0].join("hwmon0"), "board", 20), Meter::new(&sensors[1].join("hwmon0"), "wall", 10)];
    let (here, there) = (format!("sh:{}", shell(near, &sensors[0])), format!("sh:{}", shell(far, &sensors[1])));
    fs::write(near.beside("knob"), "1").unwrap();
    let b = format!("b:{}=2", near.knob("knob"));
    let asks = split("--metric far/watts --metric far/joules --metric power_w --metric energy_j");
    let rig = format!("--machine `{here}` --far `{there}` try -s a: -s `{b}`");
    let rig = split(&rig);
    desk.run(&[&rig[..], &asks, &QUICK, &["--", "sleep", "1.5"]].concat()).ended(0);
    let trials = trials(desk);
    assert!(trials.len() >= 4, "{trials:?}");
    for metrics in &trials {
        let watts = |name: &str| metrics[name].as_f64().unwrap();
        let real_s = metrics["real_s"].as_f64().unwrap();
        assert!(real_s >= 1.5, "{metrics}");
        // No round trip and no start of a shell is in what was measured. On a busy machine all of it is late, as is what moves the counters.
        let late_s = meters.iter().map(Meter::late_s).fold(0.0, f64::max);
        for (side, truth, more_s) in [("", 20.0, 1.0), ("far/", 10.0, 2.5)] {
            let (read, span_s) = (watts(&format!("{side}power_w")), span_s(metrics, side));
            assert!((read - truth).abs() <= truth * (0.1 + late_s / span_s), "{late_s} s late: {metrics}");
            assert!(
                real_s - 0.1 - late_s <= span_s && span_s < real_s + more_s + 20.0 * late_s,
                "{late_s} s late: {metrics}"
            );
        }
    }
}

#[test]
fn what_is_metered_lasts_as_long_as_the_load_however_slow_the_way_there() {
    if !root() {
        return;
    }
    let desks = [Desk::new(), Desk::new(), Desk::new()];
    let [desk, near, far] = &desks;
    let sensors = [near, far].map(|desk| desk.beside("sensors"));
    let _meters =
        [Meter::new(&sensors[0].join("hwmon0"), "board", 20), Meter::new(&sensors[1].join("hwmon0"), "wall", 10)];
    const DELAY_S: f64 = 0.4;
    let here = format!("cmd:{}", agent(near, &sensors[0]));
    let there = slow(far, agent(far, &sensors[1]), Duration::from_secs_f64(DELAY_S));
    fs::write(near.beside("knob"), "1").unwrap();
    let b = format!("b:{}=2", near.knob("knob"));
    let asks = split("--metric both/joules --metric far/watts --metric far/joules --metric power_w");
    let rig = format!("--machine `{here}` --far `{there}` try -s a: -s `{b}` --load counter --for 1s");
    let rig = split(&rig);
    let report = desk.report(&[&rig[..], &asks, &QUICK].concat());

    let trials = trials(desk);
    assert!(trials.len() >= 4, "{trials:?}");
    for metrics in &trials {
        let of = |name: &str| metrics[name].as_f64().unwrap();
        assert!((of("energy_j") + of("far/energy_j") - of("both/energy_j")).abs() < 1e-9, "{metrics}");
        assert!(of("far/power_w") > 1.0 && of("power_w") > 1.0);
    }
    // One that was held up by others is none of the way's doing.
    for side in ["", "far/"] {
        let shortest = trials.iter().map(|metrics| span_s(metrics, side)).fold(f64::INFINITY, f64::min);
        assert!((1.0..1.0 + DELAY_S).contains(&shortest), "{side}: {shortest} s");
    }
    let covers = |name: &str| report.metrics.iter().find(|metric| metric.name == name).unwrap().boundary.clone();
    assert_eq!(covers("power_w").as_deref(), Some("board total"));
    assert_eq!(covers("far/power_w").as_deref(), Some("far wall total"));
    assert_eq!(covers("both/energy_j").as_deref(), Some("near board total + far wall total"));
    let shown = desk.run(&["show", "last", "-v"]).ended(0).out;
    assert!(shown.contains("near board total + far wall total"), "{shown}");
}

#[test]
fn a_far_machine_idles_metered_beside_a_load_of_the_near_one() {
    if !root() {
        return;
    }
    let (desk, far) = (Desk::new(), Desk::new());
    let _meter = Meter::new(&far.beside("sensors/hwmon0"), "wall", 10);
    let there = format!("cmd:{}", agent(&far, &far.beside("sensors")));
    fs::write(desk.beside("knob"), "1").unwrap();
    let b = format!("b:{}=2", desk.knob("knob"));
    let words = format!("--far `{there}` try -s a: -s `{b}` --metric far/joules --metric real_s");
    let words = split(&words);
    desk.report(&[&words[..], &QUICK, &["--", "sleep", "0.5"]].concat());
    for metrics in trials(&desk) {
        let seconds = metrics["far/energy_j"].as_f64().unwrap() / 10.0;
        let real_s = metrics["real_s"].as_f64().unwrap();
        assert!(real_s >= 0.5 && seconds > 0.4, "{metrics}");
    }
}

#[test]
fn what_a_meter_could_not_measure_is_said() {
    if !root() {
        return;
    }
    let (desk, near) = (Desk::new(), Desk::new());
    let chip = near.beside("sensors/hwmon0");
    fs::create_dir_all(&chip).unwrap();
    for (file, text) in
        [("name", "psu"), ("power1_label", "out"), ("power1_input", "5000000"), ("update_interval", "0")]
    {
        fs::write(chip.join(file), text).unwrap();
    }
    let here = format!("cmd:{}", agent(&near, &near.beside("sensors")));
    fs::write(near.beside("knob"), "1").unwrap();
    let b = format!("b:{}=2", near.knob("knob"));
    let words = format!("--machine `{here}` try -s a: -s `{b}` --load counter --for 300ms");
    let words = split(&words);
    let shown = desk.report(&[&words[..], &["--metric", "count_per_s"], &QUICK].concat());
    let notes: Vec<_> = shown.notes.iter().filter(|note| note.starts_with("energy_j and power_w were not")).collect();
    let [note] = notes.as_slice() else { panic!("{:?}", shown.notes) };
    assert!(note.contains(&format!("in {0} of {0} trials: the load ran for", shown.trials)), "{note}");
    assert!(note.contains("every 1000 ms") && note.contains("is assumed"), "{note}");
    let text = desk.run(&["show", "last", "-v"]).ended(0).out;
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(note.as_str()), "{text}");

    // Where it is judged, there is no experiment without it.
    let judged = desk.run(&[&words[..], &["--metric", "watts"], &QUICK].concat());
    assert!(judged.code != Some(0));
    let said = format!("{}{}", judged.out, judged.err);
    assert!(said.contains("is assumed"), "{said}");

    // A counter that is not there any more at the end.
    fs::write(chip.join("energy1_input"), "1000000\n").unwrap();
    fs::remove_file(chip.join("power1_input")).unwrap();
    let vanishes = format!("sleep 0.2; : > {}", chip.join("energy1_input").display());
    let words = format!("--machine `{here}` try -s a: -s `{b}` --metric real_s");
    let words = split(&words);
    let shown = desk.report(&[&words[..], &QUICK, &["--", "sh", "-c", &vanishes]].concat());
    assert!(shown.notes.iter().any(|note| note.contains("'' is not a number")), "{:?}", shown.notes);
    assert!(!shown.settings[0].levels.contains_key("energy_j"), "it is not zero");
}

#[test]
fn simulated_pairs_have_a_meter_each() {
    let desk = Desk::new();
    let try_idle = split("try -s a: -s b:governor=powersave --load idle --for 10s");
    let asks = split("--metric both/power_w --metric far/watts --metric there_w=far/power_w --metric joules");
    let report = desk.report(&[&PAIR[..], &try_idle, &asks, &QUICK].concat());
    for setting in ["a", "b"] {
        let of = |name: &str| typical(&report, setting, name);
        assert!((of("power_w") + of("far/power_w") - of("both/power_w")).abs() < 1e-6);
        assert_eq!(of("there_w"), of("far/power_w"));
    }
    let of = |setting: &str, name: &str| typical(&report, setting, name);
    assert!(of("a", "far/power_w") > 5.0 * of("a", "power_w"), "a PC draws more than a router");
    assert!(of("b", "power_w") < 0.99 * of("a", "power_w"), "the near one is turned down");
    assert!((of("b", "far/power_w") / of("a", "far/power_w") - 1.0).abs() < 0.001, "the far one is not");
    let boundary = report.metrics.iter().find(|metric| metric.name == "there_w").unwrap().boundary.clone();
    assert_eq!(boundary.as_deref(), Some("far modelled"));

    let dry = [&PAIR[..], &try_idle, &["--metric", "both/watts", "--dry-run"]].concat();
    let meters = desk.json(&dry)["meters"].clone();
    let told: Vec<_> = meters.as_array().unwrap().iter().map(|it| (&it["side"], &it["boundary"])).collect();
    assert_eq!(told, [(&"near".into(), &"modelled".into()), (&"far".into(), &"modelled".into())]);
    assert!(desk.run(&dry).ended(0).out.contains("meters found: near modelled, far modelled\n"));
}

#[test]
fn the_far_meter_is_read_around_the_far_part_of_a_stream() {
    let desk = Desk::new();
    let words = split("--load stream --for 2s --metric rate_mbit_s --metric far/joules --metric far/watts");
    let settings = ["try", "-s", "a:", "-s", "b:governor=powersave"];
    desk.report(&[&PAIR[..], &settings, &words, &QUICK].concat());
    let trials = trials(&desk);
    assert!(!trials.is_empty());
    for metrics in trials {
        let (near_s, far_s) = (span_s(&metrics, ""), span_s(&metrics, "far/"));
        assert!(far_s >= 2.0 && (near_s - far_s).abs() < 0.05, "{near_s} s and {far_s} s");
    }
}

#[test]
fn a_metric_of_a_machine_without_a_meter_is_refused() {
    if !root() {
        return;
    }
    let (near, far) = (Desk::new(), Desk::new());
    let _meter = Meter::new(&near.beside("sensors/hwmon0"), "board", 20);
    fs::create_dir_all(far.beside("sensors")).unwrap();
    let [here, there] = [&near, &far].map(|desk| format!("cmd:{}", agent(desk, &desk.beside("sensors"))));
    let b = format!("b:{}=2", near.knob("knob"));
    fs::write(near.beside("knob"), "1").unwrap();
    let words = format!("--machine `{here}` --far `{there}` try -s a: -s `{b}` --load idle --metric both/watts");
    let words = split(&words);
    let sentence = near.run(&words).refused(2);
    assert!(sentence.starts_with("'both/power_w' needs a meter, and the far machine has none"), "{sentence}");
}
