//! Taking over the objects of the user's repository by hard link, as a local clone does.
//!
//! They stand apart from our own, in `linked/objects`, which the store reads through `objects/info/alternates`.

use std::collections::HashMap;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::durable::{sync_folder_of, write_durably};
use crate::error::{OnPath, Result};

/// Alternates of alternates are followed this far.
const DEEPEST: usize = 5;
/// More new files than this are synced with their whole file system instead of one by one.
const FEW: usize = 32;
/// A folder changed more recently than this may change again within one tick of its clock.
const TICK: Duration = Duration::from_secs(2);

/// Objects that lie in the user's repository and, by hard link, in the store.
pub(super) struct Linked {
    git: PathBuf,
    /// The folders looked through, and when they had last changed then.
    seen: HashMap<PathBuf, (i64, i64)>,
}

/// How a try to link went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There was nothing that is not linked already.
    NothingNew,
    /// Something new was linked.
    Linked,
    /// Links can not be made from there.
    Impossible,
}

impl Linked {
    pub(super) fn new(git: &Path) -> Linked {
        Linked { git: git.to_path_buf(), seen: HashMap::new() }
    }

    /// Links what `objects` and its alternates hold; when it returns, what it linked survives a power cut.
    pub(super) fn link(&mut self, objects: &Path) -> Result<Outcome> {
        let mut new = Vec::new();
        let into = self.git.join("linked/objects");
        fs::create_dir_all(into.join("pack")).on_path(&into)?;
        let mut fresh_folders = Vec::new();
        for source in with_alternates(objects) {
            if !self.link_all(&source, &into, &mut new, &mut fresh_folders)? {
                return Ok(Outcome::Impossible);
            }
        }
        if new.is_empty() {
            self.seen.extend(fresh_folders);
            return Ok(Outcome::NothingNew);
        }
        sync(&into, &new)?;
        self.seen.extend(fresh_folders);
        let alternates = self.git.join("objects/info/alternates");
        if !alternates.exists() {
            write_durably(&alternates, b"../linked/objects\n", 0o600)?;
        }
        Ok(Outcome::Linked)
    }

    /// Links the packs and loose objects of one folder; false when links can not be made.
    fn link_all(
        &self,
        source: &Path,
        into: &Path,
        new: &mut Vec<PathBuf>,
        looked: &mut Vec<(PathBuf, (i64, i64))>,
    ) -> Result<bool> {
        let mut folders = vec![("pack".to_owned(), source.join("pack"))];
        folders.extend((0..=255u8).map(|first| format!("{first:02x}")).map(|name| (name.clone(), source.join(name))));
        for (name, folder) in folders {
            let Ok(meta) = fs::metadata(&folder) else { continue };
            let changed = (meta.mtime(), meta.mtime_nsec());
            if self.seen.get(&folder) == Some(&changed) {
                continue;
            }
            let mut files: Vec<DirEntry> = fs::read_dir(&folder).into_iter().flatten().flatten().collect();
            if name == "pack" {
                // The packs first: an index that is there promises its pack.
                files.retain(|file| is_whole_pack(&file.path()));
                files.sort_by_key(|file| file.file_name().as_bytes().ends_with(b".idx"));
            }
            for file in files {
                let wanted = into.join(&name).join(file.file_name());
                if !link(&file.path(), &wanted, name == "pack", new)? {
                    return Ok(false);
                }
            }
            let settled = meta.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if settled.is_some_and(|age| age > TICK) {
                looked.push((folder, changed));
            }
        }
        Ok(true)
    }
}

/// Whether this is a pack with its index, or an index with its pack.
fn is_whole_pack(path: &Path) -> bool {
    match path.extension().map(|extension| extension.as_bytes()) {
        Some(b"pack") => path.with_extension("idx").exists(),
        Some(b"idx") => path.with_extension("pack").exists(),
        _ => false,
    }
}

/// Links one file; false when links can not be made from there. A file that is gone, unreadable, or cut short by a crash
/// is passed over: what it held is captured anew.
fn link(file: &Path, wanted: &Path, is_pack: bool, new: &mut Vec<PathBuf>) -> Result<bool> {
    let is_object = || wanted.file_name().is_some_and(|name| name.len() == 38);
    if !is_pack && !is_object() {
        return Ok(true);
    }
    let Ok(meta) = fs::symlink_metadata(file) else { return Ok(true) };
    if !meta.is_file() || meta.len() == 0 {
        return Ok(true);
    }
    let mut linked = fs::hard_link(file, wanted);
    if linked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        && let Some(folder) = wanted.parent()
    {
        fs::create_dir_all(folder).on_path(folder)?;
        linked = fs::hard_link(file, wanted);
    }
    match linked {
        Ok(()) => {
            new.push(wanted.to_path_buf());
            Ok(true)
        }
        Err(error) => match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Ok(true),
            io::ErrorKind::CrossesDevices | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied => Ok(false),
            io::ErrorKind::TooManyLinks => Ok(true),
            _ => Err(error).on_path(wanted),
        },
    }
}

/// Git does not sync what it writes, so we do.
fn sync(into: &Path, new: &[PathBuf]) -> Result<()> {
    if new.len() > FEW {
        let folder = File::open(into).on_path(into)?;
        return crate::disk::durable::sync_file_system(&folder).on_path(into);
    }
    for file in new {
        File::open(file).and_then(|file| file.sync_data()).on_path(file)?;
        sync_folder_of(file)?;
    }
    sync_folder_of(&into.join("pack"))
}

/// `objects` and the folders that its `info/alternates` name, and theirs.
fn with_alternates(objects: &Path) -> Vec<PathBuf> {
    let mut all = vec![objects.to_path_buf()];
    let mut at = 0;
    for _ in 0..DEEPEST {
        let end = all.len();
        for folder in all[at..end].to_vec() {
            let text = fs::read(folder.join("info/alternates")).unwrap_or_default();
            for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty() && line[0] != b'#') {
                let named = folder.join(Path::new(std::ffi::OsStr::from_bytes(line)));
                if !all.contains(&named) {
                    all.push(named);
                }
            }
        }
        at = end;
    }
    all
}
