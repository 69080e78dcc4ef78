//! Rigs of two machines that are one box: a second powerband with a state folder of its own is the peer, behind a pipe.
use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use powerband_machine::wire::{
    Call, Frames, FromAgent, FromOwner, Hello, Purpose, WIRE_VERSION, Welcome, frame, message,
};
use powerband_machine::{Action, Before, Hold, Identity, Turn};
use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, Ran, split, text, until};

/// Two desks: the one that is typed at, and the peer's.
pub(crate) struct Two {
    pub(crate) near: Desk,
    pub(crate) far: Desk,
}

impl Two {
    pub(crate) fn new() -> Two {
        let two = Two { near: Desk::new(), far: Desk::new() };
        fs::write(two.near.beside("knob"), "here").unwrap();
        fs::write(two.far.beside("knob"), "there").unwrap();
        two
    }

    /// What leads to the peer's agent, as a command line.
    pub(crate) fn way(&self) -> String {
        format!("env 'POWERBAND_STATE_DIR={}' {} agent", self.far.state().display(), env!("CARGO_BIN_EXE_powerband"))
    }

    /// The far machine as named on the command line.
    pub(crate) fn name(&self) -> String {
        format!("cmd:{}", self.way())
    }

    /// An assignment of the far file.
    pub(crate) fn turns(&self, value: &str) -> String {
        format!("far/{}={value}", self.far.knob("knob"))
    }

    pub(crate) fn reads(&self) -> String {
        text(&self.far.beside("knob"))
    }

    /// Whether nothing is written down as turned at the peer. Looks itself, so that nothing is restored by that.
    pub(crate) fn is_clean(&self) -> bool {
        // One that was copied there has removed its ledger.
        self.reads() == "there" && fs::read(self.far.state().join("ledger")).unwrap_or_default().is_empty()
    }

    pub(crate) fn agent(&self) -> Pid {
        let lock = text(&self.far.state().join("lock"));
        let holder: serde_json::Value = serde_json::from_str(&lock).unwrap();
        Pid::from_raw(i32::try_from(holder["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }
}

#[test]
fn a_far_machine_is_read_turned_and_put_back_like_a_near_one() {
    let two = Two::new();
    let far = two.name();
    let (here, there) = (two.near.knob("knob"), two.far.knob("knob"));
    let shown = two.near.run(&["--far", &far, "get", &here, &format!("far/{there}")]).ended(0).out;
    assert!(shown.contains("= here") && shown.contains(&format!("far/{there}@- = there")), "{shown}");
    assert!(!two.far.state().exists(), "looking makes nothing");

    two.near.run(&["--far", &far, "set", &format!("{here}=1"), &two.turns("2")]).ended(0);
    assert_eq!((text(&two.near.beside("knob")), two.reads()), ("1".into(), "2".into()));
    let listed = two.near.run(&["--far", &far, "undo", "--list"]).ended(0).out;
    assert!(listed.contains("on the far machine"), "{listed}");
    two.near.run(&["--far", &far, "undo"]).ended(0);
    assert!(two.is_clean() && text(&two.near.beside("knob")) == "here");

    let during = two.near.run(&["--far", &far, "with", &two.turns("3"), "--", "cat", &there[5..]]).ended(0);
    assert_eq!(during.out, "3");
    assert!(two.is_clean());
}

#[test]
fn a_machine_behind_an_agent_can_be_the_near_one() {
    let two = Two::new();
    let (there, knob) = (two.name(), two.far.knob("knob"));
    let info = two.near.json(&["--machine", &there, "info"]);
    assert_eq!(info["machine"], there.as_str());
    let turned = format!("{knob}=5");
    let with = two.near.run(&[
        "--machine",
        &there,
        "with",
        &turned,
        "--",
        "sh",
        "-c",
        "cat \"$0\"; echo oh >&2; exit 3",
        &knob[5..],
    ]);
    let with = with.ended(3);
    assert_eq!((with.out.as_str(), with.err.as_str()), ("5", "oh\n"));
    two.near.run(&["--machine", &there, "set", &turned]).ended(0);
    assert_eq!(two.reads(), "5");
    two.near.run(&["--machine", &there, "undo"]).ended(0);
    assert!(two.is_clean());
}

#[test]
fn settings_of_the_far_machine_are_compared() {
    let two = Two::new();
    let (far, b) = (two.name(), format!("b:{}", two.turns("7")));
    let seen = two.near.beside("seen");
    let script = format!("cat {} >> {}; echo >> {}", two.far.beside("knob").display(), seen.display(), seen.display());
    let words = format!("--far `{far}` try -s a: -s `{b}` --settle 0 --warmup 0 --blocks 2");
    let words = split(&words);
    let report = two.near.report(&[&words[..], &["--repeat", "1", "--", "sh", "-c", &script]].concat());
    assert_eq!(report.settings.len(), 2);
    let seen: Vec<String> = text(&seen).lines().map(str::to_owned).collect();
    assert_eq!(seen.iter().filter(|line| *line == "7").count(), 2, "{seen:?}");
    assert_eq!(seen.len(), 4);
    assert!(two.is_clean());
}

#[test]
fn a_load_with_two_ends_asks_for_the_address_nobody_knows() {
    let two = Two::new();
    let words = ["try", "-s", "a:", "-s", &format!("b:{}", two.turns("7")), "--load", "stream", "--for", "100ms"];
    let far = two.name();
    let sentence = two.near.run(&[&["--far", &far], &words[..]].concat()).refused(2);
    assert!(sentence.contains("address") && sentence.contains("cmd@"), "{sentence}");
    let known = format!("cmd@127.0.0.1:{}", two.way());
    let more = ["--blocks", "2", "--warmup", "0", "--settle", "0"];
    let report = two.near.report(&[&["--far", &known], &words[..], &more[..]].concat());
    assert!(crate::desk::typical(&report, "a", "rate_mbit_s") > 0.0);
}

#[test]
fn what_is_no_agent_is_told_in_one_sentence() {
    let desk = Desk::new();
    for (far, code, says) in [
        ("cmd:/nowhere/at/all", 2, "check its spelling"),
        ("cmd:false", 8, "ended before it said anything"),
        ("cmd:echo a shell that says hello", 8, "not powerband's protocol"),
        ("cmd:sh 'a", 2, "is not closed"),
        ("ssh:-oProxyCommand=x", 2, "a host's name does not begin with"),
        ("cmd", 2, "there is no machine 'cmd'"),
    ] {
        let sentence = desk.run(&["--far", far, "get", "far/file:/etc/hostname"]).refused(code);
        assert!(sentence.contains(says), "{sentence}");
    }
}

#[test]
fn a_far_machine_that_somebody_holds_names_him_and_can_be_looked_at() {
    let two = Two::new();
    let held = two.far.start(&["with", &format!("{}=9", two.far.knob("knob")), "--", "sleep", "60"]);
    until("it holds", || two.reads() == "9");
    let far = two.name();
    let sentence = two.near.run(&["--far", &far, "set", &two.turns("2")]).refused(8);
    assert!(sentence.contains(&format!("powerband {} (with", held.pid())), "{sentence}");
    let shown = two.near.run(&["--machine", &far, "info", "turned"]).ended(0).out;
    assert!(shown.contains("held there") && shown.contains(&held.pid().to_string()), "{shown}");
    held.signal(Signal::TERM);
    held.end();
    assert!(two.is_clean());
}

/// Whether a journal has a trial.
pub(crate) fn has_begun(exported: Ran) -> bool {
    exported.out.contains("\"trial_started\"")
}

/// `try` of the far file with a load that lasts, once the far file is turned.
fn measuring(two: &Two) -> crate::desk::Started {
    let (far, b) = (two.name(), format!("b:{}", two.turns("7")));
    let turned_here = format!("c:{}=8 {}", two.near.knob("knob"), two.turns("8"));
    let words = format!("--far `{far}` try -s a: -s `{b}` -s `{turned_here}` --settle 0 --warmup 0");
    let words = split(&words);
    let running = two.near.start(&[&words[..], &["--load", "counter", "--for", "2s"]].concat());
    until("both are turned", || two.reads() == "8" && text(&two.near.beside("knob")) == "8");
    until("a trial runs", || has_begun(two.near.run(&split("export last --journal"))));
    running
}

#[test]
fn a_killed_agent_is_put_back_by_its_guardian_and_the_experiment_goes_on_later() {
    let two = Two::new();
    let running = measuring(&two);
    kill_process(two.agent(), Signal::KILL).unwrap();
    let sentence = running.end().ended(8).err;
    assert!(sentence.contains("lost the far machine") && sentence.contains("resume"), "{sentence}");
    assert_eq!(text(&two.near.beside("knob")), "here", "the near side is back at once");
    until("the far side is back", || two.is_clean());
    let again = two.near.start(&["resume"]);
    until("it goes on", || two.reads() == "7");
    again.signal(Signal::INT);
    again.end().ended(130);
    assert!(two.is_clean() && text(&two.near.beside("knob")) == "here");
}

#[test]
fn an_agent_that_hangs_is_said_to_have_been_silent() {
    let two = Two::new();
    let running = measuring(&two);
    kill_process(two.agent(), Signal::STOP).unwrap();
    let sentence = running.end().ended(8).err;
    // Its guardian has ended it by then.
    assert!(sentence.contains("lost the far machine: it did not answer for "), "{sentence}");
    until("the far side is back", || two.is_clean());
}

#[test]
fn a_killed_owner_leaves_neither_side_turned() {
    let two = Two::new();
    let running = measuring(&two);
    running.signal(Signal::KILL);
    until("the far side is back", || two.is_clean());
    until("the near side is back", || text(&two.near.beside("knob")) == "here");
    running.end();
}

#[test]
fn a_silent_way_is_a_lost_machine_on_both_sides() {
    let two = Two::new();
    let far = format!("cmd:sh -c \"cat | {} | cat\"", two.way());
    let runs = two.near.beside("runs");
    let script = format!("echo > {}; sleep 100", runs.display());
    let running = two.near.start(&["--far", &far, "with", &two.turns("4"), "--", "sh", "-c", &script]);
    until("the load runs", || runs.exists());
    assert_eq!(two.reads(), "4");
    let cats: Vec<Pid> = cats_of(running.pid());
    assert_eq!(cats.len(), 2);
    cats.iter().for_each(|&cat| kill_process(cat, Signal::STOP).unwrap());
    let sentence = running.end().ended(8).err;
    assert!(sentence.contains("lost the far machine"), "{sentence}");
    until("the far side is back", || two.is_clean());
}

/// The `cat`s among the grandchildren of a process.
pub(crate) fn cats_of(pid: u32) -> Vec<Pid> {
    let stats =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let processes: Vec<(i32, String, i32)> = stats
        .filter_map(|stat| {
            let (head, tail) = stat.rsplit_once(") ")?;
            let (pid, name) = head.split_once(" (")?;
            Some((pid.parse().ok()?, name.to_owned(), tail.split(' ').nth(1)?.parse().ok()?))
        })
        .collect();
    let children = |of: i32| processes.iter().filter(move |(_, _, parent)| *parent == of);
    let grandchildren = children(i32::try_from(pid).unwrap()).flat_map(|(child, ..)| children(*child));
    grandchildren.filter(|(_, name, _)| name == "cat").filter_map(|(pid, ..)| Pid::from_raw(*pid)).collect()
}

/// An agent spoken to by hand.
struct Spoken {
    child: Child,
    frames: Frames,
}

impl Spoken {
    fn new(two: &Two) -> Spoken {
        let mut command = two.far.command(&["agent"]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Spoken { child, frames: Frames::default() }
    }

    /// One that was greeted and has welcomed us.
    fn welcomed(two: &Two, purpose: Purpose) -> Spoken {
        let mut spoken = Spoken::new(two);
        spoken.say(&frame(&hello(WIRE_VERSION, purpose)).unwrap());
        assert!(matches!(spoken.hear(), FromAgent::Welcome(_)));
        spoken
    }

    fn say(&mut self, bytes: &[u8]) {
        // One that has gone away hears nothing.
        let _ = self.child.stdin.as_mut().unwrap().write_all(bytes);
    }

    fn hear(&mut self) -> FromAgent {
        loop {
            if let Some(json) = self.frames.next_frame().unwrap() {
                return message(&json).unwrap();
            }
            let mut chunk = [0; 4096];
            let got = self.child.stdout.as_mut().unwrap().read(&mut chunk).unwrap();
            assert!(got > 0, "it ended");
            self.frames.take_in(&chunk[..got]);
        }
    }

    /// Waits for its end; the code and what it complained of.
    fn end(mut self) -> (Option<i32>, String) {
        until("it ends", || self.child.try_wait().unwrap().is_some());
        let mut complaint = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        (self.child.wait().unwrap().code(), complaint)
    }
}

fn hello(wire: u32, purpose: Purpose) -> FromOwner {
    FromOwner::Hello(Hello { wire, powerband: "test".into(), purpose, doing: "trying".into(), owner: None })
}

fn write(two: &Two, value: &str) -> Box<Turn> {
    let path = two.far.beside("knob").display().to_string();
    let file = |text: &str| Action::WriteFile { path: path.clone(), text: text.into() };
    Box::new(Turn {
        action: file(value),
        undo: Some(file("there")),
        hold: Hold::Held,
        knob: format!("file:{path}"),
        site: "-".into(),
        asked: value.into(),
        before: Before::Reads("there".into()),
        read_back: Some(path.clone()),
        step: None,
        moves: std::collections::BTreeMap::new(),
    })
}

#[test]
fn an_agent_whose_owner_falls_silent_puts_back_after_its_lease() {
    let two = Two::new();
    let mut spoken = Spoken::welcomed(&two, Purpose::Measure);
    spoken.say(&frame(&FromOwner::Call(1, Call::Act(write(&two, "6")))).unwrap());
    assert!(matches!(spoken.hear(), FromAgent::Answer(1, _)));
    assert_eq!(two.reads(), "6");
    spoken.say(&frame(&FromOwner::Call(2, Call::Lease(300_000_000))).unwrap());
    assert!(matches!(spoken.hear(), FromAgent::Answer(2, _)));
    let (code, complaint) = spoken.end();
    assert_eq!(code, Some(8), "{complaint}");
    assert!(complaint.contains("silent for too long"), "{complaint}");
    assert!(two.is_clean());
}

#[test]
fn an_agent_whose_owner_lets_go_restores_also_where_its_input_does_not_end() {
    let two = Two::new();
    let mut spoken = Spoken::welcomed(&two, Purpose::Measure);
    spoken.say(&frame(&FromOwner::Call(1, Call::Act(write(&two, "6")))).unwrap());
    assert!(matches!(spoken.hear(), FromAgent::Answer(1, _)));
    spoken.say(&frame(&FromOwner::Call(2, Call::Lease(0))).unwrap());
    assert_eq!(spoken.end(), (Some(0), String::new()));
    assert!(two.is_clean());
}

#[test]
fn who_said_to_be_looking_turns_nothing() {
    let two = Two::new();
    let mut spoken = Spoken::welcomed(&two, Purpose::Look);
    spoken.say(&frame(&FromOwner::Call(1, Call::Act(write(&two, "6")))).unwrap());
    assert_eq!(spoken.end().0, Some(8));
    assert_eq!(two.reads(), "there");
}

#[test]
fn another_version_of_the_protocol_is_refused_by_a_sentence() {
    let two = Two::new();
    let mut spoken = Spoken::new(&two);
    spoken.say(&frame(&hello(WIRE_VERSION + 1, Purpose::Look)).unwrap());
    let FromAgent::Refused(refusal) = spoken.hear() else { panic!("it went along") };
    assert!(refusal.why.contains("the same powerband"), "{}", refusal.why);
    assert_eq!(spoken.end().0, Some(8));
}

#[test]
fn an_agent_that_hears_nonsense_puts_back_and_says_one_sentence() {
    let act = |two: &Two| frame(&FromOwner::Call(1, Call::Act(write(two, "6")))).unwrap();
    let whole = frame(&FromOwner::Call(2, Call::OpenEntries)).unwrap();
    let nonsense: [Vec<u8>; 7] = [
        b"\xff\xff\xff\xff".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\x02\0\0\0{}".to_vec(),
        b"\0\0\0\0".to_vec(),
        b"\x04\0\0\0\xff\xfe\xfd\xfc".to_vec(),
        frame(&hello(WIRE_VERSION, Purpose::Measure)).unwrap(),
        [&whole[..4], &b"x".repeat(whole.len() - 4)].concat(),
    ];
    for said in nonsense {
        let two = Two::new();
        let mut spoken = Spoken::welcomed(&two, Purpose::Measure);
        spoken.say(&act(&two));
        assert!(matches!(spoken.hear(), FromAgent::Answer(1, _)));
        spoken.say(&said);
        let (code, complaint) = spoken.end();
        assert_eq!(code, Some(8), "{said:?}: {complaint}");
        assert!(complaint.starts_with("powerband: ") && complaint.lines().count() == 1, "{complaint}");
        assert!(complaint.contains("not powerband's protocol"), "{complaint}");
        assert!(two.is_clean());
    }
    // Half a frame, and then the end.
    let two = Two::new();
    let mut spoken = Spoken::welcomed(&two, Purpose::Measure);
    spoken.say(&act(&two));
    assert!(matches!(spoken.hear(), FromAgent::Answer(1, _)));
    spoken.say(&whole[..7]);
    spoken.child.stdin = None;
    spoken.end();
    assert!(two.is_clean());
}

/// A welcome by nobody.
fn welcome(wire: u32) -> Vec<u8> {
    let identity = Identity {
        name: "nobody".into(),
        system: "none".into(),
        boot_id: String::new(),
        address: String::new(),
        privileged: false,
        owner: 1,
    };
    let (powerband, folder) = ("test".into(), "/nowhere".into());
    let welcome = Welcome { wire, powerband, identity, peer_address: None, folder, held: None, sets: false };
    frame(&FromAgent::Welcome(Box::new(welcome))).unwrap()
}

#[test]
fn a_far_end_that_says_anything_at_all_costs_one_sentence() {
    let desk = Desk::new();
    let answer = |value: serde_json::Value| frame(&FromAgent::Answer(1, value)).unwrap();
    let endings: [(Vec<u8>, &str); 7] = [
        (b"\xff\xff\xff\x7f".to_vec(), "sleep 100"),
        (b"\x05\0\0\0{[}]\"".to_vec(), "sleep 100"),
        (b"\x40\0\0\0{\"answer\"".to_vec(), "true"),
        (Vec::new(), "true"),
        // Nothing more for ever: the deadline of the call.
        (Vec::new(), "sleep 100"),
        (answer(serde_json::json!({ "Ok": 42 })), "sleep 100"),
        (welcome(WIRE_VERSION), "sleep 100"),
    ];
    for (place, (bytes, then)) in endings.iter().enumerate() {
        let said = desk.beside("said");
        fs::write(&said, [&welcome(WIRE_VERSION), bytes.as_slice()].concat()).unwrap();
        let far = format!("cmd:sh -c 'cat {}; {then}'", said.display());
        let sentence = desk.run(&["--far", &far, "get", "far/file:/etc/hostname"]).refused(8);
        assert!(sentence.contains("lost the far machine"), "{place}: {sentence}");
        let sentence = desk.run(&["--machine", &far, "info", "turned"]).refused(8);
        assert!(sentence.contains("lost the near machine"), "{place}: {sentence}");
    }
    fs::write(desk.beside("said"), welcome(WIRE_VERSION + 1)).unwrap();
    let far = format!("cmd:cat {}", desk.beside("said").display());
    let sentence = desk.run(&["--far", &far, "get", "far/file:/etc/hostname"]).refused(8);
    assert!(sentence.contains("the same powerband"), "{sentence}");
}
