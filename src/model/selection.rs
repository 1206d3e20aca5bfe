//! Which checkpoint a person means, and which part of it.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::checkpoint::{Check, Checkpoint, CheckpointId, Kind};
use super::{RelPath, SessionNumber, time};

/// What to restore: a checkpoint, whole or limited to paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// From which checkpoint.
    pub from: CheckpointId,
    /// These paths and what lies below them; empty means everything.
    pub paths: Vec<RelPath>,
}

impl Selection {
    /// Whether `path` is part of it.
    pub fn covers(&self, path: &RelPath) -> bool {
        covers(&self.paths, path)
    }
}

/// Whether `path` is one of `paths` or lies below one; no paths cover everything.
pub fn covers(paths: &[RelPath], path: &RelPath) -> bool {
    paths.is_empty() || paths.iter().any(|folder| path.is_within(folder))
}

/// How a person names a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `12` or `#12`.
    Id(CheckpointId),
    /// `latest`, `latest~2`: the newest session's newest, or some before it.
    Latest(usize),
    /// `baseline`: the newest session's first.
    Baseline,
    /// `green`: the newest that passed its check in the newest session.
    Green,
    /// `@10m`: the state that long ago.
    Ago(SignedDuration),
    /// Any other text: the newest with that name.
    Name(String),
}

impl FromStr for Reference {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        if let Ok(id) = digits.parse() {
            return Ok(Reference::Id(id));
        }
        let before = text.strip_prefix("latest~").and_then(|n| n.parse().ok());
        let ago = text.strip_prefix('@').and_then(|d| time::duration(d).ok());
        Ok(match (text, before, ago) {
            ("latest", ..) => Reference::Latest(0),
            ("baseline", ..) => Reference::Baseline,
            ("green", ..) => Reference::Green,
            (_, Some(n), _) => Reference::Latest(n),
            (_, _, Some(ago)) => Reference::Ago(ago),
            _ => Reference::Name(text.to_owned()),
        })
    }
}

impl Reference {
    /// Finds the checkpoint in `timeline` (oldest first); None when there is none.
    ///
    /// `session` limits the words `latest`, `baseline`, `green` and `@…`; without it they mean the newest session's.
    pub fn find<'a>(
        &self,
        timeline: &'a [Checkpoint],
        session: Option<SessionNumber>,
        now: Timestamp,
    ) -> Option<&'a Checkpoint> {
        let session = session.or_else(|| timeline.iter().map(|c| c.facts.session).max());
        let of_session = || timeline.iter().filter(move |c| Some(c.facts.session) == session);
        match self {
            Reference::Id(id) => timeline.iter().find(|c| c.id == *id),
            Reference::Latest(before) => of_session().rev().nth(*before),
            Reference::Baseline => of_session().find(|c| c.facts.kind == Kind::Baseline),
            Reference::Green => of_session().rev().find(|c| c.facts.check == Some(Check::Passed)),
            Reference::Ago(ago) => {
                let then = now.saturating_sub(*ago).unwrap_or(Timestamp::MIN);
                timeline.iter().rev().find(|c| c.facts.time <= then)
            }
            Reference::Name(name) => timeline.iter().rev().find(|c| c.facts.name.as_deref() == Some(name)),
        }
    }
}
