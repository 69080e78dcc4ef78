//! A guest: booted, told what to run, its power cut, ended.
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::arm;
use crate::boot_options::{BootOptions, CABLE, Cable, Hardware};
use crate::booted::{BOOT, Booted};
use crate::chip::Chip;
use crate::emulator::{Emulator, Kept, PC_EMULATOR, Rank};
use crate::error::{BenchError, Result};
use crate::first_files::make_disk;
use crate::pace::Pace;
use crate::port::{Port, Ran, quoted};
use crate::qmp::Qmp;
use crate::silicon::{Readings, Silicon};

/// How long a command may take; one that takes longer counts as a hang.
const COMMAND: Duration = Duration::from_secs(600);

/// A running guest. Everything of it is gone when it is dropped, or when our process ends in whatever manner.
#[derive(Debug)]
pub struct Guest {
    /// Ended first: what talks to an emulator that hangs would wait for its answer.
    emulator: Emulator,
    silicon: Silicon,
    port: Port,
    qmp: Qmp,
    chip: Chip,
    options: BootOptions,
    /// Whether it is the copy of a machine that was booted.
    copied: bool,
    paced: bool,
}

impl Guest {
    /// Boots a guest and waits until it takes commands.
    ///
    /// # Errors
    /// When something it needs is missing on this machine, or it does not come up; with the end of its console.
    pub fn boot(options: &BootOptions) -> Result<Self> {
        let folder = Kept::make()?;
        let disk = make_disk(folder.path())?;
        Self::begin(options, folder, &disk)
    }

    fn begin(options: &BootOptions, folder: Kept, disk: &Path) -> Result<Self> {
        let pace = Pace::make(folder.path())?;
        let cable = options.cable.as_ref();
        let (booted, chip, program, mut words) = match options.hardware {
            Hardware::Pc(_) => {
                let booted = Booted::of(options)?;
                let words = booted.words(cable, folder.path(), disk);
                (Some(booted), Chip::Pc(options.pc()?), PC_EMULATOR, words)
            }
            Hardware::Board(board) => {
                let words = arm::words(board, options, &options.kernel()?, folder.path(), disk)?;
                (None, Chip::Arm(board), board.emulator, words)
            }
        };
        words.extend(pace.words()?);
        let emulator = folder.start(program, &words)?;
        let (mut port, mut qmp, own_qmp) = emulator.attach()?;
        port.may_drop(matches!(options.hardware, Hardware::Board(board) if !board.pci));
        if let Some(booted) = &booted {
            booted.resume(&mut qmp).map_err(|why| emulator.failed(&why.to_string()))?;
        }
        let silicon = Silicon::begin(chip.clone(), pace, own_qmp);
        let (options, copied) = (options.clone(), booted.is_some());
        let mut guest = Guest { emulator, silicon, port, qmp, chip, options, copied, paced: true };
        guest.up(!guest.copied)?;
        if matches!(guest.options.cable, Some(Cable::Into(_))) {
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
        self.up(true)
    }

    /// Cuts the power of a PC as [`Guest::reset`] does, without the boot: the emulator is killed, and a copy of the machine that was
    /// booted goes on with the disk.
    ///
    /// # Errors
    /// When the copy does not come up.
    pub fn replace(&mut self) -> Result<()> {
        self.emulator.kill();
        let folder = Kept::make()?;
        let disk = folder.path().join("disk");
        std::fs::copy(self.emulator.folder().join("disk"), &disk).map_err(BenchError::file("copy to", &disk))?;
        let paced = self.paced;
        *self = Self::begin(&self.options, folder, &disk)?;
        self.set_paced(paced);
        Ok(())
    }

    /// The free end of the guest's cable, when it was booted with [`Cable::Open`].
    #[must_use]
    pub fn cable(&self) -> PathBuf {
        self.emulator.folder().join(CABLE)
    }

    /// The address of its network card, if it has one.
    #[must_use]
    pub fn address(&self) -> Option<&'static str> {
        self.options.cable.as_ref().map(Cable::address)
    }

    /// The socket that [`crate::plug`] connects with an agent in the guest.
    #[must_use]
    pub fn agent(&self) -> PathBuf {
        self.emulator.folder().join("agent.sock")
    }

    /// The P-state the guest chose for a CPU, 0 the fastest, as its register holds it now.
    ///
    /// # Errors
    /// When there is no such CPU or the emulator is gone.
    pub fn pstate(&mut self, cpu: usize) -> Result<u8> {
        let khz = self.khz()?.get(cpu).copied();
        khz.map(|khz| self.chip.state(khz)).ok_or_else(|| BenchError::Missing(format!("the board has no CPU {cpu}")))
    }

    /// The frequency of each CPU as its register holds it now, read past everything in the guest, kHz.
    ///
    /// # Errors
    /// When the emulator is gone.
    pub fn khz(&mut self) -> Result<Vec<u32>> {
        self.chip.khz(&mut self.qmp)
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

    /// Lets speed follow the clock, as after a boot, or lets the guest run as fast as it can: for what does not measure.
    pub fn set_paced(&mut self, paced: bool) {
        self.paced = paced;
        self.silicon.set_paced(paced);
        // While it is not paced it would leave nothing to anybody behind it.
        self.emulator.set_rank(if paced { Rank::Ahead } else { Rank::Equal });
    }

    /// Waits until it takes commands, having booted or begun as a copy.
    fn up(&mut self, boots: bool) -> Result<()> {
        let paced = std::mem::replace(&mut self.paced, false);
        self.set_paced(false);
        let mut begun = || {
            if self.copied {
                if boots {
                    self.port.until("booted", BOOT)?;
                }
                self.port.send(&differs(self.options.cable.as_ref()))?;
            }
            self.port.until("ready", BOOT)
        };
        begun().map_err(|why| self.emulator.failed(&format!("the guest does not boot: {why}")))?;
        self.set_paced(paced);
        Ok(())
    }
}

/// What a copy is told, in words as on the kernel's command line.
fn differs(cable: Option<&Cable>) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut words = format!("bench.disk=1 bench.time={}", since.as_secs());
    if let Some(cable) = cable {
        words += &format!(" bench.address={}/24 bench.mac={}", cable.address(), cable.hardware_address());
    }
    words
}

/// Bytes as the shell's `printf %b` takes them.
fn octal(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("\\0{byte:03o}").into_bytes()).collect()
}
