//! Restoring: from what a person asks for to a plan that is carried out.
//!
//! Every restore first looks at the whole tree and records the state it replaces. The agent is frozen meanwhile by the
//! caller, where one runs.

use std::collections::BTreeSet;

use super::compare::{changes_to_stored, reversed};
use super::{Look, Occasion, Project};
use crate::error::{Error, Result};
use crate::model::checkpoint::{Action, Rewind};
use crate::model::selection::covers;
use crate::model::{Change, Checkpoint, Kind, Omission, RelPath, Report, RewindRequest, SessionNumber, history};
use crate::restore;

impl Project {
    /// Restores what `request` asks for, in `session` (0 outside of any).
    ///
    /// Nothing is changed when it is refused; what is replaced is in the `before-rewind` checkpoint that the report
    /// names.
    pub fn rewind(&mut self, request: &RewindRequest, session: SessionNumber) -> Result<Report> {
        let timeline = self.store.timeline()?;
        let goal = Goal::of(self, request, &timeline)?;
        let found = self.look(Look::Scan, &|_, _| {})?;
        let wanted = self.wanted(&goal)?;
        let plan = restore::plan(&wanted, self.recorder.tree());
        let mut report = Report {
            action: request.action,
            to: goal.to.id,
            before: None,
            writes: wanted.iter().filter(|change| change.new.is_some()).map(|change| change.path.clone()).collect(),
            removes: wanted.iter().filter(|change| change.new.is_none()).map(|change| change.path.clone()).collect(),
            keeps: self.not_held(&goal),
            notes: self.notes(&goal, session)?,
        };
        let conflicts = restore::preflight(&self.root, &self.store, &plan, self.recorder.tree())?;
        if !conflicts.is_empty() && !request.dry_run {
            self.record(&Occasion::new(Kind::Edit, session), found)?;
            return Err(refusal(&conflicts));
        }
        if request.dry_run {
            report.keeps.extend(conflicts);
            self.recorder.failed();
            return Ok(report);
        }
        if wanted.is_empty() {
            self.record_if_changed(found, session)?;
            return Ok(report);
        }
        let rewind = Rewind { action: request.action, to: goal.to.id, paths: request.paths.clone() };
        let occasion = Occasion { rewind: Some(rewind), ..Occasion::new(Kind::BeforeRewind, session) };
        report.before = Some(self.record(&occasion, found)?.id);
        let applied = restore::apply(&self.root, &self.store, &plan, self.recorder.tree(), &self.journal())
            .inspect_err(|_| self.recorder.failed())?;
        self.take_over(applied, &mut report);
        self.record_mixture(&goal, session)?;
        Ok(report)
    }

    /// Keeps the recorder in step with what a restore wrote and removed.
    fn take_over(&mut self, applied: restore::Applied, report: &mut Report) {
        for folder in &applied.folders_removed {
            self.recorder.folder_removed(folder);
        }
        for (path, file) in applied.files {
            self.recorder.replaced(&path, file);
        }
        for folder in &applied.folders_made {
            self.recorder.folder_made(folder);
        }
        self.recorder.recorded();
        report.keeps.extend(applied.keeps);
    }

    /// A restore of a part, or one that had to keep something, leads to a state that no checkpoint holds yet.
    fn record_mixture(&mut self, goal: &Goal, session: SessionNumber) -> Result<()> {
        let permissions = self.store.permissions(goal.to.permissions)?;
        let found = self.look(Look::Dirty, &|_, _| {})?;
        let differs =
            !changes_to_stored(&self.store, &self.recorder.tree().root, goal.to.files, &permissions)?.is_empty();
        if differs || found.is_changed() {
            let mut occasion = Occasion::new(Kind::Edit, session);
            occasion.name = None;
            self.record(&occasion, found)?;
        } else {
            self.recorder.recorded();
        }
        Ok(())
    }

    fn record_if_changed(&mut self, found: super::Found, session: SessionNumber) -> Result<()> {
        match found.is_changed() {
            true => self.record(&Occasion::new(Kind::Edit, session), found).map(|_| ()),
            false => {
                self.recorder.recorded();
                Ok(())
            }
        }
    }

    /// The changes that lead from the present tree to the goal.
    fn wanted(&self, goal: &Goal) -> Result<Vec<Change>> {
        let permissions = self.store.permissions(goal.to.permissions)?;
        let mut changes = changes_to_stored(&self.store, &self.recorder.tree().root, goal.to.files, &permissions)?;
        changes.retain(|change| goal.covers(&change.path) && !self.stays(goal, &change.path));
        Ok(changes)
    }

    /// Whether the goal does not know what lay at `path`, or we do not know what lies there now.
    fn stays(&self, goal: &Goal, path: &RelPath) -> bool {
        let missing = |omitted: &[Omission]| omitted.iter().any(|omission| path.is_within(&omission.path));
        missing(&goal.to.facts.omitted) || missing(self.recorder.omitted())
    }

    fn not_held(&self, goal: &Goal) -> Vec<Omission> {
        let of_goal = goal.to.facts.omitted.iter().map(|omission| Omission {
            path: omission.path.clone(),
            reason: format!("#{} does not hold it: {}", goal.to.id, omission.reason),
        });
        of_goal.filter(|omission| goal.covers(&omission.path)).collect()
    }

    /// What the person should know besides.
    fn notes(&self, goal: &Goal, session: SessionNumber) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        if goal.is_whole() {
            for other in super::live_sessions(&self.folder)?.iter().filter(|other| other.number != session) {
                let command = other.command.join(" ");
                notes.push(format!(
                    "session {} ({command}) is live in this project too; its files change as well",
                    other.number
                ));
            }
        }
        Ok(notes)
    }
}

/// What a restore leads to.
struct Goal {
    to: Checkpoint,
    paths: Vec<RelPath>,
    /// For undo and redo: exactly the paths that the restore they take back touched.
    touched: Option<BTreeSet<RelPath>>,
}

impl Goal {
    fn of(project: &Project, request: &RewindRequest, timeline: &[Checkpoint]) -> Result<Goal> {
        let found = match request.action {
            Action::Rewind => {
                let id =
                    request.to.ok_or_else(|| Error::refused("no checkpoint was named", "`wrap list` shows them"))?;
                let to = project.store.checkpoint(id)?;
                return Ok(Goal { to, paths: request.paths.clone(), touched: None });
            }
            Action::Undo => history::undo_target(timeline),
            Action::Redo => history::redo_target(timeline),
        };
        let word = if request.action == Action::Undo { "undo" } else { "redo" };
        let to = found
            .ok_or_else(|| Error::refused(format!("there is nothing to {word}"), "`wrap list` shows what was done"))?;
        let touched = touched(project, to, timeline)?;
        Ok(Goal { to: to.clone(), paths: request.paths.clone(), touched: Some(touched) })
    }

    fn covers(&self, path: &RelPath) -> bool {
        covers(&self.paths, path) && self.touched.as_ref().is_none_or(|touched| touched.contains(path))
    }

    fn is_whole(&self) -> bool {
        self.paths.is_empty() && self.touched.is_none()
    }
}

/// The paths that the restore which left `before` touched. An undo touched what the rewind did that it took back.
fn touched(project: &Project, before: &Checkpoint, timeline: &[Checkpoint]) -> Result<BTreeSet<RelPath>> {
    let mut before = before;
    loop {
        let Some(rewind) = &before.facts.rewind else { return Ok(BTreeSet::new()) };
        let Some(to) = timeline.iter().find(|checkpoint| checkpoint.id == rewind.to) else {
            return Err(Error::damaged(format!(
                "checkpoint #{} is gone, which #{} was rewound to",
                rewind.to, before.id
            )));
        };
        if rewind.action == Action::Rewind {
            let permissions = project.store.permissions(before.permissions)?;
            let to_permissions = project.store.permissions(to.permissions)?;
            let changes = reversed(project.store.changes(before.files, &permissions, to.files, &to_permissions)?);
            return Ok(changes
                .into_iter()
                .map(|change| change.path)
                .filter(|path| covers(&rewind.paths, path))
                .collect());
        }
        before = to;
    }
}

fn refusal(conflicts: &[Omission]) -> Error {
    let listed = conflicts.iter().take(5).map(|conflict| format!("{} ({})", conflict.path, conflict.reason));
    let mut listed = listed.collect::<Vec<_>>().join(", ");
    if conflicts.len() > 5 {
        listed += &format!(" and {} more", conflicts.len() - 5);
    }
    Error::refused(
        format!("nothing was restored; in the way: {listed}"),
        "move these aside, or name the paths to restore: wrap rewind ID PATH…",
    )
}
