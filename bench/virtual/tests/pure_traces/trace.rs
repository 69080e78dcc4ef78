//! What a guest prints of a score, read from its console, and the same as a compact text: the form in which it is recorded.
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// The kernel's worker that takes samples.
const SAMPLES: &str = "dbs_work_handler";

/// When, where, what; ns since boot.
pub(crate) type Step = (u64, String, String);

/// What happened to a thread or to the frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The frequency changed to this one, kHz.
    Frequency(u32),
    /// A worker began to take samples, or other work.
    Work { thread: u32, samples: bool },
    /// A thread was woken.
    Waking { thread: u32, priority: u32 },
    /// The CPU left a thread, which could go on or not, for another.
    Switch { from: (u32, u32), runnable: bool, to: (u32, u32) },
}

/// Everything a guest prints of a score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Time since boot, the trace's time and the scheduler's, before the score, ns.
    pub(crate) clocks_ns: [u64; 3],
    /// How long the CPU was idle before and after the score, as the kernel counts it, ns.
    pub(crate) asleep_ns: Vec<u64>,
    pub(crate) writes: Vec<Step>,
    pub(crate) reads: Vec<Step>,
    /// By the trace's time, whole µs.
    pub(crate) events: Vec<(u64, Event)>,
}

const CLOCKS: [&str; 3] = ["ktime", "sched_clk", "cpu_clk"];

impl Trace {
    /// Reads what the guest prints.
    pub(crate) fn printed(text: &str) -> Trace {
        let mut trace = Trace::default();
        for line in text.lines().rev() {
            let (word, rest) = line.split_once(' ').unwrap();
            match word {
                // Of two readings the first, which is the last one seen.
                _ if CLOCKS.contains(&word) => trace.clock(word, rest),
                "asleep" => trace.asleep_ns.insert(0, rest.parse().unwrap()),
                "wrote" => trace.writes.push(step(rest)),
                "read" => trace.reads.push(step(rest)),
                "slept" | "nice" => {}
                thread => trace.events.push(traced(thread, rest)),
            }
        }
        trace.writes.reverse();
        trace.reads.reverse();
        trace.events.reverse();
        trace
    }

    fn clock(&mut self, name: &str, time: &str) {
        let at = CLOCKS.iter().position(|clock| *clock == name).unwrap();
        self.clocks_ns[at] = time.replace('.', "").parse().unwrap();
    }

    /// The compact text: an event is the µs since the one before it, a letter, and what is not known from the events before.
    pub(crate) fn recorded(&self) -> String {
        let mut text = String::new();
        for (name, ns) in CLOCKS.iter().zip(self.clocks_ns) {
            writeln!(text, "{name} {ns}").unwrap();
        }
        for ns in &self.asleep_ns {
            writeln!(text, "asleep {ns}").unwrap();
        }
        for (word, steps) in [("wrote", &self.writes), ("read", &self.reads)] {
            for (at_ns, path, what) in steps {
                writeln!(text, "{word} {at_ns} {path} {what}").unwrap();
            }
        }
        text.push_str("events\n");
        let (mut known, mut before_us) = (Known::default(), 0);
        for (at_us, event) in &self.events {
            write!(text, "{}{}", at_us - before_us, known.written(event)).unwrap();
            before_us = *at_us;
            // A line for each time the CPU is busy.
            let idles = matches!(event, Event::Switch { to: (0, _), .. });
            text.push(if idles { '\n' } else { ' ' });
        }
        text.push('\n');
        text
    }

    /// Reads the compact text.
    pub(crate) fn read(text: &str) -> Trace {
        let (head, events) = text.split_once("events\n").unwrap();
        let mut trace = Trace::default();
        for line in head.lines() {
            let (word, rest) = line.split_once(' ').unwrap();
            match word {
                "asleep" => trace.asleep_ns.push(rest.parse().unwrap()),
                "wrote" => trace.writes.push(step(rest)),
                "read" => trace.reads.push(step(rest)),
                clock => trace.clock(clock, rest),
            }
        }
        let (mut known, mut at_us) = (Known::default(), 0);
        for word in events.split_whitespace() {
            let mut chars = word.chars().peekable();
            at_us += u64::from(digits(&mut chars));
            let event = known.read(&mut chars).unwrap_or_else(|| panic!("no event: {word}"));
            trace.events.push((at_us, event));
        }
        trace
    }
}

/// What the events so far say of the next one: the thread that runs, and each thread's priority.
#[derive(Default)]
struct Known {
    running: Option<u32>,
    priorities: BTreeMap<u32, u32>,
}

impl Known {
    fn written(&mut self, event: &Event) -> String {
        match *event {
            Event::Frequency(khz) => format!("f{khz}"),
            Event::Work { thread, samples } => format!("{}{thread}", if samples { 'w' } else { 'o' }),
            Event::Waking { thread, priority } => format!("a{}", self.thread((thread, priority))),
            Event::Switch { from, runnable, to } => {
                let letter = if runnable { 'r' } else { 's' };
                let known = self.running.replace(to.0) == Some(from.0);
                let leaving = self.thread(from);
                let entering = self.thread(to);
                if known && !leaving.contains('.') {
                    format!("{letter}{entering}")
                } else {
                    format!("{letter}{entering}<{leaving}")
                }
            }
        }
    }

    /// A thread, with its priority where that is new.
    fn thread(&mut self, (thread, priority): (u32, u32)) -> String {
        let known = self.priorities.insert(thread, priority) == Some(priority);
        if known { thread.to_string() } else { format!("{thread}.{priority}") }
    }

    fn read(&mut self, chars: &mut Peekable<Chars>) -> Option<Event> {
        let letter = chars.next()?;
        let first = digits(chars);
        Some(match letter {
            'f' => Event::Frequency(first),
            'w' | 'o' => Event::Work { thread: first, samples: letter == 'w' },
            'a' => {
                let priority = self.priority(first, chars);
                Event::Waking { thread: first, priority }
            }
            's' | 'r' => {
                // What is said of the thread that is left was known first.
                let said = chars.next_if_eq(&'.').map(|_| digits(chars));
                let from = chars.next_if_eq(&'<').map_or(self.running, |_| Some(digits(chars)))?;
                let from = (from, self.priority(from, chars));
                if let Some(priority) = said {
                    self.priorities.insert(first, priority);
                }
                self.running = Some(first);
                Event::Switch { from, runnable: letter == 'r', to: (first, *self.priorities.get(&first)?) }
            }
            _ => return None,
        })
    }

    fn priority(&mut self, thread: u32, chars: &mut Peekable<Chars>) -> u32 {
        if chars.next_if_eq(&'.').is_some() {
            self.priorities.insert(thread, digits(chars));
        }
        self.priorities[&thread]
    }
}

fn digits(chars: &mut Peekable<Chars>) -> u32 {
    let mut number = 0;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        number = number * 10 + digit;
        chars.next();
    }
    number
}

fn step(rest: &str) -> Step {
    let mut words = rest.splitn(3, ' ');
    let at_ns = words.next().unwrap().parse().unwrap();
    (at_ns, words.next().unwrap().to_owned(), words.next().unwrap().to_owned())
}

/// A line of the kernel's trace behind its thread's name: CPU, flags, time, event.
fn traced(thread: &str, rest: &str) -> (u64, Event) {
    let mut words = rest.splitn(5, ' ').skip(2);
    let (time, event, what) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let at_us = time.trim_end_matches(':').replace('.', "").parse().unwrap();
    let event = match event {
        "cpu_frequency:" => Event::Frequency(number(what, "state=")),
        "workqueue_execute_start:" => {
            let thread = thread.rsplit_once('-').unwrap().1.parse().unwrap();
            Event::Work { thread, samples: what.ends_with(SAMPLES) }
        }
        "sched_waking:" => Event::Waking { thread: number(what, "pid="), priority: number(what, "prio=") },
        "sched_switch:" => Event::Switch {
            from: (number(what, "prev_pid="), number(what, "prev_prio=")),
            runnable: what.contains("prev_state=R"),
            to: (number(what, "next_pid="), number(what, "next_prio=")),
        },
        _ => panic!("{event}"),
    };
    (at_us, event)
}

fn number(text: &str, key: &str) -> u32 {
    let at = text.split(' ').find_map(|word| word.strip_prefix(key)).unwrap_or_else(|| panic!("{key} in {text}"));
    at.parse().unwrap()
}
