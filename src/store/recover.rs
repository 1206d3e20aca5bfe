//! Making a store, and making a damaged one usable again.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::disk::durable::{sync_folder_of, write_durably};
use crate::error::{OnPath, Result};

const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tlogallrefupdates = false\n\
                      [gc]\n\tauto = 0\n[receive]\n\tdenyDeletes = true\n";
const FOLDERS: [&str; 4] = ["objects/pack", "objects/info", "refs/checkpoints", "refs/heads"];

/// Makes the bare repository at `git`, or what is missing of it; clears away what killed processes left.
pub(super) fn make_sound(git: &Path) -> Result<()> {
    let is_new = !git.join("HEAD").exists();
    for folder in FOLDERS {
        let folder = git.join(folder);
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).on_path(&folder)?;
            sync_folder_of(&folder)?;
        }
    }
    if !git.join("config").exists() {
        write_durably(&git.join("config"), CONFIG.as_bytes(), 0o600)?;
    }
    if is_new {
        write_durably(&git.join("HEAD"), b"ref: refs/heads/none\n", 0o600)?;
        sync_folder_of(git)?;
    }
    for folder in ["objects/pack", "refs/checkpoints", ""] {
        sweep(&git.join(folder));
    }
    Ok(())
}

/// Removes temporary files whose process is gone.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker =
            name.to_str().and_then(|name| name.strip_prefix("tmp_wrap_")?.split('_').next()?.parse::<i32>().ok());
        let Some(maker) = maker.and_then(rustix::process::Pid::from_raw) else { continue };
        if rustix::process::test_kill_process(maker) == Err(rustix::io::Errno::SRCH) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
