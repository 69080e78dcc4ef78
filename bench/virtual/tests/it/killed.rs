//! Killed while it holds six knobs of a real kernel; looked at from outside.
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use powerband_machine::wire::{Call, FromOwner, Hello, Purpose, WIRE_VERSION, frame};

use crate::desk::{Desk, on_desk};
use crate::owner::Owner;

/// Two policies, three knobs each.
const HELD: &str = "setsid powerband with governor=powersave min_freq=1600MHz max_freq=2133MHz -- sleep 600";

/// Knuth's MMIX generator; its upper bits are the good ones.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Kills the owner some time after it began to turn, every third time its guardian too. Answers how many rounds met
/// something turned.
fn kills(desk: &mut Desk, rounds: u32, seed: u64) -> u32 {
    let mut chance = Chance(seed);
    desk.sh(
        "cd /sys/devices/system/cpu/cpufreq
         for policy in policy*; do echo performance >$policy/scaling_governor; echo 1867000 >$policy/scaling_min_freq; done",
    );
    let before = desk.knobs();
    desk.until("the clock is up", |desk| desk.states() == [0, 0]);
    let mut turned = 0;
    for round in 0..rounds {
        let what = format!("round {round} of seed {seed}");
        let owner = desk.start(HELD);
        // The first rounds find all six turned, the others may come amid the turning.
        if round < 2 {
            desk.until(&format!("all is turned, {what}"), |desk| desk.knobs().matches(": 2133000").count() == 2);
            assert_eq!(desk.states(), [3, 3], "{what}");
        } else {
            std::thread::sleep(std::time::Duration::from_millis(100 + chance.below(1_200)));
        }
        turned += u32::from(desk.knobs() != before);
        let both = round % 3 == 2;
        desk.sh(&format!("kill -9 {}", if both { "$(pidof powerband) || true".into() } else { owner.to_string() }));
        if both {
            desk.until_nobody();
            desk.powerband(0, &["with", "sysctl.vm.swappiness=50", "--", "true"]);
        } else {
            desk.until(&format!("everything is back, {what}"), |desk| desk.knobs() == before);
        }
        desk.until_nobody();
        assert_eq!(desk.knobs(), before, "{what}");
        assert_eq!(desk.states(), [0, 0], "{what}");
        assert_eq!(desk.json(&["info", "turned"])["turned"], serde_json::json!([]), "{what}");
        desk.sh("pkill sleep || true");
    }
    desk.sh(
        "cd /sys/devices/system/cpu/cpufreq
         for policy in policy*; do echo schedutil >$policy/scaling_governor; echo 1600000 >$policy/scaling_min_freq; done",
    );
    turned
}

#[test]
fn killed_while_it_holds_six_knobs_nothing_stays() {
    on_desk(six_knobs);
}

fn six_knobs(mut desk: Desk) {
    assert!(kills(&mut desk, 6, 20_120_417) >= 2);
}

#[test]
fn sweep_killed_a_hundred_times_nothing_stays() {
    if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") {
        on_desk(hundred_kills);
    }
}

fn hundred_kills(mut desk: Desk) {
    let seed = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let turned = kills(&mut desk, 100, seed);
    eprintln!("something was turned in {turned} of 100 rounds when killed");
    assert!(turned > 20, "{turned}");
}

#[test]
fn at_the_other_end_of_a_port_a_killed_owner_and_a_killed_agent_are_missed() {
    on_desk(missed);
}

fn missed(mut desk: Desk) {
    let before = desk.knobs();
    let owner = Owner::of(&desk, None);
    let holding = |desk: &mut Desk| {
        let running = owner.start(&["with", "governor=powersave", "--", "sleep", "600"]);
        desk.until("it holds", |desk| desk.knobs().matches("governor: powersave").count() == 2);
        running
    };
    // Dropping it is a SIGKILL: the port closes, and the agent sees its end.
    drop(holding(&mut desk));
    desk.until("everything is back", |desk| desk.knobs() == before);
    // Nobody is left in the guest who could restored; the next to come gets another agent, and that does.
    let running = holding(&mut desk);
    desk.sh("kill -9 $(pidof powerband)");
    let (_, why) = running.end(8);
    assert!(why.contains("lost the near machine"), "{why}");
    let turned = owner.json(&["info", "turned"]);
    assert_ne!(turned["turned"], serde_json::json!([]), "looking puts nothing back");
    owner.run(0, &["with", "sysctl.vm.swappiness=50", "--", "true"]);
    assert_eq!(desk.knobs(), before);
    assert_eq!(owner.json(&["info", "turned"])["turned"], serde_json::json!([]));
}

#[test]
fn an_agent_ends_whose_owner_dies_before_all_is_answered() {
    on_desk(agent_ends);
}

fn agent_ends(mut desk: Desk) {
    let mut plug = Command::new(env!("CARGO_BIN_EXE_bench-virtual"));
    plug.arg("plug").arg(desk.agent()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut plug = plug.spawn().unwrap();
    let hello = Hello {
        wire: WIRE_VERSION,
        powerband: "0".into(),
        purpose: Purpose::Look,
        doing: "asking for much".into(),
        owner: None,
    };
    let calls = (1..2_000).map(|number| FromOwner::Call(number, Call::List("/sys/devices/system/cpu".into())));
    let said = std::iter::once(FromOwner::Hello(hello)).chain(calls).flat_map(|said| frame(&said).unwrap());
    plug.stdin.as_mut().unwrap().write_all(&said.collect::<Vec<u8>>()).unwrap();
    // With the first byte it has begun to answer; the rest, seconds of work, it cannot get rid of any more.
    plug.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    plug.kill().unwrap();
    plug.wait().unwrap();
    desk.until_nobody();
}
