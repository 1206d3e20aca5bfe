//! Packs of our own making: whole objects, no deltas, with the index that Git reads (version 2).

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use super::objects::{Encoded, HashingWriter};
use crate::disk::durable::temporary_beside;
use crate::error::{OnPath, Result};
use crate::model::Oid;

/// Where an object stands in a pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) oid: Oid,
    pub(super) crc: u32,
    pub(super) offset: u64,
}

const HEADER: u64 = 12;

/// Writes the objects as one pack below `folder` and syncs its files; the folder itself is left to the caller.
/// Nothing is written when there are none.
pub(super) fn write_pack(folder: &Path, objects: &[Encoded]) -> Result<()> {
    if objects.is_empty() {
        return Ok(());
    }
    let mut writer = PackWriter::create(folder, objects.len() as u32)?;
    for object in objects {
        writer.add(object.oid, &object.entry)?;
    }
    writer.finish()
}

/// A pack on its way to disk. Dropped unfinished, it leaves nothing.
pub(super) struct PackWriter {
    folder: PathBuf,
    temporary: PathBuf,
    out: HashingWriter<BufWriter<File>>,
    places: Vec<Place>,
    finished: bool,
}

impl PackWriter {
    /// Begins a pack of exactly `count` objects.
    pub(super) fn create(folder: &Path, count: u32) -> Result<PackWriter> {
        let temporary = temporary_beside(&folder.join("pack"));
        let file = create_private(&temporary)?;
        let out = HashingWriter { inner: BufWriter::with_capacity(1 << 16, file), hasher: Sha1::new(), written: 0 };
        let mut writer =
            PackWriter { folder: folder.to_path_buf(), temporary, out, places: Vec::new(), finished: false };
        let mut header = b"PACK\0\0\0\x02".to_vec();
        header.extend_from_slice(&count.to_be_bytes());
        writer.write(&header)?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).on_path(&self.temporary)
    }

    /// Adds an object whose pack entry is `entry`.
    pub(super) fn add(&mut self, oid: Oid, entry: &[u8]) -> Result<()> {
        let mut piecewise = self.begin(oid);
        self.more(&mut piecewise, entry)?;
        self.end(piecewise);
        Ok(())
    }

    /// Adds an object whose entry comes piece by piece: [`PackWriter::more`], then [`PackWriter::end`].
    pub(super) fn begin(&mut self, oid: Oid) -> Piecewise {
        Piecewise { oid, offset: self.out.written, crc: crc32fast::Hasher::new() }
    }

    pub(super) fn more(&mut self, object: &mut Piecewise, bytes: &[u8]) -> Result<()> {
        object.crc.update(bytes);
        self.write(bytes)
    }

    pub(super) fn end(&mut self, object: Piecewise) {
        self.places.push(Place { oid: object.oid, crc: object.crc.finalize(), offset: object.offset });
    }

    /// Ends the pack: its files are synced and bear their names; the index comes last, so that a pack is seen whole.
    pub(super) fn finish(mut self) -> Result<()> {
        let checksum: [u8; 20] = self.out.hasher.clone().finalize().into();
        self.out.inner.write_all(&checksum).on_path(&self.temporary)?;
        self.out.inner.flush().on_path(&self.temporary)?;
        self.out.inner.get_ref().sync_data().on_path(&self.temporary)?;
        let index = index(&mut self.places, &checksum);
        let index_temporary = temporary_beside(&self.folder.join("idx"));
        let synced = create_private(&index_temporary)
            .and_then(|mut file| file.write_all(&index).and_then(|()| file.sync_data()).on_path(&index_temporary));
        if let Err(error) = synced {
            let _ = fs::remove_file(&index_temporary);
            return Err(error);
        }
        let name = self.folder.join(format!("pack-{}.pack", Oid(checksum)));
        fs::rename(&self.temporary, &name).on_path(&name)?;
        self.finished = true;
        let name = name.with_extension("idx");
        fs::rename(&index_temporary, &name).on_path(&name)
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// An object whose entry is being written.
pub(super) struct Piecewise {
    oid: Oid,
    offset: u64,
    crc: crc32fast::Hasher,
}

fn create_private(path: &Path) -> Result<File> {
    // A file of a dead process with our number may lie there.
    let _ = fs::remove_file(path);
    OpenOptions::new().write(true).create_new(true).mode(0o400).open(path).on_path(path)
}

/// The index of a pack, version 2.
fn index(places: &mut Vec<Place>, pack_checksum: &[u8; 20]) -> Vec<u8> {
    places.sort_unstable_by_key(|place| place.oid);
    places.dedup_by_key(|place| place.oid);
    let mut out = Vec::with_capacity(1100 + places.len() * 28);
    out.extend_from_slice(b"\xfftOc\0\0\0\x02");
    let mut count = 0;
    for first in 0..=255u8 {
        count += places[count..].iter().take_while(|place| place.oid.0[0] == first).count();
        out.extend_from_slice(&(count as u32).to_be_bytes());
    }
    places.iter().for_each(|place| out.extend_from_slice(&place.oid.0));
    places.iter().for_each(|place| out.extend_from_slice(&place.crc.to_be_bytes()));
    let mut large = Vec::new();
    for place in places.iter() {
        let short = match u32::try_from(place.offset) {
            Ok(offset) if offset < 1 << 31 => offset,
            _ => {
                large.push(place.offset);
                (1 << 31) | (large.len() as u32 - 1)
            }
        };
        out.extend_from_slice(&short.to_be_bytes());
    }
    large.iter().for_each(|offset| out.extend_from_slice(&offset.to_be_bytes()));
    out.extend_from_slice(pack_checksum);
    let checksum = Sha1::digest(&out);
    out.extend_from_slice(&checksum);
    out
}

/// The objects of the pack whose index lies at `index`, in the order of their places; with the length of the pack up to
/// its checksum. None when the index is not sound.
pub(super) fn places(index: &Path) -> Option<Vec<Place>> {
    let bytes = fs::read(index).ok()?;
    let body = bytes.len().checked_sub(20)?;
    if bytes.get(..8)? != b"\xfftOc\0\0\0\x02" || Sha1::digest(&bytes[..body])[..] != bytes[body..] {
        return None;
    }
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let count = word(8 + 255 * 4)? as usize;
    let (names, crcs) = (8 + 1024, 8 + 1024 + count * 20);
    let (offsets, larges) = (crcs + count * 4, crcs + count * 8);
    let mut places = Vec::with_capacity(count);
    for at in 0..count {
        let oid = Oid(bytes.get(names + at * 20..names + at * 20 + 20)?.try_into().ok()?);
        let short = word(offsets + at * 4)?;
        let offset = if short < 1 << 31 {
            u64::from(short)
        } else {
            let at = larges + (short & !(1 << 31)) as usize * 8;
            u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?)
        };
        places.push(Place { oid, crc: word(crcs + at * 4)?, offset });
    }
    places.sort_unstable_by_key(|place| place.offset);
    (places.first().is_none_or(|first| first.offset >= HEADER)).then_some(places)
}

/// Copies the first `length` bytes at `offset` of the pack `from` into `to`'s current object.
pub(super) fn copy_entry(from: &mut File, path: &Path, place: &Place, length: u64, to: &mut PackWriter) -> Result<()> {
    use std::io::Read;
    from.seek(std::io::SeekFrom::Start(place.offset)).on_path(path)?;
    let mut object = to.begin(place.oid);
    let mut rest = length;
    let mut buffer = vec![0; rest.min(1 << 20) as usize];
    while rest > 0 {
        let count = buffer.len().min(rest as usize);
        from.read_exact(&mut buffer[..count]).on_path(path)?;
        to.more(&mut object, &buffer[..count])?;
        rest -= count as u64;
    }
    if object.crc.clone().finalize() != place.crc {
        let message = format!("{}: object {} is damaged", path.display(), place.oid);
        return Err(crate::error::Error::damaged(message));
    }
    to.end(object);
    Ok(())
}
