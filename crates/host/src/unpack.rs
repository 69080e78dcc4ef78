//! Gzip: the text of what is packed, as the kernel packs its configuration.
use std::io::Read;

use flate2::read::GzDecoder;
use powerband_machine::Errno;

use crate::files::{MAX_BYTES, open, read_bytes};

/// The file in which a kernel shows the configuration it was built with.
pub(crate) const KERNEL_CONFIGURATION: &str = "/proc/config.gz";

/// What every gzip file begins with; no text does.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text of a file's bytes, unpacked where they are gzip.
///
/// # Errors
/// `EILSEQ` for what is no text or cannot be unpacked, `EFBIG` for more than 1 MiB of it.
pub fn text_of(bytes: &[u8]) -> Result<String, Errno> {
    let mut plain = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    if bytes.starts_with(&GZIP) {
        GzDecoder::new(bytes).take(limit).read_to_end(&mut plain).map_err(|_| Errno::EILSEQ)?;
    } else {
        plain.extend(bytes.iter().take(MAX_BYTES + 1));
    }
    if plain.len() > MAX_BYTES {
        return Err(Errno::EFBIG);
    }
    String::from_utf8(plain).map_err(|_| Errno::EILSEQ)
}

/// The whole text that is packed in a file.
pub(crate) fn read(path: &str, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    read_bytes(open(path)?, buffer).and_then(text_of)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn what_is_packed_reads_as_its_text() {
        assert_eq!(text_of(&packed(b"CONFIG_SMP=y\n")).as_deref(), Ok("CONFIG_SMP=y\n"));
        assert_eq!(text_of(b"CONFIG_SMP=y\n").as_deref(), Ok("CONFIG_SMP=y\n"));
        assert_eq!(text_of(b"").as_deref(), Ok(""));
    }

    #[test]
    fn what_is_broken_or_grows_without_end_is_refused() {
        let whole = packed(b"CONFIG_SMP=y\n");
        assert_eq!(text_of(&whole[..whole.len() - 9]), Err(Errno::EILSEQ));
        assert_eq!(text_of(b"\x7fELF\x02\xff"), Err(Errno::EILSEQ));
        assert_eq!(text_of(&packed(&vec![b'#'; 64 << 20])), Err(Errno::EFBIG));
        assert_eq!(text_of(&vec![b'#'; MAX_BYTES + 1]), Err(Errno::EFBIG));
    }
}
