//! As much of HTTP/1.1 (RFC 9112) as a shop and its customers say to each other: a head, and a body of a stated length.
use std::io::{self, ErrorKind, Read};

/// Longest head and longest body that are read, bytes.
const MAX_HEAD: usize = 16 << 10;
const MAX_BODY: usize = 4 << 20;

/// What a customer asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Whether something is sent (`POST`).
    pub(super) posts: bool,
    pub(super) path: String,
    /// Behind the question mark.
    pub(super) query: String,
    /// The value of the cookie `session`.
    pub(super) session: Option<String>,
    pub(super) body: String,
    /// Whether the connection ends with it.
    pub(super) closes: bool,
}

/// What the shop answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The session that was begun.
    pub(super) session: Option<String>,
    /// Whether the server ends the connection with it.
    pub(super) closes: bool,
    pub(super) body: String,
}

/// What came is no HTTP, or none of ours: why.
pub(super) type Broken = &'static str;

/// Receives what there is, as much at once as `chunk` holds; the end of the connection is an error.
pub(super) fn receive(mut from: impl Read, comes: &mut Vec<u8>, chunk: &mut [u8]) -> io::Result<()> {
    loop {
        match from.read(chunk) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(got) => {
                comes.extend_from_slice(chunk.get(..got).unwrap_or_default());
                // A stream that gave less than there was room for is empty, epoll(7).
                if got < chunk.len() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Takes the first whole request of what has come.
pub(super) fn take_request(come: &mut Vec<u8>) -> Result<Option<Request>, Broken> {
    let Some((head, body)) = take(come, false)? else { return Ok(None) };
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if !matches!(method, "GET" | "POST") || !path.starts_with('/') {
        return Err("it is no request for a page");
    }
    let cookies = header(&head, "cookie").into_iter().flat_map(|value| value.split(';'));
    let session = cookies.filter_map(|cookie| cookie.trim().strip_prefix("session=")).next().map(str::to_owned);
    let (path, query) = (path.to_owned(), query.to_owned());
    Ok(Some(Request { posts: method == "POST", path, query, session, body, closes: closes(&head) }))
}

/// Takes the first whole answer of what has come.
pub(super) fn take_answer(come: &mut Vec<u8>) -> Result<Option<Answer>, Broken> {
    let Some((head, body)) = take(come, true)? else { return Ok(None) };
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or("it has no status")?;
    let cookie = header(&head, "set-cookie").and_then(|value| value.split(';').next());
    let session = cookie.and_then(|cookie| cookie.trim().strip_prefix("session=")).map(str::to_owned);
    Ok(Some(Answer { status, session, closes: closes(&head), body }))
}

/// Head and body of the first whole message.
fn take(come: &mut Vec<u8>, has_length: bool) -> Result<Option<(String, String)>, Broken> {
    let end = come.windows(4).take(MAX_HEAD).position(|bytes| bytes == b"\r\n\r\n");
    let Some(end) = end else {
        return if come.len() > MAX_HEAD { Err("its head is too long") } else { Ok(None) };
    };
    let head = come.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or("its head is no text")?;
    let length = match header(head, "content-length") {
        Some(value) => value.parse().map_err(|_| "its length is no number")?,
        None if has_length => return Err("its length is missing"),
        None => 0_usize,
    };
    if length > MAX_BODY {
        return Err("it is too long");
    }
    let Some(body) = come.get(end + 4..end + 4 + length) else { return Ok(None) };
    let taken = (head.to_owned(), String::from_utf8_lossy(body).into_owned());
    come.drain(..end + 4 + length);
    Ok(Some(taken))
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let mut values = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.trim())
}

fn closes(head: &str) -> bool {
    header(head, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
}

/// The value of a field of a query or a form, decoded.
pub(super) fn field(form: &str, name: &str) -> Option<String> {
    let mut values = form.split('&').filter_map(|pair| pair.split_once('='));
    values.find(|(field, _)| *field == name).map(|(_, value)| decoded(value))
}

fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let coded = |pair: &&[u8]| *byte == b'%' && pair.iter().all(u8::is_ascii_hexdigit);
        let digits = behind.get(..2).filter(coded).and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => bytes.push(if *byte == b'+' { b' ' } else { *byte }),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str =
        "POST /cart?from=1 HTTP/1.1\r\nHost: shop\r\nCOOKIE: a=b; session=77\r\nContent-Length: 9\r\n\r\nproduct=7";

    #[test]
    fn requests_are_told_apart_wherever_they_are_cut() {
        let stream = format!("{ASKED}GET / HTTP/1.1\r\nConnection: Close\r\n\r\n");
        let (mut come, mut taken) = (Vec::new(), Vec::new());
        for byte in stream.bytes() {
            come.push(byte);
            taken.extend(take_request(&mut come).unwrap());
        }
        assert_eq!((taken.len(), come.len()), (2, 0));
        let first = &taken[0];
        assert_eq!((first.posts, first.path.as_str(), first.query.as_str()), (true, "/cart", "from=1"));
        assert_eq!((first.session.as_deref(), first.body.as_str(), first.closes), (Some("77"), "product=7", false));
        assert_eq!((taken[1].path.as_str(), taken[1].session.as_deref(), taken[1].closes), ("/", None, true));
    }

    #[test]
    fn answers_say_what_customers_need() {
        let mut come = b"HTTP/1.1 200 OK\r\nSet-Cookie: session=ab; path=/\r\nContent-Length: 2\r\n\r\nhiHTTP".to_vec();
        let answer = take_answer(&mut come).unwrap().unwrap();
        assert_eq!((answer.status, answer.session.as_deref(), answer.body.as_str()), (200, Some("ab"), "hi"));
        assert_eq!(come, b"HTTP");
    }

    #[test]
    fn what_is_no_http_is_refused_and_breaks_nothing() {
        let bad = [
            "\r\n\r\n",
            "GET\r\n\r\n",
            "GET x HTTP/1.1\r\n\r\n",
            "PUT / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n",
        ];
        for bad in bad {
            assert!(take_request(&mut bad.as_bytes().to_vec()).is_err(), "{bad:?}");
        }
        assert!(take_answer(&mut b"HTTP/1.1 200 OK\r\n\r\n".to_vec()).is_err(), "an answer has a length");
        assert!(take_request(&mut vec![b'x'; MAX_HEAD + 4]).is_err());
        for cut in 0..ASKED.len() {
            for byte in [0, b'%', 0xff, b'\r'] {
                let mut bytes = ASKED.as_bytes().to_vec();
                bytes[cut] = byte;
                let _any = take_request(&mut bytes);
            }
        }
    }

    #[test]
    fn fields_are_decoded() {
        assert_eq!(field("a=1&q=plain+oak%20b%C3%A4r", "q").as_deref(), Some("plain oak bär"));
        assert_eq!(field("q=100%", "q").as_deref(), Some("100%"));
        assert_eq!(field("q=%zz%4", "q").as_deref(), Some("%zz%4"));
        assert_eq!(field("a=1", "q"), None);
    }
}
