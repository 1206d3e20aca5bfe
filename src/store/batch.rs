//! New objects on their way into the store.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use sha1::Digest;

use super::objects::{Encoded, Encoder, Known, ObjectKind, hasher, object_oid};
use super::pack::{PackWriter, write_pack};
use super::{StoredChild, chunks, tree};
use crate::disk::durable::sync_folder_of;
use crate::error::{OnPath, Result};
use crate::model::{EntryKind, Oid};

/// Compressed objects wait in memory up to this many bytes; then they go to disk as a pack.
const LARGEST_WAIT: usize = 32 << 20;
/// Bytes read from a large file at once.
const PIECE: usize = 1 << 20;

/// New objects on their way into the store. Memory is bounded: full packs go to disk as it grows; nothing is reachable
/// until [`Store::record`](super::Store::record).
pub struct Batch {
    packs: PathBuf,
    known: Known,
    encoder: Encoder,
    added: HashSet<Oid>,
    waiting: Vec<Encoded>,
    waiting_bytes: usize,
    wrote_pack: bool,
}

impl Batch {
    pub(super) fn new(packs: PathBuf, known: Known) -> Batch {
        Batch {
            packs,
            known,
            encoder: Encoder::new(),
            added: HashSet::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            wrote_pack: false,
        }
    }

    /// Whether the store or this batch holds `oid`.
    pub fn has(&self, oid: &Oid) -> bool {
        self.added.contains(oid) || self.known.has(oid)
    }

    /// Adds an object that another thread made ready; does nothing when it is held already.
    pub fn add(&mut self, encoded: Encoded) -> Result<()> {
        if self.has(&encoded.oid) {
            return Ok(());
        }
        self.added.insert(encoded.oid);
        self.waiting_bytes += encoded.entry.len();
        self.waiting.push(encoded);
        if self.waiting_bytes > LARGEST_WAIT { self.flush() } else { Ok(()) }
    }

    /// Adds the blob of `bytes` unless it is held.
    pub fn add_blob(&mut self, bytes: &[u8]) -> Result<Oid> {
        self.add_object(ObjectKind::Blob, bytes)
    }

    pub(super) fn add_object(&mut self, kind: ObjectKind, bytes: &[u8]) -> Result<Oid> {
        let oid = object_oid(kind, bytes);
        if !self.has(&oid) {
            let encoded = self.encoder.object(kind, oid, bytes);
            self.add(encoded)?;
        }
        Ok(oid)
    }

    /// Adds the blob of the file's first `size` bytes unless it is held, without holding it in memory.
    /// `Ok(None)` when the file proved shorter, or changed while it was read twice.
    pub fn add_large(&mut self, file: &File, size: u64) -> Result<Option<Oid>> {
        let mut name = hasher(ObjectKind::Blob, size);
        if !read_pieces(file, size, &mut |piece| {
            name.update(piece);
            Ok(())
        })? {
            return Ok(None);
        }
        let oid = Oid(name.finalize().into());
        if self.has(&oid) {
            return Ok(Some(oid));
        }
        let mut writer = PackWriter::create(&self.packs, 1)?;
        let mut object = writer.begin(oid);
        let mut again = hasher(ObjectKind::Blob, size);
        let mut out = self.encoder.start(ObjectKind::Blob, size);
        let whole = read_pieces(file, size, &mut |piece| {
            again.update(piece);
            self.encoder.more(piece, &mut out);
            writer.more(&mut object, &out)?;
            out.clear();
            Ok(())
        })?;
        if !whole || Oid(again.finalize().into()) != oid {
            return Ok(None);
        }
        self.encoder.last(&mut out);
        writer.more(&mut object, &out)?;
        writer.end(object);
        writer.finish()?;
        self.wrote_pack = true;
        self.added.insert(oid);
        Ok(Some(oid))
    }

    /// Adds `bytes` cut into chunks where their content says so, as a folder of them: of two similar ones only the
    /// chunks that differ are added.
    pub fn add_chunked(&mut self, bytes: &[u8]) -> Result<Oid> {
        let mut children = Vec::new();
        for (at, chunk) in chunks::chunks(bytes).enumerate() {
            let oid = self.add_blob(chunk)?;
            children.push(StoredChild { name: format!("{at:08}").into(), kind: EntryKind::Regular, oid });
        }
        self.add_folder(&children)
    }

    /// Adds the tree of `children` (any order) unless it is held.
    pub fn add_folder(&mut self, children: &[StoredChild]) -> Result<Oid> {
        self.add_object(ObjectKind::Tree, &tree::encode(children))
    }

    /// Puts what waits on disk, unreachable as yet.
    fn flush(&mut self) -> Result<()> {
        write_pack(&self.packs, &self.waiting)?;
        self.wrote_pack |= !self.waiting.is_empty();
        self.waiting.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Puts everything on disk; when it returns, all of it survives a power cut.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        if self.wrote_pack { sync_folder_of(&self.packs.join("pack")) } else { Ok(()) }
    }
}

/// Gives the first `size` bytes of `file` piece by piece; false when it is shorter.
fn read_pieces(file: &File, size: u64, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
    let mut buffer = vec![0; PIECE.min(size.max(1) as usize)];
    let mut at = 0;
    while at < size {
        let want = buffer.len().min((size - at) as usize);
        let count = file.read_at(&mut buffer[..want], at).on_path("a large file")?;
        if count == 0 {
            return Ok(false);
        }
        take(&buffer[..count])?;
        at += count as u64;
    }
    Ok(true)
}
