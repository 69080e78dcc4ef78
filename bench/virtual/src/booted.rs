//! PCs that are booted once and copied: the first guest of a kind is stopped before it touches its disk, its memory stays in a
//! file, and every guest of that kind begins there. A copy takes a fraction of a second and shares what it does not write.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::boot_options::{BootOptions, Cable};
use crate::emulator::{Emulator, Kept, PC_EMULATOR};
use crate::error::Result;
use crate::first_files::make_disk;
use crate::pace::Pace;
use crate::pc::{MEMORY, Made};
use crate::qmp::Qmp;

/// How long a boot may take; it takes seconds where CPUs are free.
pub(crate) const BOOT: Duration = Duration::from_secs(600);

/// A machine as it is once its modules are loaded. Its emulator has ended; the folder stays as long as this process.
#[derive(Debug)]
pub(crate) struct Booted {
    emulator: Emulator,
    made: Made,
}

/// What was booted, by its options.
static BOOTED: Mutex<BTreeMap<String, Arc<Booted>>> = Mutex::new(BTreeMap::new());

impl Booted {
    /// The machine with these options, booted for the first who asks. At which end of a cable it is does not matter.
    pub(crate) fn of(options: &BootOptions) -> Result<Arc<Self>> {
        let cable = options.cable.is_some().then_some(Cable::Open);
        let options = BootOptions { cable, ..options.clone() };
        let mut all = BOOTED.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = format!("{options:?}");
        if let Some(booted) = all.get(&kind) {
            return Ok(Arc::clone(booted));
        }
        let booted = Arc::new(Self::boot(&options)?);
        all.insert(kind, Arc::clone(&booted));
        Ok(booted)
    }

    fn boot(options: &BootOptions) -> Result<Self> {
        let folder = Kept::make()?;
        let (disk, pace) = (make_disk(folder.path())?, Pace::make(folder.path())?);
        let made = Made::of(options, folder.path())?;
        let mut words = made.words(options.cable.as_ref(), folder.path(), &disk);
        words.extend(memory(folder.path(), "on"));
        words.extend(pace.words()?);
        let emulator = folder.start(PC_EMULATOR, &words)?;
        let (mut port, mut qmp, _) = emulator.attach()?;
        port.until("booted", BOOT).map_err(|why| emulator.failed(&format!("the guest does not boot: {why}")))?;
        qmp.execute("stop", json!({}))?;
        qmp.migrate("migrate", &format!("exec:cat >'{}'", emulator.folder().join(STATE).display()))?;
        qmp.execute("quit", json!({}))?;
        Ok(Booted { emulator, made })
    }

    /// The emulator's words for a copy with a disk and a folder of its own.
    pub(crate) fn words(&self, cable: Option<&Cable>, folder: &Path, disk: &Path) -> Vec<String> {
        let mut words = self.made.words(cable, folder, disk);
        words.extend(memory(self.emulator.folder(), "off"));
        words.extend(["-incoming".to_owned(), "defer".to_owned()]);
        words
    }

    /// Lets a copy begin; its port must be connected, as it was when the machine was stopped.
    pub(crate) fn resume(&self, qmp: &mut Qmp) -> Result<()> {
        qmp.migrate("migrate-incoming", &format!("exec:cat '{}'", self.emulator.folder().join(STATE).display()))?;
        qmp.execute("cont", json!({})).map(drop)
    }
}

/// What the devices were at, in the folder of the machine.
const STATE: &str = "state";

/// Memory in a file of the machine's folder: its own, or one of which a copy changes its own pages alone.
fn memory(folder: &Path, share: &str) -> Vec<String> {
    let file = format!("memory-backend-file,id=mem,size={MEMORY}M,mem-path={}/memory,share={share}", folder.display());
    ["-machine", "memory-backend=mem", "-object", &file].map(str::to_owned).to_vec()
}
