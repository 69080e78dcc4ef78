//! The connection to a shell: what is typed, what comes back between marks, and what comes by itself.
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;

use powerband_machine::Errno;
use powerband_machine::wire::{IDLE_SILENCE_NS, LEASE_MARGIN_NS, WireError};
use rustix::event::PollFlags;

use super::quote::{Code, assignment};
use crate::leading::Leading;
use crate::remote::CHANGE_NS;
use crate::talk::{Mouth, Silence, wait_for};

/// So often it is asked again meanwhile, ns: a console may lose what comes before it listens.
const ASK_AGAIN_NS: u64 = 3_000_000_000;
/// How long the answer to a sign of life may take, ns.
const SIGN_OF_LIFE_NS: u64 = 5_000_000_000;
/// How long one whose input ended may take to end, ns.
const DYING_NS: u64 = 1_000_000_000;
/// More than this no start-up file and no booting console prints before a shell answers, bytes.
const MAX_BEFORE_BYTES: usize = 1 << 20;
/// More than this never comes in one answer, bytes.
const MAX_BYTES: usize = 16 << 20;
/// More than this is not typed before it was answered, bytes: a console keeps no more.
const TYPED_BYTES: usize = 2000;

/// What is said there first; what it prints holds the mark, what is typed does not. A console's shell that a killed powerband left prints
/// nothing until its output is its own again.
const WAKE: &str = "\nstty -echo 2>/dev/null; PS1=; PS2=; set +m 2>/dev/null\n\
                    if [ -n \"$pb_mute\" ]; then pb_mute=; exec 1>&3 2>&1 3>&-; fi\n";

/// A load has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its number.
    pub(super) number: u64,
    /// What the shell says of it.
    pub(super) words: Vec<String>,
}

/// The answer to one call.
#[derive(Debug)]
pub(super) struct Answer {
    /// The exit status of the last command.
    pub(super) status: i32,
    /// What was printed.
    pub(super) body: Vec<u8>,
}

/// The connection; once lost it stays so.
#[derive(Debug)]
pub(super) struct Link {
    // Before what leads there: the end of its input lets a shell go that is behind a pipe.
    mouth: Option<Mouth>,
    leading: Leading,
    output: OwnedFd,
    heard: Vec<u8>,
    mark: String,
    /// How long an answer may take, ns.
    answer_ns: u64,
    pub(super) code: Code,
    /// Whether it knows our functions.
    taught: bool,
    last: u64,
    /// Why it is lost, and whether the World was told.
    pub(super) lost: Option<(String, bool)>,
    /// Loads whose end was told and not yet asked for.
    pub(super) ended: VecDeque<Ended>,
    silent_ns: u64,
    spoke_ns: u64,
    unanswered: Option<(u64, u64)>,
}

impl Link {
    /// Starts the program that leads there.
    pub(super) fn start(program: &str, arguments: &[String], answer_ns: u64) -> Result<Link, Errno> {
        let (leading, input, output) = Leading::start(program, arguments)?;
        Ok(Link {
            leading: leading.patient(DYING_NS),
            mouth: Some(Mouth::new(input)),
            output,
            answer_ns,
            heard: Vec::new(),
            mark: format!("{:016x}", RandomState::new().hash_one(std::process::id())),
            code: Code::Hex,
            taught: false,
            last: 0,
            lost: None,
            ended: VecDeque::new(),
            silent_ns: IDLE_SILENCE_NS,
            spoke_ns: crate::now_ns(),
            unanswered: None,
        })
    }

    /// What to poll.
    pub(super) fn fd(&self) -> &OwnedFd {
        &self.output
    }

    /// What leads there and its two ends, for somebody who speaks otherwise.
    pub(super) fn into_ends(self) -> Option<(Leading, OwnedFd, OwnedFd)> {
        Some((self.leading.patient(0), self.mouth?.into_end(), self.output))
    }

    /// Wakes the shell, which prints nothing but answers from then on. Why not is a few words.
    pub(super) fn greet(&mut self) -> Result<(), String> {
        self.wake()?;
        let silent = |silence: Silence| silence.to_string();
        // Nothing but answers is printed from now on. A console's shell edits lines and may end when a child of its does:
        // there a second one, which does not, works below it, and what follows is for the time after that.
        let (one, other) = self.mark.split_at(8);
        let quiet = format!(
            "exec 3>&1 >/dev/null 2>&1\n\
             [ -t 0 ] && command -v sh && {{ sh; exec 1>&3 2>&1 3>&-; stty echo; }}\n\
             stty -echo; pb_m={one}; pb_m=${{pb_m}}{other}; pb_mute=yes; set +m"
        );
        self.ask(&quiet, self.answer_ns).map_err(silent)?;
        let word = format!("{}y", self.mark.replace('0', "x"));
        let echoed = self.ask(&format!(": {word}"), self.answer_ns).map_err(silent)?;
        if position(&echoed.body, word.as_bytes()).is_some() {
            return Err("it prints what is typed and has no stty to stop that".into());
        }
        Ok(())
    }

    /// Greets the shell and teaches it what it does for us. Why not is a few words.
    pub(super) fn introduce(&mut self, lessons: &str) -> Result<(), String> {
        self.greet()?;
        let chosen = "eval \"$pb_src\"; pb_lc=$LC_ALL LC_ALL=C; export LC_ALL; pb_g= pb_for=15; pb_code=none; \
                      for pb_f in od hexdump base64; do command -v $pb_f && { pb_code=$pb_f; break; }; done; \
                      echo \"($pb_code)\" >&3; printf 'a\\0\\377\\n' | pb_e >&3";
        let taught = self.ask_after(&assignment("pb_src", lessons), chosen, self.answer_ns);
        let answer = taught.map_err(|silence| silence.to_string())?;
        let text = String::from_utf8_lossy(&answer.body);
        let code = text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).and_then(|(it, _)| Code::of(it));
        match code.filter(|code| code.fields(&answer.body) == Some(vec![vec![b'a', 0, 0xff, b'\n']])) {
            Some(code) => {
                (self.code, self.taught) = (code, true);
                Ok(())
            }
            None => Err("the shell there has none of od, hexdump and base64, which exact reading takes".into()),
        }
    }

    /// Asks until the mark comes back.
    fn wake(&mut self) -> Result<(), String> {
        let until_ns = crate::now_ns() + self.answer_ns;
        let mut text = Vec::new();
        let silence = loop {
            let ask_ns = until_ns.min(crate::now_ns() + ASK_AGAIN_NS);
            self.last += 1;
            let (one, other) = self.mark.split_at(8);
            let line = format!("{WAKE}pb_m={one}; pb_m=${{pb_m}}{other}; echo \"[$pb_m R {} 0]\"\n", self.last);
            let number = self.last;
            let heard = self.say(&line, ask_ns).and_then(|()| {
                loop {
                    match self.hear(ask_ns) {
                        Ok((answered, _)) if answered == number => break Ok(()),
                        Ok(_) => {}
                        Err(silence) => break Err(silence),
                    }
                }
            });
            // One that ended at once has perhaps said why.
            while heard == Err(Silence::Ended) && self.read_until(crate::now_ns() + DYING_NS).is_ok() {}
            text.extend(std::mem::take(&mut self.heard));
            match heard {
                Ok(()) => return Ok(()),
                Err(Silence::TooLate) if crate::now_ns() < until_ns && text.len() <= MAX_BEFORE_BYTES => {}
                Err(silence) => break silence,
            }
        };
        let printed = String::from_utf8_lossy(&text).into_owned();
        let shown: String = printed.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("").into();
        let shown: String = shown.chars().filter(|c| !c.is_control()).take(80).collect();
        // Whatever it is, there is nothing of ours in it.
        let what = match silence {
            Silence::TooLate => format!(
                "no shell answered within {}; where it is only slow, add --peer-timeout 60s",
                powerband_record::format_duration(self.answer_ns)
            ),
            Silence::Wire(_) => "it prints without end and is no shell".into(),
            Silence::Stopped => silence.to_string(),
            _ => {
                self.mouth = None;
                self.leading.ending("it ended before a shell answered")
            }
        };
        self.leading.end();
        Err(if shown.is_empty() { what } else { format!("{what}; it prints '{shown}'") })
    }

    /// Says something that nobody answers, as far as it is heard within this time, ns.
    pub(super) fn say_farewell(&mut self, text: &str, for_ns: u64) {
        let _ = self.say(text, crate::now_ns() + for_ns);
    }

    /// Says a last thing, after which an answer comes and then what is no shell's any more. `{answer}` in it is that answer.
    pub(super) fn say_last(&mut self, text: &str) -> Result<(), Silence> {
        let until_ns = crate::now_ns() + self.answer_ns;
        self.last += 1;
        let number = self.last;
        self.say(&text.replace("{answer}", &format!("\"[$pb_m R {number} 0]\"")), until_ns)?;
        while self.hear(until_ns)?.0 != number {}
        Ok(())
    }

    fn say(&mut self, text: &str, until_ns: u64) -> Result<(), Silence> {
        self.spoke_ns = crate::now_ns();
        self.mouth.as_ref().ok_or(Silence::Ended)?.put(text.as_bytes(), until_ns)
    }

    /// Types `lines` in as many calls as it takes, and the rest of them with `script`, whose answer it is.
    fn ask_after(&mut self, lines: &[String], script: &str, for_ns: u64) -> Result<Answer, Silence> {
        let mut typed = String::new();
        for line in lines {
            if typed.len() + line.len() + script.len() > TYPED_BYTES && !typed.is_empty() {
                self.ask(&typed, self.answer_ns)?;
                typed.clear();
            }
            typed += line;
            typed.push('\n');
        }
        self.ask(&(typed + script), for_ns)
    }

    /// Says something and waits for its end.
    pub(super) fn ask(&mut self, script: &str, for_ns: u64) -> Result<Answer, Silence> {
        let until_ns = crate::now_ns() + for_ns;
        self.last += 1;
        let number = self.last;
        let end = match self.taught {
            true => format!("pb_z {number} $?"),
            false => format!("echo \"[$pb_m R {number} $?]\" >&3"),
        };
        self.say(&format!("{}\n{end}\n", script.trim_end()), until_ns)?;
        loop {
            let (answered, answer) = self.hear(until_ns)?;
            self.unanswered = None;
            if answered == number {
                return Ok(answer);
            }
        }
    }

    /// A call: `lines` that put texts into variables, then what is to be done with them.
    pub(super) fn call(&mut self, lines: &[String], script: &str) -> Result<Answer, Silence> {
        self.ask_after(lines, script, self.answer_ns)
    }

    /// A call that turns something, or waits for somebody who does.
    pub(super) fn turn(&mut self, lines: &[String], script: &str) -> Result<Answer, Silence> {
        self.ask_after(lines, script, self.answer_ns + CHANGE_NS)
    }

    /// The next answer, with its number.
    fn hear(&mut self, until_ns: u64) -> Result<(u64, Answer), Silence> {
        loop {
            if let Some(answer) = self.next_answer() {
                return Ok(answer);
            }
            self.read_until(until_ns)?;
        }
    }

    fn read_until(&mut self, until_ns: u64) -> Result<(), Silence> {
        wait_for(&self.output, PollFlags::IN, until_ns)?;
        self.read()
    }

    /// Reads once what poll(2) said is there.
    fn read(&mut self) -> Result<(), Silence> {
        let mut chunk = vec![0; 64 << 10];
        match rustix::io::read(&self.output, &mut chunk) {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(()),
            Ok(0) | Err(_) => Err(Silence::Ended),
            Ok(got) => {
                self.heard.extend_from_slice(&chunk[..got]);
                let is_enough = self.heard.len() > if self.taught { MAX_BYTES } else { MAX_BEFORE_BYTES };
                if is_enough { Err(Silence::Wire(WireError::TooLong(self.heard.len()))) } else { Ok(()) }
            }
        }
    }

    /// Takes apart what has come: a load's end may stand in the middle of an answer.
    fn next_answer(&mut self) -> Option<(u64, Answer)> {
        let mark = format!("[{} ", self.mark);
        loop {
            let begin = position(&self.heard, mark.as_bytes())?;
            let end = begin + self.heard[begin..].iter().position(|&byte| byte == b']')?;
            let words = String::from_utf8_lossy(&self.heard[begin + mark.len()..end]).into_owned();
            let mut words = words.split_whitespace().map(str::to_owned);
            let (kind, number) = (words.next(), words.next().and_then(|number| number.parse().ok()));
            if kind.as_deref() == Some("R") {
                let mut body: Vec<u8> = self.heard.drain(..=end).collect();
                body.truncate(begin);
                let status = words.next().and_then(|status| status.parse().ok()).unwrap_or(-1);
                return Some((number.unwrap_or(0), Answer { status, body }));
            }
            self.heard.drain(begin..=end);
            self.ended.extend(number.map(|number| Ended { number, words: words.collect() }));
        }
    }

    /// Takes what poll(2) said is there; answers nobody waits for are signs of life.
    pub(super) fn listen(&mut self) -> Result<(), Silence> {
        self.read()?;
        while self.next_answer().is_some() {
            self.unanswered = None;
        }
        Ok(())
    }

    /// From now on we may be silent for this long, ns; the lease is longer.
    pub(super) fn hush(&mut self, for_ns: u64) -> Result<(), Silence> {
        self.silent_ns = for_ns.max(IDLE_SILENCE_NS);
        let lease_s = self.silent_ns.saturating_add(LEASE_MARGIN_NS).div_ceil(1_000_000_000);
        self.call(&[], &format!("pb_for={lease_s}")).map(drop)
    }

    /// Lets the shell go; a console's goes on as before us.
    pub(super) fn part(&mut self) {
        self.say_farewell("exit\n", DYING_NS);
    }

    /// When it wants to be tended.
    pub(super) fn due_ns(&self) -> u64 {
        self.unanswered.map_or(self.spoke_ns.saturating_add(self.silent_ns), |(_, until_ns)| until_ns)
    }

    /// Renews the lease without waiting for the answer, or finds that the last one never came.
    pub(super) fn tend(&mut self) -> Result<(), Silence> {
        let now_ns = crate::now_ns();
        if self.due_ns() > now_ns {
            return Ok(());
        }
        if self.unanswered.is_some() {
            // An answer that came while we slept is still in the pipe: it counts.
            wait_for(&self.output, PollFlags::IN, now_ns)?;
            return self.listen();
        }
        self.last += 1;
        let until_ns = now_ns + SIGN_OF_LIFE_NS;
        self.unanswered = Some((self.last, until_ns));
        let line = format!("pb_check; pb_z {} 0\n", self.last);
        self.say(&line, until_ns)
    }

    /// It is lost, and why.
    pub(super) fn lose(&mut self, silence: &Silence) {
        if self.lost.is_some() {
            return;
        }
        self.mouth = None;
        let why = match silence {
            Silence::Ended => self.leading.ending("the connection ended"),
            Silence::Wire(_) => "what comes is no shell's answer".into(),
            other => other.to_string(),
        };
        self.leading.end();
        self.lost = Some((why, false));
    }
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
