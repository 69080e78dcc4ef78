//! Clients that mean harm: whatever they say, nothing is set that the policy does not allow, and nothing is left.
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::desk::Ran;
use crate::inside::{ALICE, Service, Talk, inside, reads, served, state, until};

/// Root's number may be in a policy like any other: the tests speak as root, and Alice as herself.
const POLICY: &str = r#"
[[allow]]
users = [0, 64101]
cpus = "all"
[allow.knobs]
"cpufreq.governor" = ["performance", "powersave", "ondemand", "conservative"]
"cpufreq.max_freq" = "any"
"cpuidle.*" = "any"
"ondemand.up_threshold" = "0..60"
"ondemand.powersave_bias" = "0..60"
"#;

#[test]
fn only_the_calls_of_a_client_are_answered() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let write = |path: &str, text: &str| json!({"action": "write_file", "path": path, "text": text});
    let turn = |action: Value| {
        json!({"action": action, "undo": null, "hold": "held", "knob": "cpufreq.governor", "site": "policy0",
               "asked": "performance", "before": null, "read_back": null, "step": null})
    };
    let job = json!({"work": {"work": "command", "argv": ["touch", "/tmp/harm"]}, "cpus": null, "group": null,
                     "user": null, "output_limit": null, "around": []});
    for call in [
        json!({"act": turn(write(governor, "performance"))}),
        json!({"act": turn(write("/etc/harm", "x"))}),
        json!({"act": turn(json!({"action": "run", "argv": ["touch", "/tmp/harm"]}))}),
        json!({"rewrite": [1, "performance"]}),
        json!({"keep": [1]}),
        json!({"read": "/etc/shadow"}),
        json!({"list": "/root"}),
        json!({"open": "command:touch /tmp/harm"}),
        json!({"spawn": job}),
        json!({"end": [1, true]}),
        json!({"left_behind": true}),
        json!({"needs": write(governor, "x")}),
        json!({"watch_writers": ["/etc/passwd"]}),
        json!("set_damage_aside"),
        json!("damage"),
        json!("nonsense"),
    ] {
        let mut talk = service.talk().welcome();
        assert!(talk.set(&["cpufreq.governor=powersave"]).unwrap().is_ok());
        assert_eq!(talk.call(&call), None, "{call}");
        until("it is restored", || service.sessions().is_empty());
        assert_eq!(state(), before, "{call}");
    }
    assert!(!fs::exists("/tmp/harm").unwrap() && !fs::exists("/etc/harm").unwrap());
}

#[test]
fn what_is_no_message_ends_the_connection() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let hello = json!({"hello": {"wire": 1, "powerband": "0", "purpose": "measure", "doing": ""}}).to_string();
    let call = json!({"call": [1, {"set": {"knobs": []}}]}).to_string();
    for first in [&b""[..], b"{}", b"\xff\xfe", b"null", b"[]", hello.as_bytes(), call.as_bytes(), &b"[".repeat(60_000)]
    {
        let mut talk = service.talk();
        talk.send(first);
        let answer = talk.hear();
        assert!(answer.as_ref().is_none_or(|answer| answer.get("refused").is_some()), "{answer:?}");
        assert!(answer.is_none() || talk.is_over());
    }
    for after in [&b"{}"[..], b"\0", hello.as_bytes(), &b"{\"call\":".repeat(5000), &[b'x'; 70_000]] {
        let mut talk = service.talk().welcome();
        assert!(talk.set(&["cpufreq.governor=powersave"]).unwrap().is_ok());
        talk.send(after);
        assert!(talk.is_over());
        until("it is restored", || service.sessions().is_empty());
        assert_eq!(state(), before);
    }
    // A frame that announces more than any, and one that never ends.
    for length in [u32::MAX, 16 << 20, 65_537] {
        let mut talk = service.talk().welcome();
        talk.stream.write_all(&length.to_le_bytes()).unwrap();
        assert!(talk.is_over(), "{length}");
    }
    // The same call again.
    let mut talk = service.talk().welcome();
    assert!(talk.set(&["cpufreq.governor=powersave"]).unwrap().is_ok());
    assert_eq!(talk.call_numbered(1, &json!("open_entries")), None);
    until("it is restored", || service.sessions().is_empty());
    assert_eq!(state(), before);
}

/// CPUs that are none, and more knobs than anybody needs.
fn refuses_cpus_and_crowds_of_knobs(talk: &mut Talk) {
    for cpus in ["0-4294967295", "x", "-1", "99"] {
        let asked = json!({"set": {"cpus": cpus, "knobs": [{"knob": "cpufreq.governor", "value": "performance"}]}});
        assert!(talk.call(&asked).unwrap().get("Err").is_some(), "{cpus}");
    }
    let many: Vec<Value> = (0..500).map(|_| json!({"knob": "cpufreq.governor", "value": "performance"})).collect();
    assert!(talk.call(&json!({"set": {"knobs": many}})).unwrap().get("Err").is_some());
}

#[test]
fn names_sites_and_values_lead_nowhere_else() {
    if !inside() {
        return;
    }
    let open = "/tmp/access-open";
    let _ = fs::remove_dir_all(open);
    fs::create_dir(open).unwrap();
    std::os::unix::fs::chown(open, Some(ALICE), Some(ALICE)).unwrap();
    let (target, link) = ("/run/access-target", "/run/access-link");
    fs::write(target, "kept\n").unwrap();
    let _ = fs::remove_file(link);
    symlink(target, link).unwrap();
    symlink(target, format!("{open}/link")).unwrap();
    let policy = format!(
        "{POLICY}\"file:{open}/link\" = \"any\"\n\"file:{link}\" = \"any\"\n\"file:{open}/new\" = \"any\"\n\"file:{target}\" = [\"allowed\"]\n"
    );
    let (service, before) = (Service::with(&policy), state());
    let mut talk = service.talk().welcome();
    for knobs in [
        &["file:/etc/shadow=x"][..],
        &[&format!("file:{link}=x")],
        &[&format!("file:{open}/link=x")],
        &[&format!("file:{open}/new=x")],
        &[&format!("file:{target}=other")],
        &["file:/run/../run/access-target=allowed"],
        &["sysctl.kernel.core_pattern=|/tmp/harm"],
        &["sysctl.net/../kernel/core_pattern=x"],
        &["module.kvm.halt_poll_ns=0"],
        &["cgroup.cpu_quota=50%"],
        &["cpuspeed.daemon=1"],
        &["cpufreq.min_freq=1"],
        &["cpufreq.governor@../../../etc=performance"],
        &["cpufreq.governor@policy0/../policy1=performance"],
        &["cpufreq.governor@policy99=performance"],
        &["cpuidle.disable@cpu0/../../x=1"],
        &["cpufreq.governor=userspace"],
        &["cpufreq.governor=performance\nuserspace"],
        &["cpufreq.governor=\u{0}"],
        &["cpufreq.max_freq=-1"],
        &["cpufreq.max_freq=99999999999999999999"],
        &["ondemand.up_threshold=61"],
        &["ondemand.powersave_bias=61"],
        &["nic.rx-usecs@eth0=1"],
        &["cpufreq.governor=performance", "cpufreq.governor=powersave"],
        // The good half is not set either.
        &["cpufreq.governor=performance", "cpufreq.boost=0"],
        &["cpufreq.governor=performance", "file:/etc/passwd=x"],
    ] {
        let set = talk.set(knobs).unwrap_or_else(|| panic!("{knobs:?} ended the connection"));
        assert!(set.is_err(), "{knobs:?}: {set:?}");
        assert_eq!(state(), before, "{knobs:?}");
    }
    refuses_cpus_and_crowds_of_knobs(&mut talk);
    assert_eq!(fs::read_to_string(target).unwrap(), "kept\n");
    // What is named in full is set, and restored.
    assert!(talk.set(&[&format!("file:{target}=allowed")]).unwrap().is_ok());
    assert_eq!(fs::read_to_string(target).unwrap(), "allowed\n");
    drop(talk);
    until("it is restored", || service.sessions().is_empty());
    assert_eq!(fs::read_to_string(target).unwrap(), "kept\n");
    assert_eq!(state(), before);
    // A line of the log is a line, whatever the client wrote.
    assert!(
        service.log().lines().all(|line| line.starts_with("access: ") || line.starts_with("note: ")),
        "{}",
        service.log()
    );
    for path in [target, link] {
        fs::remove_file(path).unwrap();
    }
    fs::remove_dir_all(open).unwrap();
}

#[test]
fn entries_go_back_in_reverse_order_whatever_order_they_are_asked_in() {
    let Some((service, _)) = served(POLICY) else { return };
    let state_folder = service.path("state");
    // Something that root has set, which is not a client's to undo.
    service.root(&["set", "max_freq=1200MHz"]).ended(0);
    let before = state();
    let of = |set: &Value| -> Vec<u64> {
        set["entries"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
    };
    let mut talk = service.talk().welcome();
    let first = of(&talk.set(&["cpufreq.governor=performance"]).unwrap().unwrap());
    let second = of(&talk.set(&["cpufreq.governor=powersave"]).unwrap().unwrap());
    assert!(first.len() > 4 && !second.is_empty(), "the tunables of ondemand are kept: {first:?}");
    let open = talk.call(&json!("open_entries")).unwrap();
    assert!(open.as_array().unwrap().iter().all(|entry| entry["turn"]["hold"] == "held"), "{open}");
    // The tunables of ondemand first, which is not in force: without their governor they would be lost.
    for entry in first.iter().chain(&second) {
        assert!(talk.call(&json!({"undo": [entry, true]})).is_some());
    }
    assert_eq!(state(), before);
    for entry in 0..20 {
        assert!(talk.call(&json!({"undo": [entry, true]})).is_some());
    }
    assert_eq!(state(), before, "root's own setting stays");
    // So many at once, and no more.
    let set =
        (0..100).map(|number| talk.set(&[["cpufreq.governor=performance", "cpufreq.governor=powersave"][number % 2]]));
    let set: Vec<bool> = set.map(|set| set.unwrap().is_ok()).collect();
    assert!(set.iter().any(|set| !set), "{set:?}");
    drop(talk);
    until("it is restored", || service.sessions().is_empty());
    assert_eq!(state(), before);
    assert!(state_folder.join("ledger").exists());
    service.root(&["undo"]).ended(0);
    assert_eq!(reads("scaling_max_freq"), reads("cpuinfo_max_freq"));
}

#[test]
fn a_client_that_takes_no_answers_fills_no_memory() {
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let mut talk = service.talk().welcome();
    assert!(talk.set(&["cpufreq.governor=powersave"]).unwrap().is_ok());
    let mut sent = 0;
    for number in 2..10_000_000_u32 {
        let call = json!({"call": [number, "open_entries"]}).to_string();
        let frame = [&u32::try_from(call.len()).unwrap().to_le_bytes(), call.as_bytes()].concat();
        if talk.stream.write_all(&frame).is_err() {
            break;
        }
        sent += frame.len();
    }
    assert!(sent < 8 << 20, "{sent} bytes were taken");
    until("it is restored", || service.sessions().is_empty());
    assert_eq!(state(), before);
}

/// Set for a test that is a crowd of clients: where they connect.
const CROWD: &str = "POWERBAND_TEST_CROWD";

#[test]
fn a_crowd_locks_nobody_out() {
    if let Some(socket) = std::env::var_os(CROWD) {
        let all: Vec<_> = (0..1000).filter_map(|_| UnixStream::connect(&socket).ok()).collect();
        println!("connected {}", all.len());
        // Until the test has seen enough.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let Some(it) = served(POLICY) else { return };
    let (service, before) = it;
    let mut crowd = Command::new(std::env::current_exe().unwrap());
    crowd.args(["--exact", "attacks::a_crowd_locks_nobody_out", "--nocapture"]).env(CROWD, service.socket());
    crowd.uid(64_199).gid(64_199).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut allowed = Command::new(crowd.get_program());
    allowed.args(["--exact", "attacks::a_crowd_locks_nobody_out", "--nocapture"]).env(CROWD, service.socket());
    // One without a rule, and one with.
    allowed.uid(64_101).gid(64_101).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut crowds: Vec<_> = [crowd, allowed].iter_mut().map(|crowd| crowd.spawn().unwrap()).collect();
    for crowd in &mut crowds {
        let mut said = String::new();
        let out = crowd.stdout.as_mut().unwrap();
        while !said.contains("connected 1000") {
            let mut byte = [0];
            assert_eq!(out.read(&mut byte).unwrap(), 1, "{said}");
            said.push(char::from(byte[0]));
        }
    }
    assert!(service.sessions().len() <= 8, "{:?}", service.sessions());
    // Somebody else is served meanwhile.
    let mut talk = service.talk().welcome();
    assert!(talk.set(&["cpufreq.governor=powersave"]).unwrap().is_ok());
    drop(talk);
    for mut crowd in crowds {
        drop(crowd.stdin.take());
        crowd.wait().unwrap();
    }
    until("everybody is gone", || service.sessions().is_empty());
    assert_eq!(state(), before);
    until("alice may come again", || {
        Ran::of(&service.user(ALICE, &["service", "--check"]).output().unwrap()).code == Some(0)
    });
}

/// Set for a test that is a service of somebody else's: where it listens.
const FAKE: &str = "POWERBAND_TEST_FAKE";

#[test]
fn only_one_service_has_a_socket_and_only_where_nobody_else_can_put_one() {
    if let Some(socket) = std::env::var_os(FAKE) {
        let _listens = UnixListener::bind(socket).unwrap();
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let Some((service, _)) = served(POLICY) else { return };
    let words = |socket: &str| {
        ["service", "--policy", &service.path("access.toml").display().to_string(), "--socket", socket]
            .map(str::to_owned)
    };
    let run = |socket: &str| {
        let words = words(socket);
        service.root(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let taken = run(&service.socket().display().to_string()).ended(8);
    assert!(taken.err.contains("listens at"), "{}", taken.err);
    let open = service.path("open");
    fs::create_dir(&open).unwrap();
    std::os::unix::fs::chown(&open, Some(ALICE), Some(ALICE)).unwrap();
    let refused = run(&open.join("socket").display().to_string()).ended(8);
    assert!(refused.err.contains("belongs to the user 64101"), "{}", refused.err);
    // A socket that another user has made is none of root's.
    let mut fake = Command::new(std::env::current_exe().unwrap());
    let name = "attacks::only_one_service_has_a_socket_and_only_where_nobody_else_can_put_one";
    fake.args(["--exact", name, "--nocapture"]).env(FAKE, open.join("s")).uid(ALICE).gid(ALICE);
    let mut fake = fake.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    until("it listens", || open.join("s").exists());
    let mut command = service.user(64_102, &["with", "governor=performance", "--", "true"]);
    let ran = Ran::of(&command.env("POWERBAND_SERVICE", open.join("s")).output().unwrap());
    assert!(ran.code != Some(0) && !ran.err.contains("access service"), "{}", ran.err);
    fake.kill().unwrap();
    fake.wait().unwrap();
}
