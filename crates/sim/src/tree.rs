//! The files of a simulated machine: what can be listed, read and written, with the kernel's refusals.
use std::collections::BTreeMap;

use powerband_machine::{Entry, Errno, Handle, LATENCY_DEVICE, Readable};

use crate::board::Board;
use crate::nic::DEVICE;
use crate::profile::Profile;
use crate::schedule::Times;

mod cache;
mod cpu;
mod cycles;
mod folder;
mod meters;
mod switch;
mod text;
mod topology;

pub(crate) use switch::Smt;
pub(crate) use text::speed_mbit_s;
use topology::{Form, Shared};

/// Where the kernel keeps its CPUs.
const CPU: &str = "/sys/devices/system/cpu";

/// Longest text that is read, bytes.
const READ_LIMIT: usize = 1 << 20;

/// Ordinary folders there are at boot.
const FOLDERS: [&str; 3] = ["/etc", "/tmp", "/var"];

/// Values under /proc/sys: path, value at boot, lowest and highest.
const SYSCTLS: [(&str, i64, i64, i64); 3] = [
    ("/proc/sys/vm/swappiness", 60, 0, 200),
    ("/proc/sys/kernel/numa_balancing", 0, 0, 1),
    ("/proc/sys/net/core/busy_poll", 0, 0, 2_147_483_647),
];

/// A text the kernel makes when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Show {
    Possible,
    Present,
    Online,
    Offline,
    KernelMax,
    Package(u32),
    Core(u32),
    /// A set of CPUs.
    Cpus(Shared, Form),
    Version,
    CpuInfo,
    Stat,
    Uptime,
    BootId,
    Energy,
    Boundary,
    Temperature,
    Interrupts,
    NetDevices,
    Card(Card),
}

/// A file of the network card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Card {
    Address,
    Driver,
    Carrier,
    OperState,
    Speed,
    RxPackets,
    RxBytes,
    TxPackets,
    TxBytes,
}

/// One name of the tree.
#[derive(Clone, Debug)]
enum Node {
    Folder,
    /// An ordinary file.
    File(String),
    Show(Show),
    /// A text that stays as it is.
    Fixed(String),
    /// What can only be written, and then refuses.
    Refusing,
    /// A symbolic link, with what it says.
    Link(String),
    /// What a device says of itself; writing there asks for an event, which nobody hears.
    Uevent(&'static str),
    /// What a meter shows, by its place in the machine file.
    Meter {
        place: usize,
        mode: u32,
    },
    /// What perf counts of a CPU's cycles.
    Cycles(cycles::Event, u32),
    /// Whether a CPU is in service.
    CpuOnline(u32),
    Idle(cpu::Idle),
    Switch(switch::Switch),
    Sysctl {
        value: i64,
        low: i64,
        high: i64,
    },
}

impl Node {
    fn mode(&self) -> u32 {
        match self {
            Node::Folder | Node::Link(_) => 0o755,
            Node::Show(_) | Node::Fixed(_) | Node::Cycles(..) => 0o444,
            Node::Meter { mode, .. } => *mode,
            Node::Refusing => 0o200,
            Node::Idle(idle) => idle.mode(),
            Node::Switch(switch) => switch.mode(),
            Node::File(_) | Node::CpuOnline(_) | Node::Sysctl { .. } | Node::Uevent(_) => 0o644,
        }
    }
}

/// What a handle leads to.
#[derive(Clone, Debug)]
enum Open {
    File(String),
    /// A file that went, also when one of its name came again.
    Gone,
}

/// All files but those of cpufreq, and the open handles.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: BTreeMap<String, Node>,
    handles: Vec<Option<Open>>,
}

/// Where a path leads.
enum Place {
    Cpufreq(String),
    Own(String),
}

impl Tree {
    pub(crate) fn new(profile: &Profile) -> Self {
        let mut tree = Tree { nodes: BTreeMap::new(), handles: Vec::new() };
        for folder in FOLDERS {
            tree.add(folder.into(), Node::Folder);
        }
        tree.add_cpus(profile);
        tree.add_nodes(profile);
        tree.add_switches(profile);
        tree.add_meters(profile);
        tree.add_thermal(profile);
        tree.add_cycles(profile);
        for (path, value, low, high) in SYSCTLS {
            tree.add(path.into(), Node::Sysctl { value, low, high });
        }
        for (path, show) in [
            ("/proc/version", Show::Version),
            ("/proc/cpuinfo", Show::CpuInfo),
            ("/proc/stat", Show::Stat),
            ("/proc/uptime", Show::Uptime),
            ("/proc/sys/kernel/random/boot_id", Show::BootId),
            ("/sys/kernel/powerband/energy_uj", Show::Energy),
            ("/sys/kernel/powerband/boundary", Show::Boundary),
            ("/proc/interrupts", Show::Interrupts),
            ("/proc/net/dev", Show::NetDevices),
        ] {
            tree.add(path.into(), Node::Show(show));
        }
        for (name, card) in [
            ("address", Card::Address),
            ("device/uevent", Card::Driver),
            ("carrier", Card::Carrier),
            ("operstate", Card::OperState),
            ("speed", Card::Speed),
            ("statistics/rx_packets", Card::RxPackets),
            ("statistics/rx_bytes", Card::RxBytes),
            ("statistics/tx_packets", Card::TxPackets),
            ("statistics/tx_bytes", Card::TxBytes),
        ] {
            tree.add(format!("/sys/class/net/{DEVICE}/{name}"), Node::Show(Show::Card(card)));
        }
        tree
    }

    /// Adds a name with the folders above it; a counter of perf is in none.
    fn add(&mut self, path: String, node: Node) {
        if path.starts_with('/')
            && let Some(above) = parent(&path)
            && !self.nodes.contains_key(above)
        {
            self.add(above.to_owned(), Node::Folder);
        }
        self.nodes.insert(path, node);
    }

    /// What is open below a folder that goes is open for nothing.
    fn lose(&mut self, folder: &str) {
        let is_below = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        for open in self.handles.iter_mut().flatten() {
            if matches!(open, Open::File(path) if is_below(path)) {
                *open = Open::Gone;
            }
        }
    }

    /// A name, or why it is not there: a file on the way to it is no folder.
    fn find(&self, path: &str) -> Result<&Node, Errno> {
        self.nodes.get(path).ok_or_else(|| self.missing(path))
    }

    /// A path without links on its way. None leads through more than two others.
    ///
    /// # Errors
    /// ELOOP
    fn follow(&self, mut path: String) -> Result<String, Errno> {
        for _ in 0..8 {
            let ends = path.match_indices('/').map(|(place, _)| place).skip(1).chain([path.len()]);
            let link = ends.into_iter().find_map(|end| match self.nodes.get(&path[..end]) {
                Some(Node::Link(target)) => Some((end, target)),
                _ => None,
            });
            let Some((end, target)) = link else { return Ok(path) };
            let above = parent(&path[..end]).unwrap_or("/");
            path = normal(&format!("{above}/{target}{}", &path[end..]))?;
        }
        Err(Errno::ELOOP)
    }

    fn missing(&self, path: &str) -> Errno {
        match parent(path).map(|above| (above, self.nodes.get(above))) {
            Some((_, Some(Node::Folder))) | None => Errno::ENOENT,
            Some((_, Some(_))) => Errno::ENOTDIR,
            Some((above, None)) => self.missing(above),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>, Errno> {
        match self.find(folder)? {
            Node::Folder => {}
            _ => return Err(Errno::ENOTDIR),
        }
        let prefix = if folder == "/" { String::from("/") } else { format!("{folder}/") };
        let inside = self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let direct = inside.filter(|(path, _)| path.len() > prefix.len() && !path[prefix.len()..].contains('/'));
        Ok(direct
            .map(|(path, node)| Entry {
                name: path[prefix.len()..].to_owned(),
                // All links here lead to folders.
                folder: matches!(node, Node::Folder | Node::Link(_)),
                mode: node.mode(),
                link: if let Node::Link(target) = node { Some(target.clone()) } else { None },
            })
            .collect())
    }
}

/// The folder a path is in; `None` for the root.
fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(0) | None => None,
        Some(place) => Some(&path[..place]),
    }
}

/// An absolute path without `.`, `..` and doubled slashes.
fn normal(path: &str) -> Result<String, Errno> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(Errno::ENOENT);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Ok(format!("/{}", parts.join("/")))
}

/// Whether the kernel, not a disk, is behind a path.
fn is_kernels(path: &str) -> bool {
    path.starts_with("/sys/") || path.starts_with("/proc/") || path == "/sys" || path == "/proc"
}

impl Board {
    /// The ordinary files there are.
    #[must_use]
    pub fn ordinary_files(&self) -> Vec<String> {
        let files = self.tree.nodes.iter().filter(|(_, node)| matches!(node, Node::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Files whose value anybody may change: kernel settings, ordinary files, governors and limits.
    #[must_use]
    pub fn settable(&self) -> Vec<String> {
        let own = self.tree.nodes.iter().filter(|(_, node)| matches!(node, Node::File(_) | Node::Sysctl { .. }));
        let mut all: Vec<String> = own.map(|(path, _)| path.clone()).collect();
        for policy in &self.profile.cpufreq.policies {
            let first = policy.cpus.first().copied().unwrap_or_default();
            let folder = format!("{CPU}/cpufreq/policy{first}");
            let folder = if self.shows_folder(&folder) { folder } else { format!("{CPU}/cpu{first}/cpufreq") };
            let file = |name: &&str| format!("{folder}/{name}");
            all.extend(["scaling_governor", "scaling_min_freq", "scaling_max_freq"].iter().map(file));
        }
        all
    }

    /// What a disk brings over a reboot: the ordinary files of the machine before.
    pub(crate) fn keep_files_of(&mut self, before: &Board) {
        for (path, node) in &before.tree.nodes {
            let is_on_disk = matches!(node, Node::File(_)) || matches!(node, Node::Folder) && !is_kernels(path);
            if is_on_disk {
                self.tree.nodes.insert(path.clone(), node.clone());
            }
        }
    }

    /// Forgets what somebody held open.
    pub(crate) fn close_all(&mut self) {
        self.tree.handles.clear();
        self.release(LATENCY_DEVICE);
    }

    /// Resolves a path and the links on it.
    fn locate(&self, path: &str) -> Result<Place, Errno> {
        let path = self.tree.follow(normal(path)?)?;
        let Some(rest) = path.strip_prefix(CPU).and_then(|rest| rest.strip_prefix('/')) else {
            return Ok(Place::Own(path));
        };
        if ["cpufreq", "intel_pstate", "amd_pstate"]
            .iter()
            .any(|name| rest.strip_prefix(name).is_some_and(|below| below.is_empty() || below.starts_with('/')))
        {
            return Ok(Place::Cpufreq(rest.to_owned()));
        }
        let mut parts = rest.splitn(3, '/');
        let number = parts.next().and_then(|name| name.strip_prefix("cpu")).and_then(|number| number.parse().ok());
        let (Some(cpu), Some("cpufreq")) = (number, parts.next()) else { return Ok(Place::Own(path)) };
        let Some(target) = self.cpufreq.link(cpu) else { return Ok(Place::Cpufreq(rest.to_owned())) };
        let below = parts.next().map_or(String::new(), |below| format!("/{below}"));
        let target = normal(&format!("/cpu{cpu}/{target}{below}"))?;
        Ok(Place::Cpufreq(target[1..].to_owned()))
    }

    pub(crate) fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        let path = match self.locate(folder)? {
            Place::Own(path) => path,
            Place::Cpufreq(path) => {
                let entry =
                    |entry: crate::cpufreq::TreeEntry| Entry::new(entry.name, entry.is_dir, u32::from(entry.mode));
                return Ok(self.cpufreq.list(&path)?.into_iter().map(entry).collect());
            }
        };
        let mut entries = self.tree.list(&path)?;
        let below = path.strip_prefix(CPU);
        if below.is_some_and(|below| below.is_empty() || below.starts_with("/cpu") && below[1..].find('/').is_none())
            && self.cpufreq_is_in(&path)
        {
            let cpu = path.strip_prefix(CPU).and_then(|below| below.strip_prefix("/cpu")?.parse().ok());
            let link = cpu.and_then(|cpu| self.cpufreq.link(cpu));
            entries.push(Entry { link, ..Entry::new("cpufreq", true, 0o755) });
            entries.sort();
        }
        for folder in ["intel_pstate", "amd_pstate"] {
            if path == CPU && self.shows_folder(&format!("{CPU}/{folder}")) {
                entries.push(Entry::new(folder, true, 0o755));
                entries.sort();
            }
        }
        Ok(entries)
    }

    fn cpufreq_is_in(&self, folder: &str) -> bool {
        self.shows_folder(&format!("{folder}/cpufreq"))
    }

    /// Whether a path below cpufreq can be listed.
    fn shows_folder(&self, folder: &str) -> bool {
        match self.locate(folder) {
            Ok(Place::Cpufreq(path)) => self.cpufreq.list(&path).is_ok(),
            _ => false,
        }
    }

    /// What a path reads.
    ///
    /// # Errors
    /// As the kernel.
    pub fn read(&mut self, path: &str) -> Result<String, Errno> {
        match Readable::of(path) {
            Readable::Command(_) => return Err(Errno::EOPNOTSUPP),
            Readable::Coalescing(place) if place.device == DEVICE => return self.nic.coalescing()?.read(&place),
            Readable::Coalescing(_) => return Err(Errno::ENODEV),
            Readable::Perf(_) => return self.count(path),
            Readable::Resolved(path) => {
                return Ok(match self.locate(path)? {
                    Place::Own(path) => format!("{path}\n"),
                    Place::Cpufreq(path) => format!("{CPU}/{path}\n"),
                });
            }
            Readable::File(_) | Readable::Lines(_) => {}
        }
        let text = match self.locate(path)? {
            Place::Cpufreq(path) => {
                let times = Times::of(&self.cpus, self.now_ns, &self.profile);
                let text = self.cpufreq.read(&path, self.now_ns, self.identity.privileged, &times);
                self.follow_cpufreq();
                text?
            }
            Place::Own(path) => match self.tree.find(&path)? {
                Node::Folder | Node::Link(_) => return Err(Errno::EISDIR),
                &Node::Uevent(text) => text.into(),
                Node::File(text) | Node::Fixed(text) => text.clone(),
                Node::Refusing => return Err(Errno::EIO),
                &Node::Meter { place, .. } => self.show_meter(place)?,
                Node::Sysctl { value, .. } => format!("{value}\n"),
                &Node::Show(show) => self.show(show),
                &Node::Cycles(event, cpu) => self.show_cycles(event, cpu)?,
                &Node::Idle(idle) => self.show_idle(idle)?,
                &Node::Switch(switch) => self.show_switch(switch),
                &Node::CpuOnline(cpu) => format!("{}\n", u8::from(self.cpu(cpu).online)),
            },
        };
        if text.len() > READ_LIMIT { Err(Errno::EFBIG) } else { Ok(text) }
    }

    pub(crate) fn write(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        let path = match self.locate(path)? {
            Place::Own(path) => path,
            Place::Cpufreq(path) => {
                let times = Times::of(&self.cpus, self.now_ns, &self.profile);
                let mode = self.cpufreq.is_active();
                let result = self.cpufreq.write(&path, text, self.now_ns, &times);
                if self.cpufreq.is_active() != mode {
                    // Another driver makes the policies anew.
                    self.tree.lose(&format!("{CPU}/cpufreq"));
                }
                self.keep_stirring();
                self.follow_cpufreq();
                return result;
            }
        };
        match self.tree.nodes.get_mut(&path) {
            Some(Node::Folder | Node::Link(_)) => Err(Errno::EISDIR),
            Some(Node::Uevent(_)) => Ok(()),
            Some(Node::Refusing) => Err(Errno::EPERM),
            Some(Node::Show(_) | Node::Fixed(_) | Node::Meter { .. } | Node::Cycles(..)) => Err(Errno::EACCES),
            Some(Node::File(old)) => {
                text.clone_into(old);
                Ok(())
            }
            Some(Node::Sysctl { value, low, high }) => {
                let wanted: i64 = text.trim().parse().map_err(|_| Errno::EINVAL)?;
                if !(*low..=*high).contains(&wanted) {
                    return Err(Errno::EINVAL);
                }
                *value = wanted;
                Ok(())
            }
            Some(&mut Node::Idle(idle)) => self.store_idle(idle, text),
            Some(&mut Node::Switch(switch)) => {
                let after = self.store_switch(switch, text)?;
                self.tree.nodes.insert(path, Node::Switch(after));
                Ok(())
            }
            Some(&mut Node::CpuOnline(cpu)) => {
                let online = match text.trim() {
                    "0" => false,
                    "1" => true,
                    _ => return Err(Errno::EINVAL),
                };
                if online && !self.may_come(cpu) {
                    return Err(Errno::EPERM);
                }
                self.set_online(cpu, online);
                self.follow_cpufreq();
                Ok(())
            }
            None => self.create(path, text),
        }
    }

    fn create(&mut self, path: String, text: &str) -> Result<(), Errno> {
        let above = parent(&path).map(|above| self.tree.find(above)).transpose()?;
        match above {
            Some(Node::Folder) if is_kernels(&path) => Err(Errno::ENOENT),
            Some(Node::Folder) => {
                self.tree.nodes.insert(path, Node::File(text.to_owned()));
                Ok(())
            }
            Some(_) => Err(Errno::ENOTDIR),
            None => Err(Errno::EISDIR),
        }
    }

    pub(crate) fn remove_file(&mut self, path: &str) -> Result<(), Errno> {
        let Place::Own(path) = self.locate(path)? else { return Err(Errno::EPERM) };
        match self.tree.find(&path)? {
            Node::File(_) => {
                self.tree.nodes.remove(&path);
                Ok(())
            }
            Node::Folder | Node::Link(_) => Err(Errno::EISDIR),
            _ => Err(Errno::EPERM),
        }
    }

    pub(crate) fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        match self.read(path) {
            // What cannot be read now may be readable later; what can never be is refused here.
            Ok(_) | Err(Errno::EBUSY | Errno::EINVAL | Errno::ENODEV | Errno::EIO | Errno::EFBIG) => {}
            Err(errno) => return Err(errno),
        }
        let handles = &mut self.tree.handles;
        let free = handles.iter().position(Option::is_none).unwrap_or(handles.len());
        if free == handles.len() {
            handles.push(None);
        }
        handles[free] = Some(Open::File(path.to_owned()));
        u32::try_from(free).map(Handle).map_err(|_| Errno::EAGAIN)
    }

    pub(crate) fn read_handle(&mut self, handle: Handle) -> Result<String, Errno> {
        match self.tree.handles.get(handle.0 as usize).cloned().flatten().ok_or(Errno::EBADF)? {
            Open::File(path) => self.read(&path),
            Open::Gone => Err(Errno::ENODEV),
        }
    }

    pub(crate) fn close(&mut self, handle: Handle) {
        if let Some(place) = self.tree.handles.get_mut(handle.0 as usize) {
            *place = None;
        }
    }
}
