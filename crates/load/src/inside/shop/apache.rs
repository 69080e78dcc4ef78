//! The shop on Debian's Apache, PHP and MariaDB: started for the load in a folder of its own, and ended with it.
//!
//! Nothing of the system's configuration or data is read or written. The database begins empty, as an ordinary process that only
//! the shop's socket reaches; Apache listens on loopback. Run by root both become the user `www-data`.
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use rustix::time::ClockId;

use self::folder::Folder;
use super::goods::{CATEGORIES, Product};
use super::http::take_answer;
use super::{Failure, now_ns, sleep_until};

mod folder;
mod group;

const HTTPD_CONF: &str = include_str!("apache/httpd.conf");
const PHP_INI: &str = include_str!("apache/php.ini");
const SCHEMA: &str = include_str!("apache/schema.sql");
const PAGES: [(&str, &str); 3] = [
    ("shop.php", include_str!("apache/shop.php")),
    ("book.php", include_str!("apache/book.php")),
    ("frame.php", include_str!("apache/frame.php")),
];

const APACHE: &str = "/usr/sbin/apache2";
const DATABASE: &str = "/usr/sbin/mariadbd";
const CLIENT: &str = "/usr/bin/mariadb";
const MODULES: &str = "/usr/lib/apache2/modules";
const PHP_MODULES: &str = "/usr/lib/php";

/// Processes of Apache, as Debian's `MaxRequestWorkers`. Up to so many customers keep their connections, each of which holds a
/// process; of more each request makes its own.
const WORKERS: u32 = 150;
/// Processes next to those that customers hold.
const SPARE: u32 = 10;

/// Rows of one statement; a line of the database's start-up file has a limit.
const ROWS: usize = 30;

/// How long it may take until it serves, ns, how often it is asked, and how often another port is tried.
const OPEN_NS: u64 = 60_000_000_000;
const ASK_NS: u64 = 10_000_000;
const PORTS: u32 = 5;
/// How long one such page may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A shop that is open.
pub(super) struct Apache {
    folder: Folder,
    database: Child,
    web: Child,
    port: u16,
}

/// What has to be installed, in one sentence.
fn missing(what: &str) -> Failure {
    let install = "apt-get install apache2 libapache2-mod-php php-mysql mariadb-server";
    Failure::Load(format!(
        "the shop needs {what}, which is not here; install it with `{install}`, or write server = \"embedded\""
    ))
}

/// The PHP module of Apache.
fn php_module() -> Result<PathBuf, Failure> {
    for program in [APACHE, DATABASE, CLIENT] {
        if !Path::new(program).is_file() {
            return Err(missing(program));
        }
    }
    let php = entries(MODULES).into_iter().find(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libphp"))
            && path.extension().is_some_and(|end| end == "so")
    });
    let mysqli = entries(PHP_MODULES).iter().any(|folder| folder.join("mysqli.so").is_file());
    match php {
        None => Err(missing("PHP as a module of Apache")),
        Some(_) if !mysqli => Err(missing("PHP's mysqli")),
        Some(php) => Ok(php),
    }
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    paths.sort();
    paths
}

impl Apache {
    /// Opens the shop for so many customers.
    pub(super) fn open(customers: u32, goods: &[Product]) -> Result<Self, Failure> {
        let php = php_module()?;
        let mut folder = Folder::make()?;
        // What Apache's processes leave behind as it ends comes to us, and with it what they cost.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|errno| Failure::of("cannot take over the processes of Apache")(errno.into()))?;
        let keeps = customers <= WORKERS;
        let workers = if keeps { customers + SPARE } else { WORKERS };
        write_pages(&folder, goods)?;
        let mut database = start_database(&mut folder, workers)?;
        for _ in 0..PORTS {
            let port = free_port()?;
            let mut web = start_apache(&mut folder, &php, port, workers, keeps)?;
            if opens(&folder, &mut database, &mut web, port)? {
                return Ok(Apache { folder, database, web, port });
            }
        }
        Err(Failure::Load("Apache finds no port to listen on".into()))
    }

    pub(super) fn place(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// How many orders stand in the database, and what they come to together, cents.
    pub(super) fn ordered(&self) -> Result<(u64, u64), Failure> {
        let cannot = "cannot count the orders in the database";
        let socket = format!("--socket={}", self.folder.socket().display());
        // From the lines, so that an order written in part is seen.
        let query = "SELECT COUNT(DISTINCT ordered), COALESCE(SUM(quantity * price_cents), 0) FROM shop.order_lines";
        let output = Command::new(CLIENT)
            .args(["--no-defaults", &socket, "--batch", "--skip-column-names", "-e", query])
            .stdin(Stdio::null())
            .output()
            .map_err(Failure::of(cannot))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut numbers = text.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(count)), Some(Ok(cents))) => Ok((count, cents)),
            _ => Err(Failure::Load(format!("{cannot}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
        }
    }

    /// Ends everything at once; what it wrote is not needed any more. Waits for all of it, so that what it cost is ours.
    pub(super) fn close(self) {
        let Apache { folder, mut database, mut web, .. } = self;
        for server in [&mut web, &mut database] {
            end_group(server);
        }
        folder.remove();
    }
}

fn end_group(server: &mut Child) {
    if let Some(pid) = i32::try_from(server.id()).ok().and_then(Pid::from_raw) {
        // None left to signal is as wanted.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    let _ = server.wait();
}

/// Pages, configuration, and what the database starts with.
fn write_pages(folder: &Folder, goods: &[Product]) -> Result<(), Failure> {
    for name in ["pages", "sessions", "data", "data/mysql"] {
        folder.make_folder(name)?;
    }
    for (name, text) in PAGES {
        folder.write(&format!("pages/{name}"), text)?;
    }
    folder.write("php.ini", &PHP_INI.replace("{folder}", &folder.shown()))?;
    folder.write("start.sql", &start_sql(goods))
}

/// The statements the database starts with, each on a line of its own.
fn start_sql(goods: &[Product]) -> String {
    let mut sql = SCHEMA.to_owned() + "BEGIN;\n";
    for (id, name) in (1..).zip(CATEGORIES) {
        sql += &format!("INSERT INTO categories VALUES ({id}, '{name}');\n");
    }
    for goods in goods.chunks(ROWS) {
        let row = |product: &Product| {
            let Product { id, name, description, category, price_cents } = product;
            format!("({id}, '{name}', '{description}', {category}, {price_cents})")
        };
        let rows: Vec<String> = goods.iter().map(row).collect();
        sql += "INSERT INTO products (id, name, description, category, price_cents) VALUES ";
        sql += &(rows.join(", ") + ";\n");
    }
    sql + "COMMIT;\n"
}

/// A database that is empty but for what it starts with, and asks nobody for a name: only its socket leads to it, and only who
/// runs the shop to the socket.
fn start_database(folder: &mut Folder, workers: u32) -> Result<Child, Failure> {
    let at = |name: &str| format!("{}/{name}", folder.shown());
    let mut database = Command::new(DATABASE);
    database.args(["--no-defaults", "--skip-networking", "--skip-grant-tables", "--innodb-stats-persistent=0"]);
    database.arg(format!("--datadir={}", at("data")));
    database.arg(format!("--socket={}", folder.socket().display()));
    database.arg(format!("--pid-file={}", at("database.pid")));
    database.arg(format!("--log-error={}", at("database.log")));
    database.arg(format!("--init-file={}", at("start.sql")));
    database.arg(format!("--tmpdir={}", folder.shown()));
    database.arg(format!("--max-connections={}", workers + SPARE));
    folder.start(database, Signal::KILL, "database.log")
}

fn start_apache(folder: &mut Folder, php: &Path, port: u16, workers: u32, keeps: bool) -> Result<Child, Failure> {
    let conf = HTTPD_CONF
        .replace("{folder}", &folder.shown())
        .replace("{modules}", MODULES)
        .replace("{php}", &php.display().to_string())
        .replace("{port}", &port.to_string())
        .replace("{workers}", &workers.to_string())
        .replace("{keeps}", if keeps { "On" } else { "Off" });
    folder.write("httpd.conf", &conf)?;
    let mut apache = Command::new(APACHE);
    apache.args(["-D", "FOREGROUND", "-f", &format!("{}/httpd.conf", folder.shown())]);
    // Debian's settings of PHP for Apache are not read; ours are in the folder.
    apache.env("PHP_INI_SCAN_DIR", "");
    // Asked politely, it ends its processes too.
    folder.start(apache, Signal::TERM, "apache.log")
}

/// A port nobody listens on.
fn free_port() -> Result<u16, Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map(|place| place.port()).map_err(Failure::of("there is no free port"))
}

/// Waits until a page with what is in the database is served; whether it was not the port that stood in the way.
fn opens(folder: &Folder, database: &mut Child, web: &mut Child, port: u16) -> Result<bool, Failure> {
    let until_ns = now_ns(ClockId::Monotonic) + OPEN_NS;
    let ended = |server: &mut Child| !matches!(server.try_wait(), Ok(None));
    while now_ns(ClockId::Monotonic) < until_ns {
        if ended(database) {
            return Err(Failure::Load(format!("MariaDB ended as it started: {}", folder.last_line("database.log"))));
        }
        if ended(web) {
            let why = folder.last_line("apache.log");
            return if why.contains("AH00015") || why.contains("AH00072") {
                Ok(false)
            } else {
                Err(Failure::Load(format!("Apache ended as it started: {why}")))
            };
        }
        if asked((Ipv4Addr::LOCALHOST, port).into()).is_ok_and(|status| status == 200) {
            return Ok(true);
        }
        sleep_until(now_ns(ClockId::Monotonic) + ASK_NS)?;
    }
    let why = ["php.log", "apache.log"].map(|name| folder.last_line(name)).join(" ");
    Err(Failure::Load(format!("Apache serves no page after {} s: {}", OPEN_NS / 1_000_000_000, why.trim())))
}

/// Asks for a page; the status of the answer.
fn asked(place: SocketAddr) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&place, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /category/1 HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n")?;
    let mut come = Vec::new();
    stream.read_to_end(&mut come)?;
    let answer = take_answer(&mut come).map_err(std::io::Error::other)?;
    answer.map(|answer| answer.status).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::super::goods;
    use super::*;

    #[test]
    fn what_the_database_starts_with_is_one_statement_a_line_and_none_too_long() {
        let sql = start_sql(&goods::all());
        assert!(sql.lines().all(|line| line.ends_with(';') && line.len() < 20_000));
        let products = sql.lines().filter(|line| line.starts_with("INSERT INTO products"));
        assert_eq!(products.map(|line| line.matches("(").count() - 1).sum::<usize>(), 4096);
    }

    #[test]
    fn what_is_missing_is_named_with_its_cure() {
        let why = missing(APACHE).to_string();
        assert!(why.contains("apt-get install apache2 libapache2-mod-php php-mysql mariadb-server"), "{why}");
    }
}
