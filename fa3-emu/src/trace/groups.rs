//! When the asynchronous operations that a `wait_group` waits for are complete.

use std::collections::VecDeque;

/// When the operations of a thread or a warp are complete, by the groups that it commits.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    open: Done,
    committed: VecDeque<Done>,
}

/// When operations have read their sources, and when they are complete.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) read: u64,
    pub(super) complete: u64,
}

impl Done {
    fn and(self, other: Self) -> Self {
        Self { read: self.read.max(other.read), complete: self.complete.max(other.complete) }
    }
}

impl Groups {
    pub(super) fn add(&mut self, done: Done) {
        self.open = self.open.and(done);
    }

    pub(super) fn commit(&mut self) {
        self.committed.push_back(std::mem::take(&mut self.open));
    }

    /// When all but the last `pending` groups are done.
    pub(super) fn wait(&self, pending: u32) -> Done {
        let waited_for = self.committed.len().saturating_sub(pending as usize);
        self.committed.iter().take(waited_for).fold(Done::default(), |all, &one| all.and(one))
    }

    /// Forgets groups that are known to be complete.
    pub(super) fn forget(&mut self, pending: u32) {
        let known = self.committed.len().saturating_sub(pending as usize);
        self.committed.drain(..known);
    }
}
