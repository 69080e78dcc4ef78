//! The picture on a terminal: keys in, frames out, and the terminal as it was in the end.
use std::io::{ErrorKind, IsTerminal as _};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec};

use super::pace::listen;
use super::{WatchEnd, WatchError, Watched};
use crate::{KeyRequest, View};

/// How long is waited for keys at most before the World is looked after: signals, and a peer that wants to hear of us.
const SLICE_NS: u64 = 1_000_000_000;

/// Puts the terminal back however it ends; a panic does too, by a hook of the library's.
struct Screen(DefaultTerminal);

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

pub(super) fn run(watched: &mut Watched, colour: bool) -> Result<WatchEnd, WatchError> {
    let remark = watched.pace.still().then(|| "a recording: it does not change".to_owned());
    let scene = watched.sampler.scene().clone();
    let mut view = View::new(scene, watched.pace.interval_ns, remark, colour);
    let mut screen = Screen(ratatui::try_init().map_err(WatchError::Terminal)?);
    show(watched, &mut view, &mut screen.0)
}

fn show(watched: &mut Watched, view: &mut View, terminal: &mut DefaultTerminal) -> Result<WatchEnd, WatchError> {
    loop {
        let now_ns = watched.pace.now_ns(watched.rig.world());
        let resting = view.paused() || (watched.pace.still() && watched.pace.done());
        let due = !resting && now_ns >= watched.pace.due_ns();
        if due {
            watched.pace.catch_up(now_ns);
            if let Some(exit) = listen(watched.rig.world(), watched.pace.due_ns())? {
                return Ok(exit);
            }
            view.push(watched.sample()?);
            watched.pace.taken();
            if watched.cost {
                view.set_cost(watched.spent(), watched.pace.wall_ns());
            }
            if watched.pace.done() && !watched.pace.still() {
                return Ok(WatchEnd::Done);
            }
        }
        terminal.draw(|frame| view.draw(frame)).map_err(WatchError::Terminal)?;
        match keys(watched, view, resting)? {
            Some(exit) => return Ok(exit),
            None => settle(watched, view),
        }
    }
}

/// Waits for keys until the next sample is due; answers how to end, if that is asked.
fn keys(watched: &mut Watched, view: &mut View, resting: bool) -> Result<Option<WatchEnd>, WatchError> {
    loop {
        let now_ns = watched.pace.now_ns(watched.rig.world());
        let due_ns = if resting { u64::MAX } else { watched.pace.due_ns() };
        let left_ns = due_ns.saturating_sub(now_ns);
        let mut something = false;
        let mut patience = Duration::from_nanos(left_ns.min(SLICE_NS));
        while pressed(patience)? {
            something = true;
            patience = Duration::ZERO;
            if let Event::Key(key) = event::read().map_err(WatchError::Terminal)? {
                match view.key(key) {
                    KeyRequest::Quit => return Ok(Some(WatchEnd::Done)),
                    KeyRequest::Stop => return Ok(Some(WatchEnd::Stopped)),
                    KeyRequest::Nothing => {}
                }
            }
        }
        let heard = listen(watched.rig.world(), 0)?;
        if heard.is_some() || something || left_ns <= SLICE_NS {
            return Ok(heard);
        }
    }
}

fn pressed(patience: Duration) -> Result<bool, WatchError> {
    let stdin = rustix::stdio::stdin();
    let mut patience = patience;
    if std::io::stdin().is_terminal() {
        // The library reads the end of a terminal that is gone for ever.
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        let timeout = Timespec::try_from(patience).unwrap_or_default();
        let heard = rustix::event::poll(&mut fds, Some(&timeout));
        if heard.is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(WatchError::TerminalGone);
        }
        patience = Duration::ZERO;
    }
    match event::poll(patience) {
        // A signal came; the World tells which.
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
        other => other.map_err(WatchError::Terminal),
    }
}

/// Goes by what the keys have changed.
fn settle(watched: &mut Watched, view: &View) {
    if view.paused() {
        // Of the time until it goes on nothing will be known.
        watched.sampler.forget();
    }
    watched.pace.set_interval(view.interval_ns());
}
