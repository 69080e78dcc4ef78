//! Databases that are not ours, words that are wrong, and encryption.
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use crate::desk::{Desk, Ran};
use crate::server::{SECRET, Server};

/// A short experiment.
const TRY: [&str; 10] =
    ["--machine", "sim:quadcore", "try", "governor=powersave", "--load", "counter", "--for", "10s", "--blocks", "2"];

#[test]
fn what_is_not_ours_is_refused_in_words() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let refused = |url: &str, code: i32| {
        let said = [&["list"][..], &TRY].map(|words| desk.run(&[&["--store", url], words].concat()).refused(code));
        assert_eq!(said[0], said[1], "before anything is measured");
        assert!(!said[0].contains(SECRET) && !said[0].contains("wrong-word"), "{}", said[0]);
        said[0].clone()
    };
    server.asked("CREATE DATABASE other");
    let other = server.url("other");
    desk.run(&[&["--store", other.as_str()], &TRY[..]].concat()).ended(0);
    server.asked("CREATE SCHEMA powerband; CREATE TABLE powerband.store (shelf text)");
    assert!(refused(&server.url("postgres"), 8).contains("another program"));
    server.asked(
        "DROP TABLE powerband.store; CREATE TABLE powerband.store AS SELECT 'powerband' AS application, 7 AS version",
    );
    assert!(refused(&server.url("postgres"), 8).contains("newer powerband (store version 7, this one knows 3)"));
    let said = refused(&server.url("postgres").replace(SECRET, "wrong-word"), 3);
    assert!(said.contains("authentication failed"), "{said}");
    assert!(refused(&server.url("missing"), 8).contains("\"missing\" does not exist"));
    let said = refused(&format!("{}?sslmode=perhaps", server.url("postgres")), 2);
    assert!(said.contains("sslmode=perhaps"), "{said}");
    let said = refused(&format!("{}?sslmode=require", server.url("postgres")), 8);
    assert!(said.contains("TLS"), "{said}");
}

#[test]
fn other_users_need_the_rights_that_are_documented() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let on = |user: &str, words: &[&str]| {
        let url = server.url("postgres").replace("bench", user);
        desk.run(&[&["--store", url.as_str()], words].concat())
    };
    on("bench", &TRY).ended(0);
    for user in ["reader", "writer"] {
        server
            .asked(&format!("CREATE ROLE {user} LOGIN PASSWORD '{SECRET}'; GRANT USAGE ON SCHEMA powerband TO {user}"));
    }
    server.asked("GRANT SELECT ON ALL TABLES IN SCHEMA powerband TO reader");
    server.asked("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA powerband TO writer");
    server.asked("GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA powerband TO writer");
    for user in ["reader", "writer"] {
        assert_eq!(on(user, &["--json", "list"]).ended(0).out, on("bench", &["--json", "list"]).ended(0).out);
        on(user, &["show", "last"]).ended(0);
    }
    let said = on("reader", &TRY).refused(3);
    assert!(said.contains("permission denied"), "{said}");
    on("writer", &TRY).ended(0);
    on("writer", &["resume", "last", "--blocks", "3"]).ended(0);
    let copy = desk.beside("copy.sqlite");
    desk.run(&[&["--store", copy.to_str().unwrap()], &TRY[..]].concat()).ended(0);
    let url = server.url("postgres").replace("bench", "writer");
    desk.run(&["store", "migrate", copy.to_str().unwrap(), &url]).ended(0);
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "3");
}

#[test]
fn it_is_encrypted_and_the_server_is_who_it_says() {
    let Some(mut server) = Server::new() else { return };
    let desk = Desk::new();
    let made = |name: &str, address: &str| {
        let (key, certificate) = (desk.beside(&format!("{name}.key")), desk.beside(&format!("{name}.crt")));
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]);
        openssl.args(["-subj", "/CN=test", "-addext", &format!("subjectAltName={address}")]);
        openssl
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate);
        Ran::of(&openssl.output().unwrap()).ended(0);
        (key, certificate)
    };
    let (key, certificate) = made("right", "IP:127.0.0.1");
    let (_, another) = made("another", "IP:127.0.0.1");
    let owner = fs::metadata(server.file("PG_VERSION")).unwrap();
    for (from, name) in [(&key, "server.key"), (&certificate, "server.crt")] {
        let to = server.file(name);
        fs::copy(from, &to).unwrap();
        let (user, group) = (std::os::unix::fs::MetadataExt::uid(&owner), std::os::unix::fs::MetadataExt::gid(&owner));
        chown(&to, Some(user), Some(group)).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
    }
    server.asked("ALTER SYSTEM SET ssl = on");
    server.stop();
    server.start();
    let url = |more: &str| format!("{}?{more}", server.url("postgres"));
    let list = |more: &str| desk.run(&["--store", &url(more), "list"]);
    let trusted = format!("sslmode=verify-full&sslrootcert={}", certificate.display());
    list(&trusted).ended(0);
    list("sslmode=require").ended(0);
    list("sslmode=prefer").ended(0);
    let said = list(&format!("sslmode=verify-full&sslrootcert={}", another.display())).refused(8);
    assert!(said.contains("certificate") && !said.contains(SECRET), "{said}");
    assert!(list("sslmode=verify-full").refused(8).contains("certificate"));
    let by_name = trusted.clone();
    let localhost = desk.run(&["--store", &url(&by_name).replace("127.0.0.1", "localhost"), "list"]).refused(8);
    assert!(localhost.contains("certificate"), "{localhost}");
    // What is sent is encrypted.
    server.asked("ALTER SYSTEM SET log_connections = on");
    desk.run(&[&["--store", &url(&trusted)], &TRY[..]].concat()).ended(0);
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "1");
}
