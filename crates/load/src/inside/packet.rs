//! The packets of `ping`: a mark, a number (4 bytes, big endian) and padding.

/// What a packet of ours begins with; a number follows.
pub(super) const MARK: [u8; 4] = *b"PBpg";

/// The number of the packet that ends it.
pub(super) const DONE: u32 = u32::MAX;

/// The number in a packet of ours.
pub(super) fn number(packet: &[u8]) -> Option<u32> {
    let number = packet.strip_prefix(&MARK)?.get(..4)?;
    Some(u32::from_be_bytes(number.try_into().ok()?))
}
