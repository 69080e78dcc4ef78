//! However the owner of a guest ends, nothing of the guest stays on this machine.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use powerband_bench_virtual::GuestKernel;

use crate::desk::had;

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(180);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A guest whose folder is made in this one; it is dropped by a SIGKILL.
struct Owner(Child);

impl Owner {
    fn start(temporary: &Path) -> Owner {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench-virtual"));
        command.arg("up").env("TMPDIR", temporary).stdout(Stdio::null()).stderr(Stdio::null());
        Owner(command.spawn().unwrap())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Processes whose command line names a folder, which emulator and keeper both do. One that has ended has none.
fn naming(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let names = |process: &PathBuf| fs::read_to_string(process.join("cmdline")).is_ok_and(|line| line.contains(folder));
    processes.filter(names).collect()
}

#[test]
fn a_killed_owner_leaves_nothing_before_and_after_its_emulator_starts() {
    if had(GuestKernel::get()).is_none() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let folder = || fs::read_dir(temporary.path()).unwrap().filter_map(|entry| Some(entry.ok()?.path())).next();
    for begun in [false, true] {
        let owner = Owner::start(temporary.path());
        let guest = until("the guest has a folder", folder);
        if begun {
            until("the silicon begins", || guest.join("silicon.sock").exists().then_some(()));
            assert!(
                naming(&guest).iter().any(
                    |process| fs::read_link(process.join("exe")).is_ok_and(|it| it.ends_with("qemu-system-x86_64"))
                )
            );
        }
        drop(owner);
        until("emulator and keeper end", || naming(temporary.path()).is_empty().then_some(()));
        until("the folder is removed", || folder().is_none().then_some(()));
    }
}
