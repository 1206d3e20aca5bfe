//! Where something lies below a project's root: bytes, since file names need not be UTF-8.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::text;

/// Folders nested deeper than this are not captured: going down must end.
pub const DEEPEST: usize = 1000;

/// A path relative to the root, with `/` between its names. The empty path is the root itself.
///
/// Holds no empty name, no `.`, no `..` and no NUL, so it can not lead outside the root by itself.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// The root itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Takes `bytes` as a path; None when a name in it is empty, `.`, `..` or holds a NUL.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let sound = bytes.is_empty() || bytes.split(|b| *b == b'/').all(is_name);
        sound.then_some(Self(bytes))
    }

    /// Takes a relative system path; None as for [`RelPath::new`].
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::new(path.as_os_str().as_bytes())
    }

    /// The path of `name` in this folder. `name` must be a single sound name (see [`is_name`]).
    pub fn join(&self, name: &[u8]) -> Self {
        debug_assert!(is_name(name));
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self(bytes)
    }

    /// The bytes, without a slash at either end.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The same as a system path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names from the root down; none for the root.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/').filter(|name| !name.is_empty())
    }

    /// The last name; None for the root.
    pub fn name(&self) -> Option<&[u8]> {
        self.0.rsplit(|b| *b == b'/').next().filter(|name| !name.is_empty())
    }

    /// The folder that holds this; None for the root.
    pub fn parent(&self) -> Option<RelPath> {
        if self.is_root() {
            return None;
        }
        let end = self.0.iter().rposition(|b| *b == b'/').unwrap_or(0);
        Some(Self(self.0[..end].to_vec()))
    }

    /// Whether this is `folder` or lies below it.
    pub fn is_within(&self, folder: &RelPath) -> bool {
        folder.is_root()
            || (self.0.starts_with(&folder.0) && (self.0.len() == folder.0.len() || self.0[folder.0.len()] == b'/'))
    }
}

/// Whether `name` can be the name of one file: not empty, not `.` or `..`, no slash, no NUL.
pub fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&0) && !name.contains(&b'/')
}

/// Shows the path so that no terminal control gets out (see [`text::shown`]).
impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::shown(&self.0))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A string when the path is UTF-8, else an array of bytes.
impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Bytes(Vec<u8>),
        }
        let bytes = match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into_bytes(),
            Form::Bytes(bytes) => bytes,
        };
        RelPath::new(bytes).ok_or_else(|| serde::de::Error::custom("not a path below the root"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for bad in ["/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\0b"] {
            assert!(RelPath::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn parents_and_names() {
        let path = RelPath::new("a/b/c").unwrap();
        assert_eq!(path.name(), Some(&b"c"[..]));
        assert_eq!(path.parent(), RelPath::new("a/b"));
        assert_eq!(RelPath::new("a").unwrap().parent(), Some(RelPath::root()));
        assert_eq!(RelPath::root().parent(), None);
        assert_eq!(RelPath::root().name(), None);
        assert_eq!(RelPath::root().join(b"x"), RelPath::new("x").unwrap());
    }

    #[test]
    fn within_goes_by_whole_names() {
        let within = |path: &str, folder: &str| RelPath::new(path).unwrap().is_within(&RelPath::new(folder).unwrap());
        assert!(within("a/b", "a") && within("a", "a") && within("a", ""));
        assert!(!within("ab", "a") && !within("a", "a/b"));
    }

    #[test]
    fn json_keeps_every_byte() {
        for bytes in [&b"a/b"[..], b"caf\xe9"] {
            let path = RelPath::new(bytes).unwrap();
            let json = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<RelPath>(&json).unwrap(), path);
        }
        assert!(serde_json::from_str::<RelPath>("\"../x\"").is_err());
    }
}
