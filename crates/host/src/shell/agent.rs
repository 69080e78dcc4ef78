//! An agent that is copied through a shell, also over a serial line, and spoken to in its place: for a board on which nothing of ours is.
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use powerband_machine::wire::Hello;
use powerband_record::{ErrorClass, quoted_line};

use super::link::Link;
use super::quote::{base64_lines, printed};
use crate::carried::{name_of, program_for};
use crate::remote::{RemoteError, RemoteMachine};
use crate::talk::{Silence, Stoppable};
use crate::way::Way;

/// At most this much is typed before an answer, bytes: a console keeps no more, and behind a pipe a shell's memory does.
const CONSOLE_BYTES: usize = 1800;
const PIPE_BYTES: usize = 60_000;
/// How long the last words may take where something failed, ns.
const PARTING_NS: u64 = 1_000_000_000;

/// Finds a folder in which a program can be run (an empty one is the shell's own script) and how bytes can be sent, and prints both.
/// What is in the folder goes with the shell, and both when nothing came for a minute: a console's shell does not see that we are gone.
const LOOK: &str = r#"umask 077; pb_d= pb_code=printf pb_gz=plain pb_tty=pipe
for pb_f in "${TMPDIR:-/tmp}" /run /dev/shm /var/tmp "$HOME"; do
pb_d=$pb_f/powerband.$pb_m; mkdir -m 700 "$pb_d" || { pb_d=; continue; }
if : >"$pb_d/t" && chmod 700 "$pb_d/t" && "$pb_d/t"; then break; fi
rm -rf "$pb_d"; pb_d=
done
rm -f "$pb_d/t"
trap 'rm -rf "$pb_d"' EXIT; trap 'rm -rf "$pb_d"; exit 1' HUP TERM
( exec 3>&- </dev/null; pb_n=0; while [ -d "$pb_d" ]; do pb_l=$(ls -ln "$pb_d"); sleep 2; pb_n=$((pb_n + 1))
if [ "$pb_l" != "$(ls -ln "$pb_d")" ]; then pb_n=0; fi; if [ $pb_n -gt 30 ]; then rm -rf "$pb_d"; kill -9 $$; fi; done ) &
[ -t 0 ] && pb_tty=console
[ "$(printf YQ== | base64 -d)" = a ] && pb_code=base64
[ "$(printf '\037\213\010\000\000\000\000\000\002\003\113\004\000\103\276\267\350\001\000\000\000' | gunzip)" = a ] && pb_gz=gzip
echo "($(uname -m):$pb_code:$pb_gz:$pb_tty:$pb_d)" >&3"#;

/// Runs the agent in place of the shell, which goes on as before when it has ended: with a console as it was, and nothing of ours.
const START: &str = r#"{ pb_t=; [ -t 0 ] && pb_t=$(stty -g) && stty raw -echo
printf %s {answer} >&3; "$pb_f" agent --carried >&3 3>&-
[ -n "$pb_t" ] && stty "$pb_t"; rm -rf "$pb_d"; exit; }
"#;

/// How far the copy of an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Characters that were typed.
    pub sent: usize,
    /// All of them.
    pub all: usize,
    /// Since the beginning, ns.
    pub took_ns: u64,
}

/// A machine behind a shell, through which it gets an agent for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellAgent<'a> {
    /// The machine as named.
    pub name: &'a str,
    /// The command whose standard input and output are the shell's.
    pub words: &'a [String],
    /// How long each answer may take, ns.
    pub answer_ns: u64,
}

/// What a shell says of its machine.
struct Place {
    arch: String,
    is_base64: bool,
    is_gzip: bool,
    is_console: bool,
    folder: String,
}

impl ShellAgent<'_> {
    /// Copies the agent there and speaks to it. `copying` hears how far that is.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn connect(&self, hello: Hello, copying: &mut dyn FnMut(Copied)) -> Result<RemoteMachine, RemoteError> {
        let _stoppable = Stoppable::begin();
        let (program, arguments) =
            self.words.split_first().ok_or_else(|| self.unreachable("there is no command".into()))?;
        let started = Link::start(program, arguments, self.answer_ns);
        let mut link = started.map_err(RemoteError::not_started(self.name, program))?;
        link.greet().map_err(|why| self.unreachable(why))?;
        if let Err(error) = self.install(&mut link, copying) {
            // Perhaps in the middle of what is typed. A shell that is gone has removed it.
            link.say_farewell(&format!("\n{END}\nrm -rf \"$pb_d\"\nexit\n"), PARTING_NS);
            return Err(error);
        }
        let ends = link.into_ends().ok_or_else(|| self.unreachable(Silence::Ended.to_string()))?;
        let (leading, input, output) = ends;
        let by_hand = self.by_hand();
        RemoteMachine::introduced(self.name, &by_hand, (Way::Child(leading), input, output), hello, self.answer_ns)
    }

    /// A command that shows what is wrong with the way there.
    fn by_hand(&self) -> String {
        format!("echo uname | {}", quoted_line(self.words))
    }

    fn unreachable(&self, why: String) -> RemoteError {
        RemoteError::unreachable(self.name, why, self.by_hand())
    }

    fn refused(&self, why: String) -> RemoteError {
        RemoteError::Refused { name: self.name.into(), class: ErrorClass::Unsupported, why }
    }

    /// Leaves the shell in the agent's hands.
    fn install(&self, link: &mut Link, copying: &mut dyn FnMut(Copied)) -> Result<(), RemoteError> {
        let silent = |silence: Silence| self.unreachable(silence.to_string());
        let looked = link.call(&[], LOOK).map_err(silent)?;
        let place = place_of(&looked.body).ok_or_else(|| self.unreachable("it does not say what it is".into()))?;
        if place.folder.is_empty() {
            return Err(self.refused(
                "there is no folder there in which a program can be run; set TMPDIR there to one, or use sh:COMMAND"
                    .into(),
            ));
        }
        let program = program_for(&place.arch).map_err(|no| no.error(self.name, &place.arch))?;
        let begin = format!("pb_f=$pb_d/{}; : >\"$pb_f\"", name_of(&program));
        link.call(&[], &begin).map_err(silent)?;
        let came = match place.is_gzip {
            true => {
                self.send(link, &place, &packed(&program), copying)? && {
                    let unpack = "gunzip <\"$pb_f\" >\"$pb_d/p\" && mv -f \"$pb_d/p\" \"$pb_f\"";
                    link.turn(&[], unpack).map_err(silent)?.status == 0
                }
            }
            false => self.send(link, &place, &program, copying)?,
        };
        let whole = format!("chmod 700 \"$pb_f\" && [ \"$(wc -c <\"$pb_f\")\" -eq {} ]", program.len());
        if !came || link.call(&[], &whole).map_err(silent)?.status != 0 {
            let mb = program.len() as f64 / 1e6;
            let why = format!(
                "the agent did not come there whole; is there room for {mb:.1} MB in {}? Else try again",
                place.folder
            );
            return Err(self.refused(why));
        }
        let ran = link.turn(&[], "\"$pb_f\" --version >&3 2>&3").map_err(silent)?;
        if ran.status != 0 {
            let said = String::from_utf8_lossy(&ran.body).trim().to_owned();
            return Err(
                self.refused(format!("the agent does not run there ({said}); use sh:COMMAND, which needs none"))
            );
        }
        link.say_last(START).map_err(silent)
    }

    /// Types a program in pieces, each after the answer to the one before. Whether all was taken.
    fn send(
        &self,
        link: &mut Link,
        place: &Place,
        bytes: &[u8],
        copying: &mut dyn FnMut(Copied),
    ) -> Result<bool, RemoteError> {
        let began_ns = crate::now_ns();
        let lines = if place.is_base64 { base64_lines(bytes) } else { printed(bytes) };
        let most = if place.is_console { CONSOLE_BYTES } else { PIPE_BYTES };
        let (mut sent, all) = (0, lines.iter().map(String::len).sum());
        let mut rest = &lines[..];
        while !rest.is_empty() {
            let mut length = 0;
            let fits = |line: &&String| {
                length += line.len();
                length <= most
            };
            let (piece, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            rest = later;
            let typed = piece.concat();
            let script = match place.is_base64 {
                true => format!("base64 -d >>\"$pb_f\" <<{END}\n{typed}{END}"),
                false => typed.clone(),
            };
            let answer = link.call(&[], &script).map_err(|silence| self.unreachable(silence.to_string()))?;
            if answer.status != 0 {
                return Ok(false);
            }
            sent += typed.len();
            copying(Copied { sent, all, took_ns: crate::now_ns() - began_ns });
        }
        Ok(true)
    }
}

/// What ends a piece; no line of base64 is so short.
const END: &str = "E";

/// What [`LOOK`] prints.
fn place_of(body: &[u8]) -> Option<Place> {
    let text = String::from_utf8_lossy(body);
    let (_, told) = text.split_once('(')?;
    let mut fields = told.rsplit_once(')')?.0.splitn(5, ':');
    let mut field = || fields.next();
    Some(Place {
        arch: field()?.trim().to_owned(),
        is_base64: field()? == "base64",
        is_gzip: field()? == "gzip",
        is_console: field()? == "console",
        folder: field()?.to_owned(),
    })
}

/// As gzip(1) has it.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    // Nothing fails that is written into memory.
    let _ = packed.write_all(bytes);
    packed.finish().unwrap_or_default()
}
