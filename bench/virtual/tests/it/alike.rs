//! The same writes and reads, file by file, on the real kernel and on a simulated machine by the rules of 6.1.
use std::collections::{BTreeMap, BTreeSet};

use powerband_bench_virtual::Guest;
use powerband_machine::{Action, Before, Errno, Hold, Turn, World};
use powerband_record::Side;
use powerband_sim::cpufreq::Governor;
use powerband_sim::{Profile, SimWorld};

use crate::desk::{Desk, on_desk};
use crate::twin::twin;

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

impl Step {
    /// What is done, for a message.
    fn words(&self) -> String {
        let short = |path: &str| path.trim_start_matches(CPU).to_owned();
        match self {
            Step::Read(path) => format!("reading {}", short(path)),
            Step::Write(path, text) => format!("writing {text:?} to {}", short(path)),
            Step::Module(governor, loaded) => format!("{} {loaded}", governor.name()),
        }
    }
}

/// Steps, in the order they are added.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    /// Reads files of a folder.
    fn read(&mut self, folder: &str, files: &str) {
        self.0.extend(files.split(' ').map(|file| Step::Read(format!("{folder}{file}"))));
    }

    fn write(&mut self, path: String, text: &str) {
        self.0.push(Step::Write(path, text.to_owned()));
    }

    /// Writes values with `|` between them into a file of the policy, and reads files of it after each.
    fn each(&mut self, file: &str, values: &str, then: &str) {
        for value in values.split('|') {
            self.write(format!("{POLICY}{file}"), value);
            self.read(POLICY, then);
        }
    }

    fn governor(&mut self, name: &str) {
        self.write(format!("{POLICY}scaling_governor"), name);
    }

    fn module(&mut self, governor: Governor, loaded: bool) {
        self.0.push(Step::Module(governor, loaded));
    }
}

/// Every step, with a machine left as it was found.
fn steps() -> Vec<Step> {
    let mut steps = Steps::default();
    let files = "affected_cpus related_cpus bios_limit freqdomain_cpus cpuinfo_min_freq cpuinfo_max_freq scaling_driver \
        cpuinfo_transition_latency scaling_available_frequencies scaling_available_governors scaling_governor \
        scaling_min_freq scaling_max_freq scaling_setspeed cpuinfo_cur_freq energy_performance_preference";
    steps.read(POLICY, files);
    steps.read(&format!("{CPU}cpu1/cpufreq/"), files);
    steps.read(CPU, "online offline present possible cpu1/online cpufreq/boost cpufreq/policy9/bios_limit");
    for file in ["cpuinfo_max_freq", "scaling_driver", "bios_limit", "related_cpus"] {
        steps.write(format!("{POLICY}{file}"), "1");
    }
    limits(&mut steps);
    governors(&mut steps);
    speeds(&mut steps);
    tunables(&mut steps);
    held_tunables(&mut steps);
    modules(&mut steps);
    steps.write(format!("{CPU}cpufreq/schedutil/rate_limit_us"), "10000");
    for text in ["0", "2", "x", "1"] {
        steps.write(format!("{CPU}cpu1/online"), text);
        steps.read(CPU, "online offline cpu1/cpufreq/scaling_governor cpu1/online");
    }
    steps.0
}

fn limits(steps: &mut Steps) {
    let values = "1867000|2133000\n| 2000000|2000000 |2000000x|1|0|-1|99999999|0x1fbd80|1e6|4294967295|4294967296|4294969163|\
        18446744073709551616|abc|+1867000|1867000 2133000|\n";
    let both = "scaling_min_freq scaling_max_freq";
    for (file, back) in [("scaling_max_freq", "2400000"), ("scaling_min_freq", "1600000")] {
        steps.each(file, values, both);
        steps.write(format!("{POLICY}{file}"), back);
    }
    // Crossing one another, and the floor when the ceiling falls below it.
    for (file, value) in
        [("min", "2133000"), ("max", "1867000"), ("min", "1600000"), ("max", "2400000"), ("min", "1600000")]
    {
        steps.each(&format!("scaling_{file}_freq"), value, both);
    }
}

fn governors(steps: &mut Steps) {
    let long = "a".repeat(40);
    let values = format!("performance|powersave\n| ondemand|ondemand |ondemandx|Ondemand|OnDemand|fast|\n|{long}");
    // From the second `performance` on the clock does not follow what else runs, which userspace begins with.
    let values = values + "|performance|userspace|userspace performance|conservative|schedutil";
    for value in values.split('|') {
        steps.governor(value);
        steps.read(POLICY, "scaling_governor scaling_setspeed");
        steps
            .read(&format!("{CPU}cpufreq/"), "ondemand/up_threshold conservative/up_threshold schedutil/rate_limit_us");
    }
}

fn speeds(steps: &mut Steps) {
    let then = "scaling_setspeed scaling_cur_freq";
    steps.write(format!("{POLICY}scaling_setspeed"), "1867000");
    steps.governor("userspace");
    let values = "1867000|2000000|2399999|1|0|3000000|abc|2133000x|-1|4294967296|4294967295|2400000\n";
    steps.each("scaling_setspeed", values, then);
    steps.each("scaling_max_freq", "1867000|2400000", then);
    steps.governor("schedutil");
}

fn tunables(steps: &mut Steps) {
    let values = "0|1|2|10|79|80|99|100|101|1000|100001|-1|abc|7x|50\n|4294967296|4294967295";
    for (governor, files) in [
        ("ondemand", "up_threshold sampling_rate sampling_down_factor ignore_nice_load powersave_bias io_is_busy"),
        ("conservative", "up_threshold down_threshold freq_step sampling_rate sampling_down_factor ignore_nice_load"),
        ("schedutil", "rate_limit_us"),
    ] {
        steps.governor(governor);
        let folder = format!("{CPU}cpufreq/{governor}/");
        for file in files.split(' ') {
            steps.read(&folder, file);
            for value in values.split('|') {
                steps.write(format!("{folder}{file}"), value);
                steps.read(&folder, file);
            }
        }
        steps.governor("powersave");
        steps.read(&folder, files.split(' ').next().unwrap());
    }
    steps.governor("schedutil");
}

/// Governors switched away from and back to while another policy goes on using them, or none does.
fn held_tunables(steps: &mut Steps) {
    for (governor, file, value) in [
        ("ondemand", "up_threshold", "77"),
        ("ondemand", "sampling_down_factor", "9"),
        ("conservative", "freq_step", "11"),
        ("schedutil", "rate_limit_us", "4321"),
    ] {
        let tunable = format!("cpufreq/{governor}/{file}");
        let switch = |steps: &mut Steps, policy: usize, name: &str| {
            steps.write(format!("{CPU}cpu{policy}/cpufreq/scaling_governor"), name);
            steps.read(CPU, &tunable);
        };
        let both = [(0, "powersave"), (1, "powersave"), (0, governor), (1, governor)];
        both.iter().for_each(|(policy, name)| switch(steps, *policy, name));
        steps.write(format!("{CPU}{tunable}"), value);
        let left_one = [(0, "performance"), (0, governor), (1, "userspace"), (1, governor)];
        left_one.iter().chain(&both).for_each(|(policy, name)| switch(steps, *policy, name));
        switch(steps, 0, governor);
    }
    for policy in 0..2 {
        steps.write(format!("{CPU}cpu{policy}/cpufreq/scaling_governor"), "schedutil");
    }
}

/// Modules that go and come back, in use and not, and what may be written meanwhile.
fn modules(steps: &mut Steps) {
    let list = |steps: &mut Steps| steps.read(POLICY, "scaling_available_governors");
    let (first, second) = ([Governor::Conservative, Governor::Ondemand], [Governor::Powersave, Governor::Userspace]);
    for governor in first.into_iter().chain(second) {
        for other in [governor.name(), "performance"] {
            steps.governor(other);
            steps.module(governor, false);
            list(steps);
        }
        steps.governor(governor.name());
        steps.read(POLICY, "scaling_governor");
        for loaded in [false, true] {
            steps.module(governor, loaded);
        }
        list(steps);
        steps.module(governor, true);
        steps.governor(governor.name());
        steps.read(POLICY, "scaling_setspeed");
        steps.governor("schedutil");
    }
    for governor in first.into_iter().chain(second) {
        steps.module(governor, false);
        list(steps);
    }
    steps.governor("ondemand");
    // Back in the order of a boot.
    for governor in first.into_iter().rev().chain(second) {
        steps.module(governor, true);
        list(steps);
    }
}

/// What each step came to on the real kernel: what was read, `done`, or the words of its error.
fn on_the_kernel(desk: &mut Guest, steps: &[Step]) -> Vec<String> {
    // Each answer ends with a character that is in none, one that was read with another before it.
    let mut script = String::from(
        "end=$(printf '\\036') read=$(printf '\\037')
         w() { (echo -n \"$2\" >\"$1\") 2>/run/error && echo -n done$end || why; }
         r() { cat \"$1\" 2>/run/error && echo -n $read$end || why; }
         m() { $1 $2 2>/run/error && echo -n done$end || why; }
         why() { read -r why </run/error; why=${why##*: }; [ \"$why\" = 'nonexistent directory' ] && why='No such file or directory'
             echo -n \"$why$end\"; }\n",
    );
    for step in steps {
        script.push_str(&match step {
            Step::Read(path) => format!("r {path}\n"),
            Step::Write(path, text) => format!("w {path} '{text}'\n"),
            Step::Module(governor, true) => format!("m insmod /modules/cpufreq_{}.ko\n", governor.name()),
            Step::Module(governor, false) => format!("m rmmod cpufreq_{}\n", governor.name()),
        });
    }
    let answered = |text: &str| text.strip_suffix('\u{1f}').map_or_else(|| text.to_lowercase(), |it| format!("{it:?}"));
    desk.sh(&script).split_terminator('\u{1e}').map(answered).collect()
}

/// The guest's machine as a simulated one.
fn simulated() -> SimWorld {
    let mut profile = Profile::parse(&twin()).unwrap();
    for policy in &mut profile.cpufreq.policies {
        // The board's firmware names a limit, and its driver reads no clock back (it has registers of a port).
        policy.bios_limit_khz = Some(2_400_000);
        policy.reads_hardware = false;
    }
    SimWorld::new(profile, None, 1).unwrap()
}

fn on_the_model(steps: &[Step]) -> Vec<String> {
    let mut world = simulated();
    let mut answer = |step: &Step| {
        let machine = world.machine(Side::Near).unwrap();
        let done = |errno: Option<Errno>| errno.map_or_else(|| "done".to_owned(), |errno| errno.words().to_owned());
        let answer = match step {
            Step::Read(path) => machine.read(path).map_or_else(|errno| done(Some(errno)), |text| format!("{text:?}")),
            Step::Module(governor, loaded) => done(world.set_governor_loaded(Side::Near, *governor, *loaded).err()),
            Step::Write(path, text) => {
                let action = Action::WriteFile { path: path.clone(), text: text.clone() };
                let (knob, site, asked) = ("alike".into(), String::new(), String::new());
                let (undo, hold, before, read_back, step) = (None, Hold::Held, Before::Unknown, None, None);
                done(
                    machine
                        .act(&Turn {
                            action,
                            undo,
                            hold,
                            knob,
                            site,
                            asked,
                            before,
                            read_back,
                            step,
                            moves: BTreeMap::new(),
                        })
                        .unwrap()
                        .errno,
                )
            }
        };
        // Long enough for a change of clock, short enough that nothing else happens.
        let until_ns = world.now_ns() + 1_000_000;
        world.wait(Some(until_ns));
        answer
    };
    steps.iter().map(&mut answer).collect()
}

#[test]
fn the_model_answers_as_the_kernel_does() {
    on_desk(|desk| {
        let steps = steps();
        assert_eq!(steps.len(), 982);
        let (kernel, model) = (on_the_kernel(desk, &steps), on_the_model(&steps));
        assert_eq!(kernel.len(), steps.len());
        let mut differences = BTreeSet::new();
        let mut written = String::from("boot");
        for (step, (kernel, model)) in steps.iter().zip(kernel.iter().zip(&model)) {
            if !matches!(step, Step::Read(_)) {
                written = step.words();
            }
            if kernel != model {
                differences
                    .insert(format!("{} after {written}: the kernel {kernel}, the model {model}\n", step.words()));
            }
        }
        assert!(differences.is_empty(), "{}", differences.into_iter().collect::<String>());
    });
}
