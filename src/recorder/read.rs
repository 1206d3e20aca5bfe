//! Reading the content of files that changed: each at one instant, several at once.

use std::fs::File as OpenFile;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::disk::{Dir, Meta, MetaKind, Root, is_absence};
use crate::error::{Error, Result};
use crate::model::tree::{File, Stat};
use crate::model::{Entry, EntryKind, Oid, RelPath};
use crate::store::{Batch, Encoded, Encoder, Known, Store, blob_oid};

/// Larger files go to disk while they are read.
const LARGE: u64 = 8 << 20;
/// A file that changes while it is read is read this often before it is left to the next capture.
const TRIES: usize = 3;
/// Fewer files are read by one thread.
const FEW: usize = 24;
/// A file changed less than this ago may change again without its times showing it.
const TICK: Duration = Duration::from_millis(20);

/// What became of a file to be read.
pub(super) enum Outcome {
    /// This is it; its content is in the batch or the store.
    Held(File),
    /// It is no longer there.
    Gone,
    /// It can not be held, with the reason.
    NotHeld(String),
    /// It changed each time it was read.
    Unsteady,
}

/// What a thread gives to the one that owns the batch.
enum Found {
    Small(File, Option<Encoded>),
    Large(OpenFile, Meta),
    Other(Outcome),
}

/// Reads the files and links at `paths` into the batch; gives what became of each, in their order.
pub(super) fn read_all(
    root: &Root,
    store: &Store,
    batch: &mut Batch,
    paths: &[RelPath],
    max_file: u64,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Option<Outcome>> = Vec::new();
    outcomes.resize_with(paths.len(), || None);
    let (mut files, mut bytes) = (0, 0);
    let mut take = |at: usize, found: Found| -> Result<()> {
        let outcome = held(root, batch, &paths[at], found)?;
        files += 1;
        if let Outcome::Held(file) = &outcome {
            bytes += file.stat.size;
        }
        progress(files, bytes);
        outcomes[at] = Some(outcome);
        Ok(())
    };
    if paths.len() < FEW {
        let mut reader = Reader::new(root, store.known(), max_file);
        for (at, path) in paths.iter().enumerate() {
            take(at, reader.read(path))?;
        }
    } else {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(8);
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::sync_channel(64);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let mut reader = Reader::new(root, store.known(), max_file);
                let (sender, next, stop) = (sender.clone(), &next, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(path) = paths.get(at) else { return };
                        if sender.send((at, reader.read(path))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let taken = receiver.iter().try_for_each(|(at, found)| take(at, found));
            stop.store(true, Ordering::Relaxed);
            drop(receiver);
            taken
        })?;
    }
    // Every path was taken: a thread ends early only after an error.
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Unsteady)).collect())
}

/// Puts what was found into the batch.
fn held(root: &Root, batch: &mut Batch, path: &RelPath, found: Found) -> Result<Outcome> {
    let (file, meta) = match found {
        Found::Other(outcome) => return Ok(outcome),
        Found::Small(file, encoded) => {
            if let Some(encoded) = encoded {
                batch.add(encoded)?;
            }
            return Ok(Outcome::Held(file));
        }
        Found::Large(file, meta) => (file, meta),
    };
    for _ in 0..TRIES {
        let Some(oid) = batch.add_large(&file, meta.stat.size)? else { continue };
        let again = root.meta(path)?;
        if again.is_some_and(|again| again.stat == meta.stat) {
            return Ok(Outcome::Held(as_file(&meta, oid)));
        }
        return Ok(Outcome::Unsteady);
    }
    Ok(Outcome::Unsteady)
}

struct Reader<'a> {
    root: &'a Root,
    known: Known,
    encoder: Encoder,
    max_file: u64,
    folder: Option<(RelPath, Dir)>,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Root, known: Known, max_file: u64) -> Self {
        Reader { root, known, encoder: Encoder::new(), max_file, folder: None, buffer: Vec::new() }
    }

    fn read(&mut self, path: &RelPath) -> Found {
        for _ in 0..TRIES {
            match self.try_read(path) {
                Ok(Some(found)) => return found,
                Ok(None) => {}
                Err(error) if is_absence(&error) => {
                    self.folder = None;
                    return Found::Other(Outcome::Gone);
                }
                Err(error) => return Found::Other(Outcome::NotHeld(reason(&error))),
            }
        }
        Found::Other(Outcome::Unsteady)
    }

    /// None when the file changed meanwhile.
    fn try_read(&mut self, path: &RelPath) -> Result<Option<Found>> {
        let parent = path.parent().unwrap_or_default();
        let name = path.name().unwrap_or_default();
        let dir = match &mut self.folder {
            Some((at, dir)) if *at == parent => dir,
            folder => &folder.insert((parent.clone(), self.root.folder(&parent)?)).1,
        };
        let Some(meta) = dir.meta(name)? else { return Ok(Some(Found::Other(Outcome::Gone))) };
        if meta.kind == MetaKind::Symlink {
            let target = dir.link_target(name)?;
            let same = dir.meta(name)?.is_some_and(|again| again.stat == meta.stat);
            return Ok(same.then(|| self.small(&meta, &target)));
        }
        if meta.kind != MetaKind::File {
            return Ok(Some(Found::Other(Outcome::Gone)));
        }
        let (mut file, meta) = dir.open_file(name)?;
        if meta.stat.size > self.max_file {
            return Ok(Some(Found::Other(Outcome::NotHeld(too_large(self.max_file)))));
        }
        if meta.stat.size > LARGE {
            return Ok(Some(Found::Large(file, meta)));
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let read = file.by_ref().take(meta.stat.size + 1).read_to_end(&mut buffer);
        let again = dir.meta(name)?;
        let steady = buffer.len() as u64 == meta.stat.size && again.is_some_and(|again| again.stat == meta.stat);
        let found = match read {
            Ok(_) => Ok(steady.then(|| self.small(&meta, &buffer))),
            Err(source) => Err(Error::Io { path: dir_path(path), source }),
        };
        self.buffer = buffer;
        found
    }

    fn small(&mut self, meta: &Meta, content: &[u8]) -> Found {
        let oid = blob_oid(content);
        let encoded = (!self.known.has(&oid)).then(|| self.encoder.blob(oid, content));
        Found::Small(as_file(meta, oid), encoded)
    }
}

fn dir_path(path: &RelPath) -> std::path::PathBuf {
    path.as_path().to_path_buf()
}

/// The file as the tree keeps it. Where its times are too fresh to be trusted later, its stat says nothing.
fn as_file(meta: &Meta, oid: Oid) -> File {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = i64::try_from((now.saturating_sub(TICK)).as_nanos()).unwrap_or(i64::MAX);
    let steady = meta.stat.modified < settled && meta.stat.changed < settled;
    let entry = Entry { kind: kind_of(meta), oid, permissions: permissions_of(meta) };
    File { entry, stat: if steady { meta.stat } else { Stat { changed: 0, ..meta.stat } } }
}

/// What a file or link counts as.
pub(super) fn kind_of(meta: &Meta) -> EntryKind {
    match meta.kind {
        MetaKind::Symlink => EntryKind::Symlink,
        _ if meta.mode & 0o100 != 0 => EntryKind::Executable,
        _ => EntryKind::Regular,
    }
}

/// The permission bits that are kept of a file or link.
pub(super) fn permissions_of(meta: &Meta) -> u16 {
    if meta.kind == MetaKind::Symlink { 0 } else { meta.mode & 0o777 }
}

pub(super) fn too_large(max_file: u64) -> String {
    match max_file {
        size if size % 1_000_000 == 0 => format!("larger than {} MB", size / 1_000_000),
        size => format!("larger than {size} bytes"),
    }
}

/// Why something can not be read, as a person would say it.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        Error::Io { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}
