//! Single objects: their names, their compressed form, and reading them back.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::objs::Find;
use gix::odb::Header;
use sha1::{Digest, Sha1};

use crate::error::{Error, OnPath, Result};
use crate::model::Oid;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Commit,
    Tree,
    Blob,
}

impl ObjectKind {
    /// Its number in a pack.
    pub(super) fn number(self) -> u8 {
        match self {
            ObjectKind::Commit => 1,
            ObjectKind::Tree => 2,
            ObjectKind::Blob => 3,
        }
    }

    fn word(self) -> &'static str {
        match self {
            ObjectKind::Commit => "commit",
            ObjectKind::Tree => "tree",
            ObjectKind::Blob => "blob",
        }
    }
}

/// The name that the blob of `bytes` has.
pub fn blob_oid(bytes: &[u8]) -> Oid {
    object_oid(ObjectKind::Blob, bytes)
}

pub(super) fn object_oid(kind: ObjectKind, bytes: &[u8]) -> Oid {
    let mut hasher = hasher(kind, bytes.len() as u64);
    hasher.update(bytes);
    Oid(hasher.finalize().into())
}

/// Names an object of `size` bytes that are given piece by piece.
pub(super) fn hasher(kind: ObjectKind, size: u64) -> Sha1 {
    let mut hasher = Sha1::new();
    hasher.update(format!("{} {size}\0", kind.word()));
    hasher
}

/// An object made ready to be written: compressed and named. Made by any thread.
#[derive(Debug)]
pub struct Encoded {
    pub(super) oid: Oid,
    /// The entry as it stands in a pack: header and compressed bytes.
    pub(super) entry: Vec<u8>,
}

/// Names and compresses objects; keeps its compression state between them. One a thread.
pub struct Encoder {
    compress: Compress,
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder::new()
    }
}

impl Encoder {
    /// A new one.
    pub fn new() -> Encoder {
        Encoder { compress: Compress::new(Compression::fast(), true) }
    }

    /// Compresses the blob of `bytes`, whose name is already known.
    pub fn blob(&mut self, oid: Oid, bytes: &[u8]) -> Encoded {
        self.object(ObjectKind::Blob, oid, bytes)
    }

    pub(super) fn object(&mut self, kind: ObjectKind, oid: Oid, bytes: &[u8]) -> Encoded {
        let mut entry = Vec::with_capacity(bytes.len() / 2 + 64);
        entry_header(kind, bytes.len() as u64, &mut entry);
        self.compress.reset();
        self.compress_into(bytes, FlushCompress::Finish, &mut entry);
        Encoded { oid, entry }
    }

    /// Starts an object that is given piece by piece to [`Encoder::more`] and ended by [`Encoder::last`].
    pub(super) fn start(&mut self, kind: ObjectKind, size: u64) -> Vec<u8> {
        let mut header = Vec::new();
        entry_header(kind, size, &mut header);
        self.compress.reset();
        header
    }

    pub(super) fn more(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.compress_into(bytes, FlushCompress::None, out);
    }

    pub(super) fn last(&mut self, out: &mut Vec<u8>) {
        self.compress_into(&[], FlushCompress::Finish, out);
    }

    fn compress_into(&mut self, mut bytes: &[u8], flush: FlushCompress, out: &mut Vec<u8>) {
        loop {
            out.reserve(bytes.len() / 2 + 256);
            let read = self.compress.total_in();
            // Compressing fails only on a stream that is not set up.
            let Ok(status) = self.compress.compress_vec(bytes, out, flush) else { return };
            bytes = &bytes[(self.compress.total_in() - read) as usize..];
            let ends = matches!(flush, FlushCompress::Finish);
            if (ends && status == Status::StreamEnd) || (!ends && bytes.is_empty()) {
                return;
            }
        }
    }
}

/// Kind and size as they stand before the compressed bytes: four bits of the size, then seven at a time.
fn entry_header(kind: ObjectKind, size: u64, out: &mut Vec<u8>) {
    let mut byte = (kind.number() << 4) | (size & 0xf) as u8;
    let mut rest = size >> 4;
    while rest > 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

/// Knows which objects the store holds. One a thread.
pub struct Known {
    handle: gix::odb::Handle,
}

impl Known {
    /// Whether the store, or the batch it was made for, is known to hold `oid` soundly.
    pub fn has(&self, oid: &Oid) -> bool {
        self.handle.exists_without_refresh(&name(oid))
    }
}

/// Reads the objects of a store.
pub(super) struct Reader {
    folder: PathBuf,
    handle: RefCell<gix::odb::Handle>,
}

impl Reader {
    /// Reads below `folder`, the store's `objects`.
    pub(super) fn open(folder: &Path) -> Result<Reader> {
        Ok(Reader { folder: folder.to_path_buf(), handle: RefCell::new(handle(folder)?) })
    }

    /// Looks at the folders again: needed after alternates came or packs went.
    pub(super) fn reopen(&self) -> Result<()> {
        *self.handle.borrow_mut() = handle(&self.folder)?;
        Ok(())
    }

    pub(super) fn known(&self) -> Known {
        Known { handle: self.handle.borrow().clone() }
    }

    /// The content of the object `oid`, which must be of `kind`.
    pub(super) fn read(&self, kind: ObjectKind, oid: Oid) -> Result<Vec<u8>> {
        if oid == Oid::EMPTY_TREE && kind == ObjectKind::Tree {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let mut found = self.try_read(oid, &mut bytes);
        if found.is_err() {
            // Packs were folded under us, or there are more than the handle was made for.
            self.reopen()?;
            found = self.try_read(oid, &mut bytes);
        }
        match found {
            Ok(Some(word)) if word == kind.word() => Ok(bytes),
            Ok(Some(word)) => Err(Error::damaged(format!("object {oid} is a {word}, not a {}", kind.word()))),
            Ok(None) => Err(Error::damaged(format!("object {oid} is missing"))),
            Err(error) => Err(Error::damaged(format!("object {oid} can not be read: {error}"))),
        }
    }

    fn try_read(&self, oid: Oid, bytes: &mut Vec<u8>) -> std::result::Result<Option<&'static str>, String> {
        let handle = self.handle.borrow();
        let found = handle.try_find(&name(&oid), bytes).map_err(|error| one_line(&error.to_string()))?;
        Ok(found.map(|data| match data.kind {
            gix::objs::Kind::Commit => "commit",
            gix::objs::Kind::Tree => "tree",
            gix::objs::Kind::Blob => "blob",
            gix::objs::Kind::Tag => "tag",
        }))
    }

    /// The size of the object `oid` in bytes, without reading all of it.
    pub(super) fn size(&self, oid: Oid) -> Result<u64> {
        let handle = self.handle.borrow();
        match handle.try_header(&name(&oid)) {
            Ok(Some(header)) => Ok(header.size()),
            Ok(None) => Err(Error::damaged(format!("object {oid} is missing"))),
            Err(error) => {
                let error = one_line(&error.to_string());
                Err(Error::damaged(format!("object {oid} can not be read: {error}")))
            }
        }
    }
}

fn handle(folder: &Path) -> Result<gix::odb::Handle> {
    gix::odb::at(folder, gix::hash::Kind::Sha1).on_path(folder)
}

fn name(oid: &Oid) -> gix::ObjectId {
    gix::ObjectId::from(oid.0)
}

fn one_line(text: &str) -> String {
    crate::model::text::shown(text.lines().next().unwrap_or_default().as_bytes())
}

/// Writes and hashes at once.
pub(super) struct HashingWriter<W> {
    pub(super) inner: W,
    pub(super) hasher: Sha1,
    pub(super) written: u64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
