//! Texts on their way to a shell, and what comes back from one: quoting, encoded fields, and error numbers in words.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use powerband_machine::Errno;

/// At most this much of a text stands on one line, bytes: a console takes no longer ones.
const LINE_BYTES: usize = 300;

/// A word for the shell, as it is.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Lines that put `text` into the variable `name`. Only printable characters are typed, as a console has its own mind
/// about the others.
pub(super) fn assignment(name: &str, text: &str) -> Vec<String> {
    let mut lines = vec![format!("{name}=")];
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    for chunk in text.as_bytes().chunks(LINE_BYTES) {
        if is_plain {
            let chunk = String::from_utf8_lossy(chunk);
            lines.push(format!("{name}=${name}{}", quoted(&chunk)));
        } else {
            // The full stop keeps newlines at the end.
            let typed: String = chunk.iter().map(|&byte| typed(byte)).collect();
            lines.push(format!("{name}=${name}$(printf '{typed}.'); {name}=${{{name}%.}}"));
        }
    }
    lines
}

/// One byte in a format of printf, between single quotes. A dash could begin an option.
fn typed(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' | b'%' | b'-' | 0..=0x1f | 0x7f.. => format!("\\{byte:03o}"),
        _ => char::from(byte).to_string(),
    }
}

/// Lines of a console that a shell's printf makes these bytes of, appended to the file in `pb_f`.
pub(super) fn printed(bytes: &[u8]) -> Vec<String> {
    // A byte takes up to four characters.
    let line = |bytes: &[u8]| {
        let typed: String = bytes.iter().map(|&byte| typed(byte)).collect();
        format!("printf '{typed}' >>\"$pb_f\"\n")
    };
    bytes.chunks(LINE_BYTES / 4).map(line).collect()
}

/// Lines of base64 (RFC 4648), each of whole bytes.
pub(super) fn base64_lines(bytes: &[u8]) -> Vec<String> {
    let line = |bytes: &[u8]| STANDARD.encode(bytes) + "\n";
    bytes.chunks(LINE_BYTES / 4 * 3).map(line).collect()
}

/// How bytes are encoded there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Two digits a byte: od, hexdump.
    Hex,
    /// base64.
    Base64,
}

impl Code {
    /// What an encoder there is.
    pub(super) fn of(program: &str) -> Option<Code> {
        match program {
            "od" | "hexdump" => Some(Code::Hex),
            "base64" => Some(Code::Base64),
            _ => None,
        }
    }

    fn decode(self, text: &[u8]) -> Option<Vec<u8>> {
        let symbols = text.iter().filter(|byte| !byte.is_ascii_whitespace());
        match self {
            Code::Hex => {
                let digits: Vec<u8> = symbols.map(|&it| hex_digit(it)).collect::<Option<_>>()?;
                digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
            }
            Code::Base64 => STANDARD.decode(symbols.copied().collect::<Vec<u8>>()).ok(),
        }
    }

    /// The fields of an answer, `<…>` each.
    pub(super) fn fields(self, body: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut fields = Vec::new();
        let mut rest = body;
        while let Some(begin) = rest.iter().position(|&byte| byte == b'<') {
            rest = &rest[begin + 1..];
            let end = rest.iter().position(|&byte| byte == b'>')?;
            fields.push(self.decode(&rest[..end])?);
            rest = &rest[end + 1..];
        }
        Some(fields)
    }
}

fn hex_digit(symbol: u8) -> Option<u8> {
    char::from(symbol).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Words of the C libraries (glibc, musl) and of the shells' own for the errors that files have.
const WORDS: [(&str, Errno); 36] = [
    ("no such file or directory", Errno::ENOENT),
    ("no such file", Errno::ENOENT),
    ("nonexistent directory", Errno::ENOENT),
    ("directory nonexistent", Errno::ENOENT),
    ("permission denied", Errno::EACCES),
    ("operation not permitted", Errno::EPERM),
    ("is a directory", Errno::EISDIR),
    ("not a directory", Errno::ENOTDIR),
    ("invalid argument", Errno::EINVAL),
    ("numerical result out of range", Errno::ERANGE),
    ("result not representable", Errno::ERANGE),
    ("value too large for defined data type", Errno::EOVERFLOW),
    ("value too large for data type", Errno::EOVERFLOW),
    ("device or resource busy", Errno::EBUSY),
    ("resource busy", Errno::EBUSY),
    ("no such device", Errno::ENODEV),
    ("no such device or address", Errno::ENXIO),
    ("read-only file system", Errno::EROFS),
    ("no space left on device", Errno::ENOSPC),
    ("file exists", Errno::EEXIST),
    ("directory not empty", Errno::ENOTEMPTY),
    ("operation not supported", Errno::EOPNOTSUPP),
    ("not supported", Errno::EOPNOTSUPP),
    ("function not implemented", Errno::ENOSYS),
    ("resource temporarily unavailable", Errno::EAGAIN),
    ("cannot allocate memory", Errno::ENOMEM),
    ("out of memory", Errno::ENOMEM),
    ("file too large", Errno::EFBIG),
    ("argument list too long", Errno::E2BIG),
    ("no such process", Errno::ESRCH),
    ("bad file descriptor", Errno::EBADF),
    ("broken pipe", Errno::EPIPE),
    ("connection timed out", Errno::ETIMEDOUT),
    ("operation timed out", Errno::ETIMEDOUT),
    ("interrupted system call", Errno::EINTR),
    ("input/output error", Errno::EIO),
];

/// The error number in what a program or shell complained of; `EIO` when it cannot be known.
pub(super) fn errno_of(words: &str) -> Errno {
    let known = |line: &str| {
        let line = line.trim().to_lowercase();
        // What stands behind the last colon is the C library's; what stands before it may hold anything.
        let tail = line.rsplit(": ").next().unwrap_or_default().trim_end_matches('.');
        WORDS.iter().find(|(words, _)| *words == tail).map(|&(_, errno)| errno)
    };
    words.lines().find_map(known).unwrap_or(Errno::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_known_by_the_words_of_any_shell() {
        let words = "head: cannot open '/x' for reading: No such file or directory|head: /x: No such file or directory\n\
                     |dash: 3: cannot create /x/y: Directory nonexistent|sh: can't create /x: nonexistent directory\
                     |sh: 1: cannot open /x: No such file|sh: can't create /proc/x: Permission denied\
                     |cat: write error: Invalid argument\r|cat: write error: Result not representable\
                     |cat: /a: Is a directory: Input/output error|sh: printf: I/O error|\
                     |rm: cannot remove 'no such file': Device or resource busy";
        use Errno as E;
        let wanted = [E::ENOENT, E::ENOENT, E::ENOENT, E::ENOENT, E::ENOENT, E::EACCES, E::EINVAL, E::ERANGE];
        let found: Vec<Errno> = words.split('|').map(errno_of).collect();
        assert_eq!(found, [&wanted[..], &[E::EIO, E::EIO, E::EIO, E::EBUSY]].concat());
    }

    #[test]
    fn fields_are_decoded_exactly_and_garbage_is_none() {
        let fields = |code: Code, body: &str| code.fields(body.as_bytes());
        assert_eq!(fields(Code::Hex, "< 61 0a\r\n ff 00\n><>x"), Some(vec![vec![0x61, 0x0a, 0xff, 0], vec![]]));
        assert_eq!(fields(Code::Base64, "<YQ==\n><YWI=><YWJj><YQr/AA==>"), {
            Some(vec![b"a".to_vec(), b"ab".to_vec(), b"abc".to_vec(), vec![0x61, 0x0a, 0xff, 0]])
        });
        for (code, body) in [(Code::Hex, "<6>"), (Code::Hex, "<6x>"), (Code::Hex, "<61"), (Code::Base64, "<?>")] {
            assert_eq!(fields(code, body), None, "{body}");
        }
    }

    #[test]
    fn a_program_arrives_byte_by_byte_in_either_way() {
        let bytes: Vec<u8> = (0..2000_u32).map(|at| (at * at / 7) as u8).collect();
        for length in [0, 1, 2, 3, 224, 225, 226, 2000] {
            let lines = base64_lines(&bytes[..length]);
            assert!(lines.iter().all(|line| line.len() <= LINE_BYTES + 1));
            let text = format!("<{}>", lines.concat());
            assert_eq!(Code::Base64.fields(text.as_bytes()), Some(vec![bytes[..length].to_vec()]));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let script = format!("pb_f={}\n{}", file.path().display(), printed(&bytes).concat());
        assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
        assert_eq!(std::fs::read(file.path()).unwrap(), bytes);
    }

    #[test]
    fn a_shell_gets_any_text_as_it_is_by_printable_characters_alone() {
        let all: String = (1_u8..0x80).map(char::from).chain("äß→😀 '\"$`\\ \n\n".chars()).collect();
        for text in [all.as_str(), "", "-n", "it's", "$(reboot) `x` \\ \"", "\n", "%s%d\\", " \t ", &"é'-%".repeat(400)]
        {
            let mut script = assignment("v", text).join("\n");
            assert!(script.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)), "{script}");
            assert!(script.lines().all(|line| line.len() < 4 * LINE_BYTES + 100));
            script += "\nprintf %s \"$v\"\n";
            let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
        }
    }
}
