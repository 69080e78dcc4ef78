//! Many writers, and events that are not the same.
use crate::desk::{Desk, Started, split};
use crate::server::Server;

const TRY: &str = "--machine sim:quadcore try governor=performance,powersave --load counter --for 10s";

#[test]
fn many_writers_at_once_lose_and_double_nothing() {
    let Some(server) = Server::new() else { return };
    let desks: Vec<Desk> = (0..6).map(|_| Desk::new()).collect();
    let url = server.url();
    // The tables are made by all of them at once.
    let running: Vec<Started> = desks.iter().map(|desk| desk.start(&split(&format!("--store {url} {TRY}")))).collect();
    running.into_iter().for_each(|running| drop(running.end().ended(0)));
    assert_eq!(server.asked("SELECT count(*), count(DISTINCT run), max(id) FROM powerband.experiment"), "6|6|6");
    // One file, pushed by many at once into a database that has nothing of it.
    let file = desks[0].beside("one.sqlite");
    let file = file.to_str().unwrap();
    (0..3).for_each(|_| drop(desks[0].run(&split(&format!("--store {file} {TRY}"))).ended(0)));
    let push = format!("--store {url} --json store push --from {file}");
    let running: Vec<Started> = desks.iter().map(|desk| desk.start(&split(&push))).collect();
    let pushed: Vec<_> = running.into_iter().map(|running| running.end().ended(0).value()).collect();
    let sum = |field: &str| pushed.iter().map(|it| it[field].as_u64().unwrap()).sum::<u64>();
    let events: u64 = server.asked("SELECT count(*) FROM powerband.event WHERE experiment > 6").parse().unwrap();
    assert_eq!((sum("experiments"), sum("events"), sum("already")), (3, events, 5 * events));
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "9");
}

#[test]
fn the_same_event_with_other_content_is_an_error_that_names_both() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let url = server.url();
    let file = desk.beside("one.sqlite");
    let name = file.to_str().unwrap();
    for _ in 0..2 {
        desk.run(&split(&format!("--store {name} {TRY}"))).ended(0);
    }
    let push = format!("--store {url} --json store push --from {name}");
    desk.run(&split(&push)).ended(0);
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch("DROP TRIGGER event_is_never_changed; UPDATE event SET json = replace(json, '\"at_ns\":', '\"at_ns\":1') WHERE experiment = 1 AND seq = 5").unwrap();
    let line = |at: &str| {
        db.query_row(&format!("SELECT json FROM event WHERE {at}"), [], |row| row.get::<_, String>(0)).unwrap()
    };
    let ours = line("experiment = 1 AND seq = 5");
    let run: String = db
        .query_row("SELECT json_extract(header, '$.run') FROM experiment WHERE id = 1", [], |row| row.get(0))
        .unwrap();
    let before = server.asked("SELECT md5(string_agg(json, '' ORDER BY experiment, seq)) FROM powerband.event");
    let ran = desk.run(&split(&push)).ended(1);
    let theirs = server.asked("SELECT json FROM powerband.event e JOIN powerband.experiment x ON x.id = e.experiment WHERE seq = 5 ORDER BY x.id LIMIT 1");
    let begins = |text: &str| text.chars().take(100).collect::<String>();
    assert!(ran.err.contains(&format!("event 5 of experiment {run}")), "{}", ran.err);
    assert!(ran.err.contains(&begins(&ours)) && ran.err.contains(&begins(&theirs)), "{}", ran.err);
    let pushed = ran.value();
    assert_eq!(
        (&pushed["differ"][0]["experiment"], &pushed["complete"]),
        (&1.into(), &1.into()),
        "the other is compared: {pushed}"
    );
    assert_eq!(server.asked("SELECT md5(string_agg(json, '' ORDER BY experiment, seq)) FROM powerband.event"), before);
    assert!(server.sql("UPDATE powerband.event SET json = ''").is_none(), "events are append-only");
    assert!(server.sql("DELETE FROM powerband.event WHERE seq = 3").is_none(), "events are append-only");
    for gone in ["DELETE FROM powerband.experiment", "UPDATE powerband.experiment SET id = id + 100"] {
        assert!(server.sql(gone).is_none(), "an experiment stays while it has events");
    }
}
