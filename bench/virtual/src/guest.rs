//! A guest: booted, told what to run, its power cut, ended.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use powerband_sim::Profile;
use serde_json::{Value, json};

use crate::archive::Archive;
use crate::board::{Board, STATE_PORTS};
use crate::emulator::{Emulator, Kept, Rank};
use crate::error::{BenchError, Result};
use crate::kernel::Kernel;
use crate::pace::Pace;
use crate::places;
use crate::port::{Port, Ran, quoted};
use crate::qmp::Qmp;
use crate::silicon::{Readings, Silicon};
use crate::tools;

/// How long a boot may take; it takes 5 to 15 s where CPUs are free.
const BOOT: Duration = Duration::from_secs(300);
/// How long a command may take; one that takes longer counts as a hang.
const COMMAND: Duration = Duration::from_secs(600);
/// Where a guest's cable lies in its folder.
const CABLE: &str = "cable.sock";
/// Bytes of the disk; nothing of it is used that nobody writes.
const DISK_BYTES: u64 = 64 << 20;

/// The cable of a guest's network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cable {
    /// One whose other end is free; a second guest may come to it. `eth0` is 10.0.0.1/24.
    Open,
    /// The free end of another guest's, by [`Guest::cable`]. `eth0` is 10.0.0.2/24.
    Into(PathBuf),
}

impl Cable {
    fn address(&self) -> &'static str {
        match self {
            Cable::Open => "10.0.0.1",
            Cable::Into(_) => "10.0.0.2",
        }
    }
}

/// What to boot.
#[derive(Clone, Debug)]
pub struct Options {
    /// The machine whose clocks and power the guest has.
    pub profile: Profile,
    /// An image to boot in place of Debian's kernel, see [`Kernel::built`].
    pub kernel: Option<Kernel>,
    /// A network card with a cable, if it has one.
    pub cable: Option<Cable>,
    /// Whether its firmware offers idle states; without them an idle CPU halts.
    pub idle_states: bool,
    /// Files put into the guest before it boots: path and bytes. Its folder must be one the guest has.
    pub files: Vec<(String, Vec<u8>)>,
    /// Programs of this machine that the guest has too, with their libraries.
    pub tools: Vec<String>,
}

impl Options {
    /// A machine by its name in `machines/sim` or the path of its file; Debian's kernel, no cable, no idle states, no files.
    ///
    /// # Errors
    /// When there is no such machine.
    pub fn machine(name: &str) -> Result<Self> {
        let profile = if name.contains(['/', '.']) {
            let text = places::read(Path::new(name))?;
            Profile::parse(&String::from_utf8_lossy(&text))?
        } else {
            Profile::builtin(name)?
        };
        Ok(Options { profile, kernel: None, cable: None, idle_states: false, files: Vec::new(), tools: Vec::new() })
    }

    /// The kernel to boot.
    pub(crate) fn kernel(&self) -> Result<Kernel> {
        self.kernel.clone().map_or_else(Kernel::get, Ok)
    }
}

/// A running guest. Everything of it is gone when it is dropped, or when our process ends in whatever manner.
#[derive(Debug)]
pub struct Guest {
    /// Ended first: what talks to an emulator that hangs would wait for its answer.
    emulator: Emulator,
    silicon: Silicon,
    port: Port,
    qmp: Qmp,
    /// Of its network card, if it has one.
    address: Option<&'static str>,
}

impl Guest {
    /// Boots a guest and waits until it takes commands.
    ///
    /// # Errors
    /// When something it needs is missing on this machine, or it does not come up; with the end of its console.
    pub fn boot(options: &Options) -> Result<Self> {
        let board = Board { idle_states: options.idle_states, ..Board::new(&options.profile)? };
        let kernel = options.kernel()?;
        let folder = Kept::make()?;
        let (disk, pace) = (make_disk(folder.path())?, Pace::make(folder.path())?);
        let mut words = words(options, &board, &kernel, folder.path(), &disk)?;
        words.extend(pace.words()?.split(' ').map(str::to_owned));
        let emulator = folder.start(&words)?;
        let (port, qmp, own_qmp) = emulator.attach()?;
        let silicon = Silicon::begin(board, pace, own_qmp);
        let address = options.cable.as_ref().map(Cable::address);
        let mut guest = Guest { emulator, silicon, port, qmp, address };
        guest.up()?;
        if matches!(options.cable, Some(Cable::Into(_))) {
            guest.meet()?;
        }
        Ok(guest)
    }

    /// Runs a program with its arguments in the guest, without input, to its end.
    ///
    /// # Errors
    /// When the guest does not answer in time.
    pub fn run<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Result<Ran> {
        self.run_within(words, COMMAND)
    }

    /// The same for what may take longer, an experiment say.
    ///
    /// # Errors
    /// When the guest does not answer within `patience`.
    pub fn run_within<W: AsRef<[u8]>>(&mut self, words: &[W], patience: Duration) -> Result<Ran> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| quoted(word.as_ref())).collect();
        self.script_within(words.join(&b' '), patience)
    }

    /// Runs a shell script in the guest to its end. What it leaves in the background must have its own output.
    ///
    /// # Errors
    /// When the guest does not answer in time.
    pub fn script(&mut self, script: impl AsRef<[u8]>) -> Result<Ran> {
        self.script_within(script, COMMAND)
    }

    /// The same for one that may take another time.
    ///
    /// # Errors
    /// When the guest does not answer within `patience`; [`Guest::is_lost`] from then on.
    pub fn script_within(&mut self, script: impl AsRef<[u8]>, patience: Duration) -> Result<Ran> {
        self.port.run(script.as_ref(), patience).map_err(|what| self.emulator.failed(&what))
    }

    /// Whether a command was given up that did not end in time. Until a reset the guest takes no other.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.port.is_lost()
    }

    /// What the guest's console shows, of all its boots.
    #[must_use]
    pub fn console(&self) -> String {
        self.emulator.console()
    }

    /// The emulator's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.emulator.process
    }

    /// Puts a file into the guest.
    ///
    /// # Errors
    /// When the guest does not answer or refuses the path.
    pub fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let script = [b"printf %b ", &quoted(&octal(bytes))[..], b" >", &quoted(path.as_bytes())].concat();
        let ran = self.script(&script)?;
        if ran.code == 0 { Ok(()) } else { Err(self.emulator.failed(&String::from_utf8_lossy(&ran.err))) }
    }

    /// A command of the emulator's machine protocol.
    ///
    /// # Errors
    /// When the emulator refuses it.
    pub fn qmp(&mut self, command: &str, arguments: Value) -> Result<Value> {
        self.qmp.execute(command, arguments)
    }

    /// Cuts the power and waits until the guest is up again. Its disk is kept, its memory is not.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn reset(&mut self) -> Result<()> {
        self.qmp.execute("system_reset", json!({}))?;
        self.up()
    }

    /// The free end of the guest's cable, when it was booted with [`Cable::Open`].
    #[must_use]
    pub fn cable(&self) -> PathBuf {
        self.emulator.folder().join(CABLE)
    }

    /// The address of its network card, if it has one.
    #[must_use]
    pub fn address(&self) -> Option<&'static str> {
        self.address
    }

    /// The socket that [`crate::plug`] connects with an agent in the guest.
    #[must_use]
    pub fn agent(&self) -> PathBuf {
        self.emulator.folder().join("agent.sock")
    }

    /// The P-state the guest chose for a CPU, 0 the fastest, as the firmware's port holds it now.
    ///
    /// # Errors
    /// When there is no such CPU or the emulator is gone.
    pub fn pstate(&mut self, cpu: usize) -> Result<u8> {
        let port = STATE_PORTS.get(cpu).ok_or_else(|| no_cpu(cpu))?;
        self.qmp.port(*port)
    }

    /// How many instructions a CPU has run since it began.
    ///
    /// # Errors
    /// When the emulator is gone.
    pub fn instructions(&self, cpu: usize) -> Result<u64> {
        self.silicon.instructions(cpu)
    }

    /// How often a CPU met a breakpoint that its kernel had removed, and was freed from it; see `guest/pace.c`.
    ///
    /// # Errors
    /// When the emulator is gone.
    pub fn stale_breakpoints(&self, cpu: usize) -> Result<u64> {
        self.silicon.stale_breakpoints(cpu)
    }

    /// What the silicon did last.
    #[must_use]
    pub fn readings(&self) -> Readings {
        self.silicon.readings()
    }

    /// Makes the meter show this power, mW, whatever the guest does; `None` lets it follow the guest again.
    pub fn fix_power(&self, power_mw: Option<u64>) {
        self.silicon.fix_power(power_mw);
    }

    /// Waits until the guest at the other end answers: links take a few seconds to come up.
    fn meet(&mut self) -> Result<()> {
        let tries = "for try in $(seq 60); do ping -c 1 -W 2 10.0.0.1 && exit 0; done; exit 1";
        let ran = self.script(tries)?;
        if ran.code == 0 { Ok(()) } else { Err(self.emulator.failed("the guest at the other end does not answer")) }
    }

    fn up(&mut self) -> Result<()> {
        // While it is not paced it would leave nothing to anybody behind it.
        self.emulator.set_rank(Rank::Equal);
        self.silicon.set_paced(false);
        self.port.ready(BOOT).map_err(|why| self.emulator.failed(&format!("the guest does not boot: {why}")))?;
        self.silicon.set_paced(true);
        self.emulator.set_rank(Rank::Ahead);
        Ok(())
    }
}

/// Kernel, first file system and devices on the emulator's command line.
fn words(options: &Options, board: &Board, kernel: &Kernel, folder: &Path, disk: &Path) -> Result<Vec<String>> {
    let initramfs = folder.join("initramfs");
    let command = ("bin/powerband".to_owned(), places::stripped(&places::powerband()?)?);
    let mut programs = vec![command];
    for tool in &options.tools {
        programs.extend(tools::with_libraries(tool)?);
    }
    // Two tools may share a library.
    programs.sort_by(|a, b| a.0.cmp(&b.0));
    programs.dedup_by(|a, b| a.0 == b.0);
    places::write(&initramfs, &archive(&busybox()?, &kernel.modules()?, &programs, &options.files))?;
    let table = board.compiled(folder)?;
    let place = folder.display();
    // Guards against spying cost most of a system call here, and so most of a packet's way.
    let mut line = "bench.disk=1 mitigations=off".to_owned();
    let mut words = machine_words(board.cpus, &table, kernel, &initramfs, folder);
    let mut add = |text: String| words.extend(text.split(' ').map(str::to_owned));
    add("-accel tcg,thread=multi".into());
    add(format!("-qmp unix:{place}/monitor.sock,server=on,wait=off -qmp unix:{place}/silicon.sock,server=on,wait=off"));
    add("-device virtio-serial-pci,max_ports=3".into());
    for (number, port) in [(1, "port"), (2, "agent")] {
        add(format!("-chardev socket,id={port},path={place}/{port}.sock,server=on,wait=off"));
        add(format!("-device virtserialport,chardev={port},nr={number},name={port}"));
    }
    add(format!("-drive file={},if=virtio,format=raw", disk.display()));
    match &options.cable {
        None => add("-nic none".into()),
        Some(cable) => {
            let (number, role, socket) = match cable {
                Cable::Open => (1, "on", folder.join(CABLE)),
                Cable::Into(socket) => (2, "off", socket.clone()),
            };
            add(format!("-netdev stream,id=n0,server={role},addr.type=unix,addr.path={}", socket.display()));
            add(format!("-device e1000e,netdev=n0,romfile=,mac=52:54:00:70:62:{number:02}"));
            line = format!("{line} bench.address={}/24", cable.address());
        }
    }
    // On a busy host no tick of the timer may come while the kernel looks whether it works.
    words.extend(["-append".into(), format!("{} no_timer_check {line}", kernel_line())]);
    Ok(words)
}

/// What every guest has: the board, the kernel, four serial ports of which only the first is one.
pub(crate) fn machine_words(
    cpus: usize,
    table: &Path,
    kernel: &Kernel,
    initramfs: &Path,
    folder: &Path,
) -> Vec<String> {
    // With another vendor acpi-cpufreq leaves the P-states to drivers of its own.
    let text = format!(
        "-nodefaults -display none -cpu max,vendor=GenuineIntel -M q35 -m 512 -smp {cpus} -acpitable file={} -kernel {} \
         -initrd {} -serial file:{}/console.log -serial null -serial null -serial null",
        table.display(),
        kernel.image().display(),
        initramfs.display(),
        folder.display()
    );
    text.split(' ').map(str::to_owned).collect()
}

/// The kernel's command line. A kernel that gives up stands still, so that its last words can be read.
pub(crate) fn kernel_line() -> &'static str {
    "console=ttyS0 loglevel=5 panic=0 rdinit=/init"
}

/// The guest's first file system: busybox, programs of ours, modules, init, and files for it.
pub(crate) fn archive(
    busybox: &[u8],
    modules: &[(String, Vec<u8>)],
    programs: &[(String, Vec<u8>)],
    files: &[(String, Vec<u8>)],
) -> Vec<u8> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "etc", "modules", "proc", "root", "run", "sys", "tmp", "var", "var/lib"] {
        archive.folder(folder);
    }
    archive.device("dev/console", (5, 1));
    archive.device("dev/null", (1, 3));
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n");
    archive.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n");
    archive.program("init", include_bytes!("../guest/init.sh"));
    archive.program("bin/busybox", busybox);
    let mut folders: Vec<&Path> = programs.iter().flat_map(|(path, _)| Path::new(path).ancestors().skip(1)).collect();
    folders.sort_unstable();
    folders.dedup();
    // Those of the guest are there already, and the root has no name.
    for folder in folders.iter().filter_map(|folder| folder.to_str()).filter(|path| !path.is_empty() && *path != "bin")
    {
        archive.folder(folder);
    }
    for (path, bytes) in programs {
        archive.program(path, bytes);
    }
    let mut order = String::new();
    for (name, bytes) in modules {
        order.push_str(&format!("{name}\n"));
        archive.file(&format!("modules/{name}"), bytes);
    }
    archive.file("modules/order", order.as_bytes());
    for (path, bytes) in files {
        archive.file(path, bytes);
    }
    archive.finished()
}

/// This machine's busybox, which is every program of the guest but ours.
pub(crate) fn busybox() -> Result<Vec<u8>> {
    places::read(Path::new("/bin/busybox"))
}

fn make_disk(folder: &Path) -> Result<PathBuf> {
    let disk = folder.join("disk");
    let file = fs::File::create(&disk).map_err(BenchError::file("make", &disk))?;
    file.set_len(DISK_BYTES).map_err(BenchError::file("size", &disk))?;
    let path = std::env::var("PATH").unwrap_or_default();
    // An ordinary user's path does not look where Debian puts it.
    places::run(
        Command::new("mke2fs").env("PATH", format!("{path}:/usr/sbin:/sbin")).args(["-q", "-t", "ext4"]).arg(&disk),
    )?;
    Ok(disk)
}

fn no_cpu(cpu: usize) -> BenchError {
    BenchError::Missing(format!("the board has no CPU {cpu}"))
}

/// Bytes as the shell's `printf %b` takes them.
fn octal(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("\\0{byte:03o}").into_bytes()).collect()
}
