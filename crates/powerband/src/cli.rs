//! The words of the command line, and nothing else: parsing, not acting.
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use powerband_record::CpuList;

mod command;
mod noise;
mod stored;

pub(crate) use command::{Around, Commands, Exports, Parameters, Runs};
pub(crate) use noise::{Calibrate, Compare};
pub(crate) use stored::{Export, Format, Report, Show};

/// Finds the settings at which a Linux machine does its work best, by measuring, and says how sure it is.
#[derive(Parser, Debug)]
#[command(name = "powerband", version, propagate_version = true, disable_help_subcommand = true)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Options every verb takes.
    #[command(flatten)]
    pub(crate) shared: Shared,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 fine (also undecided) · 1 a check failed, or what --fail-on names happened · \
2 usage or plan · 3 no permission · 4 not supported here · 6 could not put something back · 7 the load failed · \
8 could not go on · 130 stopped, everything put back. `with` ends with its command's own code.";

/// Options every verb takes, before or after it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Shared {
    /// The machine: `local`, `ssh:HOST`, `cmd:COMMAND` that leads to a `powerband agent`, `sh:COMMAND` that leads to a POSIX
    /// shell, `recorded:DIR` for one that was captured, or `sim:NAME` for a simulated one (`sim:NAME#SEED`)
    #[arg(long, global = true, value_name = "MACHINE", env = "POWERBAND_MACHINE")]
    pub(crate) machine: Option<String>,
    /// The machine at the other end of the cable; `cmd@ADDRESS:COMMAND` says where the near one reaches it
    #[arg(long, global = true, value_name = "MACHINE")]
    pub(crate) far: Option<String>,
    /// Seed of the orders and of a simulated machine's noise
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print one JSON value of a versioned shape instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// File the results are kept in
    #[arg(long, global = true, value_name = "FILE", env = "POWERBAND_STORE")]
    pub(crate) store: Option<PathBuf>,
    /// A plan, or part of one, whose [knobs.NAME] can be named as well
    #[arg(long = "knobs", global = true, value_name = "FILE")]
    pub(crate) declared: Option<PathBuf>,
    /// Only these CPUs, e.g. 1 or 0-3,8
    #[arg(short = 'c', long = "cpus", global = true, value_name = "LIST")]
    pub(crate) cpus: Option<CpuList>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Show the machine: CPUs, clocks, idle states, power, network, meters, what is turned
    Info(Info),
    /// Read knobs
    Get(Get),
    /// Say who set a knob when the machine booted, and what has set it since; `--watch`: who changes it from now on
    Why(WhyKnob),
    /// List the knobs there are, or explain one
    Knobs(Knobs),
    /// Say what the kernel lets powerband turn here, and what to do about the rest
    Doctor(Doctor),
    /// Record what the machine reads into a folder, to be looked at as `recorded:DIR`
    Capture(Capture),
    /// Show the machine as it runs: clocks, utilisation, watts, interrupts, idle states; or log them
    Watch(Watch),
    /// Turn knobs, for good or until `undo`
    Set(Set),
    /// Keep what `set --confirm-within` waits for
    Confirm,
    /// Take back what `set` turned, the last step first
    Undo(Undo),
    /// Turn knobs for the length of one command
    With(With),
    /// Compare settings by measuring
    Try(Box<Try>),
    /// Find the best of many settings in few trials: the least watts, say, that keep a limit on latency
    Tune(Tune),
    /// Measure the noise of the machine as it is: what can be seen in how long, and what would help
    Calibrate(Calibrate),
    /// Run the experiment of a plan file
    Run(Run),
    /// Go on with an experiment that was interrupted or stopped
    Resume(Resume),
    /// List the experiments kept
    List,
    /// Show an experiment again
    Show(Show),
    /// Compare settings of stored experiments, or of measurements made elsewhere
    Compare(Compare),
    /// Write an experiment as a page: one file of HTML that opens offline and can be run again
    Report(Report),
    /// Write an experiment's events or results
    Export(Export),
    /// Do published experiments again on simulated machines, and say of each claim whether it holds
    Replicate(Replicate),
    /// The simulated machines there are
    Sim(Sim),
    /// Serve a powerband at the other end of standard input and output, which turns and measures this machine
    Agent(Agent),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page
    Man,
}

/// `info`.
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Which part; everything when absent
    pub(crate) part: Option<InfoPart>,
    /// Of `net`: find which values the drivers take, by setting, reading back and putting back; all devices, or this one
    #[arg(long, value_name = "DEVICE", num_args = 0..=1)]
    pub(crate) probe: Option<Option<String>>,
    /// Of `meters`: read them for 2 s to see how often their numbers change, and what they show
    #[arg(long)]
    pub(crate) measure: bool,
    /// Of `meters`: put a load on every CPU that goes on and off for 45 s, and tell how late each meter shows it
    #[arg(long)]
    pub(crate) lag: bool,
}

/// Parts of `info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoPart {
    /// CPUs, clocks, governors
    Cpu,
    /// Idle states and limits on waking up
    Idle,
    /// Limits of power and heat
    Power,
    /// Network devices, their links and coalescing
    Net,
    /// Meters found, with what they cover
    Meters,
    /// What is turned and not yet taken back
    Turned,
}

/// `get`.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Knobs, e.g. governor or max_freq@policy0
    #[arg(required = true, value_name = "KNOB[@SITE]")]
    pub(crate) knobs: Vec<String>,
}

/// `why`.
#[derive(Args, Debug)]
pub(crate) struct WhyKnob {
    /// The knobs; governor when absent, and with --watch all there are
    #[arg(value_name = "KNOB[@SITE]")]
    pub(crate) knobs: Vec<String>,
    /// Print each change as it happens and who made it, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: end after this time, e.g. 10s
    #[arg(long = "for", value_name = "TIME", requires = "watch", allow_hyphen_values = true)]
    pub(crate) length: Option<String>,
}

/// `knobs`.
#[derive(Args, Debug)]
pub(crate) struct Knobs {
    /// One knob to explain
    pub(crate) knob: Option<String>,
}

/// `doctor`.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Look at this kernel configuration alone (a .config, or packed as /proc/config.gz is); with --machine, as that
    /// machine's
    #[arg(long, value_name = "FILE")]
    pub(crate) kernel: Option<PathBuf>,
    /// The governor the kernel should boot with, e.g. ondemand
    #[arg(long, value_name = "NAME")]
    pub(crate) default_governor: Option<String>,
    /// Print only the lines to merge into the kernel's configuration
    #[arg(long)]
    pub(crate) fragment: bool,
}

/// `capture`.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    /// The folder; empty, or not there yet
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// `watch`.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// No picture: a row a sample into FILE.csv or FILE.jsonl, or - for CSV on standard output (lines of JSON with --json)
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Time from sample to sample, 100ms or more
    #[arg(long, value_name = "TIME", default_value = "1s", allow_hyphen_values = true)]
    pub(crate) interval: String,
    /// End after this time, e.g. 10s
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) length: Option<String>,
    /// End after so many samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Also keep the latest sample in this file as OpenMetrics, for node_exporter's textfile collector (FILE.prom)
    #[arg(long, value_name = "FILE")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Say what watching itself costs, in CPU time and wake-ups
    #[arg(long)]
    pub(crate) cost: bool,
    /// Read the clocks also where the kernel interrupts each CPU to tell (x86 from Linux 4.13 to 5.17)
    #[arg(long)]
    pub(crate) interrupting: bool,
    /// What a simulated machine does meanwhile
    #[arg(long, value_name = "NAME")]
    pub(crate) load: Option<MountLoad>,
}

/// `set`.
#[derive(Args, Debug)]
pub(crate) struct Set {
    /// What to turn, e.g. governor=userspace freq=1867MHz
    #[arg(required = true, value_name = "KNOB[@SITE]=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Put it back unless `powerband confirm` is typed within this time, e.g. 60s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) confirm_within: Option<String>,
    /// Say what would be turned, in order, and turn nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `undo`.
#[derive(Args, Debug)]
pub(crate) struct Undo {
    /// Everything, not only the last step
    #[arg(long)]
    pub(crate) all: bool,
    /// List what could be taken back and take nothing back
    #[arg(long)]
    pub(crate) list: bool,
    /// Only what an interrupted powerband has left; what `set` turned stays
    #[arg(long, conflicts_with_all = ["all", "list"])]
    pub(crate) left: bool,
    /// Also where somebody else has written since; let go of what cannot be reached from here
    #[arg(long)]
    pub(crate) force: bool,
}

/// `with`.
#[derive(Args, Debug)]
pub(crate) struct With {
    /// What to turn, e.g. governor=performance
    #[arg(required = true, value_name = "KNOB[@SITE]=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Under sudo: run the load as root, not as the user who called
    #[arg(long)]
    pub(crate) as_root: bool,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// How to measure: what every verb that runs trials shares.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Setup {
    /// Judge by this metric: NAME (of the load, of a meter, or of the machine's state), NAME=METRIC/METRIC, NAME=regex:PATTERN,
    /// NAME=json:$.PATH, with :higher, :lower or :info behind it
    ///
    /// far/power_w and both/power_w are by the far machine's meter, and by both. Of the machine's state there are
    /// cpu_busy_share, clock_mhz, measured_mhz, transitions_per_s, idle_share, wakeups_per_s, interrupts_per_s, softirqs_per_s,
    /// context_switches_per_s, nic_interrupts_per_s, packets_per_interrupt, temperature_c, throttles and cpu_pressure_share
    /// (docs/meters.md), of the CPUs of -c alone where the kernel counts by CPU, and of one network card with @eth0 behind. With :info a metric is shown and not judged. Other metrics by name can be divided:
    /// work_per_joule=count/energy_j.
    #[arg(long = "metric", value_name = "[NAME=]SOURCE")]
    pub(crate) metrics: Vec<String>,
    /// Read this meter instead of the first of the machine: a boundary (package-0) or a kind (hwmon) of `info meters`, with
    /// far/ before it the far machine's; or a program that prints watts or joules, a line a number, until it is ended: one that
    /// the plan declares, or with = one declared here
    ///
    /// UNIT is W, mW, kW, or of energy counted up J, mJ, kJ, Wh, kWh; BOUNDARY says what the numbers cover (wall, GPU 0);
    /// INTERVAL how often the meter makes a new one (1s). docs/meters-by-program.md has recipes.
    #[arg(long = "meter", value_name = "NAME[=BOUNDARY,UNIT[,INTERVAL],cmd:COMMAND]")]
    pub(crate) meters: Vec<String>,
    /// How late the meter's numbers come, e.g. 3s, or auto to estimate it first by a load that goes on and off for 45 s;
    /// each trial then waits for them
    #[arg(long = "meter-lag", value_name = "[far/]TIME", allow_hyphen_values = true)]
    pub(crate) meter_lags: Vec<String>,
    /// Begin each load only when the hottest thermal zone is as cool as this, or 10 minutes (or TIME) are over
    #[arg(long, value_name = "50C[:TIME]", allow_hyphen_values = true)]
    pub(crate) cool: Option<String>,
    /// Keep the course of the clock, or of how busy each CPU was, with each trial: clock, utilisation@0-3:1s
    ///
    /// They are read ten times a second while the load runs, or every TIME, of the CPUs of -c or of @CPUS; `show --timelines`
    /// and the report's page show them.
    #[arg(long = "record", value_name = "[far/]WHAT[@CPUS][:TIME]")]
    pub(crate) record: Vec<String>,
    /// Most time, e.g. 15m
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) budget: Option<String>,
    /// Most warm-up trials
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) warmup: Option<u32>,
    /// Time to settle after turning
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) settle: Option<String>,
    /// Under sudo: run the load as root, not as the user who called
    #[arg(long)]
    pub(crate) as_root: bool,
    /// Say what would be turned and measured, and for how long, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// No progress on the terminal
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// What runs around trials.
    #[command(flatten)]
    pub(crate) around: Around,
}

/// How to measure and compare: what `try` and `run` share.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Measuring {
    /// What is not about comparing.
    #[command(flatten)]
    pub(crate) setup: Setup,
    /// What counts as the same, e.g. 2%
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) margin: Option<String>,
    /// Error rate of all verdicts "better" and "worse" together
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) alpha: Option<String>,
    /// Most blocks (every setting once a block)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) blocks: Option<u32>,
    /// Compare with this setting instead of the machine as found
    #[arg(long, value_name = "NAME")]
    pub(crate) reference: Option<String>,
    /// Seek the cheapest setting that loses nothing, cost being this knob's value
    #[arg(long, value_name = "KNOB")]
    pub(crate) knee: Option<String>,
    /// What every setting must fulfil besides: a limit on a metric, or against the reference 'p99_us<=+10%'
    #[arg(long = "require", value_name = "METRIC<=LIMIT")]
    pub(crate) requirements: Vec<String>,
    /// Judge by ranks alone (slower, needs no assumption on the noise)
    #[arg(long)]
    pub(crate) robust: bool,
    /// End with 1 when one of these happened: better, worse, same, undecided, or broken for a requirement
    #[arg(long, value_name = "VERDICT", value_delimiter = ',')]
    pub(crate) fail_on: Vec<FailOn>,
    /// How many trials.
    #[command(flatten)]
    pub(crate) runs: Runs,
    /// What is written at the end.
    #[command(flatten)]
    pub(crate) exports: Exports,
}

/// Verdicts `--fail-on` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Something is better than the reference
    Better,
    /// Something is worse
    Worse,
    /// Something is the same
    Same,
    /// Something is open
    Undecided,
    /// A requirement is broken
    Broken,
}

/// What makes the machine work: a built-in load or a command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Loading {
    /// A built-in load: counter, stream, ping, wake, primes, orders, ladder, shop, idle
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) load: Option<String>,
    /// How long a built-in load runs; alone: watch the machine as it works by itself for so long
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) length: Option<String>,
    /// Pin the load to these CPUs
    #[arg(long, value_name = "LIST")]
    pub(crate) pin: Option<CpuList>,
    /// Take a trial even when the command returns another code than 0
    #[arg(short = 'i', long)]
    pub(crate) ignore_failure: bool,
    /// Whose output the command prints, where its first word does not say: nuttcp, iperf3, ping, cyclictest, sockperf, wrk,
    /// perf_stat, mpirun; or none
    #[arg(long, value_name = "TOOL")]
    pub(crate) reads: Option<String>,
    /// What the command talks to: starts before it on the far machine, whose address {far} stands for, and is ended after it,
    /// e.g. 'iperf3 -s'
    #[arg(long, value_name = "COMMAND")]
    pub(crate) far_command: Option<String>,
    /// The port that listens on; whichever comes to listen when this is left out
    #[arg(long, value_name = "PORT", requires = "far_command")]
    pub(crate) far_port: Option<u16>,
    /// The command to measure; several with ::: between them are compared
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Commands as options, and how they run.
    #[command(flatten)]
    pub(crate) commands: Commands,
}

/// `try`.
#[derive(Args, Debug)]
pub(crate) struct Try {
    /// Knobs and their values, crossed: governor=all, freq=500MHz,600MHz, rx-usecs=10..100:10, env.NAME=a,b,
    /// background=none,spin@cpu1; or commands to compare: 'sleep 0.01' 'sleep 0.011'
    #[arg(value_name = "KNOB[@SITE]=V1,V2,…|COMMAND")]
    pub(crate) words: Vec<String>,
    /// A whole setting, with a name or without: base: or 'tuned:governor=conservative up_threshold=98'
    #[arg(short = 's', long = "setting", value_name = "[NAME:]SETTING")]
    pub(crate) settings: Vec<String>,
    /// Parameters of commands.
    #[command(flatten)]
    pub(crate) parameters: Parameters,
    /// What makes the machine work.
    #[command(flatten)]
    pub(crate) loading: Loading,
    /// How to measure.
    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// `tune`.
#[derive(Args, Debug)]
pub(crate) struct Tune {
    /// Knobs and their values, crossed, at most 5000 settings: max_freq=all, rx-usecs=10..400, cpu_quota=10%..100%:10
    #[arg(value_name = "KNOB[@SITE]=V1,V2,…")]
    pub(crate) axes: Vec<String>,
    /// A whole setting, with a name or without: 'tuned:governor=conservative up_threshold=98'
    #[arg(short = 's', long = "setting", value_name = "[NAME:]SETTING")]
    pub(crate) settings: Vec<String>,
    /// Find the setting with the least of this: a metric (energy_j, p99_us), or one of the knobs, whose own value is the goal
    #[arg(long, value_name = "METRIC|KNOB", conflicts_with = "maximize", required_unless_present = "maximize")]
    pub(crate) minimize: Option<String>,
    /// Find the setting with the most of this
    #[arg(long, value_name = "METRIC|KNOB")]
    pub(crate) maximize: Option<String>,
    /// What the setting must keep to, e.g. 'p99_us<=500' or 'rate_mbit_s>=900'; may be given several times
    #[arg(long = "require", value_name = "METRIC<=LIMIT")]
    pub(crate) requirements: Vec<String>,
    /// Try only what very probably breaks no requirement by more than this, e.g. 10%, as on a machine that serves people
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) safe: Option<String>,
    /// Most runs, counting a block of several as one
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) blocks: Option<u32>,
    /// What makes the machine work.
    #[command(flatten)]
    pub(crate) loading: Loading,
    /// How to measure.
    #[command(flatten)]
    pub(crate) setup: Setup,
}

/// What the plan of a page says already.
const PLANNED: [&str; 23] = [
    "plan",
    "metrics",
    "meters",
    "meter_lags",
    "cool",
    "record",
    "budget",
    "warmup",
    "settle",
    "margin",
    "alpha",
    "blocks",
    "reference",
    "knee",
    "requirements",
    "robust",
    "runs",
    "min_runs",
    "max_runs",
    "prepare",
    "conclude",
    "setup",
    "cleanup",
];

/// `run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The plan file
    #[arg(value_name = "PLAN.toml", required_unless_present = "again")]
    pub(crate) plan: Option<PathBuf>,
    /// Run the experiment of a page that `powerband report` wrote: the same plan, seed and machine
    #[arg(long, value_name = "FILE.html", conflicts_with_all = PLANNED)]
    pub(crate) again: Option<PathBuf>,
    /// How to measure; what is given here wins over the plan.
    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// `resume`.
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// Number of the experiment, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// With what was begun, also when its plan file says something else by now
    #[arg(long)]
    pub(crate) as_begun: bool,
    /// No progress on the terminal
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// `sim`.
#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) verb: SimVerb,
}

/// Verbs of `sim`.
#[derive(Subcommand, Debug)]
pub(crate) enum SimVerb {
    /// List the simulated machines there are
    List,
    /// Show one: its CPUs, clocks, power, noise, and what it cannot do
    Show {
        /// Its name
        name: String,
    },
    /// Serve one's /sys/devices/system/cpu in a folder, for any program to look at and turn, until Ctrl-C
    Mount {
        /// Its name
        name: String,
        /// The folder; empty
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// What it does meanwhile
        #[arg(long, value_name = "NAME", default_value = "idle")]
        load: MountLoad,
    },
}

/// What a mounted machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MountLoad {
    /// Nothing
    Idle,
    /// One CPU counts
    Counter,
}

/// `replicate`.
#[derive(Args, Debug)]
pub(crate) struct Replicate {
    /// Which, e.g. `router`; all when absent
    #[arg(value_name = "NAME")]
    pub(crate) articles: Vec<String>,
    /// At most so many blocks of each plan, for a quick look; what is said is then less certain
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) blocks: Option<u32>,
    /// Also write a page: one file of HTML with the claims and pictures
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    /// Also where the file is there already
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

/// `agent`.
#[derive(Args, Debug)]
pub(crate) struct Agent {
    /// The program and its folder were carried here for this run: remove both
    #[arg(long, hide = true)]
    pub(crate) carried: bool,
}

/// `completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
