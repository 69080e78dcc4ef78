//! Reading what a path names: a file, its path without links, coalescing of a network device, what a command prints, or a counter of perf.
use powerband_machine::{CommandPlace, Errno, LATENCY_DEVICE, Readable};

use crate::account::command_user;
use crate::perf::Counter;
use crate::program::{WORDS_BYTES, run_as};
use crate::unpack::KERNEL_CONFIGURATION;

/// Reads a path: a place of coalescing, what a command prints, a counter of perf, the kernel's configuration, which is
/// packed, or a file.
pub(crate) fn read_place(path: &str, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    match Readable::of(path) {
        Readable::Command(command) => printed(&command),
        Readable::Perf(place) => Counter::open(place)?.read(),
        Readable::Coalescing(place) => crate::coalescing::get(place.device)?.read(&place),
        Readable::File(KERNEL_CONFIGURATION) => crate::unpack::read(path, buffer),
        Readable::File(LATENCY_DEVICE) => crate::files::read_latency(path),
        Readable::Resolved(path) => resolved(path),
        // Lines are there while they are open.
        Readable::File(_) | Readable::Lines(_) => crate::files::read(path, buffer),
    }
}

/// A path without links on its way; that of its folder where the file is not there yet.
fn resolved(path: &str) -> Result<String, Errno> {
    let path = std::path::Path::new(path);
    // A link that leads nowhere is not where a file is made.
    let of_folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)).filter(|_| !path.is_symlink());
    let found = path.canonicalize().ok().or_else(of_folder).ok_or(Errno::ENOENT)?;
    found.into_os_string().into_string().map(|path| path + "\n").map_err(|_| Errno::EILSEQ)
}

/// What a command that reads something prints, a newline at its end; its complaints are no part of it.
fn printed(place: &CommandPlace<'_>) -> Result<String, Errno> {
    let user = command_user(place.user).map_err(|refusal| refusal.errno)?;
    let said = run_as(user.as_ref(), &place.argv(), WORDS_BYTES, false);
    said.map(|said| said + "\n").map_err(|refusal| refusal.errno)
}
