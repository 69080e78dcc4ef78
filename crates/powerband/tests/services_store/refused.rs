//! Databases that are not ours, words that are wrong, and encryption.
use std::path::Path;
use std::process::Command;

use crate::desk::{Desk, Ran, split};
use crate::server::{SECRET, Server};

/// A short experiment.
const TRY: &str = "--machine sim:quadcore try governor=powersave --load counter --for 10s --blocks 2";

/// Runs it with a store.
fn on(desk: &Desk, url: &str, words: &str) -> Ran {
    desk.run(&split(&format!("--store {url} {words}")))
}

#[test]
fn what_is_not_ours_is_refused_in_words() {
    let Some(server) = Server::new() else { return };
    let (desk, url) = (Desk::new(), server.url());
    let refused = |url: &str, code: i32, what: &str| {
        let said = ["list", TRY].map(|words| on(&desk, url, words).refused(code));
        assert_eq!(said[0], said[1], "before anything is measured");
        assert!(!said[0].contains(SECRET) && !said[0].contains("wrong-word"), "{}", said[0]);
        assert!(said[0].contains(what), "{}", said[0]);
    };
    server.asked("CREATE DATABASE other");
    on(&desk, &server.url_of("other"), TRY).ended(0);
    server.asked("CREATE SCHEMA powerband; CREATE TABLE powerband.store (shelf text)");
    refused(&url, 8, "another program");
    let newer = "CREATE TABLE powerband.store AS SELECT 'powerband' AS application, 7 AS version";
    server.asked(&format!("DROP TABLE powerband.store; {newer}"));
    refused(&url, 8, "newer powerband (store version 7, this one knows 3)");
    refused(&url.replace(SECRET, "wrong-word"), 3, "password authentication failed");
    refused(&server.url_of("missing"), 8, "\"missing\" does not exist");
    refused(&format!("{url}?sslmode=perhaps"), 2, "sslmode=perhaps");
    refused(&format!("{url}?sslmode=require"), 8, "TLS");
}

#[test]
fn other_users_need_the_rights_that_are_documented() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let on = |user: &str, words: &str| on(&desk, &server.url().replace("bench", user), words);
    on("bench", TRY).ended(0);
    for user in ["reader", "writer"] {
        server
            .asked(&format!("CREATE ROLE {user} LOGIN PASSWORD '{SECRET}'; GRANT USAGE ON SCHEMA powerband TO {user}"));
    }
    server.asked("GRANT SELECT ON ALL TABLES IN SCHEMA powerband TO reader");
    server.asked("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA powerband TO writer");
    server.asked("GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA powerband TO writer");
    for user in ["reader", "writer"] {
        assert_eq!(on(user, "--json list").ended(0).out, on("bench", "--json list").ended(0).out);
        on(user, "show last").ended(0);
    }
    assert!(on("reader", TRY).refused(3).contains("permission denied for table experiment"));
    on("writer", TRY).ended(0);
    on("writer", "resume last --blocks 3").ended(0);
    let copy = desk.beside("copy.sqlite").display().to_string();
    desk.run(&split(&format!("--store {copy} {TRY}"))).ended(0);
    desk.run(&["store", "migrate", &copy, &server.url().replace("bench", "writer")]).ended(0);
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "3");
}

#[test]
fn it_is_encrypted_and_the_server_is_who_it_says() {
    let Some(mut server) = Server::new() else { return };
    let desk = Desk::new();
    let made = |name: &str| {
        let (key, certificate) = (desk.beside(&format!("{name}.key")), desk.beside(&format!("{name}.crt")));
        let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test \
                     -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
        let mut openssl = Command::new("openssl");
        openssl.args(split(words)).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
        Ran::of(&openssl.output().unwrap()).ended(0);
        (key, certificate)
    };
    let ((key, certificate), (_, another)) = (made("right"), made("another"));
    server.write("server.key", &key);
    server.write("server.crt", &certificate);
    let ssl = |server: &mut Server, to: &str| {
        server.asked(&format!("ALTER SYSTEM SET ssl = {to}"));
        server.stop();
        server.start();
    };
    ssl(&mut server, "on");
    let url = server.url();
    let list = |more: &str| on(&desk, &format!("{url}?{more}"), "list");
    let rooted = |root: &Path| format!("sslmode=verify-full&sslrootcert={}", root.display());
    let trusted = rooted(&certificate);
    for more in [&trusted, "sslmode=require", "sslmode=prefer"] {
        list(more).ended(0);
    }
    for more in [&rooted(&another), "sslmode=verify-full"] {
        let said = list(more).refused(8);
        assert!(said.contains("certificate") && !said.contains(SECRET), "{said}");
    }
    let named = format!("{url}?{trusted}").replace("127.0.0.1", "localhost");
    assert!(on(&desk, &named, "list").refused(8).contains("certificate"));
    // What is sent is encrypted.
    on(&desk, &format!("{url}?{trusted}"), TRY).ended(0);
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "1");
    ssl(&mut server, "off");
}
