//! The words of `fleet`.
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{COMMON, MACHINE, OUTPUT, STATISTICS};

/// `fleet`.
#[derive(Args, Debug)]
pub(crate) struct Fleet {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: FleetVerb,
}

/// Verbs of `fleet`.
#[derive(Subcommand, Debug)]
pub(crate) enum FleetVerb {
    /// Run a plan on many nodes, and report what holds for all of them
    Run(Box<FleetRun>),
    /// Show how each node is getting on
    Status(OneFleet),
    /// End a fleet; its nodes restore what they changed
    Cancel(OneFleet),
    /// Show what a fleet found
    Report(FleetReport),
    /// Show what settings do to several applications: a fleet for each, on the same nodes
    Table(FleetTable),
    /// Start again what was lost or is incomplete
    Resume(FleetResume),
    /// Run the part of one node
    #[command(hide = true)]
    Task(FleetTask),
}

/// `fleet run`.
#[derive(Args, Debug)]
pub(crate) struct FleetRun {
    /// Plan file
    #[arg(value_name = "PLAN.toml")]
    pub(crate) plan: PathBuf,
    /// Nodes to measure, e.g. n[1-16] or n1,n2 (default: with -N, those of the partition)
    #[arg(long, value_name = "LIST", help_heading = MACHINE)]
    pub(crate) nodes: Option<String>,
    /// File with a node per line; # begins a comment
    #[arg(long, value_name = "FILE", conflicts_with = "nodes", help_heading = MACHINE)]
    pub(crate) nodes_file: Option<PathBuf>,
    /// Number of nodes: those of the partition, or with a launcher node1, node2, ...
    #[arg(short = 'N', value_name = "N", conflicts_with_all = ["nodes", "nodes_file"], value_parser = clap::value_parser!(u32).range(1..), help_heading = COMMON)]
    pub(crate) count: Option<u32>,
    /// Partition of Slurm (default: Slurm's default partition)
    #[arg(long, value_name = "NAME", conflicts_with = "launcher", help_heading = MACHINE)]
    pub(crate) partition: Option<String>,
    /// One more option of sbatch, e.g. --sbatch=--account=me; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, conflicts_with = "launcher", help_heading = MACHINE)]
    pub(crate) sbatch: Vec<String>,
    /// Command that runs a command on a node, e.g. 'ssh {node}', or local (default: Slurm)
    ///
    /// No folder has to be shared with the nodes: results come over the command's output. `local` runs all tasks here, for plans
    /// on simulated machines.
    #[arg(long, value_name = "COMMAND", help_heading = MACHINE)]
    pub(crate) launcher: Option<String>,
    /// Where the nodes find powerband (default: the path of this program)
    #[arg(long, value_name = "PATH", help_heading = MACHINE)]
    pub(crate) program: Option<String>,
    /// Blocks that each node runs; each block runs every setting once (default: 4)
    #[arg(long, value_name = "N", default_value = "4", hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..10_000), help_heading = STATISTICS)]
    pub(crate) blocks: u32,
    /// How many nodes measure at once; the first look comes after as many (default: 4)
    #[arg(long, value_name = "N", default_value = "4", hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..), help_heading = STATISTICS)]
    pub(crate) at_once: u32,
    /// Folder for the fleet, which nodes of Slurm must share (default: fleets/KEY in the state folder)
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) folder: Option<PathBuf>,
    /// Submit the tasks of all nodes and return; there is no early stop then
    #[arg(long, conflicts_with = "launcher", help_heading = COMMON)]
    pub(crate) no_wait: bool,
    /// How it is waited for.
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

/// How a fleet is waited for.
#[derive(Args, Debug)]
pub(crate) struct Waiting {
    /// Give up a node whose task shows no sign of life for this time (default: 10m)
    ///
    /// A task shows one every 5 s, also where its launcher says that the node is away. A launcher that queues needs a longer time.
    /// Once everything is decided, what still runs is cancelled after the same time.
    #[arg(long, value_name = "TIME", default_value = "10m", hide_default_value = true, help_heading = STATISTICS)]
    pub(crate) give_up: String,
    /// Show no progress on the terminal
    #[arg(short, long, help_heading = COMMON)]
    pub(crate) quiet: bool,
}

/// A fleet.
#[derive(Args, Debug)]
pub(crate) struct OneFleet {
    /// The fleet: its folder, the beginning of its key, or last
    #[arg(default_value = "last")]
    pub(crate) fleet: String,
}

/// `fleet report`.
#[derive(Args, Debug)]
pub(crate) struct FleetReport {
    /// Which.
    #[command(flatten)]
    pub(crate) of: OneFleet,
    /// Write one HTML page with charts instead (-: standard output)
    #[arg(short, long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output", help_heading = OUTPUT)]
    pub(crate) force: bool,
}

/// `fleet table`.
#[derive(Args, Debug)]
pub(crate) struct FleetTable {
    /// The fleets: each its folder, the beginning of its key, or last
    #[arg(value_name = "FLEET", num_args = 1.., required = true)]
    pub(crate) fleets: Vec<String>,
}

/// `fleet resume`.
#[derive(Args, Debug)]
pub(crate) struct FleetResume {
    /// Which.
    #[command(flatten)]
    pub(crate) of: OneFleet,
    /// How it is waited for.
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

/// `fleet task`.
#[derive(Args, Debug)]
pub(crate) struct FleetTask {
    /// Folder of the fleet
    #[arg(long, value_name = "DIR", requires = "position", required_unless_present = "stdio", help_heading = COMMON)]
    pub(crate) folder: Option<PathBuf>,
    /// Position in the order
    #[arg(long, value_name = "N", help_heading = COMMON)]
    pub(crate) position: Option<u32>,
    /// Read what to do from standard input, and print the results
    #[arg(long, conflicts_with = "folder", help_heading = COMMON)]
    pub(crate) stdio: bool,
}
