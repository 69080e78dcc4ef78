//! The port commands go through: a line with a script there, a line with what came of it back, bytes in hexadecimal.
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::qmp::connect;

/// How a command in the guest ended and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code; 128 and the signal's number when one ended it.
    pub code: i32,
    /// What it wrote to standard output.
    pub out: Vec<u8>,
    /// What it wrote to standard error.
    pub err: Vec<u8>,
}

impl Ran {
    /// Its output as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

/// Our end of the port.
#[derive(Debug)]
pub(crate) struct Port {
    stream: BufReader<UnixStream>,
    /// A command was given up before it answered: what comes next would be its answer, not that of a later one.
    lost: bool,
    /// It is a serial one, whose driver drops a byte now and then.
    drops: bool,
}

/// How often a script is sent that does not arrive whole.
const TRIES: u32 = 5;
/// What a script that arrived whole says first.
const WHOLE: &[u8] = b"whole\n";

impl Port {
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let stream = connect(socket)?;
        Ok(Port { stream: BufReader::new(stream), lost: false, drops: false })
    }

    /// Says that it is a serial one.
    pub(crate) fn may_drop(&mut self, drops: bool) {
        self.drops = drops;
    }

    /// Whether a command was given up before it answered.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Waits until a guest that boots says a word; what came before it is dropped.
    pub(crate) fn until(&mut self, word: &str, within: Duration) -> std::result::Result<(), String> {
        let deadline = Instant::now() + within;
        while self.line(deadline)? != word {}
        self.lost = false;
        Ok(())
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, line: &str) -> std::result::Result<(), String> {
        let sent = self.stream.get_mut().write_all(format!("{line}\n").as_bytes());
        sent.map_err(|why| format!("the port takes nothing: {why}"))
    }

    /// Runs a script and answers what came of it.
    pub(crate) fn run(&mut self, script: &[u8], within: Duration) -> std::result::Result<Ran, String> {
        if !self.drops {
            return self.run_once(script, within);
        }
        for _ in 0..TRIES {
            let ran = self.run_once(checked(script).as_bytes(), within)?;
            if let Some(err) = ran.err.strip_prefix(WHOLE) {
                return Ok(Ran { err: err.to_vec(), ..ran });
            }
        }
        Err(format!("a script did not arrive whole, {TRIES} times"))
    }

    fn run_once(&mut self, script: &[u8], within: Duration) -> std::result::Result<Ran, String> {
        if std::mem::replace(&mut self.lost, true) {
            return Err("an earlier command was given up; only a reset brings the guest back".into());
        }
        self.send(&hexadecimal(script))?;
        let line = self.line(Instant::now() + within)?;
        self.lost = false;
        answer(&line).ok_or_else(|| format!("the guest answered {line:?}"))
    }

    fn line(&mut self, deadline: Instant) -> std::result::Result<String, String> {
        let mut line = Vec::new();
        loop {
            match self.stream.read_until(b'\n', &mut line) {
                Ok(0) => return Err("the emulator ended".into()),
                // Without a line's end it was a timeout that came amid a line.
                Ok(_) if line.ends_with(b"\n") => {
                    return Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned());
                }
                Ok(_) => {}
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(why) => return Err(format!("the port gives nothing: {why}")),
            }
            if Instant::now() > deadline {
                return Err("the guest did not answer in time".into());
            }
        }
    }
}

/// A script that runs only if all of it arrived, and says so first. It is one line, of which a shell does nothing when a quote is
/// missing.
fn checked(script: &[u8]) -> String {
    let text = hexadecimal(&[b"echo whole >&2\n", script].concat());
    format!("text='{text}'; [ ${{#text}} = {} ] || exit; eval \"$(echo $text | xxd -r -p)\"", text.len())
}

fn answer(line: &str) -> Option<Ran> {
    let mut words = line.split(' ');
    let code = words.next()?.parse().ok()?;
    let (out, err) = (bytes(words.next()?)?, bytes(words.next().unwrap_or_default())?);
    Some(Ran { code, out, err })
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hexadecimal.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// A word as a shell reads it back unchanged.
pub(crate) fn quoted(word: &[u8]) -> Vec<u8> {
    let mut text = vec![b'\''];
    for &byte in word {
        if byte == b'\'' { text.extend_from_slice(b"'\\''") } else { text.push(byte) }
    }
    text.push(b'\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_nonsense_is_not() {
        let ran = Ran { code: 3, out: vec![0, 255], err: b"no".to_vec() };
        assert_eq!(answer("3 00ff 6e6f"), Some(ran));
        assert_eq!(answer("0  "), Some(Ran { code: 0, out: vec![], err: vec![] }));
        for bad in ["", "x 00 00", "0 0", "0 0g 00", "ready"] {
            assert_eq!(answer(bad), None, "{bad}");
        }
        assert_eq!(bytes(&hexadecimal(b"\x00a\xff")).as_deref(), Some(&b"\x00a\xff"[..]));
    }

    #[test]
    fn a_script_runs_only_when_it_is_whole() {
        let ran = |script: &str| std::process::Command::new("busybox").args(["sh", "-c", script]).output().unwrap();
        let whole = checked(b"echo \"it's $((20 + 3))\"; echo no >&2; exit 7");
        let output = ran(&whole);
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"it's 23\n"[..], &b"whole\nno\n"[..]));
        assert_eq!(output.status.code(), Some(7));
        for at in 0..whole.len() {
            let output = ran(&(whole[..at].to_owned() + &whole[at + 1..]));
            let runs = output.stdout == b"it's 23\n";
            assert_eq!(output.stderr.starts_with(WHOLE), runs, "without byte {at}: {output:?}");
        }
    }

    #[test]
    fn words_survive_a_shell() {
        let word = "it's a\n$HOME \"\\ word";
        let quoted = String::from_utf8(quoted(word.as_bytes())).unwrap();
        let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {quoted}")]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
    }
}
