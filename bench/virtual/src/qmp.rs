//! The emulator's monitor: commands over a socket, and the guest's ports through it.
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{BenchError, Result};

/// How long an answer may take; the emulator answers within milliseconds when it gets a CPU.
const PATIENCE: Duration = Duration::from_secs(15);

/// A connection to the monitor.
#[derive(Debug)]
pub struct Qmp {
    stream: BufReader<UnixStream>,
}

impl Qmp {
    /// Connects as soon as the emulator listens.
    ///
    /// # Errors
    /// When it does not listen in time, or speaks something else.
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let stream = connect(socket)?;
        let mut qmp = Qmp { stream: BufReader::new(stream) };
        qmp.message("its greeting")?;
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Does a command of the emulator's machine protocol and answers what it returns.
    ///
    /// # Errors
    /// When the emulator refuses, or is gone.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let text = format!("{}\n", json!({ "execute": command, "arguments": arguments }));
        let sent = self.stream.get_mut().write_all(text.as_bytes());
        sent.map_err(|why| unanswered(command, &why.to_string()))?;
        loop {
            let mut message = self.message(command)?;
            if let Some(answer) = message.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = message.get("error") {
                return Err(unanswered(command, &error["desc"].to_string()));
            }
        }
    }

    /// Saves the devices or takes them over, without the memory, which lies in a file.
    ///
    /// # Errors
    /// When the emulator cannot.
    pub(crate) fn migrate(&mut self, command: &str, uri: &str) -> Result<()> {
        let without_memory = json!({ "capabilities": [{ "capability": "x-ignore-shared", "state": true }] });
        self.execute("migrate-set-capabilities", without_memory)?;
        self.execute(command, json!({ "uri": uri }))?;
        loop {
            let answer = self.execute("query-migrate", json!({}))?;
            match answer["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed") => return Err(unanswered(command, &answer.to_string())),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Does a line of the monitor for people and answers its text.
    ///
    /// # Errors
    /// When the emulator is gone.
    pub fn monitor(&mut self, line: &str) -> Result<String> {
        let answer = self.execute("human-monitor-command", json!({ "command-line": line }))?;
        Ok(answer.as_str().unwrap_or_default().trim().to_owned())
    }

    /// A byte from a port of the guest.
    ///
    /// # Errors
    /// When the emulator is gone or answers no byte.
    pub fn port(&mut self, port: u16) -> Result<u8> {
        let command = format!("i /1b 0x{port:x}");
        let answer = self.monitor(&command)?;
        let value = answer.rsplit_once("0x").and_then(|(_, digits)| u8::from_str_radix(digits, 16).ok());
        value.ok_or_else(|| unanswered(&command, &answer))
    }

    /// Writes a byte to a port of the guest.
    ///
    /// # Errors
    /// When the emulator is gone.
    pub fn set_port(&mut self, port: u16, value: u8) -> Result<()> {
        self.monitor(&format!("o /1b 0x{port:x} 0x{value:x}")).map(drop)
    }

    /// The next message that comes, events included.
    fn message(&mut self, command: &str) -> Result<Value> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) => Err(unanswered(command, "the end of the connection")),
            Ok(_) => serde_json::from_str(&line).map_err(|_| unanswered(command, &line)),
            Err(why) => Err(unanswered(command, &why.to_string())),
        }
    }
}

/// Connects to a socket of the emulator as soon as it is there; reading and writing are bounded.
pub(crate) fn connect(socket: &Path) -> Result<UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    let stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(why) if Instant::now() > deadline => return Err(BenchError::file("connect to", socket)(why)),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    for set in [stream.set_read_timeout(Some(PATIENCE)), stream.set_write_timeout(Some(PATIENCE))] {
        set.map_err(BenchError::file("bound the waiting at", socket))?;
    }
    Ok(stream)
}

fn unanswered(command: &str, answer: &str) -> BenchError {
    BenchError::Emulator { command: command.to_owned(), answer: answer.to_owned() }
}
