//! When a burst of changes has ended. Pure.

use std::time::{Duration, Instant};

/// However long a burst goes on, it is recorded at least this often.
const LONGEST: Duration = Duration::from_secs(1);

/// Follows one burst of changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settle {
    burst: Option<(Instant, Instant)>,
}

impl Settle {
    /// A change was seen at `now`.
    pub(super) fn change(&mut self, now: Instant) {
        let first = self.burst.map_or(now, |(first, _)| first);
        self.burst = Some((first, now));
    }

    /// When the burst counts as ended, where the tree must be quiet for `quiet`; None without one.
    pub(super) fn deadline(&self, quiet: Duration) -> Option<Instant> {
        self.burst.map(|(first, last)| (last + quiet).min(first + LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_ends_when_it_is_quiet_and_at_the_latest_after_a_second() {
        let (start, quiet) = (Instant::now(), Duration::from_millis(75));
        let mut settle = Settle::default();
        assert_eq!(settle.deadline(quiet), None);
        settle.change(start);
        assert_eq!(settle.deadline(quiet), Some(start + quiet));
        settle.change(start + Duration::from_millis(50));
        assert_eq!(settle.deadline(quiet), Some(start + Duration::from_millis(125)));
        settle.change(start + Duration::from_millis(990));
        assert_eq!(settle.deadline(quiet), Some(start + LONGEST));
    }
}
