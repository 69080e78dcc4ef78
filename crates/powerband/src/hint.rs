//! Hints in the command's words: what to type next, behind the sentence of a failure or a note.
use powerband_record::{Hint, quoted};
use powerband_report::words::named_store;

use crate::typed::words;

/// Begins with what separates it from the sentence; nothing without a hint.
pub(crate) fn behind(hint: Option<&Hint>) -> String {
    let Some(hint) = hint else { return String::new() };
    let text = match hint {
        Hint::MachineNames => {
            "; use local, ssh:HOST, cmd:COMMAND, sh:COMMAND, sh+agent:COMMAND, recorded:DIR, table:FILE.csv, or sim:NAME for one that \
             `powerband sim list` shows"
        }
        Hint::EachMachine { near, far } => {
            let ssh = |host| quoted(&format!("ssh:{host}"));
            return format!(": write --machine {} --far {}", ssh(near), ssh(far));
        }
        Hint::LeaveOutPeer => "; without --far a stream runs over its loopback",
        Hint::NamePeer => "; name it with --far",
        Hint::MeasureTable(name) => {
            let name = quoted(name);
            return format!("; powerband try, tune and run --machine {name} draw trials from it, alone");
        }
        Hint::RehearseSimulated => "; rehearse with --machine sim:NAME",
        Hint::ServeSimulated(profile) => {
            let profile = quoted(profile);
            return format!(
                "; `powerband sim mount {profile} DIR` serves it to other programs, and bound over /sys/devices/system/cpu it can be \
                 watched as this machine"
            );
        }
        Hint::RestoreForeign => "; `powerband undo --left --force` restores what was there before",
        Hint::ForgetLeft => "; `powerband undo --left --force` forgets it",
        Hint::UndoThere => "; `powerband undo` there restores them",
        Hint::RestoreLeft { several } => {
            let them = if *several { "them" } else { "it" };
            return format!("; `powerband undo --left` or the next command that sets a knob restores {them}");
        }
        Hint::RestoreLeftAt(machine) => {
            return format!("; `powerband --machine {} undo --left` restores it", quoted(machine));
        }
        Hint::LoadAsRoot => "; add --as-root to run the load as root",
        Hint::AsRoot => "; add --as-root to run it as root",
        Hint::Capture => "; `powerband capture DIR` records a machine into a folder",
        Hint::SlowPeer => "; where it is only slow, add --peer-timeout 60s",
        Hint::NameAgent => "; name it with `--far 'cmd:…'` or `--far ssh:HOST`",
        Hint::ListChanged => "; `powerband undo --list` shows what is set",
        Hint::OtherStore => "; name another place with --store",
        Hint::Update => "; update powerband, or name another place with --store",
        Hint::ListExperiments => "; `powerband list` shows what there is",
        Hint::ListStates => "; `powerband list` shows its state",
        Hint::MakeExperiment => "; `powerband try` makes one",
        Hint::RunFirstPlan => "; begin with e.g. `powerband run plans/router.toml`",
        Hint::RunPlan => "; on any other run the plan itself, e.g. `powerband run plans/router.toml`",
        Hint::LeaveOutHooks => "; leave out --prepare, --conclude, --setup and --cleanup",
        Hint::GiveSeed => "; give one with --seed, e.g. --seed 1",
        Hint::GiveMargin => "; --margin gives another",
        Hint::Trust => "; add --trust to allow it",
        Hint::WritePage => "; `powerband report ID -o FILE.html` writes one",
        Hint::Resume(id) => {
            let store = named_store(&words().collect::<Vec<_>>());
            return format!("; `powerband{store} resume {id}` goes on");
        }
        Hint::AsBegun { id, plan } => {
            let plan = quoted(plan);
            return format!(
                "; `powerband resume {id} --as-begun` goes on with what was begun, `powerband run {plan}` begins anew"
            );
        }
        Hint::PushStore => "; `powerband store push` delivers the rest",
        Hint::ShowStored { store, id } => {
            return format!(": `powerband --store {} show {id}`", quoted(store));
        }
        _ => "",
    };
    text.to_owned()
}
