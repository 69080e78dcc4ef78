//! `capture`: what a machine reads, written into a folder that answers as `recorded:DIR`.
use powerband_host::{CaptureError, CapturedMachine};
use powerband_machine::Errno;
use powerband_record::{Side, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Capture, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// A machine that was captured.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Captured<'a> {
    /// Where it is.
    folder: String,
    /// How many files were read.
    files: usize,
    /// How many the kernel does not show.
    refused: usize,
    /// What is not as it was read, in words.
    left_out: &'a [String],
}

impl Document for Captured<'_> {
    const KIND: &'static str = "capture";
}

pub(crate) fn run(shared: &Shared, args: &Capture) -> Answer {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let recording = rig.world().machine(Side::Near).map(|machine| CapturedMachine::of(machine));
    // What a lost machine does not answer is not what it is.
    rig::check_lost(rig.world())?;
    let recording = recording.ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let folder = &args.folder;
    powerband_host::with_rights_for(folder, || recording.write(folder)).map_err(failure)?;
    let (files, refused) = recording.counts();
    if shared.json {
        let folder = folder.display().to_string();
        return output::print_document(&Captured { folder, files, refused, left_out: recording.left_out() });
    }
    output::print(&format!(
        "{files} files, {refused} the kernel does not show; look at them before you pass them on, then e.g. \
         `powerband info --machine {}`\nleft out: {}\n",
        quoted(&format!("recorded:{}", folder.display())),
        recording.left_out().join("; ")
    ));
    Ok(Exit::Fine as u8)
}

fn failure(error: CaptureError) -> Failure {
    let exit = match &error {
        CaptureError::NotEmpty(_) => Exit::Usage,
        CaptureError::Unwritable { errno: Errno::EACCES | Errno::EPERM, .. } => Exit::Denied,
        CaptureError::Unwritable { errno: Errno::ENOTDIR | Errno::EEXIST, .. } => Exit::Usage,
        _ => Exit::CannotGoOn,
    };
    Failure::new(exit, error)
}
