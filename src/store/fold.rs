//! Folding the many small packs of single checkpoints into one, and freeing what no checkpoint reaches.
//!
//! Entries are copied as they are compressed. The new pack is on disk before the old ones go, so a reader finds every
//! object at every instant.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use super::pack::{self, PackWriter, Place};
use super::{Store, commit};
use crate::disk::durable::sync_folder_of;
use crate::error::{OnPath, Result};
use crate::model::{EntryKind, Oid};

/// More small packs than this are folded.
const MANY: usize = 50;
/// Packs larger than this are left as they are.
const SMALL: u64 = 16 << 20;
/// Objects younger than this may belong to a checkpoint that is just being made.
const YOUNG: Duration = Duration::from_secs(600);

/// What [`Store::prune`] freed, or would free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Bytes on disk.
    pub bytes: u64,
    /// Packs that are gone: dropped whole, or folded into others.
    pub packs: usize,
}

impl Store {
    /// Folds the small packs into one when there are many. Does nothing while another process folds.
    pub fn fold(&mut self) -> Result<()> {
        let packs = self.folder.join("objects/pack");
        let small: Vec<PathBuf> =
            own_packs(&packs)?.into_iter().filter(|(_, size)| *size <= SMALL).map(|p| p.0).collect();
        if small.len() <= MANY {
            return Ok(());
        }
        let Some(_lock) = self.maintenance_lock()? else { return Ok(()) };
        rewrite(&packs, &small, None)?;
        self.reader.reopen()
    }

    /// Frees the space of objects that no checkpoint reaches, and folds packs. No checkpoint is removed. With `dry_run`
    /// it only says what it would free.
    pub fn prune(&mut self, dry_run: bool) -> Result<Pruned> {
        let Some(_lock) = self.maintenance_lock()? else { return Ok(Pruned::default()) };
        let packs = self.folder.join("objects/pack");
        let old = |path: &Path| {
            let age = fs::metadata(path).and_then(|meta| meta.modified()).ok();
            age.and_then(|at| SystemTime::now().duration_since(at).ok()).is_some_and(|age| age > YOUNG)
        };
        let all: Vec<PathBuf> = own_packs(&packs)?.into_iter().map(|pack| pack.0).filter(|path| old(path)).collect();
        let reached = self.reached()?;
        let mut pruned = Pruned::default();
        let mut with_leftovers = Vec::new();
        for path in all {
            let Some(places) = pack::places(&path.with_extension("idx")) else { continue };
            let leftover: u64 =
                lengths(&places, size_of(&path)).filter(|(place, _)| !reached.contains(&place.oid)).map(|p| p.1).sum();
            if leftover > 0 {
                pruned.bytes += leftover;
                pruned.packs += 1;
                with_leftovers.push(path);
            }
        }
        if !dry_run && !with_leftovers.is_empty() {
            rewrite(&packs, &with_leftovers, Some(&reached))?;
            self.reader.reopen()?;
        }
        Ok(pruned)
    }

    /// The names of all objects that checkpoints reach. An error when any of them can not be read: what can not be
    /// followed could reach anything.
    fn reached(&self) -> Result<HashSet<Oid>> {
        let mut reached = HashSet::new();
        for id in self.ids()? {
            let commit = self.refs.get(id)?;
            commit::read(&self.reader, id, commit)?;
            reached.insert(commit);
            let tree = self.reader.read(super::objects::ObjectKind::Commit, commit)?;
            let tree = tree.get(5..45).and_then(|hex| std::str::from_utf8(hex).ok()?.parse().ok());
            let mut folders: Vec<Oid> = tree.into_iter().collect();
            while let Some(folder) = folders.pop() {
                if reached.insert(folder) {
                    for child in self.read_folder(folder)? {
                        match child.kind {
                            EntryKind::Folder => folders.push(child.oid),
                            _ => _ = reached.insert(child.oid),
                        }
                    }
                }
            }
        }
        Ok(reached)
    }

    fn maintenance_lock(&self) -> Result<Option<File>> {
        let path = self.folder.join("maintenance.lock");
        let file = File::options().create(true).truncate(false).write(true).open(&path).on_path(&path)?;
        Ok(rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(file))
    }
}

/// Our own packs with their sizes.
fn own_packs(packs: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(packs).on_path(packs)? {
        let path = entry.on_path(packs)?.path();
        if path.extension().is_some_and(|extension| extension == "pack") && path.with_extension("idx").exists() {
            found.push((path.clone(), size_of(&path)));
        }
    }
    Ok(found)
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map(|meta| meta.len()).unwrap_or(0)
}

/// The places with the lengths of their entries; `size` is the pack's.
fn lengths(places: &[Place], size: u64) -> impl Iterator<Item = (&Place, u64)> {
    let ends = places.iter().skip(1).map(|place| place.offset).chain([size.saturating_sub(20)]);
    places.iter().zip(ends).map(|(place, end)| (place, end.saturating_sub(place.offset)))
}

/// Puts the entries of `old` packs, limited to those `kept`, into one new pack, then removes the old ones.
fn rewrite(packs: &Path, old: &[PathBuf], kept: Option<&HashSet<Oid>>) -> Result<()> {
    let mut entries = Vec::new();
    let mut seen = HashSet::new();
    let mut replaced = Vec::new();
    for path in old {
        // A pack whose index is damaged is left for `verify` to name.
        let Some(places) = pack::places(&path.with_extension("idx")) else { continue };
        let wanted =
            lengths(&places, size_of(path)).filter(|(place, _)| kept.is_none_or(|kept| kept.contains(&place.oid)));
        entries
            .extend(wanted.filter(|(place, _)| seen.insert(place.oid)).map(|(place, length)| (path, *place, length)));
        replaced.push(path);
    }
    if !entries.is_empty() {
        let mut writer = PackWriter::create(packs, entries.len() as u32)?;
        let mut open: Option<(&PathBuf, File)> = None;
        for (path, place, length) in entries {
            if open.as_ref().is_none_or(|(opened, _)| *opened != path) {
                open = Some((path, File::open(path).on_path(path)?));
            }
            if let Some((_, file)) = &mut open {
                pack::copy_entry(file, path, &place, length, &mut writer)?;
            }
        }
        writer.finish()?;
        sync_folder_of(&packs.join("pack"))?;
    }
    for path in replaced {
        for file in [path.with_extension("idx"), path.clone()] {
            fs::remove_file(&file).on_path(&file)?;
        }
    }
    sync_folder_of(&packs.join("pack"))
}
