//! The user's own Git repository, read only: where it is, what its index tracks, and its HEAD, refs and index as they
//! stand at a checkpoint.
//!
//! No `git` process runs, and nothing of the repository is written.

mod index;
mod state;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::store::Batch;

pub use state::State;

/// The user's Git repository at a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Its own folder: `.git`, or for a linked worktree one below the main repository's.
    pub git_dir: PathBuf,
    /// The folder it shares with its other worktrees; the same for the main one.
    pub common_dir: PathBuf,
}

impl Repository {
    /// The repository whose top level is `root`; None when there is none, or it is not what Git would take for one.
    pub fn at(root: &Path) -> Option<Repository> {
        let dot_git = root.join(".git");
        let git_dir = if dot_git.is_dir() {
            dot_git
        } else {
            let text = small_file(&dot_git)?;
            let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
            root.join(Path::new(std::ffi::OsStr::from_bytes(target)))
        };
        let common_dir = match small_file(&git_dir.join("commondir")) {
            Some(text) => git_dir.join(Path::new(std::ffi::OsStr::from_bytes(text.trim_ascii()))),
            None => git_dir.clone(),
        };
        let sound = git_dir.join("HEAD").exists() && common_dir.join("objects").is_dir();
        sound.then_some(Repository { git_dir, common_dir })
    }

    /// Where its objects lie.
    pub fn objects(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    /// The files with ignore rules of the repository itself and of the person.
    pub fn excludes(&self) -> Vec<PathBuf> {
        let mut files = vec![self.common_dir.join("info/exclude")];
        files.extend(self.settings().excludes);
        files
    }

    fn settings(&self) -> Settings {
        let Some(repository) = open(&self.git_dir) else { return Settings::default() };
        let config = repository.config_snapshot();
        let path = |key: &str| config.trusted_path(key).ok().flatten();
        Settings {
            excludes: path("core.excludesFile").or_else(|| in_config_home("ignore")),
            attributes: path("core.attributesFile").or_else(|| in_config_home("attributes")),
            converts_line_ends: config.string("core.autocrlf").is_some_and(|value| value != b"false"[..]),
        }
    }
}

/// What the configuration that applies to a repository says of its files.
#[derive(Default)]
struct Settings {
    excludes: Option<PathBuf>,
    attributes: Option<PathBuf>,
    converts_line_ends: bool,
}

/// Opens it to read its configuration. Configuration of a repository that another user owns is not trusted.
fn open(git_dir: &Path) -> Option<gix::Repository> {
    gix::open::Options::default().open_path_as_is(true).open(git_dir).ok()
}

/// Git's own place for the person's rules, where the configuration names no other.
fn in_config_home(name: &str) -> Option<PathBuf> {
    gix::path::env::xdg_config(name, &mut |variable| std::env::var_os(variable))
}

/// The content of a file of at most 64 KiB; None when it can not be had.
fn small_file(path: &Path) -> Option<Vec<u8>> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= 64 * 1024).then(|| fs::read(path).ok()).flatten()
}
