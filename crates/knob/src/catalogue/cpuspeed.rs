//! `cpuspeed.*`: the daemon that sets clocks under `userspace`.
use powerband_machine::Errno;

use super::plain::{Place, PlainFile};
use super::takes::Takes;
use crate::{About, Phase, Scope};

pub(super) const DAEMON: PlainFile = PlainFile::new(
    &About {
        name: "cpuspeed.daemon",
        short: "cpuspeed",
        aliases: &[],
        unit: "",
        scope: Scope::System,
        summary: "whether the daemon cpuspeed sets the frequencies",
        doc: "The daemon of Red Hat Enterprise Linux 5 and 6: every 2 s it checks how idle the CPUs of a frequency domain \
              were; at 10 % or less it chooses the highest frequency, below 25 % one step up, above 25 % one step down. When \
              it ends it restores the frequencies it started with. Simulated machines have it if their file has a table \
              [cpuspeed]. On a real machine it is a service: declare its start and its stop as a \
              knob of the plan.",
        accepts: "on, off",
        needs: "governor=userspace",
        source: "its manual page, version 1.2.1",
        invalid: "its CPUs are not all under userspace: set governor=userspace first",
        phase: Phase::Frequency,
    },
    Place::System(&["/sys/kernel/powerband/cpuspeed"]),
    Takes::Flag,
    "powerband starts it on simulated machines alone, on those whose file has a table [cpuspeed]; on a \
     real machine declare the service's start and stop as a knob of the plan (docs/design/command-knobs.md)",
    &[(Errno::ENODEV, "this machine has no daemon cpuspeed")],
);
