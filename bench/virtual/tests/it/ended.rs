//! However the owner of a guest ends, nothing of the guest stays on this machine.
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use powerband_bench_virtual::GuestKernel;

use crate::desk::had;

/// Process, parent and process group of all that run. One that has ended stays there until anyone who inherited it looks.
fn processes() -> Vec<(u32, u32, u32)> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let read = pids.filter_map(|pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
        Some((pid, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    });
    read.collect()
}

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(180);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The private folder of a guest, from its emulator's command line.
fn folder_of(emulator: u32) -> Option<PathBuf> {
    let line = fs::read_to_string(format!("/proc/{emulator}/cmdline")).ok()?;
    let console = line.split('\0').find_map(|word| word.strip_prefix("file:"))?;
    Some(PathBuf::from(console).parent()?.to_path_buf())
}

fn guest_of(owner: &Child) -> (u32, PathBuf) {
    until("the emulator runs", || {
        let all = processes();
        let keeper = all.iter().find(|(pid, parent, group)| *parent == owner.id() && pid == group)?.0;
        let emulator = all.iter().find(|(_, parent, _)| *parent == keeper)?.0;
        Some((keeper, folder_of(emulator)?))
    })
}

#[test]
fn a_killed_owner_leaves_nothing() {
    if had(GuestKernel::get()).is_none() {
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-virtual"));
    let mut owner = command.arg("up").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (keeper, folder) = guest_of(&owner);
    until("the silicon begins", || folder.join("silicon.sock").exists().then_some(()));
    std::thread::sleep(Duration::from_millis(500));
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("emulator and keeper end", || processes().iter().all(|(_, _, group)| *group != keeper).then_some(()));
    assert!(!folder.exists(), "{}", folder.display());
}

#[test]
fn an_owner_killed_before_its_emulator_starts_leaves_nothing() {
    if had(GuestKernel::get()).is_none() {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let names = || fs::read_dir(temporary.path()).unwrap().filter_map(|entry| Some(entry.ok()?.file_name())).next();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench-virtual"));
    let mut owner = command.arg("up").env("TMPDIR", temporary.path()).stdout(Stdio::null()).spawn().unwrap();
    until("the guest has a folder", names);
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("it is removed", || names().is_none().then_some(()));
}
