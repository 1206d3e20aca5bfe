//! Text from outside (file names, labels, messages) made safe to print.

/// Shows `bytes` so that nothing in them can steer a terminal: control characters (C0, DEL, C1), bidirectional
/// overrides and bytes that are not UTF-8 come out as `\n`, `\t`, `\x1b`, `\u{202e}`, and a backslash as `\\`.
///
/// [`unshown`] takes the result back to the bytes.
pub fn shown(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\\' => out.push_str("\\\\"),
                c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
                c if c.is_control() || is_bidi_control(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Like [`shown`], but keeps line breaks, tabs and backslashes: for messages of several lines.
pub fn shown_lines(text: &str) -> String {
    text.split('\n')
        .map(|line| {
            line.split('\t').map(|part| shown(part.as_bytes()).replace("\\\\", "\\")).collect::<Vec<_>>().join("\t")
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Takes the spelling of [`shown`] back to the bytes it stands for. What is no escape of ours stays as it is.
pub fn unshown(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let taken = escape(rest, &mut out);
        if taken == 0 {
            out.push(b'\\');
        }
        rest = &rest[taken.max(1)..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Reads one escape at the start of `text`; gives the length read, 0 when it is none.
fn escape(text: &str, out: &mut Vec<u8>) -> usize {
    let simple = match text.as_bytes().get(1) {
        Some(b'n') => Some(b'\n'),
        Some(b't') => Some(b'\t'),
        Some(b'\\') => Some(b'\\'),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return 2;
    }
    if let Some(byte) = text.strip_prefix("\\x").and_then(|t| t.get(..2)).and_then(|d| u8::from_str_radix(d, 16).ok()) {
        out.push(byte);
        return 4;
    }
    let braced = text.strip_prefix("\\u{").and_then(|t| t.split_once('}'));
    if let Some((digits, _)) = braced
        && let Some(c) = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
    {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        return digits.len() + 4;
    }
    0
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_are_spelled_out() {
        assert_eq!(shown(b"a\x1b[2Jb"), "a\\x1b[2Jb");
        assert_eq!(shown("x\u{202e}y\u{9b}".as_bytes()), "x\\u{202e}y\\u{9b}");
        assert_eq!(shown(b"caf\xe9\n"), "caf\\xe9\\n");
        assert_eq!(shown("café 中".as_bytes()), "café 中");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(shown_lines("a\\b\n\tc\x1b"), "a\\b\n\tc\\x1b");
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unshown(&shown(&bytes)), bytes);
        }

        #[test]
        fn nothing_steers_the_terminal(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(!shown(&bytes).chars().any(|c| c.is_control() || is_bidi_control(c)));
        }
    }
}
