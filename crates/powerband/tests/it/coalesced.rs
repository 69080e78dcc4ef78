//! Interrupt coalescing through the binary: of a real tap device in a network namespace, and of modelled cards on a cable.
use std::process::{Child, Command, Stdio};

use powerband_record::Verdict;

use crate::desk::{Desk, root, typical, until, workspace};
use crate::elsewhere::Namespace;

/// A namespace with a tap device `t0`, whose driver has rx-frames alone and takes no more than 64.
fn with_a_tap(name: &str) -> Namespace {
    let there = Namespace::new(name);
    there.run("ip", &["tuntap", "add", "dev", "t0", "mode", "tap"]);
    there
}

fn rx_frames(there: &Namespace, desk: &Desk) -> String {
    let value = there.powerband(desk, &["get", "rx-frames@t0", "--json"]).ended(0).value();
    value["readings"][0]["reading"]["value"].as_str().unwrap().to_owned()
}

#[test]
fn a_real_driver_is_set_read_back_and_put_back() {
    if !root() {
        return;
    }
    let (desk, there) = (Desk::new(), with_a_tap("tap"));
    let set = there.powerband(&desk, &["set", "rx-frames=100"]).ended(0);
    assert!(set.out.contains("nic.rx-frames at t0: 100, clamped to 64"), "{}", set.out);
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("64", 1));
    let why = desk.run(&["undo"]).refused(1);
    assert!(why.contains("it was set in another network namespace; run undo there"), "{why}");
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("64", 1), "left alone");
    there.powerband(&desk, &["undo"]).ended(0);
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("0", 0));

    let look = format!("{} get rx-frames", env!("CARGO_BIN_EXE_powerband"));
    let with = there.powerband(&desk, &["with", "rx-frames=12", "--", "sh", "-c", &look]).ended(0);
    assert!(with.out.contains("nic.rx-frames@t0 = 12"), "{}", with.out);
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("0", 0));

    let words = ["try", "rx-frames=0,7", "--settle", "0", "--blocks", "2", "--warmup", "0", "--json", "--", "true"];
    let report = there.powerband(&desk, &words).ended(0).report();
    assert_eq!(report.settings.len(), 3, "{:?}", report.settings);
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("0", 0));
}

#[test]
fn values_that_the_driver_makes_one_are_not_compared() {
    if !root() {
        return;
    }
    let (desk, there) = (Desk::new(), with_a_tap("alike"));
    let short = ["--settle", "0", "--blocks", "2", "--warmup", "0"];
    let measured =
        |words: &[&str]| there.powerband(&desk, &[&["try"], words, &short[..], &["--json", "--", "true"]].concat());
    let why = measured(&["rx-frames=100,200", "--reference", "rx-frames=100"]).refused(4);
    assert!(why.contains("nothing to compare: both became 64 (nic.rx-frames at t0)"), "{why}");
    let report = measured(&["rx-frames=7,100,200"]).ended(0).report();
    let trials = |label: &str| {
        let setting = report.settings.iter().find(|it| it.label == label).unwrap();
        setting.levels.values().map(|level| level.trials).max().unwrap_or_default()
    };
    assert_eq!(["rx-frames=7", "rx-frames=100", "rx-frames=200"].map(trials), [2, 2, 0]);
    let left = report.settings.iter().find_map(|it| it.left.as_ref()).unwrap();
    assert_eq!(left.why, "equal to rx-frames=100: both became 64 (nic.rx-frames at t0)");
    let plan = "settings = [\"a:rx-frames=100\", \"b:rx-frames=200\"]\nreference = \"a\"\n[load]\nkind = \"counter\"\nfor = \"200ms\"\n";
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), plan).unwrap();
    let why = there.powerband(&desk, &["run", &file.path().display().to_string()]).refused(4);
    assert!(why.contains("nothing to compare: both became 64"), "{why}");
    let tune = ["tune", "rx-frames=7,100,200", "--minimize", "real_s", "--budget", "20s", "--json", "--", "true"];
    let report = there.powerband(&desk, &tune).ended(0).report();
    let left = report.settings.iter().find(|it| it.label == "rx-frames=200").and_then(|it| it.left.as_ref()).unwrap();
    assert_eq!(left.why, "equal to rx-frames=100: both became 64 (nic.rx-frames at t0)");
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("0", 0));
}

#[test]
fn a_parameter_that_the_driver_has_not_changes_nothing() {
    if !root() {
        return;
    }
    let (desk, there) = (Desk::new(), with_a_tap("words"));
    let why = there.powerband(&desk, &["set", "rx-frames=5", "tx-usecs@t0=5"]).refused(4);
    assert!(why.contains("nic.tx-usecs is not here: the driver of t0 does not have it; it has rx-frames"), "{why}");
    assert_eq!((rx_frames(&there, &desk).as_str(), desk.turned()), ("0", 0));
    there.powerband(&desk, &["set", "rx-usecs@lo=5"]).refused(4);
}

/// A binary in a namespace that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_owner_leaves_no_card_turned() {
    if !root() {
        return;
    }
    let (desk, there) = (Desk::new(), with_a_tap("killed"));
    let mut command = there.command(&desk, &["with", "rx-frames=12", "--", "sleep", "60"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let running = Running(child);
    until("it is turned", || rx_frames(&there, &desk) == "12");
    // `ip` has become powerband: the one that holds it is killed.
    drop(running);
    until("it is back", || rx_frames(&there, &desk) == "0");
    until("nothing is changed", || desk.turned() == 0);
}

#[test]
fn a_simulated_driver_refuses_as_the_real_one_does() {
    let desk = Desk::new();
    let on = |words: &[&str]| desk.run(&[&["--machine", "sim:pc"], words].concat());
    for value in ["5", "999999"] {
        on(&["set", &format!("rx-usecs={value}")]).refused(2);
    }
    let set = on(&["set", "rx-usecs=3000"]).ended(0);
    assert!(set.out.contains("3000, clamped to 3012"), "{}", set.out);
    assert!(on(&["get", "rx-usecs"]).ended(0).out.contains("nic.rx-usecs@eth0 = 3012"));
    on(&["undo"]).ended(0);
    assert!(on(&["get", "rx-usecs"]).ended(0).out.contains("nic.rx-usecs@eth0 = 3 (a mode of e1000e"));
}

#[test]
fn a_card_that_rounds_its_time_down_is_put_back_to_what_it_read() {
    let desk = Desk::new();
    let card = |words: &[&str]| desk.run(&[&["--machine", "sim:cyclone5"], words].concat()).ended(0).out;
    let before = card(&["get", "nic.rx-usecs"]);
    assert!(before.contains("= 261"), "no step of its clock is 261 us long: {before}");
    card(&["set", "nic.rx-usecs=100"]);
    assert!(card(&["undo"]).contains("restored: 1"));
    assert_eq!(card(&["get", "nic.rx-usecs"]), before);
    let report = desk.report(&["run", "plans/coalesce-usecs.toml", "--blocks", "2"]);
    assert_eq!(report.restored.unwrap().failed, Vec::<String>::new());
}

#[test]
fn a_number_that_is_a_mode_of_the_driver_is_shown_as_one() {
    let desk = Desk::new();
    let on = |words: &[&str]| desk.run(&[&["--machine", "sim:pc"], words].concat());
    for (value, meant) in [("0", "off"), ("1", "dynamic"), ("3", "dynamic"), ("4", "simplified")] {
        let setting = format!("rx-usecs@eth0={value}");
        let planned = on(&["set", "--dry-run", &setting]).ended(0).out;
        assert!(planned.contains(&format!("nic.rx-usecs={value} at eth0 is a mode of e1000e: {meant}")), "{planned}");
        on(&["set", &setting]).ended(0);
        let got = on(&["get", "rx-usecs@eth0"]).ended(0).out;
        assert!(got.starts_with(&format!("nic.rx-usecs@eth0 = {value} (a mode of e1000e: {meant}")), "{got}");
        on(&["undo"]).ended(0);
    }
    on(&["set", "rx-usecs@eth0=125"]).ended(0);
    assert!(!on(&["get", "rx-usecs@eth0"]).ended(0).out.contains("mode"));
}

const PAIR: [&str; 4] = ["--machine", "sim:pc", "--far", "sim:pc"];

#[test]
fn small_packets_follow_the_throttle_of_the_cards_they_cross() {
    let desk = Desk::new();
    let words = ["try", "both/nic.rx-usecs@eth0=10,100,1000", "--load", "ping", "--for", "2s", "--blocks", "5"];
    let report = desk.report(&[&words[..], &PAIR[..], &["--json"]].concat());
    let rtt = |setting: &str| typical(&report, setting, "rtt_ms");
    let verdicts: Vec<Verdict> =
        report.settings.iter().skip(1).map(|setting| setting.verdicts["rtt_ms"].verdict).collect();
    // As found, the driver's own mode lets no more than 20 000 interrupts a second.
    assert_eq!(verdicts, [Verdict::Better, Verdict::Worse, Verdict::Worse]);
    let labels: Vec<String> = report.settings.iter().map(|setting| setting.label.clone()).collect();
    let [found, ten, hundred, thousand] = &labels[..] else { panic!("{labels:?}") };
    // 20 us of CPU at each end, 20 us on the way, some 5 us until somebody wakes; the rest is waiting for the near card.
    assert!((0.07..0.076).contains(&rtt(found)) && (0.062..0.069).contains(&rtt(ten)), "{} {}", rtt(found), rtt(ten));
    let trips = |setting: usize| &report.settings[setting].distributions["rtt_ns"];
    let ((p50, p99), max) = ((trips(1).percentiles["p50"].value, trips(1).percentiles["p99"].value), trips(1).max);
    assert!(p50 + 3_000.0 < p99 && p99 + 10_000.0 < max as f64, "{p50} {p99} {max}");
    assert!((0.1..0.13).contains(&rtt(hundred)) && (1.0..1.03).contains(&rtt(thousand)), "{}", rtt(thousand));
}

#[test]
fn a_sweep_takes_the_drivers_own_choice_out_of_the_way_and_says_so() {
    let desk = Desk::new();
    let copy = desk.beside("server");
    let copied = Command::new("cp").arg("-r").arg(workspace().join("machines/recorded/server")).arg(&copy).status();
    assert!(copied.unwrap().success());
    std::fs::write(copy.join("coalesce/eth0"), "rx-usecs 18\nadaptive-rx on\n").unwrap();
    let machine = format!("recorded:{}", copy.display());
    let words =
        ["try", "rx-usecs@eth0=20,50", "--for", "1s", "--metric", "x=regex:(.)", "--dry-run", "--machine", &machine];
    let told = desk.run(&words).ended(0).out;
    assert_eq!(told.matches("    nic.adaptive-rx at eth0: from on to off\n").count(), 2, "{told}");
    assert!(told.contains("note: nic.adaptive-rx at eth0 is on and would override nic.rx-usecs"), "{told}");
}

#[test]
fn a_value_that_the_driver_ignores_is_not_called_set() {
    let desk = Desk::new();
    let board = ["--machine", "sim:cyclone5"];
    let found = desk.json(&[&board[..], &["get", "rx-usecs"]].concat());
    for words in [&["set", "rx-usecs=0"][..], &["set", "rx-usecs=0", "rx-frames=4"]] {
        let why = desk.run(&[&board[..], words].concat()).refused(4);
        assert!(
            why.contains("nic.rx-usecs=0 at eth0 was accepted and ignored by the driver: it still reads 261"),
            "{why}"
        );
        assert!(why.contains("nothing is changed"), "{why}");
        assert_eq!(desk.json(&[&board[..], &["get", "rx-usecs"]].concat())["readings"], found["readings"]);
        let turned = desk.json(&[&board[..], &["info", "turned"]].concat());
        assert_eq!(turned["turned"].as_array().unwrap().len(), 0, "{words:?}");
    }
    let ping = ["try", "rx-usecs=0,100", "--far", "sim:pc", "--load", "ping", "--for", "1s"];
    assert!(desk.run(&[&board[..], &ping].concat()).refused(4).contains("ignored by the driver"));
    let probed = desk.run(&[&board[..], &["info", "net", "--probe"]].concat()).ended(0).out;
    assert!(probed.contains("rx-usecs takes 2 to 262, in steps of 1; ignores 0"), "{probed}");
}

#[test]
fn the_stock_board_refuses_what_the_articles_changed_driver_takes() {
    let desk = Desk::new();
    let set = |machine: &str| desk.run(&["--machine", machine, "set", "rx-usecs=20"]);
    set("sim:cyclone5").ended(0);
    set("sim:cyclone5-stock").refused(2);
    let probed = desk.run(&["--machine", "sim:cyclone5-stock", "info", "net", "--probe"]).ended(0).out;
    assert!(probed.contains("rx-usecs takes 33 to 262"), "{probed}");
}

#[test]
fn a_value_that_the_driver_rounds_is_kept_by_one_that_reads_the_same() {
    let desk = Desk::new();
    let on = |machine: &str, words: &[&str]| desk.run(&[&["--machine", machine], words].concat());
    let why = on("sim:cyclone5-stock", &["keep", "rx-usecs=20"]).refused(2);
    assert!(why.contains("the nearest value that is taken is kept by `powerband keep nic.rx-usecs@eth0=33`"), "{why}");
    on("sim:cyclone5", &["set", "rx-usecs=40"]).ended(0);
    // Nothing sets it at boot there, so what would is named. 39 reads there, and requested it would read 38.
    for asked in ["40", "39"] {
        let why = on("sim:cyclone5", &["keep", &format!("rx-usecs={asked}")]).refused(4);
        assert!(why.contains("ethtool -C eth0 rx-usecs 40"), "{asked}: {why}");
    }
}
