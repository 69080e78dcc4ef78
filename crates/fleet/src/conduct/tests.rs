//! Fleets whose tasks are played: in which order they end, are lost or run twice does not change what is decided.
use powerband_record::{Event, ExperimentHeader, Finding, JOURNAL_VERSION};
use tempfile::TempDir;

use super::*;
use crate::{Via, numbered, order};

/// Blocks of each node.
const BLOCKS: u32 = 2;

/// How long is waited for what never comes; far longer than what comes takes.
const BRIEF: Duration = Duration::from_secs(2);

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plays {
    /// Ends well after so many looks.
    Ends(u32),
    /// Ends after so many looks and has handed nothing back.
    Dies(u32),
    /// Waits for a node that is not there.
    Stuck,
    /// Is dead, and said to run for ever.
    Undead,
}

/// Tasks that are played, one of them so.
fn playing(at: u32, plays: Plays) -> Played {
    Played { plays: BTreeMap::from([(at, plays)]), ..Played::default() }
}

#[derive(Default)]
struct Played {
    plays: BTreeMap<u32, Plays>,
    folder: Option<Folder>,
    running: BTreeMap<u32, u32>,
    ended: BTreeSet<u32>,
    started: Vec<u32>,
    most: usize,
    cancelled: Vec<u32>,
}

impl Played {
    fn plays(&self, at: u32) -> Plays {
        self.plays.get(&at).copied().unwrap_or(Plays::Ends(1))
    }
}

impl Launcher for Played {
    fn start(&mut self, _: &Fleet, folder: &Folder, position: u32) -> Result<Option<String>, FleetError> {
        self.folder = Some(folder.clone());
        self.running.insert(position, 0);
        self.ended.remove(&position);
        self.started.push(position);
        self.most = self.most.max(self.running.len());
        Ok(None)
    }

    fn look(&mut self, fleet: &Fleet) -> Result<BTreeMap<u32, Seen>, FleetError> {
        self.running.values_mut().for_each(|looks| *looks += 1);
        let is_over = |(at, looks): &(&u32, &u32)| match self.plays(**at) {
            Plays::Ends(after) | Plays::Dies(after) => **looks > after,
            Plays::Stuck | Plays::Undead => false,
        };
        let over: Vec<u32> = self.running.iter().filter(is_over).map(|(at, _)| *at).collect();
        for at in over {
            self.running.remove(&at);
            self.ended.insert(at);
            if let (Plays::Ends(_), Some(folder)) = (self.plays(at), &self.folder) {
                write(folder, fleet, at);
            }
        }
        let live = |at: &u32| match self.plays(*at) {
            Plays::Stuck => Seen::Waiting { why: "ReqNodeNotAvail".into(), stuck: true },
            _ => Seen::Running,
        };
        let mut seen: BTreeMap<u32, Seen> = self.running.keys().map(|at| (*at, live(at))).collect();
        seen.extend(self.ended.iter().map(|at| (*at, Seen::Ended(None))));
        Ok(seen)
    }

    fn cancel(&mut self, _: &Fleet, positions: &[u32]) -> Result<(), FleetError> {
        for at in positions {
            self.cancelled.push(*at);
            if self.plays(*at) != Plays::Undead {
                self.running.remove(at);
                self.ended.insert(*at);
            }
        }
        Ok(())
    }

    fn period_ms(&self) -> u64 {
        1
    }
}

/// Hands back what a node measured.
fn write(folder: &Folder, fleet: &Fleet, position: u32) {
    let node = &fleet.nodes[position as usize].name;
    let mut file = folder.next_attempt(node).unwrap();
    let header = serde_json::json!({
        "journal_version": JOURNAL_VERSION, "id": 1, "fleet": fleet.task(position, file.number()), "started_unix_s": 0,
        "host": node, "powerband": "test", "command_line": [],
    });
    file.value(&serde_json::from_value::<ExperimentHeader>(header).unwrap(), false).unwrap();
    let restored = Event::Restored { entries: 0, failed: Vec::new(), changed: Vec::new() };
    file.value(&restored, false).unwrap();
    let finding: Finding = serde_json::from_value(serde_json::json!({
        "reason": "blocks", "blocks": BLOCKS, "trials": 4, "voids": 0, "verdicts": [], "levels": [], "at_ns": 1
    }))
    .unwrap();
    file.value(&Event::Closed(finding), true).unwrap();
}

/// Decides once this many nodes of the order are there; keeps what it was shown.
struct After(u32, Vec<Vec<bool>>);

impl Judge for After {
    fn look(&mut self, nodes: &[(bool, Option<&Attempt>)]) -> Result<Look, String> {
        let first = nodes.iter().take_while(|(finished, _)| *finished).count();
        self.1.push(nodes[..first].iter().map(|(_, attempt)| attempt.is_some()).collect());
        let first = u32::try_from(first).unwrap();
        Ok(Look { nodes: first.min(self.0), decided: first >= self.0 })
    }
}

struct Silent;

impl Listener for Silent {
    fn standing(&mut self, _: &[NodeStanding]) {}
    fn look(&mut self, _: &Look) {}
    fn note(&mut self, _: &str) {}
}

/// How it ended, and what the judge was shown.
type Shown = (End, Vec<Vec<bool>>);

struct Story {
    home: TempDir,
    fleet: Fleet,
    folder: Folder,
}

impl Story {
    fn new(nodes: u32, at_once: u32) -> Story {
        let home = TempDir::new().unwrap();
        let names = (1..=nodes).map(|number| format!("n{number}")).collect();
        let (nodes, via) = (order(1, numbered(names)), Via::Command { command: String::new() });
        let fleet = serde_json::json!({
            "version": 1, "key": "0123456789abcdef0123456789abcdef", "plan_file": "plan.toml", "plan": "", "seed": 1,
            "blocks": BLOCKS, "at_once": at_once, "nodes": nodes, "via": via, "program": "powerband",
            "started_unix_s": 0, "command_line": [],
        });
        let fleet = serde_json::from_value(fleet).unwrap();
        let folder = Folder::make(&home.path().join("fleets"), None, &fleet).unwrap();
        Story { home, fleet, folder }
    }

    fn conduct(&self, played: &mut Played, decides: u32) -> Shown {
        self.conduct_for(played, decides, Duration::from_secs(3600))
    }

    fn conduct_for(&self, launcher: &mut Played, decides: u32, give_up: Duration) -> Shown {
        let (mut judge, stops) = (After(decides, Vec::new()), Stops::listen().unwrap());
        let (fleet, folder, listener) = (&self.fleet, &self.folder, &mut Silent);
        folder.take().unwrap();
        let end = conduct(Conduct { fleet, folder, launcher, judge: &mut judge, listener, stops, give_up });
        folder.release();
        (end.unwrap(), judge.1)
    }

    fn states(&self) -> Vec<State> {
        let attempts = Reader::default().read(&self.folder, &self.fleet).unwrap();
        let nodes = standings(&self.fleet, &self.folder, &attempts, &BTreeMap::new());
        nodes.into_iter().map(|node| node.state).collect()
    }
}

#[test]
fn nodes_are_started_in_order_a_few_at_a_time() {
    let story = Story::new(7, 3);
    let mut played = Played::default();
    let (end, _) = story.conduct(&mut played, 100);
    assert_eq!(end, End::Nodes);
    assert_eq!(played.started, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(played.most, 3);
    assert_eq!(story.states(), [State::Done; 7]);
}

#[test]
fn results_are_looked_at_in_the_drawn_order_whichever_node_ends_first() {
    // The first of the order ends last.
    for slow in 0..4 {
        let story = Story::new(4, 4);
        let mut played = playing(slow, Plays::Ends(30));
        let (end, shown) = story.conduct(&mut played, 100);
        assert_eq!(end, End::Nodes);
        assert!(shown.iter().all(|nodes| nodes.iter().all(|there| *there)), "a node that had not ended was looked at");
        let before = usize::try_from(slow).unwrap();
        assert!(shown.iter().all(|nodes| nodes.len() <= before || nodes.len() == 4), "{shown:?}");
    }
}

#[test]
fn what_is_decided_starts_no_more_nodes_and_is_not_needed() {
    let story = Story::new(12, 2);
    let mut played = Played::default();
    let (end, _) = story.conduct(&mut played, 5);
    assert_eq!(end, End::Decided(5));
    assert!(played.started.len() < 8, "{:?}", played.started);
    let states = story.states();
    assert_eq!(states[..5], [State::Done; 5]);
    assert_eq!(states[9..], [State::NotNeeded; 3]);
    assert_eq!(story.folder.ended().unwrap(), Ended { reason: "decided".into(), nodes: 5 });
}

#[test]
fn what_never_ends_is_not_waited_for_once_everything_is_decided() {
    let story = Story::new(6, 6);
    let mut played = playing(4, Plays::Ends(u32::MAX));
    let (end, _) = story.conduct_for(&mut played, 3, BRIEF);
    assert_eq!((end, played.cancelled), (End::Decided(3), vec![4]));
}

#[test]
fn a_dead_task_that_is_said_to_run_keeps_nobody_from_looking_at_the_others() {
    let story = Story::new(6, 6);
    let mut played = playing(1, Plays::Undead);
    let (end, shown) = story.conduct_for(&mut played, 5, BRIEF);
    assert_eq!((end, played.cancelled), (End::Decided(5), vec![1]));
    assert_eq!(shown.last().unwrap(), &[true, false, true, true, true, true]);
    assert_eq!(story.states()[..3], [State::Done, State::Lost, State::Done]);
}

#[test]
fn lost_nodes_are_given_up_and_run_again_when_resumed() {
    let story = Story::new(4, 4);
    let plays = BTreeMap::from([(1, Plays::Dies(2)), (2, Plays::Stuck)]);
    let (end, shown) = story.conduct_for(&mut Played { plays, ..Played::default() }, 100, BRIEF);
    assert_eq!(end, End::Nodes);
    assert_eq!(shown.last().unwrap(), &[true, false, false, true]);
    assert_eq!(story.states(), [State::Done, State::Lost, State::Lost, State::Done]);
    let mut played = Played::default();
    let (end, _) = story.conduct(&mut played, 100);
    assert_eq!(end, End::Nodes);
    assert_eq!(played.started, [1, 2], "what is complete does not run again");
    assert_eq!(story.states(), [State::Done; 4]);
}

#[test]
fn a_task_that_ran_twice_counts_once() {
    let story = Story::new(3, 3);
    story.conduct(&mut Played::default(), 100);
    write(&story.folder, &story.fleet, 1);
    let attempts = Reader::default().read(&story.folder, &story.fleet).unwrap();
    assert_eq!(attempts[&1].len(), 2);
    assert_eq!(best(&attempts[&1]).unwrap().number, 0);
    let nodes = standings(&story.fleet, &story.folder, &attempts, &BTreeMap::new());
    assert_eq!((nodes[1].state, nodes[1].attempts, nodes[1].counts), (State::Done, 2, Some(0)));
}

#[test]
fn a_fleet_is_found_by_its_key_its_folder_or_as_the_last_one_and_has_one_conductor() {
    let story = Story::new(3, 3);
    let home = story.home.path().join("fleets");
    for text in ["last", "0123", story.folder.path().to_str().unwrap()] {
        assert_eq!(Folder::find(&home, text).unwrap().path(), story.folder.path(), "{text}");
    }
    for text in ["77", "./nowhere"] {
        assert!(matches!(Folder::find(&home, text), Err(FleetError::NoFleet(_))), "{text}");
    }
    story.folder.take().unwrap();
    assert!(matches!(story.folder.take(), Err(FleetError::Refused { .. })));
    story.folder.release();
    story.folder.take().unwrap();
}
