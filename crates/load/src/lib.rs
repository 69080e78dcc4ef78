//! WHAT MAKES IT WORK: loads as descriptions. A load says which parts run where, and reads metrics out of what they report.
//!
//! Everything here is data and reading; what runs inside the child process is [`inside`], the only part that calls the
//! system. A machine gets a load as [`powerband_record::Work`], so a simulated one can model what a real one runs.
mod command;
mod command_line;
mod counter;
mod drivers;
mod error;
mod idle;
mod ignored;
pub mod inside;
mod kind;
mod ladder;
mod latency;
mod load;
mod metric;
mod orders;
mod part;
mod pick;
mod ping;
mod primes;
mod reported;
mod shop;
mod spelling;
mod spread;
mod stream;
mod wake;

pub use command::{CommandLoad, CommandOutput};
pub use command_line::{CommandLine, Shell, is_shell_text};
pub use counter::CounterLoad;
pub use drivers::{Reads, tools_page};
pub use error::LoadError;
pub use idle::IdleLoad;
pub use ignored::IgnoredStatuses;
pub use kind::{LoadFacts, LoadKind};
pub use ladder::{Calibrate, LadderLoad, LevelOrder, Stage};
pub use load::Load;
pub use orders::OrdersLoad;
pub use part::{LoadPart, RigEnds, Server};
pub use pick::{MetricSpec, NumberStyles, PickError, Picked, Source, Take};
pub use ping::PingLoad;
pub use primes::{Mpirun, PrimesLoad};
pub use reported::{Concluded, Finishes, failed};
pub use shop::ShopLoad;
pub use spread::joined;
pub use stream::{Direction, StreamLoad, Transport};
pub use wake::WakeLoad;
