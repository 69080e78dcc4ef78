//! The same writes and reads, file by file, on the real kernel and on a simulated machine by the rules of 6.1.
use std::collections::BTreeSet;

use powerband_machine::{Action, Errno, Hold, Turn, World};
use powerband_record::Side;
use powerband_sim::cpufreq::Governor;
use powerband_sim::{Profile, SimWorld};

use crate::desk::{Desk, on_desk};

const CPU: &str = "/sys/devices/system/cpu/";
const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy0/";

/// One step.
#[derive(Clone, Debug)]
enum Step {
    Read(String),
    /// Where, and what.
    Write(String, String),
    /// A governor's module is loaded, or unloaded.
    Module(Governor, bool),
}

fn read(path: String) -> Step {
    Step::Read(path)
}

fn write(path: String, text: &str) -> Step {
    Step::Write(path, text.to_owned())
}

impl Step {
    /// What is done, for a message.
    fn words(&self) -> String {
        let short = |path: &str| path.trim_start_matches(CPU).to_owned();
        match self {
            Step::Read(path) => format!("reading {}", short(path)),
            Step::Write(path, text) => format!("writing {text:?} to {}", short(path)),
            Step::Module(governor, loaded) => {
                format!("{} {}", if *loaded { "loading" } else { "unloading" }, governor.name())
            }
        }
    }
}

/// Every step, with a machine left as it was found.
fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = [
        "affected_cpus related_cpus bios_limit freqdomain_cpus cpuinfo_min_freq cpuinfo_max_freq scaling_driver",
        "cpuinfo_transition_latency scaling_available_frequencies scaling_available_governors scaling_governor",
        "scaling_min_freq scaling_max_freq scaling_setspeed cpuinfo_cur_freq energy_performance_preference",
    ]
    .iter()
    .flat_map(|line| line.split(' '))
    .flat_map(|file| [read(format!("{POLICY}{file}")), read(format!("{CPU}cpu1/cpufreq/{file}"))])
    .collect();
    for file in
        ["online", "offline", "present", "possible", "cpu1/online", "cpufreq/boost", "cpufreq/policy9/bios_limit"]
    {
        steps.push(read(format!("{CPU}{file}")));
    }
    for file in ["cpuinfo_max_freq", "scaling_driver", "bios_limit", "related_cpus"] {
        steps.push(write(format!("{POLICY}{file}"), "1"));
    }
    limits(&mut steps);
    governors(&mut steps);
    speeds(&mut steps);
    tunables(&mut steps);
    held_tunables(&mut steps);
    modules(&mut steps);
    steps.push(write(format!("{CPU}cpufreq/schedutil/rate_limit_us"), "10000"));
    for text in ["0", "2", "x", "1"] {
        steps.push(write(format!("{CPU}cpu1/online"), text));
        steps.extend(
            ["online", "offline", "cpu1/cpufreq/scaling_governor", "cpu1/online"]
                .map(|file| read(format!("{CPU}{file}"))),
        );
    }
    steps
}

fn limits(steps: &mut Vec<Step>) {
    let values = [
        "1867000",
        "2133000\n",
        " 2000000",
        "2000000 ",
        "2000000x",
        "1",
        "0",
        "-1",
        "99999999",
        "0x1fbd80",
        "1e6",
        "4294967295",
        "4294967296",
        "4294969163",
        "18446744073709551616",
        "abc",
        "+1867000",
        "1867000 2133000",
        "\n",
    ];
    for (file, back) in [("scaling_max_freq", "2400000"), ("scaling_min_freq", "1600000")] {
        for value in values {
            steps.push(write(format!("{POLICY}{file}"), value));
            steps.extend(["scaling_min_freq", "scaling_max_freq"].map(|file| read(format!("{POLICY}{file}"))));
        }
        steps.push(write(format!("{POLICY}{file}"), back));
    }
    // Crossing one another, and the floor when the ceiling falls below it.
    for (file, value) in [
        ("scaling_min_freq", "2133000"),
        ("scaling_max_freq", "1867000"),
        ("scaling_min_freq", "1600000"),
        ("scaling_max_freq", "2400000"),
        ("scaling_min_freq", "1600000"),
    ] {
        steps.push(write(format!("{POLICY}{file}"), value));
        steps.extend(["scaling_min_freq", "scaling_max_freq"].map(|file| read(format!("{POLICY}{file}"))));
    }
}

fn governors(steps: &mut Vec<Step>) {
    let long = "a".repeat(40);
    for value in [
        "performance",
        "powersave\n",
        " ondemand",
        "ondemand ",
        "ondemandx",
        "Ondemand",
        "OnDemand",
        "fast",
        "\n",
        &long,
        // From here on the clock does not follow what else runs, which userspace begins with.
        "performance",
        "userspace",
        "userspace performance",
        "conservative",
        "schedutil",
    ] {
        steps.push(write(format!("{POLICY}scaling_governor"), value));
        steps.push(read(format!("{POLICY}scaling_governor")));
        steps.push(read(format!("{POLICY}scaling_setspeed")));
        for file in ["ondemand/up_threshold", "conservative/up_threshold", "schedutil/rate_limit_us"] {
            steps.push(read(format!("{CPU}cpufreq/{file}")));
        }
    }
}

fn speeds(steps: &mut Vec<Step>) {
    steps.push(write(format!("{POLICY}scaling_setspeed"), "1867000"));
    steps.push(write(format!("{POLICY}scaling_governor"), "userspace"));
    for value in [
        "1867000",
        "2000000",
        "2399999",
        "1",
        "0",
        "3000000",
        "abc",
        "2133000x",
        "-1",
        "4294967296",
        "4294967295",
        "2400000\n",
    ] {
        steps.push(write(format!("{POLICY}scaling_setspeed"), value));
        steps.extend(["scaling_setspeed", "scaling_cur_freq"].map(|file| read(format!("{POLICY}{file}"))));
    }
    steps.push(write(format!("{POLICY}scaling_max_freq"), "1867000"));
    steps.extend(["scaling_setspeed", "scaling_cur_freq"].map(|file| read(format!("{POLICY}{file}"))));
    steps.push(write(format!("{POLICY}scaling_max_freq"), "2400000"));
    steps.extend(["scaling_setspeed", "scaling_cur_freq"].map(|file| read(format!("{POLICY}{file}"))));
    steps.push(write(format!("{POLICY}scaling_governor"), "schedutil"));
}

fn tunables(steps: &mut Vec<Step>) {
    let values = [
        "0",
        "1",
        "2",
        "10",
        "79",
        "80",
        "99",
        "100",
        "101",
        "1000",
        "100001",
        "-1",
        "abc",
        "7x",
        "50\n",
        "4294967296",
        "4294967295",
    ];
    for (governor, files) in [
        ("ondemand", "up_threshold sampling_rate sampling_down_factor ignore_nice_load powersave_bias io_is_busy"),
        ("conservative", "up_threshold down_threshold freq_step sampling_rate sampling_down_factor ignore_nice_load"),
        ("schedutil", "rate_limit_us"),
    ] {
        steps.push(write(format!("{POLICY}scaling_governor"), governor));
        for file in files.split(' ') {
            let path = format!("{CPU}cpufreq/{governor}/{file}");
            steps.push(read(path.clone()));
            for value in values {
                steps.extend([write(path.clone(), value), read(path.clone())]);
            }
        }
        steps.push(write(format!("{POLICY}scaling_governor"), "powersave"));
        steps.push(read(format!("{CPU}cpufreq/{governor}/{}", files.split(' ').next().unwrap())));
    }
    steps.push(write(format!("{POLICY}scaling_governor"), "schedutil"));
}

/// Governors switched away from and back to while another policy goes on using them, or none does.
fn held_tunables(steps: &mut Vec<Step>) {
    let policies = [POLICY.to_owned(), format!("{CPU}cpu1/cpufreq/")];
    for (governor, file, value) in [
        ("ondemand", "up_threshold", "77"),
        ("ondemand", "sampling_down_factor", "9"),
        ("conservative", "freq_step", "11"),
        ("schedutil", "rate_limit_us", "4321"),
    ] {
        let tunable = format!("{CPU}cpufreq/{governor}/{file}");
        let switched = |(policy, name): (usize, &str)| {
            [write(format!("{}scaling_governor", policies[policy]), name), read(tunable.clone())]
        };
        let both = [(0, "powersave"), (1, "powersave"), (0, governor), (1, governor)];
        steps.extend(both.into_iter().flat_map(switched));
        steps.push(write(tunable.clone(), value));
        let (left_one, left_both) = ([(0, "performance"), (0, governor), (1, "userspace"), (1, governor)], both);
        steps.extend(left_one.into_iter().chain(left_both).chain([(0, governor)]).flat_map(switched));
    }
    steps.extend(policies.iter().map(|policy| write(format!("{policy}scaling_governor"), "schedutil")));
}

/// Modules that go and come back, in use and not, and what may be written meanwhile.
fn modules(steps: &mut Vec<Step>) {
    let list = || read(format!("{POLICY}scaling_available_governors"));
    let set = |name: &str| write(format!("{POLICY}scaling_governor"), name);
    for governor in [Governor::Conservative, Governor::Ondemand, Governor::Powersave, Governor::Userspace] {
        let unload = || Step::Module(governor, false);
        let load = || Step::Module(governor, true);
        steps.extend([set(governor.name()), unload(), list(), set("performance"), unload(), list()]);
        steps.extend([set(governor.name()), read(format!("{POLICY}scaling_governor")), unload()]);
        steps.extend([load(), list(), load(), set(governor.name()), read(format!("{POLICY}scaling_setspeed"))]);
        steps.push(set("schedutil"));
    }
    for governor in [Governor::Conservative, Governor::Ondemand, Governor::Powersave, Governor::Userspace] {
        steps.extend([Step::Module(governor, false), list()]);
    }
    steps.push(set("ondemand"));
    // Back in the order of a boot.
    for governor in [Governor::Ondemand, Governor::Conservative, Governor::Powersave, Governor::Userspace] {
        steps.extend([Step::Module(governor, true), list()]);
    }
}

/// What each step came to on the real kernel: what was read, `done`, or the words of its error.
fn on_the_kernel(desk: &mut Desk, steps: &[Step]) -> Vec<String> {
    let mut script = String::from(
        "w() { (echo -n \"$2\" >\"$1\") 2>/run/error && echo done || why; }
         r() { cat \"$1\" >/run/text 2>/run/error && { echo -n =; xxd -p /run/text | tr -d '\\n'; echo; } || why; }
         m() { $1 $2 2>/run/error && echo done || why; }
         why() { head -n 1 /run/error | sed 's/.*: //; s/^nonexistent directory$/No such file or directory/'; }\n",
    );
    for step in steps {
        script.push_str(&match step {
            Step::Read(path) => format!("r {path}\n"),
            Step::Write(path, text) => format!("w {path} '{text}'\n"),
            Step::Module(governor, true) => format!("m insmod /modules/cpufreq_{}.ko\n", governor.name()),
            Step::Module(governor, false) => format!("m rmmod cpufreq_{}\n", governor.name()),
        });
    }
    let lines = desk.sh(&script);
    lines.lines().map(|line| line.strip_prefix('=').map_or_else(|| line.to_lowercase(), text_of)).collect()
}

fn text_of(hexadecimal: &str) -> String {
    let digits: Vec<u8> = hexadecimal.chars().map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap()).collect();
    format!("{:?}", String::from_utf8(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()).unwrap())
}

/// The guest's machine as a simulated one: two CPUs of the same table, by the rules of its kernel.
fn simulated() -> SimWorld {
    let mut text = Profile::builtin_text("quadcore").unwrap().to_owned();
    for (from, to) in [
        ("rules = \"2.6.32\"", "rules = \"6.1\""),
        ("possible = \"0-7\"", "possible = \"0-1\""),
        ("present = \"0-3\"", "present = \"0-1\""),
        ("policies = [\"0\", \"1\", \"2\", \"3\"]", "policies = [\"0\", \"1\"]"),
        (
            "governors = [\"conservative\", \"ondemand\", \"userspace\", \"powersave\", \"performance\"]",
            "governors = [\"userspace\", \"powersave\", \"conservative\", \"ondemand\", \"performance\", \"schedutil\"]",
        ),
        ("default_governor = \"ondemand\"", "default_governor = \"schedutil\""),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let mut profile = Profile::parse(&text).unwrap();
    for policy in &mut profile.cpufreq.policies {
        // The board's firmware names a limit, and its driver reads no clock back (it has registers of a port).
        policy.bios_limit_khz = Some(2_400_000);
        policy.reads_hardware = false;
    }
    SimWorld::new(profile, None, 1).unwrap()
}

fn on_the_model(steps: &[Step]) -> Vec<String> {
    let mut world = simulated();
    let mut answers = Vec::new();
    for step in steps {
        let machine = world.machine(Side::Near).unwrap();
        let done = |errno: Option<Errno>| errno.map_or_else(|| "done".to_owned(), |errno| errno.words().to_owned());
        answers.push(match step {
            Step::Read(path) => {
                machine.read(path).map_or_else(|errno| errno.words().to_owned(), |text| format!("{text:?}"))
            }
            Step::Module(governor, loaded) => done(world.set_governor_loaded(Side::Near, *governor, *loaded).err()),
            Step::Write(path, text) => {
                let action = Action::WriteFile { path: path.clone(), text: text.clone() };
                let turn = Turn {
                    action,
                    undo: None,
                    hold: Hold::Held,
                    knob: "alike".into(),
                    site: String::new(),
                    asked: String::new(),
                    before: None,
                    read_back: None,
                    step: None,
                };
                done(machine.act(&turn).unwrap().errno)
            }
        });
        // Long enough for a change of clock, short enough that nothing else happens.
        let until_ns = world.now_ns() + 1_000_000;
        world.wait(Some(until_ns));
    }
    answers
}

#[test]
fn the_model_answers_as_the_kernel_does() {
    on_desk(answers_alike);
}

fn answers_alike(mut desk: Desk) {
    let steps = steps();
    assert!(steps.len() >= 200, "{}", steps.len());
    let (kernel, model) = (on_the_kernel(&mut desk, &steps), on_the_model(&steps));
    assert_eq!(kernel.len(), steps.len());
    let mut differences = BTreeSet::new();
    let mut written = String::from("boot");
    for (step, (kernel, model)) in steps.iter().zip(kernel.iter().zip(&model)) {
        if !matches!(step, Step::Read(_)) {
            written = step.words();
        }
        if kernel != model {
            differences.insert(format!("{} after {written}: the kernel {kernel}, the model {model}", step.words()));
        }
    }
    eprintln!("{} of {} steps differ", differences.len(), steps.len());
    let found: Vec<&str> = differences.iter().map(String::as_str).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
