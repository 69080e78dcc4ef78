//! The shop on Apache, PHP and MariaDB: served without a failure, for root and for others, and gone with anyone who started it.
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::desk::{Desk, Ran, Started, root, split, text, typical, until};

/// An ordinary user.
const NOBODY: u32 = 65534;

/// Whether the services are there, and root, which some of the tests need to become somebody else.
fn ready() -> bool {
    let here = split("/usr/sbin/apache2 /usr/sbin/mariadbd /usr/bin/mariadb").iter().all(|it| Path::new(it).exists());
    let must = std::env::var("CI").as_deref() == Ok("true");
    assert!(here || !must, "this test needs Apache, PHP and MariaDB, and CI=true");
    if !here {
        eprintln!("skipped: needs Apache, PHP and MariaDB");
    }
    here && root()
}

/// A desk with a plan for the shop, and where the load makes its folder.
struct Store {
    desk: Desk,
    temporary: PathBuf,
}

impl Store {
    /// None where it cannot be opened.
    fn of(seconds: u32) -> Option<Store> {
        ready().then(|| Store::new(seconds))
    }

    fn new(seconds: u32) -> Store {
        let desk = Desk::new();
        let temporary = desk.beside("tmp");
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).unwrap();
        fs::set_permissions(desk.beside(""), fs::Permissions::from_mode(0o755)).unwrap();
        let store = Store { desk, temporary };
        store.plan(seconds);
        store
    }

    /// Trials of so many seconds from now on.
    fn plan(&self, seconds: u32) {
        let plan = format!(
            "settings = [\"a:\", \"b:\"]\nblocks = 1\nwarmup = 0\nsettle = \"0s\"\n[load]\nkind = \"shop\"\nserver = \"apache\"\n\
             customers = 50\nthink = \"50ms\"\nramp = \"300ms\"\nfor = \"{seconds}s\"\n"
        );
        fs::write(self.desk.beside("plan.toml"), plan).unwrap();
    }

    fn command(&self) -> Command {
        let plan = self.desk.beside("plan.toml");
        let mut command = self.desk.command(&["--json", "run", plan.to_str().unwrap()]);
        command.env("TMPDIR", &self.temporary);
        command
    }

    fn start(&self) -> Started {
        Started::of(&mut self.command())
    }

    /// The folder of the shop, once it serves.
    fn folder(&self) -> PathBuf {
        let mut found = None;
        until("the shop is open", || {
            found = entries(&self.temporary).into_iter().next();
            found.as_deref().is_some_and(|folder| ask(folder, "GET / HTTP/1.1\r\n", "").is_some())
        });
        found.unwrap()
    }

    /// Processes that have its folder among their words. One that has ended and waits to be reaped has no words.
    fn processes(&self) -> usize {
        let wanted = self.temporary.join("powerband-shop-").display().to_string();
        let words =
            entries(Path::new("/proc")).into_iter().filter_map(|process| fs::read(process.join("cmdline")).ok());
        words.filter(|words| String::from_utf8_lossy(words).contains(&wanted)).count()
    }

    #[track_caller]
    fn is_gone(&self) {
        until("no process is left", || self.processes() == 0);
        until("no folder is left", || entries(&self.temporary).is_empty());
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// What the shop in a folder answers, if it does with 200.
fn ask(folder: &Path, head: &str, body: &str) -> Option<String> {
    let conf = fs::read_to_string(folder.join("httpd.conf")).ok()?;
    let place = conf.lines().find_map(|line| line.strip_prefix("Listen "))?;
    let mut stream = TcpStream::connect(place).ok()?;
    write!(stream, "{head}Host: shop\r\nConnection: close\r\nContent-Length: {}\r\n", body.len()).ok()?;
    write!(stream, "Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200 ").then_some(answer)
}

/// What the database in a folder answers, while it is there.
fn query(folder: &Path, query: &str) -> Option<String> {
    let socket = format!("--socket={}", folder.join("database.socket").display());
    let words = ["--no-defaults", &socket, "-N", "-B", "-e", query, "shop"];
    let output = Command::new("mariadb").args(words).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// Trials that become longer until customers come to order in them.
fn assert_served(store: &Store, mut command: Command) {
    let served = |seconds| {
        store.plan(seconds);
        let report = Ran::of(&command.output().unwrap()).ended(0).report();
        let of = |setting| {
            let [rate, orders, half, most] =
                ["requests_per_s", "orders_per_s", "p50_us", "p99_us"].map(|metric| typical(&report, setting, metric));
            // 50 customers who think 50 ms ask for a thousand pages a second at most.
            assert!(
                rate > 0.0 && rate < 1_100.0 && orders < rate / 5.0 && half <= most,
                "{rate} {orders} {half} {most}"
            );
            orders
        };
        of("a") + of("b") > 0.0
    };
    assert!([3, 12, 60].into_iter().any(served), "nobody has ordered");
    store.is_gone();
}

#[test]
fn fifty_customers_are_served_and_nothing_stays() {
    let Some(store) = Store::of(3) else { return };
    assert_served(&store, store.command());
}

#[test]
fn an_ordinary_user_has_a_shop_too() {
    let Some(store) = Store::of(3) else { return };
    fs::create_dir(store.desk.state()).unwrap();
    std::os::unix::fs::chown(store.desk.state(), Some(NOBODY), Some(NOBODY)).unwrap();
    let copy = store.desk.beside("powerband");
    // Copied by another process: what another test forks meanwhile would keep our copy open for writing, and busy.
    let copied =
        Command::new("install").args(["-m", "755", env!("CARGO_BIN_EXE_powerband")]).arg(&copy).status().unwrap();
    assert!(copied.success());
    let mut command = Command::new(copy);
    store.desk.furnish(&mut command);
    command.env("TMPDIR", &store.temporary).current_dir("/").uid(NOBODY).gid(NOBODY);
    command.args(["--json", "run"]).arg(store.desk.beside("plan.toml"));
    assert_served(&store, command);
}

/// Orders two of the seventh product, and finds that in the database; the session's line there, and what is left in stock.
fn order(folder: &Path) -> Option<(String, String, u32)> {
    let front = ask(folder, "GET / HTTP/1.1\r\n", "")?;
    let session = front.split("session=").nth(1)?.split(';').next()?.to_owned();
    let with = |target: &str| format!("POST {target} HTTP/1.1\r\nCookie: session={session}\r\n");
    assert!(ask(folder, &with("/cart"), "product=7&quantity=2")?.contains("id=\"total\""));
    let ordered = ask(folder, &with("/order"), "")?;
    let number = ordered.split("<b id=\"order\">").nth(1)?.split('<').next()?;
    let lines = "SELECT session, product, quantity FROM orders JOIN order_lines ON ordered = id WHERE id =";
    let line = query(folder, &format!("{lines} {number}"))?;
    Some((session, line, query(folder, "SELECT stock FROM products WHERE id = 7")?.parse().ok()?))
}

#[test]
fn an_order_is_in_the_database_and_one_nobody_was_confirmed_is_found_out() {
    // It must come while the first trial runs, on a busy machine too: one that is longer, if it does not.
    for seconds in [3, 12, 60] {
        let Some(store) = Store::of(seconds) else { return };
        let running = store.start();
        let folder = store.folder();
        assert!(folder.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 == 0), "nobody else looks in");
        let Some((session, line, stock)) = order(&folder) else { continue };
        assert_eq!(line, format!("{session}\t7\t2"));
        assert!(stock <= 998, "{stock}");
        // None of the customers ordered it: that trial is void, and another is made in its place.
        running.end().ended(0);
        let voids: Vec<String> =
            store.desk.journal().into_iter().filter(|line| line.contains("the shop has booked")).collect();
        assert!(voids.len() == 1 && voids[0].contains("customers were confirmed"), "{voids:?}");
        return store.is_gone();
    }
    panic!("no trial is long enough for an order");
}

#[test]
fn killed_or_stopped_it_leaves_no_process_and_no_folder() {
    for (signal, code) in [(Signal::KILL, None), (Signal::INT, Some(130)), (Signal::TERM, Some(130))] {
        let Some(store) = Store::of(300) else { return };
        let running = store.start();
        let folder = store.folder();
        assert!(store.processes() > 50, "a process for each customer, the database, the load and its keeper");
        running.signal(signal);
        assert_eq!(running.end().code, code, "{signal:?}");
        store.is_gone();
        assert!(!folder.exists());
    }
}

#[test]
fn stopped_inside_a_group_that_is_killed_as_a_whole_it_leaves_nothing_either() {
    for signal in [Signal::INT, Signal::KILL] {
        let Some(store) = Store::of(300) else { return };
        let plan = text(&store.desk.beside("plan.toml"));
        let quotas = "settings = [\"a: cgroup.cpu_quota=80%\", \"b: cgroup.cpu_quota=100%\"]";
        fs::write(store.desk.beside("plan.toml"), plan.replace("settings = [\"a:\", \"b:\"]", quotas)).unwrap();
        let running = store.start();
        store.folder();
        running.signal(signal);
        drop(running.end());
        store.is_gone();
        store.desk.run(&["undo"]);
    }
}

#[test]
fn what_a_load_left_that_was_killed_with_its_keeper_goes_with_the_next() {
    let Some(store) = Store::of(300) else { return };
    let running = store.start();
    let folder = store.folder();
    let load: u32 = folder.file_name().unwrap().to_str().unwrap().rsplit('-').next().unwrap().parse().unwrap();
    let children = text(Path::new(&format!("/proc/{load}/task/{load}/children")));
    let keeps = |pid: &&str| text(Path::new(&format!("/proc/{pid}/cmdline"))).contains("\0keeper\0");
    let keeper: i32 = children.split_whitespace().find(keeps).unwrap().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(keeper).unwrap(), Signal::KILL).unwrap();
    // The load dies with it.
    running.signal(Signal::KILL);
    drop(running.end());
    until("the servers have ended with the load", || store.processes() == 0);
    assert!(folder.exists(), "nobody was there to remove it");
    let next = Store { desk: Desk::new(), ..store };
    let short = Store::new(1);
    fs::copy(short.desk.beside("plan.toml"), next.desk.beside("plan.toml")).unwrap();
    Ran::of(&next.command().output().unwrap()).ended(0);
    next.is_gone();
}

#[test]
fn what_is_missing_is_said_with_what_to_install() {
    let Some(store) = Store::of(1) else { return };
    let plan = store.desk.beside("plan.toml").display().to_string();
    let mut command = Command::new("unshare");
    store.desk.furnish(&mut command);
    let hide = "mount -t tmpfs none /usr/lib/php && exec \"$@\"";
    command.args(["--mount", "sh", "-c", hide, "sh", env!("CARGO_BIN_EXE_powerband"), "run", &plan]);
    let ran = Ran::of(&command.env("TMPDIR", &store.temporary).output().unwrap()).ended(7);
    let said = ran.out + &ran.err;
    assert!(said.contains("apt-get install apache2 libapache2-mod-php php-mysql mariadb-server"), "{said}");
    store.is_gone();
}
