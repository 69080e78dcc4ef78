//! The service as it is meant: users set what they may, for as long as they are connected.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Ran, split};
use crate::inside::{ALICE, BOB, reads, served, state, until};

/// Alice may choose governors and limits, Bob and group 4242 one governor.
const POLICY: &str = r#"
[[allow]]
users = [64101]
cpus = "all"
[allow.knobs]
"cpufreq.governor" = ["performance", "powersave", "userspace", "conservative"]
"cpufreq.max_freq" = "any"
"cpufreq.freq" = "any"
"sysctl.vm.swappiness" = "60..100"

[[allow]]
users = [64102]
groups = [4242]
cpus = "all"
knobs = { "cpufreq.governor" = "performance" }
"#;

#[test]
fn a_user_sets_what_the_policy_allows_while_a_command_runs() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let words = ["with", "governor=performance", "--", "sh", "-c", "cat \"$0\"; id -u", governor];
    let ran = service.run(ALICE, &words).ended(0);
    assert_eq!(ran.out, format!("performance\n{ALICE}\n"), "set, and run as the user");
    assert_eq!(state(), before);
    let log = service.log();
    assert!(log.contains("uid 64101") && log.contains("set cpufreq.governor=performance"), "{log}");
    assert!(log.contains("everything is restored"), "{log}");
    // An experiment: each setting in each block, and everything restored between.
    let words = split("--json try governor=performance,powersave --blocks 2 --settle 0s --load counter --for 100ms");
    let ran = service.run(ALICE, &words);
    assert!(matches!(ran.code, Some(0 | 1)), "{}\n{}", ran.out, ran.err);
    assert_eq!(state(), before);
    assert!(service.sessions().is_empty());
}

#[test]
fn set_stays_until_it_is_stopped() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let mut child = service.user(ALICE, &["set", "governor=powersave"]).spawn().unwrap();
    until("it is set", || reads("scaling_governor") == "powersave");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(state(), before);
    let refused = service.run(ALICE, &split("set governor=powersave --confirm-within 60s")[..]).ended(3);
    assert!(refused.err.contains("cannot be kept"), "{}", refused.err);
    assert_eq!(state(), before);
}

#[test]
fn what_the_policy_does_not_allow_is_refused() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    for (uid, setting, words) in [
        (ALICE, "min_freq=all", "cpufreq.min_freq"),
        (ALICE, "governor=ondemand", "performance, powersave"),
        (ALICE, "sysctl.kernel.panic=5", "sysctl.kernel.panic"),
        // The kernel would read 56.
        (ALICE, "sysctl.vm.swappiness=070", "60..100"),
        (ALICE, "sysctl.vm.swappiness=0x46", "60..100"),
        (ALICE, "sysctl.vm.swappiness=+70", "60..100"),
        (BOB, "governor=powersave", "performance"),
        (BOB, "max_freq=max", "cpufreq.max_freq"),
        (64_103, "governor=performance", "does not let you set anything"),
    ] {
        let setting = setting.replace("=all", &format!("={}", reads("cpuinfo_min_freq")));
        let setting = setting.replace("=max", &format!("={}", reads("cpuinfo_max_freq")));
        let ran = service.run(uid, &["with", &setting, "--", "true"]).ended(3);
        assert!(ran.err.contains("access policy") && ran.err.contains(words), "{setting}: {}", ran.err);
    }
    // By a group it is not the first of.
    let mut command = Command::new("setpriv");
    command.args(split("--reuid 64103 --regid 64103 --groups 7,4242"));
    command.arg(env!("CARGO_BIN_EXE_powerband")).args(["with", "governor=performance", "--", "true"]);
    command.env("POWERBAND_SERVICE", service.socket()).env("HOME", service.path("home-64103"));
    command.env_remove("POWERBAND_STATE_DIR");
    Ran::of(&command.output().unwrap()).ended(0);
    // Without the service the kernel refuses.
    let mut command = service.user(ALICE, &["with", "governor=performance", "--", "true"]);
    let ran = Ran::of(&command.env("POWERBAND_SERVICE", "off").output().unwrap());
    assert!(ran.code != Some(0) && !ran.err.contains("access"), "{}", ran.err);
    assert_eq!(state(), before);
}

#[test]
fn a_job_sets_what_belongs_to_its_own_cpus() {
    let policy = "[[allow]]\nusers = [64101]\nknobs = { governor = \"any\", \"cpufreq.boost\" = \"any\", \"ondemand.*\" = \"any\" }\n";
    let Some(it) = served(policy) else { return };
    let (service, before) = it;
    let bound = |setting: &str| {
        let mut command = Command::new("taskset");
        let user = service.user(ALICE, &[]);
        command.args(["-c", "1"]).arg(user.get_program()).args(["with", setting, "--", "true"]);
        command.current_dir(user.get_current_dir().unwrap());
        for (name, value) in user.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        std::os::unix::process::CommandExt::uid(&mut command, ALICE);
        Ran::of(&command.output().unwrap())
    };
    bound("governor@policy1=performance").ended(0);
    for setting in ["governor@policy0=performance", "governor=performance", "ondemand.up_threshold=60"] {
        let ran = bound(setting).ended(3);
        assert!(ran.err.contains("your CPUs alone (1)"), "{}", ran.err);
    }
    assert_eq!(state(), before);
}

#[test]
fn one_user_at_a_time_changes_the_machine() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let mut first = service.user(ALICE, &["with", "governor=powersave", "--", "sleep", "60"]).spawn().unwrap();
    until("it is set", || reads("scaling_governor") == "powersave");
    let ran = service.run(BOB, &["with", "governor=performance", "--", "true"]).ended(8);
    assert!(ran.err.contains("setting knobs for uid 64101: with governor=powersave"), "{}", ran.err);
    assert_eq!(reads("scaling_governor"), "powersave");
    kill_process(Pid::from_child(&first), Signal::TERM).unwrap();
    first.wait().unwrap();
    assert_eq!(state(), before);
    service.run(BOB, &["with", "governor=performance", "--", "true"]).ended(0);
}

#[test]
fn users_learn_what_they_may_set() {
    let Some((service, _)) = served(POLICY) else { return };
    let line = "cpufreq.governor: performance, powersave, userspace, conservative, on all CPUs";
    assert!(service.run(ALICE, &["service", "--check"]).ended(0).out.contains(line));
    service.run(64_103, &["service", "--check"]).ended(3);
    let doctor = service.run(ALICE, &["doctor"]);
    assert!(doctor.out.contains("the access service"), "{}", doctor.out);
    assert!(service.run(ALICE, &["knobs", "governor"]).ended(0).err.contains("sets it for you"));
    assert!(service.run(ALICE, &["knobs", "min_freq"]).ended(0).err.contains("does not set"));
    let policy = service.path("access.toml");
    let check = |user: &str| service.root(&["service", "--policy", &policy.display().to_string(), "--check", user]);
    assert!(check("64101").ended(0).out.contains(line));
    check("64103").ended(3);
    fs::write(&policy, "[[allow]]\nusers = [1]\nknobs = { \"govenor\" = \"any\" }\n").unwrap();
    let refused = check("1").ended(2);
    assert!(
        refused.err.contains("access.toml:3: 'govenor' is not a knob; did you mean 'governor'?"),
        "{}",
        refused.err
    );
    fs::write(&policy, "[[allow]]\nusers = [\"nobody-here\", 1]\nknobs = { \"governor\" = \"perfromance\" }\n")
        .unwrap();
    let refused = check("1").ended(1);
    assert!(refused.err.contains("access.toml:2: this system has no user 'nobody-here'"), "{}", refused.err);
    assert!(refused.err.contains("a value that can never be set here: "), "{}", refused.err);
    fs::write(&policy, "[[allow]]\nusers = [1]\nknobs = { \"govenor\" = \"any\" }\n").unwrap();
    // A slip while it serves lets nobody in.
    let ran = service.run(ALICE, &["with", "governor=performance", "--", "true"]).ended(8);
    assert!(ran.err.contains("the access policy"), "{}", ran.err);
    fs::write(&policy, POLICY).unwrap();
    fs::set_permissions(&policy, fs::Permissions::from_mode(0o666)).unwrap();
    let refused = check("1").ended(2);
    assert!(refused.err.contains("written by others"), "{}", refused.err);
    let ran = service.run(ALICE, &["with", "governor=performance", "--", "true"]).ended(8);
    assert!(ran.err.contains("the access policy"), "{}", ran.err);
}

#[test]
fn an_agent_of_the_user_has_knobs_set_as_well() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let agent = format!("cmd:{} agent", env!("CARGO_BIN_EXE_powerband"));
    let words = format!("--machine `{agent}` with governor=performance -- cat `{governor}`");
    let words = split(&words);
    assert_eq!(service.run(ALICE, &words).ended(0).out, "performance\n");
    assert_eq!(state(), before);
    let words = format!("--machine `{agent}` with governor=ondemand -- true");
    let words = split(&words);
    assert!(service.run(BOB, &words).ended(3).err.contains("access policy"));
    // The agent is killed in the middle.
    let words = format!("--machine `{agent}` with governor=powersave -- sleep 60");
    let words = split(&words);
    let mut child = service.user(ALICE, &words).spawn().unwrap();
    until("it is set", || reads("scaling_governor") == "powersave");
    let agents = format!("/proc/{0}/task/{0}/children", child.id());
    for pid in fs::read_to_string(agents).unwrap().split_whitespace() {
        let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
    }
    assert_eq!(child.wait().unwrap().code(), Some(8));
    until("it is restored", || state() == before);
}
