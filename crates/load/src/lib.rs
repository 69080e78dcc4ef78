//! WHAT MAKES IT WORK: loads as descriptions. A load says which parts run where, and reads metrics out of what they report.
//!
//! Everything here is data and reading; what runs inside the child process is [`inside`], the only part that calls the
//! system. A machine gets a load as [`powerband_record::Work`], so a simulated one can model what a real one runs.
mod command;
mod command_line;
mod counter;
mod drivers;
mod idle;
pub mod inside;
mod ladder;
mod latency;
mod load;
mod orders;
mod pick;
mod ping;
mod primes;
mod reported;
mod shop;
mod spread;
mod stream;
mod wake;

pub use command::{CommandLoad, CommandOutput};
pub use command_line::{CommandLine, Shell, is_shell_text};
pub use counter::CounterLoad;
pub use drivers::Reads;
pub use idle::IdleLoad;
pub use ladder::{Calibrate, LadderLoad, LevelOrder, Stage};
pub use load::{Concluded, Load, LoadError, LoadPart, RigEnds, Server, failed};
pub use orders::OrdersLoad;
pub use pick::{MetricSpec, PickError, Source};
pub use ping::PingLoad;
pub use primes::{Mpirun, PrimesLoad};
pub use reported::Finishes;
pub use shop::ShopLoad;
pub use spread::joined;
pub use stream::{Direction, StreamLoad, Transport};
pub use wake::WakeLoad;
