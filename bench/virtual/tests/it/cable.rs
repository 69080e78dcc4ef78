//! Two guests at the ends of one cable.
use powerband_bench_virtual::{OVER_THE_CABLE, tools};
use serde_json::Value;

use crate::desk::{Desk, on_desk};
use crate::owner::{Owner, typical, verdict};
use crate::pair::{Pair, on_pair};

/// What a card reads that nobody has turned.
const AS_FOUND: &str = "nic.rx-usecs@eth0 = 3 (a mode of e1000e: dynamic, up to 20000 interrupts a second)\n";

/// The longest time that the driver takes, ms. While it lasts the NIC interrupts once at most, and an answer that comes back
/// waits for its end: both hold by the guest's own time, however late the host lets it run.
const HELD_BACK_MS: f64 = 10.0;

/// Pings under the shortest time and the longest.
const PINGS: &str = "settings = [\"10us: both/nic.rx-usecs@eth0=10\", \"10ms: both/nic.rx-usecs@eth0=10000\"]
reference = \"10us\"\nmetrics = [\"rtt_ms\", \"nic_interrupts_per_s@eth0\"]\nblocks = 8\nwarmup = 0\nsettle = \"0\"
[load]\nkind = \"ping\"\nfor = \"0.5s\"\nrate = 500\n";

/// The NIC holds back as it should: an upper limit of its interrupts and a lower one of the round trips.
fn holds_back(report: &Value) {
    let at = |label: &str, metric: &str| typical(report, label, metric);
    let (rtt, rate) = ("rtt_ms", "nic_interrupts_per_s@eth0");
    let (short, long) = (at("10us", rtt), at("10ms", rtt));
    let found =
        format!("{short:.3} and {long:.3} ms, {:.0} and {:.0} interrupts/s", at("10us", rate), at("10ms", rate));
    eprintln!("ping at 10 us and 10 ms: {found}");
    // Without a packet the driver's own watchdog interrupts now and then, at any time.
    assert!(at("10ms", rate) < 1.2 * 1000.0 / HELD_BACK_MS, "{found}");
    assert!(long > 0.8 * HELD_BACK_MS, "{found}");
    assert_eq!((verdict(report, "10ms", rate), verdict(report, "10ms", rtt)), ("better", "worse"), "{found}");
}

#[test]
fn interrupts_and_pings_follow_what_the_cards_hold_back_and_so_says_the_verdict() {
    on_pair(|pair| {
        let driver = pair.far.sh("readlink /sys/class/net/eth0/device/driver");
        assert!(driver.trim().ends_with("/e1000e"), "{driver}");
        assert_eq!(pair.delays(), format!("{AS_FOUND}far/{AS_FOUND}"));
        let owner = Owner::of(&pair.near, Some(&pair.far));
        let plan = owner.file("pings.toml", PINGS);
        holds_back(&owner.json(&format!("run -q {plan}")));
        pair.near.put("/run/pings.toml", PINGS.as_bytes()).unwrap();
        holds_back(&pair.near.json(&format!("--far '{OVER_THE_CABLE}' run -q /run/pings.toml")));
        holds_back(&owner.json(&format!("--machine sim:pc#1 --far sim:pc run -q {plan}")));
        assert_eq!(pair.delays().matches(AS_FOUND).count(), 2);
    });
}

#[test]
fn a_cards_modes_are_modes_and_its_refusals_are_told_as_on_the_model() {
    on_desk(|desk| {
        let owner = Owner::of(desk, None);
        let get = |owner: &Owner| owner.run(0, "get nic.rx-usecs@eth0").0;
        assert_eq!(get(&owner), AS_FOUND);
        for mode in ["0", "1", "4"] {
            let (told, _) = owner.run(0, &format!("set nic.rx-usecs@eth0={mode}"));
            assert!(told.contains(&format!("nic.rx-usecs at eth0: {mode}, applied")), "{told}");
        }
        owner.run(0, "undo --all");
        assert_eq!(desk.powerband(0, "get nic.rx-usecs@eth0"), AS_FOUND);
        // A value that the card refuses is a usage error; a parameter that it lacks is absent, and no request is sent.
        let (einval, absent) = ("invalid argument (EINVAL)", "the driver of eth0 does not have it");
        for (refused, code, why) in
            [("rx-usecs@eth0=5", 2, einval), ("rx-usecs@eth0=999999", 2, einval), ("tx-usecs@eth0=5", 4, absent)]
        {
            let (_, kernel) = owner.run(code, &format!("set nic.{refused}"));
            let (_, model) = owner.run(code, &format!("--machine sim:pc set nic.{refused}"));
            assert!(kernel.contains(why), "{kernel}");
            // Each names its own machine in the command that finds the values.
            let sentence = |text: &str| text.split('`').step_by(2).collect::<String>();
            assert_eq!(sentence(&kernel), sentence(&model));
        }
        assert_eq!(get(&owner), AS_FOUND);
    });
}

/// A plan of the workspace.
fn plan(name: &str) -> String {
    format!("{}/../../plans/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_plan_of_three_delays_finds_what_a_ping_takes_and_a_delay_the_card_has_not_is_refused() {
    on_pair(|pair| {
        let owner = Owner::of(&pair.near, Some(&pair.far));
        // With shorter trials.
        let text = std::fs::read_to_string(plan("coalesce.toml")).unwrap();
        assert!(text.contains("for = \"2s\"") && text.contains("blocks = 10"));
        let text = text.replace("for = \"2s\"", "for = \"0.5s\"");
        let text = text.replace("blocks = 10", "blocks = 10\nwarmup = 0\nsettle = \"0\"");
        let short = owner.file("coalesce.toml", &text);
        for rig in ["", "--machine sim:pc#1 --far sim:pc "] {
            let report = owner.json(&format!("{rig}run {short} -q"));
            let [least, middle, most] = ["10us", "4ms", "10ms"].map(|label| typical(&report, label, "rtt_ms"));
            let told = format!("{least:.3}, {middle:.3} and {most:.3} ms");
            eprintln!("ping at 10 us, 4 ms and 10 ms: {told}");
            assert!(least < middle && middle < most, "{told}");
            // Nothing is answered before the card's time is over.
            assert!(middle > 3.0 && most > 8.0, "{told}");
            assert_eq!(verdict(&report, "10ms", "rtt_ms"), "worse", "{told}");
        }
        // The article's settings turn tx-usecs as well: that is said before anything is measured.
        let (_, why) = owner.run(4, &format!("run {}", plan("coalesce-ping.toml")));
        assert!(why.contains("nic.tx-usecs") && why.contains("does not have it"), "{why}");
        assert_eq!(owner.run(0, "get both/nic.rx-usecs@eth0").0.matches(AS_FOUND).count(), 2);
        tools_run(pair, &owner);
    });
}

/// The field's tools run between the guests and are read.
fn tools_run(pair: &mut Pair, owner: &Owner) {
    if tools::for_cables().len() < 2 {
        assert!(!std::env::var("CI").is_ok_and(|value| value == "true"), "CI=true lets nothing be skipped");
        return eprintln!("skipped: needs iperf3 and nuttcp");
    }
    let once = "try -s 10us:both/nic.rx-usecs@eth0=10 -s 1ms:both/nic.rx-usecs@eth0=1000 --reference 10us -q --blocks 1 \
                --warmup 0 --settle 0";
    let iperf3 = "--far-command 'iperf3 -s' -- iperf3 -c {far} -t 2 --json";
    let nuttcp = "--far-command 'nuttcp -S --nofork' --far-port 5000 -- nuttcp -fparse -T2 {far}";
    for tool in [iperf3, nuttcp] {
        let report = owner.json(&format!("{once} {tool}"));
        for label in ["10us", "1ms"] {
            let (rate, rtt_ms) = (typical(&report, label, "rate_mbit_s"), typical(&report, label, "rtt_ms"));
            eprintln!("{tool} at {label}: {rate:.1} Mbit/s, {rtt_ms:.3} ms");
            // An emulated card carries less than a real one, and no cable of this kind more than 1 Gbit/s.
            assert!(rate > 1.0 && rate < 1000.0, "{tool} at {label}: {rate} Mbit/s");
            assert!(rtt_ms > 0.0, "{tool} at {label}");
        }
    }
    assert_eq!(pair.far.sh("pidof iperf3 nuttcp || true").trim(), "", "the far ends are ended");
}

/// Six delays under three governors, of which a ping bears all but the longest two, whatever the governor.
const WAITS: &str = "tune -q governor=powersave,ondemand,performance both/nic.rx-usecs@eth0=10,100,1000,2000,20000,40000 \
                     --load ping --for 0.5s --maximize both/nic.rx-usecs@eth0 --require rtt_ms<=9 --warmup 0 --settle 0 --budget 4m";

/// The cheapest of two governors and two delays under which a counter counts.
const DRAWS: &str = "tune -q governor=powersave,performance both/nic.rx-usecs@eth0=10,1000 --load counter --for 1s \
                     --minimize power_w --warmup 0 --settle 0 --require count_per_s>=1";

/// What a search found: its answer, how it ended, and how many settings it tried.
fn answer(report: &Value) -> (String, String, u64) {
    let search = &report["search"];
    let word = |name: &str| search[name].as_str().unwrap_or_default().to_owned();
    eprintln!("{}", report["finding"].as_str().unwrap_or_default());
    (word("turns"), word("end"), search["tried"].as_u64().unwrap())
}

#[test]
fn a_search_over_governors_and_both_cards_finds_what_a_ping_and_a_counter_bear() {
    on_pair(|pair| {
        let owner = Owner::of(&pair.near, Some(&pair.far));
        let (turns, end, tried) = answer(&owner.json(WAITS));
        assert_eq!(end, "confirmed", "{turns}");
        assert!(["=1000", "=2000"].iter().any(|delay| turns.ends_with(delay)), "{turns}");
        assert!(tried <= 18, "{tried}");
        let (turns, end, _) = answer(&owner.json(DRAWS));
        assert_eq!(end, "confirmed", "{turns}");
        assert!(turns.contains("governor=powersave"), "{turns}");
        // Everything is as it was.
        assert_eq!(pair.delays().matches(AS_FOUND).count(), 2);
    });
}
