//! The name of an object in the store: the SHA-1 that Git gives it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names an object by its content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid(pub [u8; 20]);

impl Oid {
    /// The tree without entries, which stands for an empty folder.
    pub const EMPTY_TREE: Oid = Oid([
        0x4b, 0x82, 0x5d, 0xc6, 0x42, 0xcb, 0x6e, 0xb9, 0xa0, 0x60, 0xe5, 0x4b, 0xf8, 0xd6, 0x92, 0x88, 0xfb, 0xee,
        0x49, 0x04,
    ]);
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 40 hexadecimal digits.
#[derive(Debug, thiserror::Error)]
#[error("not an object name of 40 hexadecimal digits")]
pub struct NotAnOid;

impl FromStr for Oid {
    type Err = NotAnOid;

    fn from_str(text: &str) -> Result<Self, NotAnOid> {
        let digits = text.as_bytes();
        if digits.len() != 40 {
            return Err(NotAnOid);
        }
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |d: u8| (d as char).to_digit(16).ok_or(NotAnOid);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(Oid(bytes))
    }
}

impl Serialize for Oid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let text = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(text.parse::<Oid>().unwrap(), Oid::EMPTY_TREE);
        assert_eq!(Oid::EMPTY_TREE.to_string(), text);
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "4b825d", "zb825dc642cb6eb9a060e54bf8d69288fbee4904", "é4b825dc642cb6eb9a060e54bf8d69288fbee490"]
        {
            assert!(text.parse::<Oid>().is_err(), "{text}");
        }
    }
}
