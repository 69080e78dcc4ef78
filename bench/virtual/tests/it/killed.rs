//! Killed while it holds six knobs of a real kernel; looked at from outside.
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use powerband_bench_virtual::Guest;
use powerband_machine::wire::{Call, FromOwner, Hello, Purpose, WIRE_VERSION, frame};
use serde_json::json;

use crate::desk::{Desk, on_desk, sweep_seed, sweeps};
use crate::owner::Owner;
use crate::recorded::score::Chance;

/// Two policies, three knobs each.
const HELD: &str = "setsid powerband with governor=powersave min_freq=1600MHz max_freq=2133MHz -- sleep 600";

/// Kills the owner some time after it began to turn, every third time its guardian too. Answers how many rounds met
/// something turned.
fn kills(desk: &mut Guest, rounds: u32, seed: u64) -> u32 {
    let mut chance = Chance::new(seed);
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
            desk.run_on(chance.between(10, 130));
        }
        turned += u32::from(desk.knobs() != before);
        let both = round % 3 == 2;
        desk.sh(&format!("kill -9 {}", if both { "$(pidof powerband) || true".into() } else { owner.to_string() }));
        if both {
            desk.until_nobody();
            desk.powerband(0, "with sysctl.vm.swappiness=50 -- true");
        } else {
            desk.until(&format!("everything is back, {what}"), |desk| desk.knobs() == before);
        }
        desk.until_nobody();
        assert_eq!(desk.states(), [0, 0], "{what}");
        desk.is_as(&before, &what);
        desk.sh("pkill sleep || true");
    }
    turned
}

#[test]
fn killed_while_it_holds_six_knobs_nothing_stays() {
    on_desk(|desk| assert!(kills(desk, 6, 20_120_417) >= 2));
}

#[test]
fn sweep_killed_a_hundred_times_nothing_stays() {
    if sweeps() {
        on_desk(|desk| {
            let turned = kills(desk, 100, sweep_seed());
            eprintln!("something was turned in {turned} of 100 rounds when killed");
            assert!(turned > 20, "{turned}");
        });
    }
}

#[test]
fn at_the_other_end_of_a_port_a_killed_owner_and_a_killed_agent_are_missed() {
    on_desk(|desk| {
        let before = desk.knobs();
        let owner = Owner::of(desk, None);
        let holding = |desk: &mut Guest| {
            let running = owner.start("with governor=powersave -- sleep 600");
            desk.until("it holds", |desk| desk.knobs().matches("governor: powersave").count() == 2);
            running
        };
        // Dropping it is a SIGKILL: the port closes, and the agent sees its end.
        drop(holding(desk));
        desk.until("everything is back", |desk| desk.knobs() == before);
        // Nobody is left in the guest who could restore; the next to come gets another agent, and that does.
        let running = holding(desk);
        desk.sh("kill -9 $(pidof powerband)");
        let (_, why) = running.end(8);
        assert!(why.contains("lost the near machine"), "{why}");
        assert_ne!(owner.json("info turned")["turned"], json!([]), "looking puts nothing back");
        owner.run(0, "with sysctl.vm.swappiness=50 -- true");
        assert_eq!(desk.knobs(), before);
        assert_eq!(owner.json("info turned")["turned"], json!([]));
        agent_ends(desk);
    });
}

/// An agent ends whose owner dies before all is answered.
fn agent_ends(desk: &mut Guest) {
    let mut plug = Command::new(env!("CARGO_BIN_EXE_bench-virtual"));
    plug.arg("plug").arg(desk.agent()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut plug = plug.spawn().unwrap();
    let (doing, powerband) = ("asking for much".into(), "0".into());
    let hello = Hello { wire: WIRE_VERSION, powerband, purpose: Purpose::Look, doing, owner: None };
    let calls = (1..2_000).map(|number| FromOwner::Call(number, Call::List("/sys/devices/system/cpu".into())));
    let said = std::iter::once(FromOwner::Hello(hello)).chain(calls).flat_map(|said| frame(&said).unwrap());
    plug.stdin.as_mut().unwrap().write_all(&said.collect::<Vec<u8>>()).unwrap();
    // With the first byte it has begun to answer; the rest it cannot get rid of any more.
    plug.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    plug.kill().unwrap();
    plug.wait().unwrap();
    desk.until_nobody();
}
