//! The host's end of the port that leads to an agent: standard input and output, connected with it.
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::error::{BenchError, Result};
use crate::qmp::connect;

/// How long it may take until an agent is there: the guest boots, or somebody else is connected. Powerband waits a little
/// longer than this for a first word.
const PATIENCE: Duration = Duration::from_secs(50);
/// How often a word is said until the guest repeats it: what served before us may have swallowed it.
const AGAIN: Duration = Duration::from_millis(200);
/// With this word the guest starts an agent. All words begin with a byte that makes no sense to one.
const GO: &str = "go";

/// Connects standard input and output with an agent in a guest, by [`crate::Guest::agent`], until either end closes.
///
/// # Errors
/// When the emulator is gone, or the guest does not answer in time.
pub fn plug(socket: &Path) -> Result<()> {
    let mut stream = BufReader::new(connect(socket)?);
    agree(&mut stream, Instant::now() + PATIENCE).map_err(BenchError::file("find an agent at", socket))?;
    let failed = || BenchError::file("speak through", socket);
    let there = stream.get_ref().try_clone().map_err(failed())?;
    there.set_read_timeout(None).and_then(|()| there.set_write_timeout(None)).map_err(failed())?;
    std::thread::spawn(move || {
        // However it ends, with it ends the connection.
        let _ = carry(&mut std::io::stdin().lock(), &mut &there);
        let _ = there.shutdown(std::net::Shutdown::Both);
    });
    carry(&mut stream, &mut std::io::stdout().lock()).map_err(failed())
}

/// Makes sure that the guest hears us and starts an agent for us.
fn agree(stream: &mut BufReader<UnixStream>, until: Instant) -> std::io::Result<()> {
    stream.get_ref().set_read_timeout(Some(AGAIN))?;
    // A word nobody said before us.
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ours = format!("{}-{}", std::process::id(), since_1970.as_nanos());
    while !repeats(stream, &ours, Instant::now() + AGAIN)? {
        if Instant::now() > until {
            return Err(ErrorKind::TimedOut.into());
        }
        writeln!(stream.get_mut(), "{ours}")?;
    }
    writeln!(stream.get_mut(), "{GO}")?;
    if repeats(stream, GO, until)? { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
}

/// Whether the guest repeats a word by then. Everything before it was meant for others.
fn repeats(stream: &mut BufReader<UnixStream>, word: &str, until: Instant) -> std::io::Result<bool> {
    let mut line = Vec::new();
    while Instant::now() < until {
        match stream.read_until(b'\n', &mut line) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) if line.strip_suffix(b"\n") == Some(word.as_bytes()) => return Ok(true),
            Ok(_) if line.ends_with(b"\n") => line.clear(),
            Ok(_) => {}
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(false)
}

/// Passes on what comes, as it comes.
fn carry(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(got) => to.write_all(&bytes[..got]).and_then(|()| to.flush())?,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that repeats what it hears until `go`, like its init; what it swallows first is lost.
    fn guest(end: UnixStream, swallowed: usize) {
        let mut end = BufReader::new(end);
        end.get_mut().write_all(b"old\0bytes\n\nof others").unwrap();
        for number in 0.. {
            let mut line = String::new();
            end.read_line(&mut line).unwrap();
            if number >= swallowed {
                write!(end.get_mut(), "\n{line}").unwrap();
            }
            if line == "go\n" {
                return end.get_mut().write_all(b"\x0a\0agent").unwrap();
            }
        }
    }

    #[test]
    fn nothing_of_others_is_taken_for_the_agents_and_nothing_of_his_is_lost() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let guest = std::thread::spawn(|| guest(theirs, 2));
        let mut stream = BufReader::new(ours);
        agree(&mut stream, Instant::now() + PATIENCE).unwrap();
        guest.join().unwrap();
        let mut said = Vec::new();
        carry(&mut stream, &mut said).unwrap();
        assert_eq!(said, b"\x0a\0agent");
    }

    #[test]
    fn a_guest_that_is_gone_is_an_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(agree(&mut BufReader::new(ours), Instant::now() + PATIENCE).is_err());
    }
}
