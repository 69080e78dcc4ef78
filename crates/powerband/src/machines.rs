//! `--machines`: a list of machines as it is typed, and what is meant by it: nodes of a Slurm allocation, hosts by their names.
use powerband_fleet::parse_nodes;
use powerband_record::quoted;
use powerband_rig::{MachineName, Names};

use crate::cli::{Shared, Verb};
use crate::exit::{Failure, usage};

/// The nodes of the allocation that we run in.
const SLURM: &str = "slurm";

/// The allocation that we run in, if it is one.
struct Allocation {
    nodes: Vec<String>,
    /// The node we are on, where we run in a task or a batch script.
    here: Option<String>,
}

impl Allocation {
    fn of_environment() -> Result<Option<Allocation>, Failure> {
        let variable = |name| powerband_host::text_variable(name).filter(|text: &String| !text.is_empty());
        let Some(list) = variable("SLURM_JOB_NODELIST") else { return Ok(None) };
        let nodes = parse_nodes(&list).map_err(|error| usage(format!("SLURM_JOB_NODELIST: {error}")))?;
        Ok(Some(Allocation { nodes, here: variable("SLURMD_NODENAME") }))
    }

    /// The machine of a node: this one, or one behind an agent that a step of the job starts there. Without `-u` Slurm keeps what
    /// the agent says until a line is full, and with `--overlap` the agent takes no CPU from the load.
    fn machine(&self, node: &str, program: &str) -> String {
        if self.here.as_deref() == Some(node) {
            return format!("{node}=local");
        }
        let program = quoted(program);
        format!("{node}=cmd:srun -u -Q --overlap -N1 -n1 -w {node} {program} agent")
    }
}

/// A list of machines in full, each as `NAME=MACHINE` or `MACHINE`. The machine that we are on comes first, as it runs the load.
///
/// # Errors
/// [`Failure`] for `slurm` outside of an allocation, a name of no machine, and one that two machines have.
pub(crate) fn expanded(words: &[String]) -> Result<Vec<String>, Failure> {
    let mut machines = Vec::new();
    for word in words {
        for part in parts(word)? {
            machines.extend(meant(part.trim())?);
        }
    }
    machines.sort_by_key(|machine| !machine.ends_with("=local"));
    if !words.is_empty() {
        Names::list(&machines)?;
    }
    Ok(machines)
}

fn meant(word: &str) -> Result<Vec<String>, Failure> {
    let machine = word.split_once('=').map_or(word, |(_, machine)| machine);
    if MachineName::of(word).is_some() || MachineName::of(machine).is_some() {
        return Ok(vec![word.to_owned()]);
    }
    let allocation = Allocation::of_environment()?;
    let program = || {
        let path = powerband_host::program_path().map(|path| path.display().to_string());
        path.map_err(|error| usage(format!("the path of this program is unknown ({error})")))
    };
    if word == SLURM {
        let allocation = allocation.ok_or_else(|| {
            usage(
                "--machines slurm means the nodes of an allocation, and this is none (SLURM_JOB_NODELIST is not set); run it \
                 in one, e.g. `salloc -N2 --exclusive powerband …`, or name the machines: --machines n1,n2",
            )
        })?;
        let program = program()?;
        return Ok(allocation.nodes.iter().map(|node| allocation.machine(node, &program)).collect());
    }
    let nodes = parse_nodes(word).map_err(|error| usage(format!("--machines {word}: {error}")))?;
    let host = |node: String| match &allocation {
        Some(allocation) if allocation.nodes.contains(&node) => Ok(allocation.machine(&node, &program()?)),
        _ => Ok(format!("ssh:{node}")),
    };
    nodes.into_iter().map(host).collect()
}

/// The parts between commas that are not in brackets; a command is one part with all its commas.
///
/// # Errors
/// [`Failure`] where a command comes after another machine: where it ends cannot be seen.
fn parts(word: &str) -> Result<Vec<&str>, Failure> {
    let mut inside = false;
    let at = |c: char| {
        inside = (inside || c == '[') && c != ']';
        c == ',' && !inside
    };
    let parts: Vec<&str> = word.split(at).filter(|part| !part.trim().is_empty()).collect();
    let is_command = |part: &&str| {
        let machine = part.split_once('=').map_or(*part, |(_, machine)| machine).trim();
        ["cmd:", "cmd@", "sh:", "sh@", "sh+"].iter().any(|kind| machine.starts_with(kind))
    };
    match parts.iter().position(is_command) {
        None => Ok(parts),
        Some(0) => Ok(vec![word]),
        Some(place) => Err(usage(format!(
            "a machine behind a command takes an option of its own: --machines {} --machines {}",
            quoted(&parts[..place].join(",")),
            quoted(&parts[place..].join(",")),
        ))),
    }
}

/// Whether a machine's name is several. A file's name may have commas, too.
fn is_list(name: &str) -> bool {
    let others = |parts: &[&str]| parts.len() > 1 && parts[1..].iter().all(|part| part.contains(':'));
    parts(name).is_ok_and(|parts| others(&parts) || parts.len() > 1 && !name.contains(':'))
}

/// The machines of the options, in full.
///
/// # Errors
/// [`Failure`] as for [`expanded`], and for a command that uses one machine.
pub(crate) fn of_options(mut shared: Shared, verb: &Verb) -> Result<Shared, Failure> {
    if shared.machines.is_empty() {
        return match shared.machine.as_deref().filter(|name| is_list(name)) {
            Some(name) => Err(usage(format!("--machine takes one machine; for a list write --machines {name}"))),
            None => Ok(shared),
        };
    }
    if let Some(far) = &shared.far {
        return Err(usage(format!("a list of machines has no peer; leave out --far {far}")));
    }
    if let Some(machine) =
        shared.machine.as_ref().filter(|it| powerband_host::text_variable("POWERBAND_MACHINE").as_ref() != Some(*it))
    {
        return Err(usage(format!("a list has all machines; leave out --machine {machine}, or put it into the list")));
    }
    if !matches!(
        verb,
        Verb::Run(_)
            | Verb::Try(_)
            | Verb::Tune(_)
            | Verb::Calibrate(_)
            | Verb::Set(_)
            | Verb::With(_)
            | Verb::Undo(_)
            | Verb::Get(_)
            | Verb::Why(_)
            | Verb::Keep(_)
            | Verb::Unkeep(_)
            | Verb::Check
            | Verb::Confirm
    ) {
        return Err(usage(
            "--machines is for run, try, tune, calibrate, set, with, undo, get, why, keep, unkeep, check and confirm; \
             name one with --machine",
        ));
    }
    shared.machines = expanded(&shared.machines)?;
    Ok(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_at_its_commas_alone() {
        let parts = |word| parts(word).map_err(|failure| failure.sentence);
        assert_eq!(parts("n[1,3],ssh:b, sim:pc#1").unwrap(), ["n[1,3]", "ssh:b", " sim:pc#1"]);
        assert_eq!(parts("n1=cmd:env A=1,2 powerband agent").unwrap(), ["n1=cmd:env A=1,2 powerband agent"]);
        assert_eq!(parts("a=sh:ssh b1 sh,b").unwrap(), ["a=sh:ssh b1 sh,b"]);
        assert!(parts(" , ").unwrap().is_empty());
        let mixed = parts("a=ssh:b1,b=cmd:x 1,2").unwrap_err();
        assert!(mixed.ends_with("--machines a=ssh:b1 --machines 'b=cmd:x 1,2'"), "{mixed}");
    }

    #[test]
    fn a_node_of_an_allocation_is_behind_a_step_of_the_job() {
        let nodes = vec!["n1".to_owned(), "n2".to_owned()];
        let allocation = Allocation { nodes, here: Some("n2".into()) };
        let step = "n1=cmd:srun -u -Q --overlap -N1 -n1 -w n1 /opt/powerband agent";
        assert_eq!(allocation.machine("n1", "/opt/powerband"), step);
        assert_eq!(allocation.machine("n2", "/opt/powerband"), "n2=local");
        assert!(allocation.machine("n1", "/opt/a b").ends_with("'/opt/a b' agent"));
    }
}
