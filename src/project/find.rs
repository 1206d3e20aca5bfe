//! Which project a person means, and where its state lies.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use crate::error::{Error, OnPath, Result};
use crate::model::text::shown;

/// Where things of ours and of the person's lie; gathered once by `main` from the environment.
#[derive(Clone, Debug)]
pub struct Places {
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// `$XDG_STATE_HOME/wrap`: holds one folder a project.
    pub state: PathBuf,
    /// `$XDG_RUNTIME_DIR/wrap` where there is one: holds the sockets.
    pub runtime: Option<PathBuf>,
}

impl Places {
    /// The state folder of the project at `root`.
    pub fn folder(&self, root: &Path) -> PathBuf {
        let digest = Sha1::digest(root.as_os_str().as_bytes());
        let hash: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let name = root.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy());
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).take(60).collect();
        self.state.join(format!("{name}-{hash}"))
    }

    /// The root of the project that `start` lies in: `explicit`, else the Git top level, else a known project above,
    /// else `start`. Refuses `/` and the home folder unless `explicit` names them.
    pub fn find_root(&self, start: &Path, explicit: Option<&Path>) -> Result<PathBuf> {
        if let Some(root) = explicit {
            let root = start.join(root);
            let resolved = fs::canonicalize(&root).on_path(&root)?;
            return match resolved.is_dir() {
                true => Ok(resolved),
                false => {
                    Err(Error::refused(format!("{}: not a folder", name_of(&resolved)), "name a folder with --root"))
                }
            };
        }
        let start = fs::canonicalize(start).on_path(start)?;
        let git = start.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
        let known = || start.ancestors().find(|folder| self.folder(folder).join("store.git").is_dir());
        let root = git.or_else(known).unwrap_or(&start);
        let home = self.home.as_deref().and_then(|home| fs::canonicalize(home).ok());
        if root == Path::new("/") || Some(root) == home.as_deref() {
            let hint = format!("go into a project, or name it: wrap --root {} …", name_of(root));
            return Err(Error::refused(format!("{} is too large to be one project", name_of(root)), hint));
        }
        Ok(root.to_path_buf())
    }
}

/// A path, safe to print.
pub fn name_of(path: &Path) -> String {
    shown(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(scratch: &Path) -> Places {
        Places { home: Some(scratch.join("home")), state: scratch.join("state/wrap"), runtime: None }
    }

    #[test]
    fn the_git_top_level_wins_over_the_start() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("repo/.git")).unwrap();
        fs::create_dir_all(base.join("repo/a/b")).unwrap();
        let found = places(&base).find_root(&base.join("repo/a/b"), None).unwrap();
        assert_eq!(found, base.join("repo"));
    }

    #[test]
    fn a_known_project_above_wins_over_the_start() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let places = places(&base);
        fs::create_dir_all(base.join("plain/deep")).unwrap();
        assert_eq!(places.find_root(&base.join("plain/deep"), None).unwrap(), base.join("plain/deep"));
        fs::create_dir_all(places.folder(&base.join("plain")).join("store.git")).unwrap();
        assert_eq!(places.find_root(&base.join("plain/deep"), None).unwrap(), base.join("plain"));
    }

    #[test]
    fn home_and_the_whole_system_need_to_be_named() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let places = places(&base);
        let home = base.join("home");
        fs::create_dir_all(home.join(".git")).unwrap();
        fs::create_dir_all(home.join("x")).unwrap();
        assert!(places.find_root(&home, None).is_err());
        assert!(places.find_root(&home.join("x"), None).is_err());
        assert!(places.find_root(Path::new("/"), None).is_err());
        assert_eq!(places.find_root(&home, Some(Path::new("."))).unwrap(), home);
    }
}
