//! What goes through the port to the guest and back.
use crate::desk::on_desk;

#[test]
fn bytes_words_and_codes_arrive_as_they_are() {
    on_desk(|desk| {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        desk.put("/root/all bytes", &bytes).unwrap();
        assert_eq!(desk.run(&["cat", "/root/all bytes"]).unwrap().out, bytes);
        let word = "it's $HOME\n\t\"a\\ word ";
        let ran = desk.run(&["sh", "-c", "printf %s \"$1\"; printf no >&2; exit 9", "sh", word]).unwrap();
        assert_eq!((ran.code, ran.text().as_str(), ran.err.as_slice()), (9, word, &b"no"[..]));
        let ran = desk.script("kill -9 $$").unwrap();
        assert_eq!((ran.code, ran.out.len()), (137, 0));
    });
}
