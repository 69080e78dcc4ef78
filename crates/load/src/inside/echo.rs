//! The other end of `ping`: what comes goes back, until the one caller says that it is done.
//!
//! A datagram holds [`super::packet::MARK`], a number (4 bytes, big endian) and padding; the number [`DONE`] ends it and is
//! answered too. Over TCP everything goes back as it comes, until the stream ends.
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::time::Duration;

use powerband_record::Protocol;
use serde_json::{Value, json};

use super::packet::{DONE, number};
use super::stream::{accept, prepare, socket_address};
use super::{Control, Failure};

/// How long nothing may come before the caller is given up. Slower than the slowest rate sends.
const STILL: Duration = Duration::from_secs(60);

/// Answers one caller.
pub(super) fn answer(protocol: Protocol, address: &str, port: u16, control: &mut Control) -> Result<Value, Failure> {
    let place = socket_address(address, port)?;
    let cannot = || Failure::of(format!("cannot listen on {place}"));
    let answered = match protocol {
        Protocol::Udp => {
            let socket = UdpSocket::bind(place).map_err(cannot())?;
            control.ready(socket.local_addr().map_err(cannot())?.port())?;
            answer_datagrams(&socket, control)?
        }
        Protocol::Tcp => {
            let listener = TcpListener::bind(place).map_err(cannot())?;
            control.ready(listener.local_addr().map_err(cannot())?.port())?;
            answer_stream(&listener, control)?
        }
        Protocol::Icmp => return Err(Failure::Work("the kernel itself answers icmp".into())),
    };
    Ok(json!({ "answered": answered }))
}

fn answer_datagrams(socket: &UdpSocket, control: &mut Control) -> Result<u64, Failure> {
    socket.set_read_timeout(Some(STILL)).map_err(Failure::of("cannot listen"))?;
    let mut packet = [0; 2048];
    let mut answered = 0;
    loop {
        let (got, from) = match socket.recv_from(&mut packet) {
            Ok(it) => it,
            // A caller that closed its port is told of by the next call.
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionRefused) => continue,
            Err(error) => return Err(Failure::of("the caller was lost")(error)),
        };
        let Some(number) = number(&packet[..got]) else { continue };
        // A full queue loses the answer, as any network may.
        let _lost = socket.send_to(&packet[..got], from);
        if number == DONE {
            return Ok(answered);
        }
        if answered == 0 {
            control.begin()?;
        }
        answered += 1;
    }
}

fn answer_stream(listener: &TcpListener, control: &mut Control) -> Result<u64, Failure> {
    let mut stream = accept(listener).map_err(Failure::of("no caller came"))?;
    let lost = || Failure::of("the caller was lost");
    prepare(&stream).map_err(lost())?;
    stream.set_read_timeout(Some(STILL)).map_err(lost())?;
    control.begin()?;
    let mut bytes = [0; 16 << 10];
    let mut answered = 0;
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(answered),
            Ok(got) => {
                stream.write_all(&bytes[..got]).map_err(lost())?;
                answered += 1;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(lost()(error)),
        }
    }
}
