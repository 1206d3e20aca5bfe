//! Recording: from what the recorder found to a checkpoint in the store.

use jiff::Timestamp;

use super::{Project, compare};
use crate::disk::MetaKind;
use crate::error::Result;
use crate::model::checkpoint::{Facts, FileChange, Rewind};
use crate::model::summary::Sides;
use crate::model::{Change, Checkpoint, Entry, EntryKind, Kind, RelPath, SessionNumber, patch, summary};
use crate::recorder::Captured;
use crate::store::{self, Batch, Snapshot};

/// Lines are counted, and names of functions looked for, in at most this many files of a checkpoint …
const COUNTED_FILES: usize = 100;
/// … that are no larger than this many bytes …
const COUNTED_SIZE: u64 = 1 << 20;
/// … and together no larger than this, so that a burst costs no more than reading it.
const COUNTED_TOTAL: u64 = 8 << 20;

/// What is to be recorded, and why.
#[derive(Clone, Debug)]
pub struct Occasion {
    /// Why.
    pub kind: Kind,
    /// In which session; 0 outside of any.
    pub session: SessionNumber,
    /// The name to give it.
    pub name: Option<String>,
    /// The restore it is made for.
    pub rewind: Option<Rewind>,
}

impl Occasion {
    /// For `kind` in `session`, without a name.
    pub fn new(kind: Kind, session: SessionNumber) -> Occasion {
        Occasion { kind, session, name: None, rewind: None }
    }
}

/// How much of the tree is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Everything, by stat.
    Scan,
    /// Only what is known to have changed.
    Dirty,
}

/// What a look at the tree found, not yet recorded.
pub struct Found {
    pub(super) batch: Batch,
    pub(super) captured: Captured,
    pub(super) changes: Vec<Change>,
    changed: bool,
}

impl Found {
    /// Whether anything differs from the last checkpoint.
    pub fn is_changed(&self) -> bool {
        self.changed
    }
}

impl Project {
    /// Records the present state. None when an `edit` or `end` found nothing new since the last checkpoint.
    ///
    /// On an error nothing was recorded, and the next capture looks at everything again.
    pub fn capture(&mut self, occasion: &Occasion, look: Look) -> Result<Option<Checkpoint>> {
        let found = self.look(look, &|_, _| {})?;
        if !found.changed && matches!(occasion.kind, Kind::Edit | Kind::End) {
            self.recorder().recorded();
            return Ok(None);
        }
        self.record(occasion, found).map(Some)
    }

    /// Records the first state of a session; `progress` is told files and bytes done.
    pub fn baseline(&mut self, session: SessionNumber, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Checkpoint> {
        let found = self.look(Look::Scan, progress)?;
        self.record(&Occasion::new(Kind::Baseline, session), found)
    }

    /// Finds what changed since the last checkpoint.
    pub(super) fn look(&mut self, look: Look, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Found> {
        let mut batch = self.store.batch()?;
        let captured = match look {
            Look::Scan => {
                self.meet_repository()?;
                let tracked = self.repository.as_ref().and_then(|repository| repository.tracked(self.root.path()));
                let Project { recorder, store, .. } = self;
                recorder.scan(store, &mut batch, tracked, progress)
            }
            Look::Dirty => {
                let Project { recorder, store, .. } = self;
                recorder.capture(store, &mut batch)
            }
        };
        let mut captured = captured.inspect_err(|_| self.recorder.failed())?;
        self.root = self.recorder.root().clone();
        self.notices.append(&mut captured.notices);
        let changes = match (&self.newest, self.has_base) {
            (_, true) => captured.changes.clone(),
            (Some(newest), false) => {
                let permissions = self.store.permissions(newest.permissions)?;
                let tree = &self.recorder.tree().root;
                compare::reversed(compare::changes_to_stored(&self.store, tree, newest.files, &permissions)?)
            }
            (None, false) => Vec::new(),
        };
        let omitted = self.newest.as_ref().map(|newest| &newest.facts.omitted);
        let changed = !changes.is_empty() || omitted.is_none_or(|omitted| *omitted != captured.omitted);
        Ok(Found { batch, captured, changes, changed })
    }

    /// Records what was found.
    pub(super) fn record(&mut self, occasion: &Occasion, found: Found) -> Result<Checkpoint> {
        let recorded = self.write(occasion, found);
        match &recorded {
            Ok(checkpoint) => {
                self.recorder.recorded();
                self.newest = Some(checkpoint.clone());
                self.has_base = true;
            }
            Err(_) => self.recorder.failed(),
        }
        recorded
    }

    fn write(&mut self, occasion: &Occasion, found: Found) -> Result<Checkpoint> {
        let Found { mut batch, captured, changes, .. } = found;
        let (files, sides) = self.counted(&changes);
        let repository = match &self.repository {
            Some(repository) => Some(self.state.record(repository, &mut batch)?),
            None => None,
        };
        let facts = Facts {
            format: 1,
            session: occasion.session,
            time: Timestamp::now(),
            kind: occasion.kind,
            name: occasion.name.clone(),
            summary: sentence(occasion, &files, &sides),
            files,
            check: None,
            omitted: captured.omitted,
            protected: captured.protected,
            rewind: occasion.rewind.clone(),
        };
        let permissions = self.recorder.permissions();
        let snapshot = Snapshot { files: captured.files, permissions, repository, conversation: None, facts };
        self.store.record(batch, snapshot)
    }

    /// The changes as a timeline shows them, and the contents that could be had cheaply.
    fn counted(&self, changes: &[Change]) -> (Vec<FileChange>, Vec<Option<Sides>>) {
        let mut budget = COUNTED_TOTAL;
        let count = |(at, change): (usize, &Change)| {
            let sides = (at < COUNTED_FILES).then(|| self.sides(change, &mut budget)).flatten();
            let lines = sides.as_ref().and_then(|(old, new)| {
                patch::counts(old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default())
            });
            let file =
                FileChange { added: lines.map(|l| l.0), removed: lines.map(|l| l.1), ..FileChange::from(change) };
            (file, sides)
        };
        changes.iter().enumerate().map(count).unzip()
    }

    fn sides(&self, change: &Change, budget: &mut u64) -> Option<Sides> {
        let old = match &change.old {
            Some(entry) if entry.kind != EntryKind::Folder => {
                let size = self.store.blob_size(entry.oid).ok()?;
                spend(budget, size)?;
                Some(self.store.read_blob(entry.oid).ok()?)
            }
            _ => None,
        };
        let new = match &change.new {
            Some(entry) if entry.kind != EntryKind::Folder => {
                Some(self.working_content(&change.path, entry, budget)?)
            }
            _ => None,
        };
        Some((old, new))
    }

    /// What lies at `path`, if it still is the content of `entry`.
    fn working_content(&self, path: &RelPath, entry: &Entry, budget: &mut u64) -> Option<Vec<u8>> {
        let meta = self.root.meta(path).ok()??;
        spend(budget, meta.stat.size)?;
        let content = self.read_working(path, meta.kind).ok()?;
        (store::blob_oid(&content) == entry.oid).then_some(content)
    }

    /// The content of the file or link at `path`.
    pub(super) fn read_working(&self, path: &RelPath, kind: MetaKind) -> Result<Vec<u8>> {
        use crate::error::OnPath;
        use std::io::Read;
        let folder = self.root.folder(&path.parent().unwrap_or_default())?;
        let name = path.name().unwrap_or_default();
        if kind == MetaKind::Symlink {
            return folder.link_target(name);
        }
        let mut content = Vec::new();
        folder.open_file(name)?.0.read_to_end(&mut content).on_path(folder.child_path(name))?;
        Ok(content)
    }
}

fn spend(budget: &mut u64, size: u64) -> Option<()> {
    *budget = budget.checked_sub(size).filter(|_| size <= COUNTED_SIZE)?;
    Some(())
}

fn sentence(occasion: &Occasion, files: &[FileChange], sides: &[Option<Sides>]) -> String {
    let changes = summary::sentence(files, &|at| sides[at].clone());
    match (occasion.kind, files.is_empty()) {
        (Kind::Baseline, true) => "before the agent started".into(),
        (Kind::Baseline, false) => format!("before the agent started; since last time: {changes}"),
        (_, true) => "no change since the checkpoint before".into(),
        (_, false) => changes,
    }
}
