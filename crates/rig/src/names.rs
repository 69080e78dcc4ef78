//! The machines of a rig as they are named.
use std::borrow::Cow;

use powerband_host::LinkOptions;
use powerband_record::{NodeName, Side, Started};
use powerband_sim::SimWorld;

use crate::machine_name::simulated;
use crate::simulated::{profile, simulated_nodes, simulated_world};
use crate::{MachineName, RigError};

/// This machine.
const LOCAL: &str = "local";

/// The machines of a rig as they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub(crate) near: String,
    pub(crate) far: Option<String>,
    /// A list of machines instead, the first of which is the near one; empty where it is none.
    pub(crate) nodes: Vec<(NodeName, String)>,
    /// How those behind a connection are reached.
    pub(crate) link: LinkOptions,
}

impl Names {
    /// As they were typed or written down; without a near machine it is this one.
    #[must_use]
    pub fn new(near: Option<String>, far: Option<String>) -> Self {
        Names { near: near.unwrap_or_else(|| LOCAL.into()), far, nodes: Vec::new(), link: LinkOptions::default() }
    }

    /// A list of machines, each as `NAME=MACHINE` or `MACHINE`; without a name of their own they are n1, n2 and so on, and one
    /// behind ssh is called as its host. The first is the near one, which runs the load.
    ///
    /// # Errors
    /// [`RigError::List`] for a name that no machine can have, or that two have, and for an empty list.
    pub fn list(machines: &[String]) -> Result<Self, RigError> {
        let mut nodes: Vec<(NodeName, String)> = Vec::new();
        for (place, text) in machines.iter().enumerate() {
            let (name, machine) = named(text, place + 1);
            let wrong = |why: &str| RigError::List { text: text.clone(), why: why.to_owned() };
            let name = NodeName::new(name.as_ref()).ok_or_else(|| {
                wrong("a name has up to 31 letters, digits, - and _, and is not near, far, both or all")
            })?;
            if nodes.iter().any(|(known, _)| *known == name) {
                return Err(wrong("two machines have this name"));
            }
            let simulated = match MachineName::of(machine) {
                None => return Err(RigError::UnknownMachine(machine.to_owned())),
                Some(kind) => matches!(kind, MachineName::Simulated(_)),
            };
            // Of a simulated one each is another of its kind.
            if !simulated && nodes.iter().any(|(_, known)| known == machine) {
                return Err(wrong("it is in the list already"));
            }
            nodes.push((name, machine.to_owned()));
        }
        let first = nodes.first().ok_or_else(|| RigError::List { text: String::new(), why: "it is empty".into() })?;
        Ok(Names { near: first.1.clone(), far: None, nodes, link: LinkOptions::default() })
    }

    /// The machines of a list as they can be written again; none where it is no list.
    #[must_use]
    pub fn listed(&self) -> Vec<String> {
        self.nodes.iter().map(|(name, machine)| format!("{}={machine}", name.as_str())).collect()
    }

    /// The machines, as their rig calls them, with their names.
    pub fn sides(&self) -> impl Iterator<Item = (Side, &str)> {
        let ends = [(Side::Near, Some(self.near.as_str())), (Side::Far, self.far.as_deref())];
        let ends = ends.into_iter().filter(|_| self.nodes.is_empty());
        let nodes = self.nodes.iter().map(|(name, machine)| (Side::Node(*name), machine.as_str()));
        ends.filter_map(|(side, name)| Some((side, name?))).chain(nodes)
    }

    /// Reached in this way, where they are behind a connection.
    #[must_use]
    pub fn linked(self, link: LinkOptions) -> Self {
        Names { link, ..self }
    }

    /// Of an experiment that was begun.
    #[must_use]
    pub fn begun(started: &Started) -> Self {
        if let Ok(list) = Names::list(&started.machines) {
            return list;
        }
        let typed = |typed: &Option<String>, name: &str| typed.clone().unwrap_or_else(|| name.to_owned());
        let far = started.far.as_ref().map(|far| typed(&started.far_typed, far));
        Names::new(Some(typed(&started.machine_typed, &started.machine)), far)
    }

    /// As a plan would have them, the near one first; `seeded`: the plan has a seed, which wins over one behind the machine's
    /// name. Where pieces of the machine differ, that one still says which piece it is, and stays.
    #[must_use]
    pub fn written(self, seeded: bool) -> (String, Option<String>) {
        let without_effect =
            seeded && simulated(&self.near).is_some_and(|name| !profile(name).is_ok_and(|it| it.varies()));
        let near = if without_effect { self.near.split('#').next().unwrap_or_default().into() } else { self.near };
        (near, self.far)
    }

    /// The near machine's name.
    #[must_use]
    pub fn near(&self) -> &str {
        &self.near
    }

    /// The far machine's name, if there is one.
    #[must_use]
    pub fn far(&self) -> Option<&str> {
        self.far.as_deref()
    }

    /// Whether the near machine is this one.
    #[must_use]
    pub fn here(&self) -> bool {
        self.near == LOCAL
    }

    /// Whether the near machine is a simulated one, which comes to the same again from its seed.
    #[must_use]
    pub fn simulated(&self) -> bool {
        simulated(&self.near).is_some()
    }

    /// The file of a near machine that is a table.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        match MachineName::of(&self.near) {
            Some(MachineName::Table(file)) => Some(file),
            _ => None,
        }
    }

    /// Whether the near machine is a recording.
    #[must_use]
    pub fn recorded(&self) -> bool {
        matches!(MachineName::of(&self.near), Some(MachineName::Recorded(_)))
    }

    /// That somebody else could change each of the machines.
    ///
    /// # Errors
    /// Why nobody else could, of the first machine where that is so.
    pub fn changed_by_others(&self) -> Result<(), RigError> {
        let alone = |name: &str| match MachineName::of(name) {
            Some(MachineName::Simulated(profile)) => {
                Some(RigError::AloneSimulated { name: name.to_owned(), profile: profile.to_owned() })
            }
            Some(MachineName::Recorded(_)) => Some(RigError::AloneRecorded(name.to_owned())),
            Some(MachineName::Table(_)) => Some(RigError::AloneTable(name.to_owned())),
            _ => None,
        };
        self.sides().find_map(|(_, name)| alone(name)).map_or(Ok(()), Err)
    }

    /// As a machine is named, if it is there.
    #[must_use]
    pub fn of(&self, side: Side) -> Option<&str> {
        match side {
            Side::Near => Some(&self.near),
            one => self.sides().find(|(side, _)| *side == one).map(|(_, name)| name),
        }
    }

    /// The name of a machine that is not this one.
    #[must_use]
    pub fn elsewhere(&self, side: Side) -> Option<&str> {
        self.of(side).filter(|name| MachineName::of(name) != Some(MachineName::Local))
    }

    /// The commands that lead to the machines, each with what it leads to.
    pub fn connections(&self) -> impl Iterator<Item = (String, String)> {
        self.sides().filter_map(|(side, name)| match MachineName::of(name)? {
            MachineName::Behind { command, .. } | MachineName::Shell { command, .. } => {
                Some((side.words(), command.to_owned()))
            }
            _ => None,
        })
    }

    /// Whether the near machine is the one of this name; a seed behind it may have been without effect.
    #[must_use]
    pub fn is_on(&self, machine: &str) -> bool {
        self.near == machine || (self.simulated() && machine.split('#').next() == Some(&self.near))
    }

    /// For people.
    #[must_use]
    pub fn describe(&self) -> String {
        if !self.nodes.is_empty() {
            return self.listed().join(", ");
        }
        self.far.as_ref().map_or_else(|| self.near.clone(), |far| format!("{} with peer {far}", self.near))
    }

    /// The seed written behind the near machine's name, `sim:NAME#SEED`.
    ///
    /// # Errors
    /// [`RigError::NotASeed`].
    pub fn seed(&self) -> Result<Option<u64>, RigError> {
        let Some((_, seed)) = self.near.split_once('#').filter(|_| self.simulated()) else { return Ok(None) };
        seed.parse().map(Some).map_err(|_| RigError::NotASeed(seed.to_owned()))
    }

    /// Its simulated machines, of which nothing is kept.
    ///
    /// # Errors
    /// When a machine file cannot be read, or its machine does not boot.
    pub fn simulated_world(&self, seed: u64) -> Result<SimWorld, RigError> {
        if !self.nodes.is_empty() {
            return simulated_nodes(self, seed);
        }
        simulated_world(&self.near, self.far.as_deref(), seed)
    }
}

/// The name and the machine of one of a list, by its place.
fn named(text: &str, place: usize) -> (Cow<'_, str>, &str) {
    let is_name = |name: &str| NodeName::new(name).is_some();
    if let Some((name, machine)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
        return (name.into(), machine);
    }
    let host = match MachineName::of(text) {
        Some(MachineName::Ssh { host, .. }) => host.rsplit('@').next().and_then(|host| host.split('.').next()),
        _ => None,
    };
    host.map_or_else(|| (format!("n{place}").into(), text), |host| (host.into(), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(near: &str) -> String {
        Names::new(Some(near.to_owned()), None).written(true).0
    }

    #[test]
    fn a_seed_that_says_which_silicon_stays_with_the_name() {
        // A plan's seed wins over the one behind a name, which then says nothing more, unless pieces of the machine differ.
        let names = ["sim:server#7", "sim:node#7", "sim:node", "local"];
        assert_eq!(names.map(written), ["sim:server", "sim:node#7", "sim:node", "local"]);
    }

    #[test]
    fn machines_of_a_list_have_names() {
        let list = |texts: &str| Names::list(&texts.split_terminator(',').map(str::to_owned).collect::<Vec<_>>());
        for (texts, sides) in [
            ("sim:node#1,sim:node#2", "n1 n2"),
            ("a=sim:node#1,ssh:root@cn17.site.org", "a cn17"),
            ("x=cmd:env A=b powerband agent", "x"),
            ("a=sim:node,b=sim:node", "a b"),
        ] {
            let names = list(texts).unwrap();
            let named: Vec<String> = names.sides().map(|(side, _)| side.to_string()).collect();
            assert_eq!(named.join(" "), sides);
        }
        assert_eq!(list("b=local,a=sim:pc").unwrap().listed(), ["b=local", "a=sim:pc"]);
        for bad in ["", "a=local,a=ssh:b", "a=local,b=local", "far=local", "n1", "a=n1"] {
            assert!(list(bad).is_err(), "{bad}");
        }
    }
}
