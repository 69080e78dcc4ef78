//! Real writers: short and long-lived processes, a replaced file, and our own.
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags};

use super::*;

/// How long anything may take that is waited for here, ns; far beyond what it takes.
const PATIENCE_NS: u64 = 30_000_000_000;

/// Whether files can be watched here. In CI they must.
fn may_watch() -> bool {
    let may = rustix::process::geteuid().is_root() && Files::new().is_ok();
    assert!(may || std::env::var("CI").as_deref() != Ok("true"), "needs root");
    may
}

/// A file that can be watched.
fn watchable() -> Option<tempfile::NamedTempFile> {
    may_watch().then(|| tempfile::NamedTempFile::new().unwrap())
}

/// We, and no load.
fn we() -> Ours {
    Ours { own: vec![std::process::id()], loads: Vec::new() }
}

fn watching(places: &[&str]) -> Writers {
    let mut writers = Writers::default();
    let places: Vec<String> = places.iter().map(|&place| place.to_owned()).collect();
    writers.watch(&places).unwrap();
    writers
}

/// Listens until somebody has written, as the World does.
fn heard(writers: &mut Writers) -> Vec<Written> {
    let until_ns = crate::now_ns() + PATIENCE_NS;
    while !writers.listen(&we()) {
        assert!(crate::now_ns() < until_ns, "nobody was heard");
        let fds = writers.fds().map(|fd| PollFd::new(fd, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = fds.collect();
        rustix::event::poll(&mut fds, Some(&crate::time_until(until_ns))).unwrap();
    }
    writers.take(&we())
}

/// A shell that does as it is told, and then waits for the end of its input.
fn shell(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{script}; read end")]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// The one write there was, to this place.
#[track_caller]
fn only(writes: &[Written], place: &str) -> Writer {
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!(writes[0].place, place);
    writes[0].by.clone()
}

#[test]
fn a_writer_that_lives_is_known_by_number_and_name() {
    let Some(file) = watchable() else { return };
    let sysctl = "/proc/sys/kernel/printk_ratelimit";
    let sysfs = "/sys/kernel/mm/transparent_hugepage/defrag";
    for place in [file.path().to_str().unwrap(), sysctl, sysfs] {
        if !Path::new(place).exists() {
            continue;
        }
        let text = std::fs::read_to_string(place).unwrap();
        let same = text.split(['[', ']']).nth(1).unwrap_or(text.trim()).to_owned();
        let mut writers = watching(&[place]);
        let child = shell(&format!("echo {same} > {place}"));
        let by = only(&heard(&mut writers), place);
        let known = (by.pid, by.program.as_deref(), by.inferred.as_deref());
        assert_eq!(known, (Some(child.id()), Some("sh"), None), "{place}");
        assert!(writers.take(&we()).is_empty());
        end(child);
    }
}

#[test]
fn a_writer_that_has_ended_is_known_by_number() {
    let Some(file) = watchable() else { return };
    let place = file.path().to_str().unwrap();
    let mut writers = watching(&[place]);
    let child = shell(&format!("echo 1 > {place}"));
    let pid = child.id();
    // Nobody listens until it is gone for good.
    end(child);
    let by = only(&heard(&mut writers), place);
    assert_eq!((by.pid, by.program.as_deref()), (Some(pid), None));
    assert_eq!(by.to_string(), format!("pid {pid} (gone)"));
}

#[test]
fn our_own_writes_and_refused_ones_are_nobodys() {
    let Some(file) = watchable() else { return };
    let place = file.path().to_str().unwrap();
    let sysctl = "/proc/sys/kernel/printk_ratelimit_burst";
    let mut writers = watching(&[place, sysctl]);
    std::fs::write(place, "ours").unwrap();
    let text = std::fs::read_to_string(sysctl).unwrap();
    std::fs::write(sysctl, text).unwrap();
    end(shell(&format!("echo nonsense > {sysctl}; cat {place}")));
    assert!(writers.take(&we()).is_empty());
    end(shell(&format!("echo theirs > {place}")));
    assert!(only(&heard(&mut writers), place).pid.is_some());
}

#[test]
fn a_file_that_comes_or_is_replaced_is_watched_again() {
    if !may_watch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a"), folder.path().join("b"));
    let place = path.to_str().unwrap();
    let mut writers = watching(&[place]);
    std::fs::write(&path, "1").unwrap();
    assert!(writers.take(&we()).is_empty());
    end(shell(&format!("echo 2 > {place}")));
    assert!(only(&heard(&mut writers), place).pid.is_some());

    std::fs::write(&other, "3").unwrap();
    std::fs::rename(&other, &path).unwrap();
    let by = only(&heard(&mut writers), place);
    assert_eq!((by.pid, by.inferred.is_some()), (None, true), "{by}");
    end(shell(&format!("echo 4 > {place}")));
    assert!(only(&heard(&mut writers), place).pid.is_some());
}

#[test]
fn what_is_no_longer_watched_is_not_told() {
    if !may_watch() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    for path in &paths {
        std::fs::write(path, "1").unwrap();
    }
    let mut writers = watching(&[&paths[0]]);
    writers.watch(&paths[1..]).unwrap();
    end(shell(&format!("echo 2 > {}; echo 3 > {}", paths[0], paths[1])));
    only(&heard(&mut writers), &paths[1]);
}

#[test]
fn a_link_that_goes_up_and_a_device_that_comes_are_told_without_anybody() {
    if !may_watch() {
        return;
    }
    let mut writers = watching(&[DEVICES]);
    let name = format!("pb{}", std::process::id() % 100_000);
    let ip = |words: &str| {
        let said = Command::new("ip").args(words.split(' ')).status();
        assert!(said.unwrap().success(), "{words}");
    };
    ip(&format!("tuntap add dev {name} mode tap"));
    let mut told = String::new();
    let mut until = |what: String| {
        while !told.contains(&what) {
            for write in heard(&mut writers) {
                assert!(write.place == DEVICES && write.by.pid.is_none(), "{write:?}");
                told += &write.by.to_string();
            }
        }
    };
    until(format!("{name} add"));
    ip(&format!("link set {name} up"));
    until(format!("{name} up"));
    ip(&format!("link del {name}"));
    until(format!("{name} remove"));
}
