//! Text from outside that would move the cursor, hide or reorder letters: whichever way it comes in, what a person reads is
//! letters and nothing else.
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

use crate::desk::{Desk, Ran, workspace};

/// Sequences of ECMA-48 in both widths, a title, a backspace, a carriage return, and orders of UAX 9.
const EVIL: &str = "evil\u{1b}]0;t\u{7}\u{1b}[2J\u{1b}[8m\u{9b}31m\u{202e}\u{2066}\u{200f}\u{61c}\u{7f}\u{8}\rend";

/// As a string of TOML.
fn escaped() -> String {
    EVIL.chars()
        .map(|c| if c.is_ascii_graphic() { c.to_string() } else { format!("\\u{:04X}", u32::from(c)) })
        .collect()
}

fn moves(c: char) -> bool {
    let order = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
    order || (c.is_control() && c != '\n' && c != '\t')
}

/// What came in was printed, and as letters.
#[track_caller]
fn harmless(words: &[&str], ran: &Ran) {
    let all = format!("{}{}", ran.out, ran.err);
    assert_eq!(all.chars().find(|&c| moves(c)), None, "{words:?}: {all:?}");
    assert!(all.contains("evil"), "{words:?} does not show what came in: {all}");
    assert!(!all.contains("panicked"), "{words:?}: {all}");
}

/// A desk with a file that holds such a text.
fn desk() -> (Desk, String) {
    let desk = Desk::new();
    let file = desk.beside("text");
    fs::write(&file, EVIL).unwrap();
    (desk, file.display().to_string())
}

#[track_caller]
fn each(desk: &Desk, cases: &[&[&str]]) {
    cases.iter().for_each(|words| harmless(words, &desk.run(words)));
}

const SHORT: [&str; 6] = ["--runs", "2", "--warmup", "0", "--settle", "0"];

#[test]
fn what_a_load_prints() {
    let (desk, text) = desk();
    let fails = format!("cat {text} >&2; exit 3");
    let number = format!("printf v=; cat {text}");
    let second = format!("[ -e {text}.ran ] && {{ {fails}; }}; touch {text}.ran");
    for (more, script) in [(&[][..], &fails), (&["--metric", "x=regex:v=(.+)"], &number), (&["--repeat", "1"], &second)]
    {
        let words = [&["try", "env.A=0,1"][..], &SHORT, more, &["--", "sh", "-c", script]].concat();
        harmless(&words, &desk.run(&words));
    }
    each(&desk, &[&["show", "last"], &["show", "last", "-v"], &["--json", "show", "last"]]);
}

#[test]
fn names_that_are_given_to_what_is_measured() {
    let (desk, _) = desk();
    let (metric, label) = (format!("{EVIL}=regex:v=([0-9]+):lower"), format!("env.X={EVIL},1"));
    let named = [&["try", &label][..], &SHORT, &["--metric", &metric, "--", "sh", "-c", "echo v=1"]].concat();
    let plan = desk.beside(&format!("{}.toml", "plan")).display().to_string();
    let text = format!(
        "title = \"{0}\"\nsettings = [\"a: env.X=1\", \"b: env.X=2\"]\nruns = 2\nwarmup = 0\nsettle = \"0\"\n\
         prepare = \"true # {0}\"\n[load]\nkind = \"command\"\ncommands = [\"true # {0}\"]\n",
        escaped()
    );
    fs::write(&plan, text).unwrap();
    let page = desk.beside("page.html").display().to_string();
    each(&desk, &[&named, &["show", "last", "-v"], &["--json", "show", "last"]]);
    each(&desk, &[&["run", &plan, "--dry-run"], &["--json", "run", &plan, "--dry-run"], &["run", &plan]]);
    each(&desk, &[&["list"], &["--json", "list"], &["compare", "1:2", &format!("1:env.X={EVIL}")]]);
    desk.run(&["report", "-o", &page]).ended(0);
    each(&desk, &[&["run", "--again", &page, "--dry-run"], &["run", "--again", &page, "--trust"]]);
    let table = desk.beside("table.csv").display().to_string();
    fs::write(&table, format!("setting,m\n{EVIL},1\n{EVIL},2\n{EVIL},2.5\nb,1\nb,1.5\nb,2\n")).unwrap();
    each(&desk, &[&["compare", "--from-csv", &table]]);
}

#[test]
fn what_a_declared_knob_answers() {
    let (desk, text) = desk();
    let knobs = desk.beside("knobs.toml").display().to_string();
    fs::write(
        &knobs,
        format!(
            "[knobs.reads]\nget = \"cat {text}\"\nset = \"cat {text} >&2; exit 1 # {{value}}\"\n\
             [knobs.fails]\nget = \"cat {text} >&2; exit 1\"\nset = \"true {{value}}\"\n"
        ),
    )
    .unwrap();
    let tried = [&["try", "--knobs", &knobs, "reads=1"][..], &SHORT, &["--", "true"]].concat();
    // A value with a control character is refused, and not shown.
    let refused: [&[&str]; 3] = [&["get", "--knobs", &knobs, "reads"], &["set", "--knobs", &knobs, "reads=1"], &tried];
    for words in refused {
        let ran = desk.run(words);
        let all = ran.out + &ran.err;
        assert!(!all.contains(moves) && all.contains("prints what has"), "{words:?}: {all:?}");
    }
    let failing = desk.run(&["get", "--knobs", &knobs, "fails"]).ended(4);
    assert!(!failing.err.contains(moves), "{:?}", failing.err);
    fs::write(&knobs, format!("[knobs.\"{}\"]\nget = \"true\"\nset = \"true {{value}}\"\n", escaped())).unwrap();
    each(&desk, &[&["get", "--knobs", &knobs, EVIL], &["set", "--knobs", &knobs, &format!("{EVIL}=1")]]);
    let file = desk.beside(EVIL);
    fs::write(&file, "0\n").unwrap();
    each(&desk, &[&["set", &format!("file:{}=1", file.display())], &["info"], &["undo", "--list"]]);
    desk.run(&["undo"]).ended(0);
}

#[test]
fn what_a_machine_answers_and_is_called() {
    let (desk, text) = desk();
    let complains = format!("sh -c 'cat {text} >&2; exit 1'");
    let ways = [format!("cat {text}"), format!("cat {text} -"), complains];
    for name in ways.iter().flat_map(|way| [format!("cmd:{way}"), format!("sh:{way}")]) {
        // A frame that is none is not shown.
        if !name.starts_with("cmd:cat") {
            harmless(&[&name], &desk.run(&["--peer-timeout", "5s", "--machine", &name, "info"]));
        }
    }
    for name in ["", "sim:", "recorded:", "table:", "cmd:", "sh:"] {
        let name = format!("{name}{EVIL}");
        each(&desk, &[&["--machine", &name, "info"]]);
    }
}

/// A copy of a recorded machine whose words all end in such a text.
fn altered(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (kind, to) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        match fs::read_to_string(entry.path()) {
            _ if kind.is_dir() => altered(&entry.path(), &to),
            _ if kind.is_symlink() => std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), to).unwrap(),
            Ok(text) if entry.file_name() != "recorded.toml" && text.contains(char::is_alphabetic) => {
                fs::write(to, text.trim_end().replace('\n', &format!("{EVIL}\n")) + EVIL + "\n").unwrap();
            }
            _ => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn what_the_files_of_a_machine_say() {
    let (desk, _) = desk();
    for name in ["laptop", "server"] {
        let folder = desk.beside(name);
        altered(&workspace().join("machines/recorded").join(name), &folder);
        let machine = format!("recorded:{}", folder.display());
        let verbs: [&[&str]; 7] = [
            &["info"],
            &["--json", "info"],
            &["get", "governor"],
            &["why"],
            &["why", "governor"],
            &["doctor"],
            &["--json", "doctor"],
        ];
        for verb in verbs {
            let words = [&["--machine", &machine][..], verb].concat();
            harmless(&words, &desk.run(&words));
        }
    }
}

#[test]
fn what_is_in_the_state_folder() {
    let (desk, text) = desk();
    fs::create_dir(desk.state()).unwrap();
    let mut lock = fs::File::create(desk.state().join("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let holder = serde_json::json!({ "pid": std::process::id(), "since_unix_s": 5, "doing": EVIL });
    lock.write_all(holder.to_string().as_bytes()).unwrap();
    each(&desk, &[&["set", &format!("file:{text}=1")], &["undo"]]);
    drop(lock);
    let other = Desk::new();
    let ran = Ran::of(&other.command(&["info"]).env("POWERBAND_MACHINE", EVIL).output().unwrap());
    harmless(&["POWERBAND_MACHINE"], &ran);
    let ran = Ran::of(&other.command(&["info"]).env("POWERBAND_PEER_TIMEOUT", EVIL).output().unwrap());
    harmless(&["POWERBAND_PEER_TIMEOUT"], &ran);
}

#[test]
fn what_is_typed() {
    let (desk, _) = desk();
    desk.run(&[&["try", &format!("env.X={EVIL},1")][..], &SHORT, &["--", "true"]].concat()).ended(0);
    let assigned = format!("{EVIL}=1");
    let (file, sysctl) = (format!("file:/{assigned}"), format!("sysctl.{assigned}"));
    let option = |name, last| ["try", "env.A=1", name, EVIL, "--", last];
    each(&desk, &[&[EVIL], &["set", EVIL], &["set", &assigned], &["get", EVIL], &["why", EVIL], &["show", EVIL]]);
    each(&desk, &[&["run", EVIL], &["run", "--again", EVIL], &["set", &file], &["set", &sysctl], &["knobs", EVIL]]);
    each(&desk, &[&["sim", "show", EVIL], &["replicate", EVIL], &["--cpus", EVIL, "info"], &["--seed", EVIL, "info"]]);
    each(&desk, &[&["set", "--confirm-within", EVIL, "a=1"], &["compare", EVIL, EVIL], &["export", EVIL]]);
    each(&desk, &[&option("--metric", "true"), &option("--meter", "true"), &option("--require", "true")]);
    each(&desk, &[&["try", "env.A=1", "--", &format!("/{EVIL}")]]);
    // On a terminal, also what is else handed on as it is.
    let mut command = Command::new("script");
    desk.furnish(&mut command);
    let body = "for w in 'export last' 'export last --journal' 'report last -o -'; do $P $w; done";
    command.args(["-qefc", body, "/dev/null"]).env("P", env!("CARGO_BIN_EXE_powerband"));
    let shown = String::from_utf8(command.output().unwrap().stdout).unwrap().replace("\r\n", "\n");
    assert_eq!(shown.chars().find(|&c| moves(c)), None, "{shown:?}");
    assert!(shown.matches("evil").count() > 3, "{shown}");
}
