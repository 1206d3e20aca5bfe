//! The one door to durable files: content synced, put in place at once, its folder synced.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::{OnPath, Result};

/// Writes `bytes` to `path` so that after a crash at any instant it holds either what it held before or all of
/// `bytes`; when this returns, `bytes` survives a power cut.
pub fn write_durably(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let temporary = write_beside(path, bytes, mode)?;
    fs::rename(&temporary, path).on_path(path)?;
    sync_folder_of(path)
}

/// Like [`write_durably`], but only where nothing lies at `path` yet; gives false, and changes nothing, where something
/// does.
pub fn create_durably(path: &Path, bytes: &[u8], mode: u32) -> Result<bool> {
    let temporary = write_beside(path, bytes, mode)?;
    let linked = fs::hard_link(&temporary, path);
    let removed = fs::remove_file(&temporary);
    match linked {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        linked => linked.on_path(path)?,
    }
    removed.on_path(&temporary)?;
    sync_folder_of(path)?;
    Ok(true)
}

/// Syncs the folder that holds `path`, so that its names survive a power cut.
pub fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).on_path(folder)
}

/// Syncs everything on the file system that `file` lies on.
pub fn sync_file_system(file: &File) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    return rustix::fs::syncfs(file).map_err(Into::into);
    #[cfg(not(target_os = "linux"))]
    {
        rustix::fs::sync();
        file.sync_all()
    }
}

/// A name beside `path` that no other process uses; it tells which process made it.
pub fn temporary_beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!("tmp_wrap_{}_{count}", std::process::id()))
}

fn write_beside(path: &Path, bytes: &[u8], mode: u32) -> Result<PathBuf> {
    let temporary = temporary_beside(path);
    // A file of a dead process with our number may lie there.
    let _ = fs::remove_file(&temporary);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.on_path(&temporary)?;
    Ok(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creating_never_replaces() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("1");
        assert!(create_durably(&path, b"first", 0o600).unwrap());
        assert!(!create_durably(&path, b"second", 0o600).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write_durably(&path, b"third", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}
