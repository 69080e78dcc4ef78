//! How the help is laid out: the verbs in groups, and for each verb its usage and examples.
use clap::{Command, CommandFactory};

use super::Cli;

/// What an example does, and its words.
type Example = (&'static str, &'static str);

/// The verbs as `powerband help` groups them.
pub(crate) const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["try", "tune", "calibrate", "run", "resume", "fleet", "replicate"]),
    ("Results", &["list", "show", "compare", "report", "export", "store"]),
    ("Change settings", &["set", "undo", "with", "pace", "confirm"]),
    ("Keep settings", &["keep", "unkeep", "check", "guard"]),
    ("Look at the machine", &["info", "get", "why", "knobs", "doctor", "watch", "capture"]),
    ("More", &["sim", "service", "agent", "completions", "man", "help"]),
];

/// The verb clap brings along.
const HELP: (&str, &str) = ("help", "Print the help of a verb");

/// Usage lines of verbs with more than one way to use them.
const USAGE: [(&str, &str); 2] = [
    (
        "try",
        "powerband try KNOB=V1,V2... [OPTIONS] -- COMMAND\n       powerband try 'COMMAND A' 'COMMAND B' [OPTIONS]\n       \
         powerband try -s [NAME:]SETTING -s [NAME:]SETTING... [OPTIONS] --load NAME",
    ),
    ("tune", "powerband tune KNOB=V1,V2... --minimize METRIC [--require METRIC<=LIMIT] [OPTIONS] -- COMMAND"),
];

/// Examples of each verb, the most common use first.
const EXAMPLES: [(&str, &[Example]); 34] = [
    (
        "try",
        &[
            ("Find the fastest governor", "powerband try governor=all -- ./bench"),
            (
                "Measure the latency cost of interrupt coalescing",
                "powerband try rx-usecs=10,50,100 --load ping --far ssh:b2",
            ),
            (
                "Find the lowest frequency that loses nothing, on a simulated board",
                "powerband try governor=userspace freq=all --knee freq --load counter --machine sim:omap3530",
            ),
            ("Compare two commands", "powerband try 'sleep 0.01' 'sleep 0.011'"),
            (
                "Check for false positives: compare the current settings with themselves",
                "powerband try -s a: -s b: -- ./bench",
            ),
        ],
    ),
    (
        "tune",
        &[
            (
                "Find the lowest power within a latency limit",
                "powerband tune max_freq=all rx-usecs=10..400:10 --minimize power_w --require 'p99_us<=500' --load ping --far ssh:b2",
            ),
            (
                "Find the smallest CPU quota that builds within a minute",
                "powerband tune cgroup.cpu_quota=10%..100%:10 --minimize cgroup.cpu_quota --require 'real_s<=60' -- make -j2",
            ),
        ],
    ),
    (
        "calibrate",
        &[
            ("Measure the noise of a benchmark", "powerband calibrate -- ./bench"),
            ("Measure the noise of the idle machine for 5 s at a time", "powerband calibrate --for 5s --budget 10m"),
        ],
    ),
    (
        "run",
        &[
            ("Run a plan on simulated machines", "powerband run plans/router.toml"),
            ("Show what a plan would do, and change nothing", "powerband run plans/router.toml --dry-run"),
            (
                "Run a plan on every node of a Slurm allocation",
                "powerband run plans/mpi-two-nodes.toml --machines slurm",
            ),
            ("Repeat the experiment of a page", "powerband run --again result.html"),
        ],
    ),
    ("resume", &[("Resume the last experiment", "powerband resume"), ("Resume experiment 7", "powerband resume 7")]),
    (
        "fleet",
        &[
            ("Run a plan on 16 nodes of a partition", "powerband fleet run plan.toml -N 16 --partition main"),
            (
                "Run it on the nodes of a file, over ssh",
                "powerband fleet run plan.toml --nodes-file nodes --launcher 'ssh {node}'",
            ),
            ("Try it on simulated nodes", "powerband fleet run plans/fleet-frequency.toml -N 8 --launcher local"),
            ("Show what a fleet for each of two applications found", "powerband fleet table fleet-hpl fleet-stream"),
        ],
    ),
    (
        "replicate",
        &[
            ("Repeat one article", "powerband replicate router"),
            ("Repeat all, and write a page", "powerband replicate -o claims.html"),
        ],
    ),
    (
        "store",
        &[
            (
                "Deliver what the database lacks",
                "powerband store push --store postgresql://me@db.example.org/powerband",
            ),
            (
                "Copy a database into a file",
                "powerband store migrate postgresql://me@db.example.org/powerband all.sqlite",
            ),
        ],
    ),
    ("list", &[("List the stored experiments", "powerband list"), ("List them as JSON", "powerband list --json")]),
    (
        "show",
        &[
            ("Show the last experiment", "powerband show"),
            ("Show the power readings of trial 4", "powerband show last --timelines=4"),
        ],
    ),
    (
        "compare",
        &[
            ("Compare one setting of two experiments", "powerband compare 3:performance 7:performance"),
            ("Compare measurements from elsewhere", "powerband compare --from-csv rounds.csv"),
        ],
    ),
    ("report", &[("Write the last experiment as a page", "powerband report last -o result.html")]),
    (
        "export",
        &[
            ("Print Markdown tables for a merge request", "powerband export --format md"),
            ("Write the main chart as an image", "powerband export --format svg -o result.svg"),
        ],
    ),
    (
        "set",
        &[
            ("Set a governor and its threshold", "powerband set governor=ondemand up_threshold=60"),
            (
                "Restore the old value after a minute unless confirmed",
                "powerband set rx-usecs@eth0=100 --confirm-within 60s",
            ),
        ],
    ),
    (
        "undo",
        &[
            ("Undo the last `set`", "powerband undo"),
            ("Undo everything", "powerband undo --all"),
            ("List what can be undone", "powerband undo --list"),
        ],
    ),
    ("with", &[("Build with the performance governor", "powerband with governor=performance -- make -j8")]),
    (
        "pace",
        &[
            ("Look once a second, and print each decision", "powerband pace cpuspeed -i 10 -v"),
            ("Follow the service's configuration", "powerband pace cpuspeed --config /etc/sysconfig/cpuspeed"),
            (
                "Watch it decide on a simulated server",
                "powerband --machine sim:x3650 pace cpuspeed --for 60s --load counter -v",
            ),
        ],
    ),
    ("confirm", &[("Keep what `set --confirm-within` changed", "powerband confirm")]),
    (
        "keep",
        &[
            ("Keep what the last experiment recommends", "powerband keep"),
            ("Keep a governor over reboots", "powerband keep governor=performance"),
            ("Show what would be written, and change nothing", "powerband keep governor=performance --dry-run"),
        ],
    ),
    ("unkeep", &[("Remove every file that `keep` wrote", "powerband unkeep")]),
    ("check", &[("Check the kept settings, and exit with 1 if one is not in force", "powerband check")]),
    (
        "guard",
        &[
            ("Report who changes the governor", "powerband guard governor=performance"),
            ("Set it again each time", "powerband guard --hold governor=performance"),
            ("Set the kept settings again each time one is changed", "powerband guard --hold"),
        ],
    ),
    (
        "info",
        &[
            ("Show CPUs 0 to 3", "powerband info cpu -c 0-3"),
            ("Find the coalescing values the driver of eth0 accepts", "powerband info net --probe eth0"),
            ("Show a simulated machine", "powerband info --machine sim:laptop"),
        ],
    ),
    ("get", &[("Read two knobs", "powerband get governor max_freq@policy0")]),
    (
        "why",
        &[
            ("Show what set the governor", "powerband why"),
            ("Show who changes any knob in the next 10 s", "powerband why --watch --for 10s"),
        ],
    ),
    ("knobs", &[("List the knobs", "powerband knobs"), ("Explain one", "powerband knobs ondemand.up_threshold")]),
    (
        "doctor",
        &[
            ("Check this machine", "powerband doctor"),
            ("Print what to merge into a kernel's configuration", "powerband doctor --kernel .config --fragment"),
        ],
    ),
    (
        "watch",
        &[
            ("Show the machine as it runs", "powerband watch"),
            ("Log ten samples per second", "powerband watch --interval 100ms --log run.csv"),
        ],
    ),
    (
        "capture",
        &[
            ("Record this machine", "powerband capture server"),
            ("Look at the recording", "powerband info --machine recorded:server"),
        ],
    ),
    (
        "sim",
        &[
            ("List the simulated machines", "powerband sim list"),
            ("Serve one to other programs", "powerband sim mount laptop /mnt/laptop"),
        ],
    ),
    (
        "service",
        &[
            ("Serve by the policy /etc/powerband/access.toml", "powerband service"),
            ("Print what a user may set", "powerband service --check alice"),
        ],
    ),
    ("agent", &[("Use the agent of another host", "powerband info --machine 'cmd:ssh board powerband agent'")]),
    ("completions", &[("Print completions for bash", "powerband completions bash")]),
    (
        "man",
        &[
            ("Print the page of one verb", "powerband man try"),
            ("Write all pages into a folder", "powerband man --dir man1"),
        ],
    ),
];

const LAYOUT: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// The command line as it is parsed and shown.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let overview = overview(&command);
    for name in &verbs {
        command = command.mut_subcommand(name, |verb| {
            let verb = match USAGE.iter().find(|(known, _)| known == name) {
                Some((_, usage)) => verb.override_usage(*usage),
                None => verb,
            };
            verb.help_template(LAYOUT).after_help(shown(name))
        });
    }
    command.override_usage("powerband VERB [OPTIONS]").help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{overview}\n{{options}}{{after-help}}"
    ))
}

/// The verbs in their groups, a line each.
fn overview(command: &Command) -> String {
    let about = |name: &str| match command.find_subcommand(name) {
        Some(verb) => verb.get_about().map(ToString::to_string).unwrap_or_default(),
        None => HELP.1.to_owned(),
    };
    let group = |(title, verbs): &(&str, &[&str])| {
        let lines: String = verbs.iter().map(|name| format!("  {name:<11}  {}\n", about(name))).collect();
        format!("{title}:\n{lines}")
    };
    GROUPS.iter().map(group).collect::<Vec<_>>().join("\n")
}

/// The examples of a verb; those of the first screen for no verb.
pub(crate) fn examples_of(verb: &str) -> &'static [Example] {
    let of_verb = EXAMPLES.iter().find(|(name, _)| *name == verb);
    of_verb.map_or(if verb.is_empty() { &FIRST } else { &[] }, |(_, examples)| examples)
}

/// The examples of a verb, for its help.
fn shown(verb: &str) -> String {
    let lines = examples_of(verb).iter().map(|(what, words)| format!("\n  {what}:\n    {words}"));
    format!("Examples:{}", lines.collect::<String>())
}

/// What is printed where no words are given: what the command is for, and where to go on.
pub(crate) fn first_screen() -> String {
    format!(
        "powerband: find the settings at which a Linux machine does its work best, by measuring\n\n\
         Usage: powerband VERB [OPTIONS]\n\n\
         {}\n\
         `powerband help` lists all verbs, `powerband try --help` explains one.",
        FIRST.iter().map(|(what, words)| format!("  {what}:\n    {words}\n")).collect::<String>()
    )
}

/// The examples of the first screen.
const FIRST: [Example; 5] = [
    ("Find the fastest CPU frequency governor for a program", "powerband try governor=all -- ./bench"),
    (
        "Find the lowest power that keeps a latency limit",
        "powerband tune max_freq=all --minimize power_w --require 'p99_us<=500' --load ping --far ssh:b2",
    ),
    ("Set a knob, and undo it later", "powerband set governor=performance && powerband undo"),
    ("Show what this machine has", "powerband info"),
    (
        "Try it on a simulated router, in seconds",
        "powerband --machine sim:omap3530 try governor=userspace freq=all --load counter",
    ),
];

#[cfg(test)]
mod tests;
