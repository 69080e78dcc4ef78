//! Tasks as batch jobs of Slurm: one exclusive job for each node, known by its name.
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use powerband_record::quoted;

use crate::{Fleet, FleetError, Folder, Launcher, Seen};

/// How often Slurm is asked, ms: its controller answers for everybody.
const PERIOD_MS: u64 = 2_000;

/// Batch jobs.
#[derive(Clone, Debug, Default)]
pub struct Slurm {
    partition: Option<String>,
    options: Vec<String>,
}

/// A job of this fleet.
#[derive(Debug, PartialEq, Eq)]
struct Job {
    id: String,
    position: u32,
    seen: Seen,
}

impl Slurm {
    /// In a partition, with more options of sbatch.
    #[must_use]
    pub fn new(partition: Option<String>, options: Vec<String>) -> Slurm {
        Slurm { partition, options }
    }

    /// Nodes of the partition that are not down, at most `most`.
    ///
    /// # Errors
    /// [`FleetError`] when Slurm cannot be asked.
    pub fn nodes(&self, most: usize) -> Result<Vec<String>, FleetError> {
        let mut words = vec!["--noheader", "--Node", "--format=%N %T %P", "--responding"];
        words.extend(self.partition.iter().flat_map(|name| ["--partition", name.as_str()]));
        let printed = ask("sinfo", &words, None)?;
        let mut nodes: Vec<String> = Vec::new();
        // The default partition has an asterisk behind its name.
        let by_default = self.partition.is_none() && printed.lines().any(|line| line.trim_end().ends_with('*'));
        for line in printed.lines().filter(|line| !by_default || line.trim_end().ends_with('*')) {
            let mut words = line.split_whitespace();
            let (Some(name), Some(state)) = (words.next(), words.next()) else { continue };
            let usable =
                ["idle", "allocated", "mixed", "completing", "reserved"].iter().any(|word| state.starts_with(word));
            if usable && nodes.iter().all(|node| node != name) && nodes.len() < most {
                nodes.push(name.to_owned());
            }
        }
        Ok(nodes)
    }

    fn jobs(&self, fleet: &Fleet) -> Result<Vec<Job>, FleetError> {
        let printed = ask("squeue", &["--noheader", "--all", "--me", "--states=all", "--format=%i|%j|%T|%r"], None)?;
        Ok(jobs(&printed, &prefix(fleet)))
    }
}

/// What the names of a fleet's jobs begin with.
fn prefix(fleet: &Fleet) -> String {
    format!("powerband-{}-", fleet.short())
}

/// The jobs of a fleet in what squeue prints.
fn jobs(printed: &str, prefix: &str) -> Vec<Job> {
    let job = |line: &str| {
        let mut parts = line.split('|');
        let (id, name, state) = (parts.next()?, parts.next()?, parts.next()?);
        let position = name.strip_prefix(prefix)?.parse().ok()?;
        Some(Job { id: id.to_owned(), position, seen: seen(id, state, parts.next().unwrap_or_default()) })
    };
    printed.lines().filter_map(job).collect()
}

fn seen(id: &str, state: &str, reason: &str) -> Seen {
    const ENDED: [&str; 10] = [
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "BOOT_FAIL",
        "DEADLINE",
        "PREEMPTED",
        "REVOKED",
    ];
    match state {
        "COMPLETED" => Seen::Ended(None),
        state if ENDED.contains(&state) => {
            let why = Some(reason).filter(|reason| !reason.is_empty() && *reason != "None");
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            Seen::Ended(Some(format!("Slurm's job {id} ended as {}{why}", state.to_lowercase())))
        }
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" => {
            let stuck = ["ReqNodeNotAvail", "NodeDown", "DOWN", "DRAINED", "held", "Held", "BadConstraints"];
            Seen::Waiting { why: reason.to_owned(), stuck: stuck.iter().any(|word| reason.contains(word)) }
        }
        _ => Seen::Running,
    }
}

impl Launcher for Slurm {
    fn start(&mut self, fleet: &Fleet, folder: &Folder, position: u32) -> Result<Option<String>, FleetError> {
        let Some(node) = fleet.node(position) else { return Ok(Some("it is not in the order".into())) };
        let name = format!("--job-name={}{position}", prefix(fleet));
        let (nodelist, path) = (format!("--nodelist={}", node.name), folder.path());
        let output = format!("--output={}/node-{}-job-%j.log", path.display(), node.name);
        let mut words = vec!["--parsable", "--nodes=1", "--ntasks=1", "--exclusive", "--requeue", "--open-mode=append"];
        words.extend([name.as_str(), nodelist.as_str(), output.as_str()]);
        words.extend(self.partition.iter().flat_map(|name| ["--partition", name.as_str()]));
        words.extend(self.options.iter().map(String::as_str));
        // The shell becomes the task, so that what Slurm signals is the task.
        let (program, path) = (quoted(&fleet.program), quoted(&path.display().to_string()));
        let script = format!("#!/bin/sh\nexec {program} fleet task --folder {path} --position {position}\n");
        match ask("sbatch", &words, Some(&script)) {
            Ok(_) => Ok(None),
            Err(FleetError::Refused { why, .. }) => Ok(Some(why)),
            Err(error) => Err(error),
        }
    }

    fn look(&mut self, fleet: &Fleet) -> Result<BTreeMap<u32, Seen>, FleetError> {
        let mut all = BTreeMap::new();
        for job in self.jobs(fleet)? {
            // A node that was started again has several jobs: the one that lives counts.
            let live = all.get(&job.position).is_some_and(Seen::is_live);
            if !live {
                all.insert(job.position, job.seen);
            }
        }
        Ok(all)
    }

    fn cancel(&mut self, fleet: &Fleet, positions: &[u32]) -> Result<(), FleetError> {
        let jobs = self.jobs(fleet)?;
        let live = jobs.iter().filter(|job| job.seen.is_live() && positions.contains(&job.position));
        let ids: Vec<&str> = live.map(|job| job.id.as_str()).collect();
        if ids.is_empty() { Ok(()) } else { ask("scancel", &ids, None).map(drop) }
    }

    fn period_ms(&self) -> u64 {
        PERIOD_MS
    }
}

/// Runs a program of Slurm; what it printed.
fn ask(program: &str, words: &[&str], input: Option<&str>) -> Result<String, FleetError> {
    let none = |error: std::io::Error| FleetError::NoProgram {
        program: program.into(),
        why: powerband_record::system_words(&error),
    };
    let mut command = Command::new(program);
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(none)?;
    if let (Some(mut stdin), Some(text)) = (child.stdin.take(), input) {
        // One that does not read it says why by its end.
        drop(stdin.write_all(text.as_bytes()));
    }
    let ended = child.wait_with_output().map_err(none)?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    let why = if said.is_empty() { ended.status.to_string() } else { said };
    Err(FleetError::Refused { program: program.into(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_this_fleet_are_found_by_their_names() {
        let printed = "12|powerband-abc-0|RUNNING|None\n13|powerband-abc-1|PENDING|ReqNodeNotAvail, UnavailableNodes:n2\n\
                    14|powerband-abc-2|FAILED|NonZeroExitCode\n15|powerband-xyz-0|RUNNING|None\n16|other|RUNNING|None\n\
                    17|powerband-abc-3|COMPLETED|None\n18|powerband-abc-4|PENDING|Resources\n";
        let jobs = jobs(printed, "powerband-abc-");
        let seen: Vec<(u32, &Seen)> = jobs.iter().map(|job| (job.position, &job.seen)).collect();
        let waiting = |why: &str, stuck| Seen::Waiting { why: why.into(), stuck };
        assert_eq!(
            seen,
            [
                (0, &Seen::Running),
                (1, &waiting("ReqNodeNotAvail, UnavailableNodes:n2", true)),
                (2, &Seen::Ended(Some("Slurm's job 14 ended as failed (NonZeroExitCode)".into()))),
                (3, &Seen::Ended(None)),
                (4, &waiting("Resources", false)),
            ]
        );
    }
}
