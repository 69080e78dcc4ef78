//! Why a load cannot be used.
use thiserror::Error;

/// Why a load cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No such load.
    #[error("there is no load '{name}'; there are: {}, or any command behind --", crate::load::BUILT_IN.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// A fixed duration that is zero.
    #[error("a {0} needs a length above zero; write e.g. --for 5s")]
    NoTime(&'static str),
    /// A fixed duration where there is none.
    #[error("the load '{0}' runs to its own end; leave out --for")]
    OwnEnd(&'static str),
    /// Parameters that make no sense.
    #[error("{kind}: {why}; write e.g. {example}")]
    Mistake {
        /// Of which load.
        kind: &'static str,
        /// What makes no sense.
        why: &'static str,
        /// Parameters that make sense.
        example: &'static str,
    },
    /// A peer's port without a peer.
    #[error(
        "far_port is the port of far_command; write e.g. far_command = [\"iperf3\", \"-s\", \"-1\"], or leave it out"
    )]
    PortAlone,
    /// A command without a program.
    #[error("the command is empty; put a program behind --")]
    Empty,
    /// One command in two places.
    #[error("a load has either argv or commands; leave one of them out")]
    TwoCommands,
    /// A number of runs for a command that runs once.
    #[error(
        "a command whose output is read, which has a far command or whose cost is modelled runs once in each trial; leave --repeat out"
    )]
    Repeated,
    /// A command line that cannot be read.
    #[error("{0}")]
    Command(String),
    /// A setting that changes what the load has not.
    #[error("{0}")]
    Variant(String),
}
