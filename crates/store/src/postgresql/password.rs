//! Passwords from `~/.pgpass`, as libpq reads them.
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The password of the first line that fits; none where others may read the file.
pub(super) fn of(config: &Config) -> Option<String> {
    let path = match std::env::var_os("PGPASSFILE") {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".pgpass"),
    };
    if std::fs::metadata(&path).ok()?.mode() & 0o077 != 0 {
        return None;
    }
    let (host, port) = host_and_port(config);
    let user = config.get_user().map_or_else(|| std::env::var("USER").unwrap_or_default(), str::to_owned);
    let database = config.get_dbname().unwrap_or(&user);
    find(&std::fs::read_to_string(&path).ok()?, [&host, &port, database, &user])
}

/// Host and port as `~/.pgpass` has them.
fn host_and_port(config: &Config) -> (String, String) {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        _ => "localhost".to_owned(),
    };
    (host, config.get_ports().first().copied().unwrap_or(5432).to_string())
}

/// The password for host, port, database and user.
fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line).into_iter();
        let fits = wanted.iter().all(|wanted| fields.next().is_some_and(|field| field == "*" || field == *wanted));
        if fits { fields.next() } else { None }
    })
}

/// Five fields between colons; a backslash keeps a colon or a backslash.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            '\\' => letters.next(),
            letter => Some(letter),
        };
        if let (Some(field), Some(letter)) = (fields.last_mut(), letter) {
            field.push(letter);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# a comment\nother:*:*:*:no\nh:5432:d\\:b:u:a\\\\b\\:c:d\n*:*:*:u:last\n";
        assert_eq!(find(text, ["h", "5432", "d:b", "u"]).as_deref(), Some("a\\b:c:d"));
        assert_eq!(find(text, ["h", "5433", "d:b", "u"]).as_deref(), Some("last"));
        assert_eq!(find(text, ["h", "5433", "d:b", "v"]), None);
    }
}
