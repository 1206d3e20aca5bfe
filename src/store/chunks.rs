//! Cuts bytes where their content says so, so that a small change leaves most chunks as they were. Pure.

const SMALLEST: usize = 8 << 10;
const LARGEST: usize = 64 << 10;
/// A cut where these bits of the rolling value are 0: about every 16 KiB after the smallest length.
const MASK: u64 = 0x0003_5903_5353_0000;

/// The chunks of `bytes`, in order; together they are `bytes`.
pub(super) fn chunks(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let (chunk, rest) = bytes.split_at(cut(bytes));
        bytes = rest;
        Some(chunk)
    })
}

/// The length of the first chunk.
fn cut(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(LARGEST);
    let mut rolling = 0u64;
    for (at, byte) in bytes[..longest].iter().enumerate().skip(SMALLEST.min(longest)) {
        rolling = (rolling << 1).wrapping_add(gear(*byte));
        if rolling & MASK == 0 {
            return at + 1;
        }
    }
    longest
}

/// A fixed value for each byte, all of whose bits look random (the finisher of a 64-bit mixing function).
fn gear(byte: u8) -> u64 {
    let mut value = (u64::from(byte) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize) -> Vec<u8> {
        let mut state = 7u64;
        let next = |_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn chunks_are_the_bytes_and_bounded() {
        let bytes = noise(1 << 20);
        let cut: Vec<&[u8]> = chunks(&bytes).collect();
        assert_eq!(cut.concat(), bytes);
        assert!(cut.iter().all(|chunk| chunk.len() <= LARGEST));
        assert!(cut.len() > 20, "{}", cut.len());
        assert_eq!(chunks(b"").count(), 0);
    }

    #[test]
    fn an_insertion_leaves_most_chunks_as_they_were() {
        let bytes = noise(1 << 20);
        let mut changed = bytes.clone();
        changed.splice(300_000..300_000, *b"inserted");
        let before: std::collections::HashSet<&[u8]> = chunks(&bytes).collect();
        let new = chunks(&changed).filter(|chunk| !before.contains(chunk)).count();
        assert!(new <= 4, "{new} of {}", before.len());
    }
}
