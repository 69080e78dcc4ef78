//! Two guests at the ends of one cable.
use std::sync::{Mutex, MutexGuard, PoisonError};

use powerband_bench_virtual::{Cable, Guest, OVER_THE_CABLE, Options, tools};
use serde_json::{Value, json};

use crate::desk::{Desk, desk, had};
use crate::owner::{Owner, typical, verdict};

/// The second guest, held by one test. It stands still while nobody holds it, so that it takes nothing from the others.
struct Other(MutexGuard<'static, Option<Guest>>);

impl Other {
    fn guest(&mut self) -> &mut Guest {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        if let Some(guest) = self.0.as_mut() {
            // An emulator that is gone stands still, too.
            let _ = guest.qmp("stop", json!({}));
        }
    }
}

/// Both guests; the second is booted by whoever needs it first.
fn two() -> Option<(Desk, Other)> {
    static SECOND: Mutex<Option<Guest>> = Mutex::new(None);
    let mut desk = desk()?;
    let mut second = SECOND.lock().unwrap_or_else(PoisonError::into_inner);
    if second.is_none() {
        let mut options = Options::machine("quadcore").unwrap();
        options.cable = Some(Cable::Into(desk.cable()));
        options.tools = tools::for_cables();
        *second = Some(had(Guest::boot(&options))?);
    }
    let mut other = Other(second);
    other.guest().qmp("cont", json!({})).unwrap();
    desk.sh("ping -c 3 -W 60 10.0.0.2");
    Some((desk, other))
}

/// At 200 packets a second a packet finds the card holding back what comes within 4000 us, and hardly ever within 100. The longest
/// is above what a ping takes here by itself, which is 1 to 2 ms by the host's speed: less would not be seen.
const TRY: &str = "try -q -s 10us:both/nic.rx-usecs@eth0=10 -s 100us:both/nic.rx-usecs@eth0=100 \
                   -s 4000us:both/nic.rx-usecs@eth0=4000 --reference 10us --load ping --for 1s --metric rtt_ms --blocks 20 \
                   --warmup 0 --settle 0";

/// What was found of the longest time; its pings take longer.
fn found(report: &Value) -> String {
    let at = |label: &str| typical(report, label, "rtt_ms");
    let said = |label: &str| verdict(report, label, "rtt_ms").to_owned();
    let told = format!("ping at 10, 100 and 4000 us: {:.3}, {:.3} and {:.3} ms", at("10us"), at("100us"), at("4000us"));
    eprintln!("{told}: {} and {}; {} trials", said("100us"), said("4000us"), report["trials"]);
    assert!(at("10us") < at("4000us"), "{told}");
    assert_ne!(said("100us"), "better", "{told}");
    said("4000us")
}

/// What a card reads that nobody has turned.
const AS_FOUND: &str = "nic.rx-usecs@eth0 = 3 (a mode of e1000e: dynamic, up to 20000 interrupts a second)\n";

#[test]
fn two_guests_reach_one_another_over_their_cable() {
    let Some((mut desk, mut other)) = two() else { return };
    let ran = other.guest().run(&["ping", "-c", "3", "-W", "60", "10.0.0.1"]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let driver = other.guest().run(&["readlink", "/sys/class/net/eth0/device/driver"]).unwrap();
    assert!(driver.text().trim().ends_with("/e1000e"), "{}", driver.text());
    let read = desk.powerband(0, &["--far", OVER_THE_CABLE, "get", "both/nic.rx-usecs@eth0"]);
    assert_eq!(read, format!("{AS_FOUND}far/{AS_FOUND}"));
}

#[test]
fn a_ping_follows_what_the_cards_hold_back_and_so_says_the_verdict() {
    let Some((mut desk, mut other)) = two() else { return };
    let owner = Owner::of(&desk, Some(other.guest()));
    let on = |rig: &[&'static str]| rig.iter().copied().chain(TRY.split_whitespace()).collect::<Vec<_>>();
    let from_here = found(&owner.json(&on(&[])));
    let inside = found(&desk.json(&on(&["--far", OVER_THE_CABLE])));
    let modelled = found(&owner.json(&on(&["--machine", "sim:pc#1", "--far", "sim:pc"])));
    assert_eq!([from_here, inside, modelled], ["worse"; 3]);
    let left = desk.powerband(0, &["--far", OVER_THE_CABLE, "get", "both/nic.rx-usecs@eth0"]);
    assert_eq!(left.matches(AS_FOUND).count(), 2, "{left}");
}

#[test]
fn a_cards_modes_are_modes_and_its_refusals_are_told_as_on_the_model() {
    let Some(mut desk) = desk() else { return };
    let owner = Owner::of(&desk, None);
    let get = |owner: &Owner| owner.run(0, &["get", "nic.rx-usecs@eth0"]).0;
    assert_eq!(get(&owner), AS_FOUND);
    for mode in ["0", "1", "4"] {
        let (told, _) = owner.run(0, &["set", &format!("nic.rx-usecs@eth0={mode}")]);
        assert!(told.contains(&format!("nic.rx-usecs at eth0: {mode}, applied")), "{told}");
    }
    owner.run(0, &["undo", "--all"]);
    assert_eq!(desk.powerband(0, &["get", "nic.rx-usecs@eth0"]), AS_FOUND);
    // A value the card does not take is the asker's mistake; a parameter it has not is not here.
    for (refused, code) in [("nic.rx-usecs@eth0=5", 2), ("nic.rx-usecs@eth0=999999", 2), ("nic.tx-usecs@eth0=5", 4)] {
        let (_, kernel) = owner.run(code, &["set", refused]);
        let (_, model) = owner.run(code, &["--machine", "sim:pc", "set", refused]);
        assert!(kernel.contains("invalid argument (EINVAL)"), "{kernel}");
        assert_eq!(kernel, model);
    }
    assert_eq!(get(&owner), AS_FOUND);
}

/// A plan of the workspace.
fn plan(name: &str) -> String {
    format!("{}/../../plans/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_plan_of_three_delays_finds_what_a_ping_takes_and_a_delay_the_card_has_not_is_refused() {
    let Some((desk, mut other)) = two() else { return };
    let owner = Owner::of(&desk, Some(other.guest()));
    let found = |rig: &[&str]| {
        let report = owner.json(&[rig, &["run", &plan("coalesce.toml"), "-q"]].concat());
        let at = |label: &str| typical(&report, label, "rtt_ms");
        let told = format!("{:.3}, {:.3} and {:.3} ms", at("10us"), at("4ms"), at("10ms"));
        eprintln!("ping at 10 us, 4 ms and 10 ms: {told}");
        assert!(at("10us") < at("4ms") && at("4ms") < at("10ms"), "{told}");
        // Nothing is answered before the card's time is over.
        assert!(at("4ms") > 3.0 && at("10ms") > 8.0, "{told}");
        assert_eq!(verdict(&report, "10ms", "rtt_ms"), "worse", "{told}");
    };
    found(&[]);
    found(&["--machine", "sim:pc#1", "--far", "sim:pc"]);
    // The article's settings turn tx-usecs as well: that is said before anything is measured.
    let (_, why) = owner.run(4, &["run", &plan("coalesce-ping.toml")]);
    assert!(why.contains("nic.tx-usecs") && why.contains("EINVAL"), "{why}");
    assert_eq!(owner.run(0, &["get", "both/nic.rx-usecs@eth0"]).0.matches(AS_FOUND).count(), 2);
}

#[test]
fn the_fields_tools_run_between_the_guests_and_are_read() {
    if tools::for_cables().len() < 2 {
        assert!(!std::env::var("CI").is_ok_and(|value| value == "true"), "CI=true lets nothing be skipped");
        return eprintln!("skipped: needs iperf3 and nuttcp");
    }
    let Some((desk, mut other)) = two() else { return };
    let owner = Owner::of(&desk, Some(other.guest()));
    let setting = ["-s", "10us:both/nic.rx-usecs@eth0=10", "-s", "1ms:both/nic.rx-usecs@eth0=1000"];
    let once = ["--reference", "10us", "-q", "--blocks", "1", "--warmup", "0", "--settle", "0"];
    let measured = |tool: &[&str]| owner.json(&[&["try"], &setting[..], &once[..], tool].concat());
    let iperf3 = ["--far-command", "iperf3 -s", "--", "iperf3", "-c", "{far}", "-t", "2", "--json"];
    let nuttcp =
        ["--far-command", "nuttcp -S --nofork", "--far-port", "5000", "--", "nuttcp", "-fparse", "-T2", "{far}"];
    for (name, report) in [("iperf3", measured(&iperf3)), ("nuttcp", measured(&nuttcp))] {
        for label in ["10us", "1ms"] {
            let (rate, rtt_ms) = (typical(&report, label, "rate_mbit_s"), typical(&report, label, "rtt_ms"));
            eprintln!("{name} at {label}: {rate:.1} Mbit/s, {rtt_ms:.3} ms");
            // An emulated card carries less than a real one, and no cable of this kind more than 1 Gbit/s.
            assert!(rate > 1.0 && rate < 1000.0, "{name} at {label}: {rate} Mbit/s");
            assert!(rtt_ms > 0.0, "{name} at {label}");
        }
    }
    let left = other.guest().run(&["pidof", "iperf3", "nuttcp"]).unwrap();
    assert_eq!(left.text().trim(), "", "the far ends are ended");
}

/// Six delays under three governors, of which a ping bears all but the longest two, whatever the governor.
const WAITS: &str = "tune -q governor=powersave,ondemand,performance both/nic.rx-usecs@eth0=10,100,1000,2000,20000,40000 \
                     --load ping --for 1s --maximize both/nic.rx-usecs@eth0 --require rtt_ms<=9 --warmup 0 --settle 0 --budget 4m";

/// What a search found: its answer, how it ended, and how many settings it tried.
fn answer(report: &Value) -> (String, String, u64) {
    let search = &report["search"];
    let word = |name: &str| search[name].as_str().unwrap_or_default().to_owned();
    eprintln!("{}", report["finding"].as_str().unwrap_or_default());
    (word("turns"), word("end"), search["tried"].as_u64().unwrap())
}

#[test]
fn a_search_over_governors_and_both_cards_finds_what_a_ping_and_a_counter_bear() {
    let Some((mut desk, mut other)) = two() else { return };
    let owner = Owner::of(&desk, Some(other.guest()));
    let (turns, end, tried) = answer(&owner.json(&WAITS.split_whitespace().collect::<Vec<_>>()));
    assert_eq!(end, "confirmed", "{turns}");
    assert!(["=1000", "=2000"].iter().any(|delay| turns.ends_with(delay)), "{turns}");
    assert!(tried <= 18, "{tried}");
    let counter = ["--load", "counter", "--for", "1s", "--minimize", "power_w", "--warmup", "0", "--settle", "0"];
    let knobs = ["tune", "-q", "governor=powersave,performance", "both/nic.rx-usecs@eth0=10,1000"];
    let (turns, end, _) = answer(&owner.json(&[&knobs[..], &counter[..], &["--require", "count_per_s>=1"]].concat()));
    assert_eq!(end, "confirmed", "{turns}");
    assert!(turns.contains("governor=powersave"), "{turns}");
    // Everything is as it was.
    let left = desk.powerband(0, &["--far", OVER_THE_CABLE, "get", "both/nic.rx-usecs@eth0"]);
    assert_eq!(left.matches(AS_FOUND).count(), 2, "{left}");
}
