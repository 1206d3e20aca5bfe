//! What is not captured: the rules of `.gitignore`, `.wrapignore` and the person's own, and what is protected from them.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::disk::Dir;
use crate::model::RelPath;

/// A file of rules longer than this is not read to its end.
const LONGEST: u64 = 1 << 20;
/// The files of rules in a folder; of two rules that match the one from the later file wins.
const FILES: [&[u8]; 2] = [b".gitignore", b".wrapignore"];
/// What is left out where the root has no `.gitignore`: folders that tools fill and can fill again.
const HEAVY: [&str; 18] = [
    "node_modules/",
    "bower_components/",
    "jspm_packages/",
    ".venv/",
    "venv/",
    "__pycache__/",
    ".tox/",
    ".nox/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".gradle/",
    ".next/",
    ".nuxt/",
    ".parcel-cache/",
    ".terraform/",
    ".direnv/",
    ".svelte-kit/",
];
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// All the rules of a tree. Those of folders are read as the folders are looked at.
pub(super) struct Rules {
    everywhere: Gitignore,
    heavy: Gitignore,
    protect: Gitignore,
    folders: HashMap<RelPath, Arc<Gitignore>>,
}

/// The rules that apply in one folder: its own and those of the folders above, upper ones first.
#[derive(Clone, Default)]
pub(super) struct Applying(Vec<(RelPath, Arc<Gitignore>)>);

impl Rules {
    /// `excludes`: further files of rules, the strongest first; `protect`: patterns.
    pub(super) fn new(excludes: &[PathBuf], protect: &[String]) -> Rules {
        let texts: Vec<Vec<u8>> = excludes.iter().rev().map(|file| read(std::fs::File::open(file).ok())).collect();
        Rules {
            everywhere: build(texts.iter().flat_map(|text| lines(text))),
            heavy: build(HEAVY.iter().map(|line| line.to_string())),
            protect: build(protect.iter().cloned()),
            folders: HashMap::new(),
        }
    }

    /// Reads the rules of the folder at `path` again, where `names` says whether it has any.
    pub(super) fn read(&mut self, path: &RelPath, dir: &Dir, names: &[(Vec<u8>, Option<crate::disk::MetaKind>)]) {
        let has = |wanted: &[u8]| names.iter().any(|(name, _)| name == wanted);
        let texts: Vec<Vec<u8>> = FILES
            .iter()
            .filter(|file| has(file))
            .map(|file| read(dir.open_file(file).ok().map(|opened| opened.0)))
            .collect();
        if texts.is_empty() {
            self.folders.remove(path);
        } else {
            self.folders.insert(path.clone(), Arc::new(build(texts.iter().flat_map(|text| lines(text)))));
        }
    }

    /// The rules that apply in the folder at `path`, where all folders above it have been read.
    pub(super) fn applying(&self, path: &RelPath) -> Applying {
        let mut applying = Applying::default();
        let mut at = RelPath::root();
        self.enter(&at, &mut applying);
        for name in path.names() {
            at = at.join(name);
            self.enter(&at, &mut applying);
        }
        applying
    }

    /// Adds the rules of the folder at `path`, which must lie in the last one entered.
    pub(super) fn enter(&self, path: &RelPath, applying: &mut Applying) {
        if let Some(rules) = self.folders.get(path) {
            applying.0.push((path.clone(), Arc::clone(rules)));
        }
    }

    /// Takes the rules of the folder at `path` away again, if it has any.
    pub(super) fn leave(&self, path: &RelPath, applying: &mut Applying) {
        if applying.0.last().is_some_and(|(last, _)| last == path) {
            applying.0.pop();
        }
    }

    /// Whether the rules exclude `path`.
    pub(super) fn ignores(&self, applying: &Applying, path: &RelPath, is_folder: bool) -> bool {
        let own = applying.0.iter().rev().find_map(|(folder, rules)| {
            let start = if folder.is_root() { 0 } else { folder.as_bytes().len() + 1 };
            decided(rules, &path.as_bytes()[start..], is_folder)
        });
        let has_root_rules = applying.0.first().is_some_and(|(folder, _)| folder.is_root());
        own.or_else(|| decided(&self.everywhere, path.as_bytes(), is_folder))
            .unwrap_or_else(|| !has_root_rules && decided(&self.heavy, path.as_bytes(), is_folder) == Some(true))
    }

    /// Whether a file at `path` is captured although the rules exclude it.
    pub(super) fn protects(&self, path: &RelPath) -> bool {
        decided(&self.protect, path.as_bytes(), false) == Some(true)
    }
}

/// Whether `name` names a file of rules.
pub(super) fn is_rules(name: &[u8]) -> bool {
    FILES.contains(&name)
}

/// Whether the folder says of itself that it holds a cache (https://bford.info/cachedir/).
pub(super) fn is_cache(dir: &Dir, names: &[(Vec<u8>, Option<crate::disk::MetaKind>)]) -> bool {
    if !names.iter().any(|(name, _)| name == b"CACHEDIR.TAG") {
        return false;
    }
    let Ok((file, _)) = dir.open_file(b"CACHEDIR.TAG") else { return false };
    let mut start = Vec::new();
    file.take(CACHE_TAG.len() as u64).read_to_end(&mut start).is_ok() && start == CACHE_TAG
}

fn decided(rules: &Gitignore, path: &[u8], is_folder: bool) -> Option<bool> {
    if rules.is_empty() {
        return None;
    }
    let path = Path::new(std::os::unix::ffi::OsStrExt::from_bytes(path) as &std::ffi::OsStr);
    match rules.matched(path, is_folder) {
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
        Match::None => None,
    }
}

fn build(lines: impl Iterator<Item = String>) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        // A line that is no pattern excludes nothing.
        let _ = builder.add_line(None, &line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

fn read(file: Option<std::fs::File>) -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(file) = file {
        let _ = file.take(LONGEST).read_to_end(&mut text);
    }
    text
}

fn lines(text: &[u8]) -> impl Iterator<Item = String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.split(|b| *b == b'\n').map(|line| String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
}
