//! The field's load tools as they are installed here, run on loopback and between two namespaces, and read without a word of ours.
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::cabled::{Cable, FAR, counted, pids, sh};
use crate::desk::{Desk, Ran, root, split, until};
use crate::rigged::Two;

/// Whether a tool is here; in CI it must be.
pub(crate) fn has(tool: &str) -> bool {
    let here = std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join(tool).exists());
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(here || !must, "this test needs {tool}, and CI=true lets nothing be skipped");
    if !here {
        eprintln!("skipped: needs {tool}");
    }
    here
}

/// A port nobody has.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// One block of two settings, one of which turns a file.
fn words<'a>(knob: &'a [String; 2], options: &[&'a str]) -> Vec<&'a str> {
    let head = ["try", "-q", "-s", &knob[0], "-s", &knob[1], "--blocks", "1", "--warmup", "0", "--settle", "0"];
    [&head[..], options].concat()
}

/// A file to turn, and the settings for it.
fn knob(desk: &Desk) -> [String; 2] {
    fs::write(desk.beside("knob"), "1\n").unwrap();
    ["a:".to_owned(), format!("b:{}=7", desk.knob("knob"))]
}

/// A trial: its metrics, and what the load printed.
struct Trial {
    metrics: Value,
    out: String,
    err: String,
    refused: Value,
}

impl Trial {
    #[track_caller]
    fn metric(&self, name: &str) -> f64 {
        self.metrics[name].as_f64().unwrap_or_else(|| panic!("no {name} in {}", self.metrics))
    }

    /// The number behind some words of what the tool itself printed.
    #[track_caller]
    fn told(&self, before: &str) -> f64 {
        let text = format!("{}{}", self.out, self.err);
        let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
        let number: String = rest.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.parse().unwrap_or_else(|_| panic!("no number behind {before} in {text}"))
    }

    #[track_caller]
    fn agrees(&self, name: &str, told: f64) {
        assert!((self.metric(name) - told).abs() <= 1e-6 * told, "{name} is {}, told {told}", self.metric(name));
    }
}

/// The valid trials of the last experiment.
fn trials(desk: &Desk) -> Vec<Trial> {
    let events = desk.journal().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let outcomes = events.filter(|event| event["event"] == "trial_done").map(|event| event["outcome"].clone());
    let trials: Vec<Trial> = outcomes
        .map(|outcome| Trial {
            metrics: outcome["metrics"].clone(),
            out: outcome["output"]["load"]["stdout"].as_str().unwrap_or_default().to_owned(),
            err: outcome["output"]["load"]["stderr"].as_str().unwrap_or_default().to_owned(),
            refused: outcome["refused"].clone(),
        })
        .collect();
    assert_eq!(trials.len(), 2, "one of each setting");
    trials
}

/// Runs a tool under both settings; its trials.
#[track_caller]
fn driven(desk: &Desk, options: &[&str]) -> Vec<Trial> {
    let knob = knob(desk);
    desk.run(&words(&knob, options)).ended(0);
    assert_eq!(fs::read_to_string(desk.beside("knob")).unwrap(), "1\n");
    trials(desk)
}

/// What an experiment judges by.
fn judged(desk: &Desk) -> Vec<String> {
    let started: Value = serde_json::from_str(&desk.journal()[0]).unwrap();
    let metrics = started["metrics"].as_array().unwrap().iter().filter(|metric| metric["judged"] == true);
    metrics.map(|metric| metric["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn iperf3_is_read_and_its_server_started_and_ended() {
    if !root() || !has("iperf3") {
        return;
    }
    let (desk, port) = (Desk::new(), free_port());
    let server = format!("iperf3 -s -p {port}");
    let far = format!("--far-command `{server}` --far-port `{port}` -- iperf3 -c {{far}} -p `{port}` -t 1");
    let far = split(&far);
    for trial in driven(&desk, &[&far[..], &["--json"]].concat()) {
        let told: Value = serde_json::from_str(&trial.out).unwrap();
        trial.agrees("rate_mbit_s", told["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6);
        assert!(trial.metric("rtt_ms") > 0.0 && trial.metric("retransmits") >= 0.0 && trial.metric("real_s") >= 1.0);
    }
    assert_eq!(judged(&desk), ["rate_mbit_s"]);
    for trial in driven(&desk, &[&far[..], &["-u", "-b", "5M", "-J"]].concat()) {
        let told: Value = serde_json::from_str(&trial.out).unwrap();
        trial.agrees("rate_mbit_s", told["end"]["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6);
        assert!(trial.metric("lost_percent") < 100.0 && trial.metric("jitter_ms") >= 0.0);
    }
    for trial in driven(&desk, &[&far[..], &["--bidir", "-J"]].concat()) {
        assert!(trial.metric("rate_mbit_s") > 0.0 && trial.metric("reverse_rate_mbit_s") > 0.0);
    }
    TcpListener::bind(format!("127.0.0.1:{port}")).expect("the server is gone");
    // Without the flag it is a command like any other, and that is said.
    let knob = knob(&desk);
    let ran = desk.run(&words(&knob, &far)).ended(0);
    assert!(ran.err.contains("add --json to have rate_mbit_s"), "{}", ran.err);
    assert_eq!(judged(&desk), ["real_s"]);
    let ran = desk.run(&words(&knob, &["--", "iperf3", "-c", "127.0.0.1", "-p", &port, "-t", "1", "-J"])).ended(7);
    assert!(ran.err.contains("iperf3 says: unable to connect to server"), "{}", ran.err);
}

#[test]
fn a_port_that_is_taken_and_a_far_end_that_fails_void_the_trial() {
    if !root() || !has("iperf3") {
        return;
    }
    let desk = Desk::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let knob = knob(&desk);
    let refused = |far: &str, port: &str| {
        let words = words(&knob, &["--far-command", far, "--far-port", port, "--", "true"]);
        desk.run(&words).ended(7).err
    };
    let why = refused(&format!("iperf3 -s -p {port}"), &port);
    assert!(
        why.contains(&format!("port {port} of the near machine is taken already; end what listens there")),
        "{why}"
    );
    let why = refused("sh -c 'echo no cheese >&2; exit 3'", "1");
    assert!(why.contains("ended with exit status 3: no cheese"), "{why}");
    let why = refused("true", "1");
    assert!(why.contains("ended before it listened"), "{why}");
}

/// A server that ends with its test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nuttcp_is_read() {
    if !root() || !has("nuttcp") {
        return;
    }
    let (desk, control, data) = (Desk::new(), free_port(), free_port());
    let server = format!("nuttcp -S --nofork -P{control} -p{data}");
    let ports = [format!("-P{control}"), format!("-p{data}")];
    let far =
        ["--far-command", &server, "--far-port", &control, "--", "nuttcp", &ports[0], &ports[1], "-fparse", "-T1"];
    for trial in driven(&desk, &[&far[..], &["{far}"]].concat()) {
        trial.agrees("rate_mbit_s", trial.told("rate_Mbps="));
        trial.agrees("rtt_ms", trial.told("rtt_ms="));
        assert!(trial.metric("tx_percent") >= 0.0 && trial.metric("retransmits") >= 0.0, "{}", trial.metrics);
    }
    // At no rate: a rate that is asked for is not reached while neighbours have the CPU.
    for trial in driven(&desk, &[&far[..], &["-u", "-Ru", "{far}"]].concat()) {
        trial.agrees("rate_mbit_s", trial.told("rate_Mbps="));
        trial.agrees("lost_percent", trial.told("data_loss="));
    }
    assert_eq!(judged(&desk), ["rate_mbit_s", "lost_percent"]);
}

#[test]
fn ping_is_read_in_two_makes() {
    if !root() || !has("ping") || !has("busybox") {
        return;
    }
    let desk = Desk::new();
    for trial in driven(&desk, &["--", "ping", "-c", "5", "-i", "0.05", "127.0.0.1"]) {
        let text = trial.out.rsplit_once("= ").unwrap().1;
        let told: Vec<f64> = text.split([' ', '/']).map_while(|value| value.parse().ok()).collect();
        for (name, value) in ["rtt_min_ms", "rtt_ms", "rtt_max_ms", "rtt_mdev_ms"].into_iter().zip(told) {
            trial.agrees(name, value);
        }
        assert_eq!(trial.metric("lost_percent"), 0.0);
    }
    for trial in driven(&desk, &split("-- busybox ping -c 2 -i 0.05 127.0.0.1")[..]) {
        assert!(trial.metric("rtt_ms") > 0.0);
        assert!(trial.refused["rtt_mdev_ms"].as_str().unwrap().contains("spread"), "{}", trial.refused);
    }
    let knob = knob(&desk);
    // Discarded at once by the kernel of a namespace that has no way there.
    let lost = split("-- unshare -n ping -c 1 -W 1 127.0.0.1");
    desk.run(&words(&knob, &lost)).ended(7);
}

#[test]
fn sockperf_is_read() {
    if !root() || !has("sockperf") {
        return;
    }
    let (desk, port) = (Desk::new(), free_port());
    let server = format!("sockperf server -i 127.0.0.1 -p {port}");
    let far = format!("--far-command `{server}` --far-port `{port}` -- sockperf");
    let far = split(&far);
    for trial in driven(&desk, &[&far[..], &["ping-pong", "-i", "{far}", "-p", &port, "-t", "1"]].concat()) {
        trial.agrees("mean_us", trial.told("Latency is"));
        trial.agrees("max_us", trial.told("<MAX> observation ="));
        assert!(trial.metric("p50_us") <= trial.metric("p99_us"), "{}", trial.metrics);
    }
    assert_eq!(judged(&desk), ["p50_us", "lost_percent"]);
    let knob = knob(&desk);
    let alone = format!("-- sockperf pp -i 127.0.0.1 -p `{port}` -t 1");
    let alone = split(&alone);
    let ran = desk.run(&words(&knob, &alone)).ended(7);
    assert!(ran.err.contains("No messages"), "{}", ran.err);
}

#[test]
fn cyclictest_is_read_and_what_it_holds_is_told() {
    if !root() || !has("cyclictest") {
        return;
    }
    let desk = Desk::new();
    for trial in driven(&desk, &["--", "cyclictest", "-q", "-D", "1", "-i", "2000"]) {
        trial.agrees("mean_us", trial.told("Avg:"));
        trial.agrees("max_us", trial.told("Max:"));
    }
    let told = desk.run(&["show", "last", "-v"]).ended(0).out.replace("\n  ", " ");
    assert!(told.contains("cyclictest held /dev/cpu_dma_latency at 0 us"), "{told}");
    let whole = split("-- cyclictest -q -D 1 -h 20000 --laptop --json=/dev/stdout");
    for trial in driven(&desk, &whole) {
        assert!(trial.metric("min_us") <= trial.metric("p50_us") && trial.metric("p50_us") <= trial.metric("max_us"));
    }
    let told = desk.run(&["show", "last", "-v"]).ended(0).out;
    assert!(!told.contains("cpu_dma_latency at"), "{told}");
}

/// An HTTP server of one answer, until it is dropped.
struct Web {
    port: String,
    accepts: Option<JoinHandle<()>>,
}

impl Web {
    fn answering(status: &'static str) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let accepts = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut bytes = [0; 4096];
                let first = stream.read(&mut bytes).unwrap_or(0);
                if bytes[..first].starts_with(b"END") {
                    return;
                }
                std::thread::spawn(move || {
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nhi");
                    // One request a packet, as wrk sends them.
                    while stream.write_all(answer.as_bytes()).is_ok() && stream.read(&mut bytes).unwrap_or(0) > 0 {}
                });
            }
        });
        Web { port, accepts: Some(accepts) }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(format!("127.0.0.1:{}", self.port)) {
            let _ = stream.write_all(b"END");
        }
        let _ = self.accepts.take().map(JoinHandle::join);
    }
}

#[test]
fn wrk_is_read_and_errors_of_the_server_void() {
    if !root() || !has("wrk") {
        return;
    }
    let desk = Desk::new();
    let web = Web::answering("200 OK");
    let url = format!("http://127.0.0.1:{}/", web.port);
    let wrk = ["--", "wrk", "-t1", "-c2", "-d1s", "--latency"];
    for trial in driven(&desk, &[&wrk[..], &[&url]].concat()) {
        trial.agrees("requests_per_s", trial.told("Requests/sec:"));
        assert!(trial.metric("p50_us") <= trial.metric("p99_us") && trial.metric("p50_us") > 0.0, "{}", trial.metrics);
    }
    let broken = Web::answering("500 Internal Server Error");
    let url = format!("http://127.0.0.1:{}/", broken.port);
    let knob = knob(&desk);
    let ran = desk.run(&words(&knob, &[&wrk[..], &[&url]].concat())).ended(7);
    assert!(ran.err.contains("of wrk's requests with an error"), "{}", ran.err);
}

#[test]
fn perf_stat_counts_what_it_can_and_says_what_not() {
    if !root() || !has("perf") {
        return;
    }
    let desk = Desk::new();
    let events = "task-clock,page-faults,context-switches";
    for trial in driven(&desk, &["--", "perf", "stat", "-x,", "-e", events, "--", "sh", "-c", "echo 7,,cycles >&2"]) {
        let line = trial.err.lines().find(|line| line.contains("task-clock")).unwrap();
        trial.agrees("task_clock_ms", line.split(',').next().unwrap().parse().unwrap());
        assert!(trial.metric("page_faults") > 0.0 && trial.metrics.get("cycles").is_none(), "{}", trial.metrics);
    }
    assert_eq!(judged(&desk), ["task_clock_ms"]);
    for trial in driven(&desk, &split("-- perf stat -j -e page-faults true")[..]) {
        assert!(trial.metric("page_faults") > 0.0);
    }
    // What every machine can count is judged; what this one cannot is told, whichever that is.
    for trial in driven(&desk, &["--", "perf", "stat", "-x,", "true"]) {
        let (metrics, refused) = (&trial.metrics, &trial.refused);
        for event in ["cycles", "instructions", "branches", "branch_misses"] {
            assert!(metrics.get(event).is_some() != refused.get(event).is_some(), "{event}: {metrics}, {refused}");
        }
    }
    assert_eq!(judged(&desk), ["real_s"]);
}

/// A time as a shell's `times` prints it: `0m0.13s`, or with more digits.
fn seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
}

#[test]
fn what_mpirun_says_is_nobodys_number() {
    if !root() || !has("mpirun") {
        return;
    }
    let desk = Desk::new();
    let knob = knob(&desk);
    let mpirun = split("mpirun --allow-run-as-root --oversubscribe -np 2");
    let said = "echo '[node:77] value = 5' >&2; echo 'value = 8' >&2";
    let pick = ["--metric", "value=regex:value = ([0-9]+)", "--"];
    desk.run(&words(&knob, &[&pick[..], &mpirun[..], &["sh", "-c", said]].concat())).ended(0);
    for trial in trials(&desk) {
        assert_eq!(trial.metric("value"), 8.0, "what stands behind [host:process] is mpirun's");
    }
    // What the ranks took is in its times, as they themselves say.
    let count = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times";
    desk.run(&words(&knob, &[&["--"], &mpirun[..], &["sh", "-c", count]].concat())).ended(0);
    for trial in trials(&desk) {
        let ranks: Vec<f64> = trial.out.lines().filter_map(|line| seconds(line.split_whitespace().next()?)).collect();
        let took: f64 = ranks.iter().sum();
        assert!(ranks.len() >= 2 && took > 0.0, "{}", trial.out);
        let spent = trial.metric("user_s") + trial.metric("sys_s");
        assert!(spent >= 0.9 * took && trial.metric("real_s") > 0.0, "{spent} s of {took} s");
    }
    // More ranks than there are slots is refused in a box, whose first words are the reason.
    let many = split("-- mpirun --allow-run-as-root -np 4096 true");
    let ran = desk.run(&words(&knob, &many)).ended(7);
    assert!(ran.err.contains("slots"), "{}", ran.err);
}

#[test]
fn a_far_end_runs_in_the_far_namespace_and_ends_with_its_load() {
    if !has("iperf3") {
        return;
    }
    let Some(cable) = Cable::new() else { return };
    let two = Two::new();
    let far = format!("cmd@{FAR}:ip netns exec {} {}", cable.far, two.way());
    let plan = two.near.beside("plan.toml");
    let text = format!(
        "far = \"{far}\"\nsettings = [\"a:\", \"b:{}\"]\nblocks = 1\nwarmup = 0\nsettle = \"0s\"\n\
         metrics = [\"rate_mbit_s\", \"far/cpu_busy_share:info\"]\n[load]\nkind = \"command\"\n\
         argv = [\"iperf3\", \"-c\", \"{{far}}\", \"-t\", \"1\", \"-J\"]\nfar_command = [\"iperf3\", \"-s\", \"-B\", \"{{far}}\"]\n",
        two.turns("7")
    );
    fs::write(&plan, text).unwrap();
    let before = counted(&cable.far, "rx_bytes");
    let run = |words: &[&str]| Ran::of(&cable.command(&two.near, words).output().unwrap());
    run(&["run", &plan.display().to_string()]).ended(0);
    let crossed = counted(&cable.far, "rx_bytes") - before;
    let received: f64 = trials(&two.near).iter().map(|trial| trial.metric("rate_mbit_s") * 1e6 / 8.0).sum();
    for trial in trials(&two.near) {
        let busy = trial.metric("far/cpu_busy_share");
        assert!(busy > 0.0, "what the far machine did while its end served was read: {busy}");
    }
    // Each trial received for one second, next to headers and what was sent again.
    assert!(crossed as f64 > 0.98 * received, "{crossed} bytes crossed, {received} were received");
    assert!(pids(&cable.far, "iperf3").is_empty(), "the far end is ended");
    assert!(two.is_clean());

    // A server of somebody's own that holds the port is not measured by mistake.
    let mut server = Command::new("ip");
    server.args(["netns", "exec", &cable.far, "iperf3", "-s", "-B", FAR]).stdout(Stdio::null());
    let server = Ends(server.spawn().unwrap());
    until("it listens", || sh(&format!("ip netns exec {} cat /proc/net/tcp", cable.far)).contains(":1451 "));
    let words = format!("--far `{far}` try -q -s a: -s b: --blocks 1 --warmup 0 --far-command");
    let words = split(&words);
    let server_words = split("`iperf3 -s -B {far}` --far-port 5201 -- iperf3 -c {far} -t 1 -J");
    let why = run(&[&words[..], &server_words].concat()).ended(7).err;
    assert!(why.contains("port 5201 of the far machine is taken already"), "{why}");
    drop(server);
}

#[test]
fn what_is_read_can_be_chosen_and_switched_off() {
    let desk = Desk::new();
    if !root() || !has("ping") {
        return;
    }
    let ping = split("-- env ping -c 2 -i 0.05 127.0.0.1");
    for trial in driven(&desk, &[&["--reads", "ping"], &ping[..]].concat()) {
        assert!(trial.metric("rtt_ms") > 0.0);
    }
    let started: Value = serde_json::from_str(&desk.journal()[0]).unwrap();
    assert_eq!(
        (&started["load"]["reads"], judged(&desk)),
        (&"ping".into(), vec!["rtt_ms".to_owned(), "lost_percent".to_owned()])
    );
    let knob = knob(&desk);
    let ran = desk.run(&words(&knob, &ping)).ended(0);
    assert!(ran.err.contains("env starts ping, whose output can be read; add --reads ping"), "{}", ran.err);
    driven(&desk, &[&["--reads", "none", "--"], &ping[2..]].concat());
    assert_eq!(judged(&desk), ["real_s"]);
}
