//! The words of the command line, and nothing else: parsing, not acting.
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use powerband_load::IgnoredStatuses;
use powerband_record::CpuList;

mod change;
mod command;
mod examples;
mod fleet;
mod guard;
mod judged;
mod keep;
mod look;
mod noise;
mod pace;
mod refused;
mod service;
mod sim;
mod store;
mod stored;

pub(crate) use change::{Set, Undo, With};
pub(crate) use command::{Around, Commands, Exports, Parameters, Runs, with_statuses};
pub(crate) use examples::{GROUPS as VERB_GROUPS, command, examples_of, first_screen};
pub(crate) use fleet::{
    Fleet, FleetReport, FleetResume, FleetRun, FleetTable, FleetTask, FleetVerb, OneFleet, Waiting,
};
pub(crate) use guard::Guard;
pub(crate) use judged::Judged;
pub(crate) use keep::{Keep, Unkeep};
pub(crate) use look::{Capture, Doctor, Get, Info, InfoPart, Knobs, Watch, WhyKnob};
pub(crate) use noise::{Calibrate, Compare};
pub(crate) use pace::{Cpuspeed, Pace, PaceRule};
pub(crate) use refused::in_plain_words;
pub(crate) use service::Service;
pub(crate) use sim::{MountLoad, Sim, SimVerb};
pub(crate) use store::{Push, StoreArgs, StoreVerb};
pub(crate) use stored::{Export, Format, Report, Show};

/// Find the settings at which a Linux machine does its work best, by measuring
#[derive(Parser, Debug)]
#[command(name = "powerband", version, disable_help_flag = true, after_long_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Options every verb takes.
    #[command(flatten)]
    pub(crate) shared: Shared,
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// The command of parsed words. A seed of the environment is kept apart from a typed one: it is a default, so it must
    /// neither override a plan's seed nor count as a word that `resume` and `run --again` refuse.
    pub(crate) fn of(words: &ArgMatches) -> Result<Cli, clap::Error> {
        let mut cli = Cli::from_arg_matches(words)?;
        if words.value_source("seed") == Some(ValueSource::DefaultValue) {
            cli.shared.seed_of_environment = cli.shared.seed.take();
        }
        Ok(cli)
    }
}

/// The command with the environment of this run: what a variable gives is the default of its option. (The parser's own look-up
/// would read the process's environment.)
pub(crate) fn with_environment(command: clap::Command) -> clap::Command {
    command.mut_args(|option| {
        let Some(name) = option.get_env().and_then(|name| name.to_str()).map(str::to_owned) else { return option };
        let value = powerband_host::variable(&name);
        let shown = value.as_ref().filter(|_| !option.is_hide_env_values_set()).map(|value| value.to_string_lossy());
        let equals = if option.is_hide_env_values_set() { "" } else { "=" };
        let note = format!("[env: {name}{equals}{}]", shown.unwrap_or_default());
        let [short, long] = [option.get_help(), option.get_long_help()].map(|help| help.map(ToString::to_string));
        let long = long.or_else(|| short.clone()).unwrap_or_default();
        let option = option.env(None::<&str>).help(format!("{} {note}", short.unwrap_or_default()));
        let option = option.long_help(format!("{long}\n\n{note}"));
        match value {
            Some(value) => option.default_value(value).hide_default_value(true),
            None => option,
        }
    })
}

/// Whether a verb has verbs of its own.
pub(crate) fn has_verbs(name: &str) -> bool {
    command().find_subcommand(name).is_some_and(clap::Command::has_subcommands)
}

/// The environment variable that gives the seed of experiments which name none.
const SEED_VARIABLE: &str = "POWERBAND_SEED";

/// Headings of the options, in the order they are shown.
pub(crate) const COMMON: &str = "Common options";
/// What runs, and where.
pub(crate) const LOAD: &str = "Load";
/// What is measured.
pub(crate) const METRICS: &str = "Metrics";
/// How verdicts are reached.
pub(crate) const STATISTICS: &str = "Statistics";
/// Which machine.
pub(crate) const MACHINE: &str = "Machine";
/// What is printed and kept.
pub(crate) const OUTPUT: &str = "Output";

const EXIT_CODES: &str = "Exit codes: 0 fine (also undecided) · 1 a check failed, or --fail-on applies · \
2 usage or plan · 3 no permission · 4 not supported here · 6 restore incomplete · 7 the load failed · \
8 aborted · 130 stopped, everything restored. `with` returns the exit code of its command.";

/// Options every verb takes, before or after it.
#[derive(Args, Clone, Debug)]
pub(crate) struct Shared {
    /// Machine to use: local, ssh:HOST, cmd:COMMAND, sh:COMMAND, sim:NAME, recorded:DIR (default: local)
    ///
    /// cmd:COMMAND runs a command that leads to `powerband agent`, sh:COMMAND one that leads to a POSIX shell, and sh+agent:COMMAND
    /// copies an agent through that shell, also over a serial line.
    /// sim:NAME[#SEED] is a simulated machine (`powerband sim list`), recorded:DIR one that `capture` wrote, table:FILE.csv
    /// a table of measurements. Example: --machine ssh:root@board
    #[arg(long, global = true, value_name = "MACHINE", env = "POWERBAND_MACHINE", help_heading = MACHINE)]
    pub(crate) machine: Option<String>,
    /// Peer machine, at the other end of the network link; its knobs and metrics are far/NAME
    ///
    /// Named as for --machine. cmd@ADDRESS:COMMAND gives the address at which the near machine reaches it.
    #[arg(long, global = true, value_name = "MACHINE", help_heading = MACHINE)]
    pub(crate) far: Option<String>,
    /// List of machines for one job: slurm, n1,n2 or NAME=MACHINE,…; all/KNOB=V sets each, NAME/KNOB=V one
    ///
    /// slurm is every node of the allocation; a node or host is reached by srun in an allocation and by ssh elsewhere. The load runs
    /// on the first, by srun or mpirun over the others. Example: --machines slurm all/governor=performance,powersave -- srun ./job
    #[arg(long, global = true, value_name = "LIST", help_heading = MACHINE)]
    pub(crate) machines: Vec<String>,
    /// Use only these CPUs, e.g. 1 or 0-3,8 (default: all)
    #[arg(short = 'c', long = "cpus", global = true, value_name = "LIST", value_parser = cpus, help_heading = MACHINE)]
    pub(crate) cpus: Option<CpuList>,
    /// TOML file that defines extra knobs as [knobs.NAME] (a plan, or part of one)
    #[arg(long = "knobs", global = true, value_name = "FILE", help_heading = MACHINE)]
    pub(crate) declared: Option<PathBuf>,
    /// Time limit of each answer of a machine behind ssh:, cmd: or sh:, e.g. 60s on a slow link (default: 10s)
    #[arg(long, global = true, value_name = "TIME", default_value = "10s", hide_default_value = true)]
    #[arg(env = "POWERBAND_PEER_TIMEOUT", value_parser = answer_time_ns, help_heading = MACHINE)]
    pub(crate) peer_timeout: u64,
    /// Leave the agent on a machine behind ssh: in ~/.cache/powerband for the next command (default: remove it)
    #[arg(long, global = true, help_heading = MACHINE)]
    pub(crate) keep_agent: bool,
    /// Seed of the random order and of a simulated machine's noise (default: the plan's, else random)
    ///
    /// Each experiment keeps its seed, and the full report shows it (-v): --seed N then repeats the order. POWERBAND_SEED
    /// gives the seed where neither the command line nor the plan does. Commands that run no experiment use 1.
    #[arg(long, global = true, value_name = "N", env = SEED_VARIABLE, hide_env_values = true, help_heading = MACHINE)]
    pub(crate) seed: Option<u64>,
    /// The seed of the environment variable, which anything written down wins over.
    #[arg(skip)]
    pub(crate) seed_of_environment: Option<u64>,
    /// Print JSON instead of text (docs/schema)
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Print the full report: every table, caveat and void trial
    #[arg(short = 'v', long, global = true, help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// File that keeps the results, or postgresql://USER@HOST/DATABASE (default: powerband.sqlite in the state folder)
    #[arg(long, global = true, value_name = "FILE", env = "POWERBAND_STORE", hide_env_values = true, help_heading = OUTPUT)]
    pub(crate) store: Option<PathBuf>,
    /// Print help (-h: summary, --help: all)
    #[arg(short, long, global = true, action = clap::ArgAction::Help, help_heading = OUTPUT)]
    help: Option<bool>,
}

/// The list of CPUs of an option, which means some.
fn cpus(text: &str) -> Result<CpuList, String> {
    match text.parse::<CpuList>() {
        Ok(cpus) if cpus.is_empty() => {
            Err("the list is empty; write e.g. 1 or 0-3,8, or leave it out for all CPUs".into())
        }
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

fn answer_time_ns(text: &str) -> Result<u64, String> {
    match powerband_record::parse_duration_ns(text) {
        Ok(0) => Err("no machine answers in no time; write e.g. 60s".into()),
        parsed => parsed.map_err(|error| error.to_string()),
    }
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Show the machine: CPUs, frequencies, idle states, power, network, meters
    Info(Info),
    /// Read knobs
    Get(Get),
    /// Show what set a knob at boot and since; with --watch, who changes it from now on
    Why(WhyKnob),
    /// List the knobs, or explain one
    Knobs(Knobs),
    /// Check what the kernel lets powerband set here, and what to do about the rest
    Doctor(Doctor),
    /// Record the machine into a folder, to look at it later as recorded:DIR
    Capture(Capture),
    /// Show the machine as it runs: frequencies, utilisation, power, interrupts; or log them
    Watch(Watch),
    /// Set knobs, until `undo`
    Set(Set),
    /// Confirm a change made with `set --confirm-within` or `keep --until-confirmed`
    Confirm,
    /// Undo what `set` changed, the last step first
    Undo(Undo),
    /// Set knobs while one command runs, then restore them
    With(With),
    /// Keep settings, or the result of an experiment, over reboots
    Keep(Keep),
    /// Remove what `keep` wrote
    Unkeep(Unkeep),
    /// Check that the kept settings are in force, and say what changed them if not
    Check,
    /// Set frequencies by the rule of a daemon, until it ends
    Pace(Pace),
    /// Report who changes a knob from now on; with --hold, set it again
    Guard(Guard),
    /// Compare settings by measuring
    Try(Box<Try>),
    /// Find the best of many settings, e.g. the lowest power within a latency limit
    Tune(Tune),
    /// Measure the noise, and the smallest difference that can be detected in a given time
    Calibrate(Calibrate),
    /// Run the experiment of a plan file
    Run(Run),
    /// Resume an interrupted experiment
    Resume(Resume),
    /// Run a plan on many nodes, through Slurm or another launcher
    Fleet(Fleet),
    /// List the stored experiments
    List,
    /// Show a stored experiment
    Show(Show),
    /// Compare settings of stored experiments, or of measurements from elsewhere
    Compare(Compare),
    /// Write an experiment as one HTML page that opens offline and can be run again
    Report(Report),
    /// Export an experiment as JSON, CSV, Markdown, SVG or PNG
    Export(Export),
    /// Deliver experiments to a shared store, or copy one store to another
    Store(StoreArgs),
    /// Repeat published experiments on simulated machines, and check each of their claims
    Replicate(Replicate),
    /// List, show or mount the simulated machines
    Sim(Sim),
    /// Set knobs for users without root, as a policy says
    Service(Service),
    /// Run as the agent of a remote powerband, over stdin and stdout
    Agent(Agent),
    /// Print completions for a shell
    Completions(Completions),
    /// Print a manual page
    Man(Man),
}

/// How to measure: what every verb that runs trials shares.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Setup {
    /// Stop after this time, e.g. 15m (default: no limit)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) budget: Option<String>,
    /// Print what would be changed and measured, and for how long; change nothing
    #[arg(long, help_heading = COMMON)]
    pub(crate) dry_run: bool,
    /// Change also what the kernel does not take back; it is then not restored
    #[arg(long, help_heading = COMMON)]
    pub(crate) accept_unrestorable: bool,
    /// Run at most this many warm-up trials (default: 5)
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, help_heading = LOAD)]
    pub(crate) warmup: Option<u32>,
    /// Wait this long after setting knobs, before the load starts (default: 1s)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = LOAD)]
    pub(crate) settle: Option<String>,
    /// Start each trial only when the hottest thermal zone is at this temperature or below, or after TIME (default: 10m)
    #[arg(long, value_name = "50C[:TIME]", allow_hyphen_values = true, help_heading = LOAD)]
    pub(crate) cool: Option<String>,
    /// Under sudo: run the load as root (default: as the user who called sudo)
    #[arg(long, help_heading = LOAD)]
    pub(crate) as_root: bool,
    /// Decide by this metric: NAME, or parse the output: NAME=regex:PATTERN, NAME=json:$.PATH
    ///
    /// Append :higher or :lower to say which is better, :info to show a metric without deciding by it. NAME is a metric of the
    /// load, of a meter (power_w, energy_j; far/power_w of the peer, both/power_w of both), or of the machine's state:
    /// cpu_busy_share, clock_mhz, measured_mhz, transitions_per_s, idle_share, wakeups_per_s, interrupts_per_s,
    /// softirqs_per_s, context_switches_per_s, nic_interrupts_per_s, packets_per_interrupt, temperature_c, throttles,
    /// cpu_pressure_share (docs/meters.md). These cover the CPUs of -c where the kernel counts per CPU; append @eth0 for one
    /// network device. Metrics can be divided: work_per_joule=count/energy_j.
    ///
    /// A number is read with its unit: into the unit that NAME ends in (p99_us), else into s, B, bit/s, Hz, W, J or 1/s. If a
    /// pattern matches several numbers, the last is taken after lines of progress; otherwise use regex-first:, regex-last:,
    /// regex-mean:, regex-min:, regex-max: or regex-sum:, and likewise json-mean:. json: reads the last JSON document.
    /// The tools whose output is read without a pattern (fio, iperf3, sysbench, …) are in docs/loads/commands.md.
    ///
    /// Example: --metric 'p99_us=regex:p99 = ([0-9.]+):lower'
    #[arg(long = "metric", value_name = "[NAME=]SOURCE", help_heading = METRICS)]
    pub(crate) metrics: Vec<String>,
    /// Run each command once as the machine is, and print every metric with its unit and the line it was read from; keep nothing
    #[arg(long, conflicts_with = "dry_run", help_heading = METRICS)]
    pub(crate) show_metrics: bool,
    /// Read this power meter: its domain or kind as in `info meters`, or a program (default: the machine's first)
    ///
    /// far/NAME is a meter of the peer machine. `NAME=DOMAIN,UNIT[,INTERVAL],cmd:COMMAND` declares a program that prints one
    /// number per line until it is ended. UNIT is W, mW or kW, or for accumulated energy J, mJ, kJ, Wh or kWh; DOMAIN says what
    /// the numbers cover (wall, GPU 0); INTERVAL says how often the meter has a new number (1s). Recipes are in
    /// docs/meters-by-program.md.
    #[arg(long = "meter", value_name = "NAME[=DOMAIN,UNIT[,INTERVAL],cmd:COMMAND]", help_heading = METRICS)]
    pub(crate) meters: Vec<String>,
    /// Delay of the meter, e.g. 3s; auto measures it first (45 s); each trial then waits for the delayed readings
    #[arg(long = "meter-lag", value_name = "[far/]TIME", allow_hyphen_values = true, help_heading = METRICS)]
    pub(crate) meter_lags: Vec<String>,
    /// Record a time series with each trial: clock or utilisation, e.g. utilisation@0-3:1s
    ///
    /// Read ten times a second while the load runs, or every TIME; of the CPUs of -c, or of @CPUS. `show --timelines` and the
    /// page of `report` show them.
    #[arg(long = "record", value_name = "[far/]WHAT[@CPUS][:TIME]", help_heading = METRICS)]
    pub(crate) record: Vec<String>,
    /// Show no progress on the terminal
    #[arg(short, long, help_heading = COMMON)]
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
    /// Equivalence margin: smaller differences count as equal, e.g. 2% (default: from `calibrate`, else 1%)
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = STATISTICS)]
    pub(crate) margin: Option<String>,
    /// Error rate of all better and worse verdicts together (default: 5%)
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = STATISTICS)]
    pub(crate) alpha: Option<String>,
    /// Run at most this many blocks; each block runs every setting once (default: 30)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = STATISTICS)]
    pub(crate) blocks: Option<u32>,
    /// Compare with this setting (default: baseline, the current settings)
    #[arg(long, value_name = "NAME", help_heading = STATISTICS)]
    pub(crate) reference: Option<String>,
    /// Find the cheapest setting that loses nothing; the cost is the value of this knob
    #[arg(long, value_name = "KNOB", help_heading = STATISTICS)]
    pub(crate) knee: Option<String>,
    /// Require a limit of every setting: 'p99_us<=500', or against the reference: 'p99_us<=+10%'
    #[arg(long = "require", value_name = "METRIC<=LIMIT", help_heading = STATISTICS)]
    pub(crate) requirements: Vec<String>,
    /// What is judged.
    #[command(flatten)]
    pub(crate) judged: Judged,
    /// Exit with 1 on any of these: better, worse, same, undecided, broken (a requirement)
    #[arg(long, value_name = "VERDICT", value_delimiter = ',', help_heading = STATISTICS)]
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
    /// Built-in load: counter, stream, ping, wake, primes, orders, ladder, shop, idle
    #[arg(long, value_name = "NAME", conflicts_with = "command", help_heading = COMMON)]
    pub(crate) load: Option<String>,
    /// Run a built-in load for this time; without a load: watch the machine as it is
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) length: Option<String>,
    /// Pin the load to these CPUs, e.g. 0-3
    #[arg(long, value_name = "LIST", help_heading = LOAD)]
    pub(crate) pin: Option<CpuList>,
    /// Keep trials whose command exits non-zero; -i=3,4: these statuses count as success
    ///
    /// A setting whose command failed is shown, not judged and never recommended. With statuses, any other one makes a trial
    /// void; a signal counts as 128 and its number (-i=137).
    #[arg(short = 'i', long, value_name = "STATUS,...", num_args = 0..=1, require_equals = true, default_missing_value = "", help_heading = LOAD)]
    pub(crate) ignore_failure: Option<IgnoredStatuses>,
    /// Parse the output as TOOL's (default: from the program name)
    ///
    /// TOOL is one of those listed in docs/loads/commands.md, e.g. iperf3, fio or perf_stat, or none.
    #[arg(long, value_name = "TOOL", help_heading = LOAD)]
    pub(crate) reads: Option<String>,
    /// Run this on the peer machine during each trial, e.g. 'iperf3 -s'; {far} in the command is the peer's address
    #[arg(long, value_name = "COMMAND", help_heading = LOAD)]
    pub(crate) far_command: Option<String>,
    /// Port the far command listens on (default: first new listener)
    #[arg(long, value_name = "PORT", requires = "far_command", help_heading = LOAD)]
    pub(crate) far_port: Option<u16>,
    /// Command to measure; several with ::: between them are compared
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Commands as options, and how they run.
    #[command(flatten)]
    pub(crate) commands: Commands,
}

/// `try`.
#[derive(Args, Debug)]
pub(crate) struct Try {
    /// Knobs and their values, or commands to compare: governor=all freq=500MHz,600MHz, 'sleep 0.01' 'sleep 0.011'
    ///
    /// Lists of values are crossed. Ranges: rx-usecs=10..100:10. Knobs of the load: env.NAME=a,b sets an environment variable,
    /// background=none,spin@cpu1 runs a second load during each trial, daemon=none,COMMAND a program that sets knobs by itself.
    #[arg(value_name = "KNOB[@TARGET]=V1,V2...|COMMAND")]
    pub(crate) words: Vec<String>,
    /// Add a whole setting, with or without a name: 'tuned:governor=conservative up_threshold=98'
    ///
    /// NAME: with nothing after it is the baseline, the current settings. Example: -s base: -s 'fast:governor=performance'
    #[arg(short = 's', long = "setting", value_name = "[NAME:]SETTING", help_heading = COMMON)]
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
    /// Knobs and their values; lists are crossed, up to 100,000 settings: max_freq=all rx-usecs=10..400
    #[arg(value_name = "KNOB[@TARGET]=V1,V2...")]
    pub(crate) axes: Vec<String>,
    /// Find the lowest value of a metric (power_w, energy_j, p99_us) or of one of the knobs
    #[arg(long, value_name = "METRIC|KNOB", conflicts_with = "maximize", required_unless_present = "maximize", help_heading = COMMON)]
    pub(crate) minimize: Option<String>,
    /// Find the highest value of a metric or of one of the knobs
    #[arg(long, value_name = "METRIC|KNOB", help_heading = COMMON)]
    pub(crate) maximize: Option<String>,
    /// Require a limit of the setting found, e.g. 'p99_us<=500' or 'rate_mbit_s>=900'; may be repeated
    #[arg(long = "require", value_name = "METRIC<=LIMIT", help_heading = COMMON)]
    pub(crate) requirements: Vec<String>,
    /// Add a whole setting, with or without a name: 'tuned:governor=conservative up_threshold=98'
    #[arg(short = 's', long = "setting", value_name = "[NAME:]SETTING", help_heading = COMMON)]
    pub(crate) settings: Vec<String>,
    /// What makes the machine work.
    #[command(flatten)]
    pub(crate) loading: Loading,
    /// How to measure.
    #[command(flatten)]
    pub(crate) setup: Setup,
    /// Try only settings that very probably break no requirement by more than this, e.g. 10% on a machine in production
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = STATISTICS)]
    pub(crate) safe: Option<String>,
    /// Run at most this many trials; a block of several counts as one
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = STATISTICS)]
    pub(crate) blocks: Option<u32>,
}

/// What the plan of a page says already.
const PLANNED: [&str; 26] = [
    "plan",
    "show_metrics",
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
    "family",
    "judge",
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
    /// Plan file
    #[arg(value_name = "PLAN.toml", required_unless_present = "again")]
    pub(crate) plan: Option<PathBuf>,
    /// Repeat the experiment of a page written by `powerband report`: same plan, seed and machine
    #[arg(long, value_name = "FILE.html", conflicts_with_all = PLANNED, help_heading = COMMON)]
    pub(crate) again: Option<PathBuf>,
    /// Run the commands of a page without asking; with --dry-run, start those that lead to its machines
    #[arg(long, help_heading = COMMON)]
    pub(crate) trust: bool,
    /// How to measure; options override the plan.
    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

/// `resume`.
#[derive(Args, Debug)]
pub(crate) struct Resume {
    /// Number of the experiment, or last
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// Extend an experiment that is undecided at its last block: go on to this many blocks in all, e.g. --blocks 60
    ///
    /// The error rate stays the same, however often an experiment is extended.
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = COMMON)]
    pub(crate) blocks: Option<u32>,
    /// Resume the experiment as it was started, even if its plan file has changed since
    #[arg(long, help_heading = COMMON)]
    pub(crate) as_begun: bool,
    /// Show no progress on the terminal
    #[arg(short, long, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}

/// `replicate`.
#[derive(Args, Debug)]
pub(crate) struct Replicate {
    /// Articles to repeat, e.g. router (default: all)
    #[arg(value_name = "NAME")]
    pub(crate) articles: Vec<String>,
    /// Run at most this many blocks of each plan: quicker, and less certain
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = COMMON)]
    pub(crate) blocks: Option<u32>,
    /// Also write the claims and charts as one HTML page
    #[arg(short, long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output", help_heading = OUTPUT)]
    pub(crate) force: bool,
}

/// `agent`.
#[derive(Args, Debug)]
pub(crate) struct Agent {
    /// The program and its folder were copied here for this run: remove both
    #[arg(long, hide = true)]
    pub(crate) carried: bool,
    /// The program was copied here to stay: check that it did not change
    #[arg(long, hide = true)]
    pub(crate) kept: bool,
}

/// `completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Shell to complete for
    pub(crate) shell: clap_complete::Shell,
}

/// `man`.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Verb whose page to print (default: the overview of powerband)
    pub(crate) verb: Option<String>,
    /// Write every page into this folder: powerband.1, powerband-try.1 and so on
    #[arg(long, value_name = "DIR", conflicts_with = "verb", help_heading = OUTPUT)]
    pub(crate) dir: Option<PathBuf>,
}
