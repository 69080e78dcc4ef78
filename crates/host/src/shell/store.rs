//! The ledger's bytes in a file at the peer, written by a shell there.
use powerband_machine::{Errno, LedgerError, LedgerStore};

use super::hand::Hand;
use super::quote::{assignment, errno_of};

/// `FOLDER/ledger` there.
#[derive(Debug)]
pub(super) struct ShellLedger {
    pub(super) hand: Hand,
    pub(super) folder: String,
    /// The machine's name, for messages.
    pub(super) machine: String,
    bytes: usize,
}

impl ShellLedger {
    pub(super) fn new(hand: Hand, folder: &str, machine: &str) -> ShellLedger {
        ShellLedger { hand, folder: folder.into(), machine: machine.into(), bytes: 0 }
    }

    /// Writes `bytes` behind what `file` holds (`>>`) or instead of it (`>`), and syncs.
    fn write(&self, bytes: &[u8], how: &str, file: &str) -> Result<(), Errno> {
        let text: String = String::from_utf8_lossy(bytes).replace('\0', "?");
        let (text, format) = text.strip_suffix('\n').map_or((text.as_str(), "%s"), |text| (text, "%s\\n"));
        let script = format!(
            "pb_w=$( {{ printf '{format}' \"$pb_v\" | cat {how}\"$pb_d/{file}\"; }} 2>&1 ); pb_c=$?; \
             if [ $pb_c = 0 ]; then pb_s \"$pb_d/{file}\" || pb_c=1; fi; pb_t \"$pb_w\"; [ $pb_c = 0 ]"
        );
        let (status, [words]) = self.hand.turn(&assignment("pb_v", text), &script).ok_or(Errno::ENOLINK)?;
        if status == 0 { Ok(()) } else { Err(errno_of(&String::from_utf8_lossy(&words))) }
    }
}

impl LedgerStore for ShellLedger {
    fn place(&self) -> String {
        format!("{}/ledger on {}", self.folder, self.machine)
    }

    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        if self.folder.is_empty() {
            return Ok(Vec::new());
        }
        let read = self.hand.turn(&[], "if [ -e \"$pb_d/ledger\" ]; then pb_x cat \"$pb_d/ledger\"; else pb_x :; fi");
        let lost = || LedgerError::Lost { machine: self.machine.clone(), why: self.hand.lost().unwrap_or_default() };
        let (_, [bytes, words]) = read.ok_or_else(lost)?;
        if !words.is_empty() {
            let errno = errno_of(&String::from_utf8_lossy(&words));
            return Err(LedgerError::Unreadable { place: self.place(), errno });
        }
        self.bytes = bytes.len();
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let written = self.write(bytes, ">>", "ledger");
        match written {
            Ok(()) => self.bytes += bytes.len(),
            Err(_) => {
                // Half a line must not swallow the next one. If even this fails, the torn line is skipped on reading.
                let cut = format!("dd if=/dev/null of=\"$pb_d/ledger\" bs=1 seek={}", self.bytes);
                let _: Option<(i32, [Vec<u8>; 0])> = self.hand.turn(&[], &cut);
            }
        }
        written
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let moved = if bytes.is_empty() {
            // Emptying needs no second file, and works on a full disk.
            self.hand.turn::<1>(&[], "pb_w=$( { : >\"$pb_d/ledger\"; } 2>&1 ); pb_c=$?; [ $pb_c != 0 ] || pb_s \"$pb_d/ledger\" || pb_c=1; pb_t \"$pb_w\"; [ $pb_c = 0 ]")
        } else {
            self.write(bytes, ">", "ledger.new")?;
            self.hand.turn::<1>(&[], "pb_w=$(mv \"$pb_d/ledger.new\" \"$pb_d/ledger\" 2>&1); pb_c=$?; [ $pb_c != 0 ] || pb_s \"$pb_d/ledger\" || pb_c=1; pb_t \"$pb_w\"; [ $pb_c = 0 ]")
        };
        let (status, [words]) = moved.ok_or(Errno::ENOLINK)?;
        if status != 0 {
            return Err(errno_of(&String::from_utf8_lossy(&words)));
        }
        self.bytes = bytes.len();
        Ok(())
    }

    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.write(lines, ">>", "ledger.damaged")
    }
}
