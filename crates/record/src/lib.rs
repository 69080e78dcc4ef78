//! What everything speaks: quantities and units, CPU lists, the setting grammar, Work, Outcome, Event, versioned shapes.
//!
//! Pure and at the bottom: nothing here reads a file, a clock or the machine. A shape that is written to disk or sent
//! over a wire lives here, so that the store, the journal, `--json` and the agent speak one spelling.
mod arrivals;
mod calibration;
mod command_knob;
mod command_meter;
mod cool;
mod counts;
mod cpulist;
mod csv;
mod event;
mod fact;
mod fleet;
mod hint;
mod hooks;
mod invocation;
mod load_knob;
mod meter_choice;
mod metric;
mod order;
mod outcome;
mod primes;
mod quantity;
mod recording;
mod requirement;
mod search;
mod seen;
mod setting;
mod shell_word;
mod side;
mod splitmix;
mod system_words;
mod timeline;
mod work;
mod writer;

pub use arrivals::{Arrivals, Schedule};
pub use calibration::{BackToBack, Calibration, Detectable, FalseAlarm, MAX_CALIBRATED_MARGIN, NoiseAdvice};
pub use command_knob::{CommandKnob, VALUE};
pub use command_meter::{CommandMeter, MeterUnit};
pub use cool::Cool;
pub use counts::Counts;
pub use cpulist::{CpuList, CpuListError};
pub use csv::{CsvError, CsvRows};
pub use event::{
    BaselineValue, BlockDone, CloseReason, Event, ExperimentHeader, Finding, JOURNAL_VERSION, KneeFinding, Level,
    Owner, PlannedSetting, PlannedTrial, ReachedSite, Resumption, SettingVerdict, Started, Verdict, placed,
};
pub use fact::{Fact, FactChange};
pub use fleet::FleetTask;
pub use hint::{ErrorClass, Hint};
pub use hooks::Hooks;
pub use invocation::Invocation;
pub use load_knob::{BACKGROUND, Background, COMMAND, DAEMON, LoadKnob, LoadVariant, NO_DAEMON, PARAMETER};
pub use meter_choice::MeterChoice;
pub use metric::{
    Better, DirectionSource, LOSS_MARGIN_PERCENT, MAX_LOST_PERCENT, Metric, MetricName, canonical_metric, direction_of,
    is_loss, unit_of,
};
pub use order::{InOrder, IntoOrdered};
pub use outcome::{
    CommandEnd, ExitStatus, FailedTrials, Histogram, Matches, Outcome, Output, Repeated, TakenMatch, Usage, Void,
};
pub use primes::primes_below;
pub use quantity::{
    FrequencyError, QuantityError, format_duration, format_khz, format_number, parse_duration_ns, parse_frequency_khz,
    parse_percent,
};
pub use recording::{Recorded, Recording};
pub use requirement::{LimitSide, Requirement, RequirementError, RequirementFinding, RequirementStanding, Standing};
pub use search::{
    SearchChange, SearchEnd, SearchExpected, SearchFactor, SearchFactorKind, SearchFinding, SearchGoal, SearchKept,
    SearchPhase, SearchPlan, SearchRole, SearchStanding, SearchUnproved,
};
pub use seen::seen;
pub use setting::{Assignment, Axis, BASELINE, KnobRef, Setting, SettingError, split_words};
pub use shell_word::{quoted, quoted_line};
pub use side::{NodeName, Side};
pub use splitmix::{splitmix, stirred};
pub use system_words::system_words;
pub use timeline::{MeterQuantity, MeterReading, Timeline, TimelineError};
pub use work::{Among, Demand, Protocol, ShopServer, Work};
pub use writer::Writer;

#[cfg(test)]
mod tests;
