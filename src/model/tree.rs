//! A working tree in memory: what lies where, and what the file system said of it when it was read.
//!
//! One capture touches only the folders above what changed; every other folder keeps its object name.

use std::cmp::Ordering;

use super::{Change, Entry, EntryKind, Oid, RelPath};

/// What the file system says of a file, to tell cheaply whether it changed. Equal means: content was not read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of content, name or permissions, in nanoseconds since 1970. 0 means the stat is not known.
    pub changed: i64,
    /// The inode's number.
    pub inode: u64,
}

impl Stat {
    /// Says nothing: equal to no stat of a real file.
    pub const UNKNOWN: Stat = Stat { size: 0, modified: 0, changed: 0, inode: 0 };

    /// Whether it says anything.
    pub fn is_known(&self) -> bool {
        self.changed != 0
    }
}

/// A file or a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Kind, content, permissions. Never a folder.
    pub entry: Entry,
    /// What the file system said when the content was read.
    pub stat: Stat,
}

/// A folder, its children in the order of their names' bytes.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    children: Vec<Child>,
    /// The object that holds it; None when something below changed since it was written.
    pub oid: Option<Oid>,
    /// The device that it lies on; 0 when not known. Another one means that something was mounted or unmounted there.
    pub device: u64,
}

/// A name in a folder, and what it names.
#[derive(Clone, Debug)]
pub struct Child {
    name: Box<[u8]>,
    /// What it names.
    pub node: Node,
}

impl Child {
    /// Its name.
    pub fn name(&self) -> &[u8] {
        &self.name
    }
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Node {
    /// A file or a symbolic link.
    File(File),
    /// A folder.
    Folder(Box<Folder>),
}

impl Folder {
    /// The children, in the order of their names' bytes.
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// The children, to change their nodes in place; the caller clears [`Folder::oid`] where that changes content.
    pub fn children_mut(&mut self) -> &mut [Child] {
        &mut self.children
    }

    /// A folder of `children`; they are put in order. Of two with one name the later stays.
    pub fn of(mut children: Vec<(Box<[u8]>, Node)>) -> Self {
        children.sort_by(|a, b| a.0.cmp(&b.0));
        let mut kept: Vec<Child> = Vec::with_capacity(children.len());
        for (name, node) in children {
            match kept.last_mut() {
                Some(last) if last.name == name => last.node = node,
                _ => kept.push(Child { name, node }),
            }
        }
        Folder { children: kept, oid: None, device: 0 }
    }

    /// What `name` names here.
    pub fn child(&self, name: &[u8]) -> Option<&Node> {
        self.position(name).ok().map(|at| &self.children[at].node)
    }

    /// What `name` names here, to change it; the caller clears [`Folder::oid`] where that changes content.
    pub fn child_mut(&mut self, name: &[u8]) -> Option<&mut Node> {
        self.position(name).ok().map(|at| &mut self.children[at].node)
    }

    /// Puts `node` at `name`; gives what was there.
    pub fn put(&mut self, name: &[u8], node: Node) -> Option<Node> {
        self.oid = None;
        match self.position(name) {
            Ok(at) => Some(std::mem::replace(&mut self.children[at].node, node)),
            Err(at) => {
                self.children.insert(at, Child { name: name.into(), node });
                None
            }
        }
    }

    /// Takes away what `name` names; gives it.
    pub fn take(&mut self, name: &[u8]) -> Option<Node> {
        let at = self.position(name).ok()?;
        self.oid = None;
        Some(self.children.remove(at).node)
    }

    fn position(&self, name: &[u8]) -> Result<usize, usize> {
        self.children.binary_search_by(|child| (*child.name).cmp(name))
    }
}

/// The working tree below a root.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The root's folder.
    pub root: Folder,
}

impl Tree {
    /// What lies at `path`; None when nothing does, and for the root itself.
    pub fn get(&self, path: &RelPath) -> Option<&Node> {
        let parent = self.folder(&path.parent()?)?;
        parent.child(path.name()?)
    }

    /// The file at `path`; None when there is none.
    pub fn file(&self, path: &RelPath) -> Option<&File> {
        match self.get(path)? {
            Node::File(file) => Some(file),
            Node::Folder(_) => None,
        }
    }

    /// The folder at `path`; None when there is none.
    pub fn folder(&self, path: &RelPath) -> Option<&Folder> {
        path.names().try_fold(&self.root, |folder, name| match folder.child(name)? {
            Node::Folder(below) => Some(&**below),
            Node::File(_) => None,
        })
    }

    /// The folder at `path` for a change below it: the object names from the root to it are cleared.
    /// None, and nothing cleared, when there is no such folder.
    pub fn folder_mut(&mut self, path: &RelPath) -> Option<&mut Folder> {
        self.folder(path)?;
        let mut folder = &mut self.root;
        folder.oid = None;
        for name in path.names() {
            let Some(Node::Folder(below)) = folder.child_mut(name) else { return None };
            folder = below;
            folder.oid = None;
        }
        Some(folder)
    }

    /// The folder at `path`, to change what is known of it but not its children; the object names stay.
    pub fn folder_with_names_kept(&mut self, path: &RelPath) -> Option<&mut Folder> {
        path.names().try_fold(&mut self.root, |folder, name| match folder.child_mut(name)? {
            Node::Folder(below) => Some(&mut **below),
            Node::File(_) => None,
        })
    }

    /// Gives the file at `path` another stat and permissions; its content, and so the object names above it, stay.
    /// Does nothing where there is no file.
    pub fn refresh(&mut self, path: &RelPath, stat: Stat, permissions: u16) {
        let Some((parent, name)) = path.parent().zip(path.name()) else { return };
        let Some(folder) = self.folder_with_names_kept(&parent) else { return };
        if let Some(Node::File(file)) = folder.child_mut(name) {
            file.stat = stat;
            file.entry.permissions = permissions;
        }
    }

    /// Puts `node` at `path`, making the folders above it (a file in their place is replaced); gives what was there.
    /// The root itself can not be put.
    pub fn put(&mut self, path: &RelPath, node: Node) -> Option<Node> {
        let name = path.name()?;
        let mut folder = &mut self.root;
        for above in path.parent()?.names() {
            folder.oid = None;
            if !matches!(folder.child(above), Some(Node::Folder(_))) {
                folder.put(above, Node::Folder(Box::default()));
            }
            let Some(Node::Folder(below)) = folder.child_mut(above) else { return None };
            folder = below;
        }
        folder.put(name, node)
    }

    /// Takes away what lies at `path`; gives it. The folders above stay, even when empty.
    pub fn take(&mut self, path: &RelPath) -> Option<Node> {
        self.get(path)?;
        self.folder_mut(&path.parent()?)?.take(path.name()?)
    }

    /// Calls `visit` with each file, and each folder without children, in the order of the names.
    pub fn walk(&self, visit: &mut dyn FnMut(&RelPath, Entry)) {
        walk(&RelPath::root(), &self.root, visit);
    }

    /// How this tree became `new`, in the order of the paths. Folders with the same object name are passed over.
    pub fn changes_to(&self, new: &Tree) -> Vec<Change> {
        let mut changes = Vec::new();
        compare(&RelPath::root(), &self.root, &new.root, &mut changes);
        changes
    }
}

fn walk(path: &RelPath, folder: &Folder, visit: &mut dyn FnMut(&RelPath, Entry)) {
    for child in &folder.children {
        let path = path.join(&child.name);
        leaves(&path, &child.node, visit);
    }
}

/// Visits the files and empty folders of `node`, which lies at `path`.
pub fn leaves(path: &RelPath, node: &Node, visit: &mut dyn FnMut(&RelPath, Entry)) {
    match node {
        Node::File(file) => visit(path, file.entry),
        Node::Folder(folder) if folder.children.is_empty() => visit(path, EMPTY_FOLDER),
        Node::Folder(folder) => walk(path, folder, visit),
    }
}

/// How an empty folder stands in a [`Change`].
pub const EMPTY_FOLDER: Entry = Entry { kind: EntryKind::Folder, oid: Oid::EMPTY_TREE, permissions: 0 };

/// Adds to `changes` how the folder `old` at `path` became `new`.
pub fn compare(path: &RelPath, old: &Folder, new: &Folder, changes: &mut Vec<Change>) {
    if old.oid.is_some() && old.oid == new.oid && old.oid != Some(Oid::EMPTY_TREE) {
        return;
    }
    let (mut olds, mut news) = (old.children.iter().peekable(), new.children.iter().peekable());
    loop {
        let order = match (olds.peek(), news.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(&new.name),
        };
        let old = if order.is_le() { olds.next() } else { None };
        let new = if order.is_ge() { news.next() } else { None };
        let Some(name) = old.or(new).map(Child::name) else { return };
        compare_nodes(&path.join(name), old.map(|c| &c.node), new.map(|c| &c.node), changes);
    }
}

/// Adds to `changes` how what lay at `path` became what lies there now.
///
/// An empty folder counts as something; one with children is only the sum of them.
pub fn compare_nodes(path: &RelPath, old: Option<&Node>, new: Option<&Node>, changes: &mut Vec<Change>) {
    match (old, new) {
        (None, None) => {}
        (Some(Node::File(old)), Some(Node::File(new))) => {
            if !old.entry.same_content(&new.entry) {
                changes.push(Change { path: path.clone(), old: Some(old.entry), new: Some(new.entry) });
            }
        }
        (Some(Node::Folder(old)), Some(Node::Folder(new))) => {
            match (old.children.is_empty(), new.children.is_empty()) {
                (true, false) => changes.push(Change { path: path.clone(), old: Some(EMPTY_FOLDER), new: None }),
                (false, true) => changes.push(Change { path: path.clone(), old: None, new: Some(EMPTY_FOLDER) }),
                _ => {}
            }
            compare(path, old, new, changes);
        }
        (old, new) => {
            if let Some(old) = old {
                leaves(path, old, &mut |path, entry| {
                    changes.push(Change { path: path.clone(), old: Some(entry), new: None });
                });
            }
            if let Some(new) = new {
                leaves(path, new, &mut |path, entry| {
                    changes.push(Change { path: path.clone(), old: None, new: Some(entry) });
                });
            }
        }
    }
}
