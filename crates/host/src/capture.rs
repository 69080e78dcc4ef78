//! What a child writes into a pipe: kept up to a limit, or split into lines of JSON.
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pipe::PipeFlags;

/// At most this much is read in one visit, bytes: a chatty child must not keep us from the others. Also more than a
/// pipe holds, so that one visit after its end reads all of it.
const ONE_VISIT_BYTES: usize = 1 << 20;

/// The kernel may give us this much room, so that a child seldom waits for us to read, bytes.
const PIPE_BYTES: usize = 1 << 18;

/// The reading end of a pipe, until its end.
#[derive(Debug)]
pub(crate) struct Drain {
    end: Option<OwnedFd>,
}

/// A pipe whose reading end does not block: the drain and the end to hand out.
pub(crate) fn pipe() -> rustix::io::Result<(Drain, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&read, true)?;
    // More room than the default is a favour; without it the child waits a little more often.
    let _ = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES);
    Ok((Drain { end: Some(read) }, write))
}

impl Drain {
    /// What to poll, while it is open.
    pub(crate) fn fd(&self) -> Option<&OwnedFd> {
        self.end.as_ref()
    }

    /// Hands on what is there now; closes at the end of the stream.
    pub(crate) fn visit(&mut self, mut take: impl FnMut(&[u8])) {
        let mut chunk = [0; 1 << 14];
        let mut total = 0;
        while let Some(end) = &self.end {
            match rustix::io::read(end, &mut chunk) {
                Ok(0) => self.end = None,
                Ok(got) => {
                    take(&chunk[..got]);
                    total += got;
                    if total >= ONE_VISIT_BYTES {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.end = None,
            }
        }
    }
}

/// One stream of output.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) drain: Drain,
    kept: Vec<u8>,
    limit: usize,
    cut: bool,
}

impl Capture {
    /// Keeps the first `limit` bytes.
    pub(crate) fn new(drain: Drain, limit: usize) -> Self {
        Capture { drain, kept: Vec::new(), limit, cut: false }
    }

    /// Reads what is there.
    pub(crate) fn visit(&mut self) {
        let (kept, limit, cut) = (&mut self.kept, self.limit, &mut self.cut);
        self.drain.visit(|bytes| {
            let room = limit - kept.len();
            kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
            *cut |= bytes.len() > room;
        });
    }

    /// What is there and has not been taken yet, up to the limit.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.visit();
        std::mem::take(&mut self.kept)
    }

    /// The text, bytes that are not UTF-8 replaced, and whether it was cut.
    pub(crate) fn finish(mut self) -> (String, bool) {
        if let (true, Err(broken)) = (self.cut, std::str::from_utf8(&self.kept))
            && broken.error_len().is_none()
        {
            // The limit fell inside a character: that one is not the child's fault.
            self.kept.truncate(broken.valid_up_to());
        }
        (String::from_utf8_lossy(&self.kept).into_owned(), self.cut)
    }
}

/// The control channel of built-in work: one JSON value a line.
#[derive(Debug)]
pub(crate) struct Control {
    pub(crate) drain: Drain,
    partial: Vec<u8>,
    report: Option<serde_json::Value>,
    begins: bool,
}

impl Control {
    /// Reads from `drain`.
    pub(crate) fn new(drain: Drain) -> Self {
        Control { drain, partial: Vec::new(), report: None, begins: false }
    }

    /// Reads what is there; answers what was said. The report, and that it begins, are kept instead.
    pub(crate) fn visit(&mut self) -> Vec<serde_json::Value> {
        let partial = &mut self.partial;
        self.drain.visit(|bytes| partial.extend_from_slice(bytes));
        let whole = partial.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = partial.drain(..whole).collect();
        let mut said = Vec::new();
        for line in lines.split(|&byte| byte == b'\n') {
            // Only our own built-in work holds the other end; a line that is no JSON was torn by its death.
            let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(line) else { continue };
            match value.get_mut("report").map(serde_json::Value::take) {
                Some(report) => self.report = Some(report),
                None if value.get("begins").is_some() => self.begins = true,
                None => said.push(value),
            }
        }
        said
    }

    /// Whether it said that it begins, since the last time.
    pub(crate) fn begins(&mut self) -> bool {
        std::mem::take(&mut self.begins)
    }

    /// The report, if it came.
    pub(crate) fn into_report(self) -> Option<serde_json::Value> {
        self.report
    }
}
