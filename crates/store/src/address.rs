//! How a shared store is named.

/// Whether a store's name is the URL of a database, and no file.
#[must_use]
pub fn is_shared(name: &str) -> bool {
    ["postgresql://", "postgres://"].iter().any(|scheme| name.starts_with(scheme))
}

/// The name without its password, for messages and for what is written down.
#[must_use]
pub fn without_password(name: &str) -> String {
    let Some((scheme, rest)) = name.split_once("://").filter(|_| is_shared(name)) else { return name.to_owned() };
    // A password may hold a character that should have been escaped: better to cut too much.
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => rest.to_owned(),
    };
    let (address, parameters) = rest.split_once('?').unwrap_or((&rest, ""));
    let kept: Vec<&str> =
        parameters.split('&').filter(|one| !one.is_empty() && !one.starts_with("password=")).collect();
    let behind = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{scheme}://{address}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_shows_a_password() {
        for (name, shown) in [
            ("postgresql://u:secret@h:5433/db?sslmode=require", "postgresql://u@h:5433/db?sslmode=require"),
            ("postgres://u@h/db?password=secret&host=/run", "postgres://u@h/db?host=/run"),
            ("postgres://u:sec@ret@h/db", "postgres://u@h/db"),
            ("postgres://u:sec/re?t@h/db", "postgres://u@h/db"),
            ("postgresql:///db?host=/run", "postgresql:///db?host=/run"),
            ("a:b@c.sqlite", "a:b@c.sqlite"),
        ] {
            assert_eq!(without_password(name), shown);
        }
        assert!(!is_shared("postgres.sqlite"));
    }
}
